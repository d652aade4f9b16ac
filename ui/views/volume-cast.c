/* Casts at a sixth, half and full resolution on a worker; a result for an older camera is
 * dropped. */
#include "ui/views/volume-cast.h"

#include "ui/document/document.h"

/* a volume made ready, shared with the workers that draw it */
typedef struct {
  gpointer held; /* the volume, until it is prepared */
  const PlaVolume *volume;
  const PlaTransfer *transfer;
  PlaRaycast *cast; /* NULL: not yet */
} Caster;

/* one picture of it on its way */
typedef struct {
  Caster *caster;
  PlaRays rays;
  uint32_t background[2]; /* above and below */
  PlaProgress progress;
  uint32_t *pixel;
  gboolean done;
} Casting;

struct _PlaVolumeCast {
  GObject parent_instance;
  GtkPicture *picture; /* NULL: stopped */
  Caster *caster;      /* the scan made ready, or NULL */
  Casting *casting;    /* its picture on the way, or NULL; owned by its task */
  int stage;           /* how fine the next one is to be */
  PlaCamera camera;
  int width, height;
  gboolean dark;
};

G_DEFINE_FINAL_TYPE(PlaVolumeCast, pla_volume_cast, G_TYPE_OBJECT)

static void
caster_clear(gpointer data)
{
  Caster *caster = data;
  pla_document_release(caster->held);
  pla_raycast_free(caster->cast);
}

static void
casting_free(gpointer data)
{
  Casting *casting = data;
  g_atomic_rc_box_release_full(casting->caster, caster_clear);
  g_free(casting->pixel);
  g_free(casting);
}

/* lays the picture over the background; opaque then */
static void
lay_over(Casting *casting)
{
  const int w = casting->rays.width, h = casting->rays.height;
  for (int y = 0; y < h; y++) {
    uint32_t back = 0;
    for (int c = 0; c < 24; c += 8) {
      const double a = casting->background[0] >> c & 255, b = casting->background[1] >> c & 255;
      back |= (uint32_t)(a + (b - a) * y / h) << c;
    }
    for (int x = 0; x < w; x++) {
      uint32_t *p = &casting->pixel[(size_t)y * (size_t)w + (size_t)x], out = 0xff000000u;
      const uint32_t passes = 255 - (*p >> 24);
      for (int c = 0; c < 24; c += 8)
        out |= MIN((*p >> c & 255) + ((back >> c & 255) * passes + 127) / 255, 255u) << c;
      *p = out;
    }
  }
}

static void
cast_in_thread(GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  Casting *casting = data;
  Caster *caster = casting->caster;
  PlaError err;
  if (!caster->cast && pla_raycast_new(caster->volume, caster->transfer, &casting->progress,
                                       &caster->cast, &err) == PLA_OK)
    g_clear_pointer(&caster->held, pla_document_release);
  if (caster->cast)
    casting->done =
        pla_raycast_draw(caster->cast, &casting->rays, &casting->progress, casting->pixel);
  if (casting->done)
    lay_over(casting);
  g_task_return_boolean(task, TRUE);
}

static void cast_next(PlaVolumeCast *self);

static void
on_cast(GObject *source, GAsyncResult *result, gpointer data)
{
  PlaVolumeCast *self = PLA_VOLUME_CAST(source);
  Casting *casting = g_task_get_task_data(G_TASK(result));
  const int w = casting->rays.width, h = casting->rays.height;
  self->casting = NULL;
  if (!self->caster || self->caster != casting->caster) {
    cast_next(self);
    return;
  }
  if (casting->done) {
    g_autoptr(GBytes) bytes =
        g_bytes_new_take(g_steal_pointer(&casting->pixel), 4 * (gsize)w * (gsize)h);
    g_autoptr(GdkTexture) texture =
        gdk_memory_texture_new(w, h, GDK_MEMORY_DEFAULT, bytes, 4 * (gsize)w);
    gtk_picture_set_paintable(self->picture, GDK_PAINTABLE(texture));
    gtk_widget_set_visible(GTK_WIDGET(self->picture), TRUE);
    self->stage++;
  }
  cast_next(self);
}

/* small pictures first, then finer ones; a picture of an older view is dropped */
static void
cast_next(PlaVolumeCast *self)
{
  static const int coarseness[] = { 6, 2, 1 };
  if (!self->caster || self->casting || self->stage >= (int)G_N_ELEMENTS(coarseness))
    return;
  const int w = self->width, h = self->height;
  if (w < 1 || h < 1)
    return;
  const int scale = coarseness[self->stage];
  Casting *casting = g_new0(Casting, 1);
  casting->caster = g_atomic_rc_box_acquire(self->caster);
  casting->background[0] = self->dark ? 0x2a2b2fu : 0xf7f7f9u;
  casting->background[1] = self->dark ? 0x121214u : 0xcccfd4u;
  pla_progress_init(&casting->progress, NULL, NULL);
  PlaRays *rays = &casting->rays;
  rays->width = MAX(w / scale, 1);
  rays->height = MAX(h / scale, 1);
  double right[3], up[3], back[3];
  const PlaCamera *camera = &self->camera;
  pla_camera_axes(camera, right, up, back);
  const double mm = pla_camera_height_mm(camera) / rays->height;
  for (int d = 0; d < 3; d++) {
    const double corner = camera->focus_mm[d] + mm * (0.5 - 0.5 * rays->width) * right[d] +
                          mm * (0.5 * rays->height - 0.5) * up[d];
    if (camera->parallel) {
      rays->from[d] = corner + 1e4 * back[d];
      rays->from_right[d] = mm * right[d];
      rays->from_down[d] = -mm * up[d];
      rays->dir[d] = -back[d];
    } else {
      rays->from[d] = camera->eye_mm[d];
      rays->dir[d] = corner - camera->eye_mm[d];
      rays->dir_right[d] = mm * right[d];
      rays->dir_down[d] = -mm * up[d];
    }
  }
  casting->pixel = g_new(uint32_t, (gsize)rays->width * (gsize)rays->height);
  self->casting = casting;
  g_autoptr(GTask) task = g_task_new(self, NULL, on_cast, NULL);
  g_task_set_task_data(task, casting, casting_free);
  g_task_run_in_thread(task, cast_in_thread);
}

void
pla_volume_cast_look(PlaVolumeCast *self, const PlaCamera *camera, int width, int height,
                     gboolean dark)
{
  self->camera = *camera;
  self->width = width;
  self->height = height;
  self->dark = dark;
  self->stage = 0;
  if (self->casting)
    pla_progress_cancel(&self->casting->progress);
  cast_next(self);
}

void
pla_volume_cast_set_source(PlaVolumeCast *self, gpointer held, const PlaVolume *volume,
                           const PlaTransfer *transfer)
{
  if (self->caster)
    g_atomic_rc_box_release_full(g_steal_pointer(&self->caster), caster_clear);
  if (self->picture)
    gtk_widget_set_visible(GTK_WIDGET(self->picture), FALSE);
  if (held) {
    self->caster = g_atomic_rc_box_new0(Caster);
    self->caster->held = held;
    self->caster->volume = volume;
    self->caster->transfer = transfer;
  }
}

gboolean
pla_volume_cast_is_busy(PlaVolumeCast *self)
{
  return self->casting != NULL;
}

void
pla_volume_cast_stop(PlaVolumeCast *self)
{
  self->picture = NULL;
  if (self->casting)
    pla_progress_cancel(&self->casting->progress);
  pla_volume_cast_set_source(self, NULL, NULL, NULL);
}

static void
pla_volume_cast_finalize(GObject *object)
{
  pla_volume_cast_set_source(PLA_VOLUME_CAST(object), NULL, NULL, NULL);
  G_OBJECT_CLASS(pla_volume_cast_parent_class)->finalize(object);
}

static void
pla_volume_cast_class_init(PlaVolumeCastClass *klass)
{
  G_OBJECT_CLASS(klass)->finalize = pla_volume_cast_finalize;
}

static void
pla_volume_cast_init(PlaVolumeCast *self)
{
}

PlaVolumeCast *
pla_volume_cast_new(GtkPicture *picture)
{
  PlaVolumeCast *self = g_object_new(PLA_TYPE_VOLUME_CAST, NULL);
  self->picture = picture;
  return self;
}
