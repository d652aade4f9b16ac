/* Readers above files: JSON texts, scenes, plans, descriptions of muscles, speech networks, cases.
 */
#include "tests/fuzz/fuzz.h"

#include "anatomy/mesh/box-mesh.h"
#include "anatomy/mesher/tets.h"
#include "app/base/json.h"
#include "app/case/case-check.h"
#include "app/content/annotation.h"
#include "app/content/content.h"
#include "app/motion/landmark-table.h"
#include "app/motion/muscles.h"
#include "app/motion/physemes.h"
#include "app/simulate/simulation.h"
#include "app/speech/speech-corpus.h"
#include "app/speech/speech-net.h"
#include "app/surgery/plan.h"
#include "app/surgery/surgery-body.h"
#include "app/verbs/verb.h"
#include "io/store/arrays-file.h"
#include "io/store/store.h"
#include "sim/material/presets.h"

#include <glib.h>
#include <glib/gstdio.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* ---- JSON ---- */

/* what callers do with a value, all of it, whatever it is */
static void
walk(PlaJson json, int depth)
{
  static const char *const known[] = { "name", "a", "b", NULL };
  PlaError err = { 0 };
  PlaJson child;
  double number, vector[3];
  int64_t whole;
  int choice;
  bool yes;
  char *text = NULL;
  pla_json_check_keys(json, known, &err);
  pla_json_number_value(json, &number, &err);
  pla_json_int_value(json, -1000, 1000, &whole, &err);
  pla_json_bool_value(json, &yes, &err);
  if (pla_json_text_value(json, &text, &err) == PLA_OK)
    g_free(text);
  pla_json_vector(json, 3, vector, &err);
  pla_json_choice(json, known, &choice, &err);
  for (int i = 0; i < pla_json_length(json); i++)
    if (pla_json_at(json, i, &child, &err) == PLA_OK)
      walk(child, depth + 1);
  if (JSON_NODE_HOLDS_OBJECT(json.node)) {
    g_autoptr(GList) keys = json_object_get_members(json_node_get_object(json.node));
    for (GList *k = keys; k; k = k->next) {
      if (!pla_json_get(json, k->data, &child))
        pla_fuzz_fault("the member '%s' is gone", (const char *)k->data);
      walk(child, depth + 1);
    }
  }
  pla_json_get(json, "no such key", &child);
  pla_json_at(json, 1000000, &child, &err);
  if (!g_utf8_validate(err.message, -1, NULL))
    pla_fuzz_fault("the sentence is no UTF-8: %s", err.message);
}

/* the one place that knows how a text becomes JSON; false: it was refused */
static bool
load_json(const uint8_t *data, size_t size, PlaJsonFile **file, PlaJson *root)
{
  PlaError err = { 0 };
  g_autofree char *text = g_strndup((const char *)data, size);
  PlaStatus st = pla_json_text_load(text, "the text", file, root, &err);
  pla_fuzz_check(st, &err);
  return st == PLA_OK;
}

/* any value: written in every style, read back the same */
static void
check_round_trip(JsonNode *node)
{
  g_autofree char *sorted = NULL, *pretty = NULL;
  PlaError err = { 0 };
  PlaStatus st = pla_json_write(node, PLA_JSON_SORTED, &sorted, &err);
  if (st == PLA_OK)
    st = pla_json_write(node, PLA_JSON_PRETTY, &pretty, &err);
  if (st != PLA_OK)
    pla_fuzz_fault("what was read is not written: %s", err.message);
  g_autoptr(JsonNode) copy = pla_json_dup(node);
  const char *const texts[] = { sorted, pretty };
  for (int i = 0; i < 2; i++) {
    g_autoptr(JsonNode) back = NULL;
    g_autofree char *again = NULL;
    if (pla_json_parse(texts[i], strlen(texts[i]), "ours", &back, &err) != PLA_OK)
      pla_fuzz_fault("our own JSON is refused: %s", err.message);
    if (pla_json_write(i ? copy : back, PLA_JSON_SORTED, &again, &err) != PLA_OK ||
        strcmp(again, sorted) != 0)
      pla_fuzz_fault("another text comes back: %s", sorted);
  }
  g_autofree char *nothing = pla_json_repair(sorted);
  /* only texts that hold JSON of older versions are */
  if (nothing && !strstr(sorted, "\"{"))
    pla_fuzz_fault("our own JSON is mended: %s", sorted);
}

static void
run_json(const uint8_t *data, size_t size)
{
  PlaJsonFile *file = NULL;
  PlaJson root;
  PlaError err = { 0 };
  g_autoptr(JsonNode) node = NULL;
  g_autoptr(JsonObject) object = NULL;
  PlaStatus st = pla_json_parse((const char *)data, size, "the text", &node, &err);
  pla_fuzz_check(st, &err);
  if (st == PLA_OK)
    check_round_trip(node);
  /* as older versions wrote it into cases */
  g_autofree char *text = g_strndup((const char *)data, size);
  st = pla_json_parse_stored(text, "the text", &object, &err);
  pla_fuzz_check(st, &err);
  g_autofree char *mended = pla_json_repair(text);
  g_autofree char *twice = mended ? pla_json_repair(mended) : NULL;
  if (twice)
    pla_fuzz_fault("a mended text is mended again: %s", mended);
  if (load_json(data, size, &file, &root)) {
    walk(root, 0);
    pla_json_file_free(file);
  }
  /* from a file, which may hold anything */
  st = pla_json_file_load(pla_fuzz_write("a.json", data, size), &file, &root, &err);
  pla_fuzz_check(st, &err);
  if (st == PLA_OK)
    pla_json_file_free(file);
}

/* ---- scenes, plans, muscles ---- */

static PlaMesh *
make_box(const int n[3])
{
  const double lo[3] = { 0, 0, 0 }, hi[3] = { 0.04, 0.04, 0.02 };
  PlaMesh *mesh = NULL;
  PlaError err = { 0 };
  if (pla_box_mesh_new(lo, hi, n, PLA_BOX_TETS_5, &mesh, &err) != PLA_OK)
    pla_fuzz_fault("%s", err.message);
  return mesh;
}

/* what scenes may name: a body and a surface, beside them */
static void
write_scene_files(void)
{
  static bool done;
  if (done)
    return;
  done = true;
  PlaWriteOptions opts = pla_write_options_default();
  PlaError err = { 0 };
  PlaItem item = { .kind = PLA_KIND_MESH, .mesh = make_box((int[3]){ 2, 2, 2 }) };
  int *region = pla_mesh_add_field(item.mesh, PLA_MESH_REGION, PLA_ON_CELLS, PLA_I32, 1);
  for (int t = 0; t < item.mesh->n_tets; t++)
    region[t] = t % 2;
  if (pla_item_write(pla_fuzz_path("body.vtu"), &item, &opts, &err) != PLA_OK)
    pla_fuzz_fault("%s", err.message);
  pla_item_clear(&item);
  static const char tile[] = "v 0 0 25\nv 40 0 25\nv 0 40 25\nf 1 2 3\n";
  pla_fuzz_write("tile.obj", tile, strlen(tile));
}

static void
run_scene(const uint8_t *data, size_t size)
{
  PlaSimulation *scene = NULL;
  PlaError err = { 0 };
  write_scene_files();
  const char *path = pla_fuzz_write("scene.json", data, size);
  PlaStatus st = pla_simulation_load(path, NULL, &scene, &err);
  pla_fuzz_check(st, &err);
  if (st == PLA_OK) {
    const int n = 3 * 27;
    g_autofree double *target = g_new(double, n);
    pla_simulation_is_dynamic(scene);
    pla_simulation_conditions(scene, 0.5, target);
    pla_fuzz_look_at_bytes(target, (size_t)n * sizeof *target);
  }
  pla_simulation_free(scene);
  /* the same for a mesh of a case; a description that names a file is refused there */
  scene = NULL;
  static PlaMesh *mesh;
  if (!mesh)
    mesh = make_box((int[3]){ 2, 2, 2 });
  g_autofree char *text = g_strndup((const char *)data, size);
  st = pla_simulation_new(mesh, text, NULL, &scene, &err);
  pla_fuzz_check(st, &err);
  pla_simulation_free(scene);
}

/* a slab of skin over fat, held from below */
static PlaSurgery *
make_body(void)
{
  const int n[3] = { 2, 2, 1 }; /* coarse: a solve takes seconds under sanitizers */
  g_autofree bool *held = g_new0(bool, 3 * 3 * 2);
  PlaMesh *mesh = make_box(n);
  g_autofree int *material = g_new0(int, (gsize)mesh->n_tets);
  PlaFemMaterial materials[2];
  PlaSurgery *body = NULL;
  PlaError err = { 0 };
  static const char *const tissue[] = { "fat", "skin" };
  for (int m = 0; m < 2; m++) {
    double param[PLA_MAX_CONSTANTS];
    const PlaPreset *preset = pla_preset_find(tissue[m]);
    materials[m] = (PlaFemMaterial){ .density = preset->density };
    materials[m].material = pla_preset_params(preset, PLA_STIFFNESS_TYPICAL, param);
    if (materials[m].material->prepare(param, materials[m].constants, &err) != PLA_OK)
      pla_fuzz_fault("%s", err.message);
  }
  for (int v = 0; v < 9; v++)
    held[v] = true;
  for (int t = 0; t < mesh->n_tets; t++)
    material[t] = t >= mesh->n_tets / 2;
  if (pla_surgery_new(mesh, materials, 2, material, held, &body, &err) != PLA_OK ||
      pla_surgery_set_tissues(body, tissue, &err) != PLA_OK)
    pla_fuzz_fault("%s", err.message);
  pla_mesh_free(mesh);
  return body;
}

/* solves that would take long are cancelled after some reports of progress */
static PlaProgress *watched;

static void
cancel_soon(const char *phase, double fraction, void *data)
{
  int *left = data;
  if (--*left == 0)
    pla_progress_cancel(watched);
}

static void
run_plan(const uint8_t *data, size_t size)
{
  enum { MOST_STEPS = 6 };
  static PlaSurgery *untouched;
  PlaJsonFile *file = NULL;
  PlaJson root, operations, one;
  PlaSurgery *body = NULL;
  PlaError err = { 0 };
  if (!untouched)
    untouched = make_body();
  if (!load_json(data, size, &file, &root))
    return;
  PlaStatus st = PLA_OK;
  if (pla_json_get(root, "operations", &operations))
    st = pla_surgery_dup(untouched, &body, &err);
  for (int i = 0; body && st == PLA_OK && i < MIN(pla_json_length(operations), MOST_STEPS); i++) {
    PlaPlanStep step = { 0 };
    st = pla_json_at(operations, i, &one, &err);
    int left = 3;
    PlaProgress progress;
    pla_progress_init(&progress, cancel_soon, &left);
    watched = &progress;
    if (st == PLA_OK)
      st = pla_plan_step_run(body, one, &progress, &step, &err);
    pla_plan_step_clear(&step);
  }
  pla_fuzz_check(st, &err);
  pla_surgery_free(body);
  pla_json_file_free(file);
}

/* a bar of muscle between two bones */
static PlaLabelMap *
make_labels(void)
{
  PlaVolume *vol = NULL;
  PlaLabelTable table = { 0 };
  PlaLabelMap *map = NULL;
  PlaError err = { 0 };
  static const char *const name[] = { "left", "bar", "right" };
  if (pla_volume_new((int[4]){ 12, 6, 6, 1 }, PLA_U8, &vol, &err) != PLA_OK)
    pla_fuzz_fault("%s", err.message);
  memset(vol->affine_mm, 0, sizeof vol->affine_mm);
  for (int d = 0; d < 3; d++)
    vol->affine_mm[5 * d] = 2.0;
  for (int v = 0; v < 12 * 6 * 6; v++)
    ((uint8_t *)vol->voxels)[v] = (uint8_t)(1 + v % 12 / 4);
  for (int i = 0; i < 3; i++)
    pla_label_table_set(&table, i + 1, name[i], NULL, &err);
  if (pla_label_map_take(vol, &table, &map, &err) != PLA_OK)
    pla_fuzz_fault("%s", err.message);
  pla_label_table_clear(&table);
  return map;
}

/* "open...": a triangle is missing; "tets...": no surface at all; else a closed one */
static PlaStatus
load_surface(const char *name, void *data, PlaMesh **out, PlaError *err)
{
  static const double corner[12] = { 0, 0, 0, 0.01, 0, 0, 0, 0.01, 0, 0, 0, 0.01 };
  static const int side[12] = { 0, 2, 1, 0, 1, 3, 1, 2, 3, 0, 3, 2 };
  const double lo[3] = { 0, 0, 0 }, hi[3] = { 0.01, 0.01, 0.01 };
  if (g_str_has_prefix(name, "tets"))
    return pla_box_mesh_new(lo, hi, (int[3]){ 1, 1, 1 }, PLA_BOX_TETS_5, out, err);
  const int n_tris = g_str_has_prefix(name, "open") ? 3 : 4;
  PlaStatus st = pla_mesh_new(4, n_tris, 0, 0, out, err);
  if (st == PLA_OK) {
    memcpy((*out)->pos, corner, sizeof corner);
    memcpy((*out)->tri, side, 3 * (size_t)n_tris * sizeof *side);
  }
  return st;
}

/* level sets take seconds under sanitizers, and are no part of reading */
static void
cancel_at_once(const char *phase, double fraction, void *data)
{
  pla_progress_cancel(data);
}

/* fibres from a mesh: on cells, on vertices, and from one that has none or others */
static void
give_vectors(PlaMuscleModel *model)
{
  static const struct {
    const char *name;
    PlaFieldPlace place;
    PlaDType dtype;
    int width;
  } fields[] = { { "fibre", PLA_ON_CELLS, PLA_F64, 3 },
                 { "fibre", PLA_ON_VERTS, PLA_F32, 3 },
                 { "fibre", PLA_ON_VERTS, PLA_F32, 2 },
                 { "other", PLA_ON_CELLS, PLA_F64, 3 } };
  const size_t f = pla_fuzz_choice() % G_N_ELEMENTS(fields);
  const double lo[3] = { 0, 0, 0 }, hi[3] = { 0.01, 0.01, 0.01 };
  PlaMesh *mesh = NULL;
  PlaError err = { 0 };
  PlaStatus st = pla_box_mesh_new(lo, hi, (int[3]){ 1, 1, 1 }, PLA_BOX_TETS_5, &mesh, &err);
  pla_fuzz_check(st, &err);
  void *value = st == PLA_OK ? pla_mesh_add_field(mesh, fields[f].name, fields[f].place,
                                                  fields[f].dtype, fields[f].width)
                             : NULL;
  if (value) {
    const PlaField *field = pla_mesh_find_field(mesh, fields[f].name, fields[f].place);
    const size_t n = pla_field_n_tuples(mesh, field) * (size_t)fields[f].width;
    for (size_t i = 0; i < n; i++) {
      if (fields[f].dtype == PLA_F64)
        ((double *)value)[i] = (double)(i % 3);
      else
        ((float *)value)[i] = (float)(i % 3);
    }
    st = pla_muscle_model_set_vectors(model, mesh, &err);
    pla_fuzz_check(st, &err);
  }
  pla_mesh_free(mesh);
}

static void
run_muscles(const uint8_t *data, size_t size)
{
  static PlaLabelMap *labels;
  PlaJsonFile *file = NULL;
  PlaJson root;
  PlaMuscleList list = { 0 };
  PlaMuscleModel *model = NULL;
  PlaError err = { 0 };
  if (!labels)
    labels = make_labels();
  if (!load_json(data, size, &file, &root))
    return;
  PlaStatus st = pla_muscle_list_from_json(root, &list, &err);
  pla_fuzz_check(st, &err);
  if (st == PLA_OK) {
    g_autoptr(JsonNode) node = pla_muscle_list_to_json(&list);
    PlaMuscleList again = { 0 };
    st = pla_muscle_list_from_json((PlaJson){ .node = node }, &again, &err);
    pla_fuzz_check(st, &err);
    if (st != PLA_OK && !pla_fuzz_is_troubled())
      pla_fuzz_fault("what was written is refused: %s", err.message);
    if (st == PLA_OK && again.n != list.n)
      pla_fuzz_fault("%d muscles become %d", list.n, again.n);
    pla_muscle_list_clear(&again);
    pla_muscle_list_clear(&list);
  }
  PlaProgress progress;
  pla_progress_init(&progress, cancel_at_once, &progress);
  st = pla_muscle_model_from_labels(labels, root, load_surface, NULL, &progress, &model, &err);
  pla_fuzz_check(st, &err);
  pla_muscle_model_free(g_steal_pointer(&model));
  /* without labels only surfaces are left, which are quick */
  st = pla_muscle_model_from_labels(NULL, root, load_surface, NULL, NULL, &model, &err);
  pla_fuzz_check(st, &err);
  if (st == PLA_OK)
    give_vectors(model);
  pla_muscle_model_free(g_steal_pointer(&model));
  /* nor is there a folder to load them from: descriptions in cases */
  st = pla_muscle_model_from_labels(NULL, root, NULL, NULL, NULL, &model, &err);
  pla_fuzz_check(st, &err);
  pla_muscle_model_free(model);
  pla_json_file_free(file);
}

/* ---- descriptions that name files ---- */

/* written, they are read as they were; as markers of a recording too */
static void
check_landmarks(const PlaLandmarks *marks)
{
  PlaLandmarks again = { 0 };
  PlaTake *take = NULL;
  PlaError err = { 0 };
  const char *path = pla_fuzz_path("again.csv");
  PlaStatus st = pla_landmarks_write(path, marks, &err);
  if (st == PLA_OK)
    st = pla_landmarks_read(path, &again, &err);
  pla_fuzz_check(st, &err);
  if (st != PLA_OK && !pla_fuzz_is_troubled())
    pla_fuzz_fault("what was written is refused: %s", err.message);
  if (st == PLA_OK && again.n != marks->n)
    pla_fuzz_fault("%d landmarks become %d", marks->n, again.n);
  for (int i = 0; st == PLA_OK && i < marks->n; i++)
    if (strcmp(again.name[i], marks->name[i]) != 0 ||
        memcmp(again.pos_mm + 3 * i, marks->pos_mm + 3 * i, 3 * sizeof(double)) != 0)
      pla_fuzz_fault("the landmark '%s' comes back as '%s', or elsewhere", marks->name[i],
                     again.name[i]);
  pla_landmarks_clear(&again);
  st = pla_take_new(1, marks->n, &take, &err);
  for (int i = 0; st == PLA_OK && i < marks->n; i++) {
    free(take->name[i]);
    take->name[i] = strdup(marks->name[i]);
    for (int d = 0; d < 3; d++)
      take->pos[3 * i + d] = marks->pos_mm[3 * i + d] / 1000.0;
    if (!take->name[i])
      st = pla_fail_memory(&err, "the markers");
  }
  if (st == PLA_OK)
    st = pla_landmarks_from_take(take, (int)(pla_fuzz_choice() % 2), &again, &err);
  pla_fuzz_check(st, &err);
  pla_landmarks_clear(&again);
  pla_take_free(take);
}

static void
run_landmarks(const uint8_t *data, size_t size)
{
  PlaLandmarks marks = { 0 };
  PlaError err = { 0 };
  PlaJsonFile *file = NULL;
  PlaJson root, list;
  PlaStatus st = pla_landmarks_read(pla_fuzz_write("marks.csv", data, size), &marks, &err);
  pla_fuzz_check(st, &err);
  for (int i = 0; st == PLA_OK && i < marks.n; i++)
    if (!g_utf8_validate(marks.name[i], -1, NULL))
      pla_fuzz_fault("a landmark's name is no UTF-8: %s", marks.name[i]);
  if (st == PLA_OK)
    check_landmarks(&marks);
  pla_landmarks_clear(&marks);
  if (size > 0 && data[0] == '{' && load_json(data, size, &file, &root)) {
    if (pla_json_get(root, "landmarks", &list)) {
      st = pla_landmarks_from_json(list, &marks, &err);
      pla_fuzz_check(st, &err);
      pla_landmarks_clear(&marks);
    }
    pla_json_file_free(file);
  }
}

/* says two phonemes with an expression, which moves the library's controls or others */
static void
speak(const PlaPhysemeLibrary *library)
{
  static const char *const expressions[] = { "take.csv", "head.csv", "gap.csv", "none.csv" };
  static const char gap[] = "time_s,zyg\n0,1\n0.1,\n0.2,1\n";
  static const char none[] = "time_s,something\n0,1\n0.1,1\n0.2,1\n";
  const PlaReadOptions read = pla_read_options_default();
  PlaPhones phones = { 0 };
  PlaItem expression = { 0 };
  PlaLine *line = NULL;
  PlaTrack *track = NULL;
  PlaError err = { 0 };
  pla_fuzz_write("gap.csv", gap, strlen(gap));
  pla_fuzz_write("none.csv", none, strlen(none));
  PlaStatus st = pla_phones_add(&phones, 0.0, 0.1, "a", &err);
  if (st == PLA_OK)
    st = pla_phones_add(&phones, 0.1, 0.3, "b", &err);
  if (st == PLA_OK)
    st = pla_line_new(library->bank, &phones, &line, &err);
  const size_t e = pla_fuzz_choice() % (G_N_ELEMENTS(expressions) + 1);
  if (st == PLA_OK && e < G_N_ELEMENTS(expressions))
    st = pla_item_read(pla_fuzz_path(expressions[e]), &read, &expression, &err);
  const PlaPhysemeOptions opts = { .expression = expression.track, .strength = 0.5 };
  if (st == PLA_OK)
    st = pla_physeme_library_speak(library, line, &opts, &track, &err);
  pla_fuzz_check(st, &err);
  pla_track_free(track);
  pla_line_free(line);
  pla_item_clear(&expression);
  pla_phones_clear(&phones);
}

static void
run_physemes(const uint8_t *data, size_t size)
{
  static const char track[] = "time,zyg,jaw_open\n0,0,0\n0.1,1,2\n0.2,0.5,1\n0.3,0,0\n";
  static const char head[] = "time_s,zyg,jaw_open,head rx,head ry,head rz,head tx,head ty,head tz\n"
                             "0,0,0,1,0,0,5,0,0\n0.1,1,2,0,2,0,0,5,0\n0.2,0,1,0,0,0,0,0,5\n";
  static const char other[] = "time_s,zyg\n0,0\n0.1,1\n0.2,0.5\n";
  static const char phones[] = "0 0.1 a\n0.1 0.2 b\n0.2 0.3 a\n";
  PlaPhysemeLibrary library;
  PlaNotes notes = { 0 };
  PlaError err = { 0 };
  static bool written;
  if (!written) {
    pla_fuzz_write("take.csv", track, strlen(track));
    pla_fuzz_write("head.csv", head, strlen(head));
    pla_fuzz_write("other.csv", other, strlen(other));
    pla_fuzz_write("take.lab", phones, strlen(phones));
    written = true;
  }
  const char *path = pla_fuzz_write("library.json", data, size);
  PlaStatus st = pla_physeme_library_load(path, &library, &notes, NULL, &err);
  pla_fuzz_check(st, &err);
  if (st == PLA_OK)
    speak(&library);
  pla_physeme_library_clear(&library);
  /* the file as one that has weights: the library that is built with them can be read */
  g_autofree char *weights = g_strdup(pla_fuzz_path("library.json"));
  g_autofree char *built = g_strdup(pla_fuzz_path("built.json"));
  g_autofree char *take = g_strdup(pla_fuzz_path("take.csv"));
  g_autofree char *labels = g_strdup(pla_fuzz_path("take.lab"));
  const char *const files[] = { take, labels };
  st = pla_physeme_library_build(built, files, 1, weights, &library, &notes, NULL, &err);
  pla_fuzz_check(st, &err);
  if (st == PLA_OK) {
    pla_physeme_library_clear(&library);
    st = pla_physeme_library_load(built, &library, &notes, NULL, &err);
    if (st != PLA_OK && !pla_fuzz_is_troubled())
      pla_fuzz_fault("what was written is refused: %s", err.message);
  }
  pla_physeme_library_clear(&library);
  pla_notes_clear(&notes);
}

/* what corpora may name: a tenth of a second of sound, and sensors with a gap in them */
static void
write_corpus_files(void)
{
  static bool done;
  static int16_t samples[1600];
  static const char *const sensor[] = { "TR", "TD", "TB", "TT", "LI", "UL", "LL", "N1", "N2" };
  PlaWriteOptions opts = pla_write_options_default();
  PlaError err = { 0 };
  if (done)
    return;
  done = true;
  for (size_t i = 0; i < G_N_ELEMENTS(samples); i++)
    samples[i] = (int16_t)(i * 37 % 2000);
  PlaAudio audio = { G_N_ELEMENTS(samples), 1, 16000.0, PLA_I16, 16, samples };
  const PlaItem item = { .kind = PLA_KIND_AUDIO, .audio = &audio };
  if (pla_item_write(pla_fuzz_path("a.wav"), &item, &opts, &err) != PLA_OK)
    pla_fuzz_fault("%s", err.message);
  g_autoptr(GString) csv = g_string_new("time_s"), late = g_string_new("time_s,TT_x,TT_y\n");
  for (size_t s = 0; s < G_N_ELEMENTS(sensor); s++)
    g_string_append_printf(csv, ",%s_x [mm],%s_y [mm]", sensor[s], sensor[s]);
  for (int t = 0; t < 12; t++) {
    g_string_append_printf(csv, "\n0.%02d", t);
    g_string_append_printf(late, "%d.%02d,1,%d\n", 100, t, t);
    for (size_t s = 0; s < G_N_ELEMENTS(sensor); s++) {
      if (s == 3 && t % 6 == 2)
        g_string_append(csv, ",,");
      else
        g_string_append_printf(csv, ",%d.%d,%d", (int)s, t, t % 3 + (int)s);
    }
  }
  g_string_append_c(csv, '\n');
  pla_fuzz_write("a.csv", csv->str, csv->len);
  pla_fuzz_write("late.csv", late->str, late->len);
  static const char empty[] = "time_s,TT_x,TT_y,N1_x,N1_y,N2_x,N2_y\n0,1,2,,,,\n0.01,1,3,,,,\n";
  pla_fuzz_write("headless.csv", empty, strlen(empty));
}

static void
run_corpus(const uint8_t *data, size_t size)
{
  PlaSpeechCorpus corpus;
  write_corpus_files();
  PlaNotes notes = { 0 };
  PlaError err = { 0 };
  const char *path = pla_fuzz_write("corpus.json", data, size);
  PlaStatus st = pla_speech_corpus_load(path, true, 7, &corpus, &notes, NULL, &err);
  pla_fuzz_check(st, &err);
  pla_speech_corpus_clear(&corpus);
  pla_notes_clear(&notes);
}

/* ---- speech networks ---- */

static void
run_speech_net(const uint8_t *data, size_t size)
{
  PlaSpeechModel *model = NULL;
  PlaError err = { 0 };
  g_autofree uint8_t *whole = g_malloc(size + 8);
  const XXH64_hash_t hash = XXH64(data, size, 0);
  memcpy(whole, data, size);
  memcpy(whole + size, &hash, 8);
  PlaStatus st = pla_speech_net_read(pla_fuzz_write("a.net", whole, size + 8), &model, &err);
  pla_fuzz_check(st, &err);
  if (st == PLA_OK) {
    for (int c = 0; c < model->net->shape.n_out; c++)
      if (!g_utf8_validate(model->name[c], -1, NULL))
        pla_fuzz_fault("a channel's name is no UTF-8");
    pla_fuzz_look_at_bytes(model->net->in_mean, (size_t)model->net->shape.n_in * 4);
    PlaSpeechModel *again = NULL;
    const char *path = pla_fuzz_path("b.net");
    st = pla_speech_net_write(path, model, pla_fuzz_choice() % 2 ? 8 : 32, &err);
    if (st == PLA_OK)
      st = pla_speech_net_read(path, &again, &err);
    pla_fuzz_check(st, &err);
    if (st != PLA_OK && !pla_fuzz_is_troubled())
      pla_fuzz_fault("what was written is refused: %s", err.message);
    pla_speech_model_free(again);
  }
  pla_speech_model_free(model);
}

/* ---- cases ---- */

/* stored again, the same muscles come back */
static void
check_muscle_set(const PlaMuscleSet *set)
{
  PlaContent *content = NULL;
  PlaMuscleSet again = { 0 };
  PlaError err = { 0 };
  PlaStatus st = pla_muscle_set_to_content(set, "mesh", &content, &err);
  if (st == PLA_OK)
    st = pla_muscle_set_from_content(content, &again, &err);
  pla_fuzz_check(st, &err);
  if (st != PLA_OK && !pla_fuzz_is_troubled())
    pla_fuzz_fault("what was written is refused: %s", err.message);
  if (st == PLA_OK && (again.list.n != set->list.n || again.n_pairs != set->n_pairs ||
                       again.n_lines != set->n_lines || again.n_bones != set->n_bones))
    pla_fuzz_fault("other muscles come back");
  pla_muscle_set_clear(&again);
  pla_content_unref(content);
}

/* what an import makes of @content's data, which it takes */
static void
take_content(PlaContent *content)
{
  PlaItem item = { .kind = PLA_KIND_PHONES };
  PlaContent *taken = NULL;
  PlaError err = { 0 };
  if (!content->labels && pla_content_borrow_item(content, &item, &err) == PLA_OK) {
    content->volume = NULL;
    content->mesh = NULL;
    content->take = NULL;
    content->track = NULL;
    content->audio = NULL;
  }
  PlaStatus st = pla_content_take_item(&item, pla_fuzz_choice() % 2, &taken, &err);
  pla_fuzz_check(st, &err);
  pla_content_unref(taken);
  pla_item_clear(&item);
}

/* put into the case once more, it is the same */
static void
check_content(PlaStore *store, const PlaContent *content)
{
  PlaBundle bundle;
  PlaContent *again = NULL;
  PlaError err = { 0 };
  PlaStatus st = pla_content_to_bundle(content, "again", &bundle, &err);
  if (st == PLA_OK) {
    st = pla_content_check_bundle(store, &bundle, &err);
    if (st == PLA_OK)
      st = pla_store_put(store, &bundle, NULL, &err);
    if (st == PLA_OK)
      st = pla_content_load(store, &bundle.hash, NULL, &again, &err);
    pla_content_bundle_clear(&bundle);
  }
  pla_fuzz_check(st, &err);
  if (st != PLA_OK && !pla_fuzz_is_troubled())
    pla_fuzz_fault("what was read is not written, or refused: %s", err.message);
  if (again) {
    const PlaDifference d = pla_content_compare(content, again);
    g_autofree char *text = pla_difference_text(&d);
    if ((!d.comparable && !content->audio) || d.n_different > 0 || d.meta_differs)
      pla_fuzz_fault("another %s comes back: %s", content->kind, text);
    take_content(again);
    pla_content_unref(again);
  }
}

/* everything that a window or a report would do with an item */
static void
use_content(PlaContent *content)
{
  PlaError err = { 0 };
  PlaItem item = { 0 };
  PlaAnnotation annotation;
  PlaMuscleSet set;
  PlaSurgery *body = NULL;
  pla_content_n_bytes(content);
  PlaStatus st = pla_content_borrow_item(content, &item, &err);
  pla_fuzz_check(st, &err);
  if (st == PLA_OK)
    pla_fuzz_look_at(&item);
  if (pla_annotation_read(content, &annotation)) {
    g_free(pla_annotation_value_text(&annotation));
    pla_annotation_clear(&annotation);
  }
  if (strcmp(content->kind, PLA_ITEM_MUSCLES) == 0 &&
      pla_muscle_set_from_content(content, &set, &err) == PLA_OK) {
    check_muscle_set(&set);
    pla_muscle_set_clear(&set);
  }
  if (strcmp(content->kind, PLA_ITEM_BODY) == 0 &&
      pla_body_from_content(content, &body, &err) == PLA_OK)
    pla_surgery_free(body);
}

/* A small case: a volume with labels, a mesh, a track, a note; two branches and something undone.
 */
static void
make_case(const char *path)
{
  static const char *const kinds[] = { PLA_ITEM_NOTE, PLA_ITEM_TRACK, PLA_ITEM_LANDMARK };
  PlaStore *store = NULL;
  PlaError err = { 0 };
  g_remove(path);
  if (pla_store_create(path, "fuzz", &store, &err) != PLA_OK)
    pla_fuzz_fault("%s", err.message);
  int64_t parent = 0;
  PlaState state = { 0 };
  for (size_t k = 0; k < G_N_ELEMENTS(kinds); k++) {
    const double value[6] = { 1, 2, 3, 4, 5, 6 }, time[2] = { 100, 0 };
    PlaStoreArray arrays[2] = { { .name = (char *)(uintptr_t) "value",
                                  .dtype = PLA_F64,
                                  .n_dims = 2,
                                  .shape = { 2, 3 },
                                  .data = (void *)(uintptr_t)value },
                                { .name = (char *)(uintptr_t) "time",
                                  .dtype = PLA_F64,
                                  .n_dims = 1,
                                  .shape = { 2 },
                                  .data = (void *)(uintptr_t)time } };
    PlaBundle bundle = {
      .kind = (char *)(uintptr_t)kinds[k],
      .name = (char *)(uintptr_t)kinds[k],
      .meta = (char *)(uintptr_t) "{\"names\":[\"a\",\"b\"],\"text\":\"t\",\"units\":[\"\",\"\"]}",
      .n_arrays = 2,
      .array = arrays
    };
    PlaChange change = { .has = true };
    PlaLogRow row = { .parent = parent,
                      .verb = (char *)(uintptr_t) "import",
                      .parameters = (char *)(uintptr_t) "{\"name\":\"a\"}",
                      .inputs = (char *)(uintptr_t) "{}",
                      .program = (char *)(uintptr_t) "fuzz",
                      .kernel = (char *)(uintptr_t) "plain" };
    PlaStatus st = pla_store_begin(store, &err);
    if (st == PLA_OK)
      st = pla_store_put(store, &bundle, NULL, &err);
    change.after = bundle.hash;
    if (st == PLA_OK)
      st = pla_state_set(&state, (int64_t)k + 1, &bundle.hash, bundle.kind, bundle.name, &err);
    change.item = 0;
    row.state = pla_state_hash(&state);
    if (st == PLA_OK)
      st = pla_store_add_operation(store, &row, &change, 1, &err);
    parent = row.id;
    if (st == PLA_OK)
      st = pla_store_set_branch(store, k == 0 ? "side" : "main", parent, parent, &err);
    if (st == PLA_OK)
      st = pla_store_commit(store, &err);
    if (st != PLA_OK)
      pla_fuzz_fault("%s", err.message);
  }
  pla_state_clear(&state);
  pla_store_close(store);
}

/* only rows may be changed, and not forever */
static int
authorize(void *data, int action, const char *a, const char *b, const char *c, const char *d)
{
  const bool rows = action == SQLITE_SELECT || action == SQLITE_READ || action == SQLITE_UPDATE ||
                    action == SQLITE_DELETE || action == SQLITE_INSERT || action == SQLITE_FUNCTION;
  return rows ? SQLITE_OK : SQLITE_DENY;
}

static int
stop(void *data)
{
  return 1;
}

/* The honest case, changed by the input: "S" and SQL, which can make any content whose structure
 * is sound, or runs of six bytes: where (three bytes, of 8), what is added there, for how many
 * bytes, and what else to do with them.  Without a change it must open. */
static const char *
write_damaged_case(const char *name, const uint8_t *data, size_t size)
{
  static char *honest;
  static gsize n_honest;
  if (!honest) {
    const char *path = pla_fuzz_path("honest.platysma");
    make_case(path);
    if (!g_file_get_contents(path, &honest, &n_honest, NULL))
      pla_fuzz_fault("%s cannot be read", path);
  }
  if (size > 0 && data[0] == 'S') {
    g_autofree char *sql = g_strndup((const char *)data + 1, size - 1);
    const char *path = pla_fuzz_write(name, honest, n_honest);
    sqlite3 *db = NULL;
    if (sqlite3_open(path, &db) == SQLITE_OK) {
      sqlite3_exec(db,
                   "PRAGMA synchronous=OFF; PRAGMA journal_mode=MEMORY;"
                   "PRAGMA ignore_check_constraints=ON",
                   NULL, NULL, NULL);
      sqlite3_set_authorizer(db, authorize, NULL);
      sqlite3_limit(db, SQLITE_LIMIT_LENGTH, 1 << 20);
      sqlite3_progress_handler(db, 100000, stop, NULL);
      sqlite3_exec(db, sql, NULL, NULL, NULL);
    }
    sqlite3_close(db);
    return path;
  }
  g_autofree uint8_t *bytes = g_memdup2(honest, n_honest);
  gsize n = n_honest;
  for (size_t i = 0; i + 6 <= size; i += 6) {
    const uint8_t *edit = data + i;
    const gsize at = ((gsize)edit[0] << 16 | (gsize)edit[1] << 8 | edit[2]) % n_honest;
    for (gsize k = at; k < n && k < at + edit[4]; k++)
      bytes[k] = (uint8_t)(edit[5] & 1 ? edit[3] : bytes[k] + edit[3]);
    if (edit[5] == 255) /* cut short */
      n = at;
  }
  return pla_fuzz_write(name, bytes, n);
}

/* A case file: opened, verified, its log and every item of every state read. */
static void
run_case(const uint8_t *data, size_t size)
{
  PlaStore *store = NULL;
  PlaError err = { 0 };
  PlaLog log = { 0 };
  PlaBranches branches = { 0 };
  PlaStoreCheck check = { 0 };
  pla_fuzz_empty("case"); /* no journal of another one */
  const char *path = write_damaged_case("case/a.platysma", data, size);
  pla_store_probe(data, MIN(size, 4096));
  PlaStatus st = pla_store_open(path, &store, &err);
  pla_fuzz_check(st, &err);
  if (st != PLA_OK)
    return;
  if (pla_store_read_branches(store, &branches, &err) == PLA_OK)
    pla_branches_clear(&branches);
  if (pla_store_read_log(store, &log, &err) == PLA_OK)
    for (int i = 0; i < MIN(log.n, 32); i++) {
      PlaState state = { 0 };
      g_free(pla_verb_describe(&log.row[i]));
      if (pla_store_read_state(store, log.row[i].id, &state, &err) != PLA_OK)
        continue;
      for (int k = 0; k < MIN(state.n, 32); k++) {
        PlaContent *content = NULL;
        st = pla_content_load(store, &state.item[k].hash, NULL, &content, &err);
        pla_fuzz_check(st, &err);
        if (st == PLA_OK)
          use_content(content);
        pla_content_unref(content);
      }
      pla_state_clear(&state);
    }
  pla_log_clear(&log);
  int64_t n_mended;
  st = pla_case_mend(store, &n_mended, &err);
  pla_fuzz_check(st, &err);
  st = pla_case_verify(store, NULL, &check, &err);
  pla_fuzz_check(st, &err);
  pla_store_check_clear(&check);
  pla_store_close(store);
}

/* What a damaged case leaves. */
static void
run_recover(const uint8_t *data, size_t size)
{
  PlaStoreSalvage salvage = { 0 };
  PlaError err = { 0 };
  pla_fuzz_empty("recover");
  g_autofree char *path = g_strdup(write_damaged_case("recover/a.platysma", data, size));
  PlaStatus st = pla_case_recover(path, pla_fuzz_path("recover/b.platysma"), NULL, &salvage, &err);
  pla_fuzz_check(st, &err);
  pla_store_salvage_clear(&salvage);
}

/* One item by itself, whose hashes are right: an arrays file (io/store/arrays-file.h) in which
 * "@kind" and "@meta" are texts and all else are arrays of the item. */
static void
run_content(const uint8_t *data, size_t size)
{
  static PlaStore *store;
  PlaArrays arrays;
  PlaError err = { 0 };
  PlaBundle bundle = { 0 };
  PlaContent *content = NULL;
  if (!store && pla_store_create_temporary(&store, &err) != PLA_OK) {
    pla_fuzz_check(err.status, &err);
    return;
  }
  g_autofree uint8_t *whole = g_malloc(size + 8);
  const XXH64_hash_t hash = XXH64(data, size, 0);
  memcpy(whole, data, size);
  memcpy(whole + size, &hash, 8);
  if (pla_arrays_read_memory("the item", whole, size + 8, "content", &arrays, &err) != PLA_OK)
    return;
  const PlaFileArray *kind = pla_arrays_find(&arrays, "@kind");
  const PlaFileArray *meta = pla_arrays_find(&arrays, "@meta");
  g_autofree char *kind_text =
      kind && kind->dtype == PLA_U8 ? g_strndup(kind->data, pla_file_array_count(kind)) : NULL;
  g_autofree char *meta_text =
      meta && meta->dtype == PLA_U8 ? g_strndup(meta->data, pla_file_array_count(meta)) : NULL;
  g_autofree PlaStoreArray *array = g_new0(PlaStoreArray, (gsize)arrays.n);
  bundle = (PlaBundle){ .kind = kind_text ? kind_text : (char *)(uintptr_t) "note",
                        .name = (char *)(uintptr_t) "item",
                        .meta = meta_text ? meta_text : (char *)(uintptr_t) "{}",
                        .array = array };
  for (int i = 0; i < arrays.n; i++) {
    PlaFileArray *a = &arrays.array[i];
    if (a->name[0] == '@')
      continue;
    PlaStoreArray *to = &array[bundle.n_arrays++];
    *to = (PlaStoreArray){
      .name = a->name, .dtype = a->dtype, .n_dims = a->n_dims, .data = (void *)(uintptr_t)a->data
    };
    memcpy(to->shape, a->dim, sizeof a->dim);
  }
  PlaStatus st = pla_store_begin(store, &err);
  if (st == PLA_OK) {
    st = pla_store_put(store, &bundle, NULL, &err);
    if (st == PLA_OK)
      st = pla_content_load(store, &bundle.hash, NULL, &content, &err);
    pla_fuzz_check(st, &err);
    if (st == PLA_OK) {
      use_content(content);
      check_content(store, content);
    }
    pla_content_unref(content);
    pla_store_rollback(store);
  }
  pla_arrays_clear(&arrays);
}

/* parameters as the log and `case apply` give them; the first byte chooses the operation */
static void
run_operation(const uint8_t *data, size_t size)
{
  const PlaVerb *const *all = pla_verbs_get();
  PlaJsonFile *file = NULL;
  PlaJson root;
  JsonObject *checked = NULL;
  PlaError err = { 0 };
  size_t n = 0;
  while (all[n])
    n++;
  if (size < 1)
    return;
  const PlaVerb *op = all[data[0] % n];
  g_autofree char *text = g_strndup((const char *)data + 1, size - 1);
  const PlaLogRow row = { .verb = (char *)(uintptr_t)op->name, .parameters = text };
  g_free(pla_verb_describe(&row));
  if (!load_json(data + 1, size - 1, &file, &root))
    return;
  PlaStatus st = pla_verb_check(op, json_node_get_object(root.node), &checked, &err);
  pla_fuzz_check(st, &err);
  if (st == PLA_OK) {
    if (op->describe)
      g_free(op->describe(checked));
    json_object_unref(checked);
  }
  pla_json_file_free(file);
}

const PlaFuzzTarget pla_fuzz_targets[] = {
  { "case", run_case },
  { "content", run_content },
  { "corpus", run_corpus },
  { "json", run_json },
  { "landmarks", run_landmarks },
  { "muscles", run_muscles },
  { "operation", run_operation },
  { "physemes", run_physemes },
  { "plan", run_plan },
  { "recover", run_recover },
  { "scene", run_scene },
  { "speech-net", run_speech_net },
  { NULL },
};
