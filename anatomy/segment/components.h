/* Connected components of voxel masks, and what follows from them: largest piece, holes.
 *
 * A mask is dims[0] x dims[1] x dims[2] bytes, i fastest; any non-zero byte is inside.  Components
 * are numbered from 1 by falling size, equal sizes by their first voxel, so the numbers depend on
 * the mask alone. */
#pragma once

#include "anatomy/base/progress.h"
#include "anatomy/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Voxels that touch: by a face; a face or an edge; a face, an edge or a corner. */
typedef enum {
  PLA_CONNECT_FACES = 6,
  PLA_CONNECT_EDGES = 18,
  PLA_CONNECT_CORNERS = 26,
} PlaConnectivity;

typedef struct {
  size_t n_voxels;
  size_t first;     /* index of its first voxel */
  int lo[3], hi[3]; /* bounding box, both corners included */
  unsigned faces;   /* PLA_FACE_* of the volume that it reaches */
} PlaComponent;

/* The six faces of a volume: the first and last index of each axis. */
enum {
  PLA_FACE_I0 = 1 << 0,
  PLA_FACE_I1 = 1 << 1,
  PLA_FACE_J0 = 1 << 2,
  PLA_FACE_J1 = 1 << 3,
  PLA_FACE_K0 = 1 << 4,
  PLA_FACE_K1 = 1 << 5,
};

/* Components of the voxels with mask == value (or, with @inverse, mask != value).  number[v] is 0
 * outside, else the component.  @list, when not NULL, receives *n_out entries in the order of the
 * numbers (component c is entry c - 1); caller frees it.  PLA_ERR_UNSUPPORTED beyond 2^32 - 2
 * voxels. */
PlaStatus pla_components_find(const int dims[3], const uint8_t *mask, uint8_t value, bool inverse,
                              PlaConnectivity connectivity, PlaProgress *progress, uint32_t *number,
                              size_t *n_out, PlaComponent **list, PlaError *err);

/* Clears all but the largest component.  *n_kept: its voxels, 0 when the mask is empty. */
PlaStatus pla_mask_keep_largest(const int dims[3], uint8_t *mask, PlaConnectivity connectivity,
                                PlaProgress *progress, size_t *n_kept, PlaError *err);

/* Fills the background that cannot reach an open face of the volume.  @closed_faces (PLA_FACE_*)
 * count as walls: where the scan cuts through a body, close that face and the cavities that run
 * out of it are filled too.  @connectivity is the mask's; the background uses the dual one
 * (6 against 18 or 26, 26 against 6).  *n_filled may be NULL. */
PlaStatus pla_mask_fill_holes(const int dims[3], uint8_t *mask, PlaConnectivity connectivity,
                              unsigned closed_faces, PlaProgress *progress, size_t *n_filled,
                              PlaError *err);

/* The same in two dimensions, slice by slice across @axis (0, 1, 2): what opens only above or
 * below a slice is filled. */
PlaStatus pla_mask_fill_slices(const int dims[3], uint8_t *mask, int axis,
                               PlaConnectivity connectivity, PlaProgress *progress,
                               size_t *n_filled, PlaError *err);

/* Clears the components, or with @holes fills the background components, of fewer than @min_voxels.
 * Holes use the dual connectivity. */
PlaStatus pla_mask_drop_small(const int dims[3], uint8_t *mask, PlaConnectivity connectivity,
                              bool holes, size_t min_voxels, PlaProgress *progress, PlaError *err);

size_t pla_mask_count(const int dims[3], const uint8_t *mask);
