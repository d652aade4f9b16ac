/* Bodies with muscles and performances as verbs name them. */
#pragma once

#include "app/cli/command.h"
#include "app/motion/activation.h"

/* "phantom:face" and so on, with --cell-mm; or a case, whose newest muscles (or --muscles ITEM) are
 * taken: the mesh and the muscles, which are called @path, as items (of PlaWorkItem). */
PlaStatus pla_invocation_add_body(PlaInvocation *inv, const char *path, GArray *items,
                                  PlaError *err);
#define PLA_BODY_OPTIONS                                                                           \
  { "cell-mm", 0, PLA_OPT_NUMBER, "H", "element size of a phantom's mesh", 2, 40 },                \
  {                                                                                                \
    "muscles", 0, PLA_OPT_TEXT, "ITEM", "in a case: the muscles (default: the newest)"             \
  }
