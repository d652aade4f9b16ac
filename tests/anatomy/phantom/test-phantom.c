/* The built-in phantoms: sizes, symmetry, touching lips, joints, muscles, and the test meshes. */
#include "anatomy/base/parallel.h"
#include "anatomy/phantom/phantom.h"

#include <glib.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void
make(const char *name, double spacing_mm, PlaPhantom *out)
{
  PlaError err = { 0 };
  const PlaStatus st = pla_phantom_make(name, spacing_mm, NULL, out, &err);
  g_assert_cmpstr(err.message, ==, "");
  g_assert_cmpint(st, ==, PLA_OK);
}

static PlaPhantomModel *
model_of(const char *name)
{
  PlaPhantomModel *model = NULL;
  PlaError err = { 0 };
  g_assert_cmpint(pla_phantom_model_new(name, &model, &err), ==, PLA_OK);
  return model;
}

static size_t *
counts_of(const PlaLabelMap *map)
{
  size_t *counts = g_new0(size_t, 65536);
  pla_label_map_count(map, counts);
  return counts;
}

static int
id_of(const PlaLabelMap *map, const char *name)
{
  const PlaLabel *label = pla_label_table_find_name(&map->table, name);
  if (!label)
    g_error("no label '%s'", name);
  return label->id;
}

static double
ml_of(const PlaLabelMap *map, const size_t *counts, const char *name)
{
  return (double)counts[id_of(map, name)] * pla_volume_voxel_mm3(map->volume) / 1000.0;
}

/* share of the largest 26-connected piece of a label */
static double
largest_share(const PlaLabelMap *map, int id)
{
  const int *n = map->volume->dims;
  const size_t size = pla_volume_n_voxels(map->volume);
  uint8_t *left = g_new0(uint8_t, size);
  size_t *stack = g_new(size_t, size), total = 0, best = 0;
  for (size_t i = 0; i < size; i++)
    left[i] = pla_label_map_get(map, i) == id;
  for (size_t seed = 0; seed < size; seed++) {
    if (!left[seed])
      continue;
    size_t depth = 0, piece = 0;
    stack[depth++] = seed;
    left[seed] = 0;
    while (depth > 0) {
      const size_t at = stack[--depth];
      piece++;
      const int x = (int)(at % (size_t)n[0]), y = (int)(at / (size_t)n[0] % (size_t)n[1]),
                z = (int)(at / ((size_t)n[0] * (size_t)n[1]));
      for (int k = MAX(z - 1, 0); k <= MIN(z + 1, n[2] - 1); k++)
        for (int j = MAX(y - 1, 0); j <= MIN(y + 1, n[1] - 1); j++)
          for (int i = MAX(x - 1, 0); i <= MIN(x + 1, n[0] - 1); i++) {
            const size_t to = (size_t)i + (size_t)n[0] * ((size_t)j + (size_t)n[1] * (size_t)k);
            if (left[to]) {
              left[to] = 0;
              stack[depth++] = to;
            }
          }
    }
    total += piece;
    best = MAX(best, piece);
  }
  g_free(left);
  g_free(stack);
  return total > 0 ? (double)best / (double)total : 0.0;
}

/* ---- the list ---- */

static void
test_list(void)
{
  for (int i = 0; pla_phantom_get(i); i++) {
    const PlaPhantomInfo *info = pla_phantom_get(i);
    g_test_message("%s", info->name);
    g_assert_true(pla_phantom_find(info->name) == info);
    g_assert_true(info->title[0] && info->description[0]);
    g_assert_cmpfloat(info->default_spacing_mm, >, 0.0);
    PlaPhantom phantom;
    make(info->name, 8.0 * info->default_spacing_mm, &phantom);
    g_assert_cmpint(phantom.kind, ==, info->kind);
    g_assert_true((phantom.labels != NULL) == (info->kind == PLA_PHANTOM_LABELS));
    g_assert_true((phantom.mesh != NULL) == (info->kind == PLA_PHANTOM_MESH));
    pla_phantom_clear(&phantom);
  }
  g_assert_null(pla_phantom_find("elephant"));
}

static void
test_refusals(void)
{
  PlaPhantom phantom;
  PlaError err = { 0 };
  g_assert_cmpint(pla_phantom_make("elephant", 0, NULL, &phantom, &err), ==, PLA_ERR_USAGE);
  g_assert_nonnull(strstr(err.message, "elephant"));
  const double bad[] = { -1.0, NAN, INFINITY, 1e-9 };
  for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
    g_assert_cmpint(pla_phantom_make("head", bad[i], NULL, &phantom, &err), ==, PLA_ERR_USAGE);
    g_assert_null(phantom.labels);
    g_assert_cmpint(pla_phantom_make("crossed-lips", bad[i], NULL, &phantom, &err), ==,
                    PLA_ERR_USAGE);
    g_assert_null(phantom.mesh);
  }
  PlaPhantomModel *model = NULL;
  g_assert_cmpint(pla_phantom_model_new("bar", &model, &err), ==, PLA_ERR_UNSUPPORTED);
  g_assert_null(model);

  PlaProgress progress;
  pla_progress_init(&progress, NULL, NULL);
  pla_progress_cancel(&progress);
  g_assert_cmpint(pla_phantom_make("head", 4, &progress, &phantom, &err), ==, PLA_ERR_CANCELLED);
  pla_phantom_clear(&phantom);
}

/* ---- sampling ---- */

static void
test_threads(void)
{
  static const char *names[] = { "head", "tongue", "arm" };
  for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
    PlaPhantom one, four;
    pla_threads_set(1);
    make(names[i], 7.0, &one);
    pla_threads_set(4);
    make(names[i], 7.0, &four);
    pla_threads_set(0);
    g_assert_cmpmem(one.labels->volume->voxels, pla_volume_n_bytes(one.labels->volume),
                    four.labels->volume->voxels, pla_volume_n_bytes(four.labels->volume));
    pla_phantom_clear(&one);
    pla_phantom_clear(&four);
  }
}

/* blocks leave out shapes that cannot matter: the whole scene must agree at every sampled voxel */
static void
test_distance_sign(void)
{
  static const char *names[] = { "head", "tongue", "arm", "skin-slab" };
  for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
    PlaPhantom phantom;
    PlaPhantomModel *model = model_of(names[i]);
    make(names[i], 3.1, &phantom);
    const PlaVolume *vol = phantom.labels->volume;
    const size_t n = pla_volume_n_voxels(vol);
    size_t seen = 0;
    for (size_t at = 0; at < n; at += 197) {
      const int id = pla_label_map_get(phantom.labels, at);
      if (id == 0)
        continue;
      const size_t nx = (size_t)vol->dims[0], ny = (size_t)vol->dims[1];
      const double ijk[3] = { (double)(at % nx), (double)(at / nx % ny), (double)(at / (nx * ny)) };
      double p[3];
      pla_volume_to_ras_mm(vol, ijk, p);
      g_assert_cmpfloat(pla_phantom_distance(model, id, p), <, 1e-9);
      g_assert_cmpfloat(pla_phantom_shape_distance(model, id, p), <=,
                        pla_phantom_distance(model, id, p));
      seen++;
    }
    g_assert_cmpuint(seen, >, 30);
    g_assert_cmpfloat(pla_phantom_distance(model, 9999, (double[3]){ 0, 0, 0 }), >, 1e3);
    pla_phantom_clear(&phantom);
    pla_phantom_model_free(model);
  }
}

/* sampled solids against their closed forms */
static void
test_solid_volumes(void)
{
  static const struct {
    const char *name;
    double mm3;
  } solids[] = {
    { "sphere", 4.0 / 3.0 * G_PI * 40 * 40 * 40 },
    { "torus", 2.0 * G_PI * G_PI * 35 * 12 * 12 },
    { "box", 60.0 * 40 * 30 },
    { "bar-labels", 100.0 * 25 * 25 },
  };
  for (size_t i = 0; i < G_N_ELEMENTS(solids); i++) {
    PlaPhantom phantom;
    make(solids[i].name, 1.0, &phantom);
    size_t *counts = counts_of(phantom.labels);
    g_assert_cmpfloat_with_epsilon((double)counts[1], solids[i].mm3, 0.005 * solids[i].mm3);
    g_free(counts);
    pla_phantom_clear(&phantom);
  }
  PlaPhantom slab;
  make("skin-slab", 1.0, &slab);
  size_t *counts = counts_of(slab.labels);
  for (int i = 1; i <= 4; i++)
    g_assert_cmpuint(counts[i], ==, 120 * 120 * (i == 1 ? 2 : 6));
  g_free(counts);
  pla_phantom_clear(&slab);
}

/* ---- the head ---- */

/* made once: sizes and pieces look at the same volume */
static PlaPhantom head_2mm;

static void
test_head_sizes(void)
{
  static const struct {
    const char *name;
    double lo_ml, hi_ml; /* adult range */
  } ranges[] = {
    { "brain", 1200, 1500 },      { "tongue", 60, 90 },           { "mandible", 45, 85 },
    { "skull", 400, 800 },        { "eye, left", 6, 8.5 },        { "tooth 16", 0.6, 1.3 },
    { "masseter, left", 12, 35 }, { "temporalis, left", 18, 45 }, { "airway", 40, 110 },
  };
  PlaPhantom coarse;
  const PlaPhantom fine = head_2mm;
  make("head", 3.0, &coarse);
  size_t *n_fine = counts_of(fine.labels), *n_coarse = counts_of(coarse.labels);
  for (size_t i = 0; i < G_N_ELEMENTS(ranges); i++) {
    const double ml = ml_of(fine.labels, n_fine, ranges[i].name);
    g_test_message("%s %.2f ml", ranges[i].name, ml);
    g_assert_cmpfloat(ml, >, ranges[i].lo_ml);
    g_assert_cmpfloat(ml, <, ranges[i].hi_ml);
  }
  /* volumes do not depend on the spacing */
  static const char *bulk[] = { "brain", "tongue", "mandible", "skull", "soft tissue" };
  for (size_t i = 0; i < G_N_ELEMENTS(bulk); i++) {
    const double a = ml_of(fine.labels, n_fine, bulk[i]);
    g_assert_cmpfloat_with_epsilon(ml_of(coarse.labels, n_coarse, bulk[i]), a, 0.02 * a);
  }
  /* every label is there, left like right */
  for (int i = 0; i < fine.labels->table.n; i++) {
    const PlaLabel *label = &fine.labels->table.label[i];
    g_assert_cmpuint(n_fine[label->id], >, 0);
    char *comma = strstr(label->name, ", right");
    if (!comma)
      continue;
    char *mirror = g_strdup_printf("%.*s, left", (int)(comma - label->name), label->name);
    const double right = (double)n_fine[label->id];
    const double left = (double)n_fine[id_of(fine.labels, mirror)];
    g_assert_cmpfloat_with_epsilon(left, right, 0.02 * right);
    g_free(mirror);
  }
  g_free(n_fine);
  g_free(n_coarse);
  pla_phantom_clear(&coarse);
}

/* nose, eyes and chin to the front, nodule on the left; face in proportion */
static void
test_head_landmarks(void)
{
  PlaPhantom head;
  make("head", 6.0, &head);
  double sellion[3] = { 0 }, subnasale[3] = { 0 }, menton[3] = { 0 }, nose[3] = { 0 };
  double nodule[3] = { 0 }, glabella[3] = { 0 }, back[3] = { 0 }, alare[3] = { 0 };
  double cheilion[3] = { 0 }, zygion[3] = { 0 };
  const struct {
    const char *name;
    double *pos;
  } wanted[] = {
    { "sellion", sellion },      { "subnasale", subnasale },       { "menton", menton },
    { "pronasale", nose },       { "nodule, left cheek", nodule }, { "glabella", glabella },
    { "opisthocranion", back },  { "alare, right", alare },        { "cheilion, right", cheilion },
    { "zygion, right", zygion },
  };
  for (size_t w = 0; w < G_N_ELEMENTS(wanted); w++) {
    bool found = false;
    for (int i = 0; i < head.n_landmarks; i++)
      if (strcmp(head.landmark[i].name, wanted[w].name) == 0) {
        memcpy(wanted[w].pos, head.landmark[i].pos_mm, 3 * sizeof(double));
        found = true;
      }
    g_assert_true(found);
  }
  g_assert_cmpfloat(nodule[0], <, -30.0);
  g_assert_cmpfloat(nose[1] - subnasale[1], >, 10.0);
  g_assert_cmpfloat_with_epsilon(sellion[2] - menton[2], 122.0, 10.0); /* face height */
  g_assert_cmpfloat_with_epsilon(subnasale[2] - menton[2], 70.0, 8.0); /* lower face */
  g_assert_cmpfloat_with_epsilon(glabella[1] - back[1], 197.0, 10.0);  /* head length */
  g_assert_cmpfloat_with_epsilon(2.0 * alare[0], 36.0, 5.0);           /* nose width */
  g_assert_cmpfloat_with_epsilon(2.0 * cheilion[0], 51.0, 6.0);        /* mouth width */
  g_assert_cmpfloat_with_epsilon(2.0 * zygion[0], 137.0, 10.0);        /* face width */
  pla_phantom_clear(&head);
}

/* upper and lower lip share a face wherever tissue crosses the mouth's line, and nothing else
 * joins them there */
static void
test_lips_touch(void)
{
  PlaPhantomModel *model = model_of("head");
  PlaLabelMap *map = NULL;
  PlaError err = { 0 };
  const double lo[3] = { -24, 74, -60 }, hi[3] = { 24, 112, -40 }, h = 0.8;
  g_assert_cmpint(pla_scene_labels(pla_phantom_model_scene(model), lo, hi, h, NULL, &map, &err), ==,
                  PLA_OK);
  const int upper = id_of(map, "upper lip"), lower = id_of(map, "lower lip");
  const int *n = map->volume->dims;
  size_t contact = 0, bridged = 0;
  for (int k = 0; k + 1 < n[2]; k++)
    for (int j = 0; j < n[1]; j++)
      for (int i = 0; i < n[0]; i++) {
        const size_t at = (size_t)i + (size_t)n[0] * ((size_t)j + (size_t)n[1] * (size_t)k);
        const size_t up = at + (size_t)n[0] * (size_t)n[1];
        const int a = pla_label_map_get(map, at), b = pla_label_map_get(map, up);
        contact += a == lower && b == upper;
        bridged += a == upper && b == lower;
      }
  g_test_message("lip contact %.0f mm2", (double)contact * h * h);
  g_assert_cmpfloat((double)contact * h * h, >, 250.0);
  g_assert_cmpuint(bridged, ==, 0);

  /* seen from outside, every column of tissue at the line is lip above and lip below */
  const int airway = id_of(map, "airway");
  double ijk[3];
  g_assert_cmpint(pla_volume_to_index(map->volume, (double[3]){ 0, 0, -50.4 }, ijk, &err), ==,
                  PLA_OK);
  for (int i = 0; i < n[0]; i++) {
    double p[3];
    pla_volume_to_ras_mm(map->volume, (double[3]){ i, 0, 0 }, p);
    if (fabs(p[0]) > 18.0)
      continue;
    for (int j = n[1] - 1; j >= 0; j--) {
      const size_t layer = (size_t)n[0] * (size_t)n[1];
      const size_t at = (size_t)i + (size_t)n[0] * (size_t)j + layer * (size_t)floor(ijk[2]);
      const int above = pla_label_map_get(map, at + 2 * layer);
      const int below = pla_label_map_get(map, at - layer);
      if (above == airway || below == airway)
        break;
      if (above != 0)
        g_assert_cmpint(above, ==, upper);
      if (below != 0)
        g_assert_cmpint(below, ==, lower);
    }
  }
  pla_label_map_free(map);
  pla_phantom_model_free(model);
}

/* the condyle stands free in its fossa, 1.5 to 4 mm from it at the nearest point */
static void
test_jaw_joint(void)
{
  PlaPhantom head;
  make("head", 6.0, &head);
  PlaPhantomModel *model = model_of("head");
  const PlaShapeScene *scene = pla_phantom_model_scene(model);
  const int skull = pla_scene_find_name(scene, "skull");
  const int jaw = pla_scene_find_name(scene, "mandible");
  g_assert_cmpint(head.n_joints, ==, 1);
  const PlaPhantomJoint *joint = &head.joint[0];
  g_assert_cmpstr(joint->name, ==, "jaw");
  g_assert_cmpfloat(joint->from_mm[0], >, 0.0); /* right to left */
  g_assert_cmpfloat_with_epsilon(joint->from_mm[0] - joint->to_mm[0], 100.0, 10.0);
  g_assert_cmpfloat(pla_scene_distance(scene, jaw, joint->from_mm), <, 0.0);
  g_assert_cmpfloat(pla_scene_distance(scene, jaw, joint->to_mm), <, 0.0);
  double gap = HUGE_VAL;
  for (int i = 0; i < 400; i++) {
    /* directions spread over the upper half of a sphere */
    const double z = (i + 0.5) / 400.0, a = 2.399963229728653 * i, r = sqrt(1.0 - z * z);
    double p[3] = { joint->from_mm[0] + 12 * r * cos(a), joint->from_mm[1] + 12 * r * sin(a),
                    joint->from_mm[2] + 12 * z };
    if (pla_scene_snap(scene, jaw, 0.0, p))
      gap = fmin(gap, pla_scene_distance(scene, skull, p));
  }
  g_test_message("condyle to fossa %.2f mm", gap);
  g_assert_cmpfloat(gap, >, 1.5);
  g_assert_cmpfloat(gap, <, 4.0);
  pla_phantom_model_free(model);
  pla_phantom_clear(&head);
}

/* ---- muscles ---- */

static bool
is_bone(const char *name)
{
  static const char *bones[] = { "skull", "mandible", "hyoid",  "humerus",
                                 "ulna",  "radius",   "scapula" };
  for (size_t i = 0; i < G_N_ELEMENTS(bones); i++)
    if (strcmp(bones[i], name) == 0)
      return true;
  return false;
}

/* a named end lies within 2 mm of its bone's surface */
static void
check_end(const PlaShapeScene *scene, const char *muscle, const char *bone, const double p[3])
{
  if (bone[0] == '\0')
    return;
  const int part = pla_scene_find_name(scene, bone);
  g_assert_cmpint(part, >=, 0);
  const double d = pla_scene_distance(scene, part, p);
  if (fabs(d) > 2.0) {
    g_test_message("%s ends %.2f mm from %s", muscle, d, bone);
    g_test_fail();
  }
}

static void
check_muscles(const char *name, int at_least, const char *skin)
{
  PlaPhantom phantom;
  make(name, 6.0, &phantom);
  PlaPhantomModel *model = model_of(name);
  const PlaShapeScene *scene = pla_phantom_model_scene(model);
  g_assert_cmpint(phantom.n_muscles, >=, at_least);
  for (int m = 0; m < phantom.n_muscles; m++) {
    const PlaPhantomMuscle *muscle = &phantom.muscle[m];
    g_assert_cmpint(pla_scene_find_label(scene, muscle->label), >=, 0);
    g_assert_cmpfloat(muscle->stress_factor, >, 0.0);
    g_assert_cmpint(muscle->n_paths, >, 0);
    for (int r = 0; r < muscle->n_paths; r++) {
      const PlaPhantomPath *path = &muscle->path[r];
      g_assert_cmpint(path->n_points, >=, 4);
      check_end(scene, muscle->name, path->origin, path->pos_mm);
      check_end(scene, muscle->name, path->insertion, path->pos_mm + 3 * (path->n_points - 1));
      for (int i = 0; i < path->n_points; i++) {
        const double *p = path->pos_mm + 3 * i;
        if (muscle->side == PLA_SIDE_RIGHT)
          g_assert_cmpfloat(p[0], >, 0.0);
        if (muscle->side == PLA_SIDE_LEFT)
          g_assert_cmpfloat(p[0], <, 0.0);
        /* along the muscle, under the skin, outside bone */
        const double own = pla_phantom_shape_distance(model, muscle->label, p);
        if (own > 0.5) {
          g_test_message("%s (%d) leaves its shape by %.2f mm at point %d", muscle->name, r, own,
                         i);
          g_test_fail();
        }
        if (skin)
          g_assert_cmpfloat(pla_scene_distance(scene, pla_scene_find_name(scene, skin), p), <,
                            -1.5);
        for (int b = 0; b < pla_scene_n_parts(scene); b++)
          if (is_bone(pla_scene_part_name(scene, b))) {
            const double d = pla_scene_distance(scene, b, p);
            if (d < -0.5) {
              g_test_message("%s (%d) runs %.2f mm inside %s at %.1f %.1f %.1f", muscle->name, r,
                             -d, pla_scene_part_name(scene, b), p[0], p[1], p[2]);
              g_test_fail();
            }
          }
      }
    }
  }
  pla_phantom_model_free(model);
  pla_phantom_clear(&phantom);
}

static void
test_head_muscles(void)
{
  check_muscles("head", 32, "head guide");
}

static void
test_tongue_muscles(void)
{
  check_muscles("tongue", 22, NULL);
}

static void
test_arm_muscles(void)
{
  check_muscles("arm", 3, "arm guide");
  PlaPhantom arm;
  make("arm", 6.0, &arm);
  g_assert_cmpint(arm.n_joints, ==, 1);
  g_assert_cmpstr(arm.joint[0].name, ==, "elbow");
  pla_phantom_clear(&arm);
}

/* Each right-hand structure is one piece at 1 mm; the left ones mirror it.  The large ones take
 * long: they are looked at where PLA_PHANTOM_FINE is set. */
static void
check_pieces(const char *name, double spacing_mm, int first_label)
{
  const double most_mm3 = g_getenv("PLA_PHANTOM_FINE") ? HUGE_VAL : 30e3;
  PlaPhantomModel *model = model_of(name);
  const PlaShapeScene *scene = pla_phantom_model_scene(model);
  for (int part = 0; part < pla_scene_n_parts(scene); part++) {
    const int label = pla_scene_part_label(scene, part);
    if (label < first_label || pla_scene_part_side(scene, part) == PLA_SIDE_LEFT)
      continue;
    double lo[3], hi[3];
    pla_scene_part_bounds(scene, part, lo, hi);
    if ((hi[0] - lo[0]) * (hi[1] - lo[1]) * (hi[2] - lo[2]) > most_mm3)
      continue;
    PlaLabelMap *map = NULL;
    PlaError err = { 0 };
    g_assert_cmpint(pla_scene_labels(scene, lo, hi, spacing_mm, NULL, &map, &err), ==, PLA_OK);
    const double share = largest_share(map, label);
    if (share < 0.99) {
      g_test_message("the largest piece of %s holds only %.1f %% of it",
                     pla_scene_part_name(scene, part), 100.0 * share);
      g_test_fail();
    }
    pla_label_map_free(map);
  }
  pla_phantom_model_free(model);
}

static void
test_head_pieces(void)
{
  check_pieces("head", 1.0, 50);
}

static void
test_tongue_pieces(void)
{
  check_pieces("tongue", 1.0, 100);
}

static void
test_bulk_pieces(void)
{
  static const char *whole[] = { "skull",  "mandible",  "hyoid",     "brain", "tongue",
                                 "airway", "upper lip", "lower lip", "skin",  "cervical spine" };
  for (size_t i = 0; i < G_N_ELEMENTS(whole); i++) {
    const double share = largest_share(head_2mm.labels, id_of(head_2mm.labels, whole[i]));
    if (share < 0.99)
      g_error("the largest piece of %s holds only %.1f %% of it", whole[i], 100.0 * share);
  }
}

/* ---- meshes ---- */

static void
test_surfaces(void)
{
  /* volumes count an overlap twice, as the winding number does */
  static const struct {
    const char *name;
    double spacing, mm3, tolerance;
    int components;
  } surfaces[] = {
    { "box-surface", 5, 60.0 * 40 * 30, 1e-12, 1 },
    { "sphere-surface", 2, 4.0 / 3.0 * G_PI * 40 * 40 * 40, 0.01, 1 },
    { "torus-surface", 2, 2.0 * G_PI * G_PI * 35 * 12 * 12, 0.01, 1 },
    { "parallel-cylinders-surface", 1, 2.0 * G_PI * 8 * 8 * 80, 0.02, 2 },
    { "crossing-boxes", 5, 80.0 * 30 * 30 + 28.0 * 26 * 76, 1e-12, 2 },
    { "nested-boxes", 5, 60.0 * 40 * 30 + 30.0 * 20 * 16, 1e-12, 2 },
    { "moebius-pair", 1.75, 2 * 2.0 * G_PI * 40 * 21 * 7, 0.01, 2 },
    { "c-ring", 2, 2.25 * G_PI * 0.5 * (45.0 * 45 - 30.0 * 30) * 20, 0.01, 1 },
    { "spiral", 2, 4.0 * G_PI * 14 * (22 + 8 + 7) * 16, 0.01, 1 },
    { "thin-sheet", 5, 60.0 * 60 * 1, 1e-12, 1 },
    { "crossed-lips", 2, 60.0 * 40 * 50, 0.02, 1 },
  };
  for (size_t i = 0; i < G_N_ELEMENTS(surfaces); i++) {
    PlaPhantom phantom;
    PlaMeshSummary sum;
    PlaError err = { 0 };
    make(surfaces[i].name, surfaces[i].spacing, &phantom);
    g_assert_cmpint(pla_mesh_summary(phantom.mesh, &sum, &err), ==, PLA_OK);
    g_test_message("%s: %d triangles, %.0f mm3", surfaces[i].name, phantom.mesh->n_tris,
                   sum.volume_m3 * 1e9);
    g_assert_true(sum.closed);
    g_assert_cmpint(sum.components, ==, surfaces[i].components);
    g_assert_cmpfloat_with_epsilon(sum.volume_m3 * 1e9, surfaces[i].mm3,
                                   surfaces[i].tolerance * surfaces[i].mm3);
    pla_phantom_clear(&phantom);
  }
}

/* the winding number of a closed surface at @p (m), by solid angles */
static double
winding(const PlaMesh *mesh, const double p[3])
{
  double sum = 0.0;
  for (int t = 0; t < mesh->n_tris; t++) {
    double r[3][3], l[3];
    for (int k = 0; k < 3; k++) {
      for (int d = 0; d < 3; d++)
        r[k][d] = mesh->pos[3 * mesh->tri[3 * t + k] + d] - p[d];
      l[k] = sqrt(r[k][0] * r[k][0] + r[k][1] * r[k][1] + r[k][2] * r[k][2]);
    }
    const double det = r[0][0] * (r[1][1] * r[2][2] - r[1][2] * r[2][1]) -
                       r[0][1] * (r[1][0] * r[2][2] - r[1][2] * r[2][0]) +
                       r[0][2] * (r[1][0] * r[2][1] - r[1][1] * r[2][0]);
    double dot[3];
    for (int k = 0; k < 3; k++)
      dot[k] =
          r[k][0] * r[(k + 1) % 3][0] + r[k][1] * r[(k + 1) % 3][1] + r[k][2] * r[(k + 1) % 3][2];
    sum += 2.0 * atan2(det, l[0] * l[1] * l[2] + dot[0] * l[2] + dot[1] * l[0] + dot[2] * l[1]);
  }
  return sum / (4.0 * G_PI);
}

/* places that are covered once, twice and not at all */
static void
test_overlaps(void)
{
  static const struct {
    const char *name;
    double p_mm[3];
    int times;
  } places[] = {
    { "crossing-boxes", { 3, 2, 4 }, 2 },
    { "crossing-boxes", { -30, 0, 0 }, 1 },
    { "crossing-boxes", { 30, 0, 30 }, 0 },
    { "nested-boxes", { 1, 0, 1 }, 2 },
    { "nested-boxes", { 25, 0, 0 }, 1 },
    { "moebius-pair", { 40.3, 0.2, 0.1 }, 2 },
    { "moebius-pair", { -40.3, 0.2, 0.1 }, 2 },
    { "moebius-pair", { 47, 0.2, 0.1 }, 1 },
    { "moebius-pair", { 0, 0, 0 }, 0 },
    { "crossed-lips", { 0.3, 19, 0.2 }, 2 },
    { "crossed-lips", { 0.3, 0.4, 0.2 }, 0 },
    { "crossed-lips", { 0.3, -15, 0.2 }, 1 },
    { "c-ring", { 33, 20, 1 }, 2 },
    { "c-ring", { -37, 0, 1 }, 1 },
    { "c-ring", { 37, 3, 1 }, 1 },
    { "spiral", { -25, 0.5, 1 }, 0 },
    { "spiral", { -33, 0.5, 1 }, 1 },
    { "spiral", { -37, 0.5, 1 }, 2 },
  };
  for (size_t i = 0; i < G_N_ELEMENTS(places); i++) {
    PlaPhantom phantom;
    make(places[i].name, 2.5, &phantom);
    const double p[3] = { places[i].p_mm[0] / 1000, places[i].p_mm[1] / 1000,
                          places[i].p_mm[2] / 1000 };
    const double w = winding(phantom.mesh, p);
    if (fabs(w - places[i].times) > 1e-6)
      g_error("%s is covered %g times at %g %g %g mm, not %d", places[i].name, w, places[i].p_mm[0],
              places[i].p_mm[1], places[i].p_mm[2], places[i].times);
    pla_phantom_clear(&phantom);
  }
}

static void
test_bar(void)
{
  PlaPhantom bar;
  PlaMeshSummary sum;
  PlaError err = { 0 };
  make("bar", 5.0, &bar);
  g_assert_cmpint(bar.mesh->n_tets, ==, 20 * 5 * 5 * 6);
  g_assert_cmpint(pla_mesh_summary(bar.mesh, &sum, &err), ==, PLA_OK);
  g_assert_cmpint(sum.inverted, ==, 0);
  g_assert_cmpint(sum.components, ==, 1);
  g_assert_cmpfloat_with_epsilon(sum.volume_m3, 0.1 * 0.025 * 0.025, 1e-16);
  pla_phantom_clear(&bar);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  make("head", 2.0, &head_2mm);
  g_test_add_func("/phantom/list", test_list);
  g_test_add_func("/phantom/refusals", test_refusals);
  g_test_add_func("/phantom/threads", test_threads);
  g_test_add_func("/phantom/distance-sign", test_distance_sign);
  g_test_add_func("/phantom/solid-volumes", test_solid_volumes);
  g_test_add_func("/phantom/head-sizes", test_head_sizes);
  g_test_add_func("/phantom/head-landmarks", test_head_landmarks);
  g_test_add_func("/phantom/lips-touch", test_lips_touch);
  g_test_add_func("/phantom/jaw-joint", test_jaw_joint);
  g_test_add_func("/phantom/head-muscles", test_head_muscles);
  g_test_add_func("/phantom/tongue-muscles", test_tongue_muscles);
  g_test_add_func("/phantom/arm-muscles", test_arm_muscles);
  g_test_add_func("/phantom/head-pieces", test_head_pieces);
  g_test_add_func("/phantom/tongue-pieces", test_tongue_pieces);
  g_test_add_func("/phantom/bulk-pieces", test_bulk_pieces);
  g_test_add_func("/phantom/surfaces", test_surfaces);
  g_test_add_func("/phantom/overlaps", test_overlaps);
  g_test_add_func("/phantom/bar", test_bar);
  const int failures = g_test_run();
  pla_phantom_clear(&head_2mm);
  return failures;
}
