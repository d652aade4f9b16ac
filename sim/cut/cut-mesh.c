/* The mesh around the cut tets: which ones the blade meets, what stays connected, who shares nodes.
 *
 *   1. tets whose boxes meet triangles of the blade, all in the deformed shape
 *   2. the triangles go into each tet's complex, which falls into pieces    (parallel)
 *   3. pieces on both sides of a face are linked where they share an area of it
 *   4. around each node, corners that are linked with each other keep one node in common
 *
 * Sifakis, Der and Fedkiw, "Arbitrary cutting of deformable tetrahedralized objects" (2007). */
#include "sim/cut/cut-mesh-private.h"

#include "anatomy/base/memory.h"
#include "anatomy/base/parallel.h"
#include "anatomy/base/union-find.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const int pla_cut_face_corner[4][3] = { { 1, 2, 3 }, { 0, 3, 2 }, { 0, 1, 3 }, { 0, 2, 1 } };

static bool
grow(void *array, int n, int capacity, size_t size)
{
  return n <= capacity || pla_array_resize((void **)array, (size_t)n, size);
}

static bool
reserve_tets(PlaCutMesh *self, int n)
{
  if (n <= self->cap_tets)
    return true;
  int wanted = n + n / 8;
  bool ok = grow(&self->tet, 4 * wanted, 0, sizeof *self->tet) &&
            grow(&self->tet_source, wanted, 0, sizeof *self->tet_source) &&
            grow(&self->tet_copied, wanted, 0, sizeof *self->tet_copied) &&
            grow(&self->skin, wanted, 0, sizeof *self->skin) &&
            grow(&self->link_head, 4 * wanted, 0, sizeof *self->link_head) &&
            grow(&self->complex, wanted, 0, sizeof(PlaCutComplex *));
  if (ok)
    self->cap_tets = wanted;
  return ok;
}

static bool
reserve_verts(PlaCutMesh *self, int n)
{
  if (n <= self->cap_verts)
    return true;
  int wanted = n + n / 8;
  bool ok = grow(&self->rest, 3 * wanted, 0, sizeof *self->rest) &&
            grow(&self->vert_source, wanted, 0, sizeof *self->vert_source);
  if (ok)
    self->cap_verts = wanted;
  return ok;
}

static bool
reserve_links(PlaCutMesh *self, int n)
{
  if (n <= self->cap_links)
    return true;
  int wanted = n + n / 8;
  if (!grow(&self->link, wanted, 0, sizeof *self->link))
    return false;
  self->cap_links = wanted;
  return true;
}

/* room was reserved */
static void
link_side(PlaCutMesh *self, int tet, int face, int other, int other_face)
{
  int i = self->free_link;
  if (i >= 0)
    self->free_link = self->link[i].next;
  else
    i = self->n_links++;
  self->link[i] = (PlaCutLink){ other, other_face, self->link_head[4 * tet + face] };
  self->link_head[4 * tet + face] = i;
}

void
pla_cut_mesh_unlink(PlaCutMesh *self, int tet, int face, int other)
{
  for (int *at = &self->link_head[4 * tet + face]; *at >= 0; at = &self->link[*at].next)
    if (self->link[*at].tet == other) {
      int i = *at;
      *at = self->link[i].next;
      self->link[i].next = self->free_link;
      self->free_link = i;
      return;
    }
}

/* ---- making ---- */

typedef struct {
  int vert[3]; /* rising */
  int tet, face;
} FaceKey;

static int
compare_faces(const void *a, const void *b)
{
  const FaceKey *x = a, *y = b;
  for (int i = 0; i < 3; i++)
    if (x->vert[i] != y->vert[i])
      return x->vert[i] < y->vert[i] ? -1 : 1;
  return x->tet < y->tet ? -1 : x->tet > y->tet;
}

static PlaStatus
link_faces(PlaCutMesh *self, PlaError *err)
{
  const size_t n = 4 * (size_t)self->n_tets;
  FaceKey *key = pla_array_new(n, sizeof *key);
  if (!key || !reserve_links(self, 4 * self->n_tets)) {
    free(key);
    return pla_fail_memory(err, "the mesh to cut");
  }
  for (int t = 0; t < self->n_tets; t++)
    for (int f = 0; f < 4; f++) {
      FaceKey *k = &key[4 * (size_t)t + (size_t)f];
      *k = (FaceKey){ .tet = t, .face = f };
      for (int c = 0; c < 3; c++) {
        int v = self->tet[4 * t + pla_cut_face_corner[f][c]], i = c;
        for (; i > 0 && k->vert[i - 1] > v; i--)
          k->vert[i] = k->vert[i - 1];
        k->vert[i] = v;
      }
    }
  qsort(key, n, sizeof *key, compare_faces);
  PlaStatus st = PLA_OK;
  for (size_t i = 0, j; i < n && st == PLA_OK; i = j) {
    for (j = i + 1; j < n && memcmp(key[i].vert, key[j].vert, sizeof key[i].vert) == 0; j++)
      ;
    if (j - i > 2) {
      st = pla_fail(err, PLA_ERR_GEOMETRY,
                    "tets %d, %d and %d share one face; a mesh to cut has at most two tets at a "
                    "face",
                    key[i].tet, key[i + 1].tet, key[i + 2].tet);
    } else if (j - i == 2) {
      link_side(self, key[i].tet, key[i].face, key[i + 1].tet, key[i + 1].face);
      link_side(self, key[i + 1].tet, key[i + 1].face, key[i].tet, key[i].face);
    } else {
      self->skin[key[i].tet] |= (uint8_t)(1u << key[i].face);
    }
  }
  free(key);
  return st;
}

double
pla_cut_tet_volume(const double *pos, const int *tet)
{
  const double *a = &pos[3 * tet[0]];
  double e[3][3];
  for (int k = 0; k < 3; k++)
    for (int d = 0; d < 3; d++)
      e[k][d] = pos[3 * tet[k + 1] + d] - a[d];
  return (e[0][0] * (e[1][1] * e[2][2] - e[1][2] * e[2][1]) -
          e[0][1] * (e[1][0] * e[2][2] - e[1][2] * e[2][0]) +
          e[0][2] * (e[1][0] * e[2][1] - e[1][1] * e[2][0])) /
         6.0;
}

PlaStatus
pla_cut_mesh_new(const PlaTetMesh *mesh, PlaCutMesh **out, PlaError *err)
{
  *out = NULL;
  PlaCutMesh *self = pla_array_new0(1, sizeof *self);
  PlaStatus st = PLA_OK;
  if (!self || !reserve_tets(self, mesh->n_tets) || !reserve_verts(self, mesh->n_verts))
    st = pla_fail_memory(err, "the mesh to cut");
  for (int t = 0; st == PLA_OK && t < mesh->n_tets; t++)
    if (!(pla_cut_tet_volume(mesh->rest, &mesh->tet[4 * t]) > 0.0))
      st = pla_fail(err, PLA_ERR_GEOMETRY,
                    "tet %d is flat or inverted at rest and cannot be cut; mesh the body again", t);
  if (st == PLA_OK) {
    self->n_tets = mesh->n_tets;
    self->n_verts = mesh->n_verts;
    self->free_link = -1;
    memcpy(self->tet, mesh->tet, 4 * (size_t)mesh->n_tets * sizeof *self->tet);
    memcpy(self->rest, mesh->rest, 3 * (size_t)mesh->n_verts * sizeof *self->rest);
    for (int t = 0; t < mesh->n_tets; t++) {
      self->tet_source[t] = self->tet_copied[t] = t;
      self->skin[t] = 0;
      self->complex[t] = NULL;
      for (int f = 0; f < 4; f++)
        self->link_head[4 * t + f] = -1;
    }
    for (int v = 0; v < mesh->n_verts; v++)
      self->vert_source[v] = v;
    st = link_faces(self, err);
  }
  if (st != PLA_OK) {
    pla_cut_mesh_free(self);
    return st;
  }
  *out = self;
  return PLA_OK;
}

PlaStatus
pla_cut_mesh_dup(const PlaCutMesh *self, PlaCutMesh **out, PlaError *err)
{
  *out = NULL;
  PlaCutMesh *copy = pla_array_new0(1, sizeof *copy);
  bool ok = copy && reserve_tets(copy, self->n_tets) && reserve_verts(copy, self->n_verts) &&
            reserve_links(copy, self->n_links);
  if (ok) {
    const size_t n = (size_t)self->n_tets;
    memcpy(copy->tet, self->tet, 4 * n * sizeof *copy->tet);
    memcpy(copy->tet_source, self->tet_source, n * sizeof *copy->tet_source);
    memcpy(copy->tet_copied, self->tet_copied, n * sizeof *copy->tet_copied);
    memcpy(copy->skin, self->skin, n);
    memcpy(copy->link_head, self->link_head, 4 * n * sizeof *copy->link_head);
    memcpy(copy->rest, self->rest, 3 * (size_t)self->n_verts * sizeof *copy->rest);
    memcpy(copy->vert_source, self->vert_source, (size_t)self->n_verts * sizeof *copy->vert_source);
    memcpy(copy->link, self->link, (size_t)self->n_links * sizeof *copy->link);
    copy->n_verts = self->n_verts;
    copy->n_links = self->n_links;
    copy->n_triangles = self->n_triangles;
    copy->free_link = self->free_link;
    for (int t = 0; ok && t < self->n_tets; t++) {
      copy->complex[t] = self->complex[t] ? pla_cut_complex_dup(self->complex[t]) : NULL;
      ok = !self->complex[t] || copy->complex[t];
      copy->n_tets = t + 1;
    }
  }
  if (!ok) {
    pla_cut_mesh_free(copy);
    return pla_fail_memory(err, "the cut mesh");
  }
  *out = copy;
  return PLA_OK;
}

void
pla_cut_mesh_free(PlaCutMesh *self)
{
  if (!self)
    return;
  for (int t = 0; t < self->n_tets; t++)
    pla_cut_complex_free(self->complex[t]);
  free(self->rest);
  free(self->vert_source);
  free(self->tet);
  free(self->tet_source);
  free(self->tet_copied);
  free(self->skin);
  free(self->link_head);
  free(self->link);
  free(self->complex);
  free(self);
}

PlaCutMeshView
pla_cut_mesh_get(const PlaCutMesh *self)
{
  return (PlaCutMeshView){
    .mesh = { self->n_verts, self->n_tets, self->rest, self->tet },
    .tet_source = self->tet_source,
    .vert_source = self->vert_source,
  };
}

/* ---- finding the tets ---- */

typedef struct {
  double lo[3], hi[3];
} Box;

static void
box_of(const double *pos, const int *vert, int n, Box *box)
{
  for (int d = 0; d < 3; d++) {
    box->lo[d] = INFINITY;
    box->hi[d] = -INFINITY;
    for (int k = 0; k < n; k++) {
      double x = pos[3 * vert[k] + d];
      box->lo[d] = fmin(box->lo[d], x);
      box->hi[d] = fmax(box->hi[d], x);
    }
  }
}

static bool
boxes_meet(const Box *a, const Box *b)
{
  for (int d = 0; d < 3; d++)
    if (a->lo[d] > b->hi[d] || b->lo[d] > a->hi[d])
      return false;
  return true;
}

/* the blade's triangles in a grid of boxes */
typedef struct {
  Box box;      /* of the blade */
  Box *tri_box; /* (n_tris) */
  int dims[3];
  int *start; /* of each grid box in @tri (n + 1) */
  int *tri;
} BladeGrid;

static void
blade_grid_clear(BladeGrid *self)
{
  free(self->tri_box);
  free(self->start);
  free(self->tri);
}

static void
grid_range(const BladeGrid *self, const Box *box, int lo[3], int hi[3])
{
  for (int d = 0; d < 3; d++) {
    double size = self->box.hi[d] - self->box.lo[d];
    double scale = size > 0.0 ? self->dims[d] / size : 0.0;
    lo[d] = (int)fmin(fmax((box->lo[d] - self->box.lo[d]) * scale, 0.0), self->dims[d] - 1);
    hi[d] = (int)fmin(fmax((box->hi[d] - self->box.lo[d]) * scale, 0.0), self->dims[d] - 1);
  }
}

#define FOR_GRID(g, lo, hi, i)                                                                     \
  for (int z_ = lo[2]; z_ <= hi[2]; z_++)                                                          \
    for (int y_ = lo[1]; y_ <= hi[1]; y_++)                                                        \
      for (int x_ = lo[0], i = (z_ * (g)->dims[1] + y_) * (g)->dims[0] + x_; x_ <= hi[0]; x_++, i++)

static bool
blade_grid_init(BladeGrid *self, const PlaTriMesh *blade)
{
  *self = (BladeGrid){ .tri_box = pla_array_new((size_t)blade->n_tris, sizeof *self->tri_box) };
  if (!self->tri_box)
    return false;
  double longest = 0.0;
  for (int d = 0; d < 3; d++) {
    self->box.lo[d] = INFINITY;
    self->box.hi[d] = -INFINITY;
  }
  for (int t = 0; t < blade->n_tris; t++) {
    box_of(blade->pos, &blade->tri[3 * t], 3, &self->tri_box[t]);
    for (int d = 0; d < 3; d++) {
      self->box.lo[d] = fmin(self->box.lo[d], self->tri_box[t].lo[d]);
      self->box.hi[d] = fmax(self->box.hi[d], self->tri_box[t].hi[d]);
    }
  }
  for (int d = 0; d < 3; d++)
    longest = fmax(longest, self->box.hi[d] - self->box.lo[d]);
  /* boxes about as large as triangles, were they spread evenly on a sheet */
  double step = longest / fmin(fmax(sqrt(blade->n_tris), 1.0), 128.0);
  for (int d = 0; d < 3; d++)
    self->dims[d] = step > 0.0 ? 1 + (int)((self->box.hi[d] - self->box.lo[d]) / step) : 1;
  const size_t n = (size_t)self->dims[0] * (size_t)self->dims[1] * (size_t)self->dims[2];
  self->start = pla_array_new0(n + 2, sizeof *self->start);
  if (!self->start)
    return false;
  int lo[3], hi[3];
  for (int t = 0; t < blade->n_tris; t++) {
    grid_range(self, &self->tri_box[t], lo, hi);
    FOR_GRID(self, lo, hi, i)
    self->start[i + 2]++;
  }
  for (size_t i = 2; i < n + 2; i++)
    self->start[i] += self->start[i - 1];
  self->tri = pla_array_new((size_t)self->start[n + 1], sizeof *self->tri);
  if (!self->tri)
    return false;
  for (int t = 0; t < blade->n_tris; t++) {
    grid_range(self, &self->tri_box[t], lo, hi);
    FOR_GRID(self, lo, hi, i)
    self->tri[self->start[i + 1]++] = t;
  }
  return true;
}

static int
compare_ints(const void *a, const void *b)
{
  int x = *(const int *)a, y = *(const int *)b;
  return x < y ? -1 : x > y;
}

/* triangles whose boxes meet @box, rising and each once; -1: memory is short */
static int
blade_grid_find(const BladeGrid *self, const Box *box, int **found, int *capacity)
{
  int lo[3], hi[3], n = 0;
  grid_range(self, box, lo, hi);
  FOR_GRID(self, lo, hi, i)
  for (int k = self->start[i]; k < self->start[i + 1]; k++)
    if (boxes_meet(box, &self->tri_box[self->tri[k]])) {
      if (n == *capacity) {
        if (!pla_array_resize((void **)found, 2 * (size_t)n + 64, sizeof **found))
          return -1;
        *capacity = 2 * n + 64;
      }
      (*found)[n++] = self->tri[k];
    }
  if (n > 1)
    qsort(*found, (size_t)n, sizeof **found, compare_ints);
  int kept = 0;
  for (int k = 0; k < n; k++)
    if (k == 0 || (*found)[k] != (*found)[k - 1])
      (*found)[kept++] = (*found)[k];
  return kept;
}

/* ---- one cut ---- */

/* a tet that the blade reaches */
typedef struct {
  int tet;
  PlaCutComplex *complex; /* the new one; NULL: untouched after all */
  int n_pieces;
  PlaCutComplex **piece; /* owned until they go into the mesh */
  int first_copy;        /* piece k > 0 is tet first_copy + k - 1, piece 0 is the tet itself */
} Touched;

typedef struct {
  PlaCutMesh *mesh;
  const double *pos;
  const PlaTriMesh *blade;
  BladeGrid grid;
  double origin[3], quantum; /* m */
  int n;
  Touched *touched;
  int *slot; /* place of each original tet in @touched, -1 (n_tets before the cut) */
} Cut;

static void
snap(const Cut *cut, const double *x, int64_t out[3])
{
  for (int d = 0; d < 3; d++)
    out[d] = llrint((x[d] - cut->origin[d]) / cut->quantum);
}

static PlaStatus
choose_grid(Cut *cut, PlaError *err)
{
  Box body = { { INFINITY, INFINITY, INFINITY }, { -INFINITY, -INFINITY, -INFINITY } };
  double size = 0.0, body_size = 0.0;
  for (int v = 0; v < cut->mesh->n_verts; v++)
    for (int d = 0; d < 3; d++) {
      body.lo[d] = fmin(body.lo[d], cut->pos[3 * v + d]);
      body.hi[d] = fmax(body.hi[d], cut->pos[3 * v + d]);
    }
  for (int d = 0; d < 3; d++) {
    double lo = fmin(body.lo[d], cut->grid.box.lo[d]), hi = fmax(body.hi[d], cut->grid.box.hi[d]);
    cut->origin[d] = 0.5 * (lo + hi);
    size = fmax(size, hi - lo);
    body_size = fmax(body_size, body.hi[d] - body.lo[d]);
  }
  if (!(size <= 1e4 * body_size))
    return pla_fail(err, PLA_ERR_GEOMETRY,
                    "the blade reaches %.3g times the body's size of %.3g mm; check its unit",
                    size / body_size, 1e3 * body_size);
  /* a power of two, so that symmetric input stays symmetric */
  cut->quantum = exp2(ceil(log2(size)) - 35.0);
  return PLA_OK;
}

/* fills cut->touched with the tets whose boxes meet the blade's */
static bool
find_tets(Cut *cut)
{
  const PlaCutMesh *mesh = cut->mesh;
  const int n_blocks = (mesh->n_tets + PLA_BLOCK - 1) / PLA_BLOCK;
  int *count = pla_array_new0((size_t)n_blocks + 1, sizeof *count);
  uint8_t *near = pla_array_new((size_t)mesh->n_tets, sizeof *near);
  cut->slot = pla_array_new((size_t)mesh->n_tets, sizeof *cut->slot);
  bool ok = count && near && cut->slot;
  if (ok) {
#pragma omp parallel for schedule(static) if (n_blocks > 4)
    for (int b = 0; b < n_blocks; b++) {
      int end = b + 1 < n_blocks ? (b + 1) * PLA_BLOCK : mesh->n_tets;
      for (int t = b * PLA_BLOCK; t < end; t++) {
        Box box;
        box_of(cut->pos, &mesh->tet[4 * t], 4, &box);
        near[t] = boxes_meet(&box, &cut->grid.box);
        count[b + 1] += near[t];
        cut->slot[t] = -1;
      }
    }
    for (int b = 0; b < n_blocks; b++)
      count[b + 1] += count[b];
    cut->n = count[n_blocks];
    cut->touched = pla_array_new0((size_t)cut->n, sizeof *cut->touched);
    ok = cut->touched != NULL;
  }
  for (int t = 0, n = 0; ok && t < mesh->n_tets; t++)
    if (near[t])
      cut->touched[n++].tet = t;
  free(count);
  free(near);
  return ok;
}

/* puts the blade into one tet; false when memory is short */
static bool
cut_tet(const Cut *cut, Touched *at, int **found, int *capacity)
{
  const PlaCutMesh *mesh = cut->mesh;
  const int *tet = &mesh->tet[4 * at->tet];
  Box box;
  box_of(cut->pos, tet, 4, &box);
  int n = blade_grid_find(&cut->grid, &box, found, capacity);
  if (n < 0)
    return false;
  bool ok = true, touched = false;
  int64_t pos[4][3];
  for (int c = 0; c < 4; c++)
    snap(cut, &cut->pos[3 * tet[c]], pos[c]);
  for (int k = 0; ok && k < n; k++) {
    int64_t tri[3][3];
    PlaCutTriangle triangle;
    for (int c = 0; c < 3; c++)
      snap(cut, &cut->blade->pos[3 * cut->blade->tri[3 * (*found)[k] + c]], tri[c]);
    if (!pla_cut_triangle_init(&triangle, (const int64_t(*)[3])tri, (const int64_t(*)[3])pos))
      continue;
    if (!at->complex)
      at->complex = mesh->complex[at->tet] ? pla_cut_complex_dup(mesh->complex[at->tet])
                                           : pla_cut_complex_new();
    bool changed = false;
    ok = at->complex &&
         pla_cut_complex_insert(at->complex, &triangle, mesh->n_triangles + (*found)[k], &changed);
    touched |= changed;
  }
  if (ok && !touched) {
    pla_cut_complex_free(at->complex);
    at->complex = NULL;
  } else if (ok) {
    int *piece = pla_array_new((size_t)at->complex->n_cells, sizeof *piece);
    at->n_pieces = piece ? pla_cut_complex_pieces(at->complex, piece) : -1;
    at->piece = at->n_pieces > 0 ? pla_array_new0((size_t)at->n_pieces, sizeof *at->piece) : NULL;
    ok = at->piece != NULL;
    for (int k = 0; ok && k < at->n_pieces; k++)
      ok = (at->piece[k] = pla_cut_complex_extract(at->complex, piece, k)) != NULL;
    free(piece);
  }
  return ok;
}

static PlaStatus
cut_tets(Cut *cut, PlaProgress *progress, PlaError *err)
{
  bool ok = true;
#pragma omp parallel if (cut->n > 64)
  {
    int *found = NULL, capacity = 0;
#pragma omp for schedule(dynamic, 16)
    for (int i = 0; i < cut->n; i++) {
      bool go;
#pragma omp atomic read
      go = ok;
      if (go && !pla_progress_cancelled(progress) &&
          !cut_tet(cut, &cut->touched[i], &found, &capacity)) {
#pragma omp atomic write
        ok = false;
      }
    }
    free(found);
  }
  if (pla_progress_cancelled(progress))
    return pla_fail_cancelled(err);
  if (!ok)
    return pla_fail_memory(err, "the cut");
  /* the tets that were only near the blade go */
  int n = 0;
  for (int i = 0; i < cut->n; i++)
    if (cut->touched[i].complex)
      cut->touched[n++] = cut->touched[i];
  cut->n = n;
  for (int i = 0; i < n; i++)
    cut->slot[cut->touched[i].tet] = i;
  return PLA_OK;
}

/* ---- connecting ---- */

/* links to be made, found before the mesh is changed */
typedef struct {
  int tet, face, other, other_face;
} NewLink;

typedef struct {
  int n, capacity;
  NewLink *link;
} LinkList;

static int
piece_tet(const Cut *cut, int slot, int tet, int k)
{
  return slot < 0 || k == 0 ? tet : cut->touched[slot].first_copy + k - 1;
}

static PlaCutComplex *
piece_complex(const Cut *cut, int slot, int tet, int k)
{
  return slot < 0 ? cut->mesh->complex[tet] : cut->touched[slot].piece[k];
}

/* whether material of a at face fa meets material of b at face fb: 1, 0, -1 */
static int
faces_meet(const Cut *cut, PlaCutComplex *a, int tet_a, int fa, PlaCutComplex *b, int tet_b, int fb)
{
  if ((a && !pla_cut_complex_has_face(a, fa)) || (b && !pla_cut_complex_has_face(b, fb)))
    return 0;
  if (!a || !b)
    return 1;
  const int *ta = &cut->mesh->tet[4 * tet_a], *tb = &cut->mesh->tet[4 * tet_b];
  int corner_b[4] = { -1, -1, -1, -1 };
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++)
      if (i != fa && j != fb && ta[i] == tb[j])
        corner_b[i] = j;
  return pla_cut_complex_faces_overlap(a, fa, b, fb, corner_b);
}

/* finds what stays connected across one face that had a link */
static bool
relink(const Cut *cut, int tet_a, int fa, int tet_b, int fb, LinkList *list)
{
  int slot_a = cut->slot[tet_a], slot_b = cut->slot[tet_b];
  int n_a = slot_a < 0 ? 1 : cut->touched[slot_a].n_pieces;
  int n_b = slot_b < 0 ? 1 : cut->touched[slot_b].n_pieces;
  for (int i = 0; i < n_a; i++)
    for (int j = 0; j < n_b; j++) {
      int meet = faces_meet(cut, piece_complex(cut, slot_a, tet_a, i), tet_a, fa,
                            piece_complex(cut, slot_b, tet_b, j), tet_b, fb);
      if (meet < 0)
        return false;
      if (!meet)
        continue;
      if (!pla_array_reserve(&list->link, list->n + 1, &list->capacity, sizeof *list->link))
        return false;
      list->link[list->n++] =
          (NewLink){ piece_tet(cut, slot_a, tet_a, i), fa, piece_tet(cut, slot_b, tet_b, j), fb };
    }
  return true;
}

static bool
find_links(const Cut *cut, LinkList *list)
{
  const PlaCutMesh *mesh = cut->mesh;
  for (int i = 0; i < cut->n; i++) {
    int t = cut->touched[i].tet;
    for (int f = 0; f < 4; f++)
      for (int k = mesh->link_head[4 * t + f]; k >= 0; k = mesh->link[k].next) {
        int other = mesh->link[k].tet;
        /* two touched tets are looked at from the first */
        if (cut->slot[other] >= 0 && other < t)
          continue;
        if (!relink(cut, t, f, other, mesh->link[k].face, list))
          return false;
      }
  }
  return true;
}

/* puts the pieces and links into the mesh; room was reserved, nothing can fail */
static void
commit_tets(Cut *cut, const LinkList *list)
{
  PlaCutMesh *mesh = cut->mesh;
  for (int i = 0; i < cut->n; i++) {
    int t = cut->touched[i].tet;
    for (int f = 0; f < 4; f++)
      while (mesh->link_head[4 * t + f] >= 0) {
        PlaCutLink link = mesh->link[mesh->link_head[4 * t + f]];
        pla_cut_mesh_unlink(mesh, t, f, link.tet);
        pla_cut_mesh_unlink(mesh, link.tet, link.face, t);
      }
  }
  for (int i = 0; i < cut->n; i++) {
    Touched *at = &cut->touched[i];
    for (int k = 0; k < at->n_pieces; k++) {
      int t = piece_tet(cut, i, at->tet, k);
      if (k == 0) {
        pla_cut_complex_free(mesh->complex[t]);
      } else {
        memcpy(&mesh->tet[4 * t], &mesh->tet[4 * at->tet], 4 * sizeof *mesh->tet);
        mesh->tet_source[t] = mesh->tet_source[at->tet];
        mesh->tet_copied[t] = at->tet;
        mesh->skin[t] = mesh->skin[at->tet];
        for (int f = 0; f < 4; f++)
          mesh->link_head[4 * t + f] = -1;
      }
      mesh->complex[t] = at->piece[k];
      at->piece[k] = NULL;
    }
  }
  for (int i = list->n - 1; i >= 0; i--) {
    const NewLink *l = &list->link[i];
    link_side(mesh, l->tet, l->face, l->other, l->other_face);
    link_side(mesh, l->other, l->other_face, l->tet, l->face);
  }
}

/* ---- nodes ---- */

/* corners of tets that share a node, and the node they get */
typedef struct {
  int tet, corner, vert;
} Corner;

typedef struct {
  int n;
  Corner *corner;
} CornerList;

static int
corner_of(const int *tet, int vert)
{
  for (int c = 0; c < 4; c++)
    if (tet[c] == vert)
      return c;
  return -1;
}

typedef struct {
  const PlaCutMesh *mesh;
  uint8_t *met;    /* bit c: corner c has its node (n_tets after the cut) */
  uint8_t *kept;   /* the node went to a group of corners already (n_verts before) */
  CornerList list; /* all corners met, group after group */
  CornerList made; /* first corner of each group that gets a new node */
} Renumber;

/* room for every corner at a node of a touched tet: no group can be larger than all of them */
static bool
reserve_corners(Renumber *self, const Cut *cut)
{
  const PlaCutMesh *mesh = cut->mesh;
  size_t n = 0;
  for (int i = 0; i < cut->n; i++)
    for (int c = 0; c < 4; c++)
      self->kept[mesh->tet[4 * cut->touched[i].tet + c]] = 1;
  for (int t = 0; t < mesh->n_tets; t++) {
    int copies = cut->slot[t] < 0 ? 1 : cut->touched[cut->slot[t]].n_pieces;
    for (int c = 0; c < 4; c++)
      n += self->kept[mesh->tet[4 * t + c]] ? (size_t)copies : 0;
  }
  memset(self->kept, 0, (size_t)mesh->n_verts * sizeof *self->kept);
  self->list.corner = pla_array_new(n, sizeof *self->list.corner);
  self->made.corner = pla_array_new(n, sizeof *self->made.corner);
  return self->list.corner && self->made.corner;
}

static void
corner_list_add(CornerList *list, int tet, int corner, int vert)
{
  list->corner[list->n++] = (Corner){ tet, corner, vert };
}

/* the group of corners linked with (tet, corner) around the node they have so far */
static void
gather_group(Renumber *self, int tet, int corner, int *n_verts)
{
  const PlaCutMesh *mesh = self->mesh;
  const int node = mesh->tet[4 * tet + corner];
  int vert = node;
  if (self->kept[node]) {
    vert = (*n_verts)++;
    corner_list_add(&self->made, tet, corner, node);
  }
  self->kept[node] = 1;
  int at = self->list.n;
  corner_list_add(&self->list, tet, corner, vert);
  self->met[tet] |= (uint8_t)(1u << corner);
  for (; at < self->list.n; at++) {
    Corner from = self->list.corner[at];
    for (int f = 0; f < 4; f++) {
      if (f == from.corner)
        continue;
      for (int k = mesh->link_head[4 * from.tet + f]; k >= 0; k = mesh->link[k].next) {
        int other = mesh->link[k].tet, c = corner_of(&mesh->tet[4 * other], node);
        if (c < 0 || self->met[other] >> c & 1)
          continue;
        self->met[other] |= (uint8_t)(1u << c);
        corner_list_add(&self->list, other, c, vert);
      }
    }
  }
}

/* after the tets are linked: gives each group of corners its node */
static void
renumber(Cut *cut, int n_verts_before, Renumber *self)
{
  PlaCutMesh *mesh = cut->mesh;
  int n_verts = n_verts_before;
  for (int i = 0; i < cut->n; i++)
    for (int k = 0; k < cut->touched[i].n_pieces; k++) {
      int t = piece_tet(cut, i, cut->touched[i].tet, k);
      for (int c = 0; c < 4; c++)
        if (!(self->met[t] >> c & 1))
          gather_group(self, t, c, &n_verts);
    }
  for (int i = 0; i < self->list.n; i++) {
    const Corner *c = &self->list.corner[i];
    mesh->tet[4 * c->tet + c->corner] = c->vert;
  }
  for (int i = 0; i < self->made.n; i++) {
    int from = self->made.corner[i].vert, to = n_verts_before + i;
    memcpy(&mesh->rest[3 * to], &mesh->rest[3 * from], 3 * sizeof *mesh->rest);
    mesh->vert_source[to] = mesh->vert_source[from];
  }
  mesh->n_verts = n_verts;
}

static double
now_s(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static PlaStatus
check_input(const PlaCutMesh *self, const double *pos, const PlaTriMesh *blade, PlaError *err)
{
  if (blade->n_tris == 0)
    return pla_fail(err, PLA_ERR_GEOMETRY, "the blade has no triangle");
  for (int i = 0; i < 3 * blade->n_tris; i++)
    if (blade->tri[i] < 0 || blade->tri[i] >= blade->n_verts)
      return pla_fail(err, PLA_ERR_GEOMETRY, "triangle %d of the blade names vertex %d of %d",
                      i / 3, blade->tri[i], blade->n_verts);
  for (int i = 0; i < 3 * blade->n_verts; i++)
    if (!isfinite(blade->pos[i]))
      return pla_fail(err, PLA_ERR_GEOMETRY, "vertex %d of the blade is not a number", i / 3);
  for (int i = 0; i < 3 * self->n_verts; i++)
    if (!isfinite(pos[i]))
      return pla_fail(err, PLA_ERR_GEOMETRY, "vertex %d of the body is not a number", i / 3);
  if (blade->n_tris > INT32_MAX - self->n_triangles)
    return pla_fail(err, PLA_ERR_GEOMETRY, "the body was cut too often");
  return PLA_OK;
}

PlaStatus
pla_cut_mesh_cut(PlaCutMesh *self, const double *pos, const PlaTriMesh *blade,
                 PlaProgress *progress, PlaCutReport *report, int **from, PlaError *err)
{
  const int n_verts = self->n_verts, n_tets = self->n_tets;
  double start = now_s();
  LinkList links = { 0 };
  Renumber nodes = { .mesh = self };
  Cut cut = { .mesh = self, .pos = pos ? pos : self->rest, .blade = blade };
  *report = (PlaCutReport){ 0 };
  if (from)
    *from = NULL;
  PlaStatus st = check_input(self, cut.pos, blade, err);
  if (st == PLA_OK && !blade_grid_init(&cut.grid, blade))
    st = pla_fail_memory(err, "the blade");
  if (st == PLA_OK)
    st = choose_grid(&cut, err);
  if (st == PLA_OK && !find_tets(&cut))
    st = pla_fail_memory(err, "the cut");
  report->seconds[0] = now_s() - start;
  if (st == PLA_OK)
    st = cut_tets(&cut, progress, err);
  report->seconds[1] = now_s() - start - report->seconds[0];
  if (st == PLA_OK) {
    int n = n_tets;
    for (int i = 0; i < cut.n; i++) {
      cut.touched[i].first_copy = n;
      n += cut.touched[i].n_pieces - 1;
    }
    /* all memory that committing needs is taken here, so that a failure changes nothing */
    nodes.met = pla_array_new0((size_t)n, sizeof *nodes.met);
    nodes.kept = pla_array_new0((size_t)n_verts, sizeof *nodes.kept);
    if (!nodes.met || !nodes.kept || !find_links(&cut, &links) || !reserve_corners(&nodes, &cut) ||
        !reserve_tets(self, n) || !reserve_links(self, self->n_links + 2 * links.n) ||
        !reserve_verts(self, n_verts + 4 * (n - n_tets + cut.n))) {
      st = pla_fail_memory(err, "the cut");
    } else {
      commit_tets(&cut, &links);
      self->n_tets = n;
      self->n_triangles += blade->n_tris;
      renumber(&cut, n_verts, &nodes);
      report->n_touched = cut.n;
      report->n_new_tets = n - n_tets;
      report->n_new_verts = self->n_verts - n_verts;
      if (from) {
        *from = pla_array_new((size_t)nodes.made.n, sizeof **from);
        for (int i = 0; *from && i < nodes.made.n; i++)
          (*from)[i] = nodes.made.corner[i].vert;
        if (!*from)
          st = pla_fail_memory(err, "the cut");
      }
    }
  }
  for (int i = 0; i < cut.n; i++) {
    pla_cut_complex_free(cut.touched[i].complex);
    for (int k = 0; cut.touched[i].piece && k < cut.touched[i].n_pieces; k++)
      pla_cut_complex_free(cut.touched[i].piece[k]);
    free(cut.touched[i].piece);
  }
  free(cut.touched);
  free(cut.slot);
  blade_grid_clear(&cut.grid);
  free(links.link);
  free(nodes.met);
  free(nodes.kept);
  free(nodes.list.corner);
  free(nodes.made.corner);
  report->seconds[3] = now_s() - start;
  report->seconds[2] = report->seconds[3] - report->seconds[1] - report->seconds[0];
  return st;
}
