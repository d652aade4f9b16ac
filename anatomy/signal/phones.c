/* Phonemes with their times. */
#include "anatomy/signal/phones.h"

#include "anatomy/base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <strings.h>

void
pla_phones_clear(PlaPhones *self)
{
  for (int i = 0; i < self->n; i++)
    free(self->phone[i].label);
  free(self->phone);
  *self = (PlaPhones){ 0 };
}

PlaStatus
pla_phones_add(PlaPhones *self, double start_s, double end_s, const char *label, PlaError *err)
{
  if (!isfinite(start_s) || !isfinite(end_s) || end_s < start_s)
    return pla_fail(err, PLA_ERR_FORMAT,
                    "\"%s\" lasts from %g s to %g s; an interval must end after its start", label,
                    start_s, end_s);
  if (self->n > 0 && start_s < self->phone[self->n - 1].end_s)
    return pla_fail(err, PLA_ERR_FORMAT,
                    "\"%s\" starts at %g s, before \"%s\" has ended at %g s; phonemes must follow "
                    "each other",
                    label, start_s, self->phone[self->n - 1].label, self->phone[self->n - 1].end_s);
  char *copy = pla_strdup(label);
  if (!copy ||
      !pla_array_reserve(&self->phone, self->n + 1, &self->capacity, sizeof *self->phone)) {
    free(copy);
    return pla_fail_memory(err, "the phonemes");
  }
  self->phone[self->n++] = (PlaPhone){ .start_s = start_s, .end_s = end_s, .label = copy };
  return PLA_OK;
}

bool
pla_phone_is_pause(const char *label)
{
  /* Praat, HTK, Festival, TIMIT, Montreal aligner, eSpeak */
  static const char *const signs[] = { "",    "sil", "sp", "spn",     "pau",      "pause",
                                       "h#",  "#",   "_",  "_:",      "<sil>",    "<p:>",
                                       "epi", "SIL", "-",  "silence", "{silence}" };
  for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
    if (strcasecmp(label, signs[i]) == 0)
      return true;
  return false;
}
