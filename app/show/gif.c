/* Moving pictures as GIF89a by giflib: one palette, the whole picture in every frame. */
#include "app/show/gif.h"

#include <gif_lib.h>
#include <glib.h>
#include <string.h>

enum { CUBE = 216, COLOURS = 256 };

struct PlaGif {
  GifFileType *gif; /* NULL after a failure: nothing more is written */
  int width, height, delay_cs;
  GifByteType *row;
};

static int
write_bytes(GifFileType *gif, const GifByteType *bytes, int n)
{
  return (int)fwrite(bytes, 1, (size_t)n, gif->UserData);
}

/* nearest colour of the palette: a grey when the pixel is about grey */
static GifByteType
nearest(guint32 pixel)
{
  const int r = (pixel >> 16) & 255, g = (pixel >> 8) & 255, b = pixel & 255;
  const int most = MAX(r, MAX(g, b)), least = MIN(r, MIN(g, b));
  if (most - least < 10)
    return (GifByteType)(CUBE + ((r + g + b) * 39 + 382) / 765);
  return (GifByteType)(36 * ((r * 5 + 127) / 255) + 6 * ((g * 5 + 127) / 255) +
                       (b * 5 + 127) / 255);
}

static void
close_gif(PlaGif *self)
{
  int error;
  if (self->gif)
    EGifCloseFile(self->gif, &error);
  self->gif = NULL;
}

/* the header, the palette, and that the frames repeat for ever */
static bool
begin(const PlaGif *self)
{
  GifColorType colour[COLOURS];
  for (int i = 0; i < COLOURS; i++) {
    const GifByteType grey = (GifByteType)((i - CUBE) * 255 / 39);
    colour[i].Red = i < CUBE ? (GifByteType)(i / 36 * 51) : grey;
    colour[i].Green = i < CUBE ? (GifByteType)(i / 6 % 6 * 51) : grey;
    colour[i].Blue = i < CUBE ? (GifByteType)(i % 6 * 51) : grey;
  }
  ColorMapObject *palette = GifMakeMapObject(COLOURS, colour);
  if (!palette)
    return false;
  EGifSetGifVersion(self->gif, true);
  const bool ok =
      EGifPutScreenDesc(self->gif, self->width, self->height, 8, 0, palette) == GIF_OK &&
      EGifPutExtensionLeader(self->gif, APPLICATION_EXT_FUNC_CODE) == GIF_OK &&
      EGifPutExtensionBlock(self->gif, 11, "NETSCAPE2.0") == GIF_OK &&
      EGifPutExtensionBlock(self->gif, 3, "\1\0\0") == GIF_OK &&
      EGifPutExtensionTrailer(self->gif) == GIF_OK;
  GifFreeMapObject(palette);
  return ok;
}

PlaGif *
pla_gif_new(FILE *file, int width, int height, int delay_cs)
{
  int error;
  PlaGif *self = g_new0(PlaGif, 1);
  self->gif = EGifOpen(file, write_bytes, &error);
  self->width = width;
  self->height = height;
  self->delay_cs = delay_cs;
  self->row = g_new(GifByteType, (gsize)width);
  if (self->gif && !begin(self))
    close_gif(self);
  return self;
}

bool
pla_gif_add(PlaGif *self, cairo_surface_t *image)
{
  const GraphicsControlBlock control = { .DelayTime = self->delay_cs,
                                         .TransparentColor = NO_TRANSPARENT_COLOR };
  GifByteType extension[4];
  EGifGCBToExtension(&control, extension);
  cairo_surface_flush(image);
  const unsigned char *data = cairo_image_surface_get_data(image);
  const gsize stride = (gsize)cairo_image_surface_get_stride(image);
  bool ok =
      self->gif &&
      EGifPutExtension(self->gif, GRAPHICS_EXT_FUNC_CODE, sizeof extension, extension) == GIF_OK &&
      EGifPutImageDesc(self->gif, 0, 0, self->width, self->height, false, NULL) == GIF_OK;
  for (int y = 0; ok && y < self->height; y++) {
    for (int x = 0; x < self->width; x++) {
      guint32 pixel;
      memcpy(&pixel, data + (gsize)y * stride + 4 * (gsize)x, sizeof pixel);
      self->row[x] = nearest(pixel);
    }
    ok = EGifPutLine(self->gif, self->row, self->width) == GIF_OK;
  }
  if (!ok)
    close_gif(self);
  return ok;
}

bool
pla_gif_finish(PlaGif *self)
{
  int error;
  const bool ok = self->gif && EGifCloseFile(self->gif, &error) == GIF_OK;
  g_free(self->row);
  g_free(self);
  return ok;
}
