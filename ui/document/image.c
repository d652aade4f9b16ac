/* A reference-counted volume or label map, surveyed once: range of values, voxels per label. */
#include "ui/document/image.h"

#include "app/content/made.h"
#include "app/show/picture.h"

static void
image_clear(gpointer data)
{
  PlaImage *self = data;
  pla_content_unref(self->content);
  pla_notes_clear(&self->notes);
  g_free(self->counts);
}

static PlaImage *
survey(PlaImage *self)
{
  if (self->volume) {
    pla_volume_range(self->volume, &self->range[0], &self->range[1]);
    pla_window_auto(self->volume, self->window);
  }
  if (self->labels) {
    self->counts = g_new0(size_t, 65536);
    pla_label_map_count(self->labels, self->counts);
  }
  return self;
}

void
pla_image_unref(PlaImage *self)
{
  if (self)
    g_atomic_rc_box_release_full(self, image_clear);
}

PlaImage *
pla_image_new(PlaContent *content)
{
  PlaImage *self = g_atomic_rc_box_new0(PlaImage);
  self->content = pla_content_ref(content);
  self->volume = content->volume;
  self->labels = content->labels;
  pla_content_get_notes(content, &self->notes);
  return survey(self);
}

gboolean
pla_image_is_ct(const PlaImage *self)
{
  const double lo = self->range[0], hi = self->range[1];
  return lo <= -900.0 && lo >= -5000.0 && hi >= 800.0;
}

gboolean
pla_image_is_of(const PlaImage *self, const PlaContent *content)
{
  return self && self->content == content;
}
