/* Label names and colours in the formats of other programs.
 *
 *   ITK-SNAP   id r g b alpha(0..1) visible mesh "name"      comments from '#'
 *   .tsv       a header line; columns index, name, color (#rrggbb or #rrggbbaa) or r, g, b
 *   .ctbl      id name r g b alpha(0..255)                   comments from '#', '_' for a blank */
#include "io/formats/label-files.h"

#include "anatomy/base/memory.h"
#include "io/formats/formats.h"
#include "io/stream/output.h"
#include "io/stream/source.h"
#include "io/stream/text-table.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { MAX_ID = 65535 }; /* label maps hold 16 bits */

typedef enum { TABLE_NONE = 0, TABLE_SNAP, TABLE_TSV, TABLE_COLOURS } TableKind;

/* a stretch of text inside the file */
typedef struct {
  const char *at;
  size_t len;
} Span;

/* one line of any of the formats */
typedef struct {
  int id;
  int order; /* of the lines: a later one replaces an earlier one */
  Span name;
  bool has_colour;
  uint8_t rgba[4];
} Entry;

typedef struct {
  Entry *entry;
  size_t n, capacity;
  int n_outside; /* ids that no label map can hold */
} Entries;

/* ---- what the file is ---- */

static bool
is_comment(const PlaText *line)
{
  PlaText rest = *line;
  return pla_text_at_end(&rest) || *rest.at == '#';
}

static bool
span_is(Span span, const char *const *words)
{
  for (; *words; words++)
    if (strlen(*words) == span.len && strncasecmp(span.at, *words, span.len) == 0)
      return true;
  return false;
}

/* the next field up to a tab, blanks around it removed; false at the end of the line */
static bool
next_field(PlaText *line, Span *field)
{
  if (!line->at)
    return false;
  const char *tab = memchr(line->at, '\t', (size_t)(line->end - line->at));
  const char *stop = tab ? tab : line->end;
  const char *at = line->at;
  while (at < stop && *at == ' ')
    at++;
  *field = (Span){ at, (size_t)(stop - at) };
  while (field->len > 0 && at[field->len - 1] == ' ')
    field->len--;
  line->at = tab ? tab + 1 : NULL;
  return true;
}

enum { COL_INDEX, COL_NAME, COL_COLOUR, COL_R, COL_G, COL_B, COL_A, N_COLS };

/* which column of the table holds what; -1 for none */
static void
read_columns(PlaText line, int column[N_COLS])
{
  static const char *const known[N_COLS][5] = {
    [COL_INDEX] = { "index", "id", "labelvalue", "value", NULL },
    [COL_NAME] = { "name", "label", NULL },
    [COL_COLOUR] = { "color", "colour", NULL },
    [COL_R] = { "r", "red", "color_r", NULL },
    [COL_G] = { "g", "green", "color_g", NULL },
    [COL_B] = { "b", "blue", "color_b", NULL },
    [COL_A] = { "a", "alpha", "color_a", NULL },
  };
  for (int c = 0; c < N_COLS; c++)
    column[c] = -1;
  Span field;
  for (int f = 0; next_field(&line, &field); f++)
    for (int c = 0; c < N_COLS; c++)
      if (column[c] < 0 && span_is(field, known[c]))
        column[c] = f;
}

static bool
read_byte(PlaText *line, uint8_t *out)
{
  int value;
  if (!pla_text_int(line, &value) || value < 0 || value > 255)
    return false;
  *out = (uint8_t)value;
  return true;
}

static bool
read_snap_line(PlaText line, Entry *out)
{
  double alpha;
  int flag;
  *out = (Entry){ .has_colour = true };
  if (!pla_text_int(&line, &out->id) || !read_byte(&line, &out->rgba[0]) ||
      !read_byte(&line, &out->rgba[1]) || !read_byte(&line, &out->rgba[2]) ||
      !pla_text_double(&line, &alpha) || !(alpha >= 0.0 && alpha <= 1.0) ||
      !pla_text_int(&line, &flag) || !pla_text_int(&line, &flag))
    return false;
  out->rgba[3] = (uint8_t)lround(255.0 * alpha);
  if (pla_text_at_end(&line) || *line.at != '"')
    return false;
  out->name.at = ++line.at;
  const char *close = memrchr(line.at, '"', (size_t)(line.end - line.at));
  if (!close)
    return false;
  out->name.len = (size_t)(close - line.at);
  return true;
}

static bool
is_number(Span word)
{
  double value;
  const char *end = word.at + word.len;
  return pla_parse_double(word.at, end, &value) == end;
}

static bool
read_colour_line(PlaText line, Entry *out)
{
  *out = (Entry){ .has_colour = true, .rgba = { 0, 0, 0, 255 } };
  /* a table of nothing but numbers is something else */
  return pla_text_int(&line, &out->id) && pla_text_word(&line, &out->name.at, &out->name.len) &&
         !is_number(out->name) && read_byte(&line, &out->rgba[0]) &&
         read_byte(&line, &out->rgba[1]) && read_byte(&line, &out->rgba[2]) &&
         (pla_text_at_end(&line) || read_byte(&line, &out->rgba[3])) && pla_text_at_end(&line);
}

static int
hex_digit(char c)
{
  return c >= '0' && c <= '9'   ? c - '0'
         : c >= 'a' && c <= 'f' ? c - 'a' + 10
         : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                : -1;
}

/* "#rrggbb" or "#rrggbbaa"; an empty field or "n/a" leaves the colour open */
static bool
read_hex_colour(Span field, Entry *out)
{
  static const char *const none[] = { "", "n/a", NULL };
  if (span_is(field, none))
    return true;
  if ((field.len != 7 && field.len != 9) || field.at[0] != '#')
    return false;
  out->rgba[3] = 255;
  for (size_t b = 0; b < (field.len - 1) / 2; b++) {
    int high = hex_digit(field.at[1 + 2 * b]), low = hex_digit(field.at[2 + 2 * b]);
    if (high < 0 || low < 0)
      return false;
    out->rgba[b] = (uint8_t)(16 * high + low);
  }
  out->has_colour = true;
  return true;
}

static bool
read_tsv_line(PlaText line, const int column[N_COLS], Entry *out)
{
  Span field;
  int n_parts = 0;
  bool has_id = false, has_name = false;
  *out = (Entry){ .rgba = { 0, 0, 0, 255 } };
  for (int f = 0; next_field(&line, &field); f++) {
    PlaText value = { .at = field.at, .end = field.at + field.len, .line = 1 };
    if (f == column[COL_INDEX])
      has_id = pla_text_int(&value, &out->id) && pla_text_at_end(&value);
    else if (f == column[COL_NAME]) {
      out->name = field;
      has_name = true;
    } else if (f == column[COL_COLOUR] && !read_hex_colour(field, out))
      return false;
    for (int c = COL_R; c <= COL_A; c++)
      if (f == column[c]) {
        if (!read_byte(&value, &out->rgba[c - COL_R]))
          return false;
        n_parts += c != COL_A;
      }
  }
  out->has_colour |= n_parts == 3;
  return has_id && has_name;
}

/* from the first line that is no comment */
static TableKind
sniff(const PlaBytes *bytes, PlaText *rest)
{
  PlaText text, line;
  pla_text_init(&text, bytes);
  for (*rest = text; pla_text_next_line(&text, &line); *rest = text) {
    Entry entry;
    int column[N_COLS];
    if (is_comment(&line))
      continue;
    read_columns(line, column);
    return column[COL_INDEX] >= 0 && column[COL_NAME] >= 0 ? TABLE_TSV
           : read_snap_line(line, &entry)                  ? TABLE_SNAP
           : read_colour_line(line, &entry)                ? TABLE_COLOURS
                                                           : TABLE_NONE;
  }
  return TABLE_NONE;
}

static bool
probe_label_table(const char *path, const uint8_t *head, size_t n_head)
{
  /* a line that the end of the head cuts would not parse */
  PlaBytes bytes = { .data = (uint8_t *)head, .size = n_head };
  PlaText rest;
  return sniff(&bytes, &rest) != TABLE_NONE;
}

/* ---- reading ---- */

/* length of the UTF-8 character at @at, 0 where it is none */
static size_t
utf8_length(const unsigned char *at, size_t n)
{
  size_t len = at[0] < 0x80                    ? 1
               : at[0] >= 0xc2 && at[0] < 0xe0 ? 2
               : at[0] >= 0xe0 && at[0] < 0xf0 ? 3
               : at[0] >= 0xf0 && at[0] < 0xf5 ? 4
                                               : 0;
  if (len == 0 || len > n)
    return 0;
  for (size_t i = 1; i < len; i++)
    if ((at[i] & 0xc0) != 0x80)
      return 0;
  /* over-long forms, surrogates and what lies beyond Unicode */
  bool bad = (at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] > 0x9f) ||
             (at[0] == 0xf0 && at[1] < 0x90) || (at[0] == 0xf4 && at[1] > 0x8f);
  return bad ? 0 : len;
}

/* a name as UTF-8 (what is not is taken for Latin-1), without control characters */
static char *
name_dup(Span span, int id, bool underscores)
{
  if (span.len == 0)
    return pla_strdup_printf("label %d", id);
  char *out = pla_array_new(2 * span.len + 1, 1), *to = out;
  const unsigned char *at = (const unsigned char *)span.at;
  for (size_t i = 0; out && i < span.len;) {
    size_t len = utf8_length(at + i, span.len - i);
    if (len == 0) {
      *to++ = (char)(0xc0 | at[i] >> 6);
      *to++ = (char)(0x80 | (at[i] & 0x3f));
      len = 1;
    } else if (len == 1) {
      *to++ = at[i] < 0x20 || at[i] == 0x7f || (underscores && at[i] == '_') ? ' ' : (char)at[i];
    } else {
      memcpy(to, at + i, len);
      to += len;
    }
    i += len;
  }
  if (out)
    *to = '\0';
  return out;
}

static int
compare_entries(const void *a, const void *b)
{
  const Entry *x = a, *y = b;
  return x->id != y->id ? (x->id > y->id) - (x->id < y->id)
                        : (x->order > y->order) - (x->order < y->order);
}

static PlaStatus
collect(const char *path, TableKind kind, PlaText text, Entries *out, PlaError *err)
{
  PlaText line;
  int column[N_COLS];
  if (kind == TABLE_TSV) {
    pla_text_next_line(&text, &line);
    read_columns(line, column);
  }
  while (pla_text_next_line(&text, &line)) {
    Entry entry;
    if (is_comment(&line))
      continue;
    bool ok = kind == TABLE_SNAP  ? read_snap_line(line, &entry)
              : kind == TABLE_TSV ? read_tsv_line(line, column, &entry)
                                  : read_colour_line(line, &entry);
    if (!ok)
      return pla_fail(err, PLA_ERR_FORMAT, "%s: line %d is no label (%s)", path, line.line,
                      kind == TABLE_SNAP  ? "id, three colours, opacity, two flags, \"name\""
                      : kind == TABLE_TSV ? "the columns of the first line"
                                          : "id, name, three or four colours from 0 to 255");
    if (entry.id < 0 || entry.id > MAX_ID)
      out->n_outside++;
    if (entry.id <= 0 || entry.id > MAX_ID)
      continue;
    if (out->n == out->capacity) {
      void *grown = out->entry;
      size_t capacity = out->capacity + out->capacity / 2 + 64;
      if (!pla_array_resize(&grown, capacity, sizeof *out->entry))
        return pla_fail_memory(err, path);
      out->entry = grown;
      out->capacity = capacity;
    }
    entry.order = (int)out->n;
    out->entry[out->n++] = entry;
  }
  return PLA_OK;
}

PlaStatus
pla_label_file_read(const char *path, PlaLabelTable *out, PlaNotes *notes, PlaError *err)
{
  PlaBytes bytes = { 0 };
  PlaText text;
  Entries entries = { 0 };
  TableKind kind = TABLE_NONE;
  *out = (PlaLabelTable){ 0 };
  PlaStatus st = pla_source_read(path, NULL, &bytes, err);
  if (st == PLA_OK) {
    kind = sniff(&bytes, &text);
    if (kind == TABLE_NONE)
      st = pla_fail(err, PLA_ERR_FORMAT,
                    "%s is no table of labels; Platysma reads those of ITK-SNAP, BIDS (.tsv with "
                    "the columns index and name) and 3D Slicer",
                    path);
  }
  if (st == PLA_OK)
    st = collect(path, kind, text, &entries, err);

  /* ascending, so that each is appended; FreeSurfer writes opacity 0 throughout for opaque */
  if (entries.n > 0)
    qsort(entries.entry, entries.n, sizeof *entries.entry, compare_entries);
  bool visible = false;
  for (size_t i = 0; i < entries.n; i++)
    visible |= entries.entry[i].rgba[3] > 0;
  for (size_t i = 0; st == PLA_OK && i < entries.n; i++) {
    Entry *e = &entries.entry[i];
    if (i + 1 < entries.n && e[1].id == e->id)
      continue;
    if (!visible)
      e->rgba[3] = 255;
    char *name = name_dup(e->name, e->id, kind == TABLE_COLOURS);
    if (name && kind == TABLE_TSV)
      pla_cell_drop_apostrophe(name);
    st = name ? pla_label_table_set(out, e->id, name, e->has_colour ? e->rgba : NULL, err)
              : pla_fail_memory(err, path);
    free(name);
  }
  if (st == PLA_OK && entries.n_outside > 0)
    pla_notes_add(notes, "%d labels of %s lie outside 1 to %d and were left out.",
                  entries.n_outside, path, MAX_ID);
  if (st != PLA_OK)
    pla_label_table_clear(out);
  free(entries.entry);
  pla_bytes_clear(&bytes);
  return st;
}

/* ---- writing ---- */

static bool
ends_in(const char *path, const char *ending)
{
  size_t n = strlen(path), m = strlen(ending);
  return n >= m && strcasecmp(path + n - m, ending) == 0;
}

/* the name with each character of @bad as @instead */
static bool
append_name(PlaBytes *out, const char *name, const char *bad, char instead)
{
  bool ok = true;
  for (; ok && *name; name++) {
    char c = strchr(bad, *name) ? instead : *name;
    ok = pla_bytes_append(out, &c, 1);
  }
  return ok;
}

static bool
append_snap(PlaBytes *out, const PlaLabel *l)
{
  char alpha[32];
  /* three digits tell 256 steps apart */
  snprintf(alpha, sizeof alpha, "%d.%03d", l->rgba[3] == 255,
           (l->rgba[3] * 1000 + 127) / 255 % 1000);
  return pla_bytes_printf(out, "%5d  %3d  %3d  %3d  %s  1  1    \"", l->id, l->rgba[0], l->rgba[1],
                          l->rgba[2], alpha) &&
         append_name(out, l->name, "\"\r\n", '\'') && pla_bytes_printf(out, "\"\n");
}

static bool
append_tsv(PlaBytes *out, const PlaLabel *l)
{
  /* blanks in front are no part of a field, and would hide a formula */
  const char *name = l->name + strspn(l->name, " \t\r\n");
  bool ok = pla_bytes_printf(out, "%d\t%s", l->id, pla_cell_needs_apostrophe(name) ? "'" : "") &&
            append_name(out, name, "\t\r\n", ' ') &&
            pla_bytes_printf(out, "\t#%02x%02x%02x", l->rgba[0], l->rgba[1], l->rgba[2]);
  if (ok && l->rgba[3] != 255)
    ok = pla_bytes_printf(out, "%02x", l->rgba[3]);
  return ok && pla_bytes_printf(out, "\n");
}

static bool
append_colours(PlaBytes *out, const PlaLabel *l)
{
  /* a line of nothing but numbers is no label to any reader */
  const bool number = is_number((Span){ l->name, strlen(l->name) });
  return pla_bytes_printf(out, "%d %s", l->id, number ? "label_" : "") &&
         append_name(out, l->name, " \t\r\n", '_') &&
         pla_bytes_printf(out, " %d %d %d %d\n", l->rgba[0], l->rgba[1], l->rgba[2], l->rgba[3]);
}

PlaStatus
pla_label_file_write(const char *path, const PlaLabelTable *table, PlaError *err)
{
  PlaBytes text = { 0 };
  bool ok = true;
  if (ends_in(path, ".tsv"))
    ok = pla_bytes_printf(&text, "index\tname\tcolor\n");
  else if (ends_in(path, ".ctbl"))
    ok = pla_bytes_printf(&text, "# Color table file\n# %d values\n0 background 0 0 0 0\n",
                          table->n + 1);
  else
    ok = pla_bytes_printf(&text, "# ITK-SnAP Label Description File\n"
                                 "# IDX   -R-  -G-  -B-  -A--  VIS MSH  LABEL\n"
                                 "    0    0    0    0  0  0  0    \"Clear Label\"\n");
  for (int i = 0; ok && i < table->n; i++)
    ok = ends_in(path, ".tsv")    ? append_tsv(&text, &table->label[i])
         : ends_in(path, ".ctbl") ? append_colours(&text, &table->label[i])
                                  : append_snap(&text, &table->label[i]);
  PlaStatus st =
      ok ? pla_output_write(path, text.data, text.size, err) : pla_fail_memory(err, path);
  pla_bytes_clear(&text);
  return st;
}

/* ---- beside a volume ---- */

/* @volume_path with its ending, and a ".gz" behind it, replaced */
static char *
sidecar_path(const char *volume_path, const char *ending)
{
  size_t n = strlen(volume_path);
  if (ends_in(volume_path, ".gz"))
    n -= 3;
  const char *slash = strrchr(volume_path, '/');
  const char *first = slash ? slash + 1 : volume_path;
  const char *dot = memrchr(first, '.', n - (size_t)(first - volume_path));
  if (dot && dot > first)
    n = (size_t)(dot - volume_path);
  return pla_strdup_printf("%.*s%s", (int)n, volume_path, ending);
}

void
pla_label_sidecar_read(const char *volume_path, PlaLabelTable *out, PlaNotes *notes)
{
  static const char *const endings[] = { ".tsv", ".label", ".txt", ".ctbl" };
  bool found = false;
  *out = (PlaLabelTable){ 0 };
  for (size_t e = 0; !found && e < sizeof endings / sizeof endings[0]; e++) {
    uint8_t head[4096];
    size_t n_head;
    char *path = sidecar_path(volume_path, endings[e]);
    found = path && access(path, R_OK) == 0 &&
            pla_source_head(path, head, sizeof head, &n_head, NULL) == PLA_OK &&
            probe_label_table(path, head, n_head);
    PlaError err = { 0 };
    if (found && pla_label_file_read(path, out, notes, &err) != PLA_OK)
      pla_notes_add(notes, "Label names were left out: %s.", err.message);
    else if (found)
      pla_notes_add(notes, "%d label names came from %s.", out->n, path);
    free(path);
  }
}

PlaStatus
pla_label_sidecar_write(const char *volume_path, const PlaLabelTable *table, PlaError *err)
{
  char *path = sidecar_path(volume_path, ".tsv");
  PlaStatus st = path ? pla_label_file_write(path, table, err) : pla_fail_memory(err, volume_path);
  free(path);
  return st;
}

/* ---- the format ---- */

static PlaStatus
read_label_table(const char *path, const PlaReadOptions *opts, PlaItem *out, PlaError *err)
{
  *out = (PlaItem){ .kind = PLA_KIND_LABEL_TABLE };
  PlaStatus st = pla_label_file_read(path, &out->labels, &out->notes, err);
  if (st != PLA_OK)
    pla_item_clear(out);
  return st;
}

static PlaStatus
write_label_table(const char *path, const PlaItem *item, const PlaWriteOptions *opts, PlaError *err)
{
  return pla_label_file_write(path, &item->labels, err);
}

static const char *const extensions[] = { ".label", ".ctbl", ".tsv", ".txt", NULL };

const PlaFormat pla_format_label_table = {
  .id = "label-table",
  .title = "Label names and colours",
  .extensions = extensions,
  .kind = PLA_KIND_LABEL_TABLE,
  .probe = probe_label_table,
  .read = read_label_table,
  .write = write_label_table,
};
