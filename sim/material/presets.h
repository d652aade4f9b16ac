/* Tissues: which material, which constants, which density, by the name of a label. */
#pragma once

#include "sim/material/material.h"

typedef enum { PLA_STIFFNESS_LOW = 0, PLA_STIFFNESS_TYPICAL, PLA_STIFFNESS_HIGH } PlaStiffness;

#define PLA_PRESET_ROWS 5

/* a constant at its low, typical and high value */
typedef struct {
  const char *key;
  double value[3];
} PlaPresetRow;

typedef struct {
  const char *id;       /* "skin" */
  const char *title;    /* "Skin" */
  const char *material; /* id in the registry */
  bool rigid;           /* does not deform: fix or move it as a whole */
  double density;       /* kg/m^3 */
  /* constants of the material that differ from its defaults; key NULL ends them */
  PlaPresetRow rows[PLA_PRESET_ROWS];
  /* the constant of volume in plain linear elements, which lock near incompressibility; key NULL:
   * as in rows */
  PlaPresetRow standard;
  const char *source; /* of the stiffness; figures with an asterisk were compared with the paper's
                         abstract, the others are quoted from memory */
  const char *density_source;
  /* NULL-ended lists of lower-case names, or NULL: of the tissue ("tendon"), which decide; of
   * organs made of it ("masseter"), where the label names no tissue; of places ("cheek"), where it
   * names neither */
  const char *const *names[3];
} PlaPreset;

/* NULL-terminated, in the order that panels show them. */
const PlaPreset *const *pla_presets_get(void);

/* The tissue that a label's name means, whatever its case and punctuation, by whole words within
 * it: "Soft tissue", "left masseter", "Skin_of_cheek", "masseter tendon"; of several the longest.
 * NULL if none fits. */
const PlaPreset *pla_preset_find(const char *label);

/* Parameters of the preset's material, in table order, checked.  @param has room for
 * PLA_MAX_CONSTANTS. */
const PlaMaterial *pla_preset_params(const PlaPreset *preset, PlaStiffness stiffness,
                                     double *param);

/* The same for the standard formulation, whose elements lock where tissue keeps its volume. */
const PlaMaterial *pla_preset_params_standard(const PlaPreset *preset, PlaStiffness stiffness,
                                              double *param);

/* Young's modulus and Poisson's ratio at small strain, for display. */
void pla_preset_elasticity(const PlaPreset *preset, PlaStiffness stiffness, double *young,
                           double *poisson);
