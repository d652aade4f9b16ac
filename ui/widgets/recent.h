/* The files opened last, for the welcome page: paths only, in a file of the user's own
 * ($XDG_STATE_HOME/platysma/recent), never shared with other programs. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

GStrv pla_recent_get(void); /* newest first, those that still exist; g_strfreev() */
void pla_recent_add(const char *path);
void pla_recent_forget(void);

G_END_DECLS
