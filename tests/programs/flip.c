// flip FREE PROTECTED SECONDS: threads that share a working directory and descriptors. One flips them between the two
// folders without a pause; two change what they name. Prints the rounds made.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DIR_SLOT = 100, FILE_SLOT };
static const char *free_dir, *protected_dir;
static volatile int stop;
static volatile long rounds;

static void *flip(void *unused) {
  int a = open(free_dir, O_RDONLY | O_DIRECTORY), b = open(protected_dir, O_RDONLY | O_DIRECTORY);
  int a_file = openat(a, "auth.json", O_RDONLY), b_file = openat(b, "auth.json", O_RDONLY);
  while (!stop) {
    if (fchdir(a)) abort();
    dup2(a, DIR_SLOT), dup2(a_file, FILE_SLOT);
    if (fchdir(b)) abort();
    dup2(b, DIR_SLOT), dup2(b_file, FILE_SLOT);
  }
  return unused;
}

static void spoil(int fd) {
  if (fd < 0) return;
  if (write(fd, "x", 1) < 0) perror("write");
  close(fd);
}

static void *hit(void *unused) {
  char by_number[40];
  snprintf(by_number, sizeof by_number, "/proc/self/fd/%d", FILE_SLOT);
  for (; !stop; rounds++) {
    chmod("auth.json", 0600), fchmodat(DIR_SLOT, "auth.json", 0601, 0), fchmod(FILE_SLOT, 0602), futimens(FILE_SLOT, 0);
    spoil(open("auth.json", O_WRONLY | O_TRUNC));
    spoil(openat(DIR_SLOT, "auth.json", O_WRONLY | O_APPEND));
    spoil(open(by_number, O_WRONLY | O_TRUNC));
    if (truncate("auth.json", 0) == 0) rename("auth.json", "moved");
    rename("moved", "auth.json"), unlinkat(DIR_SLOT, "auth.json", 0);
    spoil(openat(DIR_SLOT, "auth.json", O_CREAT | O_WRONLY, 0644));
    if (linkat(DIR_SLOT, "auth.json", AT_FDCWD, "link", 0) == 0) unlink("link");
    if (mkdir("new", 0755) == 0) rmdir("new");
    if (symlink("nowhere", "other") == 0) unlink("other");
  }
  return unused;
}

int main(int count, char **words) {
  if (count != 4) return 2;
  free_dir = words[1], protected_dir = words[2];
  pthread_t threads[3];
  for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, i ? hit : flip, NULL);
  usleep(1000000 * atof(words[3]));
  stop = 1;
  for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
  printf("%ld rounds\n", rounds);
  return 0;
}
