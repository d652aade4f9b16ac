/* The face as a mesh.
 *
 * The label map has no gap between the lips, which touch at rest.  So the tissue above and below
 * the line of the mouth are given to the mesher as tissues of their own, whose common faces then
 * lie on that line exactly; there the mesh is parted. */
#include "anatomy/bodies/face-mesh.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/bodies/part.h"
#include "anatomy/mesh/tet-locator.h"
#include "anatomy/mesher/pieces.h"
#include "anatomy/mesher/tets.h"
#include "anatomy/phantom/phantom.h"
#include "anatomy/volume/distance-transform.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { REST = 1, UPPER = 2, LOWER = 3 };

/* what is kept of the head, mm */
static const double back_mm = 0.0, bottom_mm = -112.0, top_mm = 96.0;
/* the line of the mouth (anatomy/phantom/head.c) and its corners */
static const double mouth_z_mm = -50.3, mouth_fall = 0.02, corner_mm = 25.8;
static const double lip_back_mm = 58.0;

static bool
is_soft(const PlaPhantom *head, const PlaLabel *label)
{
  static const char *const names[] = { "skin",
                                       "fat",
                                       "soft tissue",
                                       "upper lip",
                                       "lower lip",
                                       "nasal cartilage",
                                       "orbital fat, right",
                                       "orbital fat, left",
                                       "nodule, left cheek" };
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(label->name, names[i]) == 0)
      return true;
  for (int m = 0; m < head->n_muscles; m++)
    if (head->muscle[m].label == label->id)
      return true;
  return false;
}

/* height over the line of the mouth */
static double
over_mouth_mm(const double p_mm[3])
{
  return p_mm[2] - (mouth_z_mm - mouth_fall * fabs(p_mm[0]));
}

/* the tissue at a place where the head is soft; @lip_mm: height of the lips' own tissue */
static int
tissue_at(const double p_mm[3], double lip_mm)
{
  if (p_mm[1] < back_mm || p_mm[2] < bottom_mm || p_mm[2] > top_mm)
    return 0;
  const double over = over_mouth_mm(p_mm);
  if (fabs(p_mm[0]) > corner_mm + 2.0 || p_mm[1] < lip_back_mm || fabs(over) > lip_mm)
    return REST;
  return over >= 0.0 ? UPPER : LOWER;
}

/* Marks bone nearer than @least_mm to the air outside.  Over forehead, temple and chin the flesh is
 * thinner than an element, and the mesh would have holes there; elements in such bone are held by
 * it as a whole. */
static PlaStatus
find_thin(const PlaLabelMap *labels, double least_mm, unsigned char *thin, PlaError *err)
{
  const PlaVolume *volume = labels->volume;
  const size_t n = (size_t)volume->dims[0] * (size_t)volume->dims[1] * (size_t)volume->dims[2];
  unsigned char *bone = pla_array_new0(65536, 1);
  float *depth2 = pla_array_new(n, sizeof *depth2);
  PlaStatus st = bone && depth2 ? PLA_OK : pla_fail_memory(err, "the face");
  for (int i = 0; st == PLA_OK && i < labels->table.n; i++) {
    const PlaLabel *label = &labels->table.label[i];
    bone[label->id] = strcmp(label->name, "skull") == 0 || strcmp(label->name, "mandible") == 0;
  }
  for (size_t v = 0; st == PLA_OK && v < n; v++)
    thin[v] = pla_label_map_get(labels, v) == 0;
  if (st == PLA_OK)
    st = pla_distance_transform(volume->dims, volume->affine_mm, thin, true, least_mm, NULL, depth2,
                                err);
  for (size_t v = 0; v < n && st == PLA_OK; v++)
    thin[v] = depth2[v] < least_mm * least_mm && bone[pla_label_map_get(labels, v)];
  free(bone);
  free(depth2);
  return st;
}

static PlaStatus
face_labels(double spacing_mm, double cell_mm, PlaProgress *progress, PlaLabelMap **out,
            PlaError *err)
{
  PlaPhantom head = { 0 };
  PlaVolume *tissue = NULL;
  PlaStatus st = pla_phantom_make("head", spacing_mm, progress, &head, err);
  if (st != PLA_OK)
    return st;
  const PlaVolume *from = head.labels->volume;
  unsigned char *soft = pla_array_new0(65536, 1);
  unsigned char *thin = pla_array_new0(pla_volume_n_voxels(from), 1);
  if (!soft || !thin)
    st = pla_fail_memory(err, "the face");
  for (int i = 0; st == PLA_OK && i < head.labels->table.n; i++)
    soft[head.labels->table.label[i].id] = is_soft(&head, &head.labels->table.label[i]);
  if (st == PLA_OK)
    st = find_thin(head.labels, 1.3 * cell_mm, thin, err);
  /* between lips lower than an element the mesh would not find their line */
  const double lip_mm = fmax(7.0, 1.5 * cell_mm);
  if (st == PLA_OK)
    st = pla_volume_new(from->dims, PLA_U8, &tissue, err);
  if (st == PLA_OK) {
    memcpy(tissue->affine_mm, from->affine_mm, sizeof tissue->affine_mm);
    tissue->audit = from->audit;
    const int *n = from->dims;
    uint8_t *to = tissue->voxels;
#pragma omp parallel for schedule(static)
    for (int k = 0; k < n[2]; k++)
      for (int j = 0; j < n[1]; j++)
        for (int i = 0; i < n[0]; i++) {
          const size_t v = (size_t)i + (size_t)n[0] * ((size_t)j + (size_t)n[1] * (size_t)k);
          double p[3];
          pla_volume_to_ras_mm(from, (double[3]){ i, j, k }, p);
          to[v] = thin[v] || soft[pla_label_map_get(head.labels, v)] ? (uint8_t)tissue_at(p, lip_mm)
                                                                     : 0;
        }
    st = pla_label_map_take(tissue, NULL, out, err);
    if (st != PLA_OK)
      pla_volume_free(tissue);
  }
  free(soft);
  free(thin);
  pla_phantom_clear(&head);
  return st;
}

static bool
lips_part(const PlaMesh *mesh, int t, int o, const int face[3], const void *data)
{
  const int *tag = data;
  (void)face;
  (void)mesh;
  return (tag[t] == UPPER && tag[o] == LOWER) || (tag[t] == LOWER && tag[o] == UPPER);
}

/* marks vertices of parted faces: the last @n_new and those that they are copies of */
static void
mark_parted(const PlaMesh *mesh, int n_new, unsigned char *parted)
{
  const int first = mesh->n_verts - n_new;
  for (int v = first; v < mesh->n_verts; v++)
    for (int u = 0; u < first && !parted[v]; u++)
      if (memcmp(mesh->pos + 3 * (size_t)u, mesh->pos + 3 * (size_t)v, 3 * sizeof *mesh->pos) == 0)
        parted[u] = parted[v] = 1;
}

static double
tet_volume(const PlaMesh *mesh, int t)
{
  const int *tet = mesh->tet + 4 * (size_t)t;
  double e[3][3], n[3];
  for (int a = 0; a < 3; a++)
    pla_vec3_sub(mesh->pos + 3 * (size_t)tet[a + 1], mesh->pos + 3 * (size_t)tet[0], e[a]);
  pla_vec3_cross(e[0], e[1], n);
  return pla_vec3_dot(n, e[2]) / 6.0;
}

/* Moves vertices from @before towards where they are now, as far as elements around them keep a
 * good part of their volume; copies of a vertex have elements of their own, but stay together. */
static PlaStatus
hold_back(PlaMesh *mesh, const double *before, const unsigned char *parted, PlaError *err)
{
  enum { MOST_ROUNDS = 7 };
  const double least = 0.4;
  const size_t n = (size_t)mesh->n_verts;
  double *way = pla_array_new(n, 3 * sizeof *way);
  double *volume = pla_array_new((size_t)mesh->n_tets, sizeof *volume);
  unsigned char *tight = pla_array_new(n, 1);
  PlaStatus st = way && volume && tight ? PLA_OK : pla_fail_memory(err, "the face");
  for (size_t i = 0; st == PLA_OK && i < 3 * n; i++) {
    way[i] = mesh->pos[i] - before[i];
    mesh->pos[i] = before[i];
  }
  for (int t = 0; st == PLA_OK && t < mesh->n_tets; t++)
    volume[t] = tet_volume(mesh, t);
  for (int round = 0; st == PLA_OK && round < MOST_ROUNDS; round++) {
    memset(tight, 0, n);
    for (size_t i = 0; i < 3 * n; i++)
      mesh->pos[i] = before[i] + way[i];
    for (int t = 0; t < mesh->n_tets; t++)
      for (size_t a = 0; a < 4 && tet_volume(mesh, t) < least * volume[t]; a++)
        tight[mesh->tet[4 * (size_t)t + a]] = 1;
    for (size_t v = 0; v < n; v++)
      for (size_t u = 0; parted[v] && tight[v] && u < n; u++)
        if (parted[u] && memcmp(before + 3 * u, before + 3 * v, 3 * sizeof *before) == 0)
          tight[u] = 1;
    for (size_t i = 0; i < 3 * n; i++)
      if (tight[i / 3])
        way[i] *= round + 2 < MOST_ROUNDS ? 0.6 : 0.0;
  }
  free(way);
  free(volume);
  free(tight);
  return st;
}

/* The skin over the rims of the lips' own tissue is grooved, as three tissues meet there; vertices
 * of it go towards the middle of those around. */
static PlaStatus
smooth_rims(PlaMesh *mesh, const unsigned char *parted, PlaError *err)
{
  enum { ROUNDS = 8 };
  static const int face_of[4][3] = { { 1, 2, 3 }, { 0, 3, 2 }, { 0, 1, 3 }, { 0, 2, 1 } };
  const int *tag = pla_mesh_find_field(mesh, PLA_MESH_REGION, PLA_ON_CELLS)->data;
  const PlaTetMesh tets = pla_mesh_tets(mesh);
  const size_t n = (size_t)mesh->n_verts;
  int *across = NULL;
  PlaStatus st = pla_tet_neighbours(&tets, &across, err);
  if (st != PLA_OK)
    return st;
  unsigned char *of = pla_array_new0(n, 1), *front = pla_array_new0(n, 1);
  double *sum = pla_array_new(n, 4 * sizeof *sum);
  int *skin = NULL, n_skin = 0, capacity = 0; /* vertices of forward faces */
  if (!of || !front || !sum)
    st = pla_fail_memory(err, "the face");
  for (int t = 0; st == PLA_OK && t < mesh->n_tets; t++)
    for (size_t k = 0; k < 4; k++) {
      int face[3];
      double e1[3], e2[3], normal[3];
      of[mesh->tet[4 * (size_t)t + k]] |= (unsigned char)(1 << tag[t]);
      if (across[4 * (size_t)t + k] >= 0)
        continue;
      for (int i = 0; i < 3; i++)
        face[i] = mesh->tet[4 * (size_t)t + (size_t)face_of[k][i]];
      pla_vec3_sub(mesh->pos + 3 * (size_t)face[1], mesh->pos + 3 * (size_t)face[0], e1);
      pla_vec3_sub(mesh->pos + 3 * (size_t)face[2], mesh->pos + 3 * (size_t)face[0], e2);
      pla_vec3_cross(e1, e2, normal);
      if (normal[1] < 0.2 * pla_vec3_norm(normal))
        continue;
      if (!pla_array_reserve(&skin, n_skin + 3, &capacity, sizeof *skin)) {
        st = pla_fail_memory(err, "the face");
        break;
      }
      memcpy(skin + n_skin, face, sizeof face);
      n_skin += 3;
      for (int i = 0; i < 3; i++)
        front[face[i]] = 1;
    }
  free(across);
  for (int round = 0; st == PLA_OK && round < ROUNDS; round++) {
    memset(sum, 0, 4 * n * sizeof *sum);
    for (int i = 0; i < n_skin; i++) {
      const int v = skin[i];
      for (int k = 1; k < 3; k++) {
        const int u = skin[i - i % 3 + (i + k) % 3];
        for (size_t d = 0; d < 3; d++)
          sum[4 * (size_t)v + d] += mesh->pos[3 * (size_t)u + d];
        sum[4 * (size_t)v + 3] += 1.0;
      }
    }
    for (size_t v = 0; v < n; v++)
      if (front[v] && !parted[v] && of[v] != 1 << REST && (of[v] & 1 << REST) &&
          sum[4 * v + 3] > 0.0)
        for (size_t d = 0; d < 3; d++)
          mesh->pos[3 * v + d] += 0.5 * (sum[4 * v + d] / sum[4 * v + 3] - mesh->pos[3 * v + d]);
  }
  free(of);
  free(front);
  free(sum);
  free(skin);
  return st;
}

/* Brings parted vertices onto the line of the mouth, which elements follow only roughly at the
 * skin: lips would be jagged. */
static void
straighten_lips(PlaMesh *mesh, const unsigned char *parted)
{
  for (int v = 0; v < mesh->n_verts; v++) {
    double *x = mesh->pos + 3 * (size_t)v;
    const double p_mm[3] = { 1000.0 * x[0], 1000.0 * x[1], 1000.0 * x[2] };
    x[2] -= parted[v] ? over_mouth_mm(p_mm) / 1000.0 : 0.0;
  }
}

/* Opens the line of the mouth by a film of saliva, so that each lip knows on which side the other
 * is. */
static PlaStatus
open_lips(PlaMesh *mesh, const unsigned char *parted, PlaError *err)
{
  static const double half_film_m = 1e-4;
  const int *tag = pla_mesh_find_field(mesh, PLA_MESH_REGION, PLA_ON_CELLS)->data;
  unsigned char *of = pla_array_new0((size_t)mesh->n_verts, 1);
  if (!of)
    return pla_fail_memory(err, "the face");
  for (int t = 0; t < mesh->n_tets; t++)
    for (size_t a = 0; a < 4; a++)
      of[mesh->tet[4 * (size_t)t + a]] |= (unsigned char)(1 << tag[t]);
  for (int v = 0; v < mesh->n_verts; v++) {
    const bool upper = of[v] & 1 << UPPER, lower = of[v] & 1 << LOWER;
    if (parted[v] && upper != lower)
      mesh->pos[3 * (size_t)v + 2] += upper ? half_film_m : -half_film_m;
  }
  free(of);
  return PLA_OK;
}

/* what lips look like where the mesh was parted, whose last @n_parted vertices are copies */
static PlaStatus
shape_lips(PlaMesh *mesh, int n_parted, PlaError *err)
{
  unsigned char *parted = pla_array_new0((size_t)mesh->n_verts, 1);
  double *before = pla_array_dup(mesh->pos, (size_t)mesh->n_verts, 3 * sizeof *before);
  PlaStatus st = parted && before ? PLA_OK : pla_fail_memory(err, "the face");
  if (st == PLA_OK) {
    mark_parted(mesh, n_parted, parted);
    straighten_lips(mesh, parted);
    st = smooth_rims(mesh, parted, err);
  }
  if (st == PLA_OK)
    st = hold_back(mesh, before, parted, err);
  if (st == PLA_OK)
    st = open_lips(mesh, parted, err);
  free(parted);
  free(before);
  return st;
}

PlaStatus
pla_face_mesh(double cell_mm, PlaProgress *progress, PlaMesh **out, unsigned char **held,
              PlaError *err)
{
  static const int ids[] = { REST, UPPER, LOWER }, first[] = { 0, 1, 2, 3 };
  PlaLabelMap *labels = NULL;
  PlaMesh *mesh = NULL;
  int n_parted = 0;
  PlaTetOptions opts = pla_tet_options_default();
  opts.cell_mm = cell_mm;
  opts.levels = 1;
  opts.smooth_mm = 0.2 * cell_mm; /* more would groove the skin where three tissues meet */
  pla_progress_phase(progress, "Sampling the head", 0.3);
  PlaStatus st = face_labels(fmin(2.0, 0.5 * cell_mm), cell_mm, NULL, &labels, err);
  pla_progress_phase(progress, "Meshing the face", 0.9);
  PlaProgressSpan span = pla_progress_push(progress);
  if (st == PLA_OK)
    st = pla_tets_from_labels(labels, ids, first, 3, &opts, progress, &mesh, NULL, err);
  pla_progress_pop(progress, span);
  pla_label_map_free(labels);
  if (st == PLA_OK)
    st = pla_mesh_part(mesh, lips_part,
                       pla_mesh_find_field(mesh, PLA_MESH_REGION, PLA_ON_CELLS)->data, &n_parted,
                       err);
  if (st == PLA_OK)
    st = shape_lips(mesh, n_parted, err);
  if (st == PLA_OK)
    st = pla_mesh_keep_pieces(&mesh, 1.0, 0, NULL, err);
  if (st == PLA_OK && !(*held = pla_array_new0((size_t)mesh->n_verts, 1)))
    st = pla_fail_memory(err, "the face");
  if (st == PLA_OK) {
    const double near_mm = 0.35 * cell_mm;
    for (int v = 0; v < mesh->n_verts; v++) {
      const double *x = mesh->pos + 3 * (size_t)v;
      (*held)[v] = 1000.0 * x[1] < back_mm + near_mm || 1000.0 * x[2] < bottom_mm + near_mm ||
                   1000.0 * x[2] > top_mm - near_mm;
    }
    *out = mesh;
  } else
    pla_mesh_free(mesh);
  return st;
}
