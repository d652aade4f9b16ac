/* Creates, lists and deletes unsaved cases; a lock file beside each shows that a window has it
 * open. */
#include "ui/document/unsaved.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gi18n.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define ENDING ".platysma"

static char *
folder(void)
{
  return g_build_filename(g_get_user_data_dir(), "platysma", "unsaved", NULL);
}

static char *
lock_path(const char *path)
{
  return g_strconcat(path, ".lock", NULL);
}

gboolean
pla_unsaved_is(const char *path)
{
  g_autofree char *place = folder();
  g_autofree char *whole = g_canonicalize_filename(path, NULL);
  g_autofree char *dir = g_path_get_dirname(whole);
  return strcmp(dir, place) == 0;
}

int
pla_unsaved_lock(const char *path)
{
  /* beside the case: closing a file of its own would end the locks of SQLite */
  g_autofree char *file = lock_path(path);
  int fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
    close(fd);
    fd = -1;
  }
  return fd;
}

void
pla_unsaved_unlock(int lock)
{
  if (lock >= 0)
    close(lock);
}

void
pla_unsaved_discard(const char *path)
{
  static const char *const beside[] = { "", "-journal", ".lock" };
  for (size_t i = 0; i < G_N_ELEMENTS(beside); i++) {
    g_autofree char *file = g_strconcat(path, beside[i], NULL);
    g_unlink(file);
  }
}

PlaStatus
pla_unsaved_create(const char *title, PlaSession **out, int *lock, PlaError *err)
{
  g_autofree char *place = folder();
  *out = NULL;
  *lock = -1;
  if (g_mkdir_with_parents(place, 0700) != 0)
    return pla_fail(err, PLA_ERR_IO,
                    "The folder %s cannot be made (%s), so a scan cannot be stored; make a new "
                    "case elsewhere and open the scan in it",
                    place, g_strerror(errno));
  g_chmod(place, 0700);
  g_autofree char *name = g_strdelimit(g_strdup(*title ? title : "scan"), "/", '-');
  for (int i = 1;; i++) {
    g_autofree char *number = i > 1 ? g_strdup_printf(" %d", i) : g_strdup("");
    g_autofree char *file = g_strconcat(name, number, ENDING, NULL);
    g_autofree char *path = g_build_filename(place, file, NULL);
    if (g_file_test(path, G_FILE_TEST_EXISTS))
      continue;
    int held = pla_unsaved_lock(path);
    if (held < 0 && i < 1000)
      continue; /* another window is just making it */
    PlaStatus st = pla_session_create(path, title, out, err);
    if (st == PLA_OK) {
      g_chmod(path, 0600);
      *lock = held;
      return PLA_OK;
    }
    pla_unsaved_unlock(held);
    if (!g_file_test(path, G_FILE_TEST_EXISTS)) {
      pla_unsaved_discard(path);
      return st;
    }
  }
}

static void
unsaved_free(gpointer data)
{
  PlaUnsaved *self = data;
  g_free(self->path);
  g_free(self->title);
  g_free(self);
}

static int
by_time(gconstpointer a, gconstpointer b)
{
  const PlaUnsaved *const *x = a, *const *y = b;
  return (*y)->changed_s < (*x)->changed_s ? -1 : (*y)->changed_s > (*x)->changed_s;
}

GPtrArray *
pla_unsaved_list(void)
{
  g_autofree char *place = folder();
  GPtrArray *list = g_ptr_array_new_with_free_func(unsaved_free);
  g_autoptr(GDir) listing = g_dir_open(place, 0, NULL);
  for (const char *name; listing && (name = g_dir_read_name(listing));) {
    g_autofree char *path = g_build_filename(place, name, NULL);
    GStatBuf info;
    if (!g_str_has_suffix(name, ENDING) || g_stat(path, &info) != 0)
      continue;
    int lock = pla_unsaved_lock(path);
    if (lock < 0)
      continue; /* somebody works on it */
    PlaCaseSummary summary;
    PlaError err;
    const PlaStatus st = pla_case_summary(path, &summary, &err);
    if (st == PLA_OK && summary.n_operations == 0) {
      pla_unsaved_discard(path);
    } else {
      /* one that cannot be read is listed too: opening it tells what can be done */
      PlaUnsaved *unsaved = g_new0(PlaUnsaved, 1);
      unsaved->path = g_strdup(path);
      unsaved->title = st == PLA_OK && *summary.title
                           ? g_strdup(summary.title)
                           : g_strndup(name, strlen(name) - strlen(ENDING));
      unsaved->changed_s = info.st_mtime;
      g_ptr_array_add(list, unsaved);
    }
    pla_case_summary_clear(&summary);
    pla_unsaved_unlock(lock);
  }
  g_ptr_array_sort(list, by_time);
  return list;
}

char *
pla_unsaved_age(const PlaUnsaved *self, int64_t now_s)
{
  const int64_t s = MAX(now_s - self->changed_s, 0), minutes = s / 60, hours = minutes / 60,
                days = hours / 24;
  if (minutes < 1)
    return g_strdup(_("just now"));
  if (minutes < 60)
    return g_strdup_printf(g_dngettext(NULL, "%d minute ago", "%d minutes ago", (gulong)minutes),
                           (int)minutes);
  if (hours < 24)
    return g_strdup_printf(g_dngettext(NULL, "%d hour ago", "%d hours ago", (gulong)hours),
                           (int)hours);
  return g_strdup_printf(g_dngettext(NULL, "%d day ago", "%d days ago", (gulong)days), (int)days);
}
