/* Fitting a face: how long a frame takes, and what derivatives by all muscles cost beside a factor.
 */
#include "anatomy/base/memory.h"
#include "app/bench/bench-private.h"
#include "app/motion/activation.h"

#include <glib.h>
#include <math.h>
#include <stdlib.h>

typedef struct {
  PlaActiveBody *body;
  PlaActiveSolver *solver;
  PlaActiveState state;
  double *columns;
  PlaActiveReport report;
} Face;

static PlaStatus
derive(void *data, PlaError *err)
{
  Face *self = data;
  self->report = (PlaActiveReport){ 0 };
  return pla_active_sensitivity(self->solver, &self->state, NULL, self->columns, &self->report,
                                err);
}

enum { SECTION = 10 }; /* equilibria of a golden section, as the source counts them */

/* Between two frames: how long the equilibrium of the second takes the general way, by a solver
 * that begins without a factor; and a golden section along the step, from shapes between those at
 * its ends. */
static PlaStatus
compare_steps(Face *self, double *equilibrium_s, double *section_s, PlaError *err)
{
  const PlaActiveModel *model = self->body->model;
  const size_t n = 3 * (size_t)self->body->mesh->n_verts, nc = (size_t)pla_active_n_controls(model);
  PlaActivation moves = { 0 };
  PlaActiveState end = { 0 }, at = { 0 };
  PlaActiveSolver *plain = NULL;
  PlaActiveReport report = { 0 };
  const double golden = 0.5 * (sqrt(5.0) - 1.0);
  PlaStatus st = pla_activation_random(model, 30, 60.0, 5, &moves, err);
  if (st == PLA_OK)
    st = pla_active_state_init(&end, model, err);
  if (st == PLA_OK)
    st = pla_active_state_init(&at, model, err);
  if (st == PLA_OK)
    st = pla_active_solver_new(model, &plain, err);
  if (st == PLA_OK)
    st = pla_active_solve(self->solver, moves.control + 20 * nc, NULL, 1e-6, NULL, &self->state,
                          &report, err);
  /* the factor at the step's beginning */
  if (st == PLA_OK)
    st = derive(self, err);
  if (st == PLA_OK) {
    pla_active_state_copy(&end, model, &self->state);
    const gint64 start = g_get_monotonic_time();
    st = pla_active_solve(plain, moves.control + 22 * nc, NULL, 1e-6, NULL, &end, &report, err);
    *equilibrium_s = (double)(g_get_monotonic_time() - start) * 1e-6;
  }
  const gint64 start = g_get_monotonic_time();
  double place = golden;
  for (int e = 0; e < SECTION && st == PLA_OK; e++, place = 1.0 - golden * place) {
    for (size_t i = 0; i < n; i++)
      at.pos[i] = (1.0 - place) * self->state.pos[i] + place * end.pos[i];
    for (size_t c = 0; c < nc; c++)
      at.control[c] = (1.0 - place) * self->state.control[c] + place * end.control[c];
    g_autofree double *control = g_memdup2(at.control, nc * sizeof *control);
    st = pla_active_solve(self->solver, control, NULL, 1e-5, NULL, &at, &report, err);
  }
  *section_s = (double)(g_get_monotonic_time() - start) * 1e-6;
  pla_active_solver_free(plain);
  pla_active_state_clear(&end);
  pla_active_state_clear(&at);
  pla_activation_clear(&moves);
  return st;
}

/* tracks a short take from rest; the first frame, a far start, counts apart */
static PlaStatus
track(PlaBench *bench, Face *self, int n_frames, double *seconds, PlaFitResult *fit, PlaError *err)
{
  PlaActivation truth = { 0 }, found = { 0 };
  PlaTake *take = NULL;
  PlaActivationReport report;
  PlaFitOptions opts = pla_fit_options_default();
  const PlaMarkerMatchOptions label = pla_marker_match_options_default();
  opts.rounds = 0;
  opts.chunk = n_frames;
  PlaStatus st = pla_activation_random(self->body->model, n_frames + 12, 60.0, 5, &truth, err);
  if (st == PLA_OK)
    st = pla_activation_take(self->body, &truth, NULL, pla_bench_progress(bench), &take, &report,
                             err);
  if (st == PLA_OK) {
    /* the frames after the first twelve, which are near rest */
    const size_t width = 3 * (size_t)take->n_markers;
    for (size_t i = 0; i < width * (size_t)n_frames; i++)
      take->pos[i] = take->pos[i + 12 * width];
    take->n_frames = n_frames;
    const gint64 start = g_get_monotonic_time();
    st = pla_activation_fit(self->body, take, &label, &opts, &found, fit, err);
    *seconds = (double)(g_get_monotonic_time() - start) * 1e-6 / n_frames;
  }
  pla_take_free(take);
  pla_activation_clear(&truth);
  pla_activation_clear(&found);
  return st;
}

static PlaStatus
run_size(PlaBench *bench, double size, PlaError *err)
{
  PlaActiveBodyOptions opts = pla_active_body_options_default();
  Face face = { 0 };
  PlaFitResult fit = { 0 };
  double derive_s = 0.0, frame_s = 0.0, equilibrium_s = 0.0, section_s = 0.0;
  const int repeats = pla_bench_repeats(bench, 3), n_frames = 6;
  opts.cell_mm = 5.5 * cbrt(66e3 / size);
  const gint64 start = g_get_monotonic_time();
  PlaStatus st = pla_active_body_from_phantom("face", &opts, NULL, &face.body, err);
  const double build_s = (double)(g_get_monotonic_time() - start) * 1e-6;
  if (st == PLA_OK)
    st = pla_active_solver_new(face.body->model, &face.solver, err);
  if (st == PLA_OK)
    st = pla_active_state_init(&face.state, face.body->model, err);
  if (st == PLA_OK) {
    face.columns = pla_array_new((size_t)pla_active_n_controls(face.body->model) *
                                     (size_t)face.body->mesh->n_verts,
                                 3 * sizeof *face.columns);
    if (!face.columns)
      st = pla_fail_memory(err, "the sensitivities");
  }
  if (st == PLA_OK)
    st = pla_bench_time(bench, derive, &face, repeats, &derive_s, err);
  if (st == PLA_OK)
    st = track(bench, &face, n_frames, &frame_s, &fit, err);
  const PlaActiveReport cost = face.report;
  if (st == PLA_OK)
    st = compare_steps(&face, &equilibrium_s, &section_s, err);
  if (st == PLA_OK) {
    g_autofree char *text = g_strdup_printf("%.0fk", size / 1000.0);
    pla_bench_begin_run(bench, text, face.body->mesh->n_tets, repeats, frame_s);
    /* the plain alternative to derivatives is one more equilibrium for every control */
    pla_bench_ratio(bench, "columns_per_factor", cost.substitute_s / fmax(1e-9, cost.factor_s));
    pla_bench_ratio(bench, "derivatives_per_factor", derive_s / fmax(1e-9, cost.factor_s));
    pla_bench_ratio(bench, "derivatives_per_equilibrium", derive_s / fmax(1e-9, equilibrium_s));
    pla_bench_ratio(bench, "golden_section_per_step",
                    section_s / fmax(1e-9, derive_s + equilibrium_s));
    pla_bench_number(bench, "derivatives_s", derive_s);
    pla_bench_number(bench, "equilibrium_s", equilibrium_s);
    pla_bench_number(bench, "golden_section_s", section_s);
    pla_bench_number(bench, "assemble_s", cost.assemble_s);
    pla_bench_number(bench, "factor_s", cost.factor_s);
    pla_bench_number(bench, "columns_s", cost.substitute_s);
    pla_bench_number(bench, "build_s", build_s);
    pla_bench_number(bench, "frame_s", frame_s);
    pla_bench_number(bench, "rms_mm", 1000.0 * fit.rms_m);
    pla_bench_number(bench, "steps_per_frame", (double)fit.iterations / n_frames);
    pla_bench_number(bench, "factors_per_frame", (double)fit.factorisations / n_frames);
    pla_bench_number(bench, "bytes_per_tet",
                     pla_bench_peak_rss_mib() * 1048576.0 / face.body->mesh->n_tets);
    pla_bench_end_run(bench);
  }
  pla_fit_result_clear(&fit);
  free(face.columns);
  pla_active_state_clear(&face.state);
  pla_active_solver_free(face.solver);
  pla_active_body_free(face.body);
  return st;
}

static PlaStatus
run_fit_face(PlaBench *bench, PlaError *err)
{
  static const double sizes[] = { 10e3, 50e3, 150e3, 370e3 };
  const double one = pla_bench_size(bench, 0.0);
  if (one > 0.0)
    return run_size(bench, one, err);
  PlaStatus st = PLA_OK;
  for (size_t i = 0; i < G_N_ELEMENTS(sizes) && st == PLA_OK; i++)
    st = run_size(bench, sizes[i], err);
  return st;
}

const PlaBenchmark pla_benchmark_fit_face = {
  .name = "fit-face",
  .summary = "a frame of 79 markers on the face, and derivatives by all muscles against one factor",
  .run = run_fit_face,
};
