/* Reads the label volume of a verb and the labels that it is asked for. */
#include "app/cli/labels-input.h"

#include "app/cli/cli-private.h"
#include "app/verbs/operations.h"
#include "io/formats/format.h"

#include <string.h>

PlaStatus
pla_labels_input_read(PlaInvocation *inv, PlaLabelMap **out, PlaError *err)
{
  return pla_body_input_read(inv, out, NULL, err);
}

PlaStatus
pla_body_input_read(PlaInvocation *inv, PlaLabelMap **out, PlaMesh **mesh, PlaError *err)
{
  const char *path = pla_invocation_file(inv, 0);
  PlaReadOptions read = pla_read_options_default();
  PlaItem item = { 0 };
  read.progress = pla_invocation_progress(inv);
  *out = NULL;
  if (mesh)
    *mesh = NULL;
  PlaStatus st = pla_item_read(path, &read, &item, err);
  if (st != PLA_OK)
    return st;
  for (int i = 0; i < item.notes.n; i++)
    pla_say(inv, "note: %s", item.notes.text[i]);
  if (item.kind == PLA_KIND_MESH && mesh) {
    *mesh = item.mesh;
    item.mesh = NULL;
    pla_item_clear(&item);
    return PLA_OK;
  }
  if (item.kind != PLA_KIND_VOLUME)
    st = pla_fail(err, PLA_ERR_USAGE, "%s is a %s; a label volume%s is needed", path,
                  pla_kind_name(item.kind), mesh ? " or a surface" : "");
  else if (item.volume->dims[3] != 1)
    st = pla_fail(err, PLA_ERR_USAGE, "%s has %d frames; a label volume has one", path,
                  item.volume->dims[3]);
  if (st == PLA_OK) {
    st = pla_label_map_take(item.volume, &item.labels, out, err);
    if (st == PLA_OK)
      item.volume = NULL;
    else
      pla_fail_within(err, "%s", path);
  }
  pla_item_clear(&item);
  return st;
}

static PlaStatus
add_label(const char *path, const PlaLabelMap *map, const char *text, GArray *ids, PlaError *err)
{
  char *end;
  gint64 number = g_ascii_strtoll(text, &end, 10);
  const PlaLabel *label = NULL;
  if (end != text && *end == '\0') {
    label = number > 0 && number < 65536 ? pla_label_table_find(&map->table, (int)number) : NULL;
    if (!label)
      return pla_fail(err, PLA_ERR_EMPTY,
                      "%s has no voxel of label %s; 'platysma-cli info' lists its labels", path,
                      text);
  } else {
    label = pla_label_table_find_name(&map->table, text);
    if (!label)
      return pla_fail(err, PLA_ERR_USAGE,
                      "%s has no label called '%s'; 'platysma-cli info' lists its labels", path,
                      text);
  }
  g_array_append_val(ids, label->id);
  return PLA_OK;
}

PlaStatus
pla_labels_input_ids(PlaInvocation *inv, const PlaLabelMap *map, GArray *ids, PlaError *err)
{
  const char *text = pla_invocation_text(inv, "label", 0, NULL);
  if (!text) {
    pla_labels_add_present(map, ids);
    return PLA_OK;
  }
  PlaStatus st = PLA_OK;
  g_auto(GStrv) parts = g_strsplit(text, ",", -1);
  for (char **p = parts; st == PLA_OK && *p; p++)
    st = add_label(pla_invocation_file(inv, 0), map, g_strstrip(*p), ids, err);
  return st;
}

PlaStatus
pla_labels_input_groups(PlaInvocation *inv, const PlaLabelMap *map, GArray *ids, GArray *first,
                        PlaError *err)
{
  const char *text = pla_invocation_text(inv, "label", 0, NULL);
  PlaStatus st = PLA_OK;
  if (text) {
    g_auto(GStrv) groups = g_strsplit(text, ",", -1);
    for (char **g = groups; st == PLA_OK && *g; g++) {
      g_auto(GStrv) parts = g_strsplit(*g, "+", -1);
      g_array_append_val(first, ids->len);
      for (char **p = parts; st == PLA_OK && *p; p++)
        st = add_label(pla_invocation_file(inv, 0), map, g_strstrip(*p), ids, err);
    }
  } else {
    st = pla_labels_input_ids(inv, map, ids, err);
    for (guint i = 0; i < ids->len; i++)
      g_array_append_val(first, i);
  }
  g_array_append_val(first, ids->len);
  if (st == PLA_OK) {
    st = pla_labels_check_distinct(ids, err);
    if (st != PLA_OK)
      pla_fail_within(err, "%s", pla_invocation_file(inv, 0));
  }
  return st;
}
