// stuck DIR MODE: mounts a file system in DIR that hangs (FUSE), for as long as this process lives.
// silent: answers nothing; init: answers the kernel's greeting alone; lookup: what is asked about its root as well;
// dead: nobody is there to answer any more, so that every call fails.
// auto: a place where something is mounted when it is gone to (autofs), by nobody.
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

static int device;
static char buffer[1 << 18];

static void answer(unsigned long long unique, int error, const void *data, size_t length) {
  char out[512];
  struct fuse_out_header head = {(unsigned)(sizeof head + length), error, unique};
  memcpy(out, &head, sizeof head);
  if (length) memcpy(out + sizeof head, data, length);
  if (write(device, out, sizeof head + length) < 0) perror("stuck: answer");
}

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  const char *mode = argv[2];
  char options[100];
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (!strcmp(mode, "auto")) {
    int ends[2];
    setpgid(0, 0);  // who belongs to the group that mounts does not wait
    if (pipe(ends) < 0) return perror("stuck: pipe"), 1;
    snprintf(options, sizeof options, "fd=%d,pgrp=%d,minproto=5,maxproto=5,direct", ends[1], getpgrp());
    if (mount("stuck", argv[1], "autofs", 0, options) < 0) return perror("stuck: mount"), 1;
    for (;;) pause();
  }
  device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
  if (device < 0) return perror("stuck: /dev/fuse"), 1;
  snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", device);
  if (mount("stuck", argv[1], "fuse", MS_NOSUID | MS_NODEV, options) < 0) return perror("stuck: mount"), 1;
  if (!strcmp(mode, "dead")) return 0;
  if (!strcmp(mode, "silent")) for (;;) pause();
  for (;;) {
    ssize_t got = read(device, buffer, sizeof buffer);
    if (got < (ssize_t)sizeof(struct fuse_in_header)) {
      if (got < 0 && (errno == EINTR || errno == ENOENT)) continue;
      return 1;
    }
    struct fuse_in_header *in = (struct fuse_in_header *)buffer;
    if (in->opcode == FUSE_INIT) {
      struct fuse_init_in *theirs = (struct fuse_init_in *)(in + 1);
      struct fuse_init_out ours = {.major = FUSE_KERNEL_VERSION, .minor = FUSE_KERNEL_MINOR_VERSION,
          .max_readahead = theirs->max_readahead, .max_write = 65536, .max_background = 16, .congestion_threshold = 12};
      answer(in->unique, 0, &ours, sizeof ours);
    } else if (in->opcode == FUSE_GETATTR && in->nodeid == FUSE_ROOT_ID && !strcmp(mode, "lookup")) {
      struct fuse_attr_out root = {.attr = {.ino = 1, .mode = S_IFDIR | 0777, .nlink = 2}};
      answer(in->unique, 0, &root, sizeof root);
    } else if (in->opcode == FUSE_STATFS && !strcmp(mode, "lookup")) {
      struct fuse_statfs_out sizes = {.st = {.bsize = 4096, .namelen = 255}};
      answer(in->unique, 0, &sizes, sizeof sizes);
    } else if (in->opcode == 52 && !strcmp(mode, "lookup")) {  // FUSE_STATX: the kernel asks again in the old way
      answer(in->unique, -ENOSYS, NULL, 0);
    } else if (in->opcode == FUSE_INTERRUPT) {  // whoever waits has been killed
      answer(((struct fuse_interrupt_in *)(in + 1))->unique, -EINTR, NULL, 0);
    }
  }
}
