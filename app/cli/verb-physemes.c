/* `physemes`: libraries of fitted takes, and new sentences from them. */
#include "app/cli/cli-private.h"
#include "app/motion/physemes.h"
#include "io/formats/format.h"

#include <glib.h>
#include <string.h>

static void
tell_notes(PlaInvocation *inv, const PlaNotes *notes)
{
  for (int i = 0; i < notes->n; i++)
    pla_say(inv, "note: %s", notes->text[i]);
}

/* ---- build */

static void
describe_library(PlaInvocation *inv, const PlaPhysemeLibrary *library)
{
  JsonBuilder *json = pla_invocation_json(inv);
  g_autoptr(GHashTable) count = g_hash_table_new(g_str_hash, g_str_equal);
  const int n = pla_physeme_bank_count(library->bank);
  pla_json_int(json, "takes", library->n_takes);
  pla_json_number(json, "seconds", library->seconds);
  pla_json_int(json, "controls", library->n_controls);
  pla_json_int(json, "physemes", n);
  for (int p = 0; p < n; p++) {
    char *label = (char *)pla_physeme_bank_get(library->bank, p).label;
    g_hash_table_insert(count, label,
                        GINT_TO_POINTER(GPOINTER_TO_INT(g_hash_table_lookup(count, label)) + 1));
  }
  g_autoptr(GList) labels = g_list_sort(g_hash_table_get_keys(count), (GCompareFunc)strcmp);
  json_builder_set_member_name(json, "phonemes");
  json_builder_begin_array(json);
  for (GList *l = labels; l; l = l->next) {
    json_builder_begin_object(json);
    pla_json_text(json, "label", l->data);
    pla_json_int(json, "count", GPOINTER_TO_INT(g_hash_table_lookup(count, l->data)));
    json_builder_end_object(json);
  }
  json_builder_end_array(json);
  pla_say(inv, "%d takes, %.1f s, %d controls: %d physemes of %u phonemes", library->n_takes,
          library->seconds, library->n_controls, n, g_hash_table_size(count));
}

static PlaStatus
build(PlaInvocation *inv, PlaError *err)
{
  const int n = pla_invocation_n_files(inv) - 1;
  const char *output = pla_invocation_output(inv);
  PlaPhysemeLibrary library = { 0 };
  PlaNotes notes = { 0 };
  if (!output || n < 2 || n % 2 != 0)
    return pla_fail(err, PLA_ERR_USAGE,
                    "give each fitted take with its phonemes, and where the library goes: "
                    "platysma-cli physemes build a.csv a.TextGrid b.csv b.TextGrid -o voice.json");
  g_autofree const char **files = g_new(const char *, n);
  for (int i = 0; i < n; i++)
    files[i] = pla_invocation_file(inv, i + 1);
  PlaStatus st =
      pla_physeme_library_build(output, files, n / 2, pla_invocation_text(inv, "weights", 0, NULL),
                                &library, &notes, pla_invocation_progress(inv), err);
  if (st == PLA_OK) {
    tell_notes(inv, &notes);
    describe_library(inv, &library);
  }
  pla_notes_clear(&notes);
  pla_physeme_library_clear(&library);
  return st;
}

/* ---- speak */

static void
describe_line(PlaInvocation *inv, const PlaPhysemeLibrary *library, const PlaLine *line)
{
  JsonBuilder *json = pla_invocation_json(inv);
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
      pla_say(inv, "%6.3f s  %-6s take %d at %.3f s, %d to choose from", p.start_s, p.label,
              from.take + 1, from.start_s, p.n_candidates);
    }
    json_builder_end_object(json);
  }
  json_builder_end_array(json);
}

static PlaStatus
read_expression(PlaInvocation *inv, PlaItem *out, PlaError *err)
{
  const char *path = pla_invocation_text(inv, "expression", 0, NULL);
  PlaReadOptions opts = pla_read_options_default();
  *out = (PlaItem){ 0 };
  PlaStatus st = path ? pla_item_read(path, &opts, out, err) : PLA_OK;
  if (st == PLA_OK && path && out->kind != PLA_KIND_TRACK)
    st = pla_fail(err, PLA_ERR_USAGE, "%s is a file of the kind '%s'; a track is needed", path,
                  pla_kind_name(out->kind));
  return st;
}

static PlaStatus
phones_from_file(const char *path, PlaPhones *out, PlaError *err)
{
  PlaReadOptions opts = pla_read_options_default();
  PlaItem item;
  PlaStatus st = pla_item_read(path, &opts, &item, err);
  if (st == PLA_OK && item.kind != PLA_KIND_PHONES)
    st = pla_fail(err, PLA_ERR_USAGE,
                  "%s is a file of the kind '%s'; phonemes with their times are needed", path,
                  pla_kind_name(item.kind));
  if (st == PLA_OK) {
    *out = item.phones;
    item.phones = (PlaPhones){ 0 };
  }
  pla_item_clear(&item);
  return st;
}

/* eSpeak's phonemes, and its sound where that is wanted */
static PlaStatus
phones_from_text(PlaInvocation *inv, const char *text, PlaPhones *out, PlaError *err)
{
  const char *sound = pla_invocation_text(inv, "sound", 0, NULL);
  PlaAudio *audio = NULL;
  PlaStatus st = pla_phones_from_text(text, pla_invocation_text(inv, "voice", 0, NULL), out,
                                      sound ? &audio : NULL, err);
  if (st == PLA_OK && sound) {
    const PlaItem item = { .kind = PLA_KIND_AUDIO, .audio = audio };
    const PlaWriteOptions opts = pla_write_options_default();
    st = pla_item_write(sound, &item, &opts, err);
  }
  pla_audio_free(audio);
  return st;
}

static PlaStatus
read_phones(PlaInvocation *inv, PlaPhones *out, PlaError *err)
{
  const char *path = pla_invocation_text(inv, "phonemes", 0, NULL);
  const char *text = pla_invocation_text(inv, "text", 0, NULL);
  const char *copy = pla_invocation_text(inv, "write-phonemes", 0, NULL);
  if (!path == !text)
    return pla_fail(err, PLA_ERR_USAGE, "give what to speak: --phonemes FILE or --text \"...\"");
  PlaStatus st = path ? phones_from_file(path, out, err) : phones_from_text(inv, text, out, err);
  if (st == PLA_OK && copy) {
    const PlaItem item = { .kind = PLA_KIND_PHONES, .phones = *out };
    const PlaWriteOptions opts = pla_write_options_default();
    st = pla_item_write(copy, &item, &opts, err);
  }
  return st;
}

static PlaStatus
write_line(PlaInvocation *inv, const PlaPhysemeLibrary *library, const PlaLine *line, PlaError *err)
{
  PlaItem expression;
  PlaTrack *track = NULL;
  PlaStatus st = read_expression(inv, &expression, err);
  if (st == PLA_OK) {
    const PlaPhysemeOptions opts = { .rate_hz = pla_invocation_number(inv, "rate-hz", 0.0),
                                     .expression = expression.track,
                                     .strength = pla_invocation_number(inv, "strength", 1.0) };
    st = pla_physeme_library_speak(library, line, &opts, &track, err);
  }
  if (st == PLA_OK) {
    const PlaItem item = { .kind = PLA_KIND_TRACK, .track = track };
    const PlaWriteOptions write = pla_write_options_default();
    st = pla_item_write(pla_invocation_output(inv), &item, &write, err);
  }
  if (st == PLA_OK) {
    JsonBuilder *json = pla_invocation_json(inv);
    pla_json_int(json, "frames", track->n_samples);
    pla_json_number(json, "rate_hz", track->rate_hz);
    pla_json_number(json, "seconds", track->n_samples / track->rate_hz);
  }
  pla_track_free(track);
  pla_item_clear(&expression);
  return st;
}

static PlaStatus
speak(PlaInvocation *inv, PlaError *err)
{
  PlaPhysemeLibrary library = { 0 };
  PlaPhones phones = { 0 };
  PlaNotes notes = { 0 };
  PlaLine *line = NULL;
  double cost = 0.0;
  const PlaFormat *format;
  if (pla_invocation_n_files(inv) != 2 || !pla_invocation_output(inv))
    return pla_fail(err, PLA_ERR_USAGE,
                    "name the library, and where the track goes: platysma-cli physemes speak "
                    "voice.json --phonemes cheese.TextGrid -o cheese.csv");
  PlaStatus st = pla_format_for_output(pla_invocation_output(inv), PLA_KIND_TRACK, &format, err);
  if (st == PLA_OK)
    st = read_phones(inv, &phones, err);
  if (st == PLA_OK)
    st = pla_physeme_library_load(pla_invocation_file(inv, 1), &library, &notes,
                                  pla_invocation_progress(inv), err);
  if (st == PLA_OK)
    st = pla_line_new(library.bank, &phones, &line, err);
  if (st == PLA_OK)
    st = pla_line_choose(line, &cost, err);
  if (st == PLA_OK)
    st = write_line(inv, &library, line, err);
  if (st == PLA_OK) {
    tell_notes(inv, &notes);
    pla_json_number(pla_invocation_json(inv), "cost", cost);
    describe_line(inv, &library, line);
  }
  pla_line_free(line);
  pla_phones_clear(&phones);
  pla_notes_clear(&notes);
  pla_physeme_library_clear(&library);
  return st;
}

static PlaStatus
run_physemes(PlaInvocation *inv, PlaError *err)
{
  const char *sub = pla_invocation_file(inv, 0);
  if (strcmp(sub, "build") == 0)
    return build(inv, err);
  if (strcmp(sub, "speak") == 0)
    return speak(inv, err);
  return pla_fail(err, PLA_ERR_USAGE, "physemes has no part '%s'; it has build and speak", sub);
}

static const PlaOpt options[] = {
  { "weights", 0, PLA_OPT_TEXT, "FILE",
    "build: how far controls move the skin, from `fit --json` (default: all alike)" },
  { "phonemes", 0, PLA_OPT_TEXT, "FILE",
    "speak: phonemes with their times (TextGrid, HTK, labels)" },
  { "text", 0, PLA_OPT_TEXT, "TEXT", "speak: this text, with the phonemes (IPA) of eSpeak NG" },
  { "voice", 0, PLA_OPT_TEXT, "VOICE", "speak: voice or language of the text (default: en)" },
  { "sound", 0, PLA_OPT_OUTPUT, "WAV", "speak: also write the sound of the text" },
  { "write-phonemes", 0, PLA_OPT_OUTPUT, "FILE",
    "speak: also write the phonemes, to correct them" },
  { "rate-hz", 0, PLA_OPT_NUMBER, "HZ", "speak: frames a second (default: as the takes)", 1, 1e4 },
  { "expression", 0, PLA_OPT_TEXT, "TRACK", "speak: activations to add, of a smile say" },
  { "strength", 0, PLA_OPT_NUMBER, "K", "speak: how much of the expression (default 1)", 0, 1 },
  { NULL },
};

const PlaVerb pla_verb_physemes = {
  .name = "physemes",
  .args = "build TRACK PHONEMES ... -o LIBRARY.json | speak LIBRARY.json --text TEXT -o TRACK.csv",
  .summary = "makes a face say new sentences from fitted takes",
  .description =
      "A physeme is the stretch of a fitted take in which one phoneme is spoken.  `build` "
      "describes\n"
      "takes (tracks of `fit`) with their phonemes in one JSON file.  `speak` chooses a physeme "
      "for\n"
      "each phoneme so that neighbours agree best where they overlap, stretches them onto their\n"
      "intervals and blends them; the track drives `muscles activate`.  The head moves by blended\n"
      "velocities, and an expression can be laid on top.",
  .example = "platysma-cli physemes speak voice.json --phonemes cheese.TextGrid -o cheese.csv",
  .min_files = 1,
  .max_files = -1,
  .options = options,
  .run = run_physemes,
};
