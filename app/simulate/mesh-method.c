/* The table of meshing methods. */
#include "app/simulate/mesh-method.h"

#include "app/simulate/mesh-methods.h"
#include "app/simulate/simulation-checks.h"

#include <string.h>

static const PlaMeshMethod *const methods[] = {
  &pla_mesh_method_tets,
  &pla_mesh_method_lattice,
  &pla_mesh_method_carved,
  &pla_mesh_method_embed,
  NULL,
};

PlaMeshInput
pla_mesh_input_default(void)
{
  return (PlaMeshInput){ .cell_mm = 4.0, .levels = 3, .smooth_mm = -1.0 };
}

void
pla_mesh_result_init(PlaMeshResult *self)
{
  *self = (PlaMeshResult){ .found = json_object_new(),
                           .lines = g_ptr_array_new_with_free_func(g_free) };
}

void
pla_mesh_result_clear(PlaMeshResult *self)
{
  pla_mesh_free(self->mesh);
  g_clear_pointer(&self->found, json_object_unref);
  g_clear_pointer(&self->lines, g_ptr_array_unref);
  *self = (PlaMeshResult){ 0 };
}

const PlaMeshMethod *const *
pla_mesh_methods_get(void)
{
  return methods;
}

PlaStatus
pla_mesh_method_find(const char *name, const PlaMeshMethod **out, PlaError *err)
{
  g_autoptr(GString) known = g_string_new(NULL);
  for (int m = 0; methods[m]; m++) {
    if (strcmp(methods[m]->name, name) == 0) {
      *out = methods[m];
      return PLA_OK;
    }
    g_string_append_printf(known, "%s%s", m ? ", " : "", methods[m]->name);
  }
  return pla_fail(err, PLA_ERR_USAGE, "There is no meshing method '%s'; known: %s", name,
                  known->str);
}

PlaStatus
pla_mesh_method_run(const PlaMeshMethod *method, const PlaMeshInput *input, PlaProgress *progress,
                    PlaMeshResult *out, PlaError *err)
{
  if (input->surface && !method->takes_surfaces)
    return pla_fail(err, PLA_ERR_USAGE, "The method '%s' meshes labels, not surfaces",
                    method->name);
  if (input->labels && !method->takes_labels)
    return pla_fail(
        err, PLA_ERR_USAGE,
        "The method '%s' meshes surfaces, not labels; make a surface of the label first",
        method->name);
  const bool tets = input->surface && method->takes_tets && input->surface->n_tets > 0 &&
                    input->surface->n_hexes == 0;
  if (input->surface && !tets &&
      (input->surface->n_tris == 0 || input->surface->n_tets > 0 || input->surface->n_hexes > 0))
    return pla_fail(err, PLA_ERR_USAGE, "A surface of triangles is needed, not a volume mesh");
  if (!(input->cell_mm > 0.0))
    return pla_fail(err, PLA_ERR_USAGE, "The cell size must be positive, not %g mm",
                    input->cell_mm);
  /* lobes of a body that runs through itself may cancel; only the method embed takes such */
  PlaStatus st =
      input->surface && !tets
          ? pla_mesh_check_encloses(input->surface, method != &pla_mesh_method_embed, err)
          : PLA_OK;
  if (st == PLA_OK && tets)
    st = pla_mesh_check_elements(input->surface, err);
  return st == PLA_OK ? method->run(input, progress, out, err) : st;
}
