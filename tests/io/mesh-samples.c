/* Meshes for the tests of mesh formats. */
#include "tests/io/mesh-samples.h"

#include "tests/io/fuzz.h"

#include <glib.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

static int
grid_vert(int n, int i, int j, int k)
{
  return (k * (n + 1) + j) * (n + 1) + i;
}

/* odd on purpose: escapes, blanks, quotes, UTF-8 */
static const char *const field_names[PLA_N_DTYPES] = {
  "a&b",    "<x>",   "say \"hi\"", "per cent %41", "\xc3\xa9lan",
  "region", "id 64", "count",      "heat",         "u",
};

static void
add_fields(PlaMesh *mesh)
{
  uint64_t state = 7;
  for (int place = 0; place < 2; place++)
    for (int t = 0; t < PLA_N_DTYPES; t++) {
      static const int components[PLA_N_DTYPES] = { 1, 1, 2, 1, 1, 1, 1, 1, 3, 9 };
      PlaDType dtype = t == 5 ? PLA_I32 : (PlaDType)t; /* "region" is a tag */
      uint8_t *data =
          pla_mesh_add_field(mesh, field_names[t], (PlaFieldPlace)place, dtype, components[t]);
      g_assert_nonnull(data);
      size_t n = pla_field_n_tuples(mesh, &mesh->field[mesh->n_fields - 1]) * (size_t)components[t];
      for (size_t i = 0; i < n; i++) {
        uint64_t r = pla_test_random(&state);
        if (t == 5)
          ((int32_t *)data)[i] = 1 + (int32_t)(r % 3);
        else if (dtype == PLA_F32)
          ((float *)data)[i] = (float)((double)(int64_t)r * 1e-17);
        else if (dtype == PLA_F64)
          ((double *)data)[i] = (double)(int64_t)r * 1e-17;
        else
          memcpy(data + i * pla_dtype_size(dtype), &r, pla_dtype_size(dtype));
      }
    }
}

PlaMesh *
pla_sample_mesh(int n, unsigned parts)
{
  int side = n + 1, n_cubes = n * n * n;
  PlaMesh *mesh;
  PlaError err = { 0 };
  g_assert_cmpint(pla_mesh_new(side * side * side, parts & PLA_SAMPLE_TRIS ? 12 * n * n : 0,
                               parts & PLA_SAMPLE_TETS ? 6 * n_cubes : 0,
                               parts & PLA_SAMPLE_HEXES ? n_cubes : 0, &mesh, &err),
                  ==, PLA_OK);
  uint64_t state = 3;
  for (int v = 0; v < mesh->n_verts; v++) {
    int at[3] = { v % side, v / side % side, v / side / side };
    for (int d = 0; d < 3; d++) {
      double jitter = (double)(pla_test_random(&state) % 10007) / 10007.0 - 0.5;
      double mm = 3.7 * at[d] + 0.4 * jitter - 1.3 * n;
      mesh->pos[3 * v + d] = parts & PLA_SAMPLE_SINGLE ? (double)(float)mm / 1000.0 : mm / 1000.0;
    }
  }
  mesh->single = (parts & PLA_SAMPLE_SINGLE) != 0;

  /* six tets about the main diagonal of each cube */
  static const int path[6][2] = { { 1, 3 }, { 3, 2 }, { 2, 6 }, { 6, 4 }, { 4, 5 }, { 5, 1 } };
  for (int c = 0; c < n_cubes; c++) {
    int i = c % n, j = c / n % n, k = c / n / n, corner[8];
    for (int b = 0; b < 8; b++)
      corner[b] = grid_vert(n, i + (b & 1), j + (b >> 1 & 1), k + (b >> 2));
    for (int t = 0; t < 6 && mesh->n_tets; t++) {
      int *tet = mesh->tet + 4 * (6 * c + t);
      tet[0] = corner[0];
      tet[1] = corner[path[t][0]];
      tet[2] = corner[path[t][1]];
      tet[3] = corner[7];
    }
    static const int vtk[8] = { 0, 1, 3, 2, 4, 5, 7, 6 };
    for (int b = 0; b < 8 && mesh->n_hexes; b++)
      mesh->hex[8 * c + b] = corner[vtk[b]];
  }

  /* the six sides, outward */
  int *tri = mesh->tri;
  for (int s = 0; s < 6 && mesh->n_tris; s++)
    for (int a = 0; a < n; a++)
      for (int b = 0; b < n; b++) {
        int q[4];
        for (int c = 0; c < 4; c++) {
          int at[3], axis = s / 2;
          at[axis] = s % 2 ? n : 0;
          at[(axis + 1) % 3] = a + (c == 1 || c == 2);
          at[(axis + 2) % 3] = b + (c >= 2);
          q[c] = grid_vert(n, at[0], at[1], at[2]);
        }
        const int order[2][6] = { { 0, 2, 1, 0, 3, 2 }, { 0, 1, 2, 0, 2, 3 } };
        for (int c = 0; c < 6; c++)
          *tri++ = q[order[s % 2][c]];
      }
  if (parts & PLA_SAMPLE_FIELDS)
    add_fields(mesh);
  return mesh;
}

/* doubles as integers that count ulps */
static int64_t
ulp_order(double x)
{
  int64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits < 0 ? INT64_MIN - bits : bits;
}

void
pla_assert_same_geometry(const PlaMesh *a, const PlaMesh *b, int max_ulp)
{
  g_assert_cmpint(a->n_verts, ==, b->n_verts);
  g_assert_cmpint(a->n_tris, ==, b->n_tris);
  g_assert_cmpint(a->n_tets, ==, b->n_tets);
  g_assert_cmpint(a->n_hexes, ==, b->n_hexes);
  for (size_t i = 0; i < 3 * (size_t)a->n_verts; i++) {
    int64_t apart = ulp_order(a->pos[i]) - ulp_order(b->pos[i]);
    g_assert_cmpint(ABS(apart), <=, max_ulp);
  }
  g_assert_cmpmem(a->tri, 12 * (size_t)a->n_tris, b->tri, 12 * (size_t)b->n_tris);
  g_assert_cmpmem(a->tet, 16 * (size_t)a->n_tets, b->tet, 16 * (size_t)b->n_tets);
  g_assert_cmpmem(a->hex, 32 * (size_t)a->n_hexes, b->hex, 32 * (size_t)b->n_hexes);
}

void
pla_assert_same_fields(const PlaMesh *a, const PlaMesh *b)
{
  g_assert_cmpint(a->n_fields, ==, b->n_fields);
  for (int f = 0; f < a->n_fields; f++) {
    const PlaField *x = &a->field[f], *y = pla_mesh_find_field(b, x->name, x->place);
    if (!y)
      g_error("the field %s is missing", x->name);
    g_assert_cmpint(x->dtype, ==, y->dtype);
    g_assert_cmpint(x->n_components, ==, y->n_components);
    size_t bytes = pla_field_n_tuples(a, x) * (size_t)x->n_components * pla_dtype_size(x->dtype);
    g_assert_cmpmem(x->data, bytes, y->data, bytes);
  }
}

void
pla_assert_same_field_values(const PlaMesh *a, const PlaMesh *b)
{
  g_assert_cmpint(a->n_fields, ==, b->n_fields);
  for (int f = 0; f < a->n_fields; f++) {
    const PlaField *x = &a->field[f], *y = pla_mesh_find_field(b, x->name, x->place);
    if (!y)
      g_error("the field %s is missing", x->name);
    g_assert_cmpint(x->n_components, ==, y->n_components);
    size_t n = pla_field_n_tuples(a, x) * (size_t)x->n_components;
    for (size_t i = 0; i < n; i++)
      g_assert_cmpfloat(pla_dtype_get(x->dtype, x->data, i), ==,
                        pla_dtype_get(y->dtype, y->data, i));
  }
}

void
pla_mesh_write_sample(const PlaFormat *format, const char *path, const PlaMesh *mesh,
                      const PlaWriteOptions *opts)
{
  PlaWriteOptions defaults = pla_write_options_default();
  PlaItem item = { .kind = PLA_KIND_MESH, .mesh = (PlaMesh *)mesh };
  PlaError err = { 0 };
  if (format->write(path, &item, opts ? opts : &defaults, &err) != PLA_OK)
    g_error("writing %s: %s", path, err.message);
}

PlaItem
pla_mesh_round_trip(const PlaFormat *format, const char *file_name, const PlaMesh *mesh,
                    const PlaWriteOptions *opts)
{
  g_autofree char *path = pla_test_path(file_name);
  pla_mesh_write_sample(format, path, mesh, opts);
  PlaItem out;
  PlaError err = { 0 };
  PlaReadOptions read = pla_read_options_default();
  if (pla_item_read(path, &read, &out, &err) != PLA_OK)
    g_error("reading %s: %s", path, err.message);
  g_assert_cmpint(out.kind, ==, PLA_KIND_MESH);
  return out;
}

void
pla_mesh_fuzz(const PlaFormat *format, const char *extension, const PlaMesh *mesh,
              const PlaWriteOptions *opts)
{
  g_autofree char *name = g_strconcat("whole", extension, NULL);
  g_autofree char *path = pla_test_path(name);
  pla_mesh_write_sample(format, path, mesh, opts);
  g_autofree char *data = NULL;
  gsize size;
  g_assert_true(g_file_get_contents(path, &data, &size, NULL));
  PlaFuzz fuzz = { .format = format, .extension = extension };
  pla_fuzz_run(&fuzz, (const uint8_t *)data, size);
}

PlaStatus
pla_read_text(const PlaFormat *format, const char *file_name, const void *data, size_t size,
              PlaItem *out, PlaError *err)
{
  g_autofree char *path = pla_test_path(file_name);
  g_assert_true(g_file_set_contents(path, data, (gssize)size, NULL));
  PlaReadOptions read = pla_read_options_default();
  *out = (PlaItem){ 0 };
  PlaStatus st = format->read(path, &read, out, err);
  g_remove(path);
  return st;
}

void
pla_assert_refused(const PlaFormat *format, const char *file_name, const char *text,
                   const char *expected)
{
  PlaItem item;
  PlaError err = { 0 };
  g_assert_cmpint(pla_read_text(format, file_name, text, strlen(text), &item, &err), !=, PLA_OK);
  if (!strstr(err.message, expected) || !strstr(err.message, file_name))
    g_error("the refusal does not say \"%s\" of %s: %s", expected, file_name, err.message);
}

void
pla_assert_note(const PlaItem *item, const char *expected)
{
  for (int i = 0; i < item->notes.n; i++)
    if (strstr(item->notes.text[i], expected))
      return;
  g_error("no note says \"%s\"", expected);
}
