/* Sets OpenBLAS up, once per process: one thread, so that results do not depend on their number,
 * and its memory.
 *
 * OpenBLAS works in a buffer for each thread that calls it at a time, and keeps it.  If it cannot
 * get a buffer it asks again without end.  So the buffers of all threads are requested here, before
 * the first call, and held by the library from then on: later allocations of the program cannot
 * take them.  They are addresses only; pages are used as calls use them. */
#include "anatomy/base/blas.h"

#include "anatomy/base/parallel.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
  BUFFER_MIB = 128, /* BUFFER_SIZE of OpenBLAS on x86-64, the largest of its processors */
  MOST = 64,        /* buffers asked for: the library has twice as many slots for its own threads */
};

extern void openblas_set_num_threads(int n);
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
