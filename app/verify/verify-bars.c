/* Clamped bars under their own weight: on every kind of cells, cut, and by every meshing method.
 *
 * The bar has 1000 x 250 x 250 mm, 1000 kg/m^3 and the neo-Hookean material with E = 1 MPa and
 * nu = 0.45.  Scaled by s in length and modulus it sags by s times as much. */
#include "anatomy/mesh/box-mesh.h"
#include "app/verify/verify-private.h"
#include "sim/bodies/cut-body.h"

#include <math.h>

#define YOUNG_PA 1e6
#define POISSON 0.45
#define DENSITY 1000.0
#define GRAVITY 9.81
#define AT_FACE_MM 0.001 /* what is clamped lies on the end, give or take rounding */

/* a box from the origin, as triangles */
static PlaStatus
box_surface(const double size_m[3], PlaMesh **out, PlaError *err)
{
  static const int quad[6][4] = { { 0, 2, 3, 1 }, { 4, 5, 7, 6 }, { 0, 1, 5, 4 },
                                  { 2, 6, 7, 3 }, { 0, 4, 6, 2 }, { 1, 3, 7, 5 } };
  PlaStatus st = pla_mesh_new(8, 12, 0, 0, out, err);
  for (int i = 0; st == PLA_OK && i < 8; i++)
    for (int d = 0; d < 3; d++)
      (*out)->pos[3 * i + d] = i >> d & 1 ? size_m[d] : 0.0;
  for (int f = 0; st == PLA_OK && f < 6; f++)
    for (int k = 0; k < 2; k++) {
      int *tri = (*out)->tri + 6 * f + 3 * k;
      tri[0] = quad[f][0];
      tri[1] = quad[f][k + 1];
      tri[2] = quad[f][k + 2];
    }
  return st;
}

/* solves a bar of @length_m, clamped at x = 0, with the probe at the middle of its other
 * end */
static PlaStatus
sag(PlaVerifyRun *run, const PlaMesh *mesh, double length_m, bool estimate, const char *more,
    PlaSimulationResult *result, PlaError *err)
{
  const double l = 1e3 * length_m;
  g_autofree char *material =
      pla_verify_material(run, "neo-hookean", YOUNG_PA * length_m, POISSON, DENSITY);
  return pla_verify_scene(
      run, mesh, NULL, result, err,
      "{'materials': [{'where': {'all': true}, %s}], 'gravity_m_s2': [0,0,%g], 'estimate': %s, "
      "'constraints': ["
      "{'where': {'box_mm': [[-1000,-1000,-1000],[%.9g,2000,2000]]}, 'fix': 'xyz'}%s],"
      "'probes': [{'name': 'tip', 'nearest_mm': [%.9g,%.9g,%.9g]}]}",
      material, -GRAVITY, estimate ? "true" : "false", AT_FACE_MM, more, l, l / 8, l / 8);
}

/* log2 of the estimate of the error over the error itself */
static double
effectivity(const PlaSimulationResult *result, double value_mm, double reference_mm)
{
  return result->discretisation.done
             ? log2(result->discretisation.probe_mm[0] / fabs(value_mm - reference_mm))
             : NAN;
}

PlaStatus
pla_verify_box_bar(PlaVerifyRun *run, PlaError *err)
{
  const double lo[3] = { 0.0, 0.0, 0.0 }, hi[3] = { 1.0, 0.25, 0.25 };
  const int n = (int)run->size, cells[3] = { 4 * n, n, n };
  PlaMesh *mesh = NULL;
  PlaSimulationResult result = { 0 };
  PlaStatus st = pla_box_mesh_new(lo, hi, cells, (PlaBoxCells)run->problem->variant, &mesh, err);
  if (st == PLA_OK)
    st = sag(run, mesh, 1.0, true, "", &result, err);
  if (st == PLA_OK) {
    run->value[0] = -result.probe[0].displacement_mm[2];
    run->value[1] = result.reaction[0].force_n[2];
    run->value[2] = effectivity(&result, run->value[0], run->reference[0]);
  }
  pla_simulation_result_clear(&result);
  pla_mesh_free(mesh);
  return st;
}

/* by 20 degrees about y, then about x: no face of the lattice is a face of the bar */
static void
turn(const double p[3], double out[3])
{
  const double c = cos(G_PI / 9.0), s = sin(G_PI / 9.0);
  const double q[3] = { c * p[0] + s * p[2], p[1], -s * p[0] + c * p[2] };
  out[0] = q[0];
  out[1] = c * q[1] - s * q[2];
  out[2] = s * q[1] + c * q[2];
}

PlaStatus
pla_verify_turned_bar(PlaVerifyRun *run, PlaError *err)
{
  const double size[3] = { 1.0, 0.25, 0.25 }, down[3] = { 0.0, 0.0, -1.0 };
  const double along[3] = { 1.0, 0.0, 0.0 }, end[3] = { 1000.0, 125.0, 125.0 };
  double d[3], a[3], e[3];
  PlaMesh *surface = NULL, *mesh = NULL;
  PlaSimulationResult result = { 0 };
  turn(down, d);
  turn(along, a);
  turn(end, e);
  PlaStatus st = box_surface(size, &surface, err);
  for (int v = 0; st == PLA_OK && v < surface->n_verts; v++) {
    const double p[3] = { surface->pos[3 * v], surface->pos[3 * v + 1], surface->pos[3 * v + 2] };
    turn(p, surface->pos + 3 * v);
  }
  if (st == PLA_OK)
    st = pla_verify_mesh(run, "carved", surface, run->size, &mesh, err);
  g_autofree char *material = pla_verify_material(run, "neo-hookean", YOUNG_PA, POISSON, DENSITY);
  if (st == PLA_OK)
    st = pla_verify_scene(
        run, mesh, NULL, &result, err,
        "{'materials': [{'where': {'all': true}, %s}], 'gravity_m_s2': [%.15g,%.15g,%.15g], "
        "'estimate': false,"
        "'constraints': [{'where': {'plane': {'through_mm': [0,0,0], 'normal': "
        "[%.15g,%.15g,%.15g], 'within_mm': 0.01}}, 'fix': 'xyz'}], 'probes': [{'name': 'tip', "
        "'nearest_mm': [%.15g,%.15g,%.15g]}]}",
        material, GRAVITY * d[0], GRAVITY * d[1], GRAVITY * d[2], a[0], a[1], a[2], e[0], e[1],
        e[2]);
  if (st == PLA_OK) {
    const double *u = result.probe[0].displacement_mm, *f = result.reaction[0].force_n;
    run->value[0] = u[0] * d[0] + u[1] * d[1] + u[2] * d[2];
    run->value[1] = -(f[0] * d[0] + f[1] * d[1] + f[2] * d[2]);
  }
  pla_simulation_result_clear(&result);
  pla_mesh_free(surface);
  pla_mesh_free(mesh);
  return st;
}

/* ---- cut ---------------------------------------------------------------------------------- */

/* what is left of @mesh after a blade across it at x = @at_m: both pieces */
static PlaStatus
cut_across(PlaVerifyRun *run, const PlaMesh *mesh, double at_m, PlaMesh **out, PlaError *err)
{
  PlaMesh *blade = NULL;
  PlaCutMesh *cut = NULL;
  PlaCutReport report;
  const PlaTetMesh tets = pla_mesh_tets(mesh);
  PlaStatus st = pla_mesh_new(4, 2, 0, 0, &blade, err);
  for (int i = 0; st == PLA_OK && i < 4; i++) {
    blade->pos[3 * i] = at_m;
    blade->pos[3 * i + 1] = i & 1 ? 0.5 : -0.25;
    blade->pos[3 * i + 2] = i & 2 ? 0.5 : -0.25;
  }
  for (int k = 0; st == PLA_OK && k < 6; k++)
    blade->tri[k] = (const int[6]){ 0, 1, 3, 0, 3, 2 }[k];
  if (st == PLA_OK)
    st = pla_cut_mesh_new(&tets, &cut, err);
  if (st == PLA_OK) {
    const PlaTriMesh tris = pla_mesh_tris(blade);
    st = pla_cut_mesh_cut(cut, &tris, run->progress, &report, NULL, err);
  }
  if (st == PLA_OK)
    st = pla_cut_to_mesh(cut, mesh, out, NULL, err);
  pla_cut_mesh_free(cut);
  pla_mesh_free(blade);
  return st;
}

/* The drop, mm, at the middle of the end x = 1 m of the near piece, between vertices of the cells
 * that are cut: @before at x = @lo_m, and the next along x. */
static double
drop_between(const PlaMesh *rest, const PlaMesh *bent, double lo_m, double cell_m)
{
  const PlaField *piece = pla_mesh_find_field(rest, PLA_CUT_BODY, PLA_ON_CELLS);
  double near = NAN, found[2] = { NAN, NAN };
  /* the piece that is clamped, then its vertices on the axis on both sides of the cut */
  for (int pass = 0; piece && pass < 2; pass++)
    for (size_t k = 0; k < 4 * (size_t)rest->n_tets; k++) {
      const size_t v = (size_t)rest->tet[k];
      const double *x = rest->pos + 3 * v;
      const double body = pla_dtype_get(piece->dtype, piece->data, k / 4);
      if (pass == 0 && x[0] == 0.0)
        near = body;
      if (pass == 0 || body != near || hypot(x[1] - 0.125, x[2] - 0.125) > 1e-9)
        continue;
      for (int side = 0; side < 2; side++)
        if (fabs(x[0] - lo_m - side * cell_m) < 1e-9)
          found[side] = 1e3 * (x[2] - bent->pos[3 * v + 2]);
    }
  return found[0] + (1.0 - lo_m) / cell_m * (found[1] - found[0]);
}

/* A bar of one and a half cells more than its length is cut to it, in the middle of a cell.  What
 * is cut off stays where its end is held. */
PlaStatus
pla_verify_cut_bar(PlaVerifyRun *run, PlaError *err)
{
  const int n = (int)run->size, cells[3] = { 4 * n + 2, n, n };
  const double cell = 1.0 / (4.0 * n + 0.5), length = cell * (4.0 * n + 2.0);
  const double lo[3] = { 0.0, 0.0, 0.0 }, hi[3] = { length, 0.25, 0.25 };
  PlaMesh *mesh = NULL, *pieces = NULL;
  PlaSimulationResult result = { 0 };
  PlaStatus st = pla_box_mesh_new(lo, hi, cells, PLA_BOX_TETS_6, &mesh, err);
  if (st == PLA_OK)
    st = cut_across(run, mesh, 1.0, &pieces, err);
  g_autofree char *far =
      g_strdup_printf(", {'where': {'box_mm': [[%.9g,-1,-1],[2000,251,251]]}, 'fix': 'xyz'}",
                      1e3 * length - 0.01);
  if (st == PLA_OK)
    st = sag(run, pieces, 1.0, false, far, &result, err);
  if (st == PLA_OK) {
    run->value[0] = drop_between(pieces, result.mesh, 4.0 * n * cell, cell);
    run->value[1] = result.reaction[0].force_n[2];
  }
  pla_simulation_result_clear(&result);
  pla_mesh_free(mesh);
  pla_mesh_free(pieces);
  return st;
}

/* ---- meshing methods ---------------------------------------------------------------------- */

enum { N_METHODS = 4 };
static const char *const methods[N_METHODS] = { "tets", "lattice", "embed", "carved" };

/* a bar of a tenth of the size, by one method, in cells of run->size mm */
static PlaStatus
method_bar(PlaVerifyRun *run, const char *method, double *drop_mm, double *weight_n, PlaError *err)
{
  const double size[3] = { 0.1, 0.025, 0.025 };
  PlaMesh *surface = NULL, *mesh = NULL;
  PlaSimulationResult result = { 0 };
  PlaStatus st = box_surface(size, &surface, err);
  if (st == PLA_OK)
    st = pla_verify_mesh(run, method, surface, run->size, &mesh, err);
  if (st == PLA_OK)
    st = sag(run, mesh, 0.1, false, "", &result, err);
  if (st == PLA_OK) {
    *drop_mm = -result.probe[0].displacement_mm[2];
    *weight_n = result.reaction[0].force_n[2];
  }
  pla_simulation_result_clear(&result);
  pla_mesh_free(surface);
  pla_mesh_free(mesh);
  return st;
}

PlaStatus
pla_verify_methods(PlaVerifyRun *run, PlaError *err)
{
  double least = INFINITY, most = 0.0, weight;
  PlaStatus st = PLA_OK;
  for (int m = 0; st == PLA_OK && m < N_METHODS; m++) {
    st = method_bar(run, methods[m], &run->value[m], &weight, err);
    least = fmin(least, run->value[m]);
    most = fmax(most, run->value[m]);
  }
  if (st == PLA_OK)
    run->value[N_METHODS] = most / least;
  return st;
}

PlaStatus
pla_verify_weight(PlaVerifyRun *run, PlaError *err)
{
  PlaStatus st = PLA_OK;
  for (int m = 0; st == PLA_OK && m < N_METHODS; m++) {
    double drop;
    st = method_bar(run, methods[m], &drop, &run->value[m], err);
  }
  return st;
}
