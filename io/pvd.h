/* Time series of meshes: a .pvd file that names one mesh file for each moment. */
#pragma once

#include "anatomy/base/status.h"

/* Writes @path with @n entries; each @file is a path relative to the folder of @path. */
PlaStatus pla_pvd_write(const char *path, int n, const double *time_s, const char *const *file,
                        PlaError *err);
