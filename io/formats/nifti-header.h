/* NIfTI headers: bytes to numbers and back, and the frame they mean.  Private to the NIfTI format.
 *
 * nifticlib gives the header structs, their byte swapping, the names of types and the quaternion of
 * a matrix, all on memory of fixed size; what a file claims is checked here. */
#pragma once

#include "io/formats/format.h"

#include <nifti2_io.h>

enum {
  PLA_NIFTI_SIZE_1 = 348, /* bytes of the headers; four more are the extension flag */
  PLA_NIFTI_SIZE_2 = 540,
};

/* A header of either version, checked. */
typedef struct {
  int version;   /* 1 or 2 */
  bool swapped;  /* other byte order than this machine's */
  bool pair;     /* the voxels are in a second file */
  bool extended; /* more than the header lies before the voxels */
  int dims[4];
  PlaDType dtype;
  nifti_2_header h; /* the wider of the two holds both */
} PlaNiftiHeader;

/* How many bytes the header that starts with the @n bytes @raw has; 0 when it is neither NIfTI nor
 * ANALYZE. */
size_t pla_nifti_header_size(const uint8_t *raw, size_t n);
/* Whether the @n first bytes of a file are NIfTI. */
bool pla_nifti_header_probe(const uint8_t *raw, size_t n);
/* @path is for sentences; its ending tells ANALYZE from a damaged header. */
PlaStatus pla_nifti_header_parse(const char *path, const uint8_t *raw, size_t n,
                                 PlaNiftiHeader *out, PlaNotes *notes, PlaError *err);
/* Fills the affine, the audit and the frame step of @vol, whose dims are set.  @unit_mm is the
 * length unit of a file that states none. */
PlaStatus pla_nifti_frame_read(const char *path, const PlaNiftiHeader *header, double unit_mm,
                               PlaVolume *vol, PlaNotes *notes, PlaError *err);

/* The version to write @vol in: as asked, as read, or 2 where 1 would lose something. */
PlaStatus pla_nifti_choose_version(const char *path, const PlaVolume *vol,
                                   const PlaWriteOptions *opts, int *out, PlaError *err);
/* The header as bytes, the extension flag included; returns their number. */
size_t pla_nifti_header_make(const PlaItem *item, int version, bool pair, bool swap,
                             uint8_t raw[PLA_NIFTI_SIZE_2 + 4]);
