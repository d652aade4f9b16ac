/* GObject of one tree row. Properties notify only when a value changes, since views redraw on
 * each notification. */
#include "ui/document/entry.h"

#include <stdlib.h>

struct _PlaEntry {
  GObject parent_instance;
  PlaEntryKind kind;
  int id;
  char *name, *detail;
  gboolean visible, pending;
  GdkRGBA rgba;
  GListStore *children;
  int label;
  PlaFinish finish;
  float *open;
  int64_t item;
  PlaContent *content;
  const PlaFieldView *field;
  double *value, lo, hi;
  gboolean edges, whole;
};

enum { PROP_NAME = 1, PROP_VISIBLE, PROP_RGBA, PROP_EDGES, PROP_COLOURS, N_PROPS };
static GParamSpec *props[N_PROPS];

G_DEFINE_FINAL_TYPE(PlaEntry, pla_entry, G_TYPE_OBJECT)

static void
pla_entry_get_property(GObject *object, guint id, GValue *value, GParamSpec *spec)
{
  PlaEntry *self = PLA_ENTRY(object);
  switch (id) {
  case PROP_NAME:
    g_value_set_string(value, self->name);
    break;
  case PROP_VISIBLE:
    g_value_set_boolean(value, self->visible);
    break;
  case PROP_RGBA:
    g_value_set_boxed(value, &self->rgba);
    break;
  case PROP_EDGES:
    g_value_set_boolean(value, self->edges);
    break;
  case PROP_COLOURS:
    g_value_set_string(value, self->field ? self->field->id : NULL);
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
  }
}

static void
pla_entry_set_property(GObject *object, guint id, const GValue *value, GParamSpec *spec)
{
  PlaEntry *self = PLA_ENTRY(object);
  switch (id) {
  case PROP_VISIBLE:
    pla_entry_set_visible(self, g_value_get_boolean(value));
    break;
  case PROP_RGBA:
    pla_entry_set_rgba(self, g_value_get_boxed(value));
    break;
  case PROP_EDGES:
    pla_entry_set_edges(self, g_value_get_boolean(value));
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
  }
}

static void
pla_entry_finalize(GObject *object)
{
  PlaEntry *self = PLA_ENTRY(object);
  g_free(self->name);
  g_free(self->detail);
  g_clear_object(&self->children);
  pla_entry_take_shape(self, NULL, NULL);
  G_OBJECT_CLASS(pla_entry_parent_class)->finalize(object);
}

static void
pla_entry_class_init(PlaEntryClass *klass)
{
  GObjectClass *object = G_OBJECT_CLASS(klass);
  object->get_property = pla_entry_get_property;
  object->set_property = pla_entry_set_property;
  object->finalize = pla_entry_finalize;
  const GParamFlags both = G_PARAM_READWRITE | G_PARAM_EXPLICIT_NOTIFY | G_PARAM_STATIC_STRINGS;
  props[PROP_NAME] =
      g_param_spec_string("name", NULL, NULL, NULL, G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);
  props[PROP_VISIBLE] = g_param_spec_boolean("visible", NULL, NULL, TRUE, both);
  props[PROP_RGBA] = g_param_spec_boxed("rgba", NULL, NULL, GDK_TYPE_RGBA, both);
  props[PROP_EDGES] = g_param_spec_boolean("edges", NULL, NULL, FALSE, both);
  props[PROP_COLOURS] =
      g_param_spec_string("colours", NULL, NULL, NULL, G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);
  g_object_class_install_properties(object, N_PROPS, props);
}

static void
pla_entry_init(PlaEntry *self)
{
  self->visible = TRUE;
  self->rgba = (GdkRGBA){ 0.80f, 0.78f, 0.74f, 1.0f };
}

PlaEntry *
pla_entry_new(PlaEntryKind kind, const char *name, int id)
{
  PlaEntry *self = g_object_new(PLA_TYPE_ENTRY, NULL);
  self->kind = kind;
  self->id = id;
  self->name = g_strdup(name);
  if (kind == PLA_ENTRY_GROUP)
    self->children = g_list_store_new(PLA_TYPE_ENTRY);
  return self;
}

PlaEntryKind
pla_entry_get_kind(PlaEntry *self)
{
  return self->kind;
}

int
pla_entry_get_id(PlaEntry *self)
{
  return self->id;
}

const char *
pla_entry_get_name(PlaEntry *self)
{
  return self->name;
}

gboolean
pla_entry_get_visible(PlaEntry *self)
{
  return self->visible;
}

void
pla_entry_set_visible(PlaEntry *self, gboolean visible)
{
  if (self->visible == visible)
    return;
  self->visible = visible;
  g_object_notify_by_pspec(G_OBJECT(self), props[PROP_VISIBLE]);
  for (guint i = 0; self->children && i < g_list_model_get_n_items(G_LIST_MODEL(self->children));
       i++) {
    g_autoptr(PlaEntry) child = g_list_model_get_item(G_LIST_MODEL(self->children), i);
    pla_entry_set_visible(child, visible);
  }
}

const GdkRGBA *
pla_entry_get_rgba(PlaEntry *self)
{
  return &self->rgba;
}

void
pla_entry_set_rgba(PlaEntry *self, const GdkRGBA *rgba)
{
  if (gdk_rgba_equal(&self->rgba, rgba))
    return;
  self->rgba = *rgba;
  g_object_notify_by_pspec(G_OBJECT(self), props[PROP_RGBA]);
}

GListStore *
pla_entry_get_children(PlaEntry *self)
{
  return self->children;
}

const char *
pla_entry_get_detail(PlaEntry *self)
{
  return self->detail;
}

void
pla_entry_set_detail(PlaEntry *self, const char *detail)
{
  g_free(self->detail);
  self->detail = g_strdup(detail);
}

int
pla_entry_get_label(PlaEntry *self)
{
  return self->label;
}

void
pla_entry_set_label(PlaEntry *self, int label, PlaFinish finish)
{
  self->label = label;
  self->finish = finish;
}

PlaFinish
pla_entry_get_finish(PlaEntry *self)
{
  return self->finish;
}

gboolean
pla_entry_get_pending(PlaEntry *self)
{
  return self->pending;
}

void
pla_entry_set_pending(PlaEntry *self, gboolean pending)
{
  self->pending = pending;
}

static void
set_content(PlaEntry *self, PlaContent *content, float *open)
{
  pla_content_unref(self->content);
  free(self->open);
  free(self->value);
  self->value = NULL;
  self->field = NULL;
  self->content = content;
  self->open = open;
}

void
pla_entry_take_shape(PlaEntry *self, PlaMesh *mesh, float *open)
{
  PlaContent *content = mesh ? pla_content_new(PLA_ITEM_MESH) : NULL;
  if (content)
    content->mesh = mesh;
  set_content(self, content, open);
}

void
pla_entry_set_content(PlaEntry *self, int64_t item, PlaContent *content)
{
  self->item = item;
  set_content(self, pla_content_ref(content), NULL);
}

void
pla_entry_set_item(PlaEntry *self, int64_t item)
{
  self->item = item;
}

int64_t
pla_entry_get_item(PlaEntry *self)
{
  return self->item;
}

PlaContent *
pla_entry_get_content(PlaEntry *self)
{
  return self->content;
}

void
pla_entry_set_field(PlaEntry *self, const PlaFieldView *view, double lo, double hi)
{
  const PlaMesh *mesh = pla_entry_get_mesh(self);
  if (view && (!mesh || !pla_field_view_suits(view, mesh)))
    view = NULL;
  if (view == self->field && view && hi > lo && lo == self->lo && hi == self->hi)
    return;
  if (view != self->field || !view) {
    if (!view && !self->field)
      return;
    free(self->value);
    self->value = NULL;
    self->field = view;
  }
  if (view) {
    size_t n;
    if (!self->value)
      self->value = pla_field_view_values(view, mesh, &n);
    if (!self->value)
      self->field = NULL;
    else if (hi > lo)
      self->lo = lo, self->hi = hi;
    else
      pla_field_view_range(view, self->value,
                           view->place == PLA_ON_VERTS ? (size_t)mesh->n_verts
                                                       : pla_mesh_n_cells(mesh),
                           &self->lo, &self->hi);
  }
  g_object_notify_by_pspec(G_OBJECT(self), props[PROP_COLOURS]);
}

const PlaFieldView *
pla_entry_get_field(PlaEntry *self)
{
  return self->field;
}

const double *
pla_entry_get_values(PlaEntry *self, double *lo, double *hi)
{
  *lo = self->lo;
  *hi = self->hi;
  return self->value;
}

gboolean
pla_entry_get_whole(PlaEntry *self)
{
  return self->whole;
}

void
pla_entry_set_whole(PlaEntry *self, gboolean whole)
{
  self->whole = whole;
}

gboolean
pla_entry_get_edges(PlaEntry *self)
{
  return self->edges;
}

void
pla_entry_set_edges(PlaEntry *self, gboolean edges)
{
  if (self->edges == edges)
    return;
  self->edges = edges;
  g_object_notify_by_pspec(G_OBJECT(self), props[PROP_EDGES]);
}

const PlaMesh *
pla_entry_get_mesh(PlaEntry *self)
{
  return self->content ? self->content->mesh : NULL;
}

const float *
pla_entry_get_open(PlaEntry *self)
{
  return self->open;
}
