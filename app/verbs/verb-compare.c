/* Compare: how far one shape lies from another, at every vertex of its surface.
 *
 * The distance is to the nearest point of the other surface, positive where the shape lies outside
 * of it (on the side that the nearest triangle faces). */
#include "anatomy/base/mat3.h"
#include "anatomy/mesh/boundary.h"
#include "anatomy/mesh/tri-tree.h"
#include "app/verbs/verbs.h"

#include <math.h>

/* the triangles of a surface, or the outer faces of a body, as a mesh of their own */
static PlaStatus
surface_of(const PlaContent *content, PlaMesh **out, PlaError *err)
{
  const PlaMesh *mesh = content->mesh;
  int n_tris = mesh->n_tris;
  const int *tri = mesh->tri;
  PlaBoundary outer = { 0 };
  PlaStatus st = PLA_OK;
  *out = NULL;
  if (mesh->n_tets + mesh->n_hexes > 0) {
    const PlaTetMesh tets = pla_mesh_tets(mesh);
    const PlaHexMesh hexes = pla_mesh_hexes(mesh);
    st = pla_boundary_init(&outer, &tets, &hexes, false, err);
    n_tris = outer.n_tris;
    tri = outer.tri;
  }
  if (st != PLA_OK)
    return st;

  /* vertices that the triangles use, in their order */
  g_autofree int *as = g_new(int, mesh->n_verts);
  int n_verts = 0;
  for (int v = 0; v < mesh->n_verts; v++)
    as[v] = -1;
  for (int i = 0; i < 3 * n_tris; i++)
    as[tri[i]] = 0;
  for (int v = 0; v < mesh->n_verts; v++)
    if (as[v] == 0)
      as[v] = n_verts++;
  st = pla_mesh_new(n_verts, n_tris, 0, 0, out, err);
  for (int v = 0; st == PLA_OK && v < mesh->n_verts; v++)
    for (int d = 0; as[v] >= 0 && d < 3; d++)
      (*out)->pos[3 * (size_t)as[v] + (size_t)d] = mesh->pos[3 * (size_t)v + (size_t)d];
  for (int i = 0; st == PLA_OK && i < 3 * n_tris; i++)
    (*out)->tri[i] = as[tri[i]];
  pla_boundary_clear(&outer);
  return st;
}

static PlaStatus
load_surface(PlaWork *work, const char *param, PlaMesh **out, PlaError *err)
{
  int64_t item;
  g_autoptr(PlaContent) content = NULL;
  PlaStatus st = pla_work_item(work, param, PLA_ITEM_MESH, &item, err);
  if (st == PLA_OK)
    st = pla_work_load(work, item, &content, err);
  if (st == PLA_OK)
    st = surface_of(content, out, err);
  if (st == PLA_OK && (*out)->n_tris == 0)
    st = pla_fail(err, PLA_ERR_EMPTY, "'%s' has no surface to compare", pla_work_text(work, param));
  return st;
}

/* signed by the side of the nearest triangle that the point is on */
static double
deviation_mm(const PlaTriTree *tree, const PlaMesh *other, const double pos[3])
{
  int tri;
  double point[3], e[3], f[3], n[3], r[3];
  const double dist = pla_tri_tree_nearest(tree, pos, INFINITY, &tri, point);
  const int *v = other->tri + 3 * (size_t)tri;
  pla_vec3_sub(other->pos + 3 * (size_t)v[1], other->pos + 3 * (size_t)v[0], e);
  pla_vec3_sub(other->pos + 3 * (size_t)v[2], other->pos + 3 * (size_t)v[0], f);
  pla_vec3_cross(e, f, n);
  pla_vec3_sub(pos, point, r);
  return 1000.0 * (pla_vec3_dot(r, n) < 0.0 ? -dist : dist);
}

static PlaStatus
run(PlaWork *work, PlaError *err)
{
  PlaMesh *shape = NULL, *other = NULL;
  PlaTriTree *tree = NULL;
  PlaStatus st = load_surface(work, "item", &shape, err);
  if (st == PLA_OK)
    st = load_surface(work, "with", &other, err);
  PlaTriMesh tris = { 0 };
  if (st == PLA_OK) {
    tris = pla_mesh_tris(other);
    st = pla_tri_tree_new(&tris, &tree, err);
  }
  double *dist =
      st == PLA_OK ? pla_mesh_add_field(shape, "deviation_mm", PLA_ON_VERTS, PLA_F64, 1) : NULL;
  if (st == PLA_OK && !dist)
    st = pla_fail_memory(err, "the deviation");
  if (st == PLA_OK) {
    double sum = 0.0, largest = 0.0;
#pragma omp parallel for schedule(dynamic, 1024)
    for (int v = 0; v < shape->n_verts; v++)
      dist[v] = deviation_mm(tree, other, shape->pos + 3 * (size_t)v);
    for (int v = 0; v < shape->n_verts; v++) {
      sum += dist[v] * dist[v];
      largest = fmax(largest, fabs(dist[v]));
    }
    PlaContent *content = pla_content_new(PLA_ITEM_MESH);
    JsonObject *found = json_object_new();
    json_object_set_string_member(found, "item", pla_work_text(work, "item"));
    json_object_set_string_member(found, "with", pla_work_text(work, "with"));
    json_object_set_double_member(found, "rms_mm", sqrt(sum / shape->n_verts));
    json_object_set_double_member(found, "max_mm", largest);
    json_object_set_object_member(content->meta, "compared", found);
    content->mesh = g_steal_pointer(&shape);
    g_autofree char *own_name =
        g_strdup_printf("%s against %s", pla_work_text(work, "item"), pla_work_text(work, "with"));
    const char *name = pla_work_text(work, "name");
    pla_work_add(work, name ? name : own_name, content);
  }
  pla_tri_tree_free(tree);
  pla_mesh_free(shape);
  pla_mesh_free(other);
  return st;
}

static const PlaVerbParam params[] = {
  { "item", PLA_PARAM_ITEM, NULL, 0, 0, NULL, "the shape to measure" },
  { "with", PLA_PARAM_ITEM, NULL, 0, 0, NULL, "the shape to measure from" },
  { "name", PLA_PARAM_TEXT, NULL, 1, 200, "null", "name of the result" },
  { NULL },
};

const PlaVerb pla_verb_compare = {
  .name = "compare",
  .title = "Compare Shapes",
  .summary = "measures how far one shape lies from another",
  .params = params,
  .run = run,
};
