/* Code that is loaded only when it is needed: the shims over large libraries.
 *
 * A module is a shared object NAME.so that exports one function returning a table of functions.
 * It is looked for in $PLATYSMA_MODULES, then in the build tree that the running program stands
 * in, then where Platysma was installed. */
#pragma once

#include "anatomy/base/status.h"

/* The table of module @name, whose source is in @room ("anatomy/surface", "ui/views"), got by
 * calling its function @entry (const void *(*)(void)).  Modules stay loaded until the program ends;
 * a second call costs a lookup.  PLA_ERR_UNSUPPORTED when it is not there or cannot be loaded, with
 * a sentence that says what is missing and how to get it. */
PlaStatus pla_module_load(const char *room, const char *name, const char *entry, const void **table,
                          PlaError *err);
