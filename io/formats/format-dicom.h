/* DICOM series: what a folder holds. */
#pragma once

#include "anatomy/base/progress.h"
#include "anatomy/base/status.h"

/* One series of a folder, told without anything that identifies the patient. */
typedef struct {
  int number;        /* as the scanner counts */
  char *modality;    /* "CT", "MR", ...; owned */
  char *description; /* "CT series 3, AXIAL, kernel H30s, 120 slices of 512 x 512"; owned */
  int n_slices;
  int dims[2]; /* columns, rows of the first slice */
} PlaDicomSeries;

/* In the order that PlaReadOptions.series counts: by number, then by identifier. */
typedef struct {
  int n;
  PlaDicomSeries *series;
} PlaDicomSeriesList;

/* The series in folder @path and the folders inside it, or the one series that file @path belongs
 * to.  @progress may be NULL.  On failure *out is empty. */
PlaStatus pla_dicom_list_series(const char *path, PlaProgress *progress, PlaDicomSeriesList *out,
                                PlaError *err);
void pla_dicom_series_list_clear(PlaDicomSeriesList *list);
