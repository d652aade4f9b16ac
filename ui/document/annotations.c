/* Keeps the annotations of the present state as tree entries, and draws them into slices and the
 * 3-D view; in a slice they fade with their distance from the plane. */
#include "ui/document/annotations.h"

#include "ui/widgets/settings.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

/* how far from a plane a point is still drawn in it, mm */
#define NEAR_MM 3.0

typedef struct {
  PlaAnnotation note;
  char *name;
  PlaHash hash;
  PlaEntry *entry;
} Shown;

struct _PlaAnnotations {
  GObject parent_instance;
  GListStore *tree;
  PlaEntry *group; /* in the tree while there is anything */
  GPtrArray *shown;
  double *pending; /* points in the making (n_pending x 3) */
  int n_pending;
  double *moving; /* points of a recording (n_moving x 3); NaN: missing */
  int n_moving;
  GStrv moving_names;
};

enum { CHANGED, N_SIGNALS };
static guint signals[N_SIGNALS];

G_DEFINE_FINAL_TYPE(PlaAnnotations, pla_annotations, G_TYPE_OBJECT)

static void
shown_free(gpointer data)
{
  Shown *shown = data;
  pla_annotation_clear(&shown->note);
  g_free(shown->name);
  g_clear_object(&shown->entry);
  g_free(shown);
}

static void
emit_changed(PlaAnnotations *self)
{
  g_signal_emit(self, signals[CHANGED], 0);
}

static PlaEntry *
entry_new(PlaAnnotations *self, const Shown *shown, int64_t item)
{
  PlaEntry *entry = pla_entry_new(PLA_ENTRY_ANNOTATION, shown->name, 0);
  g_autofree char *value = pla_annotation_value_text(&shown->note);
  static const char *const kinds[] = {
    [PLA_ANNOTATION_LANDMARK] = N_("landmark"), [PLA_ANNOTATION_DISTANCE] = N_("distance"),
    [PLA_ANNOTATION_ANGLE] = N_("angle"),       [PLA_ANNOTATION_PATH] = N_("path"),
    [PLA_ANNOTATION_VOLUME] = N_("volume"),     [PLA_ANNOTATION_NOTE] = N_("note"),
  };
  pla_entry_set_detail(entry, *value ? value : _(kinds[shown->note.kind]));
  pla_entry_set_item(entry, item);
  g_signal_connect_object(entry, "notify::visible", G_CALLBACK(emit_changed), self,
                          G_CONNECT_SWAPPED);
  return entry;
}

/* the one that was shown before with the same content, out of @old; or NULL */
static Shown *
take_old(GPtrArray *old, const PlaStateItem *item)
{
  for (guint i = 0; i < old->len; i++) {
    Shown *shown = old->pdata[i];
    if (pla_hash_equal(&shown->hash, &item->hash) && strcmp(shown->name, item->name) == 0)
      return g_ptr_array_steal_index(old, i);
  }
  return NULL;
}

void
pla_annotations_update(PlaAnnotations *self, PlaSession *session)
{
  g_autoptr(GPtrArray) old = g_steal_pointer(&self->shown);
  self->shown = g_ptr_array_new_with_free_func(shown_free);
  const PlaState *state = session ? pla_session_get_state(session) : NULL;
  for (int i = 0; state && i < state->n; i++) {
    const PlaStateItem *item = &state->item[i];
    if (!pla_annotation_is_kind(item->kind))
      continue;
    Shown *shown = take_old(old, item);
    if (!shown) {
      g_autoptr(PlaContent) content = NULL;
      shown = g_new0(Shown, 1);
      if (pla_session_load(session, item->item, NULL, &content, NULL) != PLA_OK ||
          !pla_annotation_read(content, &shown->note)) {
        g_free(shown);
        continue;
      }
      shown->name = g_strdup(item->name);
      shown->hash = item->hash;
      shown->entry = entry_new(self, shown, item->item);
    }
    g_ptr_array_add(self->shown, shown);
  }

  /* the rows of the tree */
  g_list_store_remove_all(pla_entry_get_children(self->group));
  for (guint i = 0; i < self->shown->len; i++)
    g_list_store_append(pla_entry_get_children(self->group),
                        ((Shown *)self->shown->pdata[i])->entry);
  guint at;
  const gboolean listed = g_list_store_find(self->tree, self->group, &at);
  if (self->shown->len > 0 && !listed)
    g_list_store_append(self->tree, self->group);
  else if (self->shown->len == 0 && listed)
    g_list_store_remove(self->tree, at);
  emit_changed(self);
}

int
pla_annotations_n(PlaAnnotations *self)
{
  return (int)self->shown->len;
}

const PlaAnnotation *
pla_annotations_get(PlaAnnotations *self, int i, const char **name)
{
  const Shown *shown = self->shown->pdata[i];
  if (name)
    *name = shown->name;
  return &shown->note;
}

void
pla_annotations_set_pending(PlaAnnotations *self, const double *point_mm, int n)
{
  g_free(self->pending);
  self->pending = n > 0 ? g_memdup2(point_mm, 3 * (gsize)n * sizeof *point_mm) : NULL;
  self->n_pending = n;
  emit_changed(self);
}

void
pla_annotations_set_moving(PlaAnnotations *self, const double *point_mm, int n,
                           const char *const *names)
{
  if (n == 0 && self->n_moving == 0)
    return;
  g_free(self->moving);
  g_strfreev(self->moving_names);
  self->moving = n > 0 ? g_memdup2(point_mm, 3 * (gsize)n * sizeof *point_mm) : NULL;
  self->moving_names = n > 0 ? g_strdupv((char **)names) : NULL;
  self->n_moving = n;
  emit_changed(self);
}

/* ------------------------------------------------------------------- drawing */

/* a point of the picture, and how much of it is to be seen: 0 far off the plane, 1 in it */
typedef struct {
  double x, y, strength;
} Spot;

/* to the right of a place, or to its left where the picture ends before the text would */
static void
write_beside(cairo_t *cr, const PlaOverlayInk *ink, double x, double y, const char *text)
{
  double x0, y0, x1, y1;
  const double gap = 0.7 * ink->font_size;
  const double width = 0.56 * ink->font_size * (double)g_utf8_strlen(text, -1);
  cairo_clip_extents(cr, &x0, &y0, &x1, &y1);
  const gboolean right = x + gap + width <= x1 || x - gap - width < x0;
  pla_overlay_text(cr, ink, right ? x + gap : x - gap, y, right ? 0.0 : 1.0, text);
}

static void
draw_spots(cairo_t *cr, const PlaOverlayInk *ink, const Spot *spot, int n, const char *text)
{
  const double size = ink->font_size;
  double most = 0.0;
  for (int i = 0; i < n; i++)
    most = fmax(most, spot[i].strength);
  if (most <= 0.0)
    return;
  /* the path, with a dark rim so that it reads on bone and on air */
  for (int pass = 0; pass < 2 && n > 1; pass++) {
    cairo_set_line_width(cr, size * (pass == 0 ? 0.30 : 0.14));
    if (pass == 0)
      cairo_set_source_rgba(cr, 0.0, 0.0, 0.0, 0.45 * most);
    else
      cairo_set_source_rgba(cr, 1.0, 0.78, 0.25, most);
    cairo_move_to(cr, spot[0].x, spot[0].y);
    for (int i = 1; i < n; i++)
      cairo_line_to(cr, spot[i].x, spot[i].y);
    cairo_stroke(cr);
  }
  for (int i = 0; i < n; i++) {
    if (spot[i].strength <= 0.0)
      continue;
    cairo_arc(cr, spot[i].x, spot[i].y, 0.34 * size, 0.0, 2.0 * G_PI);
    cairo_set_source_rgba(cr, 1.0, 0.78, 0.25, spot[i].strength);
    cairo_fill_preserve(cr);
    cairo_set_line_width(cr, 0.09 * size);
    cairo_set_source_rgba(cr, 0.0, 0.0, 0.0, 0.7 * spot[i].strength);
    cairo_stroke(cr);
  }
  if (text && *text)
    write_beside(cr, ink, spot[n - 1].x, spot[n - 1].y - 0.8 * size, text);
}

static gboolean
drawn(PlaAnnotations *self)
{
  return pla_entry_get_visible(self->group) &&
         g_settings_get_boolean(pla_settings_get(), "annotations");
}

typedef Spot (*PlaceFunc)(gconstpointer view, const double point_mm[3]);

static void
draw_all(PlaAnnotations *self, cairo_t *cr, const PlaOverlayInk *ink, PlaceFunc place,
         gconstpointer view)
{
  for (guint k = 0; k <= self->shown->len; k++) {
    /* the one in the making comes last */
    const Shown *shown = k < self->shown->len ? self->shown->pdata[k] : NULL;
    const int n = shown ? shown->note.n_points : self->n_pending;
    const double *point = shown ? shown->note.point_mm : self->pending;
    if (n == 0 || (shown && (!drawn(self) || !pla_entry_get_visible(shown->entry))))
      continue;
    g_autofree Spot *spot = g_new(Spot, n);
    for (int i = 0; i < n; i++)
      spot[i] = place(view, point + 3 * i);
    g_autofree char *value = shown ? pla_annotation_value_text(&shown->note) : NULL;
    g_autofree char *text = !shown   ? NULL
                            : *value ? g_strdup_printf("%s  %s", shown->name, value)
                                     : g_strdup(shown->name);
    draw_spots(cr, ink, spot, n, text);
  }
}

/* markers of a recording; named while there is room for the names */
static void
draw_moving(PlaAnnotations *self, cairo_t *cr, const PlaOverlayInk *ink, PlaceFunc place,
            gconstpointer view)
{
  enum { MOST_NAMES = 24 };
  for (int i = 0; i < self->n_moving; i++) {
    if (isnan(self->moving[3 * i]))
      continue;
    const Spot spot = place(view, self->moving + 3 * i);
    if (spot.strength <= 0.0)
      continue;
    cairo_arc(cr, spot.x, spot.y, 0.3 * ink->font_size, 0.0, 2.0 * G_PI);
    cairo_set_source_rgba(cr, 0.35, 0.85, 0.95, spot.strength);
    cairo_fill_preserve(cr);
    cairo_set_line_width(cr, 0.08 * ink->font_size);
    cairo_set_source_rgba(cr, 0.0, 0.0, 0.0, 0.7 * spot.strength);
    cairo_stroke(cr);
    if (self->n_moving <= MOST_NAMES)
      write_beside(cr, ink, spot.x, spot.y, self->moving_names[i]);
  }
}

static Spot
place_in_slice(gconstpointer view, const double point_mm[3])
{
  const PlaSlicePlane *plane = view;
  Spot spot;
  double normal[3], length = 0.0, off = 0.0;
  for (int d = 0; d < 3; d++) {
    const int e = (d + 1) % 3, f = (d + 2) % 3;
    normal[d] = plane->right_mm[e] * plane->down_mm[f] - plane->right_mm[f] * plane->down_mm[e];
    length += normal[d] * normal[d];
  }
  for (int d = 0; d < 3; d++)
    off += (point_mm[d] - plane->origin_mm[d]) * normal[d] / sqrt(length);
  pla_slice_from_ras(plane, point_mm, &spot.x, &spot.y);
  spot.x += 0.5;
  spot.y += 0.5;
  spot.strength = fmax(1.0 - fabs(off) / NEAR_MM, 0.0);
  return spot;
}

void
pla_annotations_draw_slice(PlaAnnotations *self, cairo_t *cr, const PlaOverlayInk *ink,
                           const PlaSlicePlane *plane)
{
  draw_moving(self, cr, ink, place_in_slice, plane);
  draw_all(self, cr, ink, place_in_slice, plane);
}

typedef struct {
  const PlaCamera *camera;
  double width, height;
} SceneView;

static Spot
place_in_scene(gconstpointer view, const double point_mm[3])
{
  const SceneView *scene = view;
  Spot spot = { 0 };
  if (pla_camera_project(scene->camera, scene->width, scene->height, point_mm, &spot.x, &spot.y))
    spot.strength = 1.0;
  return spot;
}

void
pla_annotations_draw_scene(PlaAnnotations *self, cairo_t *cr, const PlaOverlayInk *ink,
                           const PlaCamera *camera, double width, double height)
{
  const SceneView view = { camera, width, height };
  draw_moving(self, cr, ink, place_in_scene, &view);
  draw_all(self, cr, ink, place_in_scene, &view);
}

/* ---------------------------------------------------------------------- type */

static void
pla_annotations_finalize(GObject *object)
{
  PlaAnnotations *self = PLA_ANNOTATIONS(object);
  g_ptr_array_unref(self->shown);
  g_clear_object(&self->group);
  g_clear_object(&self->tree);
  g_free(self->pending);
  g_free(self->moving);
  g_strfreev(self->moving_names);
  G_OBJECT_CLASS(pla_annotations_parent_class)->finalize(object);
}

static void
pla_annotations_class_init(PlaAnnotationsClass *klass)
{
  G_OBJECT_CLASS(klass)->finalize = pla_annotations_finalize;
  signals[CHANGED] = g_signal_new("changed", PLA_TYPE_ANNOTATIONS, G_SIGNAL_RUN_LAST, 0, NULL, NULL,
                                  NULL, G_TYPE_NONE, 0);
}

static void
pla_annotations_init(PlaAnnotations *self)
{
  self->shown = g_ptr_array_new_with_free_func(shown_free);
  self->group = pla_entry_new(PLA_ENTRY_GROUP, _("Measurements"), 0);
  g_signal_connect_object(self->group, "notify::visible", G_CALLBACK(emit_changed), self,
                          G_CONNECT_SWAPPED);
  g_signal_connect_object(pla_settings_get(), "changed::annotations", G_CALLBACK(emit_changed),
                          self, G_CONNECT_SWAPPED);
}

PlaAnnotations *
pla_annotations_new(GListStore *tree)
{
  PlaAnnotations *self = g_object_new(PLA_TYPE_ANNOTATIONS, NULL);
  self->tree = g_object_ref(tree);
  return self;
}
