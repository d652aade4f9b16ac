/* The user's preferences, by GSettings: how things look, never what they are of.
 *
 * The schema is found where programs install theirs, beside an installed program, or in the build
 * tree.  Keys: ui/data/org.platysma.Platysma.gschema.xml. */
#pragma once

#include <gio/gio.h>

G_BEGIN_DECLS

/* Made at the first call and kept; main thread only. */
GSettings *pla_settings_get(void);
/* From now on preferences start at their defaults and are kept in memory only: for pictures of the
 * window that are the same for everybody.  Before the first pla_settings_get(). */
void pla_settings_use_memory(void);

G_END_DECLS
