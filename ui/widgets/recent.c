/* Keeps up to eight paths, newest first, one per line, in a file that only the user can read. */
#include "ui/widgets/recent.h"

#include <glib/gstdio.h>
#include <string.h>

enum { MOST = 8 };

static char *
list_path(void)
{
  return g_build_filename(g_get_user_state_dir(), "platysma", "recent", NULL);
}

GStrv
pla_recent_get(void)
{
  g_autofree char *path = list_path();
  g_autofree char *text = NULL;
  GStrvBuilder *found = g_strv_builder_new();
  if (g_file_get_contents(path, &text, NULL, NULL)) {
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (int i = 0; lines[i]; i++)
      if (*lines[i] && g_file_test(lines[i], G_FILE_TEST_EXISTS))
        g_strv_builder_add(found, lines[i]);
  }
  GStrv list = g_strv_builder_end(found);
  g_strv_builder_unref(found);
  return list;
}

void
pla_recent_add(const char *path)
{
  g_autofree char *whole = g_canonicalize_filename(path, NULL);
  if (strchr(whole, '\n'))
    return;
  g_auto(GStrv) old = pla_recent_get();
  GString *text = g_string_new(whole);
  for (int i = 0, n = 1; old[i] && n < MOST; i++)
    if (strcmp(old[i], whole) != 0) {
      g_string_append_printf(text, "\n%s", old[i]);
      n++;
    }
  g_autofree char *file = list_path();
  g_autofree char *dir = g_path_get_dirname(file);
  /* not being able to remember is no reason to disturb anybody */
  if (g_mkdir_with_parents(dir, 0700) == 0)
    g_file_set_contents_full(file, text->str, (gssize)text->len, G_FILE_SET_CONTENTS_CONSISTENT,
                             0600, NULL);
  g_string_free(text, TRUE);
}

void
pla_recent_forget(void)
{
  g_autofree char *file = list_path();
  g_unlink(file);
}
