/* The mesh around the cut tets: which ones the blade meets, what stays connected, who shares nodes.
 *
 *   1. tets whose boxes meet triangles of the blade, all in the deformed shape (cut-search.h)
 *   2. the triangles go into each tet's complex, which falls into pieces    (parallel)
 *   3. pieces on both sides of a face are linked where they share an area of it
 *   4. around each node, corners that are linked with each other keep one node in common
 *
 * Sifakis, Der and Fedkiw, "Arbitrary cutting of deformable tetrahedralized objects" (2007). */
#include "sim/cut/cut-mesh-private.h"

#include "anatomy/base/memory.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const int pla_cut_face_corner[4][3] = { { 1, 2, 3 }, { 0, 3, 2 }, { 0, 1, 3 }, { 0, 2, 1 } };

static bool
grow(void *array, int n, int capacity, size_t size)
{
  return n <= capacity || pla_array_resize((void **)array, (size_t)n, size);
}

/* @n elements stay; those beyond are zero */
static bool
grow_zeroed(void *array, int n, int wanted, size_t size)
{
  if (!pla_array_resize((void **)array, (size_t)wanted, size))
    return false;
  memset(*(char **)array + (size_t)n * size, 0, (size_t)(wanted - n) * size);
  return true;
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
            grow(&self->refined, wanted, 0, sizeof(PlaCutComplex *)) &&
            grow(&self->chain, wanted, 0, sizeof *self->chain) &&
            grow_zeroed(&self->slot, self->cap_tets, wanted, sizeof *self->slot) &&
            grow_zeroed(&self->met, self->cap_tets, wanted, sizeof *self->met);
  self->tree.chain = self->chain;
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
            grow(&self->vert_source, wanted, 0, sizeof *self->vert_source) &&
            grow_zeroed(&self->kept, self->cap_verts, wanted, sizeof *self->kept) &&
            (!self->shape || grow(&self->shape, 3 * wanted, 0, sizeof *self->shape));
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
  /* every face by its vertices in ascending order */
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
  /* equal faces follow each other: two are linked, one is skin, three are an error */
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

bool
pla_cut_mesh_make_tree(PlaCutMesh *self)
{
  const PlaTetMesh mesh = { self->n_verts, self->n_tets, self->rest, self->tet };
  return pla_cut_tree_init(&self->tree, &mesh, self->chain);
}

PlaStatus
pla_cut_mesh_new(const PlaTetMesh *mesh, PlaCutMesh **out, PlaError *err)
{
  *out = NULL;
  PlaCutMesh *self = pla_array_new0(1, sizeof *self);
  PlaStatus st = PLA_OK;
  if (!self || !reserve_tets(self, mesh->n_tets) || !reserve_verts(self, mesh->n_verts))
    st = pla_fail_memory(err, "the mesh to cut");
  /* tets must have a positive volume */
  for (int t = 0; st == PLA_OK && t < mesh->n_tets; t++)
    if (!(pla_cut_tet_volume(mesh->rest, &mesh->tet[4 * t]) > 0.0))
      st = pla_fail(err, PLA_ERR_GEOMETRY,
                    "tet %d is flat or inverted at rest and cannot be cut; mesh the body again", t);
  if (st == PLA_OK) {
    /* the uncut mesh: every tet is its own source */
    self->n_tets = mesh->n_tets;
    self->n_verts = mesh->n_verts;
    self->free_link = -1;
    memcpy(self->tet, mesh->tet, 4 * (size_t)mesh->n_tets * sizeof *self->tet);
    memcpy(self->rest, mesh->rest, 3 * (size_t)mesh->n_verts * sizeof *self->rest);
    for (int t = 0; t < mesh->n_tets; t++) {
      self->tet_source[t] = self->tet_copied[t] = t;
      self->skin[t] = 0;
      self->refined[t] = NULL;
      for (int f = 0; f < 4; f++)
        self->link_head[4 * t + f] = -1;
    }
    for (int v = 0; v < mesh->n_verts; v++)
      self->vert_source[v] = v;
    st = link_faces(self, err);
  }
  if (st == PLA_OK && !pla_cut_mesh_make_tree(self))
    st = pla_fail_memory(err, "the mesh to cut");
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
            reserve_links(copy, self->n_links) &&
            pla_cut_tree_dup(&self->tree, copy->chain, &copy->tree);
  if (ok && self->shape)
    ok = (copy->shape = pla_array_new(3 * (size_t)copy->cap_verts, sizeof *copy->shape)) != NULL;
  if (ok) {
    /* plain arrays, then the complex of each cut tet */
    const size_t n = (size_t)self->n_tets;
    memcpy(copy->tet, self->tet, 4 * n * sizeof *copy->tet);
    memcpy(copy->tet_source, self->tet_source, n * sizeof *copy->tet_source);
    memcpy(copy->tet_copied, self->tet_copied, n * sizeof *copy->tet_copied);
    memcpy(copy->skin, self->skin, n);
    memcpy(copy->chain, self->chain, n * sizeof *copy->chain);
    if (self->shape)
      memcpy(copy->shape, self->shape, 3 * (size_t)self->n_verts * sizeof *copy->shape);
    memcpy(copy->link_head, self->link_head, 4 * n * sizeof *copy->link_head);
    memcpy(copy->rest, self->rest, 3 * (size_t)self->n_verts * sizeof *copy->rest);
    memcpy(copy->vert_source, self->vert_source, (size_t)self->n_verts * sizeof *copy->vert_source);
    memcpy(copy->link, self->link, (size_t)self->n_links * sizeof *copy->link);
    copy->n_verts = self->n_verts;
    copy->n_links = self->n_links;
    copy->n_triangles = self->n_triangles;
    copy->n_carved = self->n_carved;
    if (self->scan.pos)
      ok = pla_cut_scan_dup(&self->scan, self->n_carved, &copy->scan);
    copy->free_link = self->free_link;
    for (int t = 0; ok && t < self->n_tets; t++) {
      copy->refined[t] = self->refined[t] ? pla_cut_complex_dup(self->refined[t]) : NULL;
      ok = !self->refined[t] || copy->refined[t];
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
    pla_cut_complex_free(self->refined[t]);
  pla_cut_scan_clear(&self->scan);
  free(self->rest);
  free(self->vert_source);
  free(self->tet);
  free(self->tet_source);
  free(self->tet_copied);
  free(self->skin);
  free(self->link_head);
  free(self->link);
  free(self->refined);
  pla_cut_tree_clear(&self->tree);
  free(self->chain);
  free(self->slot);
  free(self->met);
  free(self->kept);
  free(self->shape);
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

static const double *
shape_of(const PlaCutMesh *self)
{
  return self->shape ? self->shape : self->rest;
}

PlaStatus
pla_cut_mesh_set_shape(PlaCutMesh *self, const double *pos, PlaError *err)
{
  const size_t n = 3 * (size_t)self->n_verts;
  for (size_t i = 0; pos && i < n; i++)
    if (!isfinite(pos[i]))
      return pla_fail(err, PLA_ERR_GEOMETRY, "vertex %zu of the body is not a number", i / 3);
  if (pos && !self->shape &&
      !(self->shape = pla_array_new(3 * (size_t)self->cap_verts, sizeof *self->shape)))
    return pla_fail_memory(err, "the shape of the body");
  if (pos) {
    memcpy(self->shape, pos, n * sizeof *pos);
  } else {
    free(self->shape);
    self->shape = NULL;
  }
  pla_cut_tree_fit(&self->tree, self->tet, shape_of(self));
  return PLA_OK;
}

/* ---- one cut ---- */

/* a tet that the blade reaches */
typedef struct {
  int tet;
  PlaCutComplex *refined; /* the new one while it is made */
  int n_pieces;
  PlaCutComplex **piece; /* owned until they go into the mesh; NULL: untouched after all */
  int first_copy;        /* piece k > 0 is tet first_copy + k - 1, piece 0 is the tet itself */
} Touched;

typedef struct {
  PlaCutMesh *mesh;
  const double *pos;
  const PlaTriMesh *blade;
  const bool *among; /* tets that may be cut; NULL: all */
  PlaBladeGrid grid;
  double origin[3], quantum; /* m */
  int n;
  Touched *touched;
} Cut;

/* place of @tet in cut->touched, -1 */
static int
slot_of(const Cut *cut, int tet)
{
  return cut->mesh->slot[tet] - 1;
}

static void
snap(const Cut *cut, const double *x, int64_t out[3])
{
  for (int d = 0; d < 3; d++)
    out[d] = llrint((x[d] - cut->origin[d]) / cut->quantum);
}

static PlaStatus
choose_grid(Cut *cut, PlaError *err)
{
  const PlaCutBox body = *pla_cut_tree_get_box(&cut->mesh->tree);
  double size = 0.0, body_size = 0.0;
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
  cut->grid.slack = 16.0 * cut->quantum;
  return PLA_OK;
}

/* fills cut->touched with the tets whose boxes meet the blade's */
static bool
find_tets(Cut *cut)
{
  int *found = NULL;
  const int n = pla_cut_tree_find(&cut->mesh->tree, cut->mesh->tet, cut->pos, &cut->grid, &found);
  cut->touched = n >= 0 ? pla_array_new0((size_t)n, sizeof *cut->touched) : NULL;
  if (cut->touched) {
    for (int i = 0; i < n; i++)
      if (!cut->among || cut->among[found[i]])
        cut->touched[cut->n++].tet = found[i];
  }
  free(found);
  return cut->touched != NULL;
}

/* puts the blade into one tet; false when memory is short */
static bool
cut_tet(const Cut *cut, Touched *at, int **found, int *capacity)
{
  const PlaCutMesh *mesh = cut->mesh;
  const int *tet = &mesh->tet[4 * at->tet];
  /* triangles of the blade near the tet */
  PlaCutBox box;
  pla_cut_box_of(cut->pos, tet, 4, &box);
  int n = pla_blade_grid_find(&cut->grid, &box, found, capacity);
  if (n < 0)
    return false;
  bool ok = true, touched = false;
  /* corners on the integer grid */
  int64_t pos[4][3];
  for (int c = 0; c < 4; c++)
    snap(cut, &cut->pos[3 * tet[c]], pos[c]);
  PlaCutHull hull;
  pla_cut_hull_init(&hull, (const int64_t(*)[3])pos);
  /* insert each triangle into the complex of the tet */
  for (int k = 0; ok && k < n; k++) {
    int64_t tri[3][3];
    PlaCutTriangle triangle;
    for (int c = 0; c < 3; c++)
      snap(cut, &cut->blade->pos[3 * cut->blade->tri[3 * (*found)[k] + c]], tri[c]);
    if (!pla_cut_hull_may_meet(&hull, (const int64_t(*)[3])tri) ||
        !pla_cut_triangle_init(&triangle, (const int64_t(*)[3])tri, (const int64_t(*)[3])pos))
      continue;
    pla_cut_triangle_set_verts(&triangle, &cut->blade->tri[3 * (*found)[k]]);
    if (!at->refined)
      at->refined = mesh->refined[at->tet] ? pla_cut_complex_dup(mesh->refined[at->tet])
                                           : pla_cut_complex_new();
    bool changed = false;
    ok = at->refined &&
         pla_cut_complex_insert(at->refined, &triangle, mesh->n_triangles + (*found)[k], &changed);
    touched |= changed;
  }
  /* not reached after all; else one complex for each connected piece */
  if (ok && !touched) {
    pla_cut_complex_free(at->refined);
    at->refined = NULL;
  } else if (ok) {
    int *piece = pla_array_new((size_t)at->refined->n_cells, sizeof *piece);
    at->n_pieces = piece ? pla_cut_complex_pieces(at->refined, piece) : -1;
    at->piece = at->n_pieces > 0 ? pla_array_new0((size_t)at->n_pieces, sizeof *at->piece) : NULL;
    ok = at->piece != NULL;
    for (int k = 0; ok && k < at->n_pieces; k++)
      ok = (at->piece[k] = pla_cut_complex_extract(at->refined, piece, k)) != NULL;
    free(piece);
    pla_cut_complex_free(at->refined);
    at->refined = NULL;
  }
  return ok;
}

static PlaStatus
cut_tets(Cut *cut, PlaProgress *progress, PlaError *err)
{
  /* tets are independent of each other */
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
    if (cut->touched[i].piece)
      cut->touched[n++] = cut->touched[i];
  cut->n = n;
  for (int i = 0; i < n; i++)
    cut->mesh->slot[cut->touched[i].tet] = i + 1;
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

enum { LOCKS = 128 }; /* of tets, those of equal remainders sharing one */

static int
piece_tet(const Cut *cut, int slot, int tet, int k)
{
  return slot < 0 || k == 0 ? tet : cut->touched[slot].first_copy + k - 1;
}

static PlaCutComplex *
piece_complex(const Cut *cut, int slot, int tet, int k)
{
  return slot < 0 ? cut->mesh->refined[tet] : cut->touched[slot].piece[k];
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
  int slot_a = slot_of(cut, tet_a), slot_b = slot_of(cut, tet_b);
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

/* the links of touched tet @i, those that another one looks at left out */
static bool
relink_tet(const Cut *cut, int i, omp_lock_t *lock, LinkList *list)
{
  const PlaCutMesh *mesh = cut->mesh;
  const int t = cut->touched[i].tet;
  bool ok = true;
  for (int f = 0; ok && f < 4; f++)
    for (int k = mesh->link_head[4 * t + f]; ok && k >= 0; k = mesh->link[k].next) {
      const int other = mesh->link[k].tet, a = t % LOCKS, b = other % LOCKS;
      /* two touched tets are looked at from the first */
      if (slot_of(cut, other) >= 0 && other < t)
        continue;
      /* questions leave helper points and answers in both */
      omp_set_lock(&lock[a < b ? a : b]);
      if (a != b)
        omp_set_lock(&lock[a < b ? b : a]);
      ok = relink(cut, t, f, other, mesh->link[k].face, list);
      if (a != b)
        omp_unset_lock(&lock[b]);
      omp_unset_lock(&lock[a]);
    }
  return ok;
}

/* parts of the tets are looked at by several threads, and listed in their order */
static bool
find_links(const Cut *cut, LinkList *list)
{
  enum { PART = 256 };
  const int n_parts = (cut->n + PART - 1) / PART;
  LinkList *part = pla_array_new0((size_t)n_parts, sizeof *part);
  omp_lock_t lock[LOCKS];
  bool ok = part != NULL;
  for (int k = 0; k < LOCKS; k++)
    omp_init_lock(&lock[k]);
#pragma omp parallel for schedule(dynamic, 1) reduction(&& : ok) if (n_parts > 1)
  for (int p = 0; p < n_parts; p++)
    for (int i = PART * p; ok && i < PART * (p + 1) && i < cut->n; i++)
      ok = relink_tet(cut, i, lock, &part[p]);
  for (int k = 0; k < LOCKS; k++)
    omp_destroy_lock(&lock[k]);
  for (int p = 0; part && p < n_parts; p++) {
    ok = ok &&
         pla_array_reserve(&list->link, list->n + part[p].n, &list->capacity, sizeof *list->link);
    if (ok && part[p].n > 0)
      memcpy(list->link + list->n, part[p].link, (size_t)part[p].n * sizeof *list->link);
    list->n += ok ? part[p].n : 0;
    free(part[p].link);
  }
  free(part);
  return ok;
}

/* puts the pieces and links into the mesh; room was reserved, nothing can fail */
static void
commit_tets(Cut *cut, const LinkList *list)
{
  PlaCutMesh *mesh = cut->mesh;
  /* remove all links of cut tets */
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
        pla_cut_complex_free(mesh->refined[t]);
      } else {
        memcpy(&mesh->tet[4 * t], &mesh->tet[4 * at->tet], 4 * sizeof *mesh->tet);
        mesh->tet_source[t] = mesh->tet_source[at->tet];
        mesh->tet_copied[t] = at->tet;
        pla_cut_tree_add_copy(&mesh->tree, at->tet, t);
        mesh->skin[t] = mesh->skin[at->tet];
        for (int f = 0; f < 4; f++)
          mesh->link_head[4 * t + f] = -1;
      }
      mesh->refined[t] = at->piece[k];
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
  int n, capacity;
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

static bool
corner_list_add(CornerList *list, int tet, int corner, int vert)
{
  if (!pla_array_reserve(&list->corner, list->n + 1, &list->capacity, sizeof *list->corner))
    return false;
  list->corner[list->n++] = (Corner){ tet, corner, vert };
  return true;
}

/* all corners linked with (@tet, @corner) around the node they have so far, as a group of @vert */
static bool
gather_group(PlaCutMesh *mesh, int tet, int corner, int vert, CornerList *list)
{
  const int node = mesh->tet[4 * tet + corner];
  int at = list->n;
  bool ok = corner_list_add(list, tet, corner, vert);
  mesh->met[tet] |= (uint8_t)(1u << corner);
  for (; ok && at < list->n; at++) {
    Corner from = list->corner[at];
    for (int f = 0; ok && f < 4; f++) {
      if (f == from.corner)
        continue;
      for (int k = mesh->link_head[4 * from.tet + f]; ok && k >= 0; k = mesh->link[k].next) {
        int other = mesh->link[k].tet, c = corner_of(&mesh->tet[4 * other], node);
        if (c < 0 || mesh->met[other] >> c & 1)
          continue;
        ok = corner_list_add(list, other, c, vert);
        mesh->met[other] |= (uint8_t)(1u << c);
      }
    }
  }
  return ok;
}

typedef struct {
  CornerList list; /* all corners met, group after group */
  CornerList made; /* first corner of each group that gets a new node */
} Renumber;

/* Room for every corner around the nodes of touched tets.  Links only become fewer by a cut, so
 * what is reached now, once for each piece, is all that can be reached afterwards. */
static bool
reserve_corners(Renumber *self, const Cut *cut)
{
  PlaCutMesh *mesh = cut->mesh;
  CornerList *list = &self->list;
  bool ok = true;
  int n = 0;
  for (int i = 0; ok && i < cut->n; i++)
    for (int c = 0; ok && c < 4; c++) {
      const int t = cut->touched[i].tet;
      if (!(mesh->met[t] >> c & 1))
        ok = gather_group(mesh, t, c, -1, list);
    }
  for (int i = 0; i < list->n; i++) {
    const int slot = slot_of(cut, list->corner[i].tet);
    n += slot < 0 ? 1 : cut->touched[slot].n_pieces;
    mesh->met[list->corner[i].tet] = 0;
  }
  list->n = 0;
  return ok && pla_array_reserve(&list->corner, n, &list->capacity, sizeof *list->corner) &&
         pla_array_reserve(&self->made.corner, n, &self->made.capacity, sizeof *list->corner);
}

/* after the tets are linked: gives each group of corners its node; room was reserved */
static void
renumber(Cut *cut, int n_verts_before, Renumber *self)
{
  PlaCutMesh *mesh = cut->mesh;
  /* one vertex for each group of linked corners */
  int n_verts = n_verts_before;
  for (int i = 0; i < cut->n; i++)
    for (int k = 0; k < cut->touched[i].n_pieces; k++) {
      const int t = piece_tet(cut, i, cut->touched[i].tet, k);
      for (int c = 0; c < 4; c++) {
        if (mesh->met[t] >> c & 1)
          continue;
        /* the first group keeps the node */
        const int node = mesh->tet[4 * t + c], vert = mesh->kept[node] ? n_verts++ : node;
        if (vert != node)
          corner_list_add(&self->made, t, c, node);
        mesh->kept[node] = 1;
        gather_group(mesh, t, c, vert, &self->list);
      }
    }
  /* write the new numbers */
  for (int i = 0; i < self->list.n; i++) {
    const Corner *c = &self->list.corner[i];
    mesh->kept[mesh->tet[4 * c->tet + c->corner]] = 0;
    mesh->met[c->tet] = 0;
    mesh->tet[4 * c->tet + c->corner] = c->vert;
  }
  /* positions of the copies */
  for (int i = 0; i < self->made.n; i++) {
    int from = self->made.corner[i].vert, to = n_verts_before + i;
    memcpy(&mesh->rest[3 * to], &mesh->rest[3 * from], 3 * sizeof *mesh->rest);
    if (mesh->shape)
      memcpy(&mesh->shape[3 * to], &mesh->shape[3 * from], 3 * sizeof *mesh->shape);
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
check_input(const PlaCutMesh *self, const PlaTriMesh *blade, PlaError *err)
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
  if (blade->n_tris > INT32_MAX - self->n_triangles)
    return pla_fail(err, PLA_ERR_GEOMETRY, "the body was cut too often");
  return PLA_OK;
}

PlaStatus
pla_cut_mesh_cut(PlaCutMesh *self, const PlaTriMesh *blade, PlaProgress *progress,
                 PlaCutReport *report, int **from, PlaError *err)
{
  return pla_cut_mesh_cut_among(self, blade, NULL, progress, report, from, err);
}

PlaStatus
pla_cut_mesh_cut_among(PlaCutMesh *self, const PlaTriMesh *blade, const bool *among,
                       PlaProgress *progress, PlaCutReport *report, int **from, PlaError *err)
{
  const int n_verts = self->n_verts, n_tets = self->n_tets;
  double start = now_s();
  LinkList links = { 0 };
  Renumber nodes = { 0 };
  Cut cut = { .mesh = self, .pos = shape_of(self), .blade = blade, .among = among };
  *report = (PlaCutReport){ 0 };
  if (from)
    *from = NULL;
  /* broad phase: tets near the blade */
  PlaStatus st = check_input(self, blade, err);
  if (st == PLA_OK && !pla_blade_grid_init(&cut.grid, blade))
    st = pla_fail_memory(err, "the blade");
  if (st == PLA_OK)
    st = choose_grid(&cut, err);
  if (st == PLA_OK && !find_tets(&cut))
    st = pla_fail_memory(err, "the cut");
  /* narrow phase: cut each of them */
  report->seconds[0] = now_s() - start;
  if (st == PLA_OK)
    st = cut_tets(&cut, progress, err);
  report->seconds[1] = now_s() - start - report->seconds[0];
  if (st == PLA_OK) {
    /* the first piece keeps the number of its tet, copies follow */
    int n = n_tets;
    for (int i = 0; i < cut.n; i++) {
      cut.touched[i].first_copy = n;
      n += cut.touched[i].n_pieces - 1;
    }
    /* all memory that committing needs is taken here, so that a failure changes nothing */
    if (!find_links(&cut, &links) || !reserve_corners(&nodes, &cut) || !reserve_tets(self, n) ||
        !reserve_links(self, self->n_links + 2 * links.n) ||
        !reserve_verts(self, n_verts + 4 * (n - n_tets + cut.n))) {
      st = pla_fail_memory(err, "the cut");
    } else {
      /* commit */
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
    self->slot[cut.touched[i].tet] = 0;
    pla_cut_complex_free(cut.touched[i].refined);
    for (int k = 0; cut.touched[i].piece && k < cut.touched[i].n_pieces; k++)
      pla_cut_complex_free(cut.touched[i].piece[k]);
    free(cut.touched[i].piece);
  }
  free(cut.touched);
  pla_blade_grid_clear(&cut.grid);
  free(links.link);
  free(nodes.list.corner);
  free(nodes.made.corner);
  report->seconds[3] = now_s() - start;
  report->seconds[2] = report->seconds[3] - report->seconds[1] - report->seconds[0];
  return st;
}
