/* An OpenGL context without a display: EGL on Mesa's surfaceless platform, software or GPU. */
#pragma once

#include "anatomy/base/status.h"

typedef struct PlaOffscreen PlaOffscreen;

/* PLA_ERR_UNSUPPORTED with a sentence where EGL or a driver is missing. */
PlaStatus pla_offscreen_new(PlaOffscreen **out, PlaError *err);
void pla_offscreen_free(PlaOffscreen *self); /* NULL is fine */
/* Current on this thread until end, which puts back what was current before. */
PlaStatus pla_offscreen_begin(PlaOffscreen *self, PlaError *err);
void pla_offscreen_end(PlaOffscreen *self);

/* A colour and depth framebuffer in the current context; bound when this returns. */
typedef struct {
  unsigned framebuffer, colour, depth;
  int previous; /* framebuffer bound before */
} PlaTarget;
PlaStatus pla_target_init(PlaTarget *self, int width, int height, PlaError *err);
/* Pixels as opaque 0xAARRGGBB, bottom row first. */
void pla_target_read(const PlaTarget *self, int width, int height, unsigned *pixel);
void pla_target_clear(PlaTarget *self);
/* For a target that is kept: binds it; binds again what was bound before that, or before it was
 * made. */
void pla_target_enter(PlaTarget *self);
void pla_target_leave(PlaTarget *self);
/* Copies all rows to row @first and above of another framebuffer. */
void pla_target_copy(const PlaTarget *self, int width, int rows, unsigned to, int first);
/* Copies all, stretched to another size, to a framebuffer, which is bound then. */
void pla_target_stretch(const PlaTarget *self, int width, int height, unsigned to, int to_width,
                        int to_height);
/* Copies all to the framebuffer that is bound. */
void pla_target_show(const PlaTarget *self, int width, int height);
