/* Threads of GNU OpenMP spin for milliseconds wherever they wait for each other.  On a machine that
 * has anything else to do, each such wait keeps the very thread that is waited for from running:
 * frames of a live simulation went from 38 a second to one in three.  So they spin briefly and then
 * sleep, which costs such frames a quarter of their rate on an idle machine (81 instead of 108 a
 * second).  The library reads the setting before main(), so the program has to start itself once
 * more; the user's own settings win. */
#include "app/main/start-openmp.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

void
pla_start_openmp(char **argv)
{
  char path[PATH_MAX];
  if (getenv("OMP_WAIT_POLICY") || getenv("GOMP_SPINCOUNT"))
    return;
  ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  if (length <= 0 || setenv("OMP_WAIT_POLICY", "passive", 1) != 0 ||
      setenv("GOMP_SPINCOUNT", "1000", 1) != 0)
    return;
  path[length] = '\0';
  execv(path, argv);
}
