/* Writes seeds that no other program writes: seeds FOLDER FILE...
 *
 * Every FILE that Platysma reads becomes an item of a case in the form of the target "content";
 * so does every item of FILEs that are cases.  A body on the operating table and networks of two
 * units come from here. */
#include "tests/fuzz/fuzz.h"

#include "anatomy/mesh/box-mesh.h"
#include "app/content/content.h"
#include "app/speech/speech-net.h"
#include "app/surgery/surgery-body.h"
#include "io/store/arrays-file.h"
#include "sim/material/presets.h"

#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>

/* @data under the name of its hash in folder/target */
static void
put(const char *folder, const char *target, const void *data, gsize size)
{
  g_autofree char *dir = g_build_filename(folder, target, NULL);
  g_autofree char *sum = g_compute_checksum_for_data(G_CHECKSUM_SHA1, data, size);
  g_autofree char *path = g_build_filename(dir, sum, NULL);
  g_mkdir_with_parents(dir, 0755);
  if (!g_file_set_contents(path, data, (gssize)size, NULL))
    g_error("%s cannot be written", path);
}

/* the file at @path without its checksum, which targets add */
static void
put_arrays(const char *folder, const char *target, const char *path)
{
  g_autofree char *data = NULL;
  gsize size = 0;
  if (!g_file_get_contents(path, &data, &size, NULL) || size < 8)
    g_error("%s cannot be read", path);
  put(folder, target, data, size - 8);
}

static void
put_content(const char *folder, const PlaContent *content)
{
  PlaBundle bundle = { 0 };
  PlaError err = { 0 };
  if (pla_content_to_bundle(content, "item", &bundle, &err) != PLA_OK)
    g_error("%s", err.message);
  g_autofree PlaFileArray *array = g_new0(PlaFileArray, (gsize)bundle.n_arrays + 2);
  array[0] = (PlaFileArray){ "@kind", PLA_U8, 1, { strlen(bundle.kind) }, bundle.kind };
  array[1] = (PlaFileArray){ "@meta", PLA_U8, 1, { strlen(bundle.meta) }, bundle.meta };
  bool fits = true;
  for (int a = 0; a < bundle.n_arrays; a++) {
    const PlaStoreArray *from = &bundle.array[a];
    PlaFileArray *to = &array[a + 2];
    *to = (PlaFileArray){ .dtype = from->dtype, .n_dims = from->n_dims, .data = from->data };
    g_strlcpy(to->name, from->name, sizeof to->name);
    fits = fits && from->n_dims <= PLA_ARRAYS_DIMS;
    for (int d = 0; fits && d < from->n_dims; d++)
      to->dim[d] = from->shape[d];
  }
  const char *path = pla_fuzz_path("item.arrays");
  if (fits && pla_arrays_write(path, "content", array, bundle.n_arrays + 2, &err) == PLA_OK)
    put_arrays(folder, "content", path);
  pla_content_bundle_clear(&bundle);
}

static void
put_case(const char *folder, const char *path)
{
  PlaStore *store = NULL;
  PlaLog log = { 0 };
  PlaError err = { 0 };
  if (pla_store_open(path, &store, &err) != PLA_OK ||
      pla_store_read_log(store, &log, &err) != PLA_OK)
    g_error("%s", err.message);
  for (int i = 0; i < log.n; i++) {
    PlaState state = { 0 };
    if (pla_store_read_state(store, log.row[i].id, &state, &err) != PLA_OK)
      continue;
    for (int k = 0; k < state.n; k++) {
      PlaContent *content = NULL;
      if (pla_content_load(store, &state.item[k].hash, NULL, &content, &err) == PLA_OK)
        put_content(folder, content);
      pla_content_unref(content);
    }
    pla_state_clear(&state);
    put(folder, "operation", log.row[i].parameters, strlen(log.row[i].parameters));
  }
  pla_log_clear(&log);
  pla_store_close(store);
}

static void
put_file(const char *folder, const char *path)
{
  const PlaReadOptions opts = pla_read_options_default();
  PlaItem item;
  PlaContent *content = NULL;
  PlaError err = { 0 };
  for (int as_labels = 0; as_labels < 2; as_labels++) {
    if (pla_item_read(path, &opts, &item, &err) == PLA_OK &&
        pla_content_take_item(&item, as_labels, &content, &err) == PLA_OK)
      put_content(folder, content);
    pla_content_unref(g_steal_pointer(&content));
    pla_item_clear(&item);
  }
}

static void
put_body(const char *folder)
{
  const double lo[3] = { 0, 0, 0 }, hi[3] = { 0.02, 0.02, 0.01 };
  PlaMesh *mesh = NULL;
  PlaSurgery *body = NULL;
  PlaContent *content = NULL;
  PlaError err = { 0 };
  double param[PLA_MAX_CONSTANTS];
  if (pla_box_mesh_new(lo, hi, (int[3]){ 1, 1, 1 }, PLA_BOX_TETS_5, &mesh, &err) != PLA_OK)
    g_error("%s", err.message);
  const PlaPreset *preset = pla_preset_find("skin");
  PlaFemMaterial material = { .density = preset->density };
  material.material = pla_preset_params(preset, PLA_STIFFNESS_TYPICAL, param);
  g_autofree int *which = g_new0(int, (gsize)mesh->n_tets);
  const bool held[8] = { true, true, true, true };
  const char *const names[] = { "skin" };
  g_autoptr(JsonNode) described =
      json_from_string("{\"labels\": \"labels\", \"lattice_mm\": 5, \"steps\": [], \"found\": []}",
                       NULL);
  if (material.material->prepare(param, material.constants, &err) != PLA_OK ||
      pla_surgery_new(mesh, &material, 1, which, held, &body, &err) != PLA_OK ||
      pla_surgery_set_tissues(body, names, &err) != PLA_OK ||
      pla_body_to_content(body, json_node_get_object(described), &content, &err) != PLA_OK)
    g_error("%s", err.message);
  put_content(folder, content);
  pla_content_unref(content);
  pla_surgery_free(body);
  pla_mesh_free(mesh);
}

static void
put_net(const char *folder, int n_hidden, int bits)
{
  PlaSpeechModel model = { .context = { .n = 1 }, .smooth = 5 };
  char *names[] = { (char *)(uintptr_t) "TT_x", (char *)(uintptr_t) "TT_y" };
  PlaError err = { 0 };
  const PlaNetShape shape = { PLA_N_FEATURES, n_hidden, 2, 2 };
  const char *path = pla_fuzz_path("a.net");
  if (pla_net_new(&shape, 1, &model.net, &err) != PLA_OK)
    g_error("%s", err.message);
  for (int i = 0; i < PLA_N_FEATURES; i++)
    model.net->in_std[i] = 1.0f;
  model.net->out_std[0] = model.net->out_std[1] = 1.0f;
  model.name = names;
  model.provenance = (char *)(uintptr_t) "nothing";
  if (pla_speech_net_write(path, &model, bits, &err) != PLA_OK)
    g_error("%s", err.message);
  put_arrays(folder, "speech-net", path);
  pla_net_free(model.net);
}

int
main(int argc, char **argv)
{
  if (argc < 2) {
    g_printerr("usage: %s FOLDER FILE...\n", argv[0]);
    return 2;
  }
  put_body(argv[1]);
  for (int n_hidden = 1; n_hidden < 3; n_hidden++) {
    put_net(argv[1], n_hidden, 32);
    put_net(argv[1], n_hidden, 8);
  }
  for (int i = 2; i < argc; i++)
    if (g_str_has_suffix(argv[i], ".platysma"))
      put_case(argv[1], argv[i]);
    else
      put_file(argv[1], argv[i]);
  return 0;
}
