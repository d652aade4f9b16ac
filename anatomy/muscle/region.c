/* Tags of tissue: by distance, by lasso, grown and shrunk over neighbours. */
#include "anatomy/muscle/region.h"

#include <stdbool.h>

static void
tet_centre(const PlaTetMesh *mesh, int t, double x[3])
{
  for (int d = 0; d < 3; d++) {
    x[d] = 0.0;
    for (int c = 0; c < 4; c++)
      x[d] += 0.25 * mesh->rest[3 * (size_t)mesh->tet[4 * (size_t)t + c] + d];
  }
}

static int
count_tag(int n, const uint8_t *region, uint8_t tag)
{
  int count = 0;
  for (int t = 0; t < n; t++)
    count += region[t] == tag;
  return count;
}

int
pla_region_near(const PlaTetMesh *mesh, const PlaMuscleShape *shape, double within_mm, uint8_t tag,
                uint8_t over, uint8_t *region)
{
  const int before = count_tag(mesh->n_tets, region, tag);
#pragma omp parallel for schedule(dynamic, 256)
  for (int t = 0; t < mesh->n_tets; t++) {
    if (region[t] != over)
      continue;
    double x[3];
    tet_centre(mesh, t, x);
    for (int d = 0; d < 3; d++)
      x[d] *= 1000.0;
    if (shape->distance(x, shape->data) < within_mm)
      region[t] = tag;
  }
  return count_tag(mesh->n_tets, region, tag) - before;
}

int
pla_region_enclosed(const PlaTetMesh *mesh, const PlaWinding *surface, uint8_t tag, uint8_t over,
                    uint8_t *region)
{
  const int before = count_tag(mesh->n_tets, region, tag);
#pragma omp parallel for schedule(dynamic, 256)
  for (int t = 0; t < mesh->n_tets; t++) {
    double x[3];
    tet_centre(mesh, t, x);
    if (region[t] == over && pla_winding_at(surface, x) > 0.5)
      region[t] = tag;
  }
  return count_tag(mesh->n_tets, region, tag) - before;
}

/* one layer: tets tagged @from with a neighbour tagged @to become @to */
static int
spread(int n_tets, const int *across, uint8_t from, uint8_t to, uint8_t *region)
{
  enum { NEXT = 0x80 }; /* marks changes until the layer is done */
  int changed = 0;
  for (int t = 0; t < n_tets; t++) {
    bool beside = false;
    for (int k = 0; k < 4; k++) {
      const int o = across[4 * (size_t)t + k];
      beside = beside || (o >= 0 && region[o] == to);
    }
    if (region[t] == from && beside)
      region[t] = (uint8_t)(from | NEXT);
  }
  for (int t = 0; t < n_tets; t++)
    if (region[t] == (from | NEXT)) {
      region[t] = to;
      changed++;
    }
  return changed;
}

int
pla_region_grow(int n_tets, const int *across, int layers, uint8_t tag, uint8_t over,
                uint8_t *region)
{
  int changed = 0;
  for (int l = 0; l < layers; l++)
    changed += spread(n_tets, across, over, tag, region);
  return changed;
}

int
pla_region_shrink(int n_tets, const int *across, int layers, uint8_t tag, uint8_t over,
                  uint8_t *region)
{
  int changed = 0;
  for (int l = 0; l < layers; l++)
    changed += spread(n_tets, across, tag, over, region);
  return changed;
}
