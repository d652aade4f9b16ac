/* Reads a take or a mesh series on a worker, and steps through its frames by the frame clock. */
#include "ui/views/timeline.h"

#include "app/base/quantity.h"
#include "app/content/files.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

/* What moves: one array of positions for each moment. */
typedef struct {
  char *title;
  int n_frames, n_points;
  double *time_s;  /* n_frames */
  float *pos_m;    /* n_frames x n_points x 3; NaN: missing */
  GStrv names;     /* of markers; NULL: vertices of a mesh */
  char *mesh_path; /* of the first mesh of a series, or NULL */
  gboolean reel;   /* a panel shows the frames; there are no points here */
} Motion;

static void
motion_free(Motion *motion)
{
  if (!motion)
    return;
  g_free(motion->title);
  g_free(motion->time_s);
  g_free(motion->pos_m);
  g_strfreev(motion->names);
  g_free(motion->mesh_path);
  g_free(motion);
}

struct _PlaTimeline {
  GtkWidget parent_instance;
  PlaDocument *document;
  GtkWidget *box, *play, *scale, *label, *title;
  Motion *motion; /* or NULL */
  PlaHash hash;   /* of the item it came from */
  gboolean of_case;
  int frame;
  guint tick;         /* while playing */
  double began_s;     /* of the recording, when play began */
  gint64 began_us;    /* of the clock */
  gboolean following; /* the slider is being set, not dragged */
  guint serial;
};

G_DEFINE_FINAL_TYPE(PlaTimeline, pla_timeline, GTK_TYPE_WIDGET)

/* -------------------------------------------------------------------- showing */

typedef struct {
  int n_verts;
  PlaEntry *found;
} Search;

static void
find_mesh(PlaEntry *entry, gpointer data)
{
  Search *search = data;
  const PlaMesh *mesh = pla_entry_get_mesh(entry);
  if (pla_entry_get_kind(entry) == PLA_ENTRY_MESH && mesh && mesh->n_verts == search->n_verts)
    search->found = entry;
}

static void
show_frame(PlaTimeline *self)
{
  const Motion *motion = self->motion;
  if (!motion)
    return;
  const gsize n = (gsize)motion->n_points;
  g_autofree double *point = g_new(double, 3 * n + 1);
  for (gsize i = 0; i < 3 * n; i++)
    point[i] =
        (motion->names ? 1000.0 : 1.0) * (double)motion->pos_m[3 * n * (gsize)self->frame + i];
  if (motion->reel) {
    pla_tools_show_frame(pla_document_get_tools(self->document), self->frame);
  } else if (motion->names) {
    pla_annotations_set_moving(pla_document_get_annotations(self->document), point,
                               motion->n_points, (const char *const *)motion->names);
  } else {
    Search search = { motion->n_points, NULL };
    pla_document_foreach(self->document, find_mesh, &search);
    if (search.found)
      pla_tools_move(pla_document_get_tools(self->document), search.found, point);
  }
  self->following = TRUE;
  gtk_range_set_value(GTK_RANGE(self->scale), self->frame);
  self->following = FALSE;
  g_autofree char *now =
      pla_quantity_number(PLA_QUANTITY_TIME, motion->time_s[self->frame], PLA_UNIT_S);
  g_autofree char *end =
      pla_quantity_text(PLA_QUANTITY_TIME, motion->time_s[motion->n_frames - 1], PLA_UNIT_S);
  g_autofree char *text = g_strdup_printf(_("%s of %s"), now, end);
  gtk_label_set_label(GTK_LABEL(self->label), text);
}

int
pla_timeline_n_frames(PlaTimeline *self)
{
  return self->motion ? self->motion->n_frames : 0;
}

int
pla_timeline_get_frame(PlaTimeline *self)
{
  return self->frame;
}

double
pla_timeline_get_time(PlaTimeline *self)
{
  return self->motion ? self->motion->time_s[self->frame] : 0.0;
}

void
pla_timeline_set_frame(PlaTimeline *self, int frame)
{
  if (!self->motion)
    return;
  self->frame = CLAMP(frame, 0, self->motion->n_frames - 1);
  show_frame(self);
}

/* -------------------------------------------------------------------- playing */

static gboolean
on_tick(GtkWidget *widget, GdkFrameClock *clock, gpointer data)
{
  PlaTimeline *self = PLA_TIMELINE(widget);
  const Motion *motion = self->motion;
  const double now =
      self->began_s + (double)(g_get_monotonic_time() - self->began_us) / G_USEC_PER_SEC;
  int frame = self->frame;
  while (frame + 1 < motion->n_frames && motion->time_s[frame + 1] <= now)
    frame++;
  if (frame != self->frame)
    pla_timeline_set_frame(self, frame);
  if (frame + 1 < motion->n_frames)
    return G_SOURCE_CONTINUE;
  self->tick = 0;
  pla_timeline_set_playing(self, FALSE);
  return G_SOURCE_REMOVE;
}

gboolean
pla_timeline_get_playing(PlaTimeline *self)
{
  return self->tick != 0;
}

void
pla_timeline_set_playing(PlaTimeline *self, gboolean playing)
{
  playing = playing && self->motion;
  if (playing && self->tick == 0) {
    /* again from the start, once it is over */
    if (self->frame + 1 >= self->motion->n_frames)
      pla_timeline_set_frame(self, 0);
    self->began_s = pla_timeline_get_time(self);
    self->began_us = g_get_monotonic_time();
    self->tick = gtk_widget_add_tick_callback(GTK_WIDGET(self), on_tick, NULL, NULL);
  } else if (!playing && self->tick != 0) {
    gtk_widget_remove_tick_callback(GTK_WIDGET(self), self->tick);
    self->tick = 0;
  }
  gtk_button_set_icon_name(GTK_BUTTON(self->play), playing ? "media-playback-pause-symbolic"
                                                           : "media-playback-start-symbolic");
  const char *name = playing ? _("Pause") : _("Play");
  gtk_widget_set_tooltip_text(self->play, name);
  gtk_accessible_update_property(GTK_ACCESSIBLE(self->play), GTK_ACCESSIBLE_PROPERTY_LABEL, name,
                                 -1);
}

static void
on_play(PlaTimeline *self)
{
  pla_timeline_set_playing(self, self->tick == 0);
}

static void
on_scrubbed(PlaTimeline *self)
{
  if (self->following)
    return;
  pla_timeline_set_playing(self, FALSE);
  pla_timeline_set_frame(self, (int)lround(gtk_range_get_value(GTK_RANGE(self->scale))));
}

static gboolean
on_key(GtkEventControllerKey *key, guint keyval, guint code, GdkModifierType state,
       PlaTimeline *self)
{
  if (keyval != GDK_KEY_space)
    return FALSE;
  on_play(self);
  return TRUE;
}

/* takes @motion */
static void
take_motion(PlaTimeline *self, Motion *motion)
{
  pla_timeline_set_playing(self, FALSE);
  motion_free(self->motion);
  self->motion = motion;
  self->frame = 0;
  gtk_widget_set_visible(GTK_WIDGET(self), motion != NULL);
  if (self->document && (!motion || !motion->names))
    pla_annotations_set_moving(pla_document_get_annotations(self->document), NULL, 0, NULL);
  if (motion) {
    gtk_range_set_range(GTK_RANGE(self->scale), 0.0, MAX(motion->n_frames - 1, 1));
    gtk_label_set_label(GTK_LABEL(self->title), motion->title);
    show_frame(self);
  }
}

/* -------------------------------------------------------------------- reading */

typedef struct {
  PlaTimeline *self;
  guint serial;
  char *path; /* of the case or of the series */
  gboolean of_case;
  PlaHash hash; /* of the take */
  char *name;
  Motion *motion; /* result */
} Work;

static void
work_free(gpointer data)
{
  Work *work = data;
  g_object_unref(work->self);
  g_free(work->path);
  g_free(work->name);
  motion_free(work->motion);
  g_free(work);
}

static Motion *
motion_of_take(const PlaTake *take, const char *title)
{
  Motion *motion = g_new0(Motion, 1);
  const gsize n = (gsize)take->n_frames * (gsize)take->n_markers;
  motion->title = g_strdup(title);
  motion->n_frames = take->n_frames;
  motion->n_points = take->n_markers;
  motion->time_s = g_new(double, (gsize)take->n_frames + 1);
  motion->pos_m = g_new(float, 3 * n + 1);
  motion->names = g_new0(char *, (gsize)take->n_markers + 1);
  for (int f = 0; f < take->n_frames; f++)
    motion->time_s[f] = take->start_s + (take->rate_hz > 0.0 ? f / take->rate_hz : f);
  for (gsize i = 0; i < 3 * n; i++)
    motion->pos_m[i] = (float)take->pos[i];
  for (int m = 0; m < take->n_markers; m++)
    motion->names[m] = g_strdup(take->name[m] ? take->name[m] : "");
  return motion;
}

/* every mesh of the series; all must have as many vertices as the first */
static PlaStatus
read_series(const char *path, PlaProgress *progress, Motion **out, PlaError *err)
{
  PlaMeshFrames frames;
  PlaStatus st = pla_mesh_frames_read(path, progress, &frames, err);
  if (st != PLA_OK)
    return st;
  Motion *motion = g_new0(Motion, 1);
  motion->title = g_path_get_basename(path);
  motion->n_frames = frames.n_frames;
  motion->n_points = frames.n_verts;
  motion->time_s = g_steal_pointer(&frames.time_s);
  motion->pos_m = g_steal_pointer(&frames.pos_m);
  motion->mesh_path = g_steal_pointer(&frames.first_path);
  pla_mesh_frames_clear(&frames);
  *out = motion;
  return PLA_OK;
}

static PlaStatus
read_motion(gpointer data, PlaProgress *progress, PlaError *err)
{
  Work *work = data;
  if (!work->of_case)
    return read_series(work->path, progress, &work->motion, err);
  PlaStore *store = NULL;
  g_autoptr(PlaContent) content = NULL;
  PlaStatus st = pla_store_open(work->path, &store, err);
  if (st == PLA_OK)
    st = pla_content_load(store, &work->hash, progress, &content, err);
  if (st == PLA_OK && content->take && content->take->n_frames > 0)
    work->motion = motion_of_take(content->take, work->name);
  pla_store_close(store);
  return st;
}

static void
on_read(PlaJob *job, gpointer data, PlaStatus status, const PlaError *err)
{
  Work *work = data;
  PlaTimeline *self = work->self;
  if (!self->document)
    return;
  if (work->serial == self->serial) {
    if (status == PLA_OK) {
      const char *mesh = work->motion ? work->motion->mesh_path : NULL;
      if (mesh)
        pla_document_open(self->document, mesh);
      take_motion(self, g_steal_pointer(&work->motion));
    } else if (status != PLA_ERR_CANCELLED) {
      g_signal_emit_by_name(self->document, "failed", err->message);
    }
  }
  pla_document_retire_job(self->document, job);
}

static void
start_reading(PlaTimeline *self, Work *work, const char *title)
{
  work->self = g_object_ref(self);
  work->serial = ++self->serial;
  g_autoptr(PlaJob) job = pla_job_start(title, read_motion, on_read, work, work_free);
  pla_document_add_job(self->document, job);
}

void
pla_timeline_open(PlaTimeline *self, const char *path)
{
  Work *work = g_new0(Work, 1);
  work->path = g_strdup(path);
  self->of_case = FALSE;
  start_reading(self, work, _("Reading a series of meshes"));
}

/* the newest take of the case */
static void
on_history(PlaTimeline *self)
{
  PlaSession *session = pla_document_get_session(self->document);
  const PlaState *state = session ? pla_session_get_state(session) : NULL;
  const PlaStateItem *found = NULL;
  if (pla_tools_get_reel(pla_document_get_tools(self->document))->owner)
    return;
  for (int i = 0; state && i < state->n; i++)
    if (strcmp(state->item[i].kind, PLA_ITEM_MARKERS) == 0)
      found = &state->item[i];
  if (!found) {
    if (self->of_case || !session)
      take_motion(self, NULL);
    self->of_case = FALSE;
    return;
  }
  if (self->of_case && pla_hash_equal(&self->hash, &found->hash))
    return;
  Work *work = g_new0(Work, 1);
  work->path = g_strdup(pla_session_get_path(session));
  work->of_case = self->of_case = TRUE;
  work->hash = self->hash = found->hash;
  work->name = g_strdup(found->name);
  start_reading(self, work, _("Reading a recording"));
}

/* a panel has something to be played instead, or no longer */
static void
on_reel(PlaTimeline *self)
{
  const PlaReel *reel = pla_tools_get_reel(pla_document_get_tools(self->document));
  self->serial++; /* what is being read comes too late */
  self->of_case = FALSE;
  if (reel->n_frames < 1) {
    take_motion(self, NULL);
    on_history(self); /* unless that is not wanted either */
    return;
  }
  Motion *motion = g_new0(Motion, 1);
  motion->reel = TRUE;
  motion->title = g_strdup(reel->title);
  motion->n_frames = reel->n_frames;
  motion->time_s = g_new(double, (gsize)reel->n_frames);
  for (int f = 0; f < reel->n_frames; f++)
    motion->time_s[f] = reel->start_s + (reel->rate_hz > 0.0 ? f / reel->rate_hz : f);
  take_motion(self, motion);
}

static void
on_seek(PlaTimeline *self, int frame)
{
  pla_timeline_set_playing(self, FALSE);
  pla_timeline_set_frame(self, frame);
}

/* ------------------------------------------------------------------------ type */

static void
pla_timeline_dispose(GObject *object)
{
  PlaTimeline *self = PLA_TIMELINE(object);
  if (self->tick != 0)
    gtk_widget_remove_tick_callback(GTK_WIDGET(self), self->tick);
  self->tick = 0;
  g_clear_pointer(&self->motion, motion_free);
  g_clear_pointer(&self->box, gtk_widget_unparent);
  g_clear_object(&self->document);
  G_OBJECT_CLASS(pla_timeline_parent_class)->dispose(object);
}

static void
pla_timeline_class_init(PlaTimelineClass *klass)
{
  G_OBJECT_CLASS(klass)->dispose = pla_timeline_dispose;
  gtk_widget_class_set_layout_manager_type(GTK_WIDGET_CLASS(klass), GTK_TYPE_BIN_LAYOUT);
}

static void
pla_timeline_init(PlaTimeline *self)
{
  self->box = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 9);
  gtk_widget_set_parent(self->box, GTK_WIDGET(self));
  gtk_widget_add_css_class(self->box, "timeline");
  self->play = gtk_button_new_from_icon_name("media-playback-start-symbolic");
  gtk_widget_add_css_class(self->play, "flat");
  self->title = gtk_label_new(NULL);
  gtk_label_set_ellipsize(GTK_LABEL(self->title), PANGO_ELLIPSIZE_END);
  gtk_label_set_max_width_chars(GTK_LABEL(self->title), 24);
  gtk_widget_add_css_class(self->title, "caption-heading");
  self->scale = gtk_scale_new_with_range(GTK_ORIENTATION_HORIZONTAL, 0.0, 1.0, 1.0);
  gtk_widget_set_hexpand(self->scale, TRUE);
  gtk_accessible_update_property(GTK_ACCESSIBLE(self->scale), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                 _("Time"), -1);
  self->label = gtk_label_new(NULL);
  gtk_label_set_width_chars(GTK_LABEL(self->label), 18);
  gtk_label_set_xalign(GTK_LABEL(self->label), 1.0f);
  gtk_widget_add_css_class(self->label, "caption");
  gtk_widget_add_css_class(self->label, "numeric");
  GtkWidget *const parts[] = { self->play, self->title, self->scale, self->label };
  for (size_t i = 0; i < G_N_ELEMENTS(parts); i++)
    gtk_box_append(GTK_BOX(self->box), parts[i]);
  g_signal_connect_swapped(self->play, "clicked", G_CALLBACK(on_play), self);
  g_signal_connect_swapped(self->scale, "value-changed", G_CALLBACK(on_scrubbed), self);
  GtkEventController *key = gtk_event_controller_key_new();
  gtk_event_controller_set_propagation_phase(key, GTK_PHASE_CAPTURE);
  g_signal_connect(key, "key-pressed", G_CALLBACK(on_key), self);
  gtk_widget_add_controller(GTK_WIDGET(self), key);
  pla_timeline_set_playing(self, FALSE);
  gtk_widget_set_visible(GTK_WIDGET(self), FALSE);
}

GtkWidget *
pla_timeline_new(PlaDocument *document)
{
  PlaTimeline *self = g_object_new(PLA_TYPE_TIMELINE, NULL);
  self->document = g_object_ref(document);
  g_signal_connect_object(document, "history-changed", G_CALLBACK(on_history), self,
                          G_CONNECT_SWAPPED);
  PlaTools *tools = pla_document_get_tools(document);
  g_signal_connect_object(tools, "reel-changed", G_CALLBACK(on_reel), self, G_CONNECT_SWAPPED);
  g_signal_connect_object(tools, "seek", G_CALLBACK(on_seek), self, G_CONNECT_SWAPPED);
  return GTK_WIDGET(self);
}
