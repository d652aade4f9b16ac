/* BLAS and LAPACK calls run on the thread that makes them: their bits then do not depend on how
 * many there are, and parallel loops around them own the cores. */
#pragma once

/* Call before the first use; any thread, any number of times.  Ends the program where the memory
 * that OpenBLAS works in cannot be had. */
void pla_blas_single_thread(void);

/* How it ends: @end writes the sentence and does not return.  NULL: to the standard error, with
 * status 2.  Call before work starts. */
typedef void (*PlaBlasEnd)(const char *sentence);
void pla_blas_set_end(PlaBlasEnd end);
