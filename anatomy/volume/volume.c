/* Image volumes, frames and label maps. */
#include "anatomy/volume/volume.h"

#include "anatomy/base/memory.h"
#include "anatomy/base/parallel.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

PlaStatus
pla_volume_new_take(const int dims[4], PlaDType dtype, void *voxels, PlaVolume **out, PlaError *err)
{
  PlaVolume *vol = *out = pla_array_new0(1, sizeof *vol);
  if (!vol)
    return pla_fail_memory(err, "the volume");
  memcpy(vol->dims, dims, sizeof vol->dims);
  vol->dtype = dtype;
  vol->voxels = voxels;
  vol->slope = 1.0;
  vol->affine_mm[0] = vol->affine_mm[5] = vol->affine_mm[10] = 1.0;
  return PLA_OK;
}

PlaStatus
pla_volume_new(const int dims[4], PlaDType dtype, PlaVolume **out, PlaError *err)
{
  size_t n = 1;
  bool fits = true;
  *out = NULL;
  for (int d = 0; d < 4; d++) {
    assert(dims[d] >= 1);
    fits = fits && pla_size_mul(n, (size_t)dims[d], &n);
  }
  void *voxels = fits ? pla_array_new0(n, pla_dtype_size(dtype)) : NULL;
  if (!voxels)
    return pla_fail_memory(err, "the volume");
  PlaStatus st = pla_volume_new_take(dims, dtype, voxels, out, err);
  if (st != PLA_OK)
    free(voxels);
  return st;
}

PlaStatus
pla_volume_dup(const PlaVolume *vol, PlaVolume **out, PlaError *err)
{
  *out = NULL;
  PlaVolume *copy = pla_array_dup(vol, 1, sizeof *vol);
  if (copy) {
    copy->voxels = pla_array_dup(vol->voxels, pla_volume_n_bytes(vol), 1);
    copy->description = pla_strdup(vol->description);
  }
  if (!copy || !copy->voxels || (vol->description && !copy->description)) {
    pla_volume_free(copy);
    return pla_fail_memory(err, "a copy of the volume");
  }
  *out = copy;
  return PLA_OK;
}

void
pla_volume_free(PlaVolume *vol)
{
  if (!vol)
    return;
  free(vol->voxels);
  free(vol->description);
  free(vol);
}

size_t
pla_volume_n_voxels(const PlaVolume *vol)
{
  return (size_t)vol->dims[0] * (size_t)vol->dims[1] * (size_t)vol->dims[2] * (size_t)vol->dims[3];
}

size_t
pla_volume_n_bytes(const PlaVolume *vol)
{
  return pla_volume_n_voxels(vol) * pla_dtype_size(vol->dtype);
}

static double
affine_det(const double a[12])
{
  return a[0] * (a[5] * a[10] - a[6] * a[9]) - a[1] * (a[4] * a[10] - a[6] * a[8]) +
         a[2] * (a[4] * a[9] - a[5] * a[8]);
}

double
pla_volume_voxel_mm3(const PlaVolume *vol)
{
  return fabs(affine_det(vol->affine_mm));
}

void
pla_volume_spacing_mm(const PlaVolume *vol, double spacing[3])
{
  const double *a = vol->affine_mm;
  for (int c = 0; c < 3; c++)
    spacing[c] = sqrt(a[c] * a[c] + a[4 + c] * a[4 + c] + a[8 + c] * a[8 + c]);
}

void
pla_volume_orientation(const PlaVolume *vol, char letters[4])
{
  /* of the six ways to give the three index axes to the three patient axes, the one whose
   * direction cosines sum highest: each letter is then used once, whatever the obliqueness */
  static const int orders[6][3] = { { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 },
                                    { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 } };
  const double *a = vol->affine_mm;
  double spacing[3], best = -1.0;
  const int *order = orders[0];
  pla_volume_spacing_mm(vol, spacing);
  for (int o = 0; o < 6; o++) {
    double sum = 0.0;
    for (int c = 0; c < 3; c++)
      sum += spacing[c] > 0.0 ? fabs(a[4 * orders[o][c] + c]) / spacing[c] : 0.0;
    if (sum > best + 1e-9) {
      best = sum;
      order = orders[o];
    }
  }
  for (int c = 0; c < 3; c++)
    letters[c] = (a[4 * order[c] + c] < 0.0 ? "LPI" : "RAS")[order[c]];
  letters[3] = '\0';
}

void
pla_affine_apply(const double a[12], const double p[3], double q[3])
{
  double r[3];
  for (int i = 0; i < 3; i++)
    r[i] = a[4 * i] * p[0] + a[4 * i + 1] * p[1] + a[4 * i + 2] * p[2] + a[4 * i + 3];
  memcpy(q, r, sizeof r);
}

double
pla_affine_distance(const int dims[4], const double a[12], const double b[12])
{
  double most = 0.0;
  for (int corner = 0; corner < 8; corner++) {
    double ijk[3], p[3], q[3];
    for (int c = 0; c < 3; c++)
      ijk[c] = corner >> c & 1 ? dims[c] - 1 : 0;
    pla_affine_apply(a, ijk, p);
    pla_affine_apply(b, ijk, q);
    double d = hypot(hypot(p[0] - q[0], p[1] - q[1]), p[2] - q[2]);
    most = d > most || isnan(d) ? d : most;
  }
  return most;
}

bool
pla_affine_invert(const double a[12], double inv[12])
{
  double det = affine_det(a), scale = 1.0;
  for (int c = 0; c < 3; c++)
    scale *= sqrt(a[c] * a[c] + a[4 + c] * a[4 + c] + a[8 + c] * a[8 + c]);
  /* columns within a hundredth of a degree of one plane are no frame */
  if (!isfinite(det) || !(fabs(det) > 1e-6 * scale) || !(fabs(det) >= 1e-300))
    return false;
  double r[12];
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      int i1 = (i + 1) % 3, i2 = (i + 2) % 3, j1 = (j + 1) % 3, j2 = (j + 2) % 3;
      r[4 * j + i] = (a[4 * i1 + j1] * a[4 * i2 + j2] - a[4 * i1 + j2] * a[4 * i2 + j1]) / det;
    }
  for (int i = 0; i < 3; i++) {
    r[4 * i + 3] = -(r[4 * i] * a[3] + r[4 * i + 1] * a[7] + r[4 * i + 2] * a[11]);
    for (int j = 0; j < 4; j++)
      if (!isfinite(r[4 * i + j]))
        return false;
  }
  memcpy(inv, r, sizeof r);
  return true;
}

void
pla_volume_to_ras_mm(const PlaVolume *vol, const double ijk[3], double ras_mm[3])
{
  pla_affine_apply(vol->affine_mm, ijk, ras_mm);
}

PlaStatus
pla_volume_to_index(const PlaVolume *vol, const double ras_mm[3], double ijk[3], PlaError *err)
{
  double inv[12];
  if (!pla_affine_invert(vol->affine_mm, inv))
    return pla_fail(err, PLA_ERR_GEOMETRY, "the volume's axes lie in one plane");
  pla_affine_apply(inv, ras_mm, ijk);
  return PLA_OK;
}

/* Smallest and largest of n numbers, NaN skipped.  Eight running pairs, so that the comparisons
 * vectorise; `v < lo ? v : lo` keeps lo where v is NaN. */
static void
block_range(const double *x, size_t n, double *least, double *most)
{
  double lo[8], hi[8];
  for (int l = 0; l < 8; l++) {
    lo[l] = INFINITY;
    hi[l] = -INFINITY;
  }
  size_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (int l = 0; l < 8; l++) {
      lo[l] = x[i + l] < lo[l] ? x[i + l] : lo[l];
      hi[l] = x[i + l] > hi[l] ? x[i + l] : hi[l];
    }
  for (; i < n; i++) {
    lo[0] = x[i] < lo[0] ? x[i] : lo[0];
    hi[0] = x[i] > hi[0] ? x[i] : hi[0];
  }
  for (int l = 0; l < 8; l++) {
    *least = lo[l] < *least ? lo[l] : *least;
    *most = hi[l] > *most ? hi[l] : *most;
  }
}

void
pla_volume_range(const PlaVolume *vol, double *lo, double *hi)
{
  size_t n = pla_volume_n_voxels(vol), n_blocks = (n + PLA_BLOCK - 1) / PLA_BLOCK;
  double least = INFINITY, most = -INFINITY;
#pragma omp parallel if (n_blocks > 8)
  {
    double piece[PLA_BLOCK], low = INFINITY, high = -INFINITY;
#pragma omp for schedule(static)
    for (size_t b = 0; b < n_blocks; b++) {
      size_t first = b * PLA_BLOCK, len = n - first < PLA_BLOCK ? n - first : PLA_BLOCK;
      pla_dtype_to_double(vol->dtype, vol->voxels, first, len, piece);
      block_range(piece, len, &low, &high);
    }
#pragma omp critical(pla_volume_range)
    {
      least = low < least ? low : least;
      most = high > most ? high : most;
    }
  }
  if (least > most)
    least = most = 0.0;
  /* adding zero makes -0 and +0, which compare equal, the same bits for any number of threads */
  double a = vol->slope * least + vol->inter + 0.0, b = vol->slope * most + vol->inter + 0.0;
  *lo = a < b ? a : b;
  *hi = a < b ? b : a;
}

void
pla_volume_audit_frame(PlaVolume *vol)
{
  const double *a = vol->affine_mm;
  double spacing[3];
  pla_volume_spacing_mm(vol, spacing);
  vol->audit.nonorthogonality = 0.0;
  for (int c = 0; c < 3; c++) {
    int d = (c + 1) % 3;
    double dot = a[c] * a[d] + a[4 + c] * a[4 + d] + a[8 + c] * a[8 + d];
    double cosine = spacing[c] * spacing[d] > 0.0 ? fabs(dot) / (spacing[c] * spacing[d]) : 1.0;
    if (cosine > vol->audit.nonorthogonality)
      vol->audit.nonorthogonality = cosine;
  }
  vol->audit.disagreement_mm = 0.0;
  double inverse[12];
  if (!pla_affine_invert(vol->audit.sform_mm, inverse) ||
      !pla_affine_invert(vol->audit.qform_mm, inverse))
    return;
  vol->audit.disagreement_mm =
      pla_affine_distance(vol->dims, vol->audit.sform_mm, vol->audit.qform_mm);
}

void
pla_label_table_clear(PlaLabelTable *table)
{
  for (int i = 0; i < table->n; i++)
    free(table->label[i].name);
  free(table->label);
  *table = (PlaLabelTable){ 0 };
}

/* position of @id in the ascending table, or where it would stand */
static int
label_position(const PlaLabelTable *table, int id)
{
  int lo = 0, hi = table->n;
  while (lo < hi) {
    int mid = (lo + hi) / 2;
    if (table->label[mid].id < id)
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo;
}

/* well-separated hues: steps of the golden angle around the colour circle */
static void
palette_colour(int id, uint8_t rgba[4])
{
  double hue = fmod((double)id * 0.61803398875, 1.0) * 6.0;
  double level = id % 2 ? 0.95 : 0.75, floor_ = 0.35;
  double x = 1.0 - fabs(fmod(hue, 2.0) - 1.0);
  double rgb[6][3] = {
    { 1, x, 0 }, { x, 1, 0 }, { 0, 1, x }, { 0, x, 1 }, { x, 0, 1 }, { 1, 0, x }
  };
  for (int c = 0; c < 3; c++)
    rgba[c] = (uint8_t)lround(255.0 * level * (floor_ + (1.0 - floor_) * rgb[(int)hue % 6][c]));
  rgba[3] = 255;
}

PlaStatus
pla_label_table_set(PlaLabelTable *table, int id, const char *name, const uint8_t rgba[4],
                    PlaError *err)
{
  assert(id > 0);
  int at = label_position(table, id);
  bool known = at < table->n && table->label[at].id == id;
  char *copy = pla_strdup(name);
  if (!copy)
    return pla_fail_memory(err, "a label name");
  if (!known) {
    void *labels = table->label;
    if (!pla_array_resize(&labels, (size_t)table->n + 1, sizeof *table->label)) {
      free(copy);
      return pla_fail_memory(err, "a label name");
    }
    table->label = labels;
    memmove(table->label + at + 1, table->label + at,
            (size_t)(table->n - at) * sizeof *table->label);
    table->n++;
    table->label[at] = (PlaLabel){ .id = id };
    palette_colour(id, table->label[at].rgba);
  }
  free(table->label[at].name);
  table->label[at].name = copy;
  if (rgba)
    memcpy(table->label[at].rgba, rgba, 4);
  return PLA_OK;
}

const PlaLabel *
pla_label_table_find(const PlaLabelTable *table, int id)
{
  int at = label_position(table, id);
  return at < table->n && table->label[at].id == id ? &table->label[at] : NULL;
}

const PlaLabel *
pla_label_table_find_name(const PlaLabelTable *table, const char *name)
{
  for (int i = 0; i < table->n; i++)
    if (strcmp(table->label[i].name, name) == 0)
      return &table->label[i];
  return NULL;
}

PlaStatus
pla_label_table_dup(const PlaLabelTable *table, PlaLabelTable *out, PlaError *err)
{
  *out = (PlaLabelTable){ 0 };
  for (int i = 0; i < table->n; i++) {
    const PlaLabel *l = &table->label[i];
    PlaStatus st = pla_label_table_set(out, l->id, l->name, l->rgba, err);
    if (st != PLA_OK) {
      pla_label_table_clear(out);
      return st;
    }
  }
  return PLA_OK;
}

void
pla_label_map_free(PlaLabelMap *map)
{
  if (!map)
    return;
  pla_volume_free(map->volume);
  pla_label_table_clear(&map->table);
  free(map);
}

/* Marks the labels that occur in @used (65536 flags).  Returns the first voxel whose value is no
 * whole number from 0 to 65535, or the number of voxels. */
static size_t
find_labels(const PlaVolume *vol, bool *used)
{
  size_t n = pla_volume_n_voxels(vol), n_blocks = (n + PLA_BLOCK - 1) / PLA_BLOCK, bad = n;
#pragma omp parallel for schedule(static) reduction(min : bad) if (n_blocks > 8)
  for (size_t b = 0; b < n_blocks; b++) {
    double piece[PLA_BLOCK];
    size_t first = b * PLA_BLOCK, len = n - first < PLA_BLOCK ? n - first : PLA_BLOCK;
    pla_dtype_to_double(vol->dtype, vol->voxels, first, len, piece);
    int last = -1;
    for (size_t i = 0; i < len; i++) {
      double v = vol->slope * piece[i] + vol->inter;
      if (!(v >= 0.0 && v <= 65535.0) || v != (double)(int)v) {
        bad = first + i < bad ? first + i : bad;
        break;
      }
      /* labels come in runs, and every thread may set the same flag */
      if ((int)v != last) {
        last = (int)v;
#pragma omp atomic write
        used[last] = true;
      }
    }
  }
  return bad;
}

/* every value of @vol, whole numbers that fit @dtype, into @out */
static void
narrow_labels(const PlaVolume *vol, PlaDType dtype, void *out)
{
  size_t n = pla_volume_n_voxels(vol), n_blocks = (n + PLA_BLOCK - 1) / PLA_BLOCK;
#pragma omp parallel for schedule(static) if (n_blocks > 8)
  for (size_t b = 0; b < n_blocks; b++) {
    double piece[PLA_BLOCK];
    size_t first = b * PLA_BLOCK, len = n - first < PLA_BLOCK ? n - first : PLA_BLOCK;
    pla_dtype_to_double(vol->dtype, vol->voxels, first, len, piece);
    if (dtype == PLA_U8)
      for (size_t i = 0; i < len; i++)
        ((uint8_t *)out)[first + i] = (uint8_t)(int)(vol->slope * piece[i] + vol->inter);
    else
      for (size_t i = 0; i < len; i++)
        ((uint16_t *)out)[first + i] = (uint16_t)(int)(vol->slope * piece[i] + vol->inter);
  }
}

PlaStatus
pla_label_map_take(PlaVolume *volume, const PlaLabelTable *table, PlaLabelMap **out, PlaError *err)
{
  size_t n = pla_volume_n_voxels(volume);
  bool *used = NULL;
  void *narrow = NULL;
  PlaLabelMap *map = NULL;
  PlaStatus st = PLA_OK;
  *out = NULL;
  if (volume->dims[3] != 1)
    return pla_fail(err, PLA_ERR_UNSUPPORTED,
                    "a volume with %d frames is no label map; extract one frame first",
                    volume->dims[3]);

  /* every value must be a whole number that fits 16 bits */
  int most = 0;
  used = pla_array_new0(65536, sizeof *used);
  map = pla_array_new0(1, sizeof *map);
  if (!used || !map)
    st = pla_fail_memory(err, "the label map");
  if (st == PLA_OK) {
    size_t bad = find_labels(volume, used);
    if (bad < n) {
      size_t x = (size_t)volume->dims[0], y = (size_t)volume->dims[1];
      st =
          pla_fail(err, PLA_ERR_UNSUPPORTED,
                   "voxel (%zu, %zu, %zu) has the value %g, and labels are whole numbers from 0 to "
                   "65535; segment the volume first",
                   bad % x, bad / x % y, bad / x / y,
                   volume->slope * pla_dtype_get(volume->dtype, volume->voxels, bad) +
                       volume->inter);
    }
    for (int id = 0; id < 65536; id++)
      most = used[id] ? id : most;
  }

  /* narrow to the smallest type that holds them */
  PlaDType dtype = most < 256 ? PLA_U8 : PLA_U16;
  if (st == PLA_OK && (volume->dtype != dtype || volume->slope != 1.0 || volume->inter != 0.0)) {
    narrow = pla_array_new(n, pla_dtype_size(dtype));
    if (!narrow)
      st = pla_fail_memory(err, "the label map");
    else
      narrow_labels(volume, dtype, narrow);
  }

  /* a name for every id in use */
  if (st == PLA_OK && table)
    st = pla_label_table_dup(table, &map->table, err);
  for (int id = 1; st == PLA_OK && id <= most; id++)
    if (used[id] && !pla_label_table_find(&map->table, id)) {
      char name[32];
      snprintf(name, sizeof name, "label %d", id);
      st = pla_label_table_set(&map->table, id, name, NULL, err);
    }

  if (st == PLA_OK) {
    if (narrow) {
      free(volume->voxels);
      volume->voxels = narrow;
      narrow = NULL;
      volume->dtype = dtype;
      volume->slope = 1.0;
      volume->inter = 0.0;
    }
    map->volume = volume;
    *out = map;
    map = NULL;
  }
  pla_label_map_free(map);
  free(narrow);
  free(used);
  return st;
}

int
pla_label_map_get(const PlaLabelMap *map, size_t voxel)
{
  return map->volume->dtype == PLA_U8 ? ((const uint8_t *)map->volume->voxels)[voxel]
                                      : ((const uint16_t *)map->volume->voxels)[voxel];
}

/* counts of voxels [first, first + n) added to @counts */
static void
count_some(const PlaLabelMap *map, size_t first, size_t n, size_t *counts)
{
  if (map->volume->dtype == PLA_U16) {
    const uint16_t *v = (const uint16_t *)map->volume->voxels + first;
    for (size_t i = 0; i < n; i++)
      counts[v[i]]++;
    return;
  }
  /* four histograms in turn: neighbours are mostly equal, and a counter just written is slow to
   * read again */
  const uint8_t *v = (const uint8_t *)map->volume->voxels + first;
  size_t part[4][256] = { { 0 } };
  for (size_t i = 0; i < n; i++)
    part[i % 4][v[i]]++;
  for (int id = 0; id < 256; id++)
    counts[id] += part[0][id] + part[1][id] + part[2][id] + part[3][id];
}

void
pla_label_map_count(const PlaLabelMap *map, size_t *counts)
{
  const size_t n = pla_volume_n_voxels(map->volume), piece = 1 << 20;
  const size_t n_pieces = (n + piece - 1) / piece;
  const int n_ids = map->volume->dtype == PLA_U8 ? 256 : 65536;
  memset(counts, 0, 65536 * sizeof *counts);
#pragma omp parallel if (n_pieces > 1)
  {
    size_t *own = pla_array_new0((size_t)n_ids, sizeof *own);
#pragma omp for schedule(static)
    for (size_t p = 0; p < n_pieces; p++) {
      size_t first = p * piece, len = n - first < piece ? n - first : piece;
      if (own) {
        count_some(map, first, len, own);
      } else { /* short of memory: take turns */
#pragma omp critical(pla_label_map_count)
        count_some(map, first, len, counts);
      }
    }
    if (own) {
#pragma omp critical(pla_label_map_count)
      for (int id = 0; id < n_ids; id++)
        counts[id] += own[id];
    }
    free(own);
  }
}
