/* Quantities as they are shown and written: one row each, with its unit, colour map, range of
 * colours and number of digits.  The window, reports, pictures, tables and --json ask this table,
 * so that one thing looks and reads the same everywhere.
 *
 * Inside, values are SI.  A value that comes from elsewhere (a field, a key of a file) is given
 * together with its unit. */
#pragma once

/* Field on the vertices of a deformed mesh: where from rest, mm (x, y, z). */
#define PLA_FIELD_DISPLACEMENT "displacement_mm"
#define PLA_FIELD_CONTACT_PRESSURE "contact_pressure_pa"
#define PLA_FIELD_TENSION "tension_kpa" /* of the skin: largest pull in its plane */
#define PLA_FIELD_DISPLACEMENT_ERROR "displacement_error_mm" /* by the size of the cells */

#include "app/base/colour-map.h"

#include <stdbool.h>
#include <stddef.h>

/* ------------------------------------------------------------------- units */

typedef enum {
  PLA_UNIT_ONE = 0, /* plain numbers and ratios */
  PLA_UNIT_PERCENT,
  PLA_UNIT_M,
  PLA_UNIT_CM,
  PLA_UNIT_MM,
  PLA_UNIT_M2,
  PLA_UNIT_CM2,
  PLA_UNIT_MM2,
  PLA_UNIT_M3,
  PLA_UNIT_ML,
  PLA_UNIT_MM3,
  PLA_UNIT_PA,
  PLA_UNIT_KPA,
  PLA_UNIT_N,
  PLA_UNIT_J,
  PLA_UNIT_KG,
  PLA_UNIT_G,
  PLA_UNIT_RAD,
  PLA_UNIT_DEG,
  PLA_UNIT_S,
  PLA_UNIT_MS,
  PLA_UNIT_HZ,
  PLA_N_UNITS
} PlaUnit;

const char *pla_unit_symbol(PlaUnit unit); /* as it is read: "mm²"; "" for plain numbers */
/* As keys end and columns of tables say: "mm2"; "" for plain numbers. */
const char *pla_unit_suffix(PlaUnit unit);
/* The unit in which a key is written: PLA_UNIT_KPA of "pressure_kpa".  PLA_UNIT_ONE of keys that
 * end in none, or in several, as "density_kg_m3". */
PlaUnit pla_unit_of_key(const char *key);
/* The unit of such a suffix; PLA_UNIT_ONE of others. */
PlaUnit pla_unit_find(const char *suffix);
/* @value in another unit of the same dimension.  Powers of ten are multiplied or divided by once,
 * so that a value that fits exactly stays exact. */
double pla_unit_convert(double value, PlaUnit from, PlaUnit to);
PlaUnit pla_unit_si(PlaUnit unit); /* of the same dimension */
/* A value in SI as the key says it: pla_key_value("rms_mm", 0.002) is 2. */
double pla_key_value(const char *key, double si);

/* -------------------------------------------------------------- quantities */

typedef enum {
  PLA_QUANTITY_NUMBER = 0,
  /* maps on tissue */
  PLA_QUANTITY_TISSUE,
  PLA_QUANTITY_STRETCH,
  PLA_QUANTITY_STRAIN,
  PLA_QUANTITY_SKIN_STRETCH,
  PLA_QUANTITY_TENSION,
  PLA_QUANTITY_PRESSURE,
  PLA_QUANTITY_VON_MISES,
  PLA_QUANTITY_DISPLACEMENT,
  PLA_QUANTITY_DISPLACEMENT_ERROR,
  PLA_QUANTITY_CONTACT_PRESSURE,
  PLA_QUANTITY_VOLUME_RATIO,
  PLA_QUANTITY_ELEMENT_ANGLE,
  PLA_QUANTITY_DEVIATION,
  /* lengths */
  PLA_QUANTITY_LENGTH,
  PLA_QUANTITY_FINE_LENGTH,
  PLA_QUANTITY_DISTANCE,
  PLA_QUANTITY_GAP,
  PLA_QUANTITY_DOG_EAR,
  PLA_QUANTITY_TOOL,
  PLA_QUANTITY_FIT_ERROR,
  PLA_QUANTITY_MOTION,
  PLA_QUANTITY_PENETRATION,
  PLA_QUANTITY_POSITION,
  PLA_QUANTITY_EXTENT,
  PLA_QUANTITY_SPACING,
  /* areas, volumes, masses, angles */
  PLA_QUANTITY_AREA,
  PLA_QUANTITY_SKIN_AREA,
  PLA_QUANTITY_VOLUME,
  PLA_QUANTITY_TISSUE_VOLUME,
  PLA_QUANTITY_LISTED_VOLUME,
  PLA_QUANTITY_VOLUME_CHANGE,
  PLA_QUANTITY_MASS,
  PLA_QUANTITY_ANGLE,
  /* loads */
  PLA_QUANTITY_FORCE,
  PLA_QUANTITY_TISSUE_PRESSURE,
  PLA_QUANTITY_ENERGY,
  PLA_QUANTITY_ACTIVATION,
  /* time */
  PLA_QUANTITY_TIME,
  PLA_QUANTITY_DURATION,
  PLA_QUANTITY_ESTIMATE,
  PLA_QUANTITY_FREQUENCY,
  PLA_N_QUANTITIES
} PlaQuantityId;

/* The values that get the first and the last colour. */
typedef enum {
  PLA_RANGE_SPREAD = 0,    /* all but the outermost half percent at each end */
  PLA_RANGE_FROM_ZERO,     /* from 0 to all but the highest half percent */
  PLA_RANGE_CENTRED,       /* as SPREAD, widened until @centre is in the middle */
  PLA_RANGE_FIXED,         /* from 0 to @limit, whatever the values are: plans can be compared */
  PLA_RANGE_FIXED_CENTRED, /* the same, from @centre - @limit to @centre + @limit */
} PlaRangeRule;

typedef struct {
  const char *id;    /* "von-mises" */
  const char *label; /* translatable: "Von Mises stress" */
  const char *about; /* translatable: one sentence, what it is */
  PlaUnit unit;      /* in which it is shown */
  int digits;        /* behind the point; of the whole number where @significant */
  bool significant;
  PlaColourMap map;
  PlaRangeRule rule;
  double centre; /* in @unit; of CENTRED */
  double limit;  /* in @unit: reach of FIXED, and the threshold a user begins with; 0: none */
} PlaQuantity;

const PlaQuantity *pla_quantity_get(PlaQuantityId id);
/* Colours for @n values in quantity->unit: lo < hi, both finite. */
void pla_quantity_range(const PlaQuantity *quantity, const double *values, size_t n, double *lo,
                        double *hi);
/* The same where the user has chosen a threshold, at the last colour. */
void pla_quantity_range_to(const PlaQuantity *quantity, double limit, double *lo, double *hi);

/* A value that is given in @in, as it is shown: "1.25", and with its unit "1.25 kPa"; "–" where it
 * is no number.  g_free() */
char *pla_quantity_number(PlaQuantityId id, double value, PlaUnit in);
char *pla_quantity_text(PlaQuantityId id, double value, PlaUnit in);
/* Three of them, with one unit: "1.0 × 2.0 × 3.0 mm".  g_free() */
char *pla_quantity_size_text(PlaQuantityId id, const double value[3], PlaUnit in);
/* "@title, ml" for tables and "@title (ml)" for rows of panels; without a unit @title alone.
 * g_free() */
char *pla_quantity_heading(const char *title, PlaUnit unit);
char *pla_quantity_row_title(const char *title, PlaUnit unit);

/* What a colour bar says. */
typedef struct {
  const char *label; /* of the quantity */
  const char *unit;  /* symbol */
  double lo, hi;
  uint8_t rgb[256 * 3]; /* lowest first */
} PlaLegend;
void pla_legend_init(PlaLegend *self, PlaQuantityId id, double lo, double hi);
