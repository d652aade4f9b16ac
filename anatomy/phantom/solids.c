/* Layered slab and plain solids as label volumes. */
#include "anatomy/phantom/phantom-private.h"

#include <string.h>

#define ADD PLA_SHAPE_ADD

static void
set_box(PlaPhantomModel *model, double x0, double y0, double z0, double x1, double y1, double z1)
{
  const double lo[3] = { x0, y0, z0 }, hi[3] = { x1, y1, z1 };
  memcpy(model->lo_mm, lo, sizeof lo);
  memcpy(model->hi_mm, hi, sizeof hi);
}

/* one part of one shape */
static void
add_solid(PlaPhantomModel *model, const char *name, int label, PlaShapeKind kind,
          const double numbers[PLA_SHAPE_NUMBERS], const uint8_t rgba[4])
{
  pla_scene_add_part(model->scene, name, label, PLA_SIDE_NONE, rgba);
  pla_scene_add_shape(model->scene, ADD, kind, 0.0, numbers);
}

static const uint8_t plain[4] = { 200, 160, 140, 255 };

void
pla_phantom_build_slab(PlaPhantomModel *model)
{
  /* upper faces at z = 0, -2, -8 and -14 mm */
  static const struct {
    const char *name;
    double from, to;
    uint8_t rgba[4];
  } layers[] = {
    { "epidermis and dermis", -2, 0, { 232, 190, 164, 255 } },
    { "fat", -8, -2, { 245, 222, 140, 255 } },
    { "muscle", -14, -8, { 190, 70, 70, 255 } },
    { "bone", -20, -14, { 236, 224, 196, 255 } },
  };
  set_box(model, -62, -62, -22, 62, 62, 2);
  for (int i = 0; i < 4; i++) {
    const double half = 0.5 * (layers[i].to - layers[i].from);
    add_solid(model, layers[i].name, i + 1, PLA_SHAPE_BOX,
              (double[PLA_SHAPE_NUMBERS]){ 0, 0, layers[i].from + half, 60, 60, half },
              layers[i].rgba);
  }
}

void
pla_phantom_build_sphere(PlaPhantomModel *model)
{
  set_box(model, -48, -48, -48, 48, 48, 48);
  add_solid(model, "sphere", 1, PLA_SHAPE_BALL, (double[PLA_SHAPE_NUMBERS]){ 0, 0, 0, 40, 40, 40 },
            plain);
}

void
pla_phantom_build_torus(PlaPhantomModel *model)
{
  set_box(model, -54, -54, -20, 54, 54, 20);
  add_solid(model, "torus", 1, PLA_SHAPE_RING,
            (double[PLA_SHAPE_NUMBERS]){ 0, 0, 0, 0, 0, 1, 35, 12 }, plain);
}

void
pla_phantom_build_box(PlaPhantomModel *model)
{
  set_box(model, -36, -26, -21, 36, 26, 21);
  add_solid(model, "box", 1, PLA_SHAPE_BOX, (double[PLA_SHAPE_NUMBERS]){ 0, 0, 0, 30, 20, 15 },
            plain);
}

void
pla_phantom_build_bar(PlaPhantomModel *model)
{
  set_box(model, -5, -5, -5, 105, 30, 30);
  add_solid(model, "bar", 1, PLA_SHAPE_BOX,
            (double[PLA_SHAPE_NUMBERS]){ 50, 12.5, 12.5, 50, 12.5, 12.5 }, plain);
}

void
pla_phantom_build_cylinders(PlaPhantomModel *model)
{
  set_box(model, -22, -14, -46, 22, 14, 46);
  add_solid(model, "cylinder, right", 1, PLA_SHAPE_DISC,
            (double[PLA_SHAPE_NUMBERS]){ 8.75, 0, -40, 8.75, 0, 40, 8 }, plain);
  add_solid(model, "cylinder, left", 2, PLA_SHAPE_DISC,
            (double[PLA_SHAPE_NUMBERS]){ -8.75, 0, -40, -8.75, 0, 40, 8 },
            (uint8_t[4]){ 140, 160, 200, 255 });
}
