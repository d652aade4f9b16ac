/* The geometry of a DICOM series: slices in order along their normal, without copies, equally
 * spaced on a straight line, and the affine that this gives.  What a hospital's files round is
 * told; what contradicts itself is refused. */
#include "io/formats/dicom-private.h"

#include "anatomy/base/memory.h"
#include "io/stream/source.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double PLANE_TOLERANCE = 1e-3;   /* of unit vectors: lengths and right angles */
static const double TURN_TOLERANCE = 1e-4;    /* between slices: 0.03 mm at the edge of a head */
static const double SPACING_TOLERANCE = 1e-4; /* of pixel spacing, relative */

const char *
pla_dicom_base_name(const char *path)
{
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

/* "IM0012" or "IM0012, frame 3": how sentences name a slice */
static const char *
slice_name(const PlaDicomFolder *folder, const PlaDicomSlice *s, char name[300])
{
  const char *base = pla_dicom_base_name(folder->file[s->file].path);
  if (s->f.n_frames > 1)
    snprintf(name, 300, "%.250s, frame %d,", base, s->f.frame + 1);
  else
    snprintf(name, 300, "%.280s", base);
  return name;
}

static double
dot(const double *a, const double *b)
{
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void
cross(const double *a, const double *b, double *out)
{
  out[0] = a[1] * b[2] - a[2] * b[1];
  out[1] = a[2] * b[0] - a[0] * b[2];
  out[2] = a[0] * b[1] - a[1] * b[0];
}

/* what every slice must state, and what Platysma can show */
static PlaStatus
check_slice(const PlaDicomFolder *folder, const PlaDicomSlice *s, PlaError *err)
{
  const PlaDicomFrame *f = &s->f;
  const char *path = folder->file[s->file].path;
  if (f->samples != 1 || !f->is_grey)
    return pla_fail(err, PLA_ERR_UNSUPPORTED,
                    "%s holds a colour picture; only grey-value CT and MR series make a volume",
                    path);
  bool whole = f->bits_allocated == 8 || f->bits_allocated == 16 || f->bits_allocated == 12;
  if (!whole || f->bits_stored < 2 || f->bits_stored > f->bits_allocated ||
      f->high_bit != f->bits_stored - 1)
    return pla_fail(err, PLA_ERR_UNSUPPORTED,
                    "%s stores %d of %d bits a pixel; only series of 8 or 16 bits can be read",
                    path, f->bits_stored, f->bits_allocated);
  if (!f->has_position || !f->has_orientation || !f->has_pixel_spacing)
    return pla_fail(
        err, PLA_ERR_UNSUPPORTED,
        "%s%s does not say where in the patient its picture lies (no %s); only CT and MR "
        "series make a volume",
        path, f->n_frames > 1 ? " has several frames but" : "",
        !f->has_position      ? "image position"
        : !f->has_orientation ? "image orientation"
                              : "pixel spacing");
  const double *r = f->orientation, *c = f->orientation + 3;
  if (fabs(dot(r, r) - 1.0) > 2.0 * PLANE_TOLERANCE ||
      fabs(dot(c, c) - 1.0) > 2.0 * PLANE_TOLERANCE || fabs(dot(r, c)) > PLANE_TOLERANCE ||
      !(f->pixel_spacing[0] > 0.0) || !(f->pixel_spacing[1] > 0.0) || fabs(f->slope) < 1e-30)
    return pla_fail(err, PLA_ERR_FORMAT,
                    "%s: image orientation, pixel spacing or rescale slope are impossible; export "
                    "the series again",
                    path);
  size_t bytes = (size_t)f->columns * (size_t)f->rows * (f->bits_allocated > 8 ? 2 : 1);
  uint64_t size = folder->file[s->file].size;
  size_t room = f->is_packed              ? ((size_t)64 << 20) + PLA_MAX_INFLATE * (size_t)size
                : f->bits_allocated == 12 ? 2 * (size_t)size
                                          : (size_t)size;
  if (bytes > room / (f->is_packed ? 1 : (size_t)f->n_frames))
    return pla_fail(
        err, PLA_ERR_FORMAT,
        "%s: %d x %d pixels in %d frame%s cannot fit into its %llu bytes; copy the file "
        "again",
        path, f->columns, f->rows, f->n_frames, f->n_frames == 1 ? "" : "s",
        (unsigned long long)size);
  return PLA_OK;
}

/* @b must continue the series that @a began */
static PlaStatus
check_alike(const PlaDicomFolder *folder, const PlaDicomSlice *a, const PlaDicomSlice *b,
            PlaError *err)
{
  char name_a[300], name_b[300];
  slice_name(folder, a, name_a);
  slice_name(folder, b, name_b);
  if (a->f.columns != b->f.columns || a->f.rows != b->f.rows)
    return pla_fail(
        err, PLA_ERR_UNSUPPORTED,
        "slice %s at %.2f mm has %d x %d pixels but %s has %d x %d; choose or export slices "
        "of one size",
        name_b, b->along, b->f.columns, b->f.rows, name_a, a->f.columns, a->f.rows);
  bool same_plane = true, same_spacing = true;
  for (int d = 0; d < 6; d++)
    same_plane &= fabs(a->f.orientation[d] - b->f.orientation[d]) <= TURN_TOLERANCE;
  for (int d = 0; d < 2; d++)
    same_spacing &= fabs(a->f.pixel_spacing[d] - b->f.pixel_spacing[d]) <=
                    SPACING_TOLERANCE * a->f.pixel_spacing[d];
  if (!same_plane || !same_spacing)
    return pla_fail(
        err, PLA_ERR_UNSUPPORTED,
        "slice %s at %.2f mm has another %s than %s; choose or export slices of one stack", name_b,
        b->along, same_plane ? "pixel spacing" : "orientation", name_a);
  if (a->f.bits_allocated != b->f.bits_allocated || a->f.is_signed != b->f.is_signed)
    return pla_fail(
        err, PLA_ERR_UNSUPPORTED,
        "slice %s at %.2f mm stores its pixels in another type than %s; export the series "
        "again",
        name_b, b->along, name_a);
  return PLA_OK;
}

static int
compare_along(const void *a, const void *b)
{
  const PlaDicomSlice *x = a, *y = b;
  if (x->along != y->along)
    return x->along < y->along ? -1 : 1;
  if (x->file != y->file)
    return x->file < y->file ? -1 : 1;
  return x->f.frame - y->f.frame;
}

static int
compare_double(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* median distance of neighbouring slices, mm; PLA_ERR_MEMORY */
static PlaStatus
median_step(const PlaDicomSlice *slice, int n, double *out, PlaError *err)
{
  double *step = pla_array_new((size_t)n - 1, sizeof *step);
  if (!step)
    return pla_fail_memory(err, "a list of slices");
  for (int k = 1; k < n; k++)
    step[k - 1] = slice[k].along - slice[k - 1].along;
  qsort(step, (size_t)n - 1, sizeof *step, compare_double);
  *out = step[(n - 1) / 2];
  free(step);
  return PLA_OK;
}

/* positions are often rounded to 0.01 mm */
static double
place_tolerance(double step)
{
  return 0.015 + 0.01 * step;
}

/* drops copies of one image (same identifier, same place); refuses different ones at one place */
static PlaStatus
drop_copies(const PlaDicomFolder *folder, PlaDicomSlice *slice, int *n, PlaNotes *notes,
            PlaError *err)
{
  int kept = 1, copies = 0;
  for (int k = 1; k < *n; k++) {
    const PlaDicomSlice *before = &slice[kept - 1], *s = &slice[k];
    if (s->along - before->along > 1e-3) {
      slice[kept++] = *s;
    } else if (s->f.instance_uid[0] && s->f.frame == before->f.frame &&
               strcmp(s->f.instance_uid, before->f.instance_uid) == 0) {
      copies++;
    } else {
      char name_a[300], name_b[300];
      return pla_fail(
          err, PLA_ERR_UNSUPPORTED,
          "slices %s and %s both lie at %.2f mm: the series holds several images of one "
          "place (times, echoes or copies); keep one of each in a folder of its own",
          slice_name(folder, before, name_a), slice_name(folder, s, name_b), s->along);
    }
  }
  if (copies)
    pla_notes_add(notes, "%d file%s that repeat another slice %s left out", copies,
                  copies == 1 ? "" : "s", copies == 1 ? "was" : "were");
  *n = kept;
  return PLA_OK;
}

/* neighbours must be one step apart; names the place where they are not */
static PlaStatus
check_steps(const PlaDicomFolder *folder, const PlaDicomSlice *slice, int n, PlaError *err)
{
  double step = 0.0;
  PlaStatus st = median_step(slice, n, &step, err);
  if (st != PLA_OK)
    return st;
  for (int k = 1; k < n; k++) {
    char name_a[300], name_b[300];
    double gap = slice[k].along - slice[k - 1].along;
    if (fabs(gap - step) <= place_tolerance(step))
      continue;
    slice_name(folder, &slice[k - 1], name_a);
    slice_name(folder, &slice[k], name_b);
    double times = round(gap / step);
    if (times >= 2.0 && fabs(gap - times * step) <= times * place_tolerance(step))
      return pla_fail(
          err, PLA_ERR_FORMAT,
          "%.0f slice%s missing between %s at %.2f mm and %s at %.2f mm, where slices are "
          "%.3f mm apart; copy the whole series again",
          times - 1.0, times == 2.0 ? " is" : "s are", name_a, slice[k - 1].along, name_b,
          slice[k].along, step);
    return pla_fail(
        err, PLA_ERR_UNSUPPORTED,
        "the slices are unevenly spaced: from %s at %.2f mm to %s at %.2f mm it is %.3f mm, "
        "elsewhere %.3f mm; export an evenly spaced series",
        name_a, slice[k - 1].along, name_b, slice[k].along, gap, step);
  }
  return PLA_OK;
}

/* all positions must lie on the line through the first and the last; *worst in mm */
static PlaStatus
check_line(const PlaDicomFolder *folder, const PlaDicomSlice *slice, int n, const double step[3],
           double *worst, PlaError *err)
{
  double length = sqrt(dot(step, step));
  *worst = 0.0;
  for (int k = 0; k < n; k++) {
    double off[3];
    for (int d = 0; d < 3; d++)
      off[d] = slice[k].f.position[d] - slice[0].f.position[d] - k * step[d];
    double distance = sqrt(dot(off, off));
    *worst = fmax(*worst, distance);
    if (distance > 2.0 * place_tolerance(length)) {
      char name[300];
      return pla_fail(
          err, PLA_ERR_UNSUPPORTED,
          "slice %s at %.2f mm lies %.2f mm beside the line of the other slices; export an "
          "evenly spaced series",
          slice_name(folder, &slice[k], name), slice[k].along, distance);
    }
  }
  return PLA_OK;
}

/* Sorts the *n slices of one series, checks that they form a lattice and gives its affine. */
PlaStatus
pla_dicom_arrange(const PlaDicomFolder *folder, PlaDicomSlice *slice, int *n, double affine_mm[12],
                  PlaNotes *notes, PlaError *err)
{
  PlaStatus st = PLA_OK;
  double normal[3];
  for (int k = 0; k < *n && st == PLA_OK; k++)
    st = check_slice(folder, &slice[k], err);
  if (st != PLA_OK)
    return st;
  cross(slice[0].f.orientation, slice[0].f.orientation + 3, normal);
  for (int k = 0; k < *n; k++)
    slice[k].along = dot(slice[k].f.position, normal);
  for (int k = 1; k < *n && st == PLA_OK; k++)
    st = check_alike(folder, &slice[0], &slice[k], err);
  if (st != PLA_OK)
    return st;
  qsort(slice, (size_t)*n, sizeof *slice, compare_along);
  st = drop_copies(folder, slice, n, notes, err);

  /* the step from slice to slice */
  const PlaDicomFrame *first = &slice[0].f;
  double step[3] = { 0.0, 0.0, 0.0 };
  if (st == PLA_OK && *n == 1) {
    double thick = first->slice_step > 0.0 ? first->slice_step : 1.0;
    for (int d = 0; d < 3; d++)
      step[d] = thick * normal[d];
    pla_notes_add(notes, "the series has a single slice; its thickness is taken as %.3f mm%s",
                  thick, first->slice_step > 0.0 ? "" : ", which the file does not state");
  } else if (st == PLA_OK) {
    double worst = 0.0;
    for (int d = 0; d < 3; d++)
      step[d] = (slice[*n - 1].f.position[d] - first->position[d]) / (*n - 1);
    st = check_steps(folder, slice, *n, err);
    if (st == PLA_OK)
      st = check_line(folder, slice, *n, step, &worst, err);
    if (st == PLA_OK && worst > 1e-3)
      pla_notes_add(notes, "slice positions are rounded: up to %.3f mm from an even spacing",
                    worst);
    double tilt = acos(fmin(1.0, dot(step, normal) / sqrt(dot(step, step))));
    if (st == PLA_OK && tilt > 1e-4)
      pla_notes_add(notes,
                    "the slices are shifted against each other (gantry tilt of %.2f degrees); the "
                    "affine keeps this as shear",
                    tilt * 180.0 / M_PI);
  }
  if (st != PLA_OK)
    return st;

  /* LPS to RAS: the first two axes change sign */
  for (int d = 0; d < 3; d++) {
    double sign = d < 2 ? -1.0 : 1.0;
    affine_mm[4 * d + 0] = sign * first->orientation[d] * first->pixel_spacing[1];
    affine_mm[4 * d + 1] = sign * first->orientation[3 + d] * first->pixel_spacing[0];
    affine_mm[4 * d + 2] = sign * step[d];
    affine_mm[4 * d + 3] = sign * first->position[d];
  }
  return PLA_OK;
}
