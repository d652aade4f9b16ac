/* Hostile files for every reader: truncation at every byte and random mutations.
 *
 * A reader passes when it neither crashes, hangs nor leaks (the sanitizers see to that), when a
 * refusal comes with a sentence, and when its peak memory keeps to the limits: 2.2 x the decoded
 * payload + 64 MiB where it accepts, 4 x the file + 64 MiB where it refuses.  Memory is counted
 * only in builds without sanitizers, which replace malloc themselves. */
#pragma once

#include "io/formats/format.h"

#include <stddef.h>
#include <stdint.h>

typedef struct {
  const PlaFormat *format;
  const char *extension; /* of the file to write, with dot */
  const char *companion; /* path of a second file that must lie beside it (copied), or NULL */
  int n_mutations;       /* 0: PLA_FUZZ_MUTATIONS from the environment, else 400 */
  int one_of;      /* runs of this format that share the long count; 0: this is the only one */
  int dense_bytes; /* cut at every byte up to here, then in strides; 0: 1024 */
  int truncation_stride; /* 0: every byte up to 4 KiB of file, then a prime stride; env long: 1 */
} PlaFuzz;

/* Reads @size bytes of a valid file in every damaged form; g_asserts on a violation.  @data is the
 * intact file, which must read. */
void pla_fuzz_run(const PlaFuzz *fuzz, const uint8_t *data, size_t size);

/* A private folder for this test program, removed at exit. */
const char *pla_test_dir(void);
char *pla_test_path(const char *name); /* g_free() */

/* Peak of bytes allocated since the last reset; 0 where sanitizers own malloc. */
void pla_peak_reset(void);
size_t pla_peak_get(void);

/* Reads a file that must be fine; stops the test with the sentence when it is not.  @opts NULL:
 * the default. */
PlaItem pla_test_item_read(const char *path, const PlaReadOptions *opts);

/* Repeatable random numbers. */
uint64_t pla_test_random(uint64_t *state);
