/* `muscles torque` from file to file. */
#include "app/cli/cli-private.h"
#include "app/cli/command-activate.h"
#include "app/verbs/verbs.h"

PlaStatus
pla_run_torque(PlaInvocation *inv, PlaError *err)
{
  if (pla_invocation_n_files(inv) != 2)
    return pla_fail(
        err, PLA_ERR_USAGE,
        "name the limb: platysma-cli muscles torque phantom:arm --bend-deg 90 --load-kg 2");
  return pla_run_verb_as(inv, &pla_verb_torque, 1, err);
}
