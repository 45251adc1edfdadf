// fault WHAT ...: calls that must each happen exactly once while guard is starved, stopped and killed around them.
// A round is one chain of calls in a folder of its own; after each call what is there must be what the call leaves behind.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

// What is there, one bit each: names, and what else calls change.
enum { D = 1, F = 2, G = 4, H = 8, S = 16, P = 32, U = 64, T = 128, MODE = 256, SIZE = 512, TIME = 1024, NOTE = 2048, SWAP = 4096 };

typedef struct { char top[200]; int fd; } Place;
static __thread char text[4][300];
static const char *at(Place *p, const char *name) {
  static __thread int turn;
  char *to = text[turn++ & 3];
  snprintf(to, 300, "%s/%s", p->top, name);
  return to;
}

static long do_mkdir(Place *p) { return mkdir(p->top, 0700); }
static long do_create(Place *p) {
  int fd = open(at(p, "f"), O_RDWR | O_CREAT | O_EXCL, 0600);
  return fd < 0 ? fd : close(fd);
}
static long do_link(Place *p) { return link(at(p, "f"), at(p, "g")); }
static long do_rename(Place *p) { return syscall(SYS_renameat2, AT_FDCWD, at(p, "g"), AT_FDCWD, at(p, "h"), 1); }
static long do_symlink(Place *p) { return symlink("f", at(p, "s")); }
static long do_mknod(Place *p) { return mknod(at(p, "p"), S_IFIFO | 0600, 0); }
static long do_bind(Place *p) {
  struct sockaddr_un to = {.sun_family = AF_UNIX};
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  char own[40];  // a socket's path may only have 108 bytes, so it is bound through the folder's descriptor
  int dir = open(p->top, O_PATH | O_CLOEXEC);
  snprintf(own, sizeof own, "/proc/self/fd/%d/u", dir);
  strcpy(to.sun_path, own);
  long result = bind(fd, (struct sockaddr *)&to, sizeof to);
  int error = errno;
  close(fd);
  close(dir);
  errno = error;
  return result;
}
static long do_nameless(Place *p) { return p->fd = open(p->top, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600); }
static long do_name(Place *p) {
  char own[40];
  snprintf(own, sizeof own, "/proc/self/fd/%d", p->fd);
  return linkat(AT_FDCWD, own, AT_FDCWD, at(p, "t"), AT_SYMLINK_FOLLOW);
}
static long do_chmod(Place *p) { return chmod(at(p, "f"), 0640); }
static long do_truncate(Place *p) { return truncate(at(p, "f"), 5); }
static long do_times(Place *p) {
  struct timespec times[2] = {{1000000000, 1}, {1000000000, 1}};
  return utimensat(AT_FDCWD, at(p, "f"), times, 0);
}
static long do_note(Place *p) { return setxattr(at(p, "f"), "user.note", "n", 1, XATTR_CREATE); }
static long do_no_note(Place *p) { return removexattr(at(p, "f"), "user.note"); }
static long do_exchange(Place *p) { return syscall(SYS_renameat2, AT_FDCWD, at(p, "t"), AT_FDCWD, at(p, "s"), 2); }
static long do_unlink_h(Place *p) { return unlink(at(p, "h")); }
static long do_unlink_s(Place *p) { return unlink(at(p, "s")); }
static long do_unlink_p(Place *p) { return unlink(at(p, "p")); }
static long do_unlink_u(Place *p) { return unlink(at(p, "u")); }
static long do_unlink_t(Place *p) { return unlinkat(AT_FDCWD, at(p, "t"), 0); }
static long do_unlink_f(Place *p) { return unlink(at(p, "f")); }
static long do_rmdir(Place *p) { return rmdir(p->top); }

// How a call changes what is there: what it adds, what it takes away.
static const struct { const char *name; long (*call)(Place *); int adds, takes; } CHAIN[] = {
    {"mkdir", do_mkdir, D, 0},           {"create", do_create, F, 0},       {"link", do_link, G, 0},
    {"rename", do_rename, H, G},         {"symlink", do_symlink, S, 0},     {"mknod", do_mknod, P, 0},
    {"bind", do_bind, U, 0},             {"tmpfile", do_nameless, 0, 0},    {"linkat", do_name, T, 0},
    {"chmod", do_chmod, MODE, 0},        {"truncate", do_truncate, SIZE, 0}, {"utimensat", do_times, TIME, 0},
    {"setxattr", do_note, NOTE, 0},      {"removexattr", do_no_note, 0, NOTE}, {"exchange", do_exchange, SWAP, 0},
    {"unlink", do_unlink_h, 0, H},       {"unlink", do_unlink_s, 0, S | SWAP}, {"unlink", do_unlink_p, 0, P},
    {"unlink", do_unlink_u, 0, U},       {"unlinkat", do_unlink_t, 0, T},   {"unlink", do_unlink_f, 0, F | MODE | SIZE | TIME},
    {"rmdir", do_rmdir, 0, D},
};
enum { STEPS = sizeof CHAIN / sizeof *CHAIN };

static int after(int step) {  // what is there when that many calls have been made
  int bits = 0;
  for (int k = 0; k < step; k++) bits = (bits | CHAIN[k].adds) & ~CHAIN[k].takes;
  return bits;
}
static int there(Place *p) {
  static const struct { const char *name; int bit; } NAMES[] = {{"g", G}, {"h", H}, {"p", P}, {"u", U}, {"t", T}};
  struct stat s;
  char note;
  if (lstat(p->top, &s) < 0) return 0;
  int bits = D;
  for (int n = 0; n < 5; n++)
    if (lstat(at(p, NAMES[n].name), &s) == 0) bits |= NAMES[n].bit;
  if (lstat(at(p, "s"), &s) == 0) bits |= S_ISLNK(s.st_mode) ? S : S | SWAP;
  if (lstat(at(p, "f"), &s) == 0) {
    bits |= F | ((s.st_mode & 0777) == 0640 ? MODE : 0) | (s.st_size == 5 ? SIZE : 0);
    if (s.st_mtim.tv_sec == 1000000000) bits |= TIME;
    if (getxattr(at(p, "f"), "user.note", &note, 1) == 1) bits |= NOTE;
  }
  return bits;
}

static int wrong, interrupted, done, late, storm;
static void complain(const char *form, ...) {
  char line[600];
  va_list words;
  va_start(words, form);
  vsnprintf(line, sizeof line, form, words);
  va_end(words);
  if (__atomic_add_fetch(&wrong, 1, __ATOMIC_SEQ_CST) <= 20) fprintf(stderr, "fault: %s\n", line);
}
// One call, again where a signal came before anything was done.
static int once(Place *p, int k) {
  for (;;) {
    long result = CHAIN[k].call(p);
    int error = errno, found = there(p);
    if (result >= 0) {
      __atomic_add_fetch(&done, 1, __ATOMIC_SEQ_CST);
      if (found == after(k + 1)) return 1;
      complain("%s in %s worked and left %x, not %x", CHAIN[k].name, p->top, found, after(k + 1));
      return 0;
    }
    if (error != EINTR || storm != 'i') {
      complain("%s in %s: %s; there is %x", CHAIN[k].name, p->top, strerror(error), found);
      return 0;
    }
    __atomic_add_fetch(&interrupted, 1, __ATOMIC_SEQ_CST);
    if (found != after(k)) {
      complain("%s in %s was interrupted, and done: %x", CHAIN[k].name, p->top, found);
      return 0;
    }
  }
}
static void round_of(Place *p) {
  p->fd = -1;
  for (int k = 0; k < STEPS && once(p, k); k++) {}
  if (p->fd >= 0) close(p->fd);
}

static const char *folder;
static int rounds;
static void *lane(void *number) {
  Place p;
  for (int n = 0; n < rounds && wrong < 20; n++) {
    snprintf(p.top, sizeof p.top, "%s/w%ld-%d", folder, (long)number, n);
    round_of(&p);
  }
  return NULL;
}
static int lanes(long threads) {
  pthread_t all[256];
  for (long n = 0; n < threads; n++) pthread_create(&all[n], NULL, lane, (void *)n);
  for (long n = 0; n < threads; n++) pthread_join(all[n], NULL);
  printf("%d wrong, %d done\n", wrong, done);
  fprintf(stderr, "fault: %d interrupted\n", interrupted);
  return wrong != 0;
}
static void nothing(int number) { (void)number; }

static volatile int *shared;  // the number of the round; twice the step, one more while the call is under way
static void be_killed(const char *dir, int step, int told) {
  Place p;
  for (;;) {
    snprintf(p.top, sizeof p.top, "%s/k%d", dir, ++shared[0]);
    p.fd = -1;
    for (int k = 0; k < STEPS; k++) {
      if (k == step && write(told, "", 1) != 1) _exit(1);
      shared[1] = 2 * k + 1;
      if (CHAIN[k].call(&p) < 0) complain("%s in %s: %s", CHAIN[k].name, p.top, strerror(errno));
      shared[1] = 2 * k + 2;
    }
    close(p.fd);
  }
}
static void clear(Place *p) {
  static const char *NAMES[] = {"f", "g", "h", "s", "p", "u", "t"};
  for (int n = 0; n < 7; n++) unlink(at(p, NAMES[n]));
  rmdir(p->top);
}
// Kills a child in the middle of this call or another; in which, counted under the first one of its name. What is there is
// what was, or what the call makes of it.
static int kind_of(int step) {
  int kind = 0;
  while (strcmp(CHAIN[kind].name, CHAIN[step].name)) kind++;
  return kind;
}
static void kill_one(const char *dir, int step, int *hits) {
  struct timespec pause = {0, rand() % 60000};
  Place p;
  int told[2];
  shared[1] = 0;
  if (pipe(told)) { complain("pipe: %s", strerror(errno)); return; }
  pid_t pid = fork();
  if (pid == 0) be_killed(dir, step, told[1]);
  struct pollfd ready = {.fd = told[0], .events = POLLIN};
  poll(&ready, 1, 10000);
  nanosleep(&pause, NULL);
  kill(pid, SIGKILL);
  waitpid(pid, NULL, 0);
  close(told[0]), close(told[1]);
  int state = shared[1], k = state / 2;
  snprintf(p.top, sizeof p.top, "%s/k%d", dir, shared[0]);
  int found = there(&p);
  if (found != after(k) && !(state & 1 && found == after(k + 1)))
    complain("killed at %s (%d) of %s: there is %x", k < STEPS ? CHAIN[k].name : "the end", state, p.top, found);
  for (int n = 0; there(&p); n++) {  // a call that was under way may come to its end a little later
    clear(&p);
    if (n > 1000) { complain("%s cannot be cleared", p.top); break; }
    if (n) usleep(1000), late++;
  }
  if (state & 1) hits[kind_of(k)]++;
}
static void pause_for_a_look(const char *word) {
  printf("%s\n", word);
  fflush(stdout);
  getchar();
}
// A sign of life every second.
static void live(void) {
  static time_t last;
  if (time(NULL) == last) return;
  last = time(NULL);
  printf("going on\n");
  fflush(stdout);
}
static int kills(const char *dir, int want) {
  int hits[STEPS] = {0}, kinds = 0, total = 0;
  shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  for (int n = 0; kinds < STEPS && total < 40 * STEPS * want && wrong < 20; n = (n + 1) % STEPS) {
    if (hits[kind_of(n)] >= want) { kinds++; continue; }
    kinds = 0;
    if (total++ == 150) pause_for_a_look("warm");
    kill_one(dir, n, hits);
    live();
  }
  pause_for_a_look("over");
  printf("%d wrong, %s %d kills in calls of each kind, %d children, %d calls ended late\n", wrong,
         kinds < STEPS ? "not even" : "at least", want, total, late);
  return wrong != 0 || kinds < STEPS;
}

static int forks(const char *dir, int many) {  // short processes, one after the other
  for (int n = 0; n < many; n++) {
    if (n == many / 5) pause_for_a_look("warm");
    pid_t pid = fork();
    if (pid == 0) {
      char name[300];
      snprintf(name, sizeof name, "%s/p%d", dir, n);
      _exit(mkdir(name, 0700) < 0 || rmdir(name) < 0);
    }
    int status;
    if (pid < 0 || waitpid(pid, &status, 0) < 0 || status != 0) complain("process %d: %x", n, status);
    live();
  }
  pause_for_a_look("over");
  printf("%d wrong\n", wrong);
  return wrong != 0;
}
// Forks as often as it can for a second, each process working in dir.
static void bomb(const char *dir, int depth) {
  struct timespec end, now;
  clock_gettime(CLOCK_MONOTONIC, &end);
  for (int n = 0; n < 1000000; n++) {
    char name[300];
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (now.tv_sec - end.tv_sec >= 2) break;
    pid_t pid = depth < 12 ? fork() : -1;
    if (pid == 0) { bomb(dir, depth + 1); _exit(0); }
    if (pid < 0) shared[depth < 12]++;
    snprintf(name, sizeof name, "%s/b%d-%d", dir, getpid(), n);
    if (mkdir(name, 0700) < 0 || rmdir(name) < 0) shared[2]++;
    while (waitpid(-1, NULL, pid < 0 ? 0 : WNOHANG) > 0) {}
  }
  while (waitpid(-1, NULL, 0) > 0) {}
}
// Calls of every kind, and attempts on what is protected, until guard is gone; then a hundred more of each.
static void *until_lost(void *number) {
  Place p, victim;
  snprintf(p.top, sizeof p.top, "%s/l%ld", folder, (long)number);
  snprintf(victim.top, sizeof victim.top, "%s", getenv("P"));
  mkdir(p.top, 0700);
  for (int n = 0, left = -1; left != 0; n++) {
    int lost = 0;
    for (int k = 1; k < STEPS - 1; k++) {
      p.fd = -1;
      if (CHAIN[k].call(&p) < 0) lost += errno == ENOSYS;
      else if (left > 0) complain("%s worked without guard", CHAIN[k].name);
      if (p.fd >= 0) close(p.fd);
    }
    int fd = open(at(&victim, "settings.json"), O_WRONLY | O_TRUNC);
    if ((fd >= 0) | (chmod(at(&victim, "settings.json"), 0666) == 0) | (unlink(at(&victim, "auth.json")) == 0) |
        (rename(at(&victim, "sessions"), at(&p, "stolen")) == 0))
      complain("something protected was changed");
    if (fd >= 0) close(fd);
    if (left < 0 && lost > STEPS / 2) left = 100;
    if (left > 0) left--;
  }
  return NULL;
}
static int lose(long threads) {
  pthread_t all[64];
  printf("calling\n");
  fflush(stdout);
  for (long n = 0; n < threads; n++) pthread_create(&all[n], NULL, until_lost, (void *)n);
  for (long n = 0; n < threads; n++) pthread_join(all[n], NULL);
  printf("%d wrong, all of them refused\n", wrong);
  return wrong != 0;
}
static void *open_fifo(void *number) {
  char name[300];
  snprintf(name, sizeof name, "%s/fifo%ld", folder, (long)number);
  int fd = open(name, O_WRONLY);
  if (fd < 0 || write(fd, "x", 1) != 1) complain("%s: %s", name, strerror(errno));
  close(fd);
  return NULL;
}
// That many threads wait for readers of FIFOs, while the first one works.
static int fifos(int many) {
  pthread_t all[256];
  char name[300], byte;
  for (long n = 0; n < many; n++) {
    snprintf(name, sizeof name, "%s/fifo%ld", folder, n);
    if (mkfifo(name, 0600) < 0) complain("%s: %s", name, strerror(errno));
    pthread_create(&all[n], NULL, open_fifo, (void *)n);
  }
  usleep(200000);
  rounds = 20;
  lane((void *)0);
  pause_for_a_look("worked");
  for (long n = 0; n < many; n++) {
    snprintf(name, sizeof name, "%s/fifo%ld", folder, n);
    int fd = open(name, O_RDONLY);
    if (fd < 0 || read(fd, &byte, 1) != 1) complain("%s: %s", name, strerror(errno));
    close(fd);
    pthread_join(all[n], NULL);
    if (unlink(name) < 0) complain("%s: %s", name, strerror(errno));
  }
  printf("%d wrong, %d done\n", wrong, done);
  return wrong != 0;
}

int main(int argc, char **argv) {
  if (argc < 4) return 2;
  const char *what = argv[1];
  int number = atoi(argv[3]);
  folder = argv[2];
  srand((unsigned)getpid());
#define IS(word) (!strcmp(what, word))
  if (IS("once") && argc > 4) return rounds = atoi(argv[4]), lanes(number);  // DIR THREADS ROUNDS
  if (IS("storm") && argc > 6) {  // DIR THREADS ROUNDS MICROSECONDS restart|interrupt
    struct sigaction act = {.sa_handler = nothing, .sa_flags = *argv[6] == 'r' ? SA_RESTART : 0};
    struct itimerval each = {{0, atoi(argv[5])}, {0, atoi(argv[5])}};
    storm = *argv[6];
    rounds = atoi(argv[4]);
    sigaction(SIGALRM, &act, NULL);
    setitimer(ITIMER_REAL, &each, NULL);
    return lanes(number);
  }
  if (IS("kills")) return kills(folder, number);
  if (IS("forks")) return forks(folder, number);
  if (IS("lose")) return lose(number);
  if (IS("fifos")) return fifos(number);
  if (IS("bomb")) {  // DIR STATUS
    shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    bomb(folder, 0);
    printf("%s, %d calls failed\n", shared[1] ? "the limit was met" : "no limit was met", shared[2]);
    return number;
  }
  fprintf(stderr, "fault: %s?\n", what);
  return 2;
}
