/* A right arm, hanging straight, palm forward; the elbow axis is the x axis.
 *
 * +x is lateral, +y anterior, +z towards the shoulder. */
#include "anatomy/phantom/phantom-private.h"

#include <string.h>

#define ADD PLA_SHAPE_ADD
#define CUT PLA_SHAPE_CUT
#define KEEP PLA_SHAPE_KEEP
#define BALL PLA_SHAPE_BALL
#define ROD PLA_SHAPE_ROD

enum {
  SKIN = 1,
  FAT,
  SOFT_TISSUE,
  HUMERUS,
  ULNA,
  RADIUS,
  SCAPULA,
  MUSCLES = 10,
};

static const PlaShapeRow surface_rows[] = {
  { ADD, BALL, 0, { 6, 0, 306, 50, 52, 52 } },
  { ADD, ROD, 30, { 0, 0, 290, 0, 2, 150, 48, 44 } },
  { ADD, ROD, 30, { 0, 2, 150, 0, 0, 20, 44, 37 } },
  { ADD, BALL, 20, { 0, -2, 2, 43, 36, 36 } },
  { ADD, ROD, 30, { 2, 4, -60, 2, 2, -250, 42, 27 } },
};
static const PlaShapeRow humerus_rows[] = {
  { ADD, BALL, 0, { -3, 0, 304, 23, 23, 23 } },
  { ADD, BALL, 8, { 12, 4, 298, 13, 15, 17 } },
  { ADD, ROD, 12, { 2, 0, 292, 1, 1, 180, 14, 11.5 } },
  { ADD, ROD, 8, { 1, 1, 180, 0, 1, 40, 11.5, 11 } },
  { ADD, ROD, 8, { 0, 1, 40, -1, 0, 10, 11, 10 } },
  { ADD, ROD, 12, { -27, 0, 10, 26, 0, 12, 7, 6 } },
  { ADD, ROD, 5, { -14, 1, 0, 20, 1, 0, 10, 9 } },
  { CUT, BALL, 3, { -5, -13, 12, 10, 9, 11 } }, /* olecranon fossa */
};
static const PlaShapeRow ulna_rows[] = {
  { ADD, ROD, 0, { -8, -17, 14, -8, -15, -8, 7.5, 8.5 } },
  { ADD, ROD, 8, { -8, -13, -10, -8, 6, -18, 8, 5 } }, /* coronoid process */
  { ADD, ROD, 8, { -8, -12, -14, -12, -6, -120, 9, 6.5 } },
  { ADD, ROD, 6, { -12, -6, -120, -16, -3, -252, 6.5, 6 } },
  { CUT, ROD, 2, { -40, 1, 0, 40, 1, 0, 12, 12 } },
};
static const PlaShapeRow radius_rows[] = {
  { ADD, ROD, 0, { 15, 1, -14.5, 15, 1, -18, 9, 9.5 } },
  { ADD, ROD, 5, { 15, 1, -20, 13, 2, -44, 6.5, 6.5 } },
  { ADD, BALL, 3, { 10, 6, -42, 5, 4, 8 } }, /* tuberosity */
  { ADD, ROD, 8, { 13, 2, -44, 18, 2, -140, 6.5, 7 } },
  { ADD, ROD, 8, { 18, 2, -140, 13, 3, -252, 7, 11 } },
  { CUT, ROD, 1, { -40, 1, 0, 40, 1, 0, 11.5, 11.5 } },
};
static const PlaShapeRow scapula_rows[] = {
  { ADD, BALL, 0, { -36, -2, 306, 9, 15, 20 } },
  { ADD, BALL, 6, { -28, -2, 328, 9, 9, 7 } },
  { ADD, ROD, 6, { -34, 4, 326, -16, 26, 326, 6, 5 } }, /* coracoid */
  { CUT, BALL, 1, { -3, 0, 304, 25.5, 25.5, 25.5 } },
};

#define P(x, y, z, w)                                                                              \
  {                                                                                                \
    { x, y, z }, 0, w                                                                              \
  }

static const PlaMuscleRow brachialis[] = {
  { "brachialis",
    "humerus",
    "ulna",
    11,
    1,
    { 0, 1, 0 },
    5,
    { P(2, 13, 165, 8), P(1, 19, 120, 24), P(0, 20, 65, 25), P(-3, 19, 18, 15),
      P(-8, 7, -20, 4) } },
};
static const PlaMuscleRow triceps[] = {
  { "triceps brachii",
    "scapula",
    "ulna",
    11,
    1,
    { 0, 1, 0 },
    6,
    { P(-30, -14, 296, 5), P(-18, -26, 250, 12), P(-14, -29, 190, 17), P(-11, -28, 120, 16),
      P(-9, -23, 55, 11), P(-8, -24, 14, 6) } },
  { "triceps brachii",
    "humerus",
    "ulna",
    11,
    1,
    { 0, 1, 0 },
    6,
    { P(10, -12, 262, 6), P(17, -23, 220, 12), P(17, -26, 170, 15), P(10, -26, 110, 15),
      P(-4, -22, 50, 10), P(-8, -24, 14, 6) } },
  { "triceps brachii",
    "humerus",
    "ulna",
    9,
    1,
    { 0, 1, 0 },
    4,
    { P(-2, -12, 170, 6), P(-4, -20, 120, 14), P(-6, -20, 60, 12), P(-8, -24, 14, 6) } },
};
static const PlaMuscleRow biceps[] = {
  { "biceps brachii",
    "scapula",
    "radius",
    12,
    1,
    { 0, 1, 0 },
    8,
    { P(-24, 2, 333, 2.6), P(4, 20, 327, 2.6), P(13, 25, 296, 3), P(11, 31, 240, 8),
      P(9, 35, 180, 14), P(6, 36, 110, 14), P(8, 27, 35, 5), P(10, 10, -42, 3) } },
  { "biceps brachii",
    "scapula",
    "radius",
    12,
    1,
    { 0, 1, 0 },
    7,
    { P(-16, 28, 324, 3), P(-13, 31, 290, 4), P(-10, 33, 240, 9), P(-9, 36, 180, 14),
      P(-5, 36, 110, 14), P(5, 27, 35, 5), P(9, 10, -42, 3) } },
};

void
pla_phantom_build_arm(PlaPhantomModel *model)
{
  static const double lo[3] = { -62, -60, -255 }, hi[3] = { 62, 60, 362 };
  memcpy(model->lo_mm, lo, sizeof lo);
  memcpy(model->hi_mm, hi, sizeof hi);
  PlaShapeScene *s = model->scene;
  const int surface = pla_scene_add_part(s, "arm guide", 0, PLA_SIDE_NONE, NULL);
  pla_scene_add_rows(s, PLA_ROWS(surface_rows));
  const int humerus = pla_scene_add_part(s, "humerus", 0, PLA_SIDE_NONE, NULL);
  pla_scene_add_rows(s, PLA_ROWS(humerus_rows));
  const int ulna = pla_scene_add_part(s, "ulna", 0, PLA_SIDE_NONE, NULL);
  pla_scene_add_rows(s, PLA_ROWS(ulna_rows));
  const int radius = pla_scene_add_part(s, "radius", 0, PLA_SIDE_NONE, NULL);
  pla_scene_add_rows(s, PLA_ROWS(radius_rows));
  const int scapula = pla_scene_add_part(s, "scapula", 0, PLA_SIDE_NONE, NULL);
  pla_scene_add_rows(s, PLA_ROWS(scapula_rows));

  pla_scene_add_part(s, "skin", SKIN, PLA_SIDE_NONE, (uint8_t[4]){ 232, 190, 164, 255 });
  pla_scene_add_ref(s, ADD, 0.0, surface, 0.0);
  pla_scene_add_part(s, "fat", FAT, PLA_SIDE_NONE, (uint8_t[4]){ 245, 222, 140, 255 });
  pla_scene_add_ref(s, ADD, 0.0, surface, 1.8);
  pla_scene_add_part(s, "soft tissue", SOFT_TISSUE, PLA_SIDE_NONE,
                     (uint8_t[4]){ 196, 120, 110, 255 });
  pla_scene_add_ref(s, ADD, 0.0, surface, 5.0);
  const PlaMuscleBed bed = { -1, { humerus, ulna, radius, -1 }, 0.0 };
  pla_phantom_add_muscle_side(model, PLA_ROWS(brachialis), PLA_SIDE_NONE, MUSCLES, &bed,
                              (uint8_t[4]){ 170, 60, 70, 255 });
  pla_phantom_add_muscle_side(model, PLA_ROWS(triceps), PLA_SIDE_NONE, MUSCLES + 1, &bed,
                              (uint8_t[4]){ 190, 80, 60, 255 });
  pla_phantom_add_muscle_side(model, PLA_ROWS(biceps), PLA_SIDE_NONE, MUSCLES + 2, &bed,
                              (uint8_t[4]){ 205, 60, 60, 255 });
  static const struct {
    const char *name;
    int label;
  } bones[] = {
    { "humerus", HUMERUS }, { "ulna", ULNA }, { "radius", RADIUS }, { "scapula", SCAPULA }
  };
  const int guides[] = { humerus, ulna, radius, scapula };
  for (int i = 0; i < 4; i++) {
    pla_scene_add_part(s, bones[i].name, bones[i].label, PLA_SIDE_NONE,
                       (uint8_t[4]){ 236, (uint8_t)(226 - 6 * i), (uint8_t)(200 - 10 * i), 255 });
    pla_scene_add_ref(s, ADD, 0.0, guides[i], 0.0);
  }
  pla_phantom_note_landmark(model, "lateral epicondyle", (double[3]){ 32, 0, 12 });
  pla_phantom_note_landmark(model, "medial epicondyle", (double[3]){ -34, 0, 10 });
  pla_phantom_note_landmark(model, "shoulder centre", (double[3]){ -3, 0, 304 });
  pla_phantom_note_landmark(model, "wrist centre", (double[3]){ 0, 1, -252 });
  pla_phantom_note_joint(model, &(PlaPhantomJoint){ .name = (char *)"elbow",
                                                    .from_mm = { 30, 1, 0 },
                                                    .to_mm = { -30, 1, 0 },
                                                    .range_deg = { 0, 145 },
                                                    .fixed = (char *)"humerus",
                                                    .moving = (char *)"ulna" });
}
