/* Bodies with muscles and performances as verbs name them. */
#pragma once

#include "app/cli/verb.h"
#include "app/motion/activation.h"

/* "phantom:face" and so on, with --cell-mm and --young-pa; or a case, whose newest muscles (or
 * --muscles ITEM) are taken. */
PlaStatus pla_invocation_body(PlaInvocation *inv, const char *path, PlaActiveBody **out,
                              PlaError *err);
#define PLA_BODY_OPTIONS                                                                             \
  { "cell-mm", 0, PLA_OPT_NUMBER, "H", "element size of a phantom's mesh", 2, 40 },                  \
      { "young-pa", 0, PLA_OPT_NUMBER, "E", "stiffness of the flesh between the fibres", 100, 1e8 }, \
      { "poisson",                                                                                   \
        0,                                                                                           \
        PLA_OPT_NUMBER,                                                                              \
        "NU",                                                                                        \
        "Poisson's ratio of that flesh; 0.5 is incompressible",                                      \
        0.01,                                                                                        \
        0.4999 },                                                                                    \
      { "strength", 0, PLA_OPT_NUMBER, "S", "factor on the peak stress of all muscles", 0.01, 100 }, \
  {                                                                                                  \
    "muscles", 0, PLA_OPT_TEXT, "ITEM", "in a case: the muscles (default: the newest)"               \
  }

PlaStatus pla_invocation_take(PlaInvocation *inv, const char *path, PlaTake **out, PlaError *err);
/* A CSV file of an activation track for @model. */
PlaStatus pla_invocation_activation(PlaInvocation *inv, const char *path,
                                    const PlaActiveModel *model, PlaActivation *out, PlaError *err);
PlaStatus pla_invocation_write_activation(PlaInvocation *inv, const char *path,
                                          const PlaActiveModel *model, const PlaActivation *track,
                                          PlaError *err);
