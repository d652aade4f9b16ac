/* Slender bodies: a twisted bar, a strip that bends far, a silicone cylinder that was measured. */
#include "anatomy/base/mat3.h"
#include "anatomy/mesh/box-mesh.h"
#include "app/verify/verify-private.h"

#include <math.h>
#include <string.h>

/* Saint-Venant's torsion of a square bar whose ends may warp, by 0.5 degrees over four times its
 * width: both ends turn in their plane and are free along the axis.  Value: the torque, N mm. */
PlaStatus
pla_verify_torsion(PlaVerifyRun *run, PlaError *err)
{
  const double lo[3] = { 0.0, -0.0125, -0.0125 }, hi[3] = { 0.1, 0.0125, 0.0125 };
  const int n = (int)run->size, cells[3] = { 2 * n, n, n };
  PlaMesh *mesh = NULL;
  PlaSimulationResult result = { 0 };
  PlaStatus st = pla_box_mesh_new(lo, hi, cells, (PlaBoxCells)run->problem->variant, &mesh, err);
  g_autofree char *material = pla_verify_material(run, "neo-hookean", 1e4, 0.45, 1000.0);
  if (st == PLA_OK)
    st = pla_verify_scene(
        run, mesh, NULL, &result, err,
        "{'materials': [{'where': {'all': true}, %s}], 'estimate': false, 'constraints': ["
        "{'where': {'box_mm': [[-1,-13,-13],[0.01,13,13]]}, 'fix': 'yz'},"
        "{'where': {'near': {'at_mm': [0,0,0]}}, 'fix': 'x'},"
        "{'where': {'box_mm': [[99.99,-13,-13],[101,13,13]]}, 'move': {'axes': 'yz', 'rotate': "
        "{'axis': [1,0,0], 'through_mm': [0,0,0], 'deg': 0.5}}}],"
        "'solver': {'tolerance_rel': 1e-8}}",
        material);
  if (st == PLA_OK)
    run->value[0] = 1e3 * fabs(result.reaction[2].moment_n_m[0]);
  /* beta G theta / L w^4 with beta = 1/3 - 64/pi^5 (tanh(pi/2) + tanh(3 pi/2)/3^5 + ...) */
  double beta = 1.0 / 3.0;
  for (int k = 1; k < 12; k += 2)
    beta -= 64.0 / pow(G_PI, 5.0) * tanh(0.5 * k * G_PI) / pow(k, 5.0);
  run->reference[0] = 1e3 * beta * (1e4 / 2.9) * (0.5 * G_PI / 180.0 / 0.1) * pow(0.025, 4.0);
  pla_simulation_result_clear(&result);
  pla_mesh_free(mesh);
  return st;
}

/* A strip of 100 x 5 x 5 mm, clamped, with the force P at its end that bends an inextensible line
 * of its stiffness by P L^2 / (E I) = 2. */
PlaStatus
pla_verify_elastica(PlaVerifyRun *run, PlaError *err)
{
  const double lo[3] = { 0.0, 0.0, 0.0 }, hi[3] = { 0.1, 0.005, 0.005 };
  const double young = 1e6, inertia = pow(0.005, 4.0) / 12.0;
  const double force = 2.0 * young * inertia / 0.01;
  const int n = (int)run->size, cells[3] = { 20 * n, n, n };
  PlaMesh *mesh = NULL;
  PlaSimulationResult result = { 0 };
  PlaStatus st = pla_box_mesh_new(lo, hi, cells, (PlaBoxCells)run->problem->variant, &mesh, err);
  g_autofree char *material = pla_verify_material(run, "neo-hookean", young, 0.0, 1000.0);
  if (st == PLA_OK)
    st = pla_verify_scene(run, mesh, NULL, &result, err,
                          "{'materials': [{'where': {'all': true}, %s}], 'estimate': false,"
                          "'constraints': [{'where': {'box_mm': [[-1,-1,-1],[0.01,6,6]]}, 'fix': "
                          "'xyz'}], 'loads': [{'where': {'box_mm': [[99.99,-1,-1],[101,6,6]]}, "
                          "'force_n': [0,0,%.15g]}], 'probes': [{'name': 'tip', 'nearest_mm': "
                          "[100,2.5,2.5]}]}",
                          material, -force);
  if (st == PLA_OK) {
    run->value[0] = -result.probe[0].displacement_mm[2];
    run->value[1] = -result.probe[0].displacement_mm[0];
  }
  pla_simulation_result_clear(&result);
  pla_mesh_free(mesh);
  return st;
}

/* ---- cylinder ----------------------------------------------------------------------------- */

#define RADIUS_M 4.25e-3
#define LENGTH_M 0.182

/* number of the vertex (i, j) on the rim of a square of @n cells, around: 0 .. 4 n - 1 */
static void
rim_place(int n, int k, int *i, int *j)
{
  const int side = k / n, at = k % n;
  *i = side == 0 ? at : side == 1 ? n : side == 2 ? n - at : 0;
  *j = side == 0 ? 0 : side == 1 ? at : side == 2 ? n : n - at;
}

/* one slice: a square of @n x @n cells within rings of 4 n, scaled to the area of the disc */
static void
place_slice(int n, int rings, double x_m, double *pos)
{
  const int centre = (n + 1) * (n + 1), around = 4 * n;
  const double step = 2.0 * G_PI / around;
  const double radius = RADIUS_M * sqrt(step / sin(step)), half = 0.45 * radius;
  for (int k = 0; k < centre; k++) {
    pos[3 * k] = x_m;
    pos[3 * k + 1] = half * (2.0 * (k % (n + 1)) / n - 1.0);
    pos[3 * k + 2] = half * (2.0 * (k / (n + 1)) / n - 1.0);
  }
  for (int k = 0; k < around * rings; k++) {
    double *x = pos + 3 * (centre + k);
    const double angle = step * (k % around) - 0.75 * G_PI, t = (k / around + 1.0) / rings;
    int i, j;
    rim_place(n, k % around, &i, &j);
    const double *inner = pos + 3 * (i + (n + 1) * j);
    x[0] = x_m;
    x[1] = (1.0 - t) * inner[1] + t * radius * cos(angle);
    x[2] = (1.0 - t) * inner[2] + t * radius * sin(angle);
  }
}

/* a cylinder of hexes, 2 n across */
static PlaStatus
cylinder_hexes(int n, PlaMesh **out, PlaError *err)
{
  const int rings = (n + 1) / 2, around = 4 * n, centre = (n + 1) * (n + 1);
  const int slice = centre + around * rings, face = n * n + around * rings, slices = 24 * n;
  PlaStatus st = pla_mesh_new(slice * (slices + 1), 0, 0, face * slices, out, err);
  for (int s = 0; st == PLA_OK && s <= slices; s++)
    place_slice(n, rings, LENGTH_M * s / slices, (*out)->pos + 3 * (size_t)slice * (size_t)s);
  for (int h = 0; st == PLA_OK && h < face * slices; h++) {
    const int q = h % face, ring = (q - n * n) / around, k = (q - n * n) % around;
    int quad[4];
    for (int c = 0; c < 4; c++) {
      const int out_c = c == 1 || c == 2, next = c >= 2, level = ring + out_c;
      if (q < n * n) {
        quad[c] = q % n + out_c + (n + 1) * (q / n + next);
      } else {
        int i, j;
        rim_place(n, (k + next) % around, &i, &j);
        quad[c] =
            level == 0 ? i + (n + 1) * j : centre + around * (level - 1) + (k + next) % around;
      }
      (*out)->hex[8 * h + c] = quad[c] + slice * (h / face);
      (*out)->hex[8 * h + c + 4] = quad[c] + slice * (h / face + 1);
    }
  }
  if (st == PLA_OK)
    pla_mesh_repair_hexes(*out);
  return st;
}

/* Each hex, whose third axis is along the cylinder, becomes two prisms and each prism three tets,
 * by the order of the vertices in the slice, so that faces match. */
static PlaStatus
split_hexes(const PlaMesh *hexes, PlaMesh **out, PlaError *err)
{
  static const int half[2][2][3] = { { { 0, 1, 2 }, { 0, 2, 3 } }, { { 0, 1, 3 }, { 1, 2, 3 } } };
  PlaStatus st = pla_mesh_new(hexes->n_verts, 0, 6 * hexes->n_hexes, 0, out, err);
  if (st != PLA_OK)
    return st;
  memcpy((*out)->pos, hexes->pos, 3 * (size_t)hexes->n_verts * sizeof(double));
  for (int h = 0; h < hexes->n_hexes; h++)
    for (int p = 0; p < 2; p++) {
      const int *hex = hexes->hex + 8 * h;
      /* the diagonal of the quad begins at its smallest vertex */
      const bool even = MIN(hex[0], hex[2]) < MIN(hex[1], hex[3]);
      int low[3], high[3];
      for (int k = 0; k < 3; k++) {
        low[k] = hex[half[!even][p][k]];
        high[k] = hex[half[!even][p][k] + 4];
      }
      for (int k = 0; k < 3; k++)
        for (int j = 0; j < 2; j++)
          if (low[j] > low[j + 1]) {
            const int a = low[j], b = high[j];
            low[j] = low[j + 1], high[j] = high[j + 1];
            low[j + 1] = a, high[j + 1] = b;
          }
      const int tets[3][4] = { { low[0], low[1], low[2], high[2] },
                               { low[0], low[1], high[1], high[2] },
                               { low[0], high[0], high[1], high[2] } };
      for (int t = 0; t < 3; t++) {
        int *tet = (*out)->tet + 4 * (6 * h + 3 * p + t);
        double e[3][3], across[3];
        memcpy(tet, tets[t], sizeof tets[t]);
        for (int k = 0; k < 3; k++)
          pla_vec3_sub(hexes->pos + 3 * tet[k + 1], hexes->pos + 3 * tet[0], e[k]);
        pla_vec3_cross(e[0], e[1], across);
        if (pla_vec3_dot(across, e[2]) < 0.0) {
          tet[2] = tets[t][3];
          tet[3] = tets[t][2];
        }
      }
    }
  return PLA_OK;
}

/* The tip of a silicone cylinder, mm, clamped at one end under its own weight. */
PlaStatus
pla_verify_cylinder(PlaVerifyRun *run, PlaError *err)
{
  PlaMesh *hexes = NULL, *mesh = NULL;
  PlaSimulationResult result = { 0 };
  PlaStatus st = cylinder_hexes((int)run->size / 2, &hexes, err);
  if (st == PLA_OK && run->problem->variant == PLA_BOX_HEXES)
    mesh = g_steal_pointer(&hexes);
  else if (st == PLA_OK)
    st = split_hexes(hexes, &mesh, err);
  if (st == PLA_OK)
    st = pla_verify_scene(
        run, mesh, NULL, &result, err,
        "{'materials': [{'where': {'all': true}, 'model': 'mooney-rivlin', 'c10_pa': %.15g, "
        "'c01_pa': %.15g, 'bulk_pa': %.15g, 'density_kg_m3': 965}], 'estimate': false, "
        "'gravity_m_s2': [0,0,-9.81], 'constraints': [{'where': {'box_mm': "
        "[[-1,-10,-10],[0.001,10,10]]}, 'fix': 'xyz'}], 'probes': [{'name': 'tip', 'nearest_mm': "
        "[182,0,0]}]}",
        151065.0 * run->stiffness, 101710.0 * run->stiffness, 1e7 * run->stiffness);
  if (st == PLA_OK) {
    run->value[0] = result.probe[0].displacement_mm[2];
    run->value[1] = result.reaction[0].force_n[2];
  }
  pla_simulation_result_clear(&result);
  pla_mesh_free(hexes);
  pla_mesh_free(mesh);
  return st;
}
