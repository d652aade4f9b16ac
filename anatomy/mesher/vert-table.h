/* A table of numbers keyed by two or three vertices. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct {
  int key[3]; /* rising; -1 fills pairs up; key[1] = -1: free */
  int value;
} PlaVertSlot;

typedef struct {
  PlaVertSlot *slot; /* free() */
  size_t mask, n;
} PlaVertTable;

bool pla_vert_table_init(PlaVertTable *t, size_t room); /* false: no memory */
/* The slot of a key, free or not. */
PlaVertSlot *pla_vert_table_find(const PlaVertTable *t, const int key[3]);
/* *slot is where @key stands or now begins to, with value -1; false: no memory. */
bool pla_vert_table_add(PlaVertTable *t, const int key[3], PlaVertSlot **slot);

static inline void
pla_sort3(int v[3])
{
  for (int i = 0; i < 3; i++) {
    const int j = i == 1 ? 1 : 0; /* 0-1, 1-2, 0-1 */
    if (v[j] > v[j + 1]) {
      const int swap = v[j];
      v[j] = v[j + 1];
      v[j + 1] = swap;
    }
  }
}
