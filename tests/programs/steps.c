// steps: does what the lines on stdin say, one call a line, words apart by one space, and answers each with one line: the
// errno of the first call that failed, 0 when all worked. Whatever is opened for writing is written to, so that a call which
// was let through shows in the tree.
#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif

static int check(long result) { return result < 0 ? errno : 0; }
static int closed(int result, int fd) {
  close(fd);
  return result;
}

static int open_flags(char *words) {
  static const struct { const char *name; int flag; } known[] = {
      {"RDONLY", O_RDONLY}, {"WRONLY", O_WRONLY}, {"RDWR", O_RDWR}, {"APPEND", O_APPEND}, {"TRUNC", O_TRUNC},
      {"CREAT", O_CREAT}, {"EXCL", O_EXCL}, {"NOFOLLOW", O_NOFOLLOW}, {"DIRECTORY", O_DIRECTORY}, {"TMPFILE", O_TMPFILE}};
  int flags = 0;
  for (char *rest, *word = strtok_r(words, "|", &rest); word; word = strtok_r(NULL, "|", &rest)) {
    size_t i = 0;
    while (i < sizeof known / sizeof *known && strcmp(known[i].name, word)) i++;
    if (i == sizeof known / sizeof *known) fprintf(stderr, "steps: %s?\n", word), exit(2);
    flags |= known[i].flag;
  }
  return flags;
}
static int do_open(const char *path, int flags) {
  int fd = syscall(SYS_openat, AT_FDCWD, path, flags, 0644);
  if (fd < 0) return errno;
  int result = (flags & O_ACCMODE) == O_RDONLY ? 0 : check(write(fd, "Z", 1));
  return closed(result, fd);
}
// An entry of one's own: its content is its path, and it has an attribute.
static int make(const char *path) {
  int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);
  if (fd < 0) return errno;
  int result = check(write(fd, path, strlen(path)));
  if (fsetxattr(fd, "user.note", "own", 3, 0) < 0 && errno != EOPNOTSUPP) result = errno;
  return closed(result, fd);
}
static int make_full(const char *path) {
  char in[4200];
  snprintf(in, sizeof in, "%s/in", path);
  int result = check(mkdir(path, 0755));
  return result ? result : make(in);
}
static int make_dir(const char *path) {
  int result = check(mkdir(path, 0755));
  if (result) return result;
  return setxattr(path, "user.note", "own", 3, 0) < 0 && errno != EOPNOTSUPP ? errno : 0;
}
static int tmpfile_in(const char *dir, const char *name) {
  char proc[64];
  int fd = open(dir, O_TMPFILE | O_RDWR, 0644);
  if (fd < 0) return errno;
  int result = check(write(fd, "tmp", 3));
  snprintf(proc, sizeof proc, "/proc/self/fd/%d", fd);
  if (!result && name) result = check(linkat(AT_FDCWD, proc, AT_FDCWD, name, AT_SYMLINK_FOLLOW));
  return closed(result, fd);
}
static int reopen(const char *path) {
  char proc[64];
  int fd = open(path, O_RDONLY);
  if (fd < 0) return errno;
  snprintf(proc, sizeof proc, "/proc/self/fd/%d", fd);
  return closed(do_open(proc, O_WRONLY), fd);
}
static int link_by_number(const char *path, const char *name) {
  char proc[64];
  int fd = open(path, O_RDONLY);
  if (fd < 0) return errno;
  snprintf(proc, sizeof proc, "/proc/self/fd/%d", fd);
  return closed(check(linkat(AT_FDCWD, proc, AT_FDCWD, name, AT_SYMLINK_FOLLOW)), fd);
}
static int bind_to(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(path) >= sizeof address.sun_path) return ENAMETOOLONG;
  strcpy(address.sun_path, path);
  int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  return closed(check(bind(fd, (struct sockaddr *)&address, sizeof address)), fd);
}
// The folder of a path as a descriptor, and the name in it.
static int folder(const char *path, const char **name) {
  char dir[4200];
  snprintf(dir, sizeof dir, "%s", path);
  char *slash = strrchr(dir, '/');
  *slash = 0;
  *name = path + (slash - dir) + 1;
  return open(dir, O_RDONLY | O_DIRECTORY);
}
static int remove_at(const char *path, int flags) {
  const char *name;
  int fd = folder(path, &name);
  return fd < 0 ? errno : closed(check(unlinkat(fd, name, flags)), fd);
}
static int rename_at(const char *from, const char *to, unsigned flags) {
  const char *a, *b;
  int from_fd = folder(from, &a), to_fd = folder(to, &b);
  if (from_fd < 0 || to_fd < 0) return errno;
  int result = check(syscall(SYS_renameat2, from_fd, a, to_fd, b, flags));
  close(from_fd);
  return closed(result, to_fd);
}
static const struct timespec OLD[2] = {{900000000, 7}, {900000001, 9}};
static int on_descriptor(const char *what, const char *path) {
  int fd = open(path, O_RDONLY), flags = 0, result = EINVAL;
  if (fd < 0) return errno;
  if (!strcmp(what, "fchmod")) result = check(fchmod(fd, 0700));
  if (!strcmp(what, "fchown")) result = check(fchown(fd, geteuid(), getegid()));
  if (!strcmp(what, "futimens")) result = check(futimens(fd, OLD));
  if (!strcmp(what, "fsetxattr")) result = check(fsetxattr(fd, "user.new", "x", 1, 0));
  if (!strcmp(what, "fremovexattr")) result = check(fremovexattr(fd, "user.note"));
  if (!strcmp(what, "setflags")) {
    result = check(ioctl(fd, FS_IOC_GETFLAGS, &flags));
    flags |= FS_NODUMP_FL;
    if (!result) result = check(ioctl(fd, FS_IOC_SETFLAGS, &flags));
  }
  return closed(result, fd);
}

// many COUNT DIR: makes COUNT files and removes them again, a few there at a time.
static int many(int count, const char *dir) {
  char path[4200];
  enum { AT_ONCE = 50 };
  for (int n = 0; n < count + AT_ONCE; n++) {
    if (n < count) {
      snprintf(path, sizeof path, "%s/m%d", dir, n);
      int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
      if (fd < 0) return errno;
      close(fd);
    }
    if (n < AT_ONCE) continue;
    snprintf(path, sizeof path, "%s/m%d", dir, n - AT_ONCE);
    if (unlink(path) < 0) return errno;
  }
  return 0;
}
// hammer PATH MILLISECONDS: empties PATH without a pause; says how often that worked and how often it was refused.
static void hammer(const char *path, int milliseconds) {
  struct timespec start, now;
  long worked = 0, refused = 0;
  clock_gettime(CLOCK_MONOTONIC, &start);
  do {
    int fd = open(path, O_WRONLY | O_TRUNC);
    if (fd >= 0) worked++, close(fd);
    else if (errno == EACCES) refused++;
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 < milliseconds);
  printf("%ld %ld\n", worked, refused);
}

static int one(int count, char **word) {
  const char *op = word[0], *a = count > 1 ? word[1] : "", *b = count > 2 ? word[2] : "";
#define IS(name, words) (!strcmp(op, name) && count == (words) + 1)
  if (IS("make", 1)) return make(a);
  if (IS("make-full", 1)) return make_full(a);
  if (IS("make-dir", 1)) return make_dir(a);
  if (IS("open", 2)) return do_open(b, open_flags(word[1]));
  if (IS("creat", 1)) {
    int fd = creat(a, 0644);
    return fd < 0 ? errno : closed(0, fd);
  }
  if (IS("truncate", 1)) return check(truncate(a, 1));
  if (IS("tmpfile", 1)) return tmpfile_in(a, NULL);
  if (IS("tmpfile-link", 2)) return tmpfile_in(a, b);
  if (IS("reopen", 1)) return reopen(a);
  if (IS("mkdir", 1)) return check(mkdir(a, 0755));
  if (IS("mkdirat", 1)) return check(mkdirat(AT_FDCWD, a, 0755));
  if (IS("mknod-file", 1)) return check(mknod(a, S_IFREG | 0644, 0));
  if (IS("mknod-fifo", 1)) return check(mknod(a, S_IFIFO | 0644, 0));
  if (IS("mknod-socket", 1)) return check(mknod(a, S_IFSOCK | 0644, 0));
  if (IS("symlink", 2)) return check(symlink(a, b));
  if (IS("symlinkat", 2)) return check(symlinkat(a, AT_FDCWD, b));
  if (IS("bind", 1)) return bind_to(a);
  if (IS("chmod", 1)) return check(chmod(a, 0700));
  if (IS("chmod-to", 2)) return check(chmod(b, strtol(a, NULL, 8)));
  if (IS("fchmodat", 1)) return check(fchmodat(AT_FDCWD, a, 0700, 0));
  if (IS("fchmodat2", 1)) return check(syscall(SYS_fchmodat2, AT_FDCWD, a, 0700, AT_SYMLINK_NOFOLLOW));
  if (IS("chown", 1)) return check(chown(a, geteuid(), getegid()));
  if (IS("lchown", 1)) return check(lchown(a, geteuid(), getegid()));
  if (IS("fchownat", 1)) return check(fchownat(AT_FDCWD, a, geteuid(), getegid(), 0));
  if (IS("utimensat", 1)) return check(utimensat(AT_FDCWD, a, OLD, 0));
  if (IS("lutimes", 1)) return check(utimensat(AT_FDCWD, a, OLD, AT_SYMLINK_NOFOLLOW));
  if (IS("setxattr", 1)) return check(setxattr(a, "user.new", "x", 1, 0));
  if (IS("lsetxattr", 1)) return check(lsetxattr(a, "user.new", "x", 1, 0));
  if (IS("removexattr", 1)) return check(removexattr(a, "user.note"));
  if (IS("lremovexattr", 1)) return check(lremovexattr(a, "user.note"));
  if (IS("unlink", 1)) return check(unlink(a));
  if (IS("unlinkat", 1)) return remove_at(a, 0);
  if (IS("rmdir", 1)) return check(rmdir(a));
  if (IS("removedir", 1)) return remove_at(a, AT_REMOVEDIR);
  if (IS("rename", 2)) return check(rename(a, b));
  if (IS("renameat", 2)) return rename_at(a, b, 0);
  if (IS("noreplace", 2)) return rename_at(a, b, RENAME_NOREPLACE);
  if (IS("exchange", 2)) return rename_at(a, b, RENAME_EXCHANGE);
  if (IS("link", 2)) return check(link(a, b));
  if (IS("linkat", 2)) return check(linkat(AT_FDCWD, a, AT_FDCWD, b, 0));
  if (IS("link-number", 2)) return link_by_number(a, b);
  if (IS("many", 2)) return many(atoi(a), b);
  if (IS("pid", 0)) return getppid();
  if (IS("hammer", 2)) {
    hammer(a, atoi(b));
    return -1;
  }
  static const char *const descriptor[] = {"fchmod", "fchown", "futimens", "fsetxattr", "fremovexattr", "setflags"};
  for (size_t i = 0; count == 2 && i < sizeof descriptor / sizeof *descriptor; i++)
    if (!strcmp(op, descriptor[i])) return on_descriptor(op, a);
  fprintf(stderr, "steps: %s with %d words?\n", op, count - 1);
  exit(2);
}

int main(void) {
  static char line[16384];
  umask(022);
  while (fgets(line, sizeof line, stdin)) {
    char *words[6];
    int count = 0;
    line[strcspn(line, "\n")] = 0;
    for (char *rest, *word = strtok_r(line, " ", &rest); word && count < 6; word = strtok_r(NULL, " ", &rest))
      words[count++] = word;
    if (!count) continue;
    int result = one(count, words);
    if (result >= 0) printf("%d\n", result);
    fflush(stdout);
  }
  return 0;
}
