/* State of the pointer tool, the marks, sketches and strands of panels, and the signals between
 * panels and views. */
#include "ui/document/tools.h"

struct _PlaTools {
  GObject parent_instance;
  PlaTool tool;
  gpointer owner;
  char *hint;
  double brush_mm;
  GdkRGBA brush_rgba;
  GArray *marks; /* of PlaMark */
  PlaSketch sketch;
  PlaSeams seams;
  PlaStrands strands;
  PlaReel reel;
};

enum {
  TOOL_CHANGED,
  PICKED,
  DRAGGED,
  STROKED,
  MARKS_CHANGED,
  MOVED,
  AIMED,
  PLACED,
  SKETCH_CHANGED,
  STRANDS_CHANGED,
  REEL_CHANGED,
  SEEK,
  FRAME_SHOWN,
  N_SIGNALS
};
static guint signals[N_SIGNALS];

G_DEFINE_FINAL_TYPE(PlaTools, pla_tools, G_TYPE_OBJECT)

PlaTool
pla_tools_get(PlaTools *self)
{
  return self->tool;
}

void
pla_tools_set(PlaTools *self, PlaTool tool, gpointer owner, const char *hint)
{
  if (self->tool == tool && self->owner == owner && g_strcmp0(self->hint, hint) == 0)
    return;
  self->tool = tool;
  self->owner = tool == PLA_TOOL_NONE ? NULL : owner;
  g_free(self->hint);
  self->hint = g_strdup(hint);
  g_signal_emit(self, signals[TOOL_CHANGED], 0);
}

gpointer
pla_tools_get_owner(PlaTools *self)
{
  return self->owner;
}

const char *
pla_tools_get_hint(PlaTools *self)
{
  return self->hint;
}

void
pla_tools_set_brush(PlaTools *self, double radius_mm, const GdkRGBA *rgba)
{
  self->brush_mm = radius_mm;
  self->brush_rgba = *rgba;
}

double
pla_tools_get_brush(PlaTools *self, GdkRGBA *rgba)
{
  *rgba = self->brush_rgba;
  return self->brush_mm;
}

void
pla_tools_set_marks(PlaTools *self, const PlaMark *marks, int n)
{
  g_array_set_size(self->marks, 0);
  if (n > 0)
    g_array_append_vals(self->marks, marks, (guint)n);
  g_signal_emit(self, signals[MARKS_CHANGED], 0);
}

const PlaMark *
pla_tools_get_marks(PlaTools *self, int *n)
{
  *n = (int)self->marks->len;
  return (const PlaMark *)(gpointer)self->marks->data;
}

static void
seams_clear(PlaSeams *seams)
{
  g_free(seams->thread);
  g_free(seams->knot);
  g_free(seams->implant);
  *seams = (PlaSeams){ 0 };
}

void
pla_tools_set_sketch(PlaTools *self, const PlaSketch *sketch, const PlaSeams *seams)
{
  pla_sketch_clear(&self->sketch);
  seams_clear(&self->seams);
  if (sketch) {
    self->sketch = *sketch;
    self->sketch.path = g_memdup2(sketch->path, 3 * (gsize)sketch->n_path * sizeof *sketch->path);
    self->sketch.start =
        g_memdup2(sketch->start,
                  sketch->n_lines > 0 ? ((gsize)sketch->n_lines + 1) * sizeof(int) : 0);
    self->sketch.blade =
        g_memdup2(sketch->blade, 3 * (gsize)sketch->n_verts * sizeof *sketch->blade);
    self->sketch.tri = g_memdup2(sketch->tri, 3 * (gsize)sketch->n_tris * sizeof *sketch->tri);
  }
  if (seams) {
    self->seams = *seams;
    self->seams.thread =
        g_memdup2(seams->thread, 6 * (gsize)seams->n_threads * sizeof *seams->thread);
    self->seams.knot = g_memdup2(seams->knot, 3 * (gsize)seams->n_knots * sizeof *seams->knot);
    self->seams.implant =
        g_memdup2(seams->implant, 4 * (gsize)seams->n_implants * sizeof *seams->implant);
  }
  g_signal_emit(self, signals[SKETCH_CHANGED], 0);
}

const PlaSketch *
pla_tools_get_sketch(PlaTools *self)
{
  return &self->sketch;
}

const PlaSeams *
pla_tools_get_seams(PlaTools *self)
{
  return &self->seams;
}

static void
strands_clear(PlaStrands *strands)
{
  g_free(strands->pos);
  g_free(strands->start);
  g_free(strands->level);
  *strands = (PlaStrands){ 0 };
}

void
pla_tools_set_strands(PlaTools *self, const PlaStrands *strands)
{
  if (!strands && self->strands.n_lines == 0)
    return;
  strands_clear(&self->strands);
  if (strands) {
    const gsize n = (gsize)strands->n_lines;
    self->strands = *strands;
    self->strands.pos = g_memdup2(strands->pos, 3 * (gsize)strands->n_points * sizeof(double));
    self->strands.start = g_memdup2(strands->start, (n + 1) * sizeof(int));
    self->strands.level = g_memdup2(strands->level, n * sizeof(double));
  }
  g_signal_emit(self, signals[STRANDS_CHANGED], 0);
}

const PlaStrands *
pla_tools_get_strands(PlaTools *self)
{
  return &self->strands;
}

void
pla_tools_set_reel(PlaTools *self, gpointer owner, const PlaReel *reel)
{
  if (!reel && self->reel.owner != owner)
    return;
  g_free(self->reel.title);
  self->reel = reel ? *reel : (PlaReel){ 0 };
  self->reel.owner = reel ? owner : NULL;
  self->reel.title = reel ? g_strdup(reel->title) : NULL;
  g_signal_emit(self, signals[REEL_CHANGED], 0);
}

const PlaReel *
pla_tools_get_reel(PlaTools *self)
{
  return &self->reel;
}

void
pla_tools_seek(PlaTools *self, int frame)
{
  g_signal_emit(self, signals[SEEK], 0, frame);
}

void
pla_tools_show_frame(PlaTools *self, int frame)
{
  g_signal_emit(self, signals[FRAME_SHOWN], 0, frame);
}

void
pla_tools_place(PlaTools *self, int mark, const PlaScenePick *pick, gboolean done)
{
  g_signal_emit(self, signals[PLACED], 0, mark, pick, done);
}

void
pla_tools_pick(PlaTools *self, PlaEntry *entry, const PlaScenePick *pick)
{
  g_signal_emit(self, signals[PICKED], 0, entry, pick);
}

void
pla_tools_drag(PlaTools *self, int mark, const double pull_mm[3], gboolean done)
{
  g_signal_emit(self, signals[DRAGGED], 0, mark, pull_mm, done);
}

void
pla_tools_stroke(PlaTools *self, const GArray *points_mm)
{
  g_signal_emit(self, signals[STROKED], 0, points_mm);
}

void
pla_tools_move(PlaTools *self, PlaEntry *entry, const double *pos)
{
  g_signal_emit(self, signals[MOVED], 0, entry, pos);
}

void
pla_tools_aim(PlaTools *self, const double middle_mm[3], const double towards[3], double radius_mm)
{
  PlaAim aim = { .radius_mm = radius_mm };
  memcpy(aim.middle_mm, middle_mm, sizeof aim.middle_mm);
  memcpy(aim.towards, towards, sizeof aim.towards);
  g_signal_emit(self, signals[AIMED], 0, &aim);
}

static void
pla_tools_finalize(GObject *object)
{
  PlaTools *self = PLA_TOOLS(object);
  g_free(self->hint);
  g_array_unref(self->marks);
  seams_clear(&self->seams);
  pla_sketch_clear(&self->sketch);
  strands_clear(&self->strands);
  g_free(self->reel.title);
  G_OBJECT_CLASS(pla_tools_parent_class)->finalize(object);
}

static void
pla_tools_class_init(PlaToolsClass *klass)
{
  G_OBJECT_CLASS(klass)->finalize = pla_tools_finalize;
#define SIGNAL(NAME, ...)                                                                          \
  g_signal_new(NAME, PLA_TYPE_TOOLS, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE,          \
               __VA_ARGS__)
  signals[TOOL_CHANGED] = SIGNAL("tool-changed", 0);
  signals[PICKED] = SIGNAL("picked", 2, PLA_TYPE_ENTRY, G_TYPE_POINTER);
  signals[DRAGGED] = SIGNAL("dragged", 3, G_TYPE_INT, G_TYPE_POINTER, G_TYPE_BOOLEAN);
  signals[STROKED] = SIGNAL("stroked", 1, G_TYPE_POINTER);
  signals[MARKS_CHANGED] = SIGNAL("marks-changed", 0);
  signals[PLACED] = SIGNAL("placed", 3, G_TYPE_INT, G_TYPE_POINTER, G_TYPE_BOOLEAN);
  signals[SKETCH_CHANGED] = SIGNAL("sketch-changed", 0);
  signals[MOVED] = SIGNAL("moved", 2, PLA_TYPE_ENTRY, G_TYPE_POINTER);
  signals[AIMED] = SIGNAL("aimed", 1, G_TYPE_POINTER);
  signals[STRANDS_CHANGED] = SIGNAL("strands-changed", 0);
  signals[REEL_CHANGED] = SIGNAL("reel-changed", 0);
  signals[SEEK] = SIGNAL("seek", 1, G_TYPE_INT);
  signals[FRAME_SHOWN] = SIGNAL("frame-shown", 1, G_TYPE_INT);
#undef SIGNAL
}

static void
pla_tools_init(PlaTools *self)
{
  self->marks = g_array_new(FALSE, FALSE, sizeof(PlaMark));
  self->brush_mm = 3.0;
}

PlaTools *
pla_tools_new(void)
{
  return g_object_new(PLA_TYPE_TOOLS, NULL);
}
