/* Targets of speech sounds in the phantom's midsagittal plane.
 *
 * Vowels place the whole tongue; consonants insist on the part that makes them and leave the rest
 * to their neighbours.  Positions were set so that the areas they give have the formants of the
 * vowels and close or narrow the tract at the place of the consonant: tests measure both. */
#include "sim/speech/sounds.h"

#include <math.h>
#include <string.h>

#define X(front) (PLA_SENSOR_X0 - (front))
#define Y(up) (PLA_SENSOR_Y0 - (up))
/* positions as in the phantom: mm to the front, mm up */
#define T(trf, tru, tdf, tdu, tbf, tbu, ttf, ttu)                                                  \
  X(trf), Y(tru), X(tdf), Y(tdu), X(tbf), Y(tbu), X(ttf), Y(ttu)
#define L(lif, liu, ulf, ulu, llf, llu) X(lif), Y(liu), X(ulf), Y(ulu), X(llf), Y(llu)

#define NEUTRAL_TONGUE T(35, -45, 50, -43, 66, -46.5, 78, -52.5)
#define SPREAD(opening) L(88, -59 - 0.6 * (opening), 103.5, -46, 103.5, -56 - (opening))
#define ROUND(opening, out)                                                                        \
  L(88, -59 - 0.5 * (opening), 104 + (out), -47, 104 + (out), -56 - (opening))
/* tongue, then lips, that do not matter to a consonant: the weights say so */
#define ANY_TONGUE NEUTRAL_TONGUE
#define ANY_LIPS L(88, -60.5, 104, -46.5, 104, -60)

#define VOWEL                                                                                      \
  {                                                                                                \
    1, 1, 1, 1, 0.9, 0.8, 0.9                                                                      \
  }
#define TIP                                                                                        \
  {                                                                                                \
    0.1, 0.2, 0.75, 8, 0.9, 0.06, 0.15                                                             \
  }
#define BLADE                                                                                      \
  {                                                                                                \
    0.3, 0.6, 4, 6, 1.2, 0.3, 0.5                                                                  \
  }
#define DORSUM                                                                                     \
  {                                                                                                \
    3, 8, 0.8, 0.15, 0.3, 0.06, 0.1                                                                \
  }
#define LIPS                                                                                       \
  {                                                                                                \
    0.05, 0.05, 0.05, 0.08, 0.6, 5, 8                                                              \
  }

#define S PLA_SOUND_SILENCE
#define V PLA_SOUND_VOWEL
#define P PLA_SOUND_STOP
#define F PLA_SOUND_FRICATIVE
#define N PLA_SOUND_NASAL
#define R PLA_SOUND_LIQUID

static const PlaSound phones[] = {
  { "",
    S,
    false,
    { NEUTRAL_TONGUE, L(88, -58.5, 104, -46.8, 104, -57) },
    { 0.35, 0.35, 0.35, 0.35, 0.35, 0.35, 0.35 } },
  /* vowels */
  { "i", V, true, { T(39.5, -42, 55, -37.9, 70, -41.6, 80.5, -50), SPREAD(5) }, VOWEL },
  { "ɪ", V, true, { T(37.5, -43.5, 53, -40.3, 68.5, -44.2, 79, -51.5), SPREAD(6) }, VOWEL },
  { "e", V, true, { T(37.8, -43.2, 53.5, -39.7, 69, -43.6, 79.5, -51.2), SPREAD(6.5) }, VOWEL },
  { "ɛ", V, true, { T(35, -46.5, 50.5, -44, 66.5, -47.6, 78, -53.8), SPREAD(9) }, VOWEL },
  { "æ", V, true, { T(32.5, -50, 48.5, -48.5, 65, -51.3, 77.5, -56), SPREAD(12) }, VOWEL },
  { "a", V, true, { T(29.5, -52, 45.5, -51.5, 62.5, -54.5, 76, -58.5), SPREAD(14) }, VOWEL },
  { "ɑ", V, true, { T(26.8, -50.5, 42.5, -51.5, 59.5, -56, 73, -60.5), SPREAD(13.5) }, VOWEL },
  { "ɒ", V, true, { T(26.5, -49, 42, -50, 59, -55.5, 72, -60), ROUND(9, 2) }, VOWEL },
  { "ɔ", V, true, { T(26.7, -47, 42, -47.3, 58.8, -53.5, 71.5, -58.5), ROUND(6.5, 3.5) }, VOWEL },
  { "o", V, true, { T(27.5, -44.3, 42.5, -43.8, 59, -50.8, 71.5, -57), ROUND(4.6, 4.5) }, VOWEL },
  { "ʊ", V, true, { T(30, -43, 45, -41.5, 61, -48, 73.5, -55), ROUND(4.8, 3.5) }, VOWEL },
  { "u", V, true, { T(30.5, -40.5, 45, -38.6, 60.5, -46, 72, -54.5), ROUND(3.2, 5) }, VOWEL },
  { "ʌ", V, true, { T(30, -48.5, 46, -47.5, 62.5, -51.5, 75.5, -56.5), SPREAD(10) }, VOWEL },
  { "ə", V, true, { NEUTRAL_TONGUE, SPREAD(6.5) }, { 0.6, 0.6, 0.6, 0.6, 0.55, 0.5, 0.55 } },
  { "ɜ", V, true, { T(33.5, -45.5, 49, -44, 65, -47, 76.5, -52.5), SPREAD(7) }, VOWEL },
  { "y", V, true, { T(39, -42.3, 54.5, -38.2, 69.5, -42, 80, -50.3), ROUND(3.5, 5) }, VOWEL },
  { "ø", V, true, { T(37.3, -43.6, 53, -40.3, 68.3, -44.2, 79, -51.6), ROUND(5, 4) }, VOWEL },
  { "œ", V, true, { T(35, -46, 50.5, -43.8, 66.3, -47.4, 78, -53.6), ROUND(7.5, 3) }, VOWEL },
  { "ɨ", V, true, { T(34, -41.8, 49.5, -38.4, 65.5, -43.4, 77, -51.8), SPREAD(5) }, VOWEL },
  { "ɯ", V, true, { T(30.8, -40.7, 45.5, -38.7, 61.5, -45.8, 73.5, -54), SPREAD(5) }, VOWEL },
  /* stops and nasals */
  { "p", P, false, { ANY_TONGUE, L(88, -58.8, 104, -47.2, 104, -54.8) }, LIPS },
  { "b", P, true, { ANY_TONGUE, L(88, -58.8, 104, -47.2, 104, -54.8) }, LIPS },
  { "m", N, true, { ANY_TONGUE, L(88, -58.8, 104, -47.2, 104, -54.8) }, LIPS },
  { "t",
    P,
    false,
    { T(36, -46, 51.5, -43.5, 69, -43.6, 81, -43.4), L(88, -58.3, 104, -46.5, 104, -58.5) },
    TIP },
  { "d",
    P,
    true,
    { T(36, -46, 51.5, -43.5, 69, -43.8, 81, -43.4), L(88, -58.8, 104, -46.5, 104, -59) },
    TIP },
  { "n",
    N,
    true,
    { T(36, -46, 51.5, -43.5, 69, -43.8, 81, -43.4), L(88, -59.3, 104, -46.5, 104, -59.5) },
    TIP },
  { "c",
    P,
    false,
    { T(39.5, -42.5, 55, -36.3, 69.5, -38.1, 80.5, -49), ANY_LIPS },
    { 2, 5, 5, 0.4, 0.4, 0.06, 0.1 } },
  { "ɲ",
    N,
    true,
    { T(39.5, -42.5, 55, -36.3, 69.5, -38.1, 80.5, -49), ANY_LIPS },
    { 2, 5, 5, 0.4, 0.4, 0.06, 0.1 } },
  { "k", P, false, { T(32.5, -40.3, 46.5, -34.1, 62, -44, 75.5, -53.5), ANY_LIPS }, DORSUM },
  { "ɡ", P, true, { T(32.5, -40.3, 46.5, -34.1, 62, -44, 75.5, -53.5), ANY_LIPS }, DORSUM },
  { "ŋ", N, true, { T(32.5, -40.3, 46.5, -34.1, 62, -44, 75.5, -53.5), ANY_LIPS }, DORSUM },
  { "ʔ", P, false, { ANY_TONGUE, ANY_LIPS }, { 0.02, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02 } },
  /* fricatives */
  { "f", F, false, { ANY_TONGUE, L(87.5, -60, 103.5, -46, 99.5, -55.4) }, LIPS },
  { "v", F, true, { ANY_TONGUE, L(87.5, -60, 103.5, -46, 99.5, -55.4) }, LIPS },
  { "θ",
    F,
    false,
    { T(36, -46.5, 51.5, -45, 69.5, -47, 83, -48.3), L(88, -59.5, 104, -46.3, 104, -59.5) },
    TIP },
  { "ð",
    F,
    true,
    { T(36, -46.5, 51.5, -45, 69.5, -47, 83, -48.3), L(88, -59.5, 104, -46.3, 104, -59.5) },
    TIP },
  { "s",
    F,
    false,
    { T(36, -46, 51.5, -43.2, 69, -43.2, 80.2, -45.1), L(88, -57.3, 104, -46.2, 104, -58.5) },
    { 0.2, 0.4, 2.5, 8, 3, 0.1, 0.4 } },
  { "z",
    F,
    true,
    { T(36, -46, 51.5, -43.2, 69, -43.4, 80.2, -45.1), L(88, -57.5, 104, -46.2, 104, -58.7) },
    { 0.2, 0.4, 2.5, 8, 3, 0.1, 0.4 } },
  { "ʃ",
    F,
    false,
    { T(37.5, -43.5, 53, -40, 69, -40.9, 76.8, -43.9), L(88, -57.6, 106.5, -46.6, 106.5, -59.5) },
    BLADE },
  { "ʒ",
    F,
    true,
    { T(37.5, -43.5, 53, -40, 69, -40.9, 76.8, -43.9), L(88, -57.8, 106.5, -46.6, 106.5, -59.7) },
    BLADE },
  { "ç",
    F,
    false,
    { T(39.5, -42, 55.5, -36.8, 70, -40.3, 80.5, -49.5), ANY_LIPS },
    { 2, 5, 3, 0.5, 0.4, 0.06, 0.1 } },
  { "x", F, false, { T(30.5, -41, 45, -36.6, 61, -45.5, 74.5, -54), ANY_LIPS }, DORSUM },
  { "ɣ", F, true, { T(30.5, -41, 45, -36.9, 61, -45.5, 74.5, -54), ANY_LIPS }, DORSUM },
  { "h", F, false, { ANY_TONGUE, ANY_LIPS }, { 0.02, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02 } },
  /* liquids and glides */
  { "l",
    R,
    true,
    { T(33.5, -47, 48.5, -46, 67, -47.5, 81.2, -44.3), L(88, -60, 104, -46.5, 104, -60) },
    { 0.6, 0.7, 1.2, 8, 0.8, 0.06, 0.15 } },
  { "ɹ",
    R,
    true,
    { T(31.5, -46, 47, -43.5, 63, -44, 73.5, -45.5), L(88, -60, 106, -46.8, 106, -60.5) },
    { 1.2, 1.4, 3, 6, 0.9, 0.5, 0.7 } },
  { "r",
    R,
    true,
    { T(33, -46.5, 48, -45, 66.5, -46, 80, -45.6), L(88, -60, 104, -46.5, 104, -60) },
    { 0.5, 0.6, 1.2, 7, 0.8, 0.06, 0.15 } },
  { "ʁ",
    R,
    true,
    { T(28, -43, 42.5, -42, 59.5, -50, 73, -56), ANY_LIPS },
    { 4, 3, 0.6, 0.15, 0.3, 0.06, 0.1 } },
  { "j",
    R,
    true,
    { T(40, -42, 55.5, -37.4, 70.5, -41.2, 80.8, -50), SPREAD(5) },
    { 2.5, 4, 3, 1, 0.6, 0.2, 0.3 } },
  { "w",
    R,
    true,
    { T(30, -40.7, 44.5, -38.8, 60, -46.5, 72, -55), ROUND(2.6, 5.5) },
    { 2, 2.5, 1.2, 0.5, 0.8, 4, 5 } },
};
enum { PHONES = sizeof phones / sizeof phones[0] };

/* what other letters are nearest to */
static const struct {
  const char *letter, *as;
} others[] = {
  { "g", "ɡ" }, { "ɐ", "ʌ" }, { "ɘ", "ə" }, { "ɵ", "ʊ" }, { "ʉ", "y" }, { "ɤ", "o" }, { "ɞ", "œ" },
  { "ɶ", "œ" }, { "ʏ", "y" }, { "ᵻ", "ɪ" }, { "ɚ", "ɜ" }, { "ɝ", "ɜ" }, { "ɫ", "l" }, { "ʎ", "j" },
  { "ɭ", "l" }, { "ʟ", "l" }, { "ɾ", "d" }, { "ɽ", "ɹ" }, { "ɻ", "ɹ" }, { "ʀ", "ʁ" }, { "ɱ", "m" },
  { "ɳ", "n" }, { "ɴ", "ŋ" }, { "ʈ", "t" }, { "ɖ", "d" }, { "ɟ", "c" }, { "q", "k" }, { "ɢ", "ɡ" },
  { "ɸ", "f" }, { "β", "v" }, { "ʋ", "v" }, { "ɕ", "ʃ" }, { "ʑ", "ʒ" }, { "ʂ", "ʃ" }, { "ʐ", "ʒ" },
  { "ɬ", "s" }, { "ɮ", "z" }, { "ʝ", "j" }, { "χ", "x" }, { "ħ", "h" }, { "ʕ", "ɑ" }, { "ɦ", "h" },
  { "ɥ", "y" }, { "ʍ", "w" }, { "ɰ", "ɣ" }, { "ɓ", "b" }, { "ɗ", "d" }, { "ɠ", "ɡ" }, { "ʄ", "c" },
  { "ʛ", "ɡ" }, { "ɧ", "ʃ" }, { "ʙ", "b" }, { "ɺ", "l" }, { "ʦ", "s" }, { "ʧ", "ʃ" }, { "ʤ", "ʒ" },
};

int
pla_sound_count(void)
{
  return PHONES;
}

const PlaSound *
pla_sound_get(int i)
{
  return &phones[i];
}

const PlaSound *
pla_sound_silence(void)
{
  return &phones[0];
}

const double *
pla_sound_neutral(void)
{
  return phones[0].target;
}

const PlaSound *
pla_sound_find(const char *ipa)
{
  for (int i = 0; i < PHONES; i++)
    if (strcmp(phones[i].ipa, ipa) == 0)
      return &phones[i];
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
    if (strcmp(others[i].letter, ipa) == 0)
      return pla_sound_find(others[i].as);
  return NULL;
}

/* one UTF-8 letter; its length in bytes */
static int
letter_at(const char *text, char letter[8])
{
  const unsigned char c = (unsigned char)text[0];
  int n = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
  for (int i = 0; i < n; i++) {
    if (text[i] == '\0')
      n = i; /* cut in the middle */
    else
      letter[i] = text[i];
  }
  letter[n] = '\0';
  return n > 0 ? n : 1;
}

int
pla_sounds_parse(const char *ipa, double from, double to, PlaSegment *out, int most)
{
  int n = 0;
  for (const char *at = ipa; *at && n < most;) {
    char letter[8];
    at += letter_at(at, letter);
    const PlaSound *phone = letter[0] ? pla_sound_find(letter) : NULL;
    if (phone)
      out[n++].phone = phone;
  }
  for (int i = 0; i < n; i++) {
    out[i].from = from + (to - from) * i / n;
    out[i].to = i + 1 == n ? to : from + (to - from) * (i + 1) / n;
  }
  return n;
}

PlaArticulation
pla_articulation_default(void)
{
  return (PlaArticulation){ .extent = 1.0, .spread = 0.045 };
}

void
pla_segments_sensors(const PlaSegment *segment, int n, const PlaArticulation *how, double t,
                     double sensor[PLA_SENSOR_CHANNELS])
{
  const double *rest = pla_sound_neutral();
  double total[PLA_SENSOR_COUNT] = { 0 };
  memset(sensor, 0, PLA_SENSOR_CHANNELS * sizeof *sensor);
  for (int i = 0; i < n; i++) {
    const PlaSegment *s = &segment[i];
    /* distance from the middle half of the sound's time */
    const double edge = 0.3 * (s->to - s->from);
    const double away = fmax(0.0, fmax(s->from + edge - t, t - (s->to - edge))) / how->spread;
    if (away > 8.0)
      continue;
    const double near = exp(-away * sqrt(away));
    for (int k = 0; k < PLA_SENSOR_COUNT; k++) {
      const double w = near * s->phone->weight[k];
      total[k] += w;
      sensor[2 * k] += w * s->phone->target[2 * k];
      sensor[2 * k + 1] += w * s->phone->target[2 * k + 1];
    }
  }
  for (int k = 0; k < PLA_SENSOR_COUNT; k++)
    for (int d = 0; d < 2; d++) {
      /* a faint pull to the rest fills the time beyond all sounds */
      const double faint = 1e-6,
                   v = (sensor[2 * k + d] + faint * rest[2 * k + d]) / (total[k] + faint);
      sensor[2 * k + d] = rest[2 * k + d] + how->extent * (v - rest[2 * k + d]);
    }
}

void
pla_segments_track(const PlaSegment *segment, int n, const PlaArticulation *how, double rate_hz,
                   double start_s, int n_samples, double *value)
{
  int first = 0;
  for (int i = 0; i < n_samples; i++) {
    const double t = start_s + i / rate_hz;
    while (first < n && segment[first].to < t - 12.0 * how->spread)
      first++;
    int last = first;
    while (last < n && segment[last].from < t + 12.0 * how->spread)
      last++;
    double *sensor = value + (size_t)i * PLA_SENSOR_CHANNELS;
    pla_segments_sensors(segment + first, last - first, how, t, sensor);
    pla_tract_keep_below(sensor);
  }
}
