/* gzip files written by all cores.
 *
 * The data are cut into blocks that are deflated side by side, each with the last 32 KiB before it
 * as its dictionary, and joined into one ordinary gzip member.  Blocks are cut by size alone and no
 * time stamp is stored, so the same data give the same bytes for any number of threads. */
#pragma once

#include "anatomy/base/status.h"

#include <stddef.h>
#include <stdio.h>

typedef struct PlaGzip PlaGzip;

/* @file is borrowed; write errors show in ferror(file), which pla_output_commit() looks at. */
PlaStatus pla_gzip_new(FILE *file, PlaGzip **out, PlaError *err);
void pla_gzip_write(PlaGzip *self, const void *data, size_t size);
/* Writes what is left and the checksum; frees @self. */
void pla_gzip_finish(PlaGzip *self);
void pla_gzip_free(PlaGzip *self); /* without finishing; NULL is fine */
