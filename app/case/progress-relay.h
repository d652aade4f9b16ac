/* Progress of a worker, told on the thread that asked for the work: the newest value, at most one
 * idle call at a time. */
#pragma once

#include "anatomy/base/progress.h"

typedef struct PlaProgressRelay PlaProgressRelay;

/* @func is called in the main context that is the thread's default now; it may be NULL. */
PlaProgressRelay *pla_progress_relay_new(PlaProgressFunc func, void *data);
void pla_progress_relay_unref(PlaProgressRelay *self);
/* A PlaProgressFunc for the worker; @relay is the relay. */
void pla_progress_relay_take(const char *phase, double fraction, void *relay);
/* On the thread of @func.  The last progress still comes before the result: work that is done
 * within one turn of the main loop has its result queued ahead of the idle call.  Afterwards
 * nothing is told any more. */
void pla_progress_relay_close(PlaProgressRelay *self);
