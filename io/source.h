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

/* Walks text: lines, words and numbers, and knows the line it is at for error sentences. */
typedef struct {
  const char *at, *end;
  int line; /* 1-based */
} PlaText;
void pla_text_init(PlaText *self, const PlaBytes *bytes);
bool pla_text_at_end(PlaText *self);                    /* only blanks and newlines are left */
bool pla_text_next_line(PlaText *self, PlaText *line);  /* false at the end; @line spans one line */
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
