/* A strict pull parser. */
#include "io/stream/xml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

PlaXml *
pla_xml_new(PlaReader *reader)
{
  PlaXml *self = pla_array_new(1, sizeof *self);
  if (self) {
    self->reader = reader;
    self->depth = 0;
    self->empty = false;
    self->n_attributes = 0;
  }
  return self;
}

const char *
pla_xml_name(const PlaXml *self, int up)
{
  return self->depth > up ? self->name[self->depth - 1 - up] : "";
}

const char *
pla_xml_attribute(const PlaXml *self, const char *name)
{
  for (int i = 0; i < self->n_attributes; i++)
    if (strcmp(self->attribute[i], name) == 0)
      return self->value[i];
  return NULL;
}

static bool
starts_with(PlaReader *reader, const char *mark)
{
  size_t n = strlen(mark);
  return pla_reader_fill(reader, n) >= n && memcmp(reader->at, mark, n) == 0;
}

/* the UTF-8 form of a character; 0 for one that XML does not allow */
static size_t
put_character(uint32_t c, char *out)
{
  if (c == 0 || (c < 0x20 && c != '\t' && c != '\n' && c != '\r') || (c >= 0xd800 && c < 0xe000) ||
      c > 0x10ffff)
    return 0;
  if (c < 0x80) {
    out[0] = (char)c;
    return 1;
  }
  size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  static const uint8_t lead[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
  for (size_t i = n - 1; i > 0; i--, c >>= 6)
    out[i] = (char)(0x80 | (c & 0x3f));
  out[0] = (char)(lead[n] | c);
  return n;
}

/* the reference at [at, end), which starts with '&': its text in @out (4 bytes), its length in
 * @n_out; returns where it ended, or NULL */
static const char *
read_reference(const char *at, const char *end, char *out, size_t *n_out)
{
  static const struct {
    const char *name;
    char c;
  } known[] = {
    { "&lt;", '<' }, { "&gt;", '>' }, { "&amp;", '&' }, { "&quot;", '"' }, { "&apos;", '\'' }
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    size_t n = strlen(known[i].name);
    if ((size_t)(end - at) >= n && memcmp(at, known[i].name, n) == 0) {
      out[0] = known[i].c;
      *n_out = 1;
      return at + n;
    }
  }
  if (end - at < 4 || at[1] != '#')
    return NULL;
  bool hex = at[2] == 'x';
  const char *p = at + (hex ? 3 : 2);
  uint32_t c = 0;
  int digits = 0;
  for (; p < end && *p != ';' && digits < 8; p++, digits++) {
    int d = *p >= '0' && *p <= '9'                        ? *p - '0'
            : hex && (*p | 32) >= 'a' && (*p | 32) <= 'f' ? (*p | 32) - 'a' + 10
                                                          : -1;
    if (d < 0)
      return NULL;
    c = c * (hex ? 16u : 10u) + (uint32_t)d;
  }
  *n_out = digits > 0 && p < end && *p == ';' ? put_character(c, out) : 0;
  return *n_out > 0 ? p + 1 : NULL;
}

/* resolves references within [text, end) in place and ends it with NUL; false for a broken one */
static bool
unescape(char *text, char *end)
{
  const char *from = memchr(text, '&', (size_t)(end - text));
  if (!from) {
    *end = '\0';
    return true;
  }
  char *to = text + (from - text);
  while (from < end) {
    if (*from != '&') {
      *to++ = *from++;
      continue;
    }
    char c[4];
    size_t n;
    from = read_reference(from, end, c, &n);
    if (!from)
      return false;
    memcpy(to, c, n); /* never longer than the reference */
    to += n;
  }
  *to = '\0';
  return true;
}

static bool
is_blank(char c)
{
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool
is_name(char c)
{
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == ':' || c == '-' || c == '.' || (unsigned char)c >= 0x80;
}

/* splits [at, end) into attributes */
static bool
split_attributes(PlaXml *self, char *at, char *end)
{
  self->n_attributes = 0;
  for (;;) {
    char *before = at;
    while (at < end && is_blank(*at))
      at++;
    if (at == end)
      return true;
    if (at == before || self->n_attributes == PLA_XML_MAX_ATTRIBUTES)
      return false;
    char *name = at;
    while (at < end && is_name(*at))
      at++;
    char *name_end = at;
    while (at < end && is_blank(*at))
      at++;
    if (name_end == name || at == end || *at++ != '=')
      return false;
    while (at < end && is_blank(*at))
      at++;
    if (at == end || (*at != '"' && *at != '\''))
      return false;
    char quote = *at++;
    char *value = at;
    at = memchr(value, quote, (size_t)(end - value));
    if (!at || memchr(value, '<', (size_t)(at - value)) || !unescape(value, at))
      return false;
    at++;
    *name_end = '\0';
    self->attribute[self->n_attributes] = name;
    self->value[self->n_attributes++] = value;
  }
}

/* the tag at '<' up to its '>' outside quotes, copied without both; the length, or -1 */
static ptrdiff_t
copy_tag(PlaXml *self)
{
  PlaReader *reader = self->reader;
  size_t ready = pla_reader_fill(reader, PLA_XML_MAX_TAG + 2);
  ready = ready < PLA_XML_MAX_TAG + 2 ? ready : PLA_XML_MAX_TAG + 2;
  char quote = 0;
  for (size_t i = 1; i < ready; i++) {
    char c = (char)reader->at[i];
    if (quote ? c == quote : c == '"' || c == '\'')
      quote = quote ? 0 : c;
    if (c == '>' && !quote) {
      memcpy(self->tag, reader->at + 1, i - 1);
      self->tag[i - 1] = '\0';
      for (size_t k = 0; k < i; k++)
        reader->line += reader->at[k] == '\n';
      reader->at += i + 1;
      return (ptrdiff_t)i - 1;
    }
  }
  return -1;
}

static PlaStatus
start_element(PlaXml *self, size_t length, PlaError *err)
{
  self->empty = length > 0 && self->tag[length - 1] == '/';
  length -= self->empty;
  size_t n = 0;
  while (n < length && is_name(self->tag[n]))
    n++;
  if (n == 0 || n > PLA_XML_MAX_NAME)
    return pla_reader_fail_line(self->reader, err, "a tag without a proper name; correct the file");
  if (self->depth == PLA_XML_MAX_DEPTH)
    return pla_reader_fail_line(self->reader, err, "elements are nested more than %d deep",
                                PLA_XML_MAX_DEPTH);
  char *name = self->name[self->depth++];
  memcpy(name, self->tag, n);
  name[n] = '\0';
  if (!split_attributes(self, self->tag + n, self->tag + length))
    return pla_reader_fail_line(self->reader, err,
                                "the attributes of <%s> are malformed; correct the file", name);
  return PLA_OK;
}

/* passes everything that is neither a start nor an end tag */
static PlaStatus
skip_to_tag(PlaXml *self, PlaError *err)
{
  PlaReader *reader = self->reader;
  for (;;) {
    if (!pla_reader_find(reader, '<'))
      return self->depth > 0
                 ? pla_reader_fail_line(reader, err, "the file ends inside <%s>; copy it again",
                                        pla_xml_name(self, 0))
                 : pla_reader_fail_line(reader, err, "there is no XML element");
    bool ok = true;
    if (starts_with(reader, "<!--")) {
      ok = pla_reader_skip_past(reader, "-->");
    } else if (starts_with(reader, "<![CDATA[")) {
      ok = self->depth > 0 && pla_reader_skip_past(reader, "]]>");
    } else if (starts_with(reader, "<?")) {
      ok = pla_reader_skip_past(reader, "?>");
    } else if (starts_with(reader, "<!")) {
      ptrdiff_t n = self->depth == 0 ? copy_tag(self) : -1;
      ok = n >= 0 && !memchr(self->tag, '[', (size_t)n);
    } else {
      return PLA_OK;
    }
    if (!ok)
      return pla_reader_fail_line(reader, err,
                                  "a comment, instruction or document type is unfinished or not "
                                  "of a kind that data files need");
  }
}

PlaStatus
pla_xml_next(PlaXml *self, PlaXmlEvent *event, PlaError *err)
{
  *event = PLA_XML_END;
  if (self->empty) { /* the end of <name/> */
    self->empty = false;
    self->depth--;
    if (self->depth == 0)
      *event = PLA_XML_DONE;
    return PLA_OK;
  }
  PlaStatus st = skip_to_tag(self, err);
  if (st != PLA_OK)
    return st;
  ptrdiff_t length = copy_tag(self);
  if (length < 0)
    return pla_reader_fail_line(self->reader, err,
                                "a tag does not end within %d bytes; copy the file again",
                                PLA_XML_MAX_TAG);
  if (self->tag[0] != '/') {
    *event = PLA_XML_START;
    return start_element(self, (size_t)length, err);
  }
  while (length > 1 && is_blank(self->tag[length - 1]))
    self->tag[--length] = '\0';
  if (self->depth == 0 || strcmp(self->tag + 1, pla_xml_name(self, 0)) != 0)
    return pla_reader_fail_line(self->reader, err, "<%.60s> closes <%s>; correct the file",
                                self->tag, pla_xml_name(self, 0));
  self->depth--;
  if (self->depth == 0)
    *event = PLA_XML_DONE;
  return PLA_OK;
}

/* appends [at, at + n) unless that exceeds @max in all */
static PlaStatus
append_text(PlaXml *self, const void *at, size_t n, size_t max, PlaBytes *out, PlaError *err)
{
  if (n > max || out->size > max - n)
    return pla_reader_fail_line(self->reader, err, "the text of <%s> is longer than %zu bytes",
                                pla_xml_name(self, 0), max);
  return pla_bytes_append(out, at, n) ? PLA_OK : pla_fail_memory(err, self->reader->path);
}

PlaStatus
pla_xml_text(PlaXml *self, size_t max, PlaBytes *out, PlaError *err)
{
  PlaReader *reader = self->reader;
  PlaStatus st = PLA_OK;
  while (st == PLA_OK && !self->empty && pla_reader_fill(reader, 16) > 0) {
    if (*reader->at == '<') {
      if (starts_with(reader, "<!--")) {
        if (!pla_reader_skip_past(reader, "-->"))
          st = pla_reader_fail_line(reader, err, "a comment has no end");
      } else if (starts_with(reader, "<![CDATA[")) {
        reader->at += 9;
        while (st == PLA_OK && !starts_with(reader, "]]>")) {
          if (pla_reader_fill(reader, 1) == 0) {
            st = pla_reader_fail_line(reader, err, "a CDATA section has no end");
            break;
          }
          reader->line += *reader->at == '\n';
          st = append_text(self, reader->at, 1, max, out, err);
          reader->at++;
        }
        if (st == PLA_OK)
          reader->at += 3;
      } else {
        break;
      }
    } else if (*reader->at == '&') {
      char c[4];
      size_t n;
      const char *at = (const char *)reader->at;
      const char *stop = read_reference(at, (const char *)reader->end, c, &n);
      if (!stop) {
        st =
            pla_reader_fail_line(reader, err, "an '&' starts no known reference; correct the file");
      } else {
        st = append_text(self, c, n, max, out, err);
        reader->at += stop - at;
      }
    } else {
      /* plain text up to the next mark */
      const uint8_t *stop = reader->at;
      while (stop < reader->end && *stop != '<' && *stop != '&') {
        reader->line += *stop == '\n';
        stop++;
      }
      st = append_text(self, reader->at, (size_t)(stop - reader->at), max, out, err);
      reader->at = stop;
    }
  }
  if (st == PLA_OK) {
    if (!pla_bytes_append(out, "", 1))
      return pla_fail_memory(err, reader->path);
    out->size--;
  }
  return st;
}

bool
pla_xml_escape(const char *text, PlaBytes *out)
{
  bool ok = true;
  for (; *text && ok; text++) {
    unsigned char c = (unsigned char)*text;
    if (c == '&' || c == '<' || c == '>' || c == '"' || c == '\t' || c == '\n' || c == '\r')
      ok = pla_bytes_printf(out, "&#%d;", c);
    else if (c < 0x20) /* XML has no way to say these */
      ok = pla_bytes_append(out, "?", 1);
    else
      ok = pla_bytes_append(out, &c, 1);
  }
  return ok;
}
