/* What is dear to make and comes out the same every time, kept between runs.
 *
 * Files of named arrays in $XDG_CACHE_HOME/platysma (~/.cache/platysma); the variable
 * PLATYSMA_CACHE names another folder, or "none" for keeping nothing.  A cache can only save time:
 * what cannot be read, is damaged or belongs to another key counts as absent, and what cannot be
 * written is left.  So neither function fails.  Nothing of a patient belongs here: such things are
 * items of a case.
 *
 * A key is a text with everything that the result depends on, numbers as "%a" and large inputs as
 * pla_cache_hash().  The program itself is part of it (its bytes, and which kernels it uses), so
 * that a new build never meets what an old one made.  The key is stored beside the arrays and
 * compared.
 *
 * Files are written beside their name and renamed; the least recently used go when all exceed 512
 * MiB. Any thread may call at any time.
 *
 *   g_autofree char *key = g_strdup_printf("tongue cell_mm=%a speaker=%s", cell_mm, hash);
 *   if (pla_cache_read("tongue", key, &arrays)) {
 *     st = tongue_from_arrays(&arrays, &self, NULL);  // still checked: PLA_OK or absent
 *     pla_arrays_clear(&arrays);
 *   }
 *   if (!self) { build; pla_cache_write("tongue", key, array, n); } */
#pragma once

#include "io/store/arrays-file.h"

/* True: what was kept for @key, to be cleared by the caller.  @kind: a short word, a-z and '-'. */
bool pla_cache_read(const char *kind, const char *key, PlaArrays *out);
/* Keeps copies of @array under @key; the name "key" is taken. */
void pla_cache_write(const char *kind, const char *key, const PlaFileArray *array, int n);
/* 32 digits that stand for @size bytes in a key; g_free(). */
char *pla_cache_hash(const void *data, size_t size);

/* A named array of @n_dims 1 or 2 that borrows @data: @width numbers for each of @n. */
PlaFileArray pla_cache_array(const char *name, PlaDType dtype, size_t width, size_t n,
                             const void *data);
