/* The parts of `muscles` that move them, and that balance a limb. */
#pragma once

#include "app/cli/command.h"

PlaStatus pla_run_activate(PlaInvocation *inv, PlaError *err);
PlaStatus pla_run_torque(PlaInvocation *inv, PlaError *err);
