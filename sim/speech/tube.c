/* Chain matrices with losses (M. M. Sondhi and J. Schroeter, 1987) and travelling waves.
 *
 * A section of area A, perimeter S = 2 sqrt(pi A), length l, for each metre of it
 *   Z = j w rho / A + (S / A^2) sqrt(w rho mu / 2)                        inertia, friction
 *   Y = j w A / (rho c^2) + S (g - 1) / (rho c^2) sqrt(K w / (2 cp rho)) + S / (r + j w m)
 *                                                                         spring, heat, wall
 * maps pressure and flow at its end to those at its start by [cosh gl, z sinh gl; sinh gl / z, cosh
 * gl] with g = sqrt(Z Y), z = sqrt(Z / Y): even functions of both roots, so power series in Z Y l^2
 * where that is small.  With the load P = R U at the lips, U_lips / U_glottis is 1 / (C R + D).
 *
 * The travelling waves are pressures times the root of the area they run in: their squares are the
 * energy, which a moving wall then neither makes nor loses. */
#include "sim/speech/tube.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static const double viscosity = 1.86e-5; /* kg/(m s) */
static const double heat_ratio = 1.4;
static const double conduction = 0.0262;                         /* W/(m K) */
static const double heat_capacity = 1004.0;                      /* J/(kg K) */
static const double wall_resistance = 16000.0, wall_mass = 15.0; /* kg/(m^2 s), kg/m^2 */
static const double least_area = 1e-7;                           /* m^2: a closed section */

static double complex
radiation(double area, double w)
{
  const double ka = w / PLA_SOUND_SPEED * sqrt(area / M_PI);
  return PLA_AIR_DENSITY * PLA_SOUND_SPEED / area * (0.5 * ka * ka + I * 8.0 * ka / (3.0 * M_PI));
}

/* a complex number whose products are four plain ones: the compiler's own look for infinities */
typedef struct {
  double re, im;
} Number;

static inline Number
times(Number a, Number b)
{
  return (Number){ a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re };
}

static inline Number
plus(Number a, Number b)
{
  return (Number){ a.re + b.re, a.im + b.im };
}

/* cosh sqrt(p) and sinh sqrt(p) / sqrt(p) */
static void
hyperbolic(Number p, Number *ch, Number *sh)
{
  enum { TERMS = 8 }; /* the ninth is below 1e-16 of the sum */
  if (p.re * p.re + p.im * p.im > 0.25) {
    const double complex root = csqrt(p.re + I * p.im), c = ccosh(root), s = csinh(root) / root;
    *ch = (Number){ creal(c), cimag(c) };
    *sh = (Number){ creal(s), cimag(s) };
    return;
  }
  *ch = *sh = (Number){ 1.0, 0.0 };
  for (int k = TERMS; k > 0; k--) {
    const double even = 1.0 / ((2 * k - 1) * (2 * k)), odd = 1.0 / ((2 * k) * (2 * k + 1));
    *ch = times(p, *ch);
    *sh = times(p, *sh);
    *ch = (Number){ 1.0 + even * ch->re, even * ch->im };
    *sh = (Number){ 1.0 + odd * sh->re, odd * sh->im };
  }
}

double complex
pla_tube_transfer(const PlaTube *tube, const PlaTubeOptions *opts, double hz)
{
  const double w = 2.0 * M_PI * hz, c = PLA_SOUND_SPEED, rho = PLA_AIR_DENSITY;
  /* per unit of perimeter: friction, heat, and the wall, whose impedance is r + j w m */
  const double wall2 = wall_resistance * wall_resistance + w * w * wall_mass * wall_mass;
  const double friction = opts->losses ? sqrt(0.5 * w * rho * viscosity) : 0.0;
  const Number give = {
    opts->losses
        ? (heat_ratio - 1.0) / (rho * c * c) * sqrt(conduction * w / (2.0 * heat_capacity * rho)) +
              wall_resistance / wall2
        : 0.0,
    opts->losses ? -w * wall_mass / wall2 : 0.0,
  };
  /* only the second row of the product is needed, from the glottis on */
  Number bottom[2] = { { 0.0, 0.0 }, { 1.0, 0.0 } };
  for (int i = 0; i < tube->n; i++) {
    const double a = fmax(tube->area[i], least_area), s = 2.0 * sqrt(M_PI * a), l = tube->length[i];
    const Number z = { l * s / (a * a) * friction, l * w * rho / a };
    const Number y = { l * s * give.re, l * (w * a / (rho * c * c) + s * give.im) };
    Number ch, sh;
    hyperbolic(times(z, y), &ch, &sh);
    const Number first = plus(times(bottom[0], ch), times(bottom[1], times(y, sh)));
    bottom[1] = plus(times(bottom[0], times(z, sh)), times(bottom[1], ch));
    bottom[0] = first;
  }
  const double end = fmax(tube->area[tube->n - 1], least_area);
  const double complex flow = bottom[0].re + I * bottom[0].im,
                       load = opts->radiation ? radiation(end, w) : 0.0;
  return 1.0 / (flow * load + bottom[1].re + I * bottom[1].im);
}

static double
modulus(const PlaTube *tube, const PlaTubeOptions *opts, double hz)
{
  return cabs(pla_tube_transfer(tube, opts, hz));
}

int
pla_tube_formants(const PlaTube *tube, const PlaTubeOptions *opts, double most_hz, int n_max,
                  double *hz)
{
  const double step = 20.0, golden = 0.6180339887498949; /* Hz: peaks are far wider apart */
  double before = modulus(tube, opts, step), here = modulus(tube, opts, 2.0 * step);
  int n = 0;
  for (double f = 2.0 * step; f < most_hz && n < n_max; f += step) {
    const double after = modulus(tube, opts, f + step);
    if (here > before && here >= after) {
      /* golden section between the neighbours */
      double lo = f - step, hi = f + step, a = hi - golden * (hi - lo), b = lo + golden * (hi - lo);
      double at_a = modulus(tube, opts, a), at_b = modulus(tube, opts, b);
      while (hi - lo > 0.05)
        if (at_a > at_b) {
          hi = b;
          b = a;
          at_b = at_a;
          a = hi - golden * (hi - lo);
          at_a = modulus(tube, opts, a);
        } else {
          lo = a;
          a = b;
          at_a = at_b;
          b = lo + golden * (hi - lo);
          at_b = modulus(tube, opts, b);
        }
      hz[n++] = 0.5 * (lo + hi);
    }
    before = here;
    here = after;
  }
  return n;
}

/* ---- waves */

/* from the velum to the nostrils, m^2, in sections as long as the tract's; after J. Dang and
 * K. Honda's order of size, written from memory */
static const double nasal_area[PLA_NASAL_SECTIONS] = {
  1.5e-4, 2.2e-4, 2.9e-4, 3.4e-4, 3.6e-4, 3.6e-4, 3.4e-4, 3.1e-4, 2.8e-4, 2.6e-4,
  2.4e-4, 2.2e-4, 2.1e-4, 2.0e-4, 1.9e-4, 1.7e-4, 1.5e-4, 1.3e-4, 1.2e-4,
};

void
pla_waves_init(PlaWaves *self, double length_m)
{
  memset(self, 0, sizeof *self);
  self->rate_hz = PLA_SOUND_SPEED * PLA_WAVE_SECTIONS / length_m;
}

/* An open end sends a part of the wave back: its sign turned, highs let out.  A first-order filter
 * stands for the piston in a sphere: corner where ka is about 1. */
static double
open_share(double area, double rate_hz)
{
  const double radius = sqrt(fmax(area, least_area) / M_PI);
  const double corner = PLA_SOUND_SPEED / (2.0 * M_PI * radius);
  return 1.0 - exp(-2.0 * M_PI * corner / rate_hz);
}

/* what two tubes do to waves normalised by the root of their area: a rotation */
static void
join(double s, double t, double *back, double *through)
{
  *back = (s - t) / (s + t);
  *through = 2.0 * sqrt(s * t) / (s + t);
}

void
pla_waves_set(PlaWaves *self, const PlaWaveShape *shape)
{
  enum { N = PLA_WAVE_SECTIONS, M = PLA_NASAL_SECTIONS };
  PlaWaveJoints *j = &self->joints;
  double a[N];
  for (int i = 0; i < N; i++) {
    a[i] = fmax(shape->area[i], least_area);
    j->root[i] = sqrt(a[i]);
    /* narrow sections lose more: friction goes as perimeter over area */
    j->keep[i] =
        self->lossless ? 1.0 : 1.0 - 2.2e-5 / sqrt(fmax(a[i], 5e-6)) * (64000.0 / self->rate_hz);
  }
  for (int i = 1; i < N; i++)
    join(a[i - 1], a[i], &j->back[i], &j->through[i]);
  j->velum = self->lossless ? 0.0 : fmax(shape->velum, 0.0);
  j->root_velum = sqrt(j->velum);
  for (int i = 1; i < M; i++)
    join(i == 1 ? fmax(j->velum, least_area) : nasal_area[i - 1], nasal_area[i], &j->nose_back[i],
         &j->nose_through[i]);
  j->lip_share = open_share(a[N - 1], self->rate_hz);
  j->nose_share = open_share(nasal_area[M - 1], self->rate_hz);
}

double
pla_waves_step(PlaWaves *self, double glottis, double noise, int noise_section)
{
  enum { N = PLA_WAVE_SECTIONS, M = PLA_NASAL_SECTIONS, V = PLA_VELUM_SECTION };
  const double rho_c = PLA_AIR_DENSITY * PLA_SOUND_SPEED;
  const PlaWaveJoints *j = &self->joints;
  double right[N], left[N]; /* waves that leave the junctions */
  /* the glottis gives a flow and returns most of what comes */
  right[0] = glottis * rho_c / j->root[0] + (self->lossless ? 1.0 : 0.9) * self->backward[0];
  for (int i = 1; i < N; i++) {
    const double from = self->forward[i - 1], against = self->backward[i];
    right[i] = j->through[i] * from - j->back[i] * against;
    left[i - 1] = j->back[i] * from + j->through[i] * against;
  }

  /* three tubes meet at the velum: pressure is common, flows add to nothing */
  double nose_right[M], nose_left[M];
  nose_right[0] = self->nose_backward[0];
  if (j->velum > 0.0) {
    const double s = j->root[V - 1], t = j->root[V], u = j->root_velum;
    const double p =
        2.0 * (s * self->forward[V - 1] + t * self->backward[V] + u * self->nose_backward[0]) /
        (s * s + t * t + j->velum);
    left[V - 1] = s * p - self->forward[V - 1];
    right[V] = t * p - self->backward[V];
    nose_right[0] = u * p - self->nose_backward[0];
  }
  if (noise_section >= 0 && noise_section < N)
    right[noise_section] += noise * j->root[noise_section];
  self->lip_load += j->lip_share * (-0.97 * self->forward[N - 1] - self->lip_load);
  left[N - 1] = self->lossless ? -self->forward[N - 1] : self->lip_load;
  const double lips = (self->forward[N - 1] - left[N - 1]) * j->root[N - 1] / rho_c;

  for (int i = 1; i < M; i++) {
    const double from = self->nose_forward[i - 1], against = self->nose_backward[i];
    nose_right[i] = j->nose_through[i] * from - j->nose_back[i] * against;
    nose_left[i - 1] = j->nose_back[i] * from + j->nose_through[i] * against;
  }
  self->nose_load += j->nose_share * (-0.97 * self->nose_forward[M - 1] - self->nose_load);
  nose_left[M - 1] = self->nose_load;
  const double nose =
      (self->nose_forward[M - 1] - nose_left[M - 1]) * sqrt(nasal_area[M - 1]) / rho_c;

  for (int i = 0; i < N; i++) {
    self->forward[i] = j->keep[i] * right[i];
    self->backward[i] = j->keep[i] * left[i];
  }
  for (int i = 0; i < M; i++) {
    self->nose_forward[i] = 0.996 * nose_right[i];
    self->nose_backward[i] = 0.996 * nose_left[i];
  }
  /* what is heard in front is the change of the flow */
  const double sound = (lips - self->lip_last) + (nose - self->nose_last);
  self->lip_last = lips;
  self->nose_last = nose;
  return sound;
}
