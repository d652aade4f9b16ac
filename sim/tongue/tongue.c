/* Builds the reduced tongue of a mesh and a speaker, and turns frames of coils into its targets. */
#include "sim/tongue/tongue-private.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "sim/reduced/reduced.h"
#include "sim/reduced/weights.h"
#include "sim/speech/sounds.h"
#include "sim/tongue/palate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_DOMAINS = PLA_N_TONGUE_COILS + 1 };
#define POOR_FIT_MM 1.0 /* of marked vertices; others are then tried */
#define CLEAR_MM 0.3    /* between palate and coils that were found inside of it */

PlaTongueInput
pla_tongue_input_default(void)
{
  return (PlaTongueInput){ .frame = pla_head_frame_ras(),
                           .material = "stable-neo-hookean",
                           .young_pa = 6912.0,
                           .poisson = 0.49,
                           .spread_mm = 1.0,
                           .smooth_mm = 3.0,
                           .point_poisson = 0.40,
                           .density = 1000.0,
                           .cubature = pla_cubature_options_default(),
                           .n_poses = 24 };
}

void
pla_tongue_free(PlaTongue *self)
{
  if (!self)
    return;
  pla_reduced_model_free(self->model);
  pla_fem_model_free(self->fem);
  pla_mesh_free(self->mesh);
  pla_outline_clear(&self->outline);
  for (int i = 0; i < self->n_solids; i++)
    pla_levelset_free(self->solid[i]);
  free(self->solid);
  free(self->with_jaw);
  free(self->fixed);
  free(self->slides);
  free(self->lift);
  free(self->change);
  free(self);
}

/* ---- anatomy ---- */

/* The phantom rests against its palate; speakers' means are laid on where its coils are when it
 * speaks. */
static PlaStatus
register_in_tract(PlaTongue *self, const PlaTongueInput *input, PlaError *err)
{
  PlaTetMesh tets = pla_mesh_tets(self->mesh);
  double *pos = pla_array_dup(tets.rest, 3 * (size_t)tets.n_verts, sizeof *pos);
  if (!pos)
    return pla_fail_memory(err, "a tongue");
  for (int k = 0; k < PLA_N_TONGUE_COILS; k++) {
    const double *mm = pla_sound_neutral() + 2 * k;
    const double at[2] = { (PLA_SENSOR_X0 - mm[0]) / 1000.0, (PLA_SENSOR_Y0 - mm[1]) / 1000.0 };
    pla_head_frame_point(&self->frame, at, pos + 3 * (size_t)input->coil_vert[k]);
  }
  tets.rest = pos;
  const PlaStatus st = pla_coil_fit(&tets, &self->frame, &self->outline, input->coil_vert, NULL,
                                    input->paths, input->n_paths, &self->fit, err);
  free(pos);
  return st;
}

static PlaStatus
register_speaker(PlaTongue *self, const PlaTongueInput *input, PlaError *err)
{
  PlaTetMesh tets = pla_mesh_tets(self->mesh);
  PlaStatus st = pla_outline_init(&self->outline, &tets, &self->frame, err);
  self->mesh_factor = 1.0;
  if (st == PLA_OK && input->fit) {
    self->fit = *input->fit;
    return PLA_OK;
  }
  if (st == PLA_OK && input->in_tract && !input->scale_mesh)
    return register_in_tract(self, input, err);
  if (st == PLA_OK)
    st = pla_coil_fit(&tets, &self->frame, &self->outline, input->coil_vert, NULL, input->paths,
                      input->n_paths, &self->fit, err);
  /* coils of speakers do not always sit where the mesh has its marks */
  if (st == PLA_OK && input->coil_vert && self->fit.residual_mm > POOR_FIT_MM) {
    static const double limits[2] = { 0.8, 1.25 };
    PlaCoilFit laid;
    PlaError ignored;
    if (pla_coil_fit(&tets, &self->frame, &self->outline, NULL, limits, input->paths,
                     input->n_paths, &laid, &ignored) == PLA_OK &&
        laid.residual_mm < self->fit.residual_mm)
      self->fit = laid;
  }
  if (st != PLA_OK || !input->scale_mesh)
    return st;
  /* the same fit with the mesh at the speaker's size */
  const double factor = 1.0 / self->fit.scale;
  self->mesh_factor = factor;
  for (int i = 0; i < 3 * self->mesh->n_verts; i++)
    self->mesh->pos[i] *= factor;
  self->frame.mid *= factor;
  tets = pla_mesh_tets(self->mesh);
  return pla_coil_fit(&tets, &self->frame, &self->outline, self->fit.vert, NULL, input->paths,
                      input->n_paths, &self->fit, err);
}

/* where the lower incisors are at rest, and the axis about which they turn */
static void
place_jaw(PlaTongue *self, const PlaTongueInput *input)
{
  const double mm = self->fit.scale / 1000.0, *li = self->fit.rest_mm[PLA_COIL_LI];
  double tip[2];
  if (!isnan(li[0]) && !isnan(li[1]))
    pla_coil_fit_place(&self->fit, li, self->incisor);
  else { /* no coil: just before and below the tip; the jaw then stays where it is */
    pla_head_frame_sagittal(&self->frame, self->mesh->pos + 3 * (size_t)self->outline.vert[0], tip);
    self->incisor[0] = tip[0] + 5.0 * mm;
    self->incisor[1] = tip[1] - 8.0 * mm;
  }
  self->hinge[0] = input->hinge ? input->hinge[0] : self->incisor[0] - 85.0 * mm;
  self->hinge[1] = input->hinge ? input->hinge[1] : self->incisor[1] + 45.0 * mm;
}

/* fields of the held vertices per unit of: shift forward, shift up, cosine - 1, sine of the
 * opening; carried into the body as linear elasticity does */
static PlaStatus
make_lifts(PlaTongue *self, const PlaTongueInput *input, PlaError *err)
{
  const size_t n = (size_t)self->mesh->n_verts;
  const PlaTetMesh tets = pla_mesh_tets(self->mesh);
  double back = INFINITY, front = -INFINITY;
  self->lift = input->training
                   ? pla_array_dup(input->training->lift, PLA_JAW_LIFTS * n, 3 * sizeof *self->lift)
                   : pla_array_new0(PLA_JAW_LIFTS * n, 3 * sizeof *self->lift);
  if (!self->lift)
    return pla_fail_memory(err, "the jaw's motion");
  if (input->training)
    return PLA_OK;
  for (size_t v = 0; v < n; v++) {
    double at[2];
    pla_head_frame_sagittal(&self->frame, self->mesh->pos + 3 * v, at);
    back = self->fixed[v] ? fmin(back, at[0]) : back;
    front = self->fixed[v] ? fmax(front, at[0]) : front;
  }
  for (size_t v = 0; v < n; v++) {
    double at[2];
    if (!self->fixed[v])
      continue;
    pla_head_frame_sagittal(&self->frame, self->mesh->pos + 3 * v, at);
    const double share = input->jaw_share ? input->jaw_share[v]
                                          : 0.3 + 0.7 * (at[0] - back) / fmax(front - back, 1e-9);
    const double x = at[0] - self->hinge[0], y = at[1] - self->hinge[1];
    for (size_t d = 0; d < 3; d++) {
      const double f = self->frame.forward[d], u = self->frame.up[d];
      self->lift[3 * v + d] = share * f;
      self->lift[3 * (n + v) + d] = share * u;
      self->lift[3 * (2 * n + v) + d] = share * (x * f + y * u);
      self->lift[3 * (3 * n + v) + d] = share * (-y * f + x * u);
    }
  }
  return pla_elastic_extend(&tets, self->fixed, 0.45, PLA_JAW_LIFTS, self->lift, err);
}

static PlaStatus
take_solids(PlaTongue *self, const PlaTongueInput *input, PlaError *err)
{
  const int n = input->n_solids > 0 ? input->n_solids : 1;
  const PlaTetMesh tets = pla_mesh_tets(self->mesh);
  PlaStatus st = PLA_OK;
  self->solid = pla_array_new0((size_t)n, sizeof *self->solid);
  self->with_jaw = pla_array_new0((size_t)n, sizeof *self->with_jaw);
  if (!self->solid || !self->with_jaw)
    return pla_fail_memory(err, "palate and teeth");
  for (int i = 0; st == PLA_OK && i < input->n_solids; i++) {
    st = pla_levelset_dup(input->solid[i].solid, &self->solid[i], err);
    self->with_jaw[i] = input->solid[i].with_jaw;
    self->n_solids = i + 1;
  }
  if (input->n_solids > 0)
    return st;
  self->n_solids = 1;
  return pla_palate_build(&tets, &self->frame, &self->outline, &self->fit, input->paths,
                          input->n_paths, 1e-3 * self->fit.scale, &self->solid[0], err);
}

/* vertices that obstacles push: not held, and not touching a tet that has a held vertex, which may
 * sit on the bone */
static PlaStatus
mark_slides(PlaTongue *self, PlaError *err)
{
  self->slides = pla_array_new((size_t)self->mesh->n_verts, 1);
  if (!self->slides)
    return pla_fail_memory(err, "a tongue");
  memset(self->slides, 1, (size_t)self->mesh->n_verts);
  for (int t = 0; t < self->mesh->n_tets; t++) {
    const int *v = self->mesh->tet + 4 * (size_t)t;
    const bool held =
        self->fixed[v[0]] || self->fixed[v[1]] || self->fixed[v[2]] || self->fixed[v[3]];
    for (int a = 0; a < 4 && held; a++)
      self->slides[v[a]] = 0;
  }
  return PLA_OK;
}

/* ---- mechanics ---- */

static PlaStatus
prepare_material(const PlaTongueInput *input, double young_pa, double poisson, PlaFemMaterial *out,
                 PlaError *err)
{
  double param[PLA_MAX_CONSTANTS];
  *out =
      (PlaFemMaterial){ .material = pla_material_find(input->material), .density = input->density };
  if (!out->material)
    return pla_fail(err, PLA_ERR_USAGE, "There is no material '%s'", input->material);
  for (int i = 0; out->material->params[i].key; i++) {
    const char *key = out->material->params[i].key;
    param[i] = strcmp(key, "young_pa") == 0  ? young_pa
               : strcmp(key, "poisson") == 0 ? poisson
                                             : out->material->params[i].def;
  }
  const PlaStatus st = pla_material_check(out->material, param, err);
  return st == PLA_OK ? out->material->prepare(param, out->constants, err) : st;
}

/* A hundred and fifty degrees of freedom cannot keep the volume of every cubature point: flesh that
 * insists on it there locks, and the whole tongue goes where only the surface at a coil should.
 * Cubature sees the same resistance to shear and less to compression; the volume is kept by the
 * pressures. */
static PlaStatus
make_fem(PlaTongue *self, const PlaTongueInput *input, PlaError *err)
{
  const double poisson = fmin(input->poisson, input->point_poisson);
  const double young_pa = input->young_pa * (1.0 + poisson) / (1.0 + input->poisson);
  PlaFemMaterial point;
  self->young_pa = input->young_pa;
  PlaStatus st = prepare_material(input, input->young_pa, input->poisson, &self->material, err);
  if (st == PLA_OK)
    st = prepare_material(input, young_pa, poisson, &point, err);
  return st == PLA_OK ? pla_tongue_make_fem(self, &point, PLA_FORMULATION_STANDARD, &self->fem, err)
                      : st;
}

PlaStatus
pla_tongue_make_fem(const PlaTongue *self, const PlaFemMaterial *material,
                    PlaFormulation formulation, PlaFemModel **out, PlaError *err)
{
  int *cell = pla_array_new0((size_t)self->mesh->n_tets, sizeof *cell);
  const PlaStatus st = cell
                           ? pla_fem_model_new(self->mesh, material, 1, cell, formulation, out, err)
                           : pla_fail_memory(err, "a tongue");
  free(cell);
  return st;
}

/* the free vertex nearest to the centre of mass */
static int
central_vertex(const PlaTongue *self)
{
  const double *mass = pla_fem_model_mass(self->fem);
  double centre[3] = { 0 }, total = 0.0, nearest = INFINITY;
  int best = -1;
  for (int v = 0; v < self->mesh->n_verts; v++) {
    total += mass[v];
    for (int d = 0; d < 3; d++)
      centre[d] += mass[v] * self->mesh->pos[3 * (size_t)v + (size_t)d];
  }
  for (int v = 0; v < self->mesh->n_verts; v++) {
    double away[3];
    for (int d = 0; d < 3; d++)
      away[d] = self->mesh->pos[3 * (size_t)v + (size_t)d] - centre[d] / total;
    bool coil = self->fixed[v];
    for (int k = 0; k < PLA_N_TONGUE_COILS; k++)
      coil = coil || self->fit.vert[k] == v;
    if (!coil && pla_vec3_norm(away) < nearest) {
      nearest = pla_vec3_norm(away);
      best = v;
    }
  }
  return best;
}

static PlaStatus
make_basis(PlaTongue *self, const PlaDomains *domains, const PlaTongueInput *input,
           PlaProgress *progress, PlaReducedBasis *basis, PlaError *err)
{
  const PlaTetMesh tets = pla_mesh_tets(self->mesh);
  const PlaWeightOptions options = pla_weight_options_default();
  const double mm = self->fit.scale / 1000.0;
  const size_t n = N_DOMAINS * (size_t)tets.n_verts;
  double *weight = pla_array_new(2 * n, sizeof *weight), *others = weight + n;
  PlaStatus st =
      weight ? pla_domain_weights(&tets, domains, self->fixed, &options, progress, weight, err)
             : pla_fail_memory(err, "domains");
  if (st == PLA_OK) {
    memcpy(others, weight, n * sizeof *weight);
    st = pla_weights_smooth(&tets, self->fixed, domains->seed, N_DOMAINS, input->spread_mm * mm,
                            weight, err);
  }
  if (st == PLA_OK)
    st = pla_weights_smooth(&tets, self->fixed, domains->seed, N_DOMAINS, input->smooth_mm * mm,
                            others, err);
  if (st == PLA_OK)
    st = pla_reduced_basis_init(basis, &tets, domains->seed, N_DOMAINS, weight, others,
                                PLA_BASIS_QUADRATIC, err);
  free(weight);
  return st;
}

/* ---- training ---- */

/* about normal, deterministic: the sum of twelve uniform numbers less six */
static double
random_normal(uint64_t *state)
{
  double sum = -6.0;
  for (int i = 0; i < 12; i++) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    sum += (double)(*state >> 11) / 9007199254740992.0;
  }
  return sum;
}

/* shapes that a speaking tongue may take: coils displaced from their means together, in a slope
 * along the tongue, and each by itself */
static PlaStatus
make_poses(PlaTongue *self, const PlaReducedModel *rough, int n_poses, PlaProgress *progress,
           double *poses, PlaError *err)
{
  const double mm = self->fit.scale / 1000.0;
  const size_t n = 3 * (size_t)self->mesh->n_verts;
  PlaReducedOptions options = pla_reduced_options_default();
  PlaReducedBody *body = NULL;
  PlaReducedReport report;
  uint64_t state = 88172645463325252u;
  options.volume_stiffness = options.pressure_stiffness = 0.0;
  options.tolerance = 1e-4 * self->fit.scale;
  PlaStatus st = pla_reduced_body_new(rough, &options, self->fit.vert, PLA_N_TONGUE_COILS, NULL,
                                      NULL, 0, &body, err);
  for (int p = 0; st == PLA_OK && p < n_poses; p++) {
    double target[3 * PLA_N_TONGUE_COILS], lift[PLA_JAW_LIFTS] = { 0 }, all[2], slope[2];
    for (int a = 0; a < 2; a++) {
      all[a] = 3.0 * mm * random_normal(&state);
      slope[a] = 1.2 * mm * random_normal(&state);
    }
    for (int k = 0; k < PLA_N_TONGUE_COILS; k++) {
      double at[2];
      pla_coil_fit_place(&self->fit, self->fit.rest_mm[k], at);
      for (int a = 0; a < 2; a++)
        at[a] += all[a] + (k - 1.5) * slope[a] + 1.2 * mm * random_normal(&state);
      const double aside =
          pla_vec3_dot(self->frame.right, self->mesh->pos + 3 * (size_t)self->fit.vert[k]);
      for (int d = 0; d < 3; d++)
        target[3 * k + d] = aside * self->frame.right[d] + at[0] * self->frame.forward[d] +
                            at[1] * self->frame.up[d];
    }
    lift[3] = 0.02 * random_normal(&state);
    lift[2] = sqrt(1.0 - lift[3] * lift[3]) - 1.0;
    st = pla_reduced_body_settle(body, target, lift, NULL, &report, err);
    if (st == PLA_OK)
      memcpy(poses + (size_t)p * n, pla_reduced_body_get_pos(body), n * sizeof *poses);
    if (st == PLA_OK && !pla_progress_step(progress, (p + 1.0) / n_poses))
      st = pla_fail_cancelled(err);
  }
  pla_reduced_body_free(body);
  return st;
}

/* mean change of volume around each vertex in each pose: what pressures have to undo */
static void
volume_changes(const PlaTongue *self, int n_poses, const double *poses, double *change)
{
  const PlaMesh *mesh = self->mesh;
  const size_t n = (size_t)mesh->n_verts;
  for (int p = 0; p < n_poses; p++) {
    double *out = change + (size_t)p * n, *whole = change + (size_t)n_poses * n;
    memset(out, 0, n * sizeof *out);
    memset(whole, 0, n * sizeof *whole);
    for (int t = 0; t < mesh->n_tets; t++) {
      const int *v = mesh->tet + 4 * (size_t)t;
      double edge[9], rest[9];
      for (int a = 0; a < 3; a++) {
        pla_vec3_sub(poses + 3 * ((size_t)p * n + (size_t)v[a + 1]),
                     poses + 3 * ((size_t)p * n + (size_t)v[0]), edge + 3 * a);
        pla_vec3_sub(mesh->pos + 3 * (size_t)v[a + 1], mesh->pos + 3 * (size_t)v[0], rest + 3 * a);
      }
      const double volume = pla_mat3_det(rest);
      for (int a = 0; a < 4; a++) {
        out[v[a]] += pla_mat3_det(edge) - volume;
        whole[v[a]] += volume;
      }
    }
    for (size_t v = 0; v < n; v++)
      out[v] /= whole[v] > 0.0 ? whole[v] : 1.0;
  }
}

/* trains functions and cubature, and notes the changes of volume */
static PlaStatus
train(PlaTongue *self, const PlaTongueInput *input, PlaProgress *progress, PlaReducedBasis *basis,
      PlaCubature *cubature, PlaError *err)
{
  enum { ROUGH = 100, MOST_PRESSURES = 16 };
  const PlaTetMesh tets = pla_mesh_tets(self->mesh);
  const size_t n = (size_t)tets.n_verts;
  const int n_poses = input->n_poses > 1 ? input->n_poses : 2;
  int seed[N_DOMAINS];
  PlaDomains *domains = NULL;
  PlaReducedModel *rough = NULL;
  memcpy(seed, self->fit.vert, sizeof self->fit.vert);
  seed[N_DOMAINS - 1] = central_vertex(self);
  double *poses = pla_array_new(n * (size_t)n_poses, 3 * sizeof *poses);
  self->change = pla_array_new(n, ((size_t)n_poses + 1) * sizeof *self->change);
  PlaStatus st = poses && self->change ? PLA_OK : pla_fail_memory(err, "training poses");
  if (st == PLA_OK)
    st = pla_domains_new(&tets, seed, N_DOMAINS, &domains, err);
  pla_progress_phase(progress, "Weights of domains", 0.35);
  if (st == PLA_OK)
    st = make_basis(self, domains, input, progress, basis, err);
  pla_progress_phase(progress, "Training poses", 0.75);
  if (st == PLA_OK)
    st = pla_cubature_sample(self->fem, domains, ROUGH, cubature, err);
  if (st == PLA_OK)
    st = pla_reduced_model_new(self->fem, basis, PLA_JAW_LIFTS, self->lift, cubature, &rough, err);
  if (st == PLA_OK)
    st = make_poses(self, rough, n_poses, progress, poses, err);
  pla_cubature_clear(cubature);
  pla_progress_phase(progress, "Cubature", 1.0);
  if (st == PLA_OK)
    st = pla_cubature_train(self->fem, basis, domains, n_poses, poses, &input->cubature, progress,
                            cubature, &self->cubature_error, err);
  if (st == PLA_OK) {
    volume_changes(self, n_poses, poses, self->change);
    self->n_changes = n_poses < MOST_PRESSURES ? n_poses : MOST_PRESSURES;
  }
  pla_reduced_model_free(rough);
  pla_domains_free(domains);
  free(poses);
  return st;
}

/* functions and cubature as they were made before */
static PlaStatus
take_training(PlaTongue *self, const PlaTongueTraining *from, PlaReducedBasis *basis,
              PlaCubature *cubature, PlaError *err)
{
  const size_t n = (size_t)from->n_verts;
  basis->n_verts = from->n_verts;
  basis->n_funcs = from->n_funcs;
  basis->phi = pla_array_dup(from->phi, n * (size_t)from->n_funcs, sizeof *basis->phi);
  cubature->n = from->n_points;
  cubature->tet = pla_array_dup(from->tet, (size_t)from->n_points, sizeof *cubature->tet);
  cubature->weight = pla_array_dup(from->weight, (size_t)from->n_points, sizeof *cubature->weight);
  self->n_changes = from->n_changes;
  self->change = pla_array_dup(from->change, n * (size_t)from->n_changes, sizeof *self->change);
  self->cubature_error = from->cubature_error;
  return basis->phi && cubature->tet && cubature->weight && self->change
             ? PLA_OK
             : pla_fail_memory(err, "a tongue");
}

static bool
training_fits(const PlaTongueTraining *from, const PlaMesh *mesh)
{
  bool fits = from->n_verts == mesh->n_verts && from->n_funcs == N_DOMAINS * PLA_BASIS_QUADRATIC &&
              from->n_points > 0 && from->n_changes > 0;
  for (int i = 0; fits && i < from->n_points; i++)
    fits = from->tet[i] >= 0 && from->tet[i] < mesh->n_tets && from->weight[i] >= 0.0;
  return fits;
}

static PlaStatus
make_model(PlaTongue *self, const PlaTongueInput *input, PlaProgress *progress, PlaError *err)
{
  PlaReducedBasis basis = { 0 };
  PlaCubature cubature = { 0 };
  PlaStatus st = input->training ? take_training(self, input->training, &basis, &cubature, err)
                                 : train(self, input, progress, &basis, &cubature, err);
  if (st == PLA_OK)
    st = pla_reduced_model_new(self->fem, &basis, PLA_JAW_LIFTS, self->lift, &cubature,
                               &self->model, err);
  if (st == PLA_OK)
    st = pla_reduced_model_set_pressures(self->model, self->n_changes, self->change, err);
  pla_cubature_clear(&cubature);
  pla_reduced_basis_clear(&basis);
  return st;
}

PlaStatus
pla_tongue_new(const PlaTongueInput *input, PlaProgress *progress, PlaTongue **out, PlaError *err)
{
  PlaTongue *self = pla_array_new0(1, sizeof *self);
  PlaStatus st = self ? PLA_OK : pla_fail_memory(err, "a tongue");
  *out = NULL;
  if (st == PLA_OK && input->mesh->n_tets == 0)
    st = pla_fail(err, PLA_ERR_GEOMETRY, "The tongue mesh has no tetrahedra");
  if (st == PLA_OK && input->training && !training_fits(input->training, input->mesh))
    st = pla_fail(err, PLA_ERR_FORMAT, "The training belongs to another tongue");
  if (st == PLA_OK)
    st = pla_mesh_dup(input->mesh, &self->mesh, err);
  if (st == PLA_OK) {
    self->frame = input->frame;
    self->fixed = pla_array_dup(input->fixed, (size_t)self->mesh->n_verts, 1);
    if (!self->fixed)
      st = pla_fail_memory(err, "a tongue");
  }
  pla_progress_phase(progress, "Fitting the speaker", 0.05);
  if (st == PLA_OK)
    st = register_speaker(self, input, err);
  if (st == PLA_OK)
    place_jaw(self, input);
  if (st == PLA_OK)
    st = make_fem(self, input, err);
  if (st == PLA_OK)
    st = make_lifts(self, input, err);
  if (st == PLA_OK)
    st = mark_slides(self, err);
  if (st == PLA_OK)
    st = take_solids(self, input, err);
  if (st == PLA_OK)
    st = pla_airway_place(self, input->in_tract, err);
  if (st == PLA_OK)
    st = make_model(self, input, progress, err);
  if (st == PLA_OK)
    *out = self;
  else
    pla_tongue_free(self);
  return st;
}

const PlaMesh *
pla_tongue_get_mesh(const PlaTongue *self)
{
  return self->mesh;
}

const PlaHeadFrame *
pla_tongue_get_frame(const PlaTongue *self)
{
  return &self->frame;
}

const PlaOutline *
pla_tongue_get_outline(const PlaTongue *self)
{
  return &self->outline;
}

const PlaCoilFit *
pla_tongue_get_fit(const PlaTongue *self)
{
  return &self->fit;
}

const unsigned char *
pla_tongue_get_fixed(const PlaTongue *self)
{
  return self->fixed;
}

const PlaReducedModel *
pla_tongue_get_model(const PlaTongue *self)
{
  return self->model;
}

const PlaFemModel *
pla_tongue_get_fem(const PlaTongue *self)
{
  return self->fem;
}

int
pla_tongue_n_solids(const PlaTongue *self)
{
  return self->n_solids;
}

const PlaLevelSet *
pla_tongue_get_solid(const PlaTongue *self, int i, bool *with_jaw)
{
  if (with_jaw)
    *with_jaw = self->with_jaw[i];
  return self->solid[i];
}

double
pla_tongue_cubature_error(const PlaTongue *self)
{
  return self->cubature_error;
}

void
pla_tongue_get_training(const PlaTongue *self, PlaTongueTraining *out)
{
  const PlaReducedView view = pla_reduced_model_view(self->model);
  *out = (PlaTongueTraining){ .n_verts = view.basis->n_verts,
                              .n_funcs = view.basis->n_funcs,
                              .phi = view.basis->phi,
                              .lift = self->lift,
                              .n_points = view.n_points,
                              .tet = view.tet,
                              .weight = view.weight,
                              .n_changes = self->n_changes,
                              .change = self->change,
                              .cubature_error = self->cubature_error };
}

double
pla_tongue_mesh_factor(const PlaTongue *self)
{
  return self->mesh_factor;
}

double
pla_tongue_mm(const PlaTongue *self, double m)
{
  return 1000.0 * m / self->fit.scale;
}

/* ---- frames ---- */

/* puts @x out of every solid that is at rest, within the midsagittal plane, and a little clear of
 * it, so that the flesh beside the coil has room; whether it was inside */
static bool
put_out(const PlaTongue *self, double x[3])
{
  enum { ROUNDS = 20 };
  bool inside = false;
  for (int round = 0; round < ROUNDS; round++) {
    double deepest = 0.0, out[2] = { 0 };
    for (int i = 0; i < self->n_solids; i++) {
      const double mm[3] = { 1000.0 * x[0], 1000.0 * x[1], 1000.0 * x[2] };
      double value, gradient[3], along[2];
      if (self->with_jaw[i])
        continue;
      pla_levelset_sample(self->solid[i], 1, mm, &value, gradient);
      if (value >= deepest)
        continue;
      pla_head_frame_sagittal(&self->frame, gradient, along);
      const double size = hypot(along[0], along[1]);
      if (size == 0.0)
        continue;
      deepest = value;
      out[0] = along[0] / size;
      out[1] = along[1] / size;
    }
    if (deepest >= 0.0)
      break;
    inside = true;
    for (int d = 0; d < 3; d++)
      x[d] += (-deepest + CLEAR_MM) / 1000.0 *
              (out[0] * self->frame.forward[d] + out[1] * self->frame.up[d]);
  }
  return inside;
}

void
pla_tongue_frame(const PlaTongue *self, const double *coil_mm, PlaTongueFrame *out)
{
  const PlaHeadFrame *frame = &self->frame;
  const double *li = coil_mm + 2 * PLA_COIL_LI;
  double now[2], angle = 0.0, shift[2] = { 0 };
  *out = (PlaTongueFrame){ 0 };
  if (!isnan(li[0]) && !isnan(li[1])) {
    const double x = self->incisor[0] - self->hinge[0], y = self->incisor[1] - self->hinge[1];
    pla_coil_fit_place(&self->fit, li, now);
    const double u = now[0] - self->hinge[0], v = now[1] - self->hinge[1];
    angle = atan2(x * v - y * u, x * u + y * v);
    shift[0] = u - (cos(angle) * x - sin(angle) * y);
    shift[1] = v - (sin(angle) * x + cos(angle) * y);
  }
  out->jaw_deg = -angle * 180.0 / acos(-1.0);
  out->lift[0] = shift[0];
  out->lift[1] = shift[1];
  out->lift[2] = cos(angle) - 1.0;
  out->lift[3] = sin(angle);
  /* x -> x + (cos - 1) x_sagittal + sin perp + shift, about the hinge */
  double hinge[3];
  pla_head_frame_point(frame, self->hinge, hinge);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      out->jaw_rotation[3 * i + j] =
          (i == j) +
          out->lift[2] * (frame->forward[i] * frame->forward[j] + frame->up[i] * frame->up[j]) +
          out->lift[3] * (frame->up[i] * frame->forward[j] - frame->forward[i] * frame->up[j]);
  pla_mat3_apply(out->jaw_rotation, hinge, out->jaw_shift);
  for (int d = 0; d < 3; d++)
    out->jaw_shift[d] =
        hinge[d] - out->jaw_shift[d] + shift[0] * frame->forward[d] + shift[1] * frame->up[d];
  for (int k = 0; k < PLA_N_TONGUE_COILS; k++) {
    const double *rest = self->mesh->pos + 3 * (size_t)self->fit.vert[k];
    const double aside = pla_vec3_dot(frame->right, rest);
    double at[2], *target = out->target + 3 * k;
    if (isnan(coil_mm[2 * k]) || isnan(coil_mm[2 * k + 1])) {
      target[0] = target[1] = target[2] = NAN;
      continue;
    }
    pla_coil_fit_place(&self->fit, coil_mm + 2 * k, at);
    for (int d = 0; d < 3; d++)
      target[d] = aside * frame->right[d] + at[0] * frame->forward[d] + at[1] * frame->up[d];
    out->projected += put_out(self, target);
  }
}

/* ---- the body ---- */

struct PlaTongueBody {
  const PlaTongue *tongue;
  PlaReducedBody *body;
  PlaReducedObstacle *obstacle;
  bool begun;
};

PlaTongueBodyOptions
pla_tongue_body_options_default(void)
{
  return (PlaTongueBodyOptions){ .dt_s = 0.01 };
}

void
pla_tongue_body_free(PlaTongueBody *self)
{
  if (!self)
    return;
  pla_reduced_body_free(self->body);
  free(self->obstacle);
  free(self);
}

PlaStatus
pla_tongue_body_new(const PlaTongue *tongue, const PlaTongueBodyOptions *options,
                    PlaTongueBody **out, PlaError *err)
{
  PlaReducedOptions reduced = pla_reduced_options_default();
  PlaTongueBody *self = pla_array_new0(1, sizeof *self);
  PlaStatus st = PLA_OK;
  *out = NULL;
  reduced.dt_s = options->quasistatic ? 0.0 : options->dt_s;
  reduced.contact_thickness *= tongue->fit.scale;
  reduced.contact_stiffness /= tongue->fit.scale;
  reduced.tolerance *= tongue->fit.scale;
  if (options->without_volume)
    reduced.volume_stiffness = reduced.pressure_stiffness = 0.0;
  if (self) {
    self->tongue = tongue;
    self->obstacle = pla_array_new0((size_t)tongue->n_solids + 1, sizeof *self->obstacle);
  }
  if (!self || !self->obstacle)
    st = pla_fail_memory(err, "a tongue");
  for (int i = 0; st == PLA_OK && i < tongue->n_solids; i++) {
    self->obstacle[i].level_set = tongue->solid[i];
    pla_mat3_identity(self->obstacle[i].rotation);
  }
  if (st == PLA_OK)
    st = pla_reduced_body_new(tongue->model, &reduced, tongue->fit.vert, PLA_N_TONGUE_COILS,
                              tongue->slides, self->obstacle,
                              options->without_contact ? 0 : tongue->n_solids, &self->body, err);
  if (st == PLA_OK)
    *out = self;
  else
    pla_tongue_body_free(self);
  return st;
}

PlaStatus
pla_tongue_body_step(PlaTongueBody *self, const double *coil_mm, PlaTongueReport *report,
                     PlaError *err)
{
  PlaTongueFrame frame;
  pla_tongue_frame(self->tongue, coil_mm, &frame);
  for (int i = 0; i < self->tongue->n_solids; i++)
    if (self->tongue->with_jaw[i]) {
      memcpy(self->obstacle[i].rotation, frame.jaw_rotation, sizeof frame.jaw_rotation);
      memcpy(self->obstacle[i].shift, frame.jaw_shift, sizeof frame.jaw_shift);
    }
  report->projected = frame.projected;
  report->jaw_deg = frame.jaw_deg;
  PlaStatus st =
      self->begun
          ? pla_reduced_body_step(self->body, frame.target, frame.lift, NULL, &report->step, err)
          : pla_reduced_body_settle(self->body, frame.target, frame.lift, NULL, &report->step, err);
  self->begun = true;
  return st;
}

void
pla_tongue_body_restart(PlaTongueBody *self)
{
  pla_reduced_body_reset(self->body);
  self->begun = false;
}

const double *
pla_tongue_body_get_pos(const PlaTongueBody *self)
{
  return pla_reduced_body_get_pos(self->body);
}
