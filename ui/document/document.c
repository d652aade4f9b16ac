/* State of the document, its accessors and properties, and the bookkeeping of jobs. Reading
 * items and running operations are in document-content.c, document-session.c and document-
 * work.c. */
#include "ui/document/document-private.h"

#include "app/base/quantity.h"
#include "app/show/picture.h"
#include "ui/document/unsaved.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

enum { PROP_TITLE = 1, PROP_BUSY, N_PROPS };
static GParamSpec *props[N_PROPS];
guint pla_document_signals[PLA_DOCUMENT_N_SIGNALS];

G_DEFINE_FINAL_TYPE(PlaDocument, pla_document, G_TYPE_OBJECT)

void
pla_wanted_free(gpointer data)
{
  PlaWanted *wanted = data;
  g_free(wanted->kind);
  g_free(wanted->name);
  pla_content_unref(wanted->content);
  g_free(wanted);
}

PlaWanted *
pla_document_last_of(GPtrArray *items, const char *kind)
{
  for (guint i = items ? items->len : 0; i > 0; i--) {
    PlaWanted *wanted = items->pdata[i - 1];
    if (strcmp(wanted->kind, kind) == 0)
      return wanted;
  }
  return NULL;
}

static const PlaWindowPreset window_presets[] = {
  { "soft-tissue", N_("CT _soft tissue"), -160.0, 240.0 },
  { "bone", N_("CT _bone"), -450.0, 1550.0 },
  { "lung", N_("CT _air and lung"), -1350.0, 150.0 },
  { "brain", N_("CT b_rain"), 0.0, 80.0 },
  { "auto", N_("_Automatic"), 0.0, 0.0 },
};

const PlaWindowPreset *
pla_window_presets_get(int *n)
{
  *n = G_N_ELEMENTS(window_presets);
  return window_presets;
}

/* -------------------------------------------------------------------- jobs */

static void
on_jobs_changed(PlaDocument *self)
{
  g_object_notify_by_pspec(G_OBJECT(self), props[PROP_BUSY]);
}

PlaDocumentWork *
pla_document_work_new(PlaDocument *self)
{
  PlaDocumentWork *work = g_new0(PlaDocumentWork, 1);
  work->document = g_object_ref(self);
  work->generation = self->generation;
  work->lock = -1;
  if (self->volume)
    work->volume = g_atomic_rc_box_acquire(self->volume);
  if (self->labels)
    work->labels = g_atomic_rc_box_acquire(self->labels);
  return work;
}

static void
work_free(gpointer data)
{
  PlaDocumentWork *work = data;
  g_object_unref(work->document);
  g_clear_object(&work->entry);
  pla_image_unref(work->volume);
  pla_image_unref(work->labels);
  g_free(work->path);
  g_free(work->name);
  g_free(work->ids);
  g_clear_pointer(&work->wanted, g_ptr_array_unref);
  pla_image_unref(work->new_volume);
  pla_image_unref(work->new_labels);
  g_free(work->changed);
  pla_content_unref(work->content);
  g_clear_object(&work->session);
  pla_unsaved_unlock(work->lock);
  pla_mesh_free(work->mesh);
  free(work->open);
  g_free(work);
}

gboolean
pla_document_finish(PlaJob *job, PlaDocumentWork *work, PlaStatus status, const PlaError *err)
{
  PlaDocument *self = work->document;
  gboolean wanted = work->generation == self->generation;
  if (wanted && status != PLA_OK && status != PLA_ERR_CANCELLED)
    g_signal_emit(self, pla_document_signals[PLA_DOCUMENT_FAILED], 0, err->message);
  return wanted && status == PLA_OK;
}

void
pla_document_add_job(PlaDocument *self, PlaJob *job)
{
  g_list_store_append(self->jobs, job);
}

void
pla_document_retire_job(PlaDocument *self, PlaJob *job)
{
  guint position;
  if (g_list_store_find(self->jobs, job, &position))
    g_list_store_remove(self->jobs, position);
}

void
pla_document_start(PlaDocument *self, const char *title, PlaJobWork func, PlaJobDone done,
                   PlaDocumentWork *work)
{
  g_autoptr(PlaJob) job = pla_job_start(title, func, done, work, work_free);
  g_list_store_append(self->jobs, job);
}

/* ------------------------------------------------------------------- access */

const PlaVolume *
pla_document_get_volume(PlaDocument *self)
{
  return self->volume ? self->volume->volume : NULL;
}

gboolean
pla_document_get_grey(PlaDocument *self)
{
  return self->volume && self->volumes_group && pla_entry_get_visible(self->volumes_group);
}

const PlaLabelMap *
pla_document_get_labels(PlaDocument *self)
{
  return self->labels ? self->labels->labels : NULL;
}

const char *
pla_document_get_labels_name(PlaDocument *self)
{
  PlaWanted *item = pla_document_last_of(self->shown, PLA_ITEM_LABELS);
  return item ? item->name : NULL;
}

const char *
pla_document_get_volume_name(PlaDocument *self)
{
  PlaWanted *item = pla_document_last_of(self->shown, PLA_ITEM_VOLUME);
  return item ? item->name : NULL;
}

double
pla_document_get_label_mm3(PlaDocument *self, int label)
{
  return self->labels && label >= 0 && label < 65536
             ? (double)self->labels->counts[label] *
                   pla_volume_voxel_mm3(self->labels->labels->volume)
             : 0.0;
}

void
pla_document_get_range(PlaDocument *self, double range[2])
{
  range[0] = self->volume ? self->volume->range[0] : 0.0;
  range[1] = self->volume ? self->volume->range[1] : 0.0;
}

const char *
pla_document_get_unit(PlaDocument *self)
{
  return self->volume && pla_image_is_ct(self->volume) ? "HU" : "";
}

gpointer
pla_document_hold_volume(PlaDocument *self, const PlaVolume **volume)
{
  *volume = self->volume ? self->volume->volume : NULL;
  return self->volume ? g_atomic_rc_box_acquire(self->volume) : NULL;
}

void
pla_document_release(gpointer held)
{
  pla_image_unref(held);
}

PlaTools *
pla_document_get_tools(PlaDocument *self)
{
  return self->tools;
}

PlaAnnotations *
pla_document_get_annotations(PlaDocument *self)
{
  return self->annotations;
}

const PlaNotes *
pla_document_get_notes(PlaDocument *self)
{
  return self->volume ? &self->volume->notes : NULL;
}

const PlaLabelTable *
pla_document_get_overlay(PlaDocument *self)
{
  return &self->overlay;
}

GListModel *
pla_document_get_tree(PlaDocument *self)
{
  return G_LIST_MODEL(self->tree);
}

GListModel *
pla_document_get_jobs(PlaDocument *self)
{
  return G_LIST_MODEL(self->jobs);
}

const char *
pla_document_get_title(PlaDocument *self)
{
  return self->title;
}

gboolean
pla_document_get_busy(PlaDocument *self)
{
  return g_list_model_get_n_items(G_LIST_MODEL(self->jobs)) > 0;
}

void
pla_document_get_cursor(PlaDocument *self, double ras_mm[3])
{
  memcpy(ras_mm, self->cursor, sizeof self->cursor);
}

void
pla_document_set_cursor(PlaDocument *self, const double ras_mm[3])
{
  const PlaVolume *frame = self->volume   ? self->volume->volume
                           : self->labels ? self->labels->labels->volume
                                          : NULL;
  double lo[3] = { -1e4, -1e4, -1e4 }, hi[3] = { 1e4, 1e4, 1e4 }; /* mm */
  if (frame)
    pla_volume_box(frame, lo, hi);
  for (int d = 0; d < 3; d++)
    self->cursor[d] = CLAMP(ras_mm[d], lo[d], hi[d]);
  g_signal_emit(self, pla_document_signals[PLA_DOCUMENT_CURSOR_CHANGED], 0);
}

void
pla_document_get_window(PlaDocument *self, double window[2])
{
  memcpy(window, self->window, sizeof self->window);
}

void
pla_document_set_window(PlaDocument *self, double lo, double hi)
{
  if (!(hi > lo) && self->volume) {
    memcpy(self->window, self->volume->window, sizeof self->window);
  } else {
    self->window[0] = lo;
    self->window[1] = hi;
  }
  g_signal_emit(self, pla_document_signals[PLA_DOCUMENT_SLICES_CHANGED], 0);
}

gboolean
pla_document_get_radiological(PlaDocument *self)
{
  return self->radiological;
}

void
pla_document_set_radiological(PlaDocument *self, gboolean radiological)
{
  self->radiological = radiological;
  g_signal_emit(self, pla_document_signals[PLA_DOCUMENT_SLICES_CHANGED], 0);
}

gboolean
pla_document_get_linear(PlaDocument *self)
{
  return self->linear;
}

void
pla_document_set_linear(PlaDocument *self, gboolean linear)
{
  self->linear = linear;
  g_signal_emit(self, pla_document_signals[PLA_DOCUMENT_SLICES_CHANGED], 0);
}

char *
pla_document_describe(PlaDocument *self, const double ras_mm[3])
{
  GString *text = g_string_new(NULL);
  static const char *const sides[3][2] = { { "L", "R" }, { "P", "A" }, { "I", "S" } };
  for (int d = 0; d < 3; d++) {
    double rounded = round(10.0 * ras_mm[d]) / 10.0;
    g_autofree char *number =
        pla_quantity_number(PLA_QUANTITY_POSITION, fabs(rounded), PLA_UNIT_MM);
    g_string_append_printf(text, "%s %s  ", sides[d][rounded >= 0.0], number);
  }
  g_string_append(text, pla_unit_symbol(pla_quantity_get(PLA_QUANTITY_POSITION)->unit));
  PlaSlicePlane pixel = pla_slice_plane(PLA_AXIS_AXIAL, ras_mm, 1.0, 1, 1, true);
  if (self->volume) {
    float value;
    pla_slice_values(self->volume->volume, 0, &pixel, false, &value);
    if (!isnan(value))
      g_string_append_printf(text, "     %.6g %s", (double)value, pla_document_get_unit(self));
  }
  if (self->labels) {
    uint16_t id;
    pla_slice_labels(self->labels->labels, &pixel, &id);
    const PlaLabel *label = pla_label_table_find(&self->labels->labels->table, id);
    if (label)
      g_string_append_printf(text, "     %s", label->name);
  }
  return g_string_free(text, FALSE);
}

/* --------------------------------------------------------------------- type */

static void
pla_document_get_property(GObject *object, guint id, GValue *value, GParamSpec *spec)
{
  PlaDocument *self = PLA_DOCUMENT(object);
  switch (id) {
  case PROP_TITLE:
    g_value_set_string(value, self->title);
    break;
  case PROP_BUSY:
    g_value_set_boolean(value, pla_document_get_busy(self));
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
  }
}

static void
pla_document_finalize(GObject *object)
{
  PlaDocument *self = PLA_DOCUMENT(object);
  g_clear_handle_id(&self->look, g_source_remove);
  g_clear_object(&self->session);
  pla_unsaved_unlock(self->lock);
  g_clear_pointer(&self->shown, g_ptr_array_unref);
  g_free(self->title);
  pla_image_unref(self->volume);
  pla_image_unref(self->labels);
  pla_label_table_clear(&self->overlay);
  g_clear_object(&self->annotations);
  g_clear_object(&self->tree);
  g_clear_object(&self->jobs);
  g_clear_object(&self->tools);
  G_OBJECT_CLASS(pla_document_parent_class)->finalize(object);
}

static void
pla_document_class_init(PlaDocumentClass *klass)
{
  GObjectClass *object = G_OBJECT_CLASS(klass);
  object->get_property = pla_document_get_property;
  object->finalize = pla_document_finalize;
  const GParamFlags flags = G_PARAM_READABLE | G_PARAM_STATIC_STRINGS;
  props[PROP_TITLE] = g_param_spec_string("title", NULL, NULL, NULL, flags);
  props[PROP_BUSY] = g_param_spec_boolean("busy", NULL, NULL, FALSE, flags);
  g_object_class_install_properties(object, N_PROPS, props);
  static const struct {
    const char *name;
    GType type; /* fundamental of the argument, G_TYPE_NONE: no argument */
  } table[PLA_DOCUMENT_N_SIGNALS] = {
    [PLA_DOCUMENT_RESET] = { "reset", G_TYPE_NONE },
    [PLA_DOCUMENT_SLICES_CHANGED] = { "slices-changed", G_TYPE_NONE },
    [PLA_DOCUMENT_CURSOR_CHANGED] = { "cursor-changed", G_TYPE_NONE },
    [PLA_DOCUMENT_SHAPE_CHANGED] = { "shape-changed", G_TYPE_OBJECT },
    [PLA_DOCUMENT_ENTRY_CHANGED] = { "entry-changed", G_TYPE_OBJECT },
    [PLA_DOCUMENT_HISTORY_CHANGED] = { "history-changed", G_TYPE_NONE },
    [PLA_DOCUMENT_FAILED] = { "failed", G_TYPE_STRING },
  };
  for (int s = 0; s < PLA_DOCUMENT_N_SIGNALS; s++) {
    GType type = table[s].type == G_TYPE_OBJECT ? PLA_TYPE_ENTRY : table[s].type;
    if (type == G_TYPE_NONE)
      pla_document_signals[s] = g_signal_new(table[s].name, PLA_TYPE_DOCUMENT, G_SIGNAL_RUN_LAST, 0,
                                             NULL, NULL, NULL, G_TYPE_NONE, 0);
    else
      pla_document_signals[s] = g_signal_new(table[s].name, PLA_TYPE_DOCUMENT, G_SIGNAL_RUN_LAST, 0,
                                             NULL, NULL, NULL, G_TYPE_NONE, 1, type);
  }
}

static void
pla_document_init(PlaDocument *self)
{
  self->tree = g_list_store_new(PLA_TYPE_ENTRY);
  self->annotations = pla_annotations_new(self->tree);
  self->jobs = g_list_store_new(PLA_TYPE_JOB);
  self->tools = pla_tools_new();
  g_queue_init(&self->queue);
  self->lock = -1;
  g_signal_connect_swapped(self->jobs, "items-changed", G_CALLBACK(on_jobs_changed), self);
  self->radiological = TRUE;
  self->linear = TRUE;
  self->window[1] = 1.0;
}

PlaDocument *
pla_document_new(void)
{
  return g_object_new(PLA_TYPE_DOCUMENT, NULL);
}
