/* Progress across threads; the relay lives until the last of worker and idle call lets go. */
#include "app/case/progress-relay.h"

#include <gio/gio.h>
#include <pthread.h>
#include <stdbool.h>

struct PlaProgressRelay {
  gatomicrefcount refs;
  pthread_mutex_t lock;
  const char *phase;
  double fraction;
  bool queued;
  GMainContext *context;
  PlaProgressFunc func; /* NULL once it is closed */
  void *data;
};

PlaProgressRelay *
pla_progress_relay_new(PlaProgressFunc func, void *data)
{
  PlaProgressRelay *self = g_new0(PlaProgressRelay, 1);
  g_atomic_ref_count_init(&self->refs);
  pthread_mutex_init(&self->lock, NULL);
  self->context = g_main_context_ref_thread_default();
  self->func = func;
  self->data = data;
  return self;
}

void
pla_progress_relay_unref(PlaProgressRelay *self)
{
  if (!g_atomic_ref_count_dec(&self->refs))
    return;
  pthread_mutex_destroy(&self->lock);
  g_main_context_unref(self->context);
  g_free(self);
}

static gboolean
deliver(gpointer data)
{
  PlaProgressRelay *self = data;
  pthread_mutex_lock(&self->lock);
  const char *phase = self->phase;
  double fraction = self->fraction;
  PlaProgressFunc func = self->func;
  self->queued = false;
  pthread_mutex_unlock(&self->lock);
  if (func)
    func(phase, fraction, self->data);
  return G_SOURCE_REMOVE;
}

static void
relay_unref(gpointer data)
{
  pla_progress_relay_unref(data);
}

void
pla_progress_relay_take(const char *phase, double fraction, void *relay)
{
  PlaProgressRelay *self = relay;
  pthread_mutex_lock(&self->lock);
  self->phase = phase;
  self->fraction = fraction;
  bool send = self->func && !self->queued;
  self->queued |= send;
  pthread_mutex_unlock(&self->lock);
  if (send) {
    g_atomic_ref_count_inc(&self->refs);
    /* not g_main_context_invoke(), which runs the function here where nobody owns the context */
    GSource *source = g_idle_source_new();
    g_source_set_callback(source, deliver, self, relay_unref);
    g_source_attach(source, self->context);
    g_source_unref(source);
  }
}

void
pla_progress_relay_close(PlaProgressRelay *self)
{
  pthread_mutex_lock(&self->lock);
  bool waiting = self->queued;
  pthread_mutex_unlock(&self->lock);
  if (waiting)
    deliver(self);
  pthread_mutex_lock(&self->lock);
  self->func = NULL;
  pthread_mutex_unlock(&self->lock);
}
