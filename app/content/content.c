/* Items in memory: made, shared, measured and compared. */
#include "app/content/content.h"

#include "anatomy/base/memory.h"
#include "app/base/json.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool
pla_item_kind_has_mesh(const char *kind)
{
  return strcmp(kind, PLA_ITEM_MESH) == 0 || strcmp(kind, PLA_ITEM_BODY) == 0;
}

PlaContent *
pla_content_new(const char *kind)
{
  PlaContent *self = g_new0(PlaContent, 1);
  g_atomic_ref_count_init(&self->refs);
  self->kind = g_strdup(kind);
  self->meta = json_object_new();
  return self;
}

PlaContent *
pla_content_ref(PlaContent *self)
{
  g_atomic_ref_count_inc(&self->refs);
  return self;
}

void
pla_content_unref(PlaContent *self)
{
  if (!self || !g_atomic_ref_count_dec(&self->refs))
    return;
  pla_volume_free(self->volume);
  pla_label_map_free(self->labels);
  pla_mesh_free(self->mesh);
  pla_take_free(self->take);
  pla_track_free(self->track);
  pla_audio_free(self->audio);
  for (int a = 0; a < self->n_arrays; a++) {
    free(self->array[a].name);
    free(self->array[a].data);
  }
  free(self->array);
  json_object_unref(self->meta);
  g_free(self->kind);
  g_free(self);
}

PlaStatus
pla_content_take_array(PlaContent *self, const char *name, PlaDType dtype, int n_dims,
                       const uint64_t *shape, void *data, PlaError *err)
{
  void *grown = self->array;
  char *copy = pla_strdup(name);
  if (!copy || !pla_array_resize(&grown, (size_t)self->n_arrays + 1, sizeof *self->array)) {
    free(copy);
    free(data);
    return pla_fail_memory(err, name);
  }
  self->array = grown;
  PlaStoreArray *array = &self->array[self->n_arrays++];
  *array = (PlaStoreArray){ .name = copy, .dtype = dtype, .n_dims = n_dims, .data = data };
  memcpy(array->shape, shape, (size_t)n_dims * sizeof *shape);
  return PLA_OK;
}

PlaStatus
pla_content_add_array(PlaContent *self, const char *name, PlaDType dtype, int n_dims,
                      const uint64_t *shape, const void *data, PlaError *err)
{
  g_assert(n_dims >= 1 && n_dims <= PLA_STORE_MAX_DIMS);
  PlaStoreArray probe = { .dtype = dtype, .n_dims = n_dims };
  memcpy(probe.shape, shape, (size_t)n_dims * sizeof *shape);
  void *copy = pla_array_dup(data, pla_store_array_bytes(&probe), 1);
  return copy ? pla_content_take_array(self, name, dtype, n_dims, shape, copy, err)
              : pla_fail_memory(err, name);
}

const PlaStoreArray *
pla_content_find_array(const PlaContent *self, const char *name)
{
  for (int a = 0; a < self->n_arrays; a++)
    if (strcmp(self->array[a].name, name) == 0)
      return &self->array[a];
  return NULL;
}

PlaStatus
pla_content_take_item(PlaItem *item, bool as_labels, PlaContent **out, PlaError *err)
{
  static const char *const kinds[] = {
    [PLA_KIND_VOLUME] = PLA_ITEM_VOLUME, [PLA_KIND_MESH] = PLA_ITEM_MESH,
    [PLA_KIND_TAKE] = PLA_ITEM_MARKERS,  [PLA_KIND_TRACK] = PLA_ITEM_TRACK,
    [PLA_KIND_AUDIO] = PLA_ITEM_AUDIO,
  };
  *out = NULL;
  if ((unsigned)item->kind >= G_N_ELEMENTS(kinds) || !kinds[item->kind])
    return pla_fail(err, PLA_ERR_UNSUPPORTED, "%s cannot be an item of a case",
                    item->kind == PLA_KIND_CASE     ? "another case"
                    : item->kind == PLA_KIND_PHONES ? "a file of phonemes alone"
                                                    : "a file of label names alone");
  g_autoptr(PlaContent) self = pla_content_new(
      as_labels && item->kind == PLA_KIND_VOLUME ? PLA_ITEM_LABELS : kinds[item->kind]);
  if (item->kind == PLA_KIND_VOLUME && as_labels) {
    PlaStatus st = pla_label_map_take(item->volume, &item->labels, &self->labels, err);
    if (st != PLA_OK)
      return st;
    item->volume = NULL;
  }
  self->volume = g_steal_pointer(&item->volume);
  self->mesh = g_steal_pointer(&item->mesh);
  self->take = g_steal_pointer(&item->take);
  self->track = g_steal_pointer(&item->track);
  self->audio = g_steal_pointer(&item->audio);
  *out = g_steal_pointer(&self);
  return PLA_OK;
}

PlaStatus
pla_content_borrow_item(const PlaContent *self, PlaItem *out, PlaError *err)
{
  *out = (PlaItem){ .volume = self->volume,
                    .mesh = self->mesh,
                    .take = self->take,
                    .track = self->track,
                    .audio = self->audio };
  if (self->labels) {
    out->volume = self->labels->volume;
    out->labels = self->labels->table;
  }
  out->kind = out->volume  ? PLA_KIND_VOLUME
              : out->mesh  ? PLA_KIND_MESH
              : out->take  ? PLA_KIND_TAKE
              : out->track ? PLA_KIND_TRACK
              : out->audio ? PLA_KIND_AUDIO
                           : PLA_KIND_NONE;
  return out->kind
             ? PLA_OK
             : pla_fail(err, PLA_ERR_UNSUPPORTED,
                        "a %s cannot be exported as a file; export a volume, mesh or recording",
                        self->kind);
}

size_t
pla_content_n_bytes(const PlaContent *self)
{
  const PlaVolume *vol = self->labels ? self->labels->volume : self->volume;
  size_t n = sizeof *self + (vol ? pla_volume_n_bytes(vol) : 0);
  if (self->mesh) {
    const PlaMesh *m = self->mesh;
    n += 24 * (size_t)m->n_verts + 12 * (size_t)m->n_tris + 16 * (size_t)m->n_tets +
         32 * (size_t)m->n_hexes;
    for (int f = 0; f < m->n_fields; f++)
      n += pla_field_n_tuples(m, &m->field[f]) * (size_t)m->field[f].n_components *
           pla_dtype_size(m->field[f].dtype);
  }
  if (self->take)
    n += 28 * (size_t)self->take->n_frames * (size_t)self->take->n_markers;
  if (self->track)
    n += 8 * (size_t)self->track->n_samples * (size_t)self->track->n_channels;
  if (self->audio)
    n += (size_t)self->audio->n_frames * (size_t)self->audio->n_channels *
         pla_dtype_size(self->audio->dtype);
  for (int a = 0; a < self->n_arrays; a++)
    n += pla_store_array_bytes(&self->array[a]);
  return n;
}

static void
compare_value(PlaDifference *d, double a, double b)
{
  bool same = a == b || (isnan(a) && isnan(b));
  d->n_values++;
  d->n_different += !same;
  if (!same && !(fabs(a - b) <= d->largest))
    d->largest = fabs(a - b);
}

static void
compare_points(PlaDifference *d, const double *a, const double *b, size_t n)
{
  d->in_mm = true;
  for (size_t i = 0; i < n; i++) {
    const double *p = a + 3 * i, *q = b + 3 * i;
    /* a point of which any coordinate is missing is missing */
    bool no_p = isnan(p[0] + p[1] + p[2]), no_q = isnan(q[0] + q[1] + q[2]);
    double mm = no_p || no_q
                    ? (no_p == no_q ? 0.0 : NAN)
                    : 1000.0 * sqrt((p[0] - q[0]) * (p[0] - q[0]) + (p[1] - q[1]) * (p[1] - q[1]) +
                                    (p[2] - q[2]) * (p[2] - q[2]));
    compare_value(d, mm, 0.0);
  }
}

static bool
same_cells(const PlaMesh *a, const PlaMesh *b)
{
  return a->n_verts == b->n_verts && a->n_tris == b->n_tris && a->n_tets == b->n_tets &&
         a->n_hexes == b->n_hexes &&
         (a->n_tris == 0 || memcmp(a->tri, b->tri, 12 * (size_t)a->n_tris) == 0) &&
         (a->n_tets == 0 || memcmp(a->tet, b->tet, 16 * (size_t)a->n_tets) == 0) &&
         (a->n_hexes == 0 || memcmp(a->hex, b->hex, 32 * (size_t)a->n_hexes) == 0);
}

PlaDifference
pla_content_compare(const PlaContent *a, const PlaContent *b)
{
  PlaDifference d = { .meta_differs = true };
  const PlaVolume *va = a->labels ? a->labels->volume : a->volume;
  const PlaVolume *vb = b->labels ? b->labels->volume : b->volume;
  g_autofree char *ma = pla_json_canonical(a->meta), *mb = pla_json_canonical(b->meta);
  d.meta_differs = strcmp(ma, mb) != 0;
  if (strcmp(a->kind, b->kind) != 0)
    return d;
  if (va && vb && memcmp(va->dims, vb->dims, sizeof va->dims) == 0) {
    d.comparable = true;
    for (size_t i = 0; i < pla_volume_n_voxels(va); i++)
      compare_value(&d, va->slope * pla_dtype_get(va->dtype, va->voxels, i) + va->inter,
                    vb->slope * pla_dtype_get(vb->dtype, vb->voxels, i) + vb->inter);
    d.meta_differs |= memcmp(va->affine_mm, vb->affine_mm, sizeof va->affine_mm) != 0;
  } else if (a->mesh && b->mesh && same_cells(a->mesh, b->mesh)) {
    d.comparable = true;
    compare_points(&d, a->mesh->pos, b->mesh->pos, (size_t)a->mesh->n_verts);
  } else if (a->take && b->take && a->take->n_frames == b->take->n_frames &&
             a->take->n_markers == b->take->n_markers) {
    d.comparable = true;
    compare_points(&d, a->take->pos, b->take->pos,
                   (size_t)a->take->n_frames * (size_t)a->take->n_markers);
  } else if (a->track && b->track && a->track->n_samples == b->track->n_samples &&
             a->track->n_channels == b->track->n_channels) {
    d.comparable = true;
    for (size_t i = 0; i < (size_t)a->track->n_samples * (size_t)a->track->n_channels; i++)
      compare_value(&d, a->track->value[i], b->track->value[i]);
  } else if (a->n_arrays > 0 && a->n_arrays == b->n_arrays) {
    d.comparable = true;
    for (int k = 0; k < a->n_arrays && d.comparable; k++) {
      const PlaStoreArray *x = &a->array[k], *y = &b->array[k];
      size_t n = pla_store_array_bytes(x) / pla_dtype_size(x->dtype);
      d.comparable = strcmp(x->name, y->name) == 0 && x->dtype == y->dtype &&
                     pla_store_array_bytes(x) == pla_store_array_bytes(y);
      for (size_t i = 0; i < n && d.comparable; i++)
        compare_value(&d, pla_dtype_get(x->dtype, x->data, i), pla_dtype_get(y->dtype, y->data, i));
    }
  } else if (!va && !a->mesh && !a->take && !a->track && !a->audio) {
    d.comparable = true; /* nothing but metadata */
  }
  return d;
}

char *
pla_difference_text(const PlaDifference *self)
{
  if (!self->comparable)
    return g_strdup("it has another size or shape");
  if (self->n_different == 0)
    return g_strdup(self->meta_differs ? "only its description differs" : "it is the same");
  return g_strdup_printf("%zu of %zu values differ, by at most %.6g%s", self->n_different,
                         self->n_values, self->largest, self->in_mm ? " mm" : "");
}
