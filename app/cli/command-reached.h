/* Whether what was written into a case is what was asked for. */
#pragma once

#include "app/case/session.h"

/* PLA_ERR_CONVERGENCE with a sentence where @content says of itself that it did not converge, or
 * holds frames without equilibrium. */
PlaStatus pla_content_check_reached(const char *name, PlaContent *content, PlaError *err);
/* The same where an item of the case that is not in @before (of PlaHash) says so. */
PlaStatus pla_session_check_reached(PlaSession *session, const GArray *before,
                                    PlaProgress *progress, PlaError *err);
/* The hashes of what the case holds now, for @before; g_array_unref(). */
GArray *pla_session_get_hashes(PlaSession *session);
