/* Spheres: one that is inflated, and one that is pressed into a block (Hertz). */
#include "anatomy/base/mat3.h"
#include "anatomy/mesh/boundary.h"
#include "anatomy/mesh/box-mesh.h"
#include "app/base/quantity.h"
#include "app/verify/verify-private.h"

#include <math.h>

/* ---- inflated sphere ---------------------------------------------------------------------- */

/* An eighth of a thick sphere, radii 1 and 2 m: three patches of a cube's surface, projected.  Each
 * patch is a box of @n x @n x @n cells whose third axis is the radius; they share no vertices yet.
 */
static void
project_patch(int axis, int n, const double box[3], double out[3])
{
  double q[3];
  q[axis] = 1.0;
  q[(axis + 1) % 3] = tan(box[0] * G_PI / 4.0 / n);
  q[(axis + 2) % 3] = tan(box[1] * G_PI / 4.0 / n);
  const double r = (1.0 + box[2] / n) / pla_vec3_norm(q);
  for (int d = 0; d < 3; d++)
    out[d] = r * q[d];
}

/* the place of a vertex as whole numbers, on a grid far finer than the mesh: equal where patches
 * meet */
static gint64
place_key(const double x[3])
{
  gint64 key = 0;
  for (int d = 0; d < 3; d++)
    key = key << 21 | (gint64)lround(x[d] * 1e5);
  return key;
}

static PlaStatus
sphere_octant(int n, PlaMesh **out, PlaError *err)
{
  const double lo[3] = { 0.0, 0.0, 0.0 }, hi[3] = { n, n, n };
  const int cells[3] = { n, n, n };
  PlaMesh *box = NULL;
  g_autoptr(GHashTable) known = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
  PlaStatus st = pla_box_mesh_new(lo, hi, cells, PLA_BOX_HEXES, &box, err);
  if (st == PLA_OK)
    st = pla_mesh_new(3 * box->n_verts, 0, 0, 3 * box->n_hexes, out, err);
  int n_verts = 0;
  for (int axis = 0; st == PLA_OK && axis < 3; axis++) {
    g_autofree int *of = g_new(int, box->n_verts);
    for (int v = 0; v < box->n_verts; v++) {
      double x[3];
      project_patch(axis, n, box->pos + 3 * v, x);
      const gint64 key = place_key(x);
      const int seen = GPOINTER_TO_INT(g_hash_table_lookup(known, &key));
      of[v] = seen > 0 ? seen - 1 : n_verts++;
      for (int d = 0; d < 3; d++)
        (*out)->pos[3 * of[v] + d] = x[d];
      gint64 *kept = g_new(gint64, 1);
      *kept = key;
      g_hash_table_insert(known, kept, GINT_TO_POINTER(of[v] + 1));
    }
    for (int k = 0; k < 8 * box->n_hexes; k++)
      (*out)->hex[8 * axis * box->n_hexes + k] = of[box->hex[k]];
  }
  if (st == PLA_OK) {
    (*out)->n_verts = n_verts;
    pla_mesh_repair_hexes(*out);
  }
  pla_mesh_free(box);
  return st;
}

/* The mean inner stretch under the pressure that holds it at 1.5. */
PlaStatus
pla_verify_sphere(PlaVerifyRun *run, PlaError *err)
{
  const double mu = 1000.0, nu = 0.4999;
  PlaMesh *mesh = NULL;
  PlaSimulationResult result = { 0 };
  g_autoptr(GString) inner = g_string_new(NULL);
  PlaStatus st = sphere_octant((int)run->size, &mesh, err);
  for (int v = 0; st == PLA_OK && v < mesh->n_verts; v++)
    if (pla_vec3_norm(mesh->pos + 3 * v) < 1.0 + 1e-9)
      g_string_append_printf(inner, "%s%d", inner->len ? "," : "", v);
  g_autofree char *material =
      pla_verify_material(run, "neo-hookean", 2.0 * mu * (1.0 + nu), nu, 1000.0);
  if (st == PLA_OK)
    st = pla_verify_scene(
        run, mesh, NULL, &result, err,
        "{'materials': [{'where': {'all': true}, %s}], 'estimate': false, 'constraints': ["
        "{'where': {'box_mm': [[-1,-1,-1],[0.001,9999,9999]]}, 'fix': 'x'},"
        "{'where': {'box_mm': [[-1,-1,-1],[9999,0.001,9999]]}, 'fix': 'y'},"
        "{'where': {'box_mm': [[-1,-1,-1],[9999,9999,0.001]]}, 'fix': 'z'}],"
        "'loads': [{'where': {'nodes': [%s]}, 'pressure_pa': %.15g}]}",
        material, inner->str, 0.755433 * mu);
  double sum = 0.0;
  int count = 0;
  for (int v = 0; st == PLA_OK && v < mesh->n_verts; v++)
    if (pla_vec3_norm(mesh->pos + 3 * v) < 1.0 + 1e-9) {
      sum += pla_vec3_norm(result.mesh->pos + 3 * v);
      count++;
    }
  if (st == PLA_OK)
    run->value[0] = sum / count;
  pla_simulation_result_clear(&result);
  pla_mesh_free(mesh);
  return st;
}

/* ---- Hertz -------------------------------------------------------------------------------- */

#define BALL_RADIUS_M 0.1
#define BALL_REACH_M 0.01 /* radius of contact that is aimed at */
#define BLOCK_YOUNG_PA 1e4
#define BLOCK_POISSON 0.3

/* a closed surface of a ball around @centre, as fine as the cells it meets */
static PlaStatus
make_ball(int n, const double centre[3], PlaMesh **out, PlaError *err)
{
  /* a grid over polar angles, finest at the lower pole */
  const int rings = 12 * n, around = 16 * n;
  PlaStatus st = pla_mesh_new(rings * around + 2, 2 * rings * around, 0, 0, out, err);
  if (st != PLA_OK)
    return st;
  double *pos = (*out)->pos;
  for (int r = 0; r < rings; r++)
    for (int a = 0; a < around; a++) {
      const double t = (r + 1.0) / (rings + 1.0);
      const double polar = G_PI * (0.1 * t + 0.9 * t * t * t * t), turn = 2.0 * G_PI * a / around;
      double *x = pos + 3 * (r * around + a);
      x[0] = centre[0] + BALL_RADIUS_M * sin(polar) * cos(turn);
      x[1] = centre[1] + BALL_RADIUS_M * sin(polar) * sin(turn);
      x[2] = centre[2] - BALL_RADIUS_M * cos(polar);
    }
  for (int end = 0; end < 2; end++)
    for (int d = 0; d < 3; d++)
      pos[3 * (rings * around + end) + d] = centre[d] + (d == 2) * (2 * end - 1) * BALL_RADIUS_M;
  int *tri = (*out)->tri;
  for (int a = 0; a < around; a++) {
    const int b = (a + 1) % around, top = (rings - 1) * around;
    *tri++ = rings * around, *tri++ = b, *tri++ = a;
    *tri++ = rings * around + 1, *tri++ = top + a, *tri++ = top + b;
    for (int r = 0; r + 1 < rings; r++) {
      const int p = r * around + a, q = r * around + b;
      *tri++ = p, *tri++ = q, *tri++ = q + around;
      *tri++ = p, *tri++ = q + around, *tri++ = p + around;
    }
  }
  return st;
}

static PlaStatus
load_ball(const char *name, double unit_mm, void *data, PlaMesh **out, PlaError *err)
{
  (void)name, (void)unit_mm;
  return pla_mesh_dup(data, out, err);
}

/* A block of 200 x 200 x 100 mm, @n of its cells under the radius of contact, larger ones away from
 * it. */
static PlaStatus
graded_block(int n, PlaBoxCells kind, PlaMesh **out, PlaError *err)
{
  const double lo[3] = { -1.0, -1.0, -1.0 }, hi[3] = { 1.0, 1.0, 0.0 };
  const int cells[3] = { 4 * n, 4 * n, 2 * n };
  /* 0.6 of the cells reach over 1.2 times the radius of contact, the others grow by a power */
  PlaStatus st = pla_box_mesh_new(lo, hi, cells, kind, out, err);
  for (int k = 0; st == PLA_OK && k < 3 * (*out)->n_verts; k++) {
    const double t = fabs((*out)->pos[k]), fine = t * 2.0 * BALL_REACH_M;
    const double rest = fmax(t - 0.6, 0.0) / 0.4;
    (*out)->pos[k] = copysign(fine + (0.1 - 2.0 * BALL_REACH_M) * pow(rest, 3.0), (*out)->pos[k]);
  }
  return st;
}

/* The radius of the contact: in Hertz's distribution the mean square of the distance from the axis,
 * by force, is 2/5 of the square of the radius. */
static PlaStatus
measure_contact(const PlaMesh *mesh, double *radius_m, PlaError *err)
{
  const PlaField *field = pla_mesh_find_field(mesh, PLA_FIELD_CONTACT_PRESSURE, PLA_ON_VERTS);
  const PlaTetMesh tets = pla_mesh_tets(mesh);
  const PlaHexMesh hexes = pla_mesh_hexes(mesh);
  PlaBoundary boundary = { 0 };
  double sum = 0.0, moment = 0.0;
  PlaStatus st = field ? pla_boundary_init(&boundary, &tets, &hexes, true, err)
                       : pla_fail(err, PLA_ERR_EMPTY, "nothing touches the block");
  for (int t = 0; st == PLA_OK && t < boundary.n_tris; t++) {
    const int *tri = boundary.tri + 3 * t;
    double e1[3], e2[3], normal[3];
    pla_vec3_sub(mesh->pos + 3 * tri[1], mesh->pos + 3 * tri[0], e1);
    pla_vec3_sub(mesh->pos + 3 * tri[2], mesh->pos + 3 * tri[0], e2);
    pla_vec3_cross(e1, e2, normal);
    for (int k = 0; k < 3; k++) {
      const double *x = mesh->pos + 3 * tri[k], pressure = ((double *)field->data)[tri[k]];
      const double force = pressure * boundary.share[t] * pla_vec3_norm(normal) / 6.0;
      sum += force;
      moment += force * (x[0] * x[0] + x[1] * x[1]);
    }
  }
  *radius_m = sqrt(2.5 * moment / sum);
  pla_boundary_clear(&boundary);
  return st;
}

/* A rigid ball of 100 mm is pressed 1 mm into the block: by Hertz, the radius of the contact would
 * be 10 mm in a block without end.  Value: that radius over the one of Hertz under the same force,
 * a = (3 F R / (4 E*))^(1/3), which holds in any block that is large against the contact.  The
 * contact thickness is a twentieth of the depth, or it would count as depth. */
PlaStatus
pla_verify_hertz(PlaVerifyRun *run, PlaError *err)
{
  const double centre[3] = { 0.0, 0.0, BALL_RADIUS_M };
  const double modulus = BLOCK_YOUNG_PA / (1.0 - BLOCK_POISSON * BLOCK_POISSON);
  PlaMesh *mesh = NULL, *ball = NULL;
  PlaSimulationResult result = { 0 };
  double radius = NAN;
  PlaStatus st = graded_block((int)run->size, (PlaBoxCells)run->problem->variant, &mesh, err);
  if (st == PLA_OK)
    st = make_ball((int)run->size, centre, &ball, err);
  const PlaSceneMeshes meshes = { load_ball, ball };
  g_autofree char *material =
      pla_verify_material(run, "neo-hookean", BLOCK_YOUNG_PA, BLOCK_POISSON, 1000.0);
  if (st == PLA_OK)
    st = pla_verify_scene(
        run, mesh, &meshes, &result, err,
        "{'materials': [{'where': {'all': true}, %s}], 'estimate': false, 'contact': "
        "{'thickness_mm': 0.05, 'self': false, 'pieces': false}, 'colliders': ["
        "{'surface': 'ball', 'move': {'translate_mm': [0,0,-1]}}], 'constraints': ["
        "{'where': {'box_mm': [[-999,-999,-999],[999,999,-99.99]]}, 'fix': 'xyz'}]}",
        material);
  if (st == PLA_OK)
    st = measure_contact(result.mesh, &radius, err);
  if (st == PLA_OK) {
    const double force = fabs(result.collider_n[2]);
    const double a = cbrt(0.75 * force * BALL_RADIUS_M / modulus);
    run->value[0] = radius / a;
  }
  pla_simulation_result_clear(&result);
  pla_mesh_free(mesh);
  pla_mesh_free(ball);
  return st;
}
