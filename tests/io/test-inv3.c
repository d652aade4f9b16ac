/* InVesalius projects: image, axes, masks, property lists, tar oddities and damage. */
#include "io/formats/format-inv3.h"
#include "io/formats/formats.h"
#include "io/formats/plist.h"
#include "tests/io/fuzz.h"

#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>
#include <zlib.h>

enum { NX = 6, NY = 5, NZ = 4, N = NX * NY * NZ, MASK_N = (NX + 1) * (NY + 1) * (NZ + 1) };

/* ---- making projects ---- */

/* appends one member with its header and padding */
static void
tar_add(GByteArray *tar, const char *name, char type, const void *data, size_t size)
{
  uint8_t header[512] = { 0 };
  g_snprintf((char *)header, 100, "%s", name);
  memcpy(header + 100, "0000644\0000000000\0000000000\000", 24);
  g_snprintf((char *)header + 124, 12, "%011o", (unsigned)size);
  memcpy(header + 136, "00000000000", 12);
  header[156] = (uint8_t)type;
  memcpy(header + 257, "ustar\00000", 8);
  memset(header + 148, ' ', 8);
  unsigned sum = 0;
  for (int i = 0; i < 512; i++)
    sum += header[i];
  g_snprintf((char *)header + 148, 8, "%06o", sum);
  g_byte_array_append(tar, header, sizeof header);
  if (size)
    g_byte_array_append(tar, data, (guint)size);
  static const uint8_t zeros[512];
  g_byte_array_append(tar, zeros, (guint)((512 - size % 512) % 512));
}

static void
tar_end(GByteArray *tar)
{
  static const uint8_t zeros[1024];
  g_byte_array_append(tar, zeros, sizeof zeros);
}

static const char plist_head[] =
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
    "<!DOCTYPE plist PUBLIC \"-//Apple Computer//DTD PLIST 1.0//EN\" "
    "\"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n<plist version=\"1.0\">\n";

static char *
main_plist(const char *extra)
{
  return g_strdup_printf(
      "%s<dict><key>annotations</key><dict></dict><key>format_version</key><integer>1</integer>"
      "<key>matrix</key><dict><key>dtype</key><string>int16</string><key>filename</key>"
      "<string>matrix.dat</string><key>shape</key><array><integer>%d</integer><integer>%d</integer>"
      "<integer>%d</integer></array></dict><key>name</key><string>SECRET PERSON</string>"
      "<key>orientation</key><integer>1</integer><key>spacing</key><array><real>0.5</real>"
      "<real>0.75</real><real>1.5</real></array>%s</dict></plist>",
      plist_head, NZ, NY, NX, extra);
}

static char *
mask_plist(int index, const char *name, const char *colour)
{
  return g_strdup_printf(
      "%s<dict><key>colour</key><array>%s</array><key>index</key><integer>%d</integer>"
      "<key>mask_file</key><string>mask_%d.dat</string><key>mask_shape</key><array>"
      "<integer>%d</integer><integer>%d</integer><integer>%d</integer></array><key>name</key>"
      "<string>%s</string><key>visible</key><true/></dict></plist>",
      plist_head, colour, index, index, NZ + 1, NY + 1, NX + 1, name);
}

static void
fill_matrix(int16_t *voxels)
{
  for (int v = 0; v < N; v++)
    voxels[v] = (int16_t)(v - 50);
}

/* mask 0 covers i < 4, mask 1 the single voxel (2, 3, 1); flags stand in the first of each axis */
static void
fill_mask(int index, uint8_t *mask)
{
  memset(mask, 0, MASK_N);
  for (int k = 0; k <= NZ; k++)
    for (int j = 0; j <= NY; j++)
      for (int i = 0; i <= NX; i++) {
        bool flag = i == 0 || j == 0 || k == 0;
        bool inside = index == 0 ? i - 1 < 4 : i == 3 && j == 4 && k == 2;
        uint8_t value = index == 0 && i == 1 ? 254 : 255;
        mask[i + (NX + 1) * (j + (NY + 1) * k)] = flag ? 255 : inside ? value : k == 1 ? 1 : 0;
      }
}

static void
add_masks(GByteArray *tar)
{
  for (int m = 0; m < 2; m++) {
    uint8_t mask[MASK_N];
    fill_mask(m, mask);
    g_autofree char *data_name = g_strdup_printf("tmpx/mask_%d.dat", m);
    g_autofree char *list_name = g_strdup_printf("tmpx/mask_%d.plist", m);
    g_autofree char *list =
        mask_plist(m, m ? "B &amp; C" : "M\303\241scara",
                   m ? "<real>1.0</real><integer>0</integer><real>0.2</real>"
                     : "<real>0.33</real><integer>1</integer><real>0.33</real>");
    tar_add(tar, data_name, '0', mask, sizeof mask);
    tar_add(tar, list_name, '0', list, strlen(list));
  }
}

/* a whole project; @main_last puts the description behind the image */
static GByteArray *
make_project(const char *extra, bool main_last)
{
  GByteArray *tar = g_byte_array_new();
  int16_t voxels[N];
  fill_matrix(voxels);
  g_autofree char *list = main_plist(extra);
  tar_add(tar, "tmpx/", '5', NULL, 0);
  if (!main_last)
    tar_add(tar, "tmpx/main.plist", '0', list, strlen(list));
  add_masks(tar);
  tar_add(tar, "tmpx/matrix.dat", '0', voxels, sizeof voxels);
  tar_add(tar, "tmpx/surface_0.vtp", '0', "not read", 8);
  if (main_last)
    tar_add(tar, "tmpx/main.plist", '0', list, strlen(list));
  tar_end(tar);
  return tar;
}

static char *
save_gz(const char *name, const GByteArray *tar)
{
  char *path = pla_test_path(name);
  gzFile gz = gzopen(path, "wb");
  g_assert_cmpint(gzwrite(gz, tar->data, tar->len), ==, (int)tar->len);
  g_assert_cmpint(gzclose(gz), ==, Z_OK);
  return path;
}

static void
refused(const GByteArray *tar, const char *word)
{
  g_autofree char *path = save_gz("bad.inv3", tar);
  PlaReadOptions opts = pla_read_options_default();
  PlaItem item;
  PlaError err = { 0 };
  g_assert_cmpint(pla_item_read(path, &opts, &item, &err), !=, PLA_OK);
  if (!strstr(err.message, word) || !strstr(err.message, "bad.inv3"))
    g_error("'%s' is missing in: %s", word, err.message);
}

/* ---- tests ---- */

/* axes LAS, origin in the middle, names of masks, no patient's name */
static void
test_image(void)
{
  for (int main_last = 0; main_last < 2; main_last++) {
    g_autoptr(GByteArray) tar = make_project("", main_last);
    g_autofree char *path = save_gz("image.inv3", tar);
    PlaItem item = pla_test_item_read(path, NULL);
    const PlaVolume *vol = item.volume;
    int16_t expected[N];
    fill_matrix(expected);
    g_assert_cmpint(vol->dtype, ==, PLA_I16);
    g_assert_cmpint(vol->dims[0], ==, NX);
    g_assert_cmpint(vol->dims[1], ==, NY);
    g_assert_cmpint(vol->dims[2], ==, NZ);
    g_assert_cmpmem(vol->voxels, pla_volume_n_bytes(vol), expected, sizeof expected);

    char letters[4];
    pla_volume_orientation(vol, letters);
    g_assert_cmpstr(letters, ==, "LAS");
    g_assert_cmpint(vol->audit.source, ==, PLA_FRAME_NONE);
    const double marker[3] = { 5, 1, 3 };
    double ras[3];
    pla_volume_to_ras_mm(vol, marker, ras);
    g_assert_cmpfloat_with_epsilon(ras[0], -2.5 * 0.5, 1e-12);  /* left of the middle */
    g_assert_cmpfloat_with_epsilon(ras[1], -1.0 * 0.75, 1e-12); /* behind it */
    g_assert_cmpfloat_with_epsilon(ras[2], 1.5 * 1.5, 1e-12);   /* above it */

    g_assert_cmpint(item.notes.n, ==, 2);
    g_assert_nonnull(strstr(item.notes.text[0], "first axis to the patient's left"));
    g_assert_cmpint(item.labels.n, ==, 2);
    g_assert_cmpstr(pla_label_table_find(&item.labels, 1)->name, ==, "M\303\241scara");
    g_assert_cmpstr(pla_label_table_find(&item.labels, 2)->name, ==, "B & C");
    g_assert_cmpint(pla_label_table_find(&item.labels, 1)->rgba[0], ==, 84);
    g_assert_null(strstr(vol->description, "SECRET"));

    /* written in another format it is an image still: no table of labels beside it makes it a label
     * map */
    g_autofree char *image = pla_test_path("image.nii");
    PlaWriteOptions write = pla_write_options_default();
    PlaError err = { 0 };
    g_assert_cmpint(pla_item_write(image, &item, &write, &err), ==, PLA_OK);
    PlaItem again = pla_test_item_read(image, NULL);
    g_assert_cmpint(again.labels.n, ==, 0);
    pla_item_clear(&again);
    g_assert_cmpint(g_remove(image), ==, 0);

    pla_item_clear(&item);
    PlaReadOptions opts = pla_read_options_default();
    opts.keep_identity = true;
    item = pla_test_item_read(path, &opts);
    g_assert_nonnull(strstr(item.volume->description, "SECRET"));
    pla_item_clear(&item);
  }
}

/* a tar without gzip, and under another name */
static void
test_plain_tar(void)
{
  g_autoptr(GByteArray) tar = make_project("", false);
  g_autofree char *path = pla_test_path("plain.inv3");
  g_assert_true(g_file_set_contents(path, (const char *)tar->data, tar->len, NULL));
  PlaItem item = pla_test_item_read(path, NULL);
  g_assert_cmpint(item.volume->dims[2], ==, NZ);
  pla_item_clear(&item);
}

/* the matrix of a project made from NIfTI: world to flipped voxel millimetres */
static void
test_affine(void)
{
  /* the NIfTI image had x = 100 - 0.5 i, y = 20 + 0.75 j', z = 7 + 1.5 k with j' = NY - 1 - j; so
   * voxel millimetres are (100 - x, y - 20, z - 7) */
  g_autoptr(GByteArray) tar = make_project(
      "<key>affine</key><array>"
      "<array><real>-1</real><real>0</real><real>0</real><real>100</real></array>"
      "<array><real>0</real><real>1</real><real>0</real><real>-20</real></array>"
      "<array><real>0</real><real>0</real><real>1</real><real>-7</real></array>"
      "<array><real>0</real><real>0</real><real>0</real><real>1</real></array></array>",
      false);
  g_autofree char *path = save_gz("affine.inv3", tar);
  PlaItem item = pla_test_item_read(path, NULL);
  const double marker[3] = { 5, 1, 3 };
  double ras[3];
  pla_volume_to_ras_mm(item.volume, marker, ras);
  g_assert_cmpfloat_with_epsilon(ras[0], 97.5, 1e-12);
  g_assert_cmpfloat_with_epsilon(ras[1], 22.25, 1e-12);
  g_assert_cmpfloat_with_epsilon(ras[2], 11.5, 1e-12);
  char letters[4];
  pla_volume_orientation(item.volume, letters);
  g_assert_cmpstr(letters, ==, "LPS");
  pla_item_clear(&item);
}

/* flags cut off, the smaller mask on top, the frame that of the image */
static void
test_masks(void)
{
  g_autoptr(GByteArray) tar = make_project("", false);
  g_autofree char *path = save_gz("masks.inv3", tar);
  PlaLabelMap *map = NULL;
  PlaNotes notes = { 0 };
  PlaError err = { 0 };
  g_assert_cmpint(pla_inv3_read_masks(path, NULL, &map, &notes, &err), ==, PLA_OK);
  g_assert_cmpint(map->volume->dims[0], ==, NX);
  g_assert_cmpint(map->volume->dims[2], ==, NZ);
  for (int k = 0; k < NZ; k++)
    for (int j = 0; j < NY; j++)
      for (int i = 0; i < NX; i++)
        g_assert_cmpint(pla_label_map_get(map, (size_t)(i + NX * (j + NY * k))), ==,
                        i == 2 && j == 3 && k == 1 ? 2
                        : i < 4                    ? 1
                                                   : 0);
  g_assert_cmpstr(pla_label_table_find(&map->table, 2)->name, ==, "B & C");
  g_assert_cmpint(pla_label_table_find(&map->table, 2)->rgba[2], ==, 51);
  g_assert_cmpint(notes.n, ==, 2);
  g_assert_nonnull(strstr(notes.text[1], "overlap at 1 voxel"));
  PlaItem item = pla_test_item_read(path, NULL);
  g_assert_cmpmem(map->volume->affine_mm, sizeof map->volume->affine_mm, item.volume->affine_mm,
                  sizeof item.volume->affine_mm);
  pla_item_clear(&item);
  pla_notes_clear(&notes);
  pla_label_map_free(map);

  /* none at all */
  g_autoptr(GByteArray) bare = g_byte_array_new();
  int16_t voxels[N] = { 0 };
  g_autofree char *list = main_plist("");
  tar_add(bare, "main.plist", '0', list, strlen(list));
  tar_add(bare, "matrix.dat", '0', voxels, sizeof voxels);
  tar_end(bare);
  g_autofree char *bare_path = save_gz("bare.inv3", bare);
  g_assert_cmpint(pla_inv3_read_masks(bare_path, NULL, &map, NULL, &err), ==, PLA_ERR_EMPTY);
  g_assert_null(map);
}

static void
test_refusals(void)
{
  int16_t voxels[N] = { 0 };
  g_autofree char *list = main_plist("");

  g_autoptr(GByteArray) empty = g_byte_array_new();
  tar_add(empty, "readme", '0', "x", 1);
  tar_end(empty);
  refused(empty, "no main.plist");

  g_autoptr(GByteArray) lacking = g_byte_array_new();
  tar_add(lacking, "a/main.plist", '0', list, strlen(list));
  tar_end(lacking);
  refused(lacking, "lacks the image matrix.dat");

  g_autoptr(GByteArray) small = g_byte_array_new();
  tar_add(small, "a/main.plist", '0', list, strlen(list));
  tar_add(small, "a/matrix.dat", '0', voxels, sizeof voxels - 2);
  tar_end(small);
  refused(small, "needs 240 bytes but matrix.dat has 238");

  g_autofree char *newer_list = main_plist("<key>format_version</key><integer>2</integer>");
  char *first = strstr(newer_list, "<integer>1</integer>");
  first[9] = '2';
  g_autoptr(GByteArray) newer = g_byte_array_new();
  tar_add(newer, "a/main.plist", '0', newer_list, strlen(newer_list));
  tar_end(newer);
  refused(newer, "format version 2");

  g_autoptr(GByteArray) open = g_byte_array_new(); /* no closing block */
  tar_add(open, "a/main.plist", '0', list, strlen(list));
  refused(open, "end early");

  g_autoptr(GByteArray) damaged = make_project("", false);
  damaged->data[512 + 3] ^= 1; /* the name in the second header */
  refused(damaged, "tar header at inflated byte 512");

  /* a claim far beyond what the file can hold */
  g_autoptr(GByteArray) huge = g_byte_array_new();
  tar_add(huge, "a/main.plist", '0', list, strlen(list));
  memcpy(huge->data + 124, "77777777777", 11);
  memset(huge->data + 148, ' ', 8);
  unsigned sum = 0;
  for (int i = 0; i < 512; i++)
    sum += huge->data[i];
  g_snprintf((char *)huge->data + 148, 8, "%06o", sum);
  refused(huge, "cannot have");
}

/* names that point elsewhere reach nothing: only their last part counts, and nothing is written */
static void
test_traversal(void)
{
  g_autoptr(GByteArray) tar = g_byte_array_new();
  int16_t voxels[N];
  fill_matrix(voxels);
  g_autofree char *list = main_plist("");
  g_autofree char *outside = pla_test_path("outside");
  tar_add(tar, "../../main.plist", '0', list, strlen(list));
  tar_add(tar, outside, '0', "x", 1);
  tar_add(tar, "matrix.dat", '2', NULL, 0); /* a link is no file */
  tar_add(tar, "/etc/matrix.dat", '0', voxels, sizeof voxels);
  tar_end(tar);
  g_autofree char *path = save_gz("traversal.inv3", tar);
  PlaItem item = pla_test_item_read(path, NULL);
  g_assert_cmpint(((int16_t *)item.volume->voxels)[7], ==, -43);
  g_assert_false(g_file_test(outside, G_FILE_TEST_EXISTS));
  pla_item_clear(&item);
}

static void
test_plists(void)
{
  PlaPlist list;
  PlaError err = { 0 };
  const char good[] = "<plist><dict><key>a&lt;</key><array><true/><real>1.5</real><dict>"
                      "<key>b</key><string>x &amp; y</string></dict></array><key>e</key><string/>"
                      "<key>n</key><integer>-7</integer></dict></plist>";
  g_assert_cmpint(pla_plist_parse("good", good, strlen(good), &list, &err), ==, PLA_OK);
  double real;
  int whole;
  g_assert_cmpint(list.n, ==, 5);
  g_assert_cmpstr(pla_plist_text(&list, "a</0"), ==, "true");
  g_assert_true(pla_plist_double(&list, "a</1", &real));
  g_assert_cmpfloat(real, ==, 1.5);
  g_assert_false(pla_plist_int(&list, "a</1", &whole));
  g_assert_cmpstr(pla_plist_text(&list, "a</2/b"), ==, "x & y");
  g_assert_cmpstr(pla_plist_text(&list, "e"), ==, "");
  g_assert_true(pla_plist_int(&list, "n", &whole));
  g_assert_cmpint(whole, ==, -7);
  g_assert_null(pla_plist_text(&list, "none"));
  pla_plist_clear(&list);

  const char *const bad[] = {
    "",
    "<plist/>",
    "<html><dict></dict></html>",
    "<plist><dict><string>x</string></dict></plist>",
    "<plist><dict><key>k</key></dict></plist>",
    "<plist><dict><key>k</key><string>a<b/></string></dict></plist>",
    "<plist><dict><key>k</key><colour>x</colour></dict></plist>",
    "<plist><array><array><array><array><array><array><array><array><array><array><array><array>"
    "<array><array><array><array><array><array><array></array></array></array></array></array>"
    "</array></array></array></array></array></array></array></array></array></array></array>"
    "</array></array></array></plist>",
    "bplist00\1\2\3",
  };
  for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
    g_assert_cmpint(pla_plist_parse("bad", bad[i], strlen(bad[i]), &list, &err), !=, PLA_OK);
    g_assert_cmpint(list.n, ==, 0);
    g_assert_nonnull(strstr(err.message, "bad"));
  }
}

/* the masks as a reader of their own, so that the damage harness can drive it */
static PlaStatus
read_masks(const char *path, const PlaReadOptions *opts, PlaItem *out, PlaError *err)
{
  PlaLabelMap *map = NULL;
  *out = (PlaItem){ 0 };
  PlaStatus st = pla_inv3_read_masks(path, opts->progress, &map, &out->notes, err);
  if (st == PLA_OK) {
    out->kind = PLA_KIND_VOLUME;
    out->volume = map->volume;
    map->volume = NULL;
  } else {
    pla_item_clear(out);
  }
  pla_label_map_free(map);
  return st;
}

static void
test_damage(void)
{
  g_autoptr(GByteArray) tar = make_project("", false);
  const PlaFormat masks = { .id = "inv3-masks", .read = read_masks };
  const PlaFormat *const formats[] = { &pla_format_inv3, &masks };
  for (int f = 0; f < 2; f++) {
    const PlaFuzz plain = { .format = formats[f], .extension = ".inv3", .n_mutations = 400 };
    pla_fuzz_run(&plain, tar->data, tar->len);
    g_autofree char *path = save_gz("damage.inv3", tar);
    g_autofree char *packed = NULL;
    gsize size;
    g_assert_true(g_file_get_contents(path, &packed, &size, NULL));
    const PlaFuzz gz = { .format = formats[f], .extension = ".inv3", .n_mutations = 200 };
    pla_fuzz_run(&gz, (const uint8_t *)packed, size);
  }
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/io/inv3/image", test_image);
  g_test_add_func("/io/inv3/plain-tar", test_plain_tar);
  g_test_add_func("/io/inv3/affine", test_affine);
  g_test_add_func("/io/inv3/masks", test_masks);
  g_test_add_func("/io/inv3/refusals", test_refusals);
  g_test_add_func("/io/inv3/traversal", test_traversal);
  g_test_add_func("/io/inv3/plists", test_plists);
  g_test_add_func("/io/inv3/damage", test_damage);
  return g_test_run();
}
