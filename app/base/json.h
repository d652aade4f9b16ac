/* Reading and writing JSON strictly.  A text that is wrong is refused with line and column, a value
 * that is wrong with its place ("materials[1].young_pa").  json-glib holds the values in memory;
 * its parser and generator are used nowhere. */
#pragma once

#include "anatomy/base/status.h"

#include <json-glib/json-glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- text (app/base/json-text.c) ---- */

#define PLA_JSON_MAX_BYTES (64 << 20) /* of text */

/* One value of any kind from @size bytes of @text, which need no NUL behind them;
 * json_node_unref().
 * @name stands for the file in the sentence; @err may be NULL. */
PlaStatus pla_json_parse(const char *text, size_t size, const char *name, JsonNode **out,
                         PlaError *err);
/* The value of a text of our own, in which a mistake is ours; json_node_unref(). */
JsonNode *pla_json_literal(const char *text);

/* The object that a case stores; json_object_unref().  Takes numbers as older versions wrote them
 * ("1e-08.0") for what they mean. */
PlaStatus pla_json_parse_stored(const char *text, const char *name, JsonObject **out,
                                PlaError *err);
/* @text with such numbers mended, within texts that hold JSON too; g_free().  NULL where there is
 * nothing to mend, or more is wrong. */
char *pla_json_repair(const char *text);

typedef enum {
  PLA_JSON_PLAIN,  /* one line, members in the order they were set */
  PLA_JSON_SORTED, /* one line, members in the order of their keys: equal objects have equal texts
                    */
  PLA_JSON_PRETTY, /* for people */
} PlaJsonStyle;
/* g_free(*out).  What could not be read back (a number that is not finite, too deep, too long) is
 * refused with its place. */
PlaStatus pla_json_write(JsonNode *node, PlaJsonStyle style, char **out, PlaError *err);
PlaStatus pla_json_write_object(JsonObject *object, PlaJsonStyle style, char **out, PlaError *err);
/* The same with null for what is refused, for output to other programs; g_free(). */
char *pla_json_write_lossy(JsonNode *node, PlaJsonStyle style);
/* Sets a value that is given in SI, in the unit that @key ends in: 0.002 as 2 of "rms_mm". */
void pla_json_set_si(JsonObject *object, const char *key, double si);
/* @object as one line with all keys in order, null for what is not finite: to compare; g_free(). */
char *pla_json_canonical(JsonObject *object);

/* ---- values ---- */

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
int pla_json_length(PlaJson array);                               /* 0 when it is no array */
PlaStatus pla_json_at(PlaJson array, int i, PlaJson *out, PlaError *err);

PlaStatus pla_json_number_value(PlaJson json, double *out, PlaError *err); /* finite */
PlaStatus pla_json_int_value(PlaJson json, int64_t min, int64_t max, int64_t *out, PlaError *err);
PlaStatus pla_json_bool_value(PlaJson json, bool *out, PlaError *err);
PlaStatus pla_json_text_value(PlaJson json, char **out, PlaError *err); /* g_free() */
PlaStatus pla_json_vector(PlaJson json, int n, double *out, PlaError *err);
/* Index into the NULL-terminated @choices. */
PlaStatus pla_json_choice(PlaJson json, const char *const *choices, int *out, PlaError *err);

/* ---- stored values (app/base/json-read.c) ----
 *
 * For metadata of items: what is missing or of another type is NULL, false or @otherwise.  NULL for
 * @object or @array is fine.  All are borrowed. */
JsonObject *pla_json_member_object(JsonObject *object, const char *key);
JsonArray *pla_json_member_array(JsonObject *object, const char *key);
const char *pla_json_member_text(JsonObject *object, const char *key, const char *otherwise);
double pla_json_member_number(JsonObject *object, const char *key, double otherwise);
bool pla_json_member_flag(JsonObject *object, const char *key);
unsigned pla_json_n_elements(JsonArray *array);
JsonObject *pla_json_element_object(JsonArray *array, unsigned i);
const char *pla_json_element_text(JsonArray *array, unsigned i);
double pla_json_element_number(JsonArray *array, unsigned i, double otherwise);

/* A copy that shares nothing with @node; json_node_unref(). */
JsonNode *pla_json_dup(JsonNode *node);
/* Writing: @n numbers as an array. */
JsonArray *pla_json_array_of(const double *value, int n);

/* ---- building: {"key": value} in one call ------------------------------------------------- */

void pla_json_number(JsonBuilder *json, const char *key, double value); /* null when not finite */
/* The same of a value in SI, converted to the unit that the key ends in. */
void pla_json_si(JsonBuilder *json, const char *key, double si);
void pla_json_int(JsonBuilder *json, const char *key, int64_t value);
void pla_json_text(JsonBuilder *json, const char *key, const char *value);
void pla_json_bool(JsonBuilder *json, const char *key, bool value);
void pla_json_numbers(JsonBuilder *json, const char *key, const double *value, int n);
