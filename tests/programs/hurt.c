// hurt WHAT PATH...: one way of damaging a file, by the very call that a shell tool would not make.
// Exits 0 when the call worked, else prints its error and exits 1.
#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

static int bad(const char *what) { fprintf(stderr, "hurt: %s: %s\n", what, strerror(errno)); return 1; }
static int must_open(const char *path, int flags) {
  int fd = open(path, flags);
  if (fd < 0) exit(bad(path));
  return fd;
}
static int done(const char *what, long result) { return result < 0 ? bad(what) : 0; }

static void reopen_name(char *name, size_t size, int fd) { snprintf(name, size, "/proc/self/fd/%d", fd); }

static const char *shared_path;
static char *const *environment;
static int in_clone(void *unused) {
  (void)unused;
  return unlink(shared_path) < 0;
}
static void *in_thread(void *unused) {
  (void)unused;
  return (void *)(long)unlink(shared_path);
}

#ifdef __x86_64__
// The 32-bit table from a 64-bit program. Its pointers have 32 bits.
static int int80(const char *path) {
  char *low = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
  if (low == MAP_FAILED) return bad("mmap");
  strcpy(low, path);
  long result;
  __asm__ volatile("int $0x80" : "=a"(result) : "a"(10L), "b"((long)low) : "memory", "r8", "r9", "r10", "r11");
  if (result < 0) errno = (int)-result;
  return done("int 0x80 unlink", result < 0 ? -1 : 0);
}
#endif

int main(int argc, char **argv, char **envp) {
  if (argc < 3) return 2;
  const char *what = argv[1], *a = argv[2], *b = argc > 3 ? argv[3] : NULL;
  char name[64];
  environment = envp;
#define IS(word) (!strcmp(what, word))
  if (IS("unlink")) return done(a, unlink(a));
  if (IS("rename")) return done(a, rename(a, b));
  if (IS("exchange")) return done(a, syscall(SYS_renameat2, AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE));
  if (IS("whiteout")) return done(a, syscall(SYS_renameat2, AT_FDCWD, a, AT_FDCWD, b, RENAME_WHITEOUT));
  if (IS("open2")) {
    struct { unsigned long long flags, mode, resolve; } how = {O_WRONLY | O_TRUNC, 0, 0};
    return done(a, syscall(SYS_openat2, AT_FDCWD, a, &how, sizeof how));
  }
  if (IS("creat")) return done(a, creat(a, 0600));
  if (IS("tmpfile-link")) {  // a: a folder that is allowed; b: the new name
    int fd = must_open(a, O_TMPFILE | O_WRONLY);
    reopen_name(name, sizeof name, fd);
    return done(b, linkat(AT_FDCWD, name, AT_FDCWD, b, AT_SYMLINK_FOLLOW));
  }
  if (IS("tmpfile")) {  // no name, but room and a way in
    return done(a, open(a, O_TMPFILE | O_RDWR, 0600));
  }
  if (IS("mmap")) {
    int fd = must_open(a, O_RDWR);
    char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED) return bad("mmap");
    p[0] = 'Z';
    return done("msync", msync(p, 4096, MS_SYNC));
  }
  if (IS("punch")) {
    int fd = must_open(a, O_WRONLY);
    return done("fallocate", fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 8));
  }
  if (IS("reopen-read")) {  // a descriptor for reading, opened again for writing
    reopen_name(name, sizeof name, must_open(a, O_RDONLY));
    return done(name, open(name, O_WRONLY | O_TRUNC));
  }
  if (IS("reopen-path")) {
    reopen_name(name, sizeof name, must_open(a, O_PATH));
    return done(name, open(name, O_WRONLY | O_TRUNC));
  }
  if (IS("truncate-proc")) {
    reopen_name(name, sizeof name, must_open(a, O_PATH));
    return done(name, truncate(name, 0));
  }
  if (IS("fchmod")) return done(a, fchmod(must_open(a, O_RDONLY), 0));
  if (IS("fchmod-proc")) {
    reopen_name(name, sizeof name, must_open(a, O_PATH));
    return done(name, chmod(name, 0));
  }
  if (IS("fchmodat2")) return done(a, syscall(452, AT_FDCWD, a, 0, 0));
  if (IS("fchown")) return done(a, fchown(must_open(a, O_RDONLY), 12345, 12345));
  if (IS("lchown")) return done(a, lchown(a, 12345, 12345));
  if (IS("futimens")) return done(a, futimens(must_open(a, O_RDONLY), NULL));
  if (IS("utimensat-empty")) return done(a, syscall(SYS_utimensat, must_open(a, O_PATH), "", NULL, AT_EMPTY_PATH));
  if (IS("fsetxattr")) return done(a, fsetxattr(must_open(a, O_RDONLY), "user.note", "Z", 1, 0));
  if (IS("fremovexattr")) return done(a, fremovexattr(must_open(a, O_RDONLY), "user.note"));
  if (IS("lsetxattr")) return done(a, lsetxattr(a, "user.new", "Z", 1, 0));
  if (IS("setflags")) {
    int fd = must_open(a, O_RDONLY);
    long flags = 0;
    if (ioctl(fd, FS_IOC_GETFLAGS, &flags) < 0) return bad("FS_IOC_GETFLAGS");
    flags ^= FS_NODUMP_FL;
    return done("FS_IOC_SETFLAGS", ioctl(fd, FS_IOC_SETFLAGS, &flags));
  }
  if (IS("fssetxattr")) {
    int fd = must_open(a, O_RDONLY);
    struct fsxattr x;
    if (ioctl(fd, FS_IOC_FSGETXATTR, &x) < 0) return bad("FS_IOC_FSGETXATTR");
    x.fsx_xflags ^= FS_XFLAG_NODUMP;
    return done("FS_IOC_FSSETXATTR", ioctl(fd, FS_IOC_FSSETXATTR, &x));
  }
  if (IS("bind")) {
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    strncpy(to.sun_path, a, sizeof to.sun_path - 1);
    return done(a, bind(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&to, sizeof to));
  }
  if (IS("mknod")) return done(a, mknod(a, S_IFREG | 0600, 0));
  if (IS("link-fd")) {  // a: protected file, b: a name outside
    reopen_name(name, sizeof name, must_open(a, O_RDONLY));
    return done(b, linkat(AT_FDCWD, name, AT_FDCWD, b, AT_SYMLINK_FOLLOW));
  }
  if (IS("handle")) {
    struct { struct file_handle head; unsigned char bytes[128]; } h;
    h.head.handle_bytes = sizeof h.bytes;
    int mount_id;
    if (name_to_handle_at(AT_FDCWD, a, &h.head, &mount_id, 0) < 0) return bad("name_to_handle_at");
    return done("open_by_handle_at", open_by_handle_at(must_open("/", O_RDONLY), &h.head, O_WRONLY | O_TRUNC));
  }
  if (IS("dirfd")) {  // unlink relative to a descriptor, after a chdir elsewhere
    int fd = must_open(a, O_RDONLY | O_DIRECTORY);
    if (chdir("/") < 0) return bad("chdir");
    return done(b, unlinkat(fd, b, 0));
  }
  if (IS("vfork")) {
    shared_path = a;
    pid_t pid = vfork();
    if (pid == 0) _exit(unlink(shared_path) < 0);
    int status;
    waitpid(pid, &status, 0);
    return status != 0;
  }
  if (IS("spawn")) {  // posix_spawn with a file action that truncates
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, a, O_WRONLY | O_TRUNC, 0600);
    char *const args[] = {"true", NULL};
    pid_t pid;
    int failed = posix_spawnp(&pid, "true", &actions, NULL, args, environment);
    if (failed) { errno = failed; return bad("posix_spawn"); }
    waitpid(pid, NULL, 0);
    return 0;
  }
  if (IS("clone")) {  // memory, files and folder shared, as a thread has them, but by the raw call
    shared_path = a;
    char *stack = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    pid_t pid = clone(in_clone, stack + (1 << 16), CLONE_VM | CLONE_FS | CLONE_FILES | SIGCHLD, NULL);
    if (pid < 0) return bad("clone");
    int status;
    waitpid(pid, &status, 0);
    return status != 0;
  }
  if (IS("thread")) {
    shared_path = a;
    pthread_t thread;
    void *result;
    pthread_create(&thread, NULL, in_thread, NULL);
    pthread_join(thread, &result);
    return result != NULL;
  }
  if (IS("undumpable")) {  // a program whose memory nobody may read
    prctl(PR_SET_DUMPABLE, 0);
    return done(a, unlink(a));
  }
  if (IS("undumpable-work")) {  // ordinary work of such a program in folder a
    prctl(PR_SET_DUMPABLE, 0);
    if (chdir(a) < 0) return bad("chdir");
    int fd = open("u1", O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (fd < 0 || write(fd, "secret", 6) != 6) return bad("u1");
    if (rename("u1", "u2") < 0 || mkdir("u3", 0700) < 0 || symlink("u2", "u4") < 0) return bad("names");
    struct sockaddr_un to = {.sun_family = AF_UNIX, .sun_path = "u5"};
    if (bind(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&to, sizeof to) < 0) return bad("bind");
    if (unlink("u4") < 0 || truncate("u2", 3) < 0) return bad("unlink, truncate");
    return 0;
  }
  if (IS("undumpable-open")) {
    prctl(PR_SET_DUMPABLE, 0);
    return done(a, open(a, O_WRONLY | O_CREAT, 0600));
  }
  if (IS("chroot-unlink")) {  // a: the new root, b: the path seen from there
    if (chroot(a) < 0 || chdir("/") < 0) return bad("chroot");
    return done(b, unlink(b));
  }
#ifdef __x86_64__
  if (IS("int80")) return int80(a);
#endif
  fprintf(stderr, "hurt: %s?\n", what);
  return 2;
}
