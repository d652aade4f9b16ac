/* PlaError for callers that speak GError. */
#pragma once

#include "anatomy/base/status.h"

#include <glib.h>

#define PLA_ERROR (pla_error_quark())
GQuark pla_error_quark(void);

/* Hands @err's sentence over as a GError whose code is its PlaStatus; a cancelled piece of work
 * becomes G_IO_ERROR_CANCELLED, as GIO's own do. */
void pla_error_to_gerror(const PlaError *err, GError **error);
