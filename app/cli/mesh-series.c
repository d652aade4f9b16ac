/* Writes a series of meshes as numbered files and the .pvd list that names them. */
#include "app/cli/mesh-series.h"

#include "io/formats/format.h"
#include "io/formats/pvd.h"

#include <string.h>

void
pla_mesh_series_init(PlaMeshSeries *self, const char *list)
{
  *self = (PlaMeshSeries){ .list = list,
                           .folder = g_path_get_dirname(list),
                           .stem = g_path_get_basename(list),
                           .file = g_ptr_array_new_with_free_func(g_free),
                           .time = g_array_new(FALSE, FALSE, sizeof(double)) };
  char *dot = strrchr(self->stem, '.');
  if (dot)
    *dot = '\0';
}

void
pla_mesh_series_clear(PlaMeshSeries *self)
{
  g_clear_pointer(&self->folder, g_free);
  g_clear_pointer(&self->stem, g_free);
  g_clear_pointer(&self->file, g_ptr_array_unref);
  g_clear_pointer(&self->time, g_array_unref);
}

PlaStatus
pla_mesh_series_add(PlaMeshSeries *self, const PlaMesh *mesh, double time_s, PlaError *err)
{
  char *name = g_strdup_printf("%s_%04u.vtu", self->stem, self->file->len);
  /* as the list's own path is written, so that both wait in one folder */
  g_autofree char *path =
      strchr(self->list, '/') ? g_build_filename(self->folder, name, NULL) : g_strdup(name);
  PlaMesh lent = *mesh;
  PlaItem item = { .kind = PLA_KIND_MESH, .mesh = &lent };
  PlaWriteOptions opts = pla_write_options_default();
  g_ptr_array_add(self->file, name);
  g_array_append_val(self->time, time_s);
  return pla_item_write(path, &item, &opts, err);
}

PlaStatus
pla_mesh_series_finish(PlaMeshSeries *self, PlaError *err)
{
  PlaStatus st = pla_pvd_remove_frames(self->list, self->stem, err);
  if (st == PLA_OK)
    st = pla_pvd_write(self->list, (int)self->file->len, (const double *)(void *)self->time->data,
                       (const char *const *)self->file->pdata, err);
  return st;
}
