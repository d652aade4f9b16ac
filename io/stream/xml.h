/* A small, strict pull parser for the XML that data files use.
 *
 * Elements, attributes, text, CDATA, comments, processing instructions and the five standard
 * entities with numeric references.  No document types with contents, so no entities that grow;
 * tags must nest.  Nothing is kept but the current tag and the names of the open elements, and
 * every byte is looked at once.
 *
 * A library such as expat cannot stand here: the appended section of a VTU file holds raw bytes,
 * so the file is not XML from there on, and the arrays between two tags (hundreds of megabytes) are
 * decoded straight from the reader, which must stand right behind the tag.  A push parser takes
 * these bytes itself. */
#pragma once

#include "io/stream/reader.h"

enum {
  PLA_XML_MAX_DEPTH = 64,      /* open elements */
  PLA_XML_MAX_NAME = 127,      /* bytes of an element's name */
  PLA_XML_MAX_ATTRIBUTES = 64, /* of one element */
  PLA_XML_MAX_TAG = 32768,     /* bytes of one tag, attributes included */
};

typedef enum {
  PLA_XML_START, /* <name ...>; <name/> gives a start and an end */
  PLA_XML_END,   /* </name> */
  PLA_XML_DONE,  /* the end of the outermost element */
} PlaXmlEvent;

typedef struct {
  PlaReader *reader; /* borrowed; stands right behind the last tag after each event */
  int depth;         /* open elements, the current one included until its end was reported */
  bool empty;        /* the current element is <name/>: its end comes next */
  char name[PLA_XML_MAX_DEPTH][PLA_XML_MAX_NAME + 1]; /* of the open elements, outermost first */
  int n_attributes;
  const char *attribute[PLA_XML_MAX_ATTRIBUTES], *value[PLA_XML_MAX_ATTRIBUTES];
  char tag[PLA_XML_MAX_TAG + 1]; /* holds both, unescaped */
} PlaXml;

/* About 48 KiB, so on the heap; free() by the caller.  NULL when memory is short. */
PlaXml *pla_xml_new(PlaReader *reader);

/* The next tag, text before it skipped.  PLA_ERR_FORMAT with the line where the file is not well
 * formed or exceeds a limit. */
PlaStatus pla_xml_next(PlaXml *self, PlaXmlEvent *event, PlaError *err);
/* The name of the current element; of the one @up levels above it. */
const char *pla_xml_name(const PlaXml *self, int up);
/* Value of an attribute of the element that started last; NULL when it has none so named. */
const char *pla_xml_attribute(const PlaXml *self, const char *name);
/* Appends the text between here and the next tag, unescaped, at most @max bytes of it, and a NUL
 * that is not counted. */
PlaStatus pla_xml_text(PlaXml *self, size_t max, PlaBytes *out, PlaError *err);

/* Appends @text with & < > " and control characters escaped; false when memory is short. */
bool pla_xml_escape(const char *text, PlaBytes *out);
