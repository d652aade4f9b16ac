/* A piece of work on another thread: title, phase, progress, cancel.
 *
 * The work gets a snapshot of what it needs and a PlaProgress; its result comes back on the main
 * thread.  Properties, notified on the main thread: "title", "phase", "fraction", "time-left"
 * (text). */
#pragma once

#include "anatomy/base/progress.h"
#include "anatomy/base/status.h"

#include <gio/gio.h>

G_BEGIN_DECLS

#define PLA_TYPE_JOB (pla_job_get_type())
G_DECLARE_FINAL_TYPE(PlaJob, pla_job, PLA, JOB, GObject)

/* On the worker's thread. */
typedef PlaStatus (*PlaJobWork)(gpointer data, PlaProgress *progress, PlaError *err);
/* On the main thread; @status is PLA_ERR_CANCELLED after a cancel. */
typedef void (*PlaJobDone)(PlaJob *job, gpointer data, PlaStatus status, const PlaError *err);

/* Starts at once.  The job holds itself until done; @data is freed after @done.  Caller unrefs. */
PlaJob *pla_job_start(const char *title, PlaJobWork work, PlaJobDone done, gpointer data,
                      GDestroyNotify free_data);
/* A job whose work is done elsewhere: reports and the end come from the caller. */
PlaJob *pla_job_new_watched(const char *title, GCancellable *cancellable);
void pla_job_report(PlaJob *self, const char *phase, double fraction); /* @phase is static */
void pla_job_cancel(PlaJob *self);
const char *pla_job_get_title(PlaJob *self);

G_END_DECLS
