/* Sets OpenBLAS up, once per process: one thread, so that results do not depend on their number,
 * and its memory.
 *
 * OpenBLAS works in a buffer for each thread that calls it at a time, and keeps it.  If it cannot
 * get a buffer it asks again without end.  So the buffers of all threads are requested here, before
 * the first call, and held by the library from then on: later allocations of the program cannot
 * take them.  They are addresses only; pages are used as calls use them.
 *
 * OpenBLAS knows processors by their model numbers.  One that is newer than the library gets the
 * kernels of an older one, up to eight times slower for products of matrices.  What a processor can
 * do stands in its feature bits instead. */
#include "anatomy/base/blas.h"

#include "anatomy/base/parallel.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
  BUFFER_MIB = 128, /* BUFFER_SIZE of OpenBLAS on x86-64, the largest of its processors */
  MOST = 64,        /* buffers asked for: the library has twice as many slots for its own threads */
};

extern void openblas_set_num_threads(int n);
extern char *openblas_get_corename(void);
/* how OpenBLAS takes and returns a buffer; it keeps what was returned */
extern void *blas_memory_alloc(int place) __attribute__((weak));
extern void blas_memory_free(void *buffer) __attribute__((weak));

static PlaBlasEnd end_program;

void
pla_blas_set_end(PlaBlasEnd end)
{
  end_program = end;
}

static bool
has_room(int n)
{
  const size_t size = (size_t)BUFFER_MIB << 20;
  void *got[MOST];
  int i = 0;
  while (i < n && (got[i] = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                                 -1, 0)) != MAP_FAILED)
    i++;
  const bool all = i == n;
  while (i-- > 0)
    munmap(got[i], size);
  return all;
}

static void
start(void)
{
  const int threads = pla_threads_get(), n = threads < MOST ? threads : MOST;
  openblas_set_num_threads(1);
  if (!has_room(n)) {
    char sentence[256];
    snprintf(sentence, sizeof sentence,
             "there is not enough memory to calculate with: %d MiB of addresses are needed for %s; "
             "close other programs, raise the limit (ulimit -v), or use fewer threads",
             n * BUFFER_MIB, n > 1 ? "that many threads" : "one thread");
    if (end_program)
      end_program(sentence);
    fprintf(stderr, "%s\n", sentence);
    _exit(2);
  }
  void *buffer[MOST];
  for (int i = 0; i < n && blas_memory_alloc && blas_memory_free; i++)
    buffer[i] = blas_memory_alloc(1);
  for (int i = 0; i < n && blas_memory_alloc && blas_memory_free; i++)
    blas_memory_free(buffer[i]);
}

void
pla_blas_single_thread(void)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, start);
}

const char *
pla_blas_core(void)
{
  return openblas_get_corename();
}

/* how wide the vectors of a core's kernels are; 0: as on any x86-64, or not known */
static int
width_of(const char *core)
{
  static const struct {
    const char *core;
    int width; /* bits, and one more with fused multiply-adds */
  } known[] = {
    { "Sandybridge", 256 }, { "Bulldozer", 256 },
    { "Piledriver", 256 },  { "Steamroller", 256 },
    { "Excavator", 256 },   { "Haswell", 257 },
    { "Zen", 257 },         { "SkylakeX", 512 },
    { "Cooperlake", 512 },  { "SapphireRapids", 512 },
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (strcasecmp(core, known[i].core) == 0)
      return known[i].width;
  return 0;
}

const char *
pla_blas_better_core(void)
{
  const char *best = NULL;
#if defined(__x86_64__)
  /* processors of other makers split wide vectors, and their own cores suit them better */
  const bool wide = __builtin_cpu_is("intel") && __builtin_cpu_supports("avx512f") &&
                    __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (wide)
    best = __builtin_cpu_supports("avx512bf16") ? "Cooperlake" : "SkylakeX";
  else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    best = __builtin_cpu_is("amd") ? "Zen" : "Haswell";
#endif
  return best && width_of(best) > width_of(pla_blas_core()) ? best : NULL;
}

static char kernels[64];

static void
name_kernels(void)
{
  snprintf(kernels, sizeof kernels, "%s, %s", pla_kernel_name(pla_kernel_get()), pla_blas_core());
}

const char *
pla_kernels_text(void)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, name_kernels);
  return kernels;
}
