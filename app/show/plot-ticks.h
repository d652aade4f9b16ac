/* Round values along an axis, and ranges that can be divided by. */
#pragma once

#include <stdbool.h>

/* Ends nearer to each other than about a billionth of their size, or not finite: what lies between
 * them is one value as far as a picture goes. */
bool pla_range_is_flat(double lo, double hi);
/* Where flat, opens the range around its middle by half of it (0 becomes 0..1). */
void pla_range_open(double *lo, double *hi);
/* Where @value stands from @lo (0) to @hi (1); the distance between the ends may overflow. */
double pla_range_share(double lo, double hi, double value);

typedef struct {
  int n;        /* 0 where the range is flat */
  double first; /* value of the first tick over step */
  double step;  /* 1, 2 or 5 times a power of ten */
  double base;  /* labels count from here where they would be too long otherwise; else 0 */
} PlaTicks;
enum { PLA_TICK_TEXT = 32 };

/* At most @most steps between lo and hi. */
PlaTicks pla_ticks(double lo, double hi, double most);
double pla_ticks_value(const PlaTicks *self, int i);
/* Any two differ.  Returns @text. */
const char *pla_ticks_label(const PlaTicks *self, int i, char text[PLA_TICK_TEXT]);
