/* The numbers of a case as one table: volumes of tissues, sizes of meshes, measurements, landmarks.
 */
#pragma once

#include "app/case/session.h"

/* CSV with the columns item, kind, name, quantity, value, unit, x_mm, y_mm, z_mm; one row a number.
 * *n_rows may be NULL.  PLA_ERR_EMPTY where the case has none. */
PlaStatus pla_table_write_csv(PlaSession *session, const char *path, PlaProgress *progress,
                              int *n_rows, PlaError *err);
