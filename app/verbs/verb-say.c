/* Say: a text as a sound with its phonemes. */
#include "app/content/phonemes.h"
#include "app/speech/speech-text.h"
#include "app/verbs/verbs.h"

#include <glib/gi18n.h>
#include <string.h>

/* what was said when, beside the sound */
static PlaStatus
keep_phonemes(const PlaTextSpeech *text, JsonObject *meta, PlaError *err)
{
  PlaPhones phones = { 0 };
  PlaStatus st = PLA_OK;
  for (int i = 0; i < text->n && st == PLA_OK; i++)
    st = pla_phones_add(&phones, text->segment[i].from, text->segment[i].to,
                        text->segment[i].phone->ipa, err);
  if (st == PLA_OK)
    pla_meta_set_phonemes(meta, &phones);
  pla_phones_clear(&phones);
  return st;
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

PlaStatus
pla_say_words(const char *words, const char *voice, int words_per_minute, int pitch,
              PlaContent **out, PlaError *err)
{
  PlaTextSpeech text;
  PlaStatus st = pla_text_speech_make(words, voice, words_per_minute, pitch, &text, err);
  if (st != PLA_OK)
    return st;
  g_autoptr(PlaContent) content = pla_content_new(PLA_ITEM_AUDIO);
  content->audio = text.spoken.audio;
  text.spoken.audio = NULL;
  json_object_set_string_member(content->meta, "text", words);
  json_object_set_string_member(content->meta, "voice", voice ? voice : "en");
  st = keep_phonemes(&text, content->meta, err);
  if (st == PLA_OK)
    *out = g_steal_pointer(&content);
  pla_text_speech_clear(&text);
  return st;
}

static PlaStatus
run_say(PlaWork *work, PlaError *err)
{
  const char *words = pla_work_text(work, "text");
  PlaContent *content = NULL;
  PlaStatus st =
      pla_say_words(words, pla_work_text(work, "voice"), pla_work_int(work, "words_per_minute"),
                    pla_work_int(work, "pitch"), &content, err);
  if (st != PLA_OK)
    return st;
  g_autofree char *name =
      pla_work_is_null(work, "name") ? short_name(words) : g_strdup(pla_work_text(work, "name"));
  pla_work_add(work, name, content);
  return PLA_OK;
}

static const PlaVerbParam say_params[] = {
  { "text", PLA_PARAM_TEXT, NULL, 1, 2000, NULL, N_("what to say"),
    .panel = { .title = N_("Te_xt to say"), .begin = "\"see a shoe\"" } },
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

const PlaVerb pla_verb_say = {
  .name = "say",
  .title = "Say Text",
  .summary = "a text as sound with its phonemes, spoken by eSpeak NG",
  .params = say_params,
  .describe = describe_say,
  .from_store = true, /* voices change with the installed eSpeak */
  .run = run_say,
};
