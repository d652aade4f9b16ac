/* Values of a verb's parameters have the domain that the definition gives them; what panels say of
 * parameters is part of that domain; metadata reads as plain values, whatever is in it. */
#include "app/base/json.h"
#include "app/content/made.h"
#include "app/motion/fit-facts.h"
#include "app/speech/speech-facts.h"
#include "app/surgery/surgery-facts.h"
#include "app/verbs/verb-lists.h"

#include <math.h>
#include <string.h>

/* ---- values ---- */

static void
on_changed(PlaVerbValues *values, const char *name, int *count)
{
  (*count)++;
}

static void
test_values(void)
{
  g_autoptr(PlaVerbValues) values = pla_verb_values_new("mesh");
  int cell = 0, any = 0;
  g_signal_connect(values, "changed::cell_mm", G_CALLBACK(on_changed), &cell);
  g_signal_connect(values, "changed", G_CALLBACK(on_changed), &any);
  /* what is not set is the default, or nothing */
  g_assert_true(isnan(pla_verb_values_get_number(values, "cell_mm")));
  g_assert_cmpint(pla_verb_values_get_int(values, "levels"), ==, 3);
  g_assert_false(pla_verb_values_get_bool(values, "separate"));
  g_assert_null(pla_verb_values_get_text(values, "method"));
  /* a panel begins where the definition says, once */
  pla_verb_values_begin(values, "cell_mm");
  g_assert_cmpfloat(pla_verb_values_get_number(values, "cell_mm"), ==, 4.0);
  pla_verb_values_set_number(values, "cell_mm", 6.0);
  pla_verb_values_begin(values, "cell_mm");
  g_assert_cmpfloat(pla_verb_values_get_number(values, "cell_mm"), ==, 6.0);
  /* kept in range, and told once a change */
  pla_verb_values_set_number(values, "cell_mm", 1e9);
  pla_verb_values_set_number(values, "cell_mm", 1000.0);
  g_assert_cmpfloat(pla_verb_values_get_number(values, "cell_mm"), ==, 1000.0);
  g_assert_cmpint(cell, ==, 3);
  pla_verb_values_set_int(values, "levels", 3);
  g_assert_cmpint(any, ==, 3);
  g_assert_cmpstr(pla_verb_values_get_unit(values, "cell_mm"), ==, "mm");
  const PlaParamDomain domain = pla_verb_values_get_domain(values, "cell_mm");
  g_assert_cmpfloat(domain.low, ==, 0.5);
  g_assert_cmpfloat(domain.high, ==, 50.0);
}

static void
test_choices(void)
{
  g_autoptr(PlaVerbValues) values = pla_verb_values_new("simulate");
  PlaParamChoice choice;
  g_assert_true(pla_verb_values_get_choice(values, "gravity_m_s2", &choice));
  g_assert_cmpstr(choice.title, ==, "None");
  pla_verb_values_set_point(values, "gravity_m_s2", (const double[]){ 0.0, 0.0, -9.81 });
  g_assert_true(pla_verb_values_get_choice(values, "gravity_m_s2", &choice));
  g_assert_cmpstr(choice.title, ==, "Upright");
  pla_verb_values_set_point(values, "gravity_m_s2", (const double[]){ 0.0, 1.0, 0.0 });
  g_assert_false(pla_verb_values_get_choice(values, "gravity_m_s2", &choice));
}

/* a request passes the check of the verb, and a copy does not follow */
static void
test_request(void)
{
  g_autoptr(PlaVerbValues) values = pla_verb_values_new("simulate");
  const double at[] = { 1.0, 2.0, 3.0 }, way[] = { 0.0, 0.0, 4.0 };
  pla_verb_values_set_text(values, "item", "mesh");
  pla_verb_values_set_int(values, "steps", 5);
  pla_simulate_add_material(values, 2, "skin", "typical");
  pla_simulate_hold_near(values, at, 8.0);
  pla_simulate_hold_label(values, "tissues", 3, 1.5);
  pla_simulate_hold_plane(values, at, way, 0.2);
  pla_simulate_add_hook(values, at, way, 4.0);
  pla_simulate_add_load(values, at, 8.0, way);
  g_autoptr(PlaVerbValues) copy = pla_verb_values_dup(values);
  pla_verb_values_clear_list(values, "hooks");
  pla_simulate_hold_near(values, at, 9.0);
  const PlaRequest request = pla_verb_values_get_request(copy);
  g_autoptr(JsonObject) full = NULL;
  PlaError err;
  g_assert_cmpint(pla_verb_check(pla_verb_find(request.verb), request.params, &full, &err), ==,
                  PLA_OK);
  g_assert_cmpint(json_array_get_length(json_object_get_array_member(full, "fixed")), ==, 3);
  g_assert_cmpint(json_array_get_length(json_object_get_array_member(full, "hooks")), ==, 1);
  g_assert_cmpint(json_object_get_int_member(full, "steps"), ==, 5);
  const PlaRequest later = pla_verb_values_get_request(values);
  g_assert_cmpint(json_array_get_length(json_object_get_array_member(later.params, "fixed")), ==,
                  4);
}

/* a step of a plan says what a plan in a file says */
static void
test_steps(void)
{
  g_autoptr(PlaVerbValues) values = pla_verb_values_new("operate");
  g_autoptr(PlaToolStep) step = pla_tool_step_new("incise");
  pla_tool_step_set_text(step, "name", "flap");
  pla_tool_step_set_path(step, (const double[]){ 0, 0, 0, 1, 0, 0 }, 2);
  pla_tool_step_set_number(step, "depth_mm", 5.0);
  pla_operate_add_step(values, step);
  pla_tool_step_remove(step, "depth_mm"); /* what was added stays */
  const PlaRequest request = pla_verb_values_get_request(values);
  g_autofree char *text = pla_json_canonical(request.params);
  g_assert_cmpstr(text, ==,
                  "{\"steps\":[{\"incise\":{\"depth_mm\":5.0,\"name\":\"flap\","
                  "\"path_mm\":[[0.0,0.0,0.0],[1.0,0.0,0.0]]}}]}");
}

/* ---- definitions ---- */

static void
check_number(const PlaVerb *verb, const PlaVerbParam *param)
{
  g_autoptr(PlaVerbValues) values = pla_verb_values_new(verb->name);
  const PlaParamDomain domain = pla_verb_values_get_domain(values, param->name);
  const bool limited = param->min != 0.0 || param->max != 0.0;
  pla_verb_values_begin(values, param->name);
  const double value = pla_verb_values_get_number(values, param->name);
  if (!param->panel.spoken || !(domain.low < domain.high) || !(domain.step > 0.0) ||
      !(domain.page >= domain.step) || !(value >= domain.low && value <= domain.high) ||
      (limited && (domain.low < param->min || domain.high > param->max)))
    g_error("\"%s\" of '%s': what the panel offers is not in the definition's range", param->name,
            verb->name);
}

static void
check_choices(const PlaVerb *verb, const PlaVerbParam *param)
{
  g_autoptr(PlaVerbValues) values = pla_verb_values_new(verb->name);
  PlaParamChoice choice, chosen;
  pla_verb_values_begin(values, param->name);
  if (!pla_verb_values_get_choice(values, param->name, &chosen))
    g_error("\"%s\" of '%s' begins with none of its choices", param->name, verb->name);
  for (int i = 0; param->panel.choice(i, &choice); i++) {
    pla_verb_values_choose(values, param->name, choice.value);
    g_assert_true(pla_verb_values_get_choice(values, param->name, &chosen));
    g_assert_cmpstr(chosen.value, ==, choice.value);
    g_assert_true(choice.title && *choice.title);
  }
}

/* every parameter that a panel shows has a mnemonic, a name and a sound domain */
static void
test_definitions(void)
{
  int n = 0;
  for (const PlaVerb *const *verb = pla_verbs_get(); *verb; verb++)
    for (const PlaVerbParam *param = (*verb)->params; param->name; param++) {
      if (!param->panel.title)
        continue;
      n++;
      g_assert_nonnull(strchr(param->panel.title, '_'));
      g_assert_true(param->help && *param->help);
      if (param->panel.choice)
        check_choices(*verb, param);
      else if (param->type == PLA_PARAM_NUMBER || param->type == PLA_PARAM_INT)
        check_number(*verb, param);
      else if (param->type == PLA_PARAM_BOOL)
        g_assert_nonnull(param->panel.spoken);
      else
        g_assert_cmpint(param->type, ==, PLA_PARAM_TEXT);
    }
  g_assert_cmpint(n, >, 15);
}

/* ---- readers ---- */

static PlaContent *
content_new(const char *kind, const char *meta)
{
  PlaContent *content = pla_content_new(kind);
  g_autoptr(JsonNode) node = pla_json_literal(meta);
  json_object_unref(content->meta);
  content->meta = json_node_dup_object(node);
  return content;
}

static void
test_made(void)
{
  g_autoptr(PlaContent) shape =
      content_new(PLA_ITEM_MESH,
                  "{\"simulated\": {\"mesh\": \"head\", \"converged\": true, \"inverted\": 2, "
                  "\"residual_rel\": 1e-6, \"hook_force_n\": [1, 2.5]}}");
  PlaSimulated found;
  g_assert_cmpstr(pla_content_get_made(shape).simulated, ==, "head");
  g_assert_true(pla_simulated_read(shape, &found));
  g_assert_true(found.converged);
  g_assert_cmpint(found.inverted, ==, 2);
  g_assert_cmpint(found.worst_element, ==, -1);
  g_assert_cmpint(found.n_hooks, ==, 2);
  g_assert_cmpfloat(found.hook_force_n[1], ==, 2.5);
  pla_simulated_clear(&found);
  /* what another program wrote */
  g_autoptr(PlaContent) odd =
      content_new(PLA_ITEM_MESH,
                  "{\"simulated\": 3, \"compared\": [], \"mesh\": 1, \"notes\": [1, \"a\"]}");
  const PlaMade made = pla_content_get_made(odd);
  PlaNotes notes = { 0 };
  pla_content_get_notes(odd, &notes);
  g_assert_null(made.simulated);
  g_assert_null(made.compared);
  g_assert_cmpstr(made.mesh, ==, "");
  g_assert_cmpint(notes.n, ==, 1);
  g_assert_false(pla_simulated_read(odd, &found));
  pla_notes_clear(&notes);
}

static void
test_surgery_facts(void)
{
  g_autoptr(PlaContent) body = content_new(
      PLA_ITEM_BODY,
      "{\"surgery\": {\"lattice_mm\": 3, \"wounds\": [{\"name\": \"cut\"}, 4], "
      "\"tissues\": [\"skin\", 1], \"readings\": {\"stitches\": 2, \"edge_gap_mm\": 0.5}, "
      "\"steps\": [{\"incise\": {\"name\": \"cut\", \"depth_mm\": 5}}, {\"solve\": {}}, 7], "
      "\"found\": [{}, {\"converged\": true, \"residual_rel\": 1e-7}]}}");
  g_autoptr(PlaSurgeryFacts) facts = pla_surgery_facts_new(body);
  g_assert_cmpfloat(facts->lattice_mm, ==, 3.0);
  g_assert_cmpint(facts->wounds->len, ==, 2);
  g_assert_cmpint(facts->tissues->len, ==, 1);
  g_assert_cmpint(facts->readings.stitches, ==, 2);
  g_assert_true(isnan(facts->readings.tip_gap_mm));
  g_assert_true(facts->settled);
  g_assert_cmpint(facts->done->len, ==, 3);
  const PlaSurgeryDone *done = (const PlaSurgeryDone *)(gpointer)facts->done->data;
  g_assert_cmpstr(done[0].tool, ==, "incise");
  g_assert_cmpstr(done[0].name, ==, "cut");
  g_assert_cmpfloat(done[0].depth_mm, ==, 5.0);
  g_assert_false(done[0].solved);
  g_assert_true(done[1].solved && done[1].converged);
  g_assert_cmpstr(done[2].tool, ==, "?");
  g_autoptr(PlaContent) none = content_new(PLA_ITEM_BODY, "{}");
  g_assert_null(pla_surgery_facts_new(none));
}

static void
test_motion_facts(void)
{
  g_autoptr(PlaContent) track =
      content_new(PLA_ITEM_TRACK,
                  "{\"fit\": {\"rms_mm\": 0.5, \"outliers\": 3, \"notes\": [\"odd\"], "
                  "\"muscles\": [{\"name\": \"a\", \"expected_error\": 0.1, "
                  "\"identifiable\": true}, {\"name\": \"b\", \"expected_error\": 0.4}]}}");
  g_autoptr(PlaFitFacts) fit = pla_fit_facts_new(track);
  g_assert_cmpint(fit->outliers, ==, 3);
  g_assert_cmpint(fit->n_muscles, ==, 2);
  g_assert_cmpstr(fit->muscle[0].name, ==, "b"); /* the worst first */
  g_assert_true(fit->muscle[1].identifiable);
  g_autoptr(PlaContent) sound =
      content_new(PLA_ITEM_AUDIO,
                  "{\"phonemes\": [{\"ipa\": \"s\", \"from_s\": 0.1, \"to_s\": 0.2}]}");
  PlaPhones phones = { 0 };
  PlaError err;
  g_assert_true(pla_sound_has_phonemes(sound));
  g_assert_cmpint(pla_sound_get_phonemes(sound, &phones, &err), ==, PLA_OK);
  g_assert_cmpint(phones.n, ==, 1);
  g_assert_cmpstr(phones.phone[0].label, ==, "s");
  pla_phones_clear(&phones);
  g_assert_true(pla_spoken_meta_is_of("{\"spoken\": {\"source\": \"word\"}}", "word"));
  g_assert_false(pla_spoken_meta_is_of("{\"spoken\": []}", "word"));
  g_assert_false(pla_spoken_meta_is_of("no JSON", "word"));
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/values/domain", test_values);
  g_test_add_func("/values/choices", test_choices);
  g_test_add_func("/values/request", test_request);
  g_test_add_func("/values/steps", test_steps);
  g_test_add_func("/values/definitions", test_definitions);
  g_test_add_func("/readers/made", test_made);
  g_test_add_func("/readers/surgery", test_surgery_facts);
  g_test_add_func("/readers/motion", test_motion_facts);
  return g_test_run();
}
