/* `physemes`: libraries of fitted takes, and new sentences from them. */
#include "app/cli/cli-private.h"
#include "app/content/phonemes.h"
#include "app/motion/physemes.h"
#include "app/verbs/verbs.h"
#include "io/formats/format.h"

#include <glib.h>
#include <string.h>

static void
tell_notes(PlaInvocation *inv, const PlaNotes *notes)
{
  for (int i = 0; i < notes->n; i++)
    pla_say(inv, "note: %s", notes->text[i]);
}

/* ---- build: a library is about files.  In a case the tracks are there themselves, with their
 * phonemes, so that this is no operation. */

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

/* phonemes of a text or of a file, and the takes of the library with their weights */
static PlaStatus
prepare(PlaInvocation *inv, JsonObject *params, GArray *items, void *data, PlaError *err)
{
  PlaPhysemeTakes *takes = data;
  PlaPhones phones = { 0 };
  PlaStatus st = read_phones(inv, &phones, err);
  if (st == PLA_OK)
    json_object_set_array_member(params, "phonemes", pla_phones_to_json(&phones));
  pla_phones_clear(&phones);
  if (st == PLA_OK)
    st = pla_physeme_takes_read(pla_invocation_file(inv, 1), takes, pla_invocation_progress(inv),
                                err);
  if (st != PLA_OK)
    return st;
  JsonArray *tracks = json_array_new();
  for (guint i = 0; i < takes->take->len; i++) {
    /* one track may be there with several phonemes, so that the number is part of the name */
    g_autofree char *name =
        g_strdup_printf("%s (take %u)", (const char *)takes->name->pdata[i], i + 1);
    g_free(takes->name->pdata[i]);
    takes->name->pdata[i] = g_steal_pointer(&name);
    const PlaWorkItem item = { takes->name->pdata[i], pla_content_ref(takes->take->pdata[i]) };
    g_array_append_val(items, item);
    json_array_add_string_element(tracks, item.name);
  }
  json_object_set_array_member(params, "tracks", tracks);
  if (takes->weights)
    json_object_set_object_member(params, "weights", json_object_ref(takes->weights));
  return PLA_OK;
}

static PlaStatus
speak(PlaInvocation *inv, PlaError *err)
{
  PlaPhysemeTakes takes = { 0 };
  if (pla_invocation_n_files(inv) != 2 || !pla_invocation_output(inv))
    return pla_fail(err, PLA_ERR_USAGE,
                    "name the library, and where the track goes: platysma-cli physemes speak "
                    "voice.json --phonemes cheese.TextGrid -o cheese.csv");
  PlaStatus st =
      pla_run_verb_with(inv, &pla_verb_say_line,
                        &(PlaVerbRun){ .word = 2, .prepare = prepare, .data = &takes }, err);
  pla_physeme_takes_clear(&takes);
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
  { NULL },
};

static const PlaCommandPart parts[] = { { "speak", &pla_verb_say_line }, { NULL, NULL } };

const PlaCommand pla_command_physemes = {
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
      "velocities, and an expression can be added.",
  .example = "platysma-cli physemes speak voice.json --phonemes cheese.TextGrid -o cheese.csv",
  .min_files = 1,
  .max_files = -1,
  .options = options,
  .parts = parts,
  .run = run_physemes,
};
