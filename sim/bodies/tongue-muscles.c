/* Activations by a box-constrained least-squares problem per frame; the columns of J are the
 * sensitivities of 22 surface points at rest. */
#include "sim/bodies/tongue-muscles.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "sim/fit/box-qp.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOISE_M 1e-3 /* of a place in one axis: how well other flesh can follow */
#define PRIOR 0.5    /* spread of activations about 0 */

/* a place of the body in the mesh that moves */
typedef struct {
  int tet;
  double weight[4];
} Place;

struct PlaTongueMuscles {
  const PlaTongue *tongue;
  PlaActiveBody *body;
  int n_places, n_muscles;
  Place *place;      /* (n_places) */
  double *posture;   /* m: the tongue where the speaker's coils are at rest (n_verts x 3) */
  double *column;    /* m for an activation from 0 to 1 (n_muscles x n_places x 3) */
  double *curvature; /* of the program (n_muscles x n_muscles) */
  double *lo, *hi;   /* bounds (n_muscles) */
};

void
pla_tongue_muscles_free(PlaTongueMuscles *self)
{
  if (!self)
    return;
  pla_active_body_free(self->body);
  free(self->place);
  free(self->posture);
  free(self->column);
  free(self->curvature);
  free(self->lo);
  free(self->hi);
  free(self);
}

/* barycentric weights of @x in a tet; the least of them */
static double
weights_in(const double *pos, const int *vert, const double x[3], double weight[4])
{
  double edge[9], inverse[9], by[3];
  for (int a = 0; a < 3; a++)
    for (int d = 0; d < 3; d++)
      edge[3 * d + a] =
          pos[3 * (size_t)vert[a + 1] + (size_t)d] - pos[3 * (size_t)vert[0] + (size_t)d];
  if (pla_mat3_invert(edge, inverse) == 0.0)
    return -INFINITY;
  pla_vec3_sub(x, pos + 3 * (size_t)vert[0], by);
  pla_mat3_apply(inverse, by, weight + 1);
  weight[0] = 1.0 - weight[1] - weight[2] - weight[3];
  return fmin(fmin(weight[0], weight[1]), fmin(weight[2], weight[3]));
}

/* the tet that holds @x, or where it is least outside */
static Place
find_place(const PlaMesh *mesh, const double x[3], double *inside)
{
  Place best = { 0 };
  *inside = -INFINITY;
  for (int t = 0; t < mesh->n_tets; t++) {
    double weight[4] = { 0 };
    const double least = weights_in(mesh->pos, mesh->tet + 4 * (size_t)t, x, weight);
    if (least > *inside) {
      *inside = least;
      best.tet = t;
      memcpy(best.weight, weight, sizeof weight);
    }
  }
  return best;
}

static PlaStatus
place_all(PlaTongueMuscles *self, PlaError *err)
{
  const PlaMarkerSet *set = &self->body->markers;
  self->place = pla_array_new((size_t)set->n, sizeof *self->place);
  if (!self->place)
    return pla_fail_memory(err, "the muscles of the tongue");
  self->n_places = set->n;
  for (int i = 0; i < set->n; i++) {
    double x[3], inside;
    pla_marker_place(&set->site[i], self->body->mesh->pos, x);
    self->place[i] = find_place(pla_tongue_get_mesh(self->tongue), x, &inside);
    if (inside < -2.0) /* farther out than two tets */
      return pla_fail(err, PLA_ERR_USAGE,
                      "the muscles belong to the phantom's tongue, and %s lies outside this one; "
                      "use the phantom's tongue",
                      set->site[i].name);
  }
  return PLA_OK;
}

static PlaStatus
take_posture(PlaTongueMuscles *self, PlaError *err)
{
  PlaTongueBodyOptions options = pla_tongue_body_options_default();
  PlaTongueBody *body = NULL;
  PlaTongueReport report;
  options.quasistatic = true;
  PlaStatus st = pla_tongue_body_new(self->tongue, &options, &body, err);
  if (st == PLA_OK)
    st = pla_tongue_body_step(body, &pla_tongue_get_fit(self->tongue)->rest_mm[0][0], &report, err);
  if (st == PLA_OK) {
    self->posture = pla_array_dup(pla_tongue_body_get_pos(body),
                                  (size_t)pla_tongue_get_mesh(self->tongue)->n_verts,
                                  3 * sizeof *self->posture);
    st = self->posture ? PLA_OK : pla_fail_memory(err, "the muscles of the tongue");
  }
  pla_tongue_body_free(body);
  return st;
}

/* how every place follows every muscle, and the program's curvature from it */
static PlaStatus
take_columns(PlaTongueMuscles *self, const double *sensitivity, PlaError *err)
{
  const size_t n_verts = (size_t)self->body->mesh->n_verts, n = 3 * (size_t)self->n_places;
  const int m = self->n_muscles;
  self->column = pla_array_new0((size_t)m, n * sizeof *self->column);
  self->curvature = pla_array_new0((size_t)m, (size_t)m * sizeof *self->curvature);
  if (!self->column || !self->curvature)
    return pla_fail_memory(err, "the muscles of the tongue");
  for (int c = 0; c < m; c++)
    for (int i = 0; i < self->n_places; i++) {
      const PlaMarkerSite *site = &self->body->markers.site[i];
      for (int a = 0; a < 3; a++)
        for (int d = 0; d < 3; d++)
          self->column[(size_t)c * n + (size_t)(3 * i + d)] +=
              site->weight[a] *
              sensitivity[3 * ((size_t)c * n_verts + (size_t)site->vert[a]) + (size_t)d];
    }
  for (int a = 0; a < m; a++)
    for (int b = 0; b < m; b++) {
      double sum = a == b ? 1.0 / (PRIOR * PRIOR) : 0.0;
      for (size_t i = 0; i < n; i++)
        sum +=
            self->column[(size_t)a * n + i] * self->column[(size_t)b * n + i] / (NOISE_M * NOISE_M);
      self->curvature[a * m + b] = sum;
    }
  return PLA_OK;
}

static PlaStatus
ask_flesh(PlaTongueMuscles *self, PlaProgress *progress, PlaError *err)
{
  const PlaActiveModel *model = self->body->model;
  const size_t n_controls = (size_t)pla_active_n_controls(model);
  PlaActiveSolver *solver = NULL;
  PlaActiveState state = { 0 };
  PlaActiveReport report = { 0 };
  double *columns =
      pla_array_new0(n_controls * (size_t)self->body->mesh->n_verts, 3 * sizeof *columns);
  self->lo = pla_array_new(n_controls, sizeof *self->lo);
  self->hi = pla_array_new(n_controls, sizeof *self->hi);
  PlaStatus st = columns && self->lo && self->hi
                     ? pla_active_solver_new(model, &solver, err)
                     : pla_fail_memory(err, "the muscles of the tongue");
  if (st == PLA_OK)
    st = pla_active_state_init(&state, model, err);
  if (st == PLA_OK)
    st = pla_active_sensitivity(solver, &state, progress, columns, &report, err);
  if (st == PLA_OK) {
    self->n_muscles = pla_active_n_muscles(model);
    pla_active_limits(model, self->lo, self->hi);
    st = take_columns(self, columns, err);
  }
  free(columns);
  pla_active_state_clear(&state);
  pla_active_solver_free(solver);
  return st;
}

PlaStatus
pla_tongue_muscles_new(const PlaTongue *tongue, PlaActiveBody *body, PlaProgress *progress,
                       PlaTongueMuscles **out, PlaError *err)
{
  PlaTongueMuscles *self = pla_array_new0(1, sizeof *self);
  *out = NULL;
  if (!self) {
    pla_active_body_free(body);
    return pla_fail_memory(err, "the muscles of the tongue");
  }
  self->tongue = tongue;
  self->body = body;
  PlaStatus st = place_all(self, err);
  if (st == PLA_OK)
    st = take_posture(self, err);
  if (st == PLA_OK)
    st = ask_flesh(self, progress, err);
  if (st == PLA_OK)
    *out = self;
  else
    pla_tongue_muscles_free(self);
  return st;
}

int
pla_tongue_muscles_count(const PlaTongueMuscles *self)
{
  return self->n_muscles;
}

const char *
pla_tongue_muscles_name(const PlaTongueMuscles *self, int muscle)
{
  return pla_active_muscle_name(self->body->model, muscle);
}

/* motion of the places besides that of the jaw (n_places x 3, m) */
static void
measure(const PlaTongueMuscles *self, const PlaTongueMotion *motion, double *y)
{
  const PlaMesh *mesh = pla_tongue_get_mesh(self->tongue);
  const double *pos = pla_tongue_motion_get_pos(motion);
  const size_t n_verts = (size_t)mesh->n_verts;
  PlaTongueTraining training;
  PlaTongueFrame frame;
  pla_tongue_get_training(self->tongue, &training);
  pla_tongue_motion_frame(motion, &frame);
  memset(y, 0, 3 * (size_t)self->n_places * sizeof *y);
  for (int i = 0; i < self->n_places; i++)
    for (int a = 0; a < 4; a++) {
      const size_t v = (size_t)mesh->tet[4 * (size_t)self->place[i].tet + (size_t)a];
      for (size_t d = 0; d < 3; d++) {
        double by = pos[3 * v + d] - self->posture[3 * v + d];
        for (size_t f = 0; f < PLA_JAW_LIFTS; f++)
          by -= frame.lift[f] * training.lift[3 * (f * n_verts + v) + d];
        y[3 * (size_t)i + d] += self->place[i].weight[a] * by;
      }
    }
}

PlaStatus
pla_tongue_muscles_explain(const PlaTongueMuscles *self, const PlaTongueMotion *motion,
                           double *activation, PlaTongueMusclesFrame *frame, PlaError *err)
{
  const size_t n = 3 * (size_t)self->n_places, m = (size_t)self->n_muscles;
  double *y = pla_array_new(n, sizeof *y), *slope = pla_array_new0(m, sizeof *slope);
  double moved = 0.0, left = 0.0;
  PlaBoxReport report;
  if (!y || !slope) {
    free(y);
    free(slope);
    return pla_fail_memory(err, "the muscles of the tongue");
  }
  measure(self, motion, y);
  for (size_t c = 0; c < m; c++) {
    activation[c] = 0.0;
    for (size_t i = 0; i < n; i++)
      slope[c] -= self->column[c * n + i] * y[i] / (NOISE_M * NOISE_M);
  }
  PlaStatus st =
      pla_box_qp((int)m, self->curvature, slope, self->lo, self->hi, activation, &report, err);
  for (size_t i = 0; i < n; i++) {
    moved += y[i] * y[i];
    for (size_t c = 0; c < m; c++)
      y[i] -= self->column[c * n + i] * activation[c];
    left += y[i] * y[i];
  }
  frame->motion_mm = 1000.0 * sqrt(moved / self->n_places);
  frame->residual_mm = 1000.0 * sqrt(left / self->n_places);
  free(y);
  free(slope);
  return st;
}

/* ---- over a track ---- */

PlaStatus
pla_tongue_activations_init(PlaTongueActivations *self, const PlaTongueMuscles *muscles,
                            const PlaTrack *like, PlaError *err)
{
  const int n = pla_tongue_muscles_count(muscles);
  *self = (PlaTongueActivations){ 0 };
  PlaStatus st = pla_track_new(like->n_samples, n, &self->track, err);
  for (int c = 0; st == PLA_OK && c < n; c++) {
    free(self->track->name[c]);
    free(self->track->unit[c]);
    self->track->name[c] = pla_strdup(pla_tongue_muscles_name(muscles, c));
    self->track->unit[c] = pla_strdup("");
    if (!self->track->name[c] || !self->track->unit[c])
      st = pla_fail_memory(err, "the activations");
  }
  if (st == PLA_OK) {
    self->track->rate_hz = like->rate_hz;
    self->track->start_s = like->start_s;
    self->moved = pla_array_new0((size_t)like->n_samples, sizeof *self->moved);
    self->left = pla_array_new0((size_t)like->n_samples, sizeof *self->left);
    st = self->moved && self->left ? PLA_OK : pla_fail_memory(err, "the activations");
  }
  return st;
}

void
pla_tongue_activations_clear(PlaTongueActivations *self)
{
  pla_track_free(self->track);
  free(self->moved);
  free(self->left);
  *self = (PlaTongueActivations){ 0 };
}

PlaStatus
pla_tongue_activations_explain(PlaTongueActivations *self, const PlaTongueMuscles *muscles,
                               const PlaTongueMotion *motion, int frame, PlaError *err)
{
  PlaTongueMusclesFrame found = { 0 };
  double *row = self->track->value + (size_t)frame * (size_t)self->track->n_channels;
  const PlaStatus st = pla_tongue_muscles_explain(muscles, motion, row, &found, err);
  self->moved[frame] = found.motion_mm * found.motion_mm;
  self->left[frame] = found.residual_mm * found.residual_mm;
  return st;
}

PlaTongueMusclesFrame
pla_tongue_activations_rms(const PlaTongueActivations *self)
{
  double moved = 0.0, left = 0.0;
  for (int i = 0; i < self->track->n_samples; i++) {
    moved += self->moved[i] / self->track->n_samples;
    left += self->left[i] / self->track->n_samples;
  }
  return (PlaTongueMusclesFrame){ sqrt(moved), sqrt(left) };
}

/* how much of a channel's name is the muscle's: all before the side */
static size_t
muscle_length(const char *name)
{
  const char *comma = strrchr(name, ',');
  const bool sided = comma && (strcmp(comma, ", left") == 0 || strcmp(comma, ", right") == 0);
  return sided ? (size_t)(comma - name) : strlen(name);
}

bool
pla_tongue_lane_next(const PlaTrack *activations, PlaTongueLane *lane)
{
  const int c = lane->first + lane->n;
  if (c >= activations->n_channels)
    return false;
  const char *name = activations->name[c];
  const size_t length = muscle_length(name);
  lane->first = c;
  lane->n = 1;
  while (c + lane->n < activations->n_channels &&
         muscle_length(activations->name[c + lane->n]) == length &&
         strncmp(activations->name[c + lane->n], name, length) == 0)
    lane->n++;
  snprintf(lane->name, sizeof lane->name, "%.*s", (int)length, name);
  return true;
}

double
pla_tongue_lane_at(const PlaTrack *activations, const PlaTongueLane *lane, int frame)
{
  const double *row = activations->value + (size_t)frame * (size_t)activations->n_channels;
  double sum = 0.0;
  for (int c = lane->first; c < lane->first + lane->n; c++)
    sum += row[c] / lane->n;
  return fmin(1.0, fmax(0.0, sum));
}
