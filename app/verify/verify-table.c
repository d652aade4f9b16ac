/* The table of problems with known answers. */
#include "anatomy/mesh/box-mesh.h"
#include "app/verify/verify-private.h"

#include <math.h>

/* one number for all sizes */
#define ALL(x)                                                                                     \
  {                                                                                                \
    (x), (x), (x), (x)                                                                             \
  }

#define TEXTBOOK "closed form of the energy (Holzapfel 2000, 6.5; Bonet and Wood 2008, 6.4)"
#define MATERIAL(id)                                                                               \
  {                                                                                                \
    .name = "material-" id, .about = id ", stretched by 1.2 and sheared by 0.4", .size = { 1 },    \
    .size_unit = "", .solve = pla_verify_stretch, .quantity = {                                    \
      { "lateral stretch", "", NAN, ALL(1e-6), TEXTBOOK },                                         \
      { "axial stress", "Pa", NAN, ALL(1e-6), TEXTBOOK },                                          \
      { "shear stress", "Pa", NAN, ALL(1e-6), TEXTBOOK },                                          \
    }                                                                                              \
  }

/* The coarse size is there for the order of convergence: four times the tolerance of one twice as
 * fine is second order. */
#define COARSE_TO_FINE(fine)                                                                       \
  {                                                                                                \
    4.0 * (fine), (fine), (fine), (fine)                                                           \
  }

#define WEIGHT "volume x density x 9.81 m/s2"
#define BAR_MM 232.3
#define BAR_LIMIT                                                                                  \
  "27-node hexahedra of the same energy, an independent program: 223.59, 229.25 and 230.64 mm at " \
  "2, 4 and 6 across, extrapolated at their order of 1.5"
#define EFFECTIVITY "an exact estimate has 0; from -1 to 1 it is half to twice the error"
#define ESTIMATE                                                                                   \
  {                                                                                                \
    "log2 of estimate over error", "", 0.0, ALL(1.0), EFFECTIVITY                                  \
  }
#define COOK_LIMIT                                                                                 \
  "9-node quadrilaterals of the same energy, its volume term at 2 x 2 points, an independent "     \
  "program: 6.865 and 6.902 mm at 8 and 16 a side; CalculiX 2.20, C3D20R: 6.831 and 6.883 at 16 "  \
  "and 32; both extrapolated at first order"
#define COOK(id, what, kind)                                                                       \
  {                                                                                                \
    .name = "cook-" id, .about = "Cook's membrane in plane strain, nu = 0.4999, " what,            \
    .size = { 8, 16, 0, 32 }, .size_unit = "cells a side", .variant = (kind),                      \
    .solve = pla_verify_cook, .quantity = {                                                        \
      { "rise of the corner", "mm", 6.935, COARSE_TO_FINE(0.02), COOK_LIMIT },                     \
      ESTIMATE                                                                                     \
    }                                                                                              \
  }
#define CYLINDER(id, what, kind)                                                                   \
  {                                                                                                \
    .name = "cylinder-" id, .about = "silicone cylinder, clamped at one end, " what,               \
    .size = { 2, 4, 0, 6 }, .size_unit = "cells across", .variant = (kind),                        \
    .solve = pla_verify_cylinder, .quantity = {                                                    \
      { "height of the tip",                                                                       \
        "mm",                                                                                      \
        -116.25,                                                                                   \
        { 0.2, 0.03, 0.03, 0.03 },                                                                 \
        "measured on polydimethylsiloxane, radius 4.25 mm, length 182 mm, 965 kg/m3" },            \
      { "force at the clamp", "N", 0.0977685, ALL(1e-3), WEIGHT }                                  \
    }                                                                                              \
  }
#define LAYER(id, what, kind, large)                                                               \
  {                                                                                                \
    .name = "layer-" id, .about = "2 mm of skin on 10 mm of fat on bone, pressed, " what,          \
    .size = { 1, 2, 0, large }, .size_unit = "cells in the skin", .variant = (kind),               \
    .solve = pla_verify_layer, .quantity = {                                                       \
      { "indentation", "mm", LAYER_MM, COARSE_TO_FINE(0.03), LAYER_LIMIT }                         \
    }                                                                                              \
  }
#define HERTZ "(3 F R / (4 E*))^(1/3) under our own force (Johnson 1985, 4.22)"
#define LAYER_MM 1.3115
#define LAYER_LIMIT                                                                                \
  "hexes of this program: 1.3193 and 1.3135 mm at 2 and 4 cells in the skin, extrapolated as "     \
  "second "                                                                                        \
  "order"
#define BAR(id, what, kind)                                                                        \
  {                                                                                                \
    .name = "bar-" id, .about = "bar of 1 m under its own weight, " what, .size = { 4, 8, 0, 12 }, \
    .size_unit = "cells across", .variant = (kind), .solve = pla_verify_box_bar, .quantity = {     \
      { "drop of the tip", "mm", BAR_MM, { 0.05, 0.02, 0.02, 0.02 }, BAR_LIMIT },                  \
      { "force at the clamp", "N", 613.125, ALL(1e-5), WEIGHT },                                   \
      ESTIMATE                                                                                     \
    }                                                                                              \
  }

const PlaVerifyProblem pla_verify_table[] = {
  MATERIAL("neo-hookean"),
  MATERIAL("neo-hookean-mm"),
  MATERIAL("stable-neo-hookean"),
  MATERIAL("mooney-rivlin"),
  MATERIAL("yeoh"),
  MATERIAL("ogden"),
  MATERIAL("fung"),
  MATERIAL("arruda-boyce"),
  MATERIAL("fascia"),
  MATERIAL("corotated"),
  MATERIAL("fixed-corotated"),
  MATERIAL("stvk"),
  MATERIAL("linear"),
  BAR("tets", "six tets a cube", PLA_BOX_TETS_6),
  BAR("tets-5", "five tets a cube", PLA_BOX_TETS_5),
  { .name = "bar-hexes",
    .about = "bar of 1 m under its own weight, hexes",
    .size = { 4, 8, 0, 12 },
    .size_unit = "cells across",
    .variant = PLA_BOX_HEXES,
    .solve = pla_verify_box_bar,
    .quantity = { { "drop of the tip", "mm", BAR_MM, { 0.05, 0.02, 0.02, 0.02 }, BAR_LIMIT },
                  { "force at the clamp", "N", 613.125, ALL(1e-5), WEIGHT } } },
  { .name = "bar-turned",
    .about = "the bar at 20 degrees to the axes, carved out of a lattice",
    .size = { 125.0, 62.5, 0.0, 41.667 },
    .size_unit = "mm",
    .solve = pla_verify_turned_bar,
    .quantity = { { "drop of the tip", "mm", BAR_MM, { 0.05, 0.02, 0.02, 0.02 }, BAR_LIMIT },
                  { "force at the clamp", "N", 613.125, ALL(1e-3), WEIGHT } } },
  { .name = "bar-cut",
    .about = "a longer bar cut to 1 m in the middle of its cells",
    .size = { 4, 8, 0, 12 },
    .size_unit = "cells across",
    .solve = pla_verify_cut_bar,
    .quantity = { { "drop of the tip", "mm", BAR_MM, { 0.05, 0.02, 0.02, 0.02 }, BAR_LIMIT },
                  { "force at the clamp", "N", 613.125, ALL(5e-3), WEIGHT } } },
  { .name = "methods",
    .about = "a bar of 100 x 25 x 25 mm by every meshing method, under its own weight",
    .size = { 6.25, 3.125, 0.0, 2.0833 },
    .size_unit = "mm",
    .solve = pla_verify_methods,
    .quantity = { { "drop, tets", "mm", BAR_MM / 10.0, COARSE_TO_FINE(0.03), BAR_LIMIT },
                  { "drop, lattice", "mm", BAR_MM / 10.0, COARSE_TO_FINE(0.03), BAR_LIMIT },
                  { "drop, embed", "mm", BAR_MM / 10.0, COARSE_TO_FINE(0.03), BAR_LIMIT },
                  { "drop, carved", "mm", BAR_MM / 10.0, COARSE_TO_FINE(0.03), BAR_LIMIT },
                  { "softest over stiffest", "", 1.0, COARSE_TO_FINE(0.03),
                    "the methods mesh the same bar" } } },
  { .name = "weight",
    .about = "a bar of 100 x 25 x 25 mm by every meshing method: what its clamp carries",
    .size = { 10.0, 6.0, 4.0 },
    .size_unit = "mm",
    .solve = pla_verify_weight,
    .quantity = { { "force, tets", "N", 0.613125, ALL(0.005), WEIGHT },
                  { "force, lattice", "N", 0.613125, ALL(0.005), WEIGHT },
                  { "force, embed", "N", 0.613125, ALL(0.005), WEIGHT },
                  { "force, carved", "N", 0.613125, ALL(0.005), WEIGHT } } },
  COOK("tets", "six tets a cube", PLA_BOX_TETS_6),
  COOK("tets-5", "five tets a cube", PLA_BOX_TETS_5),
  { .name = "cook-hexes",
    .about = "Cook's membrane in plane strain, nu = 0.4999, hexes",
    .size = { 8, 16, 0, 32 },
    .size_unit = "cells a side",
    .variant = PLA_BOX_HEXES,
    .solve = pla_verify_cook,
    .quantity = { { "rise of the corner", "mm", 6.935, COARSE_TO_FINE(0.02), COOK_LIMIT } } },
  CYLINDER("tets", "tets", PLA_BOX_TETS_6),
  CYLINDER("hexes", "hexes", PLA_BOX_HEXES),
  { .name = "torsion",
    .about = "a square bar turned by 0.5 degrees, its ends free to warp",
    .size = { 6, 12, 0, 16 },
    .size_unit = "cells across",
    .variant = PLA_BOX_TETS_5,
    .solve = pla_verify_torsion,
    .quantity = { { "torque", "N mm", NAN, COARSE_TO_FINE(0.02),
                    "Saint-Venant's series for a square (Timoshenko and Goodier 1970, 109)" } } },
  { .name = "elastica",
    .about = "a strip of 100 x 5 x 5 mm with a force at its end, P L^2 / (E I) = 2",
    .size = { 3, 6, 0, 8 },
    .size_unit = "cells across",
    .variant = PLA_BOX_TETS_5,
    .solve = pla_verify_elastica,
    .quantity = { { "sag of the tip", "mm", 49.346, COARSE_TO_FINE(0.02),
                    "inextensible line without shear (Bisshopp and Drucker 1945; Mattiasson 1981); "
                    "shear adds 0.1 %" },
                  { "shortening", "mm", 16.064, COARSE_TO_FINE(0.02), "the same" } } },
  { .name = "block-0.49",
    .about = "a clamped cube that leans, nu = 0.49, six tets a cube",
    .size = { 6, 12, 0, 16 },
    .size_unit = "cells across",
    .variant = 4900,
    .solve = pla_verify_leaning_block,
    .quantity = { { "middle of the top",
                    "mm",
                    7.255,
                    { 0.1, 0.05, 0.05, 0.04 },
                    "27-node hexahedra, their volume term at 8 points, an independent program: "
                    "7.092, 7.160 "
                    "and 7.191 mm at 4, 6 and 8 across, extrapolated at their order of 1.35; the "
                    "rim of the clamp is singular" } } },
  { .name = "block-0.4999",
    .about = "a clamped cube that leans, nu = 0.4999, six tets a cube",
    .size = { 6, 12, 0, 16 },
    .size_unit = "cells across",
    .variant = 4999,
    .solve = pla_verify_leaning_block,
    .quantity = { { "mean of the top",
                    "mm",
                    7.285,
                    { 0.1, 0.05, 0.05, 0.04 },
                    "hexes of this program: 7.0247, 7.1220, 7.1681 and 7.2119 mm at 8, 12, 16 and "
                    "24 across, extrapolated at their order of 1.16; the rim is singular" } } },
  LAYER("tets", "five tets a cube", PLA_BOX_TETS_5, 3),
  LAYER("hexes", "hexes", PLA_BOX_HEXES, 4),
  { .name = "sphere",
    .about = "a thick sphere that is inflated, radii 1 and 2, nu = 0.4999, hexes",
    .size = { 4, 8, 0, 12 },
    .size_unit = "cells in the wall",
    .solve = pla_verify_sphere,
    .quantity = { { "stretch inside", "", 1.5, COARSE_TO_FINE(0.01),
                    "closed form of the incompressible sphere (Green and Zerna 1968, 3.10)" } } },
  { .name = "hertz-tets",
    .about = "a rigid ball of 100 mm pressed 1 mm into a block, five tets a cube",
    .size = { 2, 4, 0, 8 },
    .size_unit = "cells a radius",
    .variant = PLA_BOX_TETS_5,
    .solve = pla_verify_hertz,
    .quantity = { { "radius over Hertz's", "", 1.0, COARSE_TO_FINE(0.05), HERTZ } } },
  { .name = "hertz-hexes",
    .about = "a rigid ball of 100 mm pressed 1 mm into a block, hexes",
    .size = { 2, 4, 0, 8 },
    .size_unit = "cells a radius",
    .variant = PLA_BOX_HEXES,
    .solve = pla_verify_hertz,
    .quantity = { { "radius over Hertz's", "", 1.0, COARSE_TO_FINE(0.05), HERTZ } } },
  { .name = NULL },
};
