/* `muscles activate`: a body moved by its muscles. */
#include "app/cli/verb-activate.h"

#include "app/base/quantity.h"
#include "app/cli/body-input.h"
#include "app/cli/cli-private.h"
#include "app/cli/mesh-series.h"
#include "app/motion/surroundings.h"
#include "io/formats/format.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  PlaMesh *mesh; /* with the field "displacement_mm" */
  const PlaActiveBody *body;
  const PlaActivation *track;
  PlaMeshSeries series;
  const char *single; /* path of one mesh: the last frame */
} Writer;

static PlaStatus
write_frame(int f, const double *pos, void *data, PlaError *err)
{
  Writer *self = data;
  const bool last = f + 1 == self->track->n_frames;
  if (!self->series.list && !(self->single && last))
    return PLA_OK;
  double *moved = pla_mesh_add_field(self->mesh, "displacement_mm", PLA_ON_VERTS, PLA_F64, 3);
  if (!moved)
    return pla_fail_memory(err, "the frame");
  for (size_t i = 0; i < 3 * (size_t)self->mesh->n_verts; i++) {
    moved[i] = 1000.0 * (pos[i] - self->body->mesh->pos[i]);
    self->mesh->pos[i] = pos[i];
  }
  if (self->series.list)
    return pla_mesh_series_add(&self->series, self->mesh, f / self->track->rate_hz, err);
  PlaWriteOptions opts = pla_write_options_default();
  const PlaItem item = { .kind = PLA_KIND_MESH, .mesh = self->mesh };
  return pla_item_write(self->single, &item, &opts, err);
}

/* "NAME=VALUE" pairs: one frame */
static PlaStatus
from_pairs(PlaInvocation *inv, const PlaActiveModel *model, PlaActivation *out, PlaError *err)
{
  const int n = pla_invocation_count(inv, "set");
  PlaTrack *track = NULL;
  PlaStatus st = pla_track_new(1, n, &track, err);
  for (int i = 0; st == PLA_OK && i < n; i++) {
    const char *pair = pla_invocation_text(inv, "set", i, ""), *sign = strrchr(pair, '=');
    char *end = NULL;
    const double value = sign ? g_ascii_strtod(sign + 1, &end) : NAN;
    if (!sign || end == sign + 1 || *end)
      st = pla_fail(err, PLA_ERR_USAGE, "--set takes NAME=VALUE, not '%s'", pair);
    else {
      g_autofree char *name = g_strstrip(g_strndup(pair, (gsize)(sign - pair)));
      track->name[i] = strdup(name);
      track->unit[i] = strdup("");
      track->value[i] = value;
    }
  }
  if (st == PLA_OK) {
    track->rate_hz = 60.0;
    st = pla_activation_from_track(model, track, out, err);
  }
  pla_track_free(track);
  return st;
}

static PlaStatus
read_track(PlaInvocation *inv, const PlaActiveModel *model, PlaActivation *out, PlaError *err)
{
  const double rate = pla_invocation_number(inv, "rate-hz", 60.0);
  const int n = (int)lround(pla_invocation_number(inv, "seconds", 5.0) * rate);
  if (pla_invocation_n_files(inv) > 2)
    return pla_invocation_activation(inv, pla_invocation_file(inv, 2), model, out, err);
  if (pla_invocation_has(inv, "random"))
    return pla_activation_random(model, n > 0 ? n : 1, rate,
                                 (unsigned)pla_invocation_int(inv, "random", 1), out, err);
  if (pla_invocation_has(inv, "set"))
    return from_pairs(inv, model, out, err);
  return pla_fail(err, PLA_ERR_USAGE,
                  "give the activations: a track after the model, --set \"NAME=0.5\", or "
                  "--random SEED");
}

static PlaStatus
write_take(PlaInvocation *inv, const PlaActiveBody *body, const PlaActivation *track,
           PlaActivationReport *report, PlaError *err)
{
  const PlaTakeFaults faults = { .noise_m = pla_invocation_number(inv, "noise-mm", 0.0) / 1000.0,
                                 .missing = pla_invocation_number(inv, "missing", 0.0),
                                 .outliers = pla_invocation_number(inv, "outliers", 0.0),
                                 .outlier_m = 0.02,
                                 .seed = (unsigned)pla_invocation_int(inv, "random", 1) + 1000 };
  PlaWriteOptions opts = pla_write_options_default();
  PlaItem item = { .kind = PLA_KIND_TAKE };
  PlaStatus st = pla_activation_take(body, track, &faults, pla_invocation_progress(inv), &item.take,
                                     report, err);
  if (st == PLA_OK)
    st = pla_item_write(pla_invocation_text(inv, "markers", 0, NULL), &item, &opts, err);
  pla_item_clear(&item);
  return st;
}

/* ---- what is in the way ---- */

static PlaStatus
read_collider(PlaSurroundings *self, const char *path, bool jaw, PlaError *err)
{
  const PlaReadOptions opts = pla_read_options_default();
  PlaItem item = { 0 };
  PlaStatus st = pla_item_read(path, &opts, &item, err);
  if (st == PLA_OK && (item.kind != PLA_KIND_MESH || item.mesh->n_tris == 0))
    st = pla_fail(err, PLA_ERR_USAGE, "%s holds no surface to use as a collider", path);
  if (st == PLA_OK) {
    st = pla_surroundings_add(self, item.mesh, jaw, err);
    if (st != PLA_OK)
      pla_fail_within(err, "%s", path);
  }
  pla_item_clear(&item);
  return st;
}

/* @wanted: the body is to meet anything, or to move in time */
static PlaStatus
find_surroundings(PlaInvocation *inv, const PlaActiveBody *body, double rate_hz,
                  PlaSurroundings *self, bool *wanted, PlaError *err)
{
  const bool parts = pla_invocation_has(inv, "contact"), timed = pla_invocation_has(inv, "dynamic");
  const int n_fixed = pla_invocation_count(inv, "collider");
  const int n_jaw = pla_invocation_count(inv, "jaw-collider");
  PlaStatus st = PLA_OK;
  *wanted = parts || n_fixed > 0 || n_jaw > 0 || timed;
  if (*wanted && pla_invocation_has(inv, "markers"))
    return pla_fail(err, PLA_ERR_USAGE,
                    "--markers are computed for static equilibria only; write them in a run "
                    "without --contact, --collider and --dynamic");
  pla_surroundings_init(self);
  for (int i = 0; i < n_fixed && st == PLA_OK; i++)
    st = read_collider(self, pla_invocation_text(inv, "collider", i, ""), false, err);
  for (int i = 0; i < n_jaw && st == PLA_OK; i++)
    st = read_collider(self, pla_invocation_text(inv, "jaw-collider", i, ""), true, err);
  if (st == PLA_OK)
    st = pla_surroundings_finish(self, body, parts, pla_invocation_progress(inv), err);
  if (timed) {
    self->options.dt_s = 1.0 / rate_hz;
    self->options.stiffness_damping = 0.05; /* s, the source's for a face */
  }
  return st;
}

PlaStatus
pla_run_activate(PlaInvocation *inv, PlaError *err)
{
  const char *output = pla_invocation_output(inv);
  JsonBuilder *json = pla_invocation_json(inv);
  PlaProgress *progress = pla_invocation_progress(inv);
  PlaActiveBody *body = NULL;
  PlaActivation track = { 0 };
  PlaActivationReport report = { 0 };
  PlaForwardReport touch = { 0 };
  PlaSurroundings around = { 0 };
  bool meets = false;
  Writer writer = { .track = &track };
  const PlaFormat *format = NULL;
  const bool series = output && g_str_has_suffix(output, ".pvd");
  PlaStatus st = PLA_OK;
  if (pla_invocation_n_files(inv) < 2)
    st = pla_fail(err, PLA_ERR_USAGE,
                  "name the body: platysma-cli muscles activate phantom:face track.csv -o out.pvd");
  if (st == PLA_OK && output && !series)
    st = pla_format_for_output(output, PLA_KIND_MESH, &format, err);
  pla_progress_phase(progress, "Building the body", 0.3);
  PlaProgressSpan span = pla_progress_push(progress);
  if (st == PLA_OK)
    st = pla_invocation_body(inv, pla_invocation_file(inv, 1), &body, err);
  pla_progress_pop(progress, span);
  if (st == PLA_OK)
    st = read_track(inv, body->model, &track, err);
  if (st == PLA_OK)
    st = pla_mesh_dup(body->mesh, &writer.mesh, err);
  if (st == PLA_OK)
    st = find_surroundings(inv, body, track.rate_hz, &around, &meets, err);
  pla_progress_phase(progress, "Moving", 0.8);
  writer.body = body;
  writer.single = series ? NULL : output;
  if (series)
    pla_mesh_series_init(&writer.series, output);
  const gint64 start = g_get_monotonic_time();
  if (st == PLA_OK && meets)
    st = pla_activation_run_forward(body, &track, &around.options, write_frame, &writer, progress,
                                    &report, &touch, err);
  else if (st == PLA_OK && (output || !pla_invocation_has(inv, "markers")))
    st = pla_activation_run(body, &track, 1e-6, write_frame, &writer, progress, &report, err);
  const double seconds = (double)(g_get_monotonic_time() - start) * 1e-6;
  if (st == PLA_OK && series)
    st = pla_mesh_series_finish(&writer.series, err);
  pla_progress_phase(progress, "Writing markers", 1.0);
  if (st == PLA_OK && pla_invocation_has(inv, "markers"))
    st = write_take(inv, body, &track, &report, err);
  if (st == PLA_OK && pla_invocation_has(inv, "track"))
    st = pla_invocation_write_activation(inv, pla_invocation_text(inv, "track", 0, NULL),
                                         body->model, &track, err);
  if (st == PLA_OK) {
    pla_json_int(json, "frames", track.n_frames);
    pla_json_int(json, "tets", body->mesh->n_tets);
    pla_json_int(json, "muscles", pla_active_n_muscles(body->model));
    pla_json_int(json, "markers", body->markers.n);
    pla_json_int(json, "unsolved", report.unsolved);
    pla_json_int(json, "inverted", report.inverted);
    pla_json_int(json, "iterations", report.iterations);
    pla_json_int(json, "factorisations", report.factorisations);
    pla_json_number(json, "seconds_per_frame", track.n_frames ? seconds / track.n_frames : 0.0);
    if (around.options.contact) {
      pla_json_int(json, "contacts", touch.contacts);
      pla_json_si(json, "max_penetration_mm", touch.max_penetration_m);
      pla_json_number(json, "contact_n", touch.contact_n);
      g_autofree char *deep =
          pla_quantity_text(PLA_QUANTITY_FINE_LENGTH, touch.max_penetration_m, PLA_UNIT_M);
      g_autofree char *push = pla_quantity_text(PLA_QUANTITY_FORCE, touch.contact_n, PLA_UNIT_N);
      pla_say(inv, "at most %d points in contact, %s deep, %s in all", touch.contacts, deep, push);
    }
    pla_say(inv, "%d frames of %d tetrahedra and %d muscles, %d elements inverted", track.n_frames,
            body->mesh->n_tets, pla_active_n_muscles(body->model), report.inverted);
    if (report.unsolved > 0)
      st = pla_fail(err, PLA_ERR_CONVERGENCE,
                    "%d frames did not reach equilibrium, the first of them frame %d; change the "
                    "controls more slowly there",
                    report.unsolved, report.first_unsolved + 1);
  }
  pla_surroundings_clear(&around);
  pla_mesh_series_clear(&writer.series);
  pla_mesh_free(writer.mesh);
  pla_activation_clear(&track);
  pla_active_body_free(body);
  return st;
}
