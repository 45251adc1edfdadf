// raw CALL ARGUMENT... [then CALL ARGUMENT...]...: system calls as they are, without the C library's help.
// Exits 0 when every call worked, else prints the error of the first that did not and exits with that number.
//   CALL      a name of the list below, or a number
//   ARGUMENT  a number; cwd: AT_FDCWD; @: the last result, @0: the first one's; s:TEXT a string; z: for 4096 zeros;
//             d:PATH, r:PATH, p:PATH, w:PATH a descriptor: of a folder, for reading, O_PATH, for writing; sock: a socket;
//             un:PATH an address; how:FLAGS,MODE,RESOLVE for openat2; x:VALUE for setxattrat; n:NUMBER a pointer to it;
//             q:NUMBER,... a pointer to 64-bit numbers; bound:PATH what socketcall(2) reads to bind a socket there
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#define CALL(name) {#name, SYS_##name}
static const struct { const char *name; long number; } calls[] = {
    CALL(open), CALL(creat), CALL(openat), {"openat2", 437}, CALL(truncate), CALL(ftruncate),
    CALL(unlink), CALL(unlinkat), CALL(rmdir), CALL(rename), CALL(renameat), CALL(renameat2),
    CALL(link), CALL(linkat), CALL(symlink), CALL(symlinkat), CALL(mkdir), CALL(mkdirat), CALL(mknod), CALL(mknodat),
    CALL(bind), CALL(ioctl), CALL(chmod), CALL(fchmod), CALL(fchmodat), {"fchmodat2", 452},
    CALL(chown), CALL(lchown), CALL(fchown), CALL(fchownat),
    CALL(utime), CALL(utimes), CALL(futimesat), CALL(utimensat),
    CALL(setxattr), CALL(lsetxattr), CALL(fsetxattr), {"setxattrat", 463},
    CALL(removexattr), CALL(lremovexattr), CALL(fremovexattr), {"removexattrat", 466}, {"file_setattr", 469},
    CALL(write), CALL(pwrite64), CALL(sendfile), CALL(copy_file_range), CALL(fallocate), CALL(chdir), CALL(fchdir),
    CALL(open_by_handle_at), CALL(swapon), CALL(acct), CALL(quotactl), {"quotactl_fd", 443}, CALL(init_module), CALL(finit_module),
    CALL(kexec_load), CALL(bpf), CALL(iopl), CALL(ioperm),
    CALL(mount), CALL(umount2), CALL(pivot_root), {"open_tree", 428}, {"move_mount", 429}, {"fsopen", 430},
    {"fsconfig", 431}, {"fsmount", 432}, {"fspick", 433}, {"mount_setattr", 442}, {"open_tree_attr", 467},
    {"io_uring_setup", 425},
#ifdef __i386__
    CALL(truncate64), CALL(ftruncate64), CALL(chown32), CALL(lchown32), CALL(fchown32), {"utimensat_time64", 412},
    CALL(socketcall),
#else
    CALL(kexec_file_load),
#endif
};

static long results[16];
static int made;

static long number(const char *text) {
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
    if (!strcmp(calls[i].name, text)) return calls[i].number;
  char *end;
  long found = strtol(text, &end, 0);
  if (!*text || *end) fprintf(stderr, "raw: %s?\n", text), exit(2);
  return found;
}

static long opened(const char *path, int flags) {
  int fd = open(path, flags);
  if (fd < 0) perror(path), exit(1);
  return fd;
}

static long numbers(const char *text) {
  uint64_t *to = calloc(64, sizeof *to);
  char *end = (char *)text;
  for (int i = 0; i < 64 && *end; i++) {
    to[i] = strtoull(end, &end, 0);
    if (*end == ',') end++;
  }
  return (long)to;
}

static long argument(const char *text) {
  const char *colon = strchr(text, ':');
  const char *rest = colon ? colon + 1 : text;
#define IS(word) (!strncmp(text, word ":", sizeof word))
  if (!strcmp(text, "cwd")) return AT_FDCWD;
  if (!strcmp(text, "sock")) return socket(AF_UNIX, SOCK_STREAM, 0);
  if (text[0] == '@') return text[1] ? results[text[1] - '0'] : results[made - 1];
  if (IS("s")) return (long)rest;
  if (IS("z")) return (long)calloc(1, 4096);
  if (IS("d")) return opened(rest, O_RDONLY | O_DIRECTORY);
  if (IS("r")) return opened(rest, O_RDONLY | O_NONBLOCK);
  if (IS("p")) return opened(rest, O_PATH | O_NOFOLLOW);
  if (IS("w")) return opened(rest, O_WRONLY);
  if (IS("how") || IS("q")) return numbers(rest);
  if (IS("n")) {
    long *to = calloc(1, sizeof *to);
    *to = strtol(rest, NULL, 0);
    return (long)to;
  }
  if (IS("x")) {
    struct { uint64_t value; uint32_t size, flags; } *to = calloc(1, sizeof *to);
    to->value = (uintptr_t)rest;
    to->size = (uint32_t)strlen(rest);
    return (long)to;
  }
  if (IS("un")) {
    struct sockaddr_un *to = calloc(1, sizeof *to);
    to->sun_family = AF_UNIX;
    strncpy(to->sun_path, rest, sizeof to->sun_path - 1);
    return (long)to;
  }
  if (IS("bound")) {
    long *to = calloc(3, sizeof *to);
    to[0] = argument("sock");
    char address[sizeof(struct sockaddr_un)];
    snprintf(address, sizeof address, "un:%.100s", rest);
    to[1] = argument(address);
    to[2] = sizeof(struct sockaddr_un);
    return (long)to;
  }
  return number(text);
}

int main(int argc, char **argv) {
  for (int at = 1; at < argc && made < 16; at++) {
    const char *name = argv[at];
    long nr = number(name), a[6] = {0};
    at++;
    for (int i = 0; at < argc && strcmp(argv[at], "then"); at++, i++) {
      if (i == 6) return 2;
      a[i] = argument(argv[at]);
    }
    results[made] = syscall(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
    if (results[made] < 0) {
      int error = errno;
      fprintf(stderr, "raw: %s: %s\n", name, strerror(error));
      return error;
    }
    made++;
  }
  return made == 0 ? 2 : 0;
}
