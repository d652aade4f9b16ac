/* What is in the scene: shapes, which workers prepare, with their styles and colours; marks and
 * drawings of tools; slices in space; the plane that cuts away. */
#include "ui/views/scene-private.h"

#include "anatomy/volume/slice.h"
#include "app/base/quantity.h"
#include "app/show/picture.h"
#include "ui/views/scene-sketch.h"

#include <math.h>
#include <string.h>

enum { PLAIN_FACES = 20000 }; /* of meshes that are made ready at once, without a worker */

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
    pla_scene_view_changed(self);
  else
    pla_scene_view_fit(self);
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
  PlaSceneMesh shape = pla_scene_mesh(mesh);
  shape.open = p->open;
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
    pla_scene_view_changed(self);
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
    pla_scene_view_changed(self);
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
  pla_scene_view_changed(self);
}

/* ------------------------------------------------------------------- marks */

void
pla_scene_view_put_marks(PlaSceneView *self)
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
    /* balls under PLA_MARK_ID + 2 kind, arrows under the next */
    PlaSceneMarkers balls = { .pos = pos, .to_mm = 1.0 };
    for (int i = 0; i < n; i++) {
      if (marks[i].kind != (PlaMarkKind)kind || kind == PLA_MARK_MISFIT)
        continue;
      for (int d = 0; d < 3; d++)
        pos[3 * balls.n_points + d] = marks[i].at_mm[d] + marks[i].pull_mm[d];
      balls.n_points++;
    }
    PlaError err;
    self->render->remove(self->scene, PLA_MARK_ID + 2 * kind);
    if (balls.n_points > 0 &&
        self->render->put_markers(self->scene, PLA_MARK_ID + 2 * kind, &balls, &err) == PLA_OK)
      self->render->set_style(self->scene, PLA_MARK_ID + 2 * kind, &style);
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
    self->render->remove(self->scene, PLA_MARK_ID + 2 * kind + 1);
    if (arrows.n_points > 0 &&
        self->render->put_markers(self->scene, PLA_MARK_ID + 2 * kind + 1, &arrows, &err) == PLA_OK)
      self->render->set_style(self->scene, PLA_MARK_ID + 2 * kind + 1, &style);
  }
  pla_scene_view_changed(self);
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
  pla_scene_put_sketch(self->render, self->scene, PLA_SKETCH_ID, tools);
  const gboolean blade = pla_tools_get_sketch(tools)->through;
  if (blade != self->blade) {
    self->blade = blade;
    pla_document_foreach(self->document, restyle, self);
  }
  pla_scene_view_changed(self);
}

static void
on_strands(PlaSceneView *self)
{
  if (!self->scene)
    return;
  pla_scene_put_strands(self->render, self->scene, PLA_STRAND_ID,
                        pla_document_get_tools(self->document));
  pla_scene_view_changed(self);
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
  pla_scene_view_changed(self);
}

/* the three planes through the crosshair as pictures in space */
void
pla_scene_view_update_slices(PlaSceneView *self)
{
  if (!self->scene)
    return;
  const PlaVolume *vol = pla_document_get_volume(self->document);
  if (!self->slices || !vol) {
    for (int axis = 0; axis < 3; axis++)
      self->render->remove(self->scene, PLA_SLICE_ID + axis);
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
    if (self->render->put_image(self->scene, PLA_SLICE_ID + axis, &image, &err) != PLA_OK)
      g_signal_emit_by_name(self->document, "failed", err.message);
  }
}

static void
on_slices(PlaSceneView *self)
{
  if (self->slices) {
    pla_scene_view_update_slices(self);
    pla_scene_view_changed(self);
  }
}

static void
on_cursor(PlaSceneView *self)
{
  on_slices(self);
  if (self->clip) {
    update_clip(self);
    pla_scene_view_changed(self);
  }
}

void
pla_scene_view_set_slices(PlaSceneView *self, gboolean shown)
{
  self->slices = shown;
  pla_scene_view_update_slices(self);
  if (!self->framed_by_user)
    pla_scene_view_fit(self);
  pla_scene_view_changed(self);
}

void
pla_scene_view_connect_shapes(PlaSceneView *self)
{
  g_signal_connect_object(self->document, "shape-changed", G_CALLBACK(on_shape), self,
                          G_CONNECT_SWAPPED);
  g_signal_connect_object(self->document, "entry-changed", G_CALLBACK(on_entry), self,
                          G_CONNECT_SWAPPED);
  g_signal_connect_object(self->document, "slices-changed", G_CALLBACK(on_slices), self,
                          G_CONNECT_SWAPPED);
  g_signal_connect_object(self->document, "cursor-changed", G_CALLBACK(on_cursor), self,
                          G_CONNECT_SWAPPED);
  PlaTools *tools = pla_document_get_tools(self->document);
  g_signal_connect_object(tools, "marks-changed", G_CALLBACK(pla_scene_view_put_marks), self,
                          G_CONNECT_SWAPPED);
  g_signal_connect_object(tools, "sketch-changed", G_CALLBACK(on_sketch), self, G_CONNECT_SWAPPED);
  g_signal_connect_object(tools, "tool-changed", G_CALLBACK(on_tool), self, G_CONNECT_SWAPPED);
  g_signal_connect_object(tools, "strands-changed", G_CALLBACK(on_strands), self,
                          G_CONNECT_SWAPPED);
  g_signal_connect_object(tools, "moved", G_CALLBACK(on_moved), self, G_CONNECT_SWAPPED);
}
