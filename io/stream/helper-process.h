/* Runs a parser that cannot be trusted with hostile bytes in a forked process with limits.
 *
 * The parser gets so much memory and processor time and may open files for reading only; what it
 * finds comes back through a pipe as plain bytes, which the caller must check like any file.  A
 * crash, a hang or a greedy allocation in there becomes a sentence here.
 *
 *   caller                                helper
 *   pla_helper_start(func, job)   -->     func(job, pipe, err):
 *   pla_helper_read(...)          <--       pla_helper_send(pipe, ...)
 *   pla_helper_finish(err)        <--       return status (with the sentence in err)
 *
 * The helper is a fork of the running program, threads and all their locks included: @func may
 * allocate, read files and call the parser library, provided that the library is called in
 * helpers only; it must not start threads or OpenMP loops, nor log through the program. */
#pragma once

#include "anatomy/base/progress.h"
#include "anatomy/base/status.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct PlaHelper PlaHelper;
typedef struct PlaHelperPipe PlaHelperPipe; /* the helper's end */

typedef struct {
  size_t memory_bytes; /* beyond what the program maps already; not kept under sanitizers */
  int cpu_s;           /* processor time, s */
  int silence_s;       /* longest time in which the helper may send nothing, s */
} PlaHelperLimits;
PlaHelperLimits pla_helper_limits_default(void); /* 256 MiB, 60 s, 60 s */

/* Runs in the helper.  @job is the caller's as it was at the start. */
typedef PlaStatus (*PlaHelperFunc)(const void *job, PlaHelperPipe *pipe, PlaError *err);

/* Sends @size bytes to the caller; false when it no longer listens: return then, with any status.
 */
bool pla_helper_send(PlaHelperPipe *pipe, const void *data, size_t size);

/* @what names the input in sentences ("/data/ct/12.dcm") and is copied; @progress may be NULL and
 * is borrowed until the end.  PLA_ERR_IO when the system gives no process. */
PlaStatus pla_helper_start(const char *what, PlaHelperFunc func, const void *job,
                           const PlaHelperLimits *limits, PlaProgress *progress, PlaHelper **out,
                           PlaError *err);
/* The input that sentences name from now on: a helper that reads many files passes through them. */
void pla_helper_set_what(PlaHelper *self, const char *what);
/* Waits for exactly @size bytes.  false: the helper ended, fell silent or the work was cancelled;
 * pla_helper_finish() then tells why. */
bool pla_helper_read(PlaHelper *self, void *data, size_t size);
/* Waits for the end and frees.  What @func returned, with its sentence; PLA_ERR_FORMAT when it
 * crashed, broke a limit or sent less than was read. */
PlaStatus pla_helper_finish(PlaHelper *self, PlaError *err);
/* Ends the helper whatever it does, and frees; NULL is fine. */
void pla_helper_abandon(PlaHelper *self);
