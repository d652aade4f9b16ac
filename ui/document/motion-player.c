/* Reads the items of a performance on a worker, shows a pose, a frame or a preview in the views,
 * and follows sliders with a live solve. */
#include "ui/document/motion-player.h"

#include "app/content/made.h"
#include "app/verbs/live-solve.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

/* arrows of misfits are drawn this much longer than they are */
#define MISFIT_SCALE 5.0

struct _PlaMotionPlayer {
  GObject parent_instance;
  PlaDocument *document;            /* borrowed: the panel holds it */
  char *chosen[PLA_N_MOTION_ITEMS]; /* by hand; NULL: the newest */
  char *name[PLA_N_MOTION_ITEMS];   /* in use */
  PlaHash hash[PLA_N_MOTION_ITEMS + 2];
  gboolean by_geometry;
  guint serial;
  PlaPerformance *performance;
  PlaLive *live;
  double *pos, *control; /* what is shown; NULL without a performance */
  PlaShown shown;
  gboolean on, muscles, markers, misfits, moved;
  PlaPlay play;
  PlaPreview preview;
  char *preview_title;
  int frame;
  double strand_mm; /* of a line that stands for fibres */
};

enum { CHANGED, MOVED, FAILED, N_SIGNALS };
static guint signals[N_SIGNALS];

G_DEFINE_FINAL_TYPE(PlaMotionPlayer, pla_motion_player, G_TYPE_OBJECT)

static const char *const kinds[PLA_N_MOTION_ITEMS] = { PLA_ITEM_MUSCLES, PLA_ITEM_TRACK,
                                                       PLA_ITEM_MARKERS };

static PlaTools *
tools_of(PlaMotionPlayer *self)
{
  return pla_document_get_tools(self->document);
}

/* ---------------------------------------------------------------- what is shown */

typedef struct {
  const char *name;
  PlaEntry *found;
} Search;

static void
find_named(PlaEntry *entry, gpointer data)
{
  Search *search = data;
  if (pla_entry_get_kind(entry) == PLA_ENTRY_MESH &&
      strcmp(pla_entry_get_name(entry), search->name) == 0)
    search->found = entry;
}

static const char *
mesh_name(const PlaPerformance *p)
{
  return pla_content_get_made(p->muscles).mesh;
}

/* the body's row in the tree, or NULL */
static PlaEntry *
body_entry(PlaMotionPlayer *self)
{
  Search search = { mesh_name(self->performance), NULL };
  pla_document_foreach(self->document, find_named, &search);
  const PlaMesh *mesh = search.found ? pla_entry_get_mesh(search.found) : NULL;
  return mesh && mesh->n_verts == self->performance->body->mesh->n_verts ? search.found : NULL;
}

/* streamlines ride in the tets */
static void
show_strands(PlaMotionPlayer *self)
{
  const PlaPerformance *p = self->performance;
  if (!p || !self->on || !self->muscles) {
    pla_tools_set_strands(tools_of(self), NULL);
    return;
  }
  const PlaMuscleSet *set = &p->body->muscles;
  const int n = set->point.n_points;
  g_autofree double *pos = g_new0(double, 3 * (gsize)n + 1);
  g_autofree double *level = g_new0(double, (gsize)set->n_lines + 1);
  for (int i = 0; i < n; i++) {
    const int *tet = p->body->mesh->tet + 4 * (gsize)set->point.elem[i];
    for (int a = 0; a < 4; a++)
      for (int d = 0; d < 3; d++)
        pos[3 * i + d] += 1e3 * set->point.weight[4 * (gsize)i + (gsize)a] *
                          self->pos[3 * (gsize)tet[a] + (gsize)d];
  }
  for (int l = 0; l < set->n_lines; l++)
    level[l] = self->control[set->line_muscle[l]];
  const PlaStrands strands = { .n_lines = set->n_lines,
                               .n_points = n,
                               .pos = pos,
                               .start = set->line_start,
                               .level = level,
                               .radius_mm = self->strand_mm };
  pla_tools_set_strands(tools_of(self), &strands);
}

/* the recording belongs to what is shown: itself, or the track that was found from it */
static gboolean
has_marks(PlaMotionPlayer *self)
{
  const PlaPerformance *p = self->performance;
  if (!p || !self->on || self->play == PLA_PLAY_NOTHING || self->play == PLA_PLAY_PREVIEW)
    return FALSE;
  if (self->play == PLA_PLAY_TAKE || !p->track)
    return TRUE;
  return g_strcmp0(pla_content_get_made(p->track).markers, self->name[PLA_MOTION_MARKERS]) == 0;
}

static void
show_marks(PlaMotionPlayer *self)
{
  const PlaPerformance *p = self->performance;
  const PlaTake *take = has_marks(self) ? p->take : NULL;
  g_autoptr(GArray) marks = g_array_new(FALSE, TRUE, sizeof(PlaMark));
  if (take && !p->refused && self->frame < take->n_frames && (self->markers || self->misfits)) {
    const gsize n = 3 * (gsize)take->n_markers;
    g_autofree double *measured = g_new(double, n + 1), *fitted = g_new(double, n + 1);
    pla_performance_get_markers(p, self->frame, self->pos, measured, fitted);
    for (int i = 0; i < take->n_markers; i++) {
      PlaMark mark = { .kind = PLA_MARK_MARKER };
      if (!isfinite(measured[3 * i]))
        continue;
      memcpy(mark.at_mm, measured + 3 * i, sizeof mark.at_mm);
      if (self->markers)
        g_array_append_val(marks, mark);
      mark.kind = PLA_MARK_MISFIT;
      for (int d = 0; d < 3; d++) {
        mark.at_mm[d] = fitted[3 * i + d];
        mark.pull_mm[d] = MISFIT_SCALE * (measured[3 * i + d] - fitted[3 * i + d]);
      }
      if (self->misfits && isfinite(fitted[3 * i]) && self->play == PLA_PLAY_TRACK)
        g_array_append_val(marks, mark);
    }
  }
  int before;
  pla_tools_get_marks(tools_of(self), &before);
  if (marks->len > 0 || before > 0)
    pla_tools_set_marks(tools_of(self), (const PlaMark *)(gpointer)marks->data, (int)marks->len);
}

static void
show_body(PlaMotionPlayer *self)
{
  PlaEntry *entry = self->performance ? body_entry(self) : NULL;
  if (entry && self->on) {
    pla_tools_move(tools_of(self), entry, self->pos);
    self->moved = TRUE;
  } else if (entry && self->moved) {
    pla_tools_move(tools_of(self), entry, NULL);
    self->moved = FALSE;
  }
}

/* skin through which muscles are seen */
static void
show_skin(PlaMotionPlayer *self)
{
  PlaEntry *entry = self->performance ? body_entry(self) : NULL;
  if (!entry)
    return;
  const GdkRGBA skin = { 0.87f, 0.72f, 0.63f, self->on && self->muscles ? 0.38f : 1.0f };
  pla_entry_set_label(entry, 0, PLA_FINISH_SKIN);
  pla_entry_set_edges(entry, FALSE);
  pla_entry_set_rgba(entry, &skin);
  if (self->on)
    pla_entry_set_visible(entry, TRUE);
}

static void
show_all(PlaMotionPlayer *self)
{
  show_body(self);
  show_strands(self);
  show_marks(self);
  g_signal_emit(self, signals[MOVED], 0);
}

/* ------------------------------------------------------------------------- live */

static void
stop_live(PlaMotionPlayer *self)
{
  g_clear_pointer(&self->live, pla_live_stop);
}

static void
on_live(const PlaLiveShape *shape, const PlaError *err, void *data)
{
  PlaMotionPlayer *self = data;
  if (!shape) {
    g_autofree char *text = g_strdup(err->message);
    stop_live(self);
    self->shown = PLA_SHOWN_SHORT;
    g_signal_emit(self, signals[MOVED], 0);
    g_signal_emit(self, signals[FAILED], 0, text);
    return;
  }
  if (!self->performance || shape->n_verts != self->performance->body->mesh->n_verts)
    return;
  memcpy(self->pos, shape->pos, 3 * (gsize)shape->n_verts * sizeof *self->pos);
  self->shown = shape->reached ? PLA_SHOWN_LIVE : PLA_SHOWN_SHORT;
  show_all(self);
}

void
pla_motion_player_pose(PlaMotionPlayer *self, const double *control)
{
  const PlaPerformance *p = self->performance;
  if (!p)
    return;
  const int n = pla_active_n_controls(p->body->model);
  if (control != self->control)
    memcpy(self->control, control, (gsize)n * sizeof *control);
  if (!self->live)
    self->live = pla_live_start_pose(p->mesh, p->muscles, on_live, self);
  pla_live_pose(self->live, self->control, n);
  self->shown = PLA_SHOWN_MOVING;
  show_strands(self);
  g_signal_emit(self, signals[MOVED], 0);
}

static void
rest(PlaMotionPlayer *self)
{
  const PlaPerformance *p = self->performance;
  stop_live(self);
  if (!p)
    return;
  memcpy(self->pos, p->body->mesh->pos, 3 * (gsize)p->body->mesh->n_verts * sizeof *self->pos);
  memset(self->control, 0, (gsize)pla_active_n_controls(p->body->model) * sizeof *self->control);
  self->shown = PLA_SHOWN_REST;
}

/* ----------------------------------------------------------------------- playing */

static void
show_frame(PlaMotionPlayer *self)
{
  const PlaPerformance *p = self->performance;
  if (self->play == PLA_PLAY_TRACK && p && self->frame < p->moves.n_frames) {
    const gsize n = (gsize)p->moves.n_controls;
    memcpy(self->control, p->moves.control + n * (gsize)self->frame, n * sizeof *self->control);
    if (pla_performance_get_shape(p, self->frame, self->pos)) {
      stop_live(self);
      self->shown = PLA_SHOWN_STORED;
    } else {
      pla_motion_player_pose(self, self->control);
    }
  } else if (self->play == PLA_PLAY_PREVIEW && p && self->preview.show) {
    if (self->preview.show(self->frame, self->pos, self->control, self->preview.data)) {
      stop_live(self);
      self->shown = PLA_SHOWN_STORED;
    } else {
      pla_motion_player_pose(self, self->control);
    }
  }
  show_all(self);
}

static void
update_reel(PlaMotionPlayer *self)
{
  const PlaPerformance *p = self->performance;
  PlaReel reel = { 0 };
  if (self->on && p && self->play == PLA_PLAY_TRACK && p->moves.n_frames > 0) {
    reel.n_frames = p->moves.n_frames;
    reel.rate_hz = p->moves.rate_hz;
    reel.start_s = p->track->track->start_s;
    reel.title = self->name[PLA_MOTION_TRACK];
  } else if (self->on && p && self->play == PLA_PLAY_TAKE && p->take) {
    reel.n_frames = p->take->n_frames;
    reel.rate_hz = p->take->rate_hz;
    reel.start_s = p->take->start_s;
    reel.title = self->name[PLA_MOTION_MARKERS];
  } else if (self->on && p && self->play == PLA_PLAY_PREVIEW && self->preview.show) {
    reel.n_frames = self->preview.n_frames;
    reel.rate_hz = self->preview.rate_hz;
    reel.start_s = self->preview.start_s;
    reel.title = (char *)self->preview.title;
  }
  self->frame = 0;
  /* the first frame is shown by the timeline, which comes back here */
  pla_tools_set_reel(tools_of(self), self, self->on && p ? &reel : NULL);
}

static void
on_frame_shown(PlaMotionPlayer *self, int frame)
{
  if (!self->on || pla_tools_get_reel(tools_of(self))->owner != self)
    return;
  self->frame = frame;
  show_frame(self);
}

void
pla_motion_player_set_play(PlaMotionPlayer *self, PlaPlay play)
{
  if (play == self->play)
    return;
  self->play = play;
  if (play != PLA_PLAY_TRACK && play != PLA_PLAY_PREVIEW)
    rest(self);
  update_reel(self);
  show_all(self);
}

void
pla_motion_player_set_preview(PlaMotionPlayer *self, const PlaPreview *preview)
{
  if (!preview && !self->preview.show)
    return;
  g_free(self->preview_title);
  self->preview_title = g_strdup(preview ? preview->title : NULL);
  self->preview = preview ? *preview : (PlaPreview){ 0 };
  self->preview.title = self->preview_title;
  if (self->play == PLA_PLAY_PREVIEW)
    update_reel(self);
}

int
pla_motion_player_get_frame(PlaMotionPlayer *self)
{
  return self->frame;
}

void
pla_motion_player_set_layers(PlaMotionPlayer *self, gboolean muscles, gboolean markers,
                             gboolean misfits)
{
  const gboolean skin = muscles != self->muscles;
  self->muscles = muscles;
  self->markers = markers;
  self->misfits = misfits;
  if (self->on && skin)
    show_skin(self);
  show_strands(self);
  show_marks(self);
}

void
pla_motion_player_set_on(PlaMotionPlayer *self, gboolean on)
{
  if (on == self->on)
    return;
  self->on = on;
  if (!on)
    stop_live(self);
  show_skin(self);
  update_reel(self);
  show_all(self);
}

const double *
pla_motion_player_get_controls(PlaMotionPlayer *self)
{
  return self->performance ? self->control : NULL;
}

PlaShown
pla_motion_player_get_shown(PlaMotionPlayer *self)
{
  return self->shown;
}

/* ------------------------------------------------------------------------ reading */

typedef struct {
  PlaMotionPlayer *self;
  guint serial;
  char *path, *name[PLA_N_MOTION_ITEMS];
  gboolean by_geometry;
  PlaState state;
  PlaPerformance *performance;
} Work;

static void
work_free(gpointer data)
{
  Work *work = data;
  g_object_unref(work->self);
  g_free(work->path);
  for (int i = 0; i < PLA_N_MOTION_ITEMS; i++)
    g_free(work->name[i]);
  pla_state_clear(&work->state);
  pla_performance_free(work->performance);
  g_free(work);
}

static PlaStatus
read_performance(gpointer data, PlaProgress *progress, PlaError *err)
{
  Work *work = data;
  const PlaPerformanceItems items = { .muscles = work->name[PLA_MOTION_MUSCLES],
                                      .track = work->name[PLA_MOTION_TRACK],
                                      .markers = work->name[PLA_MOTION_MARKERS],
                                      .by_geometry = work->by_geometry };
  return pla_performance_load(work->path, &work->state, &items, progress, &work->performance, err);
}

/* thin against the body */
static double
strand_radius_mm(const PlaMesh *mesh)
{
  double lo[3] = { INFINITY, INFINITY, INFINITY }, hi[3] = { -INFINITY, -INFINITY, -INFINITY };
  for (int i = 0; i < 3 * mesh->n_verts; i++) {
    lo[i % 3] = fmin(lo[i % 3], mesh->pos[i]);
    hi[i % 3] = fmax(hi[i % 3], mesh->pos[i]);
  }
  return 1e3 * 0.0025 * hypot(hypot(hi[0] - lo[0], hi[1] - lo[1]), hi[2] - lo[2]);
}

/* takes @performance */
static void
take_performance(PlaMotionPlayer *self, PlaPerformance *performance)
{
  const gboolean same =
      performance && self->performance &&
      performance->body->mesh->n_verts == self->performance->body->mesh->n_verts &&
      pla_active_n_controls(performance->body->model) ==
          pla_active_n_controls(self->performance->body->model);
  if (!performance && self->performance) {
    const gboolean on = self->on;
    self->on = FALSE;
    show_all(self);
    self->on = on;
  }
  stop_live(self);
  pla_performance_free(self->performance);
  self->performance = performance;
  if (!same) {
    g_clear_pointer(&self->pos, g_free);
    g_clear_pointer(&self->control, g_free);
  }
  if (performance && !self->pos) {
    self->pos = g_new(double, 3 * (gsize)performance->body->mesh->n_verts + 1);
    self->control = g_new0(double, (gsize)pla_active_n_controls(performance->body->model) + 1);
    self->strand_mm = strand_radius_mm(performance->body->mesh);
    rest(self);
  }
  if (self->on)
    show_skin(self);
  update_reel(self);
  show_all(self);
  g_signal_emit(self, signals[CHANGED], 0);
}

static void
on_read(PlaJob *job, gpointer data, PlaStatus status, const PlaError *err)
{
  Work *work = data;
  PlaMotionPlayer *self = work->self;
  if (!self->document)
    return;
  if (work->serial == self->serial) {
    if (status == PLA_OK)
      take_performance(self, g_steal_pointer(&work->performance));
    else if (status != PLA_ERR_CANCELLED)
      g_signal_emit(self, signals[FAILED], 0, err->message);
  }
  pla_document_retire_job(self->document, job);
}

static const PlaState *
state_of(PlaMotionPlayer *self)
{
  PlaSession *session = self->document ? pla_document_get_session(self->document) : NULL;
  return session ? pla_session_get_state(session) : NULL;
}

static gboolean
is_offered(const PlaStateItem *item, PlaMotionItem which)
{
  return strcmp(item->kind, kinds[which]) == 0 &&
         !(which == PLA_MOTION_TRACK && (g_str_has_suffix(item->name, ", residuals") ||
                                         g_str_has_suffix(item->name, ", residuals by axis")));
}

GStrv
pla_motion_player_list(PlaMotionPlayer *self, PlaMotionItem which)
{
  const PlaState *state = state_of(self);
  g_autoptr(GStrvBuilder) names = g_strv_builder_new();
  for (int i = 0; state && i < state->n; i++)
    if (is_offered(&state->item[i], which))
      g_strv_builder_add(names, state->item[i].name);
  return g_strv_builder_end(names);
}

/* the item in use: what was chosen while it is there, else the newest */
static const PlaStateItem *
find_item(PlaMotionPlayer *self, const PlaState *state, PlaMotionItem which)
{
  const PlaStateItem *found = NULL;
  for (int i = 0; i < state->n; i++)
    if (is_offered(&state->item[i], which)) {
      if (self->chosen[which] && strcmp(state->item[i].name, self->chosen[which]) == 0)
        return &state->item[i];
      found = &state->item[i];
    }
  return found;
}

static void
update(PlaMotionPlayer *self)
{
  const PlaState *state = state_of(self);
  PlaHash hash[PLA_N_MOTION_ITEMS + 2] = { 0 };
  gboolean same = TRUE;
  for (int i = 0; i < PLA_N_MOTION_ITEMS; i++) {
    const PlaStateItem *item = state ? find_item(self, state, (PlaMotionItem)i) : NULL;
    if (item)
      hash[i] = item->hash;
    same = same && g_strcmp0(self->name[i], item ? item->name : NULL) == 0;
    g_free(self->name[i]);
    self->name[i] = g_strdup(item ? item->name : NULL);
  }
  /* shapes and residuals come after their track and take */
  static const char *const behind[] = { "%s, shapes", "%s, residuals" };
  for (int i = 0; i < 2 && state; i++) {
    const char *of = self->name[i == 0 ? PLA_MOTION_TRACK : PLA_MOTION_MARKERS];
    g_autofree char *called = of ? g_strconcat(of, behind[i] + 2, NULL) : NULL;
    const PlaStateItem *item = called ? pla_state_find_name(state, called) : NULL;
    if (item)
      hash[PLA_N_MOTION_ITEMS + i] = item->hash;
  }
  if (same && memcmp(hash, self->hash, sizeof hash) == 0)
    return;
  memcpy(self->hash, hash, sizeof hash);
  self->serial++;
  if (!self->name[PLA_MOTION_MUSCLES]) {
    take_performance(self, NULL);
    return;
  }
  PlaError err;
  Work *work = g_new0(Work, 1);
  work->self = g_object_ref(self);
  work->serial = self->serial;
  work->path = g_strdup(pla_session_get_path(pla_document_get_session(self->document)));
  work->by_geometry = self->by_geometry;
  for (int i = 0; i < PLA_N_MOTION_ITEMS; i++)
    work->name[i] = g_strdup(self->name[i]);
  if (pla_state_dup(state, &work->state, &err) != PLA_OK) {
    work_free(work);
    g_signal_emit(self, signals[FAILED], 0, err.message);
    return;
  }
  g_autoptr(PlaJob) job =
      pla_job_start(_("Reading muscles"), read_performance, on_read, work, work_free);
  pla_document_add_job(self->document, job);
}

static void
on_shape_changed(PlaMotionPlayer *self, PlaEntry *entry)
{
  /* a pose that was kept is what the body does already */
  PlaContent *content = pla_entry_get_content(entry);
  if (self->on && content && pla_content_get_made(content).posed)
    pla_entry_set_visible(entry, FALSE);
  if (self->performance && self->on && entry == body_entry(self)) {
    show_skin(self);
    show_body(self);
  }
}

const char *
pla_motion_player_get_name(PlaMotionPlayer *self, PlaMotionItem which)
{
  return self->name[which];
}

void
pla_motion_player_choose(PlaMotionPlayer *self, PlaMotionItem which, const char *name)
{
  if (g_strcmp0(self->chosen[which], name) == 0)
    return;
  g_free(self->chosen[which]);
  self->chosen[which] = g_strdup(name);
  update(self);
}

void
pla_motion_player_set_by_geometry(PlaMotionPlayer *self, gboolean by_geometry)
{
  if (by_geometry == self->by_geometry)
    return;
  self->by_geometry = by_geometry;
  memset(self->hash, 0, sizeof self->hash); /* read again */
  update(self);
}

const PlaPerformance *
pla_motion_player_get(PlaMotionPlayer *self)
{
  return self->performance;
}

PlaDocument *
pla_motion_player_get_document(PlaMotionPlayer *self)
{
  return self->document;
}

/* --------------------------------------------------------------------------- type */

static void
pla_motion_player_dispose(GObject *object)
{
  PlaMotionPlayer *self = PLA_MOTION_PLAYER(object);
  stop_live(self);
  for (int i = 0; i < PLA_N_MOTION_ITEMS; i++) {
    g_clear_pointer(&self->chosen[i], g_free);
    g_clear_pointer(&self->name[i], g_free);
  }
  g_clear_pointer(&self->preview_title, g_free);
  g_clear_pointer(&self->performance, pla_performance_free);
  g_clear_pointer(&self->pos, g_free);
  g_clear_pointer(&self->control, g_free);
  g_clear_object(&self->document);
  G_OBJECT_CLASS(pla_motion_player_parent_class)->dispose(object);
}

static void
pla_motion_player_class_init(PlaMotionPlayerClass *klass)
{
  G_OBJECT_CLASS(klass)->dispose = pla_motion_player_dispose;
#define SIGNAL(NAME, ...)                                                                          \
  g_signal_new(NAME, PLA_TYPE_MOTION_PLAYER, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE,  \
               __VA_ARGS__)
  signals[CHANGED] = SIGNAL("changed", 0);
  signals[MOVED] = SIGNAL("moved", 0);
  signals[FAILED] = SIGNAL("failed", 1, G_TYPE_STRING);
#undef SIGNAL
}

static void
pla_motion_player_init(PlaMotionPlayer *self)
{
  self->muscles = self->markers = self->misfits = TRUE;
}

PlaMotionPlayer *
pla_motion_player_new(PlaDocument *document)
{
  PlaMotionPlayer *self = g_object_new(PLA_TYPE_MOTION_PLAYER, NULL);
  self->document = g_object_ref(document);
  g_signal_connect_object(document, "history-changed", G_CALLBACK(update), self, G_CONNECT_SWAPPED);
  g_signal_connect_object(document, "reset", G_CALLBACK(update), self, G_CONNECT_SWAPPED);
  g_signal_connect_object(document, "shape-changed", G_CALLBACK(on_shape_changed), self,
                          G_CONNECT_SWAPPED);
  g_signal_connect_object(pla_document_get_tools(document), "frame-shown",
                          G_CALLBACK(on_frame_shown), self, G_CONNECT_SWAPPED);
  update(self);
  return self;
}
