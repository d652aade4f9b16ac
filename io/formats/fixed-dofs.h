/* Lists of the fixed degrees of freedom of a mesh: text, their count first, then each, with commas
 * or blanks between. */
#pragma once

#include "anatomy/base/status.h"

/* A degree of freedom is 3 times its vertex, and 1 or 2 more for y or z; whether the mesh has it is
 * for the caller to check.  Caller frees *out. */
PlaStatus pla_fixed_dofs_read(const char *path, int **out, int *n, PlaError *err);
