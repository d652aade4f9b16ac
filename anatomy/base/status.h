/* Status codes and one-sentence errors.
 *
 * Functions that can fail because of outside input return PlaStatus and, when the caller gives a
 * PlaError, leave in it one sentence a clinician can read: what, which file, where in it, what to
 * do.  Mistakes of our own are asserts. */
#pragma once

#include <stdarg.h>

typedef enum {
  PLA_OK = 0,
  PLA_ERR_USAGE,       /* the caller asked for something that makes no sense */
  PLA_ERR_IO,          /* the system refused to read or write */
  PLA_ERR_FORMAT,      /* the file is damaged or not what it claims to be */
  PLA_ERR_UNSUPPORTED, /* a valid file or request that Platysma does not handle */
  PLA_ERR_GEOMETRY,    /* inverted, empty, open or otherwise unusable shape */
  PLA_ERR_MEMORY,      /* not enough memory, or a size that cannot be */
  PLA_ERR_EMPTY,       /* the work ran, and there was nothing to find */
  PLA_ERR_CONVERGENCE, /* the work ran, and did not reach what was asked */
  PLA_ERR_CANCELLED,   /* the user asked to stop */
} PlaStatus;

typedef struct {
  PlaStatus status;
  char message[1024]; /* UTF-8, one sentence, no newline */
} PlaError;

/* Fills @err (NULL is fine) and returns @status, so that `return pla_fail(...)` reads well.
 * Control characters and bytes that are no UTF-8 become '?' in the formatted text; an over-long one
 * is cut at a character. */
PlaStatus pla_fail(PlaError *err, PlaStatus status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
PlaStatus pla_fail_v(PlaError *err, PlaStatus status, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));

/* Puts "PREFIX: " before the sentence already in @err; returns err's status, or PLA_ERR_IO where
 * @err is NULL. */
PlaStatus pla_fail_within(PlaError *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Same as pla_fail() with PLA_ERR_MEMORY and the standard sentence. */
PlaStatus pla_fail_memory(PlaError *err, const char *what);

void pla_error_clear(PlaError *err); /* NULL is fine */

/* A list of sentences that are no errors: what a reader repaired, assumed or left out. */
typedef struct {
  int n;
  char **text; /* n owned strings */
} PlaNotes;

/* Appends one sentence; silently drops it when memory is short or @notes is NULL. */
void pla_notes_add(PlaNotes *notes, const char *format, ...) __attribute__((format(printf, 2, 3)));
void pla_notes_clear(PlaNotes *notes);
