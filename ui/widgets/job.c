/* Runs a function as a GTask on a worker. Progress reports cross to the main thread as idle
 * sources. */
#include "ui/widgets/job.h"

#include <glib/gi18n.h>
#include <string.h>

struct _PlaJob {
  GObject parent_instance;
  char *title;
  const char *phase; /* static text */
  double fraction;
  char *time_left;
  gint64 started_us;

  GCancellable *cancellable; /* of a watched job */
  PlaProgress progress;
  PlaJobWork work;
  PlaJobDone done;
  gpointer data;
  GDestroyNotify free_data;

  /* what the worker reported last, handed to the main thread */
  GMutex lock;
  const char *new_phase;
  double new_fraction;
  guint pending; /* source id, 0: none */
};

enum { PROP_TITLE = 1, PROP_PHASE, PROP_FRACTION, PROP_TIME_LEFT, N_PROPS };
static GParamSpec *props[N_PROPS];

G_DEFINE_FINAL_TYPE(PlaJob, pla_job, G_TYPE_OBJECT)

static void
pla_job_get_property(GObject *object, guint id, GValue *value, GParamSpec *spec)
{
  PlaJob *self = PLA_JOB(object);
  switch (id) {
  case PROP_TITLE:
    g_value_set_string(value, self->title);
    break;
  case PROP_PHASE:
    g_value_set_string(value, self->phase);
    break;
  case PROP_FRACTION:
    g_value_set_double(value, self->fraction);
    break;
  case PROP_TIME_LEFT:
    g_value_set_string(value, self->time_left);
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
  }
}

static void
pla_job_finalize(GObject *object)
{
  PlaJob *self = PLA_JOB(object);
  if (self->free_data)
    self->free_data(self->data);
  g_clear_object(&self->cancellable);
  g_free(self->title);
  g_free(self->time_left);
  g_mutex_clear(&self->lock);
  G_OBJECT_CLASS(pla_job_parent_class)->finalize(object);
}

static void
pla_job_class_init(PlaJobClass *klass)
{
  GObjectClass *object = G_OBJECT_CLASS(klass);
  object->get_property = pla_job_get_property;
  object->finalize = pla_job_finalize;
  const GParamFlags flags = G_PARAM_READABLE | G_PARAM_STATIC_STRINGS;
  props[PROP_TITLE] = g_param_spec_string("title", NULL, NULL, NULL, flags);
  props[PROP_PHASE] = g_param_spec_string("phase", NULL, NULL, NULL, flags);
  props[PROP_FRACTION] = g_param_spec_double("fraction", NULL, NULL, 0.0, 1.0, 0.0, flags);
  props[PROP_TIME_LEFT] = g_param_spec_string("time-left", NULL, NULL, NULL, flags);
  g_object_class_install_properties(object, N_PROPS, props);
}

static void
pla_job_init(PlaJob *self)
{
  g_mutex_init(&self->lock);
  self->phase = "";
}

void
pla_job_report(PlaJob *self, const char *phase, double fraction)
{
  self->phase = phase ? phase : "";
  self->fraction = CLAMP(fraction, 0.0, 1.0);

  /* a guess from the pace so far, once there is one */
  double seconds = (double)(g_get_monotonic_time() - self->started_us) / 1e6;
  g_free(self->time_left);
  self->time_left = NULL;
  if (seconds > 1.0 && self->fraction > 0.05) {
    int left = (int)(seconds * (1.0 - self->fraction) / self->fraction + 0.5);
    self->time_left = left < 90 ? g_strdup_printf(_("about %d s left"), MAX(left, 1))
                                : g_strdup_printf(_("about %d min left"), (left + 30) / 60);
  }
  for (int p = PROP_PHASE; p < N_PROPS; p++)
    g_object_notify_by_pspec(G_OBJECT(self), props[p]);
}

static gboolean
on_report(gpointer data)
{
  PlaJob *self = data;
  g_mutex_lock(&self->lock);
  self->pending = 0;
  const char *phase = self->new_phase;
  double fraction = self->new_fraction;
  g_mutex_unlock(&self->lock);
  pla_job_report(self, phase, fraction);
  return G_SOURCE_REMOVE;
}

/* on the worker's thread */
static void
report(const char *phase, double fraction, void *data)
{
  PlaJob *self = data;
  g_mutex_lock(&self->lock);
  self->new_phase = phase;
  self->new_fraction = fraction;
  if (self->pending == 0)
    self->pending =
        g_timeout_add_full(G_PRIORITY_DEFAULT, 50, on_report, g_object_ref(self), g_object_unref);
  g_mutex_unlock(&self->lock);
}

typedef struct {
  PlaStatus status;
  PlaError err;
} Outcome;

static void
run(GTask *task, gpointer source, gpointer task_data, GCancellable *cancellable)
{
  PlaJob *self = source;
  Outcome *outcome = g_new0(Outcome, 1);
  outcome->status = self->work(self->data, &self->progress, &outcome->err);
  g_task_return_pointer(task, outcome, g_free);
}

static void
on_finished(GObject *source, GAsyncResult *result, gpointer user_data)
{
  PlaJob *self = PLA_JOB(source);
  g_autofree Outcome *outcome = g_task_propagate_pointer(G_TASK(result), NULL);
  /* a cancel that came too late still means that nobody wants the result */
  if (pla_progress_cancelled(&self->progress))
    outcome->status = PLA_ERR_CANCELLED;
  self->done(self, self->data, outcome->status, &outcome->err);
}

PlaJob *
pla_job_start(const char *title, PlaJobWork work, PlaJobDone done, gpointer data,
              GDestroyNotify free_data)
{
  PlaJob *self = g_object_new(PLA_TYPE_JOB, NULL);
  self->title = g_strdup(title);
  self->work = work;
  self->done = done;
  self->data = data;
  self->free_data = free_data;
  self->started_us = g_get_monotonic_time();
  pla_progress_init(&self->progress, report, self);
  g_autoptr(GTask) task = g_task_new(self, NULL, on_finished, NULL);
  g_task_run_in_thread(task, run);
  return self;
}

PlaJob *
pla_job_new_watched(const char *title, GCancellable *cancellable)
{
  PlaJob *self = g_object_new(PLA_TYPE_JOB, NULL);
  self->title = g_strdup(title);
  self->cancellable = g_object_ref(cancellable);
  self->started_us = g_get_monotonic_time();
  pla_progress_init(&self->progress, NULL, NULL);
  return self;
}

void
pla_job_cancel(PlaJob *self)
{
  if (self->cancellable)
    g_cancellable_cancel(self->cancellable);
  pla_progress_cancel(&self->progress);
}

const char *
pla_job_get_title(PlaJob *self)
{
  return self->title;
}
