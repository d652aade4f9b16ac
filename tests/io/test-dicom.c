/* DICOM series: places, sides, types, packings, refusals, privacy and damage. */
#include "anatomy/base/sanitizer.h"
#include "io/formats/format-dicom.h"
#include "io/formats/formats.h"
#include "tests/io/dicom-writer.h"
#include "tests/io/fuzz.h"

#include <glib.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

enum { COLUMNS = 12, ROWS = 10, SLICES = 7, PER_SLICE = COLUMNS * ROWS };

/* the marker voxel, off centre along every axis */
enum { MARK_I = 9, MARK_J = 2, MARK_K = 1, MARK = 2000 };

/* A stack of slices in LPS mm. */
typedef struct {
  double origin[3], orientation[6], spacing[2]; /* between rows, between columns */
  double step[3];                               /* from slice to slice */
} Stack;

static const Stack axial = {
  { -40.0, -35.0, 12.5 }, { 1, 0, 0, 0, 1, 0 }, { 0.75, 0.5 }, { 0, 0, 1.25 }
};

static void
fill_slice(int k, int16_t *pixels)
{
  for (int j = 0; j < ROWS; j++)
    for (int i = 0; i < COLUMNS; i++)
      pixels[j * COLUMNS + i] = (int16_t)(130 * k + 12 * j + i - 400);
  if (k == MARK_K)
    pixels[MARK_J * COLUMNS + MARK_I] = MARK;
}

static TestDicom
slice_spec(const Stack *stack, int k, const int16_t *pixels)
{
  TestDicom s = { .columns = COLUMNS,
                  .rows = ROWS,
                  .bits_allocated = 16,
                  .bits_stored = 16,
                  .is_signed = true,
                  .pixels = pixels,
                  .slope = 1.0,
                  .inter = 0.0,
                  .series = 1,
                  .instance = k + 1 };
  memcpy(s.orientation, stack->orientation, sizeof s.orientation);
  memcpy(s.pixel_spacing, stack->spacing, sizeof s.pixel_spacing);
  for (int d = 0; d < 3; d++)
    s.position[d] = stack->origin[d] + k * stack->step[d];
  return s;
}

/* a fresh folder in the test's own */
static char *
new_folder(const char *name)
{
  char *path = pla_test_path(name);
  g_assert_cmpint(g_mkdir(path, 0700), ==, 0);
  return path;
}

/* names run against the order of the slices */
static char *
slice_path(const char *folder, int k)
{
  g_autofree char *name = g_strdup_printf("IM%02d", (k * 5 + 3) % SLICES);
  return g_build_filename(folder, name, NULL);
}

static void
write_slice(const char *folder, int k, const TestDicom *spec)
{
  g_autofree char *path = slice_path(folder, k);
  test_dicom_write(path, spec);
}

static void
write_stack(const char *folder, const Stack *stack, TestDicomSyntax syntax)
{
  for (int k = 0; k < SLICES; k++) {
    int16_t pixels[PER_SLICE];
    fill_slice(k, pixels);
    TestDicom s = slice_spec(stack, k, pixels);
    s.syntax = syntax;
    write_slice(folder, k, &s);
  }
}

/* reading fails with a sentence that holds all @words */
static void
refused(const char *path, int series, const char *const *words)
{
  PlaReadOptions opts = pla_read_options_default();
  PlaItem item;
  PlaError err = { 0 };
  opts.series = series;
  PlaStatus st = pla_item_read(path, &opts, &item, &err);
  g_assert_cmpint(st, !=, PLA_OK);
  for (; *words; words++)
    if (!strstr(err.message, *words))
      g_error("'%s' is missing in: %s", *words, err.message);
}

static bool
has_note(const PlaItem *item, const char *word)
{
  for (int i = 0; i < item->notes.n; i++)
    if (strstr(item->notes.text[i], word))
      return true;
  return false;
}

/* every value where it belongs, whatever way the slices run */
static void
check_voxels(const PlaVolume *vol)
{
  g_assert_cmpint(vol->dims[0], ==, COLUMNS);
  g_assert_cmpint(vol->dims[1], ==, ROWS);
  g_assert_cmpint(vol->dims[2], ==, SLICES);
  g_assert_cmpint(vol->dims[3], ==, 1);
  for (int k = 0; k < SLICES; k++) {
    int16_t expected[PER_SLICE];
    fill_slice(k, expected);
    for (int v = 0; v < PER_SLICE; v++) {
      double got =
          vol->slope * pla_dtype_get(vol->dtype, vol->voxels, (size_t)(k * PER_SLICE + v)) +
          vol->inter;
      g_assert_cmpfloat(got, ==, expected[v]);
    }
  }
}

/* the marker's voxel centre in RAS against the DICOM formula; mm */
static double
marker_error(const PlaVolume *vol, const Stack *stack)
{
  double ijk[3] = { -1, -1, -1 }, ras[3], worst = 0.0;
  for (int k = 0; k < vol->dims[2]; k++)
    for (int j = 0; j < ROWS; j++)
      for (int i = 0; i < COLUMNS; i++)
        if (pla_dtype_get(vol->dtype, vol->voxels, (size_t)(i + COLUMNS * (j + ROWS * k))) ==
            MARK) {
          ijk[0] = i;
          ijk[1] = j;
          ijk[2] = k;
        }
  g_assert_cmpfloat(ijk[0], >=, 0.0);
  pla_volume_to_ras_mm(vol, ijk, ras);
  for (int d = 0; d < 3; d++) {
    double lps = stack->origin[d] + MARK_I * stack->spacing[1] * stack->orientation[d] +
                 MARK_J * stack->spacing[0] * stack->orientation[3 + d] + MARK_K * stack->step[d];
    worst = fmax(worst, fabs(ras[d] - (d < 2 ? -lps : lps)));
  }
  return worst;
}

static void
test_places(void)
{
  const double c = cos(0.3), s = sin(0.3), t = tan(0.35);
  const struct {
    const char *name, *letters;
    Stack stack;
    const char *note;
  } cases[] = {
    { "axial", "LPS", axial, NULL },
    { "downwards",
      "LPS",
      { { -40, -35, 80 }, { 1, 0, 0, 0, 1, 0 }, { 0.75, 0.5 }, { 0, 0, -1.25 } },
      NULL },
    { "feet-first",
      "RPI",
      { { 40, -35, 12.5 }, { -1, 0, 0, 0, 1, 0 }, { 0.75, 0.5 }, { 0, 0, -1.25 } },
      NULL },
    { "coronal",
      "LIP",
      { { -40, 20, 80 }, { 1, 0, 0, 0, 0, -1 }, { 0.75, 0.5 }, { 0, 2, 0 } },
      NULL },
    { "sagittal",
      "PIR",
      { { -30, -20, 80 }, { 0, 1, 0, 0, 0, -1 }, { 0.75, 0.5 }, { -1.5, 0, 0 } },
      NULL },
    { "oblique",
      "LPS",
      { { -40, -35, 12.5 },
        { c, s, 0, -s * c, c * c, s },
        { 0.75, 0.5 },
        { 1.5 * s * s, -1.5 * s * c, 1.5 * c } },
      NULL },
    { "tilted",
      "LPS",
      { { -40, -35, 12.5 }, { 1, 0, 0, 0, 1, 0 }, { 0.75, 0.5 }, { 0, 1.25 * t, 1.25 } },
      "20.05 degrees" },
    { "head",
      "LPS",
      { { -84.83398438, -198.83398438, -318.3999939 },
        { 1, 0, 0, 0, 1, 0 },
        { 0.33203125, 0.33203125 },
        { 0, 0, 0.69999999 } },
      NULL },
  };
  for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autofree char *folder = new_folder(cases[i].name);
    write_stack(folder, &cases[i].stack, TEST_DICOM_EXPLICIT);
    PlaItem item = pla_test_item_read(folder, NULL);
    double error = marker_error(item.volume, &cases[i].stack);
    if (error > 1e-3)
      g_error("%s: the marker is %g mm off", cases[i].name, error);
    char letters[4];
    pla_volume_orientation(item.volume, letters);
    g_assert_cmpstr(letters, ==, cases[i].letters);
    g_assert_cmpint(item.volume->audit.source, ==, PLA_FRAME_DICOM);
    if (cases[i].note)
      g_assert_true(has_note(&item, cases[i].note));
    g_assert_true(has_note(&item, "tilt") == (cases[i].note != NULL));
    pla_item_clear(&item);
  }
}

/* a marker on the patient's left has negative x */
static void
test_left_stays_left(void)
{
  const Stack left = { { 20.0, -35.0, 12.5 }, { 1, 0, 0, 0, 1, 0 }, { 0.75, 0.5 }, { 0, 0, 1.25 } };
  g_autofree char *folder = new_folder("left");
  write_stack(folder, &left, TEST_DICOM_EXPLICIT);
  PlaItem item = pla_test_item_read(folder, NULL);
  const double ijk[3] = { MARK_I, MARK_J, MARK_K };
  double ras[3];
  pla_volume_to_ras_mm(item.volume, ijk, ras);
  g_assert_cmpfloat_with_epsilon(ras[0], -24.5, 1e-9); /* 24.5 mm to the left */
  g_assert_cmpfloat_with_epsilon(ras[1], 33.5, 1e-9);  /* 33.5 mm to the front */
  g_assert_cmpfloat_with_epsilon(ras[2], 13.75, 1e-9);
  pla_item_clear(&item);
}

static void
test_syntaxes(void)
{
  for (int syntax = 0; syntax < TEST_DICOM_N_SYNTAXES; syntax++) {
    g_autofree char *name = g_strdup_printf("syntax-%d", syntax);
    g_autofree char *folder = new_folder(name);
    write_stack(folder, &axial, syntax);
    PlaItem item = pla_test_item_read(folder, NULL);
    check_voxels(item.volume);
    g_assert_cmpfloat(marker_error(item.volume, &axial), <, 1e-9);
    pla_item_clear(&item);
  }
}

/* files that other programs packed */
static void
test_foreign_packers(void)
{
  const char *const tools[][3] = {
    { "dcmcjpeg", "+e1", NULL }, /* JPEG lossless, first order */
    { "dcmcjpeg", "+el", NULL }, /* JPEG lossless, any predictor */
    { "dcmcrle", NULL, NULL },          { "dcmcjpls", NULL, NULL }, { "gdcmconv", "--j2k", NULL },
    { "gdcmconv", "--implicit", NULL }, { "dcmconv", "+td", NULL }, /* deflated */
    { "dcmconv", "+tb", NULL },                                     /* big endian */
  };
  for (size_t t = 0; t < G_N_ELEMENTS(tools); t++) {
    g_autofree char *program = g_find_program_in_path(tools[t][0]);
    if (!program) {
      g_test_message("%s is not installed", tools[t][0]);
      continue;
    }
    g_autofree char *plain_name = g_strdup_printf("plain-%zu", t);
    g_autofree char *packed_name = g_strdup_printf("packed-%zu", t);
    g_autofree char *plain = new_folder(plain_name);
    g_autofree char *packed = new_folder(packed_name);
    write_stack(plain, &axial, TEST_DICOM_EXPLICIT);
    for (int k = 0; k < SLICES; k++) {
      g_autofree char *from = slice_path(plain, k);
      g_autofree char *to = slice_path(packed, k);
      const char *argv[5] = { program };
      int n = 1;
      if (tools[t][1])
        argv[n++] = tools[t][1];
      argv[n++] = from;
      argv[n++] = to;
      g_autoptr(GError) error = NULL;
      int status;
      g_spawn_sync(NULL, (char **)argv, NULL,
                   G_SPAWN_STDOUT_TO_DEV_NULL | G_SPAWN_STDERR_TO_DEV_NULL, NULL, NULL, NULL, NULL,
                   &status, &error);
      g_assert_no_error(error);
      g_assert_cmpint(status, ==, 0);
    }
    PlaItem item = pla_test_item_read(packed, NULL);
    check_voxels(item.volume);
    pla_item_clear(&item);
  }
}

/* 8 and 16 bits, signed or not, with fewer bits stored and rubbish above them */
static void
test_types(void)
{
  const struct {
    int allocated, stored;
    bool is_signed;
    PlaDType dtype;
  } types[] = {
    { 8, 8, false, PLA_U8 },    { 8, 8, true, PLA_I8 },     { 16, 16, false, PLA_U16 },
    { 16, 16, true, PLA_I16 },  { 16, 12, false, PLA_U16 }, { 16, 12, true, PLA_I16 },
    { 16, 10, false, PLA_U16 }, { 8, 6, true, PLA_I8 },
  };
  for (size_t t = 0; t < G_N_ELEMENTS(types); t++)
    for (int packed = 0; packed < (types[t].stored < 8 ? 1 : 2); packed++) {
      g_autofree char *name = g_strdup_printf("type-%zu-%d", t, packed);
      g_autofree char *folder = new_folder(name);
      int expected[3 * PER_SLICE];
      uint64_t state = t + 1;
      for (int k = 0; k < 3; k++) {
        uint8_t narrow[PER_SLICE];
        uint16_t wide[PER_SLICE];
        for (int v = 0; v < PER_SLICE; v++) {
          unsigned bits = (unsigned)pla_test_random(&state);
          unsigned clean = bits & ((1u << types[t].stored) - 1);
          if (packed) /* packers are entitled to clean input */
            bits = clean;
          narrow[v] = (uint8_t)bits;
          wide[v] = (uint16_t)bits;
          bool negative = types[t].is_signed && clean >> (types[t].stored - 1);
          expected[k * PER_SLICE + v] = (int)clean - (negative ? 1 << types[t].stored : 0);
          if (packed && negative) { /* sign extended, as scanners do */
            narrow[v] = (uint8_t)expected[k * PER_SLICE + v];
            wide[v] = (uint16_t)expected[k * PER_SLICE + v];
          }
        }
        TestDicom s = slice_spec(&axial, k, NULL);
        s.pixels = types[t].allocated == 8 ? (const void *)narrow : wide;
        s.bits_allocated = types[t].allocated;
        s.bits_stored = types[t].stored;
        s.is_signed = types[t].is_signed;
        s.slope = 0.5;
        s.inter = -1024.0;
        s.syntax = packed ? TEST_DICOM_RLE : TEST_DICOM_EXPLICIT;
        write_slice(folder, k, &s);
      }
      PlaItem item = pla_test_item_read(folder, NULL);
      g_assert_cmpint(item.volume->dtype, ==, types[t].dtype);
      g_assert_cmpfloat(item.volume->slope, ==, 0.5);
      g_assert_cmpfloat(item.volume->inter, ==, -1024.0);
      for (int v = 0; v < 3 * PER_SLICE; v++)
        g_assert_cmpfloat(pla_dtype_get(item.volume->dtype, item.volume->voxels, (size_t)v), ==,
                          expected[v]);
      pla_item_clear(&item);
    }
}

/* a scale of its own for each slice, as PET and some MR scanners write */
static void
test_slice_scales(void)
{
  g_autofree char *folder = new_folder("scales");
  for (int k = 0; k < SLICES; k++) {
    int16_t pixels[PER_SLICE];
    fill_slice(k, pixels);
    TestDicom s = slice_spec(&axial, k, pixels);
    s.slope = 1.0 + 0.25 * k;
    s.inter = k;
    write_slice(folder, k, &s);
  }
  PlaItem item = pla_test_item_read(folder, NULL);
  g_assert_cmpint(item.volume->dtype, ==, PLA_F32);
  g_assert_true(has_note(&item, "own rescale slope"));
  for (int k = 0; k < SLICES; k++) {
    int16_t pixels[PER_SLICE];
    fill_slice(k, pixels);
    for (int v = 0; v < PER_SLICE; v++)
      g_assert_cmpfloat(((float *)item.volume->voxels)[k * PER_SLICE + v], ==,
                        (float)((1.0 + 0.25 * k) * pixels[v] + k));
  }
  pla_item_clear(&item);
}

/* one file with all slices, plain and packed, frames in either order */
static void
test_enhanced(void)
{
  int16_t pixels[SLICES * PER_SLICE];
  const TestDicomSyntax syntaxes[] = { TEST_DICOM_EXPLICIT, TEST_DICOM_BIG_ENDIAN, TEST_DICOM_RLE,
                                       TEST_DICOM_JPEG_LOSSLESS, TEST_DICOM_JPEG_2000 };
  for (size_t i = 0; i < 2 * G_N_ELEMENTS(syntaxes); i++) {
    g_autofree char *name = g_strdup_printf("enhanced-%zu", i);
    g_autofree char *folder = new_folder(name);
    g_autofree char *path = g_build_filename(folder, "all.dcm", NULL);
    bool reversed = i % 2;
    for (int k = 0; k < SLICES; k++)
      fill_slice(reversed ? SLICES - 1 - k : k, pixels + k * PER_SLICE);
    TestDicom s = slice_spec(&axial, 0, pixels);
    s.n_frames = SLICES;
    s.frames_reversed = reversed;
    s.syntax = syntaxes[i / 2];
    memcpy(s.frame_step, axial.step, sizeof s.frame_step);
    test_dicom_write(path, &s);
    PlaItem item = pla_test_item_read(path, NULL);
    check_voxels(item.volume);
    g_assert_cmpfloat(marker_error(item.volume, &axial), <, 1e-9);
    pla_item_clear(&item);
  }
}

static void
test_incomplete(void)
{
  int16_t pixels[PER_SLICE];

  /* a slice is missing */
  g_autofree char *missing = new_folder("missing");
  write_stack(missing, &axial, TEST_DICOM_EXPLICIT);
  g_autofree char *gone = slice_path(missing, 4);
  g_assert_cmpint(g_remove(gone), ==, 0);
  refused(missing, -1,
          (const char *const[]){ "1 slice is missing", "IM04 at 16.25 mm", "IM00 at 18.75 mm",
                                 NULL });

  /* one stands askew */
  g_autofree char *uneven = new_folder("uneven");
  write_stack(uneven, &axial, TEST_DICOM_EXPLICIT);
  fill_slice(5, pixels);
  TestDicom s = slice_spec(&axial, 5, pixels);
  s.position[2] += 0.4;
  write_slice(uneven, 5, &s);
  refused(uneven, -1,
          (const char *const[]){ "unevenly spaced", "IM00 at 19.15 mm", "1.650 mm", NULL });

  /* one is shifted within its plane */
  g_autofree char *shifted = new_folder("shifted");
  write_stack(shifted, &axial, TEST_DICOM_EXPLICIT);
  s = slice_spec(&axial, 2, pixels);
  s.position[0] += 1.0;
  write_slice(shifted, 2, &s);
  refused(shifted, -1, (const char *const[]){ "IM06 at 15.00 mm", "1.00 mm beside", NULL });

  /* one has another size, spacing or direction */
  g_autofree char *mixed = new_folder("mixed");
  write_stack(mixed, &axial, TEST_DICOM_EXPLICIT);
  s = slice_spec(&axial, 3, pixels);
  s.columns = COLUMNS - 2;
  write_slice(mixed, 3, &s);
  refused(mixed, -1, (const char *const[]){ "IM04 at 16.25 mm", "10 x 10", "12 x 10", NULL });
  s = slice_spec(&axial, 3, pixels);
  s.pixel_spacing[0] = 0.76;
  write_slice(mixed, 3, &s);
  refused(mixed, -1, (const char *const[]){ "IM04 at 16.25 mm", "pixel spacing", NULL });
  s = slice_spec(&axial, 3, pixels);
  s.orientation[0] = cos(0.1);
  s.orientation[1] = sin(0.1);
  s.orientation[3] = -sin(0.1);
  s.orientation[4] = cos(0.1);
  write_slice(mixed, 3, &s);
  refused(mixed, -1, (const char *const[]){ "IM04 at 16.25 mm", "orientation", NULL });

  /* colour */
  uint8_t rgb[3 * PER_SLICE] = { 0 };
  g_autofree char *colour = new_folder("colour");
  s = slice_spec(&axial, 0, (const int16_t *)rgb);
  s.samples = 3;
  s.bits_allocated = s.bits_stored = 8;
  s.is_signed = false;
  write_slice(colour, 0, &s);
  refused(colour, -1, (const char *const[]){ "IM03", "colour", NULL });

  /* a folder without anything, and a file that is something else */
  g_autofree char *empty = new_folder("empty");
  refused(empty, -1, (const char *const[]){ "empty", NULL });
  g_autofree char *text = g_build_filename(empty, "notes.txt", NULL);
  g_assert_true(g_file_set_contents(text, "not a scan", -1, NULL));
  refused(empty, -1, (const char *const[]){ "empty", NULL });
}

/* copies of a slice are left out, other images of one place refused */
static void
test_repeated(void)
{
  int16_t pixels[PER_SLICE];
  g_autofree char *folder = new_folder("repeated");
  write_stack(folder, &axial, TEST_DICOM_EXPLICIT);
  fill_slice(4, pixels);
  TestDicom s = slice_spec(&axial, 4, pixels);
  g_autofree char *copy = g_build_filename(folder, "copy", NULL);
  test_dicom_write(copy, &s);
  PlaItem item = pla_test_item_read(folder, NULL);
  check_voxels(item.volume);
  g_assert_true(has_note(&item, "1 file that repeat"));
  pla_item_clear(&item);
  s.instance = 100;
  test_dicom_write(copy, &s);
  refused(folder, -1, (const char *const[]){ "copy", "IM02", "17.50 mm", NULL });
}

/* two series in one folder tree: listed, chosen, or found through one of their files */
static void
test_two_series(void)
{
  g_autofree char *folder = new_folder("two");
  g_autofree char *inner = g_build_filename(folder, "inner", NULL);
  g_assert_cmpint(g_mkdir(inner, 0700), ==, 0);
  write_stack(folder, &axial, TEST_DICOM_EXPLICIT);
  int16_t pixels[PER_SLICE];
  fill_slice(0, pixels);
  for (int k = 0; k < 3; k++) {
    TestDicom s = slice_spec(&axial, k, pixels);
    s.series = 12;
    s.columns = 6;
    g_autofree char *name = g_strdup_printf("scout%d", k);
    g_autofree char *path = g_build_filename(inner, name, NULL);
    test_dicom_write(path, &s);
  }
  TestDicom report = slice_spec(&axial, 0, pixels);
  report.series = 13;
  report.without_pixels = true;
  g_autofree char *report_path = g_build_filename(folder, "report", NULL);
  test_dicom_write(report_path, &report);
  g_autofree char *text = g_build_filename(folder, "README.TXT", NULL);
  g_assert_true(g_file_set_contents(text, "not a slice", -1, NULL));

  PlaDicomSeriesList list;
  PlaError err = { 0 };
  g_assert_cmpint(pla_dicom_list_series(folder, NULL, &list, &err), ==, PLA_OK);
  g_assert_cmpint(list.n, ==, 2);
  g_assert_cmpstr(list.series[0].description, ==,
                  "CT series 1, AXIAL, kernel H30s, 7 slices of 12 x 10");
  g_assert_cmpint(list.series[0].n_slices, ==, SLICES);
  g_assert_cmpint(list.series[1].number, ==, 12);
  g_assert_cmpint(list.series[1].n_slices, ==, 3);
  g_assert_cmpint(list.series[1].dims[0], ==, 6);
  g_assert_cmpstr(list.series[1].modality, ==, "CT");
  pla_dicom_series_list_clear(&list);

  refused(folder, -1,
          (const char *const[]){ "2 series", "--series", "0: CT series 1", "1: CT series 12",
                                 "3 slices of 6 x 10", NULL });
  refused(folder, 2, (const char *const[]){ "no series 2", "1: CT series 12", NULL });
  refused(report_path, -1, (const char *const[]){ "report", "without a picture", NULL });

  PlaReadOptions opts = pla_read_options_default();
  PlaItem item;
  opts.series = 0;
  item = pla_test_item_read(folder, &opts);
  check_voxels(item.volume);
  g_assert_true(has_note(&item, "1 file is no DICOM"));
  g_assert_true(has_note(&item, "1 DICOM file without pictures"));
  pla_item_clear(&item);
  opts.series = 1;
  item = pla_test_item_read(folder, &opts);
  g_assert_cmpint(item.volume->dims[2], ==, 3);
  pla_item_clear(&item);
  g_autofree char *index = g_build_filename(folder, "DICOMDIR", NULL);
  test_dicom_write(index, &report);
  item = pla_test_item_read(index, &opts);
  g_assert_cmpint(item.volume->dims[2], ==, 3);
  pla_item_clear(&item);
  g_autofree char *one = g_build_filename(inner, "scout1", NULL);
  item = pla_test_item_read(one, NULL);
  g_assert_cmpint(item.volume->dims[2], ==, 3);
  g_assert_cmpint(item.volume->dims[0], ==, 6);
  pla_item_clear(&item);
}

static void
test_single_slice(void)
{
  int16_t pixels[PER_SLICE];
  g_autofree char *folder = new_folder("single");
  fill_slice(0, pixels);
  TestDicom s = slice_spec(&axial, 0, pixels);
  write_slice(folder, 0, &s);
  PlaItem item = pla_test_item_read(folder, NULL);
  g_assert_cmpint(item.volume->dims[2], ==, 1);
  g_assert_true(has_note(&item, "single slice"));
  pla_item_clear(&item);
}

/* nothing that comes out names the patient, unless asked for */
static void
test_privacy(void)
{
  g_autofree char *folder = new_folder("privacy");
  int16_t pixels[PER_SLICE];
  for (int k = 0; k < SLICES; k++) {
    fill_slice(k, pixels);
    TestDicom s = slice_spec(&axial, k, pixels);
    s.patient = "SECRET^PERSON";
    write_slice(folder, k, &s);
  }
  PlaItem item = pla_test_item_read(folder, NULL);
  g_assert_null(strstr(item.volume->description, "SECRET"));
  for (int i = 0; i < item.notes.n; i++)
    g_assert_null(strstr(item.notes.text[i], "SECRET"));
  pla_item_clear(&item);

  PlaReadOptions opts = pla_read_options_default();
  PlaError err = { 0 };
  opts.keep_identity = true;
  item = pla_test_item_read(folder, &opts);
  g_assert_nonnull(strstr(item.volume->description, "SECRET^PERSON"));
  for (int i = 0; i < item.notes.n; i++)
    g_assert_null(strstr(item.notes.text[i], "SECRET"));
  pla_item_clear(&item);

  PlaDicomSeriesList list;
  g_assert_cmpint(pla_dicom_list_series(folder, NULL, &list, &err), ==, PLA_OK);
  g_assert_null(strstr(list.series[0].description, "SECRET"));
  pla_dicom_series_list_clear(&list);
  g_autofree char *gone = slice_path(folder, 3);
  g_assert_cmpint(g_remove(gone), ==, 0);
  g_assert_cmpint(pla_item_read(folder, &opts, &item, &err), !=, PLA_OK);
  g_assert_null(strstr(err.message, "SECRET"));
}

static void
test_cancel(void)
{
  g_autofree char *folder = new_folder("cancel");
  write_stack(folder, &axial, TEST_DICOM_EXPLICIT);
  PlaProgress progress;
  PlaReadOptions opts = pla_read_options_default();
  PlaItem item;
  PlaError err = { 0 };
  pla_progress_init(&progress, NULL, NULL);
  pla_progress_cancel(&progress);
  opts.progress = &progress;
  g_assert_cmpint(pla_item_read(folder, &opts, &item, &err), ==, PLA_ERR_CANCELLED);
}

/* a slice at the end of the stack that was cut short is never just left out */
static void
test_cut_short(void)
{
  const TestDicomSyntax syntaxes[] = { TEST_DICOM_EXPLICIT, TEST_DICOM_DEFLATED, TEST_DICOM_RLE,
                                       TEST_DICOM_JPEG_LOSSLESS, TEST_DICOM_JPEG_2000 };
  for (size_t i = 0; i < G_N_ELEMENTS(syntaxes); i++) {
    g_autofree char *name = g_strdup_printf("cut-%zu", i);
    g_autofree char *folder = new_folder(name);
    write_stack(folder, &axial, syntaxes[i]);
    g_autofree char *victim = slice_path(folder, SLICES - 1);
    g_autofree char *base = g_path_get_basename(victim);
    g_autofree char *data = NULL;
    gsize size;
    g_assert_true(g_file_get_contents(victim, &data, &size, NULL));
    for (gsize cut = 2; cut < size - 140; cut += cut < 6 ? 2 : PLA_SANITIZED ? 211 : 67) {
      PlaReadOptions opts = pla_read_options_default();
      PlaItem item;
      PlaError err = { 0 };
      g_assert_true(g_file_set_contents(victim, data, (gssize)(size - cut), NULL));
      PlaStatus st = pla_item_read(folder, &opts, &item, &err);
      if (st == PLA_OK && syntaxes[i] == TEST_DICOM_DEFLATED) {
        /* the last bytes may say no more than that this is the end */
        check_voxels(item.volume);
        pla_item_clear(&item);
        continue;
      }
      if (st == PLA_OK)
        g_error("syntax %d: a slice without its last %zu bytes is taken", syntaxes[i], cut);
      if (!strstr(err.message, base))
        g_error("syntax %d, %zu bytes cut: %s", syntaxes[i], cut, err.message);
    }
  }
}

/* one slice of three is damaged in every way; the others lie beside it */
static void
test_damage(void)
{
  const TestDicomSyntax syntaxes[] = { TEST_DICOM_EXPLICIT, TEST_DICOM_JPEG_LS };
  size_t n = g_getenv("PLA_FUZZ_MUTATIONS") ? G_N_ELEMENTS(syntaxes) : 1;
  for (size_t i = 0; i < n; i++) {
    g_autofree char *below = pla_test_path("neighbour-below");
    g_autofree char *above = pla_test_path("neighbour-above");
    g_autofree char *victim = pla_test_path("victim");
    const char *const path[] = { below, victim, above };
    for (int k = 0; k < 3; k++) {
      int16_t pixels[PER_SLICE];
      fill_slice(k, pixels);
      TestDicom s = slice_spec(&axial, k, pixels);
      s.syntax = syntaxes[i];
      test_dicom_write(path[k], &s);
    }
    g_autofree char *data = NULL;
    gsize size;
    g_assert_true(g_file_get_contents(victim, &data, &size, NULL));
    g_assert_cmpint(g_remove(victim), ==, 0);
    /* each reading takes two helper processes, which are slow to start under sanitizers */
    bool small = PLA_SANITIZED;
    const PlaFuzz fuzz = { .format = &pla_format_dicom,
                           .extension = ".dcm",
                           .n_mutations = small ? 20 : 100,
                           .one_of = G_N_ELEMENTS(syntaxes),
                           .dense_bytes = small ? 8 : 132,
                           .truncation_stride = small ? 97 : 11 };
    pla_fuzz_run(&fuzz, (const uint8_t *)data, size);
  }
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/io/dicom/places", test_places);
  g_test_add_func("/io/dicom/left-stays-left", test_left_stays_left);
  g_test_add_func("/io/dicom/syntaxes", test_syntaxes);
  g_test_add_func("/io/dicom/foreign-packers", test_foreign_packers);
  g_test_add_func("/io/dicom/types", test_types);
  g_test_add_func("/io/dicom/slice-scales", test_slice_scales);
  g_test_add_func("/io/dicom/enhanced", test_enhanced);
  g_test_add_func("/io/dicom/incomplete", test_incomplete);
  g_test_add_func("/io/dicom/repeated", test_repeated);
  g_test_add_func("/io/dicom/two-series", test_two_series);
  g_test_add_func("/io/dicom/single-slice", test_single_slice);
  g_test_add_func("/io/dicom/privacy", test_privacy);
  g_test_add_func("/io/dicom/cancel", test_cancel);
  g_test_add_func("/io/dicom/cut-short", test_cut_short);
  g_test_add_func("/io/dicom/damage", test_damage);
  return g_test_run();
}
