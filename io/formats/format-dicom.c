/* DICOM CT and MR series: slices sorted by place into one volume.
 *
 * A helper process reads the headers of all files, this file groups them into series, sorts the
 * slices along the normal of their planes and checks that they form a lattice, and a second helper
 * decodes the pixels.  With the in-plane unit vectors r (along a row) and c (down a column), the
 * spacings dr between rows and dc between columns, and the positions p of the first and last of n
 * slices (DICOM PS3.3 C.7.6.2.1.1), voxel (i, j, k) stands at
 *
 *   p_first + i dc r + j dr c + k (p_last - p_first) / (n - 1)     in LPS, turned to RAS.
 *
 * The last term carries a gantry tilt, where p moves within the plane, as shear.  Text that may
 * identify the patient is not even passed on by the helper unless asked for. */
#include "io/formats/format-dicom.h"

#include "anatomy/base/memory.h"
#include "io/formats/dicom-private.h"
#include "io/formats/formats.h"
#include "io/stream/helper-process.h"
#include "io/stream/source.h"

#include <assert.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
  MAX_DEPTH = 8,        /* folders within folders on a disc from a hospital */
  MAX_FILES = 200000,   /* in one folder tree */
  MAX_FRAMES = 1 << 20, /* in all files together */
};

static void
folder_clear(PlaDicomFolder *folder)
{
  for (int i = 0; i < folder->n_files; i++)
    free(folder->file[i].path);
  free(folder->file);
  free(folder->slice);
  free(folder->start);
  *folder = (PlaDicomFolder){ 0 };
}

/* ---- finding files ---- */

/* the 128-byte preamble and its magic, or a bare data set that starts with a group length or an
 * identifying element as files of the 1990s do */
static bool
looks_like_dicom(const uint8_t *head, size_t n)
{
  if (n >= 132 && memcmp(head + 128, "DICM", 4) == 0)
    return true;
  return n >= 8 && (head[0] == 0x08 || head[0] == 0x02) && head[1] == 0 && head[3] == 0 &&
         (head[2] == 0x00 || head[2] == 0x05 || head[2] == 0x08 || head[2] == 0x16) &&
         ((head[4] == 'U' && head[5] == 'L') || (head[4] == 'C' && head[5] == 'S') ||
          (head[4] == 'U' && head[5] == 'I') || (head[6] == 0 && head[7] == 0 && head[5] == 0));
}

static bool
file_looks_like_dicom(const char *path)
{
  uint8_t head[132];
  size_t n;
  return pla_source_head(path, head, sizeof head, &n, NULL) == PLA_OK && looks_like_dicom(head, n);
}

static PlaStatus
add_file(PlaDicomFolder *folder, const char *path, PlaError *err)
{
  uint64_t size;
  if (pla_source_size(path, &size, NULL) != PLA_OK || !file_looks_like_dicom(path)) {
    folder->n_skipped++;
    return PLA_OK;
  }
  if (folder->n_files >= MAX_FILES)
    return pla_fail(err, PLA_ERR_UNSUPPORTED,
                    "more than %d DICOM files lie beside %s; name the folder "
                    "of one study",
                    MAX_FILES, path);
  if ((folder->n_files & (folder->n_files - 1)) == 0) { /* grow at powers of two */
    void *grown = folder->file;
    if (!pla_array_resize(&grown, folder->n_files ? 2 * (size_t)folder->n_files : 1,
                          sizeof *folder->file))
      return pla_fail_memory(err, path);
    folder->file = grown;
  }
  char *copy = pla_strdup(path);
  if (!copy)
    return pla_fail_memory(err, path);
  folder->file[folder->n_files++] = (PlaDicomFile){ copy, size };
  return PLA_OK;
}

/* all files in @path, and in folders inside it down to @depth more levels */
static PlaStatus
add_folder(PlaDicomFolder *folder, const char *path, int depth, PlaProgress *progress,
           PlaError *err)
{
  struct dirent **entry = NULL;
  int n = scandir(path, &entry, NULL, alphasort);
  if (n < 0)
    return pla_fail(err, PLA_ERR_IO, "the folder %s cannot be read; check its permissions", path);
  PlaStatus st = PLA_OK;
  for (int i = 0; i < n; i++) {
    const char *name = entry[i]->d_name;
    if (st == PLA_OK && name[0] != '.') {
      size_t end = strlen(path);
      char *child = pla_strdup_printf("%s%s%s", path, end && path[end - 1] == '/' ? "" : "/", name);
      struct stat info;
      if (!child)
        st = pla_fail_memory(err, path);
      else if (pla_progress_cancelled(progress))
        st = pla_fail_cancelled(err);
      else if (lstat(child, &info) == 0 && S_ISDIR(info.st_mode)) /* links could go in circles */
        st = depth > 0 ? add_folder(folder, child, depth - 1, progress, err) : PLA_OK;
      else
        st = add_file(folder, child, err);
      free(child);
    }
    free(entry[i]);
  }
  free(entry);
  return st;
}

/* ---- headers ---- */

typedef struct {
  const PlaDicomFolder *folder;
  bool keep_identity;
} HeaderJob;

/* in the helper: for each file its number of frames, then the frames */
static PlaStatus
send_headers(const void *data, PlaHelperPipe *pipe, PlaError *err)
{
  const HeaderJob *job = data;
  PlaStatus st = PLA_OK;
  for (int i = 0; i < job->folder->n_files && st == PLA_OK; i++) {
    PlaDicomFrame *frame = NULL;
    int n = 0;
    st = pla_dicom_shim_frames(job->folder->file[i].path, job->keep_identity, &frame, &n, err);
    if (st == PLA_OK && (!pla_helper_send(pipe, &n, sizeof n) ||
                         !pla_helper_send(pipe, frame, (size_t)n * sizeof *frame)))
      st = PLA_ERR_CANCELLED;
    free(frame);
  }
  return st;
}

/* what came from the helper is data: strings end, numbers are finite, sizes possible */
static bool
frame_is_sane(PlaDicomFrame *f)
{
  char *const words[] = { f->series_uid, f->instance_uid, f->modality, f->kernel, f->image_type };
  const size_t room[] = { sizeof f->series_uid, sizeof f->instance_uid, sizeof f->modality,
                          sizeof f->kernel, sizeof f->image_type };
  for (int i = 0; i < 5; i++)
    words[i][room[i] - 1] = '\0';
  f->identity[sizeof f->identity - 1] = '\0';
  bool ok = f->columns > 0 && f->columns <= 65535 && f->rows > 0 && f->rows <= 65535 &&
            f->n_frames > 0 && f->frame >= 0 && f->frame < f->n_frames && isfinite(f->slice_step) &&
            isfinite(f->slope) && isfinite(f->inter);
  for (int d = 0; d < 3; d++)
    ok = ok && isfinite(f->position[d]);
  for (int d = 0; d < 6; d++)
    ok = ok && isfinite(f->orientation[d]);
  return ok && isfinite(f->pixel_spacing[0]) && isfinite(f->pixel_spacing[1]);
}

/* the largest file, on which the helper's memory depends */
static uint64_t
largest_file(const PlaDicomFolder *folder)
{
  uint64_t largest = 0;
  for (int i = 0; i < folder->n_files; i++)
    if (folder->file[i].size > largest)
      largest = folder->file[i].size;
  return largest;
}

static PlaStatus
read_headers(PlaDicomFolder *folder, const char *path, bool keep_identity, PlaProgress *progress,
             PlaError *err)
{
  PlaHelperLimits limits = pla_helper_limits_default();
  limits.memory_bytes = ((size_t)64 << 20) + 4 * (size_t)largest_file(folder);
  limits.cpu_s += folder->n_files / 20;
  HeaderJob job = { folder, keep_identity };
  PlaHelper *helper = NULL;
  PlaStatus st = pla_helper_start(path, send_headers, &job, &limits, progress, &helper, err);
  size_t capacity = 0;
  for (int i = 0; i < folder->n_files && st == PLA_OK; i++) {
    int n;
    pla_helper_set_what(helper, folder->file[i].path);
    if (!pla_helper_read(helper, &n, sizeof n)) /* finish tells why */
      break;
    if (n < 0 || n > MAX_FRAMES - folder->n_slices) {
      st = pla_fail(err, PLA_ERR_UNSUPPORTED, "%s holds more DICOM frames than can be one study",
                    path);
      break;
    }
    folder->n_pictureless += n == 0;
    size_t need = (size_t)folder->n_slices + (size_t)n;
    if (need > capacity) {
      void *grown = folder->slice;
      capacity = need + need / 2;
      if (!pla_array_resize(&grown, capacity, sizeof *folder->slice)) {
        st = pla_fail_memory(err, path);
        break;
      }
      folder->slice = grown;
    }
    bool ok = true;
    for (int k = 0; k < n && ok; k++) {
      PlaDicomSlice *s = &folder->slice[folder->n_slices];
      s->file = i;
      s->along = 0.0;
      ok = pla_helper_read(helper, &s->f, sizeof s->f);
      if (ok && !frame_is_sane(&s->f)) {
        st = pla_fail(err, PLA_ERR_FORMAT, "%s: the DICOM header is damaged; copy the file again",
                      folder->file[i].path);
        ok = false;
      }
      folder->n_slices += ok;
    }
    if (!ok)
      break;
    if (!pla_progress_step(progress, (double)(i + 1) / folder->n_files))
      st = pla_fail_cancelled(err);
  }
  if (st == PLA_OK && helper)
    return pla_helper_finish(helper, err);
  pla_helper_abandon(helper);
  return st;
}

static int
compare_series(const void *a, const void *b)
{
  const PlaDicomSlice *x = a, *y = b;
  if (x->f.series_number != y->f.series_number)
    return x->f.series_number < y->f.series_number ? -1 : 1;
  int order = strcmp(x->f.series_uid, y->f.series_uid);
  if (order)
    return order;
  if (x->file != y->file)
    return x->file < y->file ? -1 : 1;
  return x->f.frame - y->f.frame;
}

/* sorts the slices series by series and marks where each begins */
static PlaStatus
group_series(PlaDicomFolder *folder, PlaError *err)
{
  qsort(folder->slice, (size_t)folder->n_slices, sizeof *folder->slice, compare_series);
  folder->start = pla_array_new((size_t)folder->n_slices + 1, sizeof *folder->start);
  if (!folder->start)
    return pla_fail_memory(err, "a list of series");
  for (int i = 0; i < folder->n_slices; i++)
    if (i == 0 || folder->slice[i].f.series_number != folder->slice[i - 1].f.series_number ||
        strcmp(folder->slice[i].f.series_uid, folder->slice[i - 1].f.series_uid) != 0)
      folder->start[folder->n_series++] = i;
  folder->start[folder->n_series] = folder->n_slices;
  return PLA_OK;
}

/* keeps only the series that the file @path belongs to */
static PlaStatus
keep_series_of_file(PlaDicomFolder *folder, const char *path, PlaError *err)
{
  for (int s = 0; s < folder->n_series; s++)
    for (int i = folder->start[s]; i < folder->start[s + 1]; i++)
      if (strcmp(folder->file[folder->slice[i].file].path, path) == 0) {
        int n = folder->start[s + 1] - folder->start[s];
        memmove(folder->slice, folder->slice + folder->start[s], (size_t)n * sizeof *folder->slice);
        folder->n_slices = n;
        folder->n_series = 1;
        folder->start[0] = 0;
        folder->start[1] = n;
        return PLA_OK;
      }
  return pla_fail(
      err, PLA_ERR_UNSUPPORTED,
      "%s is a DICOM file without a picture; name a slice of a CT or MR series, or its folder",
      path);
}

/* the folder that a file lies in, with a slash at its end; NULL when memory is short */
static char *
folder_of(const char *path)
{
  const char *slash = strrchr(path, '/');
  return slash ? pla_strdup_printf("%.*s/", (int)(slash - path), path) : pla_strdup("./");
}

/* the files to look at: those below a folder, or those beside a file */
static PlaStatus
find_files(const char *path, bool is_folder, PlaProgress *progress, PlaDicomFolder *out,
           PlaError *err)
{
  if (is_folder)
    return add_folder(out, path, MAX_DEPTH, progress, err);
  uint64_t size;
  PlaStatus st = pla_source_size(path, &size, err);
  if (st == PLA_OK && !file_looks_like_dicom(path))
    st = pla_fail(err, PLA_ERR_FORMAT,
                  "%s is no DICOM file; name a slice of a CT or MR series, or its folder", path);
  char *beside = folder_of(path);
  if (st == PLA_OK)
    st = beside ? add_folder(out, beside,
                             strcmp(pla_dicom_base_name(path), "DICOMDIR") == 0 ? MAX_DEPTH : 0,
                             progress, err)
                : pla_fail_memory(err, path);
  free(beside);
  return st;
}

/* every image below @path, in series; beside a slice only its own series, and the index of a disc
 * (DICOMDIR) stands for the folder it lies in */
static PlaStatus
folder_scan(const char *path, bool keep_identity, PlaProgress *progress, PlaDicomFolder *out,
            PlaError *err)
{
  struct stat info;
  bool is_folder = stat(path, &info) == 0 && S_ISDIR(info.st_mode);
  *out = (PlaDicomFolder){ 0 };
  PlaStatus st = find_files(path, is_folder, progress, out, err);
  if (st == PLA_OK && out->n_files == 0)
    st = pla_fail(err, PLA_ERR_FORMAT, "the folder %s holds no DICOM files", path);
  if (st == PLA_OK)
    st = read_headers(out, path, keep_identity, progress, err);
  if (st == PLA_OK && out->n_slices == 0)
    st = pla_fail(err, PLA_ERR_UNSUPPORTED, "there are no pictures in the DICOM files of %s", path);
  if (st == PLA_OK)
    st = group_series(out, err);
  if (st == PLA_OK && !is_folder && strcmp(pla_dicom_base_name(path), "DICOMDIR") != 0) {
    char *same = strchr(path, '/') ? pla_strdup(path) : pla_strdup_printf("./%s", path);
    st = same ? keep_series_of_file(out, same, err) : pla_fail_memory(err, path);
    free(same);
  }
  if (st != PLA_OK)
    folder_clear(out);
  return st;
}

/* one series in words, from coded values alone */
static char *
describe_series(const PlaDicomFolder *folder, int s)
{
  const PlaDicomFrame *f = &folder->slice[folder->start[s]].f;
  int n = folder->start[s + 1] - folder->start[s];
  return pla_strdup_printf("%s series %d%s%s%s%s, %d slice%s of %d x %d",
                           f->modality[0] ? f->modality : "image", f->series_number,
                           f->image_type[0] ? ", " : "", f->image_type,
                           f->kernel[0] ? ", kernel " : "", f->kernel, n, n == 1 ? "" : "s",
                           f->columns, f->rows);
}

void
pla_dicom_series_list_clear(PlaDicomSeriesList *list)
{
  for (int s = 0; s < list->n; s++) {
    free(list->series[s].modality);
    free(list->series[s].description);
  }
  free(list->series);
  *list = (PlaDicomSeriesList){ 0 };
}

PlaStatus
pla_dicom_list_series(const char *path, PlaProgress *progress, PlaDicomSeriesList *out,
                      PlaError *err)
{
  PlaDicomFolder folder;
  *out = (PlaDicomSeriesList){ 0 };
  PlaStatus st = folder_scan(path, false, progress, &folder, err);
  if (st != PLA_OK)
    return st;
  out->series = pla_array_new0((size_t)folder.n_series, sizeof *out->series);
  for (int s = 0; s < folder.n_series && out->series && st == PLA_OK; s++) {
    const PlaDicomFrame *f = &folder.slice[folder.start[s]].f;
    PlaDicomSeries *series = &out->series[out->n++];
    *series = (PlaDicomSeries){ .number = f->series_number,
                                .modality = pla_strdup(f->modality),
                                .description = describe_series(&folder, s),
                                .n_slices = folder.start[s + 1] - folder.start[s],
                                .dims = { f->columns, f->rows } };
    if (!series->modality || !series->description)
      st = pla_fail_memory(err, path);
  }
  if (!out->series)
    st = pla_fail_memory(err, path);
  if (st != PLA_OK)
    pla_dicom_series_list_clear(out);
  folder_clear(&folder);
  return st;
}

/* ---- pixels ---- */

typedef struct {
  const PlaDicomFolder *folder;
  const PlaDicomSlice *slice;
  int n;
  size_t slice_bytes;
} PixelJob;

static bool
send_pixels_of_slice(void *data, const void *pixels, size_t size)
{
  return pla_helper_send(data, pixels, size);
}

/* in the helper: the stored values, slice by slice */
static PlaStatus
send_pixels(const void *data, PlaHelperPipe *pipe, PlaError *err)
{
  const PixelJob *job = data;
  int *frame = pla_array_new((size_t)job->n, sizeof *frame);
  PlaStatus st = frame ? PLA_OK : pla_fail_memory(err, "a list of frames");
  for (int k = 0; k < job->n && st == PLA_OK;) {
    /* neighbouring slices of one file are decoded together */
    int file = job->slice[k].file, n = 0;
    for (; k < job->n && job->slice[k].file == file; k++)
      frame[n++] = job->slice[k].f.frame;
    st = pla_dicom_shim_pixels(job->folder->file[file].path, frame, n, job->slice_bytes,
                               send_pixels_of_slice, pipe, err);
  }
  free(frame);
  return st;
}

/* bits beyond those stored are overlays or noise: clears them, or extends the sign */
static void
clean_bits(void *pixels, size_t n, const PlaDicomFrame *f)
{
  bool wide = f->bits_allocated > 8;
  int spare = (wide ? 16 : 8) - f->bits_stored;
  if (spare == 0)
    return;
  if (wide && f->is_signed) {
    int16_t *p = pixels;
    for (size_t i = 0; i < n; i++)
      p[i] = (int16_t)((int16_t)((uint16_t)p[i] << spare) >> spare);
  } else if (wide) {
    uint16_t *p = pixels;
    for (size_t i = 0; i < n; i++)
      p[i] = (uint16_t)((uint16_t)(p[i] << spare) >> spare);
  } else if (f->is_signed) {
    int8_t *p = pixels;
    for (size_t i = 0; i < n; i++)
      p[i] = (int8_t)((int8_t)((uint8_t)p[i] << spare) >> spare);
  } else {
    uint8_t *p = pixels;
    for (size_t i = 0; i < n; i++)
      p[i] = (uint8_t)((uint8_t)(p[i] << spare) >> spare);
  }
}

/* float values of a slice whose scale differs from its neighbours' */
static void
scale_slice(const void *pixels, PlaDType dtype, size_t n, const PlaDicomFrame *f, float *out)
{
  for (size_t i = 0; i < n; i++)
    out[i] = (float)(f->slope * pla_dtype_get(dtype, pixels, i) + f->inter);
}

/* Reads the pixels of the arranged slices into @vol, whose voxels grow as slices arrive. */
static PlaStatus
read_pixels(const PlaDicomFolder *folder, const PlaDicomSlice *slice, int n, PlaVolume *vol,
            PlaDType stored, PlaProgress *progress, PlaError *err)
{
  const PlaDicomFrame *first = &slice[0].f;
  size_t per_slice = (size_t)first->columns * (size_t)first->rows;
  size_t stored_bytes = per_slice * pla_dtype_size(stored);
  size_t final_bytes = per_slice * pla_dtype_size(vol->dtype);
  bool scaled = stored != vol->dtype;
  void *scratch = scaled ? pla_array_new(stored_bytes, 1) : NULL;
  PlaStatus st = scaled && !scratch ? pla_fail_memory(err, "a slice") : PLA_OK;

  PlaHelperLimits limits = pla_helper_limits_default();
  limits.memory_bytes = ((size_t)64 << 20) + 4 * (size_t)largest_file(folder) +
                        3 * stored_bytes * (size_t)(first->is_packed ? first->n_frames : 1);
  limits.cpu_s += n / 4;
  PixelJob job = { folder, slice, n, stored_bytes };
  PlaHelper *helper = NULL;
  if (st == PLA_OK)
    st = pla_helper_start(folder->file[slice[0].file].path, send_pixels, &job, &limits, progress,
                          &helper, err);

  /* plain slices are as large as their files say; packed ones are believed one by one */
  int capacity = 1;
  for (int k = 0; k < n && st == PLA_OK; k++) {
    pla_helper_set_what(helper, folder->file[slice[k].file].path);
    if (k >= capacity) {
      capacity = first->is_packed ? k + k / 2 + 1 : n;
      capacity = capacity < n ? capacity : n;
      size_t bytes;
      if (!pla_size_mul((size_t)capacity, final_bytes, &bytes) ||
          !pla_array_resize(&vol->voxels, bytes, 1)) {
        st = pla_fail_memory(err, "the slices");
        break;
      }
    }
    void *place = (char *)vol->voxels + (size_t)k * final_bytes;
    void *pixels = scaled ? scratch : place;
    if (!pla_helper_read(helper, pixels, stored_bytes)) /* finish tells why */
      break;
    clean_bits(pixels, per_slice, &slice[k].f);
    if (scaled)
      scale_slice(pixels, stored, per_slice, &slice[k].f, place);
    vol->dims[2] = k + 1;
    if (!pla_progress_step(progress, (double)(k + 1) / n))
      st = pla_fail_cancelled(err);
  }
  free(scratch);
  if (st == PLA_OK && helper)
    return pla_helper_finish(helper, err);
  pla_helper_abandon(helper);
  return st;
}

/* ---- the format ---- */

static PlaDType
stored_type(const PlaDicomFrame *f)
{
  if (f->bits_allocated > 8)
    return f->is_signed ? PLA_I16 : PLA_U16;
  return f->is_signed ? PLA_I8 : PLA_U8;
}

static bool
same_scale(const PlaDicomSlice *slice, int n)
{
  for (int k = 1; k < n; k++)
    if (slice[k].f.slope != slice[0].f.slope || slice[k].f.inter != slice[0].f.inter)
      return false;
  return true;
}

/* what a reader of the volume should know about how it came to be */
static void
add_notes(const PlaDicomFolder *folder, const PlaDicomSlice *slice, int n, PlaNotes *notes)
{
  const PlaDicomFrame *f = &slice[0].f;
  if (folder->n_skipped)
    pla_notes_add(notes, "%d file%s no DICOM and %s left out", folder->n_skipped,
                  folder->n_skipped == 1 ? " is" : "s are",
                  folder->n_skipped == 1 ? "was" : "were");
  if (folder->n_pictureless)
    pla_notes_add(notes, "%d DICOM file%s without pictures %s left out", folder->n_pictureless,
                  folder->n_pictureless == 1 ? "" : "s",
                  folder->n_pictureless == 1 ? "was" : "were");
  if (f->images_in_acquisition > n)
    pla_notes_add(notes, "the header lists %d images in this acquisition; %d are here",
                  f->images_in_acquisition, n);
  if (f->is_inverted)
    pla_notes_add(notes, "the file asks for display with low values bright; values are as stored");
  if (f->is_lossy)
    pla_notes_add(notes, "the images were compressed with loss before they came here");
  if (f->has_lookup_table)
    pla_notes_add(notes, "a modality lookup table is not applied; values are as stored");
}

/* the one series to read: the only one, or the one asked for */
static PlaStatus
choose_series(const PlaDicomFolder *folder, const char *path, int wanted, int *out, PlaError *err)
{
  *out = wanted;
  if (wanted >= 0 && wanted < folder->n_series)
    return PLA_OK;
  if (wanted < 0 && folder->n_series == 1) {
    *out = 0;
    return PLA_OK;
  }
  PlaBytes list = { 0 };
  enum { SHOWN = 8 };
  for (int s = 0; s < folder->n_series && s < SHOWN; s++) {
    char *text = describe_series(folder, s);
    pla_bytes_printf(&list, "%s%d: %s", s ? "; " : "", s, text ? text : "");
    free(text);
  }
  if (folder->n_series > SHOWN)
    pla_bytes_printf(&list, "; and %d more", folder->n_series - SHOWN);
  PlaStatus st =
      wanted < 0
          ? pla_fail(err, PLA_ERR_USAGE, "%s holds %d series; choose one with --series (%s)", path,
                     folder->n_series, list.data ? (const char *)list.data : "")
          : pla_fail(err, PLA_ERR_USAGE, "%s has no series %d; choose one of %d with --series (%s)",
                     path, wanted, folder->n_series, list.data ? (const char *)list.data : "");
  pla_bytes_clear(&list);
  return st;
}

/* one series as a volume */
static PlaStatus
read_series(const PlaDicomFolder *folder, int series, const char *path, const PlaReadOptions *opts,
            PlaItem *out, PlaError *err)
{
  PlaDicomSlice *slice = folder->slice + folder->start[series];
  int n = folder->start[series + 1] - folder->start[series];
  double affine_mm[12], inverse[12];
  PlaVolume *vol = NULL;
  PlaStatus st = pla_dicom_arrange(folder, slice, &n, affine_mm, &out->notes, err);
  if (st == PLA_OK && !pla_affine_invert(affine_mm, inverse))
    st = pla_fail(err, PLA_ERR_GEOMETRY,
                  "%s: the slices do not span a volume; export the series again", path);
  if (st != PLA_OK)
    return st;

  bool constant = same_scale(slice, n);
  PlaDType stored = stored_type(&slice[0].f);
  const int dims[4] = { slice[0].f.columns, slice[0].f.rows, 1, 1 };
  st = pla_volume_new(dims, constant ? stored : PLA_F32, &vol, err);
  if (st == PLA_OK)
    st = read_pixels(folder, slice, n, vol, stored, opts->progress, err);
  if (st != PLA_OK) {
    pla_volume_free(vol);
    return st;
  }
  vol->slope = constant ? slice[0].f.slope : 1.0;
  vol->inter = constant ? slice[0].f.inter : 0.0;
  if (!constant)
    pla_notes_add(&out->notes, "each slice has its own rescale slope; the values are float32");
  memcpy(vol->affine_mm, affine_mm, sizeof affine_mm);
  vol->audit.source = PLA_FRAME_DICOM;
  pla_volume_audit_frame(vol);
  char *text = describe_series(folder, series);
  vol->description = opts->keep_identity && slice[0].f.identity[0]
                         ? pla_strdup_printf("%s (%s)", text ? text : "", slice[0].f.identity)
                         : pla_strdup(text);
  free(text);
  add_notes(folder, slice, n, &out->notes);
  out->kind = PLA_KIND_VOLUME;
  out->volume = vol;
  return PLA_OK;
}

static PlaStatus
read_dicom(const char *path, const PlaReadOptions *opts, PlaItem *out, PlaError *err)
{
  PlaDicomFolder folder;
  int series = 0;
  *out = (PlaItem){ 0 };
  if (!pla_progress_phase(opts->progress, "Reading DICOM headers", 0.3))
    return pla_fail_cancelled(err);
  PlaStatus st = folder_scan(path, opts->keep_identity, opts->progress, &folder, err);
  if (st != PLA_OK)
    return st;
  st = choose_series(&folder, path, opts->series, &series, err);
  if (st == PLA_OK && !pla_progress_phase(opts->progress, "Decoding slices", 1.0))
    st = pla_fail_cancelled(err);
  if (st == PLA_OK)
    st = read_series(&folder, series, path, opts, out, err);
  folder_clear(&folder);
  if (st != PLA_OK)
    pla_item_clear(out);
  return st;
}

/* a folder is DICOM when one of the first files found in it is */
static bool
folder_has_dicom(const char *path, int depth, int *budget)
{
  DIR *dir = opendir(path);
  bool found = false;
  if (!dir)
    return false;
  for (struct dirent *e; !found && *budget > 0 && (e = readdir(dir));) {
    struct stat info;
    if (e->d_name[0] == '.')
      continue;
    (*budget)--;
    char *child = pla_strdup_printf("%s/%s", path, e->d_name);
    if (child && lstat(child, &info) == 0 && S_ISDIR(info.st_mode))
      found = depth > 0 && folder_has_dicom(child, depth - 1, budget);
    else if (child)
      found = file_looks_like_dicom(child);
    free(child);
  }
  closedir(dir);
  return found;
}

static bool
probe_dicom(const char *path, const uint8_t *head, size_t n_head)
{
  if (n_head > 0)
    return looks_like_dicom(head, n_head);
  int budget = 2000; /* files looked at */
  return folder_has_dicom(path, MAX_DEPTH, &budget);
}

static const char *const extensions[] = { ".dcm", ".dicom", ".ima", NULL };

const PlaFormat pla_format_dicom = {
  .id = "dicom",
  .title = "DICOM series (a folder or one of its files)",
  .extensions = extensions,
  .kind = PLA_KIND_VOLUME,
  .probe = probe_dicom,
  .read = read_dicom,
};
