/* Files read through a window: text and binary parsers that never hold the whole file.
 *
 * The window moves forward as the parser goes, so a reader's memory is what it decodes plus a
 * quarter of a megabyte.  Text functions know the line they are at, binary ones the byte.  A read
 * that the system refuses, or that the user cancels, looks like the end of the file; the sentence
 * made by pla_reader_fail_line() or _byte() then tells the real reason. */
#pragma once

#include "anatomy/base/dtype.h"
#include "anatomy/base/memory.h"
#include "anatomy/base/progress.h"
#include "anatomy/base/status.h"

#include <stdbool.h>
#include <stdint.h>

/* the longest stretch pla_reader_fill() can promise, bytes */
#define PLA_READER_FILL 65536
/* the longest word, bytes; longer ones are cut in two, which no grammar accepts */
#define PLA_READER_WORD 4096

typedef struct {
  const uint8_t *at, *end; /* the unread part of the window */
  uint64_t size;           /* of the whole file, bytes */
  int64_t line;            /* 1-based; right while only text functions are used */
  const char *path;        /* borrowed, for sentences */
  /* private */
  int fd; /* -1: memory */
  uint8_t *window;
  uint64_t window_end; /* file offset of `end` */
  PlaProgress *progress;
  bool cancelled;
  int why; /* errno of a refused read */
} PlaReader;

/* @path is borrowed and must outlive the reader. */
PlaStatus pla_reader_open(PlaReader *self, const char *path, PlaProgress *progress, PlaError *err);
/* Reads @size bytes of memory, borrowed; @name stands for the path in sentences. */
void pla_reader_open_memory(PlaReader *self, const char *name, const void *data, size_t size);
/* A second reader of the same file, at its start, that shows no progress. */
PlaStatus pla_reader_clone(const PlaReader *self, PlaReader *out, PlaError *err);
void pla_reader_close(PlaReader *self); /* a zeroed or closed reader is fine */

uint64_t pla_reader_tell(const PlaReader *self);
uint64_t pla_reader_left(const PlaReader *self); /* bytes to the end of the file */
/* Goes to byte @offset (at most the size), which is on line @line. */
void pla_reader_seek(PlaReader *self, uint64_t offset, int64_t line);

/* Bytes ready at `at`: at least @want (<= PLA_READER_FILL) unless the file ends before. */
size_t pla_reader_fill(PlaReader *self, size_t want);
/* Copies @size bytes; false when the file ends before. */
bool pla_reader_read(PlaReader *self, void *out, size_t size);
bool pla_reader_skip(PlaReader *self, uint64_t size);

/* Text.  Words and lines stay valid until the next call. */
bool pla_reader_at_end(PlaReader *self); /* only blanks and newlines are left */
bool pla_reader_word(PlaReader *self, const char **word, size_t *len);
bool pla_reader_word_on_line(PlaReader *self, const char **word, size_t *len); /* not past '\n' */
/* One line without its end; false for none left and for one of PLA_READER_WORD bytes or more. */
bool pla_reader_line(PlaReader *self, const char **text, size_t *len);
void pla_reader_skip_line(PlaReader *self); /* of any length */
/* Moves to the next @stop; false, at the end, when there is none. */
bool pla_reader_find(PlaReader *self, char stop);
/* Moves behind the next @mark, likewise. */
bool pla_reader_skip_past(PlaReader *self, const char *mark);
/* Numbers, past newlines; false when the next word is none. */
bool pla_reader_double(PlaReader *self, double *out);
bool pla_reader_int64(PlaReader *self, int64_t *out);
bool pla_reader_int(PlaReader *self, int *out);
/* One number of type @dtype within its range; a '<' may follow it. */
bool pla_reader_number(PlaReader *self, PlaDType dtype, void *out);
/* Appends @n numbers of type @dtype to @out, which grows as they arrive.
 * PLA_ERR_FORMAT with the line when one is missing, no number or out of its type's range;
 * @what names the array in the sentence. */
PlaStatus pla_reader_numbers(PlaReader *self, PlaDType dtype, uint64_t n, const char *what,
                             PlaBytes *out, PlaError *err);
/* The same from bytes in the file's order; @swap reverses each element.  The count is checked
 * against what is left of the file first. */
PlaStatus pla_reader_elements(PlaReader *self, PlaDType dtype, uint64_t n, bool swap,
                              const char *what, PlaBytes *out, PlaError *err);

/* "PATH, line N: ..." / "PATH, byte N: ..." with PLA_ERR_FORMAT, or the sentence of the refused
 * read or the cancel that caused it. */
PlaStatus pla_reader_fail_line(const PlaReader *self, PlaError *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
PlaStatus pla_reader_fail_byte(const PlaReader *self, PlaError *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
