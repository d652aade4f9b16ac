/* Slices through ramps, whose trilinear samples are known exactly, at any affine; borders,
 * orientation and colours. */
#include "anatomy/volume/slice.h"

#include <glib.h>
#include <math.h>
#include <string.h>

/* rotated, sheared and mirrored, with uneven spacing */
static const double oblique[12] = { -0.8, 0.3,  0.1,  12.0, 0.2, 1.1,
                                    -0.3, -7.0, 0.15, 0.25, 1.9, 30.0 };

static double
ramp(const double ras[3])
{
  return 3.0 * ras[0] - 2.0 * ras[1] + 0.5 * ras[2] + 40.0;
}

static PlaVolume *
ramp_volume(PlaDType dtype)
{
  PlaVolume *vol = NULL;
  g_assert_cmpint(pla_volume_new((int[4]){ 20, 24, 16, 1 }, dtype, &vol, NULL), ==, PLA_OK);
  memcpy(vol->affine_mm, oblique, sizeof oblique);
  vol->slope = 0.25;
  vol->inter = 5.0;
  for (int k = 0, v = 0; k < 16; k++)
    for (int j = 0; j < 24; j++)
      for (int i = 0; i < 20; i++, v++) {
        double ras[3];
        pla_volume_to_ras_mm(vol, (double[3]){ i, j, k }, ras);
        pla_dtype_set(dtype, vol->voxels, (size_t)v, (ramp(ras) - 5.0) / 0.25);
      }
  return vol;
}

/* trilinear sampling of a ramp is exact wherever the plane lies */
static void
test_ramp(void)
{
  const struct {
    PlaDType dtype;
    double tolerance;
  } cases[] = { { PLA_F32, 1e-4 }, { PLA_F64, 1e-4 }, { PLA_I16, 0.13 }, { PLA_I32, 0.13 } };
  for (size_t c = 0; c < G_N_ELEMENTS(cases); c++) {
    PlaVolume *vol = ramp_volume(cases[c].dtype);
    double centre[3];
    pla_volume_to_ras_mm(vol, (double[3]){ 9.3, 11.1, 7.7 }, centre);
    for (int axis = 0; axis < 3; axis++) {
      PlaSlicePlane plane = pla_slice_plane((PlaAxis)axis, centre, 0.21, 31, 27, true);
      float value[31 * 27];
      pla_slice_values(vol, 0, &plane, true, value);
      for (int y = 0; y < 27; y++)
        for (int x = 0; x < 31; x++) {
          double ras[3];
          pla_slice_to_ras(&plane, x, y, ras);
          g_assert_cmpfloat_with_epsilon(value[31 * y + x], ramp(ras), cases[c].tolerance);
          double bx, by;
          pla_slice_from_ras(&plane, ras, &bx, &by);
          g_assert_cmpfloat_with_epsilon(bx, x, 1e-9);
          g_assert_cmpfloat_with_epsilon(by, y, 1e-9);
        }
    }
    pla_volume_free(vol);
  }
}

/* a volume fills exactly the box of its voxels, for values and for labels */
static void
test_border(void)
{
  PlaVolume *vol = NULL;
  g_assert_cmpint(pla_volume_new((int[4]){ 4, 4, 4, 1 }, PLA_U8, &vol, NULL), ==, PLA_OK);
  memset(vol->voxels, 7, 64);
  PlaSlicePlane plane =
      pla_slice_plane(PLA_AXIS_AXIAL, (double[3]){ 1.5, 1.5, 1.5 }, 0.25, 40, 40, false);
  float value[1600];
  uint16_t label[1600];
  pla_slice_values(vol, 0, &plane, true, value);
  PlaLabelMap *map = NULL;
  g_assert_cmpint(pla_label_map_take(vol, NULL, &map, NULL), ==, PLA_OK);
  pla_slice_labels(map, &plane, label);
  for (int y = 0; y < 40; y++)
    for (int x = 0; x < 40; x++) {
      double ras[3];
      pla_slice_to_ras(&plane, x, y, ras);
      bool inside = fabs(ras[0] - 1.5) < 2.0 && fabs(ras[1] - 1.5) < 2.0;
      g_assert_cmpint(isnan(value[40 * y + x]), ==, !inside);
      g_assert_cmpint(label[40 * y + x], ==, inside ? 7 : 0);
    }
  pla_label_map_free(map);
}

/* what is on the left of the picture */
static void
test_conventions(void)
{
  const struct {
    PlaAxis axis;
    bool radiological;
    const char *letters; /* left, right, top, bottom */
  } cases[] = {
    { PLA_AXIS_AXIAL, true, "RLAP" },    { PLA_AXIS_AXIAL, false, "LRAP" },
    { PLA_AXIS_CORONAL, true, "RLSI" },  { PLA_AXIS_CORONAL, false, "LRSI" },
    { PLA_AXIS_SAGITTAL, true, "APSI" }, { PLA_AXIS_SAGITTAL, false, "APSI" },
  };
  for (size_t c = 0; c < G_N_ELEMENTS(cases); c++) {
    PlaSlicePlane p =
        pla_slice_plane(cases[c].axis, (double[3]){ 0, 0, 0 }, 1.0, 9, 9, cases[c].radiological);
    double left[3], up[3];
    for (int d = 0; d < 3; d++) {
      left[d] = -p.right_mm[d];
      up[d] = -p.down_mm[d];
    }
    g_assert_cmpint(pla_direction_letter(left), ==, cases[c].letters[0]);
    g_assert_cmpint(pla_direction_letter(p.right_mm), ==, cases[c].letters[1]);
    g_assert_cmpint(pla_direction_letter(up), ==, cases[c].letters[2]);
    g_assert_cmpint(pla_direction_letter(p.down_mm), ==, cases[c].letters[3]);
  }
}

static void
test_colours(void)
{
  const float value[5] = { -10.0f, 0.0f, 50.0f, 400.0f, NAN };
  uint32_t pixel[5];
  pla_slice_grey(value, 5, 0.0, 100.0, 0xff102030u, pixel);
  g_assert_cmphex(pixel[0], ==, 0xff000000u);
  g_assert_cmphex(pixel[1], ==, 0xff000000u);
  g_assert_cmphex(pixel[2], ==, 0xff808080u);
  g_assert_cmphex(pixel[3], ==, 0xffffffffu);
  g_assert_cmphex(pixel[4], ==, 0xff102030u);

  /* a 3 x 3 block of label 2 in a 5 x 5 picture: its middle is fill, its ring is line */
  uint16_t label[25] = { 0 };
  uint32_t grey[25];
  for (int i = 0; i < 25; i++)
    grey[i] = 0xff646464u;
  for (int y = 1; y < 4; y++)
    for (int x = 1; x < 4; x++)
      label[5 * y + x] = 2;
  PlaLabelTable table = { 0 };
  const uint8_t rgba[4] = { 200, 0, 100, 255 };
  g_assert_cmpint(pla_label_table_set(&table, 2, "x", rgba, NULL), ==, PLA_OK);
  pla_slice_overlay(label, &table, 0.5, 1.0, 5, 5, grey);
  g_assert_cmphex(grey[0], ==, 0xff646464u);
  g_assert_cmphex(grey[6], ==, 0xffc80064u);
  g_assert_cmphex(grey[12], ==, 0xff963264u);
  pla_label_table_clear(&table);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/slice/ramp", test_ramp);
  g_test_add_func("/slice/border", test_border);
  g_test_add_func("/slice/conventions", test_conventions);
  g_test_add_func("/slice/colours", test_colours);
  return g_test_run();
}
