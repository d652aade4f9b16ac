/* One-sentence errors and notes. */
#include "anatomy/base/status.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* bytes of the printable UTF-8 character at the start of @text; 0: there is none.  Shortest forms
 * only, no surrogates, nothing beyond U+10FFFF (RFC 3629). */
static size_t
character_length(const unsigned char *text)
{
  const unsigned char c = text[0];
  if (c < 0x80)
    return c >= 0x20 && c != 0x7f;
  const size_t n = c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;
  for (size_t i = 1; i < n; i++)
    if ((text[i] & 0xc0) != 0x80) /* the final NUL too */
      return 0;
  const bool wrong = (c == 0xc2 && text[1] < 0xa0) || /* control characters of ISO 8859 */
                     (c == 0xe0 && text[1] < 0xa0) || (c == 0xed && text[1] > 0x9f) ||
                     (c == 0xf0 && text[1] < 0x90) || (c == 0xf4 && text[1] > 0x8f);
  return wrong ? 0 : n;
}

/* keeps terminals, logs and labels safe from bytes that a hostile file put into a name */
static void
clean_sentence(char *text)
{
  for (char *at = text; *at;) {
    const size_t n = character_length((const unsigned char *)at);
    if (n == 0)
      *at = '?';
    at += n ? n : 1;
  }
}

/* cuts a text that did not fit at the start of a UTF-8 character */
static void
cut_at_character(char *text, size_t room)
{
  size_t n = room - 1;
  while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80)
    n--;
  text[n] = '\0';
}

PlaStatus
pla_fail_v(PlaError *err, PlaStatus status, const char *format, va_list args)
{
  if (err) {
    err->status = status;
    int n = vsnprintf(err->message, sizeof err->message, format, args);
    if (n >= (int)sizeof err->message)
      cut_at_character(err->message, sizeof err->message - 1);
    clean_sentence(err->message);
  }
  return status;
}

PlaStatus
pla_fail(PlaError *err, PlaStatus status, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  pla_fail_v(err, status, format, args);
  va_end(args);
  return status;
}

PlaStatus
pla_fail_within(PlaError *err, const char *format, ...)
{
  if (!err)
    return PLA_ERR_IO;
  char inner[sizeof err->message];
  char prefix[sizeof err->message];
  memcpy(inner, err->message, sizeof inner);
  va_list args;
  va_start(args, format);
  vsnprintf(prefix, sizeof prefix, format, args);
  va_end(args);
  return pla_fail(err, err->status, "%s: %s", prefix, inner);
}

PlaStatus
pla_fail_memory(PlaError *err, const char *what)
{
  return pla_fail(err, PLA_ERR_MEMORY,
                  "there is not enough memory for %s; close other programs or use a smaller or "
                  "coarser input",
                  what);
}

void
pla_error_clear(PlaError *err)
{
  if (err) {
    err->status = PLA_OK;
    err->message[0] = '\0';
  }
}

void
pla_notes_add(PlaNotes *notes, const char *format, ...)
{
  if (!notes)
    return;
  char text[1024];
  va_list args;
  va_start(args, format);
  int n = vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (n >= (int)sizeof text)
    cut_at_character(text, sizeof text - 1);
  clean_sentence(text);
  char **grown = realloc(notes->text, (size_t)(notes->n + 1) * sizeof *grown);
  if (!grown)
    return;
  notes->text = grown;
  char *copy = strdup(text);
  if (copy)
    notes->text[notes->n++] = copy;
}

void
pla_notes_clear(PlaNotes *notes)
{
  if (!notes)
    return;
  for (int i = 0; i < notes->n; i++)
    free(notes->text[i]);
  free(notes->text);
  *notes = (PlaNotes){ 0 };
}
