/* The table of quantities: units and their conversion, ranges of colours, numbers as text. */
#include "app/base/quantity.h"

#include "anatomy/base/memory.h"

#include <assert.h>
#include <glib/gi18n.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------- units */

/* @value in SI is value * times / over.  One of both is 1, except for angles, so that each unit is
 * exact to one rounding. */
typedef struct {
  const char *symbol, *suffix;
  PlaUnit si;
  double times, over;
} Unit;

static const Unit units[PLA_N_UNITS] = {
  [PLA_UNIT_ONE] = { "", "", PLA_UNIT_ONE, 1.0, 1.0 },
  [PLA_UNIT_PERCENT] = { "%", "percent", PLA_UNIT_ONE, 1.0, 100.0 },
  [PLA_UNIT_M] = { "m", "m", PLA_UNIT_M, 1.0, 1.0 },
  [PLA_UNIT_CM] = { "cm", "cm", PLA_UNIT_M, 1.0, 100.0 },
  [PLA_UNIT_MM] = { "mm", "mm", PLA_UNIT_M, 1.0, 1e3 },
  [PLA_UNIT_M2] = { "m²", "m2", PLA_UNIT_M2, 1.0, 1.0 },
  [PLA_UNIT_CM2] = { "cm²", "cm2", PLA_UNIT_M2, 1.0, 1e4 },
  [PLA_UNIT_MM2] = { "mm²", "mm2", PLA_UNIT_M2, 1.0, 1e6 },
  [PLA_UNIT_M3] = { "m³", "m3", PLA_UNIT_M3, 1.0, 1.0 },
  [PLA_UNIT_ML] = { "ml", "ml", PLA_UNIT_M3, 1.0, 1e6 },
  [PLA_UNIT_MM3] = { "mm³", "mm3", PLA_UNIT_M3, 1.0, 1e9 },
  [PLA_UNIT_PA] = { "Pa", "pa", PLA_UNIT_PA, 1.0, 1.0 },
  [PLA_UNIT_KPA] = { "kPa", "kpa", PLA_UNIT_PA, 1e3, 1.0 },
  [PLA_UNIT_N] = { "N", "n", PLA_UNIT_N, 1.0, 1.0 },
  [PLA_UNIT_J] = { "J", "j", PLA_UNIT_J, 1.0, 1.0 },
  [PLA_UNIT_KG] = { "kg", "kg", PLA_UNIT_KG, 1.0, 1.0 },
  [PLA_UNIT_G] = { "g", "g", PLA_UNIT_KG, 1.0, 1e3 },
  [PLA_UNIT_RAD] = { "rad", "rad", PLA_UNIT_RAD, 1.0, 1.0 },
  [PLA_UNIT_DEG] = { "°", "deg", PLA_UNIT_RAD, G_PI, 180.0 },
  [PLA_UNIT_S] = { "s", "s", PLA_UNIT_S, 1.0, 1.0 },
  [PLA_UNIT_MS] = { "ms", "ms", PLA_UNIT_S, 1.0, 1e3 },
  [PLA_UNIT_HZ] = { "Hz", "hz", PLA_UNIT_HZ, 1.0, 1.0 },
};

const char *
pla_unit_symbol(PlaUnit unit)
{
  return units[unit].symbol;
}

const char *
pla_unit_suffix(PlaUnit unit)
{
  return units[unit].suffix;
}

PlaUnit
pla_unit_si(PlaUnit unit)
{
  return units[unit].si;
}

/* the unit that is called by the @n letters at @word, or ONE */
static PlaUnit
find_suffix(const char *word, size_t n)
{
  for (int u = PLA_UNIT_ONE + 1; u < PLA_N_UNITS; u++)
    if (strlen(units[u].suffix) == n && strncmp(units[u].suffix, word, n) == 0)
      return (PlaUnit)u;
  return PLA_UNIT_ONE;
}

PlaUnit
pla_unit_find(const char *suffix)
{
  return find_suffix(suffix, strlen(suffix));
}

PlaUnit
pla_unit_of_key(const char *key)
{
  const char *last = strrchr(key, '_');
  if (!last)
    return PLA_UNIT_ONE;
  const char *before = last;
  while (before > key && before[-1] != '_')
    before--;
  const bool several = before > key && find_suffix(before, (size_t)(last - before)) != PLA_UNIT_ONE;
  return several ? PLA_UNIT_ONE : find_suffix(last + 1, strlen(last + 1));
}

double
pla_unit_convert(double value, PlaUnit from, PlaUnit to)
{
  const Unit *a = &units[from], *b = &units[to];
  assert(a->si == b->si);
  /* both are products of powers of ten below 1e16, hence exact, and so is their ratio one way */
  const double above = a->times * b->over, below = a->over * b->times;
  return above >= below ? value * (above / below) : value / (below / above);
}

double
pla_key_value(const char *key, double si)
{
  const PlaUnit unit = pla_unit_of_key(key);
  return pla_unit_convert(si, units[unit].si, unit);
}

/* -------------------------------------------------------------- quantities */

static const PlaQuantity rows[PLA_N_QUANTITIES] = {
  [PLA_QUANTITY_NUMBER] = { "number", N_("Value"), N_("A number without a unit."), PLA_UNIT_ONE, 4,
                            true, PLA_MAP_GREY, PLA_RANGE_SPREAD, 0.0, 0.0 },

  /* ---- maps on tissue: most of it is at rest, and pale */
  [PLA_QUANTITY_TISSUE] = { "tissue", N_("Tissue"),
                            N_("Skin, and what a blade has laid open, in their own colours."),
                            PLA_UNIT_ONE, 0, false, PLA_MAP_FLESH, PLA_RANGE_FIXED, 0.0, 1.0 },
  [PLA_QUANTITY_STRETCH] = { "stretch", N_("Largest stretch"),
                             N_("Length of a fibre divided by its length at rest, along the "
                                "direction in which that is largest."),
                             PLA_UNIT_ONE, 2, false, PLA_MAP_WARM, PLA_RANGE_SPREAD, 0.0, 0.0 },
  [PLA_QUANTITY_STRAIN] = { "strain", N_("Principal strain"),
                            N_("Change of length over length at rest, along the direction in which "
                               "that is largest."),
                            PLA_UNIT_PERCENT, 0, false, PLA_MAP_WARM, PLA_RANGE_SPREAD, 0.0, 0.0 },
  [PLA_QUANTITY_SKIN_STRETCH] = { "skin-stretch", N_("Stretch of the skin"),
                                  N_("Largest change of length within the skin over length at "
                                     "rest."),
                                  PLA_UNIT_PERCENT, 0, false, PLA_MAP_WARM, PLA_RANGE_FIXED, 0.0,
                                  30.0 },
  [PLA_QUANTITY_TENSION] = { "skin-tension", N_("Tension of the skin"),
                             N_("Largest principal stress in the skin."), PLA_UNIT_KPA, 1, false,
                             PLA_MAP_WARM, PLA_RANGE_FIXED, 0.0, 5.0 },
  [PLA_QUANTITY_PRESSURE] = { "skin-pressure", N_("Pressure"),
                              N_("Mean stress in the skin: negative where it is pulled."),
                              PLA_UNIT_KPA, 1, false, PLA_MAP_DIVERGING, PLA_RANGE_FIXED_CENTRED,
                              0.0, 5.0 },
  [PLA_QUANTITY_VON_MISES] = { "von-mises", N_("Von Mises stress"),
                               N_("Size of the stress that changes shape: pressure does not "
                                  "count."),
                               PLA_UNIT_KPA, 2, false, PLA_MAP_WARM, PLA_RANGE_SPREAD, 0.0, 0.0 },
  [PLA_QUANTITY_DISPLACEMENT] = { "displacement", N_("Displacement"),
                                  N_("Distance of a point from its place at rest."), PLA_UNIT_MM, 1,
                                  false, PLA_MAP_WARM, PLA_RANGE_SPREAD, 0.0, 10.0 },
  [PLA_QUANTITY_DISPLACEMENT_ERROR] = { "displacement-error", N_("Error of displacement"),
                                        N_("How far smaller cells would move a point: an estimate "
                                           "by quadratic elements."),
                                        PLA_UNIT_MM, 2, true, PLA_MAP_WARM, PLA_RANGE_SPREAD, 0.0,
                                        0.0 },
  [PLA_QUANTITY_CONTACT_PRESSURE] = { "contact-pressure", N_("Pressure of contact"),
                                      N_("What presses on the surface, where it touches "
                                         "something."),
                                      PLA_UNIT_KPA, 2, false, PLA_MAP_WARM, PLA_RANGE_SPREAD, 0.0,
                                      0.0 },
  [PLA_QUANTITY_VOLUME_RATIO] = { "jacobian", N_("Volume ratio"),
                                  N_("Volume of an element divided by its volume at rest; 1 where "
                                     "it is kept."),
                                  PLA_UNIT_ONE, 3, false, PLA_MAP_DIVERGING, PLA_RANGE_CENTRED, 1.0,
                                  0.0 },
  [PLA_QUANTITY_ELEMENT_ANGLE] = { "quality", N_("Smallest dihedral angle"),
                                   N_("Smallest angle between two faces of a tetrahedron: small "
                                      "ones make a mesh inaccurate."),
                                   PLA_UNIT_DEG, 2, false, PLA_MAP_SEA, PLA_RANGE_SPREAD, 0.0,
                                   0.0 },
  [PLA_QUANTITY_DEVIATION] = { "deviation", N_("Deviation"),
                               N_("Distance from the other surface: positive outside it, negative "
                                  "inside."),
                               PLA_UNIT_MM, 2, false, PLA_MAP_DIVERGING, PLA_RANGE_CENTRED, 0.0,
                               0.0 },

  /* ---- lengths */
  [PLA_QUANTITY_LENGTH] = { "length", N_("Length"),
                            N_("A length of any size, such as a setting of an operation."),
                            PLA_UNIT_MM, 3, true, PLA_MAP_SEA, PLA_RANGE_FROM_ZERO, 0.0, 0.0 },
  [PLA_QUANTITY_FINE_LENGTH] = { "fine-length", N_("Small length"),
                                 N_("A length that is small beside the body: a residual, a depth."),
                                 PLA_UNIT_MM, 3, false, PLA_MAP_SEA, PLA_RANGE_FROM_ZERO, 0.0,
                                 0.0 },
  [PLA_QUANTITY_DISTANCE] = { "distance", N_("Distance"),
                              N_("Length of a straight line or of a path."), PLA_UNIT_MM, 2, false,
                              PLA_MAP_SEA, PLA_RANGE_FROM_ZERO, 0.0, 0.0 },
  [PLA_QUANTITY_GAP] = { "gap", N_("Gap"), N_("Distance between two edges of a wound."),
                         PLA_UNIT_MM, 2, false, PLA_MAP_SEA, PLA_RANGE_FROM_ZERO, 0.0, 0.0 },
  [PLA_QUANTITY_DOG_EAR] = { "dog-ear", N_("Dog-ear"),
                             N_("Height by which skin stands up at the end of a closed wound."),
                             PLA_UNIT_MM, 1, false, PLA_MAP_SEA, PLA_RANGE_FROM_ZERO, 0.0, 0.0 },
  [PLA_QUANTITY_TOOL] = { "tool", N_("Size of a tool"),
                          N_("Depth, radius or length that a tool is set to."), PLA_UNIT_MM, 1,
                          false, PLA_MAP_SEA, PLA_RANGE_FROM_ZERO, 0.0, 0.0 },
  [PLA_QUANTITY_FIT_ERROR] = { "fit-error", N_("Error of the fit"),
                               N_("Distance between what was measured and what the model says."),
                               PLA_UNIT_MM, 2, false, PLA_MAP_SEA, PLA_RANGE_FROM_ZERO, 0.0, 0.0 },
  [PLA_QUANTITY_MOTION] = { "motion", N_("Motion"),
                            N_("Distance by which points moved, on average or at most."),
                            PLA_UNIT_MM, 1, false, PLA_MAP_SEA, PLA_RANGE_FROM_ZERO, 0.0, 0.0 },
  [PLA_QUANTITY_PENETRATION] = { "penetration", N_("Penetration"),
                                 N_("Depth to which one body enters another where they touch."),
                                 PLA_UNIT_MM, 2, true, PLA_MAP_SEA, PLA_RANGE_FROM_ZERO, 0.0, 0.0 },
  [PLA_QUANTITY_POSITION] = { "position", N_("Position"), N_("Coordinate in the patient's frame."),
                              PLA_UNIT_MM, 1, false, PLA_MAP_DIVERGING, PLA_RANGE_CENTRED, 0.0,
                              0.0 },
  [PLA_QUANTITY_EXTENT] = { "extent", N_("Extent"), N_("Size of a body or volume along an axis."),
                            PLA_UNIT_MM, 0, false, PLA_MAP_SEA, PLA_RANGE_FROM_ZERO, 0.0, 0.0 },
  [PLA_QUANTITY_SPACING] = { "spacing", N_("Spacing"), N_("Size of a voxel along an axis."),
                             PLA_UNIT_MM, 4, true, PLA_MAP_SEA, PLA_RANGE_FROM_ZERO, 0.0, 0.0 },

  /* ---- areas, volumes, masses, angles */
  [PLA_QUANTITY_AREA] = { "area", N_("Area"), N_("Area of a surface."), PLA_UNIT_CM2, 2, false,
                          PLA_MAP_SEA, PLA_RANGE_FROM_ZERO, 0.0, 0.0 },
  [PLA_QUANTITY_SKIN_AREA] = { "skin-area", N_("Area of skin"),
                               N_("Area of the skin on which a map is above its threshold."),
                               PLA_UNIT_CM2, 1, false, PLA_MAP_SEA, PLA_RANGE_FROM_ZERO, 0.0, 0.0 },
  [PLA_QUANTITY_VOLUME] = { "volume", N_("Volume"),
                            N_("Volume that a mesh or a measured tissue encloses."), PLA_UNIT_ML, 3,
                            false, PLA_MAP_SEA, PLA_RANGE_FROM_ZERO, 0.0, 0.0 },
  [PLA_QUANTITY_TISSUE_VOLUME] = { "tissue-volume", N_("Volume of a tissue"),
                                   N_("Volume of the voxels of a label, or of what was taken out."),
                                   PLA_UNIT_ML, 2, false, PLA_MAP_SEA, PLA_RANGE_FROM_ZERO, 0.0,
                                   0.0 },
  [PLA_QUANTITY_LISTED_VOLUME] = { "listed-volume", N_("Volume in a list"),
                                   N_("Volume beside a name in a list, rounded to be read fast."),
                                   PLA_UNIT_ML, 1, false, PLA_MAP_SEA, PLA_RANGE_FROM_ZERO, 0.0,
                                   0.0 },
  [PLA_QUANTITY_VOLUME_CHANGE] = { "volume-change", N_("Change of volume"),
                                   N_("Largest change of a body's volume over its volume at rest."),
                                   PLA_UNIT_PERCENT, 2, true, PLA_MAP_SEA, PLA_RANGE_FROM_ZERO, 0.0,
                                   0.0 },
  [PLA_QUANTITY_MASS] = { "mass", N_("Mass"), N_("Mass of a body or of what was taken out."),
                          PLA_UNIT_G, 2, false, PLA_MAP_SEA, PLA_RANGE_FROM_ZERO, 0.0, 0.0 },
  [PLA_QUANTITY_ANGLE] = { "angle", N_("Angle"), N_("Angle between two lines or faces."),
                           PLA_UNIT_DEG, 2, false, PLA_MAP_SEA, PLA_RANGE_SPREAD, 0.0, 0.0 },

  /* ---- loads */
  [PLA_QUANTITY_FORCE] = { "force", N_("Force"),
                           N_("Pull of a stitch or a hook, or push of a contact."), PLA_UNIT_N, 2,
                           false, PLA_MAP_HEAT, PLA_RANGE_FROM_ZERO, 0.0, 0.0 },
  [PLA_QUANTITY_TISSUE_PRESSURE] = { "added-pressure", N_("Added pressure"),
                                     N_("Pressure that an expander adds under the skin."),
                                     PLA_UNIT_KPA, 2, false, PLA_MAP_WARM, PLA_RANGE_FROM_ZERO, 0.0,
                                     0.0 },
  [PLA_QUANTITY_ENERGY] = { "energy", N_("Energy"), N_("Elastic energy that a body holds."),
                            PLA_UNIT_J, 4, true, PLA_MAP_HEAT, PLA_RANGE_FROM_ZERO, 0.0, 0.0 },
  [PLA_QUANTITY_ACTIVATION] = { "activation", N_("Activation"),
                                N_("Share of a muscle's greatest active stress, 0 to 1."),
                                PLA_UNIT_ONE, 2, false, PLA_MAP_HEAT, PLA_RANGE_FIXED, 0.0, 1.0 },

  /* ---- time */
  [PLA_QUANTITY_TIME] = { "time", N_("Time"), N_("Moment of a motion or length of a recording."),
                          PLA_UNIT_S, 2, false, PLA_MAP_HEAT, PLA_RANGE_SPREAD, 0.0, 0.0 },
  [PLA_QUANTITY_DURATION] = { "duration", N_("Duration"), N_("Time that work took."), PLA_UNIT_S, 1,
                              false, PLA_MAP_HEAT, PLA_RANGE_FROM_ZERO, 0.0, 0.0 },
  [PLA_QUANTITY_ESTIMATE] = { "estimate", N_("Time to wait"),
                              N_("Time that work will take, as far as that is known."), PLA_UNIT_S,
                              0, false, PLA_MAP_HEAT, PLA_RANGE_FROM_ZERO, 0.0, 0.0 },
  [PLA_QUANTITY_FREQUENCY] = { "frequency", N_("Frequency"),
                               N_("Frames, samples or vibrations in a second."), PLA_UNIT_HZ, 6,
                               true, PLA_MAP_HEAT, PLA_RANGE_FROM_ZERO, 0.0, 0.0 },
};

const PlaQuantity *
pla_quantity_get(PlaQuantityId id)
{
  return &rows[id];
}

/* ------------------------------------------------------------------ ranges */

static int
compare(const void *a, const void *b)
{
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* the ends of what is finite, without half a percent at each; false where there is nothing */
static bool
find_spread(const double *values, size_t n, double *lo, double *hi)
{
  double *sorted = pla_array_new(n, sizeof *sorted);
  size_t m = 0;
  for (size_t i = 0; sorted && i < n; i++)
    if (isfinite(values[i]))
      sorted[m++] = values[i];
  if (m > 0) {
    qsort(sorted, m, sizeof *sorted, compare);
    /* the distance between the ends is a number too */
    *lo = fmin(fmax(sorted[m / 200], -1e307), 1e307);
    *hi = fmin(fmax(sorted[m - 1 - m / 200], -1e307), 1e307);
  }
  free(sorted);
  return m > 0;
}

void
pla_quantity_range(const PlaQuantity *quantity, const double *values, size_t n, double *lo,
                   double *hi)
{
  *lo = quantity->centre;
  *hi = quantity->centre + 1.0;
  if (quantity->rule == PLA_RANGE_FIXED || quantity->rule == PLA_RANGE_FIXED_CENTRED) {
    pla_quantity_range_to(quantity, quantity->limit, lo, hi);
    return;
  }
  if (find_spread(values, n, lo, hi) && quantity->rule == PLA_RANGE_FROM_ZERO) {
    *lo = 0.0;
    *hi = fmax(*hi, 0.0);
  }
  if (quantity->rule == PLA_RANGE_CENTRED) {
    const double reach = fmax(fabs(*lo - quantity->centre), fabs(*hi - quantity->centre));
    *lo = quantity->centre - reach;
    *hi = quantity->centre + reach;
  }
  /* even a field of one value needs two ends */
  const double least = 1e-3 * fmax(1.0, fabs(*hi));
  if (!(*hi - *lo > least)) {
    const double middle = 0.5 * (*lo + *hi);
    *lo = middle - 0.5 * least;
    *hi = middle + 0.5 * least;
  }
}

void
pla_quantity_range_to(const PlaQuantity *quantity, double limit, double *lo, double *hi)
{
  const bool centred =
      quantity->rule == PLA_RANGE_CENTRED || quantity->rule == PLA_RANGE_FIXED_CENTRED;
  *lo = centred ? quantity->centre - limit : 0.0;
  *hi = centred ? quantity->centre + limit : limit;
}

/* ------------------------------------------------------------------- words */

char *
pla_quantity_number(PlaQuantityId id, double value, PlaUnit in)
{
  const PlaQuantity *q = &rows[id];
  const double shown = pla_unit_convert(value, in, q->unit);
  if (!isfinite(shown))
    return g_strdup("–");
  return q->significant ? g_strdup_printf("%.*g", q->digits, shown)
                        : g_strdup_printf("%.*f", q->digits, shown);
}

/* takes @number; signs that are written above the line stand close */
static char *
with_unit(char *number, PlaUnit unit)
{
  g_autofree char *taken = number;
  return g_strconcat(taken, unit == PLA_UNIT_ONE || unit == PLA_UNIT_DEG ? "" : " ",
                     units[unit].symbol, NULL);
}

char *
pla_quantity_text(PlaQuantityId id, double value, PlaUnit in)
{
  char *number = pla_quantity_number(id, value, in);
  return isfinite(value) ? with_unit(number, rows[id].unit) : number;
}

char *
pla_quantity_size_text(PlaQuantityId id, const double value[3], PlaUnit in)
{
  g_autofree char *x = pla_quantity_number(id, value[0], in);
  g_autofree char *y = pla_quantity_number(id, value[1], in);
  g_autofree char *z = pla_quantity_number(id, value[2], in);
  return with_unit(g_strdup_printf("%s × %s × %s", x, y, z), rows[id].unit);
}

char *
pla_quantity_heading(const char *title, PlaUnit unit)
{
  return unit == PLA_UNIT_ONE ? g_strdup(title)
                              : g_strdup_printf("%s, %s", title, units[unit].symbol);
}

char *
pla_quantity_row_title(const char *title, PlaUnit unit)
{
  return unit == PLA_UNIT_ONE ? g_strdup(title)
                              : g_strdup_printf("%s (%s)", title, units[unit].symbol);
}

void
pla_legend_init(PlaLegend *self, PlaQuantityId id, double lo, double hi)
{
  self->label = rows[id].label;
  self->unit = units[rows[id].unit].symbol;
  self->lo = lo;
  self->hi = hi;
  pla_colour_map_table(rows[id].map, self->rgb);
}
