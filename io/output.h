/* Files written beside their target and renamed, so that an interrupted or failed run leaves the
 * old file or none, never half a one. */
#pragma once

#include "anatomy/base/status.h"

#include <stdio.h>

typedef struct PlaOutput PlaOutput;

/* Opens a temporary file in the folder of @path (PLA_ERR_IO with a sentence when that cannot be
 * written).  Standard output is not handled here. */
PlaStatus pla_output_open(const char *path, PlaOutput **out, PlaError *err);
FILE *pla_output_get_file(PlaOutput *self);
const char *pla_output_get_temp_path(const PlaOutput *self);
/* Flushes, syncs and renames all @n outputs; frees them.  Any failure discards all that are not
 * renamed yet. */
PlaStatus pla_output_commit(PlaOutput **outputs, int n, PlaError *err);
/* Removes the temporary file and frees; NULL is fine. */
void pla_output_discard(PlaOutput *self);

/* Writes a whole buffer that way. */
PlaStatus pla_output_write(const char *path, const void *data, size_t size, PlaError *err);

/* Removes the temporary files of every open output: for a signal handler (async-signal-safe). */
void pla_output_remove_all_temporaries(void);
