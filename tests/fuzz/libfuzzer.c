/* The way in for libFuzzer, which brings its own main(): PLA_FUZZ names the target. */
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const PlaFuzzTarget *target;

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
  const char *name = getenv("PLA_FUZZ");
  target = name ? pla_fuzz_find(name) : NULL;
  if (target)
    return 0;
  fprintf(stderr, "set PLA_FUZZ to one of:");
  for (const PlaFuzzTarget *t = pla_fuzz_targets; t->name; t++)
    fprintf(stderr, " %s", t->name);
  fprintf(stderr, "\n");
  exit(2);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  pla_fuzz_one(target, data, size, 1);
  return 0;
}
