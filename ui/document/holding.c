/* A reference-counted volume or label map, surveyed once: range of values, voxels per label. */
#include "ui/document/holding.h"

#include "app/content/made.h"
#include "app/show/picture.h"

static void
holding_clear(gpointer data)
{
  PlaHolding *held = data;
  pla_content_unref(held->content);
  pla_notes_clear(&held->notes);
  g_free(held->counts);
}

static PlaHolding *
survey(PlaHolding *held)
{
  if (held->volume) {
    pla_volume_range(held->volume, &held->range[0], &held->range[1]);
    pla_window_auto(held->volume, held->window);
  }
  if (held->labels) {
    held->counts = g_new0(size_t, 65536);
    pla_label_map_count(held->labels, held->counts);
  }
  return held;
}

void
pla_holding_unref(PlaHolding *held)
{
  if (held)
    g_atomic_rc_box_release_full(held, holding_clear);
}

PlaHolding *
pla_holding_new_content(PlaContent *content)
{
  PlaHolding *held = g_atomic_rc_box_new0(PlaHolding);
  held->content = pla_content_ref(content);
  held->volume = content->volume;
  held->labels = content->labels;
  pla_content_get_notes(content, &held->notes);
  return survey(held);
}

gboolean
pla_holding_is_ct(const PlaHolding *held)
{
  const double lo = held->range[0], hi = held->range[1];
  return lo <= -900.0 && lo >= -5000.0 && hi >= 800.0;
}

gboolean
pla_holding_holds(const PlaHolding *held, const PlaContent *content)
{
  return held && held->content == content;
}
