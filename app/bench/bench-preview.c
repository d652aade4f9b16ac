/* Speech as it is edited: the face of a line blended from stored shapes and drawn, against the
 * equilibria of the same controls. */
#include "anatomy/base/memory.h"
#include "app/base/json.h"
#include "app/bench/bench-private.h"
#include "app/case/session.h"
#include "app/motion/activation.h"
#include "app/motion/case-physemes.h"
#include "app/show/render.h"

#include <glib/gstdio.h>
#include <math.h>
#include <stdlib.h>

enum { WIDTH = 1000, HEIGHT = 800, FACE_ID = 1 };
#define RATE_HZ 60.0

/* what was once said, and what is to be said of it */
static const char *const said =
    "[[0.0, 0.15, \"m\"], [0.15, 0.4, \"a\"], [0.4, 0.55, \"b\"], [0.55, 0.8, \"i\"],"
    " [0.8, 0.95, \"z\"], [0.95, 1.2, \"u\"]]";
static const struct {
  double start_s, end_s;
  const char *label;
} line_phones[] = {
  { 0.0, 0.12, "b" }, { 0.12, 0.3, "u" }, { 0.3, 0.45, "m" }, { 0.45, 0.6, "i" }, { 0.6, 0.8, "z" }
};

typedef struct {
  PlaSession *session;
  PlaPerformance *performance;
  PlaCasePhysemes *physemes;
  PlaLine *line;
  const PlaRenderer *render;
  PlaScene *scene;
  uint32_t *pixel;
  double *pos;
  int frame, n_frames;
  bool draw;
} Preview;

static PlaStatus
run_operation(PlaSession *session, const char *verb, const char *json, PlaProgress *progress,
              PlaError *err)
{
  g_autoptr(JsonNode) node = pla_json_literal(json);
  const PlaRequest request = { .verb = verb, .params = json_node_get_object(node) };
  return pla_session_run(session, &request, progress, NULL, err);
}

/* a case whose face has said something and whose shapes are stored */
static PlaStatus
make_case(const char *path, double cell_mm, PlaProgress *progress, PlaSession **out, PlaError *err)
{
  char number[G_ASCII_DTOSTR_BUF_SIZE];
  g_autofree char *body = g_strdup_printf("{\"phantom\": \"face\", \"cell_mm\": %s}",
                                          g_ascii_dtostr(number, sizeof number, cell_mm));
  g_autofree char *words =
      g_strdup_printf("{\"muscles\": \"face muscles\", \"phonemes\": %s}", said);
  PlaStatus st = pla_session_create(path, "preview", out, err);
  if (st == PLA_OK)
    st = run_operation(*out, "active-body", body, progress, err);
  if (st == PLA_OK)
    st = run_operation(*out, "perform", words, progress, err);
  if (st == PLA_OK)
    st =
        run_operation(*out, "animate",
                      "{\"muscles\": \"face muscles\", \"track\": \"performance\"}", progress, err);
  return st;
}

/* the face into a scene of its own */
static PlaStatus
make_scene(Preview *self, PlaError *err)
{
  const PlaMesh *mesh = self->performance->body->mesh;
  const PlaSceneMesh shape = { .n_verts = mesh->n_verts,
                               .n_tets = mesh->n_tets,
                               .pos = mesh->pos,
                               .to_mm = 1000.0,
                               .tet = mesh->tet };
  PlaStatus st = pla_render_load(&self->render, err);
  if (st == PLA_OK)
    st = self->render->scene_new(true, &self->scene, err);
  if (st == PLA_OK)
    st = self->render->put_mesh(self->scene, FACE_ID, &shape, err);
  self->pixel = pla_array_new((size_t)WIDTH * HEIGHT, sizeof *self->pixel);
  if (st == PLA_OK && !self->pixel)
    st = pla_fail_memory(err, "the picture");
  if (st == PLA_OK) {
    double lo[3], hi[3];
    self->render->bounds(self->scene, lo, hi);
    const PlaCamera camera = pla_camera_fit(PLA_VIEW_ANTERIOR, lo, hi, (double)WIDTH / HEIGHT);
    self->render->set_camera(self->scene, &camera);
  }
  return st;
}

static PlaStatus
prepare(Preview *self, const char *path, double cell_mm, PlaProgress *progress, PlaError *err)
{
  const PlaPerformanceItems items = { .muscles = "face muscles", .track = "performance" };
  PlaPhones phones = { 0 };
  double cost;
  PlaStatus st = make_case(path, cell_mm, progress, &self->session, err);
  const PlaState *state = st == PLA_OK ? pla_session_get_state(self->session) : NULL;
  if (st == PLA_OK)
    st = pla_performance_load(path, state, &items, progress, &self->performance, err);
  if (st == PLA_OK)
    st = pla_case_physemes_load(path, state, self->performance->body->mesh->n_verts, progress,
                                &self->physemes, err);
  for (size_t i = 0; i < G_N_ELEMENTS(line_phones) && st == PLA_OK; i++)
    st = pla_phones_add(&phones, line_phones[i].start_s, line_phones[i].end_s, line_phones[i].label,
                        err);
  if (st == PLA_OK)
    st = pla_line_new(pla_case_physemes_get_library(self->physemes)->bank, &phones, &self->line,
                      err);
  if (st == PLA_OK)
    st = pla_line_choose(self->line, &cost, err);
  if (st == PLA_OK)
    st = make_scene(self, err);
  if (st == PLA_OK) {
    self->n_frames = (int)(phones.phone[phones.n - 1].end_s * RATE_HZ);
    self->pos =
        pla_array_new(3 * (size_t)self->performance->body->mesh->n_verts, sizeof *self->pos);
    if (!self->pos)
      st = pla_fail_memory(err, "the shape");
  }
  pla_phones_clear(&phones);
  return st;
}

static PlaStatus
show_next(void *data, PlaError *err)
{
  Preview *self = data;
  const double time = self->frame++ % self->n_frames / RATE_HZ;
  if (!pla_case_physemes_shape(self->physemes, self->line, time, self->performance->body->mesh->pos,
                               self->pos))
    return pla_fail(err, PLA_ERR_EMPTY, "the shapes of what was said are not stored");
  if (!self->draw)
    return PLA_OK;
  self->render->move_verts(self->scene, FACE_ID, self->pos, 1000.0);
  return self->render->draw_pixels(self->scene, WIDTH, HEIGHT, PLA_QUALITY_MOVING, self->pixel,
                                   err);
}

typedef struct {
  Preview *preview;
  double sum, most; /* squares, m^2, of what the blend misses */
} Compared;

static PlaStatus
compare_shape(int f, const double *pos, void *data, PlaError *err)
{
  Compared *self = data;
  const size_t n = 3 * (size_t)self->preview->performance->body->mesh->n_verts;
  double sum = 0.0;
  self->preview->frame = f;
  PlaStatus st = show_next(self->preview, err);
  for (size_t i = 0; i < n; i++) {
    const double d = self->preview->pos[i] - pos[i];
    sum += 3.0 * d * d / (double)n;
  }
  self->sum += sum;
  self->most = fmax(self->most, sum);
  return st;
}

/* the same line as equilibria; how long, and how far the preview is from them */
static PlaStatus
simulate(Preview *self, double *seconds, Compared *compared, PlaProgress *progress, PlaError *err)
{
  const PlaActiveBody *body = self->performance->body;
  const PlaPhysemeOptions opts = { .rate_hz = RATE_HZ };
  PlaTrack *track = NULL;
  PlaActivation moves = { 0 };
  PlaActivationReport report;
  PlaStatus st = pla_physeme_library_speak(pla_case_physemes_get_library(self->physemes),
                                           self->line, &opts, &track, err);
  if (st == PLA_OK)
    st = pla_activation_from_track(body->model, track, &moves, err);
  const gint64 start = g_get_monotonic_time();
  if (st == PLA_OK)
    st = pla_activation_run(body, &moves, 1e-6, compare_shape, compared, progress, &report, err);
  *seconds = (double)(g_get_monotonic_time() - start) * 1e-6 / MAX(1, moves.n_frames);
  compared->sum /= MAX(1, moves.n_frames);
  pla_activation_clear(&moves);
  pla_track_free(track);
  return st;
}

static PlaStatus
run_preview(PlaBench *bench, PlaError *err)
{
  const double cell_mm = 5.5 * cbrt(66e3 / pla_bench_size(bench, 50e3));
  const int repeats = pla_bench_repeats(bench, 96);
  Preview self = { 0 };
  Compared compared = { .preview = &self };
  double shape_s = 0.0, frame_s = 0.0, solve_s = 0.0;
  g_autofree char *folder = g_dir_make_tmp("platysma-bench-XXXXXX", NULL);
  if (!folder)
    return pla_fail(err, PLA_ERR_IO, "no folder for temporary files could be made");
  g_autofree char *path = g_build_filename(folder, "preview.platysma", NULL);
  PlaStatus st = prepare(&self, path, cell_mm, pla_bench_progress(bench), err);
  if (st == PLA_OK)
    st = pla_bench_time(bench, show_next, &self, repeats, &shape_s, err);
  if (st == PLA_OK)
    st = simulate(&self, &solve_s, &compared, pla_bench_progress(bench), err);
  self.draw = true;
  if (st == PLA_OK)
    st = show_next(&self, err); /* what the driver compiles is not what is measured */
  if (st == PLA_OK)
    st = pla_bench_time(bench, show_next, &self, repeats, &frame_s, err);
  if (st == PLA_OK) {
    pla_bench_begin_run(bench, "blended and drawn", self.performance->body->mesh->n_tets, repeats,
                        frame_s);
    pla_bench_ratio(bench, "simulated_over_blended", solve_s / shape_s);
    pla_bench_number(bench, "frames_per_s", 1.0 / frame_s);
    pla_bench_number(bench, "blend_s", shape_s);
    pla_bench_number(bench, "simulate_s", solve_s);
    pla_bench_number(bench, "rms_mm", 1000.0 * sqrt(compared.sum));
    pla_bench_number(bench, "worst_frame_rms_mm", 1000.0 * sqrt(compared.most));
    pla_bench_end_run(bench);
  }
  if (self.render && self.scene)
    self.render->scene_free(self.scene);
  free(self.pixel);
  free(self.pos);
  pla_line_free(self.line);
  pla_case_physemes_free(self.physemes);
  pla_performance_free(self.performance);
  g_clear_object(&self.session);
  g_remove(path);
  g_rmdir(folder);
  return st;
}

const PlaBenchmark pla_benchmark_preview = {
  .name = "preview",
  .summary = "speech of the face blended from stored shapes and drawn, against its equilibria",
  .run = run_preview,
};
