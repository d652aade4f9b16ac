/* Meshes for the tests of mesh formats, and what "the same mesh" means. */
#pragma once

#include "io/formats/format.h"

typedef enum {
  PLA_SAMPLE_TRIS = 1,
  PLA_SAMPLE_TETS = 2,
  PLA_SAMPLE_HEXES = 4,
  PLA_SAMPLE_SINGLE = 8,  /* coordinates are 32-bit millimetres */
  PLA_SAMPLE_FIELDS = 16, /* every type, one to nine components, odd names */
} PlaSampleParts;

/* A block of n x n x n cells with jittered vertices (deterministic), its surface, its tets, its
 * hexes, as @parts ask.  pla_mesh_free() */
PlaMesh *pla_sample_mesh(int n, unsigned parts);

/* g_asserts the same counts, connectivity and single; coordinates within @max_ulp. */
void pla_assert_same_geometry(const PlaMesh *a, const PlaMesh *b, int max_ulp);
/* Also the same fields: names, places, types, components and bits, in any order. */
void pla_assert_same_fields(const PlaMesh *a, const PlaMesh *b);
/* Also every number equal, whatever its type. */
void pla_assert_same_field_values(const PlaMesh *a, const PlaMesh *b);

/* Writes and reads back; g_asserts that both work. */
PlaItem pla_mesh_round_trip(const PlaFormat *format, const char *file_name, const PlaMesh *mesh,
                            const PlaWriteOptions *opts);
void pla_mesh_write_sample(const PlaFormat *format, const char *path, const PlaMesh *mesh,
                           const PlaWriteOptions *opts);
/* Writes @mesh and reads the file in every damaged form. */
void pla_mesh_fuzz(const PlaFormat *format, const char *extension, const PlaMesh *mesh,
                   const PlaWriteOptions *opts);

/* Writes @size bytes to the test folder and reads them; returns the status, the sentence in @err.
 * @file_name tells the format. */
PlaStatus pla_read_text(const PlaFormat *format, const char *file_name, const void *data,
                        size_t size, PlaItem *out, PlaError *err);
/* g_asserts that @text is refused with a sentence that holds @expected. */
void pla_assert_refused(const PlaFormat *format, const char *file_name, const char *text,
                        const char *expected);
/* g_asserts that one of the notes holds @expected. */
void pla_assert_note(const PlaItem *item, const char *expected);
