/* Bodies for the tests of contact and of motion: boxes put together, carved, and models of them. */
#pragma once

#include "sim/contact/contact.h"
#include "tests/sim/fem/boxes.h"

/* the box [lo, hi] */
static inline PlaMesh *
mesh_box(const double lo[3], const double hi[3], const int n[3], PlaBoxCells cells)
{
  PlaMesh *mesh;
  PlaError err = { 0 };
  g_assert_cmpint(pla_box_mesh_new(lo, hi, n, cells, &mesh, &err), ==, PLA_OK);
  return mesh;
}

/* @a and @b side by side in one mesh; both are freed */
static inline PlaMesh *
mesh_join(PlaMesh *a, PlaMesh *b)
{
  PlaMesh *mesh;
  PlaError err = { 0 };
  g_assert_cmpint(pla_mesh_new(a->n_verts + b->n_verts, 0, a->n_tets + b->n_tets,
                               a->n_hexes + b->n_hexes, &mesh, &err),
                  ==, PLA_OK);
  memcpy(mesh->pos, a->pos, 3 * (size_t)a->n_verts * sizeof(double));
  memcpy(mesh->pos + 3 * a->n_verts, b->pos, 3 * (size_t)b->n_verts * sizeof(double));
  for (int i = 0; i < 4 * a->n_tets; i++)
    mesh->tet[i] = a->tet[i];
  for (int i = 0; i < 4 * b->n_tets; i++)
    mesh->tet[4 * a->n_tets + i] = a->n_verts + b->tet[i];
  for (int i = 0; i < 8 * a->n_hexes; i++)
    mesh->hex[i] = a->hex[i];
  for (int i = 0; i < 8 * b->n_hexes; i++)
    mesh->hex[8 * a->n_hexes + i] = a->n_verts + b->hex[i];
  pla_mesh_free(a);
  pla_mesh_free(b);
  return mesh;
}

/* only the tets whose centre @keep accepts, and the vertices they use; @mesh is freed */
static inline PlaMesh *
mesh_carve(PlaMesh *mesh, bool (*keep)(const double centre[3]))
{
  PlaMesh *out;
  PlaError err = { 0 };
  int *id = g_new(int, mesh->n_verts), n_verts = 0, n_tets = 0;
  bool *kept = g_new(bool, mesh->n_tets);
  for (int v = 0; v < mesh->n_verts; v++)
    id[v] = -1;
  for (int t = 0; t < mesh->n_tets; t++) {
    double centre[3] = { 0 };
    for (int i = 0; i < 12; i++)
      centre[i % 3] += mesh->pos[3 * mesh->tet[4 * t + i / 3] + i % 3] / 4.0;
    kept[t] = keep(centre);
    n_tets += kept[t];
    for (int a = 0; a < 4 && kept[t]; a++)
      if (id[mesh->tet[4 * t + a]] < 0)
        id[mesh->tet[4 * t + a]] = n_verts++;
  }
  g_assert_cmpint(pla_mesh_new(n_verts, 0, n_tets, 0, &out, &err), ==, PLA_OK);
  for (int v = 0; v < mesh->n_verts; v++)
    if (id[v] >= 0)
      memcpy(out->pos + 3 * id[v], mesh->pos + 3 * v, 3 * sizeof(double));
  for (int t = 0, k = 0; t < mesh->n_tets; t++)
    for (int a = 0; a < 4 && kept[t]; a++)
      out->tet[k++] = id[mesh->tet[4 * t + a]];
  g_free(id);
  g_free(kept);
  pla_mesh_free(mesh);
  return out;
}

/* a model of @mesh, which is freed */
static inline PlaFemModel *
model_of(PlaMesh *mesh, const char *material, double young, double poisson, double density)
{
  PlaFemMaterial m = { .material = pla_material_find(material), .density = density };
  const double param[PLA_MAX_CONSTANTS] = { young, poisson };
  PlaError err = { 0 };
  PlaFemModel *model;
  int *cell_material = pla_array_new0(pla_mesh_n_cells(mesh), sizeof *cell_material);
  g_assert_cmpint(m.material->prepare(param, m.constants, &err), ==, PLA_OK);
  g_assert_cmpint(pla_fem_model_new(mesh, &m, 1, cell_material, PLA_FORMULATION_STANDARD, &model,
                                    &err),
                  ==, PLA_OK);
  free(cell_material);
  pla_mesh_free(mesh);
  return model;
}

/* the surface of a ball, by halving the sides of an octahedron and pushing vertices out */
static inline PlaMesh *
mesh_ball(const double centre[3], double radius, int levels)
{
  const int n = 1 << levels, per_side = n * n;
  PlaMesh *mesh;
  PlaError err = { 0 };
  /* eight sides of n^2 triangles with vertices of their own; coincident ones are merged */
  double *pos = g_new(double, 3 * 8 * (n + 1) * (n + 1));
  int *tri = g_new(int, 3 * 8 * per_side), nv = 0, nt = 0;
  for (int side = 0; side < 8; side++) {
    int first[64][64];
    for (int i = 0; i <= n; i++)
      for (int j = 0; i + j <= n; j++) {
        double x[3] = { i, j, n - i - j };
        double length = sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]);
        for (int d = 0; d < 3; d++)
          x[d] = centre[d] + radius * x[d] / length * (side >> d & 1 ? -1.0 : 1.0);
        int found = -1;
        for (int v = 0; v < nv && found < 0; v++)
          if (fabs(pos[3 * v] - x[0]) + fabs(pos[3 * v + 1] - x[1]) + fabs(pos[3 * v + 2] - x[2]) <
              1e-9 * radius)
            found = v;
        if (found < 0) {
          memcpy(pos + 3 * nv, x, sizeof x);
          found = nv++;
        }
        first[i][j] = found;
      }
    bool mirrored = (side & 1) ^ (side >> 1 & 1) ^ (side >> 2 & 1);
    for (int i = 0; i < n; i++)
      for (int j = 0; i + j < n; j++)
        for (int upper = 0; upper < (i + j < n - 1 ? 2 : 1); upper++) {
          int v[3] = { upper ? first[i + 1][j] : first[i][j],
                       upper ? first[i + 1][j + 1] : first[i + 1][j], first[i][j + 1] };
          tri[nt++] = v[0];
          tri[nt++] = v[mirrored ? 2 : 1];
          tri[nt++] = v[mirrored ? 1 : 2];
        }
  }
  g_assert_cmpint(pla_mesh_new(nv, nt / 3, 0, 0, &mesh, &err), ==, PLA_OK);
  memcpy(mesh->pos, pos, 3 * (size_t)nv * sizeof *pos);
  memcpy(mesh->tri, tri, (size_t)nt * sizeof *tri);
  g_free(pos);
  g_free(tri);
  return mesh;
}

static inline PlaCollider *
collider_plane(double x, double y, double z, double nx, double ny, double nz)
{
  PlaCollider *plane;
  PlaError err = { 0 };
  g_assert_cmpint(pla_collider_new_plane((double[3]){ x, y, z }, (double[3]){ nx, ny, nz }, &plane,
                                         &err),
                  ==, PLA_OK);
  return plane;
}

/* the outer triangles of a box as a collider */
static inline PlaCollider *
collider_box(const double lo[3], const double hi[3])
{
  static const int tri[36] = { 0, 3, 1, 1, 3, 2, 4, 5, 6, 4, 6, 7, 0, 1, 5, 0, 5, 4,
                               1, 2, 6, 1, 6, 5, 2, 3, 7, 2, 7, 6, 3, 0, 4, 3, 4, 7 };
  PlaMesh *mesh;
  PlaCollider *collider;
  PlaError err = { 0 };
  g_assert_cmpint(pla_mesh_new(8, 12, 0, 0, &mesh, &err), ==, PLA_OK);
  for (int v = 0; v < 8; v++) {
    mesh->pos[3 * v] = v % 4 == 1 || v % 4 == 2 ? hi[0] : lo[0];
    mesh->pos[3 * v + 1] = v % 4 >= 2 ? hi[1] : lo[1];
    mesh->pos[3 * v + 2] = v >= 4 ? hi[2] : lo[2];
  }
  memcpy(mesh->tri, tri, sizeof tri);
  g_assert_cmpint(pla_collider_new_surface(mesh, &collider, &err), ==, PLA_OK);
  pla_mesh_free(mesh);
  return collider;
}
