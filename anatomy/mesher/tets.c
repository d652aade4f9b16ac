/* From level sets to a mesh: lattice, cuts, outer faces, shape. */
#include "anatomy/mesher/tets.h"

#include "anatomy/base/memory.h"
#include "anatomy/mesher/cutter-private.h"
#include "anatomy/surface/surface.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

PlaTetOptions
pla_tet_options_default(void)
{
  return (PlaTetOptions){ .cell_mm = 4.0, .levels = 3, .smooth_mm = -1.0 };
}

static PlaStatus
harvest(const PlaCutter *c, const int *ids, PlaMesh **out, PlaError *err)
{
  int *new_of = pla_array_new((size_t)c->n_points, sizeof *new_of), n_verts = 0;
  int32_t *region = NULL;
  PlaMesh *mesh = NULL;
  if (!new_of)
    return pla_fail_memory(err, "the mesh");
  memset(new_of, -1, (size_t)c->n_points * sizeof *new_of);
  for (size_t k = 0; k < 4 * (size_t)c->n_tets; k++)
    if (new_of[c->tet[k]] < 0)
      new_of[c->tet[k]] = n_verts++;
  PlaStatus st = pla_mesh_new(n_verts, 0, c->n_tets, 0, &mesh, err);
  if (st == PLA_OK) {
    region = pla_mesh_add_field(mesh, PLA_MESH_REGION, PLA_ON_CELLS, PLA_I32, 1);
    if (!region)
      st = pla_fail_memory(err, "the mesh");
  }
  if (st == PLA_OK) {
    for (int p = 0; p < c->n_points; p++)
      for (int d = 0; d < 3 && new_of[p] >= 0; d++)
        mesh->pos[3 * (size_t)new_of[p] + d] = c->pos_mm[3 * (size_t)p + d] / 1000.0;
    for (size_t k = 0; k < 4 * (size_t)c->n_tets; k++)
      mesh->tet[k] = new_of[c->tet[k]];
    for (int t = 0; t < c->n_tets; t++)
      region[t] = ids[c->region[t] - 1];
    *out = mesh;
  } else {
    pla_mesh_free(mesh);
  }
  free(new_of);
  return st;
}

/* lattice and cuts; both are to be cleared by the caller, also after a failure */
static PlaStatus
fill(const PlaTissues *tissues, const PlaTetOptions *opts, PlaProgress *progress,
     PlaLattice *lattice, PlaCutter *c, PlaError *err)
{
  *c = (PlaCutter){ 0 };
  pla_progress_phase(progress, "Filling space", 0.5);
  PlaStatus st = pla_lattice_init(lattice, tissues, opts->cell_mm, opts->levels, progress, err);
  pla_progress_phase(progress, "Cutting", 1.0);
  if (st == PLA_OK)
    st = pla_cutter_init(c, tissues, lattice, err);
  if (st == PLA_OK)
    st = pla_cutter_run(c, progress, err);
  for (int round = 0; st == PLA_OK && tissues->n_groups == 1 && round < 2; round++)
    st = pla_cutter_fit_facets(c, err);
  if (st == PLA_OK && c->n_tets == 0)
    st = pla_fail(err, PLA_ERR_EMPTY, "A cell of %g mm finds nothing inside; use a smaller one",
                  opts->cell_mm);
  if (st == PLA_OK)
    st = pla_cutter_polish(c, err);
  return st;
}

/* Moves the surface outwards by up to @push_mm around the places given, fading out over a
 * cell: a sheet too thin for the lattice gets thicker, a gap too narrow closes. */
static PlaStatus
make_room(PlaLevelSet *ls, const double *place_mm, int n_places, double reach_mm, double push_mm,
          PlaError *err)
{
  const size_t nx = (size_t)ls->dims[0], plane = nx * (size_t)ls->dims[1];
  float *push = pla_array_new0(pla_levelset_n_voxels(ls), sizeof *push);
  if (!push)
    return pla_fail_memory(err, "the mesh");
  for (int p = 0; p < n_places; p++) {
    double x[3];
    int from[3], to[3];
    pla_affine_apply(ls->inverse_mm, place_mm + 3 * (size_t)p, x);
    for (int d = 0; d < 3; d++) {
      const double *row = ls->inverse_mm + 4 * d;
      const double wide = reach_mm * sqrt(row[0] * row[0] + row[1] * row[1] + row[2] * row[2]);
      from[d] = (int)fmax(ceil(x[d] - wide), 0.0);
      to[d] = (int)fmin(floor(x[d] + wide), ls->dims[d] - 1.0);
    }
    for (int k = from[2]; k <= to[2]; k++)
      for (int j = from[1]; j <= to[1]; j++)
        for (int i = from[0]; i <= to[0]; i++) {
          const double at[3] = { i, j, k };
          double pos[3], s = 0.0;
          pla_affine_apply(ls->affine_mm, at, pos);
          for (int d = 0; d < 3; d++)
            s += (pos[d] - place_mm[3 * (size_t)p + d]) * (pos[d] - place_mm[3 * (size_t)p + d]);
          s = fmax(1.0 - s / (reach_mm * reach_mm), 0.0);
          float *here = &push[(size_t)i + nx * (size_t)j + plane * (size_t)k];
          *here = fmaxf(*here, (float)(push_mm * s * s));
        }
  }
  const size_t n = pla_levelset_n_voxels(ls);
  for (size_t v = 0; v < n; v++)
    ls->phi_mm[v] -= push[v];
  free(push);
  return pla_levelset_redistance(ls, ls->band_mm, NULL, err);
}

/* the mesh anew around *@shape, or around the level set that was given */
static PlaStatus
refill(PlaTissues *tissues, const PlaLevelSet *const *shape, const PlaTetOptions *opts,
       PlaProgress *progress, PlaLattice *lattice, PlaCutter *c, PlaError *err)
{
  pla_cutter_clear(c);
  pla_lattice_clear(lattice);
  tissues->group = shape;
  return fill(tissues, opts, progress, lattice, c, err);
}

/* Faces astray show where a single tissue, or a gap in it, is finer than the lattice.  Room is
 * given there while that leaves fewer of them: along sharp edges, where faces are astray as well,
 * it does not.  *roomy: the level set that the mesh is of in the end, NULL: the one given. */
static PlaStatus
give_room(PlaTissues *tissues, const PlaTetOptions *opts, PlaProgress *progress,
          PlaLattice *lattice, PlaCutter *c, PlaLevelSet **roomy, PlaError *err)
{
  enum { ROUNDS = 12, PATIENCE = 3 };
  const PlaLevelSet *const *given = tissues->group;
  PlaLevelSet *best = NULL;
  int fewest = INT_MAX, n_strays = 0, n_outer = 0, idle = 0;
  PlaStatus st = PLA_OK;
  for (int round = 0; st == PLA_OK && round <= ROUNDS; round++) {
    double *stray = NULL;
    st = pla_cutter_strays(c, 0.24 * opts->cell_mm, &stray, &n_strays, &n_outer, err);
    if (st == PLA_OK && n_strays < fewest) {
      fewest = n_strays;
      idle = 0;
      pla_levelset_free(best);
      best = NULL;
      if (*roomy)
        st = pla_levelset_dup(*roomy, &best, err);
    } else {
      idle++;
    }
    /* of many, the tissue as a whole is finer than the cells, and stays as it is */
    const bool more = st == PLA_OK && n_strays > 0 && n_strays <= n_outer / 200 &&
                      idle < PATIENCE && round < ROUNDS;
    if (more && !*roomy)
      st = pla_levelset_dup(given[0], roomy, err);
    if (more && st == PLA_OK)
      st = make_room(*roomy, stray, n_strays, opts->cell_mm, 0.2 * opts->cell_mm, err);
    free(stray);
    if (!more)
      break;
    if (st == PLA_OK)
      st = refill(tissues, (const PlaLevelSet *const *)roomy, opts, progress, lattice, c, err);
    else if (st == PLA_ERR_EMPTY) { /* grown over the whole grid */
      n_strays = INT_MAX;
      st = PLA_OK;
      break;
    }
  }
  if (st == PLA_OK && n_strays > fewest) {
    pla_levelset_free(*roomy);
    *roomy = best;
    best = NULL;
    st = refill(tissues, *roomy ? (const PlaLevelSet *const *)roomy : given, opts, progress,
                lattice, c, err);
  }
  pla_levelset_free(best);
  return st;
}

/* @surface: what the only level set was made of, or NULL */
static PlaStatus
make_tets(const PlaLevelSet *const *group, const int *ids, int n_groups, const PlaLevelSet *rest,
          const PlaTriMesh *surface, const PlaTetOptions *opts, PlaProgress *progress,
          PlaMesh **out, PlaTetReport *report, PlaError *err)
{
  PlaTissues tissues = { n_groups, group, rest };
  PlaLattice lattice;
  PlaCutter c;
  PlaMesh *mesh = NULL;
  PlaLevelSet *roomy = NULL;
  PlaTriTree *tree = NULL;
  double before_mm3 = 0.0, after_mm3 = 0.0;
  *out = NULL;
  if (!(opts->cell_mm > 0.0))
    return pla_fail(err, PLA_ERR_USAGE, "The cell size must be positive, not %g mm", opts->cell_mm);
  pla_progress_phase(progress, "Meshing", 0.5);
  PlaProgressSpan span = pla_progress_push(progress);
  PlaStatus st = fill(&tissues, opts, progress, &lattice, &c, err);
  if (st == PLA_OK && n_groups == 1)
    st = give_room(&tissues, opts, progress, &lattice, &c, &roomy, err);
  pla_progress_pop(progress, span);
  /* from the room back to the tissue as it was given */
  tissues.group = group;
  if (st == PLA_OK && n_groups == 1)
    st = pla_cutter_snap(&c, err);
  if (st == PLA_OK && surface)
    st = pla_tri_tree_new(surface, &tree, err);
  if (st == PLA_OK && surface)
    st = pla_cutter_sharpen(&c, surface, tree, err);
  if (st == PLA_OK && c.pinned)
    st = pla_cutter_polish(&c, err);
  if (st == PLA_OK && roomy)
    st = pla_levelset_measure(group[0], &before_mm3, NULL, err);
  if (st == PLA_OK && roomy)
    st = pla_levelset_measure(roomy, &after_mm3, NULL, err);
  if (st == PLA_OK)
    st = harvest(&c, ids, &mesh, err);
  pla_progress_phase(progress, "Checking", 1.0);
  if (st == PLA_OK && report) {
    PlaMeshSummary summary;
    st = pla_mesh_summary(mesh, &summary, err);
    if (st == PLA_OK) {
      *report = (PlaTetReport){ .min_dihedral_deg = summary.min_dihedral_deg,
                                .max_dihedral_deg = summary.max_dihedral_deg,
                                .inverted = summary.inverted,
                                .room_mm3 = after_mm3 - before_mm3 };
      st = pla_cutter_measure(&c, report, err);
    }
    if (st == PLA_OK && n_groups == 1) {
      double *stray = NULL;
      int n_outer;
      st = pla_cutter_strays(&c, 0.25 * opts->cell_mm, &stray, &report->stray_tris, &n_outer, err);
      free(stray);
    }
  }
  pla_cutter_clear(&c);
  pla_lattice_clear(&lattice);
  pla_levelset_free(roomy);
  pla_tri_tree_free(tree);
  if (st == PLA_OK)
    *out = mesh;
  else
    pla_mesh_free(mesh);
  return st;
}

PlaStatus
pla_tets_from_levelsets(const PlaLevelSet *const *group, const int *ids, int n_groups,
                        const PlaLevelSet *rest, const PlaTetOptions *opts, PlaProgress *progress,
                        PlaMesh **out, PlaTetReport *report, PlaError *err)
{
  return make_tets(group, ids, n_groups, rest, NULL, opts, progress, out, report, err);
}

PlaStatus
pla_tets_from_labels(const PlaLabelMap *map, const int *ids, const int *first, int n_groups,
                     const PlaTetOptions *opts, PlaProgress *progress, PlaMesh **out,
                     PlaTetReport *report, PlaError *err)
{
  PlaLabelLevelSetOptions lo = pla_label_levelset_options_default();
  PlaPartition *parts = NULL;
  int *region = pla_array_new((size_t)n_groups, sizeof *region);
  *out = NULL;
  if (!region)
    return pla_fail_memory(err, "the mesh");
  for (int g = 0; g < n_groups; g++)
    region[g] = ids[first[g]];
  lo.smooth_mm = opts->smooth_mm < 0.0 ? 0.35 * opts->cell_mm : opts->smooth_mm;
  pla_progress_phase(progress, "Making level sets", 0.5);
  PlaProgressSpan span = pla_progress_push(progress);
  PlaStatus st = pla_partition_new(map, ids, first, n_groups, &lo, progress, &parts, err);
  pla_progress_pop(progress, span);
  /* several tissues would no longer agree on their interfaces */
  pla_progress_phase(progress, "Rounding", 0.6);
  if (st == PLA_OK && n_groups == 1 && opts->round_mm > 0.0)
    st = pla_levelset_limit_curvature(parts->group[0], opts->round_mm, progress, err);
  pla_progress_phase(progress, "Meshing", 1.0);
  if (st == PLA_OK) {
    span = pla_progress_push(progress);
    st = pla_tets_from_levelsets((const PlaLevelSet *const *)parts->group, region, n_groups,
                                 parts->rest, opts, progress, out, report, err);
    pla_progress_pop(progress, span);
  }
  pla_partition_free(parts);
  free(region);
  return st;
}

PlaStatus
pla_tets_from_surface(const PlaMesh *surface, const PlaTetOptions *opts, PlaProgress *progress,
                      PlaMesh **out, PlaTetReport *report, PlaError *err)
{
  const PlaTriMesh tris = pla_mesh_tris(surface);
  const bool is_smoothed = opts->smooth_mm > 0.0 || opts->round_mm > 0.0;
  const int region = 1;
  PlaLevelSet *ls = NULL;
  PlaMeshSummary summary;
  *out = NULL;
  if (!(opts->cell_mm > 0.0))
    return pla_fail(err, PLA_ERR_USAGE, "The cell size must be positive, not %g mm", opts->cell_mm);
  PlaStatus st = pla_mesh_summary(surface, &summary, err);
  if (st == PLA_OK && !summary.closed)
    st = pla_fail(
        err, PLA_ERR_GEOMETRY,
        "The surface is not closed, so it has no inside; repair it first (surface --repair)");
  /* three samples a cell: what is finer cannot be meshed */
  pla_progress_phase(progress, "Making the level set", 0.4);
  PlaProgressSpan span = pla_progress_push(progress);
  if (st == PLA_OK)
    st = pla_levelset_from_surface(&tris, opts->cell_mm / 3.0, 2.0 * opts->cell_mm, progress, &ls,
                                   err);
  if (st == PLA_OK && opts->smooth_mm > 0.0)
    st = pla_levelset_smooth_curvature(ls, opts->smooth_mm, progress, NULL, err);
  if (st == PLA_OK && opts->round_mm > 0.0)
    st = pla_levelset_limit_curvature(ls, opts->round_mm, progress, err);
  pla_progress_pop(progress, span);
  pla_progress_phase(progress, "Meshing", 1.0);
  span = pla_progress_push(progress);
  if (st == PLA_OK)
    st = make_tets((const PlaLevelSet *const *)&ls, &region, 1, NULL, is_smoothed ? NULL : &tris,
                   opts, progress, out, report, err);
  pla_progress_pop(progress, span);
  pla_levelset_free(ls);
  return st;
}
