/* Fuzz targets: everything that reads bytes from outside, as functions of those bytes.
 *
 * A target passes when the reader neither crashes, hangs, leaks nor touches memory that is not its
 * own (sanitizers see to that), and when a refusal comes with a sentence.  tests/fuzz/README.md
 * tells how to run one. */
#pragma once

#include "io/formats/format.h"

#include <stddef.h>
#include <stdint.h>

typedef struct {
  const char *name; /* also of its folder of seeds, tests/fuzz/corpus/NAME */
  void (*run)(const uint8_t *data, size_t size);
} PlaFuzzTarget;

/* Ends with a NULL name; one list a program. */
extern const PlaFuzzTarget pla_fuzz_targets[];

/* Where a target stops: it names what is wrong and aborts. */
_Noreturn void pla_fuzz_fault(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* A refusal has its status and a sentence; so has nothing else. */
void pla_fuzz_check(PlaStatus st, const PlaError *err);

/* ---- what targets are made of ---- */

/* A folder in memory for this process, removed at exit; a path in it, valid until the next call. */
const char *pla_fuzz_dir(void);
const char *pla_fuzz_path(const char *name);
/* Writes a file there; returns its path as above. */
const char *pla_fuzz_write(const char *name, const void *data, size_t size);
void pla_fuzz_empty(const char *name); /* makes a folder there, or empties it */

/* Inputs that stand for several files hold them one after the other with PLA_FUZZ_CUT between.
 * Takes the next part off the front of @data; false when there is none left. */
#define PLA_FUZZ_CUT "\n====\n"
bool pla_fuzz_part(const uint8_t **data, size_t *size, const uint8_t **part, size_t *n);

/* Looks at every byte that @item says it has, and that it refers to nothing it does not have. */
void pla_fuzz_look_at(const PlaItem *item);
/* The same of @size bytes. */
void pla_fuzz_look_at_bytes(const void *data, size_t size);
void pla_fuzz_look_at_mesh(const PlaMesh *mesh);
void pla_fuzz_look_at_volume(const PlaVolume *volume);

/* In place of io/stream/helper-process.c: decoders run in this process, where coverage and
 * sanitizers see them.  With a reply, they do not run: a hostile helper sends these bytes instead.
 * NULL: back. */
void pla_fuzz_helper_reply(const void *data, size_t size);

/* ---- one input ---- */

/* Runs @target on the input; then again with an allocation or a read of a file that fails, at most
 * @troubles times, each time another one. */
void pla_fuzz_one(const PlaFuzzTarget *target, const uint8_t *data, size_t size, int troubles);
/* A number that depends on all bytes of the input, for choices that are none of the reader's. */
uint64_t pla_fuzz_choice(void);
/* Whether something fails in this run, so that a refusal says nothing about the input. */
bool pla_fuzz_is_troubled(void);
const PlaFuzzTarget *pla_fuzz_find(const char *name); /* or NULL */
