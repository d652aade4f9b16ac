/* Performances read from a case, and speech by rule. */
#include "app/motion/performance.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/registration/registration.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const float *
pla_content_get_shapes(const PlaContent *content, int n_verts, int n_frames)
{
  const PlaStoreArray *array = pla_content_find_array(content, PLA_SHAPES_ARRAY);
  return array && array->dtype == PLA_F32 && array->n_dims == 3 && array->shape[0] == 3 &&
                 array->shape[1] == (uint64_t)n_verts && array->shape[2] == (uint64_t)n_frames
             ? array->data
             : NULL;
}

/* ---- reading ---- */

void
pla_performance_free(PlaPerformance *self)
{
  if (!self)
    return;
  for (int i = 0; i < self->n_misfits; i++)
    g_free(self->misfit[i].name);
  g_free(self->misfit);
  g_clear_pointer(&self->bare, g_ptr_array_unref);
  g_clear_pointer(&self->loose, g_ptr_array_unref);
  g_free(self->refused);
  g_free(self->track_refused);
  pla_marker_match_clear(&self->labels);
  pla_marker_set_clear(&self->own);
  pla_take_free(self->take);
  pla_phones_clear(&self->phones);
  pla_activation_clear(&self->moves);
  pla_content_unref(self->shapes);
  pla_content_unref(self->track);
  pla_active_body_free(self->body);
  pla_content_unref(self->mesh);
  pla_content_unref(self->muscles);
  g_free(self);
}

static PlaStatus
load_named(PlaStore *store, const PlaState *state, const char *name, const char *kind,
           PlaContent **out, PlaError *err)
{
  const PlaStateItem *item = pla_state_find_name(state, name);
  if (!item || strcmp(item->kind, kind) != 0)
    return pla_fail(err, PLA_ERR_USAGE, "the case has no %s '%s'", kind, name);
  return pla_content_load(store, &item->hash, NULL, out, err);
}

static PlaStatus
load_body(PlaPerformance *self, PlaStore *store, const PlaState *state, const char *name,
          PlaError *err)
{
  const PlaActiveBodyOptions opts = pla_active_body_options_default();
  PlaStatus st = load_named(store, state, name, PLA_ITEM_MUSCLES, &self->muscles, err);
  if (st == PLA_OK)
    st = load_named(store, state,
                    json_object_get_string_member_with_default(self->muscles->meta, "mesh", ""),
                    PLA_ITEM_MESH, &self->mesh, err);
  if (st == PLA_OK)
    st = pla_active_body_from_contents(name, self->mesh, self->muscles, &opts, &self->body, err);
  return st;
}

static PlaStatus
load_track(PlaPerformance *self, PlaStore *store, const PlaState *state, const char *name,
           PlaError *err)
{
  PlaError why;
  PlaStatus st = load_named(store, state, name, PLA_ITEM_TRACK, &self->track, err);
  if (st == PLA_OK && pla_activation_from_track(self->body->model, self->track->track, &self->moves,
                                                &why) != PLA_OK) {
    self->track_refused = g_strdup(why.message);
    return PLA_OK;
  }
  if (st == PLA_OK)
    st = pla_meta_get_phonemes(self->track->meta, &self->phones, err);
  g_autofree char *called = g_strdup_printf("%s, shapes", name);
  const PlaStateItem *item = pla_state_find_name(state, called);
  if (st != PLA_OK || !item || strcmp(item->kind, PLA_ITEM_RESULT) != 0)
    return st;
  st = pla_content_load(store, &item->hash, NULL, &self->shapes, err);
  /* those of another body or of another track are not shown */
  if (st == PLA_OK)
    self->shape =
        pla_content_get_shapes(self->shapes, self->body->mesh->n_verts, self->moves.n_frames);
  return st;
}

static int
by_rms(const void *a, const void *b)
{
  const PlaMarkerMisfit *x = a, *y = b;
  return (x->rms_mm < y->rms_mm) - (x->rms_mm > y->rms_mm);
}

static PlaStatus
load_misfits(PlaPerformance *self, PlaStore *store, const PlaState *state, const char *markers,
             PlaError *err)
{
  g_autofree char *called = g_strdup_printf("%s, residuals", markers);
  g_autoptr(PlaContent) content = NULL;
  const PlaStateItem *item = pla_state_find_name(state, called);
  if (!item || strcmp(item->kind, PLA_ITEM_TRACK) != 0)
    return PLA_OK;
  PlaStatus st = pla_content_load(store, &item->hash, NULL, &content, err);
  if (st != PLA_OK)
    return st;
  const PlaTrack *left = content->track;
  self->misfit = pla_array_new0((size_t)left->n_channels, sizeof *self->misfit);
  if (!self->misfit)
    return pla_fail_memory(err, "the residuals");
  for (int c = 0; c < left->n_channels; c++) {
    PlaMarkerMisfit *m = &self->misfit[self->n_misfits];
    double sum = 0.0;
    for (int f = 0; f < left->n_samples; f++) {
      const double mm = left->value[(size_t)f * (size_t)left->n_channels + (size_t)c];
      if (!isfinite(mm))
        continue;
      sum += mm * mm;
      m->n_used++;
      if (mm > m->max_mm) {
        m->max_mm = mm;
        m->worst_frame = f;
      }
    }
    if (m->n_used == 0)
      continue;
    m->name = g_strdup(left->name[c]);
    m->rms_mm = sqrt(sum / m->n_used);
    self->n_misfits++;
  }
  qsort(self->misfit, (size_t)self->n_misfits, sizeof *self->misfit, by_rms);
  return PLA_OK;
}

static PlaStatus
load_take(PlaPerformance *self, PlaStore *store, const PlaState *state,
          const PlaPerformanceItems *items, PlaError *err)
{
  g_autoptr(PlaContent) content = NULL;
  PlaMarkerMatchOptions opts = pla_marker_match_options_default();
  PlaError why = { 0 };
  opts.by_geometry = items->by_geometry;
  PlaStatus st = load_named(store, state, items->markers, PLA_ITEM_MARKERS, &content, err);
  if (st == PLA_OK)
    st = pla_take_dup(content->take, &self->take, err);
  if (st != PLA_OK)
    return st;
  self->bare = g_ptr_array_new();
  self->loose = g_ptr_array_new();
  const PlaMarkerSet *set = self->body->markers.n ? &self->body->markers : &self->own;
  if (set == &self->own)
    st = pla_activation_bind(self->body, self->take, 0, &self->own, &why);
  if (st == PLA_OK)
    st = pla_markers_match(set, self->body->mesh->pos, self->take, &opts, &self->labels, &why);
  if (st != PLA_OK) {
    /* a take that does not suit is something to tell, not a failure to read */
    self->refused = g_strdup(why.message);
    return PLA_OK;
  }
  for (int s = 0; s < set->n; s++) {
    bool used = false;
    for (int i = 0; i < self->labels.n_markers; i++)
      used |= self->labels.site[i] == &set->site[s];
    if (!used)
      g_ptr_array_add(self->bare, set->site[s].name);
  }
  for (int i = 0; i < self->labels.n_markers; i++)
    if (!self->labels.site[i])
      g_ptr_array_add(self->loose, self->take->name[i]);
  return load_misfits(self, store, state, items->markers, err);
}

PlaStatus
pla_performance_load(const char *path, const PlaState *state, const PlaPerformanceItems *items,
                     PlaProgress *progress, PlaPerformance **out, PlaError *err)
{
  PlaPerformance *self = g_new0(PlaPerformance, 1);
  PlaStore *store = NULL;
  PlaStatus st = pla_store_open(path, &store, err);
  *out = NULL;
  if (st == PLA_OK)
    st = load_body(self, store, state, items->muscles, err);
  if (st == PLA_OK && !pla_progress_phase(progress, "Reading the case", 0.5))
    st = pla_fail_cancelled(err);
  if (st == PLA_OK && items->track)
    st = load_track(self, store, state, items->track, err);
  if (st == PLA_OK && items->markers)
    st = load_take(self, store, state, items, err);
  pla_store_close(store);
  if (st == PLA_OK)
    *out = self;
  else
    pla_performance_free(self);
  return st;
}

bool
pla_performance_get_shape(const PlaPerformance *self, int frame, double *pos)
{
  const size_t n = 3 * (size_t)self->body->mesh->n_verts;
  if (!self->shape || frame < 0 || frame >= self->moves.n_frames)
    return false;
  for (size_t i = 0; i < n; i++)
    pos[i] = (double)self->shape[n * (size_t)frame + i];
  return true;
}

/* where the cranium was in the rest frame, by the markers that sit on it at rest */
static PlaRigid
rest_pose(const PlaPerformance *self)
{
  const PlaTake *take = self->take;
  g_autofree double *from = g_new(double, 3 * (size_t)take->n_markers + 1);
  g_autofree double *to = g_new(double, 3 * (size_t)take->n_markers + 1);
  PlaRigid pose = pla_rigid_identity();
  PlaError err;
  int n = 0;
  for (int i = 0; i < self->labels.n_markers; i++) {
    const double *y =
        take->pos + 3 * ((size_t)self->labels.rest_frame * (size_t)take->n_markers + (size_t)i);
    if (!self->labels.site[i] || !isfinite(y[0]))
      continue;
    pla_marker_place(self->labels.site[i], self->body->mesh->pos, from + 3 * n);
    for (int d = 0; d < 3; d++) {
      from[3 * n + d] *= 1000.0;
      to[3 * n + d] = 1000.0 * y[d];
    }
    n++;
  }
  if (pla_register_landmarks(n, from, to, true, &pose, NULL, NULL, &err) != PLA_OK)
    pose = pla_rigid_identity();
  return pose;
}

void
pla_performance_get_markers(const PlaPerformance *self, int frame, const double *pos,
                            double *measured_mm, double *fitted_mm)
{
  const PlaTake *take = self->take;
  double rotation[9], shift[3];
  if (self->moves.n_frames > frame && self->moves.n_frames == take->n_frames) {
    const double *head = self->moves.head + 12 * (size_t)frame;
    memcpy(rotation, head, sizeof rotation);
    memcpy(shift, head + 9, sizeof shift);
  } else {
    const PlaRigid rest = rest_pose(self);
    memcpy(rotation, rest.r, sizeof rotation);
    for (int d = 0; d < 3; d++)
      shift[d] = rest.t_mm[d] / 1000.0;
  }
  for (int i = 0; i < take->n_markers; i++) {
    const double *y = take->pos + 3 * ((size_t)frame * (size_t)take->n_markers + (size_t)i);
    double at[3] = { NAN, NAN, NAN };
    if (self->labels.n_markers > i && self->labels.site[i])
      pla_marker_place(self->labels.site[i], pos, at);
    for (int d = 0; d < 3; d++) {
      double sum = 0.0;
      for (int k = 0; k < 3; k++)
        sum += rotation[3 * k + d] * (y[k] - shift[k]);
      measured_mm[3 * i + d] = 1000.0 * sum;
      fitted_mm[3 * i + d] = 1000.0 * at[d];
    }
  }
}

/* ---- speech by rule ---- */

enum { MOST_PARTS = 6 };
/* A mouth shape: what both sides do, and the jaw. */
typedef struct {
  const char *phones; /* IPA letters that begin with it, apart by spaces */
  double jaw_deg;
  struct {
    const char *muscle;
    double activation;
  } part[MOST_PARTS];
} MouthShape;

#define UPPER "orbicularis oris superior"
#define LOWER "orbicularis oris inferior"
/* Longer spellings first: "tʃ" is no "t".  After the usual classes of visible speech (lips closed,
 * lip on teeth, rounded, spread, open); amounts were set by eye on the head phantom. */
static const MouthShape shapes[] = {
  { "tʃ dʒ ʃ ʒ",
    3.0,
    { { UPPER, 0.45 },
      { LOWER, 0.45 },
      { "mentalis", 0.2 },
      { "levator labii superioris", 0.25 },
      { "depressor labii inferioris", 0.3 } } },
  { "p b m", 0.0, { { UPPER, 0.25 }, { LOWER, 0.25 }, { "mentalis", 0.15 } } },
  { "f v", 2.0, { { LOWER, 0.3 }, { "mentalis", 0.35 }, { "levator labii superioris", 0.2 } } },
  { "w uː u ʊ ɥ y", 3.5, { { UPPER, 0.6 }, { LOWER, 0.6 }, { "mentalis", 0.2 } } },
  { "iː i ɪ j",
    3.5,
    { { "zygomaticus major", 0.3 },
      { "risorius", 0.5 },
      { "depressor labii inferioris", 0.3 },
      { "levator labii superioris", 0.2 } } },
  { "e ɛ ɜ",
    8.0,
    { { "zygomaticus major", 0.2 }, { "risorius", 0.3 }, { "depressor labii inferioris", 0.2 } } },
  { "a æ ɑ ʌ ɐ",
    14.0,
    { { "risorius", 0.1 },
      { "depressor labii inferioris", 0.3 },
      { "levator labii superioris", 0.1 } } },
  { "ɔ o ɒ", 10.0, { { UPPER, 0.4 }, { LOWER, 0.4 } } },
  { "ɹ r ɚ ɝ", 4.0, { { UPPER, 0.3 }, { LOWER, 0.3 } } },
  { "s z t d n l ɾ",
    3.0,
    { { "risorius", 0.2 },
      { "depressor labii inferioris", 0.25 },
      { "levator labii superioris", 0.1 } } },
  { "θ ð", 4.0, { { "depressor labii inferioris", 0.2 } } },
  { "k ɡ g ŋ h x ə ʔ", 5.5, { { "depressor labii inferioris", 0.1 } } },
};

/* the shape that a spelling begins with, and how many bytes of it that took; NULL: none */
static const MouthShape *
shape_for(const char *ipa, size_t *taken)
{
  const MouthShape *best = NULL;
  *taken = 0;
  for (size_t s = 0; s < G_N_ELEMENTS(shapes); s++) {
    g_auto(GStrv) phones = g_strsplit(shapes[s].phones, " ", -1);
    for (char **p = phones; *p; p++)
      if (strlen(*p) > *taken && g_str_has_prefix(ipa, *p)) {
        *taken = strlen(*p);
        best = &shapes[s];
      }
  }
  return best;
}

/* a stretch of time in which the mouth is meant to reach a shape */
typedef struct {
  double from, to;
  const MouthShape *shape; /* NULL: rest */
} Aim;

/* sounds of one phoneme, sharing its time: "aɪ" opens and then spreads */
static void
add_aims(GArray *aims, double from, double to, const char *ipa)
{
  const MouthShape *found[4];
  int n = 0;
  for (const char *at = ipa; *at && n < 4;) {
    size_t taken;
    const MouthShape *shape = shape_for(at, &taken);
    if (shape && (n == 0 || found[n - 1] != shape))
      found[n++] = shape;
    at = shape ? at + taken : g_utf8_next_char(at);
  }
  if (n == 0)
    found[n++] = NULL;
  for (int i = 0; i < n; i++) {
    const Aim aim = { from + (to - from) * i / n, from + (to - from) * (i + 1) / n, found[i] };
    g_array_append_val(aims, aim);
  }
}

static void
set_controls(const PlaActiveModel *model, const MouthShape *shape, double *control)
{
  const PlaJaw *jaw = pla_active_jaw(model);
  memset(control, 0, (size_t)pla_active_n_controls(model) * sizeof *control);
  if (!shape)
    return;
  for (int p = 0; p < MOST_PARTS && shape->part[p].muscle; p++)
    for (int side = 0; side < 2; side++) {
      g_autofree char *name =
          g_strdup_printf("%s, %s", shape->part[p].muscle, side ? "left" : "right");
      const int m = pla_active_find_muscle(model, name);
      if (m >= 0)
        control[m] = shape->part[p].activation;
    }
  if (jaw)
    control[pla_active_n_muscles(model)] = fmin(shape->jaw_deg * G_PI / 180.0, jaw->opening);
}

PlaStatus
pla_perform_phones(const PlaActiveBody *body, const PlaPhones *phones, double rate_hz,
                   double rest_s, PlaActivation *out, PlaPhones *shifted, PlaError *err)
{
  const PlaActiveModel *model = body->model;
  const size_t n = (size_t)pla_active_n_controls(model);
  *out = (PlaActivation){ 0 };
  *shifted = (PlaPhones){ 0 };
  if (pla_active_find_muscle(model, UPPER ", left") < 0 || !pla_active_jaw(model))
    return pla_fail(err, PLA_ERR_USAGE,
                    "'%s' cannot speak by rule; that needs the muscles of a face and a jaw",
                    body->name);
  g_autoptr(GArray) aims = g_array_new(FALSE, FALSE, sizeof(Aim));
  const double before = rest_s - phones->phone[0].start_s;
  const double end = phones->phone[phones->n - 1].end_s + before + rest_s;
  PlaStatus st = PLA_OK;
  add_aims(aims, 0.0, rest_s, "");
  for (int i = 0; i < phones->n && st == PLA_OK; i++) {
    const PlaPhone *p = &phones->phone[i];
    st = pla_phones_add(shifted, p->start_s + before, p->end_s + before, p->label, err);
    add_aims(aims, p->start_s + before, p->end_s + before,
             pla_phone_is_pause(p->label) ? "" : p->label);
  }
  add_aims(aims, end - rest_s, end, "");
  if (st == PLA_OK)
    st = pla_activation_init(out, model, (int)lround(end * rate_hz), rate_hz, err);
  g_autofree double *here = pla_array_new(n, sizeof *here), *next = pla_array_new(n, sizeof *next);
  if (st == PLA_OK && (!here || !next))
    st = pla_fail_memory(err, "the activations");
  for (int f = 0; st == PLA_OK && f < out->n_frames; f++) {
    const double t = f / rate_hz;
    guint a = 0;
    while (a + 1 < aims->len && g_array_index(aims, Aim, a).to <= t)
      a++;
    /* the middle half of each stretch is held; between, the way is smooth */
    const Aim *at = &g_array_index(aims, Aim, a);
    const double quarter = 0.25 * (at->to - at->from);
    const bool early = t<at->from + quarter, late = t> at->to - quarter;
    const Aim *other = early && a > 0 ? at - 1 : late && a + 1 < aims->len ? at + 1 : at;
    const double reach = quarter + 0.25 * (other->to - other->from);
    const double from = early ? at->from - 0.25 * (other->to - other->from) : at->to - quarter;
    const double r = other == at || reach <= 0.0 ? 0.0 : (t - from) / reach;
    const double w = r * r * (3.0 - 2.0 * r);
    set_controls(model, at->shape, here);
    set_controls(model, other->shape, next);
    /* before the middle the other one lies behind us */
    const double share = other == at ? 0.0 : early ? 1.0 - w : w;
    for (size_t c = 0; c < n; c++)
      out->control[(size_t)f * n + c] = here[c] + share * (next[c] - here[c]);
  }
  if (st != PLA_OK) {
    pla_activation_clear(out);
    pla_phones_clear(shifted);
  }
  return st;
}
