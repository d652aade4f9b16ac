/* Runs every file of the targets' corpora once, without libFuzzer: replay FOLDER [TARGET...].
 * Each allocation and each read of a file fails once as well, up to TROUBLES of them a file. */
#include "tests/fuzz/fuzz.h"

#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
  TROUBLES = 24,
  PATIENCE_S = 60, /* for one file: a hang guard */
};

static int
compare_names(const void *a, const void *b)
{
  return strcmp(*(char *const *)a, *(char *const *)b);
}

/* files run; what is wrong stops the program */
static int
replay(const PlaFuzzTarget *target, const char *corpora)
{
  g_autofree char *folder = g_build_filename(corpora, target->name, NULL);
  g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
  g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
  const char *name;
  while (dir && (name = g_dir_read_name(dir)))
    g_ptr_array_add(names, g_strdup(name));
  g_ptr_array_sort(names, compare_names);
  for (guint i = 0; i < names->len; i++) {
    g_autofree char *path = g_build_filename(folder, names->pdata[i], NULL);
    g_autofree char *data = NULL;
    gsize size = 0;
    if (!g_file_get_contents(path, &data, &size, NULL))
      pla_fuzz_fault("%s cannot be read", path);
    /* no byte behind the input, so that sanitizers see who reads further */
    uint8_t *exact = malloc(size + (size == 0));
    memcpy(exact, data, size);
    fprintf(stderr, "# %s/%s\n", target->name, (char *)names->pdata[i]);
    alarm(PATIENCE_S);
    pla_fuzz_one(target, exact, size, TROUBLES);
    alarm(0);
    free(exact);
  }
  return (int)names->len;
}

int
main(int argc, char **argv)
{
  if (argc < 2) {
    fprintf(stderr, "usage: %s CORPORA [TARGET...]\n", argv[0]);
    return 2;
  }
  int bad = 0, at = 0;
  for (const PlaFuzzTarget *t = pla_fuzz_targets; t->name; t++) {
    bool wanted = argc == 2;
    for (int i = 2; i < argc; i++)
      wanted = wanted || strcmp(argv[i], t->name) == 0;
    if (!wanted)
      continue;
    const int n = replay(t, argv[1]);
    bad += n == 0; /* a target without seeds tests nothing */
    printf("%s %d - %s: %d files\n", n > 0 ? "ok" : "not ok", ++at, t->name, n);
    fflush(stdout);
  }
  printf("1..%d\n", at);
  return bad > 0 || at == 0;
}
