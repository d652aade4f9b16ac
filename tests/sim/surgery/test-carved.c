/* Operations on bodies carved out of a lattice along a surface: the same wound as in conforming
 * cells, on a slab of skin with a domed top. */
#include "anatomy/base/mat3.h"
#include "anatomy/base/parallel.h"
#include "anatomy/bodies/refine-surface.h"
#include "sim/surgery/surgery-live.h"
#include "sim/surgery/surgery-private.h"
#include "sim/surgery/surgery-state.h"
#include "tests/sim/surgery/slab.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NX = 24, NY = 20, NZ = 5 }; /* cells of the surface, each 2.5 mm */
#define LOCKED 1.25                /* standard elements: 1.58, averaged ones: 1.14 */
static const double half[3] = { 0.03, 0.025, 0.0125 };

/* m; nowhere flat, as skin is not */
static double
dome(double x, double y)
{
  return -4.0 * (x * x + y * y) - 1.5 * x * y;
}

static PlaFemMaterial
flesh(double poisson)
{
  const double param[2] = { 15000.0, poisson };
  PlaFemMaterial m = { .material = pla_material_find("neo-hookean"), .density = 1000.0 };
  TRY(m.material->prepare(param, m.constants, &err));
  return m;
}

/* a box whose horizontal planes are domed */
static PlaMesh *
domed_box(const int n[3], PlaBoxCells cells)
{
  const double lo[3] = { -half[0], -half[1], -half[2] }, hi[3] = { half[0], half[1], 0.0 };
  PlaMesh *mesh = NULL;
  TRY(pla_box_mesh_new(lo, hi, n, cells, &mesh, &err));
  for (int v = 0; v < mesh->n_verts; v++)
    mesh->pos[3 * v + 2] += dome(mesh->pos[3 * v], mesh->pos[3 * v + 1]);
  return mesh;
}

static PlaSurgery *
conforming(double cell_mm)
{
  const int n[3] = { (int)(60 / cell_mm), (int)(50 / cell_mm), (int)(12.5 / cell_mm) };
  const PlaFemMaterial tissue = flesh(0.4);
  PlaMesh *mesh = domed_box(n, PLA_BOX_TETS_5);
  PlaSurgery *out = NULL;
  g_autofree int *cell = g_new0(int, (gsize)mesh->n_tets);
  g_autofree bool *held = g_new0(bool, (gsize)mesh->n_verts);
  for (int v = 0; v < mesh->n_verts; v++) {
    const double *p = &mesh->pos[3 * v];
    held[v] = p[2] - dome(p[0], p[1]) < -half[2] + 1e-6;
  }
  TRY(pla_surgery_new(mesh, &tissue, 1, cell, held, &out, &err));
  pla_mesh_free(mesh);
  return out;
}

static double
longest(const double pos[3], const void *data)
{
  return 0.003;
}

/* The outer faces of the domed box as facets, outwards, and their halves; those at the bottom lie
 * on bone. */
static void
make_surface(PlaTissueLattice *out)
{
  static const int face[6][4] = { { 0, 4, 6, 2 }, { 1, 3, 7, 5 }, { 0, 1, 5, 4 },
                                  { 2, 6, 7, 3 }, { 0, 2, 3, 1 }, { 4, 5, 7, 6 } };
  const int n[3] = { NX, NY, NZ };
  PlaMesh *box = domed_box(n, PLA_BOX_HEXES);
  const int n_tris = 4 * (NX * NY + NY * NZ + NZ * NX);
  g_autofree unsigned char *border = g_new0(unsigned char, (gsize)n_tris);
  TRY(pla_mesh_new(box->n_verts, n_tris, 0, 0, &out->facets, &err));
  memcpy(out->facets->pos, box->pos, 3 * (size_t)box->n_verts * sizeof *box->pos);
  int t = 0;
  for (int c = 0; c < NX * NY * NZ; c++) {
    const int at[3] = { c % NX, c / NX % NY, c / NX / NY };
    for (int f = 0; f < 6; f++) {
      if (f % 2 ? at[f / 2] != n[f / 2] - 1 : at[f / 2] != 0)
        continue;
      int v[4];
      for (int k = 0; k < 4; k++) {
        const int i = at[0] + (face[f][k] & 1), j = at[1] + (face[f][k] >> 1 & 1),
                  l = at[2] + (face[f][k] >> 2);
        v[k] = i + (NX + 1) * (j + (NY + 1) * l);
      }
      const int tri[2][3] = { { v[0], v[1], v[2] }, { v[0], v[2], v[3] } };
      for (int k = 0; k < 2; k++, t++) {
        memcpy(&out->facets->tri[3 * t], tri[k], sizeof tri[k]);
        border[t] = f == 4 ? PLA_BORDER_BONE : PLA_BORDER_AIR;
      }
    }
  }
  g_assert_cmpint(t, ==, n_tris);
  TRY(pla_surface_halve_edges(out->facets, longest, NULL, &out->surface, &out->facet, &err));
  out->border = malloc((size_t)out->surface->n_tris);
  for (int i = 0; i < out->surface->n_tris; i++)
    out->border[i] = border[out->facet[i]];
  pla_mesh_free(box);
}

/* (*parts)[i]: triangles that facet i is divided into; may be NULL */
static PlaSurgery *
carved(double cell_mm, double poisson, int **parts)
{
  const double cell = cell_mm * 1e-3, lo[3] = { -0.0337, -0.0293, -0.0263 };
  const int n[3] = { (int)ceil(0.0674 / cell), (int)ceil(0.0586 / cell), (int)ceil(0.0291 / cell) };
  const double hi[3] = { lo[0] + n[0] * cell, lo[1] + n[1] * cell, lo[2] + n[2] * cell };
  const PlaFemMaterial tissue = flesh(poisson);
  PlaTissueLattice made = { 0 };
  PlaSurgery *out = NULL;
  TRY(pla_box_mesh_new(lo, hi, n, PLA_BOX_TETS_5, &made.lattice, &err));
  made.tissue = calloc((size_t)made.lattice->n_tets, sizeof *made.tissue);
  make_surface(&made);
  TRY(pla_surgery_new_carved(&made, &tissue, 1, NULL, &out, &err));
  if (parts)
    *parts = g_new0(int, (gsize)made.facets->n_tris);
  for (int t = 0; parts && t < made.surface->n_tris; t++)
    (*parts)[made.facet[t]]++;
  pla_tissue_lattice_clear(&made);
  return out;
}

/* a spindle of 20 x 6 mm cut out, its surroundings undermined, closed */
static void
operate(PlaSurgery *s, PlaFemReport *report, PlaSurgeryReadings *readings)
{
  double path[24];
  for (int i = 0; i < 8; i++) {
    const double x = 0.01 * cos(i * M_PI / 4), y = 0.003 * sin(i * M_PI / 4);
    const double at[3] = { x, y, dome(x, y) };
    memcpy(&path[3 * i], at, sizeof at);
  }
  TRY(pla_surgery_excise(s, "spindle", path, 8, 0.006, NULL, NULL, &err));
  const PlaSurgeryRegion around = { .from = "spindle", .radius = 0.01 };
  TRY(pla_surgery_undermine(s, &around, 0.006, NULL, &err));
  TRY(pla_surgery_suture(s, "spindle", "spindle", 0.004, 1.0, NULL, &err));
  TRY(pla_surgery_solve(s, 1e-6, NULL, report, &err));
  TRY(pla_surgery_read(s, readings, &err));
}

/* edges of the surface that no neighbour has in the other direction */
static int
count_open(const PlaCutSurface *s)
{
  g_autoptr(GHashTable) edges = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
  int open = 0;
  for (int i = 0; i < 3 * s->n_tris; i++) {
    const int u = s->tri[i], v = s->tri[i % 3 == 2 ? i - 2 : i + 1];
    gint64 *key = g_new(gint64, 1);
    *key = (gint64)MIN(u, v) << 32 | MAX(u, v);
    const int turn = GPOINTER_TO_INT(g_hash_table_lookup(edges, key)) + (u < v ? 1 : -1);
    g_hash_table_replace(edges, key, GINT_TO_POINTER(turn));
  }
  GHashTableIter iter;
  gpointer turn;
  g_hash_table_iter_init(&iter, edges);
  while (g_hash_table_iter_next(&iter, NULL, &turn))
    open += GPOINTER_TO_INT(turn) != 0;
  return open;
}

/* how many facets of the scan the surface shows in all their parts */
static int
count_whole(const PlaCutSurface *s, const int *parts, int n_scan)
{
  g_autofree int *count = g_new0(int, (gsize)n_scan);
  int whole = 0;
  for (int t = 0; t < s->n_tris; t++)
    if (s->carved[t] >= 0)
      count[s->carved[t]]++;
  for (int i = 0; i < n_scan; i++)
    whole += count[i] == parts[i];
  return whole;
}

static void
test_surface(void)
{
  const int n_scan = 4 * (NX * NY + NY * NZ + NZ * NX);
  g_autofree int *parts = NULL;
  int n_parts = 0;
  PlaSurgery *s = carved(5.0, 0.4, &parts);
  const PlaCutSurface *surface;
  const double *pos;
  PlaFemReport report;
  PlaSurgeryReadings readings;
  TRY(pla_surgery_get_surface(s, &surface, &pos, &err));
  for (int i = 0; i < n_scan; i++)
    n_parts += parts[i];
  g_assert_cmpint(n_parts, >=, 2 * n_scan);
  g_assert_cmpint(surface->n_tris, ==, n_parts);
  g_assert_cmpint(count_whole(surface, parts, n_scan), ==, n_scan);
  g_assert_cmpint(count_open(surface), ==, 0);
  operate(s, &report, &readings);
  TRY(pla_surgery_get_surface(s, &surface, &pos, &err));
  g_test_message("%d of %d facets of the scan are whole, %d in all",
                 count_whole(surface, parts, n_scan), n_scan, surface->n_tris);
  g_assert_cmpint(count_whole(surface, parts, n_scan), >, n_scan / 2);
  g_assert_cmpint(count_open(surface), ==, 0);
  pla_surgery_free(s);
}

/* Ties of nearly empty cells cost nothing in any affine shape, and something where one cell turns
 * on its own. */
static void
test_ties(void)
{
  const double f[9] = { 1.3, 0.4, -0.2, -0.1, 0.7, 0.3, 0.2, -0.5, 1.1 };
  PlaSurgery *s = carved(5.0, 0.4, NULL);
  const PlaTetMesh mesh = pla_cut_mesh_get(pla_surgery_get_mesh(s)).mesh;
  const PlaFemSprings ties = { s->n_ties, s->tie };
  g_autofree double *pos = g_new(double, 3 * (gsize)mesh.n_verts);
  g_assert_cmpint(s->n_ties, >, 100);
  for (int v = 0; v < mesh.n_verts; v++)
    pla_mat3_apply(f, &mesh.rest[3 * v], &pos[3 * v]);
  g_assert_cmpfloat(pla_springs_energy(&ties, pos), <, 1e-25);
  pos[3 * s->tie[0].vert[0] + 2] += 1e-3;
  g_assert_cmpfloat(pla_springs_energy(&ties, pos), >, 1e-7);
  pla_surgery_free(s);
}

/* closes like conforming cells of half the size do: those of the same size lock (2.6 N) */
static void
test_wound(void)
{
  PlaSurgery *s[2] = { conforming(2.5), carved(5.0, 0.4, NULL) };
  PlaSurgeryReadings r[2];
  for (int k = 0; k < 2; k++) {
    PlaFemReport report;
    operate(s[k], &report, &r[k]);
    g_test_message("%s: %d tets, gap %.3f (%.3f) mm, %.3f N, stretch %.2f, %d iterations",
                   k ? "carved" : "tets", pla_cut_mesh_get(pla_surgery_get_mesh(s[k])).mesh.n_tets,
                   1e3 * r[k].closed_gap, 1e3 * r[k].edge_gap, r[k].closure_force, r[k].max_stretch,
                   report.iterations);
    g_assert_cmpint(report.reason, ==, PLA_STOP_CONVERGED);
    g_assert_cmpint(report.inverted, ==, 0);
    g_assert_cmpfloat(r[k].closed_gap, <, 2e-4);
    pla_surgery_free(s[k]);
  }
  g_assert_cmpfloat(fabs(r[1].closure_force / r[0].closure_force - 1.0), <, 0.5);
}

/* a hook that lifts the middle of the dome */
static const double top[3] = { 0.0, 0.0, 0.0 }, lift[3] = { 0.001, 0.0, 0.004 };

static void
pull(PlaSurgery *s, PlaFemReport *report, double *hook)
{
  PlaSurgeryReadings readings;
  TRY(pla_surgery_hook(s, top, lift, &err));
  TRY(pla_surgery_solve(s, 1e-8, NULL, report, &err));
  TRY(pla_surgery_read(s, &readings, &err));
  g_assert_cmpint(report->reason, ==, PLA_STOP_CONVERGED);
  g_assert_cmpint(report->inverted, ==, 0);
  *hook = readings.max_hook_force;
}

/* Bone carries what the hook pulls with; and tissue that keeps its volume is pulled about as hard
 * as tissue of the same shear modulus that gives way a little: nothing locks. */
static void
test_hook(void)
{
  const double poisson[2] = { 0.4, 0.49 };
  double per_shear[2];
  for (int k = 0; k < 2; k++) {
    PlaSurgery *s = carved(5.0, poisson[k], NULL);
    const int n = pla_surgery_n_springs(s);
    PlaFemReport report;
    double hook, sum[3] = { 0.0, 0.0, 0.0 };
    pull(s, &report, &hook);
    g_assert_cmpint(pla_surgery_n_springs(s), ==, n + 1);
    g_autofree PlaSpring *spring = g_new(PlaSpring, (gsize)n + 1);
    pla_surgery_make_springs(s, spring);
    for (int i = 0; i <= n; i++) {
      double force[3];
      pla_spring_force(&spring[i], pla_surgery_get_pos(s), force);
      for (int d = 0; d < 3; d++)
        sum[d] += force[d];
    }
    g_test_message("Poisson's ratio %.2f: %.4f N, unbalanced %.1e N, %d iterations", poisson[k],
                   hook, pla_vec3_norm(sum), report.iterations);
    g_assert_cmpfloat(pla_vec3_norm(sum), <, 1e-5 * hook);
    per_shear[k] = hook * (1.0 + poisson[k]);
    pla_surgery_free(s);
  }
  g_assert_cmpfloat(per_shear[1], >, per_shear[0]);
  g_assert_cmpfloat(per_shear[1], <, LOCKED * per_shear[0]);
}

/* A dragged hook shows about what the solve finds, although sweeps know plain elements alone. */
static void
test_live(void)
{
  static const double cells_mm[] = { 5.0, 3.5 };
  for (size_t k = 0; k < G_N_ELEMENTS(cells_mm); k++) {
    PlaSurgery *solved = carved(cells_mm[k], 0.49, NULL);
    PlaSurgery *moving = carved(cells_mm[k], 0.49, NULL);
    PlaSurgeryLive *live = NULL;
    PlaFemReport report;
    double hook;
    pull(solved, &report, &hook);
    TRY(pla_surgery_live_new(moving, top, &live, &err));
    TRY(pla_surgery_live_pull(live, lift, &err));
    for (int i = 0; i < 200; i++)
      TRY(pla_surgery_live_sweep(live, 2, &err));
    g_test_message("cells of %g mm: hook %.4f N, %.4f N in equilibrium", cells_mm[k],
                   pla_surgery_live_force(live), hook);
    g_assert_cmpfloat(fabs(pla_surgery_live_force(live) / hook - 1.0), <, 0.15);
    pla_surgery_live_free(live);
    pla_surgery_free(moving);
    pla_surgery_free(solved);
  }
}

/* bodies of earlier builds tell no formulation: theirs is the standard one */
static void
test_earlier(void)
{
  PlaSurgery *s = carved(5.0, 0.45, NULL);
  PlaNamedArrays arrays = { 0 };
  TRY(pla_surgery_save(s, &arrays, &err));
  g_assert_cmpint(s->formulation, ==, PLA_FORMULATION_AVERAGED);
  pla_surgery_free(s);
  TRY(pla_surgery_load(&arrays, &s, &err));
  g_assert_cmpint(s->formulation, ==, PLA_FORMULATION_AVERAGED);
  pla_surgery_free(s);
  PlaNamedArrays before = arrays;
  before.array = g_memdup2(arrays.array, (gsize)arrays.n * sizeof *arrays.array);
  before.n = 0;
  for (int i = 0; i < arrays.n; i++)
    if (strcmp(arrays.array[i].name, "body/formulation") != 0)
      before.array[before.n++] = arrays.array[i];
  g_assert_cmpint(before.n, ==, arrays.n - 1);
  TRY(pla_surgery_load(&before, &s, &err));
  g_assert_cmpint(s->formulation, ==, PLA_FORMULATION_STANDARD);
  pla_surgery_free(s);
  g_free(before.array);
  pla_named_arrays_clear(&arrays);
}

/* what is stored goes on as if nothing had happened, with any number of threads */
static void
test_stored(void)
{
  PlaNamedArrays arrays[2] = { { 0 } };
  for (int k = 0; k < 2; k++) {
    PlaFemReport report;
    PlaSurgeryReadings readings;
    pla_threads_set(k ? 4 : 1);
    PlaSurgery *s = carved(5.0, 0.49, NULL);
    if (k == 1) {
      PlaNamedArrays before = { 0 };
      TRY(pla_surgery_save(s, &before, &err));
      pla_surgery_free(s);
      TRY(pla_surgery_load(&before, &s, &err));
      pla_named_arrays_clear(&before);
    }
    operate(s, &report, &readings);
    TRY(pla_surgery_save(s, &arrays[k], &err));
    pla_surgery_free(s);
  }
  g_assert_cmpint(arrays[1].n, ==, arrays[0].n);
  for (int i = 0; i < arrays[0].n; i++) {
    const PlaNamedArray *x = &arrays[0].array[i], *y = &arrays[1].array[i];
    const size_t size = x->n * (size_t)x->width * pla_dtype_size(x->dtype);
    g_assert_cmpstr(x->name, ==, y->name);
    if (x->n != y->n || memcmp(x->data, y->data, size) != 0)
      g_error("'%s' differs", x->name);
  }
  for (int k = 0; k < 2; k++)
    pla_named_arrays_clear(&arrays[k]);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/surgery/carved/ties", test_ties);
  g_test_add_func("/surgery/carved/surface", test_surface);
  g_test_add_func("/surgery/carved/earlier", test_earlier);
  g_test_add_func("/surgery/carved/hook", test_hook);
  g_test_add_func("/surgery/carved/live", test_live);
  if (g_getenv("PLA_LONG")) {
    g_test_add_func("/surgery/carved/wound", test_wound);
    g_test_add_func("/surgery/carved/stored", test_stored);
  }
  return g_test_run();
}
