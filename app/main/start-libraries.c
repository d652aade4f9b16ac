/* Settings that libraries read before main(): the program has to start itself once more.  The
 * user's own settings win.
 *
 * Threads of GNU OpenMP spin for milliseconds wherever they wait for each other.  On a machine that
 * has anything else to do, each such wait keeps the very thread that is waited for from running:
 * frames of a live simulation went from 38 a second to one in three.  So they spin briefly and then
 * sleep, which costs such frames a quarter of their rate on an idle machine (81 instead of 108 a
 * second).
 *
 * OpenBLAS takes kernels of an old processor where it does not know a new one (blas.h). */
#include "app/main/start-libraries.h"

#include "anatomy/base/blas.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

void
pla_start_libraries(char **argv)
{
  char path[PATH_MAX];
  const bool openmp = !getenv("OMP_WAIT_POLICY") && !getenv("GOMP_SPINCOUNT");
  const char *core = getenv("OPENBLAS_CORETYPE") ? NULL : pla_blas_better_core();
  if (!openmp && !core)
    return;
  ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  if (length <= 0)
    return;
  if (openmp &&
      (setenv("OMP_WAIT_POLICY", "passive", 1) != 0 || setenv("GOMP_SPINCOUNT", "1000", 1) != 0))
    return;
  /* a library that was built without it takes what it took before */
  if (core && setenv("OPENBLAS_CORETYPE", core, 1) != 0)
    return;
  path[length] = '\0';
  execv(path, argv);
}
