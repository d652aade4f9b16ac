/* Curves of force against stretch that are given as tables: straight lines between the points.
 * Below the first point the forces keep its value; above the last the active force keeps it, and
 * the passive one goes on along the last line, so that a fibre never stops resisting.
 *
 * A law is a few numbers, and so is a curve: tables are kept for the life of the process and
 * numbered; equal ones share a number. */
#include "sim/material/fibre-curve.h"

#include "anatomy/base/memory.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  int n;
  /* x, active and passive force, and the integrals of these from 0 to x */
  double x[PLA_FIBRE_TABLE_POINTS], force[2][PLA_FIBRE_TABLE_POINTS],
      area[2][PLA_FIBRE_TABLE_POINTS];
} Table;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Table *tables[PLA_FIBRE_TABLES];
static int n_tables;

static bool
same(const Table *a, const Table *b)
{
  const size_t size = (size_t)a->n * sizeof *a->x;
  return a->n == b->n && memcmp(a->x, b->x, size) == 0 &&
         memcmp(a->force[0], b->force[0], size) == 0 && memcmp(a->force[1], b->force[1], size) == 0;
}

static PlaStatus
fill(Table *table, const double *x, const double *active, const double *passive, int n,
     PlaError *err)
{
  const double *force[2] = { active, passive };
  const double most = 1e3; /* in units of the greatest active force */
  if (n < 2 || n > PLA_FIBRE_TABLE_POINTS)
    return pla_fail(err, PLA_ERR_USAGE, "a curve of fibres needs 2 to %d points, and has %d",
                    PLA_FIBRE_TABLE_POINTS, n);
  table->n = n;
  for (int i = 0; i < n; i++) {
    if (!(x[i] >= 0.0 && x[i] <= 10.0) || (i > 0 && !(x[i] - x[i - 1] > 1e-6)))
      return pla_fail(err, PLA_ERR_USAGE,
                      "the stretches of a curve of fibres must rise, between 0 and 10; point %d is "
                      "at %g",
                      i + 1, x[i]);
    table->x[i] = x[i];
    for (int k = 0; k < 2; k++) {
      table->force[k][i] = force[k] ? force[k][i] : 0.0;
      if (!(fabs(table->force[k][i]) <= most))
        return pla_fail(err, PLA_ERR_USAGE,
                        "point %d of a curve of fibres has the force %g, in units of the greatest "
                        "active one; it must be at most %g",
                        i + 1, table->force[k][i], most);
      const double *f = table->force[k];
      table->area[k][i] = i == 0
                              ? f[0] * x[0]
                              : table->area[k][i - 1] + 0.5 * (f[i] + f[i - 1]) * (x[i] - x[i - 1]);
    }
  }
  return PLA_OK;
}

PlaStatus
pla_fibre_table(const double *x, const double *active, const double *passive, int n,
                PlaFibreCurve *out, PlaError *err)
{
  Table *table = pla_array_new0(1, sizeof *table);
  if (!table)
    return pla_fail_memory(err, "the curve of the fibres");
  PlaStatus st = fill(table, x, active, passive, n, err);
  if (st == PLA_OK) {
    pthread_mutex_lock(&lock);
    int k = 0;
    while (k < n_tables && !same(tables[k], table))
      k++;
    if (k < n_tables) {
      *out = (PlaFibreCurve)(PLA_FIBRE_TABLE + k);
    } else if (n_tables < PLA_FIBRE_TABLES) {
      tables[n_tables++] = table;
      table = NULL;
      *out = (PlaFibreCurve)(PLA_FIBRE_TABLE + k);
    } else {
      st = pla_fail(err, PLA_ERR_USAGE,
                    "more than %d different curves of fibres were read; start the program again",
                    PLA_FIBRE_TABLES);
    }
    pthread_mutex_unlock(&lock);
  }
  free(table);
  return st;
}

bool
pla_fibre_curve_exists(double curve)
{
  pthread_mutex_lock(&lock);
  bool known = curve >= 0.0 && curve < PLA_FIBRE_TABLE + n_tables;
  pthread_mutex_unlock(&lock);
  return known;
}

/* the piece that @x lies in: its first point, and the slope of the force; -1 below all */
static int
piece_at(const Table *table, int k, double x, double *slope)
{
  int i = table->n - 1;
  while (i >= 0 && x < table->x[i])
    i--;
  const int from = i < table->n - 1 ? i : i - 1; /* beyond the last point, along the last line */
  *slope = i < 0 || (i == table->n - 1 && k == 0)
               ? 0.0
               : (table->force[k][from + 1] - table->force[k][from]) /
                     (table->x[from + 1] - table->x[from]);
  return i;
}

void
pla_fibre_table_force(PlaFibreCurve curve, int k, double x, double *force, double *slope)
{
  const Table *table = tables[curve - PLA_FIBRE_TABLE];
  int i = piece_at(table, k, x, slope);
  *force = i < 0 ? table->force[k][0] : table->force[k][i] + *slope * (x - table->x[i]);
}

PlaDual
pla_fibre_table_energy(PlaFibreCurve curve, int k, PlaDual x)
{
  const Table *table = tables[curve - PLA_FIBRE_TABLE];
  double slope;
  int i = piece_at(table, k, pla_dual_value(x), &slope);
  if (i < 0)
    return pla_dual_scale(table->force[k][0], x);
  return pla_dual_taylor(x, table->x[i], table->area[k][i], table->force[k][i], slope);
}
