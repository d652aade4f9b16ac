/* Speech in a case: a text becomes a sound, a sound or recorded coils the motion of a tongue. */
#include "app/speech/speech-net.h"
#include "app/speech/speech-text.h"
#include "app/speech/spoken.h"
#include "app/verbs/operations.h"

#include <math.h>
#include <string.h>

/* ---- say ---- */

/* what was said when, beside the sound */
static void
keep_phonemes(const PlaTextSpeech *text, JsonObject *meta)
{
  JsonArray *list = json_array_new();
  for (int i = 0; i < text->n; i++) {
    JsonObject *one = json_object_new();
    json_object_set_string_member(one, "ipa", text->segment[i].phone->ipa);
    json_object_set_double_member(one, "from_s", text->segment[i].from);
    json_object_set_double_member(one, "to_s", text->segment[i].to);
    json_array_add_object_element(list, one);
  }
  json_object_set_array_member(meta, "phonemes", list);
}

/* the first words, for a name */
static char *
short_name(const char *text)
{
  g_autofree char *line = g_strdup(text);
  for (char *c = line; *c; c++)
    if (g_ascii_isspace(*c) || g_ascii_iscntrl(*c))
      *c = ' ';
  g_strstrip(line);
  if (g_utf8_strlen(line, -1) <= 24)
    return g_steal_pointer(&line);
  g_autofree char *cut = g_utf8_substring(line, 0, 23);
  return g_strconcat(g_strchomp(cut), "…", NULL);
}

static PlaStatus
run_say(PlaWork *work, PlaError *err)
{
  const char *words = pla_work_text(work, "text");
  PlaTextSpeech text;
  PlaStatus st = pla_text_speech_make(words, pla_work_text(work, "voice"),
                                      pla_work_int(work, "words_per_minute"),
                                      pla_work_int(work, "pitch"), &text, err);
  if (st != PLA_OK)
    return st;
  PlaContent *content = pla_content_new(PLA_ITEM_AUDIO);
  g_autofree char *name =
      pla_work_is_null(work, "name") ? short_name(words) : g_strdup(pla_work_text(work, "name"));
  content->audio = text.spoken.audio;
  text.spoken.audio = NULL;
  json_object_set_string_member(content->meta, "text", words);
  json_object_set_string_member(content->meta, "voice", pla_work_text(work, "voice"));
  keep_phonemes(&text, content->meta);
  pla_work_add(work, name, content);
  pla_text_speech_clear(&text);
  return PLA_OK;
}

static const PlaOpParam say_params[] = {
  { "text", PLA_PARAM_TEXT, NULL, 1, 2000, NULL, "what to say" },
  { "voice", PLA_PARAM_TEXT, NULL, 1, 60, "\"en\"", "language and variant, as in en-us+f3" },
  { "words_per_minute", PLA_PARAM_INT, NULL, 80, 450, "160", "pace" },
  { "pitch", PLA_PARAM_INT, NULL, -1, 99, "-1", "0 to 99; -1: the voice's own" },
  { "name", PLA_PARAM_TEXT, NULL, 1, 200, "null", "of the sound; else the words" },
  { NULL },
};

static char *
describe_say(JsonObject *params)
{
  g_autofree char *name =
      short_name(json_object_get_string_member_with_default(params, "text", ""));
  return g_strdup_printf("Say “%s”", name);
}

const PlaOperation pla_operation_say = {
  .verb = "say",
  .title = "Say Text",
  .summary = "a text as sound with its phonemes, spoken by eSpeak NG",
  .params = say_params,
  .describe = describe_say,
  .from_store = true, /* voices change with the installed eSpeak */
  .run = run_say,
};

/* ---- speak ---- */

/* segments of a sound that was made from a text; NULL without, g_free() */
static PlaSegment *
read_phonemes(JsonObject *meta, int *n)
{
  JsonNode *node = json_object_get_member(meta, "phonemes");
  JsonArray *list = node && JSON_NODE_HOLDS_ARRAY(node) ? json_node_get_array(node) : NULL;
  *n = list ? (int)json_array_get_length(list) : 0;
  if (*n == 0)
    return NULL;
  PlaSegment *segment = g_new0(PlaSegment, *n);
  for (int i = 0; i < *n; i++) {
    JsonNode *element = json_array_get_element(list, (guint)i);
    JsonObject *one = JSON_NODE_HOLDS_OBJECT(element) ? json_node_get_object(element) : NULL;
    if (!one)
      continue;
    segment[i].phone = pla_sound_find(json_object_get_string_member_with_default(one, "ipa", ""));
    segment[i].from = json_object_get_double_member_with_default(one, "from_s", 0.0);
    segment[i].to = json_object_get_double_member_with_default(one, "to_s", 0.0);
  }
  for (int i = 0; i < *n; i++)
    if (!segment[i].phone)
      segment[i].phone = pla_sound_silence();
  return segment;
}

/* the coils that say it */
static PlaStatus
follow_phonemes(const PlaAudio *audio, PlaSegment *segment, int n, PlaTrack **out, PlaError *err)
{
  const PlaArticulation how = pla_articulation_default();
  PlaTextSpeech text = { .n = n,
                         .segment = segment,
                         .seconds = (double)audio->n_frames / audio->rate_hz };
  return pla_text_speech_track(&text, &how, out, err);
}

static PlaStatus
hear(PlaWork *work, const PlaAudio *audio, char **trained_on, PlaNotes *notes, PlaTrack **out,
     PlaError *err)
{
  PlaSpeechModel *model = NULL;
  PlaProgress *progress = pla_work_progress(work);
  PlaStatus st = pla_speech_net_built_in(&model, err);
  if (st == PLA_OK) {
    *trained_on = g_strdup(model->provenance ? model->provenance : "");
    pla_progress_phase(progress, "Hearing", 0.1);
    PlaProgressSpan span = pla_progress_push(progress);
    st = pla_speech_invert(model, audio, out, notes, progress, err);
    pla_progress_pop(progress, span);
  }
  pla_speech_model_free(model);
  return st;
}

/* coils of the item, wherever they come from */
static PlaStatus
get_track(PlaWork *work, const PlaContent *source, PlaSpokenInput *input, PlaTrack **made,
          char **trained_on, PlaNotes *notes, PlaError *err)
{
  if (source->track) {
    input->track = source->track;
    input->measured = true;
    return PLA_OK;
  }
  if (!source->audio)
    return pla_fail(err, PLA_ERR_USAGE,
                    "a sound or a track of coils is needed to move a tongue; this is neither");
  int n = 0;
  g_autofree PlaSegment *segment = read_phonemes(source->meta, &n);
  input->audio = source->audio;
  PlaStatus st;
  if (segment && !pla_work_bool(work, "heard")) {
    *trained_on =
        g_strdup("Follows the phonemes of the text; the sound itself was not listened to.");
    st = follow_phonemes(source->audio, segment, n, made, err);
  } else
    st = hear(work, source->audio, trained_on, notes, made, err);
  input->track = *made;
  return st;
}

/* the tongue at rest, which then moves; NULL where memory is short */
static PlaContent *
tongue_mesh(const PlaSpoken *spoken, const char *motion, PlaError *err)
{
  g_autoptr(PlaContent) content = pla_content_new(PLA_ITEM_MESH);
  if (pla_mesh_new(spoken->n_verts, spoken->n_tris, 0, 0, &content->mesh, err) != PLA_OK)
    return NULL;
  memcpy(content->mesh->tri, spoken->tri, 3 * (gsize)spoken->n_tris * sizeof *spoken->tri);
  for (gsize i = 0; i < 3 * (gsize)spoken->n_verts; i++)
    content->mesh->pos[i] = (double)spoken->rest_mm[i] / 1000.0;
  json_object_set_string_member(content->meta, "moves_with", motion);
  return g_steal_pointer(&content);
}

/* head, palate and jaw, once for a case */
static PlaStatus
add_mouth(PlaWork *work, double cell_mm, PlaError *err)
{
  static const char *const names[3] = { PLA_SPOKEN_PALATE, PLA_SPOKEN_JAW, PLA_SPOKEN_HEAD };
  PlaContent *part[3];
  bool all = true;
  for (int i = 0; i < 3; i++)
    all = all && pla_work_find(work, names[i]) != 0;
  if (all)
    return PLA_OK;
  PlaStatus st = pla_spoken_make_mouth(cell_mm, pla_work_progress(work), part, err);
  for (int i = 0; st == PLA_OK && i < 3; i++) {
    if (pla_work_find(work, names[i]) == 0)
      pla_work_add(work, names[i], part[i]);
    else
      pla_content_unref(part[i]);
  }
  return st;
}

static PlaStatus
run_speak(PlaWork *work, PlaError *err)
{
  g_autoptr(PlaContent) source = NULL;
  g_autoptr(PlaContent) result = NULL;
  g_autofree char *trained_on = NULL;
  PlaSpoken *spoken = NULL;
  PlaTrack *made = NULL;
  PlaNotes notes = { 0 };
  PlaSpokenInput input = { 0 };
  int64_t item;
  PlaStatus st = pla_work_item(work, "item", NULL, &item, err);
  if (st == PLA_OK)
    st = pla_work_load(work, item, &source, err);
  if (st != PLA_OK)
    return st;
  if (!pla_work_is_null(work, "cell_mm"))
    input.cell_mm = pla_work_number(work, "cell_mm");
  const char *name = pla_work_item_name(work, item);
  st = get_track(work, source, &input, &made, &trained_on, &notes, err);
  input.source = name;
  input.trained_on = trained_on;
  input.notes = &notes;
  if (st == PLA_OK)
    st = pla_spoken_make(&input, pla_work_progress(work), &result, err);
  if (st == PLA_OK)
    st = pla_spoken_new(result, &spoken, err);
  if (st == PLA_OK)
    st = add_mouth(work, input.cell_mm, err);
  if (st == PLA_OK) {
    g_autofree char *motion = g_strdup_printf("%s, motion", name);
    g_autofree char *tongue = g_strdup_printf("%s, tongue", name);
    const char *called = pla_work_add(work, motion, g_steal_pointer(&result));
    PlaContent *mesh = tongue_mesh(spoken, called, err);
    if (mesh)
      pla_work_add(work, tongue, mesh);
    else
      st = PLA_ERR_MEMORY;
  }
  pla_spoken_free(spoken);
  pla_track_free(made);
  pla_notes_clear(&notes);
  return st;
}

static const PlaOpParam speak_params[] = {
  { "item", PLA_PARAM_ITEM, NULL, 0, 0, NULL, "a sound, or a track of coils" },
  { "heard", PLA_PARAM_BOOL, NULL, 0, 0, "false",
    "predict sensors from the sound of a text, not from its phonemes" },
  { "cell_mm", PLA_PARAM_NUMBER, "mm", 2.5, 10, "null", "element size of the tongue" },
  { NULL },
};

static char *
describe_speak(JsonObject *params)
{
  return g_strdup_printf("Move Tongue to “%s”",
                         json_object_get_string_member_with_default(params, "item", ""));
}

const PlaOperation pla_operation_speak = {
  .verb = "speak",
  .title = "Move Tongue",
  .summary = "the motion of the built-in tongue that says a sound, or follows recorded coils",
  .params = speak_params,
  .describe = describe_speak,
  .run = run_speak,
};
