// Moves the wall clock of a process by OFFSET_S seconds, which `test/dates.mjs` defines: compiled as a library and named in LD_PRELOAD.
// Monotonic clocks, and with them durations, stay. Waits for an absolute time are not translated: Node, Redis and Postgres do not use
// them with the wall clock. Allocates nothing and reads no environment, because allocators read clocks while they initialise.
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *at) {
  int failed = syscall(SYS_clock_gettime, clock, at);
  if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) at->tv_sec += OFFSET_S;
  return failed;
}

int gettimeofday(struct timeval *restrict at, void *restrict zone) {
  struct timespec now;
  (void)zone;
  clock_gettime(CLOCK_REALTIME, &now);
  at->tv_sec = now.tv_sec;
  at->tv_usec = now.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *at) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME_COARSE, &now);
  if (at) *at = now.tv_sec;
  return now.tv_sec;
}
