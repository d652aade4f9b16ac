/* Every format there is; io/format.c lists them in the order of probing. */
#pragma once

#include "io/format.h"

extern const PlaFormat pla_format_dicom;
extern const PlaFormat pla_format_label_table;
extern const PlaFormat pla_format_nifti;
extern const PlaFormat pla_format_vtp;
extern const PlaFormat pla_format_vtu;
