/* Tables of the Muscles workspace, written by a job of their own. */
#pragma once

#include "ui/document/document.h"

/* Why a table was not written. */
typedef void (*PlaTableFailed)(gpointer owner, const char *failure);
/* Writes the item called @item to @path in the format of its name; FALSE where there is none of
 * that name.
 * @failed is called on the main thread, with @owner, which lives until then. */
gboolean pla_muscle_export(PlaDocument *document, const char *item, const char *path,
                           PlaTableFailed failed, GObject *owner);
