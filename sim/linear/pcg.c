/* Preconditioned conjugate gradients, flexible: beta = z . (r - r_old) / (z_old . r_old), since a
 * factor in single precision makes the preconditioner vary a little from call to call (Golub and Ye
 * 1999). */
#include "sim/linear/pcg.h"

#include "anatomy/base/memory.h"
#include "anatomy/base/parallel.h"

#include <stdlib.h>
#include <string.h>

PlaStatus
pla_pcg_solve(const PlaPcg *self, const double *b, double rel, int max_iterations,
              PlaProgress *progress, double *x, PlaRefineReport *report, PlaError *err)
{
  const size_t n = self->n;
  double *r = pla_array_dup(b, n, sizeof *r), *z = pla_array_new(n, sizeof *z);
  double *p = pla_array_new0(n, sizeof *p), *ap = pla_array_new(n, sizeof *ap);
  double *r_old = pla_array_new(n, sizeof *r_old);
  PlaStatus st = r && z && p && ap && r_old ? PLA_OK : pla_fail_memory(err, "conjugate gradients");
  const double b_norm = pla_norm2(b, n);
  double rz_old = 0.0;
  *report =
      (PlaRefineReport){ .residual_rel = b_norm > 0.0 ? 1.0 : 0.0, .converged = b_norm == 0.0 };
  memset(x, 0, n * sizeof *x);
  while (st == PLA_OK && !report->converged && report->iterations < max_iterations) {
    st = pla_progress_cancelled(progress) ? pla_fail_cancelled(err)
                                          : self->precondition(self->data, r, z, err);
    if (st != PLA_OK)
      break;
    const double rz = pla_dot(r, z, n);
    const double beta = report->iterations ? (rz - pla_dot(r_old, z, n)) / rz_old : 0.0;
    for (size_t i = 0; i < n; i++)
      p[i] = z[i] + beta * p[i];
    st = self->apply(self->data, p, ap, err);
    if (st != PLA_OK)
      break;
    const double curvature = pla_dot(p, ap, n);
    if (!(curvature > 0.0)) {
      report->negative_curvature = true;
      if (report->iterations == 0)
        memcpy(x, z, n * sizeof *x);
      break;
    }
    const double alpha = pla_dot(r, p, n) / curvature;
    memcpy(r_old, r, n * sizeof *r);
    for (size_t i = 0; i < n; i++) {
      x[i] += alpha * p[i];
      r[i] -= alpha * ap[i];
    }
    rz_old = rz;
    report->iterations++;
    report->residual_rel = pla_norm2(r, n) / b_norm;
    report->converged = report->residual_rel <= rel;
  }
  free(r);
  free(z);
  free(p);
  free(ap);
  free(r_old);
  return st;
}

typedef struct {
  const PlaBlockMatrix *matrix;
  PlaPrecondition precondition;
  void *data;
} Stored;

static PlaStatus
apply_stored(void *data, const double *x, double *y, PlaError *err)
{
  const Stored *self = data;
  (void)err;
  pla_block_matrix_mul(self->matrix, x, y);
  return PLA_OK;
}

static PlaStatus
precondition_stored(void *data, const double *r, double *z, PlaError *err)
{
  const Stored *self = data;
  return self->precondition(self->data, r, z, err);
}

PlaStatus
pla_pcg(const PlaBlockMatrix *a, PlaPrecondition precondition, void *data, const double *b,
        double rel, int max_iterations, PlaProgress *progress, double *x, PlaRefineReport *report,
        PlaError *err)
{
  Stored stored = { a, precondition, data };
  const PlaPcg pcg = { 3 * (size_t)a->n, &stored, apply_stored, precondition_stored };
  return pla_pcg_solve(&pcg, b, rel, max_iterations, progress, x, report, err);
}
