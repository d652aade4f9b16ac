/* Sizes that cannot overflow, and arrays made from them.
 *
 * Arrays for SIMD kernels are 64-byte aligned; everything made here is released by free(). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* *out = a * b (or a + b); false, and *out = SIZE_MAX, when it does not fit. */
bool pla_size_mul(size_t a, size_t b, size_t *out);
bool pla_size_add(size_t a, size_t b, size_t *out);

/* Bytes that can be had without swapping; UINT64_MAX where that is not known. */
uint64_t pla_memory_free(void);

/* n x size bytes, zeroed / not; NULL on overflow or short memory.  n = 0 gives a valid pointer. */
void *pla_array_new0(size_t n, size_t size);
void *pla_array_new(size_t n, size_t size);

/* 64-byte aligned, not zeroed; the allocation is rounded up to a multiple of 64 bytes. */
void *pla_array_new_aligned(size_t n, size_t size);

/* Grows *array (n_old elements kept) to @n_new elements; false leaves *array as it was. */
bool pla_array_resize(void **array, size_t n_new, size_t size);

/* Room in *array (a pointer to any type's pointer) for at least @n elements where there was room
 * for *capacity: half as much again when it must grow.  false leaves both as they were. */
bool pla_array_reserve(void *array, int n, int *capacity, size_t size);

/* A copy of n x size bytes; NULL when @src is NULL or memory is short. */
void *pla_array_dup(const void *src, size_t n, size_t size);

/* A copy of @text; NULL when @text is NULL or memory is short. */
char *pla_strdup(const char *text);

/* printf into a new string; NULL when memory is short. */
char *pla_strdup_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A buffer of bytes that grows as data arrive (by halves, so peak memory stays near the payload).
 * Zero-initialise; free(data) or pla_bytes_clear() at the end. */
typedef struct {
  uint8_t *data;
  size_t size;     /* bytes in use */
  size_t capacity; /* bytes allocated */
} PlaBytes;

bool pla_bytes_reserve(PlaBytes *bytes, size_t capacity); /* false when memory is short */
bool pla_bytes_append(PlaBytes *bytes, const void *data, size_t size);
bool pla_bytes_printf(PlaBytes *bytes, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void pla_bytes_clear(PlaBytes *bytes);
