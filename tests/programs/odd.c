// odd DIR: some two hundred calls that change a tree, sensible and odd ones, made in DIR. Prints each with what came of
// it, so that two runs can be compared line by line. Leaves its files there, to be compared as well.
#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

static void show(const char *text, long result) {
  if (result < 0) printf("%s = %s\n", text, strerrorname_np(errno));
  else printf("%s = %ld\n", text, result);
}
// A call whose result says something.
#define R(call) show(#call, (long)(call))
// A call that returns a descriptor: its number, and what it can do, then closed.
#define FD(call)                                                                                   \
  do {                                                                                             \
    int fd_ = (int)(call);                                                                         \
    if (fd_ < 0) show(#call, -1);                                                                  \
    else {                                                                                         \
      printf("%s = fd %d, flags %#x, cloexec %d, ", #call, fd_, fcntl(fd_, F_GETFL),               \
             fcntl(fd_, F_GETFD));                                                                 \
      about(fd_);                                                                                  \
      close(fd_);                                                                                  \
    }                                                                                              \
  } while (0)

static void about(int fd) {
  struct stat s;
  if (fstat(fd, &s) < 0) printf("fstat %s\n", strerrorname_np(errno));
  else printf("mode %o, uid %d, links %ld, size %lld\n", s.st_mode, (int)s.st_uid, S_ISDIR(s.st_mode) ? 0L : (long)s.st_nlink,
              S_ISDIR(s.st_mode) ? 0LL : (long long)s.st_size);
}
static void look(const char *path) {
  struct stat s;
  printf("  %s: ", path);
  if (lstat(path, &s) < 0) printf("%s\n", strerrorname_np(errno));
  else
    printf("mode %o, links %ld, size %lld, blocks %d\n", s.st_mode, S_ISDIR(s.st_mode) ? 0L : (long)s.st_nlink,
           S_ISDIR(s.st_mode) ? 0LL : (long long)s.st_size, s.st_blocks > 0);
}
static void put(const char *path, const char *text) {
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (fd < 0) { show(path, -1); return; }
  if (write(fd, text, strlen(text)) < 0) show(path, -1);
  close(fd);
}
static void get(const char *path) {
  char text[100];
  int fd = open(path, O_RDONLY | O_NONBLOCK);
  if (fd < 0) { show(path, -1); return; }
  long n = read(fd, text, sizeof text - 1);
  if (n < 0) show(path, -1);
  else { text[n] = 0; printf("  %s: \"%s\"\n", path, text); }
  close(fd);
}
static long renameat2_(int a, const char *x, int b, const char *y, unsigned flags) {
  return syscall(SYS_renameat2, a, x, b, y, flags);
}
static long openat2_(int dir, const char *path, unsigned long long flags, unsigned long long mode, unsigned long long resolve) {
  struct { unsigned long long flags, mode, resolve; } how = {flags, mode, resolve};
  return syscall(SYS_openat2, dir, path, &how, sizeof how);
}
static int bound(const char *path, socklen_t length, int type) {
  struct sockaddr_un to = {.sun_family = AF_UNIX}, got;
  strncpy(to.sun_path, path, sizeof to.sun_path - 1);
  if (!length) length = offsetof(struct sockaddr_un, sun_path) + strlen(path) + 1;
  int s = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
  int result = bind(s, (struct sockaddr *)&to, length);
  if (result == 0) {
    memset(&got, 0, sizeof got);
    socklen_t n = sizeof got;
    if (getsockname(s, (struct sockaddr *)&got, &n) == 0) printf("  getsockname: %u bytes, \"%s\"\n", n, got.sun_path);
  }
  int saved = errno;
  close(s);
  errno = saved;
  return result;
}
static void *fifo_writer(void *path) {
  int fd = open(path, O_WRONLY);  // waits for the reader
  if (fd < 0) { show("fifo writer", -1); return NULL; }
  if (write(fd, "through the fifo", 16) != 16) show("fifo write", -1);
  close(fd);
  return NULL;
}
static void *accept_one(void *socket) {
  int c = accept(*(int *)socket, NULL, NULL);
  if (c < 0 || write(c, "hello", 5) != 5) show("accept", -1);
  close(c);
  return NULL;
}

static void opening(void) {
  puts("# open");
  FD(open("a", O_WRONLY));
  FD(open("a", O_WRONLY | O_CREAT, 0644));
  FD(open("a", O_WRONLY | O_CREAT | O_EXCL, 0644));
  FD(open("b", O_RDWR | O_CREAT | O_EXCL, 0600));
  FD(open("c", O_RDONLY | O_CREAT, 0444));
  FD(open("d", O_RDWR | O_CREAT, 0));
  FD(open("d", O_RDONLY));
  FD(open("e", O_WRONLY | O_CREAT | O_CLOEXEC, 04777));
  FD(open("e2", O_WRONLY | O_CREAT, 01777));
  FD(open("a/", O_WRONLY | O_CREAT, 0644));
  FD(open("new/", O_WRONLY | O_CREAT, 0644));
  FD(open("a/x", O_WRONLY | O_CREAT, 0644));
  FD(open("none/x", O_WRONLY | O_CREAT, 0644));
  FD(open("", O_WRONLY | O_CREAT, 0644));
  FD(open(".", O_WRONLY));
  FD(open(".", O_RDWR | O_CREAT, 0644));
  FD(open("..", O_WRONLY | O_CREAT, 0644));
  FD(open("/", O_WRONLY));
  FD(open("a", O_WRONLY | O_DIRECTORY));
  FD(open("dir1", O_CREAT | O_DIRECTORY | O_WRONLY, 0755));
  FD(open("a", O_WRONLY | O_CREAT | O_NOFOLLOW, 0644));
  FD(open("a", O_PATH));
  FD(open("a", O_WRONLY | O_APPEND | O_SYNC | O_NOATIME));
  FD(open("a", O_WRONLY | O_NONBLOCK | O_DSYNC));
  FD(open("a", O_ACCMODE));
  FD(open("a", O_WRONLY | O_TRUNC | O_CREAT | O_TMPFILE));
  FD(open(".", O_TMPFILE | O_RDWR, 0640));
  FD(open(".", O_TMPFILE | O_WRONLY | O_EXCL, 0640));
  FD(open(".", O_TMPFILE | O_RDONLY, 0640));
  FD(open("a", O_TMPFILE | O_RDWR, 0640));
  FD(open("none", O_TMPFILE | O_RDWR, 0640));
  FD(creat("created", 0666));
  FD(syscall(SYS_openat, AT_FDCWD, (char *)8, O_WRONLY | O_CREAT, 0644));
  FD(openat(-5, "a", O_WRONLY));
  FD(openat(99, "a", O_WRONLY | O_CREAT, 0644));
  int file = open("a", O_RDONLY);
  FD(openat(file, "x", O_WRONLY | O_CREAT, 0644));
  close(file);
  char *name = malloc(5000);
  memset(name, 'n', 5000);
  name[255] = 0;
  FD(open(name, O_WRONLY | O_CREAT, 0644));
  name[255] = 'n', name[256] = 0;
  FD(open(name, O_WRONLY | O_CREAT, 0644));
  name[256] = 'n', name[4999] = 0;
  FD(open(name, O_WRONLY | O_CREAT, 0644));
  for (int i = 0; i < 4094; i++) name[i] = i & 1 ? '/' : '.';
  strcpy(name + 4092, "z");
  FD(open(name, O_WRONLY | O_CREAT, 0644));
  free(name);
  puts("# append");
  put("log", "one\n");
  int fd = open("log", O_WRONLY | O_APPEND);
  R(write(fd, "two\n", 4));
  R(pwrite(fd, "three\n", 6, 0));
  R(lseek(fd, 0, SEEK_CUR));
  close(fd);
  get("log");
  puts("# openat2");
  FD(openat2_(AT_FDCWD, "o2", O_WRONLY | O_CREAT, 0640, 0));
  FD(openat2_(AT_FDCWD, "o2", O_WRONLY | O_CREAT | O_EXCL, 0640, 0));
  FD(openat2_(AT_FDCWD, "o3", O_WRONLY | O_CREAT, 0640, 0x08));
  FD(openat2_(AT_FDCWD, "../o3", O_WRONLY | O_CREAT, 0640, 0x08));
  FD(openat2_(AT_FDCWD, "o2", O_WRONLY, 0640, 0));
  FD(openat2_(AT_FDCWD, "o2", O_WRONLY | (1ULL << 40), 0, 0));
  FD(openat2_(AT_FDCWD, "o2", O_WRONLY, 0, 1ULL << 40));
  FD(openat2_(AT_FDCWD, "o4", O_WRONLY | O_CREAT, 0100644, 0));
  R(syscall(SYS_openat2, AT_FDCWD, "o2", "tiny", 4));
  puts("# O_TMPFILE and its name");
  fd = open(".", O_TMPFILE | O_RDWR, 0604);
  char proc[64];
  snprintf(proc, sizeof proc, "/proc/self/fd/%d", fd);
  R(write(fd, "tmp", 3));
  R(linkat(AT_FDCWD, proc, AT_FDCWD, "named", AT_SYMLINK_FOLLOW));
  R(linkat(AT_FDCWD, proc, AT_FDCWD, "named", AT_SYMLINK_FOLLOW));
  look("named");
  close(fd);
}

static void folders(void) {
  puts("# mkdir, rmdir");
  R(mkdir("dir", 0755));
  R(mkdir("dir", 0755));
  R(mkdir("dir/", 0755));
  R(mkdir("dir2/", 0700));
  R(mkdir("dir3/.", 0700));
  R(mkdir(".", 0700));
  R(mkdir("..", 0700));
  R(mkdir("/", 0700));
  R(mkdir("", 0700));
  R(mkdir("a", 0700));
  R(mkdir("a/b", 0700));
  R(mkdir("none/b", 0700));
  R(mkdir("sticky", 01777));
  R(mkdir("setgid", 02777));
  R(mkdir("bare", 0));
  look("dir"), look("dir2"), look("sticky"), look("setgid"), look("bare");
  R(mkdir("dir/sub", 0755));
  R(rmdir("dir"));
  R(rmdir("dir/."));
  R(rmdir("dir/.."));
  R(rmdir("."));
  R(rmdir("a"));
  R(rmdir("none"));
  R(rmdir("bare/"));
  R(unlink("dir"));
  R(unlink("dir/sub"));
  R(unlinkat(AT_FDCWD, "dir/sub", AT_REMOVEDIR));
  R(unlinkat(AT_FDCWD, "dir", 1));
  R(unlink("none"));
  R(unlink("a/"));
  R(unlink("a/x"));
  R(unlink(""));
  int d = open("dir", O_RDONLY | O_DIRECTORY);
  R(mkdirat(d, "in", 0750));
  R(unlinkat(d, "in", 0));
  R(unlinkat(d, "in", AT_REMOVEDIR));
  FD(openat(d, "f", O_WRONLY | O_CREAT, 0644));
  R(fchmodat(d, "f", 0600, 0));
  R(renameat(d, "f", AT_FDCWD, "from-dir"));
  R(symlinkat("f", d, "s"));
  R(mknodat(d, "n", S_IFREG | 0644, 0));
  R(linkat(d, "n", d, "n2", 0));
  R(faccessat(d, "n2", W_OK, 0));
  R(rmdir("dir"));
  R(unlinkat(d, "s", 0));
  R(unlinkat(d, "n", 0));
  R(unlinkat(d, "n2", 0));
  R(rmdir("dir"));
  FD(openat(d, "gone", O_WRONLY | O_CREAT, 0644));
  R(mkdirat(d, "gone", 0755));
  close(d);
}

static void names(void) {
  puts("# links");
  R(symlink("a", "l"));
  R(symlink("a", "l"));
  R(symlink("", "l2"));
  R(symlink("nowhere", "dangling"));
  R(symlink("loop2", "loop1"));
  R(symlink("loop1", "loop2"));
  FD(open("l", O_WRONLY));
  FD(open("l", O_WRONLY | O_NOFOLLOW));
  FD(open("l", O_WRONLY | O_CREAT | O_EXCL, 0644));
  FD(open("dangling", O_WRONLY));
  FD(open("dangling", O_WRONLY | O_CREAT | O_EXCL, 0644));
  FD(open("dangling", O_WRONLY | O_CREAT, 0644));
  look("nowhere");
  FD(open("loop1", O_WRONLY | O_CREAT, 0644));
  FD(open("loop1/x", O_WRONLY | O_CREAT, 0644));
  R(mkdir("dangling", 0755));
  R(mkdir("l", 0755));
  R(unlink("l/"));
  R(rmdir("l"));
  R(link("a", "hard"));
  R(link("a", "hard"));
  R(link("none", "hard2"));
  R(link(".", "hard2"));
  R(link("l", "hard-link-to-l"));
  look("hard-link-to-l");
  R(linkat(AT_FDCWD, "l", AT_FDCWD, "hard-through-l", AT_SYMLINK_FOLLOW));
  look("hard-through-l");
  R(linkat(AT_FDCWD, "a", AT_FDCWD, "hard3", 0x4000));
  R(link("a", "a/x"));
  R(link("a", "none/x"));
  look("a");
  puts("# rename");
  put("r1", "r1"), put("r2", "r2");
  R(rename("r1", "r3"));
  R(rename("r1", "r3"));
  R(rename("r3", "r2"));
  get("r2");
  R(rename("r2", "r2"));
  R(rename("a", "hard"));  // two names of one file: nothing happens
  look("a"), look("hard");
  R(mkdir("ra", 0755)), R(mkdir("rb", 0755)), R(mkdir("ra/in", 0755));
  R(rename("r2", "ra"));
  R(rename("ra", "r2"));
  R(rename("rb", "ra"));
  R(rename("ra", "rb"));
  R(rename("rb", "rb/in/x"));
  R(rename("rb/in", "."));
  R(rename(".", "x"));
  R(rename("..", "x"));
  R(rename("rb", ".."));
  R(rename("rb/", "rc/"));
  R(rename("r2", "r4/"));
  R(rename("r2/", "r4"));
  R(rename("r2", ""));
  R(rename("l", "l-moved"));
  look("l-moved");
  R(rename("dangling", "rc"));
  R(renameat2_(AT_FDCWD, "r2", AT_FDCWD, "rc", RENAME_NOREPLACE));
  R(renameat2_(AT_FDCWD, "r2", AT_FDCWD, "r5", RENAME_NOREPLACE));
  put("r6", "r6");
  R(renameat2_(AT_FDCWD, "r5", AT_FDCWD, "r6", RENAME_EXCHANGE));
  get("r5"), get("r6");
  R(renameat2_(AT_FDCWD, "r5", AT_FDCWD, "rc", RENAME_EXCHANGE));
  look("r5"), look("rc");
  R(renameat2_(AT_FDCWD, "r5", AT_FDCWD, "none", RENAME_EXCHANGE));
  R(renameat2_(AT_FDCWD, "r6", AT_FDCWD, "r7", RENAME_EXCHANGE | RENAME_NOREPLACE));
  R(renameat2_(AT_FDCWD, "r6", AT_FDCWD, "r7", 64));
  R(renameat2_(AT_FDCWD, "r6", AT_FDCWD, "r7", RENAME_WHITEOUT));
  look("r6"), look("r7");
  R(renameat(AT_FDCWD, "none/x", AT_FDCWD, "r8"));
  R(renameat(AT_FDCWD, "rc", AT_FDCWD, "none/x"));
  R(rename("/proc/self/status", "r9"));
  puts("# nodes");
  R(mknod("fifo", S_IFIFO | 0640, 0));
  R(mkfifo("fifo", 0640));
  R(mknod("reg", S_IFREG | 0604, 0));
  R(mknod("zero", 0600, 0));
  R(mknod("sock", S_IFSOCK | 0600, 0));
  R(mknod("adir", S_IFDIR | 0600, 0));
  R(mknod("none/x", S_IFREG | 0600, 0));
  R(mknod("odd", 0170000 | 0600, 0));
  look("fifo"), look("reg"), look("zero"), look("sock");
  FD(open("fifo", O_WRONLY | O_NONBLOCK));
  FD(open("fifo", O_RDWR | O_NONBLOCK));
  FD(open("sock", O_WRONLY));
  pthread_t writer;
  pthread_create(&writer, NULL, fifo_writer, "fifo");
  int fd = open("fifo", O_RDONLY);
  char text[40] = "";
  R(read(fd, text, sizeof text));
  puts(text);
  close(fd);
  pthread_join(writer, NULL);
}

static void sizes_and_attributes(void) {
  puts("# truncate");
  put("t", "0123456789");
  R(truncate("t", 4));
  get("t");
  R(truncate("t", 1 << 20));
  look("t");
  R(truncate("t", -1));
  R(truncate("none", 0));
  R(truncate(".", 0));
  R(truncate("t/", 0));
  R(truncate("loop1", 0));
  R(truncate("fifo", 0));
  int fd = open("t", O_RDWR);
  R(ftruncate(fd, 3));
  R(fallocate(fd, 0, 0, 8192));
  look("t");
  char *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  R(map == MAP_FAILED);
  if (map != MAP_FAILED) map[0] = 'M';
  close(fd);
  fd = open("t", O_RDONLY);
  R(ftruncate(fd, 0));
  close(fd);
  get("t");
  puts("# mode, owner");
  R(chmod("t", 0)), look("t");
  R(chmod("t", 07777)), look("t");
  R(chmod("t", 0644 | 0170000)), look("t");
  R(chmod("none", 0644));
  R(chmod("loop1", 0644));
  R(chmod("t/", 0644));
  R(chmod("l-moved", 0640)), look("a"), look("l-moved");
  R(fchmodat(AT_FDCWD, "l-moved", 0600, AT_SYMLINK_NOFOLLOW));
  R(syscall(452, AT_FDCWD, "t", 0600, 0)), look("t");
  R(syscall(452, AT_FDCWD, "t", 0600, 0x80000));
  R(fchmod(99, 0600));
  R(fchmod(open("t", O_RDONLY), 0604)), look("t");
  R(fchmod(open("t", O_PATH), 0600));
  R(chmod("sticky", 0700)), look("sticky");
  R(chown("t", -1, -1));
  R(chown("t", getuid(), getgid()));
  R(lchown("l-moved", -1, getgid()));
  R(chown("none", -1, -1));
  R(fchown(open("t", O_RDONLY), -1, getgid()));
  R(fchownat(AT_FDCWD, "t", -1, -1, AT_SYMLINK_NOFOLLOW));
  R(fchownat(open("t", O_PATH), "", -1, -1, AT_EMPTY_PATH));
  R(fchownat(AT_FDCWD, "t", -1, -1, 0x80000));
  if (getuid() != 0) R(chown("t", 0, 0));
  else R(chown("t", 12345, 12345));
  put("suid", "x");
  R(chmod("suid", 06755)), look("suid");
  R(chown("suid", -1, getgid())), look("suid");
  puts("# times");
  struct timespec two[2] = {{1000000000, 5}, {1100000000, 123456789}};
  struct timespec omit[2] = {{0, UTIME_OMIT}, {0, UTIME_OMIT}}, wrong[2] = {{0, 2000000000}, {0, 0}};
  struct stat s;
  R(utimensat(AT_FDCWD, "t", two, 0));
  stat("t", &s), printf("  %ld.%09ld\n", (long)s.st_mtim.tv_sec, s.st_mtim.tv_nsec);
  R(utimensat(AT_FDCWD, "t", omit, 0));
  R(utimensat(AT_FDCWD, "t", wrong, 0));
  R(utimensat(AT_FDCWD, "none", two, 0));
  R(utimensat(AT_FDCWD, "none", omit, 0));
  R(utimensat(AT_FDCWD, "l-moved", two, AT_SYMLINK_NOFOLLOW));
  lstat("l-moved", &s), printf("  %ld.%09ld\n", (long)s.st_mtim.tv_sec, s.st_mtim.tv_nsec);
  R(utimensat(AT_FDCWD, "reg", NULL, 0));
  R(utimensat(AT_FDCWD, "reg", two, 0x80000));
  R(futimens(open("reg", O_RDONLY), two));
  R(syscall(SYS_utimensat, open("reg", O_RDONLY), NULL, two, 0));
  R(syscall(SYS_utimensat, AT_FDCWD, NULL, two, 0));
  R(futimens(99, two));
#ifdef SYS_utime
  struct utimbuf old = {1000000000, 1000000001};
  struct timeval tv[2] = {{1000000000, 7}, {1000000002, 999999}};
  R(syscall(SYS_utime, "zero", &old));
  R(syscall(SYS_utime, "zero", NULL));
  R(syscall(SYS_utimes, "zero", tv));
  stat("zero", &s), printf("  %ld.%09ld\n", (long)s.st_mtim.tv_sec, s.st_mtim.tv_nsec);
  R(syscall(SYS_futimesat, AT_FDCWD, "zero", tv));
#endif
  puts("# attributes");
  char value[64];
  R(setxattr("t", "user.a", "one", 3, 0));
  R(setxattr("t", "user.a", "two", 3, XATTR_CREATE));
  R(setxattr("t", "user.b", "two", 3, XATTR_REPLACE));
  R(setxattr("t", "nothing.b", "two", 3, 0));
  R(setxattr("t", "user.", "two", 3, 0));
  R(setxattr("none", "user.a", "two", 3, 0));
  R(setxattr("t", "user.empty", "", 0, 0));
  R(lsetxattr("l-moved", "user.a", "x", 1, 0));
  R(fsetxattr(open("t", O_RDONLY), "user.f", "x", 1, 0));
  R(fsetxattr(open("t", O_PATH), "user.f", "x", 1, 0));
  R(getxattr("t", "user.a", value, sizeof value));
  R(listxattr("t", value, sizeof value));
  R(removexattr("t", "user.empty"));
  R(removexattr("t", "user.none"));
  R(fremovexattr(open("t", O_RDONLY), "user.f"));
  R(setxattr(".", "user.dir", "x", 1, 0));
  R(removexattr(".", "user.dir"));
  fd = open("t", O_RDONLY);
  long flags = 0;
  R(ioctl(fd, FS_IOC_GETFLAGS, &flags));
  flags |= FS_NODUMP_FL;
  R(ioctl(fd, FS_IOC_SETFLAGS, &flags));
  close(fd);
}

static void sockets(const char *dir) {
  puts("# sockets");
  char path[5000];
  R(bound("s1", 0, SOCK_STREAM));
  R(bound("s1", 0, SOCK_STREAM));
  R(bound("s2", 0, SOCK_DGRAM));
  R(bound("./dir2/../s3", 0, SOCK_SEQPACKET));
  R(bound("none/s", 0, SOCK_STREAM));
  R(bound("a/s", 0, SOCK_STREAM));
  R(bound("l-moved", 0, SOCK_STREAM));
  R(bound("cut-short", offsetof(struct sockaddr_un, sun_path) + 5, SOCK_STREAM));
  R(bound("", 2, SOCK_STREAM) >= 0);
  snprintf(path, sizeof path, "%s/s5", dir);
  if (strlen(path) < 100) { int r = bound(path, 0, SOCK_STREAM); show("bound(absolute)", r); }
  look("s1"), look("s2"), look("s3"), look("cut-s");
  unlink("server");
  struct sockaddr_un to = {.sun_family = AF_UNIX, .sun_path = "server"};
  int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  mode_t old = umask(0177);
  R(bind(listener, (struct sockaddr *)&to, sizeof to));
  umask(old);
  look("server");
  R(bind(listener, (struct sockaddr *)&to, sizeof to));
  R(listen(listener, 1));
  pthread_t server;
  pthread_create(&server, NULL, accept_one, &listener);
  int client = socket(AF_UNIX, SOCK_STREAM, 0);
  R(connect(client, (struct sockaddr *)&to, sizeof to));
  char text[10] = "";
  R(read(client, text, 5));
  puts(text);
  pthread_join(server, NULL);
  R(unlink("server"));
}

static void umasks(void) {
  puts("# umask");
  static const int masks[] = {0, 002, 022, 027, 077, 0777};
  char name[40];
  for (unsigned i = 0; i < sizeof masks / sizeof *masks; i++) {
    umask(masks[i]);
    printf("umask %o\n", masks[i]);
    snprintf(name, sizeof name, "u%o-file", masks[i]);
    close(open(name, O_WRONLY | O_CREAT, 0666)), look(name);
    snprintf(name, sizeof name, "u%o-dir", masks[i]);
    mkdir(name, 0777), look(name);
    snprintf(name, sizeof name, "u%o-node", masks[i]);
    mknod(name, S_IFIFO | 0666, 0), look(name);
  }
  umask(022);
}

int main(int argc, char **argv) {
  (void)argc;
  char dir[4096];
  setvbuf(stdout, NULL, _IOFBF, 1 << 16);
  umask(022);
  if (chdir(argv[1]) < 0 || !getcwd(dir, sizeof dir)) return 2;
  opening();
  folders();
  names();
  sizes_and_attributes();
  sockets(dir);
  umasks();
  return 0;
}
