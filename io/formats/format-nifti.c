/* NIfTI-1 and NIfTI-2 volumes: .nii, .nii.gz, and .hdr with .img (either compressed).
 *
 * The header is checked against what the file can hold before anything is allocated.  Voxels stream
 * straight into their array, which grows as data arrive.  What headers mean, and how frames are
 * kept, stands in io/formats/nifti-header.c. */
#include "io/formats/formats.h"

#include "anatomy/base/memory.h"
#include "io/formats/label-files.h"
#include "io/formats/nifti-header.h"
#include "io/stream/gzip-output.h"
#include "io/stream/output.h"
#include "io/stream/source.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
  PIECE = 4 << 20, /* voxel bytes between two looks at cancel; a multiple of every element size */
  MAX_TRAILING = 1 << 20, /* bytes after the voxels that are still looked at */
};

/* ---- file names ---- */

/* the part of @path that names the format: ".nii", ".hdr" or ".img", with ".gz" behind or not; NULL
 * where it has none */
static const char *
find_ending(const char *path)
{
  static const char *const endings[] = { ".nii", ".nii.gz", ".hdr", ".hdr.gz", ".img", ".img.gz" };
  size_t n = strlen(path);
  for (size_t e = 0; e < sizeof endings / sizeof endings[0]; e++) {
    size_t m = strlen(endings[e]);
    if (n > m && strcasecmp(path + n - m, endings[e]) == 0)
      return path + n - m;
  }
  return NULL;
}

static bool
ending_is(const char *ending, const char *stem)
{
  return ending && strncasecmp(ending, stem, strlen(stem)) == 0;
}

/* @path with its ending's stem replaced (".hdr" -> ".img") and compressed or not; keeps capitals */
static char *
partner_path(const char *path, const char *ending, const char *stem, bool gz)
{
  bool capitals = isupper((unsigned char)ending[1]);
  char *out = pla_strdup_printf("%.*s%s%s", (int)(ending - path), path, stem, gz ? ".gz" : "");
  for (char *c = out ? out + (ending - path) : NULL; capitals && c && *c; c++)
    *c = (char)toupper((unsigned char)*c);
  return out;
}

/* the existing partner of one file of a pair, compressed like it if there is a choice; where there
 * is none, the name it should have */
static char *
find_partner(const char *path, const char *stem)
{
  const char *ending = find_ending(path);
  if (!ending)
    return NULL;
  bool gz = strlen(ending) > 4;
  char *name = partner_path(path, ending, stem, gz);
  if (name && access(name, F_OK) != 0) {
    char *other = partner_path(path, ending, stem, !gz);
    if (other && access(other, F_OK) == 0) {
      free(name);
      return other;
    }
    free(other);
  }
  return name;
}

/* ---- reading the voxels ---- */

static PlaStatus
skip(PlaStream *stream, uint64_t n, PlaError *err)
{
  uint8_t scratch[4096];
  PlaStatus st = PLA_OK;
  size_t got = 1;
  while (st == PLA_OK && n > 0 && got > 0) {
    st = pla_stream_read(stream, scratch, n < sizeof scratch ? (size_t)n : sizeof scratch, &got,
                         err);
    n -= got;
  }
  return st;
}

/* Streams @n_bytes of voxels into a new array.  It starts at the size of the file and grows by
 * halves (large blocks are remapped by the system, not copied), so that a small file that claims
 * to be huge costs no more than what it really holds. */
static PlaStatus
read_voxels(const char *path, PlaStream *stream, const PlaNiftiHeader *header, size_t n_bytes,
            PlaProgress *progress, void **out, PlaError *err)
{
  uint64_t in_file = pla_stream_most(stream);
  if (pla_stream_is_gzip(stream))
    in_file /= PLA_MAX_INFLATE;
  size_t capacity = in_file + PIECE < n_bytes ? (size_t)in_file + PIECE : n_bytes;
  size_t done = 0, element = pla_dtype_size(header->dtype);
  *out = pla_array_new(capacity, 1);
  PlaStatus st = *out ? PLA_OK : pla_fail_memory(err, path);
  while (st == PLA_OK && done < n_bytes) {
    if (done == capacity) {
      capacity = capacity / 2 < n_bytes - capacity ? capacity + capacity / 2 : n_bytes;
      if (!pla_array_resize(out, capacity, 1)) {
        st = pla_fail_memory(err, path);
        break;
      }
    }
    size_t want = capacity - done < PIECE ? capacity - done : PIECE, got;
    uint8_t *at = (uint8_t *)*out + done;
    st = pla_stream_read(stream, at, want, &got, err);
    if (st == PLA_OK && got < want)
      st = pla_fail(err, PLA_ERR_FORMAT,
                    "%s ends after %zu of the %zu bytes of voxels that its header promises; copy "
                    "the file again",
                    path, done + got, n_bytes);
    /* whole elements while they are in the cache; capacities may cut one in two */
    if (st == PLA_OK && header->swapped) {
      size_t from = done / element * element, to = (done + got) / element * element;
      pla_dtype_swap_bytes(header->dtype, (uint8_t *)*out + from, (to - from) / element);
    }
    done += got;
    if (st == PLA_OK && !pla_progress_step(progress, pla_stream_fraction(stream)))
      st = pla_fail_cancelled(err);
  }
  if (st != PLA_OK) {
    free(*out);
    *out = NULL;
  }
  return st;
}

/* what follows the voxels: the checksum of compressed data, and perhaps bytes that nobody owns */
static PlaStatus
read_end(PlaStream *stream, PlaNotes *notes, PlaError *err)
{
  uint8_t scratch[4096];
  size_t total = 0, got = 1;
  PlaStatus st = PLA_OK;
  while (st == PLA_OK && got > 0 && total < MAX_TRAILING) {
    st = pla_stream_read(stream, scratch, sizeof scratch, &got, err);
    total += got;
  }
  if (total > 0)
    pla_notes_add(notes, "The file goes on after its voxels; the rest was ignored.");
  return st;
}

/* the voxels of @item->volume, which begin at the header's offset; @at bytes of the stream are read
 */
static PlaStatus
read_body(const char *path, const PlaNiftiHeader *header, PlaStream *stream, uint64_t at,
          PlaProgress *progress, PlaItem *item, PlaError *err)
{
  /* the promise against what the file can hold */
  size_t n_bytes = pla_dtype_size(header->dtype), need;
  uint64_t most = pla_stream_most(stream);
  bool fits = true;
  for (int d = 0; d < 4; d++)
    fits = fits && pla_size_mul(n_bytes, (size_t)header->dims[d], &n_bytes);
  fits = fits && pla_size_add(n_bytes, (size_t)header->h.vox_offset, &need) && need <= most;
  if (!fits)
    return pla_fail(err, PLA_ERR_FORMAT,
                    "%s: the header promises %d x %d x %d x %d voxels of %s from byte %" PRId64
                    ", and the file can hold %s%" PRIu64 " bytes; copy the file again",
                    path, header->dims[0], header->dims[1], header->dims[2], header->dims[3],
                    pla_dtype_name(header->dtype), header->h.vox_offset,
                    pla_stream_is_gzip(stream) ? "at most " : "only ", most);

  PlaStatus st = skip(stream, (uint64_t)header->h.vox_offset - at, err);
  if (st == PLA_OK)
    st = read_voxels(path, stream, header, n_bytes, progress, &item->volume->voxels, err);
  if (st == PLA_OK)
    st = read_end(stream, &item->notes, err);
  return st;
}

/* what the header says about the voxels and the patient */
static void
read_remarks(const PlaNiftiHeader *header, bool keep_identity, PlaItem *item)
{
  PlaVolume *vol = item->volume;
  double slope = header->h.scl_slope, inter = header->h.scl_inter;
  if (isfinite(slope) && slope != 0.0) {
    vol->slope = slope;
    vol->inter = isfinite(inter) ? inter : 0.0;
  }
  int64_t plain = (header->version == 1 ? PLA_NIFTI_SIZE_1 : PLA_NIFTI_SIZE_2) + 4;
  if (header->extended)
    pla_notes_add(&item->notes,
                  "Extensions of the header, %" PRId64 " bytes, were left out: they may identify "
                  "the patient.",
                  header->h.vox_offset - plain);
  if (keep_identity) {
    char text[sizeof header->h.descrip + 1] = { 0 };
    memcpy(text, header->h.descrip, sizeof header->h.descrip);
    for (char *c = text; *c; c++) /* the encoding is anybody's guess */
      *c = *c >= 0x20 && *c < 0x7f ? *c : '?';
    vol->description = pla_strdup(text);
  }
}

static PlaStatus
read_nifti(const char *path, const PlaReadOptions *opts, PlaItem *out, PlaError *err)
{
  uint8_t raw[PLA_NIFTI_SIZE_2];
  size_t got = 0, at = 0;
  PlaNiftiHeader header;
  PlaStream *stream = NULL;
  char *header_path = NULL, *voxel_path = NULL;
  PlaStatus st = PLA_OK;
  *out = (PlaItem){ .kind = PLA_KIND_VOLUME };

  /* either file of a pair may be named */
  header_path =
      ending_is(find_ending(path), ".img") ? find_partner(path, ".hdr") : pla_strdup(path);
  if (!header_path)
    st = pla_fail_memory(err, path);
  if (st == PLA_OK && strcmp(header_path, path) != 0 && access(header_path, F_OK) != 0)
    st = pla_fail(err, PLA_ERR_IO, "%s needs its header %s, which is missing; copy both files",
                  path, header_path);
  if (st == PLA_OK)
    st = pla_stream_open(header_path, &stream, err);
  if (st == PLA_OK)
    st = pla_stream_read(stream, raw, PLA_NIFTI_SIZE_1, &at, err);
  if (st == PLA_OK && at == PLA_NIFTI_SIZE_1 && pla_nifti_header_size(raw, at) > at) {
    st = pla_stream_read(stream, raw + PLA_NIFTI_SIZE_1, PLA_NIFTI_SIZE_2 - PLA_NIFTI_SIZE_1, &got,
                         err);
    at += got;
  }
  if (st == PLA_OK)
    st = pla_nifti_header_parse(header_path, raw, at, &header, &out->notes, err);

  /* the voxels of a pair */
  if (st == PLA_OK && header.pair) {
    pla_stream_close(stream);
    stream = NULL;
    at = 0;
    voxel_path = find_partner(header_path, ".img");
    if (!voxel_path || access(voxel_path, F_OK) != 0)
      st = pla_fail(err, PLA_ERR_IO,
                    "%s is the header of a pair, and its voxels%s%s are missing; copy both files",
                    header_path, voxel_path ? " in " : "", voxel_path ? voxel_path : "");
    else
      st = pla_stream_open(voxel_path, &stream, err);
  }
  /* the frame first: a file without one is refused before its voxels cost anything */
  if (st == PLA_OK)
    st = pla_volume_new_take(header.dims, header.dtype, NULL, &out->volume, err);
  if (st == PLA_OK)
    st = pla_nifti_frame_read(header_path, &header, opts->unit_mm > 0.0 ? opts->unit_mm : 1.0,
                              out->volume, &out->notes, err);
  if (st == PLA_OK)
    st = read_body(voxel_path ? voxel_path : header_path, &header, stream, at, opts->progress, out,
                   err);
  if (st == PLA_OK) {
    read_remarks(&header, opts->keep_identity, out);
    pla_label_sidecar_read(path, &out->labels, &out->notes);
  }
  if (st != PLA_OK)
    pla_item_clear(out);
  pla_stream_close(stream);
  free(header_path);
  free(voxel_path);
  return st;
}

static bool
probe_nifti(const char *path, const uint8_t *head, size_t n_head)
{
  uint8_t raw[PLA_NIFTI_SIZE_1];
  size_t got = 0;
  PlaStream *stream = NULL;
  const char *ending = find_ending(path);

  /* the voxel file of a pair is known by its header */
  char *header_path = ending_is(ending, ".img") ? find_partner(path, ".hdr") : NULL;
  bool packed = n_head > 2 && head[0] == 0x1f && head[1] == 0x8b;
  if (header_path || packed) {
    if (pla_stream_open(header_path ? header_path : path, &stream, NULL) == PLA_OK)
      (void)pla_stream_read(stream, raw, sizeof raw, &got, NULL);
    head = raw;
    n_head = got;
  }
  bool found = pla_nifti_header_probe(head, n_head);
  pla_stream_close(stream);
  free(header_path);
  return found;
}

/* ---- writing ---- */

/* where bytes go: a file, compressed or not */
typedef struct {
  PlaOutput *output;
  PlaGzip *gzip; /* NULL for a plain file */
} Sink;

static PlaStatus
sink_open(Sink *self, const char *path, bool gz, PlaError *err)
{
  PlaStatus st =
      path ? pla_output_open(path, &self->output, err) : pla_fail_memory(err, "a file name");
  if (st == PLA_OK && gz)
    st = pla_gzip_new(pla_output_get_file(self->output), &self->gzip, err);
  return st;
}

static void
sink_write(Sink *self, const void *data, size_t size)
{
  if (self->gzip)
    pla_gzip_write(self->gzip, data, size);
  else
    fwrite(data, 1, size, pla_output_get_file(self->output)); /* commit looks at ferror() */
}

static PlaStatus
write_voxels(Sink *sink, const PlaVolume *vol, bool swap, PlaProgress *progress, PlaError *err)
{
  size_t n_bytes = pla_volume_n_bytes(vol), element = pla_dtype_size(vol->dtype);
  uint8_t *scratch = swap ? pla_array_new(PIECE, 1) : NULL;
  PlaStatus st = swap && !scratch ? pla_fail_memory(err, "the voxels") : PLA_OK;
  for (size_t at = 0; st == PLA_OK && at < n_bytes; at += PIECE) {
    size_t n = n_bytes - at < PIECE ? n_bytes - at : PIECE;
    const uint8_t *piece = (const uint8_t *)vol->voxels + at;
    if (swap) {
      memcpy(scratch, piece, n);
      pla_dtype_swap_bytes(vol->dtype, scratch, n / element);
      piece = scratch;
    }
    sink_write(sink, piece, n);
    if (ferror(pla_output_get_file(sink->output)))
      break; /* a full disk: commit has the sentence */
    if (!pla_progress_step(progress, (double)(at + n) / (double)n_bytes))
      st = pla_fail_cancelled(err);
  }
  free(scratch);
  return st;
}

static PlaStatus
write_nifti(const char *path, const PlaItem *item, const PlaWriteOptions *opts, PlaError *err)
{
  const PlaVolume *vol = item->volume;
  const char *ending = find_ending(path);
  bool pair = ending && !ending_is(ending, ".nii");
  bool gz = ending && strlen(ending) > 4;
  bool swap = opts->big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
  int version = 0;
  PlaStatus st = pla_nifti_choose_version(path, vol, opts, &version, err);
  if (st != PLA_OK)
    return st;

  uint8_t raw[PLA_NIFTI_SIZE_2 + 4];
  size_t n_raw = pla_nifti_header_make(item, version, pair, swap, raw);
  Sink sink[2] = { 0 };
  char *header_path = pair ? partner_path(path, ending, ".hdr", gz) : pla_strdup(path);
  char *voxel_path = pair ? partner_path(path, ending, ".img", gz) : NULL;
  Sink *voxels = pair ? &sink[1] : &sink[0];
  st = sink_open(&sink[0], header_path, gz, err);
  if (st == PLA_OK && pair)
    st = sink_open(voxels, voxel_path, gz, err);
  if (st == PLA_OK) {
    sink_write(&sink[0], raw, n_raw);
    st = write_voxels(voxels, vol, swap, opts->progress, err);
  }

  PlaOutput *outputs[2] = { sink[0].output, sink[1].output };
  for (int s = 0; s < 2; s++) {
    if (st == PLA_OK && sink[s].gzip)
      pla_gzip_finish(sink[s].gzip);
    else
      pla_gzip_free(sink[s].gzip);
    if (st != PLA_OK)
      pla_output_discard(outputs[s]);
  }
  if (st == PLA_OK)
    st = pla_output_commit(outputs, pair ? 2 : 1, err);
  free(header_path);
  free(voxel_path);
  return st;
}

static const char *const extensions[] = { ".nii.gz", ".nii",    ".hdr", ".img",
                                          ".hdr.gz", ".img.gz", NULL };

const PlaFormat pla_format_nifti = {
  .id = "nifti",
  .title = "NIfTI volume",
  .extensions = extensions,
  .kind = PLA_KIND_VOLUME,
  .probe = probe_nifti,
  .read = read_nifti,
  .write = write_nifti,
};
