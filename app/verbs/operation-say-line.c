/* Speech of a face from what it has said: phonemes of takes, and new lines from them. */
#include "app/motion/performance.h"
#include "app/motion/physemes.h"
#include "app/verbs/operations.h"

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
    json_object_set_array_member(meta, PLA_META_PHONEMES, pla_phones_to_json(&phones));
    st = pla_work_relabel(work, item, NULL, meta, err);
  }
  pla_phones_clear(&phones);
  return st;
}

static const PlaOpParam set_params[] = {
  { "item", PLA_PARAM_ITEM, NULL, 0, 0, NULL, "a take, or the track that was fitted to it" },
  { "phonemes", PLA_PARAM_LIST, NULL, 0, 0, NULL, "[[start s, end s, label], ...] in its time" },
  { NULL },
};

const PlaOperation pla_operation_set_phonemes = {
  .verb = "set-phonemes",
  .title = "Set Phonemes",
  .summary = "sets the phonemes of a take",
  .params = set_params,
  .run = run_set_phonemes,
};

/* ---- say ---- */

/* the library of the tracks that are named */
static PlaStatus
load_library(PlaWork *work, PlaPhysemeLibrary *out, PlaError *err)
{
  JsonArray *names = pla_work_list(work, "tracks");
  PlaStatus st = PLA_OK;
  if (json_array_get_length(names) == 0)
    st = pla_fail(err, PLA_ERR_USAGE, "\"tracks\" names no track to learn from");
  for (guint i = 0; i < json_array_get_length(names) && st == PLA_OK; i++) {
    const char *name;
    const int64_t item = pla_work_list_item(work, names, i, &name);
    g_autoptr(PlaContent) content = NULL;
    PlaPhones phones = { 0 };
    if (item == 0 || strcmp(pla_work_item_kind(work, item), PLA_ITEM_TRACK) != 0)
      return pla_fail(err, PLA_ERR_USAGE, "there is no track '%s' to learn from", name);
    st = pla_work_load(work, item, &content, err);
    if (st == PLA_OK)
      st = pla_phones_from_json(pla_content_get_phonemes(content), &phones, err);
    if (st == PLA_OK && phones.n == 0)
      st = pla_fail(err, PLA_ERR_USAGE,
                    "the phonemes of '%s' are unknown; set them first (set-phonemes)", name);
    if (st == PLA_OK)
      st = pla_physeme_library_add(out, content->track, &phones, err);
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

static PlaStatus
run_say(PlaWork *work, PlaError *err)
{
  PlaPhysemeLibrary library = { 0 };
  PlaPhones phones = { 0 };
  PlaLine *line = NULL;
  double cost;
  g_autoptr(PlaContent) track = pla_content_new(PLA_ITEM_TRACK);
  g_autoptr(PlaContent) expression = NULL;
  PlaPhysemeOptions opts = { .rate_hz = pla_work_number(work, "rate_hz"),
                             .strength = pla_work_number(work, "strength") };
  PlaStatus st = pla_phones_from_json(pla_work_list(work, "phonemes"), &phones, err);
  if (st == PLA_OK && phones.n == 0)
    st = pla_fail(err, PLA_ERR_USAGE, "\"phonemes\" is empty; there is nothing to say");
  if (st == PLA_OK)
    st = load_library(work, &library, err);
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
    json_object_set_array_member(track->meta, PLA_META_PHONEMES, pla_phones_to_json(&phones));
    json_object_set_boolean_member(track->meta, "spoken", TRUE);
    pla_work_add(work, pla_work_text(work, "name"), g_steal_pointer(&track));
  }
  pla_line_free(line);
  pla_phones_clear(&phones);
  pla_physeme_library_clear(&library);
  return st;
}

static char *
describe_say(JsonObject *params)
{
  const char *name = json_object_get_string_member_with_default(params, "name", NULL);
  return name ? g_strdup_printf("Say “%s”", name) : NULL;
}

static const PlaOpParam say_params[] = {
  { "tracks", PLA_PARAM_LIST, NULL, 0, 0, NULL, "names of tracks whose phonemes are known" },
  { "phonemes", PLA_PARAM_LIST, NULL, 0, 0, NULL, "[[start s, end s, label], ...] to be said" },
  { "choices", PLA_PARAM_LIST, NULL, 0, 0, "[]",
    "[[phoneme, candidate], ...] by hand; others are the best" },
  { "expression", PLA_PARAM_ITEM, NULL, 0, 0, "null", "a track that is added" },
  { "strength", PLA_PARAM_NUMBER, NULL, 0, 1, "1", "how much of it" },
  { "rate_hz", PLA_PARAM_NUMBER, NULL, 0, 1000, "0", "frames in a second; 0: as the tracks" },
  { "name", PLA_PARAM_TEXT, NULL, 1, 200, "\"line\"", "name of the result" },
  { NULL },
};

const PlaOperation pla_operation_say_line = {
  .verb = "say-line",
  .title = "Say a Line",
  .summary = "activations that say new words, from tracks whose phonemes are known",
  .params = say_params,
  .describe = describe_say,
  .run = run_say,
};
