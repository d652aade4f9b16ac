/* An item of a case in memory: the thing itself and what is known about it.
 *
 * A content is the one box that threads share: immutable once made, counted by references, alive
 * from the operation that made it, or the read that loaded it, until the last reader lets go.  A
 * PlaItem has no count and no metadata, and ends with the call that reads or writes a file; a
 * PlaBundle is the same item as the case file has it, in bytes; app/content/content.c says which.
 * Numbers that must come back bit for bit are arrays, never JSON. */
#pragma once

#include "anatomy/base/progress.h"
#include "anatomy/mesh/mesh.h"
#include "anatomy/signal/signal.h"
#include "anatomy/volume/volume.h"
#include "io/formats/format.h"
#include "io/store/store.h"

#include <glib.h>
#include <json-glib/json-glib.h>

/* the kinds of items */
#define PLA_ITEM_VOLUME "volume"
#define PLA_ITEM_LABELS "labels"
#define PLA_ITEM_MESH "mesh"
#define PLA_ITEM_BODY                                                                              \
  "body" /* to operate on: its surface as a mesh, and arrays; app/surgery/surgery-body.h */
#define PLA_ITEM_MARKERS "markers"
#define PLA_ITEM_TRACK "track"
#define PLA_ITEM_AUDIO "audio"
/* these hold JSON and, if need be, named arrays */
#define PLA_ITEM_NOTE "note"
#define PLA_ITEM_LANDMARK "landmark"
#define PLA_ITEM_MEASUREMENT "measurement"
#define PLA_ITEM_LANDMARKS "landmarks" /* a table: "landmarks", a list of name and at_mm */
#define PLA_ITEM_MUSCLES "muscles"
#define PLA_ITEM_MATERIALS "materials"
#define PLA_ITEM_PLAN "plan"
#define PLA_ITEM_RESULT "result"

typedef struct {
  gatomicrefcount refs;
  char *kind;       /* one of the above */
  JsonObject *meta; /* "source": where it came from; "notes"; otherwise as the kind needs */
  /* what the kind names; NULL otherwise */
  PlaVolume *volume;
  PlaLabelMap *labels;
  PlaMesh *mesh;
  PlaTake *take;
  PlaTrack *track;
  PlaAudio *audio;
  /* arrays of the JSON kinds, owned with their data */
  int n_arrays;
  PlaStoreArray *array;
} PlaContent;

/* Whether items of @kind have a mesh. */
bool pla_item_kind_has_mesh(const char *kind);

/* A content of @kind with empty metadata; the maker fills it before anybody else sees it. */
PlaContent *pla_content_new(const char *kind);
PlaContent *pla_content_ref(PlaContent *self);
void pla_content_unref(PlaContent *self); /* NULL is fine */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PlaContent, pla_content_unref)

/* Adds a copy of n = product(shape) elements as a named array of a JSON kind. */
PlaStatus pla_content_add_array(PlaContent *self, const char *name, PlaDType dtype, int n_dims,
                                const uint64_t *shape, const void *data, PlaError *err);
/* The same with @data from malloc(), which the content owns from now on, also after a failure. */
PlaStatus pla_content_take_array(PlaContent *self, const char *name, PlaDType dtype, int n_dims,
                                 const uint64_t *shape, void *data, PlaError *err);
const PlaStoreArray *pla_content_find_array(const PlaContent *self, const char *name); /* or NULL */

/* Takes the thing out of @item; a volume becomes labels when @as_labels. */
PlaStatus pla_content_take_item(PlaItem *item, bool as_labels, PlaContent **out, PlaError *err);
/* Borrows the content as a file item, for writers: not to be cleared. */
PlaStatus pla_content_borrow_item(const PlaContent *self, PlaItem *out, PlaError *err);

size_t pla_content_n_bytes(const PlaContent *self); /* in memory, roughly */

/* As a bundle named @name whose arrays borrow from @self, which must outlive it. */
PlaStatus pla_content_to_bundle(const PlaContent *self, const char *name, PlaBundle *out,
                                PlaError *err);
/* Frees what pla_content_to_bundle() made. */
void pla_content_bundle_clear(PlaBundle *bundle);
/* Reads an item; damaged or impossible arrays are an error with a sentence. */
PlaStatus pla_content_load(PlaStore *store, const PlaHash *hash, PlaProgress *progress,
                           PlaContent **out, PlaError *err);

/* Whether an item can be built, without reading its voxels or keeping anything. */
PlaStatus pla_content_check(PlaStore *store, const PlaHash *hash, PlaProgress *progress,
                            PlaError *err);
/* The same for a bundle whose arrays are in memory, before it is stored. */
PlaStatus pla_content_check_bundle(PlaStore *store, const PlaBundle *bundle, PlaError *err);

/* How far two contents are apart. */
typedef struct {
  bool comparable; /* same kind, sizes and connectivity */
  size_t n_values; /* voxels, vertices or samples that were compared */
  size_t n_different;
  double largest; /* largest difference: mm for meshes and markers, else the value's own unit */
  bool in_mm;
  bool meta_differs;
} PlaDifference;
PlaDifference pla_content_compare(const PlaContent *a, const PlaContent *b);
char *pla_difference_text(const PlaDifference *self); /* "12 of 4096 voxels differ, by at most 3" */
