/* Which sound is spoken when: phonemes with their times. */
#pragma once

#include "anatomy/base/status.h"

#include <stdbool.h>

typedef struct {
  double start_s, end_s;
  char *label; /* owned; "" where nothing is said */
} PlaPhone;

/* In the order of time; none overlap. */
typedef struct {
  int n, capacity;
  PlaPhone *phone; /* owned */
} PlaPhones;

void pla_phones_clear(PlaPhones *self);
/* Appends an interval.  One that ends before it starts, starts before the last one ended or has a
 * time that is no number is PLA_ERR_FORMAT, with a sentence that tells its label and times. */
PlaStatus pla_phones_add(PlaPhones *self, double start_s, double end_s, const char *label,
                         PlaError *err);

/* Whether a label stands for silence: empty, or one of the usual signs for it. */
bool pla_phone_is_pause(const char *label);
