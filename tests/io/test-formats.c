/* Every writer of the registry, under each of its endings: what it writes is found to be of its
 * kind and read back, whatever the names, units and sizes. */
#include "io/formats/format.h"
#include "tests/io/fuzz.h"
#include "tests/io/mesh-samples.h"
#include "tests/io/signal-samples.h"

#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>

static int n_written, n_refused;

/* writes @item under every ending of every format of its kind; NULL @same: only the kind is
 * compared */
static void
check_all(const PlaItem *item, const char *what, void (*same)(const PlaItem *, const PlaItem *))
{
  for (const PlaFormat *const *f = pla_formats_get(); *f; f++) {
    if ((*f)->kind != item->kind || !(*f)->write)
      continue;
    for (const char *const *ending = (*f)->extensions; *ending; ending++)
      for (int plain = 0; plain < 2; plain++) {
        g_autofree char *name = g_strconcat("conformance", *ending, NULL);
        g_autofree char *path = pla_test_path(name);
        const PlaFormat *writer = NULL;
        PlaWriteOptions write = pla_write_options_default();
        PlaReadOptions read = pla_read_options_default();
        PlaItem back = { 0 };
        PlaError err = { 0 };
        write.uncompressed = write.text = plain;
        /* an ending of several formats has one writer */
        if (pla_format_for_output(path, item->kind, &writer, &err) != PLA_OK || writer != *f)
          continue;
        PlaStatus st = pla_item_write(path, item, &write, &err);
        if (st == PLA_ERR_UNSUPPORTED || st == PLA_ERR_USAGE) {
          g_assert_cmpuint(strlen(err.message), >, 20);
          n_refused++;
          continue;
        }
        if (st != PLA_OK)
          g_error("%s as %s: %s", what, *ending, err.message);
        n_written++;
        if (pla_item_read(path, &read, &back, &err) != PLA_OK)
          g_error("%s as %s cannot be read back: %s", what, *ending, err.message);
        g_assert_cmpstr(pla_kind_name(back.kind), ==, pla_kind_name(item->kind));
        if (same)
          same(item, &back);
        pla_item_clear(&back);
        g_remove(path);
      }
  }
}

static void
same_track(const PlaItem *a, const PlaItem *b)
{
  g_assert_cmpint(b->track->n_channels, ==, a->track->n_channels);
  g_assert_cmpint(b->track->n_samples, ==, a->track->n_samples);
  for (int c = 0; c < a->track->n_channels; c++)
    g_assert_cmpstr(b->track->name[c], ==, a->track->name[c]);
}

/* names and units of every length: files pad them */
static void
test_tracks(void)
{
  for (int length = 1; length <= 24; length++)
    for (int unit = 0; unit <= 9; unit += 3)
      for (int single = 0; single < 2; single++) {
        PlaItem item = { .kind = PLA_KIND_TRACK, .track = pla_test_track(7, 3, single) };
        g_autofree char *what =
            g_strdup_printf("a track with names of %d and units of %d letters", length, unit);
        for (int c = 0; c < 3; c++) {
          g_autofree char *name = g_strnfill((gsize)length, (char)('a' + c));
          g_autofree char *word = g_strnfill((gsize)(c == 1 ? 0 : unit), 'm');
          free(item.track->name[c]);
          free(item.track->unit[c]);
          item.track->name[c] = strdup(name);
          item.track->unit[c] = strdup(word);
        }
        check_all(&item, what, same_track);
        pla_item_clear(&item);
      }
}

static void
same_take(const PlaItem *a, const PlaItem *b)
{
  g_assert_cmpint(b->take->n_markers, ==, a->take->n_markers);
  g_assert_cmpint(b->take->n_frames, ==, a->take->n_frames);
}

static void
test_takes(void)
{
  static const int size[][2] = { { 2, 1 }, { 3, 40 }, { 50, 7 } };
  for (size_t i = 0; i < G_N_ELEMENTS(size); i++) {
    PlaItem item = { .kind = PLA_KIND_TAKE, .take = pla_test_take(size[i][0], size[i][1], true) };
    g_autofree char *what = g_strdup_printf("a take of %d frames", size[i][0]);
    check_all(&item, what, same_take);
    pla_item_clear(&item);
  }
}

static void
same_mesh(const PlaItem *a, const PlaItem *b)
{
  g_assert_cmpint(b->mesh->n_tris, ==, a->mesh->n_tris);
  g_assert_cmpint(b->mesh->n_tets, ==, a->mesh->n_tets);
}

static void
test_meshes(void)
{
  for (unsigned parts = 1; parts < 8; parts++) {
    PlaItem item = { .kind = PLA_KIND_MESH, .mesh = pla_sample_mesh(3, parts) };
    g_autofree char *what = g_strdup_printf("a mesh of the parts %u", parts);
    check_all(&item, what, same_mesh);
    pla_item_clear(&item);
  }
}

static void
same_volume(const PlaItem *a, const PlaItem *b)
{
  g_assert_cmpmem(b->volume->dims, sizeof b->volume->dims, a->volume->dims, sizeof a->volume->dims);
}

static void
test_volumes(void)
{
  static const PlaDType types[] = { PLA_U8, PLA_I16, PLA_U16, PLA_I32, PLA_F32, PLA_F64 };
  for (size_t t = 0; t < G_N_ELEMENTS(types); t++)
    for (int n = 1; n < 4; n++) {
      PlaItem item = { .kind = PLA_KIND_VOLUME };
      PlaError err;
      g_assert_cmpint(pla_volume_new((int[4]){ n, 2, 3, 1 }, types[t], &item.volume, &err), ==,
                      PLA_OK);
      g_autofree char *what = g_strdup_printf("a volume of %s", pla_dtype_name(types[t]));
      check_all(&item, what, same_volume);
      pla_item_clear(&item);
    }
}

static void
same_audio(const PlaItem *a, const PlaItem *b)
{
  g_assert_cmpint(b->audio->n_channels, ==, a->audio->n_channels);
}

static void
test_sounds(void)
{
  for (int channels = 1; channels <= 2; channels++) {
    static int16_t sample[2 * 3200];
    PlaAudio audio = { 3200, channels, 16000, PLA_I16, 16, sample };
    const PlaItem item = { .kind = PLA_KIND_AUDIO, .audio = &audio };
    for (size_t i = 0; i < G_N_ELEMENTS(sample); i++)
      sample[i] = (int16_t)(i * 37 % 2000);
    check_all(&item, "a sound", same_audio);
  }
}

/* every kind that has a writer was tried */
static void
test_kinds(void)
{
  static const PlaKind tried[] = { PLA_KIND_TRACK, PLA_KIND_TAKE, PLA_KIND_MESH, PLA_KIND_VOLUME,
                                   PLA_KIND_AUDIO };
  /* those have tests of their own round trip */
  static const PlaKind elsewhere[] = { PLA_KIND_PHONES, PLA_KIND_LABEL_TABLE };
  for (const PlaFormat *const *f = pla_formats_get(); *f; f++) {
    bool known = !(*f)->write;
    for (size_t i = 0; i < G_N_ELEMENTS(tried); i++)
      known |= (*f)->kind == tried[i];
    for (size_t i = 0; i < G_N_ELEMENTS(elsewhere); i++)
      known |= (*f)->kind == elsewhere[i];
    if (!known)
      g_error("what %s writes is read back nowhere", (*f)->id);
  }
  g_test_message("%d files were written and read, %d refused", n_written, n_refused);
  g_assert_cmpint(n_written, >, 500);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/formats/tracks", test_tracks);
  g_test_add_func("/formats/takes", test_takes);
  g_test_add_func("/formats/meshes", test_meshes);
  g_test_add_func("/formats/volumes", test_volumes);
  g_test_add_func("/formats/sounds", test_sounds);
  g_test_add_func("/formats/kinds", test_kinds);
  return g_test_run();
}
