/* Helper processes: data come through, and crashes, greed, hangs and writes stay inside. */
#include "anatomy/base/sanitizer.h"
#include "io/stream/helper-process.h"
#include "tests/io/fuzz.h"

#include <fcntl.h>
#include <glib.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N_NUMBERS = 300000 };

static PlaStatus
send_numbers(const void *job, PlaHelperPipe *pipe, PlaError *err)
{
  uint64_t state = *(const uint64_t *)job;
  for (int i = 0; i < N_NUMBERS; i++) {
    uint64_t r = pla_test_random(&state);
    if (!pla_helper_send(pipe, &r, sizeof r))
      return PLA_ERR_IO;
  }
  return PLA_OK;
}

static PlaStatus
fail_with_sentence(const void *job, PlaHelperPipe *pipe, PlaError *err)
{
  return pla_fail(err, PLA_ERR_UNSUPPORTED, "the %s is of an unknown kind", (const char *)job);
}

static PlaStatus
crash(const void *job, PlaHelperPipe *pipe, PlaError *err)
{
  signal(SIGSEGV, SIG_DFL);
  raise(SIGSEGV);
  return PLA_OK;
}

static PlaStatus
leave(const void *job, PlaHelperPipe *pipe, PlaError *err)
{
  _exit(0);
}

static PlaStatus
spin(const void *job, PlaHelperPipe *pipe, PlaError *err)
{
  for (volatile unsigned i = 0;; i++)
    ;
  return PLA_OK;
}

static PlaStatus
doze(const void *job, PlaHelperPipe *pipe, PlaError *err)
{
  for (;;)
    pause();
  return PLA_OK;
}

static PlaStatus
be_greedy(const void *job, PlaHelperPipe *pipe, PlaError *err)
{
  size_t got = 0;
  /* volatile: clang drops an allocation that nobody reads */
  for (void *volatile p; got < (size_t)512 << 20; got += 1 << 20) {
    p = malloc(1 << 20);
    if (!p)
      return pla_fail_memory(err, "the greedy one");
    memset(p, 1, 1 << 20);
  }
  return PLA_OK;
}

/* counts the forbidden things that worked */
static PlaStatus
misbehave(const void *job, PlaHelperPipe *pipe, PlaError *err)
{
  const char *existing = job;
  int n = 0;
  char fresh[4096];
  snprintf(fresh, sizeof fresh, "%s.new", existing);
  n += open(fresh, O_WRONLY | O_CREAT, 0600) >= 0;
  n += open(existing, O_RDWR) >= 0;
  n += unlink(existing) == 0;
  n += rename(existing, fresh) == 0;
  n += kill(getppid(), 0) == 0;
  n += fcntl(4, F_GETFD) >= 0;
  n += fork() >= 0;
  int fd = open(existing, O_RDONLY);
  char text[3] = { 0 };
  n += fd < 0 || read(fd, text, 3) != 3 || memcmp(text, "abc", 3) != 0 ? 100 : 0;
  pla_helper_send(pipe, &n, sizeof n);
  return PLA_OK;
}

static PlaStatus
run(PlaHelperFunc func, const void *job, const PlaHelperLimits *limits, PlaError *err)
{
  PlaHelper *helper = NULL;
  g_assert_cmpint(pla_helper_start("input.dat", func, job, limits, NULL, &helper, err), ==, PLA_OK);
  char byte;
  g_assert_false(pla_helper_read(helper, &byte, 1));
  return pla_helper_finish(helper, err);
}

static void
test_numbers(void)
{
  uint64_t seed = 7, state = seed;
  PlaError err = { 0 };
  PlaHelperLimits limits = pla_helper_limits_default();
  PlaHelper *helper = NULL;
  g_assert_cmpint(pla_helper_start("numbers", send_numbers, &seed, &limits, NULL, &helper, &err),
                  ==, PLA_OK);
  g_autofree uint64_t *got = g_new(uint64_t, N_NUMBERS);
  g_assert_true(pla_helper_read(helper, got, N_NUMBERS * sizeof *got));
  g_assert_cmpint(pla_helper_finish(helper, &err), ==, PLA_OK);
  for (int i = 0; i < N_NUMBERS; i++)
    g_assert_true(got[i] == pla_test_random(&state));

  /* leaving early ends it, and no zombie stays */
  g_assert_cmpint(pla_helper_start("numbers", send_numbers, &seed, &limits, NULL, &helper, &err),
                  ==, PLA_OK);
  pla_helper_abandon(helper);
  g_assert_cmpint(waitpid(-1, NULL, WNOHANG), ==, -1);
}

static void
test_failures(void)
{
  PlaError err = { 0 };
  PlaHelperLimits limits = { .memory_bytes = 64 << 20, .cpu_s = 1, .silence_s = 20 };
  g_assert_cmpint(run(fail_with_sentence, "sample", &limits, &err), ==, PLA_ERR_UNSUPPORTED);
  g_assert_cmpstr(err.message, ==, "the sample is of an unknown kind");
  g_assert_cmpint(run(crash, NULL, &limits, &err), ==, PLA_ERR_FORMAT);
  g_assert_nonnull(strstr(err.message, "input.dat"));
  g_assert_cmpint(run(leave, NULL, &limits, &err), ==, PLA_ERR_FORMAT);
  g_assert_cmpint(run(spin, NULL, &limits, &err), ==, PLA_ERR_FORMAT);
  g_assert_nonnull(strstr(err.message, "more than 1 s"));
  limits.silence_s = 0;
  g_assert_cmpint(run(doze, NULL, &limits, &err), ==, PLA_ERR_FORMAT);
  g_assert_nonnull(strstr(err.message, "no progress"));
  if (!PLA_SANITIZED) {
    limits.silence_s = 20;
    g_assert_cmpint(run(be_greedy, NULL, &limits, &err), ==, PLA_ERR_MEMORY);
  }
}

static void
test_cancel(void)
{
  PlaProgress progress;
  PlaError err = { 0 };
  PlaHelperLimits limits = pla_helper_limits_default();
  PlaHelper *helper = NULL;
  pla_progress_init(&progress, NULL, NULL);
  g_assert_cmpint(pla_helper_start("doze", doze, NULL, &limits, &progress, &helper, &err), ==,
                  PLA_OK);
  pla_progress_cancel(&progress);
  char byte;
  g_assert_false(pla_helper_read(helper, &byte, 1));
  g_assert_cmpint(pla_helper_finish(helper, &err), ==, PLA_ERR_CANCELLED);
}

static void
test_confined(void)
{
  g_autofree char *path = pla_test_path("existing");
  g_assert_true(g_file_set_contents(path, "abc", 3, NULL));
  PlaError err = { 0 };
  PlaHelperLimits limits = pla_helper_limits_default();
  PlaHelper *helper = NULL;
  int n = -1;
  g_assert_cmpint(pla_helper_start(path, misbehave, path, &limits, NULL, &helper, &err), ==,
                  PLA_OK);
  g_assert_true(pla_helper_read(helper, &n, sizeof n));
  g_assert_cmpint(pla_helper_finish(helper, &err), ==, PLA_OK);
  g_assert_cmpint(n, ==, 0);
  g_assert_true(g_file_test(path, G_FILE_TEST_EXISTS));
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/io/helper-process/numbers", test_numbers);
  g_test_add_func("/io/helper-process/failures", test_failures);
  g_test_add_func("/io/helper-process/cancel", test_cancel);
  g_test_add_func("/io/helper-process/confined", test_confined);
  return g_test_run();
}
