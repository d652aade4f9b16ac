/* The reduced tongue: steps a second with volume and contact, what keeping the volume costs, and
 * how near the full-space solution of the same frames is.
 *
 * With ../shared/data/tongue the mesh and all recordings there; otherwise the phantom and a made-up
 * sentence. */
#include "anatomy/base/memory.h"
#include "anatomy/base/parallel.h"
#include "anatomy/mesh/boundary.h"
#include "anatomy/registration/registration.h"
#include "anatomy/surface/surface.h"
#include "app/base/quantity.h"
#include "app/bench/bench-private.h"
#include "app/speech/tongue-build.h"
#include "io/formats/fixed-dofs.h"
#include "io/formats/format.h"
#include "sim/solve/solve.h"
#include "sim/tongue/tongue-volume.h"

#include <glib.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DATA "../shared/data/tongue"

/* coils that rise and fall together and apart, on the phantom's own tongue */
static PlaStatus
made_up(PlaItem *out, PlaError *err)
{
  static const double rest[PLA_N_COILS][2] = { { 84, 115 }, { 72, 115.5 }, { 57, 121.5 },
                                               { 46, 129 }, { 37, 138 },   { 20, 120 },
                                               { 20, 141 } };
  const int n = 400;
  PlaStatus st = pla_track_new(n, 2 * PLA_N_COILS, &out->track, err);
  if (st != PLA_OK)
    return st;
  out->kind = PLA_KIND_TRACK;
  out->track->rate_hz = 100.0;
  for (int c = 0; c < 2 * PLA_N_COILS; c++) {
    out->track->name[c] = pla_strdup_printf("%s_%c", pla_coil_name(c / 2), c % 2 ? 'y' : 'x');
    out->track->unit[c] = pla_strdup(pla_unit_suffix(PLA_UNIT_MM));
    for (int i = 0; i < n; i++) {
      const double t = i / 100.0, k = c / 2;
      const double amount = c / 2 < PLA_N_TONGUE_COILS ? 2.5 : 1.0;
      out->track->value[i * 2 * PLA_N_COILS + c] =
          rest[c / 2][c % 2] +
          amount * (sin(9.0 * t + 0.6 * k + c % 2) + 0.6 * sin(23.0 * t - 0.9 * k));
    }
  }
  return PLA_OK;
}

typedef struct {
  GPtrArray *name; /* of char * */
  GArray *item;    /* of PlaItem */
  GPtrArray *track;
  bool real;
} Recordings;

static int
by_name(const void *a, const void *b)
{
  return strcmp(*(char *const *)a, *(char *const *)b);
}

static PlaStatus
load(Recordings *self, PlaError *err)
{
  g_autoptr(GDir) folder = g_dir_open(DATA "/ema", 0, NULL);
  PlaReadOptions opts = pla_read_options_default();
  PlaStatus st = PLA_OK;
  self->real = folder != NULL;
  self->name = g_ptr_array_new_with_free_func(g_free);
  self->item = g_array_new(FALSE, TRUE, sizeof(PlaItem));
  self->track = g_ptr_array_new();
  for (const char *name; folder && (name = g_dir_read_name(folder));)
    g_ptr_array_add(self->name, g_strdup(name));
  g_ptr_array_sort(self->name, by_name);
  if (!folder)
    g_ptr_array_add(self->name, g_strdup("made up"));
  for (guint i = 0; st == PLA_OK && i < self->name->len; i++) {
    PlaItem item = { 0 };
    g_autofree char *path = g_build_filename(DATA "/ema", g_ptr_array_index(self->name, i), NULL);
    st = folder ? pla_item_read(path, &opts, &item, err) : made_up(&item, err);
    g_array_append_val(self->item, item);
    if (st == PLA_OK)
      g_ptr_array_add(self->track, item.track);
  }
  return st;
}

static void
unload(Recordings *self)
{
  for (guint i = 0; i < self->item->len; i++)
    pla_item_clear(&g_array_index(self->item, PlaItem, i));
  g_array_unref(self->item);
  g_ptr_array_unref(self->name);
  g_ptr_array_unref(self->track);
}

static PlaStatus
build(const Recordings *recordings, bool quasistatic, bool without_volume, PlaTongueMotion **out,
      PlaError *err)
{
  PlaTongueMotionOptions options = pla_tongue_motion_options_default();
  const PlaReadOptions read = pla_read_options_default();
  g_autofree int *fixed = NULL;
  PlaItem item = { 0 };
  PlaStatus st = PLA_OK;
  if (recordings->real) {
    st = pla_item_read(DATA "/tongue_tuned_v3.1.node", &read, &item, err);
    if (st == PLA_OK)
      st = pla_fixed_dofs_read(DATA "/fixed-dofs.txt", &fixed, &options.n_fixed, err);
    options.mesh = item.mesh;
    options.fixed = fixed;
  }
  options.quasistatic = quasistatic;
  options.without_volume = without_volume;
  if (st == PLA_OK)
    st = pla_tongue_motion_new(&options, (const PlaTrack *const *)recordings->track->pdata,
                               (int)recordings->track->len, out, err);
  pla_item_clear(&item);
  return st;
}

/* all frames of one recording */
static PlaStatus
play(PlaBench *bench, PlaTongueMotion *motion, const PlaTrack *track, PlaError *err)
{
  bool more = true;
  PlaStatus st = pla_tongue_motion_start(motion, track, err);
  while (st == PLA_OK && more) {
    st = pla_tongue_motion_step(motion, &more, err);
    if (st == PLA_OK && !pla_progress_step(pla_bench_progress(bench), 0.5))
      st = pla_fail_cancelled(err);
  }
  return st;
}

/* the outer surface alone: its vertices at @pos, triangles numbered by them */
typedef struct {
  int n;
  int *vert, *tri;
  double *pos;
} Shell;

static PlaTriMesh
shell_at(Shell *shell, const PlaBoundary *boundary, const double *pos)
{
  for (int i = 0; i < shell->n; i++)
    memcpy(shell->pos + 3 * (size_t)i, pos + 3 * (size_t)shell->vert[i], 3 * sizeof *pos);
  return (PlaTriMesh){ shell->n, boundary->n_tris, shell->pos, shell->tri };
}

static void
shell_init(Shell *shell, const PlaMesh *mesh, const PlaBoundary *boundary)
{
  g_autofree int *local = g_new(int, mesh->n_verts);
  memset(local, 0xff, (size_t)mesh->n_verts * sizeof *local);
  shell->n = 0;
  shell->vert = g_new(int, mesh->n_verts);
  shell->tri = g_new(int, 3 * boundary->n_tris);
  shell->pos = g_new(double, 3 * mesh->n_verts);
  for (int k = 0; k < 3 * boundary->n_tris; k++) {
    const int v = boundary->tri[k];
    if (local[v] < 0) {
      shell->vert[shell->n] = v;
      local[v] = shell->n++;
    }
    shell->tri[k] = local[v];
  }
}

static void
shell_clear(Shell *shell)
{
  g_free(shell->vert);
  g_free(shell->tri);
  g_free(shell->pos);
}

typedef struct {
  double hausdorff, mean; /* as parts of the diagonal of the box */
  double aligned;         /* Hausdorff after the best rigid motion and scale */
  double full_s, reduced_s;
  double full_volume, residual;
} Compared;

static double
volume_of(const PlaMesh *mesh, const double *pos)
{
  PlaMesh moved = *mesh;
  PlaMeshSummary sum;
  PlaError err;
  moved.pos = (double *)pos;
  moved.n_fields = 0;
  return pla_mesh_summary(&moved, &sum, &err) == PLA_OK ? sum.volume_m3 : NAN;
}

/* @pos turned, shifted and scaled to come nearest to @fixed, vertex by vertex (n x 3, mm) */
static PlaStatus
align(int n, const double *fixed, double *pos, PlaError *err)
{
  PlaRigid rigid;
  PlaLandmarkReport report;
  double centre[3] = { 0 }, along = 0.0, size = 0.0;
  const PlaStatus st = pla_register_landmarks(n, pos, fixed, false, &rigid, NULL, &report, err);
  if (st != PLA_OK)
    return st;
  for (int v = 0; v < n; v++) {
    pla_rigid_apply(&rigid, pos + 3 * v, pos + 3 * v);
    for (int d = 0; d < 3; d++)
      centre[d] += fixed[3 * v + d] / n;
  }
  for (int i = 0; i < 3 * n; i++) {
    along += (pos[i] - centre[i % 3]) * (fixed[i] - centre[i % 3]);
    size += (pos[i] - centre[i % 3]) * (pos[i] - centre[i % 3]);
  }
  for (int i = 0; i < 3 * n; i++)
    pos[i] = centre[i % 3] + along / size * (pos[i] - centre[i % 3]);
  return PLA_OK;
}

/* one frame from rest, quasistatic, in full space and reduced */
static PlaStatus
compare(const PlaTongue *tongue, const double *coil_mm, const PlaBoundary *boundary, Compared *out,
        PlaError *err)
{
  const PlaMesh *mesh = pla_tongue_get_mesh(tongue);
  PlaTongueBodyOptions options = pla_tongue_body_options_default();
  PlaTongueReference *full = NULL;
  PlaTongueBody *reduced = NULL;
  PlaTongueReport report;
  PlaFemReport solve;
  PlaMeshSummary sum;
  options.quasistatic = true;
  PlaStatus st = pla_tongue_reference_new(tongue, 0.0, &full, err);
  if (st == PLA_OK)
    st = pla_tongue_body_new(tongue, &options, &reduced, err);
  gint64 begun = g_get_monotonic_time();
  if (st == PLA_OK)
    st = pla_tongue_body_step(reduced, coil_mm, &report, err);
  out->reduced_s = (double)(g_get_monotonic_time() - begun) / 1e6;
  begun = g_get_monotonic_time();
  if (st == PLA_OK)
    st = pla_tongue_reference_step(full, coil_mm, 4, NULL, &solve, err);
  out->full_s = (double)(g_get_monotonic_time() - begun) / 1e6;
  if (st == PLA_OK)
    st = pla_mesh_summary(mesh, &sum, err);
  if (st == PLA_OK) {
    const double *exact = pla_tongue_reference_get_pos(full);
    const double *near = pla_tongue_body_get_pos(reduced);
    Shell shell[2];
    for (int k = 0; k < 2; k++)
      shell_init(&shell[k], mesh, boundary);
    const PlaTriMesh a = shell_at(&shell[0], boundary, exact);
    const PlaTriMesh b = shell_at(&shell[1], boundary, near);
    double box[3], mm = 0.0, off = 0.0;
    for (int d = 0; d < 3; d++)
      box[d] = sum.hi_m[d] - sum.lo_m[d];
    const double diagonal = sqrt(box[0] * box[0] + box[1] * box[1] + box[2] * box[2]);
    st = pla_surface_hausdorff(&a, &b, &mm, err);
    for (int v = 0; v < mesh->n_verts; v++)
      off +=
          sqrt(pow(exact[3 * v] - near[3 * v], 2.0) + pow(exact[3 * v + 1] - near[3 * v + 1], 2.0) +
               pow(exact[3 * v + 2] - near[3 * v + 2], 2.0));
    out->hausdorff = mm / 1000.0 / diagonal;
    for (int k = 0; k < 2; k++)
      for (int i = 0; i < 3 * shell[k].n; i++)
        shell[k].pos[i] *= 1000.0;
    if (st == PLA_OK)
      st = align(shell[0].n, shell[0].pos, shell[1].pos, err);
    for (int k = 0; k < 2; k++)
      for (int i = 0; i < 3 * shell[k].n; i++)
        shell[k].pos[i] /= 1000.0;
    if (st == PLA_OK)
      st = pla_surface_hausdorff(&a, &b, &mm, err);
    out->aligned = mm / 1000.0 / diagonal;
    out->mean = off / mesh->n_verts / diagonal;
    out->full_volume = fabs(volume_of(mesh, exact) / sum.volume_m3 - 1.0);
    out->residual = solve.residual_rel;
    for (int k = 0; k < 2; k++)
      shell_clear(&shell[k]);
  }
  pla_tongue_reference_free(full);
  pla_tongue_body_free(reduced);
  return st;
}

/* the frame whose tongue coils are farthest from where they are in the mean of all recordings */
static int
farthest_frame(const PlaCoilFit *fit, const PlaCoilPaths *paths)
{
  double most = -1.0;
  int found = 0;
  for (int f = 0; f < paths->n_frames; f++) {
    double sum = 0.0;
    for (int k = 0; k < PLA_N_TONGUE_COILS; k++)
      for (int a = 0; a < 2; a++)
        sum += pow(paths->pos_mm[2 * (f * PLA_N_COILS + k) + a] - fit->rest_mm[k][a], 2.0);
    if (sum > most) {
      most = sum;
      found = f;
    }
  }
  return found;
}

/* frames spread over one recording, and the farthest one */
static PlaStatus
compare_recording(PlaBench *bench, const PlaTongueMotion *motion, const char *name,
                  const PlaTrack *track, int n_frames, PlaError *err)
{
  const PlaTongue *tongue = pla_tongue_motion_get_tongue(motion);
  const PlaMesh *mesh = pla_tongue_get_mesh(tongue);
  const PlaTetMesh tets = pla_mesh_tets(mesh);
  const PlaHexMesh none = { 0 };
  PlaCoilPaths paths = { 0 };
  PlaBoundary boundary = { 0 };
  double worst = 0.0, aligned = 0.0, mean = 0.0, full_s = 0.0, reduced_s = 0.0, volume = 0.0,
         residual = 0.0;
  double worst_mean = 0.0, aligned_mean = 0.0;
  int worst_frame = -1;
  const int n = n_frames + 1;
  PlaStatus st = pla_coil_paths_init(&paths, track, err);
  if (st == PLA_OK)
    st = pla_boundary_init(&boundary, &tets, &none, false, err);
  for (int k = 0; st == PLA_OK && k < n; k++) {
    const int frame = k < n_frames ? (int)((k + 0.5) * paths.n_frames / n_frames)
                                   : farthest_frame(pla_tongue_get_fit(tongue), &paths);
    Compared c = { 0 };
    st = compare(tongue, paths.pos_mm + (size_t)frame * 2 * PLA_N_COILS, &boundary, &c, err);
    if (c.hausdorff > worst)
      worst_frame = frame;
    worst = fmax(worst, c.hausdorff);
    aligned = fmax(aligned, c.aligned);
    worst_mean += c.hausdorff / n;
    aligned_mean += c.aligned / n;
    mean += c.mean / n;
    full_s += c.full_s / n;
    reduced_s += c.reduced_s / n;
    volume = fmax(volume, c.full_volume);
    residual = fmax(residual, c.residual);
  }
  if (st == PLA_OK) {
    g_autofree char *label = g_strdup_printf("quasistatic, full and reduced: %s", name);
    pla_bench_begin_run(bench, label, mesh->n_tets, n, reduced_s);
    pla_bench_ratio(bench, "full_over_reduced", full_s / reduced_s);
    pla_bench_number(bench, "hausdorff_over_diagonal", worst);
    pla_bench_number(bench, "hausdorff_mean_frame", worst_mean);
    pla_bench_number(bench, "aligned_hausdorff_over_diagonal", aligned);
    pla_bench_number(bench, "aligned_hausdorff_mean_frame", aligned_mean);
    pla_bench_number(bench, "worst_frame", worst_frame);
    pla_bench_number(bench, "mean_distance_over_diagonal", mean);
    pla_bench_number(bench, "full_volume_change", volume);
    pla_bench_number(bench, "full_residual_rel", residual);
    pla_bench_end_run(bench);
  }
  pla_boundary_clear(&boundary);
  pla_coil_paths_clear(&paths);
  return st;
}

/* Full-space pressures on the shape that the tongue has without keeping its volume: position and
 * velocity are one back-substitution each a step, of a matrix that was factored before. */
static PlaStatus
measure_pressures(PlaBench *bench, const PlaTongueMotion *kept, const PlaTongueMotion *loose,
                  PlaError *err)
{
  enum { SOLVES = 10 };
  const PlaTongue *tongue = pla_tongue_motion_get_tongue(kept);
  const PlaMesh *mesh = pla_tongue_get_mesh(tongue);
  const PlaTetMesh tets = pla_mesh_tets(mesh);
  const size_t n = (size_t)mesh->n_verts;
  const PlaTongueStats *stats = pla_tongue_motion_stats(kept);
  const double reduced_s = stats->volume_seconds / stats->frames;
  g_autofree double *pos = g_memdup2(pla_tongue_motion_get_pos(loose), 3 * n * sizeof *pos);
  g_autofree unsigned char *held = g_memdup2(pla_tongue_get_fixed(tongue), n);
  PlaVolumeKeeper *keeper = NULL;
  for (int k = 0; k < PLA_N_TONGUE_COILS; k++)
    held[pla_tongue_get_fit(tongue)->vert[k]] = 1;
  gint64 begun = g_get_monotonic_time();
  PlaStatus st = pla_volume_keeper_new(&tets, pla_fem_model_mass(pla_tongue_get_fem(tongue)), held,
                                       &keeper, err);
  const double factor_s = (double)(g_get_monotonic_time() - begun) / 1e6;
  const double before = st == PLA_OK ? pla_volume_keeper_change(keeper, pos) : NAN;
  begun = g_get_monotonic_time();
  for (int i = 0; st == PLA_OK && i < SOLVES; i++)
    st = pla_volume_keeper_correct(keeper, pos, err);
  const double full_s = 2.0 * (double)(g_get_monotonic_time() - begun) / 1e6 / SOLVES;
  if (st == PLA_OK) {
    const double *near = pla_tongue_motion_get_pos(kept);
    double off = 0.0;
    for (size_t v = 0; v < n; v++)
      off += sqrt(pow(pos[3 * v] - near[3 * v], 2.0) + pow(pos[3 * v + 1] - near[3 * v + 1], 2.0) +
                  pow(pos[3 * v + 2] - near[3 * v + 2], 2.0)) /
             (double)n;
    pla_bench_begin_run(bench, "volume: full-space pressures", mesh->n_tets, SOLVES, full_s);
    pla_bench_ratio(bench, "full_over_reduced", full_s / reduced_s);
    pla_bench_number(bench, "full_ms_per_step", 1e3 * full_s);
    pla_bench_number(bench, "full_factor_ms", 1e3 * factor_s);
    pla_bench_number(bench, "reduced_ms_per_step", 1e3 * reduced_s);
    pla_bench_number(bench, "volumes_off_before", before);
    pla_bench_number(bench, "volumes_off_full", pla_volume_keeper_change(keeper, pos));
    pla_bench_number(bench, "volumes_off_reduced", pla_volume_keeper_change(keeper, near));
    pla_bench_number(bench, "mean_distance_mm", pla_tongue_mm(tongue, off));
    pla_bench_end_run(bench);
  }
  pla_volume_keeper_free(keeper);
  return st;
}

static PlaStatus
run_tongue(PlaBench *bench, PlaError *err)
{
  const int threads = pla_threads_get();
  Recordings recordings = { 0 };
  PlaTongueMotion *motion = NULL, *loose = NULL;
  PlaStatus st = load(&recordings, err);
  if (st == PLA_OK)
    st = build(&recordings, false, false, &motion, err);
  if (st == PLA_OK)
    st = build(&recordings, false, true, &loose, err);
  pla_threads_set(1);
  for (guint i = 0; st == PLA_OK && i < recordings.track->len; i++) {
    const PlaTrack *track = g_ptr_array_index(recordings.track, i);
    st = play(bench, motion, track, err);
    if (st == PLA_OK)
      st = play(bench, loose, track, err);
    if (st != PLA_OK)
      break;
    const PlaTongueStats *stats = pla_tongue_motion_stats(motion);
    pla_bench_begin_run(bench, g_ptr_array_index(recordings.name, i),
                        pla_tongue_motion_get_rest(motion)->n_tets, stats->frames,
                        stats->seconds / stats->frames);
    pla_bench_ratio(bench, "volume_change_without_over_with",
                    pla_tongue_motion_stats(loose)->max_volume_change / stats->max_volume_change);
    pla_bench_number(bench, "steps_per_s_one_thread", stats->frames / stats->seconds);
    pla_bench_number(bench, "sensor_error_mm", stats->sensor_error_mm);
    pla_bench_number(bench, "max_volume_change", stats->max_volume_change);
    pla_bench_number(bench, "max_volume_change_without",
                     pla_tongue_motion_stats(loose)->max_volume_change);
    pla_bench_number(bench, "volume_ms_per_step", 1e3 * stats->volume_seconds / stats->frames);
    pla_bench_number(bench, "max_penetration_mm", stats->max_penetration_mm);
    pla_bench_number(bench, "projected_targets", stats->projected);
    pla_bench_end_run(bench);
    if (i == 0)
      st = measure_pressures(bench, motion, loose, err);
  }
  pla_threads_set(threads);
  pla_tongue_motion_free(motion);
  pla_tongue_motion_free(loose);
  unload(&recordings);
  return st;
}

static PlaStatus
run_tongue_full(PlaBench *bench, PlaError *err)
{
  const int frames = pla_bench_repeats(bench, 1);
  Recordings recordings = { 0 };
  PlaTongueMotion *motion = NULL;
  PlaStatus st = load(&recordings, err);
  if (st == PLA_OK)
    st = build(&recordings, true, false, &motion, err);
  for (guint i = 0; st == PLA_OK && i < recordings.track->len; i++)
    st = compare_recording(bench, motion, g_ptr_array_index(recordings.name, i),
                           g_ptr_array_index(recordings.track, i), frames, err);
  pla_tongue_motion_free(motion);
  unload(&recordings);
  return st;
}

const PlaBenchmark pla_benchmark_tongue_full = {
  .name = "tongue-full",
  .summary = "the reduced tongue against the full-space one: distance and time",
  .run = run_tongue_full,
};

const PlaBenchmark pla_benchmark_tongue = {
  .name = "tongue",
  .summary = "reduced tongue after recorded coils: steps a second, volume, contact",
  .run = run_tongue,
};
