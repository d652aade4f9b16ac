/* What `info` says of a thing. */
#include "app/cli/describe.h"

#include "app/verbs/operations.h"

#include <glib.h>
#include <math.h>

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

PlaStatus
pla_describe_labels(PlaInvocation *inv, const PlaLabelMap *map, PlaError *err)
{
  g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);
  PlaStatus st = pla_labels_describe(map, pla_invocation_json(inv), lines, err);
  for (guint i = 0; st == PLA_OK && i < lines->len; i++)
    pla_say(inv, "%s", (const char *)lines->pdata[i]);
  return st;
}

/* Whole values up to 255, the same from voxel to voxel over most of what is not background: a
 * segmentation.  An image of few grey levels has noise instead. */
static bool
looks_like_labels(const PlaVolume *vol, double lo, double hi)
{
  if (!pla_dtype_is_integer(vol->dtype) || vol->dims[3] != 1 || lo < 0.0 || hi < 1.0 ||
      hi > 255.0 || vol->slope != 1.0 || vol->inter != 0.0)
    return false;
  size_t equal = 0, pairs = 0, n = pla_volume_n_voxels(vol);
  double last = 0.0;
  for (size_t i = 0; i < n; i++) {
    double value = pla_dtype_get(vol->dtype, vol->voxels, i);
    if (i % (size_t)vol->dims[0] != 0 && (value != 0.0 || last != 0.0)) {
      pairs++;
      equal += value == last;
    }
    last = value;
  }
  return 2 * equal > pairs;
}

static PlaStatus
describe_volume(PlaInvocation *inv, const PlaItem *item, PlaError *err)
{
  const PlaVolume *vol = item->volume;
  const PlaFrameAudit *audit = &vol->audit;
  JsonBuilder *json = pla_invocation_json(inv);
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

  pla_say(inv, "volume, %d x %d x %d%s voxels of %.6g x %.6g x %.6g mm, %s", vol->dims[0],
          vol->dims[1], vol->dims[2], vol->dims[3] > 1 ? " (several frames)" : "", spacing[0],
          spacing[1], spacing[2], pla_dtype_name(vol->dtype));
  pla_say(inv, "  axes %s: first to the %s, second to the %s, third to the %s", letters,
          side_word(letters[0]), side_word(letters[1]), side_word(letters[2]));
  pla_say(inv, "  values %g to %g", range[0], range[1]);
  pla_say(inv, "  frame from %s; axes %s", frame_source[audit->source],
          audit->nonorthogonality < 1e-4 ? "at right angles" : "sheared");

  PlaStatus st = PLA_OK;
  bool listed = false;
  if (item->labels.n > 0 || looks_like_labels(vol, range[0], range[1])) {
    PlaVolume *copy = NULL;
    PlaLabelMap *map = NULL;
    st = pla_volume_dup(vol, &copy, err);
    if (st == PLA_OK && pla_label_map_take(copy, &item->labels, &map, NULL) == PLA_OK) {
      copy = NULL;
      listed = true;
      st = pla_describe_labels(inv, map, err);
    }
    pla_label_map_free(map);
    pla_volume_free(copy);
  }
  if (!listed) {
    json_builder_set_member_name(json, "labels");
    json_builder_begin_array(json);
    json_builder_end_array(json);
  }
  return st;
}

static PlaStatus
describe_mesh(PlaInvocation *inv, const PlaMesh *mesh, PlaError *err)
{
  PlaMeshSummary sum;
  PlaStatus st = pla_mesh_summary(mesh, &sum, err);
  if (st != PLA_OK)
    return st;
  JsonBuilder *json = pla_invocation_json(inv);
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

  pla_say(inv, "mesh, %d vertices, %d triangles, %d tets, %d hexes in %d piece%s", mesh->n_verts,
          mesh->n_tris, mesh->n_tets, mesh->n_hexes, sum.components,
          sum.components == 1 ? "" : "s");
  pla_say(inv, "  box %.3f %.3f %.3f to %.3f %.3f %.3f mm, volume %.3f mm3", sum.lo_m[0] * 1000.0,
          sum.lo_m[1] * 1000.0, sum.lo_m[2] * 1000.0, sum.hi_m[0] * 1000.0, sum.hi_m[1] * 1000.0,
          sum.hi_m[2] * 1000.0, sum.volume_m3 * 1e9);
  if (mesh->n_tets > 0)
    pla_say(inv, "  dihedral angles %.2f to %.2f degrees, %d inverted elements",
            sum.min_dihedral_deg, sum.max_dihedral_deg, sum.inverted);
  else if (mesh->n_hexes == 0)
    pla_say(inv, "  the surface is %s", sum.closed ? "closed" : "open or not manifold");
  return PLA_OK;
}

static PlaStatus
describe_signal(PlaInvocation *inv, const PlaItem *item)
{
  JsonBuilder *json = pla_invocation_json(inv);
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
    pla_say(inv, "markers, %d frames at %g Hz, %d markers, %zu positions missing", take->n_frames,
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
    pla_say(inv, "track, %d samples at %g Hz, %d channels", track->n_samples, track->rate_hz,
            track->n_channels);
  } else {
    const PlaAudio *audio = item->audio;
    double seconds = audio->rate_hz > 0.0 ? (double)audio->n_frames / audio->rate_hz : 0.0;
    pla_json_number(json, "seconds", seconds);
    pla_json_number(json, "rate_hz", audio->rate_hz);
    pla_json_int(json, "channels", audio->n_channels);
    pla_say(inv, "audio, %.3f s at %g Hz, %d channel%s", seconds, audio->rate_hz, audio->n_channels,
            audio->n_channels == 1 ? "" : "s");
  }
  return PLA_OK;
}

static void
describe_phones(PlaInvocation *inv, const PlaPhones *phones)
{
  JsonBuilder *json = pla_invocation_json(inv);
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
  pla_say(inv, "%d phonemes, %.3f s", phones->n,
          phones->phone[phones->n - 1].end_s - phones->phone[0].start_s);
}

PlaStatus
pla_describe_item(PlaInvocation *inv, const PlaItem *item, PlaError *err)
{
  JsonBuilder *json = pla_invocation_json(inv);
  PlaStatus st = PLA_OK;
  pla_json_text(json, "kind", pla_kind_name(item->kind));
  switch (item->kind) {
  case PLA_KIND_VOLUME:
    st = describe_volume(inv, item, err);
    break;
  case PLA_KIND_MESH:
    st = describe_mesh(inv, item->mesh, err);
    break;
  case PLA_KIND_TAKE:
  case PLA_KIND_TRACK:
  case PLA_KIND_AUDIO:
    st = describe_signal(inv, item);
    break;
  case PLA_KIND_PHONES:
    describe_phones(inv, &item->phones);
    break;
  default:
    for (int i = 0; i < item->labels.n; i++)
      pla_say(inv, "  label %d  %s", item->labels.label[i].id, item->labels.label[i].name);
    pla_json_int(json, "labels", item->labels.n);
    break;
  }
  if (st == PLA_OK && item->notes.n > 0) {
    json_builder_set_member_name(json, "notes");
    json_builder_begin_array(json);
    for (int i = 0; i < item->notes.n; i++) {
      g_autofree char *valid = g_utf8_make_valid(item->notes.text[i], -1);
      json_builder_add_string_value(json, valid);
      pla_say(inv, "  note: %s", valid);
    }
    json_builder_end_array(json);
  }
  return st;
}
