/* Reads recordings, motions and muscles on workers, poses the meshes of a motion at the present
 * moment, and keeps playing in step with the sound. */
#include "ui/speech/speech-playback.h"

#include "app/content/made.h"
#include "app/speech/sound-player.h"
#include "app/speech/speech-facts.h"

#include <glib/gi18n.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PICTURE_MS = 16 };

struct _PlaSpeechPlayback {
  GObject parent_instance;
  PlaDocument *document; /* borrowed: it owns the playback */
  GStrv names;
  PlaUtterance *utterance[2]; /* shown; compared with it, or NULL */
  char *wanted[2];            /* names; NULL: the newest, and none */
  PlaSpokenPair pair;
  char *failure;
  guint serial;
  PlaHash read_state; /* that the above are of */
  gboolean read;

  gboolean muscles_wanted;
  GHashTable *muscles; /* what was found: of the motion's hash, PlaTongueActivations */
  PlaJob *finding;     /* or NULL */
  PlaHash finding_of;
  char *muscles_failure;
  double cell_mm;

  double time_s, from_s, to_s, speed;
  gboolean loop, beside, active;
  PlaSoundPlayer *player; /* while playing */
  char *silence;
  guint tick;
};

G_DEFINE_FINAL_TYPE(PlaSpeechPlayback, pla_speech_playback, G_TYPE_OBJECT)

enum { CHANGED, MOVED, STATE, MUSCLES, N_SIGNALS };
static guint signals[N_SIGNALS];

static void
utterance_free(PlaUtterance *self)
{
  if (!self)
    return;
  g_free(self->name);
  g_free(self->motion_name);
  pla_spoken_free(self->spoken);
  pla_content_unref(self->source);
  pla_heard_clear(&self->heard);
  pla_notes_clear(&self->notes);
  g_free(self);
}

/* -------------------------------------------------------------------- reading */

/* an item of the state when reading began */
typedef struct {
  char *name, *kind;
  PlaHash hash;
} Item;

typedef struct {
  PlaSpeechPlayback *self;
  guint serial;
  char *path;
  GArray *items; /* of Item */
  char *wanted[2];
  /* results */
  GPtrArray *names;
  PlaUtterance *utterance[2];
  PlaSpokenPair pair;
  char *failure;
} Reading;

static void
item_clear(gpointer data)
{
  Item *item = data;
  g_free(item->name);
  g_free(item->kind);
}

static void
reading_free(gpointer data)
{
  Reading *r = data;
  g_object_unref(r->self);
  g_free(r->path);
  g_array_unref(r->items);
  g_ptr_array_unref(r->names);
  for (int i = 0; i < 2; i++) {
    g_free(r->wanted[i]);
    utterance_free(r->utterance[i]);
  }
  pla_spoken_pair_clear(&r->pair);
  g_free(r->failure);
  g_free(r);
}

static gboolean
is_spoken(PlaStore *store, const Item *item, const char *source)
{
  PlaBundle bundle;
  if (pla_store_read_bundle(store, &item->hash, &bundle, NULL) != PLA_OK)
    return FALSE;
  const gboolean made = pla_spoken_meta_is_of(bundle.meta, source);
  pla_bundle_clear(&bundle, false);
  return made;
}

/* a track of the coils, rather than of anything else */
static gboolean
has_coils(PlaStore *store, const Item *item)
{
  g_autoptr(PlaContent) content = NULL;
  PlaCoilPaths paths;
  PlaError err;
  if (pla_content_load(store, &item->hash, NULL, &content, &err) != PLA_OK || !content->track ||
      pla_coil_paths_init(&paths, content->track, &err) != PLA_OK)
    return FALSE;
  pla_coil_paths_clear(&paths);
  return TRUE;
}

static void
list_sources(Reading *r, PlaStore *store)
{
  for (guint i = 0; i < r->items->len; i++) {
    const Item *item = &g_array_index(r->items, Item, i);
    if (strcmp(item->kind, PLA_ITEM_AUDIO) == 0 ||
        (strcmp(item->kind, PLA_ITEM_TRACK) == 0 && has_coils(store, item)))
      g_ptr_array_add(r->names, g_strdup(item->name));
  }
}

static PlaStatus
listen(PlaUtterance *u, PlaProgress *progress, PlaError *err)
{
  const PlaAudio *audio = u->source->audio;
  if (!audio)
    return PLA_OK;
  PlaStatus st = pla_heard_init(&u->heard, audio, &u->notes, progress, err);
  if (st == PLA_OK)
    u->seconds = (double)u->heard.n / u->heard.rate_hz;
  return st;
}

static PlaStatus
read_utterance(Reading *r, PlaStore *store, const char *name, PlaUtterance **out,
               PlaProgress *progress, PlaError *err)
{
  const Item *source = NULL, *motion = NULL;
  for (guint i = 0; i < r->items->len; i++) {
    const Item *item = &g_array_index(r->items, Item, i);
    if (strcmp(item->name, name) == 0)
      source = item;
    else if (strcmp(item->kind, PLA_ITEM_RESULT) == 0 && is_spoken(store, item, name))
      motion = item; /* the newest */
  }
  if (!source)
    return PLA_OK;
  PlaUtterance *u = g_new0(PlaUtterance, 1);
  g_autoptr(PlaContent) moved = NULL;
  u->name = g_strdup(name);
  PlaStatus st = pla_content_load(store, &source->hash, progress, &u->source, err);
  if (st == PLA_OK)
    st = listen(u, progress, err);
  if (st == PLA_OK && motion) {
    u->motion_name = g_strdup(motion->name);
    u->motion_hash = motion->hash;
    st = pla_content_load(store, &motion->hash, progress, &moved, err);
    if (st == PLA_OK)
      st = pla_spoken_new(moved, &u->spoken, err);
  }
  if (st == PLA_OK && u->spoken)
    u->seconds = fmax(u->seconds, pla_spoken_seconds(u->spoken));
  else if (st == PLA_OK && u->source->track && u->source->track->rate_hz > 0.0)
    u->seconds = u->source->track->n_samples / u->source->track->rate_hz;
  if (st == PLA_OK)
    *out = u;
  else
    utterance_free(u);
  return st;
}

static PlaStatus
read_speech(gpointer data, PlaProgress *progress, PlaError *err)
{
  Reading *r = data;
  PlaStore *store = NULL;
  PlaError why;
  PlaStatus st = pla_store_open(r->path, &store, err);
  if (st != PLA_OK)
    return st;
  list_sources(r, store);
  const char *first = r->wanted[0];
  if (!first || !g_ptr_array_find_with_equal_func(r->names, first, g_str_equal, NULL))
    first = r->names->len > 0 ? r->names->pdata[r->names->len - 1] : NULL;
  PlaStatus mine = PLA_OK;
  if (first)
    mine = read_utterance(r, store, first, &r->utterance[0], progress, &why);
  if (mine == PLA_OK && first && r->wanted[1] && strcmp(first, r->wanted[1]) != 0)
    mine = read_utterance(r, store, r->wanted[1], &r->utterance[1], progress, &why);
  const PlaUtterance *a = r->utterance[0], *b = r->utterance[1];
  if (mine == PLA_OK && a && b && a->spoken && b->spoken)
    mine = pla_spoken_compare(a->spoken, a->source->audio, b->spoken, b->source->audio, &r->pair,
                              progress, &why);
  if (mine != PLA_OK && mine != PLA_ERR_CANCELLED)
    r->failure = g_strdup(why.message);
  pla_store_close(store);
  return mine == PLA_ERR_CANCELLED ? pla_fail_cancelled(err) : PLA_OK;
}

/* ---------------------------------------------------------------------- in 3-D */

typedef struct {
  PlaSpeechPlayback *self;
  gboolean dress; /* for the first time */
} Walk;

static void
place_jaw(PlaSpeechPlayback *self, PlaEntry *entry, const PlaSpoken *spoken, int frame)
{
  const PlaMesh *mesh = pla_entry_get_mesh(entry);
  g_autofree double *pos = g_new(double, 3 * (gsize)mesh->n_verts);
  pla_spoken_move_jaw(spoken, frame, mesh->pos, mesh->n_verts, pos);
  pla_tools_move(pla_document_get_tools(self->document), entry, pos);
}

/* which motion a mesh goes with, or NULL */
static const char *
moves_with(PlaEntry *entry)
{
  PlaContent *content = pla_entry_get_content(entry);
  return content ? pla_content_get_made(content).moves_with : NULL;
}

static void
dress(PlaEntry *entry, const char *name, gboolean shown)
{
  static const struct {
    const char *name;
    GdkRGBA rgba;
    PlaFinish finish;
  } looks[] = {
    { PLA_SPOKEN_HEAD, { 0.93f, 0.78f, 0.70f, 0.22f }, PLA_FINISH_SKIN },
    { PLA_SPOKEN_PALATE, { 0.93f, 0.89f, 0.79f, 0.80f }, PLA_FINISH_BONE },
    { PLA_SPOKEN_JAW, { 0.93f, 0.89f, 0.79f, 0.80f }, PLA_FINISH_BONE },
    { NULL, { 0.86f, 0.42f, 0.45f, 1.0f }, PLA_FINISH_SKIN },
  };
  size_t i = 0;
  while (looks[i].name && strcmp(looks[i].name, name) != 0)
    i++;
  pla_entry_set_whole(entry, looks[i].name == NULL); /* the tongue itself */
  pla_entry_set_label(entry, 0, looks[i].finish);
  pla_entry_set_rgba(entry, &looks[i].rgba);
  pla_entry_set_visible(entry, shown);
}

static void
place_entry(PlaEntry *entry, gpointer data)
{
  Walk *walk = data;
  PlaSpeechPlayback *self = walk->self;
  const PlaUtterance *u = self->utterance[0];
  const PlaMesh *mesh = pla_entry_get_mesh(entry);
  const char *name = pla_entry_get_name(entry), *motion = moves_with(entry);
  if (pla_entry_get_kind(entry) != PLA_ENTRY_MESH || !mesh || !u || !u->spoken)
    return;
  const gboolean mine = motion && strcmp(motion, u->motion_name) == 0;
  const gboolean around = strcmp(name, PLA_SPOKEN_HEAD) == 0 ||
                          strcmp(name, PLA_SPOKEN_PALATE) == 0 || strcmp(name, PLA_SPOKEN_JAW) == 0;
  if (walk->dress && (motion || around))
    dress(entry, name, mine || around);
  const int frame = pla_spoken_frame_at(u->spoken, self->time_s);
  if (strcmp(name, PLA_SPOKEN_JAW) == 0 && pla_entry_get_visible(entry)) {
    place_jaw(self, entry, u->spoken, frame);
  } else if (mine && mesh->n_verts == u->spoken->n_verts) {
    g_autofree double *pos = g_new(double, 3 * (gsize)mesh->n_verts);
    pla_spoken_pos(u->spoken, frame, pos);
    pla_tools_move(pla_document_get_tools(self->document), entry, pos);
  }
}

/* shapes of a motion are read apart from it */
static void
on_shape(PlaSpeechPlayback *self, PlaEntry *entry)
{
  if (self->active)
    place_entry(entry, &(Walk){ self, TRUE });
}

static void
place_shapes(PlaSpeechPlayback *self, gboolean first)
{
  if (self->active)
    pla_document_foreach(self->document, place_entry, &(Walk){ self, first });
}

/* --------------------------------------------------------------------- muscles */

typedef struct {
  PlaSpeechPlayback *self;
  PlaSpoken *spoken;
  PlaHash hash;
  double cell_mm;
  PlaTongueActivations *found;
} Finding;

static void
activations_free(gpointer data)
{
  if (data)
    pla_tongue_activations_clear(data);
  g_free(data);
}

static void
finding_free(gpointer data)
{
  Finding *f = data;
  g_object_unref(f->self);
  pla_spoken_free(f->spoken);
  activations_free(f->found);
  g_free(f);
}

static PlaStatus
find_muscles(gpointer data, PlaProgress *progress, PlaError *err)
{
  Finding *f = data;
  return pla_spoken_explain(f->spoken, f->cell_mm, progress, f->found, err);
}

static const PlaTongueActivations *
known_muscles(PlaSpeechPlayback *self)
{
  const PlaUtterance *u = self->utterance[0];
  char key[33];
  return u && u->spoken ? g_hash_table_lookup(self->muscles, pla_hash_text(&u->motion_hash, key))
                        : NULL;
}

static void want_muscles(PlaSpeechPlayback *self);

static void
on_found(PlaJob *job, gpointer data, PlaStatus status, const PlaError *err)
{
  Finding *f = data;
  PlaSpeechPlayback *self = f->self;
  char key[33];
  const gboolean mine = job == self->finding;
  if (!self->document)
    return;
  pla_hash_text(&f->hash, key);
  if (status == PLA_OK && !g_hash_table_contains(self->muscles, key)) /* what is lent stays */
    g_hash_table_insert(self->muscles, g_strdup(key), g_steal_pointer(&f->found));
  if (mine) {
    g_clear_object(&self->finding);
    if (status != PLA_OK)
      self->muscles_wanted = FALSE;
    if (status != PLA_OK && status != PLA_ERR_CANCELLED)
      self->muscles_failure = g_strdup(err->message);
    want_muscles(self);
    g_signal_emit(self, signals[MUSCLES], 0);
  }
  pla_document_retire_job(self->document, job);
}

static void
stop_finding(PlaSpeechPlayback *self)
{
  if (self->finding)
    pla_job_cancel(self->finding);
  g_clear_object(&self->finding);
}

/* those of the motion that is shown, where they are wanted and not known */
static void
want_muscles(PlaSpeechPlayback *self)
{
  const PlaUtterance *u = self->utterance[0];
  PlaSpoken *spoken = NULL;
  PlaError err;
  const gboolean needed = self->muscles_wanted && u && u->spoken && !known_muscles(self);
  if (needed && self->finding && pla_hash_equal(&self->finding_of, &u->motion_hash))
    return;
  stop_finding(self);
  if (!needed || pla_spoken_new(u->spoken->content, &spoken, &err) != PLA_OK)
    return;
  Finding *f = g_new0(Finding, 1);
  f->self = g_object_ref(self);
  f->spoken = spoken;
  f->hash = self->finding_of = u->motion_hash;
  f->cell_mm = self->cell_mm;
  f->found = g_new0(PlaTongueActivations, 1);
  g_clear_pointer(&self->muscles_failure, g_free);
  self->finding =
      pla_job_start(_("Finding what the muscles do"), find_muscles, on_found, f, finding_free);
  pla_document_add_job(self->document, self->finding);
}

gboolean
pla_speech_playback_get_muscles_wanted(PlaSpeechPlayback *self)
{
  return self->muscles_wanted;
}

void
pla_speech_playback_set_muscles_wanted(PlaSpeechPlayback *self, gboolean wanted)
{
  if (wanted == self->muscles_wanted)
    return;
  self->muscles_wanted = wanted;
  g_clear_pointer(&self->muscles_failure, g_free);
  want_muscles(self);
  g_signal_emit(self, signals[MUSCLES], 0);
}

const PlaTongueActivations *
pla_speech_playback_get_muscles(PlaSpeechPlayback *self)
{
  return self->muscles_wanted ? known_muscles(self) : NULL;
}

const char *
pla_speech_playback_get_muscles_failure(PlaSpeechPlayback *self)
{
  return self->muscles_failure;
}

void
pla_speech_playback_set_cell(PlaSpeechPlayback *self, double cell_mm)
{
  self->cell_mm = cell_mm;
}

/* ----------------------------------------------------------------------- state */

static void
take_reading(PlaSpeechPlayback *self, Reading *r)
{
  const char *before = self->utterance[0] ? self->utterance[0]->name : NULL;
  const gboolean other = g_strcmp0(before, r->utterance[0] ? r->utterance[0]->name : NULL) != 0;
  g_autofree char *motion = self->utterance[0] ? g_strdup(self->utterance[0]->motion_name) : NULL;
  if (other)
    pla_speech_playback_set_playing(self, FALSE);
  g_strfreev(self->names);
  g_ptr_array_add(r->names, NULL);
  self->names = g_strdupv((char **)r->names->pdata);
  for (int i = 0; i < 2; i++) {
    utterance_free(self->utterance[i]);
    self->utterance[i] = g_steal_pointer(&r->utterance[i]);
  }
  pla_spoken_pair_clear(&self->pair);
  self->pair = r->pair;
  r->pair = (PlaSpokenPair){ 0 };
  g_free(self->failure);
  self->failure = g_steal_pointer(&r->failure);
  if (other) {
    self->time_s = 0.0;
    self->from_s = self->to_s = 0.0;
  }
  self->time_s = CLAMP(self->time_s, 0.0, pla_speech_playback_get_seconds(self));
  /* looks that the user has changed stay */
  place_shapes(self,
               g_strcmp0(motion, self->utterance[0] ? self->utterance[0]->motion_name : NULL) != 0);
  want_muscles(self);
  g_signal_emit(self, signals[CHANGED], 0);
  g_signal_emit(self, signals[MOVED], 0);
}

static void
on_read(PlaJob *job, gpointer data, PlaStatus status, const PlaError *err)
{
  Reading *r = data;
  PlaSpeechPlayback *self = r->self;
  if (!self->document)
    return;
  if (r->serial == self->serial && status == PLA_OK)
    take_reading(self, r);
  pla_document_retire_job(self->document, job);
}

static void
clear_all(PlaSpeechPlayback *self)
{
  self->serial++;
  self->read = FALSE;
  pla_speech_playback_set_playing(self, FALSE);
  stop_finding(self);
  g_clear_pointer(&self->names, g_strfreev);
  self->names = g_new0(char *, 1);
  for (int i = 0; i < 2; i++)
    g_clear_pointer(&self->utterance[i], utterance_free);
  pla_spoken_pair_clear(&self->pair);
  g_clear_pointer(&self->failure, g_free);
  self->time_s = self->from_s = self->to_s = 0.0;
}

static void
read_again(PlaSpeechPlayback *self)
{
  PlaSession *session = pla_document_get_session(self->document);
  const PlaState *state = session ? pla_session_get_state(session) : NULL;
  gboolean any = FALSE;
  for (int i = 0; state && i < state->n; i++)
    any = any || strcmp(state->item[i].kind, PLA_ITEM_AUDIO) == 0 ||
          strcmp(state->item[i].kind, PLA_ITEM_TRACK) == 0;
  if (!any) { /* nothing to read */
    const gboolean had = self->names[0] != NULL;
    clear_all(self);
    if (had)
      g_signal_emit(self, signals[CHANGED], 0);
    return;
  }
  Reading *r = g_new0(Reading, 1);
  r->self = g_object_ref(self);
  r->serial = ++self->serial;
  r->path = g_strdup(pla_session_get_path(session));
  r->names = g_ptr_array_new_with_free_func(g_free);
  r->items = g_array_new(FALSE, FALSE, sizeof(Item));
  g_array_set_clear_func(r->items, item_clear);
  for (int i = 0; i < 2; i++)
    r->wanted[i] = g_strdup(self->wanted[i]);
  for (int i = 0; i < state->n; i++) {
    Item item = { .name = g_strdup(state->item[i].name),
                  .kind = g_strdup(state->item[i].kind),
                  .hash = state->item[i].hash };
    g_array_append_val(r->items, item);
  }
  self->read_state = pla_state_hash(state);
  self->read = TRUE;
  g_autoptr(PlaJob) job = pla_job_start(_("Listening"), read_speech, on_read, r, reading_free);
  pla_document_add_job(self->document, job);
}

static gboolean
state_has(const PlaState *state, const char *name)
{
  for (int i = 0; state && i < state->n; i++)
    if (g_strcmp0(state->item[i].name, name) == 0)
      return TRUE;
  return FALSE;
}

/* the case has another state; a recording that is new in it is shown */
static void
on_history(PlaSpeechPlayback *self)
{
  PlaSession *session = pla_document_get_session(self->document);
  const PlaState *state = session ? pla_session_get_state(session) : NULL;
  if (state && self->read) {
    const PlaHash now = pla_state_hash(state);
    if (pla_hash_equal(&now, &self->read_state))
      return;
  }
  for (int i = 0; state && self->read && i < state->n; i++)
    if ((strcmp(state->item[i].kind, PLA_ITEM_AUDIO) == 0 ||
         strcmp(state->item[i].kind, PLA_ITEM_TRACK) == 0) &&
        !g_strv_contains((const char *const *)self->names, state->item[i].name)) {
      g_free(self->wanted[0]);
      self->wanted[0] = g_strdup(state->item[i].name);
    }
  for (int i = 0; i < 2; i++)
    if (self->wanted[i] && !state_has(state, self->wanted[i]))
      g_clear_pointer(&self->wanted[i], g_free);
  read_again(self);
}

const char *const *
pla_speech_playback_get_names(PlaSpeechPlayback *self)
{
  return (const char *const *)self->names;
}

const PlaUtterance *
pla_speech_playback_get_shown(PlaSpeechPlayback *self)
{
  return self->utterance[0];
}

const PlaUtterance *
pla_speech_playback_get_other(PlaSpeechPlayback *self)
{
  return self->utterance[1];
}

const PlaSpokenPair *
pla_speech_playback_get_pair(PlaSpeechPlayback *self)
{
  return self->pair.n > 0 ? &self->pair : NULL;
}

const char *
pla_speech_playback_get_failure(PlaSpeechPlayback *self)
{
  return self->failure;
}

static void
want(PlaSpeechPlayback *self, int which, const char *name)
{
  if (g_strcmp0(self->wanted[which], name) == 0)
    return;
  g_free(self->wanted[which]);
  self->wanted[which] = g_strdup(name);
  read_again(self);
}

void
pla_speech_playback_show(PlaSpeechPlayback *self, const char *name)
{
  want(self, 0, name);
}

void
pla_speech_playback_compare_with(PlaSpeechPlayback *self, const char *name)
{
  want(self, 1, name);
}

double
pla_speech_playback_get_seconds(PlaSpeechPlayback *self)
{
  return self->utterance[0] ? self->utterance[0]->seconds : 0.0;
}

double
pla_speech_playback_get_time(PlaSpeechPlayback *self)
{
  return self->time_s;
}

static void
move_to(PlaSpeechPlayback *self, double time_s)
{
  self->time_s = CLAMP(time_s, 0.0, pla_speech_playback_get_seconds(self));
  place_shapes(self, FALSE);
  g_signal_emit(self, signals[MOVED], 0);
}

void
pla_speech_playback_set_time(PlaSpeechPlayback *self, double time_s)
{
  pla_speech_playback_set_playing(self, FALSE);
  move_to(self, time_s);
}

gboolean
pla_speech_playback_has_selection(PlaSpeechPlayback *self)
{
  return self->to_s > self->from_s;
}

void
pla_speech_playback_get_selection(PlaSpeechPlayback *self, double *from_s, double *to_s)
{
  const gboolean some = pla_speech_playback_has_selection(self);
  *from_s = some ? self->from_s : 0.0;
  *to_s = some ? self->to_s : pla_speech_playback_get_seconds(self);
}

void
pla_speech_playback_select(PlaSpeechPlayback *self, double from_s, double to_s)
{
  const double end = pla_speech_playback_get_seconds(self);
  self->from_s = CLAMP(fmin(from_s, to_s), 0.0, end);
  self->to_s = CLAMP(fmax(from_s, to_s), 0.0, end);
  g_signal_emit(self, signals[MOVED], 0);
}

int
pla_speech_playback_get_other_frame(PlaSpeechPlayback *self)
{
  const PlaUtterance *a = self->utterance[0], *b = self->utterance[1];
  if (!a || !b || !a->spoken || !b->spoken)
    return 0;
  const int frame = pla_spoken_frame_at(a->spoken, self->time_s);
  return self->pair.n > frame ? self->pair.other[frame]
                              : pla_spoken_frame_at(b->spoken, self->time_s);
}

/* --------------------------------------------------------------------- playing */

static gboolean
on_tick(gpointer data)
{
  PlaSpeechPlayback *self = data;
  double now;
  const gboolean more = pla_sound_player_get(self->player, &now);
  const char *silence = pla_sound_player_get_silence(self->player);
  if (silence && g_strcmp0(silence, self->silence) != 0) {
    g_free(self->silence);
    self->silence = g_strdup(silence);
    g_signal_emit(self, signals[STATE], 0);
  }
  if (now != self->time_s)
    move_to(self, now);
  if (more)
    return G_SOURCE_CONTINUE;
  self->tick = 0;
  pla_speech_playback_set_playing(self, FALSE);
  return G_SOURCE_REMOVE;
}

gboolean
pla_speech_playback_get_playing(PlaSpeechPlayback *self)
{
  return self->player != NULL;
}

void
pla_speech_playback_set_playing(PlaSpeechPlayback *self, gboolean playing)
{
  const PlaUtterance *u = self->utterance[0];
  playing = playing && u && u->seconds > 0.0;
  if (playing == (self->player != NULL))
    return;
  if (playing) {
    PlaSoundPart part = { .sample = u->heard.wave,
                          .n = u->heard.n,
                          .rate_hz = u->heard.rate_hz,
                          .speed = self->speed,
                          .loop = self->loop };
    pla_speech_playback_get_selection(self, &part.from_s, &part.to_s);
    /* again from the start, once it is over */
    const double start =
        self->time_s < part.from_s || self->time_s > part.to_s - 0.02 ? part.from_s : self->time_s;
    g_clear_pointer(&self->silence, g_free);
    self->player = pla_sound_player_start(&part, start);
    /* after drawing: a slow picture must not be starved by the next one */
    self->tick = g_timeout_add_full(G_PRIORITY_DEFAULT_IDLE, PICTURE_MS, on_tick, self, NULL);
  } else {
    g_clear_pointer(&self->player, pla_sound_player_stop);
    g_clear_handle_id(&self->tick, g_source_remove);
  }
  g_signal_emit(self, signals[STATE], 0);
}

/* what plays goes on with the new setting */
static void
play_on(PlaSpeechPlayback *self)
{
  if (self->player) {
    pla_speech_playback_set_playing(self, FALSE);
    pla_speech_playback_set_playing(self, TRUE);
  } else
    g_signal_emit(self, signals[STATE], 0);
}

const char *
pla_speech_playback_get_silence(PlaSpeechPlayback *self)
{
  return self->silence;
}

double
pla_speech_playback_get_speed(PlaSpeechPlayback *self)
{
  return self->speed;
}

void
pla_speech_playback_set_speed(PlaSpeechPlayback *self, double speed)
{
  if (speed == self->speed)
    return;
  self->speed = CLAMP(speed, 0.1, 1.0);
  play_on(self);
}

gboolean
pla_speech_playback_get_loop(PlaSpeechPlayback *self)
{
  return self->loop;
}

void
pla_speech_playback_set_loop(PlaSpeechPlayback *self, gboolean loop)
{
  if (loop == self->loop)
    return;
  self->loop = loop;
  play_on(self);
}

gboolean
pla_speech_playback_get_beside(PlaSpeechPlayback *self)
{
  return self->beside;
}

void
pla_speech_playback_set_beside(PlaSpeechPlayback *self, gboolean beside)
{
  self->beside = beside;
  g_signal_emit(self, signals[STATE], 0);
}

void
pla_speech_playback_set_active(PlaSpeechPlayback *self, gboolean active)
{
  if (active == self->active)
    return;
  self->active = active;
  if (active)
    place_shapes(self, TRUE);
  else
    pla_speech_playback_set_playing(self, FALSE);
}

/* ------------------------------------------------------------------------ type */

static void
pla_speech_playback_dispose(GObject *object)
{
  PlaSpeechPlayback *self = PLA_SPEECH_PLAYBACK(object);
  clear_all(self);
  g_clear_pointer(&self->names, g_strfreev);
  for (int i = 0; i < 2; i++)
    g_clear_pointer(&self->wanted[i], g_free);
  g_clear_pointer(&self->silence, g_free);
  g_clear_pointer(&self->muscles, g_hash_table_unref);
  g_clear_pointer(&self->muscles_failure, g_free);
  self->document = NULL;
  G_OBJECT_CLASS(pla_speech_playback_parent_class)->dispose(object);
}

static void
pla_speech_playback_class_init(PlaSpeechPlaybackClass *klass)
{
  static const char *const names[N_SIGNALS] = { "changed", "moved", "state", "muscles" };
  G_OBJECT_CLASS(klass)->dispose = pla_speech_playback_dispose;
  for (int i = 0; i < N_SIGNALS; i++)
    signals[i] = g_signal_new(names[i], PLA_TYPE_SPEECH_PLAYBACK, G_SIGNAL_RUN_LAST, 0, NULL, NULL,
                              NULL, G_TYPE_NONE, 0);
}

static void
pla_speech_playback_init(PlaSpeechPlayback *self)
{
  self->names = g_new0(char *, 1);
  self->speed = 1.0;
  self->muscles = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, activations_free);
}

static void
on_document_gone(gpointer data)
{
  PlaSpeechPlayback *self = data;
  stop_finding(self);
  self->document = NULL;
  g_object_unref(self);
}

PlaSpeechPlayback *
pla_speech_playback_get(PlaDocument *document)
{
  PlaSpeechPlayback *self = g_object_get_data(G_OBJECT(document), "speech-playback");
  if (self)
    return self;
  self = g_object_new(PLA_TYPE_SPEECH_PLAYBACK, NULL);
  self->document = document;
  g_object_set_data_full(G_OBJECT(document), "speech-playback", self, on_document_gone);
  g_signal_connect_object(document, "history-changed", G_CALLBACK(on_history), self,
                          G_CONNECT_SWAPPED);
  g_signal_connect_object(document, "reset", G_CALLBACK(on_history), self, G_CONNECT_SWAPPED);
  g_signal_connect_object(document, "shape-changed", G_CALLBACK(on_shape), self, G_CONNECT_SWAPPED);
  return self;
}
