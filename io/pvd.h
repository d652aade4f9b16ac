/* Time series of meshes: a .pvd file that names one mesh file for each moment. */
#pragma once

#include "anatomy/base/status.h"

/* Writes @path with @n entries; each @file is a path relative to the folder of @path. */
PlaStatus pla_pvd_write(const char *path, int n, const double *time_s, const char *const *file,
                        PlaError *err);

typedef struct {
  int n;
  double *time_s; /* ascending (n) */
  char **file;    /* owned (n); relative to the folder of the .pvd file */
} PlaPvd;
/* Reads the list, not the meshes.  A file outside the folder of @path is refused. */
PlaStatus pla_pvd_read(const char *path, PlaPvd *out, PlaError *err);
void pla_pvd_clear(PlaPvd *self);
