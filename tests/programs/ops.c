// ops HOW FILE DIR: makes the raw calls that FILE lists, in DIR, and prints of each what came of it, so that two runs can be
// compared line by line. HOW is `processes` or `threads` (each line is made by the worker that it names, one after the
// other, in the order of the file) or `parallel` (each worker is a process in a folder of its own, and none waits).
//
// A line is WORKER CALL ARGUMENT... [>SLOT]; a descriptor that a call gives goes to the slot, or is closed. Arguments:
//   iN integer   w AT_FDCWD   fS the descriptor in slot S   n NULL   b a bad pointer
//   pTEXT string, any byte as %XX   uTEXT one that runs into an unmapped page   rN:UNIT:REST UNIT N times, then REST
//   qS:REST /proc/self/fd/N of slot S, then REST   tS,N,S,N two timespecs or so   hFLAGS,MODE,RESOLVE,EXTRA an open_how
//   xHEX bytes   zN N zero bytes
#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { WORKERS = 4, SLOTS = 8, LINES = 20000, WORDS = 10, ROOM = 70000, ANSWER = 16384 };
static char *lines[LINES];
static int line_count, slots[SLOTS];
static volatile sig_atomic_t too_large;  // SIGXFSZ came

enum gives { NUMBER, DESCRIPTOR };
static const struct call {
  const char *name;
  long number;
  enum gives gives;
} calls[] = {
#define C(name) {#name, SYS_##name, NUMBER},
#define D(name) {#name, SYS_##name, DESCRIPTOR},
#ifdef SYS_open
    D(open) D(creat) C(unlink) C(rmdir) C(rename) C(link) C(symlink) C(mkdir) C(mknod) C(chmod) C(chown) C(lchown) C(utime)
    C(utimes) C(futimesat) C(access)
#endif
    D(openat) {"openat2", 437, DESCRIPTOR}, D(dup) C(truncate) C(ftruncate) C(unlinkat) C(renameat2)
#ifdef SYS_renameat
    C(renameat)
#endif
    C(linkat) C(symlinkat) C(mkdirat) C(mknodat) C(fchmod) C(fchmodat) {"fchmodat2", 452, NUMBER}, C(fchown) C(fchownat)
    C(utimensat) C(setxattr) C(lsetxattr) C(fsetxattr) C(removexattr) C(lremovexattr) C(fremovexattr)
    {"setxattrat", 463, NUMBER}, {"removexattrat", 466, NUMBER}, {"file_setattr", 469, NUMBER}, C(fallocate) C(write)
    C(pwrite64) C(lseek) C(flock) C(chdir) C(fchdir) C(umask) C(faccessat) {"faccessat2", 439, NUMBER}, C(fsync) C(setfsuid)
    C(setfsgid) C(setgroups) C(setresuid) C(setresgid) C(prctl) C(capset) C(chroot) C(fcntl) C(unshare)
    D(socket)
};

static char *unescaped(const char *text, char *to) {
  for (; *text; text++) {
    if (*text != '%') { *to++ = *text; continue; }
    char digits[3] = {text[1], text[2], 0};
    *to++ = (char)strtol(digits, NULL, 16);
    text += 2;
  }
  *to = 0;
  return to;
}
// A string whose last byte is the last of its page; the next page is not there.
static char *at_the_edge(const char *text) {
  char plain[5000];
  size_t length = unescaped(text, plain) - plain;
  char *pages = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mprotect(pages + 8192, 4096, PROT_NONE);
  return memcpy(pages + 8192 - length, plain, length);
}
static int slot(const char *text) {
  int number = atoi(text);
  return number >= 0 && number < SLOTS ? slots[number] : -1;
}
static long argument(const char *word, char *room) {
  const char *rest = word + 1;
  memset(room, 0, 4096 + 64);
  switch (*word) {
    case 'i': return (long)strtoll(rest, NULL, 0);
    case 'w': return AT_FDCWD;
    case 'f': return slot(rest);
    case 'n': return 0;
    case 'b': return 8;
    case 'u': return (long)at_the_edge(rest);
    case 'z': return (long)memset(room, 0, atoi(rest));
    case 'p': unescaped(rest, room); return (long)room;
    case 'q': unescaped(strchr(rest, ':') + 1, room + sprintf(room, "/proc/self/fd/%d", slot(rest))); return (long)room;
    case 'r': {
      char copy[300], *unit, *tail, *end = room;
      snprintf(copy, sizeof copy, "%s", rest);
      unit = strchr(copy, ':') + 1;
      tail = strchr(unit, ':');
      *tail++ = 0;
      for (int n = atoi(copy); n > 0; n--) end = unescaped(unit, end);
      unescaped(tail, end);
      return (long)room;
    }
    case 't':
    case 'h': {
      char *at = (char *)rest;
      for (int n = 0; n < 4 && *at; n++) {
        ((long long *)room)[n] = strtoll(at, &at, 0);
        if (*at == ',') at++;
      }
      return (long)room;
    }
    case 'x': {
      char digits[3] = "", *to = room;
      for (; rest[0] && rest[1]; rest += 2) memcpy(digits, rest, 2), *to++ = (char)strtol(digits, NULL, 16);
      return (long)room;
    }
  }
  fprintf(stderr, "ops: what is %s?\n", word), exit(2);
}

// What a worker says about one line.
struct answer { char text[ANSWER]; size_t used; };
__attribute__((format(printf, 2, 3))) static void say(struct answer *to, const char *format, ...) {
  va_list more;
  va_start(more, format);
  int n = vsnprintf(to->text + to->used, sizeof to->text - to->used, format, more);
  va_end(more);
  to->used += n;
  if (to->used >= sizeof to->text) to->used = sizeof to->text - 1;
}
static void say_bytes(struct answer *to, const char *bytes, long count) {
  for (long n = 0; n < count && n < 300; n++)
    say(to, bytes[n] > ' ' && bytes[n] < 127 && bytes[n] != '%' ? "%c" : "%%%02x", (unsigned char)bytes[n]);
}
static void say_number(struct answer *to, long result) {
  if (result < 0) say(to, "%s", strerrorname_np(errno));
  else say(to, "%ld", result);
}
static void say_stat(struct answer *to, const struct stat *s) {
  say(to, "mode %o uid %d gid %d links %ld", s->st_mode, (int)s->st_uid, (int)s->st_gid, (long)s->st_nlink);
  if (!S_ISDIR(s->st_mode)) say(to, " size %lld rdev %lx", (long long)s->st_size, (long)s->st_rdev);
  if (s->st_mtim.tv_sec < 1500000000) say(to, " mtime %lld.%09ld", (long long)s->st_mtim.tv_sec, s->st_mtim.tv_nsec);
}
static void say_descriptor(struct answer *to, int fd) {
  struct stat s;
  // O_NOFOLLOW says how it was opened, and is without effect from then on.
  say(to, "fd %d flags %#x cloexec %d ", fd, fcntl(fd, F_GETFL) & ~O_NOFOLLOW, fcntl(fd, F_GETFD));
  if (fstat(fd, &s) < 0) say(to, "%s", strerrorname_np(errno));
  else say_stat(to, &s);
}
static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }
static void say_sorted(struct answer *to, char **names, int count) {
  qsort(names, count, sizeof *names, by_name);
  for (int n = 0; n < count; n++) say(to, " "), say_bytes(to, names[n], strlen(names[n]));
}

static void list(struct answer *to, int dir, const char *path) {
  int fd = syscall(SYS_openat, dir, path, O_RDONLY | O_DIRECTORY), count = 0;
  DIR *open = fd < 0 ? NULL : fdopendir(fd);
  if (!open) { say_number(to, -1); return; }
  char *names[1000];
  for (struct dirent *entry; count < 1000 && (entry = readdir(open));) names[count++] = strdup(entry->d_name);
  say_sorted(to, names, count);
  closedir(open);
}
static void attributes(struct answer *to, const char *path) {
  static const size_t ROOM_FOR_NAMES = 8192;
  char names[8192], *each[500], value[300];
  int count = 0;
  long length = syscall(SYS_llistxattr, path, names, ROOM_FOR_NAMES);
  if (length < 0) { say_number(to, -1); return; }
  for (char *at = names; at < names + length && count < 500; at += strlen(at) + 1) each[count++] = at;
  say_sorted(to, each, count);
  for (int n = 0; n < count; n++) {
    long size = syscall(SYS_lgetxattr, path, each[n], value, sizeof value);
    say(to, " | "), say_number(to, size), say(to, " "), say_bytes(to, value, size);
  }
}
static void get(struct answer *to, int fd) {
  char text[300];
  long n = read(fd, text, sizeof text);
  say_number(to, n), say(to, " "), say_bytes(to, text, n);
}
static void bind_to(struct answer *to, const char *path, int type, int extra) {
  struct sockaddr_un address = {.sun_family = AF_UNIX}, got;
  memset(&got, 0, sizeof got);
  socklen_t length = offsetof(struct sockaddr_un, sun_path) + strnlen(path, sizeof address.sun_path) + extra;
  strncpy(address.sun_path, path, sizeof address.sun_path);
  int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
  int result = bind(fd, (struct sockaddr *)&address, length);
  say_number(to, result);
  if (result == 0 && (length = sizeof got, getsockname(fd, (struct sockaddr *)&got, &length) == 0))
    say(to, " name %u %.108s", length, got.sun_path);
  close(fd);
}
static void set_flags(struct answer *to, int fd, long bits) {
  int flags = 0, got = ioctl(fd, FS_IOC_GETFLAGS, &flags);
  if (got < 0) { say_number(to, -1); return; }
  flags = (flags & ~(FS_NODUMP_FL | FS_APPEND_FL)) | bits;
  say_number(to, ioctl(fd, FS_IOC_SETFLAGS, &flags));
}
// Sets a soft limit; `nofile` -1: as many as are open.
static void limit(struct answer *to, int which, long value) {
  struct rlimit now;
  if (value < 0) close(value = dup(0));
  getrlimit(which, &now);
  now.rlim_cur = value;
  say_number(to, setrlimit(which, &now));
}
// Executes a copy of sleep(1) made before, for as long as this program runs.
static void busy(struct answer *to, const char *path) {
  int ready[2];
  if (pipe2(ready, O_CLOEXEC) < 0) exit(2);
  if (fork() == 0) {
    syscall(SYS_prctl, 1 /* PR_SET_PDEATHSIG */, SIGKILL);
    execl(path, "sleep", "100", (char *)NULL);
    _exit(1);
  }
  char byte;
  close(ready[1]);
  say_number(to, read(ready[0], &byte, 1));  // 0: the descriptor went with the execve
  close(ready[0]);
}

static int special(struct answer *to, const char *name, const long *a) {
  struct stat s;
  char text[5000];
  long n;
  if (!strcmp(name, "stat")) {
    if (syscall(SYS_newfstatat, (int)a[0], a[1], &s, (int)a[2]) < 0) say_number(to, -1);
    else say_stat(to, &s);
  } else if (!strcmp(name, "readlink")) {
    n = syscall(SYS_readlinkat, (int)a[0], a[1], text, sizeof text);
    say_number(to, n), say(to, " "), say_bytes(to, text, n);
  } else if (!strcmp(name, "list")) list(to, (int)a[0], (char *)a[1]);
  else if (!strcmp(name, "attributes")) attributes(to, (char *)a[0]);
  else if (!strcmp(name, "getxattr")) {
    n = syscall(SYS_getxattr, a[0], a[1], text, a[2]);
    say_number(to, n);
    if (a[2]) say(to, " "), say_bytes(to, text, n);
  } else if (!strcmp(name, "read")) get(to, (int)a[0]);
  else if (!strcmp(name, "bind")) bind_to(to, (char *)a[0], (int)a[1], (int)a[2]);
  else if (!strcmp(name, "setflags")) set_flags(to, (int)a[0], a[1]);
  else if (!strcmp(name, "limit")) limit(to, (int)a[0], a[1]);
  else if (!strcmp(name, "busy")) busy(to, (char *)a[0]);
  else if (!strcmp(name, "about")) say_descriptor(to, (int)a[0]);
  else if (!strcmp(name, "signals")) say_number(to, too_large);
  else if (!strcmp(name, "chain")) {  // PREFIX COUNT: PREFIX0 -> PREFIX1 -> ... -> PREFIX
    for (n = 0; n < a[1]; n++) {
      char from[300], next[300];
      snprintf(from, sizeof from, "%s%ld", (char *)a[0], n);
      snprintf(next, sizeof next, n + 1 == a[1] ? "%s" : "%s%ld", (char *)a[0], n + 1);
      if (symlink(next, from) < 0) break;
    }
    say_number(to, n);
  } else return 0;
  return 1;
}

static void perform(struct answer *to, char *line) {
  static __thread char room[WORDS][ROOM];
  char copy[2000], *word[WORDS + 2], *rest;
  long a[WORDS] = {0};
  int count = 0, target = -1;
  snprintf(copy, sizeof copy, "%s", line);
  for (char *at = strtok_r(copy, " ", &rest); at && count < WORDS; at = strtok_r(NULL, " ", &rest)) word[count++] = at;
  if (word[count - 1][0] == '>') target = atoi(word[--count] + 1);
  for (int n = 2; n < count; n++) a[n - 2] = argument(word[n], room[n - 2]);
  const char *name = word[1];
  say(to, "%s = ", name);
  errno = 0;
  if (!strcmp(name, "close")) {
    int number = atoi(word[2] + 1);
    if (word[2][0] != 'f') { say_number(to, close(number)); return; }
    say_number(to, close(slots[number]));
    slots[number] = -1;
    return;
  }
  if (special(to, name, a)) return;
  size_t n = 0, known = sizeof calls / sizeof *calls;
  while (n < known && strcmp(calls[n].name, name)) n++;
  if (n == known) fprintf(stderr, "ops: what is %s?\n", name), exit(2);
  long result;
  int tries = 0;
  // With `..` and RESOLVE_BENEATH or RESOLVE_IN_ROOT openat2 wants to be asked again when anything was renamed meanwhile.
  do result = syscall(calls[n].number, a[0], a[1], a[2], a[3], a[4], a[5]);
  while (result < 0 && errno == EAGAIN && !strcmp(name, "openat2") && ++tries < 100);
  if (result < 0 || calls[n].gives == NUMBER) { say_number(to, result); return; }
  say_descriptor(to, (int)result);
  if (target < 0) { close((int)result); return; }
  if (slots[target] >= 0) close(slots[target]);
  slots[target] = (int)result;
}

static int to_worker[WORKERS][2], from_worker[WORKERS][2];
static void whole(int fd, const void *bytes, size_t count) {
  for (const char *at = bytes; count;) {
    ssize_t n = write(fd, at, count);
    if (n <= 0) _exit(3);
    at += n, count -= n;
  }
}
// One answer: its number and length, then its text.
static void answer(int me, int number) {
  static __thread struct answer out;
  out.used = 0;
  perform(&out, lines[number]);
  int head[2] = {number, (int)out.used};
  whole(from_worker[me][1], head, sizeof head);
  whole(from_worker[me][1], out.text, out.used);
}
static void *in_turns(void *worker) {
  int me = (int)(intptr_t)worker, number;
  while (read(to_worker[me][0], &number, sizeof number) == sizeof number) answer(me, number);
  return NULL;
}
static void on_its_own(int me) {
  char dir[16];
  snprintf(dir, sizeof dir, "%d", me);
  mkdir(dir, 0755);
  if (chdir(dir) < 0) _exit(4);
  for (int n = 0; n < line_count; n++)
    if (lines[n][0] - '0' == me) answer(me, n);
}
static int print_one(int fd) {
  char text[ANSWER + 1];
  int head[2];
  if (read(fd, head, sizeof head) != sizeof head) return 0;
  for (int got = 0; got < head[1];) {
    ssize_t n = read(fd, text + got, head[1] - got);
    if (n <= 0) return 0;
    got += n;
  }
  text[head[1]] = 0;
  printf("%d %s\n", head[0], text);
  return 1;
}
static void note_too_large(int signal) { (void)signal, too_large++; }

int main(int argc, char **argv) {
  static char line[2000];
  (void)argc;
  alarm(80);
  umask(022);
  signal(SIGPIPE, SIG_IGN);
  struct sigaction note = {.sa_handler = note_too_large, .sa_flags = SA_RESTART};
  sigaction(SIGXFSZ, &note, NULL);
  FILE *file = fopen(argv[2], "re");
  if (!getenv("HOME") || chdir(getenv("HOME")) < 0 || access(".throwaway-home", F_OK) < 0) {
    fprintf(stderr, "ops: HOME is not a throw-away one\n");
    return 2;
  }
  if (!file || chdir(argv[3]) < 0) { perror("ops"); return 2; }
  while (line_count < LINES && fgets(line, sizeof line, file)) {
    line[strcspn(line, "\n")] = 0;
    if (*line) lines[line_count++] = strdup(line);
  }
  fclose(file);
  for (int n = 0; n < SLOTS; n++) slots[n] = -1;
  int threads = !strcmp(argv[1], "threads"), parallel = !strcmp(argv[1], "parallel"), bad = 0;
  pid_t workers[WORKERS];
  for (intptr_t n = 0; n < WORKERS; n++) {
    if (pipe(to_worker[n]) < 0 || pipe(from_worker[n]) < 0) return 2;
    pthread_t thread;
    if (threads) { pthread_create(&thread, NULL, in_turns, (void *)n); continue; }
    if ((workers[n] = fork()) == 0) {
      for (int other = 0; other <= n; other++) close(to_worker[other][1]), close(from_worker[other][0]);
      parallel ? on_its_own((int)n) : (void)in_turns((void *)n);
      _exit(0);
    }
    close(to_worker[n][0]), close(from_worker[n][1]);
  }
  if (parallel)
    for (int n = 0; n < WORKERS; n++) while (print_one(from_worker[n][0])) {}
  for (int n = 0; !parallel && n < line_count && !bad; n++) {
    int worker = (lines[n][0] - '0') & 3;
    whole(to_worker[worker][1], &n, sizeof n);
    if (!print_one(from_worker[worker][0])) printf("%d worker %d is gone\n", n, worker), bad = 1;
  }
  if (!threads)
    for (int n = 0, status; n < WORKERS; n++) {
      close(to_worker[n][1]);
      waitpid(workers[n], &status, 0);
      if (status) printf("a worker ends with %#x\n", status), bad = 1;
    }
  return bad;
}
