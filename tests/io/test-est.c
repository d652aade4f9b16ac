/* Edinburgh Speech Tools tracks, text and both byte orders. */
#include "io/formats/formats.h"
#include "tests/io/signal-samples.h"

#include <glib.h>
#include <math.h>
#include <string.h>

#define HEAD "EST_File Track\nDataType ascii\nNumFrames 3\nNumChannels 2\n"
#define REFUSE(text, ...) pla_test_refuse_text(&pla_format_est, "bad.ema", text, __VA_ARGS__)

/* 32-bit values keep their bits in all three kinds of file, the rate comes back, breaks stay */
static void
test_round_trip(void)
{
  for (int kind = 0; kind < 3; kind++) {
    PlaWriteOptions opts = pla_write_options_default();
    opts.text = kind == 1;
    opts.big_endian = kind == 2;
    PlaItem item = { .kind = PLA_KIND_TRACK, .track = pla_test_track(400, 5, true) }, back;
    item.track->start_s = kind * 0.1; /* no 32-bit number holds 0.1 */
    item.track->value[7] = NAN;       /* one channel missing is no break */
    pla_test_round_trip(&pla_format_est, "track.ema", &item, &opts, &back);
    pla_test_assert_same_track(item.track, back.track);
    g_assert_true(back.track->single);
    g_assert_cmpint(back.notes.n, ==, 0);
    pla_item_clear(&item);
    pla_item_clear(&back);
  }
  /* 64-bit values make a file of text */
  PlaItem item = { .kind = PLA_KIND_TRACK, .track = pla_test_track(400, 5, false) }, back;
  pla_test_round_trip(&pla_format_est, "track.ema", &item, NULL, &back);
  pla_test_assert_same_track(item.track, back.track);
  g_assert_false(back.track->single);
  pla_item_clear(&item);
  pla_item_clear(&back);
}

/* no breaks, auxiliary text, no names, times with six decimals */
static void
test_by_hand(void)
{
  const char *text = HEAD "NumAuxChannels 1\nEqualSpace 0\nBreaksPresent false\nCommentChar ;\n\n"
                          "Channel_1 ul_y\nEST_Header_End\n"
                          "0.002000\t1.5 2 a\n0.004000\t-1e-3 nan b\n0.006000\t3 4 c\n";
  PlaItem item;
  pla_test_read_bytes(&pla_format_est, "hand.ema", text, strlen(text), &item);
  g_assert_cmpint(item.track->n_samples, ==, 3);
  g_assert_cmpfloat(item.track->rate_hz, ==, 500.0);
  g_assert_cmpfloat(item.track->start_s, ==, 0.002);
  g_assert_cmpstr(item.track->name[0], ==, "C1");
  g_assert_cmpstr(item.track->name[1], ==, "ul_y");
  g_assert_cmpfloat(item.track->value[0], ==, 1.5);
  g_assert_cmpfloat(item.track->value[2], ==, -1e-3);
  g_assert_true(isnan(item.track->value[3]));
  g_assert_true(pla_test_has_note(&item, "auxiliary"));
  pla_item_clear(&item);
}

static void
test_bad_files(void)
{
#define END "EST_Header_End\n"
  REFUSE("EST_File Wave\n", "line 1", "EST_File Track");
  REFUSE(HEAD, "EST_Header_End");
  REFUSE("EST_File Track\nNumFrames 3\nNumChannels 2\n" END, "DataType");
  REFUSE("EST_File Track\nDataType ascii\nNumFrames 3\n" END, "NumChannels");
  REFUSE("EST_File Track\nDataType ascii\nNumFrames x\n" END, "line 3", "NumFrames");
  REFUSE("EST_File Track\nDataType ascii\nNumFrames 0\nNumChannels 2\n" END, "0 frames");
  REFUSE(HEAD "Channel_2 x\n" END, "line 5", "Channel_2");
  REFUSE(HEAD END "0 1 2\n1 1 2\n", "cut short");
  REFUSE(HEAD END "0 1 2\n1 1 2\n2.0000000000 1 \n", "frame 3 of 3");
  REFUSE(HEAD "Channel_1 tt\n" END "0 1 2\n1 1 zwei\n2 1 2\n", "line 8", "tt", "frame 2", "zwei");
  REFUSE(HEAD END "0 1 2\n1 1 2\n2.5 1 2\n", "frame 3", "even");
  REFUSE("EST_File Track\nDataType binary\nNumFrames 2000000000\nNumChannels 60000\n" END "abcd",
         "cut short");
}

static void
test_damage(void)
{
  for (int kind = 0; kind < 3; kind++) {
    PlaWriteOptions opts = pla_write_options_default();
    opts.text = kind == 1;
    opts.big_endian = kind == 2;
    PlaItem item = { .kind = PLA_KIND_TRACK, .track = pla_test_track(20, 3, true) };
    pla_test_fuzz_item(&pla_format_est, ".ema", &item, &opts);
    pla_item_clear(&item);
  }
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/io/est/round-trip", test_round_trip);
  g_test_add_func("/io/est/by-hand", test_by_hand);
  g_test_add_func("/io/est/bad-files", test_bad_files);
  g_test_add_func("/io/est/damage", test_damage);
  return g_test_run();
}
