/* Files written beside their target and renamed, one by one or several together, so that an
 * interrupted or failed run leaves the old files or none, never half of them. */
#pragma once

#include "anatomy/base/status.h"

#include <stdbool.h>
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

/* ---- several files as one ------------------------------------------------------------------ */

/* Files that a thread commits while it has a set open wait in a hidden folder beside their targets,
 * ".platysma-part-XXXXXX", and take their names together when the set ends well.  A set that is
 * opened within another joins it.  What a killed program left of a set is finished or removed by
 * the next one that writes to the same folder. */
typedef struct PlaOutputSet PlaOutputSet;
PlaStatus pla_output_set_begin(PlaOutputSet **out, PlaError *err);
/* With PLA_OK gives all files their names, else removes them and leaves what was there before;
 * frees.  Returns @status, or why that could not be done.  NULL is fine. */
PlaStatus pla_output_set_end(PlaOutputSet *self, PlaStatus status, PlaError *err);
/* The folder @path for files of this thread's set; removed again where the set fails. */
PlaStatus pla_output_set_mkdir(const char *path, PlaError *err);
/* Removes a file that the set makes obsolete once the set has its names. */
PlaStatus pla_output_set_remove(const char *path, PlaError *err);
/* @data takes the name @path before the other files of its folder take theirs: a list that names
 * them where they wait.  So the list of a series is whole at every moment. */
PlaStatus pla_output_set_interim(const char *path, const void *data, size_t size, PlaError *err);
/* Where a file written to @path can be read now: it may wait in a set.  Borrowed. */
const char *pla_output_get_staged(const char *path);
/* The name of the folder in which the file @path waits, without the folders above it; NULL: none.
 */
const char *pla_output_get_staging_name(const char *path);
/* Files written between these two take their names at once: what is kept for later runs. */
PlaOutputSet *pla_output_set_pause(void);
void pla_output_set_resume(PlaOutputSet *set);

/* ---- signals ------------------------------------------------------------------------------- */

/* Removes the temporary files of every open output and set: for a signal handler
 * (async-signal-safe).  false, and nothing is removed, while files take their names, which ends
 * soon. */
bool pla_output_remove_all_temporaries(void);
