/* Every operation keeps the rules of the table, and does what its name says. */
#include "anatomy/segment/label-edit.h"
#include "app/case/session.h"
#include "app/content/annotation.h"
#include "app/verbs/verbs.h"

#include <glib.h>
#include <math.h>
#include <string.h>

static void
ok(PlaStatus st, const PlaError *err)
{
  if (st != PLA_OK)
    g_error("%s", err->message);
}

/* ---- the table ------------------------------------------------------------------------------ */

static void
test_table(void)
{
  g_autoptr(GHashTable) verbs = g_hash_table_new(g_str_hash, g_str_equal);
  for (const PlaVerb *const *op = pla_verbs_get(); *op; op++) {
    PlaError err = { 0 };
    g_assert_true(g_hash_table_add(verbs, (gpointer)(*op)->name)); /* each once */
    g_assert_true(pla_verb_find((*op)->name) == *op);
    g_assert_true((*op)->title && *(*op)->title && (*op)->summary && *(*op)->summary);
    g_assert_true((*op)->run || (*op)->from_store);

    /* a default passes its own check; what has none is asked for by name */
    const char *missing = NULL;
    for (const PlaVerbParam *param = (*op)->params; param->name; param++) {
      g_assert_true(param->help && *param->help);
      if (param->unit) /* a unit stands in the name too */
        g_assert_true(g_str_has_suffix(param->name, param->unit));
      if (!param->otherwise && !missing)
        missing = param->name;
    }
    JsonObject *full = NULL;
    PlaStatus st = pla_verb_check(*op, NULL, &full, &err);
    if (missing) {
      g_assert_cmpint(st, ==, PLA_ERR_USAGE);
      g_assert_nonnull(strstr(err.message, missing));
    } else {
      ok(st, &err);
      json_object_unref(full);
    }

    /* an unknown one is refused by name, after those that are asked for */
    g_autoptr(JsonObject) odd = json_object_new();
    json_object_set_int_member(odd, "no_such_thing", 1);
    for (const PlaVerbParam *param = (*op)->params; param->name; param++) {
      if (param->otherwise)
        continue;
      const char *value = param->type == PLA_PARAM_POINT       ? "[1, 2, 3]"
                          : param->type == PLA_PARAM_POINTS    ? "[[1, 2, 3]]"
                          : param->type == PLA_PARAM_LIST      ? "[]"
                          : param->type == PLA_PARAM_LANDMARKS ? "[]"
                          : param->type == PLA_PARAM_ITEMS     ? "[\"text\"]"
                          : param->type == PLA_PARAM_OBJECT    ? "{}"
                          : param->type == PLA_PARAM_BOOL      ? "true"
                          : param->type == PLA_PARAM_TEXT || param->type == PLA_PARAM_ITEM
                              ? "\"text\""
                              : "1";
      json_object_set_member(odd, param->name, json_from_string(value, NULL));
    }
    g_assert_cmpint(pla_verb_check(*op, odd, &full, &err), ==, PLA_ERR_USAGE);
    g_assert_nonnull(strstr(err.message, "no_such_thing"));
    json_object_remove_member(odd, "no_such_thing");
    ok(pla_verb_check(*op, odd, &full, &err), &err);
    json_object_unref(full);

    /* a value of another type is refused by the parameter's name */
    for (const PlaVerbParam *param = (*op)->params; param->name; param++) {
      g_autoptr(JsonNode) kept = json_object_has_member(odd, param->name)
                                     ? json_node_copy(json_object_get_member(odd, param->name))
                                     : NULL;
      if (param->type == PLA_PARAM_OBJECT)
        json_object_set_boolean_member(odd, param->name, TRUE);
      else
        json_object_set_object_member(odd, param->name, json_object_new());
      g_assert_cmpint(pla_verb_check(*op, odd, &full, &err), ==, PLA_ERR_USAGE);
      g_assert_nonnull(strstr(err.message, param->name));
      if (kept)
        json_object_set_member(odd, param->name, g_steal_pointer(&kept));
      else
        json_object_remove_member(odd, param->name);
    }
  }
}

/* ---- on a state in memory -------------------------------------------------------------------- */

/* a temporary case with one label map of 40 x 41 x 42 voxels in a sheared frame */
typedef struct {
  PlaStore *store;
  PlaState state;
  int64_t head;
} Bench;

static PlaLabelMap *
sheared_labels(void)
{
  PlaError err;
  PlaVolume *vol;
  PlaLabelMap *map;
  const int dims[4] = { 40, 41, 42, 1 };
  const double affine[12] = { -0.7, 0.1, 0.0, 20.0, 0.0, 0.9, 0.3, -15.0, 0.1, 0.0, 1.3, -30.0 };
  ok(pla_volume_new(dims, PLA_U8, &vol, &err), &err);
  memcpy(vol->affine_mm, affine, sizeof affine);
  for (size_t v = 0; v < pla_volume_n_voxels(vol); v++)
    ((uint8_t *)vol->voxels)[v] = v / 40 % 41 < 20; /* label 1 in one half */
  ok(pla_label_map_take(vol, NULL, &map, &err), &err);
  return map;
}

static void
write_work(Bench *b, PlaWork *work)
{
  PlaError err;
  int64_t id;
  ok(pla_store_begin(b->store, &err), &err);
  ok(pla_work_write(work, b->store, b->head, &b->state, NULL, &id, &err), &err);
  ok(pla_store_commit(b->store, &err), &err);
  b->head = id;
}

static PlaStatus
apply(Bench *b, const char *verb, const char *params, PlaError *err)
{
  g_autoptr(JsonNode) node = json_from_string(params, NULL);
  g_assert_nonnull(node);
  PlaRequest request = { .verb = verb,
                         .params = json_node_get_object(node),
                         .read = pla_read_options_default() };
  PlaWork *work;
  PlaStatus st = pla_work_run(&request, b->store, &b->state, NULL, NULL, NULL, &work, err);
  if (st == PLA_OK)
    write_work(b, work);
  if (st == PLA_OK)
    pla_work_free(work);
  return st;
}

static void
bench_init(Bench *b)
{
  PlaError err;
  *b = (Bench){ 0 };
  ok(pla_store_create_temporary(&b->store, &err), &err);
  g_autoptr(PlaContent) content = pla_content_new(PLA_ITEM_LABELS);
  content->labels = sheared_labels();
  PlaBundle bundle;
  PlaChange change = { .has = true };
  char verb[] = "import", none[] = "{}", program[] = "0", kernel[] = "plain";
  PlaLogRow row = {
    .verb = verb, .parameters = none, .inputs = none, .program = program, .kernel = kernel
  };
  ok(pla_content_to_bundle(content, "tissue", &bundle, &err), &err);
  ok(pla_store_begin(b->store, &err), &err);
  ok(pla_store_put(b->store, &bundle, NULL, &err), &err);
  change.after = bundle.hash;
  ok(pla_state_set(&b->state, 1, &bundle.hash, PLA_ITEM_LABELS, "tissue", &err), &err);
  row.state = pla_state_hash(&b->state);
  ok(pla_store_add_operation(b->store, &row, &change, 1, &err), &err);
  ok(pla_store_commit(b->store, &err), &err);
  g_assert_cmpint(change.item, ==, 1);
  b->head = row.id;
  pla_content_bundle_clear(&bundle);
}

static void
bench_clear(Bench *b)
{
  pla_state_clear(&b->state);
  pla_store_close(b->store);
}

static PlaContent *
load(Bench *b, const char *name)
{
  PlaError err;
  PlaContent *content;
  const PlaStateItem *item = pla_state_find_name(&b->state, name);
  g_assert_nonnull(item);
  ok(pla_content_load(b->store, &item->hash, NULL, &content, &err), &err);
  return content;
}

/* the stroke against every voxel's own distance */
static void
test_brush(void)
{
  const double points[3][3] = { { 5.0, 2.0, -10.0 }, { 9.0, 5.0, -4.0 }, { 9.0, 5.0, -4.0 } };
  for (int n = 1; n <= 3; n++)
    for (int only = -1; only <= 1; only++) {
      PlaError err;
      PlaLabelMap *map = sheared_labels(), *before = sheared_labels();
      PlaBrush pen = { .radius_mm = 3.7, .label = n == 2 ? 0 : 300, .only = only };
      size_t n_changed, expected = 0;
      ok(pla_label_edit_stroke(map, points[0], n, &pen, &n_changed, &err), &err);
      g_assert_cmpint(map->volume->dtype, ==, n == 2 ? PLA_U8 : PLA_U16);
      for (size_t v = 0; v < pla_volume_n_voxels(map->volume); v++) {
        const double ijk[3] = { (double)(v % 40), (double)(v / 40 % 41), (double)(v / 1640) };
        double p[3], least = INFINITY;
        pla_volume_to_ras_mm(map->volume, ijk, p);
        /* points 0.08 mm apart on the way: the nearest is at most 3e-4 mm further */
        for (int s = 0; s <= (n > 1 ? 100 : 0); s++) {
          double dist2 = 0.0;
          for (int d = 0; d < 3; d++) {
            double q = points[0][d] + s / 100.0 * (points[1][d] - points[0][d]);
            dist2 += (p[d] - q) * (p[d] - q);
          }
          least = fmin(least, sqrt(dist2));
        }
        if (fabs(least - 3.7) < 2e-3)
          continue; /* the sampled distance cannot tell */
        int was = pla_label_map_get(before, v);
        bool hit = least < 3.7 && (only < 0 || was == only) && was != pen.label;
        g_assert_cmpint(pla_label_map_get(map, v), ==, hit ? pen.label : was);
        expected += hit;
      }
      g_assert_cmpuint(n_changed, >=, expected);
      g_assert_cmpuint(n_changed, <=, expected + 5);
      pla_label_map_free(map);
      pla_label_map_free(before);
    }
}

/* the volume of a ball in a fine grid against the closed form, and nothing outside the grid */
static void
test_ball_volume(void)
{
  PlaError err;
  PlaVolume *vol;
  PlaLabelMap *map;
  const int dims[4] = { 64, 64, 64, 1 };
  ok(pla_volume_new(dims, PLA_U8, &vol, &err), &err);
  for (int c = 0; c < 3; c++) {
    vol->affine_mm[5 * c] = 0.5;
    vol->affine_mm[4 * c + 3] = -16.0;
  }
  ok(pla_label_map_take(vol, NULL, &map, &err), &err);
  const double centre[3] = { 0.0, 0.0, 0.0 }, far_away[3] = { 500.0, 0.0, 0.0 };
  PlaBrush pen = { .radius_mm = 12.0, .label = 1, .only = -1 };
  size_t n;
  ok(pla_label_edit_stroke(map, centre, 1, &pen, &n, &err), &err);
  double exact = 4.0 / 3.0 * G_PI * 12.0 * 12.0 * 12.0;
  g_assert_cmpfloat_with_epsilon((double)n * 0.125, exact, 0.005 * exact);
  ok(pla_label_edit_stroke(map, far_away, 1, &pen, &n, &err), &err);
  g_assert_cmpuint(n, ==, 0);
  pla_label_map_free(map);
}

static void
test_edit_label(void)
{
  Bench b;
  PlaError err;
  bench_init(&b);
  ok(apply(&b, "edit-label",
           "{\"item\": \"tissue\", \"points_mm\": [[5, 2, -10]], \"radius_mm\": 3, \"label\": 7}",
           &err),
     &err);
  g_autoptr(PlaContent) edited = load(&b, "tissue");
  const PlaLabel *label = pla_label_table_find(&edited->labels->table, 7);
  g_assert_nonnull(label);
  ok(apply(&b, "set-labels",
           "{\"item\": \"tissue\", \"labels\": [{\"id\": 7, \"name\": \"fat\", \"rgba\": [1, 2, 3, "
           "4]}]}",
           &err),
     &err);
  g_autoptr(PlaContent) named = load(&b, "tissue");
  label = pla_label_table_find(&named->labels->table, 7);
  g_assert_cmpstr(label->name, ==, "fat");
  g_assert_cmpint(label->rgba[2], ==, 3);
  g_assert_cmpint(apply(&b, "set-labels",
                        "{\"item\": \"tissue\", \"labels\": [{\"id\": 99, \"name\": \"x\"}]}",
                        &err),
                  ==, PLA_ERR_USAGE);
  g_assert_nonnull(strstr(err.message, "99"));
  g_assert_cmpint(apply(&b, "edit-label",
                        "{\"item\": \"tissue\", \"points_mm\": [[900, 2, -10]], \"radius_mm\": 3, "
                        "\"label\": 7}",
                        &err),
                  ==, PLA_ERR_EMPTY);
  g_assert_cmpint(apply(&b, "edit-label",
                        "{\"item\": \"bone\", \"points_mm\": [[0, 0, 0]], \"radius_mm\": 3, "
                        "\"label\": 7}",
                        &err),
                  ==, PLA_ERR_USAGE);
  g_assert_nonnull(strstr(err.message, "'bone'"));
  bench_clear(&b);
}

static size_t
count_label(Bench *b, int id)
{
  g_autoptr(PlaContent) content = load(b, "tissue");
  size_t n = 0;
  for (size_t v = 0; v < pla_volume_n_voxels(content->labels->volume); v++)
    n += pla_label_map_get(content->labels, v) == id;
  return n;
}

/* each way to edit, one after the other; the functions themselves are tested with the label maps */
static void
test_paint(void)
{
  Bench b;
  PlaError err;
  bench_init(&b);
  ok(apply(&b, "edit-label",
           "{\"item\": \"tissue\", \"points_mm\": [[5, 2, -10]], \"radius_mm\": 3, \"label\": 7}",
           &err),
     &err);
  const size_t ball = count_label(&b, 7);
  ok(apply(&b, "mirror-label",
           "{\"item\": \"tissue\", \"label\": 7, \"point_mm\": [0, 2, -10], \"only\": -1}", &err),
     &err);
  g_assert_cmpuint(count_label(&b, 7), >, ball + ball / 2);
  ok(apply(&b, "split-label", "{\"item\": \"tissue\", \"label\": 7, \"seeds_mm\": [[5, 2, -10]]}",
           &err),
     &err);
  g_assert_cmpuint(count_label(&b, 8), ==, ball);
  ok(apply(&b, "grow-label",
           "{\"item\": \"tissue\", \"seeds_mm\": [[5, 2, -10]], \"label\": 7, \"reach_mm\": 2}",
           &err),
     &err);
  const size_t rest = count_label(&b, 8);
  g_assert_cmpuint(rest, <, ball);
  g_assert_cmpuint(rest, >, 0);
  ok(apply(&b, "keep-component",
           "{\"item\": \"tissue\", \"label\": 7, \"seeds_mm\": [[5, 2, -10]], \"other\": 300}",
           &err),
     &err);
  g_assert_cmpuint(count_label(&b, 7), ==, ball - rest);
  ok(apply(&b, "fill-outline",
           "{\"item\": \"tissue\", \"label\": 20, \"points_mm\": [[0, -5, -8], [8, -5, -8], "
           "[8, 3, -8], [0, 3, -8]], \"thickness_mm\": 2}",
           &err),
     &err);
  const size_t square = count_label(&b, 20);
  g_assert_cmpuint(square, >, 50);
  ok(apply(&b, "fill-outline",
           "{\"item\": \"tissue\", \"label\": 20, \"points_mm\": [[0, -5, 8], [8, -5, 8], "
           "[8, 3, 8], [0, 3, 8]], \"thickness_mm\": 2}",
           &err),
     &err);
  ok(apply(&b, "interpolate-slices", "{\"item\": \"tissue\", \"label\": 20}", &err), &err);
  g_assert_cmpuint(count_label(&b, 20), >, 4 * square);
  g_assert_cmpint(apply(&b, "interpolate-slices",
                        "{\"item\": \"tissue\", \"label\": 20, \"slices\": \"oblique\"}", &err),
                  ==, PLA_ERR_USAGE);
  g_assert_nonnull(strstr(err.message, "oblique"));
  g_assert_cmpint(apply(&b, "grow-label",
                        "{\"item\": \"tissue\", \"seeds_mm\": [[500, 2, -10]], \"label\": 7}",
                        &err),
                  ==, PLA_ERR_EMPTY);
  g_assert_cmpint(apply(&b, "split-label",
                        "{\"item\": \"tissue\", \"label\": 7, \"seeds_mm\": [[5, 2, -10]], "
                        "\"to\": [1, 2]}",
                        &err),
                  ==, PLA_ERR_USAGE);
  bench_clear(&b);
}

static double
meta_number(Bench *b, const char *name, const char *key)
{
  g_autoptr(PlaContent) content = load(b, name);
  return json_object_get_double_member(content->meta, key);
}

static void
test_measure(void)
{
  Bench b;
  PlaError err;
  bench_init(&b);
  ok(apply(&b, "measure", "{\"name\": \"d\", \"points_mm\": [[1, 1, 1], [4, 5, 13]]}", &err), &err);
  g_assert_cmpfloat(meta_number(&b, "d", "length_mm"), ==, 13.0);
  ok(apply(
         &b, "measure",
         "{\"name\": \"a\", \"what\": \"angle\", \"points_mm\": [[1, 0, 0], [0, 0, 0], [0, 2, 0]]}",
         &err),
     &err);
  g_assert_cmpfloat_with_epsilon(meta_number(&b, "a", "angle_deg"), 90.0, 1e-12);
  ok(apply(
         &b, "measure",
         "{\"name\": \"p\", \"what\": \"path\", \"points_mm\": [[0,0,0],[3,4,0],[3,4,2],[3,4,0]]}",
         &err),
     &err);
  g_assert_cmpfloat(meta_number(&b, "p", "length_mm"), ==, 9.0);
  /* replaced, not doubled */
  ok(apply(&b, "measure", "{\"name\": \"d\", \"points_mm\": [[0, 0, 0], [0, 0, 2]]}", &err), &err);
  g_assert_cmpint(b.state.n, ==, 4);
  g_assert_cmpfloat(meta_number(&b, "d", "length_mm"), ==, 2.0);
  g_assert_cmpint(
      apply(&b, "measure",
            "{\"name\": \"x\", \"what\": \"angle\", \"points_mm\": [[1,0,0],[1,0,0],[0,2,0]]}",
            &err),
      ==, PLA_ERR_GEOMETRY);
  g_assert_cmpint(apply(&b, "measure", "{\"name\": \"x\", \"points_mm\": [[1,0,0]]}", &err), ==,
                  PLA_ERR_USAGE);
  g_assert_cmpint(apply(&b, "measure",
                        "{\"name\": \"x\", \"what\": \"mood\", \"points_mm\": "
                        "[[1,0,0],[1,0,1]]}",
                        &err),
                  ==, PLA_ERR_USAGE);
  bench_clear(&b);
}

/* volumes: a phantom's label by its voxels, its surface and an open one; what has none is refused
 */
static void
test_measure_volume(void)
{
  Bench b;
  PlaError err;
  PlaAnnotation note;
  bench_init(&b);
  ok(apply(&b, "phantom", "{\"phantom\": \"sphere\", \"spacing_mm\": 2, \"name\": \"ball\"}", &err),
     &err);
  g_autoptr(PlaContent) ball = load(&b, "ball");
  const PlaLabelMap *map = ball->labels;
  g_autofree size_t *counts = g_new(size_t, 65536);
  pla_label_map_count(map, counts);
  const PlaLabel *label = &map->table.label[0];
  g_autofree char *params = g_strdup_printf(
      "{\"name\": \"v\", \"what\": \"volume\", \"item\": \"ball\", \"label\": \"%s\"}",
      label->name);
  ok(apply(&b, "measure", params, &err), &err);
  g_assert_cmpfloat_with_epsilon(meta_number(&b, "v", "volume_mm3"),
                                 8.0 * (double)counts[label->id], 1e-9);
  g_autoptr(PlaContent) measured = load(&b, "v");
  g_assert_true(pla_annotation_read(measured, &note));
  g_assert_cmpint(note.kind, ==, PLA_ANNOTATION_VOLUME);
  g_assert_cmpint(note.n_points, ==, 0);
  g_assert_nonnull(strstr(note.text, "ball"));
  pla_annotation_clear(&note);

  g_autofree char *surface =
      g_strdup_printf("{\"item\": \"ball\", \"labels\": [\"%s\"], \"name\": \"skin\"}",
                      label->name);
  ok(apply(&b, "surface", surface, &err), &err);
  ok(apply(&b, "measure", "{\"name\": \"s\", \"what\": \"volume\", \"item\": \"skin\"}", &err),
     &err);
  const double by_voxels = meta_number(&b, "v", "volume_mm3");
  g_assert_cmpfloat_with_epsilon(meta_number(&b, "s", "volume_mm3"), by_voxels, 0.02 * by_voxels);

  g_assert_cmpint(apply(&b, "measure", "{\"name\": \"x\", \"what\": \"volume\"}", &err), ==,
                  PLA_ERR_USAGE);
  g_assert_cmpint(apply(&b, "measure",
                        "{\"name\": \"x\", \"what\": \"volume\", \"item\": \"ball\"}", &err),
                  ==, PLA_ERR_USAGE);
  g_assert_cmpint(apply(&b, "measure", "{\"name\": \"x\", \"what\": \"volume\", \"item\": \"v\"}",
                        &err),
                  ==, PLA_ERR_USAGE);

  /* a note may be about a place */
  ok(apply(&b, "note", "{\"name\": \"here\", \"text\": \"look\", \"at_mm\": [1, 2, 3]}", &err),
     &err);
  g_autoptr(PlaContent) pinned = load(&b, "here");
  g_assert_true(pla_annotation_read(pinned, &note));
  g_assert_cmpint(note.n_points, ==, 1);
  g_assert_cmpfloat(note.point_mm[2], ==, 3.0);
  g_assert_cmpstr(note.text, ==, "look");
  pla_annotation_clear(&note);
  bench_clear(&b);
}

/* a mesh of labels, one of the label's surface, and that surface repaired */
static void
test_meshes(void)
{
  Bench b;
  PlaError err;
  bench_init(&b);
  ok(apply(&b, "phantom", "{\"phantom\": \"sphere\", \"spacing_mm\": 4, \"name\": \"ball\"}", &err),
     &err);
  ok(apply(&b, "mesh",
           "{\"item\": \"ball\", \"method\": \"tets\", \"cell_mm\": 8, \"name\": \"tets\"}", &err),
     &err);
  ok(apply(&b, "surface", "{\"item\": \"ball\", \"labels\": [1], \"name\": \"skin\"}", &err), &err);
  ok(apply(&b, "repair-surface", "{\"item\": \"skin\"}", &err), &err);
  ok(apply(&b, "mesh",
           "{\"item\": \"skin\", \"method\": \"tets\", \"cell_mm\": 8, \"name\": \"inside\"}",
           &err),
     &err);
  const char *names[] = { "tets", "inside" };
  for (int m = 0; m < 2; m++) {
    PlaMeshSummary s;
    g_autoptr(PlaContent) content = load(&b, names[m]);
    g_assert_cmpint(pla_mesh_summary(content->mesh, &s, &err), ==, PLA_OK);
    g_assert_cmpint(s.inverted, ==, 0);
    g_assert_cmpint(s.components, ==, 1);
    g_assert_cmpfloat(fabs(s.volume_m3 * 1e9 / (4.0 / 3.0 * G_PI * 64000.0) - 1.0), <, 0.03);
    JsonObject *found = json_object_get_object_member(content->meta, "mesh");
    g_assert_cmpstr(json_object_get_string_member(found, "method"), ==, "tets");
  }
  g_assert_cmpint(apply(&b, "mesh", "{\"item\": \"ball\", \"method\": \"clay\", \"cell_mm\": 8}",
                        &err),
                  ==, PLA_ERR_USAGE);
  g_assert_cmpint(
      apply(&b, "mesh",
            "{\"item\": \"ball\", \"method\": \"tets\", \"cell_mm\": 8, \"labels\": [1, [1]]}",
            &err),
      ==, PLA_ERR_USAGE);
  g_assert_cmpint(
      apply(&b, "mesh",
            "{\"item\": \"ball\", \"method\": \"tets\", \"cell_mm\": 8, \"labels\": [[]]}", &err),
      ==, PLA_ERR_USAGE);
  g_assert_cmpint(apply(&b, "repair-surface", "{\"item\": \"tets\"}", &err), ==, PLA_ERR_USAGE);
  bench_clear(&b);
}

static void
test_items(void)
{
  Bench b;
  PlaError err;
  bench_init(&b);
  PlaHash first = b.state.item[0].hash;
  ok(apply(&b, "landmark", "{\"name\": \"nasion\", \"at_mm\": [1, 2, 3]}", &err), &err);
  ok(apply(&b, "note", "{\"name\": \"memo\", \"text\": \"x\"}", &err), &err);
  g_assert_cmpint(apply(&b, "note", "{\"name\": \"nasion\", \"text\": \"x\"}", &err), ==,
                  PLA_ERR_USAGE);
  g_assert_cmpint(apply(&b, "rename", "{\"item\": \"tissue\", \"name\": \"memo\"}", &err), ==,
                  PLA_ERR_USAGE);
  ok(apply(&b, "rename", "{\"item\": \"tissue\", \"name\": \"organ\"}", &err), &err);
  g_assert_null(pla_state_find_name(&b.state, "tissue"));
  ok(apply(&b, "rename", "{\"item\": \"organ\", \"name\": \"tissue\"}", &err), &err);
  /* there and back is the same item */
  g_assert_true(pla_hash_equal(&pla_state_find_name(&b.state, "tissue")->hash, &first));
  ok(apply(&b, "delete", "{\"item\": \"tissue\"}", &err), &err);
  g_assert_cmpint(b.state.n, ==, 2);
  g_assert_cmpint(apply(&b, "delete", "{\"item\": \"tissue\"}", &err), ==, PLA_ERR_USAGE);
  g_assert_cmpint(apply(&b, "snapshot", "{}", &err), ==, PLA_ERR_USAGE);
  g_assert_cmpint(apply(&b, "import", "{}", &err), ==, PLA_ERR_USAGE);
  bench_clear(&b);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/operations/table", test_table);
  g_test_add_func("/operations/brush", test_brush);
  g_test_add_func("/operations/ball-volume", test_ball_volume);
  g_test_add_func("/operations/edit-label", test_edit_label);
  g_test_add_func("/operations/paint", test_paint);
  g_test_add_func("/operations/measure", test_measure);
  g_test_add_func("/operations/measure-volume", test_measure_volume);
  g_test_add_func("/operations/meshes", test_meshes);
  g_test_add_func("/operations/items", test_items);
  return g_test_run();
}
