/* Tissues by the names of labels. */
#include "sim/material/presets.h"

#include "tests/sim/material/cases.h"

#include <math.h>
#include <string.h>

static void
test_names(void)
{
  static const char *const pairs[][2] = {
    { "Skin", "skin" },
    { "SKIN_of_cheek", "skin" },
    { "soft tissue", "soft-tissue" },
    { "Soft-Tissue (1)", "soft-tissue" },
    { "subcutaneous fat", "fat" },
    { "Buccal fat pad", "fat" },
    { "Adipose", "fat" },
    { "left masseter", "muscle" },
    { "m_zygomaticus_major_L", "muscle" },
    { "Orbicularis oris", "muscle" },
    { "Tongue", "tongue" },
    { "genioglossus", "tongue" },
    { "oral mucosa", "mucosa" },
    { "nasal cartilages", "cartilage" },
    { "Nasal septum", "cartilage" },
    { "Achilles tendon", "tendon" },
    { "temporomandibular ligament", "tendon" },
    { "Mandible", "bone" },
    { "hard palate", "bone" },
    { "soft palate", "tongue" },
    { "nasal bone", "bone" },
    { "lower teeth", "bone" },
    { "masseter tendon", "tendon" },
    { "thyroid cartilage", "cartilage" },
    { "tongue mucosa", "mucosa" },
    { "Tongue muscles", "tongue" },
    { "temporal muscle", "muscle" },
    { "temporal bone", "bone" },
    { "upper lip", "soft-tissue" },
    { "soft tissue of the jaw", "soft-tissue" },
    { "parotid gland", "soft-tissue" },
    { "air", NULL },
    { "Label 7", NULL },
    { "", NULL },
    { "skinny", NULL },
    { "skin-fibrous", "skin-fibrous" },
    { "Fibrous skin of the cheek", "skin-fibrous" },
  };
  for (unsigned k = 0; k < G_N_ELEMENTS(pairs); k++) {
    const PlaPreset *preset = pla_preset_find(pairs[k][0]);
    g_assert_cmpstr(preset ? preset->id : NULL, ==, pairs[k][1]);
  }
  g_autofree char *long_name = g_strnfill(5000, 'x');
  g_assert_null(pla_preset_find(long_name));
}

/* every preset is a valid set of parameters at each level, stiffer from level to level, and
 * findable by its own title; no word belongs to two tissues */
static void
test_table(void)
{
  g_autoptr(GHashTable) words = g_hash_table_new(g_str_hash, g_str_equal);
  for (const PlaPreset *const *p = pla_presets_get(); *p; p++) {
    double before = 0.0;
    for (int level = 0; level < 3; level++) {
      double param[PLA_MAX_CONSTANTS] = { 0 }, constants[PLA_MAX_CONSTANTS] = { 0 }, young, poisson;
      PlaError err = { 0 };
      const PlaMaterial *material = pla_preset_params(*p, (PlaStiffness)level, param);
      if (pla_material_check(material, param, &err) != PLA_OK)
        g_error("%s: %s", (*p)->id, err.message);
      g_assert_cmpint(material->prepare(param, constants, &err), ==, PLA_OK);
      pla_preset_elasticity(*p, (PlaStiffness)level, &young, &poisson);
      g_assert_cmpfloat(young, >, before);
      g_assert_true(poisson >= 0.29 && poisson < 0.4995);
      before = young;
    }
    g_assert_true((*p)->density > 900.0 && (*p)->density < 2000.0);
    g_assert_true(strlen((*p)->source) > 10 && strlen((*p)->density_source) > 5);
    g_assert_true(pla_preset_find((*p)->title) == *p);
    for (int rank = 0; rank < 3; rank++)
      for (const char *const *w = (*p)->names[rank]; w && *w; w++)
        g_assert_true(g_hash_table_add(words, (void *)*w));
  }
}

/* soft tissue keeps its volume, but in standard elements only as far as these do not lock; the rest
 * of the constants is the same */
static void
test_standard(void)
{
  static const struct {
    const char *id;
    double poisson, standard;
  } expected[] = { { "soft-tissue", 0.49, 0.45 },   { "skin", 0.49, 0.45 },
                   { "skin-fibrous", 0.499, 0.45 }, { "fat", 0.49, 0.45 },
                   { "muscle", 0.49, 0.4707 },      { "tongue", 0.4897, 0.4897 },
                   { "mucosa", 0.49, 0.45 },        { "cartilage", 0.4, 0.4 },
                   { "tendon", 0.49, 0.45 },        { "bone", 0.3, 0.3 } };
  for (unsigned k = 0; k < G_N_ELEMENTS(expected); k++)
    for (int level = 0; level < 3; level++) {
      const PlaPreset *preset = pla_preset_find(expected[k].id);
      double param[2][PLA_MAX_CONSTANTS] = { { 0 } };
      g_assert_cmpstr(preset->id, ==, expected[k].id);
      const PlaMaterial *m = pla_preset_params(preset, (PlaStiffness)level, param[0]);
      g_assert_true(pla_preset_params_standard(preset, (PlaStiffness)level, param[1]) == m);
      for (int i = 0; m->params[i].key; i++)
        if (strcmp(m->params[i].key, "poisson") != 0 && strcmp(m->params[i].key, "bulk_pa") != 0)
          g_assert_cmpfloat(param[0][i], ==, param[1][i]);
      for (int standard = 0; standard < 2; standard++) {
        double c[PLA_MAX_CONSTANTS] = { 0 }, mu, lambda, vol;
        PlaError err = { 0 };
        g_assert_cmpint(pla_material_check(m, param[standard], &err), ==, PLA_OK);
        g_assert_cmpint(m->prepare(param[standard], c, &err), ==, PLA_OK);
        pla_material_moduli(m, c, &mu, &lambda, &vol);
        g_assert_cmpfloat_with_epsilon(0.5 * lambda / (lambda + mu),
                                       standard ? expected[k].standard : expected[k].poisson, 5e-4);
      }
    }
}

/* stiffness as published: masseter 10.4 kPa, tongue 6 c10, skin 56 kPa */
static void
test_stiffness(void)
{
  static const struct {
    const char *label;
    double young[3];
  } expected[] = {
    { "masseter", { 6.4e3, 10.4e3, 42.8e3 } },
    { "tongue", { 6 * 192.0, 6 * 1037.0, 6 * 1335.0 } },
    { "skin", { 5e3, 56e3, 420e3 } },
  };
  for (unsigned k = 0; k < G_N_ELEMENTS(expected); k++)
    for (int level = 0; level < 3; level++) {
      double young, poisson;
      pla_preset_elasticity(pla_preset_find(expected[k].label), (PlaStiffness)level, &young,
                            &poisson);
      g_assert_cmpfloat_with_epsilon(young, expected[k].young[level], 0.03 * young);
    }
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/presets/names", test_names);
  g_test_add_func("/presets/table", test_table);
  g_test_add_func("/presets/standard", test_standard);
  g_test_add_func("/presets/stiffness", test_stiffness);
  return g_test_run();
}
