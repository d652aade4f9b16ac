/* Base64 (RFC 4648) as data files use it: in streams, with blanks between, and with padding inside
 * where a writer encoded a header and its data apart. */
#pragma once

#include "io/stream/reader.h"

#include <stddef.h>
#include <stdint.h>

/* Bytes that were decoded but not asked for yet; zero-initialise at the start of a stream. */
typedef struct {
  uint8_t byte[3];
  int n;
} PlaBase64;

/* Decodes exactly @size bytes at the reader's place; false when the encoded text ends before or a
 * group of four characters is broken. */
bool pla_base64_read(PlaBase64 *self, PlaReader *reader, void *out, size_t size);

/* Characters that @size bytes become, padding included. */
size_t pla_base64_length(size_t size);
/* Writes that many characters to @out (no final NUL). */
void pla_base64_encode(const void *data, size_t size, char *out);
