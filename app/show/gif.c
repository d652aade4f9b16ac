/* LZW as in the GIF89a specification: codes grow from 9 to 12 bits, packed low bit first. */
#include "app/show/gif.h"

#include <glib.h>
#include <math.h>
#include <string.h>

enum { CUBE = 216, COLOURS = 256, CLEAR = 256, END = 257, FIRST = 258, MOST = 4096, TABLE = 5003 };

struct PlaGif {
  FILE *file;
  int width, height, delay_cs;
  unsigned char *index; /* of the picture */
  /* the packer */
  guint32 bits;
  int n_bits, n_block;
  unsigned char block[255];
};

static void
put_word(FILE *file, int value)
{
  fputc(value & 255, file);
  fputc(value >> 8, file);
}

/* nearest colour of the palette: a grey when the pixel is about grey */
static unsigned char
nearest(guint32 pixel)
{
  const int r = (pixel >> 16) & 255, g = (pixel >> 8) & 255, b = pixel & 255;
  const int most = MAX(r, MAX(g, b)), least = MIN(r, MIN(g, b));
  if (most - least < 10)
    return (unsigned char)(CUBE + ((r + g + b) * 39 + 382) / 765);
  return (unsigned char)(36 * ((r * 5 + 127) / 255) + 6 * ((g * 5 + 127) / 255) +
                         (b * 5 + 127) / 255);
}

PlaGif *
pla_gif_new(FILE *file, int width, int height, int delay_cs)
{
  PlaGif *self = g_new0(PlaGif, 1);
  self->file = file;
  self->width = width;
  self->height = height;
  self->delay_cs = delay_cs;
  self->index = g_new(unsigned char, (gsize)width *(gsize)height);
  fputs("GIF89a", file);
  put_word(file, width);
  put_word(file, height);
  fputc(0xf7, file); /* a palette of 256 colours follows */
  fputc(0, file);
  fputc(0, file);
  for (int i = 0; i < COLOURS; i++) {
    const int grey = (i - CUBE) * 255 / 39;
    fputc(i < CUBE ? i / 36 * 51 : grey, file);
    fputc(i < CUBE ? i / 6 % 6 * 51 : grey, file);
    fputc(i < CUBE ? i % 6 * 51 : grey, file);
  }
  /* again and again */
  fwrite("\x21\xff\x0bNETSCAPE2.0\x03\x01\x00\x00\x00", 1, 19, file);
  return self;
}

static void
flush_block(PlaGif *self)
{
  if (self->n_block == 0)
    return;
  fputc(self->n_block, self->file);
  fwrite(self->block, 1, (size_t)self->n_block, self->file);
  self->n_block = 0;
}

static void
put_code(PlaGif *self, int code, int size)
{
  self->bits |= (guint32)code << self->n_bits;
  self->n_bits += size;
  while (self->n_bits >= 8) {
    self->block[self->n_block++] = (unsigned char)(self->bits & 255);
    self->bits >>= 8;
    self->n_bits -= 8;
    if (self->n_block == 255)
      flush_block(self);
  }
}

/* strings that were seen: a hash table of (prefix, next) -> code */
typedef struct {
  gint32 key[TABLE];
  guint16 code[TABLE];
} Seen;

static int
find_slot(const Seen *seen, gint32 key)
{
  int slot = (int)((guint32)key * 2654435761u % TABLE);
  while (seen->key[slot] >= 0 && seen->key[slot] != key)
    slot = (slot + 1) % TABLE;
  return slot;
}

static void
compress(PlaGif *self)
{
  g_autofree Seen *seen = g_new(Seen, 1);
  const gsize n = (gsize)self->width * (gsize)self->height;
  int size = 9, next = FIRST, prefix = self->index[0];
  memset(seen->key, -1, sizeof seen->key);
  put_code(self, CLEAR, size);
  for (gsize i = 1; i < n; i++) {
    const gint32 key = prefix << 8 | self->index[i];
    const int slot = find_slot(seen, key);
    if (seen->key[slot] == key) {
      prefix = seen->code[slot];
      continue;
    }
    put_code(self, prefix, size);
    prefix = self->index[i];
    if (next < MOST) {
      seen->key[slot] = key;
      seen->code[slot] = (guint16)next++;
      /* the reader is one string behind */
      if (next - 1 == 1 << size && size < 12)
        size++;
    } else {
      put_code(self, CLEAR, size);
      memset(seen->key, -1, sizeof seen->key);
      size = 9;
      next = FIRST;
    }
  }
  put_code(self, prefix, size);
  /* the string that this code completes counts for the reader */
  if (next == 1 << size && size < 12)
    size++;
  put_code(self, END, size);
  if (self->n_bits > 0)
    put_code(self, 0, 8 - self->n_bits);
  flush_block(self);
  self->bits = 0;
  self->n_bits = 0;
}

void
pla_gif_add(PlaGif *self, cairo_surface_t *image)
{
  cairo_surface_flush(image);
  const unsigned char *data = cairo_image_surface_get_data(image);
  const gsize stride = (gsize)cairo_image_surface_get_stride(image);
  for (int y = 0; y < self->height; y++)
    for (int x = 0; x < self->width; x++) {
      guint32 pixel;
      memcpy(&pixel, data + (gsize)y * stride + 4 * (gsize)x, sizeof pixel);
      self->index[y * self->width + x] = nearest(pixel);
    }
  FILE *file = self->file;
  fwrite("\x21\xf9\x04\x00", 1, 4, file);
  put_word(file, self->delay_cs);
  fputc(0, file);
  fputc(0, file);
  fputc(0x2c, file);
  put_word(file, 0);
  put_word(file, 0);
  put_word(file, self->width);
  put_word(file, self->height);
  fputc(0, file);
  fputc(8, file);
  compress(self);
  fputc(0, file);
}

void
pla_gif_finish(PlaGif *self)
{
  fputc(0x3b, self->file);
  g_free(self->index);
  g_free(self);
}
