/* The head and upper neck: soft tissues, airway and muscles around the bones of head-bones.c.
 *
 * Parts are added from the outside in, later ones over earlier ones: skin, fat, soft tissue, the
 * muscles from deep to superficial, then organs, airway, bones, teeth.  Left and right mirror each
 * other except for one nodule on the left cheek, by which a flipped image is seen. */
#include "anatomy/phantom/phantom-private.h"

#include <stdio.h>
#include <string.h>

#define ADD PLA_SHAPE_ADD
#define CUT PLA_SHAPE_CUT
#define KEEP PLA_SHAPE_KEEP
#define BALL PLA_SHAPE_BALL
#define BRICK PLA_SHAPE_BRICK
#define ROD PLA_SHAPE_ROD
#define PLANE PLA_SHAPE_PLANE
#define DISC PLA_SHAPE_DISC

#define SKIN_MM 1.8  /* epidermis and dermis */
#define LAYER_MM 4.5 /* skin and subcutaneous fat where no pad thickens it */

enum {
  SKIN = 1,
  FAT,
  SOFT_TISSUE,
  SKULL,
  MANDIBLE,
  HYOID,
  SPINE,
  BRAIN,
  CORD,
  FLUID,
  EYE_RIGHT, /* left: + 1 */
  IRIS_RIGHT = EYE_RIGHT + 2,
  ORBIT_RIGHT = IRIS_RIGHT + 2,
  TONGUE = ORBIT_RIGHT + 2,
  AIRWAY,
  UPPER_LIP,
  LOWER_LIP,
  SOFT_PALATE,
  GINGIVA, /* lower: + 1 */
  NOSE_CARTILAGE = GINGIVA + 2,
  EAR_RIGHT,
  DISC_RIGHT = EAR_RIGHT + 2,
  SINUS_RIGHT = DISC_RIGHT + 2,
  LARYNX = SINUS_RIGHT + 2,
  NODULE,
  TEETH = 50,    /* 28 of them */
  MUSCLES = 100, /* right, left, right, left, ... */
};

/* ---- muscles, deep ones first ---- */

#define M(...)                                                                                     \
  {                                                                                                \
    __VA_ARGS__                                                                                    \
  }

static const PlaMuscleRow muscle_rows[] = {
  /* name, origin, insertion, half thickness, stress, ribbon normal, control points */
  { "temporalis",
    "skull",
    "mandible",
    3.2,
    1.0,
    { 0 },
    4,
    { M({ 58, 52, 42 }, 8, 10), M({ 62, 50, 22 }, 13, 11), M({ 58, 46, 4 }, 18, 8),
      M({ 49, 39, -7 }, 20, 4) } },
  { "temporalis",
    "skull",
    "mandible",
    3.2,
    1.0,
    { 0 },
    4,
    { M({ 70, 18, 58 }, 8, 15), M({ 67, 26, 34 }, 10, 14), M({ 58, 40, 6 }, 18, 8),
      M({ 49, 38, -8 }, 20, 4) } },
  { "temporalis",
    "skull",
    "mandible",
    3.2,
    1.0,
    { 0 },
    5,
    { M({ 72, -20, 48 }, 8, 15), M({ 70, 4, 32 }, 9, 12), M({ 64, 24, 18 }, 12, 9),
      M({ 57, 38, 4 }, 18, 6), M({ 49, 37, -9 }, 20, 4) } },
  { "lateral pterygoid",
    "skull",
    "mandible",
    3.5,
    1.0,
    { 0, 0, 1 },
    3,
    { M({ 20, 40, -14 }, 0, 7), M({ 34, 28, -13 }, 0, 6), M({ 46, 17, -12 }, 0, 4) } },
  { "medial pterygoid",
    "skull",
    "mandible",
    3.6,
    1.0,
    { 1, 0, 0 },
    3,
    { M({ 21, 39, -22 }, 0, 3), M({ 32, 30, -38 }, 0, 8), M({ 42, 18, -58 }, 0, 8) } },
  { "buccinator",
    "skull",
    NULL,
    1.2,
    0.6,
    { 0 },
    4,
    { M({ 33, 44, -34 }, 18, 8), M({ 38, 58, -46 }, 15, 11), M({ 34, 76, -49 }, 9, 8),
      M({ 29, 84, -50 }, 6, 5) } },
  { "levator anguli oris",
    "skull",
    NULL,
    1.1,
    0.6,
    { 0 },
    4,
    { M({ 24, 80, -14 }, 10, 3), M({ 25, 84, -26 }, 8.5, 4), M({ 27, 87, -38 }, 7, 4),
      M({ 28.5, 88, -47 }, 5.5, 3) } },
  { "mentalis",
    "mandible",
    NULL,
    2.0,
    0.6,
    { 0 },
    3,
    { M({ 6, 87, -72 }, 9, 4), M({ 7, 92, -78 }, 6, 4.5), M({ 8, 96, -85 }, 3.8, 5) } },
  { "masseter",
    "skull",
    "mandible",
    4.4,
    1.0,
    { 0 },
    4,
    { M({ 56, 48, -13 }, 9, 13), M({ 57, 40, -28 }, 9, 15), M({ 54, 28, -46 }, 9, 15),
      M({ 51, 20, -61 }, 9, 12) } },
  { "nasalis",
    "skull",
    NULL,
    1.1,
    0.5,
    { 0 },
    4,
    { M({ 15, 86, -20 }, 9, 3), M({ 12, 95, -12 }, 3.2, 3.4), M({ 8, 102, -6 }, 3, 4.5),
      M({ 3, 107, -1 }, 3, 5) } },
  { "orbicularis oris superior",
    NULL,
    NULL,
    1.5,
    0.6,
    { 0 },
    4,
    { M({ 28.5, 88, -48 }, 4.6, 2.2), M({ 20, 91, -43 }, 4.6, 4), M({ 10, 99, -39 }, 4.6, 5),
      M({ 0.8, 100.5, -38.5 }, 4.6, 5) } },
  { "orbicularis oris inferior",
    NULL,
    NULL,
    1.5,
    0.6,
    { 0 },
    4,
    { M({ 28.5, 88, -54 }, 4.6, 2.2), M({ 20, 88, -58.5 }, 4.6, 4), M({ 10, 94, -62 }, 4.6, 4.4),
      M({ 0.8, 95, -62.5 }, 4.6, 4.4) } },
  { "corrugator supercilii",
    "skull",
    NULL,
    1.1,
    0.5,
    { 0 },
    3,
    { M({ 8, 97, 30 }, 6, 3), M({ 18, 96, 33 }, 5.2, 3.5), M({ 30, 91, 38 }, 4, 4) } },
  { "depressor labii inferioris",
    "mandible",
    NULL,
    1.1,
    0.6,
    { 0 },
    4,
    { M({ 22, 82, -86 }, 8, 7), M({ 19, 89, -77 }, 6.5, 6.5), M({ 15, 94, -67 }, 5.5, 6),
      M({ 12, 99, -61 }, 3.2, 5) } },
  { "levator labii superioris",
    "skull",
    NULL,
    1.1,
    0.6,
    { 0 },
    4,
    { M({ 27, 80, -4 }, 8, 4), M({ 25, 86, -16 }, 6.2, 5), M({ 21, 93, -28 }, 4.6, 5),
      M({ 15, 101, -38 }, 3.1, 4) } },
  { "zygomaticus minor",
    "skull",
    NULL,
    1.1,
    0.6,
    { 0 },
    4,
    { M({ 41, 72, -10 }, 8, 3), M({ 36, 79, -21 }, 6.2, 3), M({ 28, 88, -32 }, 4.8, 3),
      M({ 20, 97, -40 }, 3.1, 3) } },
  { "risorius",
    NULL,
    NULL,
    1.0,
    0.5,
    { 0 },
    4,
    { M({ 57, 32, -44 }, 4.2, 5), M({ 50, 56, -49 }, 4.4, 5), M({ 40, 76, -51 }, 4.2, 4),
      M({ 31, 86, -51 }, 3.4, 3) } },
  { "zygomaticus major",
    "skull",
    NULL,
    1.2,
    0.7,
    { 0 },
    4,
    { M({ 50, 62, -13 }, 8, 4), M({ 44, 73, -26 }, 5.4, 4), M({ 36, 83, -39 }, 4.2, 4),
      M({ 30, 87, -48 }, 3.3, 3) } },
  { "depressor anguli oris",
    "mandible",
    NULL,
    1.1,
    0.6,
    { 0 },
    4,
    { M({ 33, 70, -84 }, 8, 9), M({ 33, 78, -72 }, 4.6, 7), M({ 32, 84, -61 }, 3.6, 5),
      M({ 30, 87, -53 }, 3.2, 3) } },
  { "orbicularis oculi",
    "skull",
    NULL,
    1.0,
    0.5,
    { 0 },
    8,
    { M({ 14, 86, 14 }, 5, 3), M({ 17, 90, 25 }, 3.6, 4.2), M({ 32, 88, 28 }, 3.2, 5),
      M({ 48, 78, 22 }, 3.2, 5.2), M({ 51, 74, 10 }, 3.2, 5.2), M({ 45, 78, -3 }, 3.2, 5),
      M({ 29, 87, -3 }, 3.2, 4.2), M({ 17, 89, 6 }, 3.4, 3.2) } },
  { "levator labii superioris alaeque nasi",
    "skull",
    NULL,
    1.0,
    0.5,
    { 0 },
    4,
    { M({ 9, 90, 6 }, 6, 2.2), M({ 13, 92, -4 }, 3.6, 2.4), M({ 20, 93, -17 }, 3.1, 2.6),
      M({ 17, 100, -31 }, 3, 3) } },
  { "procerus",
    "skull",
    NULL,
    1.0,
    0.5,
    { 0 },
    3,
    { M({ 3, 104, 8 }, 4, 2.6), M({ 3.2, 98, 20 }, 3.4, 3), M({ 3.4, 101, 34 }, 3.1, 3) } },
  { "frontalis",
    NULL,
    NULL,
    1.0,
    0.5,
    { 0 },
    4,
    { M({ 28, 74, 86 }, 3.2, 16), M({ 28, 88, 68 }, 3.2, 17), M({ 28, 94, 52 }, 3.2, 17),
      M({ 28, 92, 39 }, 3, 16) } },
  { "occipitalis",
    "skull",
    NULL,
    1.1,
    0.5,
    { 0 },
    3,
    { M({ 30, -88, 14 }, 6, 17), M({ 31, -92, 30 }, 3.8, 17), M({ 31, -88, 48 }, 3.4, 16) } },
  { "platysma",
    NULL,
    "mandible",
    1.0,
    0.5,
    { 0 },
    5,
    { M({ 36, 12, -141 }, 3.4, 22), M({ 38, 20, -118 }, 3.4, 21), M({ 40, 36, -98 }, 3.6, 19),
      M({ 40, 52, -88 }, 5, 16), M({ 38, 58, -80 }, 8, 13) } },
  { "sternocleidomastoid",
    "skull",
    NULL,
    4.2,
    1.0,
    { 0 },
    4,
    { M({ 55, -18, -28 }, 9, 8), M({ 50, -6, -62 }, 9, 10), M({ 38, 6, -100 }, 9, 11),
      M({ 22, 12, -142 }, 8.5, 10) } },
  { "digastric, anterior belly",
    "mandible",
    "hyoid",
    2.6,
    1.0,
    { 0, 0, 1 },
    3,
    { M({ 9, 76, -91 }, 0, 3.6), M({ 11, 58, -95 }, 0, 4), M({ 11, 41, -97 }, 0, 2.8) } },
  { "mylohyoid",
    "mandible",
    "hyoid",
    1.4,
    1.0,
    { .35, 0, 1 },
    3,
    { M({ 33, 48, -76 }, 0, 14), M({ 20, 46, -86 }, 0, 13), M({ 7, 42, -94 }, 0, 6) } },
  { "geniohyoid",
    "mandible",
    "hyoid",
    2.6,
    1.0,
    { 0, 0, 1 },
    3,
    { M({ 3.2, 75, -85 }, 0, 2.6), M({ 3.6, 58, -89 }, 0, 3), M({ 3.6, 43, -94 }, 0, 2.6) } },
};
#define N_MUSCLE_ROWS ((int)(sizeof muscle_rows / sizeof muscle_rows[0]))

/* ---- soft parts ---- */

/* pads that thicken the fat: cheek, buccal, under the chin, neck */
static const PlaShapeRow fat_pad_rows[] = {
  { CUT, BALL, 4, { 40, 72, -24, 16, 14, 18 } },
  { CUT, BALL, 4, { 42, 64, -48, 12, 16, 16 } },
  { CUT, BALL, 4, { 0, 56, -102, 30, 26, 10 } },
  { CUT, BALL, 4, { 0, -72, -70, 40, 14, 50 } },
};

static const PlaPathPoint lip_core[] = {
  { { 0, 97, -50.4 }, { 0, 1, 0 }, 7.5, 2, 0 },
  { { 13, 93, -50.5 }, { 0, 1, 0 }, 7.2, 2, 0 },
  { { 21, 87, -50.7 }, { 0, 1, 0 }, 6.2, 2, 0 },
  { { 25.5, 82, -50.9 }, { 0, 1, 0 }, 4, 2, 0 },
};

/* space inside lips and cheeks; gums, teeth and tongue fill most of it */
static const PlaShapeRow mouth_rows[] = {
  { ADD, BALL, 0, { 0, 43, -50, 34, 50.5, 17, -6, 0, 0 } },
  { CUT, BALL, 4, { 0, 48, -84, 34, 40, 24 } },
  { KEEP, PLANE, 4, { 0, 38, 0, 0, -1, 0 } },
};
static const PlaPathPoint pharynx[] = {
  { { 0, 42, -9 }, { 0, 1, 0 }, 12, 8, 0 },      { { 0, 30, -20 }, { 0, 1, 0 }, 13, 8, 0 },
  { { 0, 25, -42 }, { 0, 1, 0 }, 14, 6.5, 0 },   { { 0, 22.5, -66 }, { 0, 1, 0 }, 14, 7, 0 },
  { { 0, 20, -90 }, { 0, 1, 0 }, 13, 7, 0 },     { { 0, 17, -104 }, { 0, 1, 0 }, 9, 7, 0 },
  { { 0, 14, -120 }, { 0, 1, 0 }, 5.5, 6.5, 0 }, { { 0, 10, -160 }, { 0, 1, 0 }, 8.5, 8.5, 0 },
};
static const PlaShapeRow airway_rows[] = {
  { ADD, BALL, 0, { 9, 62, -9, 7.5, 27, 16 } },           /* nasal cavity */
  { ADD, ROD, 2, { 6.4, 106, -31, 7, 97, -20, 3, 3.6 } }, /* nostril */
  { ADD, ROD, 2, { 7, 97, -20, 8, 84, -14, 3.6, 5 } },
  { ADD, BALL, 3, { 0, 34, -45, 12, 10, 6 } }, /* isthmus of the fauces */
};
static const PlaShapeRow turbinate_rows[] = {
  { CUT, ROD, 1, { 13, 84, -17, 12, 46, -17, 3.4, 3.4 } },
  { CUT, ROD, 1, { 12, 80, -6, 12, 48, -5, 3, 3 } },
  { CUT, BALL, 1, { 0, 70, -8, 1.6, 36, 24 } }, /* septum */
};
static const PlaShapeRow soft_palate_rows[] = {
  { ADD, BALL, 0, { 0, 40, -32, 19, 9, 4.2, 22, 0, 0 } },
  { ADD, BALL, 4, { 0, 34, -37, 14, 6, 3.4, 50, 0, 0 } },
  { ADD, ROD, 3, { 0, 31.5, -41, 0, 30.5, -48, 3.2, 2.2 } },
};

static const PlaShapeRow spine_rows[] = {
  { ADD, ROD, 0, { 0, 0, -38, 0, -8, -160, 8.5, 9.5 } },
  { ADD, BALL, 4, { 0, -8, -42, 26, 15, 6.5 } }, /* atlas and axis */
  { ADD, BALL, 4, { 0, -12, -58, 22, 17, 6 } },
  { ADD, BALL, 4, { 0, -14, -76, 23, 17, 6 } },
  { ADD, BALL, 4, { 0, -16, -94, 24, 17, 6 } },
  { ADD, BALL, 4, { 0, -18, -112, 25, 18, 6 } },
  { ADD, BALL, 4, { 0, -20, -130, 26, 18, 6 } },
  { ADD, BALL, 4, { 0, -21, -148, 27, 18, 6 } },
  { ADD, ROD, 4, { 0, -28, -59, 0, -50, -66, 3.6, 3 } },
  { ADD, ROD, 4, { 0, -30, -77, 0, -48, -84, 3.4, 2.6 } },
  { ADD, ROD, 4, { 0, -32, -95, 0, -50, -102, 3.4, 2.6 } },
  { ADD, ROD, 4, { 0, -33, -113, 0, -53, -121, 3.4, 2.6 } },
  { ADD, ROD, 4, { 0, -34, -131, 0, -58, -140, 3.6, 2.8 } },
};
static const PlaShapeRow cord_rows[] = {
  { ADD, ROD, 0, { 0, -20, -20, 0, -17, -48, 5.5, 5 } },
  { ADD, ROD, 2, { 0, -17, -48, 0, -23, -160, 5, 5 } },
};
static const PlaShapeRow canal_rows[] = {
  { ADD, ROD, 6, { 0, -20, -20, 0, -17, -48, 9, 8 } },
  { ADD, ROD, 2, { 0, -17, -48, 0, -23, -160, 8, 8 } },
};
static const PlaShapeRow larynx_rows[] = {
  { ADD, BALL, 0, { 0, 22, -118, 14, 12, 13 } },
};
static const PlaShapeRow eye_rows[] = {
  { ADD, BALL, 0, { 31.5, 73, 13, 12, 12, 12 } },
  { ADD, BALL, 1.5, { 31.5, 77.8, 13, 7.8, 7.8, 7.8 } }, /* cornea */
};
static const PlaShapeRow iris_rows[] = {
  { ADD, BALL, 0, { 31.5, 77.8, 13, 8, 8, 8 } },
  { KEEP, DISC, 0, { 31.5, 81.8, 13, 31.5, 95, 13, 5.9 } },
};
static const PlaShapeRow orbit_rows[] = {
  { ADD, ROD, 0, { 14, 36, 10, 32.5, 82, 13, 2, 17.5 } },
};
static const PlaShapeRow disc_rows[] = {
  { ADD, BALL, 0, { 50, 14, -4.5, 10, 7.4, 6.4, 12, 0, -14 } },
  { KEEP, PLANE, 1, { 0, 0, -5, 0, -.3, -.954 } },
};
static const PlaShapeRow sinus_rows[] = { { ADD, BALL, 0, { 27, 63, -14, 8, 11, 10 } } };

static void
add_pair(PlaShapeScene *s, const char *name, int label, const uint8_t rgba[4],
         const PlaShapeRow *rows, int n_rows, int within, double margin)
{
  for (int k = 0; k < 2; k++) {
    char text[64];
    snprintf(text, sizeof text, "%s, %s", name, k == 0 ? "right" : "left");
    pla_scene_add_part(s, text, label + k, k == 0 ? PLA_SIDE_RIGHT : PLA_SIDE_LEFT, rgba);
    pla_scene_add_rows(s, rows, n_rows);
    if (within >= 0)
      pla_scene_add_ref(s, KEEP, 0.0, within, margin);
  }
}

static void
add_lip(PlaShapeScene *s, const char *name, int label, double up, int head)
{
  const int lips = pla_scene_find_name(s, "lip guide");
  pla_scene_add_part(s, name, label, PLA_SIDE_MID, (uint8_t[4]){ 200, 96, 96, 255 });
  pla_scene_add_ref(s, ADD, 0.0, lips, -1.4);
  /* the vermilion's border falls to the corners of the mouth */
  pla_scene_add_shape(s, KEEP, PLANE, 0.0,
                      up > 0.0 ? (double[PLA_SHAPE_NUMBERS]){ 0, 0, -42.4, 0.25, 0, 0.968 }
                               : (double[PLA_SHAPE_NUMBERS]){ 0, 0, -60.4, 0.31, 0, -0.951 });
  pla_scene_add_path(s, ADD, PLA_SHAPE_TUBE, 0.0, PLA_ROWS(lip_core), -1);
  /* the line where the lips touch falls a little to the corners */
  pla_scene_add_shape(s, KEEP, PLANE, 0.0,
                      (double[PLA_SHAPE_NUMBERS]){ 0, 100, -50.3, -0.02 * up, 0, -up });
  pla_scene_add_ref(s, KEEP, 0.0, head, 0.0);
}

/* a landmark on a surface, in direction @axis (0 x, 1 y, 2 z; on its positive side) from the place
 * given; on both sides unless it lies in the midplane */
static void
mark(PlaPhantomModel *model, int part, const char *name, double x, double y, double z, int axis)
{
  double p[3] = { x, y, z };
  double from = p[axis], to = p[axis] + 60.0;
  for (int step = 0; step < 60; step++) {
    p[axis] = 0.5 * (from + to);
    if (pla_scene_distance(model->scene, part, p) < 0.0)
      from = p[axis];
    else
      to = p[axis];
  }
  if (x == 0.0) {
    pla_phantom_note_landmark(model, name, p);
    return;
  }
  char text[64];
  for (int k = 0; k < 2; k++) {
    snprintf(text, sizeof text, "%s, %s", name, k == 0 ? "right" : "left");
    pla_phantom_note_landmark(model, text, (double[3]){ k == 0 ? p[0] : -p[0], p[1], p[2] });
  }
}

static void
add_landmarks(PlaPhantomModel *model, int head, int skull, int mandible)
{
  enum { X, Y, Z };
  mark(model, head, "vertex", 0, -6, 80, Z);
  mark(model, head, "glabella", 0, 60, 33, Y);
  mark(model, head, "sellion", 0, 70, 22, Y);
  mark(model, head, "pronasale", 0, 95, -18.5, Y);
  mark(model, head, "subnasale", 0, 80, -32, Y);
  mark(model, head, "labrale superius", 0, 80, -43, Y);
  mark(model, head, "stomion", 0, 85, -50.3, Y);
  mark(model, head, "labrale inferius", 0, 80, -57, Y);
  mark(model, head, "sublabiale", 0, 75, -67, Y);
  mark(model, head, "pogonion", 0, 75, -83, Y);
  mark(model, head, "exocanthion", 46, 60, 14, Y);
  mark(model, head, "endocanthion", 16.5, 60, 12, Y);
  mark(model, head, "alare", 8, 101, -22, X);
  mark(model, head, "cheilion", 25.8, 60, -51, Y);
  mark(model, head, "zygion", 40, 38, -8, X);
  mark(model, head, "gonion", 30, 14, -60, X);
  mark(model, head, "tragion", 60, 3, 0, X);
  mark(model, head, "euryon", 40, -20, 46, X);
  mark(model, skull, "orbitale", 32, 65, -7, Y);
  mark(model, mandible, "condyle", 50, 13, -6, Z);
  mark(model, mandible, "coronoid", 47.5, 37.6, -8, Z);
  /* the ones that face back or down */
  double p[3] = { 0, 86, -100 }, q[3] = { 0, -96, 38 };
  pla_scene_snap(model->scene, head, 0.0, p);
  pla_phantom_note_landmark(model, "menton", p);
  pla_scene_snap(model->scene, head, 0.0, q);
  pla_phantom_note_landmark(model, "opisthocranion", q);
}

/* skin, fat, soft tissue, ears and lips */
static void
add_layers(PlaShapeScene *s, int head, int ear)
{
  pla_scene_add_part(s, "skin", SKIN, PLA_SIDE_MID, (uint8_t[4]){ 232, 190, 164, 255 });
  pla_scene_add_ref(s, ADD, 0.0, head, 0.0);
  pla_scene_add_part(s, "fat", FAT, PLA_SIDE_MID, (uint8_t[4]){ 245, 222, 140, 255 });
  pla_scene_add_ref(s, ADD, 0.0, head, SKIN_MM);
  pla_scene_add_part(s, "soft tissue", SOFT_TISSUE, PLA_SIDE_MID,
                     (uint8_t[4]){ 196, 120, 110, 255 });
  pla_scene_add_ref(s, ADD, 0.0, head, LAYER_MM);
  pla_scene_add_rows(s, PLA_ROWS(fat_pad_rows));
  for (int k = 0; k < 2; k++) {
    pla_scene_add_part(s, k == 0 ? "auricular cartilage, right" : "auricular cartilage, left",
                       EAR_RIGHT + k, k == 0 ? PLA_SIDE_RIGHT : PLA_SIDE_LEFT,
                       (uint8_t[4]){ 170, 200, 220, 255 });
    pla_scene_add_ref(s, ADD, 0.0, ear, 1.3);
    pla_scene_add_shape(s, KEEP, PLANE, 0.0,
                        (double[PLA_SHAPE_NUMBERS]){ 71, 0, -14, -.94, 0, -.34 });
  }
  add_lip(s, "upper lip", UPPER_LIP, 1.0, head);
  add_lip(s, "lower lip", LOWER_LIP, -1.0, head);
}

/* nose, larynx, airway, mouth, eyes and the discs of the jaw */
static void
add_organs(PlaPhantomModel *model, int head, int nose, int mouth)
{
  PlaShapeScene *s = model->scene;
  pla_scene_add_part(s, "nasal cartilage", NOSE_CARTILAGE, PLA_SIDE_MID,
                     (uint8_t[4]){ 170, 200, 220, 255 });
  pla_scene_add_ref(s, ADD, 0.0, nose, 3.0);
  pla_scene_add_shape(s, KEEP, PLA_SHAPE_BOX, 0.0,
                      (double[PLA_SHAPE_NUMBERS]){ 0, 102, -8, 2.2, 14, 20 });
  pla_scene_add_part(s, "larynx", LARYNX, PLA_SIDE_MID, (uint8_t[4]){ 150, 190, 205, 255 });
  pla_scene_add_rows(s, PLA_ROWS(larynx_rows));
  pla_scene_add_ref(s, KEEP, 0.0, head, 3.0);
  pla_scene_add_part(s, "airway", AIRWAY, PLA_SIDE_MID, (uint8_t[4]){ 120, 170, 230, 255 });
  pla_scene_add_rows(s, PLA_ROWS(airway_rows));
  pla_scene_add_path(s, ADD, PLA_SHAPE_RIBBON, 3.0, PLA_ROWS(pharynx), -1);
  pla_scene_add_rows(s, PLA_ROWS(turbinate_rows));
  pla_scene_add_ref(s, ADD, 0.0, mouth, 0.0);
  pla_scene_add_ref(s, KEEP, 0.0, head, 0.0);
  pla_head_add_gingiva(model, GINGIVA);
  pla_scene_add_part(s, "soft palate", SOFT_PALATE, PLA_SIDE_MID,
                     (uint8_t[4]){ 214, 126, 120, 255 });
  pla_scene_add_rows(s, PLA_ROWS(soft_palate_rows));
  pla_head_add_tongue(model, TONGUE);
  add_pair(s, "orbital fat", ORBIT_RIGHT, (uint8_t[4]){ 240, 214, 150, 255 }, PLA_ROWS(orbit_rows),
           head, LAYER_MM);
  add_pair(s, "eye", EYE_RIGHT, (uint8_t[4]){ 250, 250, 250, 255 }, PLA_ROWS(eye_rows), -1, 0.0);
  add_pair(s, "iris", IRIS_RIGHT, (uint8_t[4]){ 80, 110, 140, 255 }, PLA_ROWS(iris_rows), -1, 0.0);
  add_pair(s, "articular disc", DISC_RIGHT, (uint8_t[4]){ 160, 210, 210, 255 }, PLA_ROWS(disc_rows),
           -1, 0.0);
}

/* bones, what they enclose, and teeth; the bones were described as guides before */
static void
add_bones(PlaPhantomModel *model, int skull, int mandible, int hyoid)
{
  PlaShapeScene *s = model->scene;
  pla_scene_add_part(s, "cervical spine", SPINE, PLA_SIDE_MID, (uint8_t[4]){ 228, 214, 180, 255 });
  pla_scene_add_rows(s, PLA_ROWS(spine_rows));
  pla_scene_add_part(s, "hyoid", HYOID, PLA_SIDE_MID, (uint8_t[4]){ 214, 196, 150, 255 });
  pla_scene_add_ref(s, ADD, 0.0, hyoid, 0.0);
  pla_scene_add_part(s, "skull", SKULL, PLA_SIDE_MID, (uint8_t[4]){ 236, 224, 196, 255 });
  pla_scene_add_ref(s, ADD, 0.0, skull, 0.0);
  pla_scene_add_part(s, "mandible", MANDIBLE, PLA_SIDE_MID, (uint8_t[4]){ 226, 210, 170, 255 });
  pla_scene_add_ref(s, ADD, 0.0, mandible, 0.0);
  add_pair(s, "maxillary sinus", SINUS_RIGHT, (uint8_t[4]){ 150, 190, 240, 255 },
           PLA_ROWS(sinus_rows), -1, 0.0);
  const int cavity = pla_scene_find_name(s, "cranial cavity guide");
  pla_scene_add_part(s, "cerebrospinal fluid", FLUID, PLA_SIDE_MID,
                     (uint8_t[4]){ 120, 150, 200, 255 });
  pla_scene_add_ref(s, ADD, 0.0, cavity, 0.0);
  pla_scene_add_rows(s, PLA_ROWS(canal_rows));
  pla_scene_add_part(s, "spinal cord", CORD, PLA_SIDE_MID, (uint8_t[4]){ 240, 226, 190, 255 });
  pla_scene_add_rows(s, PLA_ROWS(cord_rows));
  pla_scene_add_part(s, "brain", BRAIN, PLA_SIDE_MID, (uint8_t[4]){ 222, 170, 170, 255 });
  pla_scene_add_ref(s, ADD, 0.0, cavity, 2.0);
  pla_head_add_teeth(model, TEETH);
}

void
pla_phantom_build_head(PlaPhantomModel *model)
{
  static const double lo[3] = { -92, -112, -145 }, hi[3] = { 92, 126, 136 };
  memcpy(model->lo_mm, lo, sizeof lo);
  memcpy(model->hi_mm, hi, sizeof hi);
  PlaShapeScene *s = model->scene;

  /* guides first: surfaces that other parts are measured from */
  const int head = pla_head_add_surface(model);
  const int nose = pla_scene_find_name(s, "nose guide");
  const int ear = pla_scene_find_name(s, "ear guide");
  const int mouth = pla_scene_add_part(s, "mouth guide", 0, PLA_SIDE_MID, NULL);
  pla_scene_add_rows(s, PLA_ROWS(mouth_rows));

  add_layers(s, head, ear);

  /* bones are described here, as guides for the muscles, and put on top at the end */
  const int skull = pla_head_add_skull(model, 0);
  const int mandible = pla_head_add_mandible(model, 0);
  const int hyoid = pla_head_add_hyoid(model, 0);
  const PlaMuscleBed bed = { head, { skull, mandible, hyoid, -1 }, SKIN_MM };
  int label = MUSCLES;
  for (int i = 0; i < N_MUSCLE_ROWS;) {
    int n = 1;
    while (i + n < N_MUSCLE_ROWS && strcmp(muscle_rows[i + n].name, muscle_rows[i].name) == 0)
      n++;
    const uint8_t red[4] = { (uint8_t)(165 + (i * 37) % 60), (uint8_t)(40 + (i * 53) % 50),
                             (uint8_t)(40 + (i * 29) % 50), 255 };
    pla_phantom_add_muscle(model, muscle_rows + i, n, label, &bed, red);
    label += 2;
    i += n;
  }

  add_organs(model, head, nose, mouth);
  add_bones(model, skull, mandible, hyoid);
  /* the marker stands on the skin and takes nothing from deeper tissue */
  double cheek[3] = { -44, 77, -24 };
  pla_scene_snap(s, head, 0.0, cheek);
  pla_scene_add_part(s, "nodule, left cheek", NODULE, PLA_SIDE_NONE,
                     (uint8_t[4]){ 120, 70, 50, 255 });
  pla_scene_add_shape(s, ADD, BALL, 0.0,
                      (double[PLA_SHAPE_NUMBERS]){ cheek[0], cheek[1], cheek[2], 4, 4, 4 });
  pla_scene_add_ref(s, CUT, 0.0, head, SKIN_MM);
  pla_phantom_note_landmark(model, "nodule, left cheek", cheek);

  add_landmarks(model, head, skull, mandible);
  pla_phantom_note_joint(model, &(PlaPhantomJoint){ .name = (char *)"jaw",
                                                    .from_mm = { 50, 13, -6 },
                                                    .to_mm = { -50, 13, -6 },
                                                    .slide = { 0, 0.82, -0.57 },
                                                    .slide_mm = 15,
                                                    .range_deg = { 0, 35 },
                                                    .fixed = (char *)"skull",
                                                    .moving = (char *)"mandible" });
}
