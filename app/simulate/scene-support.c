/* Supports of carved bodies.
 *
 * The vertices of the surface follow those of the cells and cannot be prescribed.  A triangle is
 * held by springs at its vertices instead, which give way as a layer of tissue of a twentieth of a
 * cell would: a linear element that is held rigidly along a surface inside it locks, and the error
 * stays below that of the cells. */
#include "app/simulate/scene-support.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "app/simulate/scene-where.h"
#include "sim/bodies/carved-mesh.h"

#include <string.h>

#define LAYERS 20.0 /* of that thickness in a cell */

bool
pla_scene_is_carved(const PlaSimulation *scene)
{
  return scene->bindings && scene->mesh->n_tris > 0 &&
         pla_mesh_find_field(scene->mesh, PLA_MESH_BORDER, PLA_ON_CELLS);
}

/* mean edge of the tets, m */
static double
cell_size(const PlaMesh *mesh)
{
  double sum = 0.0;
  for (size_t t = 0; t < (size_t)mesh->n_tets; t++) {
    double e[3];
    pla_vec3_sub(&mesh->pos[3 * (size_t)mesh->tet[4 * t + 1]],
                 &mesh->pos[3 * (size_t)mesh->tet[4 * t]], e);
    sum += pla_vec3_norm(e);
  }
  return sum / mesh->n_tets;
}

/* of a support per area, N/m3 */
static double
layer_stiffness(const PlaSimulation *scene, double cell)
{
  return LAYERS * pla_fem_model_modulus(scene->model) / cell;
}

double
pla_scene_point_stiffness(const PlaSimulation *scene)
{
  /* the surface has about four vertices in a face of a cell */
  const double cell = cell_size(scene->mesh);
  return 0.25 * cell * cell * layer_stiffness(scene, cell);
}

PlaStatus
pla_scene_hold_surface(PlaSimulation *scene, int constraint, int motion, unsigned axes,
                       PlaJson where, const bool *marked, int *n, PlaError *err)
{
  const PlaMesh *mesh = scene->mesh;
  const PlaSceneSelection selection = { mesh, &scene->labels };
  int n_tris;
  const double cell = cell_size(mesh), layer = layer_stiffness(scene, cell);
  g_autofree double *area = pla_array_new((size_t)mesh->n_verts, sizeof *area);
  *n = 0;
  if (!area)
    return pla_fail_memory(err, "the supports");
  PlaStatus st = pla_scene_select_surface(&selection, where, area, &n_tris, err);
  if (st != PLA_OK)
    return st;
  if (n_tris == 0)
    for (int b = 0; b < scene->bindings->n; b++)
      area[scene->bindings->vert[b]] = marked[scene->bindings->vert[b]] ? 0.25 * cell * cell : 0.0;
  for (int v = 0; v < mesh->n_verts; v++) {
    PlaSpring spring = { .n_verts = 1, .vert = { v }, .weight = { 1.0 } };
    if (!(area[v] > 0.0))
      continue;
    const PlaSupportSpec support = { (int)scene->springs->len, constraint, motion };
    memcpy(spring.offset, &mesh->pos[3 * v], sizeof spring.offset);
    for (int d = 0; d < 3; d++)
      spring.stiffness[4 * d] = axes >> d & 1 ? layer * area[v] : 0.0;
    g_array_append_val(scene->springs, spring);
    g_array_append_val(scene->supports, support);
    (*n)++;
  }
  return PLA_OK;
}

void
pla_scene_move_supports(const PlaSimulation *scene, double t)
{
  for (guint i = 0; i < scene->supports->len; i++) {
    const PlaSupportSpec *support = &g_array_index(scene->supports, PlaSupportSpec, i);
    PlaSpring *spring = &g_array_index(scene->springs, PlaSpring, (guint)support->spring);
    if (support->motion >= 0)
      pla_rigid_motion_apply(&g_array_index(scene->motions, PlaRigidMotion, (guint)support->motion),
                             t, &scene->mesh->pos[3 * spring->vert[0]], spring->offset);
  }
}

PlaStatus
pla_scene_mark_supported(const PlaSimulation *scene, unsigned char *fixed, PlaError *err)
{
  const PlaFemBindings *bindings = scene->bindings;
  g_autofree int *binding = pla_array_new0((size_t)scene->mesh->n_verts, sizeof *binding);
  if (!binding)
    return pla_fail_memory(err, "the supports");
  for (int b = 0; bindings && b < bindings->n; b++)
    binding[bindings->vert[b]] = b;
  for (guint i = 0; i < scene->supports->len; i++) {
    const PlaSupportSpec *support = &g_array_index(scene->supports, PlaSupportSpec, i);
    const PlaSpring *spring = &g_array_index(scene->springs, PlaSpring, (guint)support->spring);
    const int b = binding[spring->vert[0]];
    for (int k = bindings->start[b]; k < bindings->start[b + 1]; k++)
      for (int d = 0; d < 3; d++)
        fixed[3 * bindings->parent[k] + d] |= spring->stiffness[4 * d] > 0.0;
  }
  return PLA_OK;
}
