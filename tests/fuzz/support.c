/* Files for targets, and looks at what readers made of them. */
#include "tests/fuzz/fuzz.h"

#include <glib.h>
#include <glib/gstdio.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

_Noreturn void
pla_fuzz_fault(const char *format, ...)
{
  va_list args;
  va_start(args, format);
  fprintf(stderr, "FAULT: ");
  vfprintf(stderr, format, args);
  fprintf(stderr, "\n");
  va_end(args);
  abort();
}

void
pla_fuzz_check(PlaStatus st, const PlaError *err)
{
  if ((int)st < PLA_OK || st > PLA_ERR_CANCELLED)
    pla_fuzz_fault("%d is no status", (int)st);
  if (st != PLA_OK && (err->message[0] == '\0' || err->status != st))
    pla_fuzz_fault("refused with status %d without its sentence (%d: %s)", (int)st,
                   (int)err->status, err->message);
  if (st != PLA_OK && !g_utf8_validate(err->message, -1, NULL))
    pla_fuzz_fault("the sentence is no UTF-8: %s", err->message);
}

/* ---- files ---- */

static char *dir;

static void
remove_tree(const char *path)
{
  GDir *folder = g_dir_open(path, 0, NULL);
  const char *name;
  while (folder && (name = g_dir_read_name(folder))) {
    g_autofree char *child = g_build_filename(path, name, NULL);
    remove_tree(child);
  }
  if (folder)
    g_dir_close(folder);
  g_remove(path);
}

static void
remove_dir(void)
{
  remove_tree(dir);
  g_free(dir);
}

const char *
pla_fuzz_dir(void)
{
  if (!dir) {
    const bool shm = g_file_test("/dev/shm", G_FILE_TEST_IS_DIR);
    dir = g_strdup_printf("%s/platysma-fuzz-XXXXXX", shm ? "/dev/shm" : g_get_tmp_dir());
    if (!g_mkdtemp(dir))
      pla_fuzz_fault("there is no folder for files");
    atexit(remove_dir);
  }
  return dir;
}

const char *
pla_fuzz_path(const char *name)
{
  static char path[512];
  g_snprintf(path, sizeof path, "%s/%s", pla_fuzz_dir(), name);
  return path;
}

const char *
pla_fuzz_write(const char *name, const void *data, size_t size)
{
  const char *path = pla_fuzz_path(name);
  FILE *file = fopen(path, "wb");
  if (!file || fwrite(data, 1, size, file) != size || fclose(file) != 0)
    pla_fuzz_fault("%s cannot be written", path);
  return path;
}

void
pla_fuzz_empty(const char *name)
{
  g_autofree char *path = g_strdup(pla_fuzz_path(name));
  remove_tree(path);
  if (g_mkdir(path, 0700) != 0)
    pla_fuzz_fault("%s cannot be made", path);
}

bool
pla_fuzz_part(const uint8_t **data, size_t *size, const uint8_t **part, size_t *n)
{
  if (!*data)
    return false;
  const uint8_t *cut = memmem(*data, *size, PLA_FUZZ_CUT, strlen(PLA_FUZZ_CUT));
  *part = *data;
  *n = cut ? (size_t)(cut - *data) : *size;
  *data = cut ? cut + strlen(PLA_FUZZ_CUT) : NULL;
  *size = cut ? *size - *n - strlen(PLA_FUZZ_CUT) : 0;
  return true;
}

/* ---- looks ---- */

void
pla_fuzz_look_at_bytes(const void *data, size_t size)
{
  uint64_t s = 0;
  for (size_t i = 0; i < size; i++)
    s += ((const uint8_t *)data)[i];
  __asm__ volatile("" : : "r"(s)); /* so that no compiler leaves the look out */
}

static void
look_at_text(const char *text)
{
  if (text && !g_utf8_validate(text, -1, NULL))
    pla_fuzz_fault("a name is no UTF-8: %s", text);
}

static void
check_cells(const int *vert, size_t n, int n_verts, const char *what)
{
  for (size_t i = 0; i < n; i++)
    if (vert[i] < 0 || vert[i] >= n_verts)
      pla_fuzz_fault("a %s has the vertex %d of %d", what, vert[i], n_verts);
}

void
pla_fuzz_look_at_mesh(const PlaMesh *m)
{
  pla_fuzz_look_at_bytes(m->pos, (size_t)m->n_verts * 24);
  check_cells(m->tri, 3 * (size_t)m->n_tris, m->n_verts, "triangle");
  check_cells(m->tet, 4 * (size_t)m->n_tets, m->n_verts, "tet");
  check_cells(m->hex, 8 * (size_t)m->n_hexes, m->n_verts, "hex");
  for (int f = 0; f < m->n_fields; f++) {
    look_at_text(m->field[f].name);
    pla_fuzz_look_at_bytes(m->field[f].data, pla_field_n_tuples(m, &m->field[f]) *
                                                 (size_t)m->field[f].n_components *
                                                 pla_dtype_size(m->field[f].dtype));
  }
}

void
pla_fuzz_look_at_volume(const PlaVolume *volume)
{
  pla_fuzz_look_at_bytes(volume->voxels, pla_volume_n_bytes(volume));
}

void
pla_fuzz_look_at(const PlaItem *item)
{
  if (item->volume)
    pla_fuzz_look_at_volume(item->volume);
  if (item->mesh)
    pla_fuzz_look_at_mesh(item->mesh);
  if (item->take) {
    const PlaTake *t = item->take;
    for (int m = 0; m < t->n_markers; m++)
      look_at_text(t->name[m]);
    pla_fuzz_look_at_bytes(t->pos, (size_t)t->n_frames * (size_t)t->n_markers * 24);
  }
  if (item->track) {
    const PlaTrack *t = item->track;
    for (int c = 0; c < t->n_channels; c++)
      look_at_text(t->name[c]);
    pla_fuzz_look_at_bytes(t->value, (size_t)t->n_samples * (size_t)t->n_channels * 8);
  }
  if (item->audio) {
    const PlaAudio *a = item->audio;
    pla_fuzz_look_at_bytes(a->samples,
                           (size_t)a->n_frames * (size_t)a->n_channels * pla_dtype_size(a->dtype));
  }
  for (int i = 0; i < item->phones.n; i++)
    pla_fuzz_look_at_bytes(&item->phones.phone[i], sizeof item->phones.phone[i]);
  for (int i = 0; i < item->labels.n; i++)
    look_at_text(item->labels.label[i].name);
  for (int i = 0; i < item->notes.n; i++)
    look_at_text(item->notes.text[i]);
}
