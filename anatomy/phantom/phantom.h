/* Built-in phantoms: procedural anatomy and test solids at any spacing, the same bytes every time.
 *
 * A label phantom is sampled from an implicit model whose distances can also be asked directly;
 * a mesh phantom is a surface or a tet mesh whose element size is the spacing.  Label volumes and
 * everything named _mm are in RAS millimetres; meshes are in metres like all meshes. */
#pragma once

#include "anatomy/base/progress.h"
#include "anatomy/base/status.h"
#include "anatomy/mesh/mesh.h"
#include "anatomy/phantom/scene.h"
#include "anatomy/volume/volume.h"

typedef enum {
  PLA_PHANTOM_LABELS = 0,
  PLA_PHANTOM_MESH,
} PlaPhantomKind;

typedef struct {
  const char *name; /* what the user types */
  const char *title;
  const char *description; /* one sentence */
  double default_spacing_mm;
  PlaPhantomKind kind;
} PlaPhantomInfo;

/* The phantoms in the order they are listed; NULL past the last one. */
const PlaPhantomInfo *pla_phantom_get(int i);
const PlaPhantomInfo *pla_phantom_find(const char *name); /* or NULL */

typedef struct {
  char *name; /* owned */
  double pos_mm[3];
} PlaPhantomLandmark;

/* A line of fibres from origin to insertion.  Ends are named by their bone ("" in soft tissue); of
 * a bone whose two sides are labels of their own, the one on the muscle's side is meant. */
typedef struct {
  char *origin, *insertion; /* owned */
  int n_points;
  double *pos_mm;        /* owned (n_points x 3) */
  double *half_width_mm; /* owned (n_points): cross-section half axes along the path, */
  double *half_thick_mm; /* owned (n_points): across and through the band, */
  double *normal;        /* owned (n_points x 3): unit, through the band */
} PlaPhantomPath;

typedef struct {
  char *name; /* owned, without the side: "zygomaticus major" */
  PlaSide side;
  int label;            /* id in the label map */
  double stress_factor; /* peak isometric stress relative to skeletal muscle at large */
  int n_paths;
  PlaPhantomPath *path; /* owned */
} PlaPhantomMuscle;

/* A hinge: the line through from and to, patient's right to left.  The jaw's points are the
 * condyle centres, and each condyle may slide along @slide (unit, back to front) by slide_mm. */
typedef struct {
  char *name; /* owned */
  double from_mm[3], to_mm[3];
  double slide[3], slide_mm;
  double range_deg[2];  /* rotation from the pose shown; positive opens the jaw, bends the elbow */
  char *fixed, *moving; /* owned; names of the parts on both sides */
} PlaPhantomJoint;

typedef struct {
  PlaPhantomKind kind;
  PlaLabelMap *labels; /* owned; NULL for a mesh phantom */
  PlaMesh *mesh;       /* owned; NULL for a label phantom */
  int n_landmarks, n_muscles, n_joints;
  PlaPhantomLandmark *landmark; /* owned */
  PlaPhantomMuscle *muscle;     /* owned */
  PlaPhantomJoint *joint;       /* owned */
} PlaPhantom;

/* Makes phantom @name; @spacing_mm 0 takes its default.  PLA_ERR_USAGE for an unknown name or a
 * spacing that is not positive or too fine.  Release with pla_phantom_clear(). */
PlaStatus pla_phantom_make(const char *name, double spacing_mm, PlaProgress *progress,
                           PlaPhantom *out, PlaError *err);
void pla_phantom_clear(PlaPhantom *self);

/* The implicit model behind a label phantom, for exact level sets. */
typedef struct PlaPhantomModel PlaPhantomModel;

/* PLA_ERR_UNSUPPORTED for a mesh phantom.  Caller frees *out. */
PlaStatus pla_phantom_model_new(const char *name, PlaPhantomModel **out, PlaError *err);
void pla_phantom_model_free(PlaPhantomModel *self); /* NULL is fine */
const PlaShapeScene *pla_phantom_model_scene(const PlaPhantomModel *self);

/* Signed distance, mm, negative inside, of the region that carries @label at @pos_mm; its sign is
 * that of the label volume.  A positive number far away for an unknown label.  Any thread. */
double pla_phantom_distance(const PlaPhantomModel *self, int label, const double pos_mm[3]);
/* The same before parts lying over this one have taken theirs: muscles that interdigitate overlap
 * here, where the label volume must give each voxel to one. */
double pla_phantom_shape_distance(const PlaPhantomModel *self, int label, const double pos_mm[3]);
