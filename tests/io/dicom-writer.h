/* Writes DICOM files for tests, through GDCM. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
  TEST_DICOM_EXPLICIT = 0,
  TEST_DICOM_IMPLICIT,
  TEST_DICOM_BIG_ENDIAN,
  TEST_DICOM_DEFLATED,
  TEST_DICOM_RLE,
  TEST_DICOM_JPEG_LOSSLESS,
  TEST_DICOM_JPEG_LS,
  TEST_DICOM_JPEG_2000,
  TEST_DICOM_N_SYNTAXES
} TestDicomSyntax;

/* One file.  Zeroed members get what a plain CT slice has. */
typedef struct {
  TestDicomSyntax syntax;
  int columns, rows;
  int n_frames; /* 0 and 1: a classic slice; more: an enhanced file */
  int samples;  /* 0: 1; 3: RGB */
  int bits_allocated, bits_stored;
  bool is_signed;
  const void *pixels; /* native byte order */
  double position[3]; /* LPS mm */
  double orientation[6];
  double pixel_spacing[2]; /* between rows, between columns, mm */
  double frame_step[3];    /* enhanced: from frame to frame, LPS mm */
  bool frames_reversed;    /* enhanced: the last frame lies at position */
  double slope, inter;     /* 0, 0: no rescale tags */
  int series;              /* 1, 2, ...: number and identifier */
  int instance;            /* 1, 2, ... */
  const char *patient;     /* written to every identifying element; NULL: none */
  bool without_pixels;     /* a report */
} TestDicom;

/* Aborts the test when GDCM refuses. */
void test_dicom_write(const char *path, const TestDicom *spec);

#ifdef __cplusplus
}
#endif
