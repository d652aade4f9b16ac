/* Series of meshes. */
#include "app/cli/mesh-series.h"

#include "io/format.h"
#include "io/pvd.h"

#include <string.h>

void
pla_mesh_series_init(PlaMeshSeries *self, const char *list)
{
  *self = (PlaMeshSeries){ list, g_ptr_array_new_with_free_func(g_free),
                           g_array_new(FALSE, FALSE, sizeof(double)) };
}

void
pla_mesh_series_clear(PlaMeshSeries *self)
{
  g_clear_pointer(&self->file, g_ptr_array_unref);
  g_clear_pointer(&self->time, g_array_unref);
}

PlaStatus
pla_mesh_series_add(PlaMeshSeries *self, const PlaMesh *mesh, double time_s, PlaError *err)
{
  g_autofree char *folder = g_path_get_dirname(self->list), *base = g_path_get_basename(self->list);
  char *dot = strrchr(base, '.');
  if (dot)
    *dot = '\0';
  char *name = g_strdup_printf("%s_%04u.vtu", base, self->file->len);
  g_autofree char *path = g_build_filename(folder, name, NULL);
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
  return pla_pvd_write(self->list, (int)self->file->len,
                       (const double *)(void *)self->time->data,
                       (const char *const *)self->file->pdata, err);
}
