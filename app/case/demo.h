/* The demo case: a real head CT, segmented, or the head phantom where there is no scan. */
#pragma once

#include "app/case/session.h"

/* Makes the case file @path.  @volume names the scan, or is NULL for the phantom. */
PlaStatus pla_demo_create(const char *path, const char *volume, PlaProgress *progress,
                          PlaSession **out, PlaError *err);
