/* The registry of file formats. */
#include "io/formats/format.h"

#include "io/formats/formats.h"
#include "io/stream/source.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

/* every format, in the order in which contents are probed */
static const PlaFormat *const formats[] = {
  &pla_format_dicom,
  &pla_format_inv3,
  &pla_format_nifti,
  &pla_format_vtu,
  &pla_format_vtp,
  &pla_format_vtk,
  &pla_format_gmsh,
  &pla_format_ply,
  &pla_format_stl,
  &pla_format_obj,
  &pla_format_tetgen,
  &pla_format_sound,
  &pla_format_est,
  &pla_format_mat,
  &pla_format_c3d,
  &pla_format_trc,
  &pla_format_phones,
  &pla_format_csv_markers,
  &pla_format_csv_track,
  &pla_format_ema_text,
  &pla_format_label_table, /* last: the loosest of the text formats */
  NULL,
};

const PlaFormat *const *
pla_formats_get(void)
{
  return formats;
}

const char *
pla_kind_name(PlaKind kind)
{
  static const char *const names[] = {
    [PLA_KIND_NONE] = "nothing",    [PLA_KIND_VOLUME] = "volume",      [PLA_KIND_MESH] = "mesh",
    [PLA_KIND_TAKE] = "markers",    [PLA_KIND_TRACK] = "track",        [PLA_KIND_AUDIO] = "audio",
    [PLA_KIND_PHONES] = "phonemes", [PLA_KIND_LABEL_TABLE] = "labels", [PLA_KIND_CASE] = "case",
  };
  return names[kind];
}

void
pla_item_clear(PlaItem *item)
{
  if (!item)
    return;
  pla_volume_free(item->volume);
  pla_mesh_free(item->mesh);
  pla_take_free(item->take);
  pla_track_free(item->track);
  pla_audio_free(item->audio);
  pla_phones_clear(&item->phones);
  pla_label_table_clear(&item->labels);
  pla_notes_clear(&item->notes);
  *item = (PlaItem){ 0 };
}

PlaReadOptions
pla_read_options_default(void)
{
  return (PlaReadOptions){ .series = -1 };
}

PlaWriteOptions
pla_write_options_default(void)
{
  return (PlaWriteOptions){ 0 };
}

/* length of the extension of @format that @path ends in, 0 if none */
static size_t
matching_extension(const PlaFormat *format, const char *path)
{
  size_t n = strlen(path), best = 0;
  for (const char *const *ext = format->extensions; *ext; ext++) {
    size_t m = strlen(*ext);
    if (m < n && m > best && strcasecmp(path + n - m, *ext) == 0)
      best = m;
  }
  return best;
}

PlaStatus
pla_format_detect(const char *path, const PlaFormat **out, PlaError *err)
{
  uint8_t head[4096];
  size_t n_head = 0;
  struct stat st;
  *out = NULL;
  if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode)) {
    PlaStatus status = pla_source_head(path, head, sizeof head, &n_head, err);
    if (status != PLA_OK)
      return status;
    if (n_head == 0)
      return pla_fail(err, PLA_ERR_FORMAT, "%s is empty; copy the file again", path);
  }

  /* the longest matching extension among those whose content fits, then any whose content fits,
   * then an extension alone */
  size_t best = 0;
  for (const PlaFormat *const *f = formats; *f; f++) {
    size_t ext = matching_extension(*f, path);
    if (ext > best && (!(*f)->probe || (*f)->probe(path, head, n_head))) {
      best = ext;
      *out = *f;
    }
  }
  for (const PlaFormat *const *f = formats; *f && !*out; f++)
    if ((*f)->probe && (*f)->probe(path, head, n_head))
      *out = *f;
  for (const PlaFormat *const *f = formats; *f && !*out; f++)
    if (n_head > 0 && matching_extension(*f, path))
      *out = *f;
  if (!*out)
    return pla_fail(
        err, PLA_ERR_UNSUPPORTED,
        "%s is of no kind that Platysma reads; 'platysma-cli info --formats' lists them", path);
  return PLA_OK;
}

PlaStatus
pla_format_for_output(const char *path, PlaKind kind, const PlaFormat **out, PlaError *err)
{
  size_t best = 0;
  bool known = false;
  *out = NULL;
  for (const PlaFormat *const *f = formats; *f; f++) {
    size_t ext = matching_extension(*f, path);
    known |= ext > 0;
    if (ext > best && (*f)->kind == kind && (*f)->write) {
      best = ext;
      *out = *f;
    }
  }
  if (*out)
    return PLA_OK;
  return known ? pla_fail(err, PLA_ERR_UNSUPPORTED,
                          "a %s cannot be written to %s; choose a file name of another format",
                          pla_kind_name(kind), path)
               : pla_fail(err, PLA_ERR_UNSUPPORTED,
                          "%s has no ending that Platysma writes; 'platysma-cli info --formats' "
                          "lists them",
                          path);
}

PlaStatus
pla_item_read(const char *path, const PlaReadOptions *opts, PlaItem *out, PlaError *err)
{
  const PlaFormat *format;
  *out = (PlaItem){ 0 };
  PlaStatus st = pla_format_detect(path, &format, err);
  if (st == PLA_OK)
    st = format->read(path, opts, out, err);
  if (st != PLA_OK)
    pla_item_clear(out);
  return st;
}

PlaStatus
pla_item_write(const char *path, const PlaItem *item, const PlaWriteOptions *opts, PlaError *err)
{
  const PlaFormat *format;
  PlaStatus st = pla_format_for_output(path, item->kind, &format, err);
  return st == PLA_OK ? format->write(path, item, opts, err) : st;
}
