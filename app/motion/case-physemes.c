/* Physemes of a case. */
#include "app/motion/case-physemes.h"

#include <math.h>
#include <string.h>

typedef struct {
  char *name;
  double rate_hz, start_s;
  int n_frames;
  PlaContent *shapes; /* or NULL */
  const float *shape; /* n_frames x n_verts x 3; or NULL */
} Source;

struct PlaCasePhysemes {
  int n_verts;
  PlaPhysemeLibrary library;
  GArray *source; /* of Source, in the order of the library's takes */
};

void
pla_case_physemes_free(PlaCasePhysemes *self)
{
  if (!self)
    return;
  for (guint i = 0; i < self->source->len; i++) {
    Source *source = &g_array_index(self->source, Source, i);
    g_free(source->name);
    pla_content_unref(source->shapes);
  }
  g_array_unref(self->source);
  pla_physeme_library_clear(&self->library);
  g_free(self);
}

static PlaStatus
load_shapes(PlaCasePhysemes *self, PlaStore *store, const PlaState *state, Source *source,
            PlaError *err)
{
  g_autofree char *called = g_strdup_printf("%s, shapes", source->name);
  const PlaStateItem *item = pla_state_find_name(state, called);
  if (!item || strcmp(item->kind, PLA_ITEM_RESULT) != 0)
    return PLA_OK;
  PlaStatus st = pla_content_load(store, &item->hash, NULL, &source->shapes, err);
  if (st == PLA_OK)
    source->shape = pla_content_get_shapes(source->shapes, self->n_verts, source->n_frames);
  return st;
}

/* a track that was fitted (or, in the second round, made up) and whose phonemes are known */
static PlaStatus
add_track(PlaCasePhysemes *self, PlaStore *store, const PlaState *state, const PlaStateItem *item,
          const char *mark, PlaError *err)
{
  g_autoptr(PlaContent) content = NULL;
  PlaPhones phones = { 0 };
  PlaError why;
  PlaStatus st = pla_content_load(store, &item->hash, NULL, &content, err);
  if (st != PLA_OK)
    return st;
  if (json_object_has_member(content->meta, mark) && pla_meta_has_phonemes(content->meta) &&
      pla_meta_get_phonemes(content->meta, &phones, &why) == PLA_OK &&
      pla_physeme_library_add(&self->library, content->track, &phones, NULL, NULL, &why) ==
          PLA_OK) {
    Source source = { .name = g_strdup(item->name),
                      .rate_hz = content->track->rate_hz,
                      .start_s = content->track->start_s,
                      .n_frames = content->track->n_samples };
    st = load_shapes(self, store, state, &source, err);
    g_array_append_val(self->source, source);
  }
  pla_phones_clear(&phones);
  return st;
}

PlaStatus
pla_case_physemes_load(const char *path, const PlaState *state, int n_verts, PlaProgress *progress,
                       PlaCasePhysemes **out, PlaError *err)
{
  static const char *const marks[] = { "fit", "made" };
  PlaCasePhysemes *self = g_new0(PlaCasePhysemes, 1);
  PlaStore *store = NULL;
  self->n_verts = n_verts;
  self->source = g_array_new(FALSE, TRUE, sizeof(Source));
  PlaStatus st = pla_store_open(path, &store, err);
  for (size_t m = 0; m < G_N_ELEMENTS(marks) && self->source->len == 0; m++)
    for (int i = 0; i < state->n && st == PLA_OK; i++) {
      if (!pla_progress_phase(progress, "Reading what was said", (i + 1.0) / state->n))
        st = pla_fail_cancelled(err);
      else if (strcmp(state->item[i].kind, PLA_ITEM_TRACK) == 0)
        st = add_track(self, store, state, &state->item[i], marks[m], err);
    }
  pla_store_close(store);
  if (st == PLA_OK)
    *out = self;
  else
    pla_case_physemes_free(self);
  return st;
}

int
pla_case_physemes_n_tracks(const PlaCasePhysemes *self)
{
  return (int)self->source->len;
}

const char *
pla_case_physemes_get_track(const PlaCasePhysemes *self, int i)
{
  return g_array_index(self->source, Source, i).name;
}

const PlaPhysemeLibrary *
pla_case_physemes_get_library(const PlaCasePhysemes *self)
{
  return &self->library;
}

bool
pla_case_physemes_shape(const PlaCasePhysemes *self, const PlaLine *line, double time_s,
                        const double *rest, double *pos)
{
  const size_t n = 3 * (size_t)self->n_verts;
  PlaBlend blend[2];
  const int n_blends = pla_line_blend(line, time_s, blend);
  memset(pos, 0, n * sizeof *pos);
  for (int b = 0; b < n_blends; b++) {
    if (blend[b].take < 0) {
      for (size_t i = 0; i < n; i++)
        pos[i] += blend[b].weight * rest[i];
      continue;
    }
    const Source *s = &g_array_index(self->source, Source, blend[b].take);
    if (!s->shape || s->n_frames < 1)
      return false;
    const double at = CLAMP((blend[b].time_s - s->start_s) * s->rate_hz, 0.0, s->n_frames - 1.0);
    const int f = (int)at, next = MIN(f + 1, s->n_frames - 1);
    const double share = at - f;
    for (size_t i = 0; i < n; i++)
      pos[i] += blend[b].weight * ((1.0 - share) * (double)s->shape[n * (size_t)f + i] +
                                   share * (double)s->shape[n * (size_t)next + i]);
  }
  return true;
}
