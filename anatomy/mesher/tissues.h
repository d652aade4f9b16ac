/* Which tissue a point is in, and where along a line it changes. */
#pragma once

#include "anatomy/levelset/levelset.h"

/* Tissue 0 is the rest; tissue g + 1 is group g.  The value of a tissue is its level set, cut off
 * half a voxel outside its grid; that of the rest is its own, or minus the smallest of the others
 * where it has none.  The tissue of least value has the point. */
typedef struct {
  int n_groups;
  const PlaLevelSet *const *group;
  const PlaLevelSet *rest; /* or NULL */
} PlaTissues;

/* mm that a point is beyond (negative: inside) the planes that close the grid of @ls. */
double pla_tissue_beyond(const PlaLevelSet *ls, const double pos_mm[3]);

/* Whose value is the least. */
int pla_tissues_at(const PlaTissues *tissues, const double pos_mm[3]);
/* The same where the outside does not count. */
int pla_tissues_nearest(const PlaTissues *tissues, const double pos_mm[3]);
double pla_tissue_value(const PlaTissues *tissues, int tissue, const double pos_mm[3]);
/* Half the difference of the two least values: how far the point is from an interface, mm. */
double pla_tissues_gap(const PlaTissues *tissues, const double pos_mm[3]);
/* Where on the way from @p (in tissue a) to @q (in tissue b) their values are equal, 0..1. */
double pla_tissues_crossing(const PlaTissues *tissues, int a, int b, const double p[3],
                            const double q[3]);
/* The box of everything inside, mm; false when nothing is. */
bool pla_tissues_box(const PlaTissues *tissues, double lo_mm[3], double hi_mm[3]);
