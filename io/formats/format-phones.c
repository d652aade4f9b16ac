/* Phonemes with their times: Praat TextGrid (long and short text, UTF-8 or UTF-16), HTK label files
 * (start end label, in units of 100 ns), label tracks in seconds (start end label), and the labels
 * of xwaves and Festival (a header that ends in #, then end colour label).
 *
 * In Praat's text files only free-standing numbers, texts in double quotes and flags in angle
 * brackets count; everything else is there for people (P. Boersma and D. Weenink, Praat manual,
 * "TextGrid file formats").  So the long and the short form are the same sequence of values. */
#include "io/formats/formats.h"

#include "anatomy/base/memory.h"
#include "io/stream/output.h"
#include "io/stream/source.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- text ---- */

/* UTF-16 of either byte order becomes UTF-8; a lone half of a pair becomes '?' */
static bool
from_utf16(const PlaBytes *in, bool big, PlaBytes *out)
{
  for (size_t i = 2; i + 1 < in->size; i += 2) {
    unsigned c = big ? in->data[i] << 8 | in->data[i + 1] : in->data[i + 1] << 8 | in->data[i];
    if (c >= 0xd800 && c < 0xdc00 && i + 3 < in->size) {
      const uint8_t *p = in->data + i + 2;
      const unsigned low = big ? p[0] << 8 | p[1] : p[1] << 8 | p[0];
      if (low >= 0xdc00 && low < 0xe000) {
        c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
        i += 2;
      }
    }
    if (c >= 0xd800 && c < 0xe000)
      c = '?';
    uint8_t utf8[4];
    size_t n = 0;
    if (c < 0x80) {
      utf8[n++] = (uint8_t)c;
    } else {
      const int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
      static const uint8_t lead[] = { 0, 0xc0, 0xe0, 0xf0 };
      utf8[n++] = (uint8_t)(lead[more] | c >> 6 * more);
      for (int k = more - 1; k >= 0; k--)
        utf8[n++] = (uint8_t)(0x80 | (c >> 6 * k & 0x3f));
    }
    if (!pla_bytes_append(out, utf8, n))
      return false;
  }
  return pla_bytes_reserve(out, out->size + 1);
}

static PlaStatus
read_text(const char *path, PlaProgress *progress, PlaBytes *out, PlaError *err)
{
  PlaStatus st = pla_source_read(path, progress, out, err);
  if (st != PLA_OK || out->size < 2)
    return st;
  const bool big = out->data[0] == 0xfe && out->data[1] == 0xff;
  if (big || (out->data[0] == 0xff && out->data[1] == 0xfe)) {
    PlaBytes utf8 = { 0 };
    const bool ok = from_utf16(out, big, &utf8);
    pla_bytes_clear(out);
    *out = utf8;
    if (!ok)
      return pla_fail_memory(err, path);
    out->data[out->size] = '\0';
  }
  return PLA_OK;
}

/* ---- TextGrid ---- */

typedef struct {
  const char *path;
  PlaText text;
  char *string; /* the last text read, unescaped (owned) */
} Grid;

static PlaStatus
grid_fail(const Grid *g, PlaError *err, const char *expected)
{
  return pla_fail(err, PLA_ERR_FORMAT, "%s, line %d: %s is expected here%s", g->path, g->text.line,
                  expected, g->text.at == g->text.end ? ", but the file ends; copy it again" : "");
}

static bool
is_blank(char c)
{
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* moves to the next value: a number, a quote or a flag; '\0' at the end */
static char
grid_next_kind(Grid *g)
{
  PlaText *t = &g->text;
  bool free_standing = true;
  for (; t->at < t->end; t->at++) {
    const char c = *t->at;
    if (free_standing && c == '!') {
      while (t->at < t->end && *t->at != '\n')
        t->at++;
      t->at -= t->at == t->end; /* the loop moves on */
    }
    if (t->at < t->end && *t->at == '\n')
      t->line++;
    if (c == '"' || (free_standing && c == '<'))
      return c;
    if (free_standing && (isdigit((unsigned char)c) || c == '-' || c == '+' || c == '.')) {
      double value;
      const char *end = pla_parse_double(t->at, t->end, &value);
      if (end && (end == t->end || is_blank(*end)))
        return '0';
    }
    free_standing = is_blank(c);
  }
  return '\0';
}

static PlaStatus
grid_number(Grid *g, const char *what, double *out, PlaError *err)
{
  if (grid_next_kind(g) != '0')
    return grid_fail(g, err, what);
  g->text.at = pla_parse_double(g->text.at, g->text.end, out);
  return PLA_OK;
}

static PlaStatus
grid_string(Grid *g, const char *what, PlaError *err)
{
  if (grid_next_kind(g) != '"')
    return grid_fail(g, err, what);
  PlaText *t = &g->text;
  const int line = t->line;
  const char *from = ++t->at;
  size_t n = 0;
  /* a doubled quote stands for one */
  for (; t->at < t->end && (*t->at != '"' || (t->at + 1 < t->end && t->at[1] == '"'));
       t->at++, n++) {
    t->line += *t->at == '\n';
    t->at += *t->at == '"';
  }
  if (t->at == t->end)
    return pla_fail(err, PLA_ERR_FORMAT,
                    "%s, line %d: the text that begins here has no closing quote", g->path, line);
  free(g->string);
  g->string = pla_array_new(n + 1, 1);
  if (!g->string)
    return pla_fail_memory(err, g->path);
  size_t k = 0;
  for (const char *c = from; c < t->at; c++) {
    g->string[k++] = *c;
    c += *c == '"';
  }
  g->string[k] = '\0';
  t->at++;
  return PLA_OK;
}

/* a count of things of which each takes at least @bytes_each of what is left of the file */
static PlaStatus
grid_count(Grid *g, const char *what, int bytes_each, int *out, PlaError *err)
{
  double value;
  PlaStatus st = grid_number(g, what, &value, err);
  if (st != PLA_OK)
    return st;
  if (!(value >= 0.0 && value == floor(value)))
    return grid_fail(g, err, what);
  if (value * bytes_each > (double)(g->text.end - g->text.at))
    return pla_fail(err, PLA_ERR_FORMAT,
                    "%s, line %d: %g of these do not fit into the rest of the file; copy it again",
                    g->path, g->text.line, value);
  *out = (int)value;
  return PLA_OK;
}

/* reads or passes over one tier */
static PlaStatus
grid_tier(Grid *g, bool intervals, PlaPhones *out, PlaError *err)
{
  double start, end;
  int n = 0;
  PlaStatus st = grid_number(g, "the start of the tier", &start, err);
  if (st == PLA_OK)
    st = grid_number(g, "the end of the tier", &end, err);
  if (st == PLA_OK)
    st = grid_count(g, "the number of intervals", 4, &n, err);
  for (int i = 0; i < n && st == PLA_OK; i++) {
    st = grid_number(g, "a time", &start, err);
    if (st == PLA_OK && intervals)
      st = grid_number(g, "the end of an interval", &end, err);
    if (st == PLA_OK)
      st = grid_string(g, "the text of an interval, in quotes,", err);
    if (st == PLA_OK && out && pla_phones_add(out, start, end, g->string, err) != PLA_OK)
      st = pla_fail_within(err, "%s, line %d", g->path, g->text.line);
  }
  return st;
}

/* names that aligners give to the tier of phonemes */
static bool
is_phone_tier(const char *name)
{
  static const char *const names[] = { "phone",   "phones",   "phoneme", "phonemes", "phn",
                                       "segment", "segments", "MAU",     "KAN-MAU",  "sounds" };
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcasecmp(name, names[i]) == 0)
      return true;
  /* "speaker - phones" of the Montreal aligner */
  const char *dash = strstr(name, " - ");
  return dash && is_phone_tier(dash + 3);
}

/* the tier asked for, or the one of phonemes, or the only one of intervals */
static PlaStatus
grid_tiers(Grid *g, const char *wanted, PlaPhones *out, PlaNotes *notes, PlaError *err)
{
  double skip;
  int n_tiers = 0, n_interval_tiers = 0;
  bool found = false;
  PlaPhones only = { 0 };
  char *others = NULL;
  PlaStatus st = grid_number(g, "the start of the recording", &skip, err);
  if (st == PLA_OK)
    st = grid_number(g, "the end of the recording", &skip, err);
  /* <exists>, or nothing follows */
  if (st == PLA_OK && grid_next_kind(g) == '<' && g->text.at++)
    st = grid_count(g, "the number of tiers", 10, &n_tiers, err);
  for (int i = 0; i < n_tiers && st == PLA_OK && !found; i++) {
    st = grid_string(g, "\"IntervalTier\" or \"TextTier\"", err);
    if (st != PLA_OK)
      break;
    const bool intervals = strcmp(g->string, "IntervalTier") == 0;
    if (!intervals && strcmp(g->string, "TextTier") != 0)
      st = grid_fail(g, err, "\"IntervalTier\" or \"TextTier\"");
    if (st == PLA_OK)
      st = grid_string(g, "the name of a tier", err);
    if (st != PLA_OK)
      break;
    found = intervals && (wanted ? strcmp(g->string, wanted) == 0 : is_phone_tier(g->string));
    char *list =
        pla_strdup_printf("%s%s\"%.60s\"", others ? others : "", others ? ", " : "", g->string);
    free(others);
    others = list;
    n_interval_tiers += intervals;
    st = grid_tier(g, intervals,
                   found                                           ? out
                   : intervals && !wanted && n_interval_tiers == 1 ? &only
                                                                   : NULL,
                   err);
  }
  if (st == PLA_OK && !found && !wanted && n_interval_tiers == 1) {
    *out = only;
    only = (PlaPhones){ 0 };
    pla_notes_add(notes, "the only tier of intervals, %s, is taken for the phonemes", others);
  } else if (st == PLA_OK && !found) {
    st = pla_fail(err, PLA_ERR_FORMAT, "%s has no tier called %s; its tiers are %.400s", g->path,
                  wanted ? wanted : "\"phones\"", others ? others : "none");
  }
  free(others);
  pla_phones_clear(&only);
  return st;
}

static bool
looks_like_grid(const PlaBytes *text)
{
  const size_t n = text->size < 400 ? text->size : 400;
  /* a time comes first in label files, whatever their labels are */
  PlaText first;
  double time;
  pla_text_init(&first, text);
  if (pla_text_double(&first, &time))
    return false;
  return memmem(text->data, n, "\"TextGrid\"", 10) != NULL;
}

static PlaStatus
read_grid(const char *path, const PlaBytes *bytes, const char *tier, PlaPhones *out,
          PlaNotes *notes, PlaError *err)
{
  Grid g = { .path = path };
  pla_text_init(&g.text, bytes);
  PlaStatus st = grid_string(&g, "\"ooTextFile\"", err);
  if (st == PLA_OK)
    st = grid_string(&g, "\"TextGrid\"", err);
  if (st == PLA_OK)
    st = grid_tiers(&g, tier, out, notes, err);
  free(g.string);
  return st;
}

/* ---- label files ---- */

/* start end label, or end colour label after an xwaves header; HTK's times are whole and huge */
typedef struct {
  double time[2];
  const char *label;
  size_t n_label;
} LabelLine;

/* false where the line is none of them */
static bool
parse_label_line(PlaText *line, LabelLine *out)
{
  if (!pla_text_double(line, &out->time[0]) || !pla_text_double(line, &out->time[1]))
    return false;
  while (line->at < line->end && is_blank(*line->at))
    line->at++;
  const char *end = line->end;
  while (end > line->at && is_blank(end[-1]))
    end--;
  out->label = line->at;
  out->n_label = (size_t)(end - line->at);
  return true;
}

static PlaStatus
add_label(const char *path, int line, double start, double end, const LabelLine *l, PlaPhones *out,
          PlaError *err)
{
  char *label = pla_strdup_printf("%.*s", (int)(l->n_label < 4096 ? l->n_label : 4096), l->label);
  PlaStatus st = label ? pla_phones_add(out, start, end, label, err) : pla_fail_memory(err, path);
  free(label);
  return st == PLA_ERR_FORMAT ? pla_fail_within(err, "%s, line %d", path, line) : st;
}

/* HTK counts in 100 ns and writes whole numbers; a recording of three hours in seconds has less */
static bool
is_htk(PlaText text)
{
  double last = 0.0;
  PlaText line;
  LabelLine l;
  while (pla_text_next_line(&text, &line))
    if (parse_label_line(&line, &l)) {
      if (l.time[0] != floor(l.time[0]) || l.time[1] != floor(l.time[1]))
        return false;
      last = l.time[1];
    }
  return last > 1e4;
}

static PlaStatus
read_labels(const char *path, const PlaBytes *bytes, PlaPhones *out, PlaError *err)
{
  PlaText text, line;
  pla_text_init(&text, bytes);
  /* the header of xwaves ends with a line of its own */
  bool xwaves = false;
  for (PlaText look = text; !xwaves && pla_text_next_line(&look, &line);) {
    const char *word;
    size_t n;
    xwaves = pla_text_word(&line, &word, &n) && n == 1 && *word == '#';
    if (xwaves)
      text = look;
  }
  const double unit = !xwaves && is_htk(text) ? 1e7 : 1.0;
  double before = 0.0;
  PlaStatus st = PLA_OK;
  while (st == PLA_OK && pla_text_next_line(&text, &line)) {
    LabelLine l;
    PlaText rest = line;
    if (pla_text_at_end(&rest))
      continue;
    const int number = line.line;
    if (!parse_label_line(&line, &l))
      return pla_fail(err, PLA_ERR_FORMAT,
                      "%s, line %d: a start, an end and a phoneme are expected here", path, number);
    st = xwaves ? add_label(path, number, before, l.time[0], &l, out, err)
                : add_label(path, number, l.time[0] / unit, l.time[1] / unit, &l, out, err);
    before = l.time[0];
  }
  return st;
}

/* ---- the format ---- */

static bool
probe(const char *path, const uint8_t *head, size_t n_head)
{
  /* UTF-16 has the same letters with zeros between */
  char plain[512];
  size_t n = 0;
  for (size_t i = 0; i < n_head && n < sizeof plain; i++)
    if (head[i] != 0)
      plain[n++] = (char)head[i];
  return n >= 10 && memmem(plain, n, "\"TextGrid\"", 10) != NULL;
}

static PlaStatus
read_phones(const char *path, const PlaReadOptions *opts, PlaItem *out, PlaError *err)
{
  *out = (PlaItem){ .kind = PLA_KIND_PHONES };
  PlaBytes text = { 0 };
  PlaStatus st = read_text(path, opts->progress, &text, err);
  if (st == PLA_OK)
    st = looks_like_grid(&text) ? read_grid(path, &text, opts->tier, &out->phones, &out->notes, err)
                                : read_labels(path, &text, &out->phones, err);
  if (st == PLA_OK && out->phones.n == 0)
    st = pla_fail(err, PLA_ERR_FORMAT, "%s has no phonemes", path);
  pla_bytes_clear(&text);
  if (st != PLA_OK)
    pla_item_clear(out);
  return st;
}

static bool
append_quoted(PlaBytes *bytes, const char *text)
{
  bool ok = pla_bytes_append(bytes, "\"", 1);
  for (; *text && ok; text++)
    ok = pla_bytes_append(bytes, *text == '"' ? "\"\"" : text, *text == '"' ? 2 : 1);
  return ok && pla_bytes_append(bytes, "\"", 1);
}

/* short text form of one tier; gaps become empty intervals, as Praat wants them */
static bool
format_grid(const PlaPhones *phones, PlaBytes *out)
{
  const double first = fmin(0.0, phones->n > 0 ? phones->phone[0].start_s : 0.0);
  const double last = phones->n > 0 ? phones->phone[phones->n - 1].end_s : 0.0;
  int n = 0;
  double at = first;
  for (int i = 0; i < phones->n; i++) {
    n += 1 + (phones->phone[i].start_s > at);
    at = phones->phone[i].end_s;
  }
  char a[32], b[32];
  bool ok = pla_bytes_printf(out,
                             "File type = \"ooTextFile\"\nObject class = \"TextGrid\"\n\n%s\n%s\n"
                             "<exists>\n1\n\"IntervalTier\"\n\"phones\"\n%s\n%s\n%d\n",
                             pla_format_double(first, a), pla_format_double(last, b), a, b, n);
  at = first;
  for (int i = 0; i < phones->n && ok; i++) {
    const PlaPhone *p = &phones->phone[i];
    pla_format_double(p->start_s, a);
    if (p->start_s > at)
      ok = pla_bytes_printf(out, "%s\n%s\n\"\"\n", pla_format_double(at, b), a);
    ok = ok && pla_bytes_printf(out, "%s\n%s\n", a, pla_format_double(p->end_s, b)) &&
         append_quoted(out, p->label) && pla_bytes_append(out, "\n", 1);
    at = p->end_s;
  }
  return ok;
}

/* seconds, in the columns that HTK and label tracks share; a phoneme is one line */
static bool
format_labels(const PlaPhones *phones, PlaBytes *out)
{
  bool ok = true;
  for (int i = 0; i < phones->n && ok; i++) {
    const PlaPhone *p = &phones->phone[i];
    char a[32], b[32];
    ok = pla_bytes_printf(out, "%s\t%s\t", pla_format_double(p->start_s, a),
                          pla_format_double(p->end_s, b));
    for (const char *c = p->label; ok && *c; c++)
      ok = pla_bytes_append(out, *c == '\n' || *c == '\r' ? " " : c, 1);
    ok = ok && pla_bytes_append(out, "\n", 1);
  }
  return ok;
}

static PlaStatus
write_phones(const char *path, const PlaItem *item, const PlaWriteOptions *opts, PlaError *err)
{
  PlaBytes text = { 0 };
  const size_t n = strlen(path);
  const bool grid = n < 4 || strcasecmp(path + n - 4, ".lab") != 0;
  PlaStatus st = (grid ? format_grid(&item->phones, &text) : format_labels(&item->phones, &text))
                     ? pla_output_write(path, text.data, text.size, err)
                     : pla_fail_memory(err, path);
  pla_bytes_clear(&text);
  return st;
}

static const char *const extensions[] = { ".textgrid", ".lab", NULL };

const PlaFormat pla_format_phones = {
  .id = "phones",
  .title = "Phoneme times (TextGrid, HTK, labels)",
  .extensions = extensions,
  .kind = PLA_KIND_PHONES,
  .probe = probe,
  .read = read_phones,
  .write = write_phones,
};
