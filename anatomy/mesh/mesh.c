/* Meshes, their fields, checks and summary, and embedded points. */
#include "anatomy/mesh/mesh.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/base/parallel.h"
#include "anatomy/base/union-find.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

PlaStatus
pla_mesh_new(int n_verts, int n_tris, int n_tets, int n_hexes, PlaMesh **out, PlaError *err)
{
  assert(n_verts >= 0 && n_tris >= 0 && n_tets >= 0 && n_hexes >= 0);
  PlaMesh *mesh = pla_array_new0(1, sizeof *mesh);
  *out = NULL;
  if (mesh) {
    mesh->n_verts = n_verts;
    mesh->n_tris = n_tris;
    mesh->n_tets = n_tets;
    mesh->n_hexes = n_hexes;
    mesh->pos = pla_array_new0((size_t)n_verts, 3 * sizeof *mesh->pos);
    mesh->tri = pla_array_new0((size_t)n_tris, 3 * sizeof *mesh->tri);
    mesh->tet = pla_array_new0((size_t)n_tets, 4 * sizeof *mesh->tet);
    mesh->hex = pla_array_new0((size_t)n_hexes, 8 * sizeof *mesh->hex);
  }
  if (!mesh || !mesh->pos || !mesh->tri || !mesh->tet || !mesh->hex) {
    pla_mesh_free(mesh);
    return pla_fail_memory(err, "the mesh");
  }
  *out = mesh;
  return PLA_OK;
}

void
pla_mesh_free(PlaMesh *mesh)
{
  if (!mesh)
    return;
  for (int f = 0; f < mesh->n_fields; f++) {
    free(mesh->field[f].name);
    free(mesh->field[f].data);
  }
  free(mesh->field);
  free(mesh->pos);
  free(mesh->tri);
  free(mesh->tet);
  free(mesh->hex);
  free(mesh);
}

PlaStatus
pla_mesh_dup(const PlaMesh *mesh, PlaMesh **out, PlaError *err)
{
  PlaMesh *copy;
  *out = NULL;
  PlaStatus st = pla_mesh_new(mesh->n_verts, mesh->n_tris, mesh->n_tets, mesh->n_hexes, &copy, err);
  if (st != PLA_OK)
    return st;
  memcpy(copy->pos, mesh->pos, (size_t)mesh->n_verts * 3 * sizeof *copy->pos);
  memcpy(copy->tri, mesh->tri, (size_t)mesh->n_tris * 3 * sizeof *copy->tri);
  memcpy(copy->tet, mesh->tet, (size_t)mesh->n_tets * 4 * sizeof *copy->tet);
  memcpy(copy->hex, mesh->hex, (size_t)mesh->n_hexes * 8 * sizeof *copy->hex);
  copy->single = mesh->single;
  for (int f = 0; f < mesh->n_fields; f++) {
    const PlaField *field = &mesh->field[f];
    void *data =
        pla_mesh_add_field(copy, field->name, field->place, field->dtype, field->n_components);
    if (!data) {
      pla_mesh_free(copy);
      return pla_fail_memory(err, "a copy of the mesh");
    }
    memcpy(data, field->data,
           pla_field_n_tuples(mesh, field) * (size_t)field->n_components *
               pla_dtype_size(field->dtype));
  }
  *out = copy;
  return PLA_OK;
}

PlaTriMesh
pla_mesh_tris(const PlaMesh *mesh)
{
  return (PlaTriMesh){ mesh->n_verts, mesh->n_tris, mesh->pos, mesh->tri };
}

PlaTetMesh
pla_mesh_tets(const PlaMesh *mesh)
{
  return (PlaTetMesh){ mesh->n_verts, mesh->n_tets, mesh->pos, mesh->tet };
}

PlaHexMesh
pla_mesh_hexes(const PlaMesh *mesh)
{
  return (PlaHexMesh){ mesh->n_verts, mesh->n_hexes, mesh->pos, mesh->hex };
}

size_t
pla_mesh_n_cells(const PlaMesh *mesh)
{
  return (size_t)mesh->n_tris + (size_t)mesh->n_tets + (size_t)mesh->n_hexes;
}

size_t
pla_field_n_tuples(const PlaMesh *mesh, const PlaField *field)
{
  return field->place == PLA_ON_VERTS ? (size_t)mesh->n_verts : pla_mesh_n_cells(mesh);
}

const PlaField *
pla_mesh_find_field(const PlaMesh *mesh, const char *name, PlaFieldPlace place)
{
  for (int f = 0; f < mesh->n_fields; f++)
    if (mesh->field[f].place == place && strcmp(mesh->field[f].name, name) == 0)
      return &mesh->field[f];
  return NULL;
}

bool
pla_mesh_take_field(PlaMesh *mesh, const char *name, PlaFieldPlace place, PlaDType dtype,
                    int n_components, void *data)
{
  PlaField fresh = { pla_strdup(name), place, dtype, n_components, data };
  PlaField *old = (PlaField *)pla_mesh_find_field(mesh, name, place);
  void *fields = mesh->field;
  if (!data || !fresh.name ||
      (!old && !pla_array_resize(&fields, (size_t)mesh->n_fields + 1, sizeof fresh))) {
    free(fresh.data);
    free(fresh.name);
    return false;
  }
  if (old) {
    free(old->name);
    free(old->data);
    *old = fresh;
  } else {
    mesh->field = fields;
    mesh->field[mesh->n_fields++] = fresh;
  }
  return true;
}

void *
pla_mesh_add_field(PlaMesh *mesh, const char *name, PlaFieldPlace place, PlaDType dtype,
                   int n_components)
{
  assert(n_components >= 1);
  size_t n_tuples = place == PLA_ON_VERTS ? (size_t)mesh->n_verts : pla_mesh_n_cells(mesh);
  size_t n;
  if (!pla_size_mul(n_tuples, (size_t)n_components, &n))
    return NULL;
  void *data = pla_array_new0(n, pla_dtype_size(dtype));
  return pla_mesh_take_field(mesh, name, place, dtype, n_components, data) ? data : NULL;
}

/* the first index outside 0..n_verts-1 among @n cells of @k vertices */
static PlaStatus
check_cells(const int *cells, int n, int k, int n_verts, const char *what, PlaError *err)
{
  for (int c = 0; c < n; c++)
    for (int i = 0; i < k; i++) {
      int v = cells[(size_t)c * (size_t)k + (size_t)i];
      if (v < 0 || v >= n_verts)
        return pla_fail(err, PLA_ERR_FORMAT, "%s %d names vertex %d, but there are %d vertices",
                        what, c, v, n_verts);
    }
  return PLA_OK;
}

PlaStatus
pla_mesh_check(const PlaMesh *mesh, PlaError *err)
{
  for (int v = 0; v < mesh->n_verts; v++)
    for (int d = 0; d < 3; d++)
      if (!isfinite(mesh->pos[3 * (size_t)v + (size_t)d]))
        return pla_fail(err, PLA_ERR_FORMAT, "vertex %d has a coordinate that is not a number", v);
  PlaStatus st = check_cells(mesh->tri, mesh->n_tris, 3, mesh->n_verts, "triangle", err);
  if (st == PLA_OK)
    st = check_cells(mesh->tet, mesh->n_tets, 4, mesh->n_verts, "tetrahedron", err);
  if (st == PLA_OK)
    st = check_cells(mesh->hex, mesh->n_hexes, 8, mesh->n_verts, "hexahedron", err);
  return st;
}

/* six times the signed volume of a tet */
static double
tet_det(const double *a, const double *b, const double *c, const double *d)
{
  double u[3], v[3], w[3], n[3];
  pla_vec3_sub(b, a, u);
  pla_vec3_sub(c, a, v);
  pla_vec3_sub(d, a, w);
  pla_vec3_cross(u, v, n);
  return pla_vec3_dot(n, w);
}

/* the three neighbours of each hex corner, right-handed as seen from the corner */
static const int hex_corner[8][3] = { { 1, 3, 4 }, { 2, 0, 5 }, { 3, 1, 6 }, { 0, 2, 7 },
                                      { 7, 5, 0 }, { 4, 6, 1 }, { 5, 7, 2 }, { 6, 4, 3 } };

/* signed corner volumes (times six) of a hex; returns how many are not positive */
static int
hex_bad_corners(const double *pos, const int *hex)
{
  int bad = 0;
  for (int c = 0; c < 8; c++) {
    const int *n = hex_corner[c];
    bad += !(tet_det(pos + 3 * (size_t)hex[c], pos + 3 * (size_t)hex[n[0]],
                     pos + 3 * (size_t)hex[n[1]], pos + 3 * (size_t)hex[n[2]]) > 0.0);
  }
  return bad;
}

/* exact volume of the trilinear hex: its faces as bilinear patches, each as the mean of its two
 * triangulations (the triangulations differ by twice the patch's bulge) */
static double
hex_volume(const double *pos, const int *hex)
{
  static const int face[6][4] = { { 0, 3, 2, 1 }, { 4, 5, 6, 7 }, { 0, 1, 5, 4 },
                                  { 1, 2, 6, 5 }, { 2, 3, 7, 6 }, { 3, 0, 4, 7 } };
  const double *o = pos + 3 * (size_t)hex[0];
  double six = 0.0;
  for (int f = 0; f < 6; f++) {
    const double *p[4];
    for (int i = 0; i < 4; i++)
      p[i] = pos + 3 * (size_t)hex[face[f][i]];
    six += 0.5 * (tet_det(o, p[0], p[1], p[2]) + tet_det(o, p[0], p[2], p[3]) +
                  tet_det(o, p[0], p[1], p[3]) + tet_det(o, p[1], p[2], p[3]));
  }
  return six / 6.0;
}

int
pla_mesh_repair_hexes(PlaMesh *mesh)
{
  int repaired = 0;
  for (int h = 0; h < mesh->n_hexes; h++) {
    int *hex = mesh->hex + 8 * (size_t)h;
    if (hex_bad_corners(mesh->pos, hex) != 8)
      continue;
    int turned[8];
    for (int i = 0; i < 8; i++)
      turned[i] = hex[(i + 4) % 8];
    if (hex_bad_corners(mesh->pos, turned) == 0) {
      memcpy(hex, turned, sizeof turned);
      repaired++;
    }
  }
  return repaired;
}

int
pla_mesh_count_inverted(const PlaMesh *mesh)
{
  int inverted = 0;
  for (int t = 0; t < mesh->n_tets; t++) {
    const int *tet = mesh->tet + 4 * (size_t)t;
    inverted += !(tet_det(mesh->pos + 3 * (size_t)tet[0], mesh->pos + 3 * (size_t)tet[1],
                          mesh->pos + 3 * (size_t)tet[2], mesh->pos + 3 * (size_t)tet[3]) > 0.0);
  }
  for (int h = 0; h < mesh->n_hexes; h++)
    inverted += hex_bad_corners(mesh->pos, mesh->hex + 8 * (size_t)h) > 0;
  return inverted;
}

static void
join_cells(int *parent, const int *cells, int n, int k)
{
  for (int c = 0; c < n; c++)
    for (int i = 0; i < k; i++) {
      int v = cells[(size_t)c * (size_t)k + (size_t)i];
      int first = cells[(size_t)c * (size_t)k];
      if (parent[v] < 0)
        parent[v] = v;
      if (parent[first] < 0)
        parent[first] = first;
      parent[pla_union_find_root(parent, v)] = pla_union_find_root(parent, first);
    }
}

/* sorts by the lowest @bits bits, eleven at a time; @scratch has @n elements too */
static void
radix_sort(uint64_t *key, uint64_t *scratch, size_t n, int bits)
{
  enum { DIGIT = 11 };
  uint64_t *from = key, *to = scratch;
  for (int shift = 0; shift < bits; shift += DIGIT) {
    size_t start[(1 << DIGIT) + 1] = { 0 };
    for (size_t i = 0; i < n; i++)
      start[(from[i] >> shift & ((1 << DIGIT) - 1)) + 1]++;
    for (int d = 0; d < 1 << DIGIT; d++)
      start[d + 1] += start[d];
    for (size_t i = 0; i < n; i++)
      to[start[from[i] >> shift & ((1 << DIGIT) - 1)]++] = from[i];
    uint64_t *swap = from;
    from = to;
    to = swap;
  }
  if (from != key)
    memcpy(key, from, n * sizeof *key);
}

/* every directed edge stands once, and its reverse once */
static PlaStatus
surface_is_closed(const PlaMesh *mesh, bool *closed, PlaError *err)
{
  size_t n = 3 * (size_t)mesh->n_tris;
  *closed = false;
  if (n == 0)
    return PLA_OK;
  /* undirected edge in the high bits, direction in the lowest: pairs become neighbours */
  int bits = 1;
  while ((int64_t)1 << bits < mesh->n_verts)
    bits++;
  uint64_t *edges = pla_array_new(n, sizeof *edges);
  uint64_t *scratch = pla_array_new(n, sizeof *scratch);
  if (!edges || !scratch) {
    free(edges);
    free(scratch);
    return pla_fail_memory(err, "the edges of the surface");
  }
  for (size_t i = 0; i < n; i++) {
    uint64_t a = (uint64_t)mesh->tri[i];
    uint64_t b = (uint64_t)mesh->tri[i - i % 3 + (i + 1) % 3];
    edges[i] = a < b ? a << (bits + 1) | b << 1 : b << (bits + 1) | a << 1 | 1;
  }
  radix_sort(edges, scratch, n, 2 * bits + 1);
  free(scratch);
  *closed = n % 2 == 0;
  for (size_t i = 0; *closed && i + 1 < n; i += 2)
    *closed = edges[i + 1] == (edges[i] | 1) && !(edges[i] & 1) &&
              (i + 2 >= n || edges[i + 2] >> 1 != edges[i] >> 1);
  free(edges);
  return PLA_OK;
}

/* Angles in [0, pi] are compared as pairs (cos, sin), so that only the final two need an arc
 * function. */
typedef struct {
  double cos, sin; /* of the angle, up to a common positive factor */
} Angle;

/* whether @a is wider than @b, both in [0, pi] */
static bool
wider(Angle a, Angle b)
{
  double turn = b.cos * a.sin - a.cos * b.sin;
  return turn > 0.0 || (turn == 0.0 && a.cos < b.cos);
}

/* widens [*lo, *hi] by the angles between the faces of a tet; a flat tet has 0 and pi */
static void
tet_dihedrals(const double *pos, const int *tet, Angle *lo, Angle *hi)
{
  static const int face[4][3] = { { 1, 2, 3 }, { 0, 3, 2 }, { 0, 1, 3 }, { 0, 2, 1 } };
  double normal[4][3];
  for (int f = 0; f < 4; f++) {
    double u[3], v[3];
    const double *a = pos + 3 * (size_t)tet[face[f][0]];
    pla_vec3_sub(pos + 3 * (size_t)tet[face[f][1]], a, u);
    pla_vec3_sub(pos + 3 * (size_t)tet[face[f][2]], a, v);
    pla_vec3_cross(u, v, normal[f]);
  }
  for (int f = 0; f < 4; f++)
    for (int g = f + 1; g < 4; g++) {
      double c[3];
      pla_vec3_cross(normal[f], normal[g], c);
      /* the angle inside is pi minus that of the normals */
      Angle angle = { -pla_vec3_dot(normal[f], normal[g]), sqrt(pla_vec3_dot(c, c)) };
      double scale = fabs(angle.cos) + angle.sin;
      if (scale > 0.0) {
        angle.cos /= scale;
        angle.sin /= scale;
      } else {
        angle.cos = 1.0; /* a face without area: as bad as flat */
      }
      *lo = wider(*lo, angle) ? angle : *lo;
      *hi = wider(angle, *hi) ? angle : *hi;
    }
}

/* what a block of cells adds to the summary */
typedef struct {
  double volume_m3, cells_m3, area_m2;
  int inverted;
  Angle lo, hi;
} BlockSummary;

PlaMeshShares
pla_mesh_shares(const PlaMesh *mesh)
{
  PlaMeshShares shares = { { pla_mesh_find_field(mesh, PLA_MESH_FILL, PLA_ON_CELLS),
                             pla_mesh_find_field(mesh, PLA_MESH_FRACTION, PLA_ON_CELLS) } };
  for (int k = 0; k < 2; k++)
    if (shares.field[k] && shares.field[k]->n_components != 1)
      shares.field[k] = NULL;
  return shares;
}

double
pla_mesh_share(const PlaMeshShares *shares, size_t cell)
{
  double share = 1.0;
  for (int k = 0; k < 2; k++)
    if (shares->field[k])
      share *= pla_dtype_get(shares->field[k]->dtype, shares->field[k]->data, cell);
  return share > 0.0 ? fmin(share, 1.0) : 0.0;
}

bool
pla_mesh_carries_surface(const PlaMesh *mesh)
{
  const PlaField *bound = pla_mesh_find_field(mesh, PLA_MESH_BOUND_VERTS, PLA_ON_VERTS);
  if (!bound || mesh->n_tris == 0 || mesh->n_tets + mesh->n_hexes == 0)
    return false;
  for (size_t i = 0; i < 3 * (size_t)mesh->n_tris; i++)
    if (pla_dtype_get(bound->dtype, bound->data,
                      (size_t)mesh->tri[i] * (size_t)bound->n_components) < 0.0)
      return false;
  return true;
}

static BlockSummary
summarise_block(const PlaMesh *mesh, const PlaMeshShares *shares, size_t first, size_t last)
{
  const size_t tets = (size_t)mesh->n_tris, hexes = tets + (size_t)mesh->n_tets;
  BlockSummary sum = { .lo = { -1.0, 0.0 }, .hi = { 1.0, 0.0 } };
  for (size_t c = first; c < last; c++) {
    if (c < tets) {
      /* enclosed volume about the first vertex, to keep the sum small */
      const int *tri = mesh->tri + 3 * c;
      const double *p[3];
      for (int i = 0; i < 3; i++)
        p[i] = mesh->pos + 3 * (size_t)tri[i];
      double u[3], v[3], n[3];
      pla_vec3_sub(p[1], p[0], u);
      pla_vec3_sub(p[2], p[0], v);
      pla_vec3_cross(u, v, n);
      sum.area_m2 += 0.5 * sqrt(pla_vec3_dot(n, n));
      if (mesh->n_tets == 0 && mesh->n_hexes == 0)
        sum.volume_m3 += tet_det(mesh->pos, p[0], p[1], p[2]) / 6.0;
    } else if (c < hexes) {
      const int *tet = mesh->tet + 4 * (c - tets);
      double det = tet_det(mesh->pos + 3 * (size_t)tet[0], mesh->pos + 3 * (size_t)tet[1],
                           mesh->pos + 3 * (size_t)tet[2], mesh->pos + 3 * (size_t)tet[3]);
      sum.cells_m3 += det / 6.0;
      sum.volume_m3 += pla_mesh_share(shares, c) * det / 6.0;
      sum.inverted += !(det > 0.0);
      tet_dihedrals(mesh->pos, tet, &sum.lo, &sum.hi);
    } else {
      const int *hex = mesh->hex + 8 * (c - hexes);
      const double volume = hex_volume(mesh->pos, hex);
      sum.cells_m3 += volume;
      sum.volume_m3 += pla_mesh_share(shares, c) * volume;
      sum.inverted += hex_bad_corners(mesh->pos, hex) > 0;
    }
  }
  return sum;
}

static double
angle_deg(Angle angle)
{
  return atan2(angle.sin, angle.cos) * 180.0 / M_PI;
}

double
pla_tet_min_dihedral_deg(const double *pos, const int tet[4])
{
  Angle lo = { -1.0, 0.0 }, hi = { 1.0, 0.0 };
  tet_dihedrals(pos, tet, &lo, &hi);
  return angle_deg(lo);
}

/* vertices that follow others belong to their pieces */
static void
join_bound(int *parent, const PlaMesh *mesh)
{
  const PlaField *bound = pla_mesh_find_field(mesh, PLA_MESH_BOUND_VERTS, PLA_ON_VERTS);
  if (!bound || bound->dtype != PLA_I32)
    return;
  const int n = bound->n_components;
  for (int v = 0; v < mesh->n_verts; v++) {
    const int32_t *to = (const int32_t *)bound->data + (size_t)v * (size_t)n;
    for (int k = 0; k < n; k++)
      if (parent[v] >= 0 && to[k] >= 0 && to[k] < mesh->n_verts && parent[to[k]] >= 0) {
        const int a = pla_union_find_root(parent, v), b = pla_union_find_root(parent, to[k]);
        parent[a > b ? a : b] = a > b ? b : a;
      }
  }
}

PlaStatus
pla_mesh_summary(const PlaMesh *mesh, PlaMeshSummary *out, PlaError *err)
{
  *out = (PlaMeshSummary){ 0 };
  PlaStatus st = pla_mesh_check(mesh, err);
  if (st != PLA_OK)
    return st;

  /* box */
  for (int d = 0; d < 3; d++) {
    out->lo_m[d] = mesh->n_verts ? INFINITY : 0.0;
    out->hi_m[d] = mesh->n_verts ? -INFINITY : 0.0;
  }
  for (int v = 0; v < mesh->n_verts; v++)
    for (int d = 0; d < 3; d++) {
      double x = mesh->pos[3 * (size_t)v + (size_t)d];
      out->lo_m[d] = x < out->lo_m[d] ? x : out->lo_m[d];
      out->hi_m[d] = x > out->hi_m[d] ? x : out->hi_m[d];
    }

  /* volume, area and quality, in blocks added in order: the same bits for any thread count */
  size_t n_cells = pla_mesh_n_cells(mesh);
  size_t n_blocks = (n_cells + PLA_BLOCK - 1) / PLA_BLOCK;
  const PlaMeshShares shares = pla_mesh_shares(mesh);
  BlockSummary *blocks = pla_array_new(n_blocks, sizeof *blocks);
  if (!blocks)
    return pla_fail_memory(err, "the summary of the mesh");
#pragma omp parallel for schedule(static)
  for (size_t b = 0; b < n_blocks; b++) {
    size_t last = (b + 1) * PLA_BLOCK;
    blocks[b] = summarise_block(mesh, &shares, b * PLA_BLOCK, last < n_cells ? last : n_cells);
  }
  BlockSummary all = { .lo = { -1.0, 0.0 }, .hi = { 1.0, 0.0 } };
  for (size_t b = 0; b < n_blocks; b++) {
    all.volume_m3 += blocks[b].volume_m3;
    all.cells_m3 += blocks[b].cells_m3;
    all.area_m2 += blocks[b].area_m2;
    all.inverted += blocks[b].inverted;
    all.lo = wider(all.lo, blocks[b].lo) ? blocks[b].lo : all.lo;
    all.hi = wider(blocks[b].hi, all.hi) ? blocks[b].hi : all.hi;
  }
  free(blocks);
  out->volume_m3 = all.volume_m3;
  out->cells_m3 = all.cells_m3;
  out->area_m2 = all.area_m2;
  out->inverted = all.inverted;
  if (mesh->n_tets > 0) {
    out->min_dihedral_deg = angle_deg(all.lo);
    out->max_dihedral_deg = angle_deg(all.hi);
  }
  if (mesh->n_tets == 0 && mesh->n_hexes == 0) {
    st = surface_is_closed(mesh, &out->closed, err);
    if (!out->closed)
      out->volume_m3 = 0.0;
  }

  /* pieces */
  if (st == PLA_OK) {
    int *parent = pla_array_new((size_t)mesh->n_verts, sizeof *parent);
    if (!parent)
      return pla_fail_memory(err, "the pieces of the mesh");
    for (int v = 0; v < mesh->n_verts; v++)
      parent[v] = -1;
    join_cells(parent, mesh->tri, mesh->n_tris, 3);
    join_cells(parent, mesh->tet, mesh->n_tets, 4);
    join_cells(parent, mesh->hex, mesh->n_hexes, 8);
    join_bound(parent, mesh);
    for (int v = 0; v < mesh->n_verts; v++)
      out->components += parent[v] == v;
    free(parent);
  }
  return st;
}

PlaStatus
pla_embedding_init(PlaEmbedding *self, int n_points, int per_elem, PlaError *err)
{
  *self = (PlaEmbedding){ .n_points = n_points, .per_elem = per_elem };
  self->elem = pla_array_new0((size_t)n_points, sizeof *self->elem);
  self->weight = pla_array_new0((size_t)n_points * (size_t)per_elem, sizeof *self->weight);
  if (self->elem && self->weight)
    return PLA_OK;
  pla_embedding_clear(self);
  return pla_fail_memory(err, "the embedded points");
}

void
pla_embedding_clear(PlaEmbedding *self)
{
  free(self->elem);
  free(self->weight);
  *self = (PlaEmbedding){ 0 };
}

void
pla_embedding_apply(const PlaEmbedding *self, const int *cells, const double *pos, double *out)
{
  const int k = self->per_elem;
#pragma omp parallel for schedule(static)
  for (int p = 0; p < self->n_points; p++) {
    const int *cell = cells + (size_t)k * (size_t)self->elem[p];
    const double *w = self->weight + (size_t)k * (size_t)p;
    double x[3] = { 0.0, 0.0, 0.0 };
    for (int i = 0; i < k; i++)
      for (int d = 0; d < 3; d++)
        x[d] += w[i] * pos[3 * (size_t)cell[i] + (size_t)d];
    memcpy(out + 3 * (size_t)p, x, sizeof x);
  }
}
