/* Muscles on a mesh of soft tissue.
 *
 * Each muscle is worked on by itself (its lattice, fibres, overlaps with the mesh, tags); what they
 * found is then put together by tet, in the order of the list, so that the result does not depend
 * on which thread did what. */
#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/muscle/muscle-private.h"

#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAR_MM 20.0      /* streamlines that end farther from the mesh are no use in it */
#define SAMPLE_CELLS 0.7 /* spacing of a shape's samples, in cells of its lattice */
#define GAP_MM 3.0       /* between a muscle and its bone that deserves a sentence */

PlaMuscleOptions
pla_muscle_options_default(void)
{
  return (
      PlaMuscleOptions){ .n_cells = 20000, .n_lines = 16, .attach_mm = 1.0, .least_share = 1e-4 };
}

void
pla_muscle_set_clear(PlaMuscleSet *self)
{
  pla_muscle_list_clear(&self->list);
  for (int b = 0; b < self->n_bones && self->bone; b++)
    free(self->bone[b]);
  free(self->bone);
  free(self->report);
  free(self->tet_start);
  free(self->muscle);
  free(self->share);
  free(self->fibre);
  free(self->region);
  free(self->muscle_start);
  free(self->pair);
  free(self->pair_tet);
  free(self->vert_bone);
  free(self->line_start);
  free(self->line_muscle);
  pla_embedding_clear(&self->point);
  pla_notes_clear(&self->notes);
  memset(self, 0, sizeof *self);
}

/* ---- one muscle ---- */

/* a muscle's shape with its tendons */
typedef struct {
  const PlaMuscle *muscle;
  const PlaMuscleShape *flesh;
} Whole;

static double
tendon_distance(const PlaMuscleTendon *t, const double pos_mm[3])
{
  double point[6];
  memcpy(point, t->from_mm, sizeof t->from_mm);
  memcpy(point + 3, t->to_mm, sizeof t->to_mm);
  const PlaSolid cone = {
    .kind = PLA_SOLID_CAPSULE, .n_points = 2, .point = point, .radius = t->radius_mm
  };
  return pla_solid_distance(&cone, pos_mm);
}

static double
whole_distance(const double pos_mm[3], const void *data)
{
  const Whole *w = data;
  double d = w->flesh->distance(pos_mm, w->flesh->data);
  for (int t = 0; t < w->muscle->n_tendons; t++)
    d = fmin(d, tendon_distance(&w->muscle->tendon[t], pos_mm));
  return d;
}

static PlaMuscleShape
whole_shape(const Whole *w)
{
  PlaMuscleShape shape = *w->flesh;
  shape.distance = whole_distance;
  shape.data = w;
  for (int t = 0; t < w->muscle->n_tendons; t++) {
    const PlaMuscleTendon *tendon = &w->muscle->tendon[t];
    for (int d = 0; d < 3; d++) {
      shape.lo_mm[d] = fmin(shape.lo_mm[d], fmin(tendon->from_mm[d] - tendon->radius_mm[0],
                                                 tendon->to_mm[d] - tendon->radius_mm[1]));
      shape.hi_mm[d] = fmax(shape.hi_mm[d], fmax(tendon->from_mm[d] + tendon->radius_mm[0],
                                                 tendon->to_mm[d] + tendon->radius_mm[1]));
    }
  }
  return shape;
}

/* what is found for one muscle */
typedef struct {
  PlaMeshOverlap overlap;
  double *fibre;
  uint8_t *region;
  PlaStreamlines lines;
  PlaMuscleReport report;
  double cut_off;
  PlaStatus status;
  PlaError err;
} Found;

static void
found_clear(Found *f)
{
  pla_mesh_overlap_clear(&f->overlap);
  pla_streamlines_clear(&f->lines);
  free(f->fibre);
  free(f->region);
}

static double
distance_to(const PlaMuscleBone *bones, int n_bones, const char *name, const double pos_mm[3])
{
  for (int b = 0; b < n_bones; b++)
    if (strcmp(bones[b].name, name) == 0)
      return bones[b].shape.distance(pos_mm, bones[b].shape.data);
  return INFINITY;
}

/* distance to the bones of the muscle's near end */
static double
own_bone_distance(const PlaMuscle *m, const PlaMuscleBone *bones, int n_bones,
                  const double pos_mm[3], double along)
{
  double d = INFINITY;
  for (int h = 0; h < m->n_heads; h++) {
    if (!(along > 0.5))
      d = fmin(d, distance_to(bones, n_bones, m->head[h].origin, pos_mm));
    if (!(along < 0.5))
      d = fmin(d, distance_to(bones, n_bones, m->head[h].insertion, pos_mm));
  }
  return d;
}

static PlaTissue
tissue_at(const PlaMuscle *m, const PlaMuscleShape *flesh, const PlaMuscleBone *bones, int n_bones,
          const PlaMuscleOptions *opts, const double pos_mm[3], double along)
{
  const double bone = own_bone_distance(m, bones, n_bones, pos_mm, along);
  if (bone < opts->attach_mm)
    return PLA_TISSUE_ATTACHED;
  if (bone < opts->tendon_mm)
    return PLA_TISSUE_TENDON;
  for (int t = 0; t < m->n_tendons; t++)
    if (tendon_distance(&m->tendon[t], pos_mm) < 0.0 && flesh->distance(pos_mm, flesh->data) > 0.0)
      return PLA_TISSUE_TENDON;
  return PLA_TISSUE_MUSCLE;
}

typedef struct {
  const PlaTetMesh *mesh;
  const PlaMuscleList *list;
  const PlaMuscleShape *shape;
  const PlaFibreSamples *const *vectors;
  const PlaMuscleBone *bones;
  int n_bones;
  const PlaMuscleOptions *opts;
  double leaf_mm; /* unless the options say it */
} Job;

static void
work_on(const Job *job, int m, PlaProgress *progress, Found *found)
{
  const PlaMuscle *muscle = &job->list->muscle[m];
  const Whole whole = { muscle, &job->shape[m] };
  PlaMuscleShape shape = muscle->n_tendons > 0 ? whole_shape(&whole) : job->shape[m];
  PlaMuscleField *field = NULL;
  PlaLevelSet *samples = NULL;
  PlaError *err = &found->err;
  PlaStatus st = PLA_OK;
  /* shapes that cost much to ask are asked once, on a grid as fine as the lattice needs */
  const double cell_mm = pla_shape_cell_mm(&shape, job->opts->n_cells);
  if ((!shape.quick || muscle->n_tendons > 0) && cell_mm > 0.0) {
    st = pla_shape_sample(&shape, SAMPLE_CELLS * cell_mm, &samples, err);
    if (st == PLA_OK)
      shape = pla_muscle_shape_levelset(samples);
  }
  if (st == PLA_OK)
    st = pla_muscle_field_new(muscle, &shape, job->vectors ? job->vectors[m] : NULL, job->bones,
                              job->n_bones, cell_mm, job->opts, progress, &field, err);
  if (st == PLA_OK) {
    /* thin muscles have small cells, and ask for small pieces */
    const double leaf_mm =
        job->opts->leaf_mm > 0.0 ? job->opts->leaf_mm : fmin(job->leaf_mm, 2.0 * cell_mm);
    st = pla_mesh_overlap(job->mesh, &shape, leaf_mm, progress, &found->overlap, err);
  }
  if (st == PLA_OK) {
    PlaMeshOverlap *o = &found->overlap;
    int n = 0;
    for (int i = 0; i < o->n; i++)
      if (o->share[i] >= job->opts->least_share) {
        o->tet[n] = o->tet[i];
        o->share[n] = o->share[i];
        memmove(o->centre_mm + 3 * (size_t)n, o->centre_mm + 3 * (size_t)i,
                3 * sizeof *o->centre_mm);
        n++;
      }
    o->n = n;
    found->fibre = pla_array_new(3 * (size_t)o->n, sizeof *found->fibre);
    found->region = pla_array_new((size_t)o->n, 1);
    if (!found->fibre || !found->region)
      st = pla_fail_memory(err, "the fibres of a muscle");
  }
  if (st == PLA_OK) {
    const PlaMeshOverlap *o = &found->overlap;
#pragma omp parallel for schedule(dynamic, 256)
    for (int i = 0; i < o->n; i++) {
      double along;
      const double *x = o->centre_mm + 3 * (size_t)i;
      pla_muscle_field_at(field, x, found->fibre + 3 * (size_t)i, &along);
      found->region[i] =
          (uint8_t)tissue_at(muscle, &job->shape[m], job->bones, job->n_bones, job->opts, x, along);
    }
    pla_muscle_field_report(field, &found->report);
    found->cut_off = pla_muscle_field_cut_off(field);
    found->report.inside_mm3 = o->volume_mm3;
    found->report.n_tets = o->n;
    for (int i = 0; i < o->n; i++)
      found->report.n_region[found->region[i]]++;
    const PlaStreamlines *lines = pla_muscle_field_lines(field);
    if (lines->n_lines > 0) {
      found->lines.start = pla_array_dup(lines->start, (size_t)lines->n_lines + 1, sizeof(int));
      found->lines.pos = pla_array_dup(lines->pos, 3 * (size_t)lines->n_points, sizeof(double));
      found->lines.n_lines = lines->n_lines;
      found->lines.n_points = lines->n_points;
      if (!found->lines.start || !found->lines.pos)
        st = pla_fail_memory(err, "the streamlines of a muscle");
    }
  }
  pla_muscle_field_free(field);
  pla_levelset_free(samples);
  found->status = st;
}

/* ---- together ---- */

static double
mean_edge_mm(const PlaTetMesh *mesh)
{
  double volume = 0.0;
  for (int t = 0; t < mesh->n_tets; t++) {
    const int *v = mesh->tet + 4 * (size_t)t;
    double e[3][3], n[3];
    for (int c = 0; c < 3; c++)
      pla_vec3_sub(mesh->rest + 3 * (size_t)v[c + 1], mesh->rest + 3 * (size_t)v[0], e[c]);
    pla_vec3_cross(e[0], e[1], n);
    volume += fabs(pla_vec3_dot(n, e[2]));
  }
  return 1000.0 * cbrt(volume / mesh->n_tets);
}

static PlaStatus
copy_list(const PlaMuscleList *from, PlaMuscleList *to, PlaError *err)
{
  bool memory = true;
  for (int m = 0; m < from->n && memory; m++) {
    const PlaMuscle *a = &from->muscle[m];
    PlaMuscle *b = pla_muscle_list_add(to, a->name);
    memory = b != NULL;
    if (!memory)
      break;
    b->label = a->label;
    b->peak_stress_pa = a->peak_stress_pa;
    b->method = a->method;
    b->tendon = pla_array_dup(a->tendon, (size_t)a->n_tendons, sizeof *a->tendon);
    memory = b->tendon || a->n_tendons == 0;
    b->n_tendons = memory ? a->n_tendons : 0;
    for (int h = 0; h < a->n_heads && memory; h++) {
      const PlaMuscleHead *p = &a->head[h];
      PlaMuscleHead *q = pla_muscle_add_head(b, p->origin, p->insertion, 0);
      const size_t n = (size_t)p->n_points;
      memory = q != NULL;
      if (!memory || n == 0)
        continue;
      q->n_points = p->n_points;
      q->pos_mm = pla_array_dup(p->pos_mm, 3 * n, sizeof *q->pos_mm);
      q->half_width_mm = pla_array_dup(p->half_width_mm, n, sizeof *q->half_width_mm);
      q->half_thick_mm = pla_array_dup(p->half_thick_mm, n, sizeof *q->half_thick_mm);
      q->normal = pla_array_dup(p->normal, 3 * n, sizeof *q->normal);
      memory = q->pos_mm && !q->half_width_mm == !p->half_width_mm &&
               !q->half_thick_mm == !p->half_thick_mm && !q->normal == !p->normal;
    }
  }
  return memory ? PLA_OK : pla_fail_memory(err, "a list of muscles");
}

PlaStatus
pla_muscle_set_index(PlaMuscleSet *self, PlaError *err)
{
  const int n_muscles = self->list.n;
  bool sound = self->tet_start[0] == 0 && self->tet_start[self->n_tets] == self->n_pairs;
  for (int t = 0; t < self->n_tets && sound; t++) {
    sound = self->tet_start[t] <= self->tet_start[t + 1];
    for (int p = self->tet_start[t]; p < self->tet_start[t + 1] && sound; p++)
      sound = p < self->n_pairs && self->muscle[p] >= 0 && self->muscle[p] < n_muscles &&
              self->share[p] > 0.0 && self->share[p] <= 1.0 && self->region[p] <= 2 &&
              (p == self->tet_start[t] || self->muscle[p] > self->muscle[p - 1]);
  }
  if (!sound)
    return pla_fail(err, PLA_ERR_FORMAT,
                    "The table of muscles and elements is inconsistent; build it again.");
  self->muscle_start = pla_array_new0((size_t)n_muscles + 2, sizeof *self->muscle_start);
  self->pair = pla_array_new((size_t)self->n_pairs, sizeof *self->pair);
  self->pair_tet = pla_array_new((size_t)self->n_pairs, sizeof *self->pair_tet);
  if (!self->muscle_start || !self->pair || !self->pair_tet)
    return pla_fail_memory(err, "the muscles of a mesh");
  for (int p = 0; p < self->n_pairs; p++)
    self->muscle_start[self->muscle[p] + 2]++;
  for (int m = 0; m <= n_muscles; m++)
    self->muscle_start[m + 1] += self->muscle_start[m];
  for (int t = 0; t < self->n_tets; t++)
    for (int p = self->tet_start[t]; p < self->tet_start[t + 1]; p++) {
      self->pair_tet[p] = t;
      self->pair[self->muscle_start[self->muscle[p] + 1]++] = p;
    }
  return PLA_OK;
}

/* pairs by tet, muscles ascending */
static PlaStatus
merge_pairs(PlaMuscleSet *set, const Found *found, PlaError *err)
{
  size_t n = 0;
  for (int m = 0; m < set->list.n; m++)
    n += (size_t)found[m].overlap.n;
  if (n > 500000000)
    return pla_fail(err, PLA_ERR_MEMORY, "There are too many pairs of muscles and elements (%zu).",
                    n);
  set->n_pairs = (int)n;
  set->tet_start = pla_array_new0((size_t)set->n_tets + 2, sizeof *set->tet_start);
  set->muscle = pla_array_new(n, sizeof *set->muscle);
  set->share = pla_array_new(n, sizeof *set->share);
  set->fibre = pla_array_new(3 * n, sizeof *set->fibre);
  set->region = pla_array_new(n, 1);
  if (!set->tet_start || !set->muscle || !set->share || !set->fibre || !set->region)
    return pla_fail_memory(err, "the muscles of a mesh");
  for (int m = 0; m < set->list.n; m++)
    for (int i = 0; i < found[m].overlap.n; i++)
      set->tet_start[found[m].overlap.tet[i] + 2]++;
  for (int t = 0; t <= set->n_tets; t++)
    set->tet_start[t + 1] += set->tet_start[t];
  for (int m = 0; m < set->list.n; m++)
    for (int i = 0; i < found[m].overlap.n; i++) {
      const size_t p = (size_t)set->tet_start[found[m].overlap.tet[i] + 1]++;
      set->muscle[p] = m;
      set->share[p] = found[m].overlap.share[i];
      memcpy(set->fibre + 3 * p, found[m].fibre + 3 * (size_t)i, 3 * sizeof *set->fibre);
      set->region[p] = found[m].region[i];
    }
  return pla_muscle_set_index(set, err);
}

/* ties the streamlines to the mesh; those that end far outside are dropped */
static PlaStatus
merge_lines(PlaMuscleSet *set, const PlaTetMesh *mesh, const PlaTetLocator *locator, Found *found,
            PlaError *err)
{
  int n_lines = 0, n_points = 0;
  for (int m = 0; m < set->list.n; m++) {
    n_lines += found[m].lines.n_lines;
    n_points += found[m].lines.n_points;
  }
  set->line_start = pla_array_new0((size_t)n_lines + 1, sizeof *set->line_start);
  set->line_muscle = pla_array_new((size_t)n_lines, sizeof *set->line_muscle);
  if (!set->line_start || !set->line_muscle)
    return pla_fail_memory(err, "streamlines");
  PlaStatus st = pla_embedding_init(&set->point, n_points, 4, err);
  int n = 0;
  for (int m = 0; m < set->list.n && st == PLA_OK; m++) {
    const PlaStreamlines *lines = &found[m].lines;
    found[m].report.n_lines = 0;
    for (int l = 0; l < lines->n_lines; l++) {
      const int from = lines->start[l], to = lines->start[l + 1];
      bool near = true;
#pragma omp parallel for schedule(static)
      for (int i = from; i < to; i++) {
        const int t = pla_tet_locator_find(locator, lines->pos + 3 * (size_t)i, 1e-3 * FAR_MM,
                                           set->point.weight + 4 * (size_t)(n + i - from), NULL);
        set->point.elem[n + i - from] = t;
        if (t < 0)
#pragma omp atomic write
          near = false;
      }
      if (!near)
        continue;
      n += to - from;
      set->line_muscle[set->n_lines] = m;
      set->line_start[++set->n_lines] = n;
      found[m].report.n_lines++;
    }
  }
  set->point.n_points = n;
  return st;
}

static PlaStatus
hold_verts(PlaMuscleSet *set, const Job *job, PlaProgress *progress, PlaError *err)
{
  enum { CHUNK = 8192 };
  set->vert_bone = pla_array_new((size_t)set->n_verts, sizeof *set->vert_bone);
  set->bone = pla_array_new0((size_t)job->n_bones, sizeof *set->bone);
  if (!set->vert_bone || !set->bone)
    return pla_fail_memory(err, "the attachments of a mesh");
  set->n_bones = job->n_bones;
  for (int b = 0; b < job->n_bones; b++)
    if (!(set->bone[b] = pla_strdup(job->bones[b].name)))
      return pla_fail_memory(err, "the attachments of a mesh");
  for (int from = 0; from < set->n_verts; from += CHUNK) {
    const int to = from + CHUNK < set->n_verts ? from + CHUNK : set->n_verts;
    if (!pla_progress_step(progress, (double)from / set->n_verts))
      return pla_fail_cancelled(err);
#pragma omp parallel for schedule(dynamic, 64)
    for (int v = from; v < to; v++) {
      double x[3], nearest = job->opts->attach_mm;
      set->vert_bone[v] = -1;
      for (int d = 0; d < 3; d++)
        x[d] = 1000.0 * job->mesh->rest[3 * (size_t)v + d];
      for (int b = 0; b < job->n_bones; b++) {
        const PlaMuscleShape *shape = &job->bones[b].shape;
        bool beside = false;
        for (int d = 0; d < 3; d++)
          beside = beside || x[d] < shape->lo_mm[d] - nearest || x[d] > shape->hi_mm[d] + nearest;
        const double distance = beside ? INFINITY : shape->distance(x, shape->data);
        if (distance < nearest) {
          nearest = distance;
          set->vert_bone[v] = b;
        }
      }
    }
  }
  return PLA_OK;
}

static void
remark(PlaMuscleSet *set, int m, const Found *found)
{
  const char *name = set->list.muscle[m].name;
  const PlaMuscleReport *r = &found->report;
  if (r->n_tets == 0)
    pla_notes_add(&set->notes, "The muscle '%s' lies outside of the mesh.", name);
  else if (r->inside_mm3 < 0.5 * r->volume_mm3)
    pla_notes_add(&set->notes, "Only %.0f %% of the muscle '%s' lies in the mesh.",
                  100.0 * r->inside_mm3 / r->volume_mm3, name);
  for (int e = 0; e < 2; e++)
    if (r->gap_mm[e] > GAP_MM)
      pla_notes_add(&set->notes, "The muscle '%s' ends %.1f mm before the bone of its %s.", name,
                    r->gap_mm[e], e == 0 ? "origin" : "insertion");
  if (found->cut_off > 0.01)
    pla_notes_add(&set->notes,
                  "%.0f %% of the muscle '%s' is in pieces that do not join origin and insertion.",
                  100.0 * found->cut_off, name);
}

/* A muscle that cannot be where it should is left out, and told, while others can: a scan may end
 * above the chin. What is wrong with its description is refused. */
static PlaStatus
leave_out(PlaMuscleSet *set, Found *found, PlaError *err)
{
  int n_left = 0;
  for (int m = 0; m < set->list.n; m++)
    n_left += found[m].status == PLA_OK;
  for (int m = 0; m < set->list.n; m++) {
    const PlaStatus st = found[m].status;
    if (st == PLA_OK)
      continue;
    if (st != PLA_ERR_GEOMETRY || n_left == 0) {
      if (err)
        *err = found[m].err;
      return st;
    }
    pla_notes_add(&set->notes, "Left out: %s", found[m].err.message);
    found_clear(&found[m]);
    found[m] = (Found){ .status = st };
  }
  return PLA_OK;
}

static PlaStatus
grow_tags(PlaMuscleSet *set, const PlaMuscleOptions *opts, const int *across, PlaError *err)
{
  const int layers[] = { opts->grow_attached, opts->grow_tendon };
  const PlaTissue tag[] = { PLA_TISSUE_ATTACHED, PLA_TISSUE_TENDON };
  for (int k = 0; k < 2; k++)
    for (int m = 0; m < set->list.n && layers[k] != 0; m++)
      if (pla_muscle_set_grow(set, across, m, tag[k], layers[k], err) < 0)
        return PLA_ERR_MEMORY;
  return PLA_OK;
}

PlaStatus
pla_muscle_set_build(const PlaTetMesh *mesh, const PlaMuscleList *list, const PlaMuscleShape *shape,
                     const PlaFibreSamples *const *vectors, const PlaMuscleBone *bones, int n_bones,
                     const PlaMuscleOptions *opts, PlaProgress *progress, PlaMuscleSet *out,
                     PlaError *err)
{
  memset(out, 0, sizeof *out);
  if (mesh->n_tets < 1 || list->n < 1)
    return pla_fail(err, PLA_ERR_EMPTY,
                    mesh->n_tets < 1 ? "The mesh has no tetrahedra to put muscles into."
                                     : "No muscles are listed.");
  const Job job = { mesh, list, shape, vectors, bones, n_bones, opts, mean_edge_mm(mesh) / 6.0 };
  Found *found = pla_array_new0((size_t)list->n, sizeof *found);
  PlaTetLocator *locator = NULL;
  PlaStatus st = found ? PLA_OK : pla_fail_memory(err, "muscles");
  out->n_verts = mesh->n_verts;
  out->n_tets = mesh->n_tets;
  if (st == PLA_OK)
    st = copy_list(list, &out->list, err);
  pla_progress_phase(progress, "Finding neighbours", 0.05);
  if (st == PLA_OK)
    st = pla_tet_locator_new(mesh, &locator, err);

  /* many muscles side by side; one alone has the threads for itself */
  pla_progress_phase(progress, "Computing fibres and overlaps", 0.9);
  int done = 0;
  if (st == PLA_OK && list->n == 1)
    work_on(&job, 0, NULL, &found[0]);
  else if (st == PLA_OK) {
#pragma omp parallel for schedule(dynamic, 1)
    for (int m = 0; m < list->n; m++) {
      if (pla_progress_cancelled(progress))
        continue;
      work_on(&job, m, NULL, &found[m]);
      int now;
#pragma omp atomic capture
      now = ++done;
      if (omp_get_thread_num() == 0)
        pla_progress_step(progress, (double)now / list->n);
    }
  }
  if (st == PLA_OK && pla_progress_cancelled(progress))
    st = pla_fail_cancelled(err);
  if (st == PLA_OK)
    st = leave_out(out, found, err);
  if (st == PLA_OK)
    st = merge_pairs(out, found, err);
  if (st == PLA_OK)
    st = merge_lines(out, mesh, locator, found, err);
  if (st == PLA_OK) {
    out->report = pla_array_new0((size_t)list->n, sizeof *out->report);
    if (!out->report)
      st = pla_fail_memory(err, "muscles");
  }
  for (int m = 0; m < list->n && st == PLA_OK; m++) {
    out->report[m] = found[m].report;
    if (found[m].status == PLA_OK)
      remark(out, m, &found[m]);
  }
  pla_progress_phase(progress, "Finding attachments", 1.0);
  if (st == PLA_OK)
    st = hold_verts(out, &job, progress, err);
  if (st == PLA_OK)
    st = grow_tags(out, opts, pla_tet_locator_neighbours(locator), err);
  for (int m = 0; m < list->n && found; m++)
    found_clear(&found[m]);
  free(found);
  pla_tet_locator_free(locator);
  if (st != PLA_OK)
    pla_muscle_set_clear(out);
  return st;
}

/* ---- what can be done with a set ---- */

static double
sum_in(const PlaMuscleSet *self, int t)
{
  double sum = 0.0;
  for (int p = self->tet_start[t]; p < self->tet_start[t + 1]; p++)
    sum += self->share[p];
  return sum;
}

double
pla_muscle_set_largest_sum(const PlaMuscleSet *self)
{
  double largest = 0.0;
  for (int t = 0; t < self->n_tets; t++)
    largest = fmax(largest, sum_in(self, t));
  return largest;
}

int
pla_muscle_set_limit_sums(PlaMuscleSet *self)
{
  int changed = 0;
  for (int t = 0; t < self->n_tets; t++) {
    const double sum = sum_in(self, t);
    if (!(sum > 1.0))
      continue;
    changed++;
    for (int p = self->tet_start[t]; p < self->tet_start[t + 1]; p++)
      self->share[p] /= sum;
  }
  return changed;
}

int
pla_muscle_set_grow(PlaMuscleSet *self, const int *across, int muscle, PlaTissue tag, int layers,
                    PlaError *err)
{
  enum { OUTSIDE = 0x7f };
  uint8_t *region = pla_array_new((size_t)self->n_tets, 1);
  if (!region) {
    pla_fail_memory(err, "the tags of a muscle");
    return -1;
  }
  memset(region, OUTSIDE, (size_t)self->n_tets);
  for (int i = self->muscle_start[muscle]; i < self->muscle_start[muscle + 1]; i++)
    region[self->pair_tet[self->pair[i]]] = self->region[self->pair[i]];
  const int changed = layers >= 0 ? pla_region_grow(self->n_tets, across, layers, (uint8_t)tag,
                                                    PLA_TISSUE_MUSCLE, region)
                                  : pla_region_shrink(self->n_tets, across, -layers, (uint8_t)tag,
                                                      PLA_TISSUE_MUSCLE, region);
  memset(self->report[muscle].n_region, 0, sizeof self->report[muscle].n_region);
  for (int i = self->muscle_start[muscle]; i < self->muscle_start[muscle + 1]; i++) {
    const int p = self->pair[i];
    self->region[p] = region[self->pair_tet[p]];
    self->report[muscle].n_region[self->region[p]]++;
  }
  free(region);
  return changed;
}

PlaStatus
pla_muscle_set_to_fields(const PlaMuscleSet *self, bool each, PlaMesh *mesh, PlaError *err)
{
  int32_t *muscle = pla_mesh_add_field(mesh, "muscle", PLA_ON_CELLS, PLA_I32, 1);
  float *share = pla_mesh_add_field(mesh, "share", PLA_ON_CELLS, PLA_F32, 1);
  float *fibre = pla_mesh_add_field(mesh, "fibre", PLA_ON_CELLS, PLA_F32, 3);
  uint8_t *tissue = pla_mesh_add_field(mesh, "tissue", PLA_ON_CELLS, PLA_U8, 1);
  int32_t *bone = pla_mesh_add_field(mesh, "bone", PLA_ON_VERTS, PLA_I32, 1);
  if (!muscle || !share || !fibre || !tissue || !bone)
    return pla_fail_memory(err, "the fields of a mesh");
  /* cells are triangles first */
  const size_t skip = (size_t)mesh->n_tris;
  memset(tissue, 255, pla_mesh_n_cells(mesh));
  for (int t = 0; t < self->n_tets; t++) {
    const size_t cell = skip + (size_t)t;
    int best = -1;
    for (int p = self->tet_start[t]; p < self->tet_start[t + 1]; p++)
      if (best < 0 || self->share[p] > self->share[best])
        best = p;
    if (best < 0)
      continue;
    const PlaMuscle *m = &self->list.muscle[self->muscle[best]];
    muscle[cell] = m->label > 0 ? m->label : self->muscle[best] + 1;
    share[cell] = (float)sum_in(self, t);
    tissue[cell] = self->region[best];
    for (int d = 0; d < 3; d++)
      fibre[3 * cell + (size_t)d] = (float)self->fibre[3 * (size_t)best + (size_t)d];
  }
  for (int v = 0; v < self->n_verts; v++)
    bone[v] = self->vert_bone[v] + 1;
  for (int m = 0; m < self->list.n && each; m++) {
    char name[200];
    snprintf(name, sizeof name, "share: %s", self->list.muscle[m].name);
    float *one = pla_mesh_add_field(mesh, name, PLA_ON_CELLS, PLA_F32, 1);
    if (!one)
      return pla_fail_memory(err, "the fields of a mesh");
    for (int i = self->muscle_start[m]; i < self->muscle_start[m + 1]; i++)
      one[skip + (size_t)self->pair_tet[self->pair[i]]] = (float)self->share[self->pair[i]];
  }
  return PLA_OK;
}
