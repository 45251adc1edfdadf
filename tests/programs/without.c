// without WHAT... -- COMMAND...: runs a command on a kernel that lacks something, as far as the command can tell.
//   NAME=ERRNO   the system call NAME fails with ERRNO (a number); NAME=kill ends the process that makes it; NAME=hang
//                never comes back
//   listener     another supervisor is in charge: a listener is open, which no call ever reaches
//   layers       as many Landlock rulesets are in force as the kernel allows
#define _GNU_SOURCE
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int listener = -1;  // kept open by the first process and never asked

static void die(const char *what) {
  perror(what);
  exit(99);
}

static int install(struct sock_filter *steps, unsigned short count, unsigned flags) {
  struct sock_fprog program = {count, steps};
  long fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
  if (fd < 0) die("seccomp");
  return (int)fd;
}

static void fail_call(const char *what) {
  static const struct { const char *name; unsigned number; } names[] = {
      {"landlock_create_ruleset", SYS_landlock_create_ruleset},
      {"landlock_restrict_self", SYS_landlock_restrict_self},
      {"seccomp", SYS_seccomp},
      {"process_vm_readv", SYS_process_vm_readv},
      {"pidfd_open", SYS_pidfd_open},
      {"pidfd_getfd", SYS_pidfd_getfd},
      {"openat2", SYS_openat2},
  };
  const char *equals = strchr(what, '=');
  for (size_t i = 0; equals && i < sizeof names / sizeof *names; i++) {
    if (strlen(names[i].name) != (size_t)(equals - what) || strncmp(names[i].name, what, equals - what)) continue;
    unsigned answer = SECCOMP_RET_ERRNO | (unsigned)atoi(equals + 1), flags = 0;
    if (!strcmp(equals + 1, "kill")) answer = SECCOMP_RET_KILL_PROCESS;
    if (!strcmp(equals + 1, "hang")) answer = SECCOMP_RET_USER_NOTIF, flags = SECCOMP_FILTER_FLAG_NEW_LISTENER;
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, names[i].number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, answer),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    int fd = install(steps, sizeof steps / sizeof *steps, flags);
    if (flags) listener = fd;
    return;
  }
  fprintf(stderr, "without: %s?\n", what);
  exit(98);
}

static void stack_layers(void) {
  struct landlock_ruleset_attr attr = {.handled_access_fs = LANDLOCK_ACCESS_FS_MAKE_BLOCK};
  for (int i = 0; i < 16; i++) {
    int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof attr, 0);
    if (ruleset < 0) die("landlock_create_ruleset");
    if (syscall(SYS_landlock_restrict_self, ruleset, 0)) die("landlock_restrict_self");
    close(ruleset);
  }
}

int main(int argc, char **argv) {
  int at = 1;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) die("no_new_privs");
  // The listener first, since a later step may take seccomp(2) away.
  for (int i = 1; i < argc && strcmp(argv[i], "--"); i++)
    if (!strcmp(argv[i], "listener")) {
      struct sock_filter allow[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
      listener = install(allow, 1, SECCOMP_FILTER_FLAG_NEW_LISTENER);
    }
  for (; at < argc && strcmp(argv[at], "--"); at++) {
    if (!strcmp(argv[at], "listener")) continue;
    if (!strcmp(argv[at], "layers")) stack_layers();
    else fail_call(argv[at]);
  }
  if (at + 1 >= argc) die("without: no command");
  pid_t child = fork();
  if (child < 0) die("fork");
  if (child == 0) {
    if (listener >= 0) close(listener);
    execvp(argv[at + 1], argv + at + 1);
    die(argv[at + 1]);
  }
  int status;
  if (waitpid(child, &status, 0) < 0) die("waitpid");
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
