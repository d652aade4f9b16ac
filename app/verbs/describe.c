/* What `info` says of a thing. */
#include "app/verbs/describe.h"

#include "app/base/json.h"
#include "app/base/quantity.h"
#include "app/content/files.h"

#include <stdarg.h>

static const char *const frame_source[] = {
  [PLA_FRAME_NONE] = "none",   [PLA_FRAME_PIXDIM] = "pixdim", [PLA_FRAME_QFORM] = "qform",
  [PLA_FRAME_SFORM] = "sform", [PLA_FRAME_DICOM] = "dicom",   [PLA_FRAME_MADE] = "made",
};

/* the words behind letters such as RAS: where each index axis points */
static const char *
side_word(char letter)
{
  switch (letter) {
  case 'R':
    return "right";
  case 'L':
    return "left";
  case 'A':
    return "anterior";
  case 'P':
    return "posterior";
  case 'S':
    return "superior";
  default:
    return "inferior";
  }
}

static void say(GPtrArray *lines, const char *format, ...) G_GNUC_PRINTF(2, 3);

static void
say(GPtrArray *lines, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  g_ptr_array_add(lines, g_strdup_vprintf(format, args));
  va_end(args);
}

PlaStatus
pla_labels_describe(const PlaLabelMap *map, JsonBuilder *json, GPtrArray *lines, PlaError *err)
{
  g_autofree size_t *counts = g_try_new(size_t, 65536);
  if (!counts)
    return pla_fail_memory(err, "the label counts");
  pla_label_map_count(map, counts);
  const double voxel_mm3 = pla_volume_voxel_mm3(map->volume);
  json_builder_set_member_name(json, "labels");
  json_builder_begin_array(json);
  for (int i = 0; i < map->table.n; i++) {
    const PlaLabel *label = &map->table.label[i];
    const double volume_mm3 = (double)counts[label->id] * voxel_mm3;
    json_builder_begin_object(json);
    pla_json_int(json, "id", label->id);
    pla_json_text(json, "name", label->name);
    pla_json_int(json, "voxels", (int64_t)counts[label->id]);
    pla_json_number(json, "volume_mm3", volume_mm3);
    json_builder_end_object(json);
    g_autofree char *shown = pla_quantity_text(PLA_QUANTITY_VOLUME, volume_mm3, PLA_UNIT_MM3);
    say(lines, "  label %d  %s: %zu voxels, %s", label->id, label->name, counts[label->id], shown);
  }
  json_builder_end_array(json);
  return PLA_OK;
}

static PlaStatus
describe_volume(const PlaVolume *vol, const PlaLabelMap *map, JsonBuilder *json, GPtrArray *lines,
                PlaError *err)
{
  const PlaFrameAudit *audit = &vol->audit;
  double spacing[3], range[2];
  char letters[4];
  pla_volume_spacing_mm(vol, spacing);
  pla_volume_orientation(vol, letters);
  pla_volume_range(vol, &range[0], &range[1]);

  json_builder_set_member_name(json, "dims");
  json_builder_begin_array(json);
  for (int d = 0; d < (vol->dims[3] > 1 ? 4 : 3); d++)
    json_builder_add_int_value(json, vol->dims[d]);
  json_builder_end_array(json);
  pla_json_numbers(json, "spacing_mm", spacing, 3);
  pla_json_text(json, "orientation", letters);
  json_builder_set_member_name(json, "affine_mm");
  json_builder_begin_array(json);
  for (int r = 0; r < 4; r++) {
    json_builder_begin_array(json);
    for (int c = 0; c < 4; c++)
      json_builder_add_double_value(json, r < 3 ? vol->affine_mm[4 * r + c] : c == 3 ? 1.0 : 0.0);
    json_builder_end_array(json);
  }
  json_builder_end_array(json);
  pla_json_text(json, "dtype", pla_dtype_name(vol->dtype));
  pla_json_numbers(json, "range", range, 2);

  json_builder_set_member_name(json, "frame");
  json_builder_begin_object(json);
  pla_json_text(json, "source", frame_source[audit->source]);
  pla_json_int(json, "qform_code", audit->qform_code);
  pla_json_int(json, "sform_code", audit->sform_code);
  if (audit->qform_code > 0)
    pla_json_numbers(json, "qform_mm", audit->qform_mm, 12);
  if (audit->sform_code > 0)
    pla_json_numbers(json, "sform_mm", audit->sform_mm, 12);
  pla_json_number(json, "disagreement_mm", audit->disagreement_mm);
  pla_json_number(json, "nonorthogonality", audit->nonorthogonality);
  json_builder_end_object(json);

  say(lines, "volume, %d x %d x %d%s voxels of %.6g x %.6g x %.6g mm, %s", vol->dims[0],
      vol->dims[1], vol->dims[2], vol->dims[3] > 1 ? " (several frames)" : "", spacing[0],
      spacing[1], spacing[2], pla_dtype_name(vol->dtype));
  say(lines, "  axes %s: first to the %s, second to the %s, third to the %s", letters,
      side_word(letters[0]), side_word(letters[1]), side_word(letters[2]));
  say(lines, "  values %g to %g", range[0], range[1]);
  say(lines, "  frame from %s; axes %s", frame_source[audit->source],
      audit->nonorthogonality < 1e-4 ? "at right angles" : "sheared");

  if (map)
    return pla_labels_describe(map, json, lines, err);
  json_builder_set_member_name(json, "labels");
  json_builder_begin_array(json);
  json_builder_end_array(json);
  return PLA_OK;
}

/* a volume of a file, which holds labels where these have names or its values look like labels */
static PlaStatus
describe_volume_item(const PlaItem *item, JsonBuilder *json, GPtrArray *lines, PlaError *err)
{
  PlaVolume *copy = NULL;
  PlaLabelMap *map = NULL;
  PlaStatus st = PLA_OK;
  if (item->labels.n > 0 || pla_volume_looks_like_labels(item->volume)) {
    st = pla_volume_dup(item->volume, &copy, err);
    if (st == PLA_OK && pla_label_map_take(copy, &item->labels, &map, NULL) == PLA_OK)
      copy = NULL;
  }
  if (st == PLA_OK)
    st = describe_volume(item->volume, map, json, lines, err);
  pla_label_map_free(map);
  pla_volume_free(copy);
  return st;
}

static PlaStatus
describe_mesh(const PlaMesh *mesh, JsonBuilder *json, GPtrArray *lines, PlaError *err)
{
  PlaMeshSummary sum;
  PlaStatus st = pla_mesh_summary(mesh, &sum, err);
  if (st != PLA_OK)
    return st;
  pla_json_int(json, "vertices", mesh->n_verts);
  pla_json_int(json, "triangles", mesh->n_tris);
  pla_json_int(json, "tets", mesh->n_tets);
  pla_json_int(json, "hexes", mesh->n_hexes);
  json_builder_set_member_name(json, "bbox_mm");
  json_builder_begin_array(json);
  for (int side = 0; side < 2; side++) {
    json_builder_begin_array(json);
    for (int d = 0; d < 3; d++)
      json_builder_add_double_value(json, (side ? sum.hi_m[d] : sum.lo_m[d]) * 1000.0);
    json_builder_end_array(json);
  }
  json_builder_end_array(json);
  pla_json_si(json, "volume_mm3", sum.volume_m3);
  pla_json_si(json, "area_mm2", sum.area_m2);
  pla_json_int(json, "components", sum.components);
  pla_json_bool(json, "closed", sum.closed);
  pla_json_int(json, "inverted", sum.inverted);
  pla_json_number(json, "min_dihedral_deg", sum.min_dihedral_deg);
  pla_json_number(json, "max_dihedral_deg", sum.max_dihedral_deg);
  json_builder_set_member_name(json, "fields");
  json_builder_begin_array(json);
  for (int f = 0; f < mesh->n_fields; f++) {
    json_builder_begin_object(json);
    pla_json_text(json, "name", mesh->field[f].name);
    pla_json_text(json, "on", mesh->field[f].place == PLA_ON_VERTS ? "vertices" : "cells");
    pla_json_text(json, "dtype", pla_dtype_name(mesh->field[f].dtype));
    pla_json_int(json, "components", mesh->field[f].n_components);
    json_builder_end_object(json);
  }
  json_builder_end_array(json);

  say(lines, "mesh, %d vertices, %d triangles, %d tets, %d hexes in %d piece%s", mesh->n_verts,
      mesh->n_tris, mesh->n_tets, mesh->n_hexes, sum.components, sum.components == 1 ? "" : "s");
  say(lines, "  box %.3f %.3f %.3f to %.3f %.3f %.3f mm, volume %.3f mm3", sum.lo_m[0] * 1000.0,
      sum.lo_m[1] * 1000.0, sum.lo_m[2] * 1000.0, sum.hi_m[0] * 1000.0, sum.hi_m[1] * 1000.0,
      sum.hi_m[2] * 1000.0, sum.volume_m3 * 1e9);
  if (mesh->n_tets > 0)
    say(lines, "  dihedral angles %.2f to %.2f degrees, %d inverted elements", sum.min_dihedral_deg,
        sum.max_dihedral_deg, sum.inverted);
  else if (mesh->n_hexes == 0)
    say(lines, "  the surface is %s", sum.closed ? "closed" : "open or not manifold");
  return PLA_OK;
}

static PlaStatus
describe_signal(const PlaItem *item, JsonBuilder *json, GPtrArray *lines)
{
  if (item->kind == PLA_KIND_TAKE) {
    const PlaTake *take = item->take;
    pla_json_int(json, "frames", take->n_frames);
    pla_json_number(json, "rate_hz", take->rate_hz);
    pla_json_int(json, "markers", take->n_markers);
    pla_json_int(json, "missing", (int64_t)pla_take_n_missing(take));
    json_builder_set_member_name(json, "names");
    json_builder_begin_array(json);
    for (int m = 0; m < take->n_markers; m++)
      json_builder_add_string_value(json, take->name[m]);
    json_builder_end_array(json);
    say(lines, "markers, %d frames at %g Hz, %d markers, %zu positions missing", take->n_frames,
        take->rate_hz, take->n_markers, pla_take_n_missing(take));
  } else if (item->kind == PLA_KIND_TRACK) {
    const PlaTrack *track = item->track;
    pla_json_int(json, "samples", track->n_samples);
    pla_json_number(json, "rate_hz", track->rate_hz);
    json_builder_set_member_name(json, "channels");
    json_builder_begin_array(json);
    for (int c = 0; c < track->n_channels; c++) {
      json_builder_begin_object(json);
      pla_json_text(json, "name", track->name[c]);
      pla_json_text(json, "unit", track->unit[c]);
      json_builder_end_object(json);
    }
    json_builder_end_array(json);
    say(lines, "track, %d samples at %g Hz, %d channels", track->n_samples, track->rate_hz,
        track->n_channels);
  } else {
    const PlaAudio *audio = item->audio;
    double seconds = audio->rate_hz > 0.0 ? (double)audio->n_frames / audio->rate_hz : 0.0;
    pla_json_number(json, "seconds", seconds);
    pla_json_number(json, "rate_hz", audio->rate_hz);
    pla_json_int(json, "channels", audio->n_channels);
    say(lines, "audio, %.3f s at %g Hz, %d channel%s", seconds, audio->rate_hz, audio->n_channels,
        audio->n_channels == 1 ? "" : "s");
  }
  return PLA_OK;
}

static void
describe_phones(const PlaPhones *phones, JsonBuilder *json, GPtrArray *lines)
{
  json_builder_set_member_name(json, "phonemes");
  json_builder_begin_array(json);
  for (int i = 0; i < phones->n; i++) {
    const PlaPhone *p = &phones->phone[i];
    g_autofree char *label = g_utf8_make_valid(p->label, -1);
    json_builder_begin_object(json);
    pla_json_text(json, "label", label);
    pla_json_number(json, "start_s", p->start_s);
    pla_json_number(json, "end_s", p->end_s);
    json_builder_end_object(json);
  }
  json_builder_end_array(json);
  say(lines, "%d phonemes, %.3f s", phones->n,
      phones->phone[phones->n - 1].end_s - phones->phone[0].start_s);
}

PlaStatus
pla_item_describe(const PlaItem *item, JsonBuilder *json, GPtrArray *lines, PlaError *err)
{
  PlaStatus st = PLA_OK;
  pla_json_text(json, "kind", pla_kind_name(item->kind));
  switch (item->kind) {
  case PLA_KIND_VOLUME:
    st = describe_volume_item(item, json, lines, err);
    break;
  case PLA_KIND_MESH:
    st = describe_mesh(item->mesh, json, lines, err);
    break;
  case PLA_KIND_TAKE:
  case PLA_KIND_TRACK:
  case PLA_KIND_AUDIO:
    st = describe_signal(item, json, lines);
    break;
  case PLA_KIND_PHONES:
    describe_phones(&item->phones, json, lines);
    break;
  default:
    for (int i = 0; i < item->labels.n; i++)
      say(lines, "  label %d  %s", item->labels.label[i].id, item->labels.label[i].name);
    pla_json_int(json, "labels", item->labels.n);
    break;
  }
  if (st == PLA_OK && item->notes.n > 0) {
    json_builder_set_member_name(json, "notes");
    json_builder_begin_array(json);
    for (int i = 0; i < item->notes.n; i++) {
      g_autofree char *valid = g_utf8_make_valid(item->notes.text[i], -1);
      json_builder_add_string_value(json, valid);
      say(lines, "  note: %s", valid);
    }
    json_builder_end_array(json);
  }
  return st;
}

PlaStatus
pla_content_describe(const PlaContent *content, JsonBuilder *json, GPtrArray *lines, PlaError *err)
{
  PlaItem item;
  if (content->labels) {
    pla_json_text(json, "kind", pla_kind_name(PLA_KIND_VOLUME));
    return describe_volume(content->labels->volume, content->labels, json, lines, err);
  }
  PlaStatus st = pla_content_borrow_item(content, &item, err);
  return st == PLA_OK ? pla_item_describe(&item, json, lines, err) : st;
}
