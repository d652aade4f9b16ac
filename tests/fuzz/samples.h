/* Small honest files whose decoders run in helper processes, made when first asked for. */
#pragma once

#include <glib.h>

/* Borrowed. */
GBytes *pla_fuzz_sample_dicom(void); /* one slice of 4 x 3 pixels */
GBytes *pla_fuzz_sample_mat(void);   /* a track of 3 samples and 2 channels */
GBytes *pla_fuzz_sample_ogg(void);   /* a tenth of a second of noise */
