/* What the texts and arrays of a case mean: whether they can be understood, and mending those that
 * an older version wrote wrongly.  The store itself knows bytes and hashes only. */
#pragma once

#include "io/store/store.h"

/* pla_store_verify(), and whether every item can be built and every row of the log be read. */
PlaStatus pla_case_verify(PlaStore *store, PlaProgress *progress, PlaStoreCheck *out,
                          PlaError *err);
/* pla_store_recover(), and what cannot be understood is left out, named in out->lost. */
PlaStatus pla_case_recover(const char *path, const char *to, PlaProgress *progress,
                           PlaStoreSalvage *out, PlaError *err);
/* Mends texts that an older version wrote wrongly; *n: how many.  A case that cannot be changed
 * stays as it is: what reads it takes such texts for what they mean. */
PlaStatus pla_case_mend(PlaStore *store, int64_t *n, PlaError *err);
