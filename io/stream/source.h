/* Whole files in memory for readers, plain or gzip-compressed, with limits.
 *
 * The size in memory grows with the bytes that really arrive: a small file that claims to be huge
 * costs nothing. */
#pragma once

#include "anatomy/base/memory.h"
#include "anatomy/base/progress.h"
#include "anatomy/base/status.h"

#include <stdbool.h>
#include <stdint.h>

/* deflate cannot expand a byte to more than this many */
#define PLA_MAX_INFLATE 1032

/* Size of a regular file in bytes; PLA_ERR_IO with a sentence for a missing file, a folder, no
 * permission. */
PlaStatus pla_source_size(const char *path, uint64_t *out, PlaError *err);
/* Up to @max first bytes. */
PlaStatus pla_source_head(const char *path, uint8_t *head, size_t max, size_t *out, PlaError *err);
/* The whole file as it is (pla_bytes_clear() by the caller).  A NUL byte, not counted in size,
 * follows the data, so that text parsers may rely on an end. */
PlaStatus pla_source_read(const char *path, PlaProgress *progress, PlaBytes *out, PlaError *err);
/* The same, inflated when the file starts with the gzip magic. */
PlaStatus pla_source_read_gz(const char *path, PlaProgress *progress, PlaBytes *out, PlaError *err);

/* The bytes of a file in order, inflated on the way when it starts with the gzip magic (several
 * members read as one).  For readers that put data where they belong instead of holding the file.
 */
typedef struct PlaStream PlaStream;
PlaStatus pla_stream_open(const char *path, PlaStream **out, PlaError *err);
void pla_stream_close(PlaStream *self); /* NULL is fine */
bool pla_stream_is_gzip(const PlaStream *self);
/* No more bytes than this can come: the file's size, PLA_MAX_INFLATE times that when compressed. */
uint64_t pla_stream_most(const PlaStream *self);
/* Fills @data; *got < size only where the file ends.  Damaged or cut compressed data are
 * PLA_ERR_FORMAT with a sentence, the checksum at their end included. */
PlaStatus pla_stream_read(PlaStream *self, void *data, size_t size, size_t *got, PlaError *err);
double pla_stream_fraction(const PlaStream *self); /* of the file that has been read, 0..1 */

/* Walks text: lines, words and numbers, and knows the line it is at for error sentences. */
typedef struct {
  const char *at, *end;
  int line; /* 1-based */
} PlaText;
void pla_text_init(PlaText *self, const PlaBytes *bytes);
bool pla_text_at_end(PlaText *self);                   /* only blanks and newlines are left */
bool pla_text_next_line(PlaText *self, PlaText *line); /* false at the end; @line spans one line */
bool pla_text_word(PlaText *self, const char **word, size_t *len); /* false at the end */
/* Numbers in the C locale whatever the user's; false when the next word is no such number. */
bool pla_text_double(PlaText *self, double *out);
bool pla_text_int(PlaText *self, int *out);
bool pla_text_int64(PlaText *self, int64_t *out);
bool pla_text_is(const char *word, size_t len, const char *expected);

/* strtod in the C locale on [at, end); returns where the number ended, or NULL. */
const char *pla_parse_double(const char *at, const char *end, double *out);

/* Shortest text that reads back as the same double / float (C locale); @buffer has 32 bytes. */
const char *pla_format_double(double value, char buffer[32]);
const char *pla_format_float(float value, char buffer[32]);

/* A name from a file: blanks around it cut off, Latin-1 made UTF-8, control characters replaced.
 * NULL when memory is short. */
char *pla_name_dup(const char *bytes, size_t len);
bool pla_is_utf8(const char *bytes, size_t len);
