/* BLAS and LAPACK calls run on the thread that makes them: their bits then do not depend on how
 * many there are, and parallel loops around them own the cores. */
#pragma once

/* Call before the first use; any thread, any number of times. */
void pla_blas_single_thread(void);
