/* What finding, arranging and reading the slices of DICOM folders share. */
#pragma once

#include "io/formats/dicom-shim.h"
#include "io/formats/format.h"

typedef struct {
  char *path;
  uint64_t size; /* bytes */
} PlaDicomFile;

typedef struct {
  int file; /* index into PlaDicomFolder.file */
  PlaDicomFrame f;
  double along; /* distance of the plane from the origin along the series' normal, mm */
} PlaDicomSlice;

/* All images below a path. */
typedef struct {
  int n_files;
  PlaDicomFile *file; /* ascending path */
  int n_slices;
  PlaDicomSlice *slice; /* series by series */
  int n_series;
  int *start;    /* slices of series s: start[s] .. start[s + 1] */
  int n_skipped; /* files that are not DICOM */
  int n_pictureless;
} PlaDicomFolder;

/* The file's name without its folder, borrowed. */
const char *pla_dicom_base_name(const char *path);
/* Sorts the *n slices of one series, checks that they form a lattice and gives its affine. */
PlaStatus pla_dicom_arrange(const PlaDicomFolder *folder, PlaDicomSlice *slice, int *n,
                            double affine_mm[12], PlaNotes *notes, PlaError *err);
