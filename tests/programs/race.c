// race WORK KEPT AUX SWAP TRIES [CALL...]: makes each call again and again while a second thread or process swaps what it
// names between WORK/one/in, which is free, and KEPT, which is not. Says `ready` with the number of its parent, waits for a
// line, prints a line a call, says `end` and waits again. TRIES 0: each call until KEPT is changed, as a control.
// race peer SWAP WORK KEPT: swaps from outside, until it is killed.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <signal.h>
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

enum { PAGE = 4096, TEXT = 256, DIR_SLOT = 100, FILE_SLOT };
static const char *work, *kept, *swap;
static char in_path[TEXT / 2];
static int root, here, one, two, in, out, aux;  // WORK, WORK/one, WORK/two, WORK/one/in, KEPT, AUX
static int in_file, out_file, out_dir, first_file, first_dir;
static ino_t kept_number;

// What is written where the call looks for its argument: the free side and the other one.
static char side[2][TEXT];
static size_t length;
static char *pages, *moving;
static int memory;
static int *stop;  // in memory that a child shares

enum { VALUE = 1, BY_FD = 2 };
static const struct call { const char *name, *leaf; int kind; } calls[] = {
    {"open", "f", 0}, {"open-truncate", "f", 0}, {"open-append", "f", 0}, {"read-truncate", "f", 0}, {"openat2", "f", 0},
    {"create", "new", 0}, {"creat", "f", 0}, {"truncate", "f", 0}, {"unlink", "f", 0}, {"rmdir", "d", 0},
    {"rename-out", "f", 0}, {"rename-in", "new", 0}, {"rename-over", "f", 0}, {"exchange", "f", 0}, {"link-from", "f", 0},
    {"link-to", "new", 0}, {"symlink", "new", 0}, {"mkdir", "new", 0}, {"mknod", "new", 0}, {"bind", "new", 0},
    {"chmod", "f", 0}, {"fchmodat", "f", 0}, {"chown", "f", 0}, {"utimensat", "f", 0}, {"setxattr", "f", 0},
    {"fchmod", "f", BY_FD}, {"fsetxattr", "f", BY_FD}, {"setflags", "f", BY_FD},
    // The path is that of KEPT: what moves is another argument, between what changes nothing and what does.
    {"how", "f", VALUE}, {"how-odd", "f", VALUE}, {"times", "f", VALUE}, {"attribute", "f", VALUE}, {"flags", "f", VALUE},
    {"family", "new", VALUE}, {"slash", "new", VALUE},
};
#define IS(word) (!strcmp(c->name, word))
#define SWAP(word) (!strcmp(swap, word))

static void die(const char *what) { fprintf(stderr, "race: %s: %s\n", what, strerror(errno)); exit(2); }
static int must(const char *what, int result) {
  if (result < 0) die(what);
  return result;
}
static int dir_at(int at, const char *name) {
  if (mkdirat(at, name, 0755) && errno != EEXIST) die(name);
  return must(name, openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}
static int put(int at, const char *name) {
  int fd = openat(at, name, O_WRONLY | O_CREAT | O_EXCL, 0644);
  if (fd < 0) return -1;
  close(fd);
  return 0;
}
static int trade(int at, const char *a, int to, const char *b) { return syscall(SYS_renameat2, at, a, to, b, RENAME_EXCHANGE); }
static int by_name(void) { return SWAP("names") || SWAP("peer-names"); }
static int by_memory(void) { return SWAP("text") || SWAP("shared") || SWAP("protect") || SWAP("unmap") || SWAP("straddle"); }

// One step of the swap; even ones lead to the free side.
static void *map_side(char *at, unsigned n) {
  return mmap(at, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, memory, (off_t)(n & 1) * PAGE);
}
static void step(unsigned n) {
  int odd = n & 1;
  if (SWAP("link")) {
    symlinkat(odd ? kept : in_path, here, "next");
    renameat(here, "next", here, "flip");
  } else if (SWAP("exchange") || SWAP("peer")) {
    trade(one, "in", one, "out");
  } else if (SWAP("moves")) {
    renameat(one, "in", one, odd ? "rest" : "out");
    renameat(one, odd ? "out" : "rest", one, "in");
  } else if (SWAP("parent")) {
    renameat(odd ? one : two, "walker", odd ? two : one, "walker");
  } else if (SWAP("leaf") || SWAP("old-link")) {
    trade(in, "f", in, "alias");
  } else if (by_name()) {
    trade(in, "f", out, "f"), trade(in, "d", out, "d");
  } else if (SWAP("dup2")) {
    dup2(odd ? out : in, DIR_SLOT), dup2(odd ? out_file : in_file, FILE_SLOT);
  } else if (SWAP("chdir")) {
    if (fchdir(odd ? out : in)) abort();
  } else if (SWAP("chroot")) {
    if (fchdir(odd ? out : in) || chroot(".")) abort();
  } else if (SWAP("text") || SWAP("shared")) {
    memcpy(moving, side[odd], length);
    for (volatile int i = 0; i < 40; i++) {}
  } else if (SWAP("protect")) {
    memcpy(moving, side[odd], length);
    mprotect(pages, PAGE, PROT_NONE), mprotect(pages, PAGE, PROT_READ | PROT_WRITE);
  } else if (SWAP("unmap")) {
    munmap(pages, PAGE);
    map_side(pages, n);
  } else if (SWAP("straddle")) {
    map_side(pages + PAGE, n);
  }
}
// In bursts: a swap that guard has to answer takes as long as a try, and would leave no time for any.
static void *swapper(void *unused) {
  const struct timespec pause = {.tv_nsec = 20000};
  int rests = !by_memory() && !SWAP("dup2") && !SWAP("chdir") && !SWAP("chroot");
  for (unsigned n = 1; !__atomic_load_n(stop, __ATOMIC_RELAXED); n++) {
    step(n);
    if (rests && n / 3 % 2) nanosleep(&pause, NULL);
  }
  return unused;
}

// Makes both paths equally long: halves of the two in one must not name a folder on the way.
static void even_out(int at) {
  if (!SWAP("text") && !SWAP("shared") && !SWAP("protect")) return;
  size_t lengths[2] = {strlen(side[0] + at), strlen(side[1] + at)};
  int shorter = lengths[1] < lengths[0];
  size_t more = lengths[!shorter] - lengths[shorter];
  memmove(side[shorter] + at + more, side[shorter] + at, lengths[shorter] + 1);
  memset(side[shorter] + at, '/', more);
}
// Puts the two sides where the call will look.
static void lay_out(void) {
  length = TEXT;
  while (length > 1 && !side[0][length - 1] && !side[1][length - 1]) length--;
  if (length < TEXT) length++;
  size_t same = 0;
  while (same + 1 < length && side[0][same] == side[1][same]) same++;
  int straddles = SWAP("straddle");
  moving = straddles ? pages + PAGE - same : pages + 64;
  for (int n = 0; n < 2; n++) {
    char page[PAGE] = {0};
    if (straddles) memcpy(page, side[n] + same, TEXT - same);
    else memcpy(page + 64, side[n], TEXT);
    if (pwrite(memory, page, PAGE, (off_t)n * PAGE) != PAGE) die("memory");
  }
  if (straddles) memcpy(moving, side[0], same);
  map_side(straddles ? pages + PAGE : pages, 0);
}
static void sides(const struct call *c) {
  memset(side, 0, sizeof side);
  for (int n = 0; n < 2; n++) {
    struct sockaddr_un *address = (void *)side[n];
    struct open_how *how = (void *)side[n];
    struct timespec *times = (void *)side[n];
    const char *place = n || c->kind & VALUE ? kept : in_path;
    if (IS("bind") || IS("family")) {
      address->sun_family = IS("bind") || n ? AF_UNIX : AF_INET;
      snprintf(address->sun_path, sizeof address->sun_path, "%.90s/%s", place, c->leaf);
    } else if (IS("how") || IS("how-odd")) {
      how->flags = n ? O_WRONLY | O_TRUNC : IS("how") ? O_RDONLY : O_WRONLY;
      how->resolve = n || IS("how") ? 0 : 1 << 30;
    } else if (IS("times")) {
      times[0].tv_nsec = times[1].tv_nsec = n ? 7 : UTIME_OMIT;
    } else if (IS("attribute")) {
      strcpy(side[n], n ? "user.note" : "");
    } else if (IS("flags")) {
      side[n][0] = n ? FS_NODUMP_FL : FS_NOATIME_FL;
    } else {
      snprintf(side[n], TEXT, "%.200s/%s%s", place, c->leaf, IS("slash") && !n ? "/" : "");
    }
  }
  if (IS("bind")) even_out(2);
  else if (!(c->kind & VALUE)) even_out(0);
  lay_out();
}

// How the call names its object: from a directory, and for calls that know none.
static struct { int dir, fd; char *path, *whole; } spot;
static void aim(const struct call *c) {
  static char path[TEXT], whole[2 * TEXT];
  spot.dir = AT_FDCWD, spot.fd = FILE_SLOT, spot.path = path;
  if (c->kind & VALUE) snprintf(path, TEXT, "%s/%s", kept, c->leaf);
  else if (SWAP("link")) snprintf(path, TEXT, "%s/flip/%s", work, c->leaf);
  else if (SWAP("parent")) snprintf(path, TEXT, "../in/%s", c->leaf), spot.dir = openat(one, "walker", O_RDONLY);
  else if (SWAP("dup2")) strcpy(path, c->leaf), spot.dir = DIR_SLOT;
  else if (SWAP("chdir")) strcpy(path, c->leaf);
  else if (SWAP("chroot")) snprintf(path, TEXT, "/%s", c->leaf);
  else snprintf(path, TEXT, "%s/%s", in_path, c->leaf);
  spot.whole = spot.path;
  if (by_memory() && !(c->kind & VALUE)) spot.path = spot.whole = moving;
  else if (spot.dir != AT_FDCWD) snprintf(spot.whole = whole, sizeof whole, "/proc/self/fd/%d/%s", spot.dir, path);
}

static long spoil(int fd) {
  if (fd < 0) return -1;
  if (write(fd, "Z", 1) < 0 && errno != EBADF) die("write");
  close(fd);
  return 0;
}
static long socket_at(struct sockaddr *address) {
  int fd = must("socket", socket(AF_UNIX, SOCK_STREAM, 0));
  long result = bind(fd, address, sizeof(struct sockaddr_un));
  int error = errno;
  close(fd);
  errno = error;
  return result;
}
static long attempt(const struct call *c, unsigned n) {
  const struct timespec times[2] = {{1, 1}, {1, 1}};
  long flags = n & 1 ? FS_NODUMP_FL : FS_NOATIME_FL;
  int dir = spot.dir;
  char *path = spot.path;
  if (IS("open")) return spoil(openat(dir, path, O_WRONLY));
  if (IS("open-truncate")) return spoil(openat(dir, path, O_WRONLY | O_TRUNC));
  if (IS("open-append")) return spoil(openat(dir, path, O_WRONLY | O_APPEND));
  if (IS("read-truncate")) return spoil(openat(dir, path, O_RDONLY | O_TRUNC));
  if (IS("create")) return spoil(openat(dir, path, O_WRONLY | O_CREAT | O_EXCL, 0600));
  if (IS("slash")) return spoil(openat(dir, moving, O_WRONLY | O_CREAT, 0600));
  if (IS("openat2") || IS("how") || IS("how-odd")) {
    struct open_how fixed = {.flags = O_WRONLY | O_TRUNC};
    return spoil(syscall(SYS_openat2, dir, path, c->kind & VALUE ? (void *)moving : &fixed, sizeof fixed));
  }
  if (IS("creat")) return spoil(syscall(SYS_creat, spot.whole, 0600));
  if (IS("truncate")) return truncate(spot.whole, n % 7);
  if (IS("unlink")) return unlinkat(dir, path, 0);
  if (IS("rmdir")) return unlinkat(dir, path, AT_REMOVEDIR);
  if (IS("rename-out")) return renameat(dir, path, aux, "out");
  if (IS("rename-in") || IS("rename-over")) return renameat(aux, "in", dir, path);
  if (IS("exchange")) return trade(aux, "in", dir, path);
  if (IS("link-from")) return linkat(dir, path, aux, "link", SWAP("leaf") ? AT_SYMLINK_FOLLOW : 0);
  if (IS("link-to")) return linkat(aux, "in", dir, path, 0);
  if (IS("symlink")) return symlinkat("nowhere", dir, path);
  if (IS("mkdir")) return mkdirat(dir, path, 0755);
  if (IS("mknod")) return mknodat(dir, path, S_IFREG | 0600, 0);
  if (IS("family") || (IS("bind") && by_memory())) return socket_at((void *)moving);
  if (IS("bind")) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%.107s", spot.whole);
    return socket_at((void *)&address);
  }
  if (IS("chmod")) return chmod(spot.whole, n & 1 ? 0600 : 0640);
  if (IS("fchmodat")) return fchmodat(dir, path, n & 1 ? 0604 : 0644, 0);
  if (IS("fchmod")) return fchmod(spot.fd, n & 1 ? 0606 : 0666);
  if (IS("chown")) return fchownat(dir, path, n & 1, -1, 0);
  if (IS("utimensat")) return utimensat(dir, path, times, 0);
  if (IS("times")) return utimensat(dir, path, (void *)moving, 0);
  if (IS("setxattr")) return setxattr(spot.whole, "user.note", n & 1 ? "Z" : "Y", 1, 0);
  if (IS("attribute")) return setxattr(path, moving, n & 1 ? "Z" : "Y", 1, 0);
  if (IS("fsetxattr")) return fsetxattr(spot.fd, "user.note", n & 1 ? "Z" : "Y", 1, 0);
  if (IS("setflags")) return ioctl(spot.fd, FS_IOC_SETFLAGS, &flags);
  if (IS("flags")) return ioctl(out_file, FS_IOC_SETFLAGS, moving);
  return die(c->name), 0;
}
// Puts back what a call that worked has taken or made; not 0 when it cannot.
static int restore(const struct call *c) {
  struct stat stat;
  if (IS("unlink")) return put(in, "f");
  if (IS("rmdir")) return mkdirat(in, "d", 0755);
  if (IS("rename-out")) {
    if (fstatat(aux, "out", &stat, 0) == 0 && stat.st_ino == kept_number) kept_number = 0;
    return renameat(aux, "out", in, "f");
  }
  if (IS("rename-in")) return renameat(in, "new", aux, "in");
  if (IS("rename-over")) return put(aux, "in");
  if (IS("link-from")) return unlinkat(aux, "link", 0);
  if (!strcmp(c->leaf, "new")) return unlinkat(in, "new", IS("mkdir") ? AT_REMOVEDIR : 0);
  return 0;
}
static void furnish(int dir) {
  put(dir, "f"), mkdirat(dir, "d", 0755);
}

// What changes with every change of what is kept, its names included where they are not what is swapped.
static unsigned long state(void) {
  struct stat all[5] = {0};
  fstat(out_file, &all[0]), fstat(out_dir, &all[1]);
  if (!by_name()) fstat(out, &all[2]), fstatat(out, "f", &all[3], 0), fstatat(out, "d", &all[4], 0);
  unsigned long sum = kept_number;
  for (int i = 0; i < 5; i++) {
    const struct stat *s = &all[i];
    unsigned long parts[] = {s->st_ino, s->st_mode, s->st_nlink, s->st_uid, i == 1 ? 0 : s->st_size, s->st_mtim.tv_sec, s->st_mtim.tv_nsec,
                             by_name() ? 0 : s->st_ctim.tv_sec, by_name() ? 0 : s->st_ctim.tv_nsec};
    if (by_name() && i == 1) parts[5] = parts[6] = 0;
    for (unsigned part = 0; part < sizeof parts / sizeof *parts; part++) sum = (sum ^ parts[part]) * 1099511628211u;
  }
  return sum;
}
static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec + time.tv_nsec / 1e9;
}

static void before(const struct call *c, int control) {
  struct stat stat;
  furnish(in), put(aux, "in");
  if (control) furnish(out), unlinkat(out, "new", 0), unlinkat(out, "new", AT_REMOVEDIR), unlinkat(aux, "link", 0);
  in_file = must("f", openat(in, "f", O_RDONLY));
  // Where names are swapped, what was kept in the beginning may have any of them by now.
  int first = by_name() && !control;
  out_file = must("f", first ? dup(first_file) : openat(out, "f", O_RDONLY));
  out_dir = must("d", first ? dup(first_dir) : openat(out, "d", O_RDONLY));
  fstat(out_file, &stat);
  kept_number = stat.st_ino;
  dup2(in, DIR_SLOT), dup2(in_file, FILE_SLOT);
  sides(c), aim(c);
  if (SWAP("chdir") || SWAP("chroot")) step(0);
}
static void after(void) {
  if (fchdir(root) || chroot(".")) errno = 0;  // an ordinary user has stayed there
  if (fchdir(here)) die("fchdir");
  close(in_file), close(out_file), close(out_dir);
  if (SWAP("parent")) renameat(two, "walker", one, "walker"), close(spot.dir);
}
static void series(const struct call *c, long tries) {
  long counts[4] = {0}, errors[256] = {0}, n = 0;  // worked, refused, others, not put back
  pthread_t thread;
  pid_t child = 0;
  before(c, !tries);
  unsigned long was = state();
  double start = now();
  *stop = 0;
  if (SWAP("shared") && (child = fork()) == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    swapper(NULL);
    _exit(0);
  }
  if (!child && strncmp(swap, "peer", 4)) pthread_create(&thread, NULL, swapper, NULL);
  for (;; n++) {
    int both = counts[1] && (counts[0] || (c->kind & VALUE && counts[2]));
    if (tries ? n >= tries && both : n % 8 == 0 && state() != was) break;
    if (n % 64 == 0 && now() - start > 10 && (n >= tries || !counts[0] || !counts[1])) break;
    if (attempt(c, n) >= 0) {
      counts[0]++;
      counts[3] += restore(c) != 0;
    } else {
      int refused = errno == EACCES || errno == EXDEV;
      counts[1 + !refused]++;
      errors[errno & 255] += !refused;
    }
  }
  *stop = 1;
  if (child) waitpid(child, NULL, 0);
  else if (strncmp(swap, "peer", 4)) pthread_join(thread, NULL);
  printf("%s %ld %ld %ld %ld %ld %d", c->name, n, counts[0], counts[1], counts[2], counts[3], state() != was);
  for (int error = 0; error < 256; error++) if (errors[error]) printf(" %s=%ld", strerrorname_np(error), errors[error]);
  printf("\n");
  fflush(stdout);
  after();
}

static void set_up(char **paths) {
  work = paths[0], kept = paths[1];
  snprintf(in_path, sizeof in_path, "%s/one/in", work);
  root = must("/", open("/", O_RDONLY | O_DIRECTORY));
  here = dir_at(AT_FDCWD, work), one = dir_at(here, "one"), two = dir_at(here, "two"), in = dir_at(one, "in");
  out = must(kept, open(kept, O_RDONLY | O_DIRECTORY));
  first_file = must("f", openat(out, "f", O_RDONLY)), first_dir = must("d", openat(out, "d", O_RDONLY));
  aux = dir_at(AT_FDCWD, paths[2]);
  close(dir_at(one, "walker"));
  furnish(in);
  if (symlinkat(in_path, here, "flip") || symlinkat(kept, one, "out") || symlinkat(kept, two, "in")) die("symlink");
  char file[2 * TEXT];
  snprintf(file, sizeof file, "%s/f", kept);
  if (SWAP("leaf") && symlinkat(file, in, "alias")) die("alias");
  memory = must("memfd", memfd_create("sides", 0));
  if (ftruncate(memory, 2 * PAGE)) die("memory");
  pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  stop = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}
static void peer(char **words) {
  swap = words[0], work = words[1], kept = words[2];
  here = dir_at(AT_FDCWD, work), one = dir_at(here, "one"), in = dir_at(one, "in"), out = dir_at(AT_FDCWD, kept);
  for (unsigned n = 1;; n++) step(n);
}
int main(int count, char **words) {
  if (count == 5 && !strcmp(words[1], "peer")) peer(words + 2);
  if (count < 7) return 2;
  swap = words[4];
  set_up(words + 1);
  long tries = atol(words[5]);
  printf("ready %d\n", getppid());
  fflush(stdout);
  getchar();
  for (char **word = words + 6; *word; word++) {
    const struct call *c = NULL;
    for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++) if (!strcmp(calls[i].name, *word)) c = &calls[i];
    if (!c) return fprintf(stderr, "race: %s?\n", *word), 2;
    series(c, tries);
  }
  printf("end\n");
  fflush(stdout);
  getchar();
  return 0;
}
