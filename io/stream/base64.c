/* Base64 (RFC 4648): decoding from a stream in pieces of any size, encoding of a block. */
#include "io/stream/base64.h"

#include <string.h>

/* value + 1 of each character of the alphabet; 0 for all others */
static const uint8_t value_of[256] = {
  ['A'] = 1,  ['B'] = 2,  ['C'] = 3,  ['D'] = 4,  ['E'] = 5,  ['F'] = 6,  ['G'] = 7,  ['H'] = 8,
  ['I'] = 9,  ['J'] = 10, ['K'] = 11, ['L'] = 12, ['M'] = 13, ['N'] = 14, ['O'] = 15, ['P'] = 16,
  ['Q'] = 17, ['R'] = 18, ['S'] = 19, ['T'] = 20, ['U'] = 21, ['V'] = 22, ['W'] = 23, ['X'] = 24,
  ['Y'] = 25, ['Z'] = 26, ['a'] = 27, ['b'] = 28, ['c'] = 29, ['d'] = 30, ['e'] = 31, ['f'] = 32,
  ['g'] = 33, ['h'] = 34, ['i'] = 35, ['j'] = 36, ['k'] = 37, ['l'] = 38, ['m'] = 39, ['n'] = 40,
  ['o'] = 41, ['p'] = 42, ['q'] = 43, ['r'] = 44, ['s'] = 45, ['t'] = 46, ['u'] = 47, ['v'] = 48,
  ['w'] = 49, ['x'] = 50, ['y'] = 51, ['z'] = 52, ['0'] = 53, ['1'] = 54, ['2'] = 55, ['3'] = 56,
  ['4'] = 57, ['5'] = 58, ['6'] = 59, ['7'] = 60, ['8'] = 61, ['9'] = 62, ['+'] = 63, ['/'] = 64,
};

/* one group of four characters, blanks skipped, into self->byte; false when there is none */
static bool
read_group(PlaBase64 *self, PlaReader *reader)
{
  uint32_t bits = 0;
  int n_chars = 0, n_pads = 0;
  while (n_chars < 4) {
    if (pla_reader_fill(reader, 1) == 0)
      return false;
    uint8_t c = *reader->at;
    if (c == ' ' || (c >= '\t' && c <= '\r')) {
      reader->line += c == '\n';
    } else if (c == '=' && n_chars >= 2) {
      n_pads++;
      n_chars++;
      bits <<= 6;
    } else if (value_of[c] && n_pads == 0) {
      n_chars++;
      bits = bits << 6 | (uint32_t)(value_of[c] - 1);
    } else {
      return false;
    }
    reader->at++;
  }
  self->byte[0] = (uint8_t)(bits >> 16);
  self->byte[1] = (uint8_t)(bits >> 8);
  self->byte[2] = (uint8_t)bits;
  self->n = 3 - n_pads;
  return true;
}

bool
pla_base64_read(PlaBase64 *self, PlaReader *reader, void *out, size_t size)
{
  uint8_t *to = out;
  while (size > 0) {
    /* what the last group left over */
    while (self->n > 0 && size > 0) {
      *to++ = self->byte[0];
      self->byte[0] = self->byte[1];
      self->byte[1] = self->byte[2];
      self->n--;
      size--;
    }
    /* unbroken groups, four characters at a time */
    size_t groups = pla_reader_fill(reader, 4) / 4;
    groups = groups < size / 3 ? groups : size / 3;
    const uint8_t *at = reader->at;
    for (; groups > 0; groups--, at += 4, to += 3, size -= 3) {
      uint32_t a = value_of[at[0]], b = value_of[at[1]], c = value_of[at[2]], d = value_of[at[3]];
      if (!a || !b || !c || !d)
        break;
      uint32_t bits = (a - 1) << 18 | (b - 1) << 12 | (c - 1) << 6 | (d - 1);
      to[0] = (uint8_t)(bits >> 16);
      to[1] = (uint8_t)(bits >> 8);
      to[2] = (uint8_t)bits;
    }
    reader->at = at;
    if (size > 0 && !read_group(self, reader))
      return false;
  }
  return true;
}

size_t
pla_base64_length(size_t size)
{
  return (size + 2) / 3 * 4;
}

void
pla_base64_encode(const void *data, size_t size, char *out)
{
  static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const uint8_t *from = data;
  for (; size > 0; out += 4) {
    size_t n = size < 3 ? size : 3;
    uint32_t bits = (uint32_t)from[0] << 16 | (n > 1 ? (uint32_t)from[1] << 8 : 0) |
                    (n > 2 ? (uint32_t)from[2] : 0);
    out[0] = alphabet[bits >> 18];
    out[1] = alphabet[bits >> 12 & 63];
    out[2] = n > 1 ? alphabet[bits >> 6 & 63] : '=';
    out[3] = n > 2 ? alphabet[bits & 63] : '=';
    from += n;
    size -= n;
  }
}
