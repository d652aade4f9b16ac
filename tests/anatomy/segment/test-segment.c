/* Thresholds on every element type, clean-up options, and the head preset on a made-up CT. */
#include "anatomy/base/memory.h"
#include "anatomy/base/parallel.h"
#include "anatomy/segment/segment.h"

#include <glib.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static PlaVolume *
new_volume(int ni, int nj, int nk, int nt, PlaDType dtype)
{
  const int dims[4] = { ni, nj, nk, nt };
  PlaVolume *vol;
  PlaError err = { 0 };
  g_assert_cmpint(pla_volume_new(dims, dtype, &vol, &err), ==, PLA_OK);
  return vol;
}

static void
test_threshold_types(void)
{
  for (int t = 0; t < PLA_N_DTYPES; t++) {
    PlaVolume *vol = new_volume(101, 1, 1, 2, (PlaDType)t);
    uint8_t mask[101];
    vol->slope = -0.5;
    vol->inter = 10.0;
    /* stored 0..100 in the second frame: values 10 down to -40 */
    for (size_t v = 0; v < 101; v++)
      pla_dtype_set(vol->dtype, vol->voxels, 101 + v, (double)v);
    pla_segment_threshold(vol, 1, -10.0, 0.0, mask);
    for (size_t v = 0; v < 101; v++)
      g_assert_cmpint(mask[v], ==, v >= 20 && v <= 40);
    pla_segment_threshold(vol, 0, 10.0, 10.0, mask);
    for (size_t v = 0; v < 101; v++)
      g_assert_cmpint(mask[v], ==, 1);
    pla_volume_free(vol);
  }
  PlaVolume *vol = new_volume(3, 1, 1, 1, PLA_F32);
  float *value = vol->voxels;
  uint8_t mask[3];
  value[0] = NAN;
  value[1] = INFINITY;
  value[2] = -INFINITY;
  pla_segment_threshold(vol, 0, -INFINITY, INFINITY, mask);
  g_assert_cmpint(mask[0], ==, 0);
  g_assert_cmpint(mask[1], ==, 1);
  g_assert_cmpint(mask[2], ==, 1);
  pla_volume_free(vol);
}

/* two boxes, one hollow; the frame comes through untouched */
static void
test_range_options(void)
{
  PlaVolume *vol = new_volume(20, 20, 20, 1, PLA_I16);
  int16_t *value = vol->voxels;
  PlaLabelMap *map;
  PlaSegmentReport report;
  PlaError err = { 0 };
  for (int v = 0; v < 8000; v++) {
    int i = v % 20, j = v / 20 % 20, k = v / 400;
    bool large = i >= 2 && i < 12 && j >= 2 && j < 12 && k >= 2 && k < 12;
    bool hollow = i >= 6 && i < 8 && j >= 6 && j < 8 && k >= 6 && k < 8;
    bool little = i >= 15 && i < 18 && j >= 15 && j < 18 && k >= 15 && k < 18;
    value[v] = (large && !hollow) || little ? 100 : 0;
  }
  const double affine[12] = { -0.33203125,   1e-7, 0, -84.83398438, 0,           0.33203125, 0,
                              -198.83398438, 0,    0, 0.69999999,   -318.3999939 };
  memcpy(vol->affine_mm, affine, sizeof affine);
  vol->audit = (PlaFrameAudit){ .source = PLA_FRAME_QFORM, .qform_code = 2, .quatern = { 0.1 } };

  PlaSegmentOptions opts = pla_segment_options_default();
  g_assert_cmpint(pla_segment(vol, &opts, NULL, &map, &report, &err), ==, PLA_ERR_USAGE);
  opts.lo = 50.0;
  opts.hi = 150.0;
  opts.label = 300;
  opts.name = "block";
  g_assert_cmpint(pla_segment(vol, &opts, NULL, &map, &report, &err), ==, PLA_OK);
  g_assert_cmpint(report.n_components, ==, 2);
  g_assert_cmpint(map->volume->dtype, ==, PLA_U16);
  g_assert_cmpstr(pla_label_table_find(&map->table, 300)->name, ==, "block");
  g_assert_cmpmem(map->volume->affine_mm, sizeof affine, affine, sizeof affine);
  g_assert_cmpmem(&map->volume->audit, sizeof vol->audit, &vol->audit, sizeof vol->audit);
  size_t *counts = pla_array_new0(65536, sizeof *counts);
  pla_label_map_count(map, counts);
  g_assert_cmpuint(counts[300], ==, 1000 - 8 + 27);
  pla_label_map_free(map);

  opts.largest = opts.fill_holes = true;
  opts.label = 7;
  g_assert_cmpint(pla_segment(vol, &opts, NULL, &map, &report, &err), ==, PLA_OK);
  g_assert_cmpint(report.n_components, ==, 1);
  pla_label_map_count(map, counts);
  g_assert_cmpuint(counts[7], ==, 1000);
  pla_label_map_free(map);

  /* nothing there, and nothing left */
  opts.lo = 200.0;
  opts.hi = 300.0;
  g_assert_cmpint(pla_segment(vol, &opts, NULL, &map, &report, &err), ==, PLA_ERR_EMPTY);
  g_assert_null(map);
  g_assert_nonnull(strstr(err.message, "0 to 100"));
  opts.lo = 50.0;
  opts.open_mm = 30.0;
  opts.largest = false;
  g_assert_cmpint(pla_segment(vol, &opts, NULL, &map, &report, &err), ==, PLA_ERR_EMPTY);
  g_assert_nonnull(strstr(err.message, "opening"));

  /* sense */
  opts = pla_segment_options_default();
  opts.preset = "knee";
  g_assert_cmpint(pla_segment(vol, &opts, NULL, &map, &report, &err), ==, PLA_ERR_USAGE);
  opts.preset = "ct-head";
  g_assert_cmpint(pla_segment(vol, &opts, NULL, &map, &report, &err), ==, PLA_ERR_EMPTY);
  g_assert_nonnull(strstr(err.message, "skull"));
  opts.largest = true;
  g_assert_cmpint(pla_segment(vol, &opts, NULL, &map, &report, &err), ==, PLA_ERR_USAGE);
  free(counts);
  pla_volume_free(vol);
}

/* What stands at a point of the made-up scan. */
typedef enum { ROOM = 0, HAIR, FOAM, REST, SKIN, EAR, SKULL, BRAIN, SINUS, NOSE_AIR, METAL } Part;

static bool
in_ellipsoid(const double p[3], double x, double y, double z, double a, double b, double c)
{
  double u = (p[0] - x) / a, v = (p[1] - y) / b, w = (p[2] - z) / c;
  return u * u + v * v + w * w <= 1.0;
}

/* A head of 150 x 190 mm cut at the level of the teeth.  It lies with the occiput on a carbon shell
 * that continues into a table; p in RAS mm, the scan's lowest plane is z = -60. */
static Part
part_at(const double p[3])
{
  const double x = fabs(p[0]), y = p[1], z = p[2];
  /* airway: two nasal passages from the nostrils, a pharynx that leaves through the lowest plane */
  if (z >= -42 && z <= -22 && x >= 2 && x <= 5.5 && y >= 20 && y <= 112)
    return NOSE_AIR;
  if (x <= 9 && y >= 8 && y <= 20 && z <= -22)
    return NOSE_AIR;
  if (in_ellipsoid((double[]){ x, y, z }, 26, 60, -30, 13, 14, 15))
    return SINUS;
  if (in_ellipsoid(p, 0, 84, 14, 16, 5, 10))
    return SINUS;
  if (in_ellipsoid((double[]){ x, y, z }, 22, 66, -54, 4, 4, 5))
    return METAL;
  /* skull: a shell in the vault, a block of facial bone around the cavities */
  bool vault = in_ellipsoid(p, 0, 0, 0, 67, 87, 92), brain = in_ellipsoid(p, 0, -2, 4, 60, 78, 84);
  bool face = x < 44 && y > 30 && y < 84 && z < 10;
  bool outer = in_ellipsoid(p, 0, 0, 0, 75, 95, 100);
  bool foramen = hypot(p[0], y + 25.0) < 12.0 && z < 0.0;
  if ((brain && z > -40 && !(face && z < -10)) || (vault && foramen))
    return BRAIN;
  if (vault && (z > -50 || face))
    return face || z > -42 ? SKULL : SKIN;
  if (outer)
    return SKIN;
  /* nose with thin wings around the passages, and ears as thin upright plates */
  if (x <= 10 && y > 60 && y <= 112 && z >= -46 && z <= -14 && y <= 124 - 0.5 * (z + 46))
    return SKIN;
  if (x >= 68 && x <= 92 && fabs(y + 10 + 0.6 * (x - 72)) <= 2.2 && fabs(z + 8) <= 28)
    return EAR;
  /* the shell: 4 mm of carbon on a circle that touches the occiput from below; the board behind */
  double r = hypot(p[0], y - 20.0);
  if (r >= 115.0 && r <= 119.0 && y < -20.0)
    return REST;
  if (y >= -150.0 && y <= -144.0)
    return REST;
  if (y < -90.0 && r > 119.0)
    return FOAM;
  if (in_ellipsoid(p, 0, 0, 0, 80, 100, 105) && y < 0)
    return HAIR;
  return ROOM;
}

static const double hounsfield[] = { -1000, -850, -880, 180, 30, 20, 1000, 38, -1000, -1000, 3000 };

/* @parts receives the truth; with @upside_down the slices run from head to foot */
static PlaVolume *
made_up_scan(bool upside_down, Part **parts)
{
  PlaVolume *vol = new_volume(90, 136, 70, 1, PLA_I16);
  GRand *rand = g_rand_new_with_seed(17);
  const double affine[12] = {
    -2.1, 0, 0, 94, 0, 2.1, 0, -160, 0, 0, upside_down ? -2.5 : 2.5, upside_down ? 112.5 : -60
  };
  int16_t *hu = vol->voxels;
  memcpy(vol->affine_mm, affine, sizeof affine);
  vol->slope = 2.0; /* HU = 2 stored - 1024, as some scanners write */
  vol->inter = -1024.0;
  *parts = pla_array_new(pla_volume_n_voxels(vol), sizeof **parts);
  size_t v = 0;
  for (int k = 0; k < vol->dims[2]; k++)
    for (int j = 0; j < vol->dims[1]; j++)
      for (int i = 0; i < vol->dims[0]; i++, v++) {
        const double ijk[3] = { i, j, k };
        double p[3], value, metal[2];
        pla_volume_to_ras_mm(vol, ijk, p);
        (*parts)[v] = part_at(p);
        value = hounsfield[(*parts)[v]] + 40.0 * (g_rand_double(rand) - 0.5);
        /* streaks: dark and bright rays in the slices that hold the fillings */
        metal[0] = fabs(p[0]) - 22.0;
        metal[1] = p[1] - 66.0;
        double far = hypot(metal[0], metal[1]);
        if (fabs(p[2] + 54.0) < 4.0 && far > 4.0 && far < 40.0 && (*parts)[v] != ROOM)
          value += 900.0 * sin(14.0 * atan2(metal[1], metal[0])) * exp(-far / 8.0);
        hu[v] = (int16_t)lround((fmin(fmax(value, -1024.0), 3071.0) + 1024.0) / 2.0);
      }
  g_rand_free(rand);
  return vol;
}

static void
test_ct_head(void)
{
  for (int upside_down = 0; upside_down < 2; upside_down++) {
    Part *parts;
    PlaVolume *vol = made_up_scan(upside_down, &parts);
    const size_t n = pla_volume_n_voxels(vol);
    const int before = pla_threads_get();
    PlaSegmentOptions opts = pla_segment_options_default();
    PlaSegmentReport report;
    PlaLabelMap *map, *again;
    PlaError err = { 0 };
    opts.preset = "ct-head";
    pla_threads_set(1);
    g_assert_cmpint(pla_segment(vol, &opts, NULL, &map, &report, &err), ==, PLA_OK);
    if (!upside_down) {
      pla_threads_set(4);
      g_assert_cmpint(pla_segment(vol, &opts, NULL, &again, NULL, &err), ==, PLA_OK);
      g_assert_cmpmem(map->volume->voxels, n, again->volume->voxels, n);
      pla_label_map_free(again);
    }
    pla_threads_set(before);

    /* truth against labels */
    size_t table[11][4] = { { 0 } }, labelled = 0;
    const uint8_t *label = map->volume->voxels;
    for (size_t v = 0; v < n; v++) {
      table[parts[v]][label[v]]++;
      labelled += label[v] != 0;
    }
    for (int p = 0; p < 11; p++)
      g_test_message("part %d: %zu none, %zu soft, %zu bone, %zu airway", p, table[p][0],
                     table[p][1], table[p][2], table[p][3]);

    /* nothing of the head-rest, and no airway outside the head */
    g_assert_cmpuint(table[REST][0], >, 20000);
    for (int t = 1; t < 4; t++)
      g_assert_cmpuint(table[REST][t] + table[FOAM][t] + table[ROOM][t] + table[HAIR][t], ==, 0);
    g_assert_cmpfloat(report.removed_mm3, >, 0.9 * (double)table[REST][0] * 2.1 * 2.1 * 2.5);

    /* the head is whole: skin, ears, cavities */
    const struct {
      Part part;
      int tissue;
      double share;
    } expected[] = { { SKIN, 1, 0.985 },   { EAR, 1, 0.97 },   { BRAIN, 1, 0.999 },
                     { SKULL, 2, 0.985 },  { METAL, 2, 0.99 }, { SINUS, 3, 0.99 },
                     { NOSE_AIR, 3, 0.93 } };
    for (size_t e = 0; e < G_N_ELEMENTS(expected); e++) {
      const size_t *row = table[expected[e].part];
      double all = (double)(row[0] + row[1] + row[2] + row[3]);
      g_assert_cmpfloat((double)row[expected[e].tissue], >=, expected[e].share * all);
    }
    g_assert_cmpint(report.n_components, ==, 1);
    g_assert_cmpfloat_with_epsilon(report.hull_mm3, (double)labelled * 2.1 * 2.1 * 2.5, 1e-3);
    g_assert_cmpstr(pla_label_table_find(&map->table, 3)->name, ==, "airway");

    /* soft tissue is one piece */
    uint32_t *number = pla_array_new(n, sizeof *number);
    size_t n_pieces;
    g_assert_cmpint(pla_components_find(vol->dims, label, 1, false, PLA_CONNECT_CORNERS, NULL,
                                        number, &n_pieces, NULL, &err),
                    ==, PLA_OK);
    g_assert_cmpuint(n_pieces, ==, 1);
    free(number);
    pla_label_map_free(map);
    pla_volume_free(vol);
    free(parts);
  }
}

static void
test_cancel(void)
{
  Part *parts;
  PlaVolume *vol = made_up_scan(false, &parts);
  PlaSegmentOptions opts = pla_segment_options_default();
  PlaLabelMap *map;
  PlaProgress progress;
  PlaError err = { 0 };
  pla_progress_init(&progress, NULL, NULL);
  pla_progress_cancel(&progress);
  opts.preset = "ct-head";
  g_assert_cmpint(pla_segment(vol, &opts, &progress, &map, NULL, &err), ==, PLA_ERR_CANCELLED);
  g_assert_null(map);
  pla_volume_free(vol);
  free(parts);
}

/* every preset has what the window and the command line show */
static void
test_presets(void)
{
  const PlaSegmentPreset *const *presets = pla_segment_presets_get();
  for (int p = 0; presets[p]; p++) {
    g_assert_true(pla_segment_preset_find(presets[p]->id) == presets[p]);
    g_assert_nonnull(presets[p]->title);
    g_assert_nonnull(presets[p]->run);
    g_assert_cmpint(presets[p]->tissue[0].id, >, 0);
    for (int t = 0; presets[p]->tissue[t].id; t++) {
      g_assert_cmpint(presets[p]->tissue[t].id, <, 256);
      g_assert_nonnull(presets[p]->tissue[t].name);
      g_assert_cmpint(presets[p]->tissue[t].rgba[3], ==, 255);
    }
  }
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/segment/threshold-types", test_threshold_types);
  g_test_add_func("/segment/range-options", test_range_options);
  g_test_add_func("/segment/ct-head", test_ct_head);
  g_test_add_func("/segment/cancel", test_cancel);
  g_test_add_func("/segment/presets", test_presets);
  return g_test_run();
}
