/* What the reader and the writer of Gmsh meshes share. */
#pragma once

#include "io/formats/format.h"

/* the physical tag of a geometric entity */
typedef struct {
  int64_t dim, tag;
  int32_t physical;
} PlaGmshEntity;

PlaStatus pla_gmsh_write(const char *path, const PlaItem *item, const PlaWriteOptions *opts,
                         PlaError *err);
