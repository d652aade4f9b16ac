/* What a cut promises to those who simulate the pieces (Sifakis 2007, checklist 54, 57 and 59). */
#include "anatomy/base/mat3.h"
#include "anatomy/mesh/box-mesh.h"
#include "sim/cut/cut-mesh-private.h"
#include "sim/solve/solve.h"
#include "tests/sim/fem/explicit-step.h"

#include <string.h>

static PlaMesh *
box(const int n[3])
{
  const double lo[3] = { 0, 0, 0 }, hi[3] = { n[0], n[1], n[2] };
  PlaMesh *mesh = NULL;
  PlaError err = { 0 };
  g_assert_cmpint(pla_box_mesh_new(lo, hi, n, PLA_BOX_TETS_5, &mesh, &err), ==, PLA_OK);
  return mesh;
}

static PlaCutMesh *
cut_mesh(const PlaMesh *mesh)
{
  PlaCutMesh *out = NULL;
  PlaError err = { 0 };
  const PlaTetMesh tets = pla_mesh_tets(mesh);
  g_assert_cmpint(pla_cut_mesh_new(&tets, &out, &err), ==, PLA_OK);
  return out;
}

static void
cut(PlaCutMesh *mesh, const double *pos, int n_verts, const int *tri, int n_tris)
{
  const PlaTriMesh blade = { n_verts, n_tris, pos, tri };
  PlaCutReport report;
  PlaError err = { 0 };
  g_assert_cmpint(pla_cut_mesh_cut(mesh, &blade, NULL, &report, NULL, &err), ==, PLA_OK);
  g_assert_cmpint(report.n_touched, >, 0);
}

/* ---- 54: quality ---- */

static PlaMesh *
mesh_of(const double *pos, int n_verts, const int *tet, int n_tets, bool apart)
{
  PlaMesh *mesh = NULL;
  PlaError err = { 0 };
  g_assert_cmpint(pla_mesh_new(apart ? 4 * n_tets : n_verts, 0, n_tets, 0, &mesh, &err), ==,
                  PLA_OK);
  for (int i = 0; i < 4 * n_tets; i++) {
    mesh->tet[i] = apart ? i : tet[i];
    memcpy(&mesh->pos[3 * mesh->tet[i]], &pos[3 * tet[i]], 3 * sizeof *pos);
  }
  return mesh;
}

/* the pieces as a cutter that divides tets would leave them: each convex cell as tets around its
 * middle */
static PlaMesh *
divided(const PlaCutMesh *c)
{
  g_autoptr(GArray) pos = g_array_new(FALSE, FALSE, 3 * sizeof(double));
  g_autoptr(GArray) tet = g_array_new(FALSE, FALSE, sizeof(int));
  for (int t = 0; t < c->n_tets; t++) {
    const int *corner = &c->tet[4 * t];
    const PlaCutComplex *x = c->refined[t];
    const int first = (int)pos->len;
    if (!x) {
      for (int k = 0; k < 4; k++) {
        const int id = first + k;
        g_array_append_vals(pos, &c->rest[3 * corner[k]], 1);
        g_array_append_val(tet, id);
      }
      continue;
    }
    for (int v = 0; v < x->n_verts; v++) {
      double w[4], p[3] = { 0 };
      pla_cut_complex_weights(x, v, w);
      for (int k = 0; k < 4; k++)
        for (int d = 0; d < 3; d++)
          p[d] += w[k] * c->rest[3 * corner[k] + d];
      g_array_append_vals(pos, p, 1);
    }
    for (int cell = 0; cell < x->n_cells; cell++) {
      double middle[3] = { 0 };
      int count = 0;
      for (int i = 0; i < x->cell[cell].n_patches; i++) {
        const PlaCutPatch *p = &x->patch[x->cell[cell].patch[i]];
        for (int k = 0; k < p->n_corners; k++, count++)
          for (int d = 0; d < 3; d++)
            middle[d] += ((double *)(void *)pos->data)[3 * (first + p->corner[k].vert) + d];
      }
      for (int d = 0; d < 3; d++)
        middle[d] /= count;
      const int centre = (int)pos->len;
      g_array_append_vals(pos, middle, 1);
      for (int i = 0; i < x->cell[cell].n_patches; i++) {
        const PlaCutPatch *p = &x->patch[x->cell[cell].patch[i]];
        const bool out = p->cell[0] == cell;
        for (int k = 2; k < p->n_corners; k++) {
          const int a = first + p->corner[0].vert, b = first + p->corner[k - 1].vert,
                    e = first + p->corner[k].vert;
          const int four[4] = { centre, a, out ? b : e, out ? e : b };
          /* corners in one line make none */
          if (pla_cut_tet_volume((const double *)(void *)pos->data, four) > 1e-15)
            g_array_append_vals(tet, four, 4);
        }
      }
    }
  }
  return mesh_of((const double *)(void *)pos->data, (int)pos->len, (const int *)(void *)tet->data,
                 (int)tet->len / 4, true);
}

/* blades that pass a thousandth of a cell beside vertices: steps of the tets that are repeated stay
 * as long as they were, those of tets that are divided shrink with the thinnest slice */
static void
test_steps(void)
{
  const int n[3] = { 3, 3, 3 };
  PlaMesh *mesh = box(n);
  PlaCutMesh *c = cut_mesh(mesh);
  const double pos[24] = { 1.001, -1, -1,  1.001, 5,  -1,  1.001, 5, 5,   1.001, -1, 5,
                           -1,    -1, 1.9, 5,     -1, 2.1, 5,     5, 2.1, -1,    5,  1.9 };
  const int tri[12] = { 0, 1, 2, 0, 2, 3, 4, 5, 6, 4, 6, 7 };
  cut(c, pos, 8, tri, 4);
  g_assert_cmpint(c->n_tets, >, mesh->n_tets);
  PlaMesh *before = mesh_of(mesh->pos, mesh->n_verts, mesh->tet, mesh->n_tets, true);
  PlaMesh *after = mesh_of(c->rest, c->n_verts, c->tet, c->n_tets, true);
  PlaMesh *whole = mesh_of(c->rest, c->n_verts, c->tet, c->n_tets, false);
  PlaMesh *parts = divided(c);
  PlaMeshSummary old, now, slivers;
  PlaError err = { 0 };
  g_assert_cmpint(pla_mesh_summary(before, &old, &err), ==, PLA_OK);
  g_assert_cmpint(pla_mesh_summary(after, &now, &err), ==, PLA_OK);
  g_assert_cmpint(pla_mesh_summary(parts, &slivers, &err), ==, PLA_OK);
  const double bound[4] = { explicit_step(before), explicit_step(after), explicit_step(whole),
                            explicit_step(parts) };
  g_test_message(
      "angles %.2f, %.2f, divided %.3f degrees; steps by elements %.4g, %.4g, of the cut "
      "body %.4g, divided %.3g s",
      old.min_dihedral_deg, now.min_dihedral_deg, slivers.min_dihedral_deg, bound[0], bound[1],
      bound[2], bound[3]);
  g_assert_cmpfloat_with_epsilon(now.min_dihedral_deg, old.min_dihedral_deg, 1e-12);
  g_assert_cmpfloat_with_epsilon(bound[1], bound[0], 1e-6 * bound[0]);
  g_assert_cmpfloat(bound[2], >=, (1.0 - 1e-9) * bound[0]);
  g_assert_cmpfloat(bound[3], <, 0.05 * bound[0]);
  g_assert_cmpfloat_with_epsilon(slivers.volume_m3, 27.0, 27e-9);
  pla_mesh_free(before);
  pla_mesh_free(after);
  pla_mesh_free(whole);
  pla_mesh_free(parts);
  pla_cut_mesh_free(c);
  pla_mesh_free(mesh);
}

/* ---- 57: shared faces ---- */

/* area and first moment of what the material of @tet shows on @face, covered by no blade */
static void
face_moments(const PlaCutMesh *c, int tet, int face, double out[4])
{
  const int *corner = &c->tet[4 * tet];
  const PlaCutComplex *x = c->refined[tet];
  double place[64][3];
  for (int i = 0; i < (x ? x->n_patches : 1); i++) {
    int n = 3;
    if (x && (x->patch[i].face != face || x->patch[i].triangle >= 0))
      continue;
    if (x)
      n = x->patch[i].n_corners;
    g_assert_cmpint(n, <=, 64);
    for (int k = 0; k < n; k++) {
      double w[4] = { 0 };
      if (x)
        pla_cut_complex_weights(x, x->patch[i].corner[k].vert, w);
      else
        w[pla_cut_face_corner[face][k]] = 1.0;
      for (int d = 0; d < 3; d++) {
        place[k][d] = 0.0;
        for (int a = 0; a < 4; a++)
          place[k][d] += w[a] * c->rest[3 * corner[a] + d];
      }
    }
    for (int k = 2; k < n; k++) {
      double e[3], f[3], normal[3];
      pla_vec3_sub(place[k - 1], place[0], e);
      pla_vec3_sub(place[k], place[0], f);
      pla_vec3_cross(e, f, normal);
      const double area = 0.5 * pla_vec3_norm(normal);
      out[0] += area;
      for (int d = 0; d < 3; d++)
        out[1 + d] += area * (place[0][d] + place[k - 1][d] + place[k][d]) / 3.0;
    }
  }
}

/* Material that meets across a face covers the same part of it on both sides: pieces of one tet
 * that meet the same pieces of the other are taken together, and show the same area with the same
 * centre. */
static void
test_faces(void)
{
  const int n[3] = { 3, 2, 2 };
  g_autoptr(GRand) rand = g_rand_new_with_seed(57);
  int groups = 0, parted = 0;
  for (int trial = 0; trial < 8; trial++) {
    PlaMesh *mesh = box(n);
    PlaCutMesh *c = cut_mesh(mesh);
    double pos[9 * 12];
    int tri[3 * 12];
    for (int i = 0; i < 9 * 12; i++)
      pos[i] = g_rand_double_range(rand, -2.0, 5.0);
    for (int i = 0; i < 3 * 12; i++)
      tri[i] = i;
    cut(c, pos, 36, tri, 12);
    /* groups of (tet, face) sides that links connect */
    g_autofree int *group = g_new(int, 4 * (gsize)c->n_tets);
    for (int i = 0; i < 4 * c->n_tets; i++)
      group[i] = i;
    for (bool changed = true; changed;) {
      changed = false;
      for (int i = 0; i < 4 * c->n_tets; i++)
        for (int l = c->link_head[i]; l >= 0; l = c->link[l].next) {
          const int j = 4 * c->link[l].tet + c->link[l].face, least = MIN(group[i], group[j]);
          changed = changed || group[i] != group[j];
          group[i] = group[j] = least;
        }
    }
    for (int g = 0; g < 4 * c->n_tets; g++) {
      double side[2][4] = { { 0 }, { 0 } };
      int count[2] = { 0, 0 };
      if (group[g] != g || c->link_head[g] < 0)
        continue;
      for (int i = g; i < 4 * c->n_tets; i++) {
        if (group[i] != g)
          continue;
        const int which = c->tet_source[i / 4] != c->tet_source[g / 4];
        face_moments(c, i / 4, i % 4, side[which]);
        count[which]++;
      }
      groups++;
      parted += count[0] + count[1] > 2 || side[0][0] < 0.4;
      for (int k = 0; k < 4; k++)
        g_assert_cmpfloat_with_epsilon(side[0][k], side[1][k], 1e-10);
    }
    pla_cut_mesh_free(c);
    pla_mesh_free(mesh);
  }
  g_test_message("%d faces with material on both sides, %d of them parted", groups, parted);
  g_assert_cmpint(parted, >, 100);
}

/* ---- 59: a mouth ---- */

enum { SECTION = 7 };

/* a head with a mouth a fiftieth of a cell wide, closed: a section drawn out along y */
static double
mouth(double pos[6 * SECTION], int tri[3 * (4 * SECTION - 4)])
{
  const double at[SECTION][2] = { { 0.6, 0.5 },  { 7.4, 0.5 }, { 7.4, 5.5 }, { 0.6, 5.5 },
                                  { 0.6, 3.01 }, { 4.3, 3.0 }, { 0.6, 2.99 } };
  const int hinge = 5;
  int n = 0;
  double area = 0.0;
  for (int i = 0; i < SECTION; i++)
    for (int k = 0; k < 2; k++) {
      pos[3 * (2 * i + k)] = at[i][0];
      pos[3 * (2 * i + k) + 1] = k ? 5.4 : 0.6;
      pos[3 * (2 * i + k) + 2] = at[i][1];
    }
  for (int i = 0; i < SECTION; i++) {
    const int j = (i + 1) % SECTION;
    const int quad[6] = { 2 * i, 2 * j, 2 * j + 1, 2 * i, 2 * j + 1, 2 * i + 1 };
    memcpy(&tri[3 * n], quad, sizeof quad);
    n += 2;
    area += 0.5 * (at[i][0] * at[j][1] - at[j][0] * at[i][1]);
    if (i == hinge || j == hinge)
      continue;
    for (int k = 0; k < 2; k++, n++) {
      const int cap[3] = { 2 * hinge + k, 2 * (k ? i : j) + k, 2 * (k ? j : i) + k };
      memcpy(&tri[3 * n], cap, sizeof cap);
    }
  }
  g_assert_cmpint(n, ==, 4 * SECTION - 4);
  return area * 4.8;
}

/* pulls the lower lip down by one; how far the upper one goes with it, over the lower */
static double
open_mouth(const PlaMesh *mesh, const double *fraction)
{
  PlaFemModel *model = model_new(mesh, "linear");
  const size_t n = (size_t)mesh->n_verts;
  g_autofree unsigned char *fixed = g_malloc0(3 * n);
  g_autofree double *target = g_memdup2(mesh->pos, 3 * n * sizeof(double));
  g_autofree double *pos = g_memdup2(mesh->pos, 3 * n * sizeof(double));
  PlaError err = { 0 };
  PlaFemReport report;
  if (fraction) {
    const PlaFemCells cells = { .filled = fraction };
    g_assert_cmpint(pla_fem_model_set_cells(model, &cells, &err), ==, PLA_OK);
  }
  for (size_t v = 0; v < n; v++) {
    const double *x = &mesh->pos[3 * v];
    if (x[0] > 6.9)
      memset(&fixed[3 * v], 1, 3);
    if (x[0] < 1.1 && x[2] < 1.1) { /* the chin */
      memset(&fixed[3 * v], 1, 3);
      target[3 * v + 2] -= 1.0;
    }
  }
  const PlaFemConditions conditions = { .fixed = fixed, .target = target };
  const PlaFemOptions options = pla_fem_options_default();
  g_assert_cmpint(pla_fem_solve(model, &conditions, &options, pos, &report, &err), ==, PLA_OK);
  g_assert_cmpint(report.reason, ==, PLA_STOP_CONVERGED);
  double low = 0.0, high = 0.0;
  for (size_t v = 0; v < n; v++) {
    const double *x = &mesh->pos[3 * v], moved = pos[3 * v + 2] - x[2];
    if (x[0] < 1.1 && x[2] < 2.1)
      low = fmin(low, moved);
    if (x[0] < 1.1 && x[2] > 3.9)
      high = fmin(high, moved);
  }
  pla_fem_model_free(model);
  return high / low;
}

/* A closed surface pushed into a lattice: it encloses what it did, and lips that lie in the same
 * cells open; in the lattice itself they hang together. */
static void
test_mouth(void)
{
  const int n[3] = { 8, 6, 6 };
  PlaMesh *lattice = box(n);
  PlaCutMesh *c = cut_mesh(lattice);
  double pos[6 * SECTION];
  int tri[3 * (4 * SECTION - 4)];
  const double volume = mouth(pos, tri);
  cut(c, pos, 2 * SECTION, tri, 4 * SECTION - 4);
  /* what is inside is one piece, and the rest is thrown away */
  g_autofree int *body = g_new(int, (gsize)c->n_tets);
  g_autofree double *part = g_new(double, (gsize)c->n_tets);
  g_assert_cmpint(pla_cut_mesh_bodies(c, body), ==, 2);
  pla_cut_mesh_volumes(c, part);
  double sum[2] = { 0.0, 0.0 };
  for (int t = 0; t < c->n_tets; t++)
    sum[body[t]] += part[t];
  const int inside = fabs(sum[0] - volume) < fabs(sum[1] - volume) ? 0 : 1;
  g_assert_cmpfloat_with_epsilon(sum[inside], volume, 1e-6 * volume);
  g_autofree bool *gone = g_new(bool, (gsize)c->n_tets);
  g_autofree int *vert = g_new(int, (gsize)c->n_verts), *tet = g_new(int, (gsize)c->n_tets);
  PlaError err = { 0 };
  for (int t = 0; t < c->n_tets; t++)
    gone[t] = body[t] != inside;
  g_assert_cmpint(pla_cut_mesh_remove(c, gone, vert, tet, &err), ==, PLA_OK);
  g_autofree double *fraction = g_new(double, (gsize)c->n_tets);
  pla_cut_mesh_fractions(c, fraction);
  for (int t = 0; t < c->n_tets; t++)
    fraction[t] = fmax(fraction[t], 0.05);
  PlaMesh *head = mesh_of(c->rest, c->n_verts, c->tet, c->n_tets, false);
  const double apart = open_mouth(head, fraction), glued = open_mouth(lattice, NULL);
  g_test_message("the upper lip follows by %.3f of the lower; in the lattice by %.3f", apart,
                 glued);
  g_assert_cmpfloat(1.0 - apart, >,
                    0.8); /* of the pull opens the mouth; the rest goes around its corner */
  g_assert_cmpfloat(glued, >, 0.5);
  pla_mesh_free(head);
  pla_cut_mesh_free(c);
  pla_mesh_free(lattice);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/sim/cut/claims/steps", test_steps);
  g_test_add_func("/sim/cut/claims/faces", test_faces);
  g_test_add_func("/sim/cut/claims/mouth", test_mouth);
  return g_test_run();
}
