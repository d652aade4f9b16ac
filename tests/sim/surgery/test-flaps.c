/* Templates of flaps: their drawings, and what they do to skin under tension. */
#include "anatomy/base/mat3.h"
#include "anatomy/base/parallel.h"
#include "sim/solve/solve.h"
#include "sim/surgery/surgery-state.h"
#include "sim/surgery/template.h"
#include "tests/sim/surgery/slab.h"

#include <math.h>
#include <string.h>

static double
edge_length(const PlaTemplateDrawing *drawing, const PlaTemplateEdge *edge)
{
  const PlaTemplateStep *step = &drawing->step[edge->step];
  const int from = (int)fmin(edge->from, edge->to), to = (int)fmax(edge->from, edge->to);
  double length = 0.0;
  for (int i = from; i < to; i++) {
    const double *a = &step->point[2 * (i % step->n_points)],
                 *b = &step->point[2 * ((i + 1) % step->n_points)];
    length += hypot(b[0] - a[0], b[1] - a[1]);
  }
  return length;
}

static const double *
edge_point(const PlaTemplateDrawing *drawing, const PlaTemplateEdge *edge, bool end)
{
  const PlaTemplateStep *step = &drawing->step[edge->step];
  return &step->point[2 * ((int)(end ? edge->to : edge->from) % step->n_points)];
}

/* every template: seams are made of edges that exist, one part begins where the other ends, and
 * edges that are sewn together have lengths that stitches can even out */
static void
test_drawings(void)
{
  const PlaTemplate *const *all = pla_templates_get();
  for (int k = 0; all[k]; k++) {
    g_assert_true(pla_template_find(all[k]->id) == all[k]);
    for (int mirror = 0; mirror < 2; mirror++) {
      const PlaTemplateParams params = { .size = 0.02, .mirror = mirror };
      PlaTemplateDrawing d;
      int seams = 0;
      TRY(pla_template_draw(all[k], &params, &d, &err));
      for (int s = 0; s < d.n_steps; s++) {
        const PlaTemplateStep *step = &d.step[s];
        if (step->tool != PLA_TEMPLATE_SEW) {
          g_assert_cmpint(step->n_points, >=, step->tool == PLA_TEMPLATE_INCISE ? 2 : 3);
          continue;
        }
        double length[2] = { 0.0, 0.0 };
        for (int e = 0; e < 2; e++)
          for (int i = 0; i < step->n_parts[e]; i++) {
            const PlaTemplateEdge *edge = &step->edge[e][i];
            g_assert_cmpint(edge->step, <, s);
            g_assert_cmpint(d.step[edge->step].tool, <=, PLA_TEMPLATE_EXCISE);
            g_assert_cmpfloat(fmax(edge->from, edge->to), <=, d.step[edge->step].n_points);
            length[e] += edge_length(&d, edge);
            if (i > 0) {
              const double *a = edge_point(&d, edge - 1, true), *b = edge_point(&d, edge, false);
              g_assert_cmpfloat(hypot(a[0] - b[0], a[1] - b[1]), <, 1e-9);
            }
          }
        if (!(length[0] < 1.7 * length[1] && length[1] < 1.7 * length[0]))
          g_error("%s: an edge of %.1f mm is sewn to one of %.1f mm", all[k]->id, 1e3 * length[0],
                  1e3 * length[1]);
        seams++;
      }
      g_assert_cmpint(seams, >=, 1);
      pla_template_drawing_clear(&d);
    }
    /* what makes no sense is refused */
    PlaTemplateDrawing d;
    PlaError err = { 0 };
    g_assert_cmpint(pla_template_draw(all[k], &(PlaTemplateParams){ .size = -1.0 }, &d, &err), ==,
                    PLA_ERR_USAGE);
  }
  g_assert_null(pla_template_find("nothing"));
}

/* does all steps of a template at the middle of the slab */
static void
apply(PlaSurgery *s, const char *id, const PlaTemplateParams *params, double depth, double spacing)
{
  const double at[3] = { 0.0003, 0.0002, 0.0 }, direction[3] = { 1.0, 0.0, 0.0 };
  PlaTemplateDrawing d;
  TRY(pla_template_draw(pla_template_find(id), params, &d, &err));
  /* all places are found before the skin is touched */
  g_autoptr(GPtrArray) place = g_ptr_array_new_with_free_func(g_free);
  for (int i = 0; i < d.n_steps; i++) {
    const PlaTemplateStep *step = &d.step[i];
    double *pos = g_new0(double, 3 * (gsize)step->n_points + 1);
    g_ptr_array_add(place, pos);
    if (step->n_points)
      TRY(pla_surgery_draw(s, at, direction, step->point, step->n_points, pos, &err));
  }
  for (int i = 0; i < d.n_steps; i++) {
    const PlaTemplateStep *step = &d.step[i];
    const double *pos = place->pdata[i];
    if (step->tool == PLA_TEMPLATE_INCISE)
      TRY(pla_surgery_incise(s, step->name, pos, step->n_points, depth, 0.0, NULL, &err));
    if (step->tool == PLA_TEMPLATE_EXCISE)
      TRY(pla_surgery_excise(s, step->name, pos, step->n_points, depth, NULL, NULL, &err));
    if (step->tool == PLA_TEMPLATE_UNDERMINE)
      TRY(pla_surgery_undermine(s, &(PlaSurgeryRegion){ .area = pos, .n_area = step->n_points },
                                depth, NULL, &err));
    if (step->tool == PLA_TEMPLATE_SEW) {
      PlaSurgeryEdge edge[2][PLA_TEMPLATE_PARTS];
      for (int e = 0; e < 2; e++)
        for (int k = 0; k < step->n_parts[e]; k++) {
          const PlaTemplateEdge *from = &step->edge[e][k];
          edge[e][k] =
              (PlaSurgeryEdge){ d.step[from->step].name, from->side, from->from, from->to };
        }
      TRY(pla_surgery_sew(s, edge[0], step->n_parts[0], edge[1], step->n_parts[1], spacing, 1.0,
                          NULL, &err));
    }
  }
  pla_template_drawing_clear(&d);
}

/* where the skin that was at @at is now */
static void
skin_now(PlaSurgery *s, const double at[3], double out[3])
{
  const PlaCutMeshView view = pla_cut_mesh_get(pla_surgery_get_mesh(s));
  double least = INFINITY;
  for (int v = 0; v < view.mesh.n_verts; v++) {
    double d2 = 0.0;
    for (int d = 0; d < 3; d++)
      d2 += (view.mesh.rest[3 * v + d] - at[d]) * (view.mesh.rest[3 * v + d] - at[d]);
    if (d2 < least) {
      least = d2;
      memcpy(out, &pla_surgery_get_pos(s)[3 * v], 3 * sizeof *out);
    }
  }
}

/* On a slab with a tight scar along x, the distance of two points beyond the ends of the scar after
 * a Z-plasty, over that before (Sifakis checklist 60). */
static double
z_gain(double angle_deg)
{
  PlaSurgery *s = slab(4.0);
  const PlaSurgeryLine line = { { 0.0, 0.0, 0.0 }, { 1.0, 0.0, 0.0 } };
  const double ends[2][3] = { { -0.015, 0.0, 0.0 }, { 0.015, 0.0, 0.0 } };
  double before[2][3], after[2][3];
  PlaFemReport report;
  int n = 0;
  TRY(pla_surgery_set_tension(s, &line, 1, 1.25, 1.0, 0.005, &n, &err));
  g_assert_cmpint(n, >, 100);
  TRY(pla_surgery_solve(s, 1e-3, NULL, &report, &err));
  for (int i = 0; i < 2; i++)
    skin_now(s, ends[i], before[i]);
  const PlaTemplateParams params = { .size = 0.02, .angle = angle_deg * G_PI / 180.0 };
  apply(s, "z-plasty", &params, 0.005, 0.004);
  TRY(pla_surgery_solve(s, 1e-3, NULL, &report, &err));
  g_assert_cmpint(report.reason, ==, PLA_STOP_CONVERGED);
  for (int i = 0; i < 2; i++)
    skin_now(s, ends[i], after[i]);
  PlaSurgeryReadings read;
  TRY(pla_surgery_read(s, &read, &err));
  const double gain = (after[1][0] - after[0][0]) / (before[1][0] - before[0][0]) - 1.0;
  g_test_message("%.0f degrees: %.2f %%, gap %.2f mm, stretch %.2f, inverted %d", angle_deg,
                 100.0 * gain, 1e3 * read.closed_gap, read.max_stretch, report.inverted);
  pla_surgery_free(s);
  return gain;
}

static void
test_z_plasty(void)
{
  const double g30 = z_gain(30), g60 = z_gain(60);
  g_assert_cmpfloat(g60, >, g30);
  g_assert_cmpfloat(g30, >, 0.0);
  if (g_getenv("PLA_SMALL")) /* sanitizers have seen all of it by now */
    return;
  const double g45 = z_gain(45);
  g_assert_cmpfloat(g60, >, g45);
  g_assert_cmpfloat(g45, >, g30);
}

/* the rhomboid flap closes with its four pairs of edges */
static void
test_rhomboid(void)
{
  PlaSurgery *s = slab(3.0);
  PlaFemReport report;
  PlaSurgeryReadings read;
  PlaSurgeryStitch stitch[64];
  apply(s, "rhomboid", &(PlaTemplateParams){ .size = 0.014 }, 0.005, 0.0035);
  TRY(pla_surgery_solve(s, 1e-3, NULL, &report, &err));
  TRY(pla_surgery_read(s, &read, &err));
  g_test_message("gap %.3f mm, between %.3f mm, stretch %.2f, dog-ear %.1f mm, inverted %d",
                 1e3 * read.closed_gap, 1e3 * read.edge_gap, read.max_stretch, 1e3 * read.dog_ear,
                 report.inverted);
  g_assert_cmpint(report.reason, ==, PLA_STOP_CONVERGED);
  g_assert_cmpint(read.n_stitches, <, 64);
  pla_surgery_get_stitches(s, stitch);
  g_assert_cmpint(stitch[read.n_stitches - 1].row, ==, 3);
  g_assert_cmpfloat(read.closed_gap, <, 0.0005);
  pla_surgery_free(s);
}

/* ---- the same plan on finer meshes ---- */

enum { PLACES_U = 13, PLACES_V = 9, PLACES = PLACES_U * PLACES_V };

/* where material that was half a millimetre below the skin is now; NAN where cut tets hold it */
static void
places_now(PlaSurgery *s, double out[3 * PLACES])
{
  const PlaTetMesh mesh = pla_cut_mesh_get(pla_surgery_get_mesh(s)).mesh;
  const double *pos = pla_surgery_get_pos(s);
  g_autofree double *filled = g_new(double, (gsize)mesh.n_tets);
  pla_cut_mesh_fractions(pla_surgery_get_mesh(s), filled);
  for (int i = 0; i < 3 * PLACES; i++)
    out[i] = NAN;
  for (int t = 0; t < mesh.n_tets; t++) {
    const int *tet = &mesh.tet[4 * t];
    double dm[9], inverse[9];
    for (int k = 0; k < 3; k++)
      for (int d = 0; d < 3; d++)
        dm[3 * d + k] = mesh.rest[3 * tet[k + 1] + d] - mesh.rest[3 * tet[0] + d];
    pla_mat3_invert(dm, inverse);
    for (int i = 0; filled[t] == 1.0 && i < PLACES; i++) {
      const double at[3] = { 0.0051 * (i % PLACES_U - PLACES_U / 2),
                             0.0053 * (i / PLACES_U - PLACES_V / 2), -0.0005 };
      double w[4] = { 1.0 }, e[3];
      pla_vec3_sub(at, &mesh.rest[3 * tet[0]], e);
      bool in = true;
      for (int k = 0; k < 3; k++) {
        w[k + 1] = pla_vec3_dot(&inverse[3 * k], e);
        w[0] -= w[k + 1];
        in = in && w[k + 1] >= 0.0;
      }
      for (int d = 0; in && w[0] >= 0.0 && d < 3; d++) {
        out[3 * i + d] = 0.0;
        for (int c = 0; c < 4; c++)
          out[3 * i + d] += w[c] * pos[3 * tet[c] + d];
      }
    }
  }
}

/* The end shapes of one plan on three meshes come closer to each other as cells shrink (Sifakis
 * checklist 60).  They do once a flap is several cells wide: a rhomb of 14 mm from cells of 4 mm
 * on, not yet of 6 mm. */
static void
test_resolutions(void)
{
  const bool fine = g_getenv("PLA_LONG");
  const double cell[3] = { fine ? 4.0 : 6.0, fine ? 3.0 : 4.0, fine ? 2.0 : 3.0 };
  double place[3][3 * PLACES], apart[2] = { 0.0, 0.0 };
  for (int k = 0; k < 3; k++) {
    PlaSurgery *s = slab(cell[k]);
    PlaFemReport report;
    apply(s, fine ? "rhomboid" : "z-plasty", &(PlaTemplateParams){ .size = fine ? 0.014 : 0.02 },
          0.005, 0.0035);
    TRY(pla_surgery_solve(s, 1e-3, NULL, &report, &err));
    g_assert_cmpint(report.reason, ==, PLA_STOP_CONVERGED);
    places_now(s, place[k]);
    pla_surgery_free(s);
  }
  int n = 0;
  for (int i = 0; i < 3 * PLACES; i++) {
    const double a = place[0][i] - place[1][i], b = place[1][i] - place[2][i];
    if (isnan(a) || isnan(b))
      continue;
    apart[0] += a * a;
    apart[1] += b * b;
    n += i % 3 == 0;
  }
  g_test_message("%d places: %.3f mm from %g to %g mm cells, %.3f mm from there to %g mm", n,
                 1e3 * sqrt(apart[0] / n), cell[0], cell[1], 1e3 * sqrt(apart[1] / n), cell[2]);
  g_assert_cmpint(n, >, PLACES / 2);
  g_assert_cmpfloat(apart[1], <, apart[0]);
}

/* a pocket under the skin that is blown up lifts it, more with more pressure */
static void
test_expander(void)
{
  double rise[2];
  for (int k = 0; k < 2; k++) {
    PlaSurgery *s = slab(4.0);
    const double path[6] = { -0.0121, 0.0003, 0.0, 0.0117, 0.0003, 0.0 };
    const double at[3] = { 0.0, 0.0, -0.005 }, top[3] = { 0.0, 0.008, 0.0 }, far[3] = { 0, 0, 0.1 };
    PlaFemReport report;
    double now[3];
    TRY(pla_surgery_incise(s, "cut", path, 2, 0.005, 0.0, NULL, &err));
    TRY(pla_surgery_undermine(s, &(PlaSurgeryRegion){ .from = "cut", .radius = 0.012 }, 0.005, NULL,
                              &err));
    PlaError refused = { 0 };
    g_assert_cmpint(pla_surgery_expand(s, far, 0.01, 100.0, &refused), ==, PLA_ERR_EMPTY);
    TRY(pla_surgery_expand(s, at, 0.012, k ? 200.0 : 100.0, &err));
    TRY(pla_surgery_solve(s, 1e-3, NULL, &report, &err));
    skin_now(s, top, now);
    rise[k] = now[2];
    g_assert_cmpfloat(pla_surgery_expanded_volume(s, &refused), >, 0.0);
    pla_surgery_free(s);
  }
  g_test_message("rises by %.2f and %.2f mm", 1e3 * rise[0], 1e3 * rise[1]);
  g_assert_cmpfloat(rise[0], >, 1e-4);
  g_assert_cmpfloat(rise[1], >, 1.5 * rise[0]);
}

/* what a surgeon can get wrong: a sentence, and the body as it was */
static void
test_untouched(void)
{
  PlaSurgery *s = slab(4.0);
  PlaError refused = { 0 };
  const PlaCutMeshView view = pla_cut_mesh_get(pla_surgery_get_mesh(s));
  const int n_tets = view.mesh.n_tets, n_verts = view.mesh.n_verts;
  PlaNamedArrays whole = { 0 };
  TRY(pla_surgery_save(s, &whole, &err));
  const double miss[9] = { 1, 1, 1, 1.1, 1, 1, 1, 1.1, 1 }, flat[9] = { 0 };
  const int tri[3] = { 0, 1, 2 };
  const PlaTriMesh blades[2] = { { 3, 1, miss, tri }, { 3, 1, flat, tri } };
  for (int i = 0; i < 2; i++) {
    g_assert_cmpint(pla_surgery_cut(s, &blades[i], NULL, NULL, &refused), ==, PLA_ERR_EMPTY);
    g_assert_true(strstr(refused.message, i ? "no area" : "does not reach") != NULL);
  }
  const double off[6] = { 0.0, 0.0, 0.0, 0.0, 0.0, 0.05 };
  g_assert_cmpint(pla_surgery_incise(s, "x", off, 2, 0.004, 0.0, NULL, &refused), ==,
                  PLA_ERR_USAGE);
  g_assert_true(strstr(refused.message, "point 2") != NULL);
  const double still[6] = { 0.0, 0.0, 0.0, 0.0, 0.0, 0.0 };
  g_assert_cmpint(pla_surgery_incise(s, "x", still, 2, 0.004, 0.0, NULL, &refused), ==,
                  PLA_ERR_USAGE);
  const double nowhere[3] = { 0.0, 0.0, 0.2 }, here[3] = { 0.01, 0.0, 0.0 };
  g_assert_cmpint(pla_surgery_stitch(s, here, nowhere, 1.0, &refused), ==, PLA_ERR_USAGE);
  g_assert_cmpint(pla_surgery_suture(s, "x", "x", 0.004, 1.0, NULL, &refused), ==, PLA_ERR_USAGE);
  const double around[12] = { -0.0399, -0.0299, 0.0, 0.0399,  -0.0299, 0.0,
                              0.0399,  0.0299,  0.0, -0.0399, 0.0299,  0.0 };
  g_assert_cmpint(pla_surgery_excise(s, "all", around, 4, 0.05, NULL, NULL, &refused), !=, PLA_OK);
  const PlaCutMeshView after = pla_cut_mesh_get(pla_surgery_get_mesh(s));
  g_assert_cmpint(after.mesh.n_tets, ==, n_tets);
  g_assert_cmpint(after.mesh.n_verts, ==, n_verts);
  PlaNamedArrays now = { 0 };
  TRY(pla_surgery_save(s, &now, &err));
  g_assert_cmpint(now.n, ==, whole.n);
  for (int i = 0; i < whole.n; i++) {
    const PlaNamedArray *a = &whole.array[i], *b = &now.array[i];
    const gsize size = pla_dtype_size(a->dtype) * (gsize)a->width;
    g_assert_cmpstr(a->name, ==, b->name);
    g_assert_cmpmem(a->data, a->n * size, b->data, b->n * size);
  }
  pla_named_arrays_clear(&whole);
  pla_named_arrays_clear(&now);
  PlaSurgeryReadings read;
  TRY(pla_surgery_read(s, &read, &err));
  g_assert_cmpint(read.n_stitches, ==, 0);
  /* and everything still works */
  const double path[6] = { -0.0121, 0.0003, 0.0, 0.0117, 0.0003, 0.0 };
  TRY(pla_surgery_incise(s, "x", path, 2, 0.005, 0.0, NULL, &err));
  pla_surgery_free(s);
}

/* the way back: a copy is the body, whatever is done to the other */
static void
test_copies(void)
{
  PlaSurgery *s = slab(4.0), *before = NULL;
  const double path[6] = { -0.0121, 0.0003, 0.0, 0.0117, 0.0003, 0.0 };
  TRY(pla_surgery_incise(s, "cut", path, 2, 0.005, 0.0, NULL, &err));
  TRY(pla_surgery_dup(s, &before, &err));
  const PlaCutMeshView old = pla_cut_mesh_get(pla_surgery_get_mesh(before));
  const size_t n = 3 * (size_t)old.mesh.n_verts;
  g_autofree double *pos = g_memdup2(pla_surgery_get_pos(before), n * sizeof *pos);
  TRY(pla_surgery_undermine(s, &(PlaSurgeryRegion){ .from = "cut", .radius = 0.012 }, 0.005, NULL,
                            &err));
  pla_surgery_settle(s, &before, PLA_ERR_CANCELLED);
  const PlaCutMeshView now = pla_cut_mesh_get(pla_surgery_get_mesh(s));
  g_assert_cmpint(3 * now.mesh.n_verts, ==, (int)n);
  g_assert_cmpmem(pla_surgery_get_pos(s), n * sizeof *pos, pos, n * sizeof *pos);
  /* and the wound is still there */
  TRY(pla_surgery_undermine(s, &(PlaSurgeryRegion){ .from = "cut", .radius = 0.012 }, 0.005, NULL,
                            &err));
  g_assert_null(before);
  pla_surgery_free(s);
}

/* A flap that is pressed down lies on its bed: the bed gives way, neither goes through the other,
 * and pulled up it comes off.  The same bits for any number of threads. */
static void
test_bed(void)
{
  const int threads = pla_threads_get();
  const double path[12] = { -0.0151, 0.0153,  0.0, -0.0151, -0.0149, 0.0,
                            0.0147,  -0.0149, 0.0, 0.0147,  0.0153,  0.0 };
  const double at[3] = { 0.0003, -0.0041, 0.0 };
  PlaSurgery *body[3];
  double push[3];
  for (int k = 0; k < 3; k++) {
    const double pull[3] = { 0.0, 0.0, k == 2 ? 0.003 : -0.003 };
    PlaFemReport report;
    body[k] = slab(4.0);
    pla_threads_set(k ? 4 : 1);
    TRY(pla_surgery_incise(body[k], "u", path, 4, 0.005, 0.0, NULL, &err));
    TRY(pla_surgery_undermine(body[k], &(PlaSurgeryRegion){ .from = "u", .radius = 0.016 }, 0.005,
                              NULL, &err));
    TRY(pla_surgery_hook(body[k], at, pull, &err));
    TRY(pla_surgery_solve(body[k], 1e-6, NULL, &report, &err));
    g_assert_cmpint(report.reason, ==, PLA_STOP_CONVERGED);
    g_assert_cmpint(report.inverted, ==, 0);
    g_test_message("%d contacts, %.3f mm deep, %.3f N", report.contacts,
                   1e3 * report.max_penetration_m, report.contact_n);
    g_assert_cmpfloat(report.max_penetration_m, <, 0.1 * 4e-3); /* of a cell */
    push[k] = report.contact_n;
  }
  /* lifted, only the fold at its root is pressed */
  g_assert_cmpfloat(push[0], >, 0.1);
  g_assert_cmpfloat(push[2], <, 0.2 * push[0]);
  const int n = pla_cut_mesh_get(pla_surgery_get_mesh(body[0])).mesh.n_verts;
  g_assert_cmpmem(pla_surgery_get_pos(body[0]), 24 * (gsize)n, pla_surgery_get_pos(body[1]),
                  24 * (gsize)n);
  pla_threads_set(threads);
  for (int k = 0; k < 3; k++)
    pla_surgery_free(body[k]);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/sim/surgery/flaps/drawings", test_drawings);
  g_test_add_func("/sim/surgery/flaps/z-plasty", test_z_plasty);
  g_test_add_func("/sim/surgery/flaps/rhomboid", test_rhomboid);
  g_test_add_func("/sim/surgery/flaps/resolutions", test_resolutions);
  g_test_add_func("/sim/surgery/flaps/expander", test_expander);
  g_test_add_func("/sim/surgery/flaps/untouched", test_untouched);
  g_test_add_func("/sim/surgery/flaps/copies", test_copies);
  g_test_add_func("/sim/surgery/flaps/bed", test_bed);
  return g_test_run();
}
