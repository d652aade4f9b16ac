/* The tissues that a user can choose from: rows of sim/material/presets.h by their number. */
#pragma once

#include <stdbool.h>

int pla_tissues_count(void);
const char *pla_tissue_id(int tissue);    /* as scenes and operations name it */
const char *pla_tissue_title(int tissue); /* as panels show it, not translated */
bool pla_tissue_is_rigid(int tissue);
/* The tissue that a label of this name most likely is, or -1. */
int pla_tissue_find(const char *label_name);
