#include "anatomy/base/blas.h"

#include <pthread.h>

extern void openblas_set_num_threads(int n);

static void
set_one(void)
{
  openblas_set_num_threads(1);
}

void
pla_blas_single_thread(void)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, set_one);
}
