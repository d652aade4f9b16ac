/* XML property lists, flattened: the value of key "shape" inside key "matrix", third entry of the
 * array, is the text at "matrix/shape/2". */
#pragma once

#include "anatomy/base/status.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct {
  char *path; /* owned; keys and array indices joined by '/' */
  char *text; /* owned; "true" and "false" for booleans */
} PlaPlistEntry;

typedef struct {
  int n;
  PlaPlistEntry *entry; /* in the order of the file */
} PlaPlist;

/* @name stands for the file in sentences.  On failure *out is empty. */
PlaStatus pla_plist_parse(const char *name, const void *data, size_t size, PlaPlist *out,
                          PlaError *err);
void pla_plist_clear(PlaPlist *self);

const char *pla_plist_text(const PlaPlist *self, const char *path); /* or NULL */
/* false when there is no such value or it is no (finite, whole) number. */
bool pla_plist_double(const PlaPlist *self, const char *path, double *out);
bool pla_plist_int(const PlaPlist *self, const char *path, int *out);
