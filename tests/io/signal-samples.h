/* Takes, tracks and small files for the tests of signal formats. */
#pragma once

#include "io/formats/format.h"
#include "tests/io/fuzz.h"

/* Repeatable motion of @n_markers around 0.1 m with some markers missing; @single: every coordinate
 * is a 32-bit number of millimetres. */
PlaTake *pla_test_take(int n_frames, int n_markers, bool single);
PlaTrack *pla_test_track(int n_samples, int n_channels, bool single);

/* Frames, names, rate, start and positions are the same; positions within @max_ulp. */
void pla_test_assert_same_take(const PlaTake *a, const PlaTake *b, int max_ulp);
void pla_test_assert_same_track(const PlaTrack *a, const PlaTrack *b);

/* Writes @item to NAME and reads it back. */
void pla_test_round_trip(const PlaFormat *format, const char *name, const PlaItem *item,
                         const PlaWriteOptions *opts, PlaItem *out);
/* Reads bytes as a file called NAME; must succeed. */
void pla_test_read_bytes(const PlaFormat *format, const char *name, const void *data, size_t size,
                         PlaItem *out);
/* The same must fail with a sentence in which every one of @words stands, the last one NULL. */
void pla_test_refuse_bytes(const PlaFormat *format, const char *name, const void *data, size_t size,
                           const char *const *words);
#define pla_test_refuse_text(format, name, text, ...)                                              \
  pla_test_refuse_bytes(format, name, text, strlen(text),                                          \
                        (const char *const[]){ __VA_ARGS__, NULL })
/* Whether one of the item's notes contains @word. */
bool pla_test_has_note(const PlaItem *item, const char *word);
/* Damages what the writer makes of @item in every way. */
void pla_test_fuzz_item(const PlaFormat *format, const char *extension, const PlaItem *item,
                        const PlaWriteOptions *opts);
