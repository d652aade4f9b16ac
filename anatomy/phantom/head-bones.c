/* Head surface, skull, jaw, hyoid, teeth and tongue surface.
 *
 * The origin is midway between the ear openings; z = 0 is the Frankfurt plane through them and the
 * lower orbital rims.  Sizes follow adult means; datasets/phantoms/README.md names the sources. */
#include "anatomy/phantom/phantom-private.h"

#include <math.h>
#include <stdio.h>

#define ADD PLA_SHAPE_ADD
#define CUT PLA_SHAPE_CUT
#define KEEP PLA_SHAPE_KEEP
#define BALL PLA_SHAPE_BALL
#define BRICK PLA_SHAPE_BRICK
#define ROD PLA_SHAPE_ROD
#define BOX PLA_SHAPE_BOX
#define PLANE PLA_SHAPE_PLANE
#define DISC PLA_SHAPE_DISC

/* ---- outer surface ---- */

static const PlaShapeRow cranium_rows[] = {
  { ADD, BALL, 0, { 0, -6, 46, 74, 90, 84 } },
  { ADD, BALL, 24, { 0, 36, 46, 58, 61.5, 62 } },
  { ADD, BALL, 20, { 26, -26, 50, 47, 57, 60 } },
  { ADD, BALL, 20, { 0, -46, 14, 57, 50, 46 } },
};

static const PlaShapeRow nose_rows[] = {
  { ADD, ROD, 0, { 0, 84, 26, 0, 99, 3, 8, 7.5 } },
  { ADD, ROD, 5, { 0, 99, 3, 0, 110.5, -17.5, 7.5, 9 } },
  { ADD, ROD, 5, { 0, 86, 8, 0, 99, -17, 8, 11 } },
  { ADD, ROD, 9, { 4, 83, 16, 10, 91, -17, 6, 9 } },
  { ADD, BALL, 4, { 12, 101, -22, 6, 9.5, 7.2, 0, 0, -14 } },
  { ADD, ROD, 4, { 0, 111.5, -22, 0, 101, -29, 4.6, 4.6 } },
  { CUT, BALL, 1.5, { 6.9, 105.5, -30, 3.2, 6.2, 5.5, 20, 0, 22 } },
};

static const PlaShapeRow ear_rows[] = {
  { ADD, BALL, 0, { 76, -12, 6, 4.5, 16, 27, 14, 0, 28 } },
  { ADD, BALL, 4, { 74, -6, -20, 4, 9, 10 } },
};
static const PlaPathPoint helix[] = {
  { { 75, 0, 6 }, { 1, 0, 0 }, 2.2, 2, 0 },    { { 76, 5, 20 }, { 1, 0, 0 }, 2.6, 2, 0 },
  { { 78, 0, 32 }, { 1, 0, 0 }, 3, 2, 0 },     { { 81, -11, 36 }, { 1, 0, 0 }, 3.1, 2, 0 },
  { { 84, -24, 31 }, { 1, 0, 0 }, 3.1, 2, 0 }, { { 86, -31, 18 }, { 1, 0, 0 }, 3, 2, 0 },
  { { 86, -30, 3 }, { 1, 0, 0 }, 2.9, 2, 0 },  { { 82, -21, -13 }, { 1, 0, 0 }, 3, 2, 0 },
  { { 76, -10, -25 }, { 1, 0, 0 }, 4, 2, 0 },
};
static const PlaPathPoint antihelix[] = {
  { { 80, -12, 25 }, { 1, 0, 0 }, 2.5, 2, 0 },
  { { 82.5, -19, 12 }, { 1, 0, 0 }, 3, 2, 0 },
  { { 81.5, -17, -4 }, { 1, 0, 0 }, 3, 2, 0 },
  { { 77, -9, -13 }, { 1, 0, 0 }, 3, 2, 0 },
};
static const PlaShapeRow ear_detail_rows[] = {
  { CUT, BALL, 2.5, { 82, -6, 2, 8, 8.5, 11 } },
  { ADD, BALL, 2, { 74.5, 2, -1, 4.5, 4, 6 } },
};

/* the palpebral fissure: a lens between two arcs, tilted a little up to the side */
static const PlaShapeRow fissure_rows[] = {
  { ADD, DISC, 0, { 33.1, 79, -9.7, 33.1, 110, -9.7, 27.2 } },
  { KEEP, DISC, 0, { 30.1, 79, 33, 30.1, 110, 33, 25 } },
  { CUT, BALL, 0, { 31.5, 73, 13, 11.6, 11.6, 11.6 } },
};

static const PlaPathPoint upper_lip[] = {
  { { 0, 100.5, -46 }, { 0, 1, 0 }, 5.1, 2, 0 },
  { { 6, 100.6, -45.4 }, { 0, 1, 0 }, 5.5, 2, 0 },
  { { 15, 96.5, -47.2 }, { 0, 1, 0 }, 4.4, 2, 0 },
  { { 25.5, 86, -50.6 }, { 0, 1, 0 }, 2.4, 2, 0 },
};
static const PlaPathPoint lower_lip[] = {
  { { 0, 98.6, -55.4 }, { 0, 1, 0 }, 6.2, 2, 0 },
  { { 9, 97.6, -55.3 }, { 0, 1, 0 }, 5.9, 2, 0 },
  { { 18, 92.5, -54 }, { 0, 1, 0 }, 4.4, 2, 0 },
  { { 25.5, 86, -51.2 }, { 0, 1, 0 }, 2.4, 2, 0 },
};

static const PlaShapeRow face_rows[] = {
  /* side of the head and midface */
  { ADD, BALL, 20, { 0, 6, -12, 65, 58, 50 } },
  { ADD, BALL, 18, { 0, 38, -24, 54, 56, 62 } },
  { ADD, BALL, 16, { 43, 48, -9, 25, 27, 18 } },
  { ADD, BALL, 18, { 35, 58, -40, 22, 29, 32 } },
  /* jaw and chin */
  { ADD, ROD, 16, { 53, 12, -14, 44.5, 16, -56, 13, 12 } },
  { ADD, ROD, 16, { 44.5, 16, -56, 16, 78, -84, 11.5, 13 } },
  { ADD, BALL, 11, { 0, 83.5, -84.5, 19, 15, 15 } },
  { ADD, BALL, 13, { 0, 68, -48, 36, 35, 32 } },
  { ADD, BALL, 14, { 0, 44, -80, 38, 42, 18 } },
  { ADD, BALL, 14, { 28, 18, -76, 22, 26, 18 } },
  /* neck */
  { ADD, ROD, 16, { 0, -18, -40, 0, -28, -170, 46, 50 } },
  { ADD, ROD, 14, { 22, -46, -30, 30, -56, -170, 20, 24 } },
  { ADD, ROD, 14, { 5, 42, -92, 4, 20, -140, 9, 9 } },
  { ADD, ROD, 13, { 57, -12, -34, 18, 18, -150, 9, 9 } },
  { ADD, BALL, 11, { 0, 27, -120, 11, 9, 15 } },
  /* brow and eyes */
  { ADD, ROD, 12, { 0, 90, 32.5, 43, 75, 35, 8, 7 } },
  { CUT, BALL, 9, { 33, 94.5, 13, 18, 14, 11, 0, -4, -16 } },
  { ADD, BALL, 3.5, { 31.5, 73, 13, 13.7, 13.7, 13.7 } },
};
static const PlaShapeRow crease_rows[] = {
  { CUT, BALL, 6, { 0, 106, -67, 22, 8.5, 4 } },         /* chin and lip fold */
  { CUT, ROD, 3, { 0, 109, -33, 0, 110, -42, 3, 3.6 } }, /* philtrum */
};

int
pla_head_add_surface(PlaPhantomModel *model)
{
  PlaShapeScene *s = model->scene;
  const int cranium = pla_scene_add_part(s, "cranium guide", 0, PLA_SIDE_MID, NULL);
  pla_scene_set_fold(s, 1.5);
  pla_scene_add_rows(s, PLA_ROWS(cranium_rows));
  const int nose = pla_scene_add_part(s, "nose guide", 0, PLA_SIDE_MID, NULL);
  pla_scene_set_fold(s, 1.0);
  pla_scene_set_reach(s, 30.0);
  pla_scene_add_rows(s, PLA_ROWS(nose_rows));
  const int ear = pla_scene_add_part(s, "ear guide", 0, PLA_SIDE_MID, NULL);
  pla_scene_set_reach(s, 30.0);
  pla_scene_add_rows(s, PLA_ROWS(ear_rows));
  pla_scene_add_path(s, ADD, PLA_SHAPE_TUBE, 2.0, PLA_ROWS(helix), -1);
  pla_scene_add_path(s, ADD, PLA_SHAPE_TUBE, 2.0, PLA_ROWS(antihelix), -1);
  pla_scene_add_rows(s, PLA_ROWS(ear_detail_rows));
  const int lips = pla_scene_add_part(s, "lip guide", 0, PLA_SIDE_MID, NULL);
  pla_scene_set_fold(s, 1.0);
  pla_scene_add_path(s, ADD, PLA_SHAPE_TUBE, 0.0, PLA_ROWS(upper_lip), -1);
  pla_scene_add_path(s, ADD, PLA_SHAPE_TUBE, 0.6, PLA_ROWS(lower_lip), -1);
  const int fissure = pla_scene_add_part(s, "fissure guide", 0, PLA_SIDE_MID, NULL);
  pla_scene_add_rows(s, PLA_ROWS(fissure_rows));

  const int head = pla_scene_add_part(s, "head guide", 0, PLA_SIDE_MID, NULL);
  pla_scene_set_fold(s, 1.5);
  pla_scene_set_reach(s, 30.0);
  pla_scene_add_ref(s, ADD, 0.0, cranium, 0.0);
  pla_scene_add_rows(s, PLA_ROWS(face_rows));
  pla_scene_add_ref(s, ADD, 4.0, nose, 0.0);
  pla_scene_add_ref(s, ADD, 3.0, lips, 0.0);
  pla_scene_add_ref(s, ADD, 4.0, ear, 0.0);
  pla_scene_add_rows(s, PLA_ROWS(crease_rows));
  pla_scene_add_ref(s, CUT, 1.0, fissure, 0.0);
  return head;
}

/* ---- dental arches ---- */

#define N_TEETH 7 /* a quadrant: no third molars */

typedef struct {
  double half_width, depth; /* half axes of the ellipse through the tooth centres, mm */
  double centre_y;          /* its centre */
} Arch;

static const Arch upper_arch = { 27.0, 45.5, 42.5 };
static const Arch lower_arch = { 26.0, 43.0, 42.5 };

/* the occlusal plane rises to the back */
static double
occlusal_z(double y)
{
  return -51.0 + 0.13 * (88.0 - y);
}

/* point at arc length @s from the midline (right side) and the outward direction there */
static void
arch_point(const Arch *arch, double s, double pos[2], double out[2])
{
  double angle = 0.0, length = 0.0;
  const double step = 1e-3;
  while (length < s && angle < 2.2) {
    const double mid = angle + 0.5 * step;
    length += step * hypot(arch->half_width * cos(mid), arch->depth * sin(mid));
    angle += step;
  }
  pos[0] = arch->half_width * sin(angle);
  pos[1] = arch->centre_y + arch->depth * cos(angle);
  out[0] = sin(angle) / arch->half_width;
  out[1] = cos(angle) / arch->depth;
  const double l = hypot(out[0], out[1]);
  out[0] /= l;
  out[1] /= l;
}

/* a tube along an arch at @height mm above the occlusal plane, to arc length @end */
static void
add_arch_tube(PlaShapeScene *s, const Arch *arch, double height, double radius, double end,
              double blend)
{
  PlaPathPoint path[13];
  const int n = (int)(sizeof path / sizeof path[0]);
  for (int i = 0; i < n; i++) {
    double pos[2], out[2];
    arch_point(arch, end * i / (n - 1), pos, out);
    path[i] = (PlaPathPoint){ .pos = { pos[0], pos[1], occlusal_z(pos[1]) + height },
                              .normal = { out[0], out[1], 0.0 },
                              .width = radius,
                              .thick = radius };
  }
  pla_scene_add_path(s, ADD, PLA_SHAPE_TUBE, blend, path, n, -1);
}

/* crown: along the arch, across it, height; root length: mm */
typedef struct {
  double along, across, crown, root;
} Tooth;

static const Tooth upper_teeth[N_TEETH] = {
  { 8.5, 7.0, 10.5, 13.0 }, { 6.5, 6.0, 9.5, 13.0 }, { 7.5, 8.0, 10.0, 16.0 },
  { 7.0, 9.0, 8.5, 13.0 },  { 6.8, 9.0, 8.2, 13.0 }, { 10.0, 11.0, 7.5, 12.0 },
  { 9.5, 11.0, 7.0, 11.0 },
};
static const Tooth lower_teeth[N_TEETH] = {
  { 5.3, 6.0, 9.0, 12.0 },   { 5.7, 6.3, 9.3, 13.0 }, { 7.0, 7.7, 10.5, 15.0 },
  { 7.0, 7.8, 8.5, 13.5 },   { 7.0, 8.0, 8.0, 13.5 }, { 11.0, 10.3, 7.5, 13.0 },
  { 10.5, 10.2, 7.0, 12.0 },
};

static void
add_tooth(PlaShapeScene *s, const Arch *arch, const Tooth *tooth, double at, int index, bool upper)
{
  double pos[2], out[2];
  arch_point(arch, at, pos, out);
  const double turn = atan2(-out[0], out[1]) * 57.29577951308232; /* about z */
  const double up = upper ? 1.0 : -1.0;
  /* upper incisors overlap the lower ones by 2 mm; molars stand 1 mm apart at rest */
  const double edge = occlusal_z(pos[1]) + (index < 3 ? -up * 1.0 : up * 0.5);
  const double middle = edge + up * 0.5 * tooth->crown, neck = edge + up * tooth->crown;
  const double lean = index < 3 ? 0.18 : 0.0; /* roots of front teeth stand back */
  const bool blade = index < 3;
  const double half = 0.5 * tooth->across * (blade ? 0.52 : 0.92);
  const double n[PLA_SHAPE_NUMBERS] = {
    pos[0], pos[1], middle, 0.5 * tooth->along - 0.12, half, 0.55 * tooth->crown, 0, 0, turn
  };
  pla_scene_add_shape(s, ADD, BRICK, 0.0, n);
  const double r = 0.5 * fmin(tooth->along, tooth->across) * 0.62;
  const double tip = neck + up * tooth->root;
  const double spread = index < 5 ? 0.0 : 0.26 * tooth->along;
  for (int root = 0; root < (index < 5 ? 1 : 2); root++) {
    const double along = (root == 0 ? -1.0 : 1.0) * spread;
    const double n_root[PLA_SHAPE_NUMBERS] = {
      pos[0] + along * out[1] - lean * 0.1 * tooth->crown * out[0],
      pos[1] - along * out[0] - lean * 0.1 * tooth->crown * out[1],
      middle + up * 0.3 * tooth->crown,
      pos[0] + along * out[1] - lean * tooth->root * out[0],
      pos[1] - along * out[0] - lean * tooth->root * out[1],
      tip - up * 1.3,
      index < 5 ? r : 0.72 * r,
      1.3
    };
    pla_scene_add_shape(s, ADD, ROD, 1.5, n_root);
  }
}

void
pla_head_add_teeth(PlaPhantomModel *model, int first)
{
  static const uint8_t enamel[4] = { 245, 240, 222, 255 };
  for (int quadrant = 0; quadrant < 4; quadrant++) {
    const bool upper = quadrant < 2, right = quadrant == 0 || quadrant == 3;
    const Tooth *teeth = upper ? upper_teeth : lower_teeth;
    double at = 0.0;
    for (int i = 0; i < N_TEETH; i++) {
      char name[16];
      snprintf(name, sizeof name, "tooth %d%d", quadrant + 1, i + 1);
      pla_scene_add_part(model->scene, name, first + N_TEETH * quadrant + i,
                         right ? PLA_SIDE_RIGHT : PLA_SIDE_LEFT, enamel);
      add_tooth(model->scene, upper ? &upper_arch : &lower_arch, &teeth[i],
                at + 0.5 * teeth[i].along, i, upper);
      at += teeth[i].along;
    }
  }
}

void
pla_head_add_gingiva(PlaPhantomModel *model, int label)
{
  static const uint8_t pink[4] = { 222, 130, 130, 255 };
  pla_scene_add_part(model->scene, "gingiva, upper", label, PLA_SIDE_MID, pink);
  add_arch_tube(model->scene, &upper_arch, 13.0, 7.6, 57.0, 0.0);
  pla_scene_add_part(model->scene, "gingiva, lower", label + 1, PLA_SIDE_MID, pink);
  add_arch_tube(model->scene, &lower_arch, -12.0, 7.0, 55.0, 0.0);
}

/* ---- bones ---- */

static const PlaShapeRow condyle_rows[] = {
  { ADD, BALL, 0, { 50, 13, -6, 9.5, 4.6, 5, 0, 0, -14 } },
};

static const PlaShapeRow braincase_rows[] = {
  { KEEP, PLANE, 10, { 0, 88, 22, 0, .474, -.880 } },
  { KEEP, PLANE, 8, { 0, 0, -33, 0, 0, -1 } },
};

static const PlaShapeRow skull_rows[] = {
  /* base: sphenoid, petrous bones, basilar part, mastoids, styloids, pterygoid plates */
  { ADD, BALL, 6, { 0, 30, -2, 20, 24, 13 } },
  { ADD, ROD, 6, { 56, 2, 2, 20, 14, -8, 9, 8 } },
  { ADD, BALL, 6, { 0, 4, -18, 15, 17, 8 } },
  { ADD, BALL, 6, { 54, -17, -17, 9, 13, 17 } },
  { ADD, ROD, 2, { 46, -2, -16, 36, 14, -50, 3, 1.8 } },
  { ADD, ROD, 3, { 14, 42, -6, 16, 38, -33, 5, 3.2 } },
  /* jaw joint: fossa roof and eminence */
  { ADD, BALL, 5, { 51, 13, 3, 14, 12, 8 } },
  { ADD, ROD, 4, { 42, 26, -2, 60, 26, -3, 4.5, 4.5 } },
  /* face: brow, orbital rims, cheekbone and arch */
  { ADD, ROD, 8, { 7, 85, 31, 45, 71, 34, 7, 6 } },
  { ADD, ROD, 5, { 48, 67, 32, 47, 64, -4, 4.2, 5 } },
  { ADD, ROD, 5, { 12, 83, -2, 40, 70, -6, 5, 6 } },
  { ADD, BALL, 6, { 45, 62, -11, 11, 11, 11 } },
  { ADD, ROD, 5, { 51, 56, -10, 63, 34, -5, 4.6, 3.6 } },
  { ADD, ROD, 3, { 63, 34, -5, 62, 12, -1, 3.6, 4.5 } },
  /* maxilla, nasal bones, palate */
  { ADD, BALL, 8, { 22, 66, -18, 19, 20, 20 } },
  { ADD, ROD, 4, { 7, 86, 20, 14, 83, -22, 4.5, 4.5 } },
  { ADD, ROD, 3, { 2.5, 87, 23, 2, 98, 5, 3.2, 2.2 } },
  { ADD, BRICK, 3, { 0, 62, -29, 25, 27, 3.6 } },
  { ADD, ROD, 2, { 0, 78, -28, 0, 90, -28, 2.4, 1.8 } },
};
static const PlaShapeRow skull_hollow_rows[] = {
  { CUT, BALL, 12, { 74, 50, 20, 16, 28, 26 } }, /* temporal fossa */
  /* palatal vault, nasal cavity and aperture, maxillary sinuses, orbits, foramen magnum */
  { CUT, BALL, 3, { 0, 58, -50, 19, 25, 17.5 } },
  { CUT, BALL, 2, { 9, 64, -9, 8.5, 32, 17 } },
  { CUT, BALL, 3, { 5, 88, -14, 8, 22, 13 } },
  { CUT, BALL, 2, { 27, 63, -14, 9, 12, 11 } },
  { CUT, ROD, 2, { 14, 36, 10, 32.5, 82, 13, 3, 19 } },
  { CUT, DISC, 3, { 0, -20, -60, 0, -20, -10, 15 } },
};
static const PlaShapeRow septum_rows[] = {
  { ADD, BOX, 1, { 0, 66, -8, 1.2, 28, 21, 0, 0, 0, 1 } },
};

int
pla_head_add_skull(PlaPhantomModel *model, int label)
{
  PlaShapeScene *s = model->scene;
  const int cranium = pla_scene_find_name(s, "cranium guide");
  const int head = pla_scene_find_name(s, "head guide");
  const int condyle = pla_scene_add_part(s, "condyle guide", 0, PLA_SIDE_MID, NULL);
  pla_scene_add_rows(s, PLA_ROWS(condyle_rows));
  const int cavity = pla_scene_add_part(s, "cranial cavity guide", 0, PLA_SIDE_MID, NULL);
  pla_scene_add_ref(s, ADD, 0.0, cranium, 13.5);
  pla_scene_add_shape(s, KEEP, PLANE, 12.0,
                      (double[PLA_SHAPE_NUMBERS]){ 0, 84, 30, 0, .474, -.880 });
  pla_scene_add_shape(s, KEEP, PLANE, 10.0, (double[PLA_SHAPE_NUMBERS]){ 0, 0, -26, 0, 0, -1 });

  const int skull =
      pla_scene_add_part(s, "skull", label, PLA_SIDE_MID, (uint8_t[4]){ 236, 224, 196, 255 });
  pla_scene_set_fold(s, 0.5);
  pla_scene_set_reach(s, 10.0);
  pla_scene_add_ref(s, ADD, 0.0, cranium, 6.0);
  pla_scene_add_rows(s, PLA_ROWS(braincase_rows));
  pla_scene_add_rows(s, PLA_ROWS(skull_rows));
  add_arch_tube(s, &upper_arch, 16.0, 6.0, 55.0, 4.0);
  pla_scene_add_rows(s, PLA_ROWS(skull_hollow_rows));
  pla_scene_add_rows(s, PLA_ROWS(septum_rows));
  pla_scene_add_ref(s, CUT, 2.0, condyle, -2.4);
  pla_scene_add_ref(s, CUT, 2.0, cavity, 0.0);
  pla_scene_add_ref(s, KEEP, 2.0, head, 4.0);
  return skull;
}

static const PlaPathPoint mandible_body[] = {
  /* normal: outward; width: half height; thick: half thickness */
  { { 44.5, 16, -60 }, { .95, -.31, 0 }, 10, 4, 0 },
  { { 43, 30, -65 }, { .95, .2, 0 }, 12, 5, 0 },
  { { 36, 52, -70 }, { .92, .39, 0 }, 12.5, 5.5, 0 },
  { { 26, 68, -74 }, { .75, .66, 0 }, 13, 5.5, 0 },
  { { 14, 78, -77 }, { .5, .87, 0 }, 13.5, 5.5, 0 },
  { { 0, 81.5, -78 }, { 0, 1, 0 }, 14, 5.5, 0 },
};
static const PlaPathPoint mandible_ramus[] = {
  { { 48.5, 22, -18 }, { 1, 0, 0 }, 13, 3.4, 0 },
  { { 47, 22, -34 }, { 1, 0, 0 }, 15.5, 3.6, 0 },
  { { 45, 20, -52 }, { 1, 0, 0 }, 16, 4, 0 },
  { { 44, 20, -60 }, { 1, 0, 0 }, 14, 4.2, 0 },
};
static const PlaShapeRow mandible_rows[] = {
  { ADD, ROD, 3, { 49.5, 12.5, -9, 49, 13, -24, 3.8, 5 } },
  { ADD, ROD, 3, { 48.5, 33, -24, 47.5, 38, -5, 4.5, 2.4 } },
  { CUT, BALL, 2, { 49, 24.5, -9, 9, 6.5, 9 } }, /* mandibular notch */
  { ADD, BALL, 5, { 0, 84.5, -86, 14, 5.5, 7 } },
  { ADD, BALL, 2, { 0, 76, -83, 4, 2.5, 3 } }, /* genial tubercles */
};

int
pla_head_add_mandible(PlaPhantomModel *model, int label)
{
  PlaShapeScene *s = model->scene;
  const int head = pla_scene_find_name(s, "head guide");
  const int condyle = pla_scene_find_name(s, "condyle guide");
  const int part =
      pla_scene_add_part(s, "mandible", label, PLA_SIDE_MID, (uint8_t[4]){ 226, 210, 170, 255 });
  pla_scene_set_fold(s, 0.5);
  pla_scene_add_path(s, ADD, PLA_SHAPE_RIBBON, 0.0, PLA_ROWS(mandible_body), -1);
  pla_scene_add_path(s, ADD, PLA_SHAPE_RIBBON, 6.0, PLA_ROWS(mandible_ramus), -1);
  add_arch_tube(s, &lower_arch, -13.8, 5.2, 52.0, 4.0);
  pla_scene_add_rows(s, PLA_ROWS(mandible_rows));
  pla_scene_add_ref(s, ADD, 2.0, condyle, 0.0);
  pla_scene_add_ref(s, KEEP, 2.0, head, 4.0);
  return part;
}

static const PlaPathPoint hyoid_path[] = {
  { { 0, 36, -97 }, { 0, 0, 1 }, 4, 4, 0 },
  { { 9, 34, -97 }, { 0, 0, 1 }, 3.6, 4, 0 },
  { { 17, 25, -96 }, { 0, 0, 1 }, 2.4, 4, 0 },
  { { 20, 9, -93 }, { 0, 0, 1 }, 2, 4, 0 },
};
static const PlaShapeRow hyoid_rows[] = { { ADD, ROD, 1, { 11, 33, -95, 13, 28, -88, 1.9, 1.6 } } };

int
pla_head_add_hyoid(PlaPhantomModel *model, int label)
{
  const int part = pla_scene_add_part(model->scene, "hyoid", label, PLA_SIDE_MID,
                                      (uint8_t[4]){ 214, 196, 150, 255 });
  pla_scene_add_path(model->scene, ADD, PLA_SHAPE_TUBE, 0.0, PLA_ROWS(hyoid_path), -1);
  pla_scene_add_rows(model->scene, PLA_ROWS(hyoid_rows));
  return part;
}

/* ---- tongue ---- */

static const PlaShapeRow tongue_rows[] = {
  { ADD, BALL, 0, { 0, 53, -56, 23, 23.5, 19 } },          /* body under the palate */
  { ADD, BALL, 11, { 0, 44, -71, 20, 15, 24, 12, 0, 0 } }, /* root, down to the hyoid */
  { ADD, ROD, 12, { 9, 58, -54, 6, 74, -52.5, 13, 5.5 } }, /* blade and tip */
  { ADD, BALL, 8, { 0, 60, -70, 14, 18, 16, -25, 0, 0 } }, /* floor over the genioglossus */
  { CUT, ROD, 4, { 0, 30, -33, 0, 76, -38, 2, 2 } },       /* median sulcus */
};

int
pla_head_add_tongue(PlaPhantomModel *model, int label)
{
  const int part = pla_scene_add_part(model->scene, label > 0 ? "tongue" : "tongue guide", label,
                                      PLA_SIDE_MID, (uint8_t[4]){ 205, 105, 110, 255 });
  pla_scene_set_fold(model->scene, 1.0);
  pla_scene_set_reach(model->scene, 10.0);
  pla_scene_add_rows(model->scene, PLA_ROWS(tongue_rows));
  return part;
}
