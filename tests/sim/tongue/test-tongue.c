/* A made-up tongue that follows made-up coils: fit, palate, exact coils, volume, contact, jaw,
 * airway, and how near the full-space tongue under the same drive is. */
#include "anatomy/base/mat3.h"
#include "anatomy/base/parallel.h"
#include "anatomy/mesh/boundary.h"
#include "anatomy/mesher/tets.h"
#include "sim/solve/solve.h"
#include "sim/speech/tube.h"
#include "sim/tongue/airway.h"
#include "sim/tongue/tongue-volume.h"
#include "sim/tongue/tongue.h"

#include <glib.h>
#include <math.h>
#include <string.h>

/* mm, RAS: a body with a tip before it, on a flat floor */
static double
blob_distance(const double p[3], const void *data)
{
  const double body = sqrt(pow(p[0] / 22.0, 2) + pow(p[1] / 26.0, 2) + pow(p[2] / 24.0, 2)) - 1.0;
  const double tip =
      sqrt(pow(p[0] / 13.0, 2) + pow((p[1] - 22.0) / 16.0, 2) + pow((p[2] - 7.0) / 7.0, 2)) - 1.0;
  return fmax(fmin(18.0 * body, 7.0 * tip), -18.0 - p[2]);
}

typedef struct {
  PlaMesh *mesh;
  unsigned char *fixed;
} Blob;

static Blob
blob_new(double cell_mm)
{
  const int dims[3] = { 56, 76, 60 }, id = 1;
  const double affine[12] = { 1, 0, 0, -27.5, 0, 1, 0, -32.0, 0, 0, 1, -28.0 };
  PlaTetOptions opts = pla_tet_options_default();
  PlaLevelSet *ls;
  Blob b = { 0 };
  PlaError err;
  opts.cell_mm = cell_mm;
  opts.levels = 0;
  g_assert_cmpint(pla_levelset_new(dims, affine, &ls, &err), ==, PLA_OK);
  pla_levelset_fill(ls, blob_distance, NULL);
  g_assert_cmpint(pla_levelset_redistance(ls, INFINITY, NULL, &err), ==, PLA_OK);
  g_assert_cmpint(pla_tets_from_levelsets((const PlaLevelSet *const *)&ls, &id, 1, NULL, &opts,
                                          NULL, &b.mesh, NULL, &err),
                  ==, PLA_OK);
  pla_levelset_free(ls);
  b.fixed = g_new0(unsigned char, b.mesh->n_verts);
  for (int v = 0; v < b.mesh->n_verts; v++)
    b.fixed[v] = b.mesh->pos[3 * v + 2] < -0.0155;
  return b;
}

static void
blob_clear(Blob *b)
{
  pla_mesh_free(b->mesh);
  g_free(b->fixed);
}

/* x grows to the back and y downwards, as coils are recorded: mean places on the blob's back,
 * turned and scaled, with motions of some millimetres */
enum { FRAMES = 60 };

static PlaTrack *
track_new(double amount)
{
  static const double rest[PLA_N_COILS][2] = { { -14, 20.2 }, { -3, 23.8 }, { 11, 21.8 },
                                               { 25, 13.5 },  { 45, -4 },   { 62, 14 },
                                               { 62, -6 } }; /* forward, up */
  PlaTrack *track;
  PlaError err;
  g_assert_cmpint(pla_track_new(FRAMES, 2 * PLA_N_COILS, &track, &err), ==, PLA_OK);
  track->rate_hz = 100.0;
  for (int c = 0; c < 2 * PLA_N_COILS; c++) {
    g_autofree char *name = g_strdup_printf("%s_%c", pla_coil_name(c / 2), c % 2 ? 'y' : 'x');
    track->name[c] = strdup(name);
    track->unit[c] = strdup("mm");
    for (int i = 0; i < FRAMES; i++) {
      const double part = c / 2 < PLA_N_TONGUE_COILS ? 1.0 : 0.4;
      const double by = part * amount * sin(0.22 * i + 0.5 * (c / 2) + 1.1 * (c % 2));
      track->value[i * 2 * PLA_N_COILS + c] = 120.0 - (rest[c / 2][c % 2] + by) / 1.25;
    }
  }
  return track;
}

static PlaTongue *
tongue_new(const Blob *b, const PlaCoilPaths *paths, const PlaTongueSolid *solid, int n_solids)
{
  PlaTongueInput input = pla_tongue_input_default();
  PlaTongue *tongue;
  PlaError err;
  input.mesh = b->mesh;
  input.fixed = b->fixed;
  input.paths = paths;
  input.n_paths = 1;
  input.n_poses = 6;
  input.solid = solid;
  input.n_solids = n_solids;
  input.cubature.pool = 200;
  input.cubature.most = 40;
  const PlaStatus st = pla_tongue_new(&input, NULL, &tongue, &err);
  if (st != PLA_OK)
    g_error("%s", err.message);
  return tongue;
}

static double
cell_mm(void)
{
  return g_getenv("PLA_SMALL") ? 6.5 : 5.0;
}

/* the axes of the blob, however it is turned, and its outline */
static void
test_frame(void)
{
  Blob b = blob_new(6.5);
  PlaHeadFrame frame;
  PlaOutline outline;
  PlaError err;
  PlaTetMesh tets = pla_mesh_tets(b.mesh);
  g_assert_cmpint(pla_head_frame_guess(&tets, b.fixed, &frame, &err), ==, PLA_OK);
  g_assert_cmpfloat(frame.forward[1], ==, 1.0);
  g_assert_cmpfloat(frame.up[2], ==, 1.0);
  g_assert_cmpfloat(frame.right[0], ==, 1.0);
  g_assert_cmpint(pla_outline_init(&outline, &tets, &frame, &err), ==, PLA_OK);
  g_autofree double *line = g_new(double, 2 * outline.n);
  pla_outline_place(&outline, &frame, tets.rest, line);
  for (int i = 0; i < outline.n; i++)
    g_assert_cmpfloat(line[2 * i], <=, line[0] + 1e-12); /* begins at the tip */
  g_assert_cmpint(outline.n_dorsum, >, outline.n / 4);
  g_assert_cmpfloat(line[2 * (outline.n_dorsum - 1) + 1], <, -0.01);
  pla_outline_clear(&outline);
  /* x -> y, y -> -z, z -> x */
  for (int v = 0; v < b.mesh->n_verts; v++) {
    double *p = b.mesh->pos + 3 * v, turned[3] = { p[2], p[0], -p[1] };
    memcpy(p, turned, sizeof turned);
  }
  tets = pla_mesh_tets(b.mesh);
  g_assert_cmpint(pla_head_frame_guess(&tets, b.fixed, &frame, &err), ==, PLA_OK);
  g_assert_cmpfloat(frame.forward[2], ==, -1.0);
  g_assert_cmpfloat(frame.up[0], ==, 1.0);
  memset(b.fixed, 0, (size_t)b.mesh->n_verts);
  g_assert_cmpint(pla_head_frame_guess(&tets, b.fixed, &frame, &err), ==, PLA_ERR_GEOMETRY);
  blob_clear(&b);
}

static void
test_drive(void)
{
  Blob b = blob_new(cell_mm());
  PlaTrack *track = track_new(4.0);
  PlaCoilPaths paths;
  PlaError err;
  g_assert_cmpint(pla_coil_paths_init(&paths, track, &err), ==, PLA_OK);
  g_assert_cmpfloat(paths.sign[0], ==, -1.0);
  g_assert_cmpfloat(paths.sign[1], ==, -1.0);
  PlaTongue *tongue = tongue_new(&b, &paths, NULL, 0);
  const PlaCoilFit *fit = pla_tongue_get_fit(tongue);
  g_test_message("scale %.3f, residual %.3f mm, %d points, error %.3f", fit->scale,
                 fit->residual_mm, pla_reduced_model_n_points(pla_tongue_get_model(tongue)),
                 pla_tongue_cubature_error(tongue));
  g_assert_cmpfloat(fabs(fit->scale - 1.25), <, 0.15);
  g_assert_cmpfloat(fit->residual_mm, <, 1.5);
  g_assert_cmpint(pla_reduced_model_n_funcs(pla_tongue_get_model(tongue)), ==, 50);

  PlaTongueBodyOptions options = pla_tongue_body_options_default();
  double volume[2] = { 0 }, deepest = 0.0, jaw[2] = { 0 };
  for (int without = 0; without < 2; without++) {
    PlaTongueBody *body;
    options.without_volume = without;
    g_assert_cmpint(pla_tongue_body_new(tongue, &options, &body, &err), ==, PLA_OK);
    for (int i = 0; i < FRAMES; i++) {
      const double *coils = paths.pos_mm + 2 * PLA_N_COILS * i;
      PlaTongueReport report;
      g_assert_cmpint(pla_tongue_body_step(body, coils, &report, &err), ==, PLA_OK);
      /* every coil where the registered target is, read from the mesh itself */
      for (int k = 0; k < PLA_N_TONGUE_COILS; k++) {
        double want[2], at[2];
        pla_coil_fit_place(fit, coils + 2 * k, want);
        pla_head_frame_sagittal(pla_tongue_get_frame(tongue),
                                pla_tongue_body_get_pos(body) + 3 * fit->vert[k], at);
        g_assert_cmpfloat(pla_tongue_mm(tongue, hypot(want[0] - at[0], want[1] - at[1])), <, 1e-6);
      }
      g_assert_cmpint(report.projected, ==, 0); /* the palate was built above all of them */
      volume[without] = fmax(volume[without], fabs(report.step.volume_ratio - 1.0));
      deepest = fmax(deepest, pla_tongue_mm(tongue, report.step.max_penetration));
      jaw[0] = fmin(jaw[0], report.jaw_deg);
      jaw[1] = fmax(jaw[1], report.jaw_deg);
    }
    pla_tongue_body_free(body);
  }
  g_test_message("volume within %.4f (%.4f without), deepest %.3f mm, jaw %.2f to %.2f degrees",
                 volume[0], volume[1], deepest, jaw[0], jaw[1]);
  g_assert_cmpfloat(volume[0], <, 0.02);
  g_assert_cmpfloat(volume[0], <, 0.5 * volume[1]);
  g_assert_cmpfloat(deepest, <, 0.5);
  g_assert_cmpfloat(jaw[1] - jaw[0], >, 0.5);
  pla_tongue_free(tongue);
  pla_coil_paths_clear(&paths);
  pla_track_free(track);
  blob_clear(&b);
}

static double
low_roof(const double mm[3], const void *data)
{
  return 23.5 - mm[2];
}

/* a given palate that cuts through the paths: targets are put out of it and counted, and the tongue
 * stays below */
static void
test_palate(void)
{
  Blob b = blob_new(6.5);
  PlaTrack *track = track_new(3.0);
  const int dims[3] = { 70, 90, 60 };
  const double affine[12] = { 1, 0, 0, -35, 0, 1, 0, -40, 0, 0, 1, -10 };
  PlaLevelSet *roof;
  PlaCoilPaths paths;
  PlaTongueBody *body;
  PlaError err;
  int projected = 0, contacts = 0;
  double deepest = 0.0;
  g_assert_cmpint(pla_levelset_new(dims, affine, &roof, &err), ==, PLA_OK);
  pla_levelset_fill(roof, low_roof, NULL);
  g_assert_cmpint(pla_coil_paths_init(&paths, track, &err), ==, PLA_OK);
  const PlaTongueSolid solid = { roof, false };
  PlaTongue *tongue = tongue_new(&b, &paths, &solid, 1);
  const PlaTongueBodyOptions options = pla_tongue_body_options_default();
  g_assert_cmpint(pla_tongue_body_new(tongue, &options, &body, &err), ==, PLA_OK);
  for (int i = 0; i < FRAMES; i++) {
    PlaTongueReport report;
    PlaTongueFrame frame;
    const double *coils = paths.pos_mm + 2 * PLA_N_COILS * i;
    pla_tongue_frame(tongue, coils, &frame);
    for (int k = 0; k < PLA_N_TONGUE_COILS; k++)
      g_assert_cmpfloat(frame.target[3 * k + 2], <, 0.0235);
    g_assert_cmpint(pla_tongue_body_step(body, coils, &report, &err), ==, PLA_OK);
    g_assert_cmpfloat(report.step.sensor_error, <, 1e-12);
    projected += report.projected;
    contacts = MAX(contacts, report.step.contacts);
    deepest = fmax(deepest, pla_tongue_mm(tongue, report.step.max_penetration));
  }
  g_test_message("%d targets put out, %d contacts, deepest %.3f mm", projected, contacts, deepest);
  g_assert_cmpint(projected, >, 0);
  g_assert_cmpint(contacts, >, 3);
  g_assert_cmpfloat(deepest, <, 0.5);
  pla_tongue_body_free(body);
  pla_tongue_free(tongue);
  pla_levelset_free(roof);
  pla_coil_paths_clear(&paths);
  pla_track_free(track);
  blob_clear(&b);
}

/* farthest any vertex of the surface is from where full space has it, over the box's diagonal */
static void
test_reference(void)
{
  Blob b = blob_new(6.5);
  PlaTrack *track = track_new(4.0);
  PlaCoilPaths paths;
  PlaTongueReference *full;
  PlaTongueBody *reduced;
  PlaTongueBodyOptions options = pla_tongue_body_options_default();
  PlaMeshSummary sum;
  PlaError err;
  g_assert_cmpint(pla_coil_paths_init(&paths, track, &err), ==, PLA_OK);
  PlaTongue *tongue = tongue_new(&b, &paths, NULL, 0);
  g_assert_cmpint(pla_mesh_summary(pla_tongue_get_mesh(tongue), &sum, &err), ==, PLA_OK);
  const double diagonal =
      sqrt(pow(sum.hi_m[0] - sum.lo_m[0], 2) + pow(sum.hi_m[1] - sum.lo_m[1], 2) +
           pow(sum.hi_m[2] - sum.lo_m[2], 2));
  options.quasistatic = true;
  for (int i = 7; i < FRAMES; i += 25) {
    const double *coils = paths.pos_mm + 2 * PLA_N_COILS * i;
    PlaTongueReport report;
    PlaFemReport solve;
    double most = 0.0;
    g_assert_cmpint(pla_tongue_reference_new(tongue, 0.0, &full, &err), ==, PLA_OK);
    g_assert_cmpint(pla_tongue_body_new(tongue, &options, &reduced, &err), ==, PLA_OK);
    g_assert_cmpint(pla_tongue_body_step(reduced, coils, &report, &err), ==, PLA_OK);
    g_assert_cmpint(pla_tongue_reference_step(full, coils, 3, NULL, &solve, &err), ==, PLA_OK);
    g_assert_cmpint(solve.reason, ==, PLA_STOP_CONVERGED);
    for (int v = 0; v < b.mesh->n_verts; v++) {
      double away[3];
      pla_vec3_sub(pla_tongue_reference_get_pos(full) + 3 * v,
                   pla_tongue_body_get_pos(reduced) + 3 * v, away);
      most = fmax(most, pla_vec3_norm(away));
    }
    g_test_message("frame %d: farthest vertex %.4f of the diagonal", i, most / diagonal);
    g_assert_cmpfloat(most, <, 0.05 * diagonal);
    pla_tongue_reference_free(full);
    pla_tongue_body_free(reduced);
  }
  /* in time: both settle where the coils hold still */
  g_assert_cmpint(pla_tongue_reference_new(tongue, 0.01, &full, &err), ==, PLA_OK);
  for (int i = 0; i < 3; i++) {
    PlaFemReport solve;
    g_assert_cmpint(pla_tongue_reference_step(full, paths.pos_mm + 2 * PLA_N_COILS * i, 1, NULL,
                                              &solve, &err),
                    ==, PLA_OK);
    for (int k = 0; k < PLA_N_TONGUE_COILS; k++) {
      double want[2], at[2], coil[3];
      pla_coil_fit_place(pla_tongue_get_fit(tongue), paths.pos_mm + 2 * (PLA_N_COILS * i + k),
                         want);
      pla_tongue_reference_coil(full, k, coil);
      pla_head_frame_sagittal(pla_tongue_get_frame(tongue), coil, at);
      g_assert_cmpfloat(hypot(want[0] - at[0], want[1] - at[1]), <,
                        2e-6); /* glue gives by a thousandth */
    }
  }
  pla_tongue_reference_free(full);
  pla_tongue_free(tongue);
  pla_coil_paths_clear(&paths);
  pla_track_free(track);
  blob_clear(&b);
}

/* The full-space pressures (Luo 2020, 6.5): one solve leaves what is of the second order, so that a
 * change half as large is left a quarter as large; coils and what is fixed stay.  The reduced
 * tongue that keeps its volume by few pressures lies near the one whose volume is corrected in full
 * space. */
static void
test_volume(void)
{
  Blob b = blob_new(6.5);
  PlaTrack *track = track_new(4.0);
  PlaCoilPaths paths;
  PlaTongueBodyOptions options = pla_tongue_body_options_default();
  PlaTongueBody *body[2];
  PlaVolumeKeeper *keeper;
  PlaTongueReport report;
  PlaMeshSummary sum;
  PlaError err;
  g_assert_cmpint(pla_coil_paths_init(&paths, track, &err), ==, PLA_OK);
  PlaTongue *tongue = tongue_new(&b, &paths, NULL, 0);
  const PlaCoilFit *fit = pla_tongue_get_fit(tongue);
  const PlaMesh *mesh = pla_tongue_get_mesh(tongue);
  const PlaTetMesh tets = pla_mesh_tets(mesh);
  const int n = mesh->n_verts;
  for (int k = 0; k < PLA_N_TONGUE_COILS; k++)
    b.fixed[fit->vert[k]] = 1;
  g_assert_cmpint(pla_volume_keeper_new(&tets, pla_fem_model_mass(pla_tongue_get_fem(tongue)),
                                        b.fixed, &keeper, &err),
                  ==, PLA_OK);
  options.quasistatic = true;
  for (int without = 0; without < 2; without++) {
    options.without_volume = without;
    g_assert_cmpint(pla_tongue_body_new(tongue, &options, &body[without], &err), ==, PLA_OK);
    g_assert_cmpint(pla_tongue_body_step(body[without], paths.pos_mm + 2 * PLA_N_COILS * 32,
                                         &report, &err),
                    ==, PLA_OK);
  }
  const double *loose = pla_tongue_body_get_pos(body[1]), *kept = pla_tongue_body_get_pos(body[0]);
  double before[2], after[2], off = 0.0, moved = 0.0;
  g_autofree double *pos = g_new(double, 3 * n);
  for (int k = 0; k < 2; k++) {
    const double part = k ? 0.5 : 1.0;
    for (int i = 0; i < 3 * n; i++)
      pos[i] = tets.rest[i] + part * (loose[i] - tets.rest[i]);
    before[k] = pla_volume_keeper_change(keeper, pos);
    g_assert_cmpint(pla_volume_keeper_correct(keeper, pos, &err), ==, PLA_OK);
    after[k] = pla_volume_keeper_change(keeper, pos);
    for (int v = 0; v < n; v++)
      for (int d = 0; b.fixed[v] && d < 3; d++)
        g_assert_cmpfloat(fabs(pos[3 * v + d] - tets.rest[3 * v + d] -
                               part * (loose[3 * v + d] - tets.rest[3 * v + d])),
                          <, 1e-15);
  }
  /* all of the way, as the source does it: again and again with the same matrix */
  memcpy(pos, loose, 3 * (size_t)n * sizeof *pos);
  for (int i = 0; i < 12; i++)
    g_assert_cmpint(pla_volume_keeper_correct(keeper, pos, &err), ==, PLA_OK);
  g_assert_cmpint(pla_mesh_summary(mesh, &sum, &err), ==, PLA_OK);
  const double diagonal =
      sqrt(pow(sum.hi_m[0] - sum.lo_m[0], 2) + pow(sum.hi_m[1] - sum.lo_m[1], 2) +
           pow(sum.hi_m[2] - sum.lo_m[2], 2));
  for (int v = 0; v < n; v++) {
    double away[3], by[3];
    pla_vec3_sub(kept + 3 * v, pos + 3 * v, away);
    pla_vec3_sub(loose + 3 * v, pos + 3 * v, by);
    off += pla_vec3_norm(away) / n / diagonal;
    moved += pla_vec3_norm(by) / n / diagonal;
  }
  g_test_message(
      "volumes off by %.4f, after one solve %.4f, after twelve %.5f; half the motion %.4f, %.4f",
      before[0], after[0], pla_volume_keeper_change(keeper, pos), before[1], after[1]);
  g_test_message(
      "vertices of the reduced tongue %.5f of the diagonal from the corrected one, which moved by "
      "%.5f",
      off, moved);
  g_assert_cmpfloat(after[0], <, 0.5 * before[0]);
  g_assert_cmpfloat(after[1], <, 0.35 * after[0]);
  g_assert_cmpfloat(pla_volume_keeper_change(keeper, pos), <, 0.1 * before[0]);
  g_assert_cmpfloat(off, <, 0.01);
  pla_volume_keeper_free(keeper);
  for (int k = 0; k < 2; k++)
    pla_tongue_body_free(body[k]);
  pla_tongue_free(tongue);
  pla_coil_paths_clear(&paths);
  pla_track_free(track);
  blob_clear(&b);
}

/* raised coils narrow the airway where they are */
static void
test_airway(void)
{
  Blob b = blob_new(6.5);
  PlaTrack *track = track_new(4.0);
  PlaCoilPaths paths;
  PlaTongueBodyOptions options = pla_tongue_body_options_default();
  PlaTongueBody *body;
  PlaAirway low, high;
  PlaTongueReport report;
  PlaError err;
  double coils[2 * PLA_N_COILS];
  g_assert_cmpint(pla_coil_paths_init(&paths, track, &err), ==, PLA_OK);
  PlaTongue *tongue = tongue_new(&b, &paths, NULL, 0);
  options.quasistatic = true;
  g_assert_cmpint(pla_tongue_body_new(tongue, &options, &body, &err), ==, PLA_OK);
  const PlaCoilFit *fit = pla_tongue_get_fit(tongue);
  for (int k = 0; k < 2 * PLA_N_COILS; k++)
    coils[k] = fit->rest_mm[k / 2][k % 2];
  g_assert_cmpint(pla_tongue_body_step(body, coils, &report, &err), ==, PLA_OK);
  pla_airway_measure(tongue, pla_tongue_body_get_pos(body), coils, &low);
  coils[2 * PLA_COIL_TB + 1] += 2.5;
  coils[2 * PLA_COIL_TT + 1] += 2.0;
  g_assert_cmpint(pla_tongue_body_step(body, coils, &report, &err), ==, PLA_OK);
  pla_airway_measure(tongue, pla_tongue_body_get_pos(body), coils, &high);
  g_assert_cmpint(high.n, ==, PLA_AIRWAY_SECTIONS);
  double length = 0.0, before = 0.0, after = 0.0;
  for (int s = 0; s < high.n; s++) {
    g_assert_cmpfloat(high.area_mm2[s], >, 0.0);
    length += high.length_mm[s];
    if (s > 2 * high.n / 3 && s < high.n - 2) {
      before += low.area_mm2[s];
      after += high.area_mm2[s];
    }
  }
  g_test_message("%.0f mm long; front from %.0f to %.0f mm2", length, before, after);
  g_assert_cmpfloat(after, <, before);
  g_assert_cmpfloat(length, >, 60.0);
  /* sections of one area are one tube */
  const PlaTubeOptions lossy = { .losses = true, .radiation = true };
  PlaAirway even = high;
  PlaTube one = { .n = 1, .area = { 300e-6 } };
  double hz[3], whole[3];
  for (int s = 0; s < even.n; s++) {
    even.area_mm2[s] = 300.0;
    one.length[0] += even.length_mm[s] / 1000.0;
  }
  g_assert_cmpint(pla_airway_formants(&even, 3, hz), ==, 3);
  g_assert_cmpint(pla_tube_formants(&one, &lossy, 5000.0, 3, whole), ==, 3);
  for (int k = 0; k < 3; k++)
    g_assert_cmpfloat(fabs(hz[k] / whole[k] - 1.0), <, 1e-3);
  g_assert_cmpint(pla_airway_formants(&high, 3, hz), ==, 3);
  pla_tongue_body_free(body);
  pla_tongue_free(tongue);
  pla_coil_paths_clear(&paths);
  pla_track_free(track);
  blob_clear(&b);
}

/* missing channels and coils that drop out */
static void
test_missing(void)
{
  PlaTrack *track = track_new(1.0);
  PlaCoilPaths paths;
  PlaError err;
  strcpy(track->name[2 * PLA_COIL_TD], "XX_x");
  g_assert_cmpint(pla_coil_paths_init(&paths, track, &err), ==, PLA_ERR_USAGE);
  g_assert_nonnull(strstr(err.message, "TD_x"));
  strcpy(track->name[2 * PLA_COIL_TD], "td_X");
  strcpy(track->name[2 * PLA_COIL_LI], "YY_x");
  g_assert_cmpint(pla_coil_paths_init(&paths, track, &err), ==, PLA_OK);
  g_assert_true(isnan(paths.pos_mm[2 * PLA_COIL_LI]));
  pla_coil_paths_clear(&paths);
  pla_track_free(track);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/tongue/frame", test_frame);
  g_test_add_func("/tongue/missing", test_missing);
  g_test_add_func("/tongue/drive", test_drive);
  g_test_add_func("/tongue/palate", test_palate);
  g_test_add_func("/tongue/airway", test_airway);
  g_test_add_func("/tongue/reference", test_reference);
  g_test_add_func("/tongue/volume", test_volume);
  return g_test_run();
}
