// context WHAT [ARGUMENT]: the same eight attacks on the home in $HOME, made in a state that is not the usual one.
// Prints the error of each, 0 for none; exits 0 when one of them worked, 1 when none did, 99 when the state could not be had.
//   plain, thread, vfork, clone, signal, spawn, memfd, dumpable, session, closed, filter-allow, filter-errno,
//   filter-listener, landlock, ptrace, ptrace-trace, int80, x32
//   chdir, fchdir, dirfd, path                  paths from a working directory, a folder's descriptor, an O_PATH one
//   chroot DIR HOME                             HOME as seen from DIR
//   uid N                                       as another user
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

static void die(const char *what) { perror(what); _exit(99); }

// How a call is made: as it is, or by a way of the state's own.
typedef long caller(long nr, const long *a);
static long plainly(long nr, const long *a) { return syscall(nr, a[0], a[1], a[2], a[3], a[4], a[5]); }
static caller *call = plainly;

// Where paths start, all of it below 4 GB for the calls of 32-bit programs.
static int base = AT_FDCWD;
static char *low;  // room for paths
static char prefix[2000];

static long path(int slot, const char *name) {
  char *to = low + slot * 4096;
  snprintf(to, 4096, "%s%s", prefix, name);
  return (long)to;
}

#define A ".pi/agent/"
static int worked, errors[8];
static void note(int which, long result) {
  errors[which] = result < 0 ? errno : 0;
  worked += result >= 0;
}

static void attacks(void) {
  struct { uint64_t value; uint32_t size, flags; } *attribute = (void *)(low + 3 * 4096);
  char *name = low + 4 * 4096;
  strcpy(name, "user.note");
  strcpy(name + 16, "gone");
  attribute->value = (uintptr_t)name + 16;
  attribute->size = 4;
  note(0, call(SYS_unlinkat, (long[6]){base, path(0, A "models-store.json")}));
  note(1, call(SYS_renameat, (long[6]){base, path(0, ".local/share"), base, path(1, ".local/moved")}));
  note(2, call(SYS_openat, (long[6]){base, path(0, A "auth.json"), O_WRONLY | O_TRUNC}));
  note(3, call(SYS_fchmodat, (long[6]){base, path(0, A "settings.json"), 0}));
  note(4, call(SYS_linkat, (long[6]){base, path(0, A "sessions/--other--/x.jsonl"), base, path(1, "tmp/l")}));
  note(5, call(463, (long[6]){base, path(0, A "sessions"), 0, (long)name, (long)attribute, 16}));
  note(6, call(SYS_openat, (long[6]){base, path(0, A "new"), O_WRONLY | O_CREAT | O_EXCL, 0600}));
  note(7, call(SYS_renameat, (long[6]){base, path(0, "plain.txt"), base, path(1, A "npm/package.json")}));
}

static int *shared;  // results, where the attacks are another process's
static int report(void) {
  for (int i = 0; i < 8; i++) printf("%d%c", errors[i], i < 7 ? ' ' : '\n');
  fflush(stdout);
  return worked ? 0 : 1;
}

static void *in_thread(void *unused) { attacks(); return unused; }
static int in_clone(void *unused) { (void)unused; attacks(); return 0; }
static void in_handler(int signal) { (void)signal; attacks(); }

static int wait_for(pid_t pid) {
  int status;
  if (pid < 0 || waitpid(pid, &status, __WALL) < 0) die("wait");
  return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

// A process of its own makes the attacks and reports.
static int in_child(void (*first)(void)) {
  pid_t pid = fork();
  if (pid == 0) {
    first();
    attacks();
    _exit(report());
  }
  return wait_for(pid);
}

static void filter(unsigned answer, unsigned flags) {
  struct sock_filter steps[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getpid, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, answer),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof steps / sizeof *steps, steps};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) die("no_new_privs");
  long fd = flags ? syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program)
                  : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
  // Under guard there is a listener already, which is fine: the attacks go on without one.
  if (fd < 0 && !(flags && errno == EBUSY)) die("seccomp");
}

// A wall of its own, which lets everything through.
static void landlock(void) {
  struct landlock_ruleset_attr attr = {.handled_access_fs = LANDLOCK_ACCESS_FS_REFER};
  struct landlock_path_beneath_attr all = {.allowed_access = LANDLOCK_ACCESS_FS_REFER, .parent_fd = open("/", O_PATH)};
  int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof attr, 0);
  if (ruleset < 0 || syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &all, 0) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || syscall(SYS_landlock_restrict_self, ruleset, 0)) die("landlock");
}

// A daemon; the process that was started waits for its end and knows nothing of how it went.
static void session(void) {
  int ends[2];
  char byte;
  if (pipe(ends)) die("pipe");
  if (fork() > 0) {
    close(ends[1]);
    if (read(ends[0], &byte, 1)) die("read");
    _exit(1);
  }
  setsid();
  if (fork() > 0) _exit(0);
}

#ifdef __x86_64__
static long by_int80(long nr, const long *a) {
  static const struct { long from, to; } twins[] = {
      {SYS_unlinkat, 301}, {SYS_renameat, 302}, {SYS_openat, 295}, {SYS_fchmodat, 306}, {SYS_linkat, 303}, {463, 463}};
  long result = -ENOSYS, last = a[5];
  for (int i = 0; i < 6; i++)
    if (twins[i].from == nr)
      __asm__ volatile("mov %%rbp, %%r12; mov %7, %%rbp; int $0x80; mov %%r12, %%rbp"
                       : "=a"(result) : "a"(twins[i].to), "b"(a[0]), "c"(a[1]), "d"(a[2]), "S"(a[3]), "D"(a[4]), "r"(last)
                       : "memory", "r8", "r9", "r10", "r11", "r12");
  if (result < 0) errno = (int)-result;
  return result < 0 ? -1 : result;
}
static long by_x32(long nr, const long *a) { return plainly(nr | 0x40000000, a); }

// The attacker asks for getpid(2) with the arguments of another call; who traces it puts in that call's number.
static long by_tracer(long nr, const long *a) {
  shared[0] = (int)nr;
  return plainly(SYS_getpid, a);
}
static int traced(int by_filter) {
  pid_t pid = fork();
  if (pid == 0) {
    if (ptrace(PTRACE_TRACEME, 0, 0, 0) < 0) die("ptrace");
    raise(SIGSTOP);
    if (by_filter) filter(SECCOMP_RET_TRACE, 0);
    call = by_tracer;
    attacks();
    _exit(report());
  }
  int status, events = 0;
  waitpid(pid, &status, 0);
  long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL | (by_filter ? PTRACE_O_TRACESECCOMP : 0);
  if (ptrace(PTRACE_SETOPTIONS, pid, 0, options) < 0) die("PTRACE_SETOPTIONS");
  int go = by_filter ? PTRACE_CONT : PTRACE_SYSCALL, deliver = 0;
  while (ptrace(go, pid, 0, deliver) == 0 && waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
    int seccomp = status >> 8 == (SIGTRAP | PTRACE_EVENT_SECCOMP << 8), stop = WSTOPSIG(status) == (SIGTRAP | 0x80);
    deliver = seccomp || stop ? 0 : WSTOPSIG(status);
    struct user_regs_struct r;
    if ((seccomp || stop) && ptrace(PTRACE_GETREGS, pid, 0, &r) == 0 && r.orig_rax == SYS_getpid && shared[0]) {
      r.orig_rax = shared[0], shared[0] = 0, events++;
      if (ptrace(PTRACE_SETREGS, pid, 0, &r) < 0) die("PTRACE_SETREGS");
    }
  }
  if (events != 8) fprintf(stderr, "context: %d calls were replaced\n", events);
  return WIFEXITED(status) && events == 8 ? WEXITSTATUS(status) : 99;
}
#endif

static void nothing(void) {}
static void undumpable(void) { if (prctl(PR_SET_DUMPABLE, 0)) die("PR_SET_DUMPABLE"); }
static void allowing(void) { filter(SECCOMP_RET_ALLOW, 0); }
static void erring(void) { filter(SECCOMP_RET_ERRNO | EPERM, 0); }
static void listening(void) { filter(SECCOMP_RET_USER_NOTIF, SECCOMP_FILTER_FLAG_NEW_LISTENER); }

static int start(const char *program) {
  char *arguments[] = {"context", "plain", NULL};
  pid_t pid;
  int failed = posix_spawn(&pid, program, NULL, NULL, arguments, environ);
  if (failed) errno = failed, die("posix_spawn");
  return wait_for(pid);
}

static int from_memory(void) {
  int fd = memfd_create("context", 0), self = open("/proc/self/exe", O_RDONLY);
  char room[65536];
  for (ssize_t n; (n = read(self, room, sizeof room)) > 0;)
    if (write(fd, room, n) != n) die("write");
  fexecve(fd, (char *[]){"context", "plain", NULL}, environ);
  die("fexecve");
  return 99;
}

static void become(const char *number) {
  unsigned id = (unsigned)atoi(number);
  if (setgroups(0, NULL) || setgid(id) || setuid(id)) die("setuid");
}

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "", *a = argc > 2 ? argv[2] : "", *home = getenv("HOME");
  low = mmap((void *)0x10000000, 5 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (!home || low == MAP_FAILED || shared == MAP_FAILED) die("context");
  snprintf(prefix, sizeof prefix, "%s/", home);
#define IS(word) (!strcmp(what, word))
  static const struct { const char *name; void (*first)(void); } states[] = {
      {"plain", nothing}, {"dumpable", undumpable}, {"landlock", landlock},
      {"filter-allow", allowing}, {"filter-errno", erring}, {"filter-listener", listening}};
  for (size_t i = 0; i < sizeof states / sizeof *states; i++)
    if (IS(states[i].name)) return in_child(states[i].first);
  if (IS("chdir") || IS("fchdir")) {
    if (IS("chdir") ? chdir(home) : fchdir(open(home, O_RDONLY))) die(home);
    prefix[0] = 0;
  } else if (IS("dirfd") || IS("path")) {
    base = open(home, IS("path") ? O_PATH : O_RDONLY | O_DIRECTORY);
    if (base < 0 || chdir("/")) die(home);
    prefix[0] = 0;
  } else if (IS("chroot")) {
    if (chroot(a) || chdir("/")) die("chroot");
    snprintf(prefix, sizeof prefix, "%s/", argc > 3 ? argv[3] : "");
  } else if (IS("uid")) {
    become(a);
  } else if (IS("session")) {
    session();
  } else if (IS("closed")) {
    int out = fcntl(1, F_DUPFD, 500);
    syscall(SYS_close_range, 0, 499, 0);
    attacks();
    dup2(out, 1);
    return report();
  } else if (IS("thread")) {
    pthread_t thread;
    pthread_create(&thread, NULL, in_thread, NULL);
    pthread_join(thread, NULL);
    return report();
  } else if (IS("clone")) {
    char *stack = mmap(NULL, 1 << 18, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    wait_for(clone(in_clone, stack + (1 << 18), CLONE_VM | CLONE_FS | CLONE_FILES | SIGCHLD, NULL));
    return report();
  } else if (IS("vfork")) {
    volatile pid_t pid = vfork();
    if (pid == 0) {
      attacks();
      _exit(0);
    }
    wait_for(pid);
    return report();
  } else if (IS("signal")) {
    signal(SIGUSR1, in_handler);
    raise(SIGUSR1);
    return report();
  } else if (IS("spawn")) {
    return start("/proc/self/exe");
  } else if (IS("memfd")) {
    return from_memory();
#ifdef __x86_64__
  } else if (IS("ptrace") || IS("ptrace-trace")) {
    return traced(IS("ptrace-trace"));
  } else if (IS("int80")) {
    call = by_int80;
  } else if (IS("x32")) {
    call = by_x32;
#endif
  } else {
    fprintf(stderr, "context: %s?\n", what);
    return 99;
  }
  attacks();
  return report();
}
