/* Speech in a case: a text said, a tongue that follows it; the same bits again and for any number
 * of threads, and shapes that a phonetician would expect. */
#include "anatomy/base/parallel.h"
#include "app/case/session.h"
#include "app/content/phonemes.h"
#include "app/report/report.h"
#include "app/speech/speech-text.h"
#include "app/speech/spoken-muscles.h"
#include "app/speech/spoken-picture.h"
#include "app/speech/tongue-build.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#define CELL "8" /* mm: coarse, and soon made */

static char *folder;

static void
ok(PlaStatus st, const PlaError *err)
{
  if (st != PLA_OK)
    g_error("%s", err->message);
}

static PlaStatus
apply(PlaSession *session, const char *verb, const char *params, PlaError *err)
{
  g_autoptr(JsonNode) node = json_from_string(params, NULL);
  PlaRequest request = { .verb = verb, .params = json_node_get_object(node) };
  return pla_session_run(session, &request, NULL, NULL, err);
}

static PlaSession *
new_case(const char *name)
{
  g_autofree char *path = g_build_filename(folder, name, NULL);
  PlaSession *session = NULL;
  PlaError err;
  ok(pla_session_create(path, "Speech", &session, &err), &err);
  return session;
}

static PlaSpoken *
motion_of(PlaSession *session, const char *name)
{
  g_autoptr(PlaContent) content = NULL;
  PlaSpoken *spoken = NULL;
  PlaError err;
  const PlaStateItem *item = pla_state_find_name(pla_session_get_state(session), name);
  g_assert_nonnull(item);
  ok(pla_session_load(session, item->item, NULL, &content, &err), &err);
  ok(pla_spoken_new(content, &spoken, &err), &err);
  return spoken;
}

/* the middle of the first sound @ipa of an item, s */
static double
middle_of(PlaSession *session, const char *name, const char *ipa)
{
  g_autoptr(PlaContent) content = NULL;
  PlaError err;
  const PlaStateItem *item = pla_state_find_name(pla_session_get_state(session), name);
  ok(pla_session_load(session, item->item, NULL, &content, &err), &err);
  PlaPhones phones;
  double middle = NAN;
  ok(pla_meta_get_phonemes(content->meta, &phones, &err), &err);
  for (int i = phones.n - 1; i >= 0; i--)
    if (strcmp(phones.phone[i].label, ipa) == 0)
      middle = 0.5 * (phones.phone[i].start_s + phones.phone[i].end_s);
  pla_phones_clear(&phones);
  g_assert_false(isnan(middle));
  return middle;
}

static void
say_and_move(PlaSession *session, const char *words)
{
  PlaError err;
  g_autofree char *say = g_strdup_printf("{\"text\": \"%s\", \"words_per_minute\": 110}", words);
  g_autofree char *speak = g_strdup_printf("{\"item\": \"%s\", \"cell_mm\": " CELL "}", words);
  ok(apply(session, "say", say, &err), &err);
  ok(apply(session, "speak", speak, &err), &err);
}

/* height of the tongue's outline in front and at the back of the mouth, mm */
static void
heights(const PlaSpoken *spoken, int frame, double up[2])
{
  static const double forward[2] = { 64.0, 40.0 };
  const float *outline = spoken->outline_mm + 2 * (gsize)frame * (gsize)spoken->n_outline;
  for (int k = 0; k < 2; k++) {
    up[k] = -INFINITY;
    for (int i = 0; i < spoken->n_outline; i++)
      if (fabs((double)outline[2 * i] - forward[k]) < 5.0)
        up[k] = fmax(up[k], (double)outline[2 * i + 1]);
  }
}

/* high front, low back, high back; t and k close the mouth where they should */
static void
test_shapes(void)
{
  PlaSession *session = new_case("shapes.platysma");
  double i[2], a[2], u[2], part[3];
  say_and_move(session, "he saw who two");
  PlaSpoken *spoken = motion_of(session, "he saw who two, motion");
  g_assert_cmpint(spoken->n_frames, >, 40);
  heights(spoken, pla_spoken_frame_at(spoken, middle_of(session, "he saw who two", "i")), i);
  heights(spoken, pla_spoken_frame_at(spoken, middle_of(session, "he saw who two", "ɔ")), a);
  heights(spoken, pla_spoken_frame_at(spoken, middle_of(session, "he saw who two", "u")), u);
  g_test_message("heights in front and at the back, mm: i %.1f %.1f, ɔ %.1f %.1f, u %.1f %.1f",
                 i[0], i[1], a[0], a[1], u[0], u[1]);
  g_assert_cmpfloat(i[0], >, u[0] + 2.0); /* high in front */
  g_assert_cmpfloat(i[0], >, a[0] + 5.0);
  g_assert_cmpfloat(u[1], >, a[1] + 3.0); /* high at the back */
  g_assert_cmpfloat(u[1] - u[0], >, i[1] - i[0] + 3.0);
  g_assert_cmpfloat(a[1], >, a[0]); /* low, and further back than in front */
  /* the closure of t is behind the teeth */
  double front = 0.0, back = 0.0;
  const double t = middle_of(session, "he saw who two", "t");
  for (int f = pla_spoken_frame_at(spoken, t - 0.04); f <= pla_spoken_frame_at(spoken, t + 0.04);
       f++) {
    pla_spoken_contact_parts(spoken, f, part);
    front = fmax(front, part[0]);
    back = fmax(back, part[2]);
  }
  g_test_message("t touches %.0f %% of the front and %.0f %% of the back", 100.0 * front,
                 100.0 * back);
  g_assert_cmpfloat(front, >, 0.08);
  g_assert_cmpfloat(front, >, back);
  /* the tongue keeps its volume, and its coils are where they were asked to be */
  for (int f = 0; f < spoken->n_frames; f++)
    g_assert_cmpfloat(fabs((double)spoken->volume[f]), <, 0.02);
  JsonObject *meta = json_object_get_object_member(spoken->content->meta, "spoken");
  g_assert_cmpfloat(json_object_get_double_member(meta, "sensor_error_mm"), <, 1e-6);
  g_assert_nonnull(strstr(spoken->trained_on, "phonemes"));
  /* four moments and the paths of the coils in a report, without any drawing in 3-D */
  PlaReportOptions opts = pla_report_options_default();
  PlaReport *report = NULL;
  PlaError err;
  opts.scenes = false;
  ok(pla_report_make(session, &opts, NULL, &report, &err), &err);
  g_assert_cmpint(pla_report_n_pictures(report), ==, 5);
  pla_report_free(report);
  pla_spoken_free(spoken);
  g_object_unref(session);
}

/* hashes over undo and redo, threads and replay */
static void
test_hashes(void)
{
  PlaSession *session = new_case("hashes.platysma");
  PlaError err;
  PlaHash hash[3];
  const int threads = pla_threads_get();
  ok(apply(session, "say", "{\"text\": \"key\"}", &err), &err);
  hash[0] = pla_state_hash(pla_session_get_state(session));
  for (int k = 0; k < 2; k++) {
    pla_threads_set(k == 0 ? 1 : 4);
    ok(apply(session, "speak", "{\"item\": \"key\", \"cell_mm\": " CELL ", \"heard\": true}", &err),
       &err);
    hash[1 + k] = pla_state_hash(pla_session_get_state(session));
    if (k == 0)
      ok(pla_session_undo(session, &err), &err);
    const PlaHash now = pla_state_hash(pla_session_get_state(session));
    g_assert_true(pla_hash_equal(&now, &hash[2 * k]));
  }
  pla_threads_set(threads);
  g_assert_true(pla_hash_equal(&hash[1], &hash[2]));
  /* what was heard says what it was trained on */
  PlaSpoken *spoken = motion_of(session, "key, motion");
  g_assert_cmpuint(strlen(spoken->trained_on), >, 20);
  pla_spoken_free(spoken);
  PlaReplay replay;
  ok(pla_session_replay(session, NULL, &replay, &err), &err);
  g_assert_cmpint(replay.n_failed, ==, 0);
  g_assert_cmpint(replay.n_differ, ==, 0);
  g_assert_cmpint(replay.n_equal, >=, 2);
  pla_replay_clear(&replay);
  /* what cannot speak is refused in a sentence */
  g_assert_cmpint(apply(session, "speak", "{\"item\": \"head\"}", &err), ==, PLA_ERR_USAGE);
  g_assert_nonnull(strstr(err.message, "sound"));
  g_assert_cmpint(apply(session, "say", "{\"text\": \"x\", \"voice\": \"klingon-4\"}", &err), !=,
                  PLA_OK);
  g_object_unref(session);
}

/* the same words twice as slowly: brought together again; and all of it as a table */
static void
test_compare(void)
{
  PlaSession *session = new_case("compare.platysma");
  PlaError err;
  PlaSpokenPair pair;
  say_and_move(session, "shoe");
  ok(apply(session, "say", "{\"text\": \"shoe\", \"words_per_minute\": 200, \"name\": \"fast\"}",
           &err),
     &err);
  ok(apply(session, "speak", "{\"item\": \"fast\", \"cell_mm\": " CELL "}", &err), &err);
  PlaSpoken *slow = motion_of(session, "shoe, motion"), *fast = motion_of(session, "fast, motion");
  ok(pla_spoken_compare(slow, NULL, fast, NULL, &pair, NULL, &err), &err);
  g_test_message("apart: %.2f mm on average, %.2f at most; pace %.2f", pair.mean_mm, pair.most_mm,
                 pair.pace);
  g_assert_cmpfloat(pair.pace, <, 0.85);
  g_assert_cmpfloat(pair.mean_mm, <, 1.5);
  for (int f = 1; f < pair.n; f++)
    g_assert_cmpint(pair.other[f], >=, pair.other[f - 1]);
  pla_spoken_pair_clear(&pair);
  ok(pla_spoken_compare(slow, NULL, slow, NULL, &pair, NULL, &err), &err);
  g_assert_cmpfloat(pair.most_mm, ==, 0.0);
  pla_spoken_pair_clear(&pair);

  g_autofree char *path = g_build_filename(folder, "speech.csv", NULL);
  g_autofree char *text = NULL;
  ok(pla_spoken_write_csv(slow, path, &err), &err);
  g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
  g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
  g_assert_cmpint((int)g_strv_length(lines), ==, slow->n_frames + 2);
  g_auto(GStrv) head = g_strsplit(lines[0], ",", -1),
                last = g_strsplit(lines[slow->n_frames], ",", -1);
  g_assert_cmpuint(g_strv_length(head), ==, g_strv_length(last));
  g_assert_cmpstr(head[1], ==, "TR_forward_mm");
  g_assert_cmpfloat(fabs(g_ascii_strtod(last[2], NULL) -
                         slow->coil_mm[(slow->n_frames - 1) * 2 * PLA_N_COILS + 1]),
                    <, 1e-3);
  /* a motion that lost an array is refused */
  g_autoptr(PlaContent) broken = pla_content_new(PLA_ITEM_RESULT);
  PlaSpoken *none = NULL;
  json_object_set_object_member(broken->meta, "spoken",
                                json_object_ref(
                                    json_object_get_object_member(slow->content->meta, "spoken")));
  g_assert_cmpint(pla_spoken_new(broken, &none, &err), ==, PLA_ERR_FORMAT);
  pla_spoken_free(slow);
  pla_spoken_free(fast);
  g_object_unref(session);
}

/* muscles of a motion that is kept against those of the track itself, whose axes point back and
 * down */
static void
check_muscles(const PlaSpoken *spoken, const PlaTrack *track)
{
  PlaTongueMotionOptions options = pla_tongue_motion_options_default();
  PlaTongueMotion *motion = NULL;
  PlaTongueMuscles *muscles = NULL;
  PlaTongueActivations found, direct;
  PlaError err;
  bool more;
  options.cell_mm = 8.0;
  options.own_plane = spoken->own_plane;
  ok(pla_spoken_explain(spoken, 8.0, NULL, &found, &err), &err);
  ok(pla_tongue_motion_new(&options, &track, 1, &motion, &err), &err);
  ok(pla_tongue_muscles_from_phantom(pla_tongue_motion_get_tongue(motion), NULL, &muscles, &err),
     &err);
  ok(pla_tongue_activations_init(&direct, muscles, track, &err), &err);
  ok(pla_tongue_motion_start(motion, track, &err), &err);
  double most = 0.0;
  for (int f = 0; f < track->n_samples; f++) {
    ok(pla_tongue_motion_step(motion, &more, &err), &err);
    ok(pla_tongue_activations_explain(&direct, muscles, motion, f, &err), &err);
  }
  g_assert_cmpint(found.track->n_samples, ==, direct.track->n_samples);
  g_assert_cmpint(found.track->n_channels, ==, direct.track->n_channels);
  g_assert_cmpfloat(found.track->rate_hz, ==, spoken->rate_hz);
  g_assert_cmpfloat(found.track->start_s, ==, spoken->start_s);
  for (int i = 0; i < direct.track->n_samples * direct.track->n_channels; i++)
    most = fmax(most, fabs(found.track->value[i] - direct.track->value[i]));
  const PlaTongueMusclesFrame rms = pla_tongue_activations_rms(&found);
  g_test_message("%s: %.2f mm explained to %.2f mm; activations within %.1e of the track's own",
                 spoken->measured ? "recorded" : "predicted", rms.motion_mm, rms.residual_mm, most);
  g_assert_cmpfloat(most, <, 1e-9);
  g_assert_cmpfloat(rms.residual_mm, <, rms.motion_mm);
  pla_tongue_activations_clear(&found);
  pla_tongue_activations_clear(&direct);
  pla_tongue_muscles_free(muscles);
  pla_tongue_motion_free(motion);
}

static void
test_muscles(void)
{
  PlaSession *session = new_case("muscles.platysma");
  PlaTrack *track = NULL;
  PlaTongueActivations none;
  PlaError err;
  say_and_move(session, "key");
  PlaSpoken *spoken = motion_of(session, "key, motion");
  ok(pla_sensor_track_new(spoken->n_frames, &track, &err), &err);
  for (int i = 0; i < spoken->n_frames * PLA_SENSOR_CHANNELS; i++)
    track->value[i] = -spoken->coil_mm[i];
  check_muscles(spoken, track);
  /* the same coils as if they had been recorded: fitted by their means */
  PlaSpoken recorded = *spoken;
  recorded.measured = true;
  recorded.own_plane = false;
  check_muscles(&recorded, track);
  /* who cancels is let go */
  PlaProgress progress;
  pla_progress_init(&progress, NULL, NULL);
  pla_progress_cancel(&progress);
  g_assert_cmpint(pla_spoken_explain(spoken, 8.0, &progress, &none, &err), ==, PLA_ERR_CANCELLED);
  pla_tongue_activations_clear(&none);
  pla_spoken_free(spoken);
  pla_track_free(track);
  g_object_unref(session);
}

/* the former form of phonemes is read as the present one, and what is neither is refused */
static void
test_phonemes(void)
{
  static const char *const forms[] = {
    "{\"phonemes\": [[0, 0.25, \"\"], [0.25, 0.5, \"ɪ\"]]}",
    "{\"phonemes\": [{\"ipa\": \"\", \"from_s\": 0, \"to_s\": 0.25},"
    " {\"ipa\": \"ɪ\", \"from_s\": 0.25, \"to_s\": 0.5}]}",
  };
  PlaPhones phones;
  PlaError err;
  for (gsize i = 0; i < G_N_ELEMENTS(forms); i++) {
    g_autoptr(JsonNode) node = json_from_string(forms[i], NULL);
    JsonObject *meta = json_node_get_object(node);
    g_assert_true(pla_meta_has_phonemes(meta));
    ok(pla_meta_get_phonemes(meta, &phones, &err), &err);
    g_assert_cmpint(phones.n, ==, 2);
    g_assert_cmpstr(phones.phone[1].label, ==, "ɪ");
    g_assert_true(phones.phone[1].start_s == 0.25 && phones.phone[1].end_s == 0.5);
    /* written in one form */
    pla_meta_set_phonemes(meta, &phones);
    g_autofree char *text = json_to_string(node, FALSE);
    g_assert_nonnull(strstr(text, "[0.25,0.5,\"ɪ\"]"));
    pla_phones_clear(&phones);
  }
  static const char *const wrong[] = { "[[0, 1]]", "[{\"ipa\": 3}]", "[\"a\"]",
                                       "[[0, 1, \"a\"], [0.5, 2, \"b\"]]" };
  for (gsize i = 0; i < G_N_ELEMENTS(wrong); i++) {
    g_autoptr(JsonNode) node = json_from_string(wrong[i], NULL);
    g_assert_cmpint(pla_phones_from_json(json_node_get_array(node), &phones, &err), !=, PLA_OK);
  }
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  folder = g_dir_make_tmp("spoken-XXXXXX", NULL);
  g_test_add_func("/spoken/phonemes", test_phonemes);
  g_test_add_func("/spoken/shapes", test_shapes);
  g_test_add_func("/spoken/hashes", test_hashes);
  g_test_add_func("/spoken/compare", test_compare);
  g_test_add_func("/spoken/muscles", test_muscles);
  const int failed = g_test_run();
  for (const char *const *name =
           (const char *[]){ "shapes.platysma", "hashes.platysma", "compare.platysma",
                             "muscles.platysma", "speech.csv", NULL };
       *name; name++) {
    g_autofree char *path = g_build_filename(folder, *name, NULL);
    g_remove(path);
  }
  g_rmdir(folder);
  g_free(folder);
  return failed;
}
