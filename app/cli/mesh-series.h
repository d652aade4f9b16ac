/* A motion as files: NAME_0000.vtu and so on beside the list NAME.pvd.  Within an output set all
 * take their names together, and frames of an older, longer motion go. */
#pragma once

#include "anatomy/mesh/mesh.h"

#include <glib.h>

typedef struct {
  const char *list; /* path of the .pvd file, borrowed */
  char *folder, *stem;
  GPtrArray *file; /* names, without folder */
  GArray *time;    /* of double, s */
} PlaMeshSeries;
void pla_mesh_series_init(PlaMeshSeries *self, const char *list);
void pla_mesh_series_clear(PlaMeshSeries *self); /* also when never made */
PlaStatus pla_mesh_series_add(PlaMeshSeries *self, const PlaMesh *mesh, double time_s,
                              PlaError *err);
PlaStatus pla_mesh_series_finish(PlaMeshSeries *self, PlaError *err);
