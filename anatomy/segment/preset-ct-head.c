/* Head CT in Hounsfield units: soft tissue, bone and airway, without head-rest and table.
 *
 * 1. Core.  The largest bone is the skull; closed with a large ball and filled it becomes solid,
 *    sinuses and nasal cavity included, and still lies under the scalp.  Tissue (fat and denser)
 *    and solid skull together are opened with a ball, which cuts off everything thin: ears and the
 *    wings of the nose, but also the shells and boards that the head lies on.  The piece that holds
 *    most of the skull is the core; closed and filled it is the hull.
 * 2. Outside the hull each leftover piece is judged as a whole: a piece the size of an ear or a
 *    nose that ends near the hull belongs to the head; one that is long, runs far away or out of
 *    the volume is a foreign object.  Where a foreign object touches the hull, the bump that the
 *    opening kept of it is shaved off by an opening with a larger ball.
 * 3. The skin is then followed down to its half-height between air and tissue, but never closer to
 *    a foreign object than to the head.
 * 4. Airway is air that the head encloses once openings of up to 2 SEAL_MM are sealed.  The face of
 *    the volume that cuts through neck or teeth counts as sealed: nothing is added beyond it, and
 *    the pharynx that runs out there is still inside.  Shallow hollows (behind the ears, under the
 *    nose) are sealed too, but never lie deep: they are told apart by their depth.
 * 5. Bone is dense tissue in pieces larger than streaks and noise; small islands of one tissue
 *    wholly inside another (marrow in bone, streaks) join their surroundings. */
#include "anatomy/segment/segment-presets.h"

#include "anatomy/base/memory.h"
#include "anatomy/segment/morphology.h"
#include "anatomy/volume/distance-transform.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SOFT = 1, BONE = 2, AIRWAY = 3 };

/* Hounsfield units */
#define SEED_HU 300.0    /* cortical bone without doubt */
#define BONE_HU 250.0    /* bone, above contrast-filled vessels and calcified falx */
#define TISSUE_HU -150.0 /* fat (-120..-80) with its noise; foam, hair and blankets lie below */
#define SKIN_HU -350.0   /* near half-way between air and skin: where the surface runs */
#define AIR_HU -400.0    /* half-way between air and mucosa, towards air for partial volume */

/* lengths, mm */
#define OPEN_MM 5.0     /* shells and boards are thinner than twice this */
#define SKULL_MM 15.0   /* gaps of the facial skeleton are narrower than twice this */
#define HULL_MM 10.0    /* hollows of the face narrower than twice this are inside the hull */
#define FAR_MM 40.0     /* ears and noses stand out less */
#define PIECE_MM 110.0  /* and are smaller, corner to corner */
#define SHAVE_MM 25.0   /* ball of the second opening: still rounder than cheek or occiput */
#define CONTACT_MM 20.0 /* how far around a contact it works */
#define EDGE_MM 2.0     /* the blurred edge of the skin is no wider */
#define SEAL_MM 4.0     /* nasal valves and ear canals are narrower than twice this */
#define DEPTH_MM 12.0   /* airways that open to the outside run at least so deep */

/* volumes, mm^3 */
#define SKULL_MM3 10000.0 /* the bone seen in even a partial head scan is more */
#define SPECK_MM3 100.0   /* streaks and noise are smaller */
#define ISLAND_MM3 1000.0 /* marrow spaces and mucosal islands are smaller, a brain is not */

typedef struct {
  const PlaVolume *vol;
  int frame;
  const int *dims;
  const double *affine;
  size_t n;
  double voxel_mm3;
  PlaProgress *progress;
  PlaError *err;
  unsigned closed;  /* PLA_FACE_* that cut through the head */
  uint8_t *tissue;  /* denser than TISSUE_HU, small holes filled; then the head */
  uint8_t *hull;    /* core, closed and filled; later the sealed head */
  uint8_t *foreign; /* head-rest, table */
  uint8_t *work;
  uint32_t *number; /* of components */
  float *dist2;     /* mm^2 */
} Head;

static size_t
voxels_of(const Head *head, double mm3)
{
  return (size_t)ceil(mm3 / head->voxel_mm3);
}

/* the face of the volume at the patient's feet */
static unsigned
inferior_face(const PlaVolume *vol)
{
  char letters[4];
  pla_volume_orientation(vol, letters);
  for (int d = 0; d < 3; d++) {
    if (letters[d] == 'S')
      return 1u << (2 * d);
    if (letters[d] == 'I')
      return 2u << (2 * d);
  }
  return PLA_FACE_K0;
}

static PlaStatus
distance_to(Head *head, const uint8_t *mask, double max_mm)
{
  return pla_distance_transform(head->dims, head->affine, mask, true, max_mm, head->progress,
                                head->dist2, head->err);
}

static PlaStatus
components(Head *head, const uint8_t *mask, uint8_t value, bool inverse,
           PlaConnectivity connectivity, size_t *n, PlaComponent **list)
{
  return pla_components_find(head->dims, mask, value, inverse, connectivity, head->progress,
                             head->number, n, list, head->err);
}

static PlaStatus
seal(Head *head, uint8_t *mask, double radius_mm)
{
  return pla_mask_seal(head->dims, head->affine, mask, radius_mm, head->closed, head->progress,
                       head->err);
}

/* work = the largest bone */
static PlaStatus
find_skull(Head *head)
{
  size_t n_bone = 0;
  pla_segment_threshold(head->vol, head->frame, SEED_HU, INFINITY, head->work);
  PlaStatus st = pla_mask_keep_largest(head->dims, head->work, PLA_CONNECT_CORNERS, head->progress,
                                       &n_bone, head->err);
  if (st == PLA_OK && (double)n_bone * head->voxel_mm3 < SKULL_MM3)
    st =
        pla_fail(head->err, PLA_ERR_EMPTY,
                 "no skull was found above %g HU; the ct-head preset needs a head CT in Hounsfield "
                 "units",
                 SEED_HU);
  return st;
}

/* hull = the piece of opened tissue and solid skull that holds most of the skull, sealed */
static PlaStatus
find_hull(Head *head)
{
  size_t n_pieces = 0;
  PlaComponent *list = NULL;
  size_t *held = NULL;
  PlaStatus st = find_skull(head);
  if (st == PLA_OK) {
    pla_segment_threshold(head->vol, head->frame, TISSUE_HU, INFINITY, head->tissue);
    st = pla_mask_drop_small(head->dims, head->tissue, PLA_CONNECT_CORNERS, true,
                             voxels_of(head, SPECK_MM3), head->progress, head->err);
  }
  if (st == PLA_OK) {
    memcpy(head->hull, head->work, head->n);
    head->closed = inferior_face(head->vol);
    st = seal(head, head->hull, SKULL_MM);
  }
  if (st == PLA_OK) {
    for (size_t v = 0; v < head->n; v++)
      head->hull[v] |= head->tissue[v];
    st = pla_mask_morph(head->dims, head->affine, head->hull, PLA_MORPH_OPEN, OPEN_MM,
                        head->progress, head->err);
  }
  if (st == PLA_OK)
    st = components(head, head->hull, 0, true, PLA_CONNECT_FACES, &n_pieces, &list);
  if (st == PLA_OK) {
    held = pla_array_new0(n_pieces + 1, sizeof *held);
    if (!held)
      st = pla_fail_memory(head->err, "connected regions");
  }
  if (st == PLA_OK) {
    for (size_t v = 0; v < head->n; v++)
      held[head->number[v]] += head->work[v];
    uint32_t core = 0;
    for (size_t p = 1; p <= n_pieces; p++)
      if (held[p] && (!core || held[p] > held[core]))
        core = (uint32_t)p;
    if (core) {
      head->closed = list[core - 1].faces;
      for (size_t v = 0; v < head->n; v++)
        head->hull[v] = head->number[v] == core;
      st = seal(head, head->hull, HULL_MM);
    } else {
      st = pla_fail(head->err, PLA_ERR_EMPTY,
                    "no soft tissue was found around the skull; the ct-head preset needs a head CT "
                    "in Hounsfield units");
    }
  }
  free(held);
  free(list);
  return st;
}

/* corner-to-corner size of a bounding box, mm */
static double
diagonal_mm(const Head *head, const PlaComponent *comp)
{
  double longest = 0.0;
  for (int s = 0; s < 4; s++) {
    double along[3], mm2 = 0.0;
    for (int d = 0; d < 3; d++)
      along[d] = (comp->hi[d] - comp->lo[d] + 1) * (d < 2 && s >> d & 1 ? -1.0 : 1.0);
    for (int r = 0; r < 3; r++) {
      const double *a = head->affine + 4 * r;
      double x = a[0] * along[0] + a[1] * along[1] + a[2] * along[2];
      mm2 += x * x;
    }
    longest = fmax(longest, mm2);
  }
  return sqrt(longest);
}

/* distance between voxels that still touch by a corner, mm */
static double
touch_mm(const Head *head)
{
  const PlaComponent one = { 0 };
  return 1.01 * diagonal_mm(head, &one);
}

/* splits the tissue outside the hull into the head's own (work = 1) and foreign pieces */
static PlaStatus
judge_pieces(Head *head)
{
  size_t n_pieces = 0;
  PlaComponent *list = NULL;
  float *nearest = NULL;
  bool *runs_away = NULL;
  for (size_t v = 0; v < head->n; v++)
    head->work[v] = head->tissue[v] && !head->hull[v];
  PlaStatus st = components(head, head->work, 0, true, PLA_CONNECT_CORNERS, &n_pieces, &list);
  if (st == PLA_OK)
    st = distance_to(head, head->hull, FAR_MM);
  if (st == PLA_OK) {
    nearest = pla_array_new(n_pieces + 1, sizeof *nearest);
    runs_away = pla_array_new0(n_pieces + 1, sizeof *runs_away);
    if (!nearest || !runs_away)
      st = pla_fail_memory(head->err, "connected regions");
  }
  if (st == PLA_OK) {
    const double touch = touch_mm(head);
    for (size_t p = 0; p <= n_pieces; p++)
      nearest[p] = INFINITY;
    for (size_t v = 0; v < head->n; v++) {
      uint32_t p = head->number[v];
      nearest[p] = head->dist2[v] < nearest[p] ? head->dist2[v] : nearest[p];
      runs_away[p] = runs_away[p] || head->dist2[v] == INFINITY;
    }
    for (size_t p = 1; p <= n_pieces; p++)
      runs_away[p] = runs_away[p] || (list[p - 1].faces & ~head->closed) ||
                     diagonal_mm(head, &list[p - 1]) > PIECE_MM ||
                     (double)nearest[p] > touch * touch;
    for (size_t v = 0; v < head->n; v++) {
      uint32_t p = head->number[v];
      head->work[v] = p && !runs_away[p];
      head->foreign[v] = p && runs_away[p];
    }
  }
  free(nearest);
  free(runs_away);
  free(list);
  return st;
}

/* takes from the hull the bumps that foreign objects left on it where they touch */
static PlaStatus
shave_contacts(Head *head)
{
  /* contact: hull voxels that touch a foreign one; nothing to do without them */
  uint8_t *opened = pla_array_new(head->n, 1);
  if (!opened)
    return pla_fail_memory(head->err, "the head's hull");
  bool any = false;
  PlaStatus st = distance_to(head, head->foreign, touch_mm(head));
  for (size_t v = 0; v < head->n && st == PLA_OK; v++) {
    opened[v] = head->hull[v] && head->dist2[v] < INFINITY;
    any = any || opened[v];
  }
  if (st == PLA_OK && any) {
    st = distance_to(head, opened, CONTACT_MM);
    memcpy(opened, head->hull, head->n);
    for (size_t v = 0; v < head->n; v++)
      head->number[v] = head->dist2[v] < INFINITY;
    if (st == PLA_OK)
      st = pla_mask_morph(head->dims, head->affine, opened, PLA_MORPH_OPEN, SHAVE_MM,
                          head->progress, head->err);
    for (size_t v = 0; v < head->n && st == PLA_OK; v++)
      if (head->hull[v] && !opened[v] && head->number[v]) {
        head->hull[v] = 0;
        head->foreign[v] = head->tissue[v];
      }
  }
  free(opened);
  return st;
}

/* tissue = the head: hull and own pieces, followed to the half-height of the skin */
static PlaStatus
follow_skin(Head *head)
{
  for (size_t v = 0; v < head->n; v++)
    head->tissue[v] = head->tissue[v] && !head->foreign[v] && (head->hull[v] || head->work[v]);
  PlaStatus st = distance_to(head, head->foreign, 2.0 * EDGE_MM);
  if (st != PLA_OK)
    return st;
  float *to_foreign2 = pla_array_dup(head->dist2, head->n, sizeof *to_foreign2);
  if (!to_foreign2)
    return pla_fail_memory(head->err, "distances to the head-rest");
  st = distance_to(head, head->tissue, EDGE_MM);
  if (st == PLA_OK) {
    pla_segment_threshold(head->vol, head->frame, SKIN_HU, INFINITY, head->work);
    for (size_t v = 0; v < head->n; v++)
      if (head->work[v] && head->dist2[v] < INFINITY && head->dist2[v] < to_foreign2[v])
        head->tissue[v] = 1;
    st = pla_mask_keep_largest(head->dims, head->tissue, PLA_CONNECT_FACES, head->progress, NULL,
                               head->err);
  }
  free(to_foreign2);
  return st;
}

/* labels = AIRWAY for air that the head encloses, SOFT for its tissue and the specks in it */
static PlaStatus
find_airway(Head *head, uint8_t *labels)
{
  size_t n_pieces = 0;
  PlaComponent *list = NULL;
  bool *deep = NULL;

  memcpy(head->hull, head->tissue, head->n);
  PlaStatus st = seal(head, head->hull, SEAL_MM);

  /* enclosed without sealing: foreign = fill(head) - head */
  if (st == PLA_OK) {
    memcpy(head->foreign, head->tissue, head->n);
    st = pla_mask_fill_holes(head->dims, head->foreign, PLA_CONNECT_CORNERS, head->closed,
                             head->progress, NULL, head->err);
  }

  /* pieces of what is sealed in: those that are enclosed anyway or run deep belong to the head */
  for (size_t v = 0; v < head->n; v++)
    head->work[v] = head->hull[v] && !head->tissue[v];
  if (st == PLA_OK)
    st = components(head, head->work, 0, true, PLA_CONNECT_FACES, &n_pieces, &list);
  if (st == PLA_OK)
    st = pla_distance_transform(head->dims, head->affine, head->hull, false, DEPTH_MM,
                                head->progress, head->dist2, head->err);
  if (st == PLA_OK) {
    deep = pla_array_new0(n_pieces + 1, sizeof *deep);
    if (!deep)
      st = pla_fail_memory(head->err, "connected regions");
  }
  if (st == PLA_OK) {
    for (size_t v = 0; v < head->n; v++)
      if (head->work[v] && (head->dist2[v] == INFINITY || head->foreign[v]))
        deep[head->number[v]] = true;
    deep[0] = false;
    pla_segment_threshold(head->vol, head->frame, -INFINITY, AIR_HU, head->work);
    for (size_t v = 0; v < head->n; v++) {
      bool cavity = !head->tissue[v] && deep[head->number[v]];
      labels[v] = head->tissue[v] || cavity ? SOFT : 0;
      head->work[v] = head->work[v] && cavity;
    }
    st = pla_mask_drop_small(head->dims, head->work, PLA_CONNECT_CORNERS, false,
                             voxels_of(head, SPECK_MM3), head->progress, head->err);
  }
  for (size_t v = 0; v < head->n && st == PLA_OK; v++)
    if (head->work[v])
      labels[v] = AIRWAY;
  free(deep);
  free(list);
  return st;
}

/* Small pieces of @tissue join the neighbour they touch most. */
static PlaStatus
join_islands(Head *head, uint8_t *labels, uint8_t tissue)
{
  size_t n_pieces = 0;
  PlaComponent *list = NULL;
  size_t(*touches)[4] = NULL;
  const size_t stride[3] = { 1, (size_t)head->dims[0],
                             (size_t)head->dims[0] * (size_t)head->dims[1] };
  PlaStatus st = components(head, labels, tissue, false, PLA_CONNECT_FACES, &n_pieces, &list);
  if (st == PLA_OK) {
    touches = pla_array_new0(n_pieces + 1, sizeof *touches);
    if (!touches)
      st = pla_fail_memory(head->err, "connected regions");
  }
  if (st == PLA_OK) {
    const size_t small = voxels_of(head, ISLAND_MM3);
    size_t v = 0;
    for (int k = 0; k < head->dims[2]; k++)
      for (int j = 0; j < head->dims[1]; j++)
        for (int i = 0; i < head->dims[0]; i++, v++) {
          uint32_t p = head->number[v];
          if (!p || p == 1 || list[p - 1].n_voxels >= small)
            continue;
          const int at[3] = { i, j, k };
          for (int d = 0; d < 3; d++) {
            if (at[d] > 0)
              touches[p][labels[v - stride[d]]]++;
            if (at[d] + 1 < head->dims[d])
              touches[p][labels[v + stride[d]]]++;
          }
        }
    for (v = 0; v < head->n; v++) {
      uint32_t p = head->number[v];
      if (!p || p == 1 || list[p - 1].n_voxels >= small)
        continue;
      int most = 0;
      for (int t = 1; t < 4; t++)
        if (t != tissue && touches[p][t] && (!most || touches[p][t] > touches[p][most]))
          most = t;
      if (most)
        labels[v] = (uint8_t)most;
    }
  }
  free(touches);
  free(list);
  return st;
}

static PlaStatus
find_bone(Head *head, uint8_t *labels)
{
  pla_segment_threshold(head->vol, head->frame, BONE_HU, INFINITY, head->work);
  for (size_t v = 0; v < head->n; v++)
    head->work[v] = head->work[v] && labels[v] == SOFT;
  PlaStatus st = pla_mask_drop_small(head->dims, head->work, PLA_CONNECT_CORNERS, false,
                                     voxels_of(head, SPECK_MM3), head->progress, head->err);
  for (size_t v = 0; v < head->n && st == PLA_OK; v++)
    if (head->work[v])
      labels[v] = BONE;
  return st == PLA_OK ? join_islands(head, labels, SOFT) : st;
}

static PlaStatus
segment_ct_head(const PlaVolume *vol, int frame, PlaProgress *progress, uint8_t *labels,
                PlaSegmentReport *report, PlaError *err)
{
  Head head = { .vol = vol,
                .frame = frame,
                .dims = vol->dims,
                .affine = vol->affine_mm,
                .n = (size_t)vol->dims[0] * (size_t)vol->dims[1] * (size_t)vol->dims[2],
                .voxel_mm3 = pla_volume_voxel_mm3(vol),
                .progress = progress,
                .err = err };
  head.tissue = pla_array_new(head.n, 1);
  head.hull = pla_array_new(head.n, 1);
  head.foreign = pla_array_new0(head.n, 1);
  head.work = pla_array_new(head.n, 1);
  head.number = pla_array_new(head.n, sizeof *head.number);
  head.dist2 = pla_array_new_aligned(head.n, sizeof *head.dist2);
  PlaStatus st = PLA_OK;
  if (!head.tissue || !head.hull || !head.foreign || !head.work || !head.number || !head.dist2)
    st = pla_fail_memory(err, "the segmentation of the head");
  else if (!(head.voxel_mm3 > 0.0))
    st = pla_fail(err, PLA_ERR_GEOMETRY, "the volume's axes lie in one plane; correct its affine");

  pla_progress_phase(progress, "Finding the head", 0.35);
  if (st == PLA_OK)
    st = find_hull(&head);
  pla_progress_phase(progress, "Removing the head-rest", 0.55);
  if (st == PLA_OK)
    st = judge_pieces(&head);
  if (st == PLA_OK)
    st = shave_contacts(&head);
  pla_progress_phase(progress, "Following the skin", 0.65);
  if (st == PLA_OK) {
    report->removed_mm3 = (double)pla_mask_count(head.dims, head.foreign) * head.voxel_mm3;
    st = follow_skin(&head);
  }
  pla_progress_phase(progress, "Finding the airway", 0.85);
  if (st == PLA_OK)
    st = find_airway(&head, labels);
  pla_progress_phase(progress, "Finding bone", 0.95);
  if (st == PLA_OK)
    st = find_bone(&head, labels);
  if (st == PLA_OK)
    report->hull_mm3 = (double)pla_mask_count(head.dims, labels) * head.voxel_mm3;
  free(head.tissue);
  free(head.hull);
  free(head.foreign);
  free(head.work);
  free(head.number);
  free(head.dist2);
  return st;
}

static const PlaSegmentTissue tissues[] = {
  { SOFT, "soft tissue", { 224, 172, 142, 255 } },
  { BONE, "bone", { 241, 233, 209, 255 } },
  { AIRWAY, "airway", { 92, 170, 216, 255 } },
  { 0 },
};

const PlaSegmentPreset pla_segment_preset_ct_head = {
  .id = "ct-head",
  .title = "Head CT: soft tissue, bone and airway, head-rest removed",
  .tissue = tissues,
  .run = segment_ct_head,
};
