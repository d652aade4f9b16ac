/* Speech of a face from what it has said: phonemes of takes, and new lines from them. */
#include "app/base/json.h"
#include "app/motion/performance.h"
#include "app/motion/physemes.h"
#include "app/verbs/verbs.h"

#include <string.h>

/* ---- set-phonemes ---- */

static PlaStatus
run_set_phonemes(PlaWork *work, PlaError *err)
{
  PlaPhones phones = { 0 };
  g_autoptr(JsonObject) meta = NULL;
  int64_t item;
  PlaStatus st = pla_work_item(work, "item", NULL, &item, err);
  if (st == PLA_OK && strcmp(pla_work_item_kind(work, item), PLA_ITEM_MARKERS) != 0 &&
      strcmp(pla_work_item_kind(work, item), PLA_ITEM_TRACK) != 0)
    st =
        pla_fail(err, PLA_ERR_USAGE, "'%s' is neither a take nor a track; only those can be spoken",
                 pla_work_item_name(work, item));
  if (st == PLA_OK)
    st = pla_phones_from_json(pla_work_list(work, "phonemes"), &phones, err);
  if (st == PLA_OK)
    st = pla_work_load_meta(work, item, &meta, err);
  if (st == PLA_OK) {
    pla_meta_set_phonemes(meta, &phones);
    st = pla_work_relabel(work, item, NULL, meta, err);
  }
  pla_phones_clear(&phones);
  return st;
}

static const PlaVerbParam set_params[] = {
  { "item", PLA_PARAM_ITEM, NULL, 0, 0, NULL, "a take, or the track that was fitted to it" },
  { "phonemes", PLA_PARAM_LIST, NULL, 0, 0, NULL, "[[start s, end s, label], ...] in its time" },
  { NULL },
};

const PlaVerb pla_verb_set_phonemes = {
  .name = "set-phonemes",
  .title = "Set Phonemes",
  .summary = "sets the phonemes of a take",
  .params = set_params,
  .run = run_set_phonemes,
};

/* ---- say-line ---- */

/* the library of the tracks that are named */
static PlaStatus
load_library(PlaWork *work, PlaPhysemeLibrary *out, PlaNotes *notes, PlaError *err)
{
  int n;
  g_autofree int64_t *item = pla_work_items(work, "tracks", &n);
  PlaStatus st = PLA_OK;
  for (int i = 0; i < n && st == PLA_OK; i++) {
    const char *name = pla_work_item_name(work, item[i]);
    g_autoptr(PlaContent) content = NULL;
    PlaPhones phones = { 0 };
    st = pla_work_load(work, item[i], &content, err);
    if (st == PLA_OK)
      st = pla_meta_get_phonemes(content->meta, &phones, err);
    if (st == PLA_OK && phones.n == 0)
      st = pla_fail(err, PLA_ERR_USAGE,
                    "the phonemes of '%s' are unknown; set them first (set-phonemes)", name);
    if (st == PLA_OK)
      st = pla_physeme_library_add(out, content->track, &phones, pla_work_object(work, "weights"),
                                   notes, err);
    if (st != PLA_OK && !strstr(err->message, name))
      pla_fail_within(err, "%s", name);
    pla_phones_clear(&phones);
  }
  return st;
}

/* candidates that were chosen by hand */
static PlaStatus
apply_choices(PlaLine *line, JsonArray *choices, PlaError *err)
{
  for (guint i = 0; i < json_array_get_length(choices); i++) {
    JsonNode *node = json_array_get_element(choices, i);
    JsonArray *pair = JSON_NODE_HOLDS_ARRAY(node) ? json_node_get_array(node) : NULL;
    const gboolean sound = pair && json_array_get_length(pair) == 2 &&
                           JSON_NODE_HOLDS_VALUE(json_array_get_element(pair, 0)) &&
                           JSON_NODE_HOLDS_VALUE(json_array_get_element(pair, 1));
    const gint64 at = sound ? json_array_get_int_element(pair, 0) : -1;
    const gint64 which = sound ? json_array_get_int_element(pair, 1) : -1;
    if (at < 0 || at >= pla_line_count(line) || which < 0 ||
        which >= pla_line_get(line, (int)at).n_candidates)
      return pla_fail(err, PLA_ERR_USAGE,
                      "\"choices\" is a list [[phoneme, candidate], ...], both from 0; its element "
                      "%u names none of the line",
                      i + 1);
    pla_line_set_candidate(line, (int)at, (int)which);
  }
  return PLA_OK;
}

static void
describe_line(PlaWork *work, const PlaPhysemeLibrary *library, const PlaLine *line)
{
  JsonBuilder *json = pla_work_json(work);
  json_builder_set_member_name(json, "phonemes");
  json_builder_begin_array(json);
  for (int i = 0; i < pla_line_count(line); i++) {
    const PlaLinePhone p = pla_line_get(line, i);
    json_builder_begin_object(json);
    pla_json_text(json, "label", p.label);
    pla_json_number(json, "start_s", p.start_s);
    pla_json_number(json, "end_s", p.end_s);
    pla_json_int(json, "candidates", p.n_candidates);
    if (p.physeme >= 0) {
      const PlaPhyseme from = pla_physeme_bank_get(library->bank, p.physeme);
      pla_json_int(json, "take", from.take);
      pla_json_number(json, "take_start_s", from.start_s);
      pla_json_number(json, "take_end_s", from.end_s);
      pla_work_say(work, "%6.3f s  %-6s take %d at %.3f s, %d to choose from", p.start_s, p.label,
                   from.take + 1, from.start_s, p.n_candidates);
    }
    json_builder_end_object(json);
  }
  json_builder_end_array(json);
}

static void
describe(PlaWork *work, const PlaTrack *track, double cost, const PlaPhysemeLibrary *library,
         const PlaLine *line, const PlaNotes *notes)
{
  JsonBuilder *json = pla_work_json(work);
  pla_json_int(json, "frames", track->n_samples);
  pla_json_number(json, "rate_hz", track->rate_hz);
  pla_json_number(json, "seconds", track->n_samples / track->rate_hz);
  for (int i = 0; i < notes->n; i++)
    pla_work_say(work, "note: %s", notes->text[i]);
  pla_json_number(json, "cost", cost);
  describe_line(work, library, line);
}

static PlaStatus
run_say(PlaWork *work, PlaError *err)
{
  PlaPhysemeLibrary library = { 0 };
  PlaPhones phones = { 0 };
  PlaNotes notes = { 0 };
  PlaLine *line = NULL;
  double cost = 0.0;
  g_autoptr(PlaContent) track = pla_content_new(PLA_ITEM_TRACK);
  g_autoptr(PlaContent) expression = NULL;
  PlaPhysemeOptions opts = { .rate_hz = pla_work_number(work, "rate_hz"),
                             .strength = pla_work_number(work, "strength") };
  PlaStatus st = pla_phones_from_json(pla_work_list(work, "phonemes"), &phones, err);
  if (st == PLA_OK && phones.n == 0)
    st = pla_fail(err, PLA_ERR_USAGE, "\"phonemes\" is empty; there is nothing to say");
  if (st == PLA_OK)
    st = load_library(work, &library, &notes, err);
  if (st == PLA_OK)
    st = pla_line_new(library.bank, &phones, &line, err);
  if (st == PLA_OK)
    st = pla_line_choose(line, &cost, err);
  if (st == PLA_OK)
    st = apply_choices(line, pla_work_list(work, "choices"), err);
  if (st == PLA_OK && !pla_work_is_null(work, "expression")) {
    int64_t item;
    st = pla_work_item(work, "expression", PLA_ITEM_TRACK, &item, err);
    if (st == PLA_OK)
      st = pla_work_load(work, item, &expression, err);
    if (st == PLA_OK)
      opts.expression = expression->track;
  }
  if (st == PLA_OK)
    st = pla_physeme_library_speak(&library, line, &opts, &track->track, err);
  if (st == PLA_OK) {
    describe(work, track->track, cost, &library, line, &notes);
    pla_meta_set_phonemes(track->meta, &phones);
    json_object_set_boolean_member(track->meta, "spoken", TRUE);
    pla_work_add(work, pla_work_text(work, "name"), g_steal_pointer(&track));
  }
  pla_line_free(line);
  pla_phones_clear(&phones);
  pla_notes_clear(&notes);
  pla_physeme_library_clear(&library);
  return st;
}

static char *
describe_say(JsonObject *params)
{
  const char *name = json_object_get_string_member_with_default(params, "name", NULL);
  return name ? g_strdup_printf("Say “%s”", name) : NULL;
}

static const PlaVerbParam say_params[] = {
  { "tracks", PLA_PARAM_ITEMS, NULL, 1, 100000, NULL, "names of tracks whose phonemes are known",
    .kinds = PLA_ITEM_TRACK, .option = "" },
  { "phonemes", PLA_PARAM_LIST, NULL, 0, 0, NULL, "[[start s, end s, label], ...] to be said",
    .option = "" },
  { "weights", PLA_PARAM_OBJECT, NULL, 0, 0, "null",
    "how far each control moves the skin, mm by name; none: all alike", .option = "" },
  { "choices", PLA_PARAM_LIST, NULL, 0, 0, "[]",
    "[[phoneme, candidate], ...] by hand; others are the best", .option = "" },
  { "expression", PLA_PARAM_ITEM, NULL, 0, 0, "null",
    "activations to add, such as those of a smile", .kinds = PLA_ITEM_TRACK, .arg = "TRACK" },
  { "strength", PLA_PARAM_NUMBER, NULL, 0, 1, "1", "how much of the expression", .arg = "K" },
  { "rate_hz", PLA_PARAM_NUMBER, NULL, 0, 10000, "0", "frames a second; 0: as the takes",
    .arg = "HZ" },
  { "name", PLA_PARAM_TEXT, NULL, 1, 200, "\"line\"", "name of the result", .option = "" },
  { NULL },
};

static const PlaResultKey say_results[] = {
  { "frames", "number of frames" },
  { "rate_hz", "frames in a second" },
  { "seconds", "length of the line" },
  { "cost", "how much neighbours disagree where they overlap" },
  { "phonemes", "each with its times, its candidates and the stretch of a take that was chosen" },
  { NULL },
};

const PlaVerb pla_verb_say_line = {
  .name = "say-line",
  .title = "Say a Line",
  .summary = "activations that say new words, from tracks whose phonemes are known",
  .params = say_params,
  .results = say_results,
  .makes = PLA_ITEM_TRACK,
  .keeps = "line",
  .describe = describe_say,
  .run = run_say,
};
