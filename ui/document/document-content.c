/* What a document shows: entries of the tree and surfaces of tissues. */
#include "ui/document/document-private.h"

#include "app/base/quantity.h"
#include "app/show/picture.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

/* ----------------------------------------------------------------- entries */

static void next_surface(PlaDocument *self);

static void
on_entry_changed(PlaEntry *entry, GParamSpec *spec, PlaDocument *self)
{
  /* the overlay of slices follows the tree */
  if (pla_entry_get_kind(entry) == PLA_ENTRY_LABEL) {
    const GdkRGBA *rgba = pla_entry_get_rgba(entry);
    for (int i = 0; i < self->overlay.n; i++) {
      PlaLabel *label = &self->overlay.label[i];
      if (label->id != pla_entry_get_label(entry))
        continue;
      label->rgba[0] = (uint8_t)lroundf(255.0f * rgba->red);
      label->rgba[1] = (uint8_t)lroundf(255.0f * rgba->green);
      label->rgba[2] = (uint8_t)lroundf(255.0f * rgba->blue);
      label->rgba[3] = pla_entry_get_visible(entry) ? 255 : 0;
    }
    g_signal_emit(self, pla_document_signals[PLA_DOCUMENT_SLICES_CHANGED], 0);
    /* a tissue shown for the first time gets its surface now */
    next_surface(self);
  }
  if (pla_entry_get_kind(entry) == PLA_ENTRY_VOLUME)
    g_signal_emit(self, pla_document_signals[PLA_DOCUMENT_SLICES_CHANGED], 0);
  g_signal_emit(self, pla_document_signals[PLA_DOCUMENT_ENTRY_CHANGED], 0, entry);
}

static void
watch(PlaDocument *self, PlaEntry *entry)
{
  g_signal_connect_object(entry, "notify", G_CALLBACK(on_entry_changed), self, 0);
}

/* the group with @title, made where it stands in the order volumes, tissues, meshes */
PlaEntry *
pla_document_group(PlaDocument *self, PlaEntry **slot, const char *title)
{
  if (!*slot) {
    g_autoptr(PlaEntry) entry = pla_entry_new(PLA_ENTRY_GROUP, title, 0);
    *slot = entry;
    guint at = 0;
    if (slot != &self->volumes_group && self->volumes_group)
      at++;
    if (slot == &self->meshes_group && self->labels_group)
      at++;
    g_list_store_insert(self->tree, at, entry);
    watch(self, entry);
  }
  return *slot;
}

void
pla_document_foreach(PlaDocument *self, void (*func)(PlaEntry *entry, gpointer data), gpointer data)
{
  PlaEntry *groups[2] = { self->labels_group, self->meshes_group };
  for (int g = 0; g < 2; g++) {
    GListModel *children = groups[g] ? G_LIST_MODEL(pla_entry_get_children(groups[g])) : NULL;
    for (guint i = 0; children && i < g_list_model_get_n_items(children); i++) {
      g_autoptr(PlaEntry) entry = g_list_model_get_item(children, i);
      func(entry, data);
    }
  }
}

void
pla_document_remove_shape(PlaEntry *entry, gpointer data)
{
  pla_entry_take_shape(entry, NULL, NULL);
  g_signal_emit(data, pla_document_signals[PLA_DOCUMENT_SHAPE_CHANGED], 0, entry);
}

/* ---------------------------------------------------------------- surfaces */

static PlaStatus
make_surface(gpointer data, PlaProgress *progress, PlaError *err)
{
  PlaDocumentWork *work = data;
  return pla_label_surface_make(work->labels->labels, work->ids, work->n_ids, &work->mesh,
                                &work->open, progress, err);
}

static void
on_surface(PlaJob *job, gpointer data, PlaStatus status, const PlaError *err)
{
  PlaDocumentWork *work = data;
  PlaDocument *self = work->document;
  /* a tissue without a voxel has no surface, and that is no failure */
  if (status == PLA_ERR_EMPTY)
    status = PLA_ERR_CANCELLED;
  if (pla_document_finish(job, work, status, err)) {
    pla_entry_take_shape(work->entry, g_steal_pointer(&work->mesh), g_steal_pointer(&work->open));
    g_signal_emit(self, pla_document_signals[PLA_DOCUMENT_SHAPE_CHANGED], 0, work->entry);
  }
  if (work->generation == self->generation) {
    pla_entry_set_pending(work->entry, FALSE);
    if (self->making == work->entry) {
      self->making = NULL;
      next_surface(self);
    }
  }
  pla_document_retire_job(self, job);
}

typedef struct {
  PlaEntry *best;
  int rank;
} Choice;

/* bone first, because skin is seen through; then skin, then the rest in their order */
static void
consider(PlaEntry *entry, gpointer data)
{
  Choice *choice = data;
  if (!pla_entry_get_pending(entry) || !pla_entry_get_visible(entry))
    return;
  PlaFinish finish_ = pla_entry_get_finish(entry);
  int rank = finish_ == PLA_FINISH_BONE ? 3 : finish_ == PLA_FINISH_SKIN ? 2 : 1;
  if (rank > choice->rank) {
    choice->rank = rank;
    choice->best = entry;
  }
}

static void
next_surface(PlaDocument *self)
{
  Choice choice = { 0 };
  pla_document_foreach(self, consider, &choice);
  if (!choice.best || !self->labels || self->making)
    return;
  self->making = choice.best;
  PlaDocumentWork *work = pla_document_work_new(self);
  work->entry = g_object_ref(choice.best);
  const PlaLabelTable *table = &self->labels->labels->table;
  /* skin encloses everything: its surface is that of the whole body */
  gboolean whole = pla_entry_get_finish(choice.best) == PLA_FINISH_SKIN;
  work->n_ids = whole ? table->n : 1;
  work->ids = g_new(int, (gsize)work->n_ids);
  for (int i = 0; i < work->n_ids; i++)
    work->ids[i] = whole ? table->label[i].id : pla_entry_get_label(choice.best);
  g_autofree char *title = g_strdup_printf(_("Surface of %s"), pla_entry_get_name(choice.best));
  pla_document_start(self, title, make_surface, on_surface, work);
}

/* ------------------------------------------------------------------ content */

void
pla_document_set_title(PlaDocument *self, const char *title)
{
  g_free(self->title);
  self->title = g_strdup(title);
  g_object_notify(G_OBJECT(self), "title");
}

/* Voxels of the smallest tissue that is shown at once: a map of a hundred begins with its largest,
 * and the others wait to be asked for. */
static size_t
smallest_shown(const PlaLabelMap *map, const size_t *counts)
{
  enum { AT_ONCE = 8 };
  size_t largest[AT_ONCE] = { 0 };
  for (int i = 0; i < map->table.n; i++) {
    size_t count = counts[map->table.label[i].id];
    for (int k = 0; k < AT_ONCE; k++)
      if (count > largest[k]) {
        memmove(largest + k + 1, largest + k, (size_t)(AT_ONCE - 1 - k) * sizeof *largest);
        largest[k] = count;
        break;
      }
  }
  return largest[AT_ONCE - 1];
}

/* what one label looked like before another map replaces it; NULL where there was none */
static PlaEntry *
find_label(GListModel *entries, int label)
{
  for (guint i = 0; i < g_list_model_get_n_items(entries); i++) {
    g_autoptr(PlaEntry) entry = g_list_model_get_item(entries, i);
    if (pla_entry_get_label(entry) == label)
      return entry; /* the list keeps it */
  }
  return NULL;
}

/* Shows the tissues of @image.  @changed (by id): those that differ from the map shown so far; the
 * others keep their surfaces, and all keep their looks.  NULL: another map altogether. */
void
pla_document_show_labels(PlaDocument *self, PlaImage *image, const gboolean *changed)
{
  const PlaLabelMap *map = image->labels;
  const size_t *counts = image->counts;
  pla_image_unref(self->labels);
  self->labels = image;
  pla_label_table_clear(&self->overlay);
  pla_label_table_dup(&map->table, &self->overlay, NULL);

  PlaEntry *parent = pla_document_group(self, &self->labels_group, _("Tissues"));
  GListStore *children = pla_entry_get_children(parent);
  g_autoptr(GListStore) old = g_list_store_new(PLA_TYPE_ENTRY);
  for (guint i = 0; i < g_list_model_get_n_items(G_LIST_MODEL(children)); i++) {
    g_autoptr(PlaEntry) entry = g_list_model_get_item(G_LIST_MODEL(children), i);
    g_list_store_append(old, entry);
  }
  const double voxel_mm3 = pla_volume_voxel_mm3(map->volume);
  self->making = NULL;
  const size_t shown = smallest_shown(map, counts);
  /* skin must not hide what is inside: see-through when there is bone in it */
  gboolean bone = FALSE;
  for (int i = 0; i < map->table.n; i++)
    bone = bone || pla_surface_look_for(&map->table.label[i]).finish == PLA_FINISH_BONE;

  g_autoptr(GPtrArray) fresh = g_ptr_array_new_with_free_func(g_object_unref);
  for (int i = 0; i < map->table.n; i++) {
    const PlaLabel *label = &map->table.label[i];
    PlaSurfaceLook look = pla_surface_look_for(label);
    PlaEntry *before = changed ? find_label(G_LIST_MODEL(old), label->id) : NULL;
    gboolean keep =
        before && !changed[label->id] && strcmp(pla_entry_get_name(before), label->name) == 0;
    g_autofree char *detail =
        pla_quantity_text(PLA_QUANTITY_LISTED_VOLUME, (double)counts[label->id] * voxel_mm3,
                          PLA_UNIT_MM3);
    PlaEntry *entry =
        keep ? g_object_ref(before) : pla_entry_new(PLA_ENTRY_LABEL, label->name, ++self->next_id);
    if (!keep) {
      pla_entry_set_label(entry, label->id, look.finish);
      float opacity = look.finish == PLA_FINISH_SKIN && bone ? 0.35f : 1.0f;
      GdkRGBA rgba = { (float)look.rgb[0], (float)look.rgb[1], (float)look.rgb[2], opacity };
      pla_entry_set_rgba(entry, before ? pla_entry_get_rgba(before) : &rgba);
      pla_entry_set_pending(entry, counts[label->id] > 0);
      pla_entry_set_visible(entry,
                            before ? pla_entry_get_visible(before) : counts[label->id] >= shown);
      watch(self, entry);
    }
    pla_entry_set_detail(entry, detail);
    g_ptr_array_add(fresh, entry);
  }
  for (guint i = 0; i < g_list_model_get_n_items(G_LIST_MODEL(old)); i++) {
    g_autoptr(PlaEntry) entry = g_list_model_get_item(G_LIST_MODEL(old), i);
    if (!g_ptr_array_find(fresh, entry, NULL))
      pla_document_remove_shape(entry, self);
  }
  g_list_store_splice(children, 0, g_list_model_get_n_items(G_LIST_MODEL(children)), fresh->pdata,
                      fresh->len);
  for (guint i = 0; i < fresh->len; i++)
    on_entry_changed(fresh->pdata[i], NULL, self);
  next_surface(self);
}

void
pla_document_show_volume(PlaDocument *self, PlaImage *image, const char *name)
{
  const PlaVolume *volume = image->volume;
  pla_image_unref(self->volume);
  self->volume = image;

  /* a CT begins with its soft tissue, anything else with what fits its values */
  if (pla_image_is_ct(image)) {
    self->window[0] = -160.0;
    self->window[1] = 240.0;
  } else {
    memcpy(self->window, image->window, sizeof self->window);
  }
  PlaEntry *parent = pla_document_group(self, &self->volumes_group, _("Scans"));
  g_list_store_remove_all(pla_entry_get_children(parent));
  g_autoptr(PlaEntry) entry = pla_entry_new(PLA_ENTRY_VOLUME, name, 0);
  g_autofree char *detail =
      g_strdup_printf("%d × %d × %d", volume->dims[0], volume->dims[1], volume->dims[2]);
  pla_entry_set_detail(entry, detail);
  pla_entry_set_visible(entry, pla_entry_get_visible(parent));
  watch(self, entry);
  g_list_store_append(pla_entry_get_children(parent), entry);
}

void
pla_document_describe_mesh(PlaEntry *entry, const PlaMesh *mesh)
{
  const int solid = mesh->n_tets + mesh->n_hexes;
  const int n = solid > 0 ? solid : mesh->n_tris;
  const char *unit = mesh->n_tets > 0 ? _("tets") : solid > 0 ? _("hexes") : _("triangles");
  g_autofree char *detail = n < 10000 ? g_strdup_printf("%d %s", n, unit)
                                      : g_strdup_printf("%dk %s", (n + 500) / 1000, unit);
  pla_entry_set_detail(entry, detail);
}

PlaEntry *
pla_document_new_mesh(PlaDocument *self, const PlaMesh *mesh, const char *name)
{
  PlaEntry *entry = pla_entry_new(PLA_ENTRY_MESH, name, ++self->next_id);
  const int solid = mesh->n_tets + mesh->n_hexes;
  pla_document_describe_mesh(entry, mesh);
  /* lines closer than a few pixels are only dirt; a surface that cells carry is that of the tissue
   */
  pla_entry_set_edges(entry, solid > 0 && solid < 60000 && !pla_mesh_carries_surface(mesh));
  watch(self, entry);
  return entry;
}

/* the crosshair to the middle of what is there */
void
pla_document_centre_cursor(PlaDocument *self)
{
  const PlaVolume *frame = self->volume   ? self->volume->volume
                           : self->labels ? self->labels->labels->volume
                                          : NULL;
  if (frame) {
    double lo[3], hi[3];
    pla_volume_box(frame, lo, hi);
    for (int d = 0; d < 3; d++)
      self->cursor[d] = 0.5 * (lo[d] + hi[d]);
  }
}
