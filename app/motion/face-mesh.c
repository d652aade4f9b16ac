/* The face as a mesh.
 *
 * The label map has no gap between the lips, which touch at rest.  So the tissue above and below
 * the line of the mouth are given to the mesher as tissues of their own, whose common faces then
 * lie on that line exactly; there the mesh is parted. */
#include "app/motion/face-mesh.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/base/union-find.h"
#include "anatomy/mesh/tet-locator.h"
#include "anatomy/mesher/pieces.h"
#include "anatomy/mesher/tets.h"
#include "anatomy/phantom/phantom.h"
#include "anatomy/volume/distance-transform.h"

#include <glib.h>
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
  for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
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
  g_autofree unsigned char *bone = g_new0(unsigned char, 65536);
  g_autofree float *depth2 = g_new(float, n);
  for (int i = 0; i < labels->table.n; i++) {
    const PlaLabel *label = &labels->table.label[i];
    bone[label->id] = strcmp(label->name, "skull") == 0 || strcmp(label->name, "mandible") == 0;
  }
  for (size_t v = 0; v < n; v++)
    thin[v] = pla_label_map_get(labels, v) == 0;
  PlaStatus st = pla_distance_transform(volume->dims, volume->affine_mm, thin, true, least_mm, NULL,
                                        depth2, err);
  for (size_t v = 0; v < n && st == PLA_OK; v++)
    thin[v] = depth2[v] < least_mm * least_mm && bone[pla_label_map_get(labels, v)];
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
  g_autofree unsigned char *soft = g_new0(unsigned char, 65536);
  for (int i = 0; i < head.labels->table.n; i++)
    soft[head.labels->table.label[i].id] = is_soft(&head, &head.labels->table.label[i]);
  const PlaVolume *from = head.labels->volume;
  g_autofree unsigned char *thin =
      g_new0(unsigned char, (size_t)from->dims[0] * (size_t)from->dims[1] * (size_t)from->dims[2]);
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
  pla_phantom_clear(&head);
  return st;
}

/* ---- parting ---- */

PlaStatus
pla_mesh_part(PlaMesh *mesh, PlaFaceApart apart, const void *data, int *n_new, PlaError *err)
{
  static const int face_of[4][3] = { { 1, 2, 3 }, { 0, 3, 2 }, { 0, 1, 3 }, { 0, 2, 1 } };
  const PlaTetMesh tets = pla_mesh_tets(mesh);
  const size_t n_corners = 4 * (size_t)mesh->n_tets;
  int *across = NULL;
  PlaStatus st = pla_tet_neighbours(&tets, &across, err);
  if (st != PLA_OK)
    return st;
  /* corners of the same vertex are joined across every face that holds */
  g_autofree int *parent = g_new(int, n_corners + 1);
  for (size_t c = 0; c < n_corners; c++)
    parent[c] = (int)c;
  g_autofree unsigned char *touched = g_new0(unsigned char, (size_t)mesh->n_verts + 1);
  bool any = false;
  for (int t = 0; t < mesh->n_tets; t++)
    for (int k = 0; k < 4; k++) {
      const int o = across[4 * (size_t)t + (size_t)k];
      int face[3];
      if (o < t)
        continue;
      for (int i = 0; i < 3; i++)
        face[i] = mesh->tet[4 * (size_t)t + (size_t)face_of[k][i]];
      if (apart(mesh, t, o, face, data)) {
        any = true;
        for (int i = 0; i < 3; i++)
          touched[face[i]] = 1;
        continue;
      }
      for (int i = 0; i < 3; i++)
        for (int b = 0; b < 4; b++)
          if (mesh->tet[4 * (size_t)o + (size_t)b] == face[i])
            pla_union_find_join(parent, 4 * t + face_of[k][i], 4 * o + b);
    }
  free(across);
  if (n_new)
    *n_new = 0;
  if (!any)
    return PLA_OK;

  /* the first fan of each vertex keeps it; others get copies, in the order of their tets.  Fans
   * that met in an edge alone before stay joined: only those of vertices on parted faces count. */
  g_autofree int *owner = g_new(int, (size_t)mesh->n_verts + 1); /* root corner that keeps v */
  g_autofree int *copy = g_new(int, n_corners + 1);              /* root corner -> vertex */
  for (int v = 0; v < mesh->n_verts; v++)
    owner[v] = -1;
  int n_verts = mesh->n_verts;
  g_autoptr(GArray) source = g_array_new(FALSE, FALSE, sizeof(int));
  for (size_t c = 0; c < n_corners; c++)
    copy[c] = -1;
  g_autofree int *tet = g_new(int, n_corners + 1);
  for (size_t c = 0; c < n_corners; c++) {
    const int v = mesh->tet[c], root = pla_union_find_root(parent, (int)c);
    tet[c] = v;
    if (!touched[v])
      continue;
    if (owner[v] < 0)
      owner[v] = root;
    if (owner[v] == root)
      continue;
    if (copy[root] < 0) {
      copy[root] = n_verts++;
      g_array_append_val(source, v);
    }
    tet[c] = copy[root];
  }
  PlaMesh *to = NULL;
  st = pla_mesh_new(n_verts, 0, mesh->n_tets, 0, &to, err);
  if (st == PLA_OK) {
    memcpy(to->pos, mesh->pos, 3 * (size_t)mesh->n_verts * sizeof *to->pos);
    for (guint i = 0; i < source->len; i++)
      memcpy(to->pos + 3 * ((size_t)mesh->n_verts + i),
             mesh->pos + 3 * (size_t)g_array_index(source, int, i), 3 * sizeof *to->pos);
    if (n_new)
      *n_new = n_verts - mesh->n_verts;
    free(mesh->pos);
    mesh->pos = to->pos;
    to->pos = NULL;
    mesh->n_verts = n_verts;
    memcpy(mesh->tet, tet, n_corners * sizeof *tet);
  }
  pla_mesh_free(to);
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
static void
hold_back(PlaMesh *mesh, const double *before, const unsigned char *parted)
{
  enum { MOST_ROUNDS = 7 };
  const double least = 0.4;
  const size_t n = (size_t)mesh->n_verts;
  g_autofree double *way = g_new(double, 3 * n + 1);
  g_autofree double *volume = g_new(double, (size_t)mesh->n_tets + 1);
  g_autofree unsigned char *tight = g_new(unsigned char, n + 1);
  for (size_t i = 0; i < 3 * n; i++) {
    way[i] = mesh->pos[i] - before[i];
    mesh->pos[i] = before[i];
  }
  for (int t = 0; t < mesh->n_tets; t++)
    volume[t] = tet_volume(mesh, t);
  for (int round = 0; round < MOST_ROUNDS; round++) {
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
  g_autofree unsigned char *of = g_new0(unsigned char, n + 1);
  g_autofree unsigned char *front = g_new0(unsigned char, n + 1);
  g_autoptr(GArray) skin = g_array_new(FALSE, FALSE, sizeof(int)); /* vertices of forward faces */
  for (int t = 0; t < mesh->n_tets; t++)
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
      g_array_append_vals(skin, face, 3);
      for (int i = 0; i < 3; i++)
        front[face[i]] = 1;
    }
  free(across);
  g_autofree double *sum = g_new(double, 4 * n + 1);
  for (int round = 0; round < ROUNDS; round++) {
    memset(sum, 0, 4 * n * sizeof *sum);
    for (guint i = 0; i < skin->len; i++) {
      const int v = g_array_index(skin, int, i);
      for (guint k = 1; k < 3; k++) {
        const int u = g_array_index(skin, int, i - i % 3 + (i + k) % 3);
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
  return PLA_OK;
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
static void
open_lips(PlaMesh *mesh, const unsigned char *parted)
{
  static const double half_film_m = 1e-4;
  const int *tag = pla_mesh_find_field(mesh, PLA_MESH_REGION, PLA_ON_CELLS)->data;
  g_autofree unsigned char *of = g_new0(unsigned char, (size_t)mesh->n_verts + 1);
  for (int t = 0; t < mesh->n_tets; t++)
    for (size_t a = 0; a < 4; a++)
      of[mesh->tet[4 * (size_t)t + a]] |= (unsigned char)(1 << tag[t]);
  for (int v = 0; v < mesh->n_verts; v++) {
    const bool upper = of[v] & 1 << UPPER, lower = of[v] & 1 << LOWER;
    if (parted[v] && upper != lower)
      mesh->pos[3 * (size_t)v + 2] += upper ? half_film_m : -half_film_m;
  }
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
  if (st == PLA_OK) {
    g_autofree unsigned char *parted = g_new0(unsigned char, (size_t)mesh->n_verts + 1);
    mark_parted(mesh, n_parted, parted);
    g_autofree double *before = g_memdup2(mesh->pos, 3 * (size_t)mesh->n_verts * sizeof *before);
    straighten_lips(mesh, parted);
    st = smooth_rims(mesh, parted, err);
    hold_back(mesh, before, parted);
    open_lips(mesh, parted);
  }
  if (st == PLA_OK)
    st = pla_mesh_keep_pieces(&mesh, 1.0, 0, NULL, err);
  if (st == PLA_OK) {
    *held = g_new0(unsigned char, (size_t)mesh->n_verts);
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
