/* XML property lists as flat paths. */
#include "io/formats/plist.h"

#include "anatomy/base/memory.h"
#include "io/stream/source.h"
#include "io/stream/xml.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  MAX_DEPTH = 16,      /* dictionaries and arrays inside each other */
  MAX_ENTRIES = 65536, /* values in one list */
  MAX_PATH = 512,      /* bytes of joined keys */
  MAX_TEXT = 65536,    /* bytes of one value */
};

typedef struct {
  PlaXml *xml;
  PlaPlist *list;
  char path[MAX_PATH];
} Parser;

void
pla_plist_clear(PlaPlist *self)
{
  for (int i = 0; i < self->n; i++) {
    free(self->entry[i].path);
    free(self->entry[i].text);
  }
  free(self->entry);
  *self = (PlaPlist){ 0 };
}

static PlaStatus
add_entry(Parser *p, const char *text, PlaError *err)
{
  PlaPlist *list = p->list;
  if (list->n >= MAX_ENTRIES)
    return pla_reader_fail_line(p->xml->reader, err, "the list has more than %d values",
                                MAX_ENTRIES);
  if ((list->n & (list->n - 1)) == 0) { /* grow at powers of two */
    void *grown = list->entry;
    if (!pla_array_resize(&grown, list->n ? 2 * (size_t)list->n : 1, sizeof *list->entry))
      return pla_fail_memory(err, "a property list");
    list->entry = grown;
  }
  PlaPlistEntry entry = { pla_strdup(p->path), pla_strdup(text) };
  list->entry[list->n++] = entry;
  return entry.path && entry.text ? PLA_OK : pla_fail_memory(err, "a property list");
}

/* the text of the element that has just started, up to and with its end */
static PlaStatus
element_text(Parser *p, PlaBytes *text, PlaError *err)
{
  PlaXmlEvent event = PLA_XML_START;
  PlaStatus st = pla_xml_text(p->xml, MAX_TEXT, text, err);
  if (st == PLA_OK)
    st = pla_xml_next(p->xml, &event, err);
  if (st == PLA_OK && event == PLA_XML_START)
    st = pla_reader_fail_line(p->xml->reader, err, "a value holds the element <%s>",
                              pla_xml_name(p->xml, 0));
  return st;
}

/* appends "/@key" to the path; false when it grows too long */
static bool
path_push(Parser *p, const char *key)
{
  size_t n = strlen(p->path), m = strlen(key);
  if (n + m + 2 > sizeof p->path)
    return false;
  snprintf(p->path + n, sizeof p->path - n, "%s%s", n ? "/" : "", key);
  return true;
}

static PlaStatus parse_value(Parser *p, int depth, PlaError *err);

/* the entries of the <dict> or <array> that has just started */
static PlaStatus
parse_container(Parser *p, bool is_dict, int depth, PlaError *err)
{
  PlaReader *reader = p->xml->reader;
  const size_t length = strlen(p->path);
  PlaBytes key = { 0 };
  PlaStatus st =
      depth < MAX_DEPTH
          ? PLA_OK
          : pla_reader_fail_line(reader, err, "the list nests deeper than %d", MAX_DEPTH);
  for (int i = 0; st == PLA_OK; i++) {
    PlaXmlEvent event;
    st = pla_xml_next(p->xml, &event, err);
    if (st != PLA_OK || event != PLA_XML_START)
      break;
    key.size = 0;
    if (!is_dict) {
      if (!pla_bytes_printf(&key, "%d", i))
        st = pla_fail_memory(err, "a property list");
    } else if (strcmp(pla_xml_name(p->xml, 0), "key") != 0) {
      st = pla_reader_fail_line(reader, err, "a dictionary has <%s> where a key belongs",
                                pla_xml_name(p->xml, 0));
    } else {
      st = element_text(p, &key, err);
      if (st == PLA_OK)
        st = pla_xml_next(p->xml, &event, err);
      if (st == PLA_OK && event != PLA_XML_START)
        st =
            pla_reader_fail_line(reader, err, "the key %.60s has no value", (const char *)key.data);
    }
    if (st == PLA_OK && !path_push(p, (const char *)key.data))
      st = pla_reader_fail_line(reader, err, "the keys are longer than %d bytes", MAX_PATH);
    if (st == PLA_OK)
      st = parse_value(p, depth + 1, err);
    p->path[length] = '\0';
  }
  pla_bytes_clear(&key);
  return st;
}

/* the value whose element has just started, up to and with its end */
static PlaStatus
parse_value(Parser *p, int depth, PlaError *err)
{
  const char *name = pla_xml_name(p->xml, 0);
  bool is_dict = strcmp(name, "dict") == 0;
  if (is_dict || strcmp(name, "array") == 0)
    return parse_container(p, is_dict, depth, err);

  bool is_bool = strcmp(name, "true") == 0 || strcmp(name, "false") == 0;
  static const char *const kinds[] = { "string", "integer", "real", "date", "data" };
  bool known = is_bool;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    known |= strcmp(name, kinds[i]) == 0;
  if (!known)
    return pla_reader_fail_line(p->xml->reader, err, "<%s> is no value of a property list", name);
  char word[8];
  snprintf(word, sizeof word, "%s", is_bool ? name : "");
  PlaBytes text = { 0 };
  PlaStatus st = element_text(p, &text, err);
  if (st == PLA_OK)
    st = add_entry(p, is_bool ? word : (const char *)text.data, err);
  pla_bytes_clear(&text);
  return st;
}

PlaStatus
pla_plist_parse(const char *name, const void *data, size_t size, PlaPlist *out, PlaError *err)
{
  *out = (PlaPlist){ 0 };
  if (size >= 8 && memcmp(data, "bplist00", 8) == 0)
    return pla_fail(err, PLA_ERR_UNSUPPORTED,
                    "%s is a binary property list; save the project again with a current program",
                    name);
  PlaReader reader;
  pla_reader_open_memory(&reader, name, data, size);
  Parser p = { .xml = pla_xml_new(&reader), .list = out };
  PlaXmlEvent event;
  PlaStatus st = p.xml ? pla_xml_next(p.xml, &event, err) : pla_fail_memory(err, name);
  if (st == PLA_OK && strcmp(pla_xml_name(p.xml, 0), "plist") != 0)
    st = pla_reader_fail_line(&reader, err, "<%s> begins no property list", pla_xml_name(p.xml, 0));
  if (st == PLA_OK)
    st = pla_xml_next(p.xml, &event, err);
  if (st == PLA_OK && event != PLA_XML_START)
    st = pla_reader_fail_line(&reader, err, "the property list is empty");
  if (st == PLA_OK)
    st = parse_value(&p, 0, err);
  free(p.xml);
  pla_reader_close(&reader);
  if (st != PLA_OK)
    pla_plist_clear(out);
  return st;
}

const char *
pla_plist_text(const PlaPlist *self, const char *path)
{
  for (int i = 0; i < self->n; i++)
    if (strcmp(self->entry[i].path, path) == 0)
      return self->entry[i].text;
  return NULL;
}

bool
pla_plist_double(const PlaPlist *self, const char *path, double *out)
{
  const char *text = pla_plist_text(self, path);
  const char *end = text ? text + strlen(text) : NULL;
  double value;
  if (!text || pla_parse_double(text, end, &value) != end || !isfinite(value))
    return false;
  *out = value;
  return true;
}

bool
pla_plist_int(const PlaPlist *self, const char *path, int *out)
{
  double value;
  if (!pla_plist_double(self, path, &value) || value != floor(value) || value < INT_MIN ||
      value > INT_MAX)
    return false;
  *out = (int)value;
  return true;
}
