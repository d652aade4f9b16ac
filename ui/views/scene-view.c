/* The GtkGLArea: prepares meshes on workers, draws drafts while something moves and the full
 * picture in bands at rest, and reports picks and drags to the tools. */
#include "ui/views/scene-view.h"

#include "anatomy/volume/slice.h"
#include "app/base/quantity.h"
#include "app/show/overlay.h"
#include "app/show/picture.h"
#include "ui/views/scene-sketch.h"
#include "ui/views/volume-cast.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

/* scene ids beyond all entries */
enum {
  SLICE_ID = 1 << 24,
  /* the three planes */ MARK_ID = 1 << 25 /* marks by their kind */,
  SKETCH_ID = 1 << 26,
  STRAND_ID = SKETCH_ID + 16
};

enum {
  REST_MS = 180,   /* without motion, after which the full picture is begun */
  BAND_US = 45000, /* what a band of it may take */
  PAUSE_MS = 4,    /* between two, for whatever else is to be drawn */
  MOST_BANDS = 64,
  PLAIN_FACES = 20000, /* of meshes that are made ready at once, without a worker */
};

struct _PlaSceneView {
  GtkWidget parent_instance;
  PlaDocument *document;
  GtkWidget *overlay, *area, *volume, *ink;
  const PlaRenderer *render;
  PlaScene *scene; /* NULL: drawing is not possible here */
  PlaCamera camera;
  PlaViewPreset preset;
  gboolean aimed; /* looks at a part: new shapes do not change that */
  PlaAim aim;
  gboolean framed_by_user; /* the camera was moved: new shapes do not move it again */
  gboolean slices, dark;
  gboolean blade; /* a sketch goes through the body */
  guint settle;   /* source id: full quality once nothing moves */
  guint refine;   /* source id: the full picture grows, a band a turn */
  int band, n_bands;
  gboolean complete; /* the full picture is there */
  guint preparing;   /* shapes on their way */
  guint warming;     /* source id: pictures that the driver has not seen yet */
  int warmed;
  const PlaTransfer *transfer; /* how the scan itself is shown, or NULL: shapes */
  PlaVolumeCast *cast;         /* draws it */
  char *clip;                  /* the side that is cut away at the crosshair, or NULL */

  enum { IDLE, TURNING, PANNING, ZOOMING, PULLING, PLACING } drag;
  double pressed[2]; /* where the drag began */
  PlaCamera start;
  int pulled;             /* mark under the hand */
  double pulled_mm[3];    /* where it was picked */
  double pulled_start[3]; /* its pull then */
};

enum { HOVERED, N_SIGNALS };
static guint signals[N_SIGNALS];

G_DEFINE_FINAL_TYPE(PlaSceneView, pla_scene_view, GTK_TYPE_WIDGET)

static void
redraw(PlaSceneView *self)
{
  gtk_gl_area_queue_render(GTK_GL_AREA(self->area));
  gtk_widget_queue_draw(self->ink);
}

/* one band of the full picture; short enough for the hand not to notice */
static gboolean
on_refine(gpointer data)
{
  PlaSceneView *self = data;
  int scale = gtk_widget_get_scale_factor(self->area);
  int w = gtk_widget_get_width(self->area) * scale, h = gtk_widget_get_height(self->area) * scale;
  PlaError err;
  gint64 begun = g_get_monotonic_time();
  gboolean drawable = self->scene && gtk_widget_get_mapped(self->area) && w > 0 && h > 0;
  if (drawable) {
    gtk_gl_area_make_current(GTK_GL_AREA(self->area));
    self->render->set_camera(self->scene, &self->camera);
    if (self->render->draw_band(self->scene, w, h, self->band, self->n_bands, &err) != PLA_OK) {
      g_signal_emit_by_name(self->document, "failed", err.message);
      drawable = FALSE;
    }
    gdk_gl_context_clear_current();
  }
  gint64 took = g_get_monotonic_time() - begun;
  if (took > BAND_US && self->n_bands < MOST_BANDS) {
    /* too slow for this machine: the rest in thinner bands */
    self->band = 2 * self->band + 1;
    self->n_bands *= 2;
  }
  if (drawable && ++self->band < self->n_bands)
    return G_SOURCE_CONTINUE;
  if (drawable && took < BAND_US / 4 && self->n_bands > 1)
    self->n_bands /= 2;
  self->refine = 0;
  self->complete = drawable;
  redraw(self);
  return G_SOURCE_REMOVE;
}

static void
cast_again(PlaSceneView *self)
{
  pla_volume_cast_look(self->cast, &self->camera, gtk_widget_get_width(self->area),
                       gtk_widget_get_height(self->area), self->dark);
}

/* another scan, or another preset */
static void
update_volume(PlaSceneView *self)
{
  const PlaVolume *volume = NULL;
  gpointer held = self->transfer ? pla_document_hold_volume(self->document, &volume) : NULL;
  pla_volume_cast_set_source(self->cast, held, volume, self->transfer);
  cast_again(self);
}

void
pla_scene_view_set_volume(PlaSceneView *self, const char *preset)
{
  self->transfer = preset ? pla_transfer_find(preset) : NULL;
  update_volume(self);
}

static gboolean
on_settled(gpointer data)
{
  PlaSceneView *self = data;
  self->settle = 0;
  self->band = 0;
  /* not when idle: a spinner is drawn before that, and goes on as long as the work does */
  self->refine = g_timeout_add(PAUSE_MS, on_refine, self);
  return G_SOURCE_REMOVE;
}

/* fast pictures now, a good one when nothing has moved for a moment */
static void
moved(PlaSceneView *self)
{
  self->complete = FALSE;
  g_clear_handle_id(&self->refine, g_source_remove);
  g_clear_handle_id(&self->settle, g_source_remove);
  self->settle = g_timeout_add(REST_MS, on_settled, self);
  cast_again(self);
  redraw(self);
}

/* while nobody needs the window, the driver learns what it will have to draw */
static gboolean
on_warm(gpointer data)
{
  PlaSceneView *self = data;
  GtkGLArea *area = GTK_GL_AREA(self->area);
  if (self->scene && !gtk_widget_get_realized(self->area))
    gtk_widget_realize(self->area);
  gboolean more =
      self->scene && gtk_widget_get_realized(self->area) && !gtk_gl_area_get_error(area);
  if (more) {
    gtk_gl_area_make_current(area);
    more = self->render->warm_up(self->scene, self->warmed++);
    gdk_gl_context_clear_current();
  }
  if (more)
    return G_SOURCE_CONTINUE;
  self->warming = 0;
  return G_SOURCE_REMOVE;
}

gboolean
pla_scene_view_is_settled(PlaSceneView *self)
{
  return self->settle == 0 && self->warming == 0 && !pla_volume_cast_is_busy(self->cast) &&
         self->refine == 0 && self->preparing == 0;
}

static double
aspect(PlaSceneView *self)
{
  return (double)MAX(gtk_widget_get_width(GTK_WIDGET(self)), 1) /
         MAX(gtk_widget_get_height(GTK_WIDGET(self)), 1);
}

/* stands where the aim says, upright; the perspective stays that of the whole */
static void
aim_camera(PlaSceneView *self)
{
  enum { LEAST_MM = 45 }; /* around a small wound: enough to know where on the body one is */
  PlaCamera *camera = &self->camera;
  const PlaAim *aim = &self->aim;
  const gboolean flat = fabs(aim->towards[2]) > 0.9;
  const double radius = fmax(1.6 * aim->radius_mm, LEAST_MM) / fmin(1.0, aspect(self));
  const double away = radius / tan(0.5 * camera->angle_deg * G_PI / 180.0);
  for (int d = 0; d < 3; d++) {
    camera->focus_mm[d] = aim->middle_mm[d];
    camera->eye_mm[d] = aim->middle_mm[d] + away * aim->towards[d];
    camera->up[d] = d == (flat ? 1 : 2);
  }
  camera->height_mm = 2.0 * radius;
}

static void
fit(PlaSceneView *self)
{
  double lo[3], hi[3];
  if (!self->scene)
    return;
  if (!self->render->bounds(self->scene, lo, hi))
    for (int d = 0; d < 3; d++) {
      lo[d] = -100.0;
      hi[d] = 100.0;
    }
  self->camera = pla_camera_fit(self->preset, lo, hi, aspect(self));
  if (self->aimed)
    aim_camera(self);
  moved(self);
}

void
pla_scene_view_warm_up(PlaSceneView *self)
{
  if (self->warming == 0 && self->warmed == 0 && self->scene)
    self->warming = g_idle_add_full(G_PRIORITY_LOW, on_warm, self, NULL);
}

void
pla_scene_view_turn(PlaSceneView *self, double right_deg, double up_deg)
{
  self->framed_by_user = TRUE;
  pla_camera_orbit(&self->camera, right_deg, up_deg);
  moved(self);
}

void
pla_scene_view_look(PlaSceneView *self, PlaViewPreset preset)
{
  self->preset = preset;
  self->framed_by_user = self->aimed = FALSE;
  fit(self);
}

static void
on_aimed(PlaSceneView *self, const PlaAim *aim)
{
  self->aim = *aim;
  self->aimed = TRUE;
  self->framed_by_user = FALSE;
  fit(self);
}

/* ------------------------------------------------------------------- shapes */

static void
set_style(PlaSceneView *self, PlaEntry *entry)
{
  const GdkRGBA *rgba = pla_entry_get_rgba(entry);
  const PlaMesh *mesh = pla_entry_get_mesh(entry);
  const PlaFieldView *field = pla_entry_get_field(entry);
  const int id = pla_entry_get_id(entry);
  const gboolean solid = mesh && mesh->n_tets + mesh->n_hexes > 0;
  PlaSceneStyle style = pla_scene_style_default();
  style.visible = pla_entry_get_visible(entry);
  style.rgb[0] = rgba->red;
  style.rgb[1] = rgba->green;
  style.rgb[2] = rgba->blue;
  style.opacity = rgba->alpha;
  style.finish = field && !field->tissue ? PLA_FINISH_MATT : pla_entry_get_finish(entry);
  style.edges = pla_entry_get_edges(entry);
  style.flat = solid && style.edges;
  style.clipped = !pla_entry_get_whole(entry);
  if (style.opacity < 1.0) {
    style.rim = 0.7;
    style.hide_back = !self->clip; /* what is cut open shows its inside */
  }
  /* where a blade goes through all, bones are seen */
  if (mesh && strcmp(pla_entry_get_content(entry)->kind, PLA_ITEM_BODY) == 0 &&
      pla_tools_get_sketch(pla_document_get_tools(self->document))->through) {
    style.opacity = fmin(style.opacity, 0.5);
    style.hide_back = true;
  }
  self->render->set_style(self->scene, id, &style);

  PlaSceneColours colours = { 0 };
  colours.value = pla_entry_get_values(entry, &colours.lo, &colours.hi);
  if (field && colours.value) {
    uint8_t map[256 * 3];
    pla_colour_map_table(pla_quantity_get(field->quantity)->map, map);
    colours.on_cells = field->place == PLA_ON_CELLS;
    colours.n = colours.on_cells ? pla_mesh_n_cells(mesh) : (size_t)mesh->n_verts;
    colours.map_rgb = map;
    self->render->set_colours(self->scene, id, &colours);
  } else {
    self->render->set_colours(self->scene, id, NULL);
  }
}

static void
show_shape(PlaSceneView *self, PlaEntry *entry, PlaSceneShape *shape)
{
  PlaError err;
  if (self->render->put_shape(self->scene, pla_entry_get_id(entry), shape, &err) != PLA_OK) {
    g_signal_emit_by_name(self->document, "failed", err.message);
    return;
  }
  set_style(self, entry);
  if (self->framed_by_user)
    moved(self);
  else
    fit(self);
}

/* a mesh on its way to the scene: what can be done without it is done on a worker */
typedef struct {
  const PlaRenderer *render;
  PlaEntry *entry;
  PlaContent *content;
  float *open;
  PlaSceneShape *shape;
  PlaError err;
} Preparing;

static void
preparing_free(gpointer data)
{
  Preparing *p = data;
  p->render->shape_free(p->shape);
  pla_content_unref(p->content);
  g_object_unref(p->entry);
  g_free(p->open);
  g_free(p);
}

static void
prepare(Preparing *p)
{
  const PlaMesh *mesh = p->content->mesh;
  const PlaSceneMesh shape = { .n_verts = mesh->n_verts,
                               .n_tris = mesh->n_tris,
                               .n_tets = mesh->n_tets,
                               .n_hexes = mesh->n_hexes,
                               .pos = mesh->pos,
                               .to_mm = 1000.0,
                               .tri = mesh->tri,
                               .tet = mesh->tet,
                               .hex = mesh->hex,
                               .open = p->open };
  p->render->shape_new(&shape, &p->shape, &p->err);
}

static void
prepare_in_thread(GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  prepare(data);
  g_task_return_boolean(task, TRUE);
}

static void
on_prepared(GObject *source, GAsyncResult *result, gpointer data)
{
  PlaSceneView *self = PLA_SCENE_VIEW(source);
  Preparing *p = g_task_get_task_data(G_TASK(result));
  self->preparing--;
  /* it may have changed or gone meanwhile */
  if (self->scene && pla_entry_get_content(p->entry) == p->content) {
    if (p->shape)
      show_shape(self, p->entry, g_steal_pointer(&p->shape));
    else
      g_signal_emit_by_name(self->document, "failed", p->err.message);
  }
}

static void
on_shape(PlaSceneView *self, PlaEntry *entry)
{
  if (!self->scene)
    return;
  const PlaMesh *mesh = pla_entry_get_mesh(entry);
  if (!mesh) {
    self->render->remove(self->scene, pla_entry_get_id(entry));
    moved(self);
    return;
  }
  Preparing *p = g_new0(Preparing, 1);
  p->render = self->render;
  p->entry = g_object_ref(entry);
  p->content = pla_content_ref(pla_entry_get_content(entry));
  if (pla_entry_get_open(entry))
    p->open = g_memdup2(pla_entry_get_open(entry), (gsize)mesh->n_verts * sizeof *p->open);
  if (mesh->n_tris + 4 * (mesh->n_tets + mesh->n_hexes) < PLAIN_FACES) {
    prepare(p);
    if (p->shape)
      show_shape(self, entry, g_steal_pointer(&p->shape));
    else
      g_signal_emit_by_name(self->document, "failed", p->err.message);
    preparing_free(p);
    return;
  }
  self->preparing++;
  g_autoptr(GTask) task = g_task_new(self, NULL, on_prepared, NULL);
  g_task_set_task_data(task, p, preparing_free);
  g_task_run_in_thread(task, prepare_in_thread);
}

static void
on_entry(PlaSceneView *self, PlaEntry *entry)
{
  if (self->scene && pla_entry_get_mesh(entry)) {
    set_style(self, entry);
    moved(self);
  }
}

/* the shape of an entry while a solver works on it */
static void
on_moved(PlaSceneView *self, PlaEntry *entry, const double *pos)
{
  const PlaMesh *mesh = pla_entry_get_mesh(entry);
  if (!self->scene || !mesh)
    return;
  self->render->move_verts(self->scene, pla_entry_get_id(entry), pos ? pos : mesh->pos, 1000.0);
  moved(self);
}

/* ------------------------------------------------------------------- marks */

static void
on_marks(PlaSceneView *self)
{
  static const double colour[][3] = {
    [PLA_MARK_HELD] = { 0.35, 0.60, 0.95 },   [PLA_MARK_HOOK] = { 1.00, 0.62, 0.10 },
    [PLA_MARK_LOAD] = { 0.90, 0.25, 0.30 },   [PLA_MARK_POINT] = { 0.42, 0.25, 0.80 },
    [PLA_MARK_MARKER] = { 0.20, 0.75, 0.55 }, [PLA_MARK_MISFIT] = { 0.95, 0.20, 0.45 }
  };
  int n;
  const PlaMark *marks = pla_tools_get_marks(pla_document_get_tools(self->document), &n);
  if (!self->scene)
    return;
  g_autofree double *pos = g_new(double, 3 * (gsize)n + 3);
  g_autofree double *dir = g_new(double, 3 * (gsize)n + 3);
  for (int kind = 0; kind < PLA_N_MARKS; kind++) {
    PlaSceneStyle style = pla_scene_style_default();
    memcpy(style.rgb, colour[kind], sizeof style.rgb);
    style.radius_mm = kind == PLA_MARK_MISFIT                          ? 0.8
                      : kind == PLA_MARK_HOOK || kind == PLA_MARK_LOAD ? 2.2
                                                                       : 1.2;
    style.untouchable = kind == PLA_MARK_MARKER || kind == PLA_MARK_MISFIT;
    /* balls under MARK_ID + 2 kind, arrows under the next */
    PlaSceneMarkers balls = { .pos = pos, .to_mm = 1.0 };
    for (int i = 0; i < n; i++) {
      if (marks[i].kind != (PlaMarkKind)kind || kind == PLA_MARK_MISFIT)
        continue;
      for (int d = 0; d < 3; d++)
        pos[3 * balls.n_points + d] = marks[i].at_mm[d] + marks[i].pull_mm[d];
      balls.n_points++;
    }
    PlaError err;
    self->render->remove(self->scene, MARK_ID + 2 * kind);
    if (balls.n_points > 0 &&
        self->render->put_markers(self->scene, MARK_ID + 2 * kind, &balls, &err) == PLA_OK)
      self->render->set_style(self->scene, MARK_ID + 2 * kind, &style);
    PlaSceneMarkers arrows = { .pos = pos, .to_mm = 1.0, .dir = dir };
    for (int i = 0; i < n; i++) {
      const PlaMark *mark = &marks[i];
      if (mark->kind != (PlaMarkKind)kind ||
          hypot(hypot(mark->pull_mm[0], mark->pull_mm[1]), mark->pull_mm[2]) < 0.5)
        continue;
      for (int d = 0; d < 3; d++) {
        pos[3 * arrows.n_points + d] = mark->at_mm[d];
        dir[3 * arrows.n_points + d] = mark->pull_mm[d];
      }
      arrows.n_points++;
    }
    self->render->remove(self->scene, MARK_ID + 2 * kind + 1);
    if (arrows.n_points > 0 &&
        self->render->put_markers(self->scene, MARK_ID + 2 * kind + 1, &arrows, &err) == PLA_OK)
      self->render->set_style(self->scene, MARK_ID + 2 * kind + 1, &style);
  }
  moved(self);
}

static void
restyle(PlaEntry *entry, gpointer data)
{
  if (pla_entry_get_mesh(entry))
    set_style(data, entry);
}

static void
on_sketch(PlaSceneView *self)
{
  if (!self->scene)
    return;
  PlaTools *tools = pla_document_get_tools(self->document);
  pla_scene_put_sketch(self->render, self->scene, SKETCH_ID, tools);
  const gboolean blade = pla_tools_get_sketch(tools)->through;
  if (blade != self->blade) {
    self->blade = blade;
    pla_document_foreach(self->document, restyle, self);
  }
  moved(self);
}

static void
on_strands(PlaSceneView *self)
{
  if (!self->scene)
    return;
  pla_scene_put_strands(self->render, self->scene, STRAND_ID,
                        pla_document_get_tools(self->document));
  moved(self);
}

static void
on_tool(PlaSceneView *self)
{
  PlaTool tool = pla_tools_get(pla_document_get_tools(self->document));
  gboolean mine = tool == PLA_TOOL_PICK || tool == PLA_TOOL_HOOK || tool == PLA_TOOL_DRAW;
  gtk_widget_set_cursor_from_name(GTK_WIDGET(self), mine ? "crosshair" : NULL);
  gtk_widget_queue_draw(self->ink);
}

/* -------------------------------------------------------------------- clip */

static void
update_clip(PlaSceneView *self)
{
  static const struct {
    const char *side;
    double normal[3];
  } sides[] = {
    { "right", { 1, 0, 0 } }, { "left", { -1, 0, 0 } }, { "front", { 0, 1, 0 } },
    { "back", { 0, -1, 0 } }, { "above", { 0, 0, 1 } }, { "below", { 0, 0, -1 } },
  };
  if (!self->scene)
    return;
  double cursor[3];
  const double *normal = NULL;
  pla_document_get_cursor(self->document, cursor);
  for (size_t i = 0; i < G_N_ELEMENTS(sides); i++)
    if (g_strcmp0(self->clip, sides[i].side) == 0)
      normal = sides[i].normal;
  self->render->set_clip(self->scene, normal ? cursor : NULL, normal);
}

void
pla_scene_view_set_clip(PlaSceneView *self, const char *side)
{
  const gboolean other = !side != !self->clip;
  g_free(self->clip);
  self->clip = g_strdup(side);
  if (other && self->scene)
    pla_document_foreach(self->document, restyle, self);
  update_clip(self);
  moved(self);
}

/* the three planes through the crosshair as pictures in space */
static void
update_slices(PlaSceneView *self)
{
  if (!self->scene)
    return;
  const PlaVolume *vol = pla_document_get_volume(self->document);
  if (!self->slices || !vol) {
    for (int axis = 0; axis < 3; axis++)
      self->render->remove(self->scene, SLICE_ID + axis);
    return;
  }
  static const int across[3] = { 1, 0, 0 }, down[3] = { 2, 2, 1 };
  double lo[3], hi[3], cursor[3], window[2];
  pla_volume_box(vol, lo, hi);
  pla_document_get_cursor(self->document, cursor);
  pla_document_get_window(self->document, window);
  for (int axis = 0; axis < 3; axis++) {
    double centre[3];
    for (int d = 0; d < 3; d++)
      centre[d] = d == axis ? cursor[d] : 0.5 * (lo[d] + hi[d]);
    const double across_mm = hi[across[axis]] - lo[across[axis]],
                 down_mm = hi[down[axis]] - lo[down[axis]];
    const double mm_per_pixel = fmax(across_mm, down_mm) / 384.0;
    PlaSlicePlane plane = pla_slice_plane((PlaAxis)axis, centre, mm_per_pixel,
                                          MAX((int)(across_mm / mm_per_pixel), 1),
                                          MAX((int)(down_mm / mm_per_pixel), 1), true);
    const size_t n = (size_t)plane.width * plane.height;
    g_autofree float *value = g_new(float, n);
    g_autofree uint32_t *pixel = g_new(uint32_t, n);
    pla_slice_values(vol, 0, &plane, true, value);
    pla_slice_grey(value, n, window[0], window[1], 0xff000000u, pixel);
    PlaSceneImage image = { .width = plane.width, .height = plane.height, .pixel = pixel };
    memcpy(image.origin_mm, plane.origin_mm, sizeof image.origin_mm);
    memcpy(image.right_mm, plane.right_mm, sizeof image.right_mm);
    memcpy(image.down_mm, plane.down_mm, sizeof image.down_mm);
    PlaError err;
    if (self->render->put_image(self->scene, SLICE_ID + axis, &image, &err) != PLA_OK)
      g_signal_emit_by_name(self->document, "failed", err.message);
  }
}

static void
on_slices(PlaSceneView *self)
{
  if (self->slices) {
    update_slices(self);
    moved(self);
  }
}

static void
on_cursor(PlaSceneView *self)
{
  on_slices(self);
  if (self->clip) {
    update_clip(self);
    moved(self);
  }
}

void
pla_scene_view_set_slices(PlaSceneView *self, gboolean shown)
{
  self->slices = shown;
  update_slices(self);
  if (!self->framed_by_user)
    fit(self);
  moved(self);
}

static void
on_reset(PlaSceneView *self)
{
  self->framed_by_user = self->aimed = FALSE;
  update_slices(self);
  if (self->transfer)
    update_volume(self);
  fit(self);
}

/* ----------------------------------------------------------------- drawing */

static void
set_background(PlaSceneView *self)
{
  static const double dark[2][3] = { { 0.165, 0.17, 0.185 }, { 0.07, 0.072, 0.08 } };
  static const double light[2][3] = { { 0.97, 0.97, 0.975 }, { 0.80, 0.81, 0.83 } };
  const double(*pair)[3] = self->dark ? dark : light;
  self->render->set_background(self->scene, pair[0], pair[1]);
}

void
pla_scene_view_set_dark(PlaSceneView *self, gboolean dark)
{
  self->dark = dark;
  if (self->scene)
    set_background(self);
  moved(self);
}

static gboolean
on_render(GtkGLArea *area, GdkGLContext *context, PlaSceneView *self)
{
  int scale = gtk_widget_get_scale_factor(GTK_WIDGET(area));
  int w = gtk_widget_get_width(GTK_WIDGET(area)) * scale;
  int h = gtk_widget_get_height(GTK_WIDGET(area)) * scale;
  if (!self->scene || w < 1 || h < 1)
    return TRUE;
  if (self->complete && self->render->show_bands(self->scene, w, h))
    return TRUE;
  self->render->set_camera(self->scene, &self->camera);
  PlaError err;
  if (self->render->draw(self->scene, w, h, PLA_QUALITY_MOVING, &err) != PLA_OK)
    g_signal_emit_by_name(self->document, "failed", err.message);
  if (self->complete) /* of another size */
    moved(self);
  return TRUE;
}

typedef struct {
  cairo_t *cr;
  const PlaOverlayInk *ink;
  int width, height;
  gboolean drawn;
} Bar;

/* the colour bar of the first visible entry that shows a field */
static void
draw_bar(PlaEntry *entry, gpointer data)
{
  Bar *bar = data;
  const PlaFieldView *field = pla_entry_get_field(entry);
  if (!field || field->tissue || bar->drawn || !pla_entry_get_visible(entry))
    return;
  double lo, hi;
  PlaLegend legend;
  pla_entry_get_values(entry, &lo, &hi);
  pla_legend_init(&legend, field->quantity, lo, hi);
  pla_overlay_colour_bar(bar->cr, bar->ink, bar->width, bar->height, &legend, _(legend.label));
  bar->drawn = TRUE;
}

/* what belongs to the picture, on the screen and in a file alike */
static void
write_on(PlaSceneView *self, cairo_t *cr, const PlaCamera *camera, double width, double height,
         double font)
{
  const PlaOverlayInk ink = { .on_light = !self->dark, .font_size = font };
  pla_annotations_draw_scene(pla_document_get_annotations(self->document), cr, &ink, camera, width,
                             height);
  pla_overlay_scale_bar(cr, &ink, width, height, pla_camera_height_mm(camera) / height);
  pla_overlay_axes(cr, &ink, width - 3.5 * font, height - 3.5 * font, 2.15 * font, camera);
  pla_document_foreach(self->document, draw_bar,
                       &(Bar){ cr, &ink, (int)width, (int)height, FALSE });
}

static void
draw_ink(GtkDrawingArea *area, cairo_t *cr, int width, int height, gpointer data)
{
  PlaSceneView *self = data;
  const PlaOverlayInk ink = { .on_light = !self->dark, .font_size = 13.0 };
  if (pla_document_is_empty(self->document))
    return;
  write_on(self, cr, &self->camera, width, height, ink.font_size);
  pla_overlay_text(cr, &ink, 10.0, 14.0, 0.0, _("3-D"));
  const char *hint = pla_tools_get_hint(pla_document_get_tools(self->document));
  if (hint)
    pla_overlay_text(cr, &ink, 0.5 * width, 34.0, 0.5, hint);
}

static void
on_unrealize(PlaSceneView *self)
{
  if (!self->scene)
    return;
  gtk_gl_area_make_current(GTK_GL_AREA(self->area));
  if (!gtk_gl_area_get_error(GTK_GL_AREA(self->area)))
    self->render->scene_release(self->scene);
  self->complete = FALSE;
  self->warmed = 0;
}

static void
on_resize(PlaSceneView *self)
{
  if (!self->framed_by_user)
    fit(self);
  else
    moved(self);
}

PlaStatus
pla_scene_view_draw(PlaSceneView *self, const PlaViewPreset *preset, int width, int height,
                    cairo_surface_t **out, PlaError *err)
{
  *out = NULL;
  if (!self->scene || !gtk_widget_get_realized(self->area))
    return pla_fail(err, PLA_ERR_UNSUPPORTED, "There is no 3-D view to draw");
  double lo[3], hi[3];
  PlaCamera camera = self->camera;
  if (preset) {
    if (!self->render->bounds(self->scene, lo, hi))
      return pla_fail(err, PLA_ERR_EMPTY, "There is nothing to draw");
    camera = pla_camera_fit(*preset, lo, hi, (double)width / height);
  }
  cairo_surface_t *image = cairo_image_surface_create(CAIRO_FORMAT_RGB24, width, height);
  if (cairo_surface_status(image) != CAIRO_STATUS_SUCCESS) {
    cairo_surface_destroy(image);
    return pla_fail_memory(err, "the picture");
  }
  gtk_gl_area_make_current(GTK_GL_AREA(self->area));
  self->render->set_camera(self->scene, &camera);
  /* rows of a 32-bit cairo image have no padding */
  PlaStatus st =
      self->render->draw_pixels(self->scene, width, height, PLA_QUALITY_FULL,
                                (uint32_t *)(gpointer)cairo_image_surface_get_data(image), err);
  self->render->set_camera(self->scene, &self->camera);
  if (st != PLA_OK) {
    cairo_surface_destroy(image);
    return st;
  }
  cairo_surface_mark_dirty(image);
  cairo_t *cr = cairo_create(image);
  write_on(self, cr, &camera, width, height, fmax(13.0, height / 40.0));
  cairo_destroy(cr);
  *out = image;
  return PLA_OK;
}

PlaStatus
pla_scene_view_save(PlaSceneView *self, int width, int height, const char *path, PlaError *err)
{
  cairo_surface_t *image = NULL;
  PlaStatus st = pla_scene_view_draw(self, NULL, width, height, &image, err);
  if (st == PLA_OK)
    st = pla_picture_write_surface(path, image, err);
  if (image)
    cairo_surface_destroy(image);
  return st;
}

void
pla_scene_view_orbit(PlaSceneView *self, double right_deg, double up_deg)
{
  self->framed_by_user = TRUE;
  pla_camera_orbit(&self->camera, right_deg, up_deg);
  moved(self);
}

/* ------------------------------------------------------------------- input */

const PlaCamera *
pla_scene_view_get_camera(PlaSceneView *self)
{
  return &self->camera;
}

PlaScenePick
pla_scene_view_pick(PlaSceneView *self, double x, double y)
{
  if (!self->scene)
    return (PlaScenePick){ 0 };
  self->render->set_camera(self->scene, &self->camera);
  return self->render->pick(self->scene, x - 0.5, y - 0.5, gtk_widget_get_width(self->area),
                            gtk_widget_get_height(self->area));
}

static void
find_entry(PlaEntry *entry, gpointer data)
{
  struct {
    int id;
    PlaEntry *found;
  } *wanted = data;
  if (pla_entry_get_id(entry) == wanted->id)
    wanted->found = entry;
}

/* the entry with a scene id, or NULL; borrowed */
static PlaEntry *
entry_of(PlaSceneView *self, int id)
{
  struct {
    int id;
    PlaEntry *found;
  } wanted = { id, NULL };
  pla_document_foreach(self->document, find_entry, &wanted);
  return wanted.found;
}

/* the n-th mark of a kind among all marks, or -1 */
static int
nth_mark(PlaSceneView *self, PlaMarkKind kind, int n)
{
  int n_marks;
  const PlaMark *marks = pla_tools_get_marks(pla_document_get_tools(self->document), &n_marks);
  for (int i = 0; i < n_marks; i++)
    if (marks[i].kind == kind && n-- == 0)
      return i;
  return -1;
}

/* A hook whose tip is at the pointer, though tissue in front of it hides it: one that was pulled
 * behind the nose must not be lost.  What lies deeper belongs to the other side of the head. */
static int
hidden_hook(PlaSceneView *self, const PlaScenePick *hit, double x, double y)
{
  const double reach_px = 10.0, depth_mm = 40.0;
  const double width = gtk_widget_get_width(self->area), height = gtk_widget_get_height(self->area);
  double right[3], up[3], back[3], nearest = reach_px;
  pla_camera_axes(&self->camera, right, up, back);
  int n, found = -1;
  const PlaMark *marks = pla_tools_get_marks(pla_document_get_tools(self->document), &n);
  for (int i = 0; i < n; i++) {
    double tip[3], depth = 0.0, sx, sy;
    for (int d = 0; d < 3; d++) {
      tip[d] = marks[i].at_mm[d] + marks[i].pull_mm[d];
      depth += (hit->point_mm[d] - tip[d]) * back[d];
    }
    if (marks[i].kind == PLA_MARK_HOOK && (hit->id == 0 || depth < depth_mm) &&
        pla_camera_project(&self->camera, width, height, tip, &sx, &sy) &&
        hypot(sx - x, sy - y) < nearest) {
      nearest = hypot(sx - x, sy - y);
      found = i;
    }
  }
  return found;
}

/* with the hook tool: takes the hook under the pointer, or sets one on the surface there */
static gboolean
begin_pull(PlaSceneView *self, double x, double y)
{
  PlaTools *tools = pla_document_get_tools(self->document);
  if (pla_tools_get(tools) != PLA_TOOL_HOOK)
    return FALSE;
  PlaScenePick hit = pla_scene_view_pick(self, x, y);
  self->pulled = hit.id == MARK_ID + 2 * PLA_MARK_HOOK ? nth_mark(self, PLA_MARK_HOOK, hit.vert)
                                                       : hidden_hook(self, &hit, x, y);
  if (self->pulled < 0 && entry_of(self, hit.id)) {
    int before, after;
    pla_tools_get_marks(tools, &before);
    pla_tools_pick(tools, entry_of(self, hit.id), &hit);
    pla_tools_get_marks(tools, &after);
    if (after > before)
      self->pulled = after - 1;
  }
  if (self->pulled < 0)
    return FALSE;
  int n;
  const PlaMark *mark = &pla_tools_get_marks(tools, &n)[self->pulled];
  memcpy(self->pulled_start, mark->pull_mm, sizeof self->pulled_start);
  for (int d = 0; d < 3; d++)
    self->pulled_mm[d] = mark->at_mm[d] + mark->pull_mm[d];
  return TRUE;
}

/* with the drawing tool: takes the point under the pointer */
static gboolean
begin_place(PlaSceneView *self, double x, double y)
{
  if (pla_tools_get(pla_document_get_tools(self->document)) != PLA_TOOL_DRAW)
    return FALSE;
  PlaScenePick hit = pla_scene_view_pick(self, x, y);
  self->pulled =
      hit.id == MARK_ID + 2 * PLA_MARK_POINT ? nth_mark(self, PLA_MARK_POINT, hit.vert) : -1;
  return self->pulled >= 0;
}

/* the point follows the hand over the surface */
static void
place(PlaSceneView *self, double x, double y, gboolean done)
{
  /* not onto itself */
  PlaSceneStyle style = pla_scene_style_default();
  style.visible = false;
  self->render->set_style(self->scene, MARK_ID + 2 * PLA_MARK_POINT, &style);
  PlaScenePick hit = pla_scene_view_pick(self, x, y);
  on_marks(self);
  if (entry_of(self, hit.id))
    pla_tools_place(pla_document_get_tools(self->document), self->pulled, &hit, done);
}

/* the way of the hand in the plane of the picture, at the depth of what it holds */
static void
pull(PlaSceneView *self, double dx, double dy, gboolean done)
{
  double right[3], up[3], back[3], depth = 0.0, focal = 0.0, way[3];
  const PlaCamera *camera = &self->camera;
  pla_camera_axes(camera, right, up, back);
  for (int d = 0; d < 3; d++) {
    depth += (camera->eye_mm[d] - self->pulled_mm[d]) * back[d];
    focal += (camera->eye_mm[d] - camera->focus_mm[d]) * back[d];
  }
  double mm = pla_camera_height_mm(camera) / MAX(gtk_widget_get_height(self->area), 1);
  if (!camera->parallel && focal > 0.0)
    mm *= depth / focal;
  for (int d = 0; d < 3; d++)
    way[d] = self->pulled_start[d] + mm * (dx * right[d] - dy * up[d]);
  pla_tools_drag(pla_document_get_tools(self->document), self->pulled, way, done);
}

static void
on_drag_begin(GtkGestureDrag *gesture, double x, double y, PlaSceneView *self)
{
  guint button = gtk_gesture_single_get_current_button(GTK_GESTURE_SINGLE(gesture));
  GdkModifierType state =
      gtk_event_controller_get_current_event_state(GTK_EVENT_CONTROLLER(gesture));
  gtk_widget_grab_focus(GTK_WIDGET(self));
  self->start = self->camera;
  if (button == GDK_BUTTON_PRIMARY && !(state & GDK_SHIFT_MASK) && begin_pull(self, x, y)) {
    self->drag = PULLING;
    return;
  }
  self->pressed[0] = x;
  self->pressed[1] = y;
  if (button == GDK_BUTTON_PRIMARY && !(state & GDK_SHIFT_MASK) && begin_place(self, x, y)) {
    self->drag = PLACING;
    return;
  }
  self->drag = button == GDK_BUTTON_SECONDARY                            ? ZOOMING
               : button == GDK_BUTTON_MIDDLE || (state & GDK_SHIFT_MASK) ? PANNING
                                                                         : TURNING;
}

static void
on_drag_update(GtkGestureDrag *gesture, double dx, double dy, PlaSceneView *self)
{
  if (self->drag == IDLE)
    return;
  if (self->drag == PULLING) {
    pull(self, dx, dy, FALSE);
    return;
  }
  if (self->drag == PLACING) {
    place(self, self->pressed[0] + dx, self->pressed[1] + dy, FALSE);
    return;
  }
  double h = MAX(gtk_widget_get_height(GTK_WIDGET(self)), 1);
  self->camera = self->start;
  self->framed_by_user = TRUE;
  if (self->drag == TURNING)
    pla_camera_orbit(&self->camera, 200.0 * dx / h, -200.0 * dy / h);
  else if (self->drag == PANNING)
    pla_camera_pan(&self->camera, dx / h, -dy / h);
  else
    pla_camera_zoom(&self->camera, exp(-2.5 * dy / h));
  moved(self);
}

static void
on_drag_end(GtkGestureDrag *gesture, double dx, double dy, PlaSceneView *self)
{
  if (self->drag == PULLING)
    pull(self, dx, dy, TRUE);
  if (self->drag == PLACING && hypot(dx, dy) > 0.0)
    place(self, self->pressed[0] + dx, self->pressed[1] + dy, TRUE);
  self->drag = IDLE;
}

static void
on_released(GtkGestureClick *click, int n_press, double x, double y, PlaSceneView *self)
{
  PlaTools *tools = pla_document_get_tools(self->document);
  const PlaTool tool = pla_tools_get(tools);
  if ((tool != PLA_TOOL_PICK && tool != PLA_TOOL_DRAW) || n_press != 1)
    return;
  PlaScenePick hit = pla_scene_view_pick(self, x, y);
  PlaEntry *entry = entry_of(self, hit.id);
  if (entry)
    pla_tools_pick(tools, entry, &hit);
}

static void
on_pressed(GtkGestureClick *click, int n_press, double x, double y, PlaSceneView *self)
{
  if (n_press != 2)
    return;
  PlaScenePick hit = pla_scene_view_pick(self, x, y);
  if (hit.id != 0)
    pla_document_set_cursor(self->document, hit.point_mm);
}

static gboolean
on_scroll(GtkEventControllerScroll *scroll, double dx, double dy, PlaSceneView *self)
{
  self->framed_by_user = TRUE;
  pla_camera_zoom(&self->camera, pow(1.12, -dy));
  moved(self);
  return TRUE;
}

static void
on_motion(GtkEventControllerMotion *motion, double x, double y, PlaSceneView *self)
{
  if (self->drag != IDLE)
    return;
  PlaScenePick hit = pla_scene_view_pick(self, x, y);
  g_autoptr(GVariant) place = NULL;
  if (hit.id != 0)
    place = g_variant_ref_sink(
        g_variant_new("(ddd)", hit.point_mm[0], hit.point_mm[1], hit.point_mm[2]));
  g_signal_emit(self, signals[HOVERED], 0, place);
}

static gboolean
on_key(GtkEventControllerKey *key, guint keyval, guint code, GdkModifierType state,
       PlaSceneView *self)
{
  double right = 0.0, up = 0.0, zoom = 1.0;
  switch (keyval) {
  case GDK_KEY_Left:
    right = -10.0;
    break;
  case GDK_KEY_Right:
    right = 10.0;
    break;
  case GDK_KEY_Up:
    up = 10.0;
    break;
  case GDK_KEY_Down:
    up = -10.0;
    break;
  case GDK_KEY_plus:
  case GDK_KEY_equal:
  case GDK_KEY_KP_Add:
    zoom = 1.2;
    break;
  case GDK_KEY_minus:
  case GDK_KEY_KP_Subtract:
    zoom = 1.0 / 1.2;
    break;
  case GDK_KEY_Escape:
    pla_tools_set(pla_document_get_tools(self->document), PLA_TOOL_NONE, NULL, NULL);
    return TRUE;
  case GDK_KEY_0:
  case GDK_KEY_KP_0:
    pla_scene_view_look(self, self->preset);
    return TRUE;
  default:
    return FALSE;
  }
  self->framed_by_user = TRUE;
  pla_camera_orbit(&self->camera, right, up);
  pla_camera_zoom(&self->camera, zoom);
  moved(self);
  return TRUE;
}

/* --------------------------------------------------------------------- type */

static void
pla_scene_view_dispose(GObject *object)
{
  PlaSceneView *self = PLA_SCENE_VIEW(object);
  g_clear_handle_id(&self->settle, g_source_remove);
  g_clear_handle_id(&self->refine, g_source_remove);
  g_clear_handle_id(&self->warming, g_source_remove);
  g_clear_pointer(&self->clip, g_free);
  if (self->cast)
    pla_volume_cast_stop(self->cast);
  g_clear_object(&self->cast);
  g_clear_pointer(&self->overlay, gtk_widget_unparent);
  if (self->scene)
    self->render->scene_free(g_steal_pointer(&self->scene));
  g_clear_object(&self->document);
  G_OBJECT_CLASS(pla_scene_view_parent_class)->dispose(object);
}

static void
pla_scene_view_class_init(PlaSceneViewClass *klass)
{
  G_OBJECT_CLASS(klass)->dispose = pla_scene_view_dispose;
  GtkWidgetClass *widget = GTK_WIDGET_CLASS(klass);
  gtk_widget_class_set_layout_manager_type(widget, GTK_TYPE_BIN_LAYOUT);
  gtk_widget_class_set_accessible_role(widget, GTK_ACCESSIBLE_ROLE_IMG);
  signals[HOVERED] = g_signal_new("hovered", PLA_TYPE_SCENE_VIEW, G_SIGNAL_RUN_LAST, 0, NULL, NULL,
                                  NULL, G_TYPE_NONE, 1, G_TYPE_VARIANT);
}

static void
pla_scene_view_init(PlaSceneView *self)
{
  GtkWidget *widget = GTK_WIDGET(self);
  self->preset = PLA_VIEW_THREE_QUARTER;
  self->n_bands = 4;
  self->dark = TRUE;
  gtk_widget_set_focusable(widget, TRUE);
  gtk_widget_set_hexpand(widget, TRUE);
  gtk_widget_set_vexpand(widget, TRUE);
  gtk_widget_set_size_request(widget, 120, 100);
  self->overlay = gtk_overlay_new();
  gtk_widget_set_parent(self->overlay, widget);
  self->area = gtk_gl_area_new();
  gtk_gl_area_set_required_version(GTK_GL_AREA(self->area), 3, 2);
  gtk_gl_area_set_auto_render(GTK_GL_AREA(self->area), FALSE);
  gtk_overlay_set_child(GTK_OVERLAY(self->overlay), self->area);
  self->volume = gtk_picture_new();
  gtk_picture_set_can_shrink(GTK_PICTURE(self->volume), TRUE);
  gtk_picture_set_content_fit(GTK_PICTURE(self->volume), GTK_CONTENT_FIT_FILL);
  gtk_widget_set_can_target(self->volume, FALSE);
  gtk_widget_set_visible(self->volume, FALSE);
  gtk_overlay_add_overlay(GTK_OVERLAY(self->overlay), self->volume);
  self->cast = pla_volume_cast_new(GTK_PICTURE(self->volume));
  self->ink = gtk_drawing_area_new();
  gtk_widget_set_can_target(self->ink, FALSE);
  gtk_drawing_area_set_draw_func(GTK_DRAWING_AREA(self->ink), draw_ink, self, NULL);
  gtk_overlay_add_overlay(GTK_OVERLAY(self->overlay), self->ink);
  g_signal_connect(self->area, "render", G_CALLBACK(on_render), self);
  g_signal_connect_swapped(self->area, "resize", G_CALLBACK(on_resize), self);
  g_signal_connect_swapped(self->area, "unrealize", G_CALLBACK(on_unrealize), self);

  GtkGesture *drag = gtk_gesture_drag_new();
  gtk_gesture_single_set_button(GTK_GESTURE_SINGLE(drag), 0);
  g_signal_connect(drag, "drag-begin", G_CALLBACK(on_drag_begin), self);
  g_signal_connect(drag, "drag-update", G_CALLBACK(on_drag_update), self);
  g_signal_connect(drag, "drag-end", G_CALLBACK(on_drag_end), self);
  gtk_widget_add_controller(widget, GTK_EVENT_CONTROLLER(drag));
  GtkGesture *click = gtk_gesture_click_new();
  g_signal_connect(click, "pressed", G_CALLBACK(on_pressed), self);
  g_signal_connect(click, "released", G_CALLBACK(on_released), self);
  gtk_widget_add_controller(widget, GTK_EVENT_CONTROLLER(click));
  GtkEventController *scroll =
      gtk_event_controller_scroll_new(GTK_EVENT_CONTROLLER_SCROLL_VERTICAL);
  g_signal_connect(scroll, "scroll", G_CALLBACK(on_scroll), self);
  gtk_widget_add_controller(widget, scroll);
  GtkEventController *motion = gtk_event_controller_motion_new();
  g_signal_connect(motion, "motion", G_CALLBACK(on_motion), self);
  gtk_widget_add_controller(widget, motion);
  GtkEventController *key = gtk_event_controller_key_new();
  g_signal_connect(key, "key-pressed", G_CALLBACK(on_key), self);
  gtk_widget_add_controller(widget, key);
}

PlaSceneView *
pla_scene_view_find(GtkWidget *widget)
{
  if (!widget || PLA_IS_SCENE_VIEW(widget))
    return (PlaSceneView *)widget;
  PlaSceneView *found = NULL;
  for (GtkWidget *child = gtk_widget_get_first_child(widget); child && !found;
       child = gtk_widget_get_next_sibling(child))
    found = pla_scene_view_find(child);
  return found;
}

GtkWidget *
pla_scene_view_new(PlaDocument *document)
{
  PlaSceneView *self = g_object_new(PLA_TYPE_SCENE_VIEW, NULL);
  self->document = g_object_ref(document);
  gtk_accessible_update_property(GTK_ACCESSIBLE(self), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                 _("Three-dimensional view"), -1);
  PlaError err;
  PlaStatus st = pla_render_load(&self->render, &err);
  if (st == PLA_OK)
    st = self->render->scene_new(false, &self->scene, &err);
  if (st == PLA_OK) {
    set_background(self);
    fit(self);
  } else {
    /* the slices work without it: say why this view is empty, in its place */
    GtkWidget *label = gtk_label_new(err.message);
    gtk_label_set_wrap(GTK_LABEL(label), TRUE);
    gtk_label_set_justify(GTK_LABEL(label), GTK_JUSTIFY_CENTER);
    gtk_widget_set_visible(self->area, FALSE);
    gtk_overlay_add_overlay(GTK_OVERLAY(self->overlay), label);
  }
  g_signal_connect_object(pla_document_get_annotations(document), "changed",
                          G_CALLBACK(gtk_widget_queue_draw), self->ink, G_CONNECT_SWAPPED);
  g_signal_connect_object(document, "shape-changed", G_CALLBACK(on_shape), self, G_CONNECT_SWAPPED);
  g_signal_connect_object(document, "entry-changed", G_CALLBACK(on_entry), self, G_CONNECT_SWAPPED);
  g_signal_connect_object(document, "slices-changed", G_CALLBACK(on_slices), self,
                          G_CONNECT_SWAPPED);
  g_signal_connect_object(document, "cursor-changed", G_CALLBACK(on_cursor), self,
                          G_CONNECT_SWAPPED);
  PlaTools *tools = pla_document_get_tools(document);
  g_signal_connect_object(tools, "marks-changed", G_CALLBACK(on_marks), self, G_CONNECT_SWAPPED);
  g_signal_connect_object(tools, "aimed", G_CALLBACK(on_aimed), self, G_CONNECT_SWAPPED);
  g_signal_connect_object(tools, "sketch-changed", G_CALLBACK(on_sketch), self, G_CONNECT_SWAPPED);
  g_signal_connect_object(tools, "tool-changed", G_CALLBACK(on_tool), self, G_CONNECT_SWAPPED);
  g_signal_connect_object(tools, "strands-changed", G_CALLBACK(on_strands), self,
                          G_CONNECT_SWAPPED);
  g_signal_connect_object(tools, "moved", G_CALLBACK(on_moved), self, G_CONNECT_SWAPPED);
  g_signal_connect_object(document, "reset", G_CALLBACK(on_reset), self, G_CONNECT_SWAPPED);
  return GTK_WIDGET(self);
}
