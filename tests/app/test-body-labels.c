/* `platysma-cli body` on labels that are hard to make a body of: one voxel, tissues that touch,
 * holes, sheets as thin as a voxel, nothing.  Each has a body of the label's own volume, or a
 * sentence. */
#include "io/formats/format.h"
#include "tests/app/verb-test.h"

#include <glib/gstdio.h>
#include <math.h>

typedef struct {
  const char *name;
  double spacing_mm[3];
  int n[3];
  /* label of a voxel: 0, 1 or 2 */
  int (*label)(const int at[3]);
  const char *cell_mm;
  double within;  /* of the labels' volume, a share of it */
  int components; /* of the body */
} Odd;

static bool
inside(const int at[3], int lo, int hi)
{
  for (int d = 0; d < 3; d++)
    if (at[d] < lo || at[d] >= hi)
      return false;
  return true;
}

static int
one_voxel(const int at[3])
{
  return inside(at, 4, 5);
}

static int
touching(const int at[3])
{
  return !inside(at, 4, 20) ? 0 : at[0] < 12 ? 1 : 2;
}

static int
touching_edge(const int at[3])
{
  /* two blocks with one edge in common */
  return at[2] < 4 || at[2] >= 20 ? 0 : (at[0] < 12) == (at[1] < 12) ? inside(at, 4, 20) : 0;
}

static int
hollow(const int at[3])
{
  double r2 = 0.0;
  for (int d = 0; d < 3; d++)
    r2 += (at[d] - 11.5) * (at[d] - 11.5);
  return r2 < 100.0 && r2 > 25.0;
}

static int
pierced(const int at[3])
{
  const double r2 = (at[0] - 11.5) * (at[0] - 11.5) + (at[1] - 11.5) * (at[1] - 11.5);
  return inside(at, 3, 21) && r2 > 16.0;
}

static int
sheet(const int at[3])
{
  return at[0] >= 5 && at[0] < 55 && at[1] >= 5 && at[1] < 55 && at[2] == 4;
}

static const Odd odd[] = {
  { "one-voxel", { 1, 1, 1 }, { 9, 9, 9 }, one_voxel, "2", 0.6, 1 },
  { "touching", { 1, 1, 1 }, { 24, 24, 24 }, touching, "6", 0.03, 1 },
  { "edge", { 1, 1, 1 }, { 24, 24, 24 }, touching_edge, "6", 0.05, -1 },
  /* a cavity of 2 ml; those below 1 ml are filled, as faults of a segmentation */
  { "hollow", { 1.6, 1.6, 1.6 }, { 24, 24, 24 }, hollow, "9", 0.03, 1 },
  { "bubble", { 1, 1, 1 }, { 24, 24, 24 }, hollow, "6", 0.15, 1 },
  { "pierced", { 1, 1, 1 }, { 24, 24, 24 }, pierced, "6", 0.03, 1 },
  /* 0.2 mm thin, in cells of twenty times that */
  { "sheet", { 0.2, 0.2, 0.2 }, { 60, 60, 9 }, sheet, "4", 0.35, 1 },
};

static double
write_labels(const Odd *it, const char *path)
{
  const int dims[4] = { it->n[0], it->n[1], it->n[2], 1 };
  PlaItem item = { .kind = PLA_KIND_VOLUME };
  PlaError err;
  PlaWriteOptions write = pla_write_options_default();
  g_assert_cmpint(pla_volume_new(dims, PLA_U8, &item.volume, &err), ==, PLA_OK);
  const double *h = it->spacing_mm;
  const double affine[12] = { h[0], 0, 0, -5, 0, h[1], 0, 3, 0, 0, h[2], 7 };
  memcpy(item.volume->affine_mm, affine, sizeof affine);
  size_t voxel = 0, count = 0;
  for (int k = 0; k < dims[2]; k++)
    for (int j = 0; j < dims[1]; j++)
      for (int i = 0; i < dims[0]; i++) {
        const int at[3] = { i, j, k };
        const int label = it->label(at);
        ((uint8_t *)item.volume->voxels)[voxel++] = (uint8_t)label;
        count += label != 0;
      }
  g_assert_cmpint(pla_item_write(path, &item, &write, &err), ==, PLA_OK);
  pla_item_clear(&item);
  return (double)count * h[0] * h[1] * h[2];
}

static void
test_odd(gconstpointer data)
{
  const Odd *it = data;
  g_autofree char *folder = g_dir_make_tmp("platysma-odd-XXXXXX", NULL);
  g_autofree char *labels = g_build_filename(folder, "labels.nii", NULL);
  g_autofree char *body = g_build_filename(folder, "body.vtu", NULL);
  const double volume_mm3 = write_labels(it, labels);
  const char *both = it->label == touching ? "1,2" : "1";
  g_autoptr(JsonObject) made =
      verb_test_runf(0, "body %s --label %s --cell-mm %s -o %s", labels, both, it->cell_mm, body);
  const double made_mm3 = json_object_get_double_member(made, "volume_mm3");
  g_test_message("%s: %g of %g mm3, %d pieces", it->name, made_mm3, volume_mm3,
                 (int)json_object_get_int_member(made, "components"));
  g_assert_cmpfloat(fabs(made_mm3 - volume_mm3), <=, it->within * volume_mm3);
  if (it->components > 0)
    g_assert_cmpint(json_object_get_int_member(made, "components"), ==, it->components);
  /* half a voxel from the labels, which have corners */
  g_assert_cmpfloat(json_object_get_double_member(made, "skin_deviation_mm"), <=,
                    it->spacing_mm[0]);
  g_remove(labels);
  g_remove(body);
  g_rmdir(folder);
}

/* labels without a voxel, and a map with nothing in it */
static void
test_nothing(void)
{
  g_autofree char *folder = g_dir_make_tmp("platysma-odd-XXXXXX", NULL);
  g_autofree char *labels = g_build_filename(folder, "labels.nii", NULL);
  g_autofree char *body = g_build_filename(folder, "body.vtu", NULL);
  write_labels(&odd[0], labels);
  /* an empty label is an exit status of its own */
  static const struct {
    const char *words;
    int status;
  } cases[] = { { "--label 2", 1 }, { "--label 1,2", 1 }, { "", 1 } };
  for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autofree char *line =
        g_strdup_printf("body %s %s --cell-mm 2 -o %s", labels, cases[i].words, body);
    JsonObject *told = verb_test_run(line, cases[i].status);
    json_object_unref(told);
    g_assert_false(g_file_test(body, G_FILE_TEST_EXISTS));
  }
  g_remove(labels);
  g_rmdir(folder);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  for (gsize i = 0; i < G_N_ELEMENTS(odd); i++) {
    g_autofree char *path = g_strdup_printf("/body-labels/%s", odd[i].name);
    g_test_add_data_func(path, &odd[i], test_odd);
  }
  g_test_add_func("/body-labels/nothing", test_nothing);
  return g_test_run();
}
