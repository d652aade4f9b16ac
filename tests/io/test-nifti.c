/* NIfTI: one asymmetric phantom in every frame, version, byte order and container; round trips to
 * the bit; hostile files.  Files are laid out here byte by byte from the published offsets, so that
 * reader and writer do not only agree with each other. */
#include "io/formats/formats.h"
#include "io/formats/label-files.h"
#include "io/stream/source.h"
#include "tests/io/fuzz.h"

#include <glib.h>
#include <glib/gstdio.h>
#include <math.h>
#include <nifti2_io.h>
#include <omp.h>
#include <string.h>
#include <zlib.h>

/* ---- a file from offsets ---- */

typedef struct {
  int version;
  bool big;
  bool pair;
  int datatype, bitpix;
  int64_t dim[8];
  double pixdim[8];
  double slope, inter;
  int qform_code, sform_code, units;
  double quatern[3], qoffset[3], srow[12];
} Spec;

static const int marker[3] = { 5, 2, 7 };
static const int size[3] = { 9, 7, 11 };

static Spec
spec_default(void)
{
  return (Spec){ .version = 1,
                 .datatype = 4,
                 .bitpix = 16,
                 .dim = { 3, size[0], size[1], size[2], 1, 1, 1, 1 },
                 .pixdim = { 1, 1, 1, 1 },
                 .slope = 1.0,
                 .units = 2 };
}

static void
put(uint8_t *raw, size_t at, const void *value, size_t width, bool big)
{
  for (size_t b = 0; b < width; b++)
    raw[at + b] = ((const uint8_t *)value)[big ? width - 1 - b : b];
}

static void
put_int(uint8_t *raw, size_t at, int64_t value, size_t width, bool big)
{
  put(raw, at, &value, width, big);
}

/* a real number: four bytes in NIfTI-1, eight in NIfTI-2 */
static void
put_real(uint8_t *raw, size_t at, double value, const Spec *s)
{
  float single = (float)value;
  if (s->version == 1)
    put(raw, at, &single, 4, s->big);
  else
    put(raw, at, &value, 8, s->big);
}

static size_t
make_raw_header(const Spec *s, uint8_t raw[544])
{
  bool one = s->version == 1;
  size_t real = one ? 4 : 8;
  memset(raw, 0, 544);
  put_int(raw, 0, one ? 348 : 540, 4, s->big);
  const char *magic = one ? (s->pair ? "ni1" : "n+1") : (s->pair ? "ni2" : "n+2");
  memcpy(raw + (one ? 344 : 4), magic, 4);
  if (!one)
    memcpy(raw + 8, "\r\n\032\n", 4);
  put_int(raw, one ? 70 : 12, s->datatype, 2, s->big);
  put_int(raw, one ? 72 : 14, s->bitpix, 2, s->big);
  for (size_t d = 0; d < 8; d++) {
    put_int(raw, (one ? 40 : 16) + d * (one ? 2 : 8), s->dim[d], one ? 2 : 8, s->big);
    put_real(raw, (one ? 76 : 104) + d * real, s->pixdim[d], s);
  }
  int offset = s->pair ? 0 : one ? 352 : 544;
  if (one)
    put_real(raw, 108, offset, s);
  else
    put_int(raw, 168, offset, 8, s->big);
  put_real(raw, one ? 112 : 176, s->slope, s);
  put_real(raw, one ? 116 : 184, s->inter, s);
  put_int(raw, one ? 123 : 500, s->units, one ? 1 : 4, s->big);
  put_int(raw, one ? 252 : 344, s->qform_code, one ? 2 : 4, s->big);
  put_int(raw, one ? 254 : 348, s->sform_code, one ? 2 : 4, s->big);
  for (size_t i = 0; i < 3; i++) {
    put_real(raw, (one ? 256 : 352) + i * real, s->quatern[i], s);
    put_real(raw, (one ? 268 : 376) + i * real, s->qoffset[i], s);
  }
  for (size_t i = 0; i < 12; i++)
    put_real(raw, (one ? 280 : 400) + i * real, s->srow[i], s);
  return one ? 352 : 544;
}

/* header and voxels of the marker phantom: zero but 1000 at the marker, a ramp along i at j = k = 0
 */
static GByteArray *
make_file(const Spec *s, GByteArray **voxels_out)
{
  uint8_t raw[544];
  size_t n = make_raw_header(s, raw), width = (size_t)s->bitpix / 8;
  GByteArray *file = g_byte_array_new(), *voxels = g_byte_array_new();
  g_byte_array_append(file, raw, (guint)n);
  for (int k = 0; k < s->dim[3]; k++)
    for (int j = 0; j < s->dim[2]; j++)
      for (int i = 0; i < s->dim[1]; i++) {
        bool here = i == marker[0] && j == marker[1] && k == marker[2];
        int64_t value = here ? 100 : j == 0 && k == 0 ? i : 0;
        uint8_t bytes[8] = { 0 };
        if (s->datatype == 16) {
          float single = (float)value;
          put(bytes, 0, &single, 4, s->big);
        } else {
          put_int(bytes, 0, value, width, s->big);
        }
        g_byte_array_append(s->pair ? voxels : file, bytes, (guint)width);
      }
  if (voxels_out)
    *voxels_out = voxels;
  else
    g_byte_array_unref(voxels);
  return file;
}

static void
save(const char *path, const GByteArray *bytes)
{
  if (g_str_has_suffix(path, ".gz")) {
    gzFile gz = gzopen(path, "wb");
    g_assert_cmpint(gzwrite(gz, bytes->data, bytes->len), ==, (int)bytes->len);
    g_assert_cmpint(gzclose(gz), ==, Z_OK);
  } else {
    FILE *file = fopen(path, "wb"); /* g_file_set_contents() would sync each of hundreds */
    g_assert_nonnull(file);
    g_assert_cmpuint(fwrite(bytes->data, 1, bytes->len, file), ==, bytes->len);
    g_assert_cmpint(fclose(file), ==, 0);
  }
}

/* writes the phantom of @s as name + ending; g_free() the path */
static char *
save_spec(const Spec *s, const char *name)
{
  g_autoptr(GByteArray) voxels = NULL;
  g_autoptr(GByteArray) file = make_file(s, &voxels);
  char *path = pla_test_path(name);
  save(path, file);
  if (s->pair) {
    char *stem = strstr(path, ".hdr");
    g_assert_nonnull(stem);
    g_autofree char *img = g_strdup_printf("%.*s.img%s", (int)(stem - path), path, stem + 4);
    save(img, voxels);
  }
  return path;
}

static PlaItem
read_ok(const char *path)
{
  PlaReadOptions opts = pla_read_options_default();
  PlaItem item;
  PlaError err = { 0 };
  if (pla_item_read(path, &opts, &item, &err) != PLA_OK)
    g_error("%s", err.message);
  g_assert_cmpint(item.kind, ==, PLA_KIND_VOLUME);
  return item;
}

static void
write_ok(const char *path, const PlaItem *item, int version, bool big, PlaNotes *notes)
{
  PlaWriteOptions opts = pla_write_options_default();
  PlaError err = { 0 };
  opts.nifti_version = version;
  opts.big_endian = big;
  opts.notes = notes;
  if (pla_item_write(path, item, &opts, &err) != PLA_OK)
    g_error("%s", err.message);
}

/* reads and expects a refusal whose sentence holds @words and names the file */
static void
refused(const char *path, PlaStatus status, const char *words)
{
  PlaReadOptions opts = pla_read_options_default();
  PlaItem item;
  PlaError err = { 0 };
  g_assert_cmpint(pla_item_read(path, &opts, &item, &err), ==, status);
  if (!strstr(err.message, words) || !strstr(err.message, path))
    g_error("expected '%s' about %s, got: %s", words, path, err.message);
  g_assert_cmpint(item.kind, ==, PLA_KIND_NONE);
}

static bool
has_note(const PlaNotes *notes, const char *words)
{
  for (int i = 0; i < notes->n; i++)
    if (strstr(notes->text[i], words))
      return true;
  return false;
}

/* the brightest voxel's place */
static void
find_marker(const PlaVolume *vol, double ras_mm[3])
{
  double best = -INFINITY, ijk[3] = { 0 };
  for (size_t v = 0; v < pla_volume_n_voxels(vol); v++) {
    double value = pla_dtype_get(vol->dtype, vol->voxels, v);
    if (value > best) {
      best = value;
      ijk[0] = (double)(v % (size_t)vol->dims[0]);
      ijk[1] = (double)(v / (size_t)vol->dims[0] % (size_t)vol->dims[1]);
      ijk[2] = (double)(v / (size_t)vol->dims[0] / (size_t)vol->dims[1]);
    }
  }
  pla_volume_to_ras_mm(vol, ijk, ras_mm);
}

static void
assert_marker(const PlaVolume *vol, const double expected[3], const char *what)
{
  double found[3];
  find_marker(vol, found);
  for (int c = 0; c < 3; c++)
    if (!(fabs(found[c] - expected[c]) <= 1e-3))
      g_error("%s: the marker is at %.6f %.6f %.6f instead of %.6f %.6f %.6f", what, found[0],
              found[1], found[2], expected[0], expected[1], expected[2]);
}

/* ---- an independent qform: the vector turned by Hamilton products, q v q* ---- */

typedef struct {
  double a, b, c, d;
} Quaternion;

static Quaternion
hamilton(Quaternion p, Quaternion q)
{
  return (Quaternion){ p.a * q.a - p.b * q.b - p.c * q.c - p.d * q.d,
                       p.a * q.b + p.b * q.a + p.c * q.d - p.d * q.c,
                       p.a * q.c - p.b * q.d + p.c * q.a + p.d * q.b,
                       p.a * q.d + p.b * q.c - p.c * q.b + p.d * q.a };
}

static void
qform_point(const Spec *s, const double ijk[3], double out[3])
{
  double b = s->quatern[0], c = s->quatern[1], d = s->quatern[2];
  Quaternion q = { sqrt(fmax(0.0, 1.0 - (b * b + c * c + d * d))), b, c, d };
  Quaternion v = { 0.0, s->pixdim[1] * ijk[0], s->pixdim[2] * ijk[1],
                   s->pixdim[3] * ijk[2] * (s->pixdim[0] < 0.0 ? -1.0 : 1.0) };
  Quaternion r = hamilton(hamilton(q, v), (Quaternion){ q.a, -b, -c, -d });
  out[0] = r.b + s->qoffset[0];
  out[1] = r.c + s->qoffset[1];
  out[2] = r.d + s->qoffset[2];
}

static void
sform_point(const Spec *s, const double ijk[3], double out[3])
{
  for (int i = 0; i < 3; i++)
    out[i] = s->srow[4 * i] * ijk[0] + s->srow[4 * i + 1] * ijk[1] + s->srow[4 * i + 2] * ijk[2] +
             s->srow[4 * i + 3];
}

/* ---- frames ---- */

typedef struct {
  const char *name;
  bool sform; /* which form must win */
  Spec spec;
  const char *orientation; /* NULL: not checked */
} Frame;

/* a rotation by @deg about a unit axis: quaternion components */
static void
axis_angle(double x, double y, double z, double deg, double quatern[3])
{
  double norm = sqrt(x * x + y * y + z * z), s = sin(deg * G_PI / 360.0);
  quatern[0] = s * x / norm;
  quatern[1] = s * y / norm;
  quatern[2] = s * z / norm;
}

static GArray *
make_frames(void)
{
  GArray *frames = g_array_new(FALSE, FALSE, sizeof(Frame));
  Frame f = { .name = "RAS", .sform = true, .spec = spec_default(), .orientation = "RAS" };
  f.spec.sform_code = 1;
  memcpy(f.spec.srow, (double[]){ 0.8, 0, 0, -10, 0, 0.9, 0, -20, 0, 0, 1.5, 30 },
         sizeof f.spec.srow);
  memcpy(f.spec.pixdim, (double[]){ 1, 0.8, 0.9, 1.5 }, 4 * sizeof(double));
  g_array_append_val(frames, f);

  f.name = "LAS";
  f.orientation = "LAS";
  f.spec.srow[0] = -0.8;
  g_array_append_val(frames, f);

  f.name = "LPI";
  f.orientation = "LPI";
  f.spec.srow[5] = -0.9;
  f.spec.srow[10] = -1.5;
  g_array_append_val(frames, f);

  f.name = "axes permuted (ASL)";
  f.orientation = "ASL";
  memcpy(f.spec.srow, (double[]){ 0, 0, -1.5, 12, 0.8, 0, 0, 3, 0, 0.9, 0, -7 },
         sizeof f.spec.srow);
  g_array_append_val(frames, f);

  /* the same rotation as a qform below */
  f.name = "oblique sform";
  f.orientation = NULL;
  memcpy(f.spec.srow,
         (double[]){ 0.7, -0.2, 0.3, -84.5, 0.25, 0.85, -0.1, 11.25, -0.2, 0.15, 1.4, 99.0 },
         sizeof f.spec.srow);
  g_array_append_val(frames, f);

  f.name = "sheared, a gantry tilt of 20 degrees";
  memcpy(f.spec.srow,
         (double[]){ 0.5, 0, 0, -120, 0, 0.5, -3.0 * tan(20.0 * G_PI / 180.0), -150, 0, 0, 3.0,
                     40 },
         sizeof f.spec.srow);
  g_array_append_val(frames, f);

  f.name = "the spacing and place of a real scan";
  memcpy(f.spec.srow,
         (double[]){ .33203125, 0, 0, -84.83398438, 0, .33203125, 0, -198.83398438, 0, 0, .69999999,
                     -318.3999939 },
         sizeof f.spec.srow);
  memcpy(f.spec.pixdim, (double[]){ 1, .33203125, .33203125, .69999999 }, 4 * sizeof(double));
  f.orientation = "RAS";
  g_array_append_val(frames, f);

  /* axes 2e-3 from a right angle, which tools with a tolerance of 1e-3 or less refuse */
  f.name = "near-orthonormal";
  memcpy(f.spec.srow,
         (double[]){ 0.9999, 0.002, 0, 5, -0.0005, 1.0001, 0.0011, 6, 0.0007, 0, 0.9998, 7 },
         sizeof f.spec.srow);
  g_array_append_val(frames, f);

  f.name = "in metres";
  f.spec.units = 1;
  for (int i = 0; i < 12; i++)
    f.spec.srow[i] /= 1000.0;
  g_array_append_val(frames, f);
  f.name = "in micrometres";
  f.spec.units = 3;
  for (int i = 0; i < 12; i++)
    f.spec.srow[i] *= 1e6;
  g_array_append_val(frames, f);

  f = (Frame){ .name = "qform only", .spec = spec_default() };
  f.spec.qform_code = 1;
  memcpy(f.spec.pixdim, (double[]){ 1, 0.8, 0.9, 1.5 }, 4 * sizeof(double));
  axis_angle(1, -2, 0.5, 33.0, f.spec.quatern);
  memcpy(f.spec.qoffset, (double[]){ -84.83398438, 12.0, 7.5 }, sizeof f.spec.qoffset);
  g_array_append_val(frames, f);

  f.name = "qform with qfac -1";
  f.spec.pixdim[0] = -1;
  g_array_append_val(frames, f);

  f.name = "qform with qfac 0";
  f.spec.pixdim[0] = 0;
  g_array_append_val(frames, f);

  f.name = "qform of a half turn";
  f.orientation = "LAI";
  f.spec.pixdim[0] = 1;
  memcpy(f.spec.quatern, (double[]){ 0, 1, 0 }, sizeof f.spec.quatern);
  g_array_append_val(frames, f);

  f.name = "conflicting forms";
  f.orientation = "LAS";
  f.sform = true;
  f.spec.sform_code = 2;
  memcpy(f.spec.srow, (double[]){ -0.8, 0, 0, 10, 0, 0.9, 0, -20, 0, 0, 1.5, 30 },
         sizeof f.spec.srow);
  g_array_append_val(frames, f);
  return frames;
}

/* every frame, version, byte order and container: the marker stays at its place, also after being
 * written again as anything else */
static void
test_frames(void)
{
  static const struct {
    const char *ending;
    bool pair;
  } containers[] = {
    { ".nii", false }, { ".nii.gz", false }, { ".hdr", true }, { ".hdr.gz", true }
  };
  g_autoptr(GArray) frames = make_frames();
  int n = 0;
  for (guint f = 0; f < frames->len; f++)
    for (int variant = 0; variant < 16; variant++, n++) {
      const Frame *frame = &g_array_index(frames, Frame, f);
      Spec s = frame->spec;
      s.version = 1 + (variant & 1);
      s.big = variant >> 1 & 1;
      s.pair = containers[variant >> 2].pair;
      g_autofree char *what =
          g_strdup_printf("%s, NIfTI-%d, %s-endian, %s", frame->name, s.version,
                          s.big ? "big" : "little", containers[variant >> 2].ending);
      g_autofree char *name = g_strdup_printf("frame%d%s", n, containers[variant >> 2].ending);
      g_autofree char *path = save_spec(&s, name);

      const double ijk[3] = { marker[0], marker[1], marker[2] };
      double expected[3];
      if (frame->sform)
        sform_point(&s, ijk, expected);
      else
        qform_point(&s, ijk, expected);
      for (int c = 0; c < 3; c++)
        expected[c] = s.units == 1   ? expected[c] * 1e3
                      : s.units == 3 ? expected[c] / 1e3
                                     : expected[c];

      PlaItem item = read_ok(path);
      const PlaFrameAudit *audit = &item.volume->audit;
      assert_marker(item.volume, expected, what);
      g_assert_cmpint(audit->source, ==, frame->sform ? PLA_FRAME_SFORM : PLA_FRAME_QFORM);
      g_assert_cmpint(audit->nifti_version, ==, s.version);
      char letters[4];
      pla_volume_orientation(item.volume, letters);
      if (frame->orientation)
        g_assert_cmpstr(letters, ==, frame->orientation);

      /* as something else, and as a volume made here; a quarter of them, since each is synced */
      for (int again = 0; again < 3 && variant % 4 == (int)f % 4; again++) {
        g_autofree char *copy = pla_test_path(again == 1 ? "copy.nii.gz" : "copy.nii");
        if (again == 2)
          item.volume->audit = (PlaFrameAudit){ .source = PLA_FRAME_MADE };
        write_ok(copy, &item, again == 2 ? 0 : 3 - s.version, !s.big, NULL);
        PlaItem back = read_ok(copy);
        assert_marker(back.volume, expected, what);
        g_assert_cmpmem(back.volume->voxels, pla_volume_n_bytes(back.volume), item.volume->voxels,
                        pla_volume_n_bytes(item.volume));
        char side[4];
        pla_volume_orientation(back.volume, side);
        g_assert_cmpstr(side, ==, letters);
        pla_item_clear(&back);
      }
      pla_item_clear(&item);

      /* the voxel file leads to its header */
      if (s.pair) {
        g_autofree char *img = g_strdup(path);
        memcpy(strstr(img, ".hdr"), ".img", 4);
        item = read_ok(img);
        assert_marker(item.volume, expected, what);
        pla_item_clear(&item);
        g_remove(img);
      }
      g_remove(path);
    }
}

/* random rotations against Hamilton products and against nifticlib, where the latter is exact */
static void
test_qform(void)
{
  uint64_t state = 7;
  for (int n = 0; n < 200; n++) {
    Spec s = spec_default();
    double r[8];
    for (int i = 0; i < 8; i++)
      r[i] = (double)(pla_test_random(&state) >> 11) / 9007199254740992.0 - 0.5;
    s.version = 2;
    s.qform_code = 1;
    s.pixdim[0] = n % 2 ? -1 : 1;
    for (int c = 0; c < 3; c++) {
      s.pixdim[c + 1] = 0.2 + fabs(r[c]) * 4.0;
      s.qoffset[c] = 400.0 * r[5 + c];
    }
    /* every third within 0.06 degrees of a half turn, where float64 components still tell */
    double deg = n % 3 ? 360.0 * r[3] : 180.0 - 0.06 * fabs(r[3]) * 2.0;
    axis_angle(r[4], r[5], r[6], deg, s.quatern);
    g_autofree char *path = save_spec(&s, "qform.nii");
    PlaItem item = read_ok(path);
    for (int corner = 0; corner < 8; corner++) {
      double ijk[3], found[3], expected[3];
      for (int c = 0; c < 3; c++)
        ijk[c] = corner >> c & 1 ? 300.0 : 0.0;
      pla_volume_to_ras_mm(item.volume, ijk, found);
      qform_point(&s, ijk, expected);
      for (int c = 0; c < 3; c++)
        g_assert_cmpfloat_with_epsilon(found[c], expected[c], 1e-4);
    }
    double a2 = 1.0 - s.quatern[0] * s.quatern[0] - s.quatern[1] * s.quatern[1] -
                s.quatern[2] * s.quatern[2];
    if (a2 > 1e-6) {
      nifti_dmat44 m = nifti_quatern_to_dmat44(s.quatern[0], s.quatern[1], s.quatern[2],
                                               s.qoffset[0], s.qoffset[1], s.qoffset[2],
                                               s.pixdim[1], s.pixdim[2], s.pixdim[3], s.pixdim[0]);
      for (int i = 0; i < 12; i++)
        g_assert_cmpfloat_with_epsilon(item.volume->affine_mm[i], m.m[i / 4][i % 4], 1e-9);
    }
    pla_item_clear(&item);
  }
}

/* what the audit says about both forms */
static void
test_audit(void)
{
  Spec s = spec_default();
  s.qform_code = 1;
  s.sform_code = 1;
  s.units = 1; /* metres */
  memcpy(s.pixdim, (double[]){ 1, 0.001, 0.001, 0.002 }, 4 * sizeof(double));
  memcpy(s.srow, (double[]){ 0.001, 0, 0, 0, 0, 0.001, 0, 0, 0, 0, 0.002, 0.003 }, sizeof s.srow);
  s.version = 2;
  g_autofree char *path = save_spec(&s, "audit.nii");
  PlaItem item = read_ok(path);
  g_assert_cmpfloat_with_epsilon(item.volume->audit.disagreement_mm, 3.0, 1e-9);
  g_assert_cmpfloat_with_epsilon(item.volume->audit.sform_mm[11], 3.0, 1e-12);
  g_assert_cmpfloat(item.volume->audit.srow[11], ==, 0.003);
  g_assert_cmpfloat(item.volume->audit.nonorthogonality, ==, 0.0);
  g_assert_true(has_note(&item.notes, "disagree by up to 3 mm"));
  pla_item_clear(&item);

  /* shear: the cosine between the second and third axis */
  s.qform_code = 0;
  s.srow[6] = 0.002;
  g_autofree char *sheared = save_spec(&s, "sheared.nii");
  item = read_ok(sheared);
  g_assert_cmpfloat_with_epsilon(item.volume->audit.nonorthogonality, sqrt(0.5), 1e-12);
  g_assert_true(has_note(&item.notes, "sheared by 45 degrees"));
  pla_item_clear(&item);

  /* nothing coded: voxel sizes, and a warning about sides */
  s = spec_default();
  memcpy(s.pixdim, (double[]){ -1, 0.5, 2, 3 }, 4 * sizeof(double));
  g_autofree char *bare = save_spec(&s, "bare.nii");
  item = read_ok(bare);
  g_assert_cmpint(item.volume->audit.source, ==, PLA_FRAME_PIXDIM);
  assert_marker(item.volume, (double[]){ 0.5 * marker[0], 2.0 * marker[1], 3.0 * marker[2] },
                "bare");
  g_assert_true(has_note(&item.notes, "left may be right"));
  pla_item_clear(&item);

  /* a file without a unit, read with one */
  s.units = 0;
  g_autofree char *unitless = save_spec(&s, "unitless.nii");
  PlaReadOptions opts = pla_read_options_default();
  PlaError err = { 0 };
  opts.unit_mm = 10.0;
  g_assert_cmpint(pla_item_read(unitless, &opts, &item, &err), ==, PLA_OK);
  g_assert_cmpfloat(item.volume->affine_mm[10], ==, 30.0);
  write_ok(unitless, &item, 0, false, NULL);
  pla_item_clear(&item);
  item = read_ok(unitless);
  g_assert_cmpfloat(item.volume->affine_mm[10], ==, 30.0);
  pla_item_clear(&item);
}

/* a form that is coded but unusable is passed over, with a note; with no other, the file is refused
 */
static void
test_broken_forms(void)
{
  static const double bad[] = { 0.0, NAN, INFINITY };
  for (int b = 0; b < 3; b++) {
    Spec s = spec_default();
    s.sform_code = 1;
    s.qform_code = 1;
    memcpy(s.srow, (double[]){ bad[b], 0, 0, 1, 0, 1, 0, 2, 0, 0, 1, 3 }, sizeof s.srow);
    s.qoffset[0] = 44.0;
    g_autofree char *path = save_spec(&s, "broken.nii");
    PlaItem item = read_ok(path);
    g_assert_cmpint(item.volume->audit.source, ==, PLA_FRAME_QFORM);
    g_assert_cmpfloat(item.volume->affine_mm[3], ==, 44.0);
    g_assert_true(has_note(&item.notes, "sform is coded but"));
    pla_item_clear(&item);

    s.qform_code = 0;
    g_autofree char *alone = save_spec(&s, "alone.nii");
    refused(alone, PLA_ERR_GEOMETRY, "no usable position and orientation");
    s.sform_code = 0;
    s.qform_code = 1;
    s.pixdim[2] = bad[b];
    g_autofree char *flat = save_spec(&s, "flat.nii");
    refused(flat, PLA_ERR_GEOMETRY, "no usable position and orientation");
  }
}

/* ---- round trips to the bit ---- */

/* every element type, both byte orders and versions, plain and compressed */
static void
test_voxels(void)
{
  const int dims[4] = { 13, 5, 7, 3 };
  for (int t = 0; t < PLA_N_DTYPES; t++)
    for (int variant = 0; variant < 8; variant++) {
      PlaItem item = { .kind = PLA_KIND_VOLUME };
      PlaError err = { 0 };
      uint64_t state = (uint64_t)t;
      g_assert_cmpint(pla_volume_new(dims, (PlaDType)t, &item.volume, &err), ==, PLA_OK);
      uint8_t *bytes = item.volume->voxels;
      for (size_t i = 0; i < pla_volume_n_bytes(item.volume); i++)
        bytes[i] = (uint8_t)pla_test_random(&state); /* NaN with payloads among them */
      item.volume->slope = 0.25;
      item.volume->inter = -1024.0;
      item.volume->frame_step_s = 0.5;
      item.volume->audit.source = PLA_FRAME_MADE;
      g_autofree char *path = pla_test_path(variant & 4 ? "voxels.nii.gz" : "voxels.nii");
      write_ok(path, &item, 1 + (variant & 1), variant & 2, NULL);
      PlaItem back = read_ok(path);
      g_assert_cmpint(back.volume->dtype, ==, t);
      g_assert_cmpmem(back.volume->dims, sizeof dims, dims, sizeof dims);
      g_assert_cmpmem(back.volume->voxels, pla_volume_n_bytes(back.volume), bytes,
                      pla_volume_n_bytes(item.volume));
      g_assert_cmpfloat(back.volume->slope, ==, 0.25);
      g_assert_cmpfloat(back.volume->inter, ==, -1024.0);
      g_assert_cmpfloat(back.volume->frame_step_s, ==, 0.5);
      g_assert_cmpint(back.volume->audit.nifti_version, ==, 1 + (variant & 1));
      pla_item_clear(&back);
      pla_item_clear(&item);
    }
}

/* a slope of zero, or none at all, means stored values */
static void
test_scaling(void)
{
  static const double slopes[] = { 0.0, NAN, INFINITY, 2.0 };
  for (int i = 0; i < 4; i++) {
    Spec s = spec_default();
    s.slope = slopes[i];
    s.inter = 10.0;
    g_autofree char *path = save_spec(&s, "slope.nii");
    PlaItem item = read_ok(path);
    double lo, hi;
    pla_volume_range(item.volume, &lo, &hi);
    g_assert_cmpfloat(lo, ==, i == 3 ? 10.0 : 0.0);
    g_assert_cmpfloat(hi, ==, i == 3 ? 210.0 : 100.0);
    g_assert_cmpint(((int16_t *)item.volume->voxels)[3], ==, 3);
    pla_item_clear(&item);
  }
}

/* header bytes of the frame: pixdim, units, codes, quaternion, offsets, rows */
static void
assert_same_frame_bytes(const uint8_t *a, const uint8_t *b, int version, const char *what)
{
  static const struct {
    size_t at, n;
  } one[] = { { 76, 32 }, { 123, 1 }, { 252, 76 } },
    two[] = { { 104, 64 }, { 344, 152 }, { 500, 4 } };
  for (int i = 0; i < 3; i++) {
    size_t at = version == 1 ? one[i].at : two[i].at, n = version == 1 ? one[i].n : two[i].n;
    for (size_t k = at; k < at + n; k++)
      if (a[k] != b[k])
        g_error("%s: byte %zu of the header changed from %02x to %02x", what, k, a[k], b[k]);
  }
}

/* what was read is written back with the same bytes, awkward numbers included */
static void
test_affine_bytes(void)
{
  g_autoptr(GArray) frames = make_frames();
  Frame odd = g_array_index(frames, Frame, 0);
  odd.name = "odd numbers in fields that are not used";
  memcpy(odd.spec.pixdim, (double[]){ -0.0, 3e-39, 7, 0, 2.5, -1, 1e30, 9 }, 8 * sizeof(double));
  memcpy(odd.spec.quatern, (double[]){ 3, -0.0, 0.1 }, sizeof odd.spec.quatern);
  odd.spec.units = 18;
  g_array_append_val(frames, odd);
  odd.name = "a broken sform over a good qform";
  odd.spec = spec_default();
  odd.spec.sform_code = 4;
  odd.spec.qform_code = 3;
  odd.spec.qoffset[1] = 0.1;
  g_array_append_val(frames, odd);
  odd.name = "nothing coded";
  odd.spec = spec_default();
  odd.spec.units = 0;
  odd.spec.srow[2] = 0.7;
  g_array_append_val(frames, odd);
  for (guint f = 0; f < frames->len; f++)
    for (int variant = 0; variant < 4; variant++) {
      const Frame *frame = &g_array_index(frames, Frame, f);
      Spec s = frame->spec;
      s.version = 1 + (variant & 1);
      s.big = variant >> 1;
      g_autofree char *path = save_spec(&s, "before.nii"), *after = pla_test_path("after.nii");
      PlaItem item = read_ok(path);
      write_ok(after, &item, 0, s.big, NULL);
      PlaBytes a, b;
      g_assert_cmpint(pla_source_read(path, NULL, &a, NULL), ==, PLA_OK);
      g_assert_cmpint(pla_source_read(after, NULL, &b, NULL), ==, PLA_OK);
      g_assert_cmpuint(a.size, ==, b.size);
      assert_same_frame_bytes(a.data, b.data, s.version, frame->name);
      size_t header = s.version == 1 ? 352 : 544;
      g_assert_cmpmem(a.data + header, a.size - header, b.data + header, b.size - header);

      /* an affine that was changed since wins over what the file said */
      item.volume->affine_mm[3] += 5.0;
      write_ok(after, &item, 0, s.big, NULL);
      PlaItem moved = read_ok(after);
      for (int i = 0; i < 12; i++)
        g_assert_cmpfloat_with_epsilon(moved.volume->affine_mm[i], item.volume->affine_mm[i], 1e-4);
      pla_item_clear(&moved);
      pla_item_clear(&item);
      pla_bytes_clear(&a);
      pla_bytes_clear(&b);
    }
}

/* volumes made here: both forms where a rotation can say it, NIfTI-2 where float32 cannot */
static void
test_made(void)
{
  const int dims[4] = { 40, 30, 20, 1 };
  PlaItem item = { .kind = PLA_KIND_VOLUME };
  PlaNotes notes = { 0 };
  PlaError err = { 0 };
  g_autofree char *path = pla_test_path("made.nii");
  g_assert_cmpint(pla_volume_new(dims, PLA_U8, &item.volume, &err), ==, PLA_OK);
  item.volume->audit.source = PLA_FRAME_MADE;

  /* turned by 30 degrees about z, left-handed, sizes 1, 2, 3 */
  double c = cos(G_PI / 6.0), s = sin(G_PI / 6.0);
  const double turned[12] = { c, -2 * s, 0, -12.1, s, 2 * c, 0, 33.7, 0, 0, -3, 8.9 };
  memcpy(item.volume->affine_mm, turned, sizeof turned);
  write_ok(path, &item, 0, false, &notes);
  g_assert_cmpint(notes.n, ==, 0);
  PlaItem back = read_ok(path);
  g_assert_cmpint(back.volume->audit.nifti_version, ==, 1);
  g_assert_cmpint(back.volume->audit.qform_code, >, 0);
  g_assert_cmpfloat(back.volume->audit.pixdim[0], ==, -1.0);
  g_assert_cmpfloat_with_epsilon(back.volume->audit.pixdim[2], 2.0, 1e-6);
  g_assert_cmpfloat(back.volume->audit.disagreement_mm, <, 1e-3);
  pla_item_clear(&back);

  /* sheared: no rotation says that */
  item.volume->affine_mm[2] = 1.0;
  write_ok(path, &item, 0, false, &notes);
  back = read_ok(path);
  g_assert_cmpint(back.volume->audit.sform_code, >, 0);
  g_assert_cmpint(back.volume->audit.qform_code, ==, 0);
  pla_item_clear(&back);

  /* so far away that float32 is too coarse */
  item.volume->affine_mm[3] = 123456.7853;
  write_ok(path, &item, 0, false, &notes);
  g_assert_true(has_note(&notes, "NIfTI-2"));
  back = read_ok(path);
  g_assert_cmpint(back.volume->audit.nifti_version, ==, 2);
  g_assert_cmpfloat(back.volume->affine_mm[3], ==, 123456.7853);
  pla_item_clear(&back);
  write_ok(path, &item, 1, false, &notes);
  g_assert_true(has_note(&notes, "moves by up to"));
  pla_item_clear(&item);
  pla_notes_clear(&notes);

  /* longer than NIfTI-1 can count */
  const int row[4] = { 40000, 1, 1, 1 };
  g_assert_cmpint(pla_volume_new(row, PLA_U8, &item.volume, &err), ==, PLA_OK);
  item.kind = PLA_KIND_VOLUME;
  write_ok(path, &item, 0, false, NULL);
  back = read_ok(path);
  g_assert_cmpint(back.volume->audit.nifti_version, ==, 2);
  g_assert_cmpint(back.volume->dims[0], ==, 40000);
  pla_item_clear(&back);
  PlaWriteOptions opts = pla_write_options_default();
  opts.nifti_version = 1;
  g_assert_cmpint(pla_item_write(path, &item, &opts, &err), ==, PLA_ERR_UNSUPPORTED);
  g_assert_nonnull(strstr(err.message, "write NIfTI-2"));

  /* a scale that float32 would turn into none */
  item.volume->dims[0] = 400;
  item.volume->slope = 1e-60;
  write_ok(path, &item, 0, false, NULL);
  back = read_ok(path);
  g_assert_cmpfloat(back.volume->slope, ==, 1e-60);
  pla_item_clear(&back);
  pla_item_clear(&item);
}

/* what is written here, nifticlib reads: sizes, both forms, scale and voxels */
static void
test_nifticlib(void)
{
  static const char *const names[] = { "lib.nii", "lib.nii.gz", "lib.hdr", "lib.hdr.gz" };
  const int dims[4] = { 7, 6, 5, 2 };
  PlaItem item = { .kind = PLA_KIND_VOLUME };
  PlaError err = { 0 };
  g_assert_cmpint(pla_volume_new(dims, PLA_I16, &item.volume, &err), ==, PLA_OK);
  int16_t *v = item.volume->voxels;
  for (int i = 0; i < 420; i++)
    v[i] = (int16_t)(i * 37 - 5000);
  double c = cos(0.3), s = sin(0.3);
  const double turned[12] = { 0.5 * c, -0.6 * s, 0, -84.5, 0.5 * s, 0.6 * c, 0, 21, 0, 0, -2, 7 };
  memcpy(item.volume->affine_mm, turned, sizeof turned);
  item.volume->slope = 2.0;
  item.volume->inter = -3.0;
  item.volume->frame_step_s = 0.04;
  for (int variant = 0; variant < 16; variant++) {
    g_autofree char *path = pla_test_path(names[variant >> 2]);
    write_ok(path, &item, 1 + (variant & 1), variant & 2, NULL);
    nifti_image *image = nifti_image_read(path, 1);
    g_assert_nonnull(image);
    for (int d = 0; d < 4; d++)
      g_assert_cmpint(image->dim[d + 1], ==, dims[d]);
    g_assert_cmpint(image->datatype, ==, NIFTI_TYPE_INT16);
    g_assert_cmpfloat(image->scl_slope, ==, 2.0);
    g_assert_cmpfloat(image->scl_inter, ==, -3.0);
    g_assert_cmpint(image->time_units, ==, NIFTI_UNITS_SEC);
    g_assert_cmpfloat_with_epsilon(image->dt, 0.04, 1e-8);
    for (int i = 0; i < 12; i++) {
      g_assert_cmpfloat_with_epsilon(image->sto_xyz.m[i / 4][i % 4], turned[i], 1e-5);
      g_assert_cmpfloat_with_epsilon(image->qto_xyz.m[i / 4][i % 4], turned[i], 1e-5);
    }
    g_assert_cmpmem(image->data, 840, v, 840);
    /* nifticlib prefers an uncompressed file of the same name, whatever it is asked for */
    g_remove(image->fname);
    g_remove(image->iname);
    nifti_image_free(image);
  }
  pla_item_clear(&item);
}

/* compressed output is the same for any number of threads, larger than a round of blocks, and an
 * ordinary gzip file */
static void
test_compressed_bytes(void)
{
  const int dims[4] = { 300, 301, 30, 1 };
  PlaItem item = { .kind = PLA_KIND_VOLUME };
  PlaError err = { 0 };
  uint64_t state = 3;
  g_assert_cmpint(pla_volume_new(dims, PLA_I16, &item.volume, &err), ==, PLA_OK);
  int16_t *v = item.volume->voxels;
  for (size_t i = 0; i < pla_volume_n_voxels(item.volume); i++)
    v[i] = (int16_t)(i % 300 + pla_test_random(&state) % 16);
  PlaBytes bytes[2];
  int before = omp_get_max_threads();
  for (int t = 0; t < 2; t++) {
    g_autofree char *path = pla_test_path("threads.nii.gz");
    omp_set_num_threads(t ? 4 : 1);
    write_ok(path, &item, 0, false, NULL);
    g_assert_cmpint(pla_source_read(path, NULL, &bytes[t], &err), ==, PLA_OK);

    /* gzread is another program's view of it: one member, checksum right */
    gzFile gz = gzopen(path, "rb");
    g_autofree uint8_t *all = g_malloc(352 + pla_volume_n_bytes(item.volume) + 1);
    int n = gzread(gz, all, (unsigned)(352 + pla_volume_n_bytes(item.volume) + 1));
    g_assert_cmpint(n, ==, (int)(352 + pla_volume_n_bytes(item.volume)));
    g_assert_cmpint(gzclose(gz), ==, Z_OK);
    g_assert_cmpint(memcmp(all + 352, v, pla_volume_n_bytes(item.volume)), ==, 0);
  }
  omp_set_num_threads(before);
  g_assert_cmpmem(bytes[0].data, bytes[0].size, bytes[1].data, bytes[1].size);
  g_assert_cmpmem(bytes[0].data + 4, 4, "\0\0\0\0", 4); /* no time stamp */
  pla_bytes_clear(&bytes[0]);
  pla_bytes_clear(&bytes[1]);
  pla_item_clear(&item);
}

/* ---- odd and bad files ---- */

static void
test_dims(void)
{
  /* two dimensions: one slice, whose missing thickness is no fault */
  Spec s = spec_default();
  memcpy(s.dim, (int64_t[]){ 2, 12, 8, 1, 1, 1, 1, 1 }, sizeof s.dim);
  s.pixdim[3] = 0.0;
  g_autofree char *slice = save_spec(&s, "slice.nii");
  PlaItem item = read_ok(slice);
  g_assert_cmpint(item.volume->dims[2], ==, 1);
  g_assert_true(has_note(&item.notes, "no thickness"));
  pla_item_clear(&item);

  /* more dimensions of length one are none */
  s = spec_default();
  s.dim[0] = 7;
  g_autofree char *seven = save_spec(&s, "seven.nii");
  item = read_ok(seven);
  g_assert_cmpint(item.volume->dims[3], ==, 1);
  pla_item_clear(&item);

  s.dim[5] = 3;
  g_autofree char *vector = save_spec(&s, "vector.nii");
  refused(vector, PLA_ERR_UNSUPPORTED, "3 values along axis 5");
  s = spec_default();
  s.dim[0] = 1;
  g_autofree char *one = save_spec(&s, "one.nii");
  refused(one, PLA_ERR_UNSUPPORTED, "no volume");
  s.dim[0] = 9;
  g_autofree char *nine = save_spec(&s, "nine.nii");
  refused(nine, PLA_ERR_FORMAT, "9 dimensions");
}

/* frame times in the units of the header */
static void
test_time(void)
{
  static const struct {
    int units;
    double step, seconds;
  } cases[] = { { 2 | 8, 2.5, 2.5 },
                { 2 | 16, 2500, 2.5 },
                { 2 | 24, 2.5e6, 2.5 },
                { 2, 2.5, 2.5 },
                { 2 | 32, 2.5, 0.0 } };
  for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
    Spec s = spec_default();
    /* one file of eleven slices as eleven frames */
    memcpy(s.dim, (int64_t[]){ 4, size[0], size[1], 1, size[2], 1, 1, 1 }, sizeof s.dim);
    s.units = cases[i].units;
    s.pixdim[4] = cases[i].step;
    uint8_t raw[544];
    GByteArray *file = g_byte_array_new();
    g_byte_array_append(file, raw, (guint)make_raw_header(&s, raw));
    g_byte_array_set_size(file, 352 + (guint)(2 * size[0] * size[1] * size[2]));
    g_autofree char *path = pla_test_path("time.nii");
    save(path, file);
    g_byte_array_unref(file);
    PlaItem item = read_ok(path);
    g_assert_cmpint(item.volume->dims[3], ==, size[2]);
    g_assert_cmpfloat(item.volume->frame_step_s, ==, cases[i].seconds);
    pla_item_clear(&item);
  }
}

static void
test_refusals(void)
{
  static const struct {
    int code;
    const char *name;
  } types[] = { { 128, "RGB24" },       { 2304, "RGBA32" },     { 32, "COMPLEX64" },
                { 1792, "COMPLEX128" }, { 2048, "COMPLEX256" }, { 1536, "FLOAT128" } };
  for (size_t i = 0; i < G_N_ELEMENTS(types); i++) {
    Spec s = spec_default();
    s.datatype = types[i].code;
    g_autofree char *path = save_spec(&s, "type.nii");
    refused(path, PLA_ERR_UNSUPPORTED, types[i].name);
  }
  Spec s = spec_default();
  s.datatype = 77;
  g_autofree char *type = save_spec(&s, "unknown.nii");
  refused(type, PLA_ERR_FORMAT, "voxel type 77 at byte 70");

  /* promises beyond the file, plain and compressed */
  s = spec_default();
  s.dim[3] = 12;
  g_autoptr(GByteArray) file = make_file(&s, NULL);
  put_int(file->data, 46, 13, 2, false);
  g_autofree char *longer = pla_test_path("longer.nii"),
                  *longer_gz = pla_test_path("longer.nii.gz");
  save(longer, file);
  refused(longer, PLA_ERR_FORMAT, "promises 9 x 7 x 13 x 1");
  save(longer_gz, file);
  refused(longer_gz, PLA_ERR_FORMAT, "ends after 1512 of the 1638");
  for (int d = 1; d <= 3; d++)
    put_int(file->data, 40 + 2 * (size_t)d, 32767, 2, false);
  save(longer_gz, file);
  refused(longer_gz, PLA_ERR_FORMAT, "can hold at most");

  /* a voxel offset inside the header, negative, fractional, no number */
  static const double offsets[] = { 100.0, -352.0, 352.5, NAN, 1e20 };
  s = spec_default();
  for (size_t i = 0; i < G_N_ELEMENTS(offsets); i++) {
    g_autoptr(GByteArray) moved = make_file(&s, NULL);
    put_real(moved->data, 108, offsets[i], &s);
    g_autofree char *path = pla_test_path("offset.nii");
    save(path, moved);
    refused(path, PLA_ERR_FORMAT, "which cannot be");
  }

  /* ANALYZE, a mark that is missing, a changed line end */
  s.pair = true;
  g_autoptr(GByteArray) voxels = NULL;
  g_autoptr(GByteArray) analyze = make_file(&s, &voxels);
  memset(analyze->data + 344, 0, 4);
  g_autofree char *hdr = pla_test_path("analyze.hdr"), *img = pla_test_path("analyze.img");
  save(hdr, analyze);
  save(img, voxels);
  refused(hdr, PLA_ERR_UNSUPPORTED, "ANALYZE 7.5");
  s = spec_default();
  g_autoptr(GByteArray) unmarked = make_file(&s, NULL);
  memcpy(unmarked->data + 344, "n+9", 4);
  g_autofree char *mark = pla_test_path("mark.nii");
  save(mark, unmarked);
  refused(mark, PLA_ERR_FORMAT, "mark at byte 344");
  s.version = 2;
  g_autoptr(GByteArray) text_mode = make_file(&s, NULL);
  text_mode->data[8] = '\n';
  save(mark, text_mode);
  refused(mark, PLA_ERR_FORMAT, "line ends");

  /* half a pair */
  s = spec_default();
  s.pair = true;
  g_autofree char *pair = save_spec(&s, "half.hdr"), *half = pla_test_path("half.img");
  g_remove(half);
  refused(pair, PLA_ERR_IO, "copy both files");
  save(half, voxels);
  g_remove(pair);
  refused(half, PLA_ERR_IO, "copy both files");
}

/* extensions are skipped, said, and not written again */
static void
test_extensions(void)
{
  Spec s = spec_default();
  g_autoptr(GByteArray) file = make_file(&s, NULL);
  put_real(file->data, 108, 352 + 32, &s);
  file->data[348] = 1;
  GByteArray *with = g_byte_array_new();
  uint8_t extension[32] = { 32, 0, 0, 0, 6, 0, 0, 0, 'J', 'o', 'h', 'n', ' ', 'D', 'o', 'e' };
  g_byte_array_append(with, file->data, 352);
  g_byte_array_append(with, extension, sizeof extension);
  g_byte_array_append(with, file->data + 352, file->len - 352);
  g_byte_array_append(with, extension, 5); /* and bytes that nobody owns */
  memcpy(with->data + 148, "Doe^John 1970", 14);
  g_autofree char *path = pla_test_path("extension.nii"), *copy = pla_test_path("clean.nii");
  save(path, with);
  g_byte_array_unref(with);
  PlaItem item = read_ok(path);
  g_assert_true(has_note(&item.notes, "32 bytes, were left out"));
  g_assert_true(has_note(&item.notes, "goes on after its voxels"));
  assert_marker(item.volume, (double[]){ marker[0], marker[1], marker[2] }, "extension");
  write_ok(copy, &item, 0, false, NULL);
  pla_item_clear(&item);
  g_autofree char *raw = NULL;
  gsize n;
  g_assert_true(g_file_get_contents(copy, &raw, &n, NULL));
  g_assert_null(memmem(raw, n, "John", 4));
  g_assert_nonnull(memmem(raw, n, "Platysma", 8));
}

/* names lie beside a label volume, whose intent says what it is */
static void
test_labels(void)
{
  Spec s = spec_default();
  g_autofree char *path = save_spec(&s, "seg.nii.gz"), *copy = pla_test_path("out.nii");
  PlaLabelTable table = { 0 };
  PlaError err = { 0 };
  const uint8_t red[4] = { 200, 10, 20, 128 };
  g_assert_cmpint(pla_label_table_set(&table, 100, "tongue", red, &err), ==, PLA_OK);
  g_assert_cmpint(pla_label_sidecar_write(path, &table, &err), ==, PLA_OK);
  pla_label_table_clear(&table);
  g_autofree char *sidecar = pla_test_path("seg.tsv");
  g_assert_true(g_file_test(sidecar, G_FILE_TEST_EXISTS));
  PlaItem item = read_ok(path);
  g_assert_cmpint(item.labels.n, ==, 1);
  g_assert_cmpstr(item.labels.label[0].name, ==, "tongue");
  g_assert_cmpmem(item.labels.label[0].rgba, 4, red, 4);
  write_ok(copy, &item, 0, true, NULL);
  pla_item_clear(&item);
  g_autofree char *raw = NULL;
  gsize n;
  g_assert_true(g_file_get_contents(copy, &raw, &n, NULL));
  g_assert_cmpmem(raw + 68, 2, "\x03\xea", 2); /* NIFTI_INTENT_LABEL = 1002, big-endian */

  /* a side-car that is damaged is said and does not stand in the way */
  g_assert_true(g_file_set_contents(sidecar, "index\tname\n1\tbone\nx\tskin\n", -1, NULL));
  item = read_ok(path);
  g_assert_cmpint(item.labels.n, ==, 0);
  g_assert_true(has_note(&item.notes, "line 3 is no label"));
  pla_item_clear(&item);
}

static bool
cancel_at_once(PlaProgress *progress)
{
  pla_progress_init(progress, NULL, NULL);
  pla_progress_cancel(progress);
  return true;
}

/* cancel stops reading and writing and leaves nothing behind */
static void
test_cancel(void)
{
  Spec s = spec_default();
  g_autofree char *path = save_spec(&s, "cancel.nii.gz"), *copy = pla_test_path("never.nii");
  PlaProgress progress;
  PlaItem item;
  PlaError err = { 0 };
  PlaReadOptions ropts = pla_read_options_default();
  PlaWriteOptions wopts = pla_write_options_default();
  g_assert_true(cancel_at_once(&progress));
  ropts.progress = wopts.progress = &progress;
  g_assert_cmpint(pla_item_read(path, &ropts, &item, &err), ==, PLA_ERR_CANCELLED);
  item = read_ok(path);
  g_assert_cmpint(pla_item_write(copy, &item, &wopts, &err), ==, PLA_ERR_CANCELLED);
  g_assert_false(g_file_test(copy, G_FILE_TEST_EXISTS));
  pla_item_clear(&item);
}

/* ---- damage ---- */

static void
fuzz(Spec s, const char *ending)
{
  g_autofree char *name = g_strconcat("seed", ending, NULL);
  g_autofree char *path = save_spec(&s, name);
  PlaBytes bytes;
  g_assert_cmpint(pla_source_read(path, NULL, &bytes, NULL), ==, PLA_OK);
  if (s.pair) { /* the harness damages fuzz.hdr; its voxels stay */
    g_autofree char *from = pla_test_path("seed.img"), *to = pla_test_path("fuzz.img");
    g_assert_cmpint(g_rename(from, to), ==, 0);
  }
  PlaFuzz harness = { .format = &pla_format_nifti, .extension = ending };
  pla_fuzz_run(&harness, bytes.data, bytes.size);
  pla_bytes_clear(&bytes);
}

static void
test_damage(void)
{
  Spec s = spec_default();
  s.sform_code = s.qform_code = 1;
  memcpy(s.srow, (double[]){ 1, 0, 0, 1, 0, 1, 0, 2, 0, 0, 1, 3 }, sizeof s.srow);
  fuzz(s, ".nii");
  fuzz(s, ".nii.gz");
  s.big = true;
  s.version = 2;
  fuzz(s, ".nii");
  fuzz(s, ".nii.gz");
  s.pair = true;
  fuzz(s, ".hdr");
  s.version = 1;
  fuzz(s, ".hdr");
}

/* a small file that inflates to a lot and is then cut costs what arrived, not what was claimed */
static void
test_claims(void)
{
  Spec s = spec_default();
  memcpy(s.dim, (int64_t[]){ 3, 1024, 1024, 400, 1, 1, 1, 1 }, sizeof s.dim);
  uint8_t raw[544];
  size_t n = make_raw_header(&s, raw);
  g_autofree char *path = pla_test_path("claim.nii.gz");
  gzFile gz = gzopen(path, "wb9");
  gzwrite(gz, raw, (unsigned)n);
  g_autofree uint8_t *zeros = g_malloc0(1 << 20);
  for (int i = 0; i < 8; i++)
    gzwrite(gz, zeros, 1 << 20);
  gzclose(gz);
  /* padding behind the compressed data lets the claim of 800 MiB pass the first check */
  FILE *file = fopen(path, "ab");
  fwrite(zeros, 1, 1 << 20, file);
  fclose(file);
  pla_peak_reset();
  refused(path, PLA_ERR_FORMAT, "ends after 8388608 of the 838860800");
  g_assert_cmpuint(pla_peak_get(), <, 4u * (1u << 20) + (64u << 20));
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/io/nifti/frames", test_frames);
  g_test_add_func("/io/nifti/qform", test_qform);
  g_test_add_func("/io/nifti/audit", test_audit);
  g_test_add_func("/io/nifti/broken-forms", test_broken_forms);
  g_test_add_func("/io/nifti/voxels", test_voxels);
  g_test_add_func("/io/nifti/scaling", test_scaling);
  g_test_add_func("/io/nifti/affine-bytes", test_affine_bytes);
  g_test_add_func("/io/nifti/made", test_made);
  g_test_add_func("/io/nifti/nifticlib", test_nifticlib);
  g_test_add_func("/io/nifti/compressed-bytes", test_compressed_bytes);
  g_test_add_func("/io/nifti/dims", test_dims);
  g_test_add_func("/io/nifti/time", test_time);
  g_test_add_func("/io/nifti/refusals", test_refusals);
  g_test_add_func("/io/nifti/extensions", test_extensions);
  g_test_add_func("/io/nifti/labels", test_labels);
  g_test_add_func("/io/nifti/cancel", test_cancel);
  g_test_add_func("/io/nifti/damage", test_damage);
  g_test_add_func("/io/nifti/claims", test_claims);
  return g_test_run();
}
