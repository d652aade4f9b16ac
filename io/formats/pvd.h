/* Time series of meshes: a .pvd file that names one mesh file for each moment. */
#pragma once

#include "anatomy/base/status.h"

/* Writes @path with @n entries; each @file is a path relative to the folder of @path. */
PlaStatus pla_pvd_write(const char *path, int n, const double *time_s, const char *const *file,
                        PlaError *err);
/* Frames STEM_0000.vtu and so on that the list at @path names go when the output set of this thread
 * takes its names, unless it writes them anew. */
PlaStatus pla_pvd_remove_frames(const char *path, const char *stem, PlaError *err);

typedef struct {
  int n;
  double *time_s; /* ascending (n) */
  char **file;    /* owned (n); relative to the folder of the .pvd file */
} PlaPvd;
/* Reads the list, not the meshes.  A file outside the folder of @path is refused. */
PlaStatus pla_pvd_read(const char *path, PlaPvd *out, PlaError *err);
void pla_pvd_clear(PlaPvd *self);
