/* Which vertices of a mesh are held and which way it looks, and the tongue made of it. */
#include "sim/tongue/tongue-mesh.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"

#include <math.h>
#include <stdlib.h>

/* marks the vertices of degrees of freedom: 3 times the vertex, and 1 or 2 more for y or z */
static PlaStatus
hold_listed(const PlaTongueMeshOptions *options, unsigned char *fixed, PlaError *err)
{
  const int n_verts = options->mesh->n_verts;
  for (int i = 0; i < options->n_fixed; i++) {
    if (options->fixed[i] < 0 || options->fixed[i] >= 3 * n_verts)
      return pla_fail(err, PLA_ERR_USAGE,
                      "fixed degree of freedom %d of %d is %d; those of this mesh are 0 to %d",
                      i + 1, options->n_fixed, options->fixed[i], 3 * n_verts - 1);
    fixed[options->fixed[i] / 3] = 1;
  }
  return PLA_OK;
}

static bool
parse_axis(const char *word, double axis[3])
{
  const double sign = *word == '-' ? -1.0 : 1.0;
  word += *word == '-' || *word == '+';
  axis[0] = axis[1] = axis[2] = 0.0;
  if (word[0] < 'x' || word[0] > 'z' || word[1] != '\0')
    return false;
  axis[word[0] - 'x'] = sign;
  return true;
}

static PlaStatus
find_frame(const PlaTongueMeshOptions *options, const PlaMesh *mesh, const unsigned char *fixed,
           PlaHeadFrame *frame, PlaError *err)
{
  const PlaTetMesh tets = pla_mesh_tets(mesh);
  if (!options->forward || !options->up)
    return pla_head_frame_guess(&tets, fixed, frame, err);
  if (!parse_axis(options->forward, frame->forward) || !parse_axis(options->up, frame->up) ||
      pla_vec3_dot(frame->forward, frame->up) != 0.0)
    return pla_fail(
        err, PLA_ERR_USAGE,
        "Forward and up must be two different axes such as y and z, or -x and y, not %s "
        "and %s",
        options->forward, options->up);
  double lo = INFINITY, hi = -INFINITY;
  pla_vec3_cross(frame->forward, frame->up, frame->right);
  for (int v = 0; v < mesh->n_verts; v++) {
    const double x = pla_vec3_dot(frame->right, mesh->pos + 3 * (size_t)v);
    lo = fmin(lo, x);
    hi = fmax(hi, x);
  }
  frame->mid = 0.5 * (lo + hi);
  return PLA_OK;
}

/* without a list: the lowest seventh of the height; up must then be known, or be z */
static void
hold_lowest(const PlaTongueMeshOptions *options, const PlaMesh *mesh, unsigned char *fixed)
{
  double up[3] = { 0, 0, 1 }, lo = INFINITY, hi = -INFINITY;
  if (options->up)
    parse_axis(options->up, up);
  for (int v = 0; v < mesh->n_verts; v++) {
    const double x = pla_vec3_dot(up, mesh->pos + 3 * (size_t)v);
    lo = fmin(lo, x);
    hi = fmax(hi, x);
  }
  for (int v = 0; v < mesh->n_verts; v++)
    fixed[v] = pla_vec3_dot(up, mesh->pos + 3 * (size_t)v) < lo + (hi - lo) / 7.0;
}

PlaStatus
pla_tongue_from_mesh(const PlaTongueMeshOptions *options, PlaTongueInput *input,
                     PlaProgress *progress, PlaTongue **out, PlaError *err)
{
  PlaMesh *mesh = NULL;
  unsigned char *fixed = NULL;
  PlaStatus st = options->mesh->n_tets > 0
                     ? pla_mesh_dup(options->mesh, &mesh, err)
                     : pla_fail(err, PLA_ERR_USAGE,
                                "the mesh of a tongue has no tetrahedra; make them with the verb "
                                "mesh");
  if (st == PLA_OK) {
    fixed = pla_array_new0((size_t)mesh->n_verts, 1);
    if (!fixed)
      st = pla_fail_memory(err, "a tongue");
    else if (options->n_fixed > 0)
      st = hold_listed(options, fixed, err);
    else
      hold_lowest(options, mesh, fixed);
  }
  for (int i = 0; st == PLA_OK && options->mesh_unit_mm > 0.0 && i < 3 * mesh->n_verts; i++)
    mesh->pos[i] *= options->mesh_unit_mm;
  if (st == PLA_OK)
    st = find_frame(options, mesh, fixed, &input->frame, err);
  if (st == PLA_OK) {
    input->mesh = mesh;
    input->fixed = fixed;
    input->scale_mesh = options->mesh_unit_mm <= 0.0;
    st = pla_tongue_new(input, progress, out, err);
  }
  free(fixed);
  pla_mesh_free(mesh);
  return st;
}
