/* Image volumes and label maps.
 *
 * Voxel (i, j, k) of frame t stands at index i + dims[0] * (j + dims[1] * (k + dims[2] * t)) and
 * its centre at affine_mm * (i, j, k, 1) in RAS millimetres: +x right, +y anterior, +z superior of
 * the patient.  Any invertible affine is fine, sheared and oblique ones too. */
#pragma once

#include "anatomy/base/dtype.h"
#include "anatomy/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where the affine came from. */
typedef enum {
  PLA_FRAME_NONE = 0, /* nothing stated: voxel sizes only, axes assumed */
  PLA_FRAME_PIXDIM,   /* NIfTI method 1 */
  PLA_FRAME_QFORM,    /* NIfTI method 2 */
  PLA_FRAME_SFORM,    /* NIfTI method 3 */
  PLA_FRAME_DICOM,    /* image position and orientation */
  PLA_FRAME_MADE,     /* a phantom, or computed here */
} PlaFrameSource;

/* What the file said about its frame, kept so that it can be audited and written back unchanged.
 * Numbers stand as in the file (a NIfTI-1 file's are float32 values). */
typedef struct {
  PlaFrameSource source; /* the form that affine_mm was taken from */
  int nifti_version;     /* 1, 2, or 0 where the volume was not read from NIfTI */
  int qform_code, sform_code, xyzt_units;
  double pixdim[8];
  double quatern[3]; /* b, c, d */
  double qoffset[3];
  double srow[12];        /* rows x, y, z */
  double qform_mm[12];    /* the affine that the qform gives; zeros when not coded or unusable */
  double sform_mm[12];    /* the same of the sform */
  double disagreement_mm; /* largest corner distance between both forms; 0 unless both are usable */
  double nonorthogonality; /* largest |cosine| between two axes of affine_mm: 0 is orthogonal */
} PlaFrameAudit;

typedef struct {
  int dims[4]; /* i, j, k, t; each >= 1 */
  PlaDType dtype;
  void *voxels;         /* dims[0] x dims[1] x dims[2] x dims[3] of dtype, i fastest */
  double slope, inter;  /* value = slope * stored + inter; 1, 0 when the file gives none */
  double affine_mm[12]; /* voxel index -> RAS mm, rows x, y, z */
  double frame_step_s;  /* seconds between frames when dims[3] > 1, else 0 */
  PlaFrameAudit audit;
  char *description; /* owned, may be NULL; never patient data */
} PlaVolume;

/* Empty (zeroed) voxels, identity affine.  PLA_ERR_MEMORY when it does not fit. */
PlaStatus pla_volume_new(const int dims[4], PlaDType dtype, PlaVolume **out, PlaError *err);
/* The same around @voxels (dims x dtype, from malloc), which the volume owns from now on; on
 * failure they stay the caller's.  NULL where they are still to be read. */
PlaStatus pla_volume_new_take(const int dims[4], PlaDType dtype, void *voxels, PlaVolume **out,
                              PlaError *err);
PlaStatus pla_volume_dup(const PlaVolume *vol, PlaVolume **out, PlaError *err);
void pla_volume_free(PlaVolume *vol); /* NULL is fine */

size_t pla_volume_n_voxels(const PlaVolume *vol); /* all frames */
size_t pla_volume_n_bytes(const PlaVolume *vol);
double pla_volume_voxel_mm3(const PlaVolume *vol); /* |det| of the affine */
void pla_volume_spacing_mm(const PlaVolume *vol, double spacing[3]);
/* Three letters such as "RAS" or "LPI": the patient side each index axis mostly points to. */
void pla_volume_orientation(const PlaVolume *vol, char letters[4]);
void pla_volume_to_ras_mm(const PlaVolume *vol, const double ijk[3], double ras_mm[3]);
/* PLA_ERR_GEOMETRY when the affine is singular. */
PlaStatus pla_volume_to_index(const PlaVolume *vol, const double ras_mm[3], double ijk[3],
                              PlaError *err);
/* Smallest and largest value (slope and inter applied, NaN skipped) over all frames. */
void pla_volume_range(const PlaVolume *vol, double *lo, double *hi);
/* Fills audit.nonorthogonality and, where both forms are usable, disagreement_mm. */
void pla_volume_audit_frame(PlaVolume *vol);

/* inverse of a 3x4 affine; false when singular or not finite */
bool pla_affine_invert(const double a[12], double inv[12]);
void pla_affine_apply(const double a[12], const double p[3], double q[3]);
/* Largest distance between the places that two affines give a corner voxel, mm; NaN if any is. */
double pla_affine_distance(const int dims[4], const double a[12], const double b[12]);

/* One tissue in a label map. */
typedef struct {
  int id;          /* the voxel value; 0 is background and has no entry */
  char *name;      /* owned, UTF-8 */
  uint8_t rgba[4]; /* display colour */
} PlaLabel;

/* Names and colours; labels are kept in ascending id. */
typedef struct {
  int n;
  PlaLabel *label;
} PlaLabelTable;

void pla_label_table_clear(PlaLabelTable *table);
/* Adds or renames; @rgba NULL gives a colour from the built-in palette. */
PlaStatus pla_label_table_set(PlaLabelTable *table, int id, const char *name, const uint8_t rgba[4],
                              PlaError *err);
const PlaLabel *pla_label_table_find(const PlaLabelTable *table, int id); /* or NULL */
const PlaLabel *pla_label_table_find_name(const PlaLabelTable *table, const char *name);
PlaStatus pla_label_table_dup(const PlaLabelTable *table, PlaLabelTable *out, PlaError *err);

/* A segmented volume: one integer per voxel, single frame. */
typedef struct {
  PlaVolume *volume; /* owned; dtype uint8 or uint16, dims[3] = 1, slope 1, inter 0 */
  PlaLabelTable table;
} PlaLabelMap;

void pla_label_map_free(PlaLabelMap *map); /* NULL is fine */
/* Takes @volume (any integer type, or floats that hold integers; values 0..65535, else
 * PLA_ERR_UNSUPPORTED and @volume stays the caller's), narrows it to uint8 or uint16 and gives
 * every id in use a table entry ("label 7" when @table, which is copied and may be NULL, has no
 * name for it). */
PlaStatus pla_label_map_take(PlaVolume *volume, const PlaLabelTable *table, PlaLabelMap **out,
                             PlaError *err);
int pla_label_map_get(const PlaLabelMap *map, size_t voxel);
/* voxel counts for ids 0..65535; @counts has 65536 entries */
void pla_label_map_count(const PlaLabelMap *map, size_t *counts);
