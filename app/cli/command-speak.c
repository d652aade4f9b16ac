/* `speak` from file to file: sounds that are no files (a text, the microphone, a file that is fed
 * in real time) become items, and frames are written and drawn while they are made. */
#include "app/cli/cli-private.h"
#include "app/cli/mesh-series.h"
#include "app/content/files.h"
#include "app/show/picture.h"
#include "app/speech/speech-live.h"
#include "app/speech/speech-net.h"
#include "app/speech/tongue-picture.h"
#include "app/verbs/verbs.h"
#include "io/formats/fixed-dofs.h"
#include "io/formats/format.h"
#include "sim/speech/speech-model.h"

#include <glib.h>
#include <math.h>
#include <string.h>

/* ---- items that are computed ---- */

/* takes @content; @name must outlive the run */
static void
add_item(GArray *items, const char *name, PlaContent *content)
{
  const PlaWorkItem item = { name, content };
  g_array_append_val(items, item);
}

static void
describe_live(PlaInvocation *inv, const PlaLiveReport *live)
{
  JsonBuilder *json = pla_invocation_json(inv);
  pla_json_number(json, "look_ahead_s", live->look_ahead_s);
  pla_json_number(json, "live_median_late_s", live->median_late_s);
  pla_json_number(json, "live_most_late_s", live->most_late_s);
  pla_say(inv, "live: look-ahead %.0f ms; frames came %.1f ms after that (median), %.1f ms at most",
          1000.0 * live->look_ahead_s, 1000.0 * live->median_late_s, 1000.0 * live->most_late_s);
}

/* frames of future that the smoothing of live speech uses */
enum { LIVE_SMOOTH_AHEAD = 2 };

/* coils of @audio while it is fed in real time, or of the microphone */
static PlaStatus
hear_live(PlaInvocation *inv, const PlaAudio *audio, PlaContent **out, PlaError *err)
{
  const char *path = pla_invocation_text(inv, "model", 0, NULL);
  PlaProgress *progress = pla_invocation_progress(inv);
  g_autoptr(PlaContent) content = pla_content_new(PLA_ITEM_TRACK);
  PlaSpeechModel *model = NULL;
  PlaLiveReport live;
  PlaStatus st =
      path ? pla_speech_net_read(path, &model, err) : pla_speech_net_built_in(&model, err);
  if (st == PLA_OK && audio) {
    PlaNotes notes = { 0 };
    pla_speech_judge(audio, &notes);
    for (int i = 0; i < notes.n; i++)
      pla_say(inv, "note: %s", notes.text[i]);
    pla_notes_clear(&notes);
    st = pla_speech_live_file(model, audio, LIVE_SMOOTH_AHEAD, &content->track, &live, progress,
                              err);
  } else if (st == PLA_OK)
    st = pla_speech_live_microphone(model, pla_invocation_number(inv, "microphone", 5.0),
                                    LIVE_SMOOTH_AHEAD, &content->track, &live, progress, err);
  if (st == PLA_OK) {
    describe_live(inv, &live);
    *out = g_steal_pointer(&content);
  }
  pla_speech_model_free(model);
  return st;
}

/* a sound, or a track of sensors */
static PlaStatus
read_source(const char *path, PlaKind kind, PlaContent **out, PlaError *err)
{
  const PlaReadOptions opts = pla_read_options_default();
  PlaItem item = { 0 };
  PlaStatus st = pla_item_read(path, &opts, &item, err);
  if (st == PLA_OK && item.kind != kind)
    st = pla_fail(err, PLA_ERR_USAGE, "%s is a file of the kind '%s'; %s is needed", path,
                  pla_kind_name(item.kind),
                  kind == PLA_KIND_AUDIO ? "a sound" : "a track of sensors");
  if (st == PLA_OK)
    st = pla_content_take_item(&item, false, out, err);
  pla_item_clear(&item);
  return st;
}

/* the sound of a text, which is written where that is wanted */
static PlaStatus
say_text(PlaInvocation *inv, const char *words, PlaContent **out, PlaError *err)
{
  const char *sound = pla_invocation_text(inv, "sound", 0, NULL);
  PlaStatus st = pla_say_words(words, pla_invocation_text(inv, "voice", 0, NULL),
                               pla_invocation_int(inv, "words-per-minute", 0), -1, out, err);
  return st == PLA_OK && sound
             ? pla_content_write_file(*out, sound, pla_invocation_progress(inv), err)
             : st;
}

/* the one source that was given */
static PlaStatus
add_source(PlaInvocation *inv, JsonObject *params, GArray *items, PlaError *err)
{
  static const char microphone_name[] = "the microphone", text_name[] = "the text",
                    live_name[] = "live coils";
  const char *path = pla_invocation_n_files(inv) > 0 ? pla_invocation_file(inv, 0) : NULL;
  const char *sensors = pla_invocation_text(inv, "sensors", 0, NULL);
  const char *text = pla_invocation_text(inv, "text", 0, NULL);
  const bool microphone = pla_invocation_has(inv, "microphone");
  const char *name = microphone ? microphone_name : text ? text_name : sensors ? sensors : path;
  PlaContent *content = NULL, *live = NULL;
  PlaStatus st = PLA_OK;
  if ((path != NULL) + (text != NULL) + (sensors != NULL) + microphone != 1)
    return pla_fail(err, PLA_ERR_USAGE,
                    "give one input: platysma-cli speak voice.wav -o track.csv, or "
                    "--text \"good morning\", --microphone SECONDS or --sensors TRACK "
                    "instead of the sound");
  json_object_set_string_member(params, "item", name);
  if (microphone)
    st = hear_live(inv, NULL, &content, err);
  else if (text)
    st = say_text(inv, text, &content, err);
  else
    st = read_source(name, sensors ? PLA_KIND_TRACK : PLA_KIND_AUDIO, &content, err);
  if (content)
    add_item(items, name, content);
  if (st == PLA_OK && content->audio && pla_invocation_has(inv, "live")) {
    st = hear_live(inv, content->audio, &live, err);
    json_object_set_string_member(params, "coils", live_name);
    if (live)
      add_item(items, live_name, live);
  }
  /* the built-in model speaks in the phantom's plane */
  if ((microphone || live) && !pla_invocation_has(inv, "model"))
    json_object_set_boolean_member(params, "own_plane", TRUE);
  return st;
}

/* the file of a network as an item */
static PlaStatus
add_model(const char *path, GArray *items, PlaError *err)
{
  g_autofree char *bytes = NULL;
  g_autoptr(GError) error = NULL;
  gsize size;
  if (!g_file_get_contents(path, &bytes, &size, &error))
    return pla_fail(err, PLA_ERR_IO, "%s", error->message);
  PlaContent *content = pla_content_new(PLA_ITEM_RESULT);
  add_item(items, path, content);
  const uint64_t n = size;
  return pla_content_add_array(content, PLA_SPEECH_NET_ARRAY, PLA_U8, 1, &n, bytes, err);
}

static PlaStatus
add_fixed(const char *path, JsonObject *params, PlaError *err)
{
  g_autofree int *fixed = NULL;
  int n = 0;
  PlaStatus st = pla_fixed_dofs_read(path, &fixed, &n, err);
  JsonArray *list = json_array_new();
  for (int i = 0; i < n; i++)
    json_array_add_int_element(list, fixed[i]);
  json_object_set_array_member(params, "fixed", list);
  return st;
}

/* ---- frames ---- */

/* midsagittal views of some frames, side by side in rows of four */
typedef struct {
  const char *path;
  int n, every, first; /* views; frames between them; the first of them */
  cairo_surface_t *image;
} Views;

enum { VIEW_WIDTH = 420, VIEW_HEIGHT = 380, VIEWS_A_ROW = 4, MOST_VIEWS = 8 };

static void
views_init(Views *self, PlaInvocation *inv, const PlaTongueMotion *motion)
{
  const int n_frames = pla_tongue_motion_n_frames(motion);
  const bool one = pla_invocation_has(inv, "at");
  self->n = one ? 1 : MIN(MOST_VIEWS, n_frames);
  self->every = MAX(1, n_frames / self->n);
  self->first =
      one ? (int)CLAMP(pla_invocation_number(inv, "at", 0.0) * pla_tongue_motion_rate_hz(motion),
                       0.0, n_frames - 1.0)
          : self->every / 2;
  const int columns = MIN(self->n, VIEWS_A_ROW), rows = (self->n + columns - 1) / columns;
  self->image =
      cairo_image_surface_create(CAIRO_FORMAT_ARGB32, columns * VIEW_WIDTH, rows * VIEW_HEIGHT);
}

static void
views_add(Views *self, const PlaTongueMotion *motion, double time_s, int frame)
{
  const int k = (frame - self->first) / MAX(1, self->every);
  if (frame < self->first || (frame - self->first) % self->every != 0 || k >= self->n)
    return;
  g_autofree char *caption = g_strdup_printf("%.2f s", time_s);
  cairo_t *cr = cairo_create(self->image);
  cairo_translate(cr, k % VIEWS_A_ROW * VIEW_WIDTH, k / VIEWS_A_ROW * VIEW_HEIGHT);
  pla_tongue_picture_draw(motion, cr, VIEW_WIDTH, VIEW_HEIGHT, caption);
  cairo_destroy(cr);
}

/* what follows the frames */
typedef struct {
  PlaInvocation *inv;
  PlaMeshSeries series; /* its list is NULL where none is wanted */
  PlaMesh *mesh;        /* that it writes */
  Views views;
} Follower;

/* @what: a PlaTongueMotion */
static PlaStatus
take_frame(void *data, int frame, double time_s, const void *what, PlaError *err)
{
  Follower *self = data;
  const PlaTongueMotion *motion = what;
  PlaStatus st = PLA_OK;
  if (self->views.path) {
    if (!self->views.image)
      views_init(&self->views, self->inv, motion);
    views_add(&self->views, motion, time_s, frame);
  }
  if (!self->series.list)
    return PLA_OK;
  if (!self->mesh)
    st = pla_mesh_dup(pla_tongue_motion_get_rest(motion), &self->mesh, err);
  if (st != PLA_OK)
    return st;
  memcpy(self->mesh->pos, pla_tongue_motion_get_pos(motion),
         3 * (size_t)self->mesh->n_verts * sizeof *self->mesh->pos);
  return pla_mesh_series_add(&self->series, self->mesh, time_s, err);
}

/* ---- running ---- */

static PlaStatus
prepare(PlaInvocation *inv, JsonObject *params, GArray *items, void *data, PlaError *err)
{
  (void)data;
  const char *output = pla_invocation_output(inv);
  const char *model = pla_invocation_text(inv, "model", 0, NULL);
  const char *fixed = pla_invocation_text(inv, "fixed", 0, NULL);
  const char *animation = pla_invocation_text(inv, "animation", 0, NULL);
  const PlaFormat *format;
  /* a file name that cannot hold a track is refused before the work starts */
  PlaStatus st = output ? pla_format_for_output(output, PLA_KIND_TRACK, &format, err) : PLA_OK;
  if (st == PLA_OK && animation && !g_str_has_suffix(animation, ".pvd"))
    st = pla_fail(err, PLA_ERR_USAGE, "An animation is a .pvd file, not %s", animation);
  json_object_set_boolean_member(params, "motion", FALSE);
  json_object_set_boolean_member(params, "track", output != NULL);
  if (pla_invocation_has(inv, "muscles"))
    json_object_set_boolean_member(params, "activations", TRUE);
  if (st == PLA_OK)
    st = add_source(inv, params, items, err);
  if (st == PLA_OK && model)
    st = add_model(model, items, err);
  return st == PLA_OK && fixed ? add_fixed(fixed, params, err) : st;
}

static PlaStatus
write_track(PlaInvocation *inv, const PlaWork *work, const char *option, const char *path,
            bool *done, void *data, PlaError *err)
{
  (void)data;
  *done = !option;
  return option ? PLA_OK
                : pla_content_write_file(pla_work_get_made(work, "track"), path,
                                         pla_invocation_progress(inv), err);
}

/* activations over time as a picture */
static PlaStatus
draw_muscles(const char *path, const PlaTrack *activations, PlaError *err)
{
  cairo_surface_t *image = cairo_image_surface_create(CAIRO_FORMAT_RGB24, 1000, 520);
  cairo_t *cr = cairo_create(image);
  pla_tongue_picture_draw_muscles(activations, cr, 1000, 520);
  cairo_destroy(cr);
  PlaStatus st = pla_picture_write_surface(path, image, err);
  cairo_surface_destroy(image);
  return st;
}

/* the list of the series, and the pictures */
static PlaStatus
finish(PlaInvocation *inv, const PlaWork *work, void *data, PlaError *err)
{
  Follower *self = data;
  const char *muscles = pla_invocation_text(inv, "muscles", 0, NULL);
  const PlaContent *activations = pla_work_get_made(work, "activations");
  PlaStatus st = PLA_OK;
  if (self->views.image)
    st = pla_picture_write_surface(self->views.path, self->views.image, err);
  if (st == PLA_OK && self->mesh)
    st = pla_mesh_series_finish(&self->series, err);
  return st == PLA_OK && muscles && activations ? draw_muscles(muscles, activations->track, err)
                                                : st;
}

static PlaStatus
run_speak(PlaInvocation *inv, PlaError *err)
{
  Follower follower = { .inv = inv, .views.path = pla_invocation_text(inv, "picture", 0, NULL) };
  const char *animation = pla_invocation_text(inv, "animation", 0, NULL);
  const PlaWorkWatch watch = { take_frame, &follower };
  if (animation)
    pla_mesh_series_init(&follower.series, animation);
  const PlaVerbRun how = { .prepare = prepare,
                           .watch = animation || follower.views.path ? &watch : NULL,
                           .write = write_track,
                           .finish = finish,
                           .data = &follower };
  PlaStatus st = pla_run_verb_with(inv, &pla_verb_speak, &how, err);
  if (follower.views.image)
    cairo_surface_destroy(follower.views.image);
  pla_mesh_free(follower.mesh);
  pla_mesh_series_clear(&follower.series);
  return st;
}

static const PlaOpt options[] = {
  { "text", 0, PLA_OPT_TEXT, "WORDS", "speak a text instead of a sound file" },
  { "voice", 0, PLA_OPT_TEXT, "NAME",
    "language of the text and a variant, as in en-us+f3 (default: en)" },
  { "words-per-minute", 0, PLA_OPT_INT, "N", "pace of the text (default: 160)", 80, 450 },
  { "sound", 0, PLA_OPT_OUTPUT, "FILE", "write the sound of the text" },
  { "microphone", 0, PLA_OPT_NUMBER, "S", "record S seconds from the microphone", 0.1, 36000 },
  { "live", 0, PLA_OPT_FLAG, NULL, "feed the sound in real time and report the latency of frames" },
  { "sensors", 0, PLA_OPT_TEXT, "TRACK", "follow recorded coils: TR TD TB TT, LI for the jaw; mm" },
  { "fixed", 0, PLA_OPT_TEXT, "FILE",
    "its fixed degrees of freedom: count, then 3 v + axis (default: the lowest seventh)" },
  { "animation", 0, PLA_OPT_OUTPUT, "OUT.pvd", "write the moving mesh, one file a frame" },
  { "muscles", 0, PLA_OPT_OUTPUT, "OUT.png", "draw these activations over time" },
  { "picture", 0, PLA_OPT_OUTPUT, "OUT.png", "draw midsagittal views of eight moments" },
  { "at", 0, PLA_OPT_NUMBER, "S", "draw this moment alone, s", 0, 1e6 },
  { NULL },
};

const PlaCommand pla_command_speak = {
  .name = "speak",
  .args = "AUDIO|--text WORDS|--sensors TRACK -o TRACK.csv",
  .summary = "computes an articulator track from speech, and the motion of a tongue",
  .description =
      "Sound of any rate and format becomes the paths of seven sensors in the midsagittal\n"
      "plane, in mm at 100 Hz: tongue rear, dorsum, blade and tip (TR TD TB TT), lower incisor\n"
      "(LI), upper and lower lip (UL LL); x points to the back, y downwards.  Notes report\n"
      "silence, clipping, a narrow band and several channels.  --sensors reads a recorded track\n"
      "instead of a sound.  A text is spoken by eSpeak NG, in any of its languages and voices;\n"
      "the sensors follow the targets of its phonemes, blended over time.\n\n"
      "A reduced elastic tongue of 150 degrees of freedom follows the track: exact positions of\n"
      "the four tongue coils, constant volume, contact with palate, teeth and jaw.  The\n"
      "attachments of the tongue move with the lower incisors.  Texts and the built-in model\n"
      "use the phantom's own plane.  For recorded coils and for a --mesh, a similarity\n"
      "transform maps the mean positions of the tongue coils, over the track and every\n"
      "--speaker, to vertices on the back of the tongue; lateral positions stay.  For a mesh\n"
      "without a palate, one is built above the envelope of all paths.  Targets inside palate\n"
      "or teeth are moved out and counted.  Lengths are in the speaker's millimetres.\n"
      "TRACK.csv also has the jaw's angle, the volume and the deepest contact of every frame.",
  .example = "platysma-cli speak voice.wav -o track.csv --json",
  .min_files = 0,
  .max_files = 1,
  .options = options,
  .verb = &pla_verb_speak,
  .run = run_speak,
};
