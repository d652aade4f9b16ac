/* Problems with known answers, solved by what `mesh`, `cut` and `simulate` run.
 *
 * A problem is one row of the table in app/verify/verify-table.c: its quantities with reference,
 * source and tolerance, its sizes, and a function that solves it at one size.  Tolerances are set
 * before anything is computed; a quantity that misses its own is reported as failed. */
#pragma once

#include "anatomy/base/progress.h"
#include "anatomy/base/status.h"

#include <glib.h>

enum { PLA_VERIFY_SIZES = 4, PLA_VERIFY_QUANTITIES = 6 };

/* One number that is known. */
typedef struct {
  const char *name; /* "drop of the tip"; NULL ends a list */
  const char *unit; /* of reference and value: "mm"; "" for numbers without one */
  double reference; /* NaN: a closed form that the problem's function evaluates */
  /* of |value / reference - 1|, or of |value| where the reference is 0; for each size */
  double tolerance[PLA_VERIFY_SIZES];
  const char *source; /* where the reference comes from */
} PlaVerifyQuantity;

typedef struct PlaVerifyRun PlaVerifyRun;
typedef struct PlaVerifyProblem PlaVerifyProblem;
struct PlaVerifyProblem {
  const char *name;  /* "bar-tets" */
  const char *about; /* one line, lower case */
  /* From coarse to fine, the last one with --long alone; 0: none.  They count @size_unit. */
  double size[PLA_VERIFY_SIZES];
  const char *size_unit; /* "cells across", or "mm", where less is finer; "": one size fits all */
  int variant;           /* for functions that several problems share */
  /* Fills run->value, and run->reference where the table has NaN. */
  PlaStatus (*solve)(PlaVerifyRun *run, PlaError *err);
  PlaVerifyQuantity quantity[PLA_VERIFY_QUANTITIES + 1];
};

/* One problem at one size, as its function sees it. */
struct PlaVerifyRun {
  const PlaVerifyProblem *problem;
  double size;
  double stiffness; /* factor of every modulus, 1 but for planted errors */
  PlaProgress *progress;
  double value[PLA_VERIFY_QUANTITIES]; /* NaN: not known */
  double reference[PLA_VERIFY_QUANTITIES];
};

/* One quantity at one size: a line of the printed table. */
typedef struct {
  const PlaVerifyProblem *problem;
  const PlaVerifyQuantity *quantity;
  double size, reference, value;
  double error;     /* value / reference - 1; the value itself where the reference is 0 */
  double tolerance; /* of its size */
  double order;     /* observed order of convergence since the next coarser size, or NaN */
  bool pass;
  double seconds; /* of the problem at that size, all its quantities together */
  char *why;      /* the problem could not be solved: the sentence; else NULL.  Owned */
} PlaVerifyRow;
void pla_verify_row_clear(PlaVerifyRow *row);

typedef struct {
  bool large;       /* the large sizes too */
  double stiffness; /* plants an error: factor of every modulus that the scenes are given, but not
                       of the references */
} PlaVerifyOptions;
PlaVerifyOptions pla_verify_options_default(void);

const PlaVerifyProblem *pla_verify_problems_get(int *n);
/* PLA_ERR_USAGE for an unknown name. */
PlaStatus pla_verify_find(const char *name, const PlaVerifyProblem **out, PlaError *err);

/* Solves @problem at its sizes and appends its rows (of PlaVerifyRow) to @rows.  What cannot be
 * solved is a row that fails; only a cancel is an error. */
PlaStatus pla_verify_solve(const PlaVerifyProblem *problem, const PlaVerifyOptions *options,
                           PlaProgress *progress, GArray *rows, PlaError *err);
