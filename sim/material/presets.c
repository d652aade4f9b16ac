/* The table of tissues.  Ranges span methods and subjects: a factor of ten is usual, and where no
 * published range is at hand the source says that it is approximate.  Sources say what was tested:
 * whose tissue (of humans, unless told), where, living or excised, and how.  Figures marked with an
 * asterisk were compared with the abstract of the paper, or with one that quotes it; the others are
 * quoted from memory, agree with the order of magnitude of reviews, and wait for someone who has
 * the papers at hand.
 *
 * Poisson's ratio.  Soft tissue is water and hardly changes its volume: 0.49 stands for it in the
 * formulations that bear it (mixed, averaged).  Plain linear elements lock there; what they take
 * instead is the row `standard` of a preset, by pla_preset_params_standard() alone. */
#include "sim/material/presets.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#define ICRU "ICRU Report 44, 1989"

/* nearly incompressible, and what plain linear tets bear */
#define SOFT_POISSON                                                                               \
  {                                                                                                \
    "poisson",                                                                                     \
    {                                                                                              \
      0.49, 0.49, 0.49                                                                             \
    }                                                                                              \
  }
#define STANDARD_POISSON                                                                           \
  {                                                                                                \
    "poisson",                                                                                     \
    {                                                                                              \
      0.45, 0.45, 0.45                                                                             \
    }                                                                                              \
  }

static const PlaPreset soft_tissue = {
  .id = "soft-tissue",
  .title = "Soft tissue",
  .material = "neo-hookean",
  .density = 1060.0,
  .rows = { { "young_pa", { 5e3, 15e3, 60e3 } }, SOFT_POISSON },
  .standard = STANDARD_POISSON,
  .source = "face as one tissue, chosen for a model, 15 kPa: Chabanas, Luboz and Payan 2003; range "
            "approximate, from fat to skin",
  .density_source = ICRU,
  .names = { (const char *const[]){ "soft tissue", "soft tissues", "flesh", NULL },
             (const char *const[]){ "gland", "glands", "parotid", "submandibular gland", "thyroid",
                                    NULL },
             (const char *const[]){ "tissue", "face", "cheek", "cheeks", "lip", "lips", "eyelid",
                                    "eyelids", "nose", "chin", "forehead", "neck", "head", "body",
                                    NULL } },
};

static const PlaPreset skin = {
  .id = "skin",
  .title = "Skin",
  .material = "neo-hookean",
  .density = 1090.0,
  .rows = { { "young_pa", { 5e3, 56e3, 420e3 } }, SOFT_POISSON },
  .standard = STANDARD_POISSON,
  .source =
      "forearm in vivo: indentation, about 5 kPa, Pailler-Mattei, Bec and Zahouani 2008; suction, "
      "C10 9.4 kPa, Hendriks et al. 2003, in a later study 69 kPa* as 6 C10; torsion, 0.42 MPa, "
      "Agache et al. 1980.  Small strains: skin of the back, excised and stretched, has an initial "
      "slope of 1.18* and later a modulus of 83.3* MPa (Ni Annaidh et al. 2012): see skin-fibrous",
  .density_source = ICRU,
  .names = { (const char *const[]){ "skin", "dermis", "epidermis", "cutis", NULL },
             (const char *const[]){ "scalp", NULL } },
};

/* low and high: c10 by the deviation of the initial slope, 1.18 +- 0.88 MPa, k1 by that of the
 * elastic modulus, 83.3 +- 34.9 MPa */
static const PlaPreset skin_fibrous = {
  .id = "skin-fibrous",
  .title = "Skin with fibres",
  .material = "goh",
  .density = 1090.0,
  .rows = { { "c10_pa", { 25e3, 100.7e3, 176e3 } },
            { "k1_pa", { 14.25e6, 24.53e6, 34.8e6 } },
            { "k2", { 0.1327, 0.1327, 0.1327 } },
            { "kappa", { 0.1404, 0.1404, 0.1404 } },
            { "bulk_pa", { 25e6, 100e6, 175e6 } } },
  .standard = { "bulk_pa", { 483e3, 1.95e6, 3.4e6 } },
  .source =
      "excised skin of the back, 56 samples, uniaxial tension at 0.012/s: initial slope 1.18 +- "
      "0.88*, elastic modulus 83.3 +- 34.9*, strength 21.6 +- 8.4* MPa at a strain of 54 %*, Ni "
      "Annaidh et al. 2012a; its fit and histology, mu 0.2014*, k1 243.6* mu/2, k2 0.1327*, kappa "
      "0.1404*, for two families 41 degrees from the line of Langer, Ni Annaidh et al. 2012b.  The "
      "unit of k1 and the angle are from memory; with them the law has that slope and strength",
  .density_source = ICRU,
  .names = { (const char *const[]){ "skin fibrous", "fibrous skin", "skin with fibres", NULL } },
};

static const PlaPreset fat = {
  .id = "fat",
  .title = "Fat",
  .material = "neo-hookean",
  .density = 950.0,
  .rows = { { "young_pa", { 1.6e3, 2.3e3, 10e3 } }, SOFT_POISSON },
  .standard = STANDARD_POISSON,
  .source =
      "excised subcutaneous fat, stretching, 1.6 kPa: Alkhouli et al. 2013; buttock in vivo, MR "
      "elastography at 50 Hz, shear modulus 0.75* kPa (Strain-dependent shear properties of "
      "human adipose tissue in vivo, 2023); compressed fat is several times stiffer",
  .density_source = ICRU,
  .names = { (const char *const[]){ "fat", "adipose", "subcutaneous", "subcutaneous fat",
                                    "subcutaneous tissue", "subcutis", "hypodermis", "panniculus",
                                    NULL } },
};

static const PlaPreset muscle = {
  .id = "muscle",
  .title = "Muscle",
  .material = "muscle",
  .density = 1050.0,
  .rows = { { "c10_pa", { 0.8e3, 1.3e3, 5.35e3 } },
            { "c01_pa", { 0.26e3, 0.43e3, 1.78e3 } },
            { "bulk_pa", { 105e3, 172e3, 708e3 } } },
  .standard = { "bulk_pa", { 35e3, 58e3, 240e3 } },
  .source =
      "relaxed masseter in vivo, shear-wave elastography: 6.4 kPa* in children, 10.7 kPa* in "
      "adults, "
      "Olchowy et al. 2021; 10.4 kPa, Arda et al. 2011; 42.8 kPa, Ariji et al. 2016; as Young's "
      "moduli, "
      "approximate: elastography takes muscle for isotropic",
  .density_source = ICRU,
  .names = { (const char *const[]){ "muscle", "muscles", "musculus", "musculature", NULL },
             (const char *const[]){ "masseter",
                                    "temporalis",
                                    "pterygoid",
                                    "buccinator",
                                    "orbicularis",
                                    "orbicularis oris",
                                    "orbicularis oculi",
                                    "zygomaticus",
                                    "zygomaticus major",
                                    "zygomaticus minor",
                                    "levator",
                                    "depressor",
                                    "risorius",
                                    "mentalis",
                                    "platysma",
                                    "frontalis",
                                    "procerus",
                                    "corrugator",
                                    "nasalis",
                                    "digastric",
                                    "mylohyoid",
                                    "sternocleidomastoid",
                                    "trapezius",
                                    "constrictor",
                                    NULL } },
};

static const PlaPreset tongue = {
  .id = "tongue",
  .title = "Tongue",
  .material = "muscle",
  .density = 1040.0,
  .rows = { { "base", { 2.0, 2.0, 2.0 } },
            { "c10_pa", { 192.0, 1037.0, 1335.0 } },
            { "c01_pa", { 0.0, 0.0, 0.0 } },
            { "c20_pa", { 90.0, 486.0, 626.0 } },
            { "bulk_pa", { 18e3, 100e3, 130e3 } } },
  .source =
      "indentation of the tongue of one cadaver: Gerard et al. 2005; stiffened for the living one: "
      "Buchaillard, Perrier and Payan 2009; in vivo, MR elastography, shear modulus 2.67* kPa: "
      "Cheng et al. 2011",
  .density_source = "Buchaillard, Perrier and Payan 2009",
  .names = { (const char *const[]){ "tongue muscle", "tongue muscles", NULL },
             (const char *const[]){ "tongue", "lingua", "genioglossus", "styloglossus",
                                    "hyoglossus", "geniohyoid", "verticalis", "transversus linguae",
                                    "soft palate", "velum", NULL } },
};

static const PlaPreset mucosa = {
  .id = "mucosa",
  .title = "Mucosa",
  .material = "neo-hookean",
  .density = 1060.0,
  .rows = { { "young_pa", { 60e3, 1e6, 8.9e6 } }, SOFT_POISSON },
  .standard = STANDARD_POISSON,
  .source =
      "gingiva and palate of humans and animals, compression, 0.06 to 8.9 MPa: review by Chen "
      "et al. 2015; typical value approximate",
  .density_source = "as soft tissue, " ICRU,
  .names = { (const char *const[]){ "mucosa", "oral mucosa", "mucous membrane", "gingiva", NULL },
             (const char *const[]){ "gum", "gums", NULL } },
};

static const PlaPreset cartilage = {
  .id = "cartilage",
  .title = "Cartilage",
  .material = "neo-hookean",
  .density = 1100.0,
  .rows = { { "young_pa", { 0.98e6, 2.7e6, 5e6 } }, { "poisson", { 0.4, 0.4, 0.4 } } },
  .source =
      "of the nose, excised: compression, lateral 0.98*, septal 2.72* MPa, Griffin et al. 2016; "
      "tension, septal 3.0* at rest to 5.0* MPa, Richmon et al. 2005.  0.4 is between the drained "
      "state and that of sudden loads",
  .density_source = ICRU,
  .names = { (const char *const[]){ "cartilage", "cartilages", NULL },
             (const char *const[]){ "septum", "nasal septum", "auricle", "articular disc",
                                    "meniscus", NULL } },
};

static const PlaPreset tendon = {
  .id = "tendon",
  .title = "Tendon",
  .material = "neo-hookean",
  .density = 1120.0,
  .rows = { { "young_pa", { 200e6, 820e6, 1.5e9 } }, SOFT_POISSON },
  .standard = STANDARD_POISSON,
  .source =
      "tension: excised Achilles, 819 MPa, Wren et al. 2001; tibialis anterior in vivo, 1.2 GPa, "
      "Maganaris and Paul 1999; range approximate",
  .density_source = "Ker 1981",
  .names = { (const char *const[]){ "tendon", "tendons", "ligament", "ligaments", "aponeurosis",
                                    NULL },
             (const char *const[]){ "galea", "raphe", NULL } },
};

static const PlaPreset bone = {
  .id = "bone",
  .title = "Bone",
  .material = "neo-hookean",
  .rigid = true,
  .density = 1920.0,
  .rows = { { "young_pa", { 10e9, 17e9, 20e9 } }, { "poisson", { 0.3, 0.3, 0.3 } } },
  .source = "excised femur, cortical, lengthwise, 17 GPa: Reilly and Burstein 1975; range "
            "approximate",
  .density_source = ICRU,
  .names = { (const char *const[]){ "bone", "bones", "cortical", "cancellous", NULL },
             (const char *const[]){ "skull", "cranium", "mandible", "maxilla", "jaw", "jawbone",
                                    "zygoma", "hyoid", "vertebra", "vertebrae", "teeth", "tooth",
                                    "hard palate", "skeleton", NULL } },
};

static const PlaPreset *const presets[] = { &soft_tissue, &skin,   &skin_fibrous, &fat,
                                            &muscle,      &tongue, &mucosa,       &cartilage,
                                            &tendon,      &bone,   NULL };

const PlaPreset *const *
pla_presets_get(void)
{
  return presets;
}

/* lower case, runs of anything but letters as one space, a space at both ends */
static void
normalise(const char *text, char *out, size_t size)
{
  size_t n = 0;
  out[n++] = ' ';
  for (; *text && n + 2 < size; text++) {
    unsigned char c = (unsigned char)*text;
    /* bytes of UTF-8 letters are letters */
    if (isalpha(c) || c >= 0x80)
      out[n++] = (char)(c < 0x80 ? tolower(c) : c);
    else if (out[n - 1] != ' ')
      out[n++] = ' ';
  }
  if (out[n - 1] != ' ')
    out[n++] = ' ';
  out[n] = '\0';
}

/* length of the longest of the words that stands in the normalised name, or 0 */
static size_t
longest_word(const char *const *words, const char *name)
{
  char word[64];
  size_t longest = 0;
  for (; words && *words; words++) {
    normalise(*words, word, sizeof word);
    if (strlen(word) > longest && strstr(name, word))
      longest = strlen(word);
  }
  return longest;
}

const PlaPreset *
pla_preset_find(const char *label)
{
  char name[256];
  const PlaPreset *best = NULL;
  size_t longest = 0;
  normalise(label, name, sizeof name);
  for (int rank = 0; rank < 3 && !best; rank++)
    for (const PlaPreset *const *p = presets; *p; p++) {
      size_t length = longest_word((*p)->names[rank], name);
      if (length > longest) {
        longest = length;
        best = *p;
      }
    }
  return best;
}

static void
use_row(const PlaMaterial *material, const PlaPresetRow *row, PlaStiffness stiffness, double *param)
{
  int i = pla_material_param(material, row->key);
  assert(i >= 0);
  param[i] = row->value[stiffness];
}

const PlaMaterial *
pla_preset_params(const PlaPreset *preset, PlaStiffness stiffness, double *param)
{
  const PlaMaterial *material = pla_material_find(preset->material);
  assert(material);
  for (int i = 0; material->params[i].key; i++)
    param[i] = material->params[i].def;
  for (int r = 0; r < PLA_PRESET_ROWS && preset->rows[r].key; r++)
    use_row(material, &preset->rows[r], stiffness, param);
  return material;
}

const PlaMaterial *
pla_preset_params_standard(const PlaPreset *preset, PlaStiffness stiffness, double *param)
{
  const PlaMaterial *material = pla_preset_params(preset, stiffness, param);
  if (preset->standard.key)
    use_row(material, &preset->standard, stiffness, param);
  return material;
}

void
pla_preset_elasticity(const PlaPreset *preset, PlaStiffness stiffness, double *young,
                      double *poisson)
{
  double param[PLA_MAX_CONSTANTS] = { 0 }, constants[PLA_MAX_CONSTANTS] = { 0 }, mu, lambda, vol;
  const PlaMaterial *material = pla_preset_params(preset, stiffness, param);
  PlaStatus st = material->prepare(param, constants, NULL);
  assert(st == PLA_OK);
  (void)st;
  pla_material_moduli(material, constants, &mu, &lambda, &vol);
  *young = mu * (3.0 * lambda + 2.0 * mu) / (lambda + mu);
  *poisson = 0.5 * lambda / (lambda + mu);
}
