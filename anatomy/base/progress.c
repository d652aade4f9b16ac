/* Progress of nested phases as one fraction from 0 to 1, and a flag that asks the work to stop. */
#include "anatomy/base/progress.h"

#include <stddef.h>

void
pla_progress_init(PlaProgress *self, PlaProgressFunc func, void *data)
{
  *self = (PlaProgress){ .func = func, .data = data, .span_to = 1.0, .to = 1.0 };
  atomic_init(&self->cancel, false);
}

void
pla_progress_cancel(PlaProgress *self)
{
  if (self)
    atomic_store_explicit(&self->cancel, true, memory_order_relaxed);
}

bool
pla_progress_cancelled(const PlaProgress *self)
{
  return self && atomic_load_explicit(&self->cancel, memory_order_relaxed);
}

/* hands the fraction to the watcher when it has grown by a visible amount or the phase is new */
static void
show(PlaProgress *self, double fraction, bool phase_is_new)
{
  if (fraction < self->shown)
    fraction = self->shown;
  if (self->func && (phase_is_new || fraction >= self->shown + 0.001 || fraction >= 1.0)) {
    self->shown = fraction;
    self->func(self->phase ? self->phase : "", fraction, self->data);
  }
}

/* Phases live inside the span that the innermost push opened; `from` and `to` are absolute. */
bool
pla_progress_phase(PlaProgress *self, const char *name, double to)
{
  if (!self)
    return true;
  self->phase = name;
  self->from = self->to_reached;
  self->to = self->span_from + to * (self->span_to - self->span_from);
  if (self->to < self->from)
    self->to = self->from;
  self->to_reached = self->to;
  show(self, self->from, true);
  return !pla_progress_cancelled(self);
}

bool
pla_progress_step(PlaProgress *self, double fraction)
{
  if (!self)
    return true;
  fraction = fraction < 0.0 ? 0.0 : fraction > 1.0 ? 1.0 : fraction;
  show(self, self->from + fraction * (self->to - self->from), false);
  return !pla_progress_cancelled(self);
}

PlaProgressSpan
pla_progress_push(PlaProgress *self)
{
  if (!self)
    return (PlaProgressSpan){ 0 };
  PlaProgressSpan outer = { self->span_from, self->span_to, self->from, self->to, self->phase };
  self->span_from = self->from;
  self->span_to = self->to;
  self->to_reached = self->from;
  return outer;
}

void
pla_progress_pop(PlaProgress *self, PlaProgressSpan outer)
{
  if (!self)
    return;
  self->span_from = outer.span_from;
  self->span_to = outer.span_to;
  self->from = outer.from;
  self->to = outer.to;
  self->to_reached = outer.to;
  self->phase = outer.phase;
}

PlaStatus
pla_fail_cancelled(PlaError *err)
{
  return pla_fail(err, PLA_ERR_CANCELLED, "stopped on request; nothing was changed");
}
