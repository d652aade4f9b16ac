/* Reading and writing whole files for callers that know contents, not formats. */
#include "app/content/files.h"

#include "io/formats/label-files.h"
#include "io/formats/pvd.h"

static PlaStatus
write_item(const PlaItem *item, const char *path, PlaProgress *progress, PlaError *err)
{
  PlaWriteOptions opts = pla_write_options_default();
  opts.progress = progress;
  return pla_item_write(path, item, &opts, err);
}

PlaStatus
pla_content_write_file(const PlaContent *content, const char *path, PlaProgress *progress,
                       PlaError *err)
{
  PlaItem item;
  PlaStatus st = pla_content_borrow_item(content, &item, err);
  if (st == PLA_OK)
    st = write_item(&item, path, progress, err);
  if (st == PLA_OK && content->labels)
    st = pla_label_sidecar_write(path, &content->labels->table, err);
  return st;
}

PlaStatus
pla_volume_write_file(PlaVolume *volume, const char *path, PlaProgress *progress, PlaError *err)
{
  return write_item(&(PlaItem){ .kind = PLA_KIND_VOLUME, .volume = volume }, path, progress, err);
}

PlaStatus
pla_track_write_file(PlaTrack *track, const char *path, PlaError *err)
{
  return write_item(&(PlaItem){ .kind = PLA_KIND_TRACK, .track = track }, path, NULL, err);
}

PlaStatus
pla_audio_write_file(PlaAudio *audio, const char *path, PlaError *err)
{
  return write_item(&(PlaItem){ .kind = PLA_KIND_AUDIO, .audio = audio }, path, NULL, err);
}

PlaStatus
pla_phones_read_file(const char *path, PlaProgress *progress, PlaPhones *out, PlaError *err)
{
  PlaReadOptions opts = pla_read_options_default();
  PlaItem item;
  opts.progress = progress;
  PlaStatus st = pla_item_read(path, &opts, &item, err);
  if (st != PLA_OK)
    return st;
  if (item.kind == PLA_KIND_PHONES) {
    *out = item.phones;
    item.phones = (PlaPhones){ 0 };
  } else {
    st = pla_fail(err, PLA_ERR_USAGE,
                  "%s has no phonemes with their times; TextGrid and label files do", path);
  }
  pla_item_clear(&item);
  return st;
}

static bool
is_in(PlaFileGroup group, PlaKind kind)
{
  return group == PLA_FILES_SHAPES ? kind == PLA_KIND_VOLUME || kind == PLA_KIND_MESH
                                   : kind == PLA_KIND_AUDIO || kind == PLA_KIND_TRACK;
}

char **
pla_file_endings(PlaFileGroup group)
{
  GPtrArray *all = g_ptr_array_new();
  for (const PlaFormat *const *f = pla_formats_get(); *f; f++)
    for (const char *const *ext = (*f)->extensions; is_in(group, (*f)->kind) && *ext; ext++)
      g_ptr_array_add(all, g_strdup(*ext + 1)); /* without the dot */
  g_ptr_array_add(all, NULL);
  return (char **)g_ptr_array_free(all, FALSE);
}

bool
pla_file_may_hold_labels(const char *path)
{
  const PlaFormat *format = NULL;
  /* a folder holds a scan of DICOM files, and a mesh no tissues */
  return !g_file_test(path, G_FILE_TEST_IS_DIR) &&
         pla_format_detect(path, &format, NULL) == PLA_OK && format->kind == PLA_KIND_VOLUME;
}

bool
pla_volume_looks_like_labels(const PlaVolume *vol)
{
  enum { MOST = 512, MOST_DISTINCT = 256 };
  if (!pla_dtype_is_integer(vol->dtype) || vol->dims[3] != 1 || vol->slope != 1.0 ||
      vol->inter != 0.0)
    return false;
  bool used[MOST] = { false };
  int distinct = 0;
  size_t equal = 0, pairs = 0, n = pla_volume_n_voxels(vol);
  double last = 0.0;
  for (size_t i = 0; i < n; i++) {
    const double value = pla_dtype_get(vol->dtype, vol->voxels, i);
    if (!(value >= 0.0 && value < MOST))
      return false;
    distinct += !used[(size_t)value];
    used[(size_t)value] = true;
    /* neighbours along a row, unless both are background */
    if (i % (size_t)vol->dims[0] != 0 && (value != 0.0 || last != 0.0)) {
      pairs++;
      equal += value == last;
    }
    last = value;
  }
  return distinct > 1 && distinct <= MOST_DISTINCT && 2 * equal > pairs;
}

PlaStatus
pla_file_holds_labels(const char *path, PlaProgress *progress, bool *out, PlaError *err)
{
  PlaItem item = { 0 };
  PlaReadOptions opts = pla_read_options_default();
  opts.progress = progress;
  PlaStatus st = pla_item_read(path, &opts, &item, err);
  if (st == PLA_OK)
    *out = item.kind == PLA_KIND_VOLUME && item.volume->dims[3] == 1 &&
           (item.labels.n > 0 || pla_volume_looks_like_labels(item.volume));
  pla_item_clear(&item);
  return st;
}

/* takes in the mesh of frame @f, from @path */
static PlaStatus
take_frame(PlaMeshFrames *self, int f, const char *series, const char *path, PlaError *err)
{
  PlaReadOptions opts = pla_read_options_default();
  PlaItem item = { 0 };
  PlaStatus st = pla_item_read(path, &opts, &item, err);
  if (st == PLA_OK && item.kind != PLA_KIND_MESH)
    st = pla_fail(err, PLA_ERR_FORMAT, "%s: the series %s lists it, but it is no mesh", path,
                  series);
  if (st == PLA_OK && f == 0) {
    self->n_verts = item.mesh->n_verts;
    self->first_path = g_strdup(path);
    self->pos_m = g_try_new(float, 3 * (gsize)self->n_frames * (gsize)self->n_verts + 1);
    if (!self->pos_m)
      st = pla_fail_memory(err, series);
  }
  if (st == PLA_OK && item.mesh->n_verts != self->n_verts)
    st = pla_fail(err, PLA_ERR_FORMAT,
                  "%s has %d vertices and the first mesh of the series %d; they cannot be played "
                  "as one motion",
                  path, item.mesh->n_verts, self->n_verts);
  const gsize n = 3 * (gsize)self->n_verts;
  for (gsize i = 0; st == PLA_OK && i < n; i++)
    self->pos_m[n * (gsize)f + i] = (float)item.mesh->pos[i];
  pla_item_clear(&item);
  return st;
}

PlaStatus
pla_mesh_frames_read(const char *path, PlaProgress *progress, PlaMeshFrames *out, PlaError *err)
{
  PlaPvd pvd = { 0 };
  g_autofree char *dir = g_path_get_dirname(path);
  g_autofree char *series = g_path_get_basename(path);
  *out = (PlaMeshFrames){ 0 };
  PlaStatus st = pla_pvd_read(path, &pvd, err);
  if (st == PLA_OK && pvd.n == 0)
    st = pla_fail(err, PLA_ERR_EMPTY, "%s names no mesh", path);
  if (st == PLA_OK) {
    out->n_frames = pvd.n;
    out->time_s = g_new(double, (gsize)pvd.n);
  }
  for (int f = 0; st == PLA_OK && f < pvd.n; f++) {
    g_autofree char *file = g_build_filename(dir, pvd.file[f], NULL);
    out->time_s[f] = pvd.time_s[f];
    st = pla_progress_phase(progress, "Reading the series", (f + 1.0) / pvd.n)
             ? take_frame(out, f, series, file, err)
             : pla_fail_cancelled(err);
  }
  pla_pvd_clear(&pvd);
  if (st != PLA_OK)
    pla_mesh_frames_clear(out);
  return st;
}

void
pla_mesh_frames_clear(PlaMeshFrames *self)
{
  g_free(self->time_s);
  g_free(self->pos_m);
  g_free(self->first_path);
  *self = (PlaMeshFrames){ 0 };
}
