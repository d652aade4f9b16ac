/* JSON as text: the one place that reads it and the one place that writes it.
 *
 * Reading is RFC 8259 and nothing else, with limits on size, depth and the number of values, so
 * that no text can exhaust stack or memory.  A key that stands twice in an object is refused: which
 * of the two was meant cannot be known.  By hand, because json-glib's parser recurses without a
 * limit, takes text that is no JSON, and writes 1e-8 as "1e-08.0", which no parser reads.
 *
 * Writing gives the shortest digits that read back as the same double, and a decimal point or an
 * exponent, so that a double comes back as a double. */
#include "app/base/json.h"

#include "anatomy/base/memory.h"
#include "app/base/quantity.h"
#include "io/stream/source.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  MAX_DEPTH = 64,       /* deeper than any scene, plan or item nests */
  MAX_VALUES = 4 << 20, /* about 400 MiB in memory */
  MAX_STORED_DEPTH = 3, /* texts of JSON within texts of JSON that are repaired */
};

/* ---- reading ------------------------------------------------------------------------------ */

typedef struct {
  const char *start, *at, *end;
  const char *name; /* for the sentence */
  int depth, n_values;
  PlaError *err;
  bool failed;
} Reader;

/* the first failure, with the place that the reader has reached */
static JsonNode *
fail_here(Reader *r, const char *what)
{
  if (r->failed)
    return NULL;
  r->failed = true;
  unsigned line = 1, column = 1;
  for (const char *p = r->start; p < r->at; p++) {
    if (*p == '\n') {
      line++;
      column = 1;
    } else if (((unsigned char)*p & 0xc0) != 0x80) { /* not inside a character */
      column++;
    }
  }
  pla_fail(r->err, PLA_ERR_FORMAT, "%s: the JSON is wrong at line %u, column %u (%s)", r->name,
           line, column, what);
  return NULL;
}

static void
skip_blanks(Reader *r)
{
  while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r'))
    r->at++;
}

static bool
take_char(Reader *r, char c)
{
  skip_blanks(r);
  if (r->at == r->end || *r->at != c)
    return false;
  r->at++;
  return true;
}

static bool
take_word(Reader *r, const char *word)
{
  size_t n = strlen(word);
  if ((size_t)(r->end - r->at) < n || memcmp(r->at, word, n) != 0)
    return false;
  r->at += n;
  return true;
}

/* four hexadecimal digits; -1 without them */
static int
read_hex4(Reader *r)
{
  int value = 0;
  if (r->end - r->at < 4)
    return -1;
  for (int i = 0; i < 4; i++) {
    int digit = g_ascii_xdigit_value(r->at[i]);
    if (digit < 0)
      return -1;
    value = 16 * value + digit;
  }
  r->at += 4;
  return value;
}

/* what follows "\u" */
static bool
read_unicode(Reader *r, GString *text)
{
  int first = read_hex4(r);
  gunichar c = (gunichar)first;
  if (first >= 0xd800 && first < 0xdc00) {
    int second = take_word(r, "\\u") ? read_hex4(r) : -1;
    if (second < 0xdc00 || second > 0xdfff)
      return false;
    c = 0x10000 + (((gunichar)first - 0xd800) << 10) + ((gunichar)second - 0xdc00);
  } else if (first <= 0 || (first >= 0xdc00 && first < 0xe000)) {
    return false; /* NUL would end the text early; a lone half is no character */
  }
  g_string_append_unichar(text, c);
  return true;
}

/* the text behind an opening quote; NULL after a failure */
static char *
read_text(Reader *r)
{
  static const char plain[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
  g_autoptr(GString) text = g_string_new(NULL);
  while (r->at < r->end && *r->at != '"') {
    const char *from = r->at;
    while (r->at < r->end && *r->at != '"' && *r->at != '\\' && (unsigned char)*r->at >= 0x20)
      r->at++;
    g_string_append_len(text, from, r->at - from);
    if (r->at == r->end || *r->at == '"')
      break;
    if (*r->at != '\\') {
      fail_here(r, "a text must not contain a line break or control character; write \\n");
      return NULL;
    }
    const char *kind = r->end - r->at >= 2 ? strchr(plain, r->at[1]) : NULL;
    if (kind && *kind) {
      g_string_append_c(text, meant[kind - plain]);
      r->at += 2;
    } else if (!take_word(r, "\\u") || !read_unicode(r, text)) {
      fail_here(r, "this \\ starts nothing that is known");
      return NULL;
    }
  }
  if (r->at == r->end) {
    fail_here(r, "the closing quote of a text is missing");
    return NULL;
  }
  r->at++;
  return g_string_free(g_steal_pointer(&text), FALSE);
}

static const char *
skip_digits(const char *at, const char *end)
{
  while (at < end && g_ascii_isdigit(*at))
    at++;
  return at;
}

/* the end of the number that starts at @at, or NULL; *whole: it has neither fraction nor exponent
 */
static const char *
number_end(const char *at, const char *end, bool *whole)
{
  at += at < end && *at == '-';
  const char *digits = at;
  at = skip_digits(at, end);
  if (at == digits || (*digits == '0' && at - digits > 1))
    return NULL;
  *whole = true;
  if (at < end && *at == '.') {
    const char *fraction = ++at;
    at = skip_digits(at, end);
    if (at == fraction)
      return NULL;
    *whole = false;
  }
  if (at < end && (*at == 'e' || *at == 'E')) {
    at++;
    at += at < end && (*at == '+' || *at == '-');
    const char *exponent = at;
    at = skip_digits(at, end);
    if (at == exponent)
      return NULL;
    *whole = false;
  }
  return at;
}

static JsonNode *
read_number(Reader *r)
{
  bool whole;
  const char *end = number_end(r->at, r->end, &whole);
  if (!end || (end < r->end && (g_ascii_isalnum(*end) || *end == '.' || *end == '+')))
    return fail_here(r, "this is no number");
  g_autofree char *digits = g_strndup(r->at, (gsize)(end - r->at));
  JsonNode *node = json_node_alloc();
  if (whole) {
    errno = 0;
    gint64 value = g_ascii_strtoll(digits, NULL, 10);
    whole = errno == 0; /* larger ones are kept as well as a double can */
    if (whole)
      json_node_init_int(node, value);
  }
  if (!whole) {
    double value = g_ascii_strtod(digits, NULL);
    if (!isfinite(value)) {
      json_node_unref(node);
      return fail_here(r, "the number is too large");
    }
    json_node_init_double(node, value);
  }
  r->at = end;
  return node;
}

static JsonNode *read_value(Reader *r);

static JsonNode *
read_array(Reader *r)
{
  g_autoptr(JsonArray) array = json_array_new();
  r->at++;
  if (!take_char(r, ']'))
    do {
      JsonNode *value = read_value(r);
      if (!value)
        return NULL;
      json_array_add_element(array, value);
    } while (take_char(r, ',') || (!take_char(r, ']') && fail_here(r, "a comma or ] is missing")));
  return r->failed ? NULL : json_node_init_array(json_node_alloc(), array);
}

/* one "key": value of an object */
static bool
read_member(Reader *r, JsonObject *object)
{
  skip_blanks(r);
  const char *from = r->at;
  if (!take_char(r, '"')) {
    fail_here(r, "a key in quotes is missing");
    return false;
  }
  g_autofree char *key = read_text(r);
  if (!key)
    return false;
  if (json_object_has_member(object, key)) {
    g_autofree char *what = g_strdup_printf("the key \"%.60s\" stands here twice", key);
    r->at = from;
    fail_here(r, what);
    return false;
  }
  if (!take_char(r, ':')) {
    fail_here(r, "the : behind a key is missing");
    return false;
  }
  JsonNode *value = read_value(r);
  if (value)
    json_object_set_member(object, key, value);
  return value != NULL;
}

static JsonNode *
read_object(Reader *r)
{
  g_autoptr(JsonObject) object = json_object_new();
  r->at++;
  if (!take_char(r, '}'))
    do {
      if (!read_member(r, object))
        return NULL;
    } while (take_char(r, ',') || (!take_char(r, '}') && fail_here(r, "a comma or } is missing")));
  return r->failed ? NULL : json_node_init_object(json_node_alloc(), object);
}

static JsonNode *
read_value(Reader *r)
{
  skip_blanks(r);
  if (r->at == r->end)
    return fail_here(r, "the text ends too early");
  if (++r->n_values > MAX_VALUES)
    return fail_here(r, "there are more than 4 million values");
  const char c = *r->at;
  JsonNode *node = NULL;
  if (c == '[' || c == '{') {
    if (++r->depth > MAX_DEPTH)
      return fail_here(r, "brackets are nested more than 64 deep");
    node = c == '[' ? read_array(r) : read_object(r);
    r->depth--;
  } else if (c == '"') {
    r->at++;
    g_autofree char *text = read_text(r);
    node = text ? json_node_init_string(json_node_alloc(), text) : NULL;
  } else if (c == '-' || g_ascii_isdigit(c)) {
    node = read_number(r);
  } else if (take_word(r, "true")) {
    node = json_node_init_boolean(json_node_alloc(), TRUE);
  } else if (take_word(r, "false")) {
    node = json_node_init_boolean(json_node_alloc(), FALSE);
  } else if (take_word(r, "null")) {
    node = json_node_init_null(json_node_alloc());
  } else {
    fail_here(r, "a value is missing");
  }
  return node;
}

PlaStatus
pla_json_parse(const char *text, size_t size, const char *name, JsonNode **out, PlaError *err)
{
  *out = NULL;
  Reader r = { .start = text, .at = text, .end = text + size, .name = name, .err = err };
  const char *wrong;
  if (size > PLA_JSON_MAX_BYTES)
    return pla_fail(err, PLA_ERR_FORMAT, "%s: %zu MiB are more than a JSON text may have (64)",
                    name, size >> 20);
  if (!g_utf8_validate_len(text, size, &wrong)) {
    r.at = wrong;
    fail_here(&r, "this is no UTF-8 text");
    return PLA_ERR_FORMAT;
  }
  take_word(&r, "\xef\xbb\xbf"); /* the mark that some editors put first */
  JsonNode *node = read_value(&r);
  skip_blanks(&r);
  if (node && r.at < r.end) {
    json_node_unref(node);
    node = fail_here(&r, "something follows the end");
  }
  *out = node;
  return node ? PLA_OK : PLA_ERR_FORMAT;
}

JsonNode *
pla_json_literal(const char *text)
{
  JsonNode *node;
  PlaError err;
  if (pla_json_parse(text, strlen(text), "a literal", &node, &err) != PLA_OK)
    g_assertion_message(G_LOG_DOMAIN, __FILE__, __LINE__, G_STRFUNC, err.message);
  return node;
}

/* ---- texts of older cases ----------------------------------------------------------------- */

/* The end of a number that json-glib wrote wrongly: "1e-08.0", "nan.0", "-inf.0"; else NULL.
 * *n: how much of it stands for a number; 0: none does. */
static const char *
broken_number_end(const char *at, const char *end, size_t *n)
{
  bool whole;
  const char *word = at + (at < end && *at == '-'), *number = number_end(at, end, &whole);
  *n = number ? (size_t)(number - at) : 0;
  if (!number && end - word >= 3 && (memcmp(word, "nan", 3) == 0 || memcmp(word, "inf", 3) == 0))
    number = word + 3;
  if (!number || end - number < 2 || memcmp(number, ".0", 2) != 0)
    return NULL;
  return number + 2;
}

static char *repair(const char *text, int depth);

/* copies a text with its quotes; one that holds JSON itself is repaired in turn */
static const char *
repair_text(const char *at, const char *end, GString *out, bool *changed, int depth)
{
  const char *close = at + 1;
  while (close < end && *close != '"')
    close += *close == '\\' && close + 1 < end ? 2 : 1;
  const char *next = close < end ? close + 1 : end;
  g_autofree char *quoted = g_strndup(at, (gsize)(next - at));
  g_autoptr(JsonNode) node = NULL;
  g_autofree char *inner = NULL;
  if (depth < MAX_STORED_DEPTH && at[1] == '{' &&
      pla_json_parse(quoted, strlen(quoted), "", &node, NULL) == PLA_OK)
    inner = repair(json_node_get_string(node), depth + 1);
  /* words that only begin as JSON does are the user's, and stay */
  g_autoptr(JsonNode) whole = NULL;
  if (inner && pla_json_parse(inner, strlen(inner), "", &whole, NULL) == PLA_OK) {
    g_autoptr(JsonNode) mended = json_node_init_string(json_node_alloc(), inner);
    g_autofree char *text = pla_json_write_lossy(mended, PLA_JSON_PLAIN);
    g_string_append(out, text);
    *changed = true;
  } else {
    g_string_append(out, quoted);
  }
  return next;
}

static char *
repair(const char *text, int depth)
{
  g_autoptr(GString) out = g_string_new(NULL);
  const char *end = text + strlen(text);
  bool changed = false;
  for (const char *at = text; at < end;) {
    size_t n;
    const char *next;
    if (*at == '"') {
      at = repair_text(at, end, out, &changed, depth);
    } else if ((next = broken_number_end(at, end, &n))) {
      /* what was no number is not known */
      if (n)
        g_string_append_len(out, at, (gssize)n);
      else
        g_string_append(out, "null");
      changed = true;
      at = next;
    } else if (g_ascii_isdigit(*at) || *at == '-') {
      bool whole;
      next = number_end(at, end, &whole);
      next = next ? next : at + 1;
      g_string_append_len(out, at, next - at);
      at = next;
    } else {
      g_string_append_c(out, *at++);
    }
  }
  return changed ? g_string_free(g_steal_pointer(&out), FALSE) : NULL;
}

/* Whether ".0" stands behind an exponent or a word, as json-glib wrote it: says quickly that a text
 * is worth reading closely. */
static bool
is_suspect(const char *text)
{
  for (const char *dot = text; (dot = strstr(dot, ".0")); dot += 2) {
    const char *at = dot;
    while (at > text && g_ascii_isdigit(at[-1]))
      at--;
    if (at - text >= 2 && at < dot && (at[-1] == '-' || at[-1] == '+') && at[-2] == 'e')
      return true;
    if (dot - text >= 3 && (memcmp(dot - 3, "nan", 3) == 0 || memcmp(dot - 3, "inf", 3) == 0))
      return true;
  }
  return false;
}

char *
pla_json_repair(const char *text)
{
  if (!is_suspect(text))
    return NULL;
  g_autoptr(JsonNode) node = NULL;
  g_autofree char *mended = repair(text, 0);
  /* a repair that does not lead to JSON is none */
  if (!mended || pla_json_parse(mended, strlen(mended), "", &node, NULL) != PLA_OK)
    return NULL;
  return g_steal_pointer(&mended);
}

PlaStatus
pla_json_parse_stored(const char *text, const char *name, JsonObject **out, PlaError *err)
{
  g_autoptr(JsonNode) node = NULL;
  *out = NULL;
  PlaStatus st = pla_json_parse(text, strlen(text), name, &node, err);
  if (st != PLA_OK) {
    g_autofree char *mended = pla_json_repair(text);
    if (mended)
      st = pla_json_parse(mended, strlen(mended), name, &node, err);
  }
  if (st == PLA_OK && !JSON_NODE_HOLDS_OBJECT(node))
    st = pla_fail(err, PLA_ERR_FORMAT, "%s: there is no JSON object", name);
  if (st == PLA_OK)
    *out = json_node_dup_object(node);
  return st;
}

/* ---- writing ------------------------------------------------------------------------------ */

typedef struct {
  GString *text;
  bool pretty, sorted;
  int depth;
  GString *path; /* where the writer is, for the sentence */
  const char *wrong;
} Writer;

static void
new_line(Writer *w)
{
  if (!w->pretty)
    return;
  g_string_append_c(w->text, '\n');
  for (int i = 0; i < w->depth; i++)
    g_string_append(w->text, "  ");
}

static void
write_text(GString *out, const char *text)
{
  g_autofree char *valid = g_utf8_make_valid(text ? text : "", -1);
  g_string_append_c(out, '"');
  for (const char *p = valid; *p; p++) {
    static const char special[] = "\"\\\b\f\n\r\t", letter[] = "\"\\bfnrt";
    const char *found = strchr(special, *p);
    if (found)
      g_string_append_printf(out, "\\%c", letter[found - special]);
    else if ((unsigned char)*p < 0x20 || *p == 0x7f)
      g_string_append_printf(out, "\\u%04x", (unsigned)*p);
    else
      g_string_append_c(out, *p);
  }
  g_string_append_c(out, '"');
}

static void
write_double(Writer *w, double value)
{
  char digits[32];
  if (!isfinite(value)) {
    g_string_append(w->text, "null");
    if (!w->wrong)
      w->wrong = "is not a finite number";
    return;
  }
  pla_format_double(value, digits);
  g_string_append(w->text, digits);
  if (!strpbrk(digits, ".eE"))
    g_string_append(w->text, ".0");
}

static int
compare_texts(gconstpointer a, gconstpointer b)
{
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void write_node(Writer *w, JsonNode *node);

/* one element of an array or object, and its place while nothing is wrong */
static void
write_part(Writer *w, const char *key, guint i, JsonNode *node)
{
  const gsize length = w->path->len;
  if (i)
    g_string_append_c(w->text, ',');
  new_line(w);
  if (key) {
    g_string_append_printf(w->path, "%s%s", length ? "." : "", key);
    write_text(w->text, key);
    g_string_append(w->text, w->pretty ? " : " : ":");
  } else {
    g_string_append_printf(w->path, "[%u]", i);
  }
  const bool fine = !w->wrong;
  write_node(w, node);
  if (!fine || !w->wrong)
    g_string_truncate(w->path, length);
}

static void
write_object(Writer *w, JsonObject *object)
{
  g_autoptr(GPtrArray) keys = g_ptr_array_new();
  JsonObjectIter iter;
  const char *key;
  json_object_iter_init_ordered(&iter, object);
  while (json_object_iter_next_ordered(&iter, &key, NULL))
    g_ptr_array_add(keys, (gpointer)key);
  if (w->sorted)
    g_ptr_array_sort(keys, compare_texts);
  for (guint k = 0; k < keys->len; k++)
    write_part(w, keys->pdata[k], k, json_object_get_member(object, keys->pdata[k]));
}

static void
write_node(Writer *w, JsonNode *node)
{
  const bool object = JSON_NODE_HOLDS_OBJECT(node);
  if (object || JSON_NODE_HOLDS_ARRAY(node)) {
    if (w->depth == MAX_DEPTH) {
      g_string_append(w->text, "null");
      w->wrong = w->wrong ? w->wrong : "is nested more than 64 deep";
      return;
    }
    const guint n = object ? json_object_get_size(json_node_get_object(node))
                           : json_array_get_length(json_node_get_array(node));
    g_string_append_c(w->text, object ? '{' : '[');
    w->depth++;
    if (object)
      write_object(w, json_node_get_object(node));
    else
      for (guint i = 0; i < n; i++)
        write_part(w, NULL, i, json_array_get_element(json_node_get_array(node), i));
    w->depth--;
    if (n)
      new_line(w);
    g_string_append_c(w->text, object ? '}' : ']');
    return;
  }
  const GType type = JSON_NODE_HOLDS_VALUE(node) ? json_node_get_value_type(node) : G_TYPE_NONE;
  if (type == G_TYPE_STRING)
    write_text(w->text, json_node_get_string(node));
  else if (type == G_TYPE_BOOLEAN)
    g_string_append(w->text, json_node_get_boolean(node) ? "true" : "false");
  else if (type == G_TYPE_INT64)
    g_string_append_printf(w->text, "%" G_GINT64_FORMAT, json_node_get_int(node));
  else if (type == G_TYPE_DOUBLE)
    write_double(w, json_node_get_double(node));
  else
    g_string_append(w->text, "null");
}

static Writer
write_all(JsonNode *node, PlaJsonStyle style)
{
  Writer w = { .text = g_string_new(NULL),
               .path = g_string_new(NULL),
               .pretty = style == PLA_JSON_PRETTY,
               .sorted = style == PLA_JSON_SORTED };
  write_node(&w, node);
  return w;
}

PlaStatus
pla_json_write(JsonNode *node, PlaJsonStyle style, char **out, PlaError *err)
{
  Writer w = write_all(node, style);
  PlaStatus st = PLA_OK;
  if (w.wrong)
    st = pla_fail(err, PLA_ERR_FORMAT, "'%.200s' %s and cannot be stored", w.path->str, w.wrong);
  else if (w.text->len > PLA_JSON_MAX_BYTES)
    st = pla_fail(err, PLA_ERR_FORMAT, "a description of %zu MiB is too long to be stored",
                  w.text->len >> 20);
  *out = g_string_free(w.text, st != PLA_OK);
  g_string_free(w.path, TRUE);
  return st;
}

char *
pla_json_write_lossy(JsonNode *node, PlaJsonStyle style)
{
  Writer w = write_all(node, style);
  g_string_free(w.path, TRUE);
  return g_string_free(w.text, FALSE);
}

PlaStatus
pla_json_write_object(JsonObject *object, PlaJsonStyle style, char **out, PlaError *err)
{
  g_autoptr(JsonNode) node = json_node_init_object(json_node_alloc(), object);
  return pla_json_write(node, style, out, err);
}

void
pla_json_set_si(JsonObject *object, const char *key, double si)
{
  json_object_set_double_member(object, key, pla_key_value(key, si));
}

char *
pla_json_canonical(JsonObject *object)
{
  g_autoptr(JsonNode) node = json_node_init_object(json_node_alloc(), object);
  return pla_json_write_lossy(node, PLA_JSON_SORTED);
}
