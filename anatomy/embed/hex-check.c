/* What a hexahedral embedding is held against, and what is refused.
 *
 * - Every cell that the surface does not cross has as many hexes as the winding number says.
 * - A solid has half the Euler characteristic of its surface.  That of the mesh, vertices - edges +
 *   faces - hexes, is summed over vertices, each with its share 1 - e/2 + f/4 - h/8; where all
 * eight cells around are alike that is nothing, so only vertices of crossed cells are looked at. */
#include "anatomy/base/memory.h"
#include "anatomy/embed/hex-private.h"

#include <stdlib.h>
#include <string.h>

/* ---- layers ---- */

/* counts the hexes of every uncrossed cell of the finished mesh against the winding number */
static void
check_windings(const PlaHexWork *w, const PlaHexEmbed *mesh, PlaHexViolations *out)
{
  const size_t n_hexes = (size_t)mesh->mesh->n_hexes;
  size_t h = 0;
  *out = (PlaHexViolations){ 0 };
  for (size_t l = 0; l < w->n_lines; l++) {
    if (!pla_hex_line_has_cells(w, l))
      continue;
    const int j = (int)(l % (size_t)w->lines_y), k = (int)(l / (size_t)w->lines_y);
    for (PlaHexStretch s = pla_hex_stretch_init(w, l); pla_hex_stretch_next(w, l, &s);) {
      const int winding =
          s.from < s.to ? w->region_winding[w->run_region[pla_hex_run_at(w, (uint32_t)l, s.from)]]
                        : 0;
      const uint64_t end = pla_hex_cell_key((int)s.to, j, k);
      const bool empty = h == n_hexes || mesh->cell[h] >= end;
      for (uint32_t i = s.from; i < s.to && !(winding == 0 && empty); i++) {
        const uint64_t key = pla_hex_cell_key((int)i, j, k);
        int count = 0;
        for (; h < n_hexes && mesh->cell[h] == key; h++)
          count++;
        if (count != winding && out->cells++ == 0) {
          const double half = 0.5 * w->h;
          pla_hex_node_pos(w, (uint32_t)l, i, out->centre);
          for (int d = 0; d < 3; d++)
            out->centre[d] += half;
          out->hexes = count;
          out->winding = winding;
        }
      }
      while (h < n_hexes && mesh->cell[h] == end)
        h++;
    }
  }
}

/* nodes of regions with a wrong number of copies that have no uncrossed cell to show it */
static PlaStatus
count_unresolved(PlaHexWork *w, PlaError *err)
{
  uint8_t *shown = pla_array_new0(w->n_regions, sizeof *shown);
  int n = 0;
  if (!shown)
    return pla_fail_memory(err, "the check of the mesh");
  for (size_t l = 0; l < w->n_lines; l++)
    if (pla_hex_line_has_cells(w, l))
      for (PlaHexStretch s = pla_hex_stretch_init(w, l); pla_hex_stretch_next(w, l, &s);)
        if (s.from < s.to)
          shown[w->run_region[pla_hex_run_at(w, (uint32_t)l, s.from)]] = 1;
  for (size_t l = 0; l < w->n_lines; l++)
    for (uint32_t r = w->line_run[l]; r < w->line_run[l + 1]; r++)
      if (!shown[w->run_region[r]] &&
          (int)pla_hex_copies_at(w, r) != w->region_winding[w->run_region[r]])
        n += (int)pla_hex_run_length(w, (uint32_t)l, r);
  free(shown);
  w->report.unresolved_nodes = n;
  return PLA_OK;
}

/* ---- topology ---- */

/* vertices of hexes in crossed cells, marked */
static void
mark_crossed(const PlaHexWork *w, const PlaHexEmbed *mesh, uint8_t *marked)
{
  const size_t n_hexes = (size_t)mesh->mesh->n_hexes;
  size_t h = 0;
  for (uint32_t c = 0; c < w->n_cells; c++) {
    const int j = (int)(w->cell_line[c] % (uint32_t)w->lines_y);
    const int k = (int)(w->cell_line[c] / (uint32_t)w->lines_y);
    const uint64_t key = pla_hex_cell_key((int)w->cell_i[c], j, k);
    while (h < n_hexes && mesh->cell[h] < key)
      h++;
    for (; h < n_hexes && mesh->cell[h] == key; h++)
      for (int q = 0; q < 8; q++)
        marked[mesh->mesh->hex[8 * h + (size_t)q]] = 1;
  }
}

enum { MOST = 64 };

/* eight times the share of vertex @v, whose hexes are @hex */
static int
share_of_vertex(const PlaMesh *mesh, int v, const int *hex, int n)
{
  int edge[3 * MOST], face[3 * MOST][3], n_edges = 0, n_faces = 0;
  if (n > MOST)
    return 0;
  for (int k = 0; k < n; k++) {
    const int *h = mesh->hex + 8 * (size_t)hex[k];
    int q = 0, end[3];
    while (h[pla_hex_vtk_corner[q]] != v)
      q++;
    for (int d = 0; d < 3; d++) {
      end[d] = h[pla_hex_vtk_corner[q ^ 1 << d]];
      int e = 0;
      while (e < n_edges && edge[e] != end[d])
        e++;
      if (e == n_edges)
        edge[n_edges++] = end[d];
    }
    for (int d = 0; d < 3; d++) {
      const int a = end[(d + 1) % 3], b = end[(d + 2) % 3];
      const int key[3] = { a < b ? a : b, a < b ? b : a,
                           h[pla_hex_vtk_corner[q ^ 1 << (d + 1) % 3 ^ 1 << (d + 2) % 3]] };
      int f = 0;
      while (f < n_faces && memcmp(face[f], key, sizeof key) != 0)
        f++;
      if (f == n_faces)
        memcpy(face[n_faces++], key, sizeof key);
    }
  }
  return 8 - 4 * n_edges + 2 * n_faces - n;
}

static PlaStatus
find_euler(PlaHexWork *w, const PlaHexEmbed *out, PlaError *err)
{
  const PlaMesh *mesh = out->mesh;
  const size_t n_verts = (size_t)mesh->n_verts, n_corners = 8 * (size_t)mesh->n_hexes;
  uint8_t *marked = pla_array_new0(n_verts, sizeof *marked);
  int *start = pla_array_new0(n_verts + 2, sizeof *start), *hex = NULL;
  PlaStatus st = marked && start ? PLA_OK : pla_fail_memory(err, "the check of the mesh");
  if (st == PLA_OK) {
    mark_crossed(w, out, marked);
    for (size_t c = 0; c < n_corners; c++)
      start[(size_t)mesh->hex[c] + 2] += marked[mesh->hex[c]];
    for (size_t v = 0; v < n_verts; v++)
      start[v + 2] += start[v + 1];
    hex = pla_array_new((size_t)start[n_verts + 1], sizeof *hex);
    st = hex ? PLA_OK : pla_fail_memory(err, "the check of the mesh");
  }
  if (st == PLA_OK) {
    int64_t sum = 0;
    for (size_t c = 0; c < n_corners; c++)
      if (marked[mesh->hex[c]])
        hex[start[mesh->hex[c] + 1]++] = (int)(c / 8);
#pragma omp parallel for schedule(static) reduction(+ : sum)
    for (int v = 0; v < mesh->n_verts; v++)
      if (marked[v])
        sum += share_of_vertex(mesh, v, hex + start[v], start[v + 1] - start[v]);
    w->report.euler = (int)(sum / 8);
    /* three edges for two triangles */
    w->report.surface_euler = -w->n_tris / 2;
    for (int v = 0; v < w->surface->n_verts; v++)
      w->report.surface_euler += w->ring_start[v + 1] > w->ring_start[v];
  }
  free(marked);
  free(start);
  free(hex);
  return st;
}

int
pla_hex_topology_defects(const PlaHexEmbedReport *report)
{
  return (abs(2 * report->euler - report->surface_euler) + 1) / 2;
}

PlaStatus
pla_hex_check(PlaHexWork *w, const PlaHexEmbed *mesh, PlaHexViolations *v, PlaError *err)
{
  check_windings(w, mesh, v);
  w->report.winding_violations = (int)(v->cells < INT32_MAX ? v->cells : INT32_MAX);
  PlaStatus st = count_unresolved(w, err);
  return st == PLA_OK ? find_euler(w, mesh, err) : st;
}

/* ---- refusals ---- */

PlaStatus
pla_hex_refuse_thin(const PlaHexWork *w, uint32_t cell, PlaError *err)
{
  double pos[3];
  pla_hex_node_pos(w, w->cell_line[cell], w->cell_i[cell], pos);
  return pla_fail(err, PLA_ERR_GEOMETRY,
                  "The body is thinner than the cell of %g mm in %d cells, first near (%.2f, %.2f, "
                  "%.2f) mm; use a cell smaller than its thinnest part, and coarsen the mesh "
                  "afterwards if it is too fine",
                  1000.0 * w->h, w->report.thin_cells, 1000.0 * (pos[0] + 0.5 * w->h),
                  1000.0 * (pos[1] + 0.5 * w->h), 1000.0 * (pos[2] + 0.5 * w->h));
}

PlaStatus
pla_hex_refuse_inside_out(const PlaHexWork *w, PlaError *err)
{
  for (size_t l = 0; l < w->n_lines; l++)
    for (uint32_t r = w->line_run[l]; r < w->line_run[l + 1]; r++)
      if (w->region_winding[w->run_region[r]] < 0) {
        double pos[3];
        pla_hex_node_pos(w, (uint32_t)l, w->run_from[r], pos);
        return pla_fail(err, PLA_ERR_GEOMETRY,
                        "The surface is inside out near (%.2f, %.2f, %.2f) mm, where its winding "
                        "number is %d; turn its triangles round, or untwist it there",
                        1000.0 * pos[0], 1000.0 * pos[1], 1000.0 * pos[2],
                        w->region_winding[w->run_region[r]]);
      }
  return PLA_OK;
}

PlaStatus
pla_hex_refuse_violations(const PlaHexWork *w, const PlaHexViolations *v, PlaError *err)
{
  const double *c = v->centre;
  if (v->hexes > v->winding)
    return pla_fail(
        err, PLA_ERR_GEOMETRY,
        "Near (%.2f, %.2f, %.2f) mm, and in %lld cells in all, the mesh would have %d "
        "layers where the surface has %d: a part is too thin for a cell of %g mm; use a "
        "smaller cell, and coarsen the mesh afterwards",
        1000.0 * c[0], 1000.0 * c[1], 1000.0 * c[2], (long long)v->cells, v->hexes, v->winding,
        1000.0 * w->h);
  return pla_fail(
      err, PLA_ERR_GEOMETRY,
      "The surface folds into itself near (%.2f, %.2f, %.2f) mm so that %d layers of "
      "tissue lie there but only %d can be told apart (%lld cells in all): such a crease "
      "cannot be opened without turning it inside out; smooth the fold or pull it apart",
      1000.0 * c[0], 1000.0 * c[1], 1000.0 * c[2], v->winding, v->hexes, (long long)v->cells);
}
