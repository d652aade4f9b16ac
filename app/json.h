/* Reading JSON strictly: every failure names the place ("materials[1].young_pa") and what is wrong. */
#pragma once

#include "anatomy/base/status.h"

#include <json-glib/json-glib.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct PlaJsonFile PlaJsonFile;

/* One value and where it stands. */
typedef struct {
  JsonNode *node;
  char path[160]; /* "" for the root */
} PlaJson;

/* Loads a file whose root is an object; *root lives as long as the file. */
PlaStatus pla_json_file_load(const char *path, PlaJsonFile **out, PlaJson *root, PlaError *err);
/* The same from text; @name stands for the file in sentences. */
PlaStatus pla_json_text_load(const char *text, const char *name, PlaJsonFile **out, PlaJson *root,
                             PlaError *err);
void pla_json_file_free(PlaJsonFile *file); /* NULL is fine */

/* "PATH <sentence>" with PLA_ERR_USAGE. */
PlaStatus pla_json_fail(PlaJson at, PlaError *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* @known is NULL-terminated; the first other member is an error that names it. */
PlaStatus pla_json_check_keys(PlaJson object, const char *const *known, PlaError *err);
bool pla_json_has(PlaJson object, const char *key);
bool pla_json_get(PlaJson object, const char *key, PlaJson *out); /* false: no such member */
int pla_json_length(PlaJson array);                              /* 0 when it is no array */
PlaStatus pla_json_at(PlaJson array, int i, PlaJson *out, PlaError *err);

PlaStatus pla_json_number_value(PlaJson json, double *out, PlaError *err); /* finite */
PlaStatus pla_json_int_value(PlaJson json, int64_t min, int64_t max, int64_t *out, PlaError *err);
PlaStatus pla_json_bool_value(PlaJson json, bool *out, PlaError *err);
PlaStatus pla_json_text_value(PlaJson json, char **out, PlaError *err); /* g_free() */
PlaStatus pla_json_vector(PlaJson json, int n, double *out, PlaError *err);
/* Index into the NULL-terminated @choices. */
PlaStatus pla_json_choice(PlaJson json, const char *const *choices, int *out, PlaError *err);

/* Writing: @n numbers as an array. */
JsonArray *pla_json_array_of(const double *value, int n);
