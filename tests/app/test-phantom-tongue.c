/* The phantom's tongue as it was kept moves as the one that was made, to the bit; a damaged one is
 * made again. */
#include "app/speech/tongue-cache.h"
#include "sim/speech/sounds.h"

#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>

static PlaTongue *
tongue_new(void)
{
  PlaTongueInput input = pla_tongue_input_default();
  PlaTongue *tongue = NULL;
  PlaError err;
  input.n_poses = 4;
  input.cubature.pool = 60;
  input.cubature.most = 20;
  if (pla_phantom_tongue_new(7.5, true, &input, NULL, &tongue, &err) != PLA_OK)
    g_error("%s", err.message);
  return tongue;
}

/* positions after two sounds; g_free() */
static double *
speak(const PlaTongue *tongue, size_t *size)
{
  const PlaTongueBodyOptions options = pla_tongue_body_options_default();
  PlaTongueBody *body;
  PlaTongueReport report;
  PlaError err;
  g_assert_cmpint(pla_tongue_body_new(tongue, &options, &body, &err), ==, PLA_OK);
  for (int i = 0; i < 2; i++) {
    double coils[2 * PLA_N_COILS];
    for (int k = 0; k < 2 * PLA_N_COILS; k++)
      coils[k] = -pla_sound_find(i == 0 ? "a" : "i")->target[k];
    g_assert_cmpint(pla_tongue_body_step(body, coils, &report, &err), ==, PLA_OK);
  }
  *size = 3 * sizeof(double) * (size_t)pla_tongue_get_mesh(tongue)->n_verts;
  double *pos = g_memdup2(pla_tongue_body_get_pos(body), *size);
  pla_tongue_body_free(body);
  return pos;
}

/* overwrites the middle of every file in @folder; their number */
static int
damage(const char *folder)
{
  g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
  const char *name;
  int n = 0;
  while ((name = g_dir_read_name(dir))) {
    g_autofree char *path = g_build_filename(folder, name, NULL), *bytes = NULL;
    gsize size;
    g_assert_true(g_file_get_contents(path, &bytes, &size, NULL));
    bytes[size / 2] ^= 1;
    g_assert_true(g_file_set_contents(path, bytes, (gssize)size, NULL));
    n++;
  }
  return n;
}

static void
test_kept(void)
{
  g_autofree char *folder = g_dir_make_tmp("platysma-tongue-XXXXXX", NULL);
  g_setenv("PLATYSMA_CACHE", folder, TRUE);
  size_t size[3];
  double *pos[3];
  for (int i = 0; i < 3; i++) {
    if (i == 2)
      g_assert_cmpint(damage(folder), ==, 2);
    PlaTongue *tongue = tongue_new();
    pos[i] = speak(tongue, &size[i]);
    pla_tongue_free(tongue);
  }
  for (int i = 1; i < 3; i++) {
    g_assert_cmpuint(size[i], ==, size[0]);
    g_assert_true(memcmp(pos[i], pos[0], size[0]) == 0);
  }
  for (int i = 0; i < 3; i++)
    g_free(pos[i]);
  g_autofree char *clean = g_strdup_printf("rm -rf %s", folder);
  g_assert_true(g_spawn_command_line_sync(clean, NULL, NULL, NULL, NULL));
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/phantom-tongue/kept", test_kept);
  return g_test_run();
}
