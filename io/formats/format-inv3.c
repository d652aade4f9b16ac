/* InVesalius 3 projects: a tar, mostly gzip-compressed, with property lists and raw arrays.
 *
 * main.plist names the image file, its type, its shape (z, y, x), the voxel spacing (x, y, z; mm)
 * and a property list for each mask.  Nothing is ever written to disk: the tar is walked as a
 * stream, members are known by the last part of their name, and what is not needed is skipped.
 *
 * Axes.  A project made from DICOM slices holds no affine.  InVesalius stacks axial slices from the
 * feet upwards and turns the rows of each slice over, so that, with DICOM's columns running to the
 * patient's left, voxel (i, j, k) lies
 *
 *   i: towards the left    j: towards the front    k: upwards        ("LAS")
 *
 * and Platysma puts the origin into the middle of the volume.  A project made from NIfTI holds the
 * matrix M that takes world millimetres to (sx i, sy (ny - 1 - j), sz k); its inverse is used then.
 *
 * Masks are one larger along each axis: their first slice, row and column hold flags of the
 * program.  A voxel above 127 is inside, as for InVesalius' own surfaces. */
#include "io/formats/format-inv3.h"

#include "anatomy/base/memory.h"
#include "io/formats/formats.h"
#include "io/formats/plist.h"
#include "io/stream/source.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>

enum {
  BLOCK = 512,          /* of a tar, bytes */
  PIECE = 1 << 20,      /* read between two looks at cancel, bytes */
  MAX_PLIST = 4 << 20,  /* bytes of one property list */
  MAX_MEMBERS = 100000, /* files in the tar */
  MAX_MASKS = 255,
  MASK_INSIDE = 128, /* smallest mask value inside */
};

/* ---- the tar ---- */

typedef struct {
  gzFile gz;
  const char *path;   /* borrowed */
  uint64_t file_size; /* as stored, bytes */
  uint64_t at;        /* in the inflated stream, bytes */
  bool compressed;
  PlaProgress *progress;
} Archive;

typedef struct {
  char name[256]; /* last part of its path */
  uint64_t size;
  uint64_t left; /* bytes not yet read */
  bool is_file;
} Member;

static PlaStatus
archive_open(Archive *self, const char *path, PlaProgress *progress, PlaError *err)
{
  *self = (Archive){ .path = path, .progress = progress };
  PlaStatus st = pla_source_size(path, &self->file_size, err);
  if (st != PLA_OK)
    return st;
  self->gz = gzopen(path, "rbe");
  if (!self->gz)
    return pla_fail(err, PLA_ERR_IO, "%s cannot be opened; check its permissions", path);
  gzbuffer(self->gz, 1 << 18);
  self->compressed = !gzdirect(self->gz);
  return PLA_OK;
}

static void
archive_close(Archive *self)
{
  if (self->gz)
    gzclose_r(self->gz);
  self->gz = NULL;
}

/* reads exactly @size bytes, or skips them when @out is NULL */
static PlaStatus
archive_read(Archive *self, void *out, uint64_t size, PlaError *err)
{
  uint8_t scratch[16384];
  for (uint64_t done = 0; done < size;) {
    uint64_t room = out ? PIECE : sizeof scratch;
    unsigned want = (unsigned)(size - done < room ? size - done : room);
    int n = gzread(self->gz, out ? (uint8_t *)out + done : scratch, want);
    if (n > 0) {
      done += (unsigned)n;
      self->at += (unsigned)n;
    }
    if (n < (int)want) {
      int code = Z_OK;
      gzerror(self->gz, &code);
      return pla_fail(err, PLA_ERR_FORMAT,
                      "%s: the data %s after %llu inflated bytes; copy the file again", self->path,
                      code == Z_DATA_ERROR ? "are damaged" : "end early",
                      (unsigned long long)self->at);
    }
    if (!pla_progress_step(self->progress,
                           (double)gzoffset(self->gz) / ((double)self->file_size + 1.0)))
      return pla_fail_cancelled(err);
  }
  return PLA_OK;
}

/* an octal number, or a big-endian one marked by the top bit; false for neither */
static bool
tar_number(const uint8_t *field, size_t n, uint64_t *out)
{
  uint64_t value = 0;
  if (field[0] & 0x80) {
    for (size_t i = 0; i < n; i++) {
      if (value >> 55)
        return false;
      value = value << 8 | (i ? field[i] : field[i] & 0x7f);
    }
    *out = value;
    return true;
  }
  size_t i = 0;
  while (i < n && field[i] == ' ')
    i++;
  for (; i < n && field[i] >= '0' && field[i] <= '7'; i++)
    value = value << 3 | (uint64_t)(field[i] - '0');
  *out = value;
  return i == n || field[i] == ' ' || field[i] == '\0';
}

/* sum of the header's bytes with its own field taken as blanks */
static bool
tar_header_is_whole(const uint8_t *header)
{
  uint64_t stated, sum = 0;
  for (int i = 0; i < BLOCK; i++)
    sum += i >= 148 && i < 156 ? ' ' : header[i];
  return tar_number(header + 148, 8, &stated) && stated == sum;
}

/* the last part of the name field */
static void
tar_name(const uint8_t *header, char name[256])
{
  char full[101];
  memcpy(full, header, 100);
  full[100] = '\0';
  const char *slash = strrchr(full, '/');
  snprintf(name, 256, "%s", slash ? slash + 1 : full);
}

/* Goes to the next member, past what is left of @member; *end at the closing block. */
static PlaStatus
archive_next(Archive *self, Member *member, bool *end, PlaError *err)
{
  uint8_t header[BLOCK];
  *end = false;
  PlaStatus st = archive_read(self, NULL, member->left, err);
  if (st == PLA_OK) /* members are filled up to whole blocks */
    st = archive_read(self, NULL, (BLOCK - self->at % BLOCK) % BLOCK, err);
  uint64_t start = self->at;
  if (st == PLA_OK)
    st = archive_read(self, header, BLOCK, err);
  if (st != PLA_OK)
    return st;
  *member = (Member){ 0 };
  bool blank = true;
  for (int i = 0; i < BLOCK && blank; i++)
    blank = header[i] == 0;
  if (blank) {
    *end = true;
    return PLA_OK;
  }
  if (!tar_header_is_whole(header) || !tar_number(header + 124, 12, &member->size))
    return pla_fail(err, PLA_ERR_FORMAT,
                    "%s: the tar header at inflated byte %llu is damaged; copy the file again",
                    self->path, (unsigned long long)start);
  uint64_t most = self->compressed ? self->file_size * PLA_MAX_INFLATE : self->file_size;
  tar_name(header, member->name);
  if (member->size > most)
    return pla_fail(err, PLA_ERR_FORMAT,
                    "%s: %s cannot have %llu bytes in a file of %llu; copy the file again",
                    self->path, member->name, (unsigned long long)member->size,
                    (unsigned long long)self->file_size);
  member->left = member->size;
  member->is_file = header[156] == '0' || header[156] == '\0';
  return PLA_OK;
}

/* the rest of @member; memory grows as bytes arrive */
static PlaStatus
member_read(Archive *self, Member *member, PlaBytes *out, PlaError *err)
{
  PlaStatus st = PLA_OK;
  while (member->left > 0 && st == PLA_OK) {
    size_t n = member->left < PIECE ? (size_t)member->left : PIECE;
    if (out->capacity - out->size < n) {
      size_t want = out->capacity + out->capacity / 2 + PIECE;
      size_t need = out->size + (size_t)member->left;
      if (!pla_bytes_reserve(out, want < need ? want : need))
        return pla_fail_memory(err, self->path);
    }
    st = archive_read(self, out->data + out->size, n, err);
    if (st == PLA_OK) {
      out->size += n;
      member->left -= n;
    }
  }
  return st;
}

/* ---- the project ---- */

typedef struct {
  int index;
  char *name;
  uint8_t rgba[4];
  char *file;
  int shape[3];    /* z, y, x; one more than the image's */
  uint64_t voxels; /* inside */
} Mask;

typedef struct {
  char *matrix_file, *title; /* the title often is the patient's name */
  PlaDType dtype;
  int shape[3];         /* z, y, x */
  double spacing_mm[3]; /* x, y, z */
  int orientation;      /* 1 axial, 2 coronal, 3 sagittal slices; 0 not stated */
  bool has_affine;
  double affine_mm[12]; /* voxel index to RAS */
  PlaBytes matrix;      /* when it was met after main.plist */
  int n_masks;
  Mask *mask;
} Project;

static void
project_clear(Project *self)
{
  for (int m = 0; m < self->n_masks; m++) {
    free(self->mask[m].name);
    free(self->mask[m].file);
  }
  free(self->mask);
  free(self->matrix_file);
  free(self->title);
  pla_bytes_clear(&self->matrix);
  *self = (Project){ 0 };
}

/* @n whole numbers at "@path/0", "@path/1", ... in [@least, @most] */
static bool
plist_ints(const PlaPlist *list, const char *path, int n, int least, int most, int *out)
{
  for (int i = 0; i < n; i++) {
    char at[64];
    snprintf(at, sizeof at, "%s/%d", path, i);
    if (!pla_plist_int(list, at, &out[i]) || out[i] < least || out[i] > most)
      return false;
  }
  return true;
}

static bool
plist_doubles(const PlaPlist *list, const char *path, int n, double *out)
{
  for (int i = 0; i < n; i++) {
    char at[64];
    snprintf(at, sizeof at, "%s/%d", path, i);
    if (!pla_plist_double(list, at, &out[i]))
      return false;
  }
  return true;
}

/* world millimetres to flipped voxel millimetres, as InVesalius keeps it for NIfTI images; an
 * identity says nothing */
static bool
read_affine(const PlaPlist *list, const Project *self, double affine_mm[12])
{
  double to_voxel[12], to_world[12];
  bool identity = true;
  for (int r = 0; r < 3; r++) {
    char at[32];
    snprintf(at, sizeof at, "affine/%d", r);
    if (!plist_doubles(list, at, 4, to_voxel + 4 * r))
      return false;
    for (int c = 0; c < 4; c++)
      identity &= to_voxel[4 * r + c] == (r == c ? 1.0 : 0.0);
  }
  if (identity || !pla_affine_invert(to_voxel, to_world))
    return false;
  const double *s = self->spacing_mm;
  for (int r = 0; r < 3; r++) {
    const double *w = to_world + 4 * r;
    affine_mm[4 * r + 0] = w[0] * s[0];
    affine_mm[4 * r + 1] = -w[1] * s[1];
    affine_mm[4 * r + 2] = w[2] * s[2];
    affine_mm[4 * r + 3] = w[3] + w[1] * s[1] * (self->shape[1] - 1);
  }
  return true;
}

/* left, front, up, and the middle of the volume at the origin */
static void
assume_affine(const Project *self, double affine_mm[12])
{
  const double sign[3] = { -1.0, 1.0, 1.0 };
  memset(affine_mm, 0, 12 * sizeof *affine_mm);
  for (int d = 0; d < 3; d++) {
    double step = sign[d] * self->spacing_mm[d];
    affine_mm[4 * d + d] = step;
    affine_mm[4 * d + 3] = -step * 0.5 * (self->shape[2 - d] - 1);
  }
}

static PlaStatus
read_main(Project *self, const char *path, const PlaPlist *list, PlaError *err)
{
  const char *dtype = pla_plist_text(list, "matrix/dtype");
  const char *file = pla_plist_text(list, "matrix/filename");
  int version = 0;
  pla_plist_int(list, "format_version", &version);
  if (!file || !dtype)
    return pla_fail(err, PLA_ERR_UNSUPPORTED,
                    "%s: main.plist names no image matrix; open the project with InVesalius 3.0 or "
                    "later and save it again",
                    path);
  if (version > 1)
    return pla_fail(err, PLA_ERR_UNSUPPORTED,
                    "%s is of format version %d and only version 1 is known; export the image as "
                    "NIfTI from InVesalius",
                    path, version);
  if (!pla_dtype_from_name(dtype, &self->dtype))
    return pla_fail(err, PLA_ERR_UNSUPPORTED, "%s: the image has the unknown type %.40s", path,
                    dtype);
  if (!plist_ints(list, "matrix/shape", 3, 1, 65535, self->shape) ||
      !plist_doubles(list, "spacing", 3, self->spacing_mm))
    return pla_fail(err, PLA_ERR_FORMAT,
                    "%s: main.plist states no possible shape or spacing; save the project again",
                    path);
  for (int d = 0; d < 3; d++)
    if (!(self->spacing_mm[d] > 1e-6 && self->spacing_mm[d] < 1e4))
      return pla_fail(err, PLA_ERR_FORMAT,
                      "%s: main.plist states a spacing of %g mm; save the project "
                      "again",
                      path, self->spacing_mm[d]);
  pla_plist_int(list, "orientation", &self->orientation);
  self->has_affine = read_affine(list, self, self->affine_mm);
  if (!self->has_affine)
    assume_affine(self, self->affine_mm);
  const char *title = pla_plist_text(list, "name");
  self->matrix_file = pla_strdup(file);
  self->title = pla_strdup(title ? title : "");
  return self->matrix_file && self->title ? PLA_OK : pla_fail_memory(err, path);
}

/* one mask's list; anything else with such an ending is left alone */
static PlaStatus
read_mask(Project *self, const char *path, const char *name, const PlaPlist *list, PlaError *err)
{
  const char *file = pla_plist_text(list, "mask_file");
  if (!file)
    return PLA_OK;
  if (self->n_masks >= MAX_MASKS)
    return pla_fail(err, PLA_ERR_UNSUPPORTED,
                    "%s has more than %d masks; delete some in InVesalius", path, MAX_MASKS);
  Mask mask = { 0 };
  if (!plist_ints(list, "mask_shape", 3, 2, 65536, mask.shape) ||
      !pla_plist_int(list, "index", &mask.index) || mask.index < 0 || mask.index >= 65535)
    return pla_fail(err, PLA_ERR_FORMAT,
                    "%s: %s states no possible shape or index; save the project again", path, name);
  double colour[3];
  if (!plist_doubles(list, "colour", 3, colour))
    colour[0] = colour[1] = colour[2] = 0.5;
  for (int c = 0; c < 3; c++)
    mask.rgba[c] = (uint8_t)lround(255.0 * fmin(1.0, fmax(0.0, colour[c])));
  mask.rgba[3] = 255;
  const char *title = pla_plist_text(list, "name");
  mask.name = title && title[0] ? pla_strdup(title) : pla_strdup_printf("mask %d", mask.index);
  mask.file = pla_strdup(file);
  void *grown = self->mask;
  if (!mask.name || !mask.file ||
      !pla_array_resize(&grown, (size_t)self->n_masks + 1, sizeof *self->mask)) {
    free(mask.name);
    free(mask.file);
    return pla_fail_memory(err, path);
  }
  self->mask = grown;
  self->mask[self->n_masks++] = mask;
  return PLA_OK;
}

/* Reads the property list in @member into the project. */
static PlaStatus
read_list(Project *self, Archive *archive, Member *member, PlaError *err)
{
  bool is_main = strcmp(member->name, "main.plist") == 0;
  bool is_mask = strncmp(member->name, "mask_", 5) == 0;
  if (!is_main && !is_mask)
    return PLA_OK;
  if (member->size > MAX_PLIST)
    return pla_fail(err, PLA_ERR_FORMAT,
                    "%s: %s is too large for a property list; copy the file again", archive->path,
                    member->name);
  if (is_main && self->matrix_file)
    return pla_fail(err, PLA_ERR_FORMAT, "%s holds two projects; save them one by one",
                    archive->path);
  PlaBytes text = { 0 };
  PlaPlist list = { 0 };
  char where[512];
  snprintf(where, sizeof where, "%.240s: %s", archive->path, member->name);
  PlaStatus st = member_read(archive, member, &text, err);
  if (st == PLA_OK)
    st = pla_plist_parse(where, text.data, text.size, &list, err);
  if (st == PLA_OK)
    st = is_main ? read_main(self, archive->path, &list, err)
                 : read_mask(self, archive->path, member->name, &list, err);
  pla_plist_clear(&list);
  pla_bytes_clear(&text);
  return st;
}

/* bytes of the image; the shape is small enough not to overflow */
static uint64_t
matrix_bytes(const Project *self)
{
  return (uint64_t)self->shape[0] * (uint64_t)self->shape[1] * (uint64_t)self->shape[2] *
         pla_dtype_size(self->dtype);
}

static PlaStatus
read_matrix(Project *self, Archive *archive, Member *member, PlaError *err)
{
  if (member->size != matrix_bytes(self))
    return pla_fail(
        err, PLA_ERR_FORMAT,
        "%s: the image of %d x %d x %d voxels (%s) needs %llu bytes but %s has %llu; copy "
        "the file again",
        archive->path, self->shape[2], self->shape[1], self->shape[0], pla_dtype_name(self->dtype),
        (unsigned long long)matrix_bytes(self), member->name, (unsigned long long)member->size);
  return member_read(archive, member, &self->matrix, err);
}

/* Called for each file of the tar; leaves what it does not want. */
typedef PlaStatus (*MemberFunc)(Project *project, Archive *archive, Member *member, void *data,
                                PlaError *err);

static PlaStatus
walk(Project *project, const char *path, PlaProgress *progress, MemberFunc func, void *data,
     PlaError *err)
{
  Archive archive;
  Member member = { 0 };
  PlaStatus st = archive_open(&archive, path, progress, err);
  bool end = false;
  for (int n = 0; st == PLA_OK && !end; n++) {
    if (n >= MAX_MEMBERS) {
      st =
          pla_fail(err, PLA_ERR_UNSUPPORTED, "%s has more than %d files inside", path, MAX_MEMBERS);
      break;
    }
    st = archive_next(&archive, &member, &end, err);
    if (st == PLA_OK && !end && member.is_file)
      st = func(project, &archive, &member, data, err);
  }
  archive_close(&archive);
  return st;
}

static bool
ends_with(const char *text, const char *end)
{
  size_t n = strlen(text), m = strlen(end);
  return n >= m && strcmp(text + n - m, end) == 0;
}

/* property lists, and the image where its description came before it and @data asks for it */
static PlaStatus
collect_lists(Project *project, Archive *archive, Member *member, void *data, PlaError *err)
{
  const bool *want_matrix = data;
  if (ends_with(member->name, ".plist"))
    return read_list(project, archive, member, err);
  if (*want_matrix && project->matrix_file && strcmp(member->name, project->matrix_file) == 0 &&
      project->matrix.size == 0)
    return read_matrix(project, archive, member, err);
  return PLA_OK;
}

static PlaStatus
collect_matrix(Project *project, Archive *archive, Member *member, void *data, PlaError *err)
{
  if (strcmp(member->name, project->matrix_file) == 0 && project->matrix.size == 0)
    return read_matrix(project, archive, member, err);
  return PLA_OK;
}

static int
compare_masks(const void *a, const void *b)
{
  const Mask *x = a, *y = b;
  return x->index != y->index ? (x->index < y->index ? -1 : 1) : strcmp(x->file, y->file);
}

/* the lists of a project, masks in order; the image too where it costs no second pass */
static PlaStatus
project_open(Project *self, const char *path, bool want_matrix, PlaProgress *progress,
             PlaError *err)
{
  *self = (Project){ 0 };
  PlaStatus st = walk(self, path, progress, collect_lists, &want_matrix, err);
  if (st == PLA_OK && !self->matrix_file)
    st = pla_fail(
        err, PLA_ERR_FORMAT,
        "%s holds no main.plist; open the project with InVesalius 3.0 or later and save it "
        "again",
        path);
  if (st == PLA_OK && self->n_masks > 0)
    qsort(self->mask, (size_t)self->n_masks, sizeof *self->mask, compare_masks);
  for (int m = 1; m < self->n_masks && st == PLA_OK; m++)
    if (self->mask[m].index == self->mask[m - 1].index)
      st = pla_fail(err, PLA_ERR_FORMAT, "%s: two masks have the number %d; save the project again",
                    path, self->mask[m].index);
  for (int m = 0; m < self->n_masks && st == PLA_OK; m++)
    for (int d = 0; d < 3; d++)
      if (st == PLA_OK && self->mask[m].shape[d] != self->shape[d] + 1)
        st = pla_fail(
            err, PLA_ERR_FORMAT,
            "%s: mask %d is %d x %d x %d voxels large, which does not fit the image; save the "
            "project again",
            path, self->mask[m].index, self->mask[m].shape[2], self->mask[m].shape[1],
            self->mask[m].shape[0]);
  if (st != PLA_OK)
    project_clear(self);
  return st;
}

static void
add_frame_notes(const Project *self, PlaNotes *notes)
{
  if (self->has_affine) {
    pla_notes_add(notes,
                  "the position in the patient is that of the image the project was made from");
    return;
  }
  pla_notes_add(
      notes, "the project states no patient axes: taken as InVesalius stacks axial slices, first "
             "axis to the patient's left, second to the front, third upwards, with the origin in "
             "the middle; check the side against the original scan");
  if (self->orientation > 1)
    pla_notes_add(
        notes,
        "the project was made from %s slices, for which InVesalius does not keep the order "
        "of the axes for certain; front, left and right may be exchanged",
        self->orientation == 2 ? "coronal" : "sagittal");
}

static void
set_frame(const Project *self, PlaVolume *vol)
{
  memcpy(vol->affine_mm, self->affine_mm, sizeof vol->affine_mm);
  vol->audit.source = self->has_affine ? PLA_FRAME_MADE : PLA_FRAME_NONE;
  pla_volume_audit_frame(vol);
}

static PlaStatus
read_inv3(const char *path, const PlaReadOptions *opts, PlaItem *out, PlaError *err)
{
  Project project;
  PlaVolume *vol = NULL;
  *out = (PlaItem){ 0 };
  if (!pla_progress_phase(opts->progress, "Reading the project", 0.7))
    return pla_fail_cancelled(err);
  PlaStatus st = project_open(&project, path, true, opts->progress, err);
  if (st != PLA_OK)
    return st;
  if (!pla_progress_phase(opts->progress, "Reading the image", 1.0))
    st = pla_fail_cancelled(err);
  if (st == PLA_OK && project.matrix.size == 0) /* its description came after it */
    st = walk(&project, path, opts->progress, collect_matrix, NULL, err);
  if (st == PLA_OK && project.matrix.size == 0)
    st = pla_fail(err, PLA_ERR_FORMAT, "%s lacks the image %.80s; copy the file again", path,
                  project.matrix_file);
  for (int m = 0; m < project.n_masks && st == PLA_OK; m++)
    st = pla_label_table_set(&out->labels, project.mask[m].index + 1, project.mask[m].name,
                             project.mask[m].rgba, err);
  if (st == PLA_OK)
    st = pla_volume_new((const int[4]){ 1, 1, 1, 1 }, project.dtype, &vol, err);
  if (st == PLA_OK) {
    /* the bytes become the voxels; they are little-endian as every machine InVesalius runs on */
    free(vol->voxels);
    vol->voxels = project.matrix.data;
    for (int d = 0; d < 3; d++)
      vol->dims[d] = project.shape[2 - d];
    pla_array_resize(&vol->voxels, project.matrix.size, 1); /* gives spare capacity back */
    project.matrix = (PlaBytes){ 0 };
    set_frame(&project, vol);
    vol->description = opts->keep_identity && project.title[0]
                           ? pla_strdup_printf("InVesalius project (%.200s)", project.title)
                           : pla_strdup("InVesalius project");
    add_frame_notes(&project, &out->notes);
    if (project.n_masks)
      pla_notes_add(&out->notes, "%d mask%s beside the image; the labels name %s", project.n_masks,
                    project.n_masks == 1 ? " lies" : "s lie", project.n_masks == 1 ? "it" : "them");
    out->kind = PLA_KIND_VOLUME;
    out->volume = vol;
  }
  project_clear(&project);
  if (st != PLA_OK)
    pla_item_clear(out);
  return st;
}

/* ---- masks ---- */

typedef struct {
  uint16_t *label; /* NULL while counting */
  int *slot;       /* label id -> index into mask, for painting */
  uint64_t n_overlap;
  int n_seen;
} Painter;

/* walks one mask, row by row, past the flags: counts or paints */
static PlaStatus
read_mask_voxels(Project *project, Archive *archive, Member *member, Mask *mask, Painter *painter,
                 PlaError *err)
{
  const size_t nx = (size_t)project->shape[2], ny = (size_t)project->shape[1];
  const size_t row_bytes = nx + 1;
  uint64_t bytes = (uint64_t)mask->shape[0] * (uint64_t)mask->shape[1] * row_bytes;
  if (member->size != bytes)
    return pla_fail(err, PLA_ERR_FORMAT,
                    "%s: mask %d needs %llu bytes but %s has %llu; copy the file "
                    "again",
                    archive->path, mask->index, (unsigned long long)bytes, member->name,
                    (unsigned long long)member->size);
  uint8_t *slice = pla_array_new(row_bytes, ny + 1);
  PlaStatus st = slice ? PLA_OK : pla_fail_memory(err, archive->path);
  int id = mask->index + 1;
  for (int k = -1; k < project->shape[0] && st == PLA_OK; k++) {
    st = archive_read(archive, slice, row_bytes * (ny + 1), err);
    if (st == PLA_OK)
      member->left -= row_bytes * (ny + 1);
    if (st != PLA_OK || k < 0) /* the first slice holds flags, as do first row and column */
      continue;
    for (size_t j = 0; j < ny; j++) {
      const uint8_t *row = slice + (j + 1) * row_bytes + 1;
      for (size_t i = 0; i < nx; i++) {
        if (row[i] < MASK_INSIDE)
          continue;
        if (!painter->label) {
          mask->voxels++;
          continue;
        }
        uint16_t *label = &painter->label[i + nx * (j + ny * (size_t)k)];
        const Mask *other = *label ? &project->mask[painter->slot[*label]] : NULL;
        painter->n_overlap += other != NULL;
        if (!other || mask->voxels < other->voxels ||
            (mask->voxels == other->voxels && mask->index < other->index))
          *label = (uint16_t)id;
      }
    }
  }
  free(slice);
  return st;
}

static PlaStatus
visit_masks(Project *project, Archive *archive, Member *member, void *data, PlaError *err)
{
  Painter *painter = data;
  for (int m = 0; m < project->n_masks; m++)
    if (strcmp(member->name, project->mask[m].file) == 0 && member->left == member->size) {
      painter->n_seen++;
      return read_mask_voxels(project, archive, member, &project->mask[m], painter, err);
    }
  return PLA_OK;
}

PlaStatus
pla_inv3_read_masks(const char *path, PlaProgress *progress, PlaLabelMap **out, PlaNotes *notes,
                    PlaError *err)
{
  Project project;
  Painter painter = { 0 };
  PlaLabelTable table = { 0 };
  PlaVolume *vol = NULL;
  *out = NULL;
  if (!pla_progress_phase(progress, "Reading the project", 0.3))
    return pla_fail_cancelled(err);
  PlaStatus st = project_open(&project, path, false, progress, err);
  if (st != PLA_OK)
    return st;
  if (project.n_masks == 0)
    st = pla_fail(err, PLA_ERR_EMPTY, "%s holds no masks", path);

  /* sizes first, so that overlaps can go to the smaller mask */
  if (st == PLA_OK && !pla_progress_phase(progress, "Counting mask voxels", 0.6))
    st = pla_fail_cancelled(err);
  if (st == PLA_OK)
    st = walk(&project, path, progress, visit_masks, &painter, err);
  if (st == PLA_OK && painter.n_seen != project.n_masks)
    st = pla_fail(err, PLA_ERR_FORMAT,
                  "%s holds the voxels of %d of its %d masks; copy the file again", path,
                  painter.n_seen, project.n_masks);
  const int dims[4] = { project.shape[2], project.shape[1], project.shape[0], 1 };
  if (st == PLA_OK)
    st = pla_volume_new(dims, PLA_U16, &vol, err);
  painter.slot = st == PLA_OK ? pla_array_new0(65536, sizeof *painter.slot) : NULL;
  if (st == PLA_OK && !painter.slot)
    st = pla_fail_memory(err, path);
  for (int m = 0; m < project.n_masks && st == PLA_OK; m++) {
    painter.slot[project.mask[m].index + 1] = m;
    st = pla_label_table_set(&table, project.mask[m].index + 1, project.mask[m].name,
                             project.mask[m].rgba, err);
  }
  if (st == PLA_OK && !pla_progress_phase(progress, "Reading masks", 1.0))
    st = pla_fail_cancelled(err);
  if (st == PLA_OK) {
    painter.label = vol->voxels;
    st = walk(&project, path, progress, visit_masks, &painter, err);
  }
  if (st == PLA_OK) {
    set_frame(&project, vol);
    st = pla_label_map_take(vol, &table, out, err);
  }
  if (st == PLA_OK) {
    vol = NULL;
    add_frame_notes(&project, notes);
    if (painter.n_overlap)
      pla_notes_add(notes, "masks overlap at %llu voxels; the smaller mask shows there",
                    (unsigned long long)painter.n_overlap);
  }
  pla_volume_free(vol);
  pla_label_table_clear(&table);
  free(painter.slot);
  project_clear(&project);
  return st;
}

/* ---- the format ---- */

/* the first block of the tar, inflated where need be; false when it is none */
static bool
first_block(const uint8_t *head, size_t n_head, uint8_t block[BLOCK])
{
  if (n_head < 18 || head[0] != 0x1f || head[1] != 0x8b) {
    if (n_head < BLOCK)
      return false;
    memcpy(block, head, BLOCK);
    return true;
  }
  z_stream z = { 0 };
  if (inflateInit2(&z, 15 + 16) != Z_OK)
    return false;
  uint8_t *in = pla_array_dup(head, n_head, 1); /* zlib takes no const input */
  z.next_in = in;
  z.avail_in = in ? (uInt)n_head : 0;
  z.next_out = block;
  z.avail_out = BLOCK;
  inflate(&z, Z_SYNC_FLUSH);
  bool full = z.avail_out == 0;
  inflateEnd(&z);
  free(in);
  return full;
}

static bool
probe_inv3(const char *path, const uint8_t *head, size_t n_head)
{
  uint8_t block[BLOCK];
  char name[256];
  size_t n = strlen(path);
  if (!first_block(head, n_head, block) || !tar_header_is_whole(block))
    return false;
  tar_name(block, name);
  return (n > 5 && strcasecmp(path + n - 5, ".inv3") == 0) || strcmp(name, "main.plist") == 0;
}

static const char *const extensions[] = { ".inv3", NULL };

const PlaFormat pla_format_inv3 = {
  .id = "inv3",
  .title = "InVesalius project",
  .extensions = extensions,
  .kind = PLA_KIND_VOLUME,
  .probe = probe_inv3,
  .read = read_inv3,
};
