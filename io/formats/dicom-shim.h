/* GDCM behind plain C: headers and pixels of one DICOM file.
 *
 * Called in helper processes only (io/stream/helper-process.h), because GDCM cannot be trusted with
 * hostile bytes.  No GDCM type and no exception comes out.  Lengths and axes stand as in the file:
 * millimetres, LPS. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#include "anatomy/base/status.h"

/* One frame of one file, flat so that it can go through a pipe. */
typedef struct {
  char series_uid[65], instance_uid[65];
  char modality[17], kernel[17], image_type[17]; /* coded words, never patient data */
  char identity[257]; /* names, numbers and dates of the patient; empty unless asked for */
  int32_t series_number;
  int32_t images_in_acquisition; /* 0: not stated */
  int32_t columns, rows;
  int32_t samples; /* per pixel: 1 for CT and MR */
  int32_t bits_allocated, bits_stored, high_bit;
  int32_t is_signed;
  int32_t is_grey, is_inverted; /* MONOCHROME2 or 1; MONOCHROME1 */
  int32_t is_packed;            /* compressed or deflated */
  int32_t is_lossy, has_lookup_table;
  int32_t frame, n_frames;
  int32_t has_position, has_orientation, has_pixel_spacing;
  double position[3];      /* of the first pixel's centre, mm LPS */
  double orientation[6];   /* unit vectors along a row and down a column, LPS */
  double pixel_spacing[2]; /* between rows, between columns; mm */
  double slice_step;       /* stated spacing, else thickness, of slices; mm; 0: not stated */
  double slope, inter;     /* value = slope * stored + inter */
} PlaDicomFrame;

/* All frames of a file, without pixels; *out is the caller's to free().  *n = 0 for DICOM files
 * without pictures. */
PlaStatus pla_dicom_shim_frames(const char *path, bool keep_identity, PlaDicomFrame **out, int *n,
                                PlaError *err);

/* Hands the stored values of the frames @frame[0..n) to @sink one after the other, each as
 * @frame_bytes bytes in native order, one or two bytes a value; stops when @sink returns false. */
typedef bool (*PlaDicomSink)(void *data, const void *pixels, size_t size);
PlaStatus pla_dicom_shim_pixels(const char *path, const int *frame, int n, size_t frame_bytes,
                                PlaDicomSink sink, void *data, PlaError *err);

#ifdef __cplusplus
}
#endif
