/* The part of `muscles` that moves them. */
#pragma once

#include "app/cli/verb.h"

PlaStatus pla_run_activate(PlaInvocation *inv, PlaError *err);
