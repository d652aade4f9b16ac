/* Marker layouts as tables: across and height on the face, seen from the front. */
#include "sim/bodies/marker-layout.h"

#include "anatomy/base/memory.h"
#include "anatomy/phantom/phantom.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  const char *name;
  double x_mm, z_mm; /* 0: on the midline, else on both sides */
} FacePlace;

static const FacePlace face_places[] = {
  { "forehead-top", 0, 72 },    { "forehead", 0, 55 },
  { "glabella", 0, 37 },        { "sellion", 0, 22 },
  { "nose-bridge", 0, 3 },      { "nose-tip", 0, -18 },
  { "subnasale", 0, -33 },      { "lip-upper", 0, -41 },
  { "lip-lower", 0, -60 },      { "chin-fold", 0, -68 },
  { "chin", 0, -78 },           { "chin-low", 0, -86 },
  { "menton", 0, -92 },         { "forehead-in", 15, 70 },
  { "forehead-out", 35, 66 },   { "brow-over-in", 15, 55 },
  { "brow-over-out", 35, 52 },  { "brow-in", 12, 40 },
  { "brow-mid", 24, 42 },       { "brow-out", 38, 40 },
  { "temple", 50, 34 },         { "lid-in", 18, -2 },
  { "lid-mid", 31, -5 },        { "lid-out", 45, 0 },
  { "nose-side", 9, 2 },        { "nose-wing-over", 12, -13 },
  { "nose-wing", 15, -22 },     { "cheek-in-top", 28, -14 },
  { "cheek-mid-top", 42, -14 }, { "cheek-in", 24, -26 },
  { "cheek-mid", 36, -28 },     { "cheek-out", 48, -30 },
  { "cheek-back", 57, -34 },    { "lip-upper-in", 10, -41 },
  { "lip-upper-out", 19, -44 }, { "mouth-corner", 31, -51 },
  { "lip-lower-out", 19, -58 }, { "lip-lower-in", 10, -60 },
  { "cheek-low", 39, -44 },     { "jaw-back", 50, -50 },
  { "jaw-mid", 30, -64 },       { "jaw-out", 42, -64 },
  { "chin-side-top", 13, -70 }, { "chin-side", 11, -83 },
  { "jaw-front", 24, -77 },     { "jaw-low", 36, -80 },
};

enum { N_FACE_PLACES = sizeof face_places / sizeof face_places[0] };
enum { TONGUE_ROWS = 5, TONGUE_COLUMNS = 4 };

typedef struct {
  int n;
  bool short_of_memory;
  char *name[2 * N_FACE_PLACES];     /* owned; most places are on both sides */
  double pos[2 * N_FACE_PLACES * 3]; /* m */
} Points;
_Static_assert(TONGUE_ROWS *TONGUE_COLUMNS + 2 <= 2 * N_FACE_PLACES, "the tongue's points fit");

/* owns @name */
static void
add_point(Points *to, char *name, const double p_mm[3])
{
  to->short_of_memory |= !name;
  to->name[to->n] = name;
  for (int d = 0; d < 3; d++)
    to->pos[3 * to->n + d] = p_mm[d] / 1000.0;
  to->n++;
}

/* the outermost point of @part in front of (x, z) */
static void
face_points(const PlaShapeScene *scene, Points *to)
{
  const int skin = pla_scene_find_name(scene, "skin");
  for (int i = 0; i < N_FACE_PLACES; i++) {
    const FacePlace *f = &face_places[i];
    double p[3] = { f->x_mm, 130.0, f->z_mm };
    while (p[1] > 0.0 && pla_scene_distance(scene, skin, p) > 0.05)
      p[1] -= 0.05;
    if (f->x_mm == 0.0) {
      add_point(to, pla_strdup(f->name), p);
      continue;
    }
    add_point(to, pla_strdup_printf("%s-R", f->name), p);
    p[0] = -p[0];
    add_point(to, pla_strdup_printf("%s-L", f->name), p);
  }
}

static void
tongue_points(const PlaShapeScene *scene, Points *to)
{
  static const char *const rows[TONGUE_ROWS] = { "rear", "dorsum-rear", "dorsum", "blade-rear",
                                                 "blade" };
  const int tongue = pla_scene_find_name(scene, "tongue body");
  double tip[3] = { 0, 79, -52 }, front[3] = { 0, 75, -47 };
  for (int r = 0; r < TONGUE_ROWS; r++)
    for (int c = 0; c < TONGUE_COLUMNS; c++) {
      static const char *const columns[TONGUE_COLUMNS] = { "RR", "R", "L", "LL" };
      double p[3] = { 13.0 - 26.0 / 3.0 * c, 38.0 + 8.0 * r, -36.0 };
      pla_scene_snap(scene, tongue, 0.0, p);
      add_point(to, pla_strdup_printf("%s-%s", rows[r], columns[c]), p);
    }
  pla_scene_snap(scene, tongue, 0.0, front);
  add_point(to, pla_strdup("front"), front);
  pla_scene_snap(scene, tongue, 0.0, tip);
  add_point(to, pla_strdup("tip"), tip);
}

PlaStatus
pla_marker_layout(const char *body, const PlaMesh *mesh, PlaMarkerSet *out, PlaError *err)
{
  const bool face = strcmp(body, "face") == 0;
  PlaPhantomModel *model = NULL;
  PlaStatus st = pla_phantom_model_new(face ? "head" : body, &model, err);
  if (st != PLA_OK)
    return st;
  Points *points = pla_array_new0(1, sizeof *points);
  if (points && face)
    face_points(pla_phantom_model_scene(model), points);
  else if (points && strcmp(body, "tongue") == 0)
    tongue_points(pla_phantom_model_scene(model), points);
  pla_phantom_model_free(model);
  st = points && !points->short_of_memory
           ? pla_marker_set_bind(mesh, points->n, (const char *const *)points->name, points->pos,
                                 true, out, err)
           : pla_fail_memory(err, "the markers");
  for (int i = 0; points && i < points->n; i++)
    free(points->name[i]);
  free(points);
  return st;
}
