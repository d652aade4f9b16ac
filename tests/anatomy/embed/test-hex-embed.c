/* Hexahedral embeddings: triangles and cells against integer arithmetic, regions against the block
 * construction, layers against winding numbers summed triangle by triangle, bodies that cross
 * against the same bodies alone, what must be refused, coarser meshes, tets, and the same bytes for
 * any order of triangles and any number of threads. */
#include "anatomy/base/memory.h"
#include "anatomy/base/parallel.h"
#include "anatomy/base/union-find.h"
#include "anatomy/embed/hex-private.h"
#include "anatomy/mesh/tri-tree.h"
#include "anatomy/mesh/winding.h"
#include "anatomy/phantom/phantom.h"

#include <glib.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool
small(void)
{
  return g_getenv("PLA_SMALL") != NULL;
}

/* ---- surfaces ---- */

static PlaMesh *
phantom_surface(const char *name, double spacing_mm)
{
  PlaPhantom phantom;
  PlaError err = { 0 };
  g_assert_cmpint(pla_phantom_make(name, spacing_mm, NULL, &phantom, &err), ==, PLA_OK);
  PlaMesh *mesh = phantom.mesh;
  phantom.mesh = NULL;
  pla_phantom_clear(&phantom);
  return mesh;
}

static PlaMesh *
mesh_new(int n_verts, int n_tris)
{
  PlaMesh *mesh;
  g_assert_cmpint(pla_mesh_new(n_verts, n_tris, 0, 0, &mesh, NULL), ==, PLA_OK);
  return mesh;
}

/* both, in that order; frees them */
static PlaMesh *
join_meshes(PlaMesh *a, PlaMesh *b)
{
  PlaMesh *both = mesh_new(a->n_verts + b->n_verts, a->n_tris + b->n_tris);
  memcpy(both->pos, a->pos, 3 * (size_t)a->n_verts * sizeof *a->pos);
  memcpy(both->pos + 3 * a->n_verts, b->pos, 3 * (size_t)b->n_verts * sizeof *b->pos);
  memcpy(both->tri, a->tri, 3 * (size_t)a->n_tris * sizeof *a->tri);
  for (int i = 0; i < 3 * b->n_tris; i++)
    both->tri[3 * a->n_tris + i] = b->tri[i] + a->n_verts;
  pla_mesh_free(a);
  pla_mesh_free(b);
  return both;
}

/* mm; facing inwards when @inwards */
static PlaMesh *
box_surface(const double lo[3], const double hi[3], bool inwards)
{
  static const int face[12][3] = { { 0, 2, 3 }, { 0, 3, 1 }, { 4, 5, 7 }, { 4, 7, 6 },
                                   { 0, 1, 5 }, { 0, 5, 4 }, { 2, 6, 7 }, { 2, 7, 3 },
                                   { 0, 4, 6 }, { 0, 6, 2 }, { 1, 3, 7 }, { 1, 7, 5 } };
  PlaMesh *mesh = mesh_new(8, 12);
  for (int v = 0; v < 8; v++)
    for (int d = 0; d < 3; d++)
      mesh->pos[3 * v + d] = 1e-3 * (v >> d & 1 ? hi[d] : lo[d]);
  for (int t = 0; t < 12; t++)
    for (int c = 0; c < 3; c++)
      mesh->tri[3 * t + c] = face[t][inwards ? 2 - c : c];
  return mesh;
}

/* the piece of a surface that hangs together with triangle @seed */
static PlaMesh *
shell_of(const PlaMesh *mesh, int seed)
{
  g_autofree int *parent = g_new(int, mesh->n_verts);
  int n = 0;
  for (int v = 0; v < mesh->n_verts; v++)
    parent[v] = v;
  for (int i = 0; i < 3 * mesh->n_tris; i++) {
    const int a = pla_union_find_root(parent, mesh->tri[i]);
    parent[a] = pla_union_find_root(parent, mesh->tri[i - i % 3]);
  }
  const int root = pla_union_find_root(parent, mesh->tri[3 * seed]);
  for (int t = 0; t < mesh->n_tris; t++)
    n += pla_union_find_root(parent, mesh->tri[3 * t]) == root;
  PlaMesh *shell = mesh_new(mesh->n_verts, n);
  memcpy(shell->pos, mesh->pos, 3 * (size_t)mesh->n_verts * sizeof *mesh->pos);
  n = 0;
  for (int t = 0; t < mesh->n_tris; t++)
    if (pla_union_find_root(parent, mesh->tri[3 * t]) == root)
      memcpy(shell->tri + 3 * n++, mesh->tri + 3 * t, 3 * sizeof *mesh->tri);
  return shell;
}

/* A prism whose cross-section is a strip of @n columns (inner and outer edge, mm), z from 0 to
 * @depth; columns[n] = columns[0] closes it to a ring when @ring. */
static PlaMesh *
strip_prism(const double (*inner)[2], const double (*outer)[2], int n, double depth, bool ring)
{
  const int quads = ring ? n : n - 1;
  PlaMesh *mesh = mesh_new(4 * n, 8 * quads + (ring ? 0 : 4));
  int k = 0;
  for (int c = 0; c < n; c++)
    for (int s = 0; s < 4; s++) {
      const double *p = s & 1 ? outer[c] : inner[c];
      const double pos[3] = { p[0], p[1], s & 2 ? depth : 0.0 };
      for (int d = 0; d < 3; d++)
        mesh->pos[3 * (4 * c + s) + d] = 1e-3 * pos[d];
    }
  int *tri = mesh->tri;
  for (int c = 0; c < quads; c++) {
    const int a = 4 * c, b = 4 * ((c + 1) % n);
    const int quad[4][4] = { { a + 2, b + 2, b + 3, a + 3 }, /* top */
                             { a, a + 1, b + 1, b },         /* bottom */
                             { a, b, b + 2, a + 2 },         /* inner */
                             { a + 1, a + 3, b + 3, b + 1 } };
    for (int q = 0; q < 4; q++) {
      const int *v = quad[q], t[6] = { v[0], v[1], v[2], v[0], v[2], v[3] };
      memcpy(tri + 3 * k, t, sizeof t);
      k += 2;
    }
  }
  if (!ring) {
    const int e = 4 * (n - 1);
    const int ends[12] = { 0, 2, 3, 0, 3, 1, e, e + 1, e + 3, e, e + 3, e + 2 };
    memcpy(tri + 3 * k, ends, sizeof ends);
  }
  /* columns may run either way */
  PlaMeshSummary summary;
  g_assert_cmpint(pla_mesh_summary(mesh, &summary, NULL), ==, PLA_OK);
  g_assert_true(summary.closed);
  for (int t = 0; t < mesh->n_tris && summary.volume_m3 < 0.0; t++) {
    const int v = tri[3 * t];
    tri[3 * t] = tri[3 * t + 1];
    tri[3 * t + 1] = v;
  }
  return mesh;
}

/* two legs that meet at a crotch and lean by @lean rad from apart (> 0) to through each other (< 0)
 */
static PlaMesh *
legs(double lean)
{
  enum { N = 13 };
  double inner[N][2], outer[N][2];
  for (int c = 0; c < N; c++) {
    const int side = c < N / 2 ? -1 : c > N / 2 ? 1 : 0;
    const double along = 8.0 * abs(c - N / 2);
    const double x = side * sin(lean), y = side ? cos(lean) : 0.0;
    inner[c][0] = along * x;
    inner[c][1] = along * y;
    outer[c][0] = side ? inner[c][0] + side * 20.0 * cos(lean) : 0.0;
    outer[c][1] = side ? inner[c][1] - 20.0 * sin(lean) : -20.0;
  }
  return strip_prism((const double(*)[2])inner, (const double(*)[2])outer, N, 30.0, false);
}

static PlaHexEmbedOptions
cell_options(double cell_mm)
{
  PlaHexEmbedOptions opts = pla_hex_embed_options_default();
  opts.cell_m = 1e-3 * cell_mm;
  return opts;
}

static PlaHexEmbed
embed(const PlaMesh *surface, const PlaHexEmbedOptions *opts, PlaHexEmbedReport *report)
{
  const PlaTriMesh tris = pla_mesh_tris(surface);
  PlaHexEmbed out;
  PlaError err = { 0 };
  if (pla_hex_embed(&tris, opts, NULL, &out, report, &err) != PLA_OK)
    g_error("%s", err.message);
  return out;
}

static void
assert_refused(const PlaMesh *surface, double cell_mm, PlaStatus status, const char *words)
{
  const PlaTriMesh tris = pla_mesh_tris(surface);
  const PlaHexEmbedOptions opts = cell_options(cell_mm);
  PlaHexEmbed out;
  PlaError err = { 0 };
  g_assert_cmpint(pla_hex_embed(&tris, &opts, NULL, &out, NULL, &err), ==, status);
  g_assert_null(out.mesh);
  if (!strstr(err.message, words))
    g_error("'%s' does not speak of '%s'", err.message, words);
  g_test_message("%s", err.message);
}

/* ---- triangles and cells ---- */

typedef int64_t Int3[3];

static int64_t
dot(const Int3 a, const Int3 b)
{
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void
cross(const Int3 a, const Int3 b, Int3 c)
{
  for (int d = 0; d < 3; d++)
    c[d] = a[(d + 1) % 3] * b[(d + 2) % 3] - a[(d + 2) % 3] * b[(d + 1) % 3];
}

/* convex hulls of few points, all separating axes in whole numbers */
static bool
hulls_meet(const Int3 *a, int na, const Int3 *b, int nb, const Int3 *axis, int n_axes)
{
  for (int k = 0; k < n_axes; k++) {
    int64_t lo[2] = { INT64_MAX, INT64_MAX }, hi[2] = { INT64_MIN, INT64_MIN };
    for (int i = 0; i < na + nb; i++) {
      const int64_t x = dot(i < na ? a[i] : b[i - na], axis[k]);
      lo[i >= na] = MIN(lo[i >= na], x);
      hi[i >= na] = MAX(hi[i >= na], x);
    }
    if (hi[0] < lo[1] || hi[1] < lo[0])
      return false;
  }
  return true;
}

/* triangle against the box from @lo to @hi (a grid edge when flat): 3 + 1 + 9 axes, and the sides
 * of a flat triangle in its own plane */
static bool
triangle_meets(const Int3 t[3], const Int3 lo, const Int3 hi)
{
  Int3 corner[8], axis[40], edge[3], normal;
  int n = 0;
  for (int q = 0; q < 8; q++)
    for (int d = 0; d < 3; d++)
      corner[q][d] = q >> d & 1 ? hi[d] : lo[d];
  for (int e = 0; e < 3; e++)
    for (int d = 0; d < 3; d++)
      edge[e][d] = t[(e + 1) % 3][d] - t[e][d];
  cross(edge[0], edge[1], normal);
  memcpy(axis[n++], normal, sizeof normal);
  for (int d = 0; d < 3; d++) {
    const Int3 unit = { d == 0, d == 1, d == 2 };
    memcpy(axis[n++], unit, sizeof unit);
    cross(normal, unit, axis[n++]);
    for (int e = 0; e < 3; e++)
      cross(edge[e], unit, axis[n++]);
  }
  for (int e = 0; e < 3; e++)
    cross(normal, edge[e], axis[n++]);
  return hulls_meet(t, 3, (const Int3 *)corner, 8, (const Int3 *)axis, n);
}

/* tetrahedra with small whole coordinates on a grid of whole planes: every kind of touching */
static void
test_cells_exact(void)
{
  g_autoptr(GRand) rand = g_rand_new_with_seed(11);
  const double zero[3] = { 0, 0, 0 };
  PlaHexEmbedOptions opts = pla_hex_embed_options_default();
  opts.cell_m = 2.0;
  opts.node_m = zero;
  int flat = 0;
  for (int round = 0; round < (small() ? 40 : 400); round++) {
    static const int face[4][3] = { { 0, 2, 1 }, { 0, 1, 3 }, { 1, 2, 3 }, { 2, 0, 3 } };
    PlaMesh *mesh = mesh_new(4, 4);
    for (int i = 0; i < 12; i++)
      mesh->pos[i] = g_rand_int_range(rand, 0, 9);
    memcpy(mesh->tri, face, sizeof face);
    const PlaTriMesh tris = pla_mesh_tris(mesh);
    PlaHexWork w = { .surface = &tris };
    PlaError err = { 0 };
    g_assert_cmpint(pla_hex_prepare(&w, &opts, &err), ==, PLA_OK);
    g_assert_cmpint(pla_hex_find_cells(&w, NULL, &err), ==, PLA_OK);
    for (uint32_t t = 0; t < 4; t++) {
      Int3 p[3], normal, e[2];
      for (int c = 0; c < 3; c++)
        for (int d = 0; d < 3; d++)
          p[c][d] = (int64_t)mesh->pos[3 * w.tri[3 * t + (uint32_t)c] + d];
      for (int d = 0; d < 3; d++) {
        e[0][d] = p[1][d] - p[0][d];
        e[1][d] = p[2][d] - p[0][d];
      }
      cross(e[0], e[1], normal);
      flat += dot(normal, normal) == 0;
      for (int k = 0; k < w.n[2]; k++)
        for (int j = 0; j < w.n[1]; j++)
          for (int i = 0; i < w.n[0]; i++) {
            const int at[3] = { i, j, k };
            Int3 lo, hi;
            for (int d = 0; d < 3; d++) {
              lo[d] = (int64_t)w.coord[d][at[d]];
              hi[d] = lo[d] + 2;
            }
            const PlaHexPair *found = NULL;
            for (uint32_t q = 0; q < w.n_pairs; q++)
              if (w.pair[q].tri == t && w.pair[q].i == (uint32_t)i &&
                  w.pair[q].line == (uint32_t)(j + w.lines_y * k))
                found = &w.pair[q];
            g_assert_cmpint(found != NULL, ==, triangle_meets((const Int3 *)p, lo, hi));
            if (!found)
              continue;
            for (int d = 0; d < 3; d++)
              for (int s = 0; s < 4; s++) {
                const int a = d == 0 ? 1 : 0, b = d == 2 ? 1 : 2;
                Int3 from = { lo[0], lo[1], lo[2] }, to;
                from[a] += 2 * (s & 1);
                from[b] += 2 * (s >> 1);
                memcpy(to, from, sizeof to);
                to[d] += 2;
                g_assert_cmpint(found->cut >> (4 * d + s) & 1, ==,
                                triangle_meets((const Int3 *)p, from, to));
              }
            for (int q = 0; q < 8; q++) {
              Int3 away;
              for (int d = 0; d < 3; d++)
                away[d] = (q >> d & 1 ? hi[d] : lo[d]) - p[0][d];
              g_assert_cmpint(found->pos >> q & 1, ==, dot(normal, away) > 0);
              g_assert_cmpint(found->neg >> q & 1, ==, dot(normal, away) < 0);
            }
          }
    }
    pla_hex_work_clear(&w);
    pla_mesh_free(mesh);
  }
  g_test_message("%d flat triangles", flat);
}

/* a box whose faces lie in grid planes and whose corners are nodes */
static void
test_aligned_box(void)
{
  const double lo[3] = { 0, 0, 0 }, hi[3] = { 8, 6, 4 }, zero[3] = { 0, 0, 0 };
  PlaMesh *surface = box_surface(lo, hi, false);
  PlaHexEmbedOptions opts = cell_options(1.0);
  opts.node_m = zero;
  PlaHexEmbedReport report;
  PlaHexEmbed mesh = embed(surface, &opts, &report);
  g_assert_cmpint(report.winding_violations, ==, 0);
  g_assert_cmpint(report.components, ==, 1);
  g_assert_cmpint(report.duplicated_cells, ==, 0);
  /* the cells inside, and those that touch */
  g_assert_cmpint(mesh.mesh->n_hexes, ==, 10 * 8 * 6);
  pla_hex_embed_clear(&mesh);
  pla_mesh_free(surface);
}

/* ---- regions against blocks ---- */

/* is the edge from node (i, j, k) along @d cut? */
static bool
edge_cut(const PlaHexWork *w, int i, int j, int k, int d)
{
  const uint32_t c = pla_hex_cell_at(w, (uint32_t)(j + w->lines_y * k), (uint32_t)i);
  return c != PLA_HEX_NONE && (w->cell_cut[c] >> (4 * d) & 1);
}

/* Every node of a region with 27 vertices of its own, blocks of nodes that an uncut edge joins sewn
 * where they coincide: the hexes of crossed cells must be the same, and meet in the same vertices.
 */
static void
check_blocks(const char *name, double spacing_mm, double cell_mm)
{
  PlaMesh *surface = phantom_surface(name, spacing_mm);
  const PlaTriMesh tris = pla_mesh_tris(surface);
  const PlaHexEmbedOptions opts = cell_options(cell_mm);
  PlaHexWork w = { .surface = &tris };
  PlaError err = { 0 };
  g_assert_cmpint(pla_hex_prepare(&w, &opts, &err), ==, PLA_OK);
  g_assert_cmpint(pla_hex_find_cells(&w, NULL, &err), ==, PLA_OK);
  g_assert_cmpint(pla_hex_find_sheets(&w, &err), ==, PLA_OK);
  g_assert_cmpint(pla_hex_find_regions(&w, &err), ==, PLA_OK);
  g_assert_cmpint(pla_hex_find_verts(&w, NULL, &err), ==, PLA_OK);
  g_assert_cmpint(pla_hex_find_pieces(&w, &err), ==, PLA_OK);

  const int n[3] = { w.n[0] + 1, w.n[1] + 1, w.n[2] + 1 };
  const uint32_t step[3] = { 1, (uint32_t)n[0], (uint32_t)(n[0] * n[1]) };
  const uint32_t nodes = step[2] * (uint32_t)n[2];
  g_autofree uint32_t *parent = g_new(uint32_t, 27 * nodes);
  for (uint32_t v = 0; v < 27 * nodes; v++)
    parent[v] = v;
  for (int k = 0; k < n[2]; k++)
    for (int j = 0; j < n[1]; j++)
      for (int i = 0; i < n[0]; i++)
        for (int d = 0; d < 3; d++) {
          const int at[3] = { i, j, k };
          if (at[d] + 1 == n[d] || edge_cut(&w, i, j, k, d))
            continue;
          const uint32_t a = (uint32_t)i + step[1] * (uint32_t)j + step[2] * (uint32_t)k,
                         b = a + step[d];
          const int stride = d == 0 ? 1 : d == 1 ? 3 : 9;
          for (int q = 0; q < 27; q++)
            if (q / stride % 3 < 2)
              pla_union_find_join_u32(parent, 27 * a + (uint32_t)(q + stride),
                                      27 * b + (uint32_t)q);
        }
  /* vertices of pieces and of blocks, one to one; a node's own vertex is that of its block's middle
   */
  g_autoptr(GHashTable) there = g_hash_table_new(NULL, NULL), back = g_hash_table_new(NULL, NULL);
  int pieces = 0, spares = 0;
  for (uint32_t c = 0; c < w.n_cells; c++) {
    const int j = (int)w.cell_line[c] % w.lines_y, k = (int)w.cell_line[c] / w.lines_y;
    const uint32_t first = w.cell_i[c] + step[1] * (uint32_t)j + step[2] * (uint32_t)k;
    uint32_t block[8][8], kept = 0;
    /* hexes that the eight corners spawn in this cell */
    for (int q = 0; q < 8; q++) {
      const uint32_t node = w.cell_node[8 * c + (uint32_t)q];
      if (w.region_winding[pla_hex_node_region(&w, node)] <= 0)
        continue;
      const uint32_t spawn = first + (uint32_t)(q & 1) + step[1] * (uint32_t)(q >> 1 & 1) +
                             step[2] * (uint32_t)(q >> 2);
      for (int r = 0; r < 8; r++) {
        int at = 13;
        for (int d = 0, stride = 1; d < 3; d++, stride *= 3)
          at += stride * ((r >> d & 1) - (q >> d & 1));
        block[kept][r] = pla_union_find_root_u32(parent, 27 * spawn + (uint32_t)at);
      }
      uint32_t e = 0;
      while (e < kept && memcmp(block[e], block[kept], sizeof block[e]) != 0)
        e++;
      kept += e == kept;
    }
    uint32_t mine = 0;
    for (uint32_t p = w.cell_piece[c]; p < w.cell_piece[c + 1]; p++)
      mine += w.piece_region[p] != PLA_HEX_NONE;
    g_assert_cmpuint(mine, ==, kept);
    /* pieces come by their lowest corner, and so do the blocks' hexes */
    uint32_t e = 0;
    for (uint32_t p = w.cell_piece[c]; p < w.cell_piece[c + 1]; p++) {
      if (w.piece_region[p] == PLA_HEX_NONE)
        continue;
      for (int q = 0; q < 8; q++) {
        const uint32_t ref = w.piece_ref[8 * p + (uint32_t)q],
                       node = w.cell_node[8 * c + (uint32_t)q];
        const uint32_t id = ref == PLA_HEX_NONE ? node : w.n_nodes + ref;
        gpointer a = GUINT_TO_POINTER(id + 1), b = GUINT_TO_POINTER(block[e][q] + 1);
        gpointer known = g_hash_table_lookup(there, a), other = g_hash_table_lookup(back, b);
        g_assert_true(!known || known == b);
        g_assert_true(!other || other == a);
        g_hash_table_insert(there, a, b);
        g_hash_table_insert(back, b, a);
        const uint32_t centre = first + (uint32_t)(q & 1) + step[1] * (uint32_t)(q >> 1 & 1) +
                                step[2] * (uint32_t)(q >> 2);
        g_assert_cmpint(ref == PLA_HEX_NONE, ==,
                        pla_union_find_root_u32(parent, 27 * centre + 13) == block[e][q]);
        spares += ref != PLA_HEX_NONE;
      }
      e++;
      pieces++;
    }
  }
  g_assert_cmpint(pieces, >, 0);
  g_assert_cmpint(spares, >, 0);
  g_test_message("%s: %d hexes, %u spare vertices", name, pieces, w.n_spares);
  pla_hex_work_clear(&w);
  pla_mesh_free(surface);
}

static void
test_blocks(void)
{
  check_blocks("crossing-boxes", 8, 4);
  check_blocks("moebius-pair", 4, 5);
  check_blocks("crossed-lips", 4, 4);
  check_blocks("spiral", 5, 4);
  if (!small())
    check_blocks("spiral", 5, 2);
}

/* ---- layers against winding numbers ---- */

/* cells farther from the surface than half their diagonal, 2000 of them, against the winding
 * number at their centres */
static void
check_layers(const PlaMesh *surface, const PlaHexEmbed *mesh)
{
  const PlaTriMesh tris = pla_mesh_tris(surface);
  PlaTriTree *tree;
  PlaWinding *winding;
  g_assert_cmpint(pla_tri_tree_new(&tris, &tree, NULL), ==, PLA_OK);
  g_assert_cmpint(pla_winding_new(&tris, &winding, NULL), ==, PLA_OK);
  const double h = mesh->cell_m;
  const int stride = 1 + mesh->dims[0] * mesh->dims[1] * mesh->dims[2] / 2000;
  int checked = 0, next = 0, number = 0;
  for (int k = 0; k < mesh->dims[2]; k++)
    for (int j = 0; j < mesh->dims[1]; j++)
      for (int i = 0; i < mesh->dims[0]; i++) {
        const uint64_t key = pla_hex_cell_key(i, j, k);
        const int at[3] = { i, j, k };
        double centre[3];
        int layers = 0;
        for (; next < mesh->mesh->n_hexes && mesh->cell[next] == key; next++)
          layers++;
        for (int d = 0; d < 3; d++)
          centre[d] = mesh->origin_m[d] + h * (at[d] + 0.5);
        if (number++ % stride ||
            pla_tri_tree_nearest(tree, centre, 0.87 * h, NULL, NULL) < INFINITY)
          continue;
        g_assert_cmpint(layers, ==, (int)lround(pla_winding_at(winding, centre)));
        checked += layers > 0;
      }
  g_assert_cmpint(next, ==, mesh->mesh->n_hexes);
  g_test_message("%d cells checked", checked);
  pla_winding_free(winding);
  pla_tri_tree_free(tree);
}

/* hexes are the grid's cubes, and the surface is where it was */
static void
check_geometry(const PlaMesh *surface, const PlaHexEmbed *mesh)
{
  const double h = mesh->cell_m;
  for (int c = 0; c < mesh->mesh->n_hexes; c++)
    for (int q = 0; q < 8; q++) {
      const double *p = mesh->mesh->pos + 3 * mesh->mesh->hex[8 * c + pla_hex_vtk_corner[q]];
      for (int d = 0; d < 3; d++) {
        const double x =
            mesh->origin_m[d] + h * (pla_hex_cell_index(mesh->cell[c], d) + (q >> d & 1));
        g_assert_cmpfloat(fabs(p[d] - x), <, 1e-12);
      }
    }
  g_autofree double *at = g_new(double, 3 * surface->n_verts);
  pla_embedding_apply(&mesh->surface, mesh->mesh->hex, mesh->mesh->pos, at);
  for (int i = 0; i < 3 * surface->n_verts; i++)
    g_assert_cmpfloat(fabs(at[i] - surface->pos[i]), <, 1e-15);
  for (int i = 0; i < 8 * surface->n_verts; i++)
    g_assert_cmpfloat(mesh->surface.weight[i], >=, 0.0);
}

static int
compare_keys(const void *a, const void *b)
{
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

static int
count_unique(uint64_t *keys, size_t n)
{
  int unique = 0;
  qsort(keys, n, sizeof *keys, compare_keys);
  for (size_t i = 0; i < n; i++)
    unique += i == 0 || keys[i] != keys[i - 1];
  return unique;
}

/* vertices minus edges plus faces minus hexes: 1 for a ball, 0 for a ring, 2 for a ball with a
 * cavity */
static int
euler(const PlaMesh *mesh)
{
  static const int edge[12][2] = { { 0, 1 }, { 1, 2 }, { 2, 3 }, { 3, 0 }, { 4, 5 }, { 5, 6 },
                                   { 6, 7 }, { 7, 4 }, { 0, 4 }, { 1, 5 }, { 2, 6 }, { 3, 7 } };
  static const int face[6][4] = { { 0, 1, 2, 3 }, { 4, 5, 6, 7 }, { 0, 1, 5, 4 },
                                  { 1, 2, 6, 5 }, { 2, 3, 7, 6 }, { 3, 0, 4, 7 } };
  g_autofree uint64_t *edges = g_new(uint64_t, 12 * (size_t)mesh->n_hexes);
  g_autofree uint64_t *faces = g_new(uint64_t, 6 * (size_t)mesh->n_hexes);
  for (size_t h = 0; h < (size_t)mesh->n_hexes; h++) {
    const int *v = mesh->hex + 8 * h;
    for (int e = 0; e < 12; e++) {
      const int a = v[edge[e][0]], b = v[edge[e][1]];
      edges[12 * h + (size_t)e] = (uint64_t)MIN(a, b) << 32 | (uint64_t)MAX(a, b);
    }
    for (int f = 0; f < 6; f++) {
      /* a number for the set of four, the same in any order */
      uint64_t key = 0;
      for (int c = 0; c < 4; c++) {
        uint64_t x = (uint64_t)v[face[f][c]] + 1;
        x = (x ^ x >> 31) * 0x9e3779b97f4a7c15u;
        key += (x ^ x >> 29) * 0xbf58476d1ce4e5b9u;
      }
      faces[6 * h + (size_t)f] = key;
    }
  }
  return mesh->n_verts - count_unique(edges, 12 * (size_t)mesh->n_hexes) +
         count_unique(faces, 6 * (size_t)mesh->n_hexes) - mesh->n_hexes;
}

typedef struct {
  const char *name;
  double spacing_mm, cell_mm[3];
  int components, euler;
} Case;

static void
check_case(const Case *c, double cell_mm)
{
  PlaMesh *surface = phantom_surface(c->name, c->spacing_mm);
  const PlaHexEmbedOptions opts = cell_options(cell_mm);
  PlaHexEmbedReport report;
  PlaHexEmbed mesh = embed(surface, &opts, &report);
  g_test_message("%s, %g mm: grid %d x %d x %d, %d hexes, %d regions, joined %d, repaired %d",
                 c->name, cell_mm, mesh.dims[0], mesh.dims[1], mesh.dims[2], mesh.mesh->n_hexes,
                 report.regions, report.joined_copies, report.repaired_copies);
  g_assert_cmpint(report.winding_violations, ==, 0);
  g_assert_cmpint(report.unresolved_nodes, ==, 0);
  g_assert_cmpint(report.components, ==, c->components);
  g_assert_cmpint(euler(mesh.mesh), ==, c->euler);
  g_assert_cmpint(report.euler, ==, c->euler);
  g_assert_cmpint(report.surface_euler, ==, 2 * c->euler);
  check_layers(surface, &mesh);
  check_geometry(surface, &mesh);
  pla_hex_embed_clear(&mesh);
  pla_mesh_free(surface);
}

static void
test_windings(void)
{
  static const Case cases[] = {
    { "box-surface", 5, { 4, 2.5, 2 }, 1, 1 },  { "sphere-surface", 4, { 8, 5, 3 }, 1, 1 },
    { "torus-surface", 4, { 7, 4, 3 }, 1, 0 },  { "crossing-boxes", 5, { 5, 3, 2 }, 2, 2 },
    { "nested-boxes", 5, { 4, 2.5, 2 }, 2, 2 }, { "c-ring", 3, { 5, 3, 2 }, 1, 1 },
    { "spiral", 3, { 4, 3, 2 }, 1, 1 },         { "moebius-pair", 2, { 5, 3, 2 }, 2, 0 },
    { "crossed-lips", 2, { 4, 2, 1.3 }, 1, 1 },
  };
  for (size_t c = 0; c < G_N_ELEMENTS(cases); c++)
    for (int k = 0; k < (small() ? 2 : 3); k++)
      check_case(&cases[c], cases[c].cell_mm[k]);
}

/* The same at many sizes of cell, so that sheets and ends lie in every way to the grid: no layer
 * too few or too many, no pocket, no bridge, and nothing refused. */
static void
test_sizes(void)
{
  static const struct {
    const char *name;
    int components;
  } cases[] = { { "crossing-boxes", 2 }, { "nested-boxes", 2 }, { "moebius-pair", 2 },
                { "c-ring", 1 },         { "spiral", 1 },       { "crossed-lips", 1 } };
  for (size_t c = 0; c < G_N_ELEMENTS(cases); c++) {
    PlaMesh *surface = phantom_surface(cases[c].name, 3);
    int sizes = 0;
    for (double cell_mm = 6.0; cell_mm > (small()                ? 4.0
                                          : g_getenv("PLA_LONG") ? 0.9
                                                                 : 2.5);
         cell_mm *= 0.955, sizes++) {
      const PlaHexEmbedOptions opts = cell_options(cell_mm);
      PlaHexEmbedReport report;
      PlaHexEmbed mesh = embed(surface, &opts, &report);
      if (report.winding_violations || report.unresolved_nodes || pla_hex_topology_defects(&report))
        g_error("%s at %g mm: %d cells with other layers than the winding number, %d nodes, %d "
                "pockets or bridges",
                cases[c].name, cell_mm, report.winding_violations, report.unresolved_nodes,
                pla_hex_topology_defects(&report));
      g_assert_cmpint(report.components, ==, cases[c].components);
      pla_hex_embed_clear(&mesh);
    }
    g_test_message("%s: %d sizes", cases[c].name, sizes);
    pla_mesh_free(surface);
  }
}

/* rings, and bodies that cross off centre */
static void
test_more_windings(void)
{
  enum { N = 40 };
  double inner[N][2], outer[N][2];
  for (int c = 0; c < N; c++) {
    const double a = 2.0 * G_PI * c / N;
    inner[c][0] = 20.0 * cos(a);
    inner[c][1] = 20.0 * sin(a);
    outer[c][0] = 32.0 * cos(a);
    outer[c][1] = 32.0 * sin(a);
  }
  PlaMesh *moved = phantom_surface("sphere-surface", 5);
  for (int v = 0; v < moved->n_verts; v++)
    moved->pos[3 * v] += 0.031;
  const struct {
    PlaMesh *surface;
    int components, euler;
  } cases[] = {
    { strip_prism((const double(*)[2])inner, (const double(*)[2])outer, N, 15.0, true), 1, 0 },
    { join_meshes(phantom_surface("sphere-surface", 5), moved), 2, 2 },
    { legs(0.3), 1, 1 },
    /* a shell: its cavity is a box that faces inwards */
    { join_meshes(box_surface((double[3]){ 0, 0, 0 }, (double[3]){ 40, 30, 30 }, false),
                  box_surface((double[3]){ 9, 8, 7 }, (double[3]){ 31, 22, 23 }, true)),
      1, 2 },
  };
  for (size_t c = 0; c < G_N_ELEMENTS(cases); c++) {
    for (double cell_mm = 5.0; cell_mm > (small() ? 3.0 : 2.0); cell_mm /= 2.0) {
      const PlaHexEmbedOptions opts = cell_options(cell_mm);
      PlaHexEmbedReport report;
      PlaHexEmbed mesh = embed(cases[c].surface, &opts, &report);
      g_test_message("case %zu, %g mm: %d hexes", c, cell_mm, mesh.mesh->n_hexes);
      g_assert_cmpint(report.winding_violations, ==, 0);
      g_assert_cmpint(report.components, ==, cases[c].components);
      g_assert_cmpint(euler(mesh.mesh), ==, cases[c].euler);
      check_layers(cases[c].surface, &mesh);
      check_geometry(cases[c].surface, &mesh);
      pla_hex_embed_clear(&mesh);
    }
    pla_mesh_free(cases[c].surface);
  }
}

/* ---- bodies together and alone ---- */

/* cells of one component (or all: -1) in grid coordinates from @node, sorted */
static GArray *
cells_of(const PlaHexEmbed *mesh, int component, const double node[3])
{
  const int32_t *label = pla_mesh_find_field(mesh->mesh, PLA_HEX_COMPONENT, PLA_ON_CELLS)->data;
  GArray *cells = g_array_new(FALSE, FALSE, sizeof(uint64_t));
  int shift[3];
  for (int d = 0; d < 3; d++)
    shift[d] = 100000 + (int)lround((mesh->origin_m[d] - node[d]) / mesh->cell_m);
  for (int h = 0; h < mesh->mesh->n_hexes; h++)
    if (component < 0 || label[h] == component) {
      int at[3];
      for (int d = 0; d < 3; d++)
        at[d] = pla_hex_cell_index(mesh->cell[h], d) + shift[d];
      const uint64_t key = pla_hex_cell_key(at[0], at[1], at[2]);
      g_array_append_val(cells, key);
    }
  qsort(cells->data, cells->len, sizeof(uint64_t), compare_keys);
  return cells;
}

/* the components of a surface of two bodies are those of each body alone: the same cells, as many
 * vertices */
static void
check_sum(PlaMesh *both, double cell_mm)
{
  PlaHexEmbedOptions opts = cell_options(cell_mm);
  PlaHexEmbedReport report;
  PlaHexEmbed together = embed(both, &opts, &report);
  g_assert_cmpint(report.components, ==, 2);
  g_assert_cmpint(report.winding_violations, ==, 0);
  const int32_t *label = pla_mesh_find_field(together.mesh, PLA_HEX_COMPONENT, PLA_ON_CELLS)->data;
  const double *node = together.origin_m;
  int hexes = 0, verts = 0;
  opts.node_m = node;
  for (int body = 0; body < 2; body++) {
    PlaMesh *shell = shell_of(both, body == 0 ? 0 : both->n_tris - 1);
    PlaHexEmbed alone = embed(shell, &opts, NULL);
    const int component = label[together.surface.elem[shell->tri[0]]];
    g_autoptr(GArray) a = cells_of(&alone, -1, node), b = cells_of(&together, component, node);
    g_assert_cmpmem(a->data, a->len * sizeof(uint64_t), b->data, b->len * sizeof(uint64_t));
    hexes += alone.mesh->n_hexes;
    verts += alone.mesh->n_verts;
    pla_hex_embed_clear(&alone);
    pla_mesh_free(shell);
  }
  g_test_message("%g mm: %d hexes in both", cell_mm, hexes);
  g_assert_cmpint(together.mesh->n_hexes, ==, hexes);
  g_assert_cmpint(together.mesh->n_verts, ==, verts);
  pla_hex_embed_clear(&together);
  pla_mesh_free(both);
}

static void
test_sums(void)
{
  for (double cell_mm = 6.0; cell_mm > (small() ? 2.5 : 1.0); cell_mm *= 0.7) {
    check_sum(phantom_surface("crossing-boxes", 5), cell_mm);
    check_sum(phantom_surface("nested-boxes", 5), cell_mm);
  }
  check_sum(phantom_surface("crossing-boxes", 40), 3);
  PlaMesh *moved = phantom_surface("torus-surface", 4);
  for (int v = 0; v < moved->n_verts; v++) {
    moved->pos[3 * v] += 0.027;
    moved->pos[3 * v + 2] += 0.003;
  }
  check_sum(join_meshes(phantom_surface("torus-surface", 4), moved), 4);
}

/* 21 x 19 x 5, 39 x 37 x 9 and 75 x 73 x 17 cells across the published pair; ours spans 101 x 101 x
 * 21 mm, so take as many cells along x */
static void
test_moebius(void)
{
  const int cells[3] = { 21, 39, 75 };
  for (int k = 0; k < (small() ? 2 : 3); k++)
    check_sum(phantom_surface("moebius-pair", k == 2 ? 1.5 : 2.5), 101.0 / (cells[k] - 0.5));
}

/* the same, and what must hold of one body, at more than a million hexes */
static void
test_large(void)
{
  if (!g_getenv("PLA_LONG")) {
    g_test_skip("millions of hexes: set PLA_LONG=1");
    return;
  }
  check_sum(phantom_surface("crossing-boxes", 5), 0.44);
  check_sum(phantom_surface("moebius-pair", 1.5), 0.38);
  static const struct {
    const char *name;
    double cell_mm;
  } cases[] = { { "crossed-lips", 0.43 }, { "c-ring", 0.38 }, { "spiral", 0.41 } };
  for (size_t c = 0; c < G_N_ELEMENTS(cases); c++) {
    PlaMesh *surface = phantom_surface(cases[c].name, 1.5);
    const PlaHexEmbedOptions opts = cell_options(cases[c].cell_mm);
    PlaHexEmbedReport report;
    PlaHexEmbed mesh = embed(surface, &opts, &report);
    g_test_message("%s: %d hexes, Euler characteristic %d", cases[c].name, mesh.mesh->n_hexes,
                   report.euler);
    g_assert_cmpint(mesh.mesh->n_hexes, >, 1000000);
    g_assert_cmpint(report.components, ==, 1);
    g_assert_cmpint(report.winding_violations, ==, 0);
    g_assert_cmpint(pla_hex_topology_defects(&report), ==, 0);
    check_layers(surface, &mesh);
    check_geometry(surface, &mesh);
    pla_hex_embed_clear(&mesh);
    pla_mesh_free(surface);
  }
}

/* ---- bodies inside bodies ---- */

static void
test_nested(void)
{
  const double lo[4][3] = { { 0, 0, 0 }, { 6, 6, 6 }, { 12, 13, 12 }, { 10, -5, 10 } };
  const double hi[4][3] = { { 50, 40, 40 }, { 42, 33, 34 }, { 33, 26, 25 }, { 20, 45, 20 } };
  /* three, one in the other; then a bar through all of them, too */
  PlaMesh *surface = box_surface(lo[0], hi[0], false);
  for (int body = 1; body < 4; body++) {
    surface = join_meshes(surface, box_surface(lo[body], hi[body], false));
    int alone = 0;
    PlaHexEmbedOptions opts = cell_options(2.3);
    PlaHexEmbedReport report;
    PlaHexEmbed mesh = embed(surface, &opts, &report);
    const double node[3] = { mesh.origin_m[0], mesh.origin_m[1], mesh.origin_m[2] };
    opts.node_m = node;
    for (int b = 0; b <= body; b++) {
      PlaMesh *one = box_surface(lo[b], hi[b], false);
      PlaHexEmbed single = embed(one, &opts, NULL);
      alone += single.mesh->n_hexes;
      pla_hex_embed_clear(&single);
      pla_mesh_free(one);
    }
    g_test_message("%d boxes: %d hexes, %d copies added", body + 1, mesh.mesh->n_hexes,
                   report.repaired_copies);
    g_assert_cmpint(report.components, ==, body + 1);
    g_assert_cmpint(report.winding_violations, ==, 0);
    g_assert_cmpint(mesh.mesh->n_hexes, ==, alone);
    g_assert_cmpint(report.repaired_copies, >, 0);
    check_layers(surface, &mesh);
    pla_hex_embed_clear(&mesh);
  }
  pla_mesh_free(surface);
  /* a shell inside a solid: the solid goes through its wall and its cavity */
  surface =
      join_meshes(box_surface(lo[0], hi[0], false),
                  join_meshes(box_surface(lo[1], hi[1], false), box_surface(lo[2], hi[2], true)));
  const PlaHexEmbedOptions opts = cell_options(1.7);
  PlaHexEmbedReport report;
  PlaHexEmbed mesh = embed(surface, &opts, &report);
  g_assert_cmpint(report.components, ==, 2);
  g_assert_cmpint(report.winding_violations, ==, 0);
  g_assert_cmpint(euler(mesh.mesh), ==, 1 + 2);
  pla_hex_embed_clear(&mesh);
  pla_mesh_free(surface);
}

/* ---- what must be refused ---- */

static void
test_thin(void)
{
  PlaMesh *sheet = phantom_surface("thin-sheet", 3); /* 1 mm thick, within 30 mm of the middle */
  assert_refused(sheet, 2.0, PLA_ERR_GEOMETRY, "thinner than the cell of 2 mm");
  assert_refused(sheet, 5.0, PLA_ERR_GEOMETRY, "thinner than the cell of 5 mm");
  PlaHexEmbedOptions opts = cell_options(2.0);
  PlaHexEmbedReport report;
  opts.accept = true;
  PlaHexEmbed mesh = embed(sheet, &opts, &report);
  g_assert_cmpint(report.thin_cells, >, 28 * 28);
  pla_hex_embed_clear(&mesh);
  /* a finer cell clears it */
  opts = cell_options(small() ? 0.9 : 0.4);
  mesh = embed(sheet, &opts, &report);
  g_assert_cmpint(report.thin_cells, ==, 0);
  g_assert_cmpint(report.components, ==, 1);
  g_assert_cmpint(report.duplicated_cells, ==, 0);
  g_assert_cmpint(euler(mesh.mesh), ==, 1);
  pla_hex_embed_clear(&mesh);
  /* inside another body, where no region is outside, it is found all the same */
  PlaMesh *inside = join_meshes(phantom_surface("sphere-surface", 6), sheet);
  assert_refused(inside, 1.9, PLA_ERR_GEOMETRY, "thinner than the cell of 1.9 mm");
  pla_mesh_free(inside);
}

/* a block with a short fin of 0.5 mm: its two faces share the cells that it is thinner than */
static void
test_fin(void)
{
  const double inner[4][2] = { { 0, 0 }, { 40, 0 }, { 40.01, 15 }, { 43, 15 } };
  const double outer[4][2] = { { 0, 30 }, { 40, 30 }, { 40.01, 15.5 }, { 43, 15.5 } };
  PlaMesh *surface = strip_prism(inner, outer, 4, 30.0, false);
  int thin = 0;
  for (double cell_mm = 1.3; cell_mm < 4.0; cell_mm *= 1.4) {
    const PlaHexEmbedOptions opts = cell_options(cell_mm);
    PlaHexEmbedReport report;
    PlaHexEmbed mesh = embed(surface, &opts, &report);
    g_test_message("%g mm: %d thin cells of %d", cell_mm, report.thin_cells, report.crossed_cells);
    g_assert_cmpint(report.components, ==, 1);
    g_assert_cmpint(report.winding_violations, ==, 0);
    g_assert_cmpint(report.euler, ==, 1);
    check_geometry(surface, &mesh);
    pla_hex_embed_clear(&mesh);
    thin += report.thin_cells;
  }
  g_assert_cmpint(thin, >, 0);
  pla_mesh_free(surface);
}

static void
test_crease(void)
{
  PlaMesh *surface = legs(-0.6);
  assert_refused(surface, 2.86, PLA_ERR_GEOMETRY, "folds into itself near");
  assert_refused(surface, 3.7, PLA_ERR_GEOMETRY, "folds into itself near");
  /* what it would be: one layer where there are two */
  PlaHexEmbedOptions opts = cell_options(2.86);
  PlaHexEmbedReport report;
  opts.accept = true;
  PlaHexEmbed mesh = embed(surface, &opts, &report);
  g_test_message("crease: %d cells lack a layer", report.winding_violations);
  g_assert_cmpint(report.winding_violations, >, 100);
  pla_hex_embed_clear(&mesh);
  pla_mesh_free(surface);
  /* on some grids the layers can be told apart, but not joined cleanly at the crotch */
  surface = legs(-0.4);
  opts = cell_options(2.197);
  mesh = embed(surface, &opts, &report);
  g_assert_cmpint(report.winding_violations, ==, 0);
  g_assert_cmpint(report.surface_euler, ==, 2);
  g_assert_cmpint(report.euler, ==, euler(mesh.mesh));
  g_assert_cmpint(pla_hex_topology_defects(&report), >, 0);
  pla_hex_embed_clear(&mesh);
  pla_mesh_free(surface);
}

static void
test_bad_input(void)
{
  PlaMesh *box = phantom_surface("box-surface", 10);
  const PlaTriMesh tris = pla_mesh_tris(box);
  PlaHexEmbedOptions opts = cell_options(2.0);
  PlaHexEmbed out;
  PlaError err = { 0 };
  assert_refused(box, 0.0, PLA_ERR_USAGE, "positive");
  assert_refused(box, NAN, PLA_ERR_USAGE, "positive");
  assert_refused(box, 1e-5, PLA_ERR_USAGE, "choose a larger cell");
  assert_refused(box, 1e-300, PLA_ERR_USAGE, "choose a larger cell");
  PlaProgress progress;
  pla_progress_init(&progress, NULL, NULL);
  pla_progress_cancel(&progress);
  g_assert_cmpint(pla_hex_embed(&tris, &opts, &progress, &out, NULL, &err), ==, PLA_ERR_CANCELLED);
  /* open, then one triangle the wrong way round, then one twice */
  box->n_tris--;
  assert_refused(box, 2.0, PLA_ERR_GEOMETRY, "not closed");
  box->n_tris++;
  int *last = box->tri + 3 * (box->n_tris - 1), keep[3];
  memcpy(keep, last, sizeof keep);
  last[0] = keep[1];
  last[1] = keep[0];
  assert_refused(box, 2.0, PLA_ERR_GEOMETRY, "not closed and consistently oriented");
  memcpy(last, last - 3, sizeof keep);
  assert_refused(box, 2.0, PLA_ERR_GEOMETRY, "not closed");
  last[0] = last[1] = keep[0];
  assert_refused(box, 2.0, PLA_ERR_GEOMETRY, "twice");
  last[0] = box->n_verts;
  assert_refused(box, 2.0, PLA_ERR_GEOMETRY, "names vertex");
  memcpy(last, keep, sizeof keep);
  box->pos[7] = NAN;
  assert_refused(box, 2.0, PLA_ERR_GEOMETRY, "finite");
  pla_mesh_free(box);
  /* a solid turned inside out */
  box = box_surface((double[3]){ 0, 0, 0 }, (double[3]){ 9, 9, 9 }, true);
  assert_refused(box, 2.0, PLA_ERR_GEOMETRY, "inside out near");
  box->n_tris = 0;
  assert_refused(box, 2.0, PLA_ERR_EMPTY, "no triangles");
  pla_mesh_free(box);
}

/* jagged surfaces, some with vertices on grid nodes and flat triangles: a mesh that carries the
 * surface and has all layers, or a sentence */
static void
test_rough(void)
{
  static const char *const names[] = { "sphere-surface", "torus-surface", "crossed-lips",
                                       "crossing-boxes", "moebius-pair" };
  g_autoptr(GRand) rand = g_rand_new_with_seed(8);
  const double zero[3] = { 0, 0, 0 };
  int meshes = 0;
  for (int k = 0; k < 30; k++) {
    PlaMesh *surface = phantom_surface(names[k % 5], 8);
    const double amplitude = 0.001 * (k % 9);
    for (int i = 0; i < 3 * surface->n_verts; i++) {
      surface->pos[i] += amplitude * g_rand_double_range(rand, -0.5, 0.5);
      if (k % 7 == 0)
        surface->pos[i] = 0.002 * round(500.0 * surface->pos[i]);
    }
    const PlaTriMesh tris = pla_mesh_tris(surface);
    PlaHexEmbedOptions opts = cell_options(g_rand_int_range(rand, 2, 7));
    PlaHexEmbedReport report;
    PlaHexEmbed mesh;
    PlaError err = { 0 };
    opts.node_m = k % 4 == 0 ? zero : NULL;
    if (pla_hex_embed(&tris, &opts, NULL, &mesh, &report, &err) == PLA_OK) {
      g_assert_cmpint(report.winding_violations, ==, 0);
      check_geometry(surface, &mesh);
      meshes++;
    } else {
      g_assert_cmpint(err.status, ==, PLA_ERR_GEOMETRY);
      g_assert_nonnull(strstr(err.message, "near ("));
    }
    pla_hex_embed_clear(&mesh);
    pla_mesh_free(surface);
  }
  g_test_message("%d of 30 meshed", meshes);
  g_assert_cmpint(meshes, >, 15);
}

/* ---- the same bytes ---- */

static void
assert_same(const PlaHexEmbed *a, const PlaHexEmbed *b)
{
  g_assert_cmpint(a->mesh->n_hexes, ==, b->mesh->n_hexes);
  g_assert_cmpint(a->mesh->n_verts, ==, b->mesh->n_verts);
  const size_t hexes = (size_t)a->mesh->n_hexes, verts = (size_t)a->mesh->n_verts;
  const size_t points = (size_t)a->surface.n_points;
  g_assert_cmpmem(a->mesh->hex, 8 * hexes * sizeof(int), b->mesh->hex, 8 * hexes * sizeof(int));
  g_assert_cmpmem(a->mesh->pos, 3 * verts * sizeof(double), b->mesh->pos,
                  3 * verts * sizeof(double));
  g_assert_cmpmem(a->cell, hexes * sizeof(uint64_t), b->cell, hexes * sizeof(uint64_t));
  g_assert_cmpmem(a->surface.elem, points * sizeof(int), b->surface.elem, points * sizeof(int));
  g_assert_cmpmem(a->surface.weight, 8 * points * sizeof(double), b->surface.weight,
                  8 * points * sizeof(double));
}

static void
test_same_bytes(void)
{
  static const char *const names[] = { "crossing-boxes", "nested-boxes", "moebius-pair",
                                       "crossed-lips", "spiral" };
  g_autoptr(GRand) rand = g_rand_new_with_seed(3);
  const int threads = pla_threads_get();
  for (size_t c = 0; c < G_N_ELEMENTS(names); c++) {
    PlaMesh *surface = phantom_surface(names[c], 3);
    const PlaHexEmbedOptions opts = cell_options(c == 2 ? 5.0 : 2.5);
    PlaHexEmbedReport r[2];
    pla_threads_set(1);
    PlaHexEmbed first = embed(surface, &opts, &r[0]);
    /* triangles in another order, each from another corner */
    for (int t = surface->n_tris - 1; t > 0; t--) {
      int *a = surface->tri + 3 * t, *b = surface->tri + 3 * g_rand_int_range(rand, 0, t + 1),
          swap[3];
      const int turn = g_rand_int_range(rand, 0, 3);
      memcpy(swap, a, sizeof swap);
      memmove(a, b, sizeof swap);
      for (int k = 0; k < 3; k++)
        b[k] = swap[(k + turn) % 3];
    }
    for (int n = 1; n <= 4; n += 3) {
      pla_threads_set(n);
      PlaHexEmbed second = embed(surface, &opts, &r[1]);
      assert_same(&first, &second);
      g_assert_cmpmem(&r[0], sizeof r[0], &r[1], sizeof r[1]);
      pla_hex_embed_clear(&second);
    }
    pla_hex_embed_clear(&first);
    pla_mesh_free(surface);
  }
  pla_threads_set(threads);
}

/* ---- coarser ---- */

static void
test_coarsen(void)
{
  static const struct {
    const char *name;
    double cell_mm;
  } cases[] = { { "crossing-boxes", 1.5 }, { "nested-boxes", 1.5 }, { "moebius-pair", 1.5 },
                { "crossed-lips", 1.0 },   { "spiral", 1.5 },       { "sphere-surface", 2 } };
  for (size_t c = 0; c < G_N_ELEMENTS(cases); c++) {
    PlaMesh *surface = phantom_surface(cases[c].name, 3);
    PlaHexEmbedOptions opts = cell_options(small() ? 1.5 * cases[c].cell_mm : cases[c].cell_mm);
    PlaHexEmbedReport fine, coarse;
    PlaHexEmbed mesh[3];
    mesh[0] = embed(surface, &opts, &fine);
    for (int k = 1; k < 3; k++) {
      opts.coarsen = k;
      mesh[k] = embed(surface, &opts, &coarse);
      g_test_message("%s: %d hexes, coarsened %d times %d", cases[c].name, mesh[0].mesh->n_hexes, k,
                     mesh[k].mesh->n_hexes);
      g_assert_cmpint(coarse.components, ==, fine.components);
      g_assert_cmpint(mesh[k].mesh->n_hexes, <, mesh[k - 1].mesh->n_hexes / 3);
      check_geometry(surface, &mesh[k]);
      /* parts of the surface that were in one component still are, others not */
      const int32_t *a = pla_mesh_find_field(mesh[0].mesh, PLA_HEX_COMPONENT, PLA_ON_CELLS)->data;
      const int32_t *b = pla_mesh_find_field(mesh[k].mesh, PLA_HEX_COMPONENT, PLA_ON_CELLS)->data;
      for (int v = 1; v < surface->n_verts; v++)
        g_assert_cmpint(a[mesh[0].surface.elem[v]] == a[mesh[0].surface.elem[0]], ==,
                        b[mesh[k].surface.elem[v]] == b[mesh[k].surface.elem[0]]);
    }
    for (int k = 0; k < 3; k++)
      pla_hex_embed_clear(&mesh[k]);
    pla_mesh_free(surface);
  }
}

/* ---- tets ---- */

static double
tet_volume(const PlaMesh *mesh, int t)
{
  const int *v = mesh->tet + 4 * (size_t)t;
  double e[3][3];
  for (int k = 0; k < 3; k++)
    for (int d = 0; d < 3; d++)
      e[k][d] = mesh->pos[3 * (size_t)v[k + 1] + d] - mesh->pos[3 * (size_t)v[0] + d];
  return (e[0][0] * (e[1][1] * e[2][2] - e[1][2] * e[2][1]) +
          e[0][1] * (e[1][2] * e[2][0] - e[1][0] * e[2][2]) +
          e[0][2] * (e[1][0] * e[2][1] - e[1][1] * e[2][0])) /
         6.0;
}

static void
test_tets(void)
{
  static const struct {
    const char *name;
    double cell_mm;
    bool manifold; /* no face has two hexes on one side */
  } cases[] = { { "box-surface", 3, true },   { "sphere-surface", 4, true },
                { "torus-surface", 4, true }, { "crossing-boxes", 3, true },
                { "moebius-pair", 5, false }, { "crossed-lips", 2, false } };
  for (size_t c = 0; c < G_N_ELEMENTS(cases); c++) {
    PlaMesh *surface = phantom_surface(cases[c].name, 4), *tets;
    const PlaHexEmbedOptions opts = cell_options(cases[c].cell_mm);
    PlaHexEmbedReport report;
    PlaHexEmbed mesh = embed(surface, &opts, &report);
    PlaEmbedding points;
    g_assert_cmpint(pla_hex_embed_tets(&mesh, NULL, &tets, &points, NULL), ==, PLA_OK);
    const double h3 = pow(mesh.cell_m, 3.0);
    double volume = 0.0;
    for (int t = 0; t < tets->n_tets; t++) {
      const double v = tet_volume(tets, t);
      g_assert_true(fabs(v / h3 - 1.0 / 12.0) < 1e-12 || fabs(v / h3 - 1.0 / 24.0) < 1e-12);
      volume += v;
    }
    g_test_message("%s: %d tets, volume of the hexes x %.6f", cases[c].name, tets->n_tets,
                   volume / (h3 * mesh.mesh->n_hexes));
    if (cases[c].manifold)
      g_assert_cmpfloat(fabs(volume / (h3 * mesh.mesh->n_hexes) - 1.0), <, 1e-9);
    g_assert_cmpfloat(volume, >, h3 * mesh.mesh->n_hexes * (1.0 - 1e-9));
    g_assert_cmpint(pla_hex_label_components(tets), ==, report.components);
    g_autofree double *at = g_new(double, 3 * surface->n_verts);
    pla_embedding_apply(&points, tets->tet, tets->pos, at);
    for (int i = 0; i < 3 * surface->n_verts; i++)
      g_assert_cmpfloat(fabs(at[i] - surface->pos[i]), <, 1e-14);
    for (int i = 0; i < 4 * surface->n_verts; i++)
      g_assert_cmpfloat(points.weight[i], >=, -1e-14);
    pla_embedding_clear(&points);
    pla_mesh_free(tets);
    pla_hex_embed_clear(&mesh);
    pla_mesh_free(surface);
  }
}

/* one hex gives 24 tets */
static void
test_one_hex(void)
{
  PlaMesh *surface = box_surface((double[3]){ 0.3, 0.3, 0.3 }, (double[3]){ 0.6, 0.7, 0.8 }, false),
          *tets;
  const double zero[3] = { 0, 0, 0 };
  PlaHexEmbedOptions opts = cell_options(1.0);
  opts.node_m = zero;
  PlaHexEmbed mesh = embed(surface, &opts, NULL);
  g_assert_cmpint(mesh.mesh->n_hexes, ==, 1);
  g_assert_cmpint(pla_hex_embed_tets(&mesh, NULL, &tets, NULL, NULL), ==, PLA_OK);
  g_assert_cmpint(tets->n_tets, ==, 24);
  g_assert_cmpint(tets->n_verts, ==, 8 + 1 + 6);
  pla_mesh_free(tets);
  pla_hex_embed_clear(&mesh);
  pla_mesh_free(surface);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/hex-embed/cells-exact", test_cells_exact);
  g_test_add_func("/hex-embed/aligned-box", test_aligned_box);
  g_test_add_func("/hex-embed/blocks", test_blocks);
  g_test_add_func("/hex-embed/windings", test_windings);
  g_test_add_func("/hex-embed/sizes", test_sizes);
  g_test_add_func("/hex-embed/more-windings", test_more_windings);
  g_test_add_func("/hex-embed/sums", test_sums);
  g_test_add_func("/hex-embed/moebius", test_moebius);
  g_test_add_func("/hex-embed/large", test_large);
  g_test_add_func("/hex-embed/nested", test_nested);
  g_test_add_func("/hex-embed/thin", test_thin);
  g_test_add_func("/hex-embed/fin", test_fin);
  g_test_add_func("/hex-embed/crease", test_crease);
  g_test_add_func("/hex-embed/bad-input", test_bad_input);
  g_test_add_func("/hex-embed/rough", test_rough);
  g_test_add_func("/hex-embed/same-bytes", test_same_bytes);
  g_test_add_func("/hex-embed/coarsen", test_coarsen);
  g_test_add_func("/hex-embed/tets", test_tets);
  g_test_add_func("/hex-embed/one-hex", test_one_hex);
  return g_test_run();
}
