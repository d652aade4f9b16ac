#include "ui/document.h"

#include "anatomy/segment/segment.h"
#include "app/content.h"
#include "app/demo.h"
#include "app/picture.h"
#include "io/format.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

/* Things that worker threads read while the main thread may move on: immutable, counted. */
typedef struct {
  PlaVolume *volume;
  PlaLabelMap *labels;
  PlaNotes notes;
  PlaContent *content; /* owns volume and labels where it is set */
  /* what takes a pass over all voxels, made with the holding on its worker */
  double range[2], window[2]; /* of the volume: values; what most of them lie in */
  size_t *counts;             /* of the labels: voxels by id (65536) */
} Holding;

static void
holding_clear(gpointer data)
{
  Holding *held = data;
  if (!held->content) {
    pla_volume_free(held->volume);
    pla_label_map_free(held->labels);
  }
  pla_content_unref(held->content);
  pla_notes_clear(&held->notes);
  g_free(held->counts);
}

static Holding *
survey(Holding *held)
{
  if (held->volume) {
    pla_volume_range(held->volume, &held->range[0], &held->range[1]);
    pla_window_auto(held->volume, held->window);
  }
  if (held->labels) {
    held->counts = g_new0(size_t, 65536);
    pla_label_map_count(held->labels, held->counts);
  }
  return held;
}

static void
holding_unref(Holding *held)
{
  if (held)
    g_atomic_rc_box_release_full(held, holding_clear);
}

/* takes @labels */
static Holding *
hold_labels(PlaLabelMap *labels)
{
  Holding *held = g_atomic_rc_box_new0(Holding);
  held->labels = labels;
  return survey(held);
}

/* takes the volume and the notes out of @item */
static Holding *
hold_volume(PlaItem *item)
{
  Holding *held = g_atomic_rc_box_new0(Holding);
  held->volume = g_steal_pointer(&item->volume);
  held->notes = item->notes;
  item->notes = (PlaNotes){ 0 };
  return survey(held);
}

static Holding *
hold_content(PlaContent *content)
{
  Holding *held = g_atomic_rc_box_new0(Holding);
  held->content = pla_content_ref(content);
  held->volume = content->volume;
  held->labels = content->labels;
  return survey(held);
}

/* An item of the case as it is shown, or is to be. */
typedef struct {
  int64_t item;
  PlaHash hash;
  char *kind, *name;
  PlaContent *content; /* NULL: not read yet */
} Wanted;

static void
wanted_free(gpointer data)
{
  Wanted *wanted = data;
  g_free(wanted->kind);
  g_free(wanted->name);
  pla_content_unref(wanted->content);
  g_free(wanted);
}

struct _PlaDocument {
  GObject parent_instance;
  PlaSession *session; /* or NULL */
  GPtrArray *shown;    /* of Wanted: what is shown of the session */
  guint serial;        /* of the newest reading of the session */
  char *title;
  PlaEntry *making; /* whose surface is being made, or NULL */
  guint generation; /* grows when the case changes: results of older jobs are dropped */
  Holding *volume, *labels;
  PlaLabelTable overlay;
  GListStore *tree;                                      /* groups */
  PlaEntry *volumes_group, *labels_group, *meshes_group; /* borrowed from tree, or NULL */
  GListStore *jobs;
  GQueue queue; /* of Running: operations that wait for their turn */
  PlaTools *tools;
  PlaAnnotations *annotations;
  int next_id;
  double cursor[3], window[2];
  gboolean radiological, linear;
};

enum { PROP_TITLE = 1, PROP_BUSY, N_PROPS };
static GParamSpec *props[N_PROPS];
enum {
  RESET,
  SLICES_CHANGED,
  CURSOR_CHANGED,
  SHAPE_CHANGED,
  ENTRY_CHANGED,
  HISTORY_CHANGED,
  FAILED,
  N_SIGNALS
};
static guint signals[N_SIGNALS];

G_DEFINE_FINAL_TYPE(PlaDocument, pla_document, G_TYPE_OBJECT)

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

/* what each job carries besides its own data */
typedef struct {
  PlaDocument *document;
  guint generation;
  PlaEntry *entry; /* whose surface is made */
  Holding *volume, *labels;
  char *path, *name;
  PlaSegmentOptions segment;
  int *ids, n_ids;
  guint serial;
  GPtrArray *wanted; /* of Wanted */
  PlaSession *session; /* a case being opened: handed over, used by one thread at a time */
  PlaContent *content; /* to be written */
  /* results */
  PlaItem item;
  Holding *new_volume, *new_labels;
  gboolean *changed; /* of labels that replace others: by id (65536), or NULL: all */
  PlaMesh *mesh;
  float *open;
} Work;

static Work *
work_new(PlaDocument *self)
{
  Work *work = g_new0(Work, 1);
  work->document = g_object_ref(self);
  work->generation = self->generation;
  if (self->volume)
    work->volume = g_atomic_rc_box_acquire(self->volume);
  if (self->labels)
    work->labels = g_atomic_rc_box_acquire(self->labels);
  return work;
}

static void
work_free(gpointer data)
{
  Work *work = data;
  g_object_unref(work->document);
  g_clear_object(&work->entry);
  holding_unref(work->volume);
  holding_unref(work->labels);
  g_free(work->path);
  g_free(work->name);
  g_free(work->ids);
  g_clear_pointer(&work->wanted, g_ptr_array_unref);
  pla_item_clear(&work->item);
  holding_unref(work->new_volume);
  holding_unref(work->new_labels);
  g_free(work->changed);
  pla_content_unref(work->content);
  g_clear_object(&work->session);
  pla_mesh_free(work->mesh);
  free(work->open);
  g_free(work);
}

/* Removes the job from the list; whether its result is still wanted. */
static gboolean
finish(PlaJob *job, Work *work, PlaStatus status, const PlaError *err)
{
  PlaDocument *self = work->document;
  gboolean wanted = work->generation == self->generation;
  if (wanted && status != PLA_OK && status != PLA_ERR_CANCELLED)
    g_signal_emit(self, signals[FAILED], 0, err->message);
  return wanted && status == PLA_OK;
}

/* after the result was applied: whoever waits for the last job finds everything in place */
static void
retire(PlaJob *job, PlaDocument *self)
{
  guint position;
  if (g_list_store_find(self->jobs, job, &position))
    g_list_store_remove(self->jobs, position);
}

void
pla_document_add_job(PlaDocument *self, PlaJob *job)
{
  g_list_store_append(self->jobs, job);
}

void
pla_document_retire_job(PlaDocument *self, PlaJob *job)
{
  retire(job, self);
}

static void
start(PlaDocument *self, const char *title, PlaJobWork func, PlaJobDone done, Work *work)
{
  g_autoptr(PlaJob) job = pla_job_start(title, func, done, work, work_free);
  g_list_store_append(self->jobs, job);
}

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
    g_signal_emit(self, signals[SLICES_CHANGED], 0);
    /* a tissue shown for the first time gets its surface now */
    next_surface(self);
  }
  if (pla_entry_get_kind(entry) == PLA_ENTRY_VOLUME)
    g_signal_emit(self, signals[SLICES_CHANGED], 0);
  g_signal_emit(self, signals[ENTRY_CHANGED], 0, entry);
}

static void
watch(PlaDocument *self, PlaEntry *entry)
{
  g_signal_connect_object(entry, "notify", G_CALLBACK(on_entry_changed), self, 0);
}

/* the group with @title, made where it stands in the order volumes, tissues, meshes */
static PlaEntry *
group(PlaDocument *self, PlaEntry **slot, const char *title)
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

static void
remove_shape(PlaEntry *entry, gpointer data)
{
  pla_entry_take_shape(entry, NULL, NULL);
  g_signal_emit(data, signals[SHAPE_CHANGED], 0, entry);
}

/* ---------------------------------------------------------------- surfaces */

static PlaStatus
make_surface(gpointer data, PlaProgress *progress, PlaError *err)
{
  Work *work = data;
  return pla_label_surface_make(work->labels->labels, work->ids, work->n_ids, &work->mesh,
                                &work->open, progress, err);
}

static void
on_surface(PlaJob *job, gpointer data, PlaStatus status, const PlaError *err)
{
  Work *work = data;
  PlaDocument *self = work->document;
  /* a tissue without a voxel has no surface, and that is no failure */
  if (status == PLA_ERR_EMPTY)
    status = PLA_ERR_CANCELLED;
  if (finish(job, work, status, err)) {
    pla_entry_take_shape(work->entry, g_steal_pointer(&work->mesh), g_steal_pointer(&work->open));
    g_signal_emit(self, signals[SHAPE_CHANGED], 0, work->entry);
  }
  if (work->generation == self->generation) {
    pla_entry_set_pending(work->entry, FALSE);
    if (self->making == work->entry) {
      self->making = NULL;
      next_surface(self);
    }
  }
  retire(job, self);
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
  Work *work = work_new(self);
  work->entry = g_object_ref(choice.best);
  const PlaLabelTable *table = &self->labels->labels->table;
  /* skin encloses everything: its surface is that of the whole body */
  gboolean whole = pla_entry_get_finish(choice.best) == PLA_FINISH_SKIN;
  work->n_ids = whole ? table->n : 1;
  work->ids = g_new(int, (gsize)work->n_ids);
  for (int i = 0; i < work->n_ids; i++)
    work->ids[i] = whole ? table->label[i].id : pla_entry_get_label(choice.best);
  g_autofree char *title = g_strdup_printf(_("Surface of %s"), pla_entry_get_name(choice.best));
  start(self, title, make_surface, on_surface, work);
}

/* ------------------------------------------------------------------ content */

static void
set_title(PlaDocument *self, const char *title)
{
  g_free(self->title);
  self->title = g_strdup(title);
  g_object_notify_by_pspec(G_OBJECT(self), props[PROP_TITLE]);
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

/* Shows the tissues of @held.  @changed (by id): those that differ from the map shown so far; the
 * others keep their surfaces, and all keep their looks.  NULL: another map altogether. */
static void
show_labels(PlaDocument *self, Holding *held, const gboolean *changed)
{
  const PlaLabelMap *map = held->labels;
  const size_t *counts = held->counts;
  holding_unref(self->labels);
  self->labels = held;
  pla_label_table_clear(&self->overlay);
  pla_label_table_dup(&map->table, &self->overlay, NULL);

  PlaEntry *parent = group(self, &self->labels_group, _("Tissues"));
  GListStore *children = pla_entry_get_children(parent);
  g_autoptr(GListStore) old = g_list_store_new(PLA_TYPE_ENTRY);
  for (guint i = 0; i < g_list_model_get_n_items(G_LIST_MODEL(children)); i++) {
    g_autoptr(PlaEntry) entry = g_list_model_get_item(G_LIST_MODEL(children), i);
    g_list_store_append(old, entry);
  }
  const double voxel_ml = pla_volume_voxel_mm3(map->volume) / 1000.0;
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
    gboolean keep = before && !changed[label->id] &&
                    strcmp(pla_entry_get_name(before), label->name) == 0;
    g_autofree char *detail = g_strdup_printf(_("%.1f ml"), (double)counts[label->id] * voxel_ml);
    PlaEntry *entry = keep ? g_object_ref(before)
                           : pla_entry_new(PLA_ENTRY_LABEL, label->name, ++self->next_id);
    if (!keep) {
      pla_entry_set_label(entry, label->id, look.finish);
      float opacity = look.finish == PLA_FINISH_SKIN && bone ? 0.35f : 1.0f;
      GdkRGBA rgba = { (float)look.rgb[0], (float)look.rgb[1], (float)look.rgb[2], opacity };
      pla_entry_set_rgba(entry, before ? pla_entry_get_rgba(before) : &rgba);
      pla_entry_set_pending(entry, counts[label->id] > 0);
      pla_entry_set_visible(entry, before ? pla_entry_get_visible(before)
                                          : counts[label->id] >= shown);
      watch(self, entry);
    }
    pla_entry_set_detail(entry, detail);
    g_ptr_array_add(fresh, entry);
  }
  for (guint i = 0; i < g_list_model_get_n_items(G_LIST_MODEL(old)); i++) {
    g_autoptr(PlaEntry) entry = g_list_model_get_item(G_LIST_MODEL(old), i);
    if (!g_ptr_array_find(fresh, entry, NULL))
      remove_shape(entry, self);
  }
  g_list_store_splice(children, 0, g_list_model_get_n_items(G_LIST_MODEL(children)), fresh->pdata,
                      fresh->len);
  for (guint i = 0; i < fresh->len; i++)
    on_entry_changed(fresh->pdata[i], NULL, self);
  next_surface(self);
}

/* by its values: air and bone on the scale of Hounsfield, whatever a scanner writes outside it */
static gboolean
is_ct(const Holding *held)
{
  const double lo = held->range[0], hi = held->range[1];
  return lo <= -900.0 && lo >= -5000.0 && hi >= 800.0;
}

static void
show_volume(PlaDocument *self, Holding *held, const char *name)
{
  const PlaVolume *volume = held->volume;
  holding_unref(self->volume);
  self->volume = held;

  /* a CT begins with its soft tissue, anything else with what fits its values */
  if (is_ct(held)) {
    self->window[0] = -160.0;
    self->window[1] = 240.0;
  } else {
    memcpy(self->window, held->window, sizeof self->window);
  }
  PlaEntry *parent = group(self, &self->volumes_group, _("Scans"));
  g_list_store_remove_all(pla_entry_get_children(parent));
  g_autoptr(PlaEntry) entry = pla_entry_new(PLA_ENTRY_VOLUME, name, 0);
  g_autofree char *detail =
      g_strdup_printf("%d × %d × %d", volume->dims[0], volume->dims[1], volume->dims[2]);
  pla_entry_set_detail(entry, detail);
  pla_entry_set_visible(entry, pla_entry_get_visible(parent));
  watch(self, entry);
  g_list_store_append(pla_entry_get_children(parent), entry);
}

static PlaEntry *
new_mesh_entry(PlaDocument *self, const PlaMesh *mesh, const char *name)
{
  PlaEntry *entry = pla_entry_new(PLA_ENTRY_MESH, name, ++self->next_id);
  const int solid = mesh->n_tets + mesh->n_hexes;
  const int n = solid > 0 ? solid : mesh->n_tris;
  const char *unit = mesh->n_tets > 0 ? _("tets") : solid > 0 ? _("hexes") : _("triangles");
  g_autofree char *detail =
      n < 10000 ? g_strdup_printf("%d %s", n, unit) : g_strdup_printf("%dk %s", (n + 500) / 1000, unit);
  pla_entry_set_detail(entry, detail);
  /* lines closer than a few pixels are only dirt */
  pla_entry_set_edges(entry, solid > 0 && solid < 60000);
  watch(self, entry);
  return entry;
}

/* a mesh that no case holds; takes @mesh */
static void
show_mesh(PlaDocument *self, PlaMesh *mesh, const char *name)
{
  PlaEntry *parent = group(self, &self->meshes_group, _("Meshes"));
  g_autoptr(PlaEntry) entry = new_mesh_entry(self, mesh, name);
  pla_entry_take_shape(entry, mesh, NULL);
  g_list_store_append(pla_entry_get_children(parent), entry);
  g_signal_emit(self, signals[SHAPE_CHANGED], 0, entry);
}

/* the crosshair to the middle of what is there */
static void
centre_cursor(PlaDocument *self)
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

/* whether a volume is a map of tissues: named labels, or a few small whole numbers */
static gboolean
looks_like_labels(const PlaItem *item)
{
  const PlaVolume *vol = item->volume;
  if (vol->dims[3] != 1 || vol->slope != 1.0 || vol->inter != 0.0)
    return FALSE;
  if (item->labels.n > 0)
    return TRUE;
  if (vol->dtype != PLA_U8 && vol->dtype != PLA_U16)
    return FALSE;
  /* images have nearly all values of their range somewhere */
  enum { MOST = 512 };
  gboolean used[MOST] = { FALSE };
  int distinct = 0;
  for (size_t i = 0; i < pla_volume_n_voxels(vol); i++) {
    size_t v = (size_t)pla_dtype_get(vol->dtype, vol->voxels, i);
    if (v >= MOST)
      return FALSE;
    distinct += !used[v];
    used[v] = TRUE;
  }
  return distinct <= 128;
}

static PlaStatus
read_file(gpointer data, PlaProgress *progress, PlaError *err)
{
  Work *work = data;
  PlaReadOptions opts = pla_read_options_default();
  opts.progress = progress;
  PlaStatus st = pla_item_read(work->path, &opts, &work->item, err);
  if (st == PLA_OK && work->item.kind == PLA_KIND_VOLUME && looks_like_labels(&work->item)) {
    PlaLabelMap *map = NULL;
    st = pla_label_map_take(work->item.volume, &work->item.labels, &map, err);
    if (st == PLA_OK) {
      work->item.volume = NULL;
      work->new_labels = hold_labels(map);
    }
  } else if (st == PLA_OK && work->item.kind == PLA_KIND_VOLUME) {
    work->new_volume = hold_volume(&work->item);
  }
  return st;
}

static void
on_read(PlaJob *job, gpointer data, PlaStatus status, const PlaError *err)
{
  Work *work = data;
  PlaDocument *self = work->document;
  if (finish(job, work, status, err)) {
    gboolean first = pla_document_is_empty(self);
    gboolean shown = TRUE;
    if (work->new_labels)
      show_labels(self, g_steal_pointer(&work->new_labels), NULL);
    else if (work->new_volume)
      show_volume(self, g_steal_pointer(&work->new_volume), work->name);
    else if (work->item.kind == PLA_KIND_MESH)
      show_mesh(self, g_steal_pointer(&work->item.mesh), work->name);
    else
      shown = FALSE;
    if (shown) {
      if (first) {
        set_title(self, work->name);
        centre_cursor(self);
        g_signal_emit(self, signals[RESET], 0);
      }
      g_signal_emit(self, signals[SLICES_CHANGED], 0);
      g_signal_emit(self, signals[CURSOR_CHANGED], 0);
    } else {
      g_autofree char *text = g_strdup_printf(_("%s is a file of %s, which the views cannot show"),
                                              work->name, pla_kind_name(work->item.kind));
      g_signal_emit(self, signals[FAILED], 0, text);
    }
  }
  retire(job, self);
}

/* ------------------------------------------------------------------ session */

/* the last item of a kind, or NULL */
static Wanted *
last_of(GPtrArray *items, const char *kind)
{
  for (guint i = items ? items->len : 0; i > 0; i--) {
    Wanted *wanted = items->pdata[i - 1];
    if (strcmp(wanted->kind, kind) == 0)
      return wanted;
  }
  return NULL;
}

/* the body to operate on, or the last mesh */
static Wanted *
last_shape(GPtrArray *items)
{
  Wanted *body = last_of(items, PLA_ITEM_BODY);
  return body ? body : last_of(items, PLA_ITEM_MESH);
}

static gboolean
holds(const Holding *held, const PlaContent *content)
{
  return held && held->content == content;
}

/* Which labels differ between two maps of one frame; NULL where the frames differ.  */
static gboolean *
compare_labels(const Holding *before, const Holding *after)
{
  const PlaVolume *a = before ? before->labels->volume : NULL, *b = after->labels->volume;
  if (!a || memcmp(a->dims, b->dims, sizeof a->dims) != 0 ||
      memcmp(a->affine_mm, b->affine_mm, sizeof a->affine_mm) != 0)
    return NULL;
  gboolean *changed = g_new0(gboolean, 65536);
  const size_t n = pla_volume_n_voxels(a);
  gboolean outline = FALSE;
  for (size_t v = 0; v < n; v++) {
    int x = pla_label_map_get(before->labels, v), y = pla_label_map_get(after->labels, v);
    if (x != y) {
      changed[x] = changed[y] = TRUE;
      outline = outline || x == 0 || y == 0;
    }
  }
  /* skin is drawn as the outline of the whole body */
  for (int i = 0; i < after->labels->table.n; i++) {
    const PlaLabel *label = &after->labels->table.label[i];
    if (pla_surface_look_for(label).finish == PLA_FINISH_SKIN)
      changed[label->id] = outline;
  }
  return changed;
}

/* on a connection of its own: the session's belongs to the main thread */
static PlaStatus
read_items(gpointer data, PlaProgress *progress, PlaError *err)
{
  Work *work = data;
  PlaStore *store = NULL;
  PlaStatus st = pla_store_open(work->path, &store, err);
  for (guint i = 0; st == PLA_OK && i < work->wanted->len; i++) {
    Wanted *wanted = work->wanted->pdata[i];
    if (!pla_progress_phase(progress, "Reading the case", (i + 1.0) / work->wanted->len))
      st = pla_fail_cancelled(err);
    PlaProgressSpan span = pla_progress_push(progress);
    if (st == PLA_OK && !wanted->content)
      st = pla_content_load(store, &wanted->hash, progress, &wanted->content, err);
    pla_progress_pop(progress, span);
  }
  pla_store_close(store);
  Wanted *volume = last_of(work->wanted, PLA_ITEM_VOLUME);
  Wanted *labels = last_of(work->wanted, PLA_ITEM_LABELS);
  if (st == PLA_OK && volume && !holds(work->volume, volume->content))
    work->new_volume = hold_content(volume->content);
  if (st == PLA_OK && labels && !holds(work->labels, labels->content)) {
    work->new_labels = hold_content(labels->content);
    work->changed = compare_labels(work->labels, work->new_labels);
  }
  return st;
}

/* the mesh that an item was computed from, or NULL; borrowed */
static const char *
source_of(const PlaContent *content)
{
  JsonNode *node = json_object_get_member(content->meta, "simulated");
  return node && JSON_NODE_HOLDS_OBJECT(node)
             ? json_object_get_string_member_with_default(json_node_get_object(node), "mesh", NULL)
             : NULL;
}

static void
hide_named(PlaEntry *entry, gpointer data)
{
  if (strcmp(pla_entry_get_name(entry), data) == 0)
    pla_entry_set_visible(entry, FALSE);
}

static void
hide_mesh(PlaEntry *entry, gpointer data)
{
  if (pla_entry_get_kind(entry) == PLA_ENTRY_MESH)
    pla_entry_set_visible(entry, FALSE);
}

/* a body in 3-D is seen through neither its own tissues nor what it was before */
static void
clear_view_for(PlaDocument *self, PlaEntry *entry)
{
  const PlaMesh *mesh = pla_entry_get_mesh(entry);
  const char *source = source_of(pla_entry_get_content(entry));
  const gboolean body = strcmp(pla_entry_get_content(entry)->kind, PLA_ITEM_BODY) == 0;
  JsonNode *compared = json_object_get_member(pla_entry_get_content(entry)->meta, "compared");
  if (compared && JSON_NODE_HOLDS_OBJECT(compared)) {
    JsonObject *pair = json_node_get_object(compared);
    for (const char *const *key = (const char *[]){ "item", "with", NULL }; *key; key++)
      pla_document_foreach(
          self, hide_named,
          (gpointer)json_object_get_string_member_with_default(pair, *key, ""));
    pla_entry_set_field(entry, pla_field_view_find("deviation"), 0.0, 0.0);
    return;
  }
  if (mesh->n_tets + mesh->n_hexes == 0 && !body)
    return;
  if (body) {
    pla_document_foreach(self, hide_mesh, NULL);
    pla_entry_set_label(entry, 0, PLA_FINISH_SKIN);
    pla_entry_set_field(entry, pla_field_view_find("tissue"), 0.0, 1.0);
  }
  if (source)
    pla_document_foreach(self, hide_named, (gpointer)source);
  GListModel *tissues =
      self->labels_group ? G_LIST_MODEL(pla_entry_get_children(self->labels_group)) : NULL;
  for (guint i = 0; tissues && i < g_list_model_get_n_items(tissues); i++) {
    g_autoptr(PlaEntry) tissue = g_list_model_get_item(tissues, i);
    if (pla_entry_get_finish(tissue) != PLA_FINISH_BONE)
      pla_entry_set_visible(tissue, FALSE);
  }
  if (source)
    pla_entry_set_field(entry, pla_field_view_find("stretch"), 0.0, 0.0);
}

/* brings the list of meshes to @items; those that stay keep their looks */
static void
show_meshes(PlaDocument *self, GPtrArray *items, gboolean at_once)
{
  g_autoptr(GPtrArray) keep = g_ptr_array_new();
  GListStore *list = self->meshes_group ? pla_entry_get_children(self->meshes_group) : NULL;
  for (guint i = 0; list && i < g_list_model_get_n_items(G_LIST_MODEL(list));) {
    g_autoptr(PlaEntry) entry = g_list_model_get_item(G_LIST_MODEL(list), i);
    Wanted *same = NULL;
    for (guint k = 0; k < items->len && !same; k++) {
      Wanted *wanted = items->pdata[k];
      if (strcmp(wanted->name, pla_entry_get_name(entry)) != 0)
        continue;
      if (wanted->content == pla_entry_get_content(entry)) {
        same = wanted;
      } else if (strcmp(wanted->kind, PLA_ITEM_BODY) == 0 &&
                 wanted->item == pla_entry_get_item(entry)) {
        /* what a tool has changed is still the same body */
        same = wanted;
        double lo = 0.0, hi = 0.0;
        const PlaFieldView *field = pla_entry_get_field(entry);
        pla_entry_get_values(entry, &lo, &hi);
        pla_entry_set_content(entry, wanted->item, wanted->content);
        pla_entry_set_field(entry, field, lo, hi);
        g_signal_emit(self, signals[SHAPE_CHANGED], 0, entry);
      }
    }
    if (same) {
      g_ptr_array_add(keep, same);
      i++;
    } else {
      remove_shape(entry, self);
      g_list_store_remove(list, i);
    }
  }
  for (guint i = 0; i < items->len; i++) {
    Wanted *wanted = items->pdata[i];
    if (!pla_item_kind_has_mesh(wanted->kind) || g_ptr_array_find(keep, wanted, NULL))
      continue;
    PlaEntry *parent = group(self, &self->meshes_group, _("Meshes"));
    g_autoptr(PlaEntry) entry = new_mesh_entry(self, wanted->content->mesh, wanted->name);
    pla_entry_set_content(entry, wanted->item, wanted->content);
    /* of a case just opened the newest body is shown */
    if (!at_once || wanted == last_shape(items))
      clear_view_for(self, entry);
    else
      pla_entry_set_visible(entry, FALSE);
    g_list_store_append(pla_entry_get_children(parent), entry);
    g_signal_emit(self, signals[SHAPE_CHANGED], 0, entry);
  }
}

static void
drop_labels(PlaDocument *self)
{
  if (self->labels_group) {
    GListStore *children = pla_entry_get_children(self->labels_group);
    for (guint i = 0; i < g_list_model_get_n_items(G_LIST_MODEL(children)); i++) {
      g_autoptr(PlaEntry) entry = g_list_model_get_item(G_LIST_MODEL(children), i);
      remove_shape(entry, self);
    }
    g_list_store_remove_all(children);
  }
  g_clear_pointer(&self->labels, holding_unref);
  pla_label_table_clear(&self->overlay);
}

static void
on_items(PlaJob *job, gpointer data, PlaStatus status, const PlaError *err)
{
  Work *work = data;
  PlaDocument *self = work->document;
  if (work->serial == self->serial && finish(job, work, status, err)) {
    gboolean first = pla_document_is_empty(self);
    Wanted *volume = last_of(work->wanted, PLA_ITEM_VOLUME);
    if (!volume) {
      g_clear_pointer(&self->volume, holding_unref);
      if (self->volumes_group)
        g_list_store_remove_all(pla_entry_get_children(self->volumes_group));
    } else if (work->new_volume) {
      show_volume(self, g_steal_pointer(&work->new_volume), volume->name);
    }
    if (!last_of(work->wanted, PLA_ITEM_LABELS))
      drop_labels(self);
    else if (work->new_labels)
      show_labels(self, g_steal_pointer(&work->new_labels), work->changed);
    show_meshes(self, work->wanted, first);
    g_clear_pointer(&self->shown, g_ptr_array_unref);
    self->shown = g_steal_pointer(&work->wanted);
    if (first) {
      centre_cursor(self);
      g_signal_emit(self, signals[RESET], 0);
    }
    g_signal_emit(self, signals[SLICES_CHANGED], 0);
    g_signal_emit(self, signals[CURSOR_CHANGED], 0);
  }
  retire(job, self);
}

/* brings the views to the session's state */
static void
on_session_changed(PlaDocument *self)
{
  const PlaState *state = pla_session_get_state(self->session);
  Work *work = work_new(self);
  work->path = g_strdup(pla_session_get_path(self->session));
  work->serial = ++self->serial;
  work->wanted = g_ptr_array_new_with_free_func(wanted_free);
  for (int i = 0; i < state->n; i++) {
    const PlaStateItem *item = &state->item[i];
    if (strcmp(item->kind, PLA_ITEM_VOLUME) != 0 && strcmp(item->kind, PLA_ITEM_LABELS) != 0 &&
        !pla_item_kind_has_mesh(item->kind))
      continue;
    Wanted *wanted = g_new0(Wanted, 1);
    wanted->item = item->item;
    wanted->hash = item->hash;
    wanted->kind = g_strdup(item->kind);
    wanted->name = g_strdup(item->name);
    for (guint k = 0; self->shown && k < self->shown->len; k++) {
      Wanted *old = self->shown->pdata[k];
      if (pla_hash_equal(&old->hash, &wanted->hash) && !wanted->content)
        wanted->content = pla_content_ref(old->content);
    }
    /* what an operation has just made need not be read back */
    if (!wanted->content && strcmp(item->kind, PLA_ITEM_BODY) == 0)
      wanted->content = pla_session_peek(self->session, &item->hash);
    g_ptr_array_add(work->wanted, wanted);
  }
  pla_annotations_update(self->annotations, self->session);
  start(self, _("Reading the case"), read_items, on_items, work);
  g_signal_emit(self, signals[HISTORY_CHANGED], 0);
}

static void
on_session_notify(PlaDocument *self)
{
  g_signal_emit(self, signals[HISTORY_CHANGED], 0);
}

static void
take_session(PlaDocument *self, PlaSession *session)
{
  pla_document_close(self);
  self->session = session;
  g_signal_connect_object(session, "changed", G_CALLBACK(on_session_changed), self,
                          G_CONNECT_SWAPPED);
  g_signal_connect_object(session, "notify", G_CALLBACK(on_session_notify), self,
                          G_CONNECT_SWAPPED);
  set_title(self, pla_session_get_title(session));
  const char *reason = pla_session_get_read_only_reason(session);
  if (reason)
    g_signal_emit(self, signals[FAILED], 0, reason);
  on_session_changed(self);
}

/* an operation on its way: waiting for its turn, or at work */
typedef struct {
  PlaDocument *document;
  PlaSession *session;
  PlaJob *job;
  GCancellable *cancellable;
  char *verb, *source;
  JsonObject *params;
  PlaDocumentDone done; /* or NULL */
  GWeakRef owner;
} Running;

static void
running_free(Running *running)
{
  g_object_unref(running->job);
  g_object_unref(running->session);
  g_object_unref(running->document);
  g_object_unref(running->cancellable);
  g_clear_pointer(&running->params, json_object_unref);
  g_free(running->verb);
  g_free(running->source);
  g_weak_ref_clear(&running->owner);
  g_free(running);
}

static void
on_run_progress(const char *phase, double fraction, void *data)
{
  Running *running = data;
  pla_job_report(running->job, phase, fraction);
}

static void next_operation(PlaDocument *self);

/* tells whoever asked, or everybody, how it went; see PlaDocumentDone */
static void
answer(Running *running, const char *failure)
{
  g_autoptr(GObject) owner = g_weak_ref_get(&running->owner);
  if (running->done && owner)
    running->done(owner, failure);
  else if (failure && *failure && running->document->session == running->session)
    g_signal_emit(running->document, signals[FAILED], 0, failure);
}

static void
on_run(GObject *source, GAsyncResult *result, gpointer data)
{
  Running *running = data;
  PlaDocument *self = running->document;
  g_autoptr(GError) error = NULL;
  pla_session_run_finish(PLA_SESSION(source), result, NULL, &error);
  answer(running, !error ? NULL
                         : g_error_matches(error, G_IO_ERROR, G_IO_ERROR_CANCELLED) ? ""
                                                                                   : error->message);
  next_operation(self);
  retire(running->job, self);
  running_free(running);
}

/* one at a time: each works on what the last one left */
static void
next_operation(PlaDocument *self)
{
  for (;;) {
    Running *running = g_queue_peek_head(&self->queue);
    gboolean busy = FALSE;
    if (!running)
      return;
    if (g_cancellable_is_cancelled(running->cancellable) || running->session != self->session) {
      g_queue_pop_head(&self->queue);
      answer(running, "");
      retire(running->job, self);
      running_free(running);
      continue;
    }
    g_object_get(running->session, "busy", &busy, NULL);
    if (busy)
      return;
    g_queue_pop_head(&self->queue);
    PlaRequest request = { .verb = running->verb,
                           .params = running->params,
                           .source = running->source,
                           .read = pla_read_options_default() };
    pla_session_run_async(running->session, &request, running->cancellable, on_run_progress,
                          running, on_run, running);
    return;
  }
}

static void
run_operation(PlaDocument *self, const char *title, const char *verb, JsonObject *params,
              const char *source, PlaDocumentDone done, GObject *owner)
{
  Running *running = g_new0(Running, 1);
  running->done = done;
  g_weak_ref_init(&running->owner, owner);
  running->document = g_object_ref(self);
  running->session = g_object_ref(self->session);
  running->cancellable = g_cancellable_new();
  running->job = pla_job_new_watched(title, running->cancellable);
  running->verb = g_strdup(verb);
  running->source = g_strdup(source);
  running->params = params ? json_object_ref(params) : NULL;
  pla_job_report(running->job, _("Waiting for its turn"), 0.0);
  g_list_store_append(self->jobs, running->job);
  g_queue_push_tail(&self->queue, running);
  next_operation(self);
}

gboolean
pla_document_run(PlaDocument *self, const char *title, const char *verb, JsonObject *params)
{
  return pla_document_run_for(self, title, verb, params, NULL, NULL);
}

gboolean
pla_document_run_for(PlaDocument *self, const char *title, const char *verb, JsonObject *params,
                     PlaDocumentDone done, GObject *owner)
{
  if (!self->session)
    return FALSE;
  run_operation(self, title, verb, params, NULL, done, owner);
  return TRUE;
}

PlaSession *
pla_document_get_session(PlaDocument *self)
{
  return self->session;
}

void
pla_document_undo(PlaDocument *self)
{
  PlaError err;
  if (self->session && pla_session_undo(self->session, &err) != PLA_OK)
    g_signal_emit(self, signals[FAILED], 0, err.message);
}

void
pla_document_redo(PlaDocument *self)
{
  PlaError err;
  if (self->session && pla_session_redo(self->session, &err) != PLA_OK)
    g_signal_emit(self, signals[FAILED], 0, err.message);
}

void
pla_document_go_to(PlaDocument *self, int64_t operation)
{
  PlaError err;
  if (self->session && pla_session_go_to(self->session, operation, &err) != PLA_OK)
    g_signal_emit(self, signals[FAILED], 0, err.message);
}

/* a case may take a while to open: its log is read and checked */
static PlaStatus
open_session(gpointer data, PlaProgress *progress, PlaError *err)
{
  Work *work = data;
  return pla_session_open(work->path, &work->session, err);
}

static void
on_session_open(PlaJob *job, gpointer data, PlaStatus status, const PlaError *err)
{
  Work *work = data;
  PlaDocument *self = work->document;
  if (finish(job, work, status, err))
    take_session(self, g_steal_pointer(&work->session));
  retire(job, self);
}

void
pla_document_create(PlaDocument *self, const char *path)
{
  PlaSession *session = NULL;
  PlaError err;
  g_autofree char *title = g_path_get_basename(path);
  if (g_str_has_suffix(title, ".platysma"))
    title[strlen(title) - strlen(".platysma")] = '\0';
  if (pla_session_create(path, title, &session, &err) == PLA_OK)
    take_session(self, session);
  else
    g_signal_emit(self, signals[FAILED], 0, err.message);
}

void
pla_document_open(PlaDocument *self, const char *path)
{
  g_autofree char *base = g_path_get_basename(path);
  g_autofree char *opening = g_strdup_printf(_("Opening %s"), base);
  if (g_str_has_suffix(path, ".platysma")) {
    Work *work = work_new(self);
    work->path = g_strdup(path);
    start(self, opening, open_session, on_session_open, work);
    return;
  }
  if (self->session) {
    run_operation(self, opening, "import", NULL, path, NULL, NULL);
    return;
  }
  Work *work = work_new(self);
  work->path = g_strdup(path);
  work->name = g_steal_pointer(&base);
  start(self, opening, read_file, on_read, work);
}

void
pla_document_close(PlaDocument *self)
{
  self->generation++;
  self->making = NULL;
  if (self->session)
    g_signal_handlers_disconnect_by_data(self->session, self);
  g_clear_object(&self->session);
  g_clear_pointer(&self->shown, g_ptr_array_unref);
  for (guint i = 0; i < g_list_model_get_n_items(G_LIST_MODEL(self->jobs)); i++) {
    g_autoptr(PlaJob) job = g_list_model_get_item(G_LIST_MODEL(self->jobs), i);
    pla_job_cancel(job);
  }
  next_operation(self);
  pla_document_foreach(self, remove_shape, self);
  self->volumes_group = self->labels_group = self->meshes_group = NULL;
  pla_annotations_update(self->annotations, NULL);
  g_list_store_remove_all(self->tree);
  g_clear_pointer(&self->volume, holding_unref);
  g_clear_pointer(&self->labels, holding_unref);
  pla_label_table_clear(&self->overlay);
  set_title(self, NULL);
  g_signal_emit(self, signals[HISTORY_CHANGED], 0);
  g_signal_emit(self, signals[RESET], 0);
  g_signal_emit(self, signals[SLICES_CHANGED], 0);
}

gboolean
pla_document_is_empty(PlaDocument *self)
{
  return !self->volume && !self->labels && !self->meshes_group;
}

/* ------------------------------------------------------------------ tissues */

static PlaStatus
segment(gpointer data, PlaProgress *progress, PlaError *err)
{
  Work *work = data;
  work->segment.name = work->name;
  PlaLabelMap *map = NULL;
  PlaStatus st = pla_segment(work->volume->volume, &work->segment, progress, &map, NULL, err);
  if (st == PLA_OK)
    work->new_labels = hold_labels(map);
  return st;
}

static void
on_segmented(PlaJob *job, gpointer data, PlaStatus status, const PlaError *err)
{
  Work *work = data;
  if (finish(job, work, status, err)) {
    show_labels(work->document, g_steal_pointer(&work->new_labels), NULL);
    g_signal_emit(work->document, signals[SLICES_CHANGED], 0);
  }
  retire(job, work->document);
}

void
pla_document_segment(PlaDocument *self, const char *preset)
{
  const PlaSegmentPreset *found = pla_segment_preset_find(preset);
  if (!self->volume || !found)
    return;
  Wanted *item = last_of(self->shown, PLA_ITEM_VOLUME);
  if (self->session && item) {
    g_autoptr(JsonObject) params = json_object_new();
    json_object_set_string_member(params, "item", item->name);
    json_object_set_string_member(params, "preset", found->id);
    run_operation(self, _("Finding tissues"), "segment", params, NULL, NULL, NULL);
    return;
  }
  Work *work = work_new(self);
  work->segment = pla_segment_options_default();
  work->segment.preset = found->id;
  start(self, _("Finding tissues"), segment, on_segmented, work);
}

void
pla_document_threshold(PlaDocument *self, double lo, double hi, const char *name, gboolean largest)
{
  if (!self->volume)
    return;
  Wanted *item = last_of(self->shown, PLA_ITEM_VOLUME);
  if (self->session && item) {
    g_autoptr(JsonObject) params = json_object_new();
    json_object_set_string_member(params, "item", item->name);
    json_object_set_double_member(params, "lo", lo);
    json_object_set_double_member(params, "hi", hi);
    json_object_set_string_member(params, "label_name", name);
    json_object_set_boolean_member(params, "largest", largest);
    run_operation(self, _("Finding one tissue"), "segment", params, NULL, NULL, NULL);
    return;
  }
  Work *work = work_new(self);
  work->segment = pla_segment_options_default();
  work->segment.lo = lo;
  work->segment.hi = hi;
  work->segment.largest = largest;
  work->name = g_strdup(name);
  start(self, _("Finding one tissue"), segment, on_segmented, work);
}

/* ------------------------------------------------------------------- export */

static PlaStatus
write_file(gpointer data, PlaProgress *progress, PlaError *err)
{
  Work *work = data;
  PlaWriteOptions opts = pla_write_options_default();
  PlaItem item = { .kind = PLA_KIND_VOLUME, .volume = work->volume ? work->volume->volume : NULL };
  PlaStatus st = work->content ? pla_content_borrow_item(work->content, &item, err) : PLA_OK;
  return st == PLA_OK ? pla_item_write(work->path, &item, &opts, err) : st;
}

static void
on_written(PlaJob *job, gpointer data, PlaStatus status, const PlaError *err)
{
  Work *work = data;
  finish(job, work, status, err);
  retire(job, work->document);
}

void
pla_document_export(PlaDocument *self, PlaEntry *entry, const char *path)
{
  PlaContent *content = pla_entry_get_content(entry);
  if (!content && !self->volume)
    return;
  Work *work = work_new(self);
  work->path = g_strdup(path);
  work->content = content ? pla_content_ref(content) : NULL;
  start(self, _("Exporting"), write_file, on_written, work);
}

void
pla_document_compare(PlaDocument *self, PlaEntry *entry, PlaEntry *with)
{
  if (pla_entry_get_item(entry) == 0 || pla_entry_get_item(with) == 0) {
    g_signal_emit(self, signals[FAILED], 0,
                  _("Only meshes and surfaces of the case can be compared; keep a surface of the "
                    "tissue first (Anatomy)"));
    return;
  }
  g_autoptr(JsonObject) params = json_object_new();
  json_object_set_string_member(params, "item", pla_entry_get_name(entry));
  json_object_set_string_member(params, "with", pla_entry_get_name(with));
  pla_document_run(self, _("Comparing"), "compare", params);
}

/* --------------------------------------------------------------------- demo */

/* a file of the source tree that the program was built in, or NULL */
static char *
find_beside(const char *folder, const char *inner, const char *name)
{
  g_autofree char *exe = g_file_read_link("/proc/self/exe", NULL);
  g_autofree char *dir = exe ? g_path_get_dirname(exe) : NULL;
  for (int level = 0; dir && level < 4; level++) {
    g_autofree char *path = g_build_filename(dir, folder, inner, name, NULL);
    if (g_file_test(path, G_FILE_TEST_IS_REGULAR))
      return g_steal_pointer(&path);
    char *parent = g_path_get_dirname(dir);
    g_free(dir);
    dir = parent;
  }
  return NULL;
}

/* the demo case is made once and kept with the user's caches; work->name is the scan, or NULL */
static PlaStatus
make_demo(gpointer data, PlaProgress *progress, PlaError *err)
{
  Work *work = data;
  PlaSession *session = NULL;
  PlaStatus st = pla_demo_create(work->path, work->name, progress, &session, err);
  g_clear_object(&session);
  return st;
}

static void
on_demo_made(PlaJob *job, gpointer data, PlaStatus status, const PlaError *err)
{
  Work *work = data;
  if (finish(job, work, status, err))
    pla_document_open(work->document, work->path);
  retire(job, work->document);
}

void
pla_document_open_demo(PlaDocument *self)
{
  g_autofree char *made = find_beside("out", "", "demo.platysma");
  g_autofree char *scan = find_beside("datasets", "cache", "ct-head.nii.gz");
  g_autofree char *folder = g_build_filename(g_get_user_cache_dir(), "platysma", NULL);
  pla_document_close(self);
  if (!made)
    made = g_build_filename(folder, scan ? "demo-ct.platysma" : "demo-phantom.platysma", NULL);
  if (g_file_test(made, G_FILE_TEST_EXISTS)) {
    pla_document_open(self, made);
    return;
  }
  Work *work = work_new(self);
  g_mkdir_with_parents(folder, 0700);
  work->path = g_steal_pointer(&made);
  work->name = g_steal_pointer(&scan);
  start(self, _("Making the demo case"), make_demo, on_demo_made, work);
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
  Wanted *item = last_of(self->shown, PLA_ITEM_LABELS);
  return item ? item->name : NULL;
}

double
pla_document_get_label_mm3(PlaDocument *self, int label)
{
  return self->labels && label >= 0 && label < 65536
             ? (double)self->labels->counts[label] * pla_volume_voxel_mm3(self->labels->labels->volume)
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
  return self->volume && is_ct(self->volume) ? "HU" : "";
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
  holding_unref(held);
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
  g_signal_emit(self, signals[CURSOR_CHANGED], 0);
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
  g_signal_emit(self, signals[SLICES_CHANGED], 0);
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
  g_signal_emit(self, signals[SLICES_CHANGED], 0);
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
  g_signal_emit(self, signals[SLICES_CHANGED], 0);
}

char *
pla_document_describe(PlaDocument *self, const double ras_mm[3])
{
  GString *text = g_string_new(NULL);
  static const char *const sides[3][2] = { { "L", "R" }, { "P", "A" }, { "I", "S" } };
  for (int d = 0; d < 3; d++) {
    double rounded = round(10.0 * ras_mm[d]) / 10.0;
    g_string_append_printf(text, "%s %.1f  ", sides[d][rounded >= 0.0], fabs(rounded));
  }
  g_string_append(text, "mm");
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
  g_clear_object(&self->session);
  g_clear_pointer(&self->shown, g_ptr_array_unref);
  g_free(self->title);
  holding_unref(self->volume);
  holding_unref(self->labels);
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
  } table[N_SIGNALS] = {
    [RESET] = { "reset", G_TYPE_NONE },
    [SLICES_CHANGED] = { "slices-changed", G_TYPE_NONE },
    [CURSOR_CHANGED] = { "cursor-changed", G_TYPE_NONE },
    [SHAPE_CHANGED] = { "shape-changed", G_TYPE_OBJECT },
    [ENTRY_CHANGED] = { "entry-changed", G_TYPE_OBJECT },
    [HISTORY_CHANGED] = { "history-changed", G_TYPE_NONE },
    [FAILED] = { "failed", G_TYPE_STRING },
  };
  for (int s = 0; s < N_SIGNALS; s++) {
    GType type = table[s].type == G_TYPE_OBJECT ? PLA_TYPE_ENTRY : table[s].type;
    if (type == G_TYPE_NONE)
      signals[s] = g_signal_new(table[s].name, PLA_TYPE_DOCUMENT, G_SIGNAL_RUN_LAST, 0, NULL, NULL,
                                NULL, G_TYPE_NONE, 0);
    else
      signals[s] = g_signal_new(table[s].name, PLA_TYPE_DOCUMENT, G_SIGNAL_RUN_LAST, 0, NULL, NULL,
                                NULL, G_TYPE_NONE, 1, type);
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
