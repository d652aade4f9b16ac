/* BLAS and LAPACK calls run on the thread that makes them: their bits then do not depend on how
 * many there are, and parallel loops around them own the cores. */
#pragma once

/* The processor whose kernels OpenBLAS runs, in its own words. */
const char *pla_blas_core(void);
/* What it would be told to take on this processor (OPENBLAS_CORETYPE, read as it is loaded), where
 * it does not know the processor and chose kernels of an older one; NULL: it chose well. */
const char *pla_blas_better_core(void);
/* All kernels that decide the last bits of a result, ours and those of OpenBLAS: "avx2, Haswell".
 */
const char *pla_kernels_text(void);

/* Call before the first use; any thread, any number of times.  Ends the program where the memory
 * that OpenBLAS works in cannot be had. */
void pla_blas_single_thread(void);

/* How it ends: @end writes the sentence and does not return.  NULL: to the standard error, with
 * status 2.  Call before work starts. */
typedef void (*PlaBlasEnd)(const char *sentence);
void pla_blas_set_end(PlaBlasEnd end);
