/* Bindings from the fields of a mesh. */
#include "app/simulate/bound-mesh.h"

#include "anatomy/base/memory.h"

#include <stdint.h>
#include <stdlib.h>

PlaStatus
pla_mesh_bindings_new(const PlaMesh *mesh, PlaFemBindings **out, PlaError *err)
{
  const PlaField *verts = pla_mesh_find_field(mesh, PLA_MESH_BOUND_VERTS, PLA_ON_VERTS);
  const PlaField *weights = pla_mesh_find_field(mesh, PLA_MESH_BOUND_WEIGHTS, PLA_ON_VERTS);
  *out = NULL;
  if (!verts && !weights)
    return PLA_OK;
  if (!verts || !weights || !pla_dtype_is_integer(verts->dtype) ||
      verts->n_components != weights->n_components)
    return pla_fail(err, PLA_ERR_USAGE,
                    "the vertex fields \"%s\" (whole numbers) and \"%s\" go together, with as many "
                    "components each",
                    PLA_MESH_BOUND_VERTS, PLA_MESH_BOUND_WEIGHTS);
  const size_t most = (size_t)verts->n_components, n = (size_t)mesh->n_verts;
  int *vert = pla_array_new(n, sizeof *vert), *start = pla_array_new(n + 1, sizeof *start);
  int *parent = pla_array_new(n * most, sizeof *parent);
  double *weight = pla_array_new(n * most, sizeof *weight);
  PlaStatus st = PLA_OK;
  if (!vert || !start || !parent || !weight)
    st = pla_fail_memory(err, "the mesh's bindings");
  int n_bound = 0, n_parents = 0;
  for (size_t v = 0; st == PLA_OK && v < n; v++) {
    const int before = n_parents;
    for (size_t k = 0; k < most; k++) {
      const double id = pla_dtype_get(verts->dtype, verts->data, v * most + k);
      if (id < 0.0)
        continue;
      parent[n_parents] =
          (int)(id < (double)n ? id : (double)n); /* what is too large is named later */
      weight[n_parents++] = pla_dtype_get(weights->dtype, weights->data, v * most + k);
    }
    if (n_parents > before) {
      start[n_bound] = before;
      vert[n_bound++] = (int)v;
    }
  }
  if (st == PLA_OK) {
    start[n_bound] = n_parents;
    const PlaFemBindings bindings = { n_bound, vert, start, parent, weight };
    if (n_bound > 0)
      st = pla_bindings_flatten(&bindings, mesh->n_verts, out, err);
  }
  free(vert);
  free(start);
  free(parent);
  free(weight);
  return st;
}
