/* Random numbers that are the same on every machine. */
#pragma once

#include <math.h>
#include <stdint.h>

typedef struct {
  uint64_t state;
} PlaRandom;

static inline PlaRandom
pla_random_start(uint64_t seed)
{
  return (PlaRandom){ seed * 0x9e3779b97f4a7c15u + 0x2545f4914f6cdd1du };
}

/* splitmix64 (S. Vigna) */
static inline uint64_t
pla_random_bits(PlaRandom *self)
{
  uint64_t z = self->state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/* 0 <= x < 1 */
static inline double
pla_random_unit(PlaRandom *self)
{
  return (double)(pla_random_bits(self) >> 11) * 0x1p-53;
}

static inline double
pla_random_range(PlaRandom *self, double from, double to)
{
  return from + (to - from) * pla_random_unit(self);
}

/* 0 .. n - 1 */
static inline long
pla_random_below(PlaRandom *self, long n)
{
  return (long)(pla_random_unit(self) * (double)n);
}

/* mean 0, variance 1 (Box and Muller) */
static inline double
pla_random_normal(PlaRandom *self)
{
  const double u = 1.0 - pla_random_unit(self), v = pla_random_unit(self);
  return sqrt(-2.0 * log(u)) * cos(2.0 * M_PI * v);
}
