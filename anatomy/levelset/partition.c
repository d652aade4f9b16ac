/* Level sets of several labels that leave neither gaps nor overlaps.
 *
 * Each group has its own smooth level set phi_g, the rest has minus that of all groups together.
 * Where two groups meet, their voxels are each other's complement and phi_g = -phi_h already; with
 * psi_g = (phi_g - min of all others) / 2 the smallest phi takes every point, junctions of three
 * and more included. */
#include "anatomy/base/memory.h"
#include "anatomy/levelset/levelset.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* smallest and second smallest value of each voxel of the volume, and who has the smallest */
typedef struct {
  float *least, *second;
  int16_t *owner;
} Ranking;

static void
rank_levelset(const PlaVolume *vol, const PlaLevelSet *ls, const int lo[3], int owner,
              Ranking *rank)
{
#pragma omp parallel for schedule(static)
  for (int k = 0; k < ls->dims[2]; k++)
    for (int j = 0; j < ls->dims[1]; j++)
      for (int i = 0; i < ls->dims[0]; i++) {
        size_t v = (size_t)(i + lo[0]) +
                   (size_t)vol->dims[0] *
                       ((size_t)(j + lo[1]) + (size_t)vol->dims[1] * (size_t)(k + lo[2]));
        float phi = ls->phi_mm[(size_t)i +
                               (size_t)ls->dims[0] * ((size_t)j + (size_t)ls->dims[1] * (size_t)k)];
        if (phi < rank->least[v]) {
          rank->second[v] = rank->least[v];
          rank->least[v] = phi;
          rank->owner[v] = (int16_t)owner;
        } else if (phi < rank->second[v]) {
          rank->second[v] = phi;
        }
      }
}

static void
negate(PlaLevelSet *ls)
{
  const size_t n = pla_levelset_n_voxels(ls);
  for (size_t v = 0; v < n; v++)
    ls->phi_mm[v] = -ls->phi_mm[v];
}

static void
contest(const PlaVolume *vol, PlaLevelSet *ls, const int lo[3], int owner, const Ranking *rank)
{
  const float band = (float)ls->band_mm;
#pragma omp parallel for schedule(static)
  for (int k = 0; k < ls->dims[2]; k++)
    for (int j = 0; j < ls->dims[1]; j++)
      for (int i = 0; i < ls->dims[0]; i++) {
        size_t v = (size_t)(i + lo[0]) +
                   (size_t)vol->dims[0] *
                       ((size_t)(j + lo[1]) + (size_t)vol->dims[1] * (size_t)(k + lo[2]));
        float *phi = &ls->phi_mm[(size_t)i + (size_t)ls->dims[0] *
                                                 ((size_t)j + (size_t)ls->dims[1] * (size_t)k)];
        bool mine = rank->owner[v] == owner;
        float other = mine ? rank->second[v] : rank->least[v];
        /* equal values: the owner is inside, by next to nothing */
        float x = 0.5f * (*phi - other);
        x = mine ? (x < -1e-6f ? x : -1e-6f) : (x > 1e-6f ? x : 1e-6f);
        *phi = x < -band ? -band : x > band ? band : x;
      }
}

/* draws the borders between the sets, once all of them are there: ranking takes ten bytes a voxel,
 * which smoothing would have to do without */
static PlaStatus
separate(PlaPartition *self, const PlaVolume *vol, const PlaLabelLevelSetReport *report,
         PlaError *err)
{
  const size_t n = pla_volume_n_voxels(vol);
  Ranking rank = { pla_array_new(n, sizeof(float)), pla_array_new(n, sizeof(float)),
                   pla_array_new(n, sizeof(int16_t)) };
  const bool fine = rank.least && rank.second && rank.owner;
  for (size_t v = 0; fine && v < n; v++) {
    rank.least[v] = rank.second[v] = INFINITY;
    rank.owner[v] = (int16_t)self->n_groups;
  }
  for (int pass = 0; fine && pass < 2; pass++)
    for (int g = 0; g <= self->n_groups; g++) {
      PlaLevelSet *ls = g < self->n_groups ? self->group[g] : self->rest;
      if (pass == 0)
        rank_levelset(vol, ls, report[g].lo, g, &rank);
      else
        contest(vol, ls, report[g].lo, g, &rank);
    }
  free(rank.least);
  free(rank.second);
  free(rank.owner);
  return fine ? PLA_OK : pla_fail_memory(err, "the level sets of several labels");
}

PlaStatus
pla_partition_new(const PlaLabelMap *map, const int *ids, const int *first, int n_groups,
                  const PlaLabelLevelSetOptions *opts, PlaProgress *progress, PlaPartition **out,
                  PlaError *err)
{
  PlaPartition *self = pla_array_new0(1, sizeof *self);
  PlaLabelLevelSetReport *report = pla_array_new0((size_t)n_groups + 1, sizeof *report);
  PlaStatus st = PLA_OK;
  *out = NULL;
  if (self)
    self->group = pla_array_new0((size_t)n_groups, sizeof *self->group);
  if (!self || !self->group || !report)
    st = pla_fail_memory(err, "the level sets of several labels");
  if (st == PLA_OK)
    self->n_groups = n_groups;
  /* every group by itself, and all of them together; one alone has no neighbour */
  const int n_sets = n_groups > 1 ? n_groups + 1 : 1;
  for (int g = 0; st == PLA_OK && g < n_sets; g++) {
    PlaLevelSet **ls = g < n_groups ? &self->group[g] : &self->rest;
    const int *of = ids + (g < n_groups ? first[g] : first[0]);
    int n_of = g < n_groups ? first[g + 1] - first[g] : first[n_groups] - first[0];
    pla_progress_phase(progress, "Separating tissues", (g + 1.0) / n_sets);
    PlaProgressSpan span = pla_progress_push(progress);
    st = pla_levelset_from_labels(map, of, n_of, opts, progress, ls, &report[g], err);
    pla_progress_pop(progress, span);
    if (st == PLA_OK && g == n_groups)
      negate(*ls);
  }
  /* make the interfaces of neighbours agree */
  if (st == PLA_OK && n_groups > 1)
    st = separate(self, map->volume, report, err);
  free(report);
  if (st == PLA_OK)
    *out = self;
  else
    pla_partition_free(self);
  return st;
}

void
pla_partition_free(PlaPartition *self)
{
  if (!self)
    return;
  for (int g = 0; g < self->n_groups; g++)
    pla_levelset_free(self->group[g]);
  pla_levelset_free(self->rest);
  free(self->group);
  free(self);
}
