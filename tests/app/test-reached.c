/* Work that ran and did not reach what was asked: exit status 1, with its numbers and a sentence.
 */
#include "app/cli/command-reached.h"
#include "app/surgery/surgery-body.h"
#include "tests/app/verb-test.h"

#include <glib/gstdio.h>

/* an arm that no muscle can hold */
static void
test_torque(void)
{
  g_autoptr(JsonObject) light =
      verb_test_run("muscles torque phantom:arm --cell-mm 12 --bend-deg 0", 0);
  g_assert_false(json_object_get_boolean_member(light, "overloaded"));
  g_autoptr(JsonObject) heavy =
      verb_test_run("muscles torque phantom:arm --cell-mm 12 --load-kg 300", 1);
  g_assert_true(json_object_get_boolean_member(heavy, "overloaded"));
  g_assert_cmpuint(json_array_get_length(json_object_get_array_member(heavy, "muscles")), >, 2);
  g_assert_nonnull(strstr(json_object_get_string_member(heavy, "error"), "cannot hold"));
}

/* an operation whose result is kept, and tells that it is none */
static void
test_apply(void)
{
  g_autofree char *folder = g_dir_make_tmp("platysma-reached-XXXXXX", NULL);
  json_object_unref(verb_test_runf(0, "phantom bar --spacing-mm 12.5 -o %s/bar.vtu", folder));
  json_object_unref(verb_test_runf(0, "case new %s/bar.platysma", folder));
  json_object_unref(verb_test_runf(0, "case import %s/bar.platysma %s/bar.vtu", folder, folder));
  const char *params = "\"item\": \"bar\", \"fixed\": [{\"plane\": {\"through_mm\": [0,0,0], "
                       "\"normal\": [1,0,0], \"within_mm\": 0.1}}], \"gravity_m_s2\": [0,0,-9.81]";
  g_autoptr(JsonObject) reached =
      verb_test_runf(0, "case apply %s/bar.platysma simulate '{%s}'", folder, params);
  g_autoptr(JsonObject) given_up = verb_test_runf(
      1,
      "case apply %s/bar.platysma simulate '{%s, \"max_iterations\": 1, \"tolerance_rel\": 1e-12}'",
      folder, params);
  g_assert_cmpint(json_object_get_int_member(given_up, "operation"), ==,
                  json_object_get_int_member(reached, "operation") + 1);
  g_assert_nonnull(strstr(json_object_get_string_member(given_up, "error"), "not in equilibrium"));
  g_autofree char *remove = g_strdup_printf("rm -r '%s'", folder);
  g_assert_cmpint(system(remove), ==, 0);
}

/* the last solve of a surgery counts; steps without one do not */
static void
test_surgery(void)
{
  /* a letter a step: 'y' a solve that converged, 'n' one that did not, '-' another step */
  static const struct {
    const char *steps;
    PlaStatus st;
  } cases[] = { { "", PLA_OK },
                { "-", PLA_OK },
                { "y", PLA_OK },
                { "ny", PLA_OK },
                { "n-y", PLA_OK },
                { "yn", PLA_ERR_CONVERGENCE },
                { "n-", PLA_ERR_CONVERGENCE } };
  for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autoptr(PlaContent) body = pla_content_new(PLA_ITEM_BODY);
    JsonObject *surgery = json_object_new();
    JsonArray *found = json_array_new();
    for (const char *c = cases[i].steps; *c; c++) {
      JsonObject *step = json_object_new();
      if (*c != '-')
        json_object_set_boolean_member(step, "converged", *c == 'y');
      json_array_add_object_element(found, step);
    }
    json_object_set_array_member(surgery, "found", found);
    json_object_set_object_member(body->meta, "surgery", surgery);
    PlaError err = { 0 };
    g_assert_cmpint(pla_content_check_reached("flap", body, &err), ==, cases[i].st);
    if (cases[i].st != PLA_OK)
      g_assert_nonnull(strstr(err.message, "'flap'"));
  }
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/reached/torque", test_torque);
  g_test_add_func("/reached/apply", test_apply);
  g_test_add_func("/reached/surgery", test_surgery);
  return g_test_run();
}
