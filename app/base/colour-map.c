/* Colour maps made in OKLab (B. Ottosson, 2020): stops are joined there by smooth curves of hue
 * and chroma over a straight line of lightness, and converted to sRGB. */
#include "app/base/colour-map.h"

#include <math.h>
#include <stdbool.h>

enum { MAX_STOPS = 6 };

/* lightness, chroma, hue in degrees, evenly spaced along the map */
typedef struct {
  int n;
  double stop[MAX_STOPS][3];
} Recipe;

static const Recipe recipes[PLA_N_MAPS] = {
  [PLA_MAP_HEAT] = { 5,
                     { { 0.20, 0.09, 285 },
                       { 0.3875, 0.16, 325 },
                       { 0.575, 0.185, 375 },
                       { 0.7625, 0.16, 420 },
                       { 0.95, 0.10, 465 } } },
  [PLA_MAP_SEA] = { 4,
                    { { 0.22, 0.09, 275 },
                      { 0.4567, 0.10, 235 },
                      { 0.6933, 0.115, 185 },
                      { 0.93, 0.10, 130 } } },
  [PLA_MAP_DIVERGING] = { 5,
                          { { 0.42, 0.15, 258 },
                            { 0.69, 0.10, 250 },
                            { 0.96, 0.00, 140 },
                            { 0.69, 0.13, 30 },
                            { 0.42, 0.17, 25 } } },
  [PLA_MAP_WARM] = { 4,
                     { { 0.93, 0.035, 85 },
                       { 0.7567, 0.115, 62 },
                       { 0.5833, 0.17, 32 },
                       { 0.41, 0.15, 15 } } },
  [PLA_MAP_FLESH] = { 2, { { 0.80, 0.065, 52 }, { 0.50, 0.17, 26 } } },
  [PLA_MAP_GREY] = { 2, { { 0.12, 0.0, 0.0 }, { 1.0, 0.0, 0.0 } } },
};

static double
to_srgb(double linear)
{
  double c = fmin(fmax(linear, 0.0), 1.0);
  return c <= 0.0031308 ? 12.92 * c : 1.055 * pow(c, 1.0 / 2.4) - 0.055;
}

static double
from_srgb(double c)
{
  return c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4);
}

static void
oklab_to_linear(double l, double a, double b, double rgb[3])
{
  double p = pow(l + 0.3963377774 * a + 0.2158037573 * b, 3.0);
  double q = pow(l - 0.1055613458 * a - 0.0638541728 * b, 3.0);
  double r = pow(l - 0.0894841775 * a - 1.2914855480 * b, 3.0);
  rgb[0] = 4.0767416621 * p - 3.3077115913 * q + 0.2309699292 * r;
  rgb[1] = -1.2684380046 * p + 2.6097574011 * q - 0.3413193965 * r;
  rgb[2] = -0.0041960863 * p - 0.7034186147 * q + 1.7076147010 * r;
}

double
pla_colour_lightness(const uint8_t rgb[3])
{
  double r = from_srgb(rgb[0] / 255.0), g = from_srgb(rgb[1] / 255.0),
         b = from_srgb(rgb[2] / 255.0);
  return 0.2104542553 * cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b) +
         0.7936177850 * cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b) -
         0.0040720468 * cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
}

static double
catmull_rom(const Recipe *recipe, int component, double t)
{
  int last = recipe->n - 1;
  int i = t >= last ? last - 1 : (int)t;
  double s = t - i;
  double b = recipe->stop[i][component], c = recipe->stop[i + 1][component];
  double a = i > 0 ? recipe->stop[i - 1][component] : 2.0 * b - c;
  double d = i + 1 < last ? recipe->stop[i + 2][component] : 2.0 * c - b;
  return 0.5 *
         (2.0 * b +
          s * (c - a + s * (2.0 * a - 5.0 * b + 4.0 * c - d + s * (3.0 * b - a - 3.0 * c + d))));
}

void
pla_colour_map_table(PlaColourMap map, uint8_t rgb[256 * 3])
{
  const Recipe *recipe = &recipes[map];
  for (int i = 0; i < 256; i++) {
    double t = i / 255.0 * (recipe->n - 1);
    /* lightness is piecewise straight, exactly even */
    int k = t >= recipe->n - 1 ? recipe->n - 2 : (int)t;
    double l = recipe->stop[k][0] + (t - k) * (recipe->stop[k + 1][0] - recipe->stop[k][0]);
    double chroma = fmax(catmull_rom(recipe, 1, t), 0.0);
    double hue = catmull_rom(recipe, 2, t) * M_PI / 180.0;

    /* less chroma rather than a colour that the screen cannot show */
    double linear[3];
    for (;;) {
      oklab_to_linear(l, chroma * cos(hue), chroma * sin(hue), linear);
      bool inside = true;
      for (int c = 0; c < 3; c++)
        inside = inside && linear[c] >= -1e-4 && linear[c] <= 1.0001;
      if (inside || chroma < 1e-4)
        break;
      chroma *= 0.98;
    }
    for (int c = 0; c < 3; c++)
      rgb[3 * i + c] = (uint8_t)(255.0 * to_srgb(linear[c]) + 0.5);
  }
}
