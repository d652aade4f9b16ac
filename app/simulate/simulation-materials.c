/* Materials of scenes.
 *
 * An entry names a law ("model" with its constants), a tissue ("preset"), or several tissues that
 * share the elements ("mixture").  A constant is a number, a word, or the name of a cell field,
 * which then gives one number for each element.  "fibre" (or a list, "fibres", or two "families")
 * adds fibres, "prestretch" the tension that tissue has at rest.  The preset "by-label" looks up
 * each element's label by its name. */
#include "app/simulate/simulation-materials-private.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "sim/material/fibre-curve.h"
#include "sim/material/mixture.h"

#include <math.h>
#include <string.h>

/* ---- one law or tissue -------------------------------------------------------------------- */

/* keys that are about the elements and not about the law */
static const char *const element_keys[] = { "where",   "density_kg_m3", "fibre",       "fibres",
                                            "overlap", "activation",    "contraction", "gamma",
                                            "alpha",   "prestretch",    "families",    NULL };

typedef struct {
  const PlaMaterial *material;
  double density;
  PlaCellQuantity param[PLA_MAX_CONSTANTS];
  int n_params;
  bool varies; /* some parameter comes from a field */
  bool preset, rigid;
} Law;

static PlaStatus
read_model(PlaJson json, PlaJson value, Law *law, PlaError *err)
{
  g_autofree char *name = NULL;
  PlaStatus st = pla_json_text_value(value, &name, err);
  if (st != PLA_OK)
    return st;
  law->material = pla_material_find(name);
  law->density = 1000.0;
  if (!law->material) {
    g_autoptr(GString) names = g_string_new(NULL);
    for (const PlaMaterial *const *m = pla_materials_get(); *m; m++)
      g_string_append_printf(names, "%s%s", names->len ? ", " : "", (*m)->id);
    return pla_json_fail(value, err, "is '%s', which is no material; there are %s", name,
                         names->str);
  }
  for (; law->material->params[law->n_params].key; law->n_params++)
    law->param[law->n_params].value = law->material->params[law->n_params].def;
  return PLA_OK;
}

static void
use_preset(const PlaMaterialsReader *self, const PlaPreset *preset, int stiffness, Law *law)
{
  double param[PLA_MAX_CONSTANTS] = { 0 };
  law->material = (self->input->formulation == PLA_FORMULATION_STANDARD
                       ? pla_preset_params_standard
                       : pla_preset_params)(preset, (PlaStiffness)stiffness, param);
  law->density = preset->density;
  law->preset = true;
  law->rigid = preset->rigid;
  for (law->n_params = 0; law->material->params[law->n_params].key; law->n_params++)
    law->param[law->n_params].value = param[law->n_params];
}

static PlaStatus
read_stiffness(const PlaMaterialsReader *self, PlaJson json, int *stiffness, PlaError *err)
{
  static const char *const levels[] = { "low", "typical", "high", NULL };
  PlaJson value;
  *stiffness = PLA_STIFFNESS_TYPICAL;
  if (pla_json_get(json, "stiffness", &value)) {
    PlaStatus st = pla_json_choice(value, levels, stiffness, err);
    if (st != PLA_OK)
      return st;
  }
  if (self->input->stiffness >= 0)
    *stiffness = self->input->stiffness;
  return PLA_OK;
}

PlaStatus
pla_scene_find_preset(PlaJson value, const PlaPreset **out, PlaError *err)
{
  g_autofree char *name = NULL;
  PlaStatus st = pla_json_text_value(value, &name, err);
  if (st != PLA_OK)
    return st;
  *out = pla_preset_find(name);
  if (*out)
    return PLA_OK;
  g_autoptr(GString) names = g_string_new(NULL);
  for (const PlaPreset *const *p = pla_presets_get(); *p; p++)
    g_string_append_printf(names, "%s%s", names->len ? ", " : "", (*p)->id);
  return pla_json_fail(value, err, "is '%s', which is no tissue; there are %s", name, names->str);
}

static PlaStatus
read_preset(const PlaMaterialsReader *self, PlaJson json, PlaJson value, Law *law, PlaError *err)
{
  const PlaPreset *preset;
  int stiffness;
  PlaStatus st = pla_scene_find_preset(value, &preset, err);
  if (st == PLA_OK)
    st = read_stiffness(self, json, &stiffness, err);
  if (st == PLA_OK)
    use_preset(self, preset, stiffness, law);
  return st;
}

/* {"stretch": [...], "active": [...], "passive": [...]}: a curve of fibres */
static PlaStatus
read_curve(PlaJson json, double *number, PlaError *err)
{
  static const char *const known[] = { "stretch", "active", "passive", NULL };
  double points[3][PLA_FIBRE_TABLE_POINTS];
  int n = 0;
  PlaFibreCurve curve = PLA_FIBRE_NONE;
  PlaStatus st = pla_json_check_keys(json, known, err);
  if (st == PLA_OK && !pla_json_has(json, "stretch"))
    st = pla_json_fail(json, err, "needs 'stretch', 'active' and 'passive': lists of equal length");
  for (int k = 0; st == PLA_OK && k < 3; k++) {
    PlaJson list;
    if (!pla_json_get(json, known[k], &list))
      continue;
    const int length = pla_json_length(list);
    if (k == 0)
      n = length;
    if (length < 2 || length > PLA_FIBRE_TABLE_POINTS || length != n)
      st =
          pla_json_fail(list, err, "needs 2 to %d numbers, as many as the other lists of the curve",
                        PLA_FIBRE_TABLE_POINTS);
    if (st == PLA_OK)
      st = pla_json_vector(list, n, points[k], err);
  }
  if (st == PLA_OK)
    st = pla_fibre_table(points[0], pla_json_has(json, "active") ? points[1] : NULL,
                         pla_json_has(json, "passive") ? points[2] : NULL, n, &curve, err);
  *number = curve;
  return st;
}

/* the law of an entry or of a part of a mixture; @extra: keys that are its owner's business */
static PlaStatus
read_law(const PlaMaterialsReader *self, PlaJson json, const char *const *extra, Law *law,
         PlaError *err)
{
  PlaJson value;
  *law = (Law){ 0 };
  bool has_preset = pla_json_get(json, "preset", &value);
  PlaStatus st = has_preset                            ? read_preset(self, json, value, law, err)
                 : pla_json_get(json, "model", &value) ? read_model(json, value, law, err)
                                                       : pla_json_fail(json, err,
                                                                       "has no 'model' and no "
                                                                       "'preset'");
  if (st != PLA_OK)
    return st;

  /* the keys of this material and no others */
  const char *known[PLA_MAX_CONSTANTS + 20] = { has_preset ? "preset" : "model",
                                                has_preset ? "stiffness" : "model" };
  int n = 2;
  for (; *extra; extra++)
    known[n++] = *extra;
  for (int i = 0; i < law->n_params; i++) {
    const PlaParam *row = &law->material->params[i];
    known[n++] = row->key;
    if (st != PLA_OK || !pla_json_get(json, row->key, &value))
      continue;
    if (row->choices && pla_materials_is_text(value)) {
      g_autofree char *word = NULL;
      st = pla_json_text_value(value, &word, err);
      if (st == PLA_OK)
        st = pla_param_choose(row, word, &law->param[i].value, err);
    } else if (row->choices == pla_fibre_curves && JSON_NODE_HOLDS_OBJECT(value.node)) {
      st = read_curve(value, &law->param[i].value, err);
    } else {
      st = pla_cell_quantity_read(self, value, &law->param[i], err);
      law->varies |= law->param[i].field != NULL;
    }
  }
  if (st == PLA_OK)
    st = pla_json_check_keys(json, known, err);
  if (st == PLA_OK && pla_json_get(json, "density_kg_m3", &value)) {
    st = pla_json_number_value(value, &law->density, err);
    if (st == PLA_OK && !(law->density > 0.0))
      st = pla_json_fail(value, err, "must be above 0 kg/m3");
  }
  return st;
}

/* the constants of a law in cell @c */
static PlaStatus
law_constants(const PlaMaterialsReader *self, const Law *law, size_t c, double *constants,
              PlaError *err)
{
  double param[PLA_MAX_CONSTANTS];
  memset(constants, 0, PLA_MAX_CONSTANTS * sizeof *constants);
  for (int i = 0; i < law->n_params; i++)
    param[i] = pla_cell_quantity_at(self, &law->param[i], c);
  PlaStatus st = pla_material_check(law->material, param, err);
  if (st == PLA_OK)
    st = law->material->prepare(param, constants, err);
  return st;
}

static size_t
first_marked(const PlaMaterialsReader *self, const bool *marked)
{
  size_t c = 0;
  while (c < self->n_cells && !marked[c])
    c++;
  return c;
}

/* gives the marked cells a law */
static PlaStatus
apply_law(PlaMaterialsReader *self, const Law *law, const bool *marked, PlaError *err)
{
  PlaFemMaterial fem = { .material = law->material, .density = law->density };
  const int index = (int)self->materials->len;
  const PlaMesh *mesh = self->input->mesh;
  PlaStatus st = law_constants(self, law, first_marked(self, marked), fem.constants, err);
  g_array_append_val(self->materials, fem);
  for (size_t c = 0; st == PLA_OK && c < self->n_cells; c++) {
    if (!marked[c])
      continue;
    self->cell_material[c] = index;
    self->own[c] = -1;
    self->out->n_presets += law->preset && !law->rigid;
    if (law->varies) {
      double row[PLA_MAX_CONSTANTS];
      st = law_constants(self, law, c, row, err);
      if (st != PLA_OK)
        return pla_fail_within(err, "element %zu", c), st;
      self->own[c] = (int)(self->constants->len / PLA_MAX_CONSTANTS);
      g_array_append_vals(self->constants, row, PLA_MAX_CONSTANTS);
    }
    const int *verts =
        c < (size_t)mesh->n_tets ? mesh->tet + 4 * c : mesh->hex + 8 * (c - (size_t)mesh->n_tets);
    for (int a = 0; law->rigid && a < (c < (size_t)mesh->n_tets ? 4 : 8); a++)
      self->out->rigid[verts[a]] = true;
  }
  return st;
}

/* ---- mixtures ----------------------------------------------------------------------------- */

/* [{"preset": "fat", "fraction": 0.3}, ...]: fractions are numbers or fields, of sum 1 */
static PlaStatus
apply_mixture(PlaMaterialsReader *self, PlaJson list, const bool *marked, PlaError *err)
{
  static const char *const extra[] = { "fraction", "density_kg_m3", NULL };
  PlaMixturePart parts[PLA_MAX_CONSTANTS];
  PlaCellQuantity fraction[PLA_MAX_CONSTANTS];
  Law laws[PLA_MAX_CONSTANTS];
  const int n = pla_json_length(list);
  PlaStatus st = n > 0 && n <= PLA_MAX_CONSTANTS
                     ? PLA_OK
                     : pla_json_fail(list, err, "needs 1 to %d tissues", PLA_MAX_CONSTANTS);
  for (int k = 0; st == PLA_OK && k < n; k++) {
    PlaJson item, value;
    st = pla_json_at(list, k, &item, err);
    if (st == PLA_OK)
      st = read_law(self, item, extra, &laws[k], err);
    if (st == PLA_OK && !pla_json_get(item, "fraction", &value))
      st = pla_json_fail(item, err, "needs its 'fraction' of the element");
    if (st == PLA_OK)
      st = pla_cell_quantity_read(self, value, &fraction[k], err);
    if (st == PLA_OK && laws[k].varies)
      st = pla_json_fail(item, err, "takes no constants from fields; only fractions may vary");
    if (st == PLA_OK) {
      parts[k].material = laws[k].material;
      st = law_constants(self, &laws[k], 0, parts[k].constants, err);
    }
  }
  PlaMixture *mixture = NULL;
  if (st == PLA_OK)
    st = pla_mixture_new(parts, n, &mixture, err);
  if (st != PLA_OK)
    return st;
  g_ptr_array_add(self->out->mixtures, mixture);
  PlaFemMaterial fem = { .material = pla_mixture_get(mixture) };
  const int index = (int)self->materials->len;
  size_t count = 0;
  for (size_t c = 0; c < self->n_cells; c++) {
    double row[PLA_MAX_CONSTANTS] = { 0 }, sum = 0.0;
    if (!marked[c])
      continue;
    for (int k = 0; k < n; k++) {
      row[k] = pla_cell_quantity_at(self, &fraction[k], c);
      if (!(row[k] >= 0.0))
        return pla_json_fail(list, err, "has the fraction %g in element %zu", row[k], c);
      sum += row[k];
    }
    if (!(fabs(sum - 1.0) < 1e-3))
      return pla_json_fail(list, err,
                           "has fractions of sum %g in element %zu, and they must add "
                           "up to 1",
                           sum, c);
    self->cell_material[c] = index;
    self->own[c] = (int)(self->constants->len / PLA_MAX_CONSTANTS);
    g_array_append_vals(self->constants, row, PLA_MAX_CONSTANTS);
    /* the mean serves where one number must do for all cells */
    for (int k = 0; k < n; k++) {
      fem.constants[k] += row[k];
      fem.density += row[k] * laws[k].density;
    }
    count++;
    for (int k = 0; k < n; k++)
      self->out->n_presets += laws[k].preset && row[k] > 0.0;
  }
  for (int k = 0; k < n; k++)
    fem.constants[k] /= (double)count;
  fem.density /= (double)count;
  g_array_append_val(self->materials, fem);
  return PLA_OK;
}

/* ---- entries ------------------------------------------------------------------------------ */

/* each element's tissue by the name of its label */
static PlaStatus
apply_by_label(PlaMaterialsReader *self, PlaJson json, const bool *marked, PlaError *err)
{
  static const char *const known[] = { "where", "preset", "stiffness", NULL };
  const PlaMesh *mesh = self->input->mesh;
  const PlaField *field = pla_mesh_find_field(mesh, "label", PLA_ON_CELLS);
  int stiffness;
  PlaStatus st = pla_json_check_keys(json, known, err);
  if (st == PLA_OK)
    st = read_stiffness(self, json, &stiffness, err);
  if (st == PLA_OK && !field)
    field = pla_mesh_find_field(mesh, "region", PLA_ON_CELLS);
  if (st == PLA_OK && (!field || field->n_components != 1))
    st = pla_json_fail(
        json, err, "asks for tissues by label, and the mesh has no cell field 'label' or 'region'");
  g_autofree bool *these = pla_array_new0(self->n_cells, sizeof *these);
  g_autofree bool *done = pla_array_new0(self->n_cells, sizeof *done);
  if (st == PLA_OK && (!these || !done))
    st = pla_fail_memory(err, "the materials");
  for (size_t c = 0; st == PLA_OK && c < self->n_cells; c++) {
    if (!marked[c] || done[c])
      continue;
    const int id = (int)pla_cell_field_at(self, field, c, 0);
    const PlaLabel *label = pla_label_table_find(self->input->labels, id);
    const PlaPreset *preset = label ? pla_preset_find(label->name) : NULL;
    if (!label)
      return pla_json_fail(json, err, "finds label %d in the mesh, and \"labels\" gives it no name",
                           id);
    if (!preset)
      return pla_json_fail(json, err,
                           "finds no tissue for the label '%s'; give it an entry of its own with "
                           "\"preset\" or \"model\"",
                           label->name);
    Law law = { 0 };
    use_preset(self, preset, stiffness, &law);
    for (size_t d = c; d < self->n_cells; d++) {
      these[d] = marked[d] && (int)pla_cell_field_at(self, field, d, 0) == id;
      done[d] |= these[d];
      self->first_fibre[2 * d + 1] = these[d] ? 0 : self->first_fibre[2 * d + 1];
    }
    memset(these, 0, c * sizeof *these);
    st = apply_law(self, &law, these, err);
    g_ptr_array_add(self->out->notes,
                    g_strdup_printf("label '%s' is %s%s (%s)", label->name, preset->title,
                                    preset->rigid ? ", which does not deform" : "",
                                    preset->source));
  }
  return st;
}

static PlaStatus
read_entry(PlaMaterialsReader *self, PlaJson item, PlaError *err)
{
  static const char *const mixture_keys[] = { "where",   "mixture",    "fibre",       "fibres",
                                              "overlap", "activation", "contraction", "gamma",
                                              "alpha",   "prestretch", "families",    NULL };
  g_autofree bool *marked = pla_array_new(self->n_cells, sizeof *marked);
  PlaJson where, value;
  if (!marked)
    return pla_fail_memory(err, "the materials");
  if (!pla_json_get(item, "where", &where))
    return pla_json_fail(item, err, "has no 'where'");
  PlaStatus st = self->input->select(self->input->scene, where, marked, err);
  if (st != PLA_OK)
    return st;
  if (pla_json_get(item, "preset", &value) && pla_materials_is_text(value) &&
      strcmp(json_node_get_string(value.node), "by-label") == 0)
    return apply_by_label(self, item, marked, err);
  if (pla_json_get(item, "mixture", &value)) {
    st = pla_json_check_keys(item, mixture_keys, err);
    if (st == PLA_OK)
      st = apply_mixture(self, value, marked, err);
  } else {
    Law law;
    st = read_law(self, item, element_keys, &law, err);
    if (st == PLA_OK)
      st = apply_law(self, &law, marked, err);
  }
  if (st == PLA_OK) {
    const PlaFemMaterial *last =
        &g_array_index(self->materials, PlaFemMaterial, self->materials->len - 1);
    st = pla_materials_read_fibres(self, item, last->material, marked, err);
  }
  /* what an earlier entry stretched, a later one without prestretch does not */
  for (size_t c = 0; st == PLA_OK && self->prestretch && c < self->n_cells; c++)
    if (marked[c])
      pla_mat3_identity(self->prestretch + 9 * c);
  if (st == PLA_OK && pla_json_get(item, "prestretch", &value))
    st = pla_materials_read_prestretch(self, value, marked, err);
  return st;
}

/* ---- the model ---------------------------------------------------------------------------- */

/* the share of each cell that is material, where the mesh says so; NULL: all are full */
static PlaStatus
read_filled(const PlaMaterialsReader *self, double **out, PlaError *err)
{
  /* A cell with next to nothing in it keeps this share.  Less would leave vertices that nothing
   * holds in rounded arithmetic; this much is not seen in weight or stiffness. */
  const double least = 1e-3;
  const PlaMesh *mesh = self->input->mesh;
  const PlaMeshShares shares = pla_mesh_shares(mesh);
  *out = NULL;
  if (!shares.field[0] && !shares.field[1])
    return PLA_OK;
  *out = pla_array_new(self->n_cells, sizeof **out);
  for (size_t c = 0; *out && c < self->n_cells; c++)
    (*out)[c] = fmax(pla_mesh_share(&shares, (size_t)mesh->n_tris + c), least);
  return *out ? PLA_OK : pla_fail_memory(err, "the materials");
}

/* fibres cell by cell, and everything else that cells have of their own */
static PlaStatus
set_cells(PlaMaterialsReader *self, PlaError *err)
{
  g_autofree int *start = pla_array_new0(self->n_cells + 1, sizeof *start);
  if (!start)
    return pla_fail_memory(err, "the fibres");
  g_autoptr(GArray) direction = g_array_new(FALSE, FALSE, sizeof(double));
  g_autoptr(GArray) overlap = g_array_new(FALSE, FALSE, sizeof(double));
  g_autoptr(GArray) muscle = g_array_new(FALSE, FALSE, sizeof(int));
  for (size_t c = 0; c < self->n_cells; c++) {
    for (int k = 0; k < self->first_fibre[2 * c + 1]; k++) {
      const PlaFibreSpec *spec =
          &g_array_index(self->fibres, PlaFibreSpec, (guint)(self->first_fibre[2 * c] + k));
      double d[3], share = pla_cell_quantity_at(self, &spec->overlap, c);
      /* the muscle does not reach this element */
      if (share == 0.0 || !pla_cell_fibre_at(self, spec, c, d))
        continue;
      g_array_append_vals(direction, d, 3);
      g_array_append_val(overlap, share);
      g_array_append_val(muscle, spec->muscle);
    }
    start[c + 1] = (int)muscle->len;
  }
  const guint n_muscles = self->muscles->len;
  g_autofree double *shape = g_new0(double, 2 * n_muscles + 2);
  g_autofree double *activation = g_new0(double, n_muscles + 1);
  for (guint m = 0; m < n_muscles; m++) {
    const PlaMuscleSpec *spec = &g_array_index(self->muscles, PlaMuscleSpec, m);
    shape[2 * m] = spec->gamma;
    shape[2 * m + 1] = spec->alpha;
    activation[m] = spec->activation;
  }
  g_autofree double *filled = NULL;
  PlaStatus st = read_filled(self, &filled, err);
  if (st != PLA_OK)
    return st;
  PlaFemCells cells = { .prestretch = self->prestretch, .filled = filled };
  if (self->constants->len > 0) {
    cells.own = self->own;
    cells.constants = (const double *)(void *)self->constants->data;
    cells.n_own = (int)(self->constants->len / PLA_MAX_CONSTANTS);
  }
  if (muscle->len > 0) {
    cells.fibre_start = start;
    cells.fibre = (const double *)(void *)direction->data;
    cells.overlap = (const double *)(void *)overlap->data;
    cells.muscle = (const int *)(void *)muscle->data;
    cells.n_muscles = (int)n_muscles;
    cells.shape = shape;
  }
  if (!cells.own && !cells.fibre_start && !cells.prestretch && !filled)
    return PLA_OK;
  st = pla_fem_model_set_cells(self->out->model, &cells, err);
  if (st == PLA_OK)
    pla_fem_model_set_activations(self->out->model, activation);
  return st;
}

/* materials of which the averaged formulation averages the strains alone, where that matters: from
 * a Poisson's ratio of 0.4 on */
static void
note_averaged(const PlaMaterialsInput *input, const GArray *materials, GPtrArray *notes)
{
  for (guint m = 0; m < materials->len; m++) {
    const PlaFemMaterial *use = &g_array_index(materials, PlaFemMaterial, m);
    const PlaMaterial *material = use->material;
    double mu = 0.0, lambda = 0.0, vol;
    if (!material->mixture)
      pla_material_moduli(material, use->constants, &mu, &lambda, &vol);
    bool told = input->formulation != PLA_FORMULATION_AVERAGED || material->volume_modulus ||
                lambda < 4.0 * mu;
    for (guint k = 0; !told && k < m; k++)
      told = strcmp(material->id, g_array_index(materials, PlaFemMaterial, k).material->id) == 0;
    if (!told)
      g_ptr_array_add(notes, g_strdup_printf("elements of the material '%s' average strains but "
                                             "not volumes, and are too stiff where it is nearly "
                                             "incompressible",
                                             material->id));
  }
}

/* how far each cell may be stretched before its law is continued, and which dispersed fibres have
 * no direction */
static PlaStatus
check_laws(PlaMaterialsReader *self, PlaError *err)
{
  size_t undirected = 0;
  for (size_t c = 0; c < self->n_cells; c++) {
    const PlaMaterial *material =
        g_array_index(self->materials, PlaFemMaterial, (guint)self->cell_material[c]).material;
    undirected += pla_material_param(material, "kappa") >= 0 && self->first_fibre[2 * c + 1] == 0;
    const double reach = material->reach ? material->reach(pla_cell_constants(self, c)) : INFINITY;
    if (reach < INFINITY && !self->out->reach) {
      self->out->reach = pla_array_new(self->n_cells, sizeof *self->out->reach);
      for (size_t d = 0; self->out->reach && d < self->n_cells; d++)
        self->out->reach[d] = INFINITY;
      if (!self->out->reach)
        return pla_fail_memory(err, "the materials");
    }
    if (self->out->reach)
      self->out->reach[c] = reach;
  }
  if (undirected > 0)
    g_ptr_array_add(self->out->notes,
                    g_strdup_printf("%zu elements with dispersed fibres have no 'families' and no "
                                    "'fibre'; their fibres run every way",
                                    undirected));
  return PLA_OK;
}

PlaStatus
pla_materials_read(PlaJson root, const PlaMaterialsInput *input, PlaMaterialsOutput *out,
                   PlaError *err)
{
  const PlaMesh *mesh = input->mesh;
  PlaJson list;
  PlaMaterialsReader self = { .input = input,
                              .n_cells = (size_t)mesh->n_tets + (size_t)mesh->n_hexes,
                              .out = out };
  *out = (PlaMaterialsOutput){ 0 };
  if (self.n_cells == 0)
    return pla_fail(err, PLA_ERR_GEOMETRY,
                    "the mesh has no tetrahedra and no hexahedra; mesh the surface first");
  if (!pla_json_get(root, "materials", &list) || pla_json_length(list) < 1)
    return pla_json_fail(root, err, "needs a list of 'materials'");
  out->mixtures = g_ptr_array_new_with_free_func((GDestroyNotify)pla_mixture_free);
  out->notes = g_ptr_array_new_with_free_func(g_free);
  out->rigid = pla_array_new0((size_t)mesh->n_verts, sizeof *out->rigid);
  self.materials = g_array_new(FALSE, FALSE, sizeof(PlaFemMaterial));
  self.constants = g_array_new(FALSE, FALSE, sizeof(double));
  self.fibres = g_array_new(FALSE, FALSE, sizeof(PlaFibreSpec));
  self.muscles = g_array_new(FALSE, FALSE, sizeof(PlaMuscleSpec));
  self.cell_material = pla_array_new(self.n_cells, sizeof *self.cell_material);
  self.own = pla_array_new(self.n_cells, sizeof *self.own);
  self.first_fibre = pla_array_new0(2 * self.n_cells, sizeof *self.first_fibre);
  PlaStatus st = out->rigid && self.cell_material && self.own && self.first_fibre
                     ? PLA_OK
                     : pla_fail_memory(err, "the materials");
  for (size_t c = 0; st == PLA_OK && c < self.n_cells; c++)
    self.cell_material[c] = self.own[c] = -1;
  for (int i = 0; st == PLA_OK && i < pla_json_length(list); i++) {
    PlaJson item;
    st = pla_json_at(list, i, &item, err);
    if (st == PLA_OK)
      st = read_entry(&self, item, err);
  }
  for (size_t c = 0; st == PLA_OK && c < self.n_cells; c++)
    if (self.cell_material[c] < 0)
      st =
          pla_fail(err, PLA_ERR_USAGE,
                   "element %zu has no material; add one with \"where\": {\"all\": true} first", c);
  if (st == PLA_OK)
    st = pla_fem_model_new(mesh, (const PlaFemMaterial *)(void *)self.materials->data,
                           (int)self.materials->len, self.cell_material, input->formulation,
                           &out->model, err);
  if (st == PLA_OK)
    st = check_laws(&self, err);
  if (st == PLA_OK)
    note_averaged(input, self.materials, out->notes);
  if (st == PLA_OK)
    st = set_cells(&self, err);
  g_array_unref(self.materials);
  g_array_unref(self.constants);
  g_array_unref(self.fibres);
  g_array_unref(self.muscles);
  g_free(self.cell_material);
  g_free(self.own);
  g_free(self.first_fibre);
  g_free(self.prestretch);
  return st;
}
