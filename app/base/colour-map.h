/* Colours for values: maps whose lightness changes evenly, so that equal steps look equal. */
#pragma once

#include <stdint.h>

typedef enum {
  PLA_MAP_HEAT = 0,  /* dark violet to pale yellow: stress, stretch, any amount */
  PLA_MAP_SEA,       /* deep blue to pale green: distance, thickness */
  PLA_MAP_DIVERGING, /* blue, white, red: signed deviation, white at the middle */
  PLA_MAP_GREY,
  PLA_MAP_WARM,  /* pale cream to deep red: amounts on tissue, most of which is at rest */
  PLA_MAP_FLESH, /* skin to raw flesh: what a blade has laid open */
  PLA_N_MAPS
} PlaColourMap;

/* 256 colours, lowest first. */
void pla_colour_map_table(PlaColourMap map, uint8_t rgb[256 * 3]);
/* Lightness of a colour as the eye sees it (OKLab L, 0..1). */
double pla_colour_lightness(const uint8_t rgb[3]);
