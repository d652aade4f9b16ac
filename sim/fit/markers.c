/* Binding markers to a surface. */
#include "sim/fit/markers.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/mesh/boundary.h"
#include "anatomy/mesh/tri-tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

void
pla_marker_set_clear(PlaMarkerSet *self)
{
  for (int i = 0; i < self->n; i++)
    free(self->site[i].name);
  free(self->site);
  *self = (PlaMarkerSet){ 0 };
}

int
pla_marker_set_find(const PlaMarkerSet *self, const char *name)
{
  for (int i = 0; i < self->n; i++)
    if (strcasecmp(self->site[i].name, name) == 0)
      return i;
  return -1;
}

void
pla_marker_place(const PlaMarkerSite *site, const double *pos, double out[3])
{
  for (int d = 0; d < 3; d++) {
    double sum = site->offset[d];
    for (int k = 0; k < 3; k++)
      sum += site->weight[k] * pos[3 * (size_t)site->vert[k] + (size_t)d];
    out[d] = sum;
  }
}

PlaStatus
pla_marker_set_bind(const PlaMesh *mesh, int n, const char *const *names, const double *pos,
                    bool on_skin, PlaMarkerSet *out, PlaError *err)
{
  const PlaTetMesh tets = pla_mesh_tets(mesh);
  const PlaHexMesh hexes = pla_mesh_hexes(mesh);
  PlaBoundary boundary = { 0 };
  PlaTriTree *tree = NULL;
  PlaMarkerSet set = { 0 };
  PlaStatus st = pla_boundary_init(&boundary, &tets, &hexes, false, err);
  const PlaTriMesh skin = { mesh->n_verts, boundary.n_tris, mesh->pos, boundary.tri };
  if (st == PLA_OK && boundary.n_tris == 0)
    st = pla_fail(err, PLA_ERR_GEOMETRY, "the body has no surface to put markers on");
  if (st == PLA_OK)
    st = pla_tri_tree_new(&skin, &tree, err);
  set.site = pla_array_new0((size_t)n, sizeof *set.site);
  if (st == PLA_OK && !set.site)
    st = pla_fail_memory(err, "the markers");
  for (int i = 0; st == PLA_OK && i < n; i++) {
    PlaMarkerSite *site = &set.site[i];
    const double *x = pos + 3 * (size_t)i;
    double foot[3];
    int t = -1;
    set.n = i + 1;
    site->name = pla_strdup(names[i]);
    pla_tri_tree_nearest(tree, x, INFINITY, &t, foot);
    if (!site->name) {
      st = pla_fail_memory(err, "the markers");
      break;
    }
    memcpy(site->vert, boundary.tri + 3 * (size_t)t, sizeof site->vert);
    /* barycentric coordinates of the foot, which lies in the triangle */
    const double *a = mesh->pos + 3 * (size_t)site->vert[0];
    const double *b = mesh->pos + 3 * (size_t)site->vert[1];
    const double *c = mesh->pos + 3 * (size_t)site->vert[2];
    double ab[3], ac[3], af[3];
    pla_vec3_sub(b, a, ab);
    pla_vec3_sub(c, a, ac);
    pla_vec3_sub(foot, a, af);
    const double bb = pla_vec3_dot(ab, ab), bc = pla_vec3_dot(ab, ac), cc = pla_vec3_dot(ac, ac);
    const double fb = pla_vec3_dot(af, ab), fc = pla_vec3_dot(af, ac), det = bb * cc - bc * bc;
    site->weight[1] = det > 0.0 ? (cc * fb - bc * fc) / det : 0.0;
    site->weight[2] = det > 0.0 ? (bb * fc - bc * fb) / det : 0.0;
    site->weight[0] = 1.0 - site->weight[1] - site->weight[2];
    for (int d = 0; d < 3; d++)
      site->offset[d] = on_skin ? 0.0 : x[d] - foot[d];
  }
  pla_tri_tree_free(tree);
  pla_boundary_clear(&boundary);
  if (st == PLA_OK)
    *out = set;
  else
    pla_marker_set_clear(&set);
  return st;
}
