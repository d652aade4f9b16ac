/* io/stream/helper-process.h without the process.
 *
 * The decoders that the product runs in a forked child (GDCM, matio, libsndfile behind our own
 * code) run here, so that coverage guides the fuzzer into them and sanitizers watch our side of
 * them.  The libraries themselves are not instrumented, and a crash inside one is what the child
 * is there to contain: it counts as "the decoder failed", as it does in the product, and only a
 * fault in our own code stops the target. */
#include "tests/fuzz/fuzz.h"

#include "io/stream/helper-process.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <glib.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

enum { MOST_BYTES = 64 << 20 }; /* no honest decoder of a fuzzer's small files sends more */

struct PlaHelperPipe {
  GByteArray *sent;
};

struct PlaHelper {
  char *what;
  GByteArray *sent; /* NULL: a hostile helper's reply */
  size_t at;
  PlaStatus st;
  PlaError err;
  bool crashed, ended_early;
};

static const uint8_t *reply;
static size_t reply_left;

void
pla_fuzz_helper_reply(const void *data, size_t size)
{
  reply = data;
  reply_left = data ? size : 0;
}

PlaHelperLimits
pla_helper_limits_default(void)
{
  return (PlaHelperLimits){ .memory_bytes = (size_t)256 << 20, .cpu_s = 60, .silence_s = 60 };
}

/* ---- crashes inside libraries ---- */

static const int crash_signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };
static struct sigaction before[G_N_ELEMENTS(crash_signals)];
static sigjmp_buf way_out;

/* what a crashed library leaves behind is no leak of ours: allocations since the decoder began */
enum { MOST_ALLOCATIONS = 1 << 17, LARGE = 4096 };
static struct {
  void *p;
  size_t size;
} allocation[MOST_ALLOCATIONS];
static int n_allocations;
static bool decoding;

/* of the sanitizers; NULL without them */
extern int __sanitizer_install_malloc_and_free_hooks(void (*allocated)(const volatile void *p,
                                                                       size_t size),
                                                     void (*freed)(const volatile void *p))
    __attribute__((weak));
extern int __sanitizer_get_ownership(const volatile void *p) __attribute__((weak));
extern void __lsan_ignore_object(const void *p) __attribute__((weak));

bool
pla_helper_send(PlaHelperPipe *pipe, const void *data, size_t size)
{
  if (size > MOST_BYTES - pipe->sent->len)
    return false;
  decoding = false; /* what was sent survives a crash */
  g_byte_array_append(pipe->sent, data, (guint)size);
  decoding = true;
  return true;
}

static void
on_allocation(const volatile void *p, size_t size)
{
  if (decoding && n_allocations < MOST_ALLOCATIONS) {
    allocation[n_allocations].p = (void *)(uintptr_t)p;
    allocation[n_allocations++].size = size;
  }
}

static void
on_free(const volatile void *p)
{
}

static void
forget_allocations(void)
{
  if (!__lsan_ignore_object || !__sanitizer_get_ownership)
    return;
  for (int i = 0; i < n_allocations; i++)
    if (__sanitizer_get_ownership(allocation[i].p)) {
      if (allocation[i].size >= LARGE) /* buffers, to which no library keeps pointers of its own */
        free(allocation[i].p);
      else
        __lsan_ignore_object(allocation[i].p);
    }
}

static void
restore_handlers(void)
{
  for (size_t i = 0; i < G_N_ELEMENTS(crash_signals); i++)
    sigaction(crash_signals[i], &before[i], NULL);
}

/* Whether the innermost function that is not the C or C++ library's own stands in a library: these
 * raise signals for others, by assert(), abort() and std::terminate().  @pc: where the signal came
 */
static bool
library_crashed(const void *pc)
{
  void *frame[96];
  Dl_info us, at;
  const int n = backtrace(frame, G_N_ELEMENTS(frame));
  int i = 0;
  while (i < n && frame[i] != pc)
    i++;
  if (!dladdr((void *)(uintptr_t)library_crashed, &us))
    return false;
  for (; i < n; i++) {
    if (!dladdr(frame[i], &at))
      continue;
    const bool runtime = strstr(at.dli_fname, "/libc.so") || strstr(at.dli_fname, "/libstdc++") ||
                         strstr(at.dli_fname, "/libgcc_s") || strstr(at.dli_fname, "san.so");
    if (!runtime)
      return at.dli_fbase != us.dli_fbase;
  }
  return false;
}

static const void *
place_of(const void *context)
{
#if defined(__x86_64__)
  return (const void *)((const ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
  return (const void *)((const ucontext_t *)context)->uc_mcontext.pc;
#endif
}

static void
on_crash(int number, siginfo_t *info, void *context)
{
  restore_handlers();
  if (library_crashed(place_of(context)))
    siglongjmp(way_out, 1);
  /* ours: the instruction faults again, and the sanitizer reports it */
  if (number == SIGABRT)
    raise(number);
}

static void
run_decoder(PlaHelper *self, PlaHelperFunc func, const void *job)
{
  static bool hooked;
  PlaHelperPipe pipe = { .sent = self->sent };
  struct sigaction action = { .sa_sigaction = on_crash, .sa_flags = SA_SIGINFO | SA_NODEFER };
  if (!hooked && __sanitizer_install_malloc_and_free_hooks)
    __sanitizer_install_malloc_and_free_hooks(on_allocation, on_free);
  hooked = true;
  for (size_t i = 0; i < G_N_ELEMENTS(crash_signals); i++)
    sigaction(crash_signals[i], &action, &before[i]);
  n_allocations = 0;
  decoding = true;
  if (sigsetjmp(way_out, 1) == 0)
    self->st = func(job, &pipe, &self->err);
  else
    self->crashed = true;
  decoding = false;
  if (self->crashed)
    forget_allocations();
  restore_handlers();
}

/* ---- in the caller ---- */

PlaStatus
pla_helper_start(const char *what, PlaHelperFunc func, const void *job,
                 const PlaHelperLimits *limits, PlaProgress *progress, PlaHelper **out,
                 PlaError *err)
{
  PlaHelper *self = g_new0(PlaHelper, 1);
  self->what = g_strdup(what);
  if (!reply) {
    self->sent = g_byte_array_new();
    run_decoder(self, func, job);
  }
  *out = self;
  return PLA_OK;
}

void
pla_helper_set_what(PlaHelper *self, const char *what)
{
  g_free(self->what);
  self->what = g_strdup(what);
}

bool
pla_helper_read(PlaHelper *self, void *data, size_t size)
{
  const size_t left = self->sent ? self->sent->len - self->at : reply_left;
  self->ended_early = size > left;
  const size_t n = self->ended_early ? left : size;
  if (n == 0)
    return !self->ended_early;
  memcpy(data, self->sent ? self->sent->data + self->at : reply, n);
  if (self->sent) {
    self->at += n;
  } else {
    reply += n;
    reply_left -= n;
  }
  return !self->ended_early;
}

PlaStatus
pla_helper_finish(PlaHelper *self, PlaError *err)
{
  PlaStatus st = self->st;
  if (self->crashed)
    st = pla_fail(err, PLA_ERR_FORMAT,
                  "the decoder failed on %s; the file is damaged, copy it again", self->what);
  else if (st != PLA_OK && self->err.message[0])
    pla_fail(err, st, "%s", self->err.message);
  else if (st != PLA_OK || self->ended_early)
    st = pla_fail(err, st == PLA_OK ? PLA_ERR_FORMAT : st,
                  "%s ends before all of it was decoded; copy it again", self->what);
  pla_helper_abandon(self);
  return st;
}

void
pla_helper_abandon(PlaHelper *self)
{
  if (!self)
    return;
  if (self->sent)
    g_byte_array_unref(self->sent);
  g_free(self->what);
  g_free(self);
}
