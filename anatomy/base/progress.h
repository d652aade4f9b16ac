/* Progress out, cancel in: the token every long function takes.
 *
 * A NULL token is fine everywhere and means "nobody watches".  The worker calls
 * pla_progress_phase() when it starts a named piece of work and pla_progress_step() often (at
 * least ten times a second); both tell whether to go on.  Any thread may cancel.  Only the thread
 * that started the work may call phase and step; helper threads of a parallel loop ask
 * pla_progress_cancelled(). */
#pragma once

#include "anatomy/base/status.h"

#ifdef __cplusplus
#include <atomic>
typedef std::atomic<bool> PlaAtomicBool; /* laid out like C's */
#else
#include <stdatomic.h>
#include <stdbool.h>
typedef atomic_bool PlaAtomicBool;
#endif

typedef struct PlaProgress PlaProgress;

/* @fraction of the whole work done (0..1, never falls); @phase is a static string such as
 * "Reading slices".  Called on the worker's thread. */
typedef void (*PlaProgressFunc)(const char *phase, double fraction, void *data);

struct PlaProgress {
  PlaAtomicBool cancel;
  PlaProgressFunc func; /* may be NULL */
  void *data;
  /* all as fractions of the whole work */
  double span_from, span_to; /* what the innermost push opened: phases divide this */
  double from, to;           /* the current phase */
  double to_reached;         /* where the next phase begins */
  double shown;              /* last fraction handed to func */
  const char *phase;
};

void pla_progress_init(PlaProgress *self, PlaProgressFunc func, void *data);
void pla_progress_cancel(PlaProgress *self); /* any thread, any time, signal-safe */
bool pla_progress_cancelled(const PlaProgress *self);

/* Starts phase @name, which ends when the fraction @to of the caller's work is reached; it begins
 * where the last phase ended.  false: cancelled. */
bool pla_progress_phase(PlaProgress *self, const char *name, double to);

/* @fraction (0..1) of the current phase is done.  false: cancelled. */
bool pla_progress_step(PlaProgress *self, double fraction);

/* A function that reports 0..1 itself can run inside one phase of its caller's: between push and
 * pop its whole work maps to the current phase. */
typedef struct {
  double span_from, span_to, from, to;
  const char *phase;
} PlaProgressSpan;
PlaProgressSpan pla_progress_push(PlaProgress *self);
void pla_progress_pop(PlaProgress *self, PlaProgressSpan span);

/* The standard sentence for a cancelled piece of work. */
PlaStatus pla_fail_cancelled(PlaError *err);
