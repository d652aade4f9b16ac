/* Cases that have no name yet: a scan that was opened is in a case at once, kept in the user's data
 * folder ($XDG_DATA_HOME/platysma/unsaved) until it is saved or discarded, whatever happens to the
 * program. */
#pragma once

#include "app/case/session.h"

typedef struct {
  char *path, *title;
  int64_t changed_s; /* Unix time */
} PlaUnsaved;

/* Makes an empty one and opens it.  @lock: says whose it is, for pla_unsaved_unlock(). */
PlaStatus pla_unsaved_create(const char *title, PlaSession **out, int *lock, PlaError *err);
gboolean pla_unsaved_is(const char *path); /* whether a file is such a case */
/* Those that no window has open, newest first, of PlaUnsaved; g_ptr_array_unref(). */
GPtrArray *pla_unsaved_list(void);
/* "12 minutes ago"; g_free(). */
char *pla_unsaved_age(const PlaUnsaved *self, int64_t now_s);

/* A window that has one open holds its lock; -1: another window does.  The lock ends with the
 * program. */
int pla_unsaved_lock(const char *path);
void pla_unsaved_unlock(int lock); /* -1 is fine */
/* Deletes one with all that lies beside it. */
void pla_unsaved_discard(const char *path);
