/* Limbs: moment arms against the principle of virtual work, heavier loads, other joints from JSON.
 */
#include "app/motion/active-item.h"
#include "app/motion/limb-json.h"

#include <math.h>
#include <string.h>

static PlaActiveBody *body;

static void
balance(double bend_deg, double kg, PlaLimbMuscle *muscle, PlaLimbReport *report)
{
  PlaLimb limb;
  PlaError err = { 0 };
  g_assert_cmpint(pla_limb_arm(body, bend_deg, kg, &limb, &err), ==, PLA_OK);
  if (pla_limb_balance(body, &limb, muscle, report, &err) != PLA_OK)
    g_error("%s", err.message);
  pla_limb_clear(&limb);
}

static int
find(const char *name)
{
  for (int m = 0; m < body->muscles.list.n; m++)
    if (g_str_has_prefix(body->muscles.list.muscle[m].name, name))
      return m;
  g_assert_not_reached();
}

/* what a muscle shortens for a small turn is its moment arm; flexors and extensor have their signs,
 * and their sizes are those of an elbow, whose streamlines here end where the muscles reach the
 * bones */
static void
test_virtual_work(void)
{
  enum { MOST = 8 };
  const double h = 0.05; /* deg */
  PlaLimbMuscle at[MOST], more[MOST], less[MOST];
  PlaLimbReport report;
  g_assert_cmpint(body->muscles.list.n, <=, MOST);
  const int biceps = find("biceps"), brachialis = find("brachialis"), triceps = find("triceps");
  for (double deg = 20.0; deg <= 140.0; deg += 20.0) {
    balance(deg, 1.0, at, &report);
    balance(deg + h, 1.0, more, &report);
    balance(deg - h, 1.0, less, &report);
    const int which[] = { biceps, brachialis, triceps };
    for (int k = 0; k < 3; k++) {
      const int m = which[k];
      /* lengths are relative to those at rest, 190 to 360 mm for biceps and triceps */
      const double slope = -(more[m].length - less[m].length) / (2.0 * h * (G_PI / 180.0));
      const double rest = at[m].arm_m[0] / slope;
      g_test_message("  %s: arm %.1f mm, shortens as one of a line of %.0f mm",
                     body->muscles.list.muscle[m].name, 1e3 * at[m].arm_m[0], 1e3 * rest);
      g_assert_cmpfloat(rest, >, 0.05);
      g_assert_cmpfloat(rest, <, 0.5);
    }
    g_test_message("%.0f deg: biceps %.1f, brachialis %.1f, triceps %.1f mm", deg,
                   1e3 * at[biceps].arm_m[0], 1e3 * at[brachialis].arm_m[0],
                   1e3 * at[triceps].arm_m[0]);
    g_assert_cmpfloat(at[biceps].arm_m[0], >, 0.0);
    g_assert_cmpfloat(at[triceps].arm_m[0], <, 0.0);
  }
  balance(60.0, 1.0, at, &report);
  g_assert_cmpfloat(at[biceps].arm_m[0], >, 0.015);
  g_assert_cmpfloat(at[biceps].arm_m[0], <, 0.06);
  g_assert_cmpfloat(at[triceps].arm_m[0], <, -0.015);
}

/* torques balance, heavier is harder, the hanging arm needs nothing, and the extensor rests */
static void
test_loads(void)
{
  PlaLimbMuscle muscle[8];
  PlaLimbReport report;
  const int biceps = find("biceps"), triceps = find("triceps");
  double before = -1.0;
  for (double kg = 0.0; kg <= 8.0; kg += 2.0) {
    balance(90.0, kg, muscle, &report);
    /* 1.65 kg at 145 mm, the load at 312 mm, level with the elbow */
    g_assert_cmpfloat_with_epsilon(report.load_nm[0], -9.81 * (1.65 * 0.145 + kg * 0.312), 1e-9);
    g_assert_cmpfloat(report.balance.residual_nm, <, 1e-5);
    g_assert_cmpint(report.balance.rounds, <=, 5);
    g_assert_cmpfloat(muscle[biceps].activation, >, before);
    g_assert_cmpfloat(muscle[triceps].activation, ==, 0.0);
    before = muscle[biceps].activation;
    double sum = report.load_nm[0];
    for (int m = 0; m < body->muscles.list.n; m++)
      sum += muscle[m].torque_nm[0];
    g_assert_cmpfloat(fabs(sum), <, 1e-5);
  }
  balance(0.0, 5.0, muscle, &report);
  g_assert_cmpfloat(fabs(report.load_nm[0]), <, 1e-9);
  g_assert_cmpfloat(muscle[biceps].activation, <, 0.02);
}

static PlaStatus
read_text(const char *text, PlaLimb *limb, PlaError *err)
{
  PlaJsonFile *file;
  PlaJson root;
  g_assert_cmpint(pla_json_text_load(text, "limb.json", &file, &root, err), ==, PLA_OK);
  const PlaStatus st = pla_limb_from_json(root, body, limb, err);
  pla_json_file_free(file);
  return st;
}

/* the same elbow from JSON; what is wrong in it is named */
static void
test_json(void)
{
  static const char good[] =
      "{\"joints\": [{\"name\": \"elbow\", \"from_mm\": [-30, 1, 0], \"to_mm\": [30, 1, 0],"
      " \"moves\": [\"radius\", \"ulna\"], \"angle_deg\": 90}],"
      " \"loads\": [{\"bone\": \"ulna\", \"at_mm\": [0, 1, -145], \"kg\": 1.65},"
      " {\"bone\": \"radius\", \"at_mm\": [0, 1, -312], \"force_n\": [0, 0, -19.62]}]}";
  PlaLimb limb;
  PlaLimbMuscle own[8], read[8];
  PlaLimbReport report;
  PlaError err = { 0 };
  g_assert_cmpint(read_text(good, &limb, &err), ==, PLA_OK);
  g_assert_cmpint(pla_limb_balance(body, &limb, read, &report, &err), ==, PLA_OK);
  pla_limb_clear(&limb);
  balance(90.0, 2.0, own, &report);
  for (int m = 0; m < body->muscles.list.n; m++)
    g_assert_cmpfloat_with_epsilon(own[m].activation, read[m].activation, 1e-9);

  static const struct {
    const char *from, *to, *named;
  } faults[] = {
    { "\"radius\", \"ulna\"", "\"femur\"", "moves[0]" },
    { "\"kg\": 1.65", "\"kilo\": 1.65", "kilo" },
    { "\"to_mm\": [30, 1, 0]", "\"to_mm\": [-30, 1, 0]", "axis" },
    { "\"at_mm\": [0, 1, -145], ", "", "at_mm" },
    { "\"kg\": 1.65", "\"kg\": 1.65, \"force_n\": [0, 0, 1]", "kg" },
  };
  for (size_t i = 0; i < G_N_ELEMENTS(faults); i++) {
    g_auto(GStrv) parts = g_strsplit(good, faults[i].from, 2);
    g_autofree char *text = g_strconcat(parts[0], faults[i].to, parts[1], NULL);
    g_assert_cmpint(read_text(text, &limb, &err), ==, PLA_ERR_USAGE);
    if (!strstr(err.message, faults[i].named))
      g_error("'%s' does not name %s", err.message, faults[i].named);
  }
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  const PlaActiveBodyOptions opts = { .cell_mm = 20.0 };
  PlaError err = { 0 };
  if (pla_active_body_from_phantom("arm", &opts, NULL, &body, &err) != PLA_OK)
    g_error("%s", err.message);
  g_test_add_func("/limb/virtual-work", test_virtual_work);
  g_test_add_func("/limb/loads", test_loads);
  g_test_add_func("/limb/json", test_json);
  const int status = g_test_run();
  pla_active_body_free(body);
  return status;
}
