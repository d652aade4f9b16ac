/* Open addressing, at most half full. */
#include "anatomy/mesher/vert-table.h"

#include "anatomy/base/memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

bool
pla_vert_table_init(PlaVertTable *t, size_t room)
{
  size_t size = 64;
  while (size < 2 * room)
    size *= 2;
  t->slot = pla_array_new(size, sizeof *t->slot);
  t->mask = size - 1;
  t->n = 0;
  for (size_t i = 0; t->slot && i < size; i++)
    t->slot[i].key[1] = -1;
  return t->slot != NULL;
}

static size_t
table_hash(const int key[3])
{
  uint64_t h = (uint64_t)(unsigned)key[0] * 0x9E3779B97F4A7C15u;
  h = (h ^ h >> 29 ^ (uint64_t)(unsigned)key[1]) * 0xBF58476D1CE4E5B9u;
  h = (h ^ h >> 32 ^ (uint64_t)(unsigned)key[2]) * 0x94D049BB133111EBu;
  return (size_t)(h ^ h >> 31);
}

PlaVertSlot *
pla_vert_table_find(const PlaVertTable *t, const int key[3])
{
  size_t i = table_hash(key) & t->mask;
  while (t->slot[i].key[1] >= 0 && memcmp(t->slot[i].key, key, sizeof t->slot[i].key) != 0)
    i = (i + 1) & t->mask;
  return &t->slot[i];
}

bool
pla_vert_table_add(PlaVertTable *t, const int key[3], PlaVertSlot **slot)
{
  if (2 * (t->n + 1) > t->mask) {
    PlaVertTable larger;
    if (!pla_vert_table_init(&larger, t->mask + 1))
      return false;
    for (size_t i = 0; i <= t->mask; i++)
      if (t->slot[i].key[1] >= 0)
        *pla_vert_table_find(&larger, t->slot[i].key) = t->slot[i];
    larger.n = t->n;
    free(t->slot);
    *t = larger;
  }
  *slot = pla_vert_table_find(t, key);
  if ((*slot)->key[1] < 0) {
    memcpy((*slot)->key, key, 3 * sizeof *key);
    (*slot)->value = -1;
    t->n++;
  }
  return true;
}
