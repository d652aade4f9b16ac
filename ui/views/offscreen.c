/* EGL contexts without a surface, and framebuffer targets with multisampling that are read or
 * copied. */
#include "ui/views/offscreen.h"

#include "anatomy/base/memory.h"

#include <epoxy/egl.h>
#include <epoxy/gl.h>
#include <stdlib.h>

struct PlaOffscreen {
  EGLDisplay display;
  EGLContext context;
  /* what was current before begin */
  EGLDisplay old_display;
  EGLContext old_context;
  EGLSurface old_draw, old_read;
};

/* the display is shared by all contexts and lives as long as the program */
static EGLDisplay
surfaceless_display(PlaError *err)
{
  if (!epoxy_has_egl_extension(EGL_NO_DISPLAY, "EGL_MESA_platform_surfaceless")) {
    pla_fail(err, PLA_ERR_UNSUPPORTED,
             "Pictures cannot be drawn without a display here: EGL has no surfaceless platform; "
             "install libegl1 and libgl1-mesa-dri");
    return EGL_NO_DISPLAY;
  }
  EGLDisplay display =
      eglGetPlatformDisplayEXT(EGL_PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY, NULL);
  if (display == EGL_NO_DISPLAY || !eglInitialize(display, NULL, NULL)) {
    pla_fail(err, PLA_ERR_UNSUPPORTED,
             "Pictures cannot be drawn: no OpenGL driver could be started (EGL error 0x%x); "
             "install libgl1-mesa-dri",
             (unsigned)eglGetError());
    return EGL_NO_DISPLAY;
  }
  return display;
}

PlaStatus
pla_offscreen_new(PlaOffscreen **out, PlaError *err)
{
  *out = NULL;
  EGLDisplay display = surfaceless_display(err);
  if (display == EGL_NO_DISPLAY)
    return PLA_ERR_UNSUPPORTED;
  PlaOffscreen *self = pla_array_new0(1, sizeof *self);
  if (!self)
    return pla_fail_memory(err, "a picture");
  static const EGLint wanted[] = {
    EGL_CONTEXT_MAJOR_VERSION,
    3,
    EGL_CONTEXT_MINOR_VERSION,
    2,
    EGL_CONTEXT_OPENGL_PROFILE_MASK,
    EGL_CONTEXT_OPENGL_CORE_PROFILE_BIT,
    EGL_NONE,
  };
  EGLenum api = eglQueryAPI();
  self->display = display;
  if (eglBindAPI(EGL_OPENGL_API))
    self->context = eglCreateContext(display, NULL, EGL_NO_CONTEXT, wanted);
  EGLint why = eglGetError();
  eglBindAPI(api);
  if (self->context == EGL_NO_CONTEXT) {
    free(self);
    return pla_fail(err, PLA_ERR_UNSUPPORTED,
                    "Pictures cannot be drawn: the driver offers no OpenGL 3.2 (EGL error 0x%x); "
                    "install libgl1-mesa-dri",
                    (unsigned)why);
  }
  *out = self;
  return PLA_OK;
}

void
pla_offscreen_free(PlaOffscreen *self)
{
  if (!self)
    return;
  eglDestroyContext(self->display, self->context);
  free(self);
}

PlaStatus
pla_offscreen_begin(PlaOffscreen *self, PlaError *err)
{
  self->old_display = eglGetCurrentDisplay();
  self->old_context = eglGetCurrentContext();
  self->old_draw = eglGetCurrentSurface(EGL_DRAW);
  self->old_read = eglGetCurrentSurface(EGL_READ);
  if (!eglMakeCurrent(self->display, EGL_NO_SURFACE, EGL_NO_SURFACE, self->context))
    return pla_fail(err, PLA_ERR_UNSUPPORTED,
                    "The picture's drawing context could not be used (EGL error 0x%x)",
                    (unsigned)eglGetError());
  return PLA_OK;
}

void
pla_offscreen_end(PlaOffscreen *self)
{
  eglMakeCurrent(self->display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
  if (self->old_context != EGL_NO_CONTEXT)
    eglMakeCurrent(self->old_display, self->old_draw, self->old_read, self->old_context);
}

PlaStatus
pla_target_init(PlaTarget *self, int width, int height, PlaError *err)
{
  GLint limit = 0;
  glGetIntegerv(GL_MAX_RENDERBUFFER_SIZE, &limit);
  *self = (PlaTarget){ 0 };
  if (width < 1 || height < 1 || width > limit || height > limit)
    return pla_fail(err, PLA_ERR_UNSUPPORTED,
                    "A picture of %d x %d pixels cannot be drawn; each side must be 1 to %d", width,
                    height, (int)limit);
  glGetIntegerv(GL_FRAMEBUFFER_BINDING, &self->previous);
  glGenFramebuffers(1, &self->framebuffer);
  glBindFramebuffer(GL_FRAMEBUFFER, self->framebuffer);
  glGenRenderbuffers(1, &self->colour);
  glBindRenderbuffer(GL_RENDERBUFFER, self->colour);
  glRenderbufferStorage(GL_RENDERBUFFER, GL_RGBA8, width, height);
  glFramebufferRenderbuffer(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_RENDERBUFFER, self->colour);
  glGenRenderbuffers(1, &self->depth);
  glBindRenderbuffer(GL_RENDERBUFFER, self->depth);
  glRenderbufferStorage(GL_RENDERBUFFER, GL_DEPTH24_STENCIL8, width, height);
  glFramebufferRenderbuffer(GL_FRAMEBUFFER, GL_DEPTH_STENCIL_ATTACHMENT, GL_RENDERBUFFER,
                            self->depth);
  if (glCheckFramebufferStatus(GL_FRAMEBUFFER) != GL_FRAMEBUFFER_COMPLETE) {
    pla_target_clear(self);
    return pla_fail(err, PLA_ERR_MEMORY, "A picture of %d x %d pixels does not fit in memory",
                    width, height);
  }
  return PLA_OK;
}

void
pla_target_read(const PlaTarget *self, int width, int height, unsigned *pixel)
{
  glBindFramebuffer(GL_READ_FRAMEBUFFER, self->framebuffer);
  glReadBuffer(GL_COLOR_ATTACHMENT0);
  glPixelStorei(GL_PACK_ALIGNMENT, 4);
  glReadPixels(0, 0, width, height, GL_BGRA, GL_UNSIGNED_INT_8_8_8_8_REV, pixel);
  for (size_t i = 0; i < (size_t)width * height; i++)
    pixel[i] |= 0xff000000u;
}

void
pla_target_enter(PlaTarget *self)
{
  glGetIntegerv(GL_FRAMEBUFFER_BINDING, &self->previous);
  glBindFramebuffer(GL_FRAMEBUFFER, self->framebuffer);
}

void
pla_target_leave(PlaTarget *self)
{
  glBindFramebuffer(GL_FRAMEBUFFER, (GLuint)self->previous);
  self->previous = -1;
}

static void
copy(unsigned from, int width, int rows, unsigned to, int first)
{
  glDisable(GL_SCISSOR_TEST);
  glBindFramebuffer(GL_READ_FRAMEBUFFER, from);
  glBindFramebuffer(GL_DRAW_FRAMEBUFFER, to);
  glBlitFramebuffer(0, 0, width, rows, 0, first, width, first + rows, GL_COLOR_BUFFER_BIT,
                    GL_NEAREST);
}

void
pla_target_copy(const PlaTarget *self, int width, int rows, unsigned to, int first)
{
  copy(self->framebuffer, width, rows, to, first);
  glBindFramebuffer(GL_FRAMEBUFFER, self->framebuffer);
}

void
pla_target_stretch(const PlaTarget *self, int width, int height, unsigned to, int to_width,
                   int to_height)
{
  glDisable(GL_SCISSOR_TEST);
  glBindFramebuffer(GL_READ_FRAMEBUFFER, self->framebuffer);
  glBindFramebuffer(GL_DRAW_FRAMEBUFFER, to);
  glBlitFramebuffer(0, 0, width, height, 0, 0, to_width, to_height, GL_COLOR_BUFFER_BIT, GL_LINEAR);
  glBindFramebuffer(GL_FRAMEBUFFER, to);
}

void
pla_target_show(const PlaTarget *self, int width, int height)
{
  GLint bound = 0;
  glGetIntegerv(GL_DRAW_FRAMEBUFFER_BINDING, &bound);
  copy(self->framebuffer, width, height, (GLuint)bound, 0);
  glBindFramebuffer(GL_FRAMEBUFFER, (GLuint)bound);
}

void
pla_target_clear(PlaTarget *self)
{
  if (self->previous >= 0)
    glBindFramebuffer(GL_FRAMEBUFFER, (GLuint)self->previous);
  glDeleteFramebuffers(1, &self->framebuffer);
  glDeleteRenderbuffers(1, &self->colour);
  glDeleteRenderbuffers(1, &self->depth);
  *self = (PlaTarget){ 0 };
}
