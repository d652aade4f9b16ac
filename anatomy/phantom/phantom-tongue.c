/* The tongue with its eleven muscle groups, left and right apart, between the head's own jaw,
 * palate, teeth and hyoid.
 *
 * Groups that interdigitate (transversus, verticalis, genioglossus) overlap in their shapes; the
 * label volume gives a voxel to the one added last. */
#include "anatomy/phantom/phantom-private.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define ADD PLA_SHAPE_ADD
#define CUT PLA_SHAPE_CUT
#define KEEP PLA_SHAPE_KEEP

enum {
  BODY = 1,
  MANDIBLE,
  HYOID,
  PALATE,
  STYLOID, /* right; left: + 1 */
  TEETH = 50,
  MUSCLES = 100, /* right, left, right, left, ... */
};

#define MUCOSA_MM 1.2

typedef enum {
  CORE,   /* the tongue under its mucosa, between two distances from the midplane */
  DORSUM, /* a layer under the upper surface */
  FAN,    /* a sector about the genial tubercles, near the midplane */
  BAND,   /* along its paths */
} Form;

typedef struct {
  Form form;
  double n[4]; /* CORE: depth, x from, x to.  DORSUM: depth from, to.  FAN: angles from, to in
                  degrees above the forward direction, x to, depth. */
  int n_paths;
  PlaMuscleRow row[4];
} Group;

#define P(x, y, z, w)                                                                              \
  {                                                                                                \
    { x, y, z }, 0, w                                                                              \
  }
static const double genial_y = 74.0, genial_z = -82.0; /* tip of the fan, mm */

static const Group groups[] = {
  { CORE,
    { 4.4, 0.4, 30 },
    2,
    { { "transversus",
        NULL,
        NULL,
        3,
        1,
        { 0, 1, 0 },
        3,
        { P(1, 50, -50, 3), P(9, 50, -50, 3), P(17, 50, -50, 3) } },
      { "transversus",
        NULL,
        NULL,
        3,
        1,
        { 0, 1, 0 },
        3,
        { P(1, 40, -62, 3), P(8, 40, -62, 3), P(15, 40, -62, 3) } } } },
  { CORE,
    { 4.4, 12.0, 30 },
    2,
    { { "verticalis",
        NULL,
        NULL,
        3,
        1,
        { 0, 1, 0 },
        3,
        { P(14, 50, -46.5, 3), P(14, 50, -53, 3), P(14, 50, -61, 3) } },
      { "verticalis",
        NULL,
        NULL,
        3,
        1,
        { 0, 1, 0 },
        3,
        { P(13.2, 60, -49.5, 3), P(13.2, 60, -54, 3), P(13.2, 59, -59, 3) } } } },
  { DORSUM,
    { MUCOSA_MM, 4.4 },
    2,
    { { "superior longitudinal",
        NULL,
        NULL,
        1.6,
        1,
        { 0, 0, 1 },
        5,
        { P(6, 28.5, -64, 4), P(6, 36, -46, 5), P(7, 50, -40.2, 5), P(6, 64, -43, 4),
          P(4.5, 74, -49.5, 3) } },
      { "superior longitudinal",
        NULL,
        NULL,
        1.6,
        1,
        { 0, 0, 1 },
        4,
        { P(13, 33, -57, 4), P(13, 40, -47, 4), P(14, 52, -42.6, 4), P(12, 64, -44.5, 3) } } } },
  { FAN,
    { 146, 196, 7, 4 },
    2,
    { { "genioglossus posterior",
        "mandible",
        NULL,
        2.5,
        1,
        { 1, 0, 0 },
        3,
        { P(2.5, 74, -82, 1.5), P(3.5, 53, -79, 4), P(4, 37, -76, 5) } },
      { "genioglossus posterior",
        "mandible",
        NULL,
        2.5,
        1,
        { 1, 0, 0 },
        3,
        { P(2.5, 74, -82, 1.5), P(3.5, 52, -73, 4), P(4, 32, -64, 5) } } } },
  { FAN,
    { 117, 146, 7, 4.5 },
    2,
    { { "genioglossus medius",
        "mandible",
        NULL,
        2.5,
        1,
        { 1, 0, 0 },
        3,
        { P(2.5, 74, -82, 1.5), P(3.5, 58, -65, 4), P(4, 42, -48, 5) } },
      { "genioglossus medius",
        "mandible",
        NULL,
        2.5,
        1,
        { 1, 0, 0 },
        3,
        { P(2.5, 74, -82, 1.5), P(3.5, 62, -63, 4), P(4, 51, -45, 5) } } } },
  { FAN,
    { 78, 117, 7, 4 },
    2,
    { { "genioglossus anterior",
        "mandible",
        NULL,
        2.5,
        1,
        { 1, 0, 0 },
        3,
        { P(2.5, 74, -82, 1.5), P(3.5, 69, -66, 4), P(4, 65, -51, 5) } },
      { "genioglossus anterior",
        "mandible",
        NULL,
        2.5,
        1,
        { 1, 0, 0 },
        3,
        { P(2.5, 74, -82, 1.5), P(3.5, 73, -68, 3), P(4, 72, -57, 3) } } } },
  { BAND,
    { 0 },
    1,
    { { "inferior longitudinal",
        "hyoid",
        NULL,
        3,
        1,
        { 1, 0, 0 },
        5,
        { P(10, 36, -93, 3), P(10.5, 43, -82, 3.4), P(10.5, 54, -73, 3.4), P(9.5, 66, -62, 3),
          P(6, 75, -54.5, 2) } } } },
  { BAND,
    { 0 },
    1,
    { { "hyoglossus",
        "hyoid",
        NULL,
        1.8,
        1,
        { 1, 0.2, 0 },
        4,
        { P(18, 22, -95, 9), P(19, 30, -80, 9), P(18.5, 38, -66, 9), P(18, 44, -54, 8) } } } },
  { BAND,
    { 0 },
    1,
    { { "styloglossus",
        "styloid process",
        NULL,
        1.8,
        1,
        { 1, 0.3, 0 },
        5,
        { P(36, 14, -48, 3), P(26, 28, -54, 3.6), P(19.5, 44, -57, 4), P(15, 58, -56, 3.6),
          P(8, 72, -53.5, 2.4) } } } },
  { BAND,
    { 0 },
    1,
    { { "mylohyoid",
        "mandible",
        "hyoid",
        1.4,
        1,
        { .35, 0, 1 },
        3,
        { P(33, 48, -76, 14), P(20, 46, -88, 13), P(7, 40, -97, 6) } } } },
  { BAND,
    { 0 },
    1,
    { { "geniohyoid",
        "mandible",
        "hyoid",
        2.8,
        1,
        { 0, 0, 1 },
        3,
        { P(3.4, 75, -87, 2.8), P(3.8, 58, -91, 3.2), P(3.8, 41, -95, 2.8) } } } },
};
#define N_GROUPS ((int)(sizeof groups / sizeof groups[0]))

static void
keep_plane(PlaShapeScene *s, double y, double z, double x, const double normal[3])
{
  const double n[PLA_SHAPE_NUMBERS] = { x, y, z, normal[0], normal[1], normal[2] };
  pla_scene_add_shape(s, KEEP, PLA_SHAPE_PLANE, 0.0, n);
}

static void
add_group_part(PlaPhantomModel *model, const Group *g, PlaSide side, int label, int tongue)
{
  static const double inward[3] = { -1, 0, 0 }, outward[3] = { 1, 0, 0 };
  PlaShapeScene *s = model->scene;
  char name[64];
  const int i = label - MUSCLES;
  snprintf(name, sizeof name, "%s, %s", g->row[0].name, side == PLA_SIDE_RIGHT ? "right" : "left");
  pla_scene_add_part(s, name, label, side,
                     (uint8_t[4]){ (uint8_t)(120 + (i * 41) % 130), (uint8_t)(50 + (i * 67) % 120),
                                   (uint8_t)(60 + (i * 31) % 150), 255 });
  switch (g->form) {
  case CORE:
    pla_scene_add_ref(s, ADD, 0.0, tongue, g->n[0]);
    keep_plane(s, 0, 0, g->n[1], inward);
    keep_plane(s, 0, 0, g->n[2], outward);
    keep_plane(s, 60, -67, 0, (double[3]){ 0, 0.2425, -0.9701 }); /* above the floor */
    break;
  case DORSUM:
    pla_scene_add_ref(s, ADD, 0.0, tongue, g->n[0]);
    pla_scene_add_ref(s, CUT, 0.0, tongue, g->n[1]);
    keep_plane(s, 0, 0, 0.4, inward);
    keep_plane(s, 77, -52.5, 0, (double[3]){ 0, 0.2873, -0.9578 });
    break;
  case FAN: {
    const double rad = 0.017453292519943295;
    const double a = g->n[0] * rad, b = g->n[1] * rad;
    pla_scene_add_ref(s, ADD, 0.0, tongue, g->n[3]);
    /* reaches the bone from below the tongue's surface */
    pla_scene_add_shape(s, ADD, PLA_SHAPE_ROD, 1.0,
                        (double[PLA_SHAPE_NUMBERS]){
                            3, genial_y + 1.5, genial_z, 3, genial_y + 18 * cos(0.5 * (a + b)),
                            genial_z + 18 * sin(0.5 * (a + b)), 2.6, 5.0 });
    keep_plane(s, 0, 0, 0.4, inward);
    keep_plane(s, 0, 0, g->n[2], outward);
    /* sectors overlap by 3 mm, so that each holds the tip of the fan */
    const double over = 1.5, y = genial_y - 2.0, z = genial_z;
    keep_plane(s, y + over * sin(a), z - over * cos(a), 0, (double[3]){ 0, sin(a), -cos(a) });
    keep_plane(s, y - over * sin(b), z + over * cos(b), 0, (double[3]){ 0, -sin(b), cos(b) });
    break;
  }
  case BAND:
    break;
  }
}

void
pla_phantom_build_tongue(PlaPhantomModel *model)
{
  static const double lo[3] = { -58, -6, -108 }, hi[3] = { 58, 96, -14 };
  memcpy(model->lo_mm, lo, sizeof lo);
  memcpy(model->hi_mm, hi, sizeof hi);
  PlaShapeScene *s = model->scene;
  pla_head_add_surface(model);
  const int skull = pla_head_add_skull(model, 0);
  const int mandible = pla_head_add_mandible(model, 0);
  const int hyoid = pla_head_add_hyoid(model, 0);
  const int tongue = pla_head_add_tongue(model, 0);
  /* named before the muscles that arise from it; bone is put on top of them below */
  static const double styloid_box[PLA_SHAPE_NUMBERS] = { 41, 6, -38, 9, 14, 13, 0, 0, 0, 0.5 };
  const int styloid = pla_scene_add_part(s, "styloid process", 0, PLA_SIDE_MID, NULL);
  pla_scene_add_ref(s, ADD, 0.0, skull, 0.0);
  pla_scene_add_shape(s, KEEP, PLA_SHAPE_BOX, 0.0, styloid_box);

  pla_scene_add_part(s, "tongue body", BODY, PLA_SIDE_MID, (uint8_t[4]){ 215, 130, 135, 255 });
  pla_scene_add_ref(s, ADD, 0.0, tongue, 0.0);
  const PlaMuscleBed bed = { -1, { mandible, hyoid, skull, -1 }, 0.0 };
  for (int i = 0; i < N_GROUPS; i++) {
    const Group *g = &groups[i];
    const int label = MUSCLES + 2 * i;
    if (g->form == BAND) {
      pla_phantom_add_muscle(model, g->row, g->n_paths, label, &bed,
                             (uint8_t[4]){ (uint8_t)(120 + (i * 59) % 130),
                                           (uint8_t)(60 + (i * 83) % 120),
                                           (uint8_t)(60 + (i * 47) % 150), 255 });
      continue;
    }
    for (int k = 0; k < 2; k++) {
      const PlaSide side = k == 0 ? PLA_SIDE_RIGHT : PLA_SIDE_LEFT;
      add_group_part(model, g, side, label + k, tongue);
      pla_phantom_note_muscle(model, g->row, g->n_paths, side, label + k, &bed);
    }
  }

  for (int k = 0; k < 2; k++) {
    static const double right_half[PLA_SHAPE_NUMBERS] = { 0, 0, 0, -1, 0, 0 };
    pla_scene_add_part(s, k == 0 ? "styloid process, right" : "styloid process, left", STYLOID + k,
                       k == 0 ? PLA_SIDE_RIGHT : PLA_SIDE_LEFT, (uint8_t[4]){ 230, 216, 184, 255 });
    pla_scene_add_ref(s, ADD, 0.0, styloid, 0.0);
    pla_scene_add_shape(s, KEEP, PLA_SHAPE_PLANE, 0.0, right_half);
  }
  pla_scene_add_part(s, "hard palate", PALATE, PLA_SIDE_MID, (uint8_t[4]){ 236, 224, 196, 255 });
  pla_scene_add_ref(s, ADD, 0.0, skull, 0.0);
  pla_scene_add_shape(s, KEEP, PLA_SHAPE_BOX, 0.0,
                      (double[PLA_SHAPE_NUMBERS]){ 0, 66, -33, 36, 28, 11, 0, 0, 0, 1 });
  pla_scene_add_part(s, "hyoid", HYOID, PLA_SIDE_MID, (uint8_t[4]){ 214, 196, 150, 255 });
  pla_scene_add_ref(s, ADD, 0.0, hyoid, 0.0);
  pla_scene_add_part(s, "mandible", MANDIBLE, PLA_SIDE_MID, (uint8_t[4]){ 226, 210, 170, 255 });
  pla_scene_add_ref(s, ADD, 0.0, mandible, 0.0);
  pla_head_add_teeth(model, TEETH);

  /* where articulography puts its coils, and fixed points */
  static const struct {
    const char *name;
    double pos[3];
  } marks[] = {
    { "tongue tip", { 0, 79, -52 } },
    { "tongue blade", { 0, 68, -44 } },
    { "tongue dorsum", { 0, 52, -37 } },
    { "tongue rear", { 0, 37, -42 } },
  };
  for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
    double p[3] = { marks[i].pos[0], marks[i].pos[1], marks[i].pos[2] };
    pla_scene_snap(s, tongue, 0.0, p);
    pla_phantom_note_landmark(model, marks[i].name, p);
  }
  double lower_incisor[3] = { 0, 89, -56 };
  pla_phantom_note_landmark(model, "lower incisors", lower_incisor);
}
