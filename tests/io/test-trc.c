/* TRC marker files: round trip, a file written by hand, damaged files. */
#include "io/formats/formats.h"
#include "tests/io/signal-samples.h"

#include <glib.h>
#include <math.h>
#include <string.h>

#define KEYS                                                                                       \
  "PathFileType\t4\t(X/Y/Z)\ta.trc\n"                                                              \
  "DataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits\tOrigDataRate\tOrigDataStartFrame\tOrigNumF" \
  "rames\n"
#define NAMES "Frame#\tTime\tLIP\t\t\tJAW\t\t\n\t\tX1\tY1\tZ1\tX2\tY2\tZ2\n\n"
#define REFUSE(text, ...) pla_test_refuse_text(&pla_format_trc, "bad.trc", text, __VA_ARGS__)

static void
test_round_trip(void)
{
  const double units[] = { 1.0, 10.0, 1000.0 };
  for (int single = 0; single < 2; single++)
    for (size_t u = 0; u < G_N_ELEMENTS(units); u++) {
      PlaItem item = { .kind = PLA_KIND_TAKE, .take = pla_test_take(40, 5, single) }, back;
      item.take->unit_mm = units[u];
      item.take->single = single && u == 0;
      item.take->rate_hz = 119.88;
      item.take->start_s = 0.0;
      pla_test_round_trip(&pla_format_trc, "take.trc", &item, NULL, &back);
      pla_test_assert_same_take(item.take, back.take, single && u == 0 ? 0 : 2);
      g_assert_cmpint(back.notes.n, ==, 0);
      pla_item_clear(&item);
      pla_item_clear(&back);
    }
}

/* a hand-made file: metres, CRLF, a marker not seen, a zero that is a place, a frame left out */
static void
test_by_hand(void)
{
  const char *text = "PathFileType\t4\t(X/Y/Z)\ta.trc\r\n"
                     "DataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits\r\n"
                     "100.00\t100.00\t3\t2\tm\r\n"
                     "Frame#\tTime\tLIP\t\t\tLIP\t\t\t\r\n"
                     "\t\tX1\tY1\tZ1\tX2\tY2\tZ2\t\r\n"
                     "\r\n"
                     "11\t0.100\t0.25\t0\t0\t\t\t\t\r\n"
                     "12\t0.110\t0.25\t0\t0\t1\t2\t3\r\n"
                     "14\t0.130\t0\t0\t0\t1\t2\t3\r\n";
  PlaItem item;
  pla_test_read_bytes(&pla_format_trc, "hand.trc", text, strlen(text), &item);
  const PlaTake *take = item.take;
  g_assert_cmpint(take->n_frames, ==, 4);
  g_assert_cmpfloat(take->rate_hz, ==, 100.0);
  g_assert_cmpfloat(take->start_s, ==, 0.1);
  g_assert_cmpfloat(take->pos[0], ==, 0.25);
  g_assert_cmpfloat(take->pos[1], ==, 0.0);
  g_assert_true(isnan(take->pos[3]));
  g_assert_true(isnan(take->pos[12]) && isnan(take->pos[15]));
  g_assert_cmpfloat(take->pos[18], ==, 0.0);
  g_assert_cmpuint(pla_take_n_missing(take), ==, 3);
  g_assert_cmpstr(take->name[1], ==, "LIP#2");
  g_assert_true(pla_test_has_note(&item, "twice"));
  g_assert_true(pla_test_has_note(&item, "left out"));
  pla_item_clear(&item);

  /* the times contradict the header */
  const char *other = KEYS "60\t60\t3\t2\tmm\t60\t1\t3\n" NAMES "1\t0\t1\t2\t3\t4\t5\t6\n"
                           "2\t0.01\t1\t2\t3\t4\t5\t6\n3\t0.02\t1\t2\t3\t4\t5\t6\n";
  pla_test_read_bytes(&pla_format_trc, "rate.trc", other, strlen(other), &item);
  g_assert_cmpfloat(item.take->rate_hz, ==, 100.0);
  g_assert_true(pla_test_has_note(&item, "60 Hz"));
  pla_item_clear(&item);
}

static void
test_bad_files(void)
{
#define VALUES "100\t100\t2\t2\tmm\t100\t1\t2\n"
#define ROW1 "1\t0.00\t1\t2\t3\t4\t5\t6\n"
  REFUSE("PathFile\n", "line 1", "PathFileType");
  REFUSE("PathFileType\t4\n", "header", "line 1");
  REFUSE(KEYS "100\t100\tx\t2\tmm\n", "line 3", "column 3", "NumFrames");
  REFUSE(KEYS "0\t100\t2\t2\tmm\n", "line 3", "DataRate");
  REFUSE(KEYS "100\t100\t2\t2\tparsec\n", "line 3", "column 5", "parsec");
  REFUSE(KEYS "100\t100\t2\t2000000000\tmm\n", "line 3", "NumMarkers");
  REFUSE(KEYS "100\t100\t2\t1\tmm\n" NAMES, "line 4", "column 6", "JAW");
  REFUSE(KEYS VALUES NAMES ROW1, "1 of 2 frames");
  REFUSE(KEYS VALUES NAMES ROW1 "2\t0.01\t1\t2\t3\t4\t5\n", "line 8", "cut short");
  REFUSE(KEYS VALUES NAMES ROW1 "2\t0.01\t1\t2\t3\t4\tNULL\t6\n", "line 8", "column 7",
         "marker JAW, Y", "NULL");
  REFUSE(KEYS VALUES NAMES ROW1 "2\t0.01\t1\t2\t3\t4\t-Inf\t6\n", "line 8", "column 7",
         "marker JAW, Y", "finite");
  REFUSE(KEYS VALUES NAMES ROW1 "2\t0.01\t1\t\t3\t4\t5\t6\n", "line 8", "marker LIP", "missing");
  REFUSE(KEYS VALUES NAMES ROW1 "2\t0.01\t1\t2\t3\t4\t5\t6\t7\n", "line 8", "column 9");
  REFUSE(KEYS VALUES NAMES ROW1 "2\t\t1\t2\t3\t4\t5\t6\n", "line 8", "column 2", "time");
  REFUSE(KEYS VALUES NAMES ROW1 "1\t0.01\t1\t2\t3\t4\t5\t6\n", "line 8", "frame 1");
  REFUSE(KEYS VALUES NAMES ROW1 "1.5\t0.01\t1\t2\t3\t4\t5\t6\n", "line 8", "column 1",
         "frame number");
  REFUSE(KEYS VALUES NAMES ROW1 "2\t0.00\t1\t2\t3\t4\t5\t6\n", "line 8", "time 0 s");
  REFUSE(KEYS "100\t100\t3\t2\tmm\n" NAMES ROW1
              "2\t0.01\t1\t2\t3\t4\t5\t6\n3\t0.05\t1\t2\t3\t4\t5\t6\n",
         "line 9", "even");
}

static void
test_damage(void)
{
  PlaItem item = { .kind = PLA_KIND_TAKE, .take = pla_test_take(10, 3, true) };
  pla_test_fuzz_item(&pla_format_trc, ".trc", &item, NULL);
  pla_item_clear(&item);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/io/trc/round-trip", test_round_trip);
  g_test_add_func("/io/trc/by-hand", test_by_hand);
  g_test_add_func("/io/trc/bad-files", test_bad_files);
  g_test_add_func("/io/trc/damage", test_damage);
  return g_test_run();
}
