/* What mesh writers share: an output with progress, numbers as text or bytes, millimetres. */
#pragma once

#include "io/formats/format.h"
#include "io/stream/output.h"

#include "anatomy/base/memory.h"

#include <stdio.h>

/* Text and bytes collect in `buffer` and go out in large pieces.  A write that fails shows at the
 * end, in pla_mesh_writer_close(). */
typedef struct {
  PlaOutput *output;
  FILE *file;
  PlaProgress *progress;
  const PlaMesh *mesh;
  const char *path;  /* borrowed */
  bool big_endian;   /* of pla_mesh_writer_elements() */
  uint64_t written;  /* bytes */
  uint64_t expected; /* bytes, roughly: for the progress shown */
  bool cancelled, short_memory;
  PlaBytes buffer;
} PlaMeshWriter;

PlaStatus pla_mesh_writer_open(PlaMeshWriter *self, const char *path, const PlaMesh *mesh,
                               const PlaWriteOptions *opts, PlaError *err);
/* Renames the finished file into place, or discards it after a failure, a cancel or @status. */
PlaStatus pla_mesh_writer_close(PlaMeshWriter *self, PlaStatus status, PlaError *err);
/* The same up to the rename: *output is then ready for pla_output_commit(). */
PlaStatus pla_mesh_writer_finish(PlaMeshWriter *self, PlaStatus status, PlaOutput **output,
                                 PlaError *err);

void pla_mesh_writer_bytes(PlaMeshWriter *self, const void *data, size_t size);
void pla_mesh_writer_text(PlaMeshWriter *self, const char *text);
void pla_mesh_writer_printf(PlaMeshWriter *self, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Element @i of @data as text that reads back the same. */
void pla_mesh_writer_number(PlaMeshWriter *self, PlaDType dtype, const void *data, size_t i);
/* @n elements as bytes of the chosen order. */
void pla_mesh_writer_elements(PlaMeshWriter *self, PlaDType dtype, const void *data, size_t n);
void pla_mesh_writer_flush(PlaMeshWriter *self);

/* The type that the mesh's coordinates are written as. */
PlaDType pla_mesh_mm_dtype(const PlaMesh *mesh);
/* Coordinates of @n vertices from @first in mm, as floats or doubles after that type. */
void pla_mesh_to_mm(const PlaMesh *mesh, size_t first, size_t n, void *out);

/* PLA_ERR_UNSUPPORTED with a sentence when the mesh has solid cells: @what is the format's name. */
PlaStatus pla_mesh_need_surface(const PlaMesh *mesh, const char *path, const char *what,
                                PlaError *err);

/* Notes for a format that holds no fields, and for one that rounds 64-bit coordinates. */
void pla_mesh_note_losses(const PlaMesh *mesh, const char *what, bool rounds, PlaNotes *notes);

/* Names as one word: blanks, quotes, '%' and bytes outside ASCII become %XX, as in VTK files.
 * free() by the caller; NULL when memory is short. */
char *pla_name_encode(const char *name);
char *pla_name_decode(const char *word, size_t len);
