/* NIfTI headers.
 *
 * The frame (nifti1.h, "methods" 1 to 3): the sform where it is coded, else the qform
 *
 *   x = R(a,b,c,d) diag(pixdim[1], pixdim[2], qfac pixdim[3]) (i,j,k) + qoffset
 *   a = sqrt(1 - b^2 - c^2 - d^2),   qfac = sign of pixdim[0], 0 counting as +
 *
 * else diag(pixdim) alone.  A form that is coded but unusable (singular, or no number) is passed
 * over with a note.  What the file said is kept in PlaFrameAudit, and a volume whose affine is
 * still the one these numbers give is written with exactly these numbers.
 *
 * Deviation: nifticlib takes a = 0 wherever a^2 < 1e-7, which is right for float32 components (the
 * rounding of b, c and d is of that size) and would turn a float64 one by up to 0.04 degrees.  The
 * limit is used here only where b, c and d are float32 values. */
#include "io/formats/nifti-header.h"

#include "anatomy/base/memory.h"
#include "platysma-config.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <string.h>
#include <strings.h>

static const char magic_2_tail[4] = { '\r', '\n', '\032', '\n' };

static const struct {
  int code;
  PlaDType dtype;
} types[] = {
  { NIFTI_TYPE_INT8, PLA_I8 },     { NIFTI_TYPE_UINT8, PLA_U8 },   { NIFTI_TYPE_INT16, PLA_I16 },
  { NIFTI_TYPE_UINT16, PLA_U16 },  { NIFTI_TYPE_INT32, PLA_I32 },  { NIFTI_TYPE_UINT32, PLA_U32 },
  { NIFTI_TYPE_INT64, PLA_I64 },   { NIFTI_TYPE_UINT64, PLA_U64 }, { NIFTI_TYPE_FLOAT32, PLA_F32 },
  { NIFTI_TYPE_FLOAT64, PLA_F64 },
};
enum { N_TYPES = sizeof types / sizeof types[0] };

/* ---- reading ---- */

/* the fields that matter of a NIfTI-1 header, in the wider one */
static void
widen(const nifti_1_header *n, nifti_2_header *w)
{
  memset(w, 0, sizeof *w);
  w->sizeof_hdr = n->sizeof_hdr;
  memcpy(w->magic, n->magic, sizeof n->magic);
  w->datatype = n->datatype;
  w->bitpix = n->bitpix;
  for (int d = 0; d < 8; d++) {
    w->dim[d] = n->dim[d];
    w->pixdim[d] = (double)n->pixdim[d];
  }
  w->scl_slope = (double)n->scl_slope;
  w->scl_inter = (double)n->scl_inter;
  w->qform_code = n->qform_code;
  w->sform_code = n->sform_code;
  w->quatern_b = (double)n->quatern_b;
  w->quatern_c = (double)n->quatern_c;
  w->quatern_d = (double)n->quatern_d;
  w->qoffset_x = (double)n->qoffset_x;
  w->qoffset_y = (double)n->qoffset_y;
  w->qoffset_z = (double)n->qoffset_z;
  for (int c = 0; c < 4; c++) {
    w->srow_x[c] = (double)n->srow_x[c];
    w->srow_y[c] = (double)n->srow_y[c];
    w->srow_z[c] = (double)n->srow_z[c];
  }
  w->xyzt_units = (unsigned char)n->xyzt_units;
  w->intent_code = n->intent_code;
  memcpy(w->descrip, n->descrip, sizeof w->descrip);
  memcpy(w->aux_file, n->aux_file, sizeof w->aux_file);
  memcpy(w->intent_name, n->intent_name, sizeof w->intent_name);
}

static int
clamp_short(int code)
{
  return code < SHRT_MIN ? SHRT_MIN : code > SHRT_MAX ? SHRT_MAX : code;
}

static void
narrow(const nifti_2_header *w, nifti_1_header *n)
{
  memset(n, 0, sizeof *n);
  n->sizeof_hdr = PLA_NIFTI_SIZE_1;
  n->regular = 'r';
  memcpy(n->magic, w->magic, sizeof n->magic);
  n->datatype = w->datatype;
  n->bitpix = w->bitpix;
  for (int d = 0; d < 8; d++) {
    n->dim[d] = (short)w->dim[d];
    n->pixdim[d] = (float)w->pixdim[d];
  }
  n->vox_offset = (float)w->vox_offset;
  n->scl_slope = (float)w->scl_slope;
  n->scl_inter = (float)w->scl_inter;
  n->qform_code = (short)clamp_short(w->qform_code);
  n->sform_code = (short)clamp_short(w->sform_code);
  n->quatern_b = (float)w->quatern_b;
  n->quatern_c = (float)w->quatern_c;
  n->quatern_d = (float)w->quatern_d;
  n->qoffset_x = (float)w->qoffset_x;
  n->qoffset_y = (float)w->qoffset_y;
  n->qoffset_z = (float)w->qoffset_z;
  for (int c = 0; c < 4; c++) {
    n->srow_x[c] = (float)w->srow_x[c];
    n->srow_y[c] = (float)w->srow_y[c];
    n->srow_z[c] = (float)w->srow_z[c];
  }
  n->xyzt_units = (char)w->xyzt_units;
  n->intent_code = (short)w->intent_code;
  memcpy(n->descrip, w->descrip, sizeof n->descrip);
}

/* version and byte order from the first word; false when it is no NIfTI or ANALYZE header */
static bool
read_size_word(const uint8_t *raw, size_t n, int *version, bool *swapped)
{
  uint32_t word;
  if (n < sizeof word)
    return false;
  memcpy(&word, raw, sizeof word);
  *swapped =
      word == __builtin_bswap32(PLA_NIFTI_SIZE_1) || word == __builtin_bswap32(PLA_NIFTI_SIZE_2);
  if (*swapped)
    word = __builtin_bswap32(word);
  *version = word == PLA_NIFTI_SIZE_2 ? 2 : 1;
  return word == PLA_NIFTI_SIZE_1 || word == PLA_NIFTI_SIZE_2;
}

/* whether the magic string of a header of @version says NIfTI; the first byte that differs between
 * the two kinds tells whether the voxels are in a second file */
static bool
read_magic(const char *magic, int version, bool *pair)
{
  *pair = magic[1] == 'i';
  return magic[0] == 'n' && (magic[1] == '+' || magic[1] == 'i') && magic[2] == '0' + version &&
         magic[3] == '\0';
}

size_t
pla_nifti_header_size(const uint8_t *raw, size_t n)
{
  int version;
  bool swapped;
  if (!read_size_word(raw, n, &version, &swapped))
    return 0;
  return version == 1 ? PLA_NIFTI_SIZE_1 : PLA_NIFTI_SIZE_2;
}

bool
pla_nifti_header_probe(const uint8_t *raw, size_t n)
{
  int version;
  bool swapped, pair;
  return n >= PLA_NIFTI_SIZE_1 && read_size_word(raw, n, &version, &swapped) &&
         read_magic((const char *)raw + (version == 1 ? 344 : 4), version, &pair);
}

static PlaStatus
check_type(const char *path, PlaNiftiHeader *self, PlaNotes *notes, PlaError *err)
{
  int code = self->h.datatype, t = 0;
  while (t < N_TYPES && types[t].code != code)
    t++;
  if (t == N_TYPES) {
    const char *name = nifti_datatype_to_string(code); /* such as NIFTI_TYPE_RGB24 */
    const char *last = strrchr(name, '_');
    return last && nifti_datatype_is_valid(code, 1)
               ? pla_fail(err, PLA_ERR_UNSUPPORTED,
                          "%s holds %s voxels (type %d), and Platysma reads integer and 32- or "
                          "64-bit float voxels; convert it to one of those",
                          path, last + 1, code)
               : pla_fail(err, PLA_ERR_FORMAT,
                          "%s: voxel type %d at byte %d does not exist in NIfTI; the header is "
                          "damaged",
                          path, code, self->version == 1 ? 70 : 12);
  }
  self->dtype = types[t].dtype;
  int bits = 8 * (int)pla_dtype_size(self->dtype);
  if (self->h.bitpix != bits)
    pla_notes_add(notes,
                  "The header gives %d bits per voxel where %s has %d; the type was trusted.",
                  self->h.bitpix, pla_dtype_name(self->dtype), bits);
  return PLA_OK;
}

static PlaStatus
check_dims(const char *path, PlaNiftiHeader *self, PlaError *err)
{
  int64_t n_dims = self->h.dim[0];
  int at = self->version == 1 ? 40 : 16; /* where dim[] stands */
  int width = self->version == 1 ? 2 : 8;
  if (n_dims < 1 || n_dims > 7)
    return pla_fail(err, PLA_ERR_FORMAT,
                    "%s: the header claims %" PRId64
                    " dimensions at byte %d, and NIfTI has 1 to 7; "
                    "the header is damaged",
                    path, n_dims, at);
  if (n_dims == 1)
    return pla_fail(err, PLA_ERR_UNSUPPORTED, "%s holds one row of numbers, which is no volume",
                    path);
  for (int d = 0; d < 4; d++)
    self->dims[d] = 1;
  for (int d = 1; d <= n_dims; d++) {
    int64_t n = self->h.dim[d];
    if (n == 0 && d > 3)
      n = 1; /* written by some programs for "no such axis" */
    if (n < 1 || n > INT_MAX)
      return pla_fail(err, PLA_ERR_FORMAT,
                      "%s: the header gives axis %d a length of %" PRId64 " at byte %d; the header "
                      "is damaged",
                      path, d, n, at + d * width);
    if (d > 4 && n > 1)
      return pla_fail(err, PLA_ERR_UNSUPPORTED,
                      "%s has %" PRId64 " values along axis %d, and Platysma reads volumes and "
                      "series of volumes (axes 1 to 4); extract one component",
                      path, n, d);
    if (d <= 4)
      self->dims[d - 1] = (int)n;
  }
  return PLA_OK;
}

/* where the voxels begin must be a whole number behind the header */
static PlaStatus
check_offset(const char *path, PlaNiftiHeader *self, double offset, PlaNotes *notes, PlaError *err)
{
  int least = self->version == 1 ? PLA_NIFTI_SIZE_1 : PLA_NIFTI_SIZE_2;
  if (!self->pair && offset == 0.0) {
    offset = least + 4;
    pla_notes_add(notes, "The header does not say where the voxels begin; byte %d was assumed.",
                  least + 4);
  }
  if (!(offset >= (self->pair ? 0 : least) && offset < 9e15) || offset != floor(offset))
    return pla_fail(err, PLA_ERR_FORMAT,
                    "%s: the header puts the voxels at byte %g (said at byte %d), which cannot be; "
                    "the header is damaged",
                    path, offset, self->version == 1 ? 108 : 168);
  self->h.vox_offset = (int64_t)offset;
  self->extended = !self->pair && self->h.vox_offset > least + 4;
  return PLA_OK;
}

PlaStatus
pla_nifti_header_parse(const char *path, const uint8_t *raw, size_t n, PlaNiftiHeader *self,
                       PlaNotes *notes, PlaError *err)
{
  double offset;
  *self = (PlaNiftiHeader){ 0 };
  if (!read_size_word(raw, n, &self->version, &self->swapped))
    return pla_fail(err, PLA_ERR_FORMAT,
                    "%s is no NIfTI file: it does not begin with a header size of 348 or 540",
                    path);
  size_t need = self->version == 1 ? PLA_NIFTI_SIZE_1 : PLA_NIFTI_SIZE_2;
  if (n < need)
    return pla_fail(err, PLA_ERR_FORMAT,
                    "%s ends after %zu bytes, within its header of %zu; copy the file again", path,
                    n, need);
  if (self->version == 1) {
    nifti_1_header n1;
    memcpy(&n1, raw, PLA_NIFTI_SIZE_1);
    if (self->swapped)
      nifti_swap_as_nifti1(&n1);
    widen(&n1, &self->h);
    offset = (double)n1.vox_offset;
  } else {
    memcpy(&self->h, raw, PLA_NIFTI_SIZE_2);
    if (self->swapped)
      nifti_swap_as_nifti2(&self->h);
    /* beyond 2^53 the file size will object */
    offset = (double)self->h.vox_offset;
  }

  if (!read_magic(self->h.magic, self->version, &self->pair)) {
    if (self->version == 1 && self->h.magic[0] == '\0')
      return pla_fail(err, PLA_ERR_UNSUPPORTED,
                      "%s is an ANALYZE 7.5 header, which does not say which side is left; convert "
                      "it to NIfTI with the program that made it",
                      path);
    return pla_fail(
        err, PLA_ERR_FORMAT,
        "%s: the NIfTI mark at byte %d is missing; the header is damaged, or older than "
        "NIfTI and without an orientation",
        path, self->version == 1 ? 344 : 4);
  }
  if (self->version == 2 && memcmp(self->h.magic + 4, magic_2_tail, 4) != 0)
    return pla_fail(err, PLA_ERR_FORMAT,
                    "%s: line ends in its header were changed (byte 8); copy the file again as "
                    "binary data",
                    path);

  PlaStatus st = check_type(path, self, notes, err);
  if (st == PLA_OK)
    st = check_dims(path, self, err);
  if (st == PLA_OK)
    st = check_offset(path, self, offset, notes, err);
  return st;
}

/* ---- the frame ---- */

/* a length of the file in mm */
static double
to_mm(double length, int xyzt_units, double unit_mm)
{
  switch (XYZT_TO_SPACE(xyzt_units)) {
  case NIFTI_UNITS_METER:
    return length * 1000.0;
  case NIFTI_UNITS_MICRON:
    return length / 1000.0;
  case NIFTI_UNITS_MM:
    return length;
  default:
    return length * unit_mm;
  }
}

/* the file's step along the fourth axis in seconds; 0 where that axis is not time */
static double
to_seconds(double step, int xyzt_units)
{
  switch (XYZT_TO_TIME(xyzt_units)) {
  case NIFTI_UNITS_SEC:
  case NIFTI_UNITS_UNKNOWN:
    break;
  case NIFTI_UNITS_MSEC:
    step /= 1e3;
    break;
  case NIFTI_UNITS_USEC:
    step /= 1e6;
    break;
  default:
    return 0.0;
  }
  return isfinite(step) && step > 0.0 ? step : 0.0;
}

static bool
is_single(double x)
{
  return (double)(float)x == x;
}

/* the qform of @audit in file units (see the top of this file) */
static void
qform_affine(const PlaFrameAudit *audit, const double size[3], double out[12])
{
  double b = audit->quatern[0], c = audit->quatern[1], d = audit->quatern[2];
  double norm2 = b * b + c * c + d * d, a2 = 1.0 - norm2, a = 0.0;
  double rounding = is_single(b) && is_single(c) && is_single(d) ? 1e-7 : 0.0;
  if (a2 > rounding) {
    a = sqrt(a2);
  } else { /* a half turn: only the axis matters */
    double norm = sqrt(norm2);
    b /= norm;
    c /= norm;
    d /= norm;
  }
  const double r[9] = {
    a * a + b * b - c * c - d * d, 2.0 * (b * c - a * d),         2.0 * (b * d + a * c),
    2.0 * (b * c + a * d),         a * a + c * c - b * b - d * d, 2.0 * (c * d - a * b),
    2.0 * (b * d - a * c),         2.0 * (c * d + a * b),         a * a + d * d - b * b - c * c,
  };
  double qfac = audit->pixdim[0] < 0.0 ? -1.0 : 1.0;
  for (int i = 0; i < 3; i++) {
    out[4 * i] = r[3 * i] * size[0];
    out[4 * i + 1] = r[3 * i + 1] * size[1];
    out[4 * i + 2] = r[3 * i + 2] * size[2] * qfac;
    out[4 * i + 3] = audit->qoffset[i];
  }
}

/* scales @affine from file units to mm; false, and zeros, when it is no frame */
static bool
usable_in_mm(double affine[12], int xyzt_units, double unit_mm)
{
  double inverse[12];
  for (int i = 0; i < 12; i++)
    affine[i] = to_mm(affine[i], xyzt_units, unit_mm);
  bool usable = pla_affine_invert(affine, inverse);
  for (int i = 0; i < 12; i++)
    usable = usable && isfinite(affine[i]);
  if (!usable)
    memset(affine, 0, 12 * sizeof *affine);
  return usable;
}

/* Fills audit->source, sform_mm and qform_mm from the file's numbers in @audit, and the affine that
 * they choose.  false when there is none. */
static bool
choose_frame(PlaFrameAudit *audit, const int dims[4], double unit_mm, double affine_mm[12],
             PlaNotes *notes)
{
  double size[3], pixdim_mm[12] = { 0 };
  for (int c = 0; c < 3; c++) {
    size[c] = fabs(audit->pixdim[c + 1]);
    /* a single slice needs no thickness to be a frame */
    if (dims[c] == 1 && !(size[c] > 0.0 && isfinite(size[c]))) {
      size[c] = 1.0;
      if (audit->sform_code <= 0)
        pla_notes_add(notes,
                      "The header gives the only slice along axis %d no thickness; 1 was "
                      "assumed.",
                      c + 1);
    }
  }
  memset(audit->qform_mm, 0, sizeof audit->qform_mm);
  memset(audit->sform_mm, 0, sizeof audit->sform_mm);
  bool sform = false, qform = false;
  if (audit->sform_code > 0) {
    memcpy(audit->sform_mm, audit->srow, sizeof audit->sform_mm);
    sform = usable_in_mm(audit->sform_mm, audit->xyzt_units, unit_mm);
    if (!sform)
      pla_notes_add(notes, "The sform is coded but its axes span no volume; it was passed over.");
  }
  if (audit->qform_code > 0) {
    qform_affine(audit, size, audit->qform_mm);
    qform = usable_in_mm(audit->qform_mm, audit->xyzt_units, unit_mm);
    if (!qform)
      pla_notes_add(notes, "The qform is coded but is no rotation with voxel sizes; it was passed "
                           "over.");
  }
  if (sform) {
    audit->source = PLA_FRAME_SFORM;
    memcpy(affine_mm, audit->sform_mm, sizeof audit->sform_mm);
    return true;
  }
  if (qform) {
    audit->source = PLA_FRAME_QFORM;
    memcpy(affine_mm, audit->qform_mm, sizeof audit->qform_mm);
    return true;
  }
  /* where a form was meant and is broken, the orientation is lost: no guess */
  if (audit->sform_code > 0 || audit->qform_code > 0)
    return false;
  for (int c = 0; c < 3; c++)
    pixdim_mm[5 * c] = size[c];
  if (!usable_in_mm(pixdim_mm, audit->xyzt_units, unit_mm))
    return false;
  audit->source = PLA_FRAME_PIXDIM;
  memcpy(affine_mm, pixdim_mm, sizeof pixdim_mm);
  return true;
}

/* copies what the header says about its frame and decides what it means */
PlaStatus
pla_nifti_frame_read(const char *path, const PlaNiftiHeader *header, double unit_mm, PlaVolume *vol,
                     PlaNotes *notes, PlaError *err)
{
  const nifti_2_header *h = &header->h;
  PlaFrameAudit *audit = &vol->audit;
  *audit = (PlaFrameAudit){
    .nifti_version = header->version,
    .qform_code = h->qform_code,
    .sform_code = h->sform_code,
    .xyzt_units = h->xyzt_units,
    .quatern = { h->quatern_b, h->quatern_c, h->quatern_d },
    .qoffset = { h->qoffset_x, h->qoffset_y, h->qoffset_z },
  };
  memcpy(audit->pixdim, &h->pixdim, sizeof audit->pixdim);
  memcpy(audit->srow, &h->srow_x, sizeof h->srow_x);
  memcpy(audit->srow + 4, &h->srow_y, sizeof h->srow_y);
  memcpy(audit->srow + 8, &h->srow_z, sizeof h->srow_z);

  int space = XYZT_TO_SPACE(h->xyzt_units);
  if (space > NIFTI_UNITS_MICRON)
    pla_notes_add(notes, "The header's length unit %d does not exist; millimetres were assumed.",
                  space);
  if (!choose_frame(audit, vol->dims, unit_mm, vol->affine_mm, notes))
    return pla_fail(err, PLA_ERR_GEOMETRY,
                    "%s gives no usable position and orientation: the axes of its %s span no "
                    "volume; set the header right with the program that made it",
                    path, audit->sform_code > 0 || audit->qform_code > 0 ? "coded form" : "voxels");
  if (vol->dims[3] > 1)
    vol->frame_step_s = to_seconds(audit->pixdim[4], audit->xyzt_units);
  pla_volume_audit_frame(vol);

  if (audit->source == PLA_FRAME_PIXDIM)
    pla_notes_add(notes,
                  "The file states voxel sizes but no orientation: axes were taken as right, "
                  "anterior, superior, and left may be right.");
  if (audit->disagreement_mm > 0.01) /* more than float32 rounding does to a head */
    pla_notes_add(notes, "The sform and the qform disagree by up to %.3g mm; the sform was used.",
                  audit->disagreement_mm);
  if (audit->nonorthogonality > 1e-4)
    pla_notes_add(notes, "The axes are sheared by %.3g degrees; the affine was kept as it is.",
                  asin(fmin(audit->nonorthogonality, 1.0)) * 180.0 / M_PI);
  return PLA_OK;
}

/* ---- writing ---- */

static void
round_to_single(double *x, int n)
{
  for (int i = 0; i < n; i++)
    x[i] = (double)(float)x[i];
}

static const double moved_mm = 1e-3; /* a corner further off than this is not the same place */

/* a qform for @audit whose srow is set, where rotation and voxel sizes can express it */
static void
make_qform(const PlaVolume *vol, int version, PlaFrameAudit *audit)
{
  nifti_dmat44 r = { { { 0 } } };
  double size[3], qfac, qform[12];
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 4; j++)
      r.m[i][j] = vol->affine_mm[4 * i + j];
  r.m[3][3] = 1.0;
  nifti_dmat44_to_quatern(r, &audit->quatern[0], &audit->quatern[1], &audit->quatern[2],
                          &audit->qoffset[0], &audit->qoffset[1], &audit->qoffset[2], &size[0],
                          &size[1], &size[2], &qfac);
  audit->pixdim[0] = qfac;
  for (int c = 0; c < 3; c++)
    audit->pixdim[c + 1] = size[c];
  if (version == 1) {
    round_to_single(audit->quatern, 3);
    round_to_single(audit->qoffset, 3);
    round_to_single(audit->pixdim, 8);
  }
  qform_affine(audit, audit->pixdim + 1, qform);
  PlaVolume frame = *vol; /* borrows the voxels; only the numbers of the frame change */
  pla_volume_audit_frame(&frame);
  if (frame.audit.nonorthogonality <= 1e-6 &&
      pla_affine_distance(vol->dims, vol->affine_mm, qform) <= moved_mm) {
    audit->qform_code = audit->sform_code;
  } else {
    memset(audit->quatern, 0, sizeof audit->quatern);
    memset(audit->qoffset, 0, sizeof audit->qoffset);
  }
}

/* The numbers that a header of @version shall hold: those of the file where they still give the
 * volume's affine, else an sform from it. */
static void
frame_to_write(const PlaVolume *vol, int version, PlaFrameAudit *audit)
{
  double affine[12];
  *audit = vol->audit;
  if (audit->nifti_version && choose_frame(audit, vol->dims, 1.0, affine, NULL) &&
      memcmp(affine, vol->affine_mm, sizeof affine) == 0) {
    if (vol->dims[3] > 1 && to_seconds(audit->pixdim[4], audit->xyzt_units) != vol->frame_step_s) {
      audit->pixdim[4] = vol->frame_step_s;
      audit->xyzt_units = SPACE_TIME_TO_XYZT(XYZT_TO_SPACE(audit->xyzt_units), NIFTI_UNITS_SEC);
    }
    return;
  }
  *audit = (PlaFrameAudit){
    .nifti_version = version,
    .sform_code = vol->audit.sform_code > 0              ? vol->audit.sform_code
                  : vol->audit.source == PLA_FRAME_DICOM ? NIFTI_XFORM_SCANNER_ANAT
                                                         : NIFTI_XFORM_ALIGNED_ANAT,
    .xyzt_units =
        vol->dims[3] > 1 ? SPACE_TIME_TO_XYZT(NIFTI_UNITS_MM, NIFTI_UNITS_SEC) : NIFTI_UNITS_MM,
    .pixdim = { 1, 1, 1, 1, vol->dims[3] > 1 ? vol->frame_step_s : 0.0 },
  };
  memcpy(audit->srow, vol->affine_mm, sizeof audit->srow);
  make_qform(vol, version, audit);
}

/* whether float32 keeps @x as a scale factor: no overflow, no underflow */
static bool
fits_single(double x)
{
  return x == 0.0 || (isfinite((float)x) && fabsf((float)x) >= 1e-30f);
}

/* how far float32 would move the corners, mm; infinite where NIfTI-1 cannot hold the volume */
static double
loss_in_version_1(const PlaVolume *vol)
{
  double rounded[12];
  for (int d = 0; d < 4; d++)
    if (vol->dims[d] > SHRT_MAX)
      return INFINITY;
  /* 2^24 steps of a coarse slope would drift by one; 16-bit voxels cannot count that far */
  bool wide = pla_dtype_size(vol->dtype) > 2;
  if (!fits_single(vol->slope) || !fits_single(vol->inter) ||
      (wide && (!is_single(vol->slope) || !is_single(vol->inter))))
    return INFINITY;
  memcpy(rounded, vol->affine_mm, sizeof rounded);
  round_to_single(rounded, 12);
  return pla_affine_distance(vol->dims, vol->affine_mm, rounded);
}

PlaStatus
pla_nifti_choose_version(const char *path, const PlaVolume *vol, const PlaWriteOptions *opts,
                         int *out, PlaError *err)
{
  double loss = loss_in_version_1(vol);
  if (opts->nifti_version == 1 && isinf(loss))
    return pla_fail(err, PLA_ERR_UNSUPPORTED,
                    "%s cannot be NIfTI-1, which holds at most %d voxels along an axis and 32-bit "
                    "scale factors; write NIfTI-2",
                    path, SHRT_MAX);
  *out = opts->nifti_version ? opts->nifti_version : vol->audit.nifti_version == 2 ? 2 : 1;
  if (*out == 1 && opts->nifti_version == 0 && !(loss <= moved_mm)) {
    *out = 2;
    pla_notes_add(opts->notes,
                  "%s was written as NIfTI-2, since NIfTI-1 cannot hold its size, scale "
                  "or position exactly enough.",
                  path);
  } else if (*out == 1 && !(loss <= moved_mm)) {
    pla_notes_add(opts->notes, "As NIfTI-1, %s moves by up to %.3g mm.", path, loss);
  }
  return PLA_OK;
}

/* the header as bytes in the order asked for; returns their number, the extension flag included */
size_t
pla_nifti_header_make(const PlaItem *item, int version, bool pair, bool swap,
                      uint8_t raw[PLA_NIFTI_SIZE_2 + 4])
{
  const PlaVolume *vol = item->volume;
  PlaFrameAudit audit;
  nifti_2_header h;
  frame_to_write(vol, version, &audit);
  memset(&h, 0, sizeof h);
  h.sizeof_hdr = PLA_NIFTI_SIZE_2;
  h.magic[0] = 'n';
  h.magic[1] = pair ? 'i' : '+';
  h.magic[2] = (char)('0' + version);
  memcpy(h.magic + 4, magic_2_tail, 4);
  for (int t = 0; t < N_TYPES; t++)
    if (types[t].dtype == vol->dtype)
      h.datatype = (int16_t)types[t].code;
  h.bitpix = (int16_t)(8 * pla_dtype_size(vol->dtype));
  h.dim[0] = vol->dims[3] > 1 ? 4 : 3;
  for (int d = 1; d < 8; d++)
    h.dim[d] = d <= 4 ? vol->dims[d - 1] : 1;
  h.vox_offset = pair ? 0 : version == 1 ? PLA_NIFTI_SIZE_1 + 4 : PLA_NIFTI_SIZE_2 + 4;
  h.scl_slope = vol->slope;
  h.scl_inter = vol->inter;
  memcpy(&h.pixdim, audit.pixdim, sizeof audit.pixdim);
  h.xyzt_units = audit.xyzt_units;
  h.qform_code = audit.qform_code;
  h.sform_code = audit.sform_code;
  h.quatern_b = audit.quatern[0];
  h.quatern_c = audit.quatern[1];
  h.quatern_d = audit.quatern[2];
  h.qoffset_x = audit.qoffset[0];
  h.qoffset_y = audit.qoffset[1];
  h.qoffset_z = audit.qoffset[2];
  memcpy(&h.srow_x, audit.srow, sizeof h.srow_x);
  memcpy(&h.srow_y, audit.srow + 4, sizeof h.srow_y);
  memcpy(&h.srow_z, audit.srow + 8, sizeof h.srow_z);
  h.intent_code = item->labels.n > 0 ? NIFTI_INTENT_LABEL : NIFTI_INTENT_NONE;
  snprintf(h.descrip, sizeof h.descrip, "%s",
           vol->description ? vol->description : "Platysma " PLA_VERSION);

  memset(raw, 0, PLA_NIFTI_SIZE_2 + 4);
  if (version == 2) {
    if (swap)
      nifti_swap_as_nifti2(&h);
    memcpy(raw, &h, PLA_NIFTI_SIZE_2);
    return PLA_NIFTI_SIZE_2 + 4;
  }
  nifti_1_header n1;
  narrow(&h, &n1);
  if (swap)
    nifti_swap_as_nifti1(&n1);
  memcpy(raw, &n1, PLA_NIFTI_SIZE_1);
  return PLA_NIFTI_SIZE_1 + 4;
}
