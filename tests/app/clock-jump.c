/* Preloaded: the wall clock jumps by years at every look, forwards and backwards, as when a
 * machine's battery is empty or its time is set; by PLA_CLOCK_YEARS where that is set.  The
 * monotonic clock goes on. */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

int
clock_gettime(clockid_t clock, struct timespec *out)
{
  static int (*real)(clockid_t, struct timespec *);
  static atomic_int n;
  if (!real)
    *(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
  int rc = real(clock, out);
  if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) {
    static const long years[] = { 0, -30, 50, -56, 8000, 1 };
    const char *fixed = getenv("PLA_CLOCK_YEARS");
    out->tv_sec +=
        (fixed ? atol(fixed) : years[(getpid() + atomic_fetch_add(&n, 1)) % 6]) * 31557600L;
  }
  return rc;
}

int
gettimeofday(struct timeval *restrict tv, void *restrict zone)
{
  struct timespec now;
  (void)zone;
  int rc = clock_gettime(CLOCK_REALTIME, &now);
  tv->tv_sec = now.tv_sec;
  tv->tv_usec = now.tv_nsec / 1000;
  return rc;
}

time_t
time(time_t *out)
{
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (out)
    *out = now.tv_sec;
  return now.tv_sec;
}
