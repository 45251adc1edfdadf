// reach WHAT ARGUMENT...: damage by way of other processes, of the kernel's rings, and of descriptors that were there before.
//   victim FILE NOTE      a process outside: writes its pid, the address of a word in its memory and the number of a
//                         descriptor for writing to NOTE, and empties FILE when the word changes, on SIGTERM, or when it
//                         cannot have a lock on FILE; ends after a minute, or when NOTE is gone
//   serve FILE SOCKET     gives a descriptor for writing to FILE away to whoever connects
//   poke-ptrace, poke-vm, poke-mem, getfd NOTE                     at a victim
//   take SOCKET           asks `serve`, and writes
//   lock FILE             keeps a lock until somebody has emptied FILE, at most two seconds
//   ring-unlink FILE, ring-xattr FILE                              by io_uring
//   edge FILE             unlinks it by a path that ends where memory ends
//   secret FILE           truncates it by a path in memory that is hidden from other processes (memfd_secret)
//   secret-chmod FILE     takes its mode in the same way
//   undumpable FILE       truncates it as a process that nobody may look into
//   mapped FILE           opens it for writing by /proc/self/map_files
//   aio FD, map FD        by a descriptor that was there before
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/io_uring.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static int bad(const char *what) { fprintf(stderr, "reach: %s: %s\n", what, strerror(errno)); return 1; }
static int done(const char *what, long result) { return result < 0 ? bad(what) : 0; }
static void pause_ms(int ms) { usleep(ms * 1000); }

static volatile long word = 1;
static volatile sig_atomic_t told;
static void tell(int signal) { told = signal; }

static int victim(const char *file, const char *note) {
  int fd = open(file, O_RDWR);
  char text[100];
  if (fd < 0) return bad(file);
  pid_t pid = fork();
  if (pid) return done("fork", pid);
  setsid();
  signal(SIGTERM, tell);
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
  int to = open(note, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  int length = snprintf(text, sizeof text, "%d %lx %d\n", getpid(), (long)&word, fd);
  if (write(to, text, length) != length) return bad(note);
  close(to);
  for (int n = 0; n < 30000 && access(note, F_OK) == 0; n++) {
    if (word != 1 || told || flock(fd, LOCK_EX | LOCK_NB) < 0) return done("ftruncate", ftruncate(fd, 0));
    flock(fd, LOCK_UN);
    pause_ms(2);
  }
  return 0;
}

static int address(const char *path, struct sockaddr_un *to) {
  memset(to, 0, sizeof *to);
  to->sun_family = AF_UNIX;
  strncpy(to->sun_path, path, sizeof to->sun_path - 1);
  return socket(AF_UNIX, SOCK_STREAM, 0);
}

static int serve(const char *file, const char *path) {
  struct sockaddr_un to;
  int fd = open(file, O_RDWR), listening = address(path, &to);
  if (bind(listening, (struct sockaddr *)&to, sizeof to) < 0 || listen(listening, 4) < 0) return bad(path);
  pid_t pid = fork();
  if (pid) return done("fork", pid);
  setsid();
  alarm(60);
  int other = accept(listening, NULL, NULL);
  char byte = 'x', room[CMSG_SPACE(sizeof fd)] = {0};
  struct iovec part = {&byte, 1};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
  struct cmsghdr *head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET, head->cmsg_type = SCM_RIGHTS, head->cmsg_len = CMSG_LEN(sizeof fd);
  memcpy(CMSG_DATA(head), &fd, sizeof fd);
  return done("sendmsg", sendmsg(other, &message, 0));
}

static int take(const char *path) {
  struct sockaddr_un to;
  int fd = address(path, &to);
  if (connect(fd, (struct sockaddr *)&to, sizeof to) < 0) return bad(path);
  char byte, room[CMSG_SPACE(sizeof fd)];
  struct iovec part = {&byte, 1};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
  if (recvmsg(fd, &message, 0) < 1 || !CMSG_FIRSTHDR(&message)) return bad("recvmsg");
  memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
  return done("write", write(fd, "ZZ", 2));
}

// What the victim has written about itself.
static pid_t pid;
static long where;
static int its;
static void read_note(const char *note) {
  for (int n = 0; n < 1000; n++) {
    FILE *file = fopen(note, "r");
    int found = file ? fscanf(file, "%d %lx %d", &pid, &where, &its) : 0;
    if (file) fclose(file);
    if (found == 3) return;
    pause_ms(2);
  }
  exit(bad(note));
}

static int poke(const char *how) {
  long value = 2;
  if (!strcmp(how, "poke-ptrace")) {
    if (ptrace(PTRACE_ATTACH, pid, 0, 0) < 0) return bad("ptrace");
    waitpid(pid, NULL, __WALL);
    long failed = ptrace(PTRACE_POKEDATA, pid, where, value);
    ptrace(PTRACE_DETACH, pid, 0, 0);
    if (failed < 0) return bad("PTRACE_POKEDATA");
  } else if (!strcmp(how, "poke-vm")) {
    struct iovec mine = {&value, sizeof value}, theirs = {(void *)where, sizeof value};
    if (process_vm_writev(pid, &mine, 1, &theirs, 1, 0) < 0) return bad("process_vm_writev");
  } else {
    char name[64];
    snprintf(name, sizeof name, "/proc/%d/mem", pid);
    int fd = open(name, O_RDWR);
    if (fd < 0) return bad(name);
    if (pwrite(fd, &value, sizeof value, where) < 0) return bad("pwrite");
  }
  for (int n = 0; n < 1000 && kill(pid, 0) == 0; n++) pause_ms(2);
  return 0;
}

static int getfd(void) {
  int of = (int)syscall(434, pid, 0);
  if (of < 0) return bad("pidfd_open");
  int fd = (int)syscall(438, of, its, 0);
  return fd < 0 ? bad("pidfd_getfd") : done("write", write(fd, "ZZ", 2));
}

static int lock(const char *file) {
  int fd = open(file, O_RDONLY);
  if (fd < 0 || flock(fd, LOCK_EX) < 0) return bad("flock");
  struct stat st;
  for (int n = 0; n < 1000 && fstat(fd, &st) == 0 && st.st_size > 0; n++) pause_ms(2);
  return 0;
}

static int ring(struct io_uring_sqe job) {
  struct io_uring_params p = {0};
  int fd = (int)syscall(425, 4, &p);
  if (fd < 0) return bad("io_uring_setup");
  char *submit = mmap(NULL, p.sq_off.array + p.sq_entries * 4, PROT_READ | PROT_WRITE, MAP_SHARED, fd, IORING_OFF_SQ_RING);
  char *complete = mmap(NULL, p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe), PROT_READ | PROT_WRITE, MAP_SHARED, fd, IORING_OFF_CQ_RING);
  struct io_uring_sqe *jobs = mmap(NULL, p.sq_entries * sizeof job, PROT_READ | PROT_WRITE, MAP_SHARED, fd, IORING_OFF_SQES);
  if (submit == MAP_FAILED || complete == MAP_FAILED || jobs == MAP_FAILED) return bad("mmap");
  jobs[0] = job;
  *(uint32_t *)(submit + p.sq_off.array) = 0;
  __atomic_store_n((uint32_t *)(submit + p.sq_off.tail), 1, __ATOMIC_RELEASE);
  if (syscall(426, fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0) return bad("io_uring_enter");
  int result = ((struct io_uring_cqe *)(complete + p.cq_off.cqes))->res;
  if (result < 0) errno = -result;
  return done("the ring", result);
}

static int aio(int fd) {
  aio_context_t context = 0;
  if (syscall(SYS_io_setup, 1, &context) < 0) return bad("io_setup");
  static char text[] = "ZZ";
  struct iocb job = {.aio_lio_opcode = IOCB_CMD_PWRITE, .aio_fildes = fd, .aio_buf = (uintptr_t)text, .aio_nbytes = 2};
  struct iocb *jobs[] = {&job};
  struct io_event event;
  if (syscall(SYS_io_submit, context, 1, jobs) < 0) return bad("io_submit");
  return done("io_getevents", syscall(SYS_io_getevents, context, 1, 1, &event, NULL));
}

static int map(int fd) {
  char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (p == MAP_FAILED) return bad("mmap");
  p[0] = 'Z';
  return done("msync", msync(p, 4096, MS_SYNC));
}

static int edge(const char *file) {
  size_t length = strlen(file) + 1;
  char *p = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED || length > 4096 || mprotect(p + 4096, 4096, PROT_NONE)) return bad("mprotect");
  return done(file, unlink(memcpy(p + 4096 - length, file, length)));
}

static int secret(const char *file, int chmods) {
  int fd = (int)syscall(447, 0);
  if (fd < 0 || ftruncate(fd, 4096) < 0) return bad("memfd_secret");
  char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (p == MAP_FAILED) return bad("mmap");
  strcpy(p, file);
  return done(file, chmods ? chmod(p, 0) : truncate(p, 0));
}

static int mapped(const char *file) {
  int fd = open(file, O_RDONLY);
  char *p = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0), name[100];
  if (p == MAP_FAILED) return bad("mmap");
  snprintf(name, sizeof name, "/proc/self/map_files/%lx-%lx", (long)p, (long)p + 4096);
  return done(name, open(name, O_WRONLY | O_TRUNC));
}

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  const char *what = argv[1], *a = argv[2];
#define IS(word) (!strcmp(what, word))
  if (IS("victim") && argc == 4) return victim(a, argv[3]);
  if (IS("serve") && argc == 4) return serve(a, argv[3]);
  if (IS("take")) return take(a);
  if (IS("lock")) return lock(a);
  if (IS("secret")) return secret(a, 0);
  if (IS("secret-chmod")) return secret(a, 1);
  if (IS("undumpable")) return done(a, prctl(PR_SET_DUMPABLE, 0) ? -1 : truncate(a, 0));
  if (IS("edge")) return edge(a);
  if (IS("mapped")) return mapped(a);
  if (IS("aio")) return aio(atoi(a));
  if (IS("map")) return map(atoi(a));
  if (IS("ring-unlink")) return ring((struct io_uring_sqe){.opcode = IORING_OP_UNLINKAT, .fd = AT_FDCWD, .addr = (uintptr_t)a});
  if (IS("ring-xattr"))
    return ring((struct io_uring_sqe){.opcode = IORING_OP_SETXATTR, .addr = (uintptr_t) "user.x", .addr2 = (uintptr_t) "z", .len = 1, .addr3 = (uintptr_t)a});
  read_note(a);
  if (IS("getfd")) return getfd();
  if (IS("poke-ptrace") || IS("poke-vm") || IS("poke-mem")) return poke(what);
  fprintf(stderr, "reach: %s?\n", what);
  return 2;
}
