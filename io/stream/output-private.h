/* Between single outputs and sets of them. */
#pragma once

#include "io/stream/output.h"

/* Where @path waits in this thread's set: its folder, made on demand, and the same name; free().
 * *out is NULL where no set is open. */
PlaStatus pla_output_set_place(const char *path, char **out, PlaError *err);
/* The file that waits for @path is whole. */
PlaStatus pla_output_set_add(const char *path, PlaError *err);
/* Async-signal-safe. */
bool pla_output_set_remove_folders(void);
