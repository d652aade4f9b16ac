/* Trained models as named arrays: a header of integers, names, statistics, and for each layer its
 * weights (32-bit floats, or 8-bit integers with a scale a row), biases and normalisation. */
#include "app/speech/speech-net.h"

#include "anatomy/base/memory.h"
#include "app/speech/speech-resource.h"
#include "io/store/arrays-file.h"
#include "sim/speech/speech-smooth.h"

#include <gio/gio.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KIND "speech-net"
#define BUILT_IN "/org/platysma/speech/built-in.net"

enum { MAX_ARRAYS = 12 + 7 * (PLA_NET_MAX_LAYERS + 1) };

typedef struct {
  PlaFileArray array[MAX_ARRAYS];
  int n;
  GPtrArray *made; /* owned data */
} List;

static void
put(List *list, const char *name, PlaDType dtype, uint64_t rows, uint64_t cols, const void *data)
{
  PlaFileArray *a = &list->array[list->n++];
  *a = (PlaFileArray){
    .dtype = dtype, .n_dims = cols > 0 ? 2 : 1, .dim = { rows, cols }, .data = data
  };
  g_strlcpy(a->name, name, sizeof a->name);
}

/* weights of one layer; a row's scale is its largest weight / 127 */
static void
put_weights(List *list, int l, const float *w, int n_out, int n_in, int bits)
{
  char name[PLA_ARRAYS_NAME];
  g_snprintf(name, sizeof name, "layer%d.weight", l);
  if (bits == 32) {
    put(list, name, PLA_F32, (uint64_t)n_out, (uint64_t)n_in, w);
    return;
  }
  int8_t *small = g_malloc((size_t)n_out * (size_t)n_in);
  float *scale = g_new(float, n_out);
  g_ptr_array_add(list->made, small);
  g_ptr_array_add(list->made, scale);
  for (int o = 0; o < n_out; o++) {
    const float *row = w + (size_t)o * (size_t)n_in;
    float largest = 0.0f;
    for (int i = 0; i < n_in; i++)
      largest = fmaxf(largest, fabsf(row[i]));
    scale[o] = largest / 127.0f;
    for (int i = 0; i < n_in; i++)
      small[(size_t)o * (size_t)n_in + (size_t)i] =
          (int8_t)(scale[o] > 0.0f ? lrintf(row[i] / scale[o]) : 0);
  }
  put(list, name, PLA_I8, (uint64_t)n_out, (uint64_t)n_in, small);
  g_snprintf(name, sizeof name, "layer%d.scale", l);
  put(list, name, PLA_F32, (uint64_t)n_out, 0, scale);
}

static const char *const vector_names[] = { "bias", "gamma", "beta" };

PlaStatus
pla_speech_net_write(const char *path, const PlaSpeechModel *model, int bits, PlaError *err)
{
  const PlaNet *net = model->net;
  const PlaNetShape *s = &net->shape;
  List list = { .made = g_ptr_array_new_with_free_func(g_free) };
  const int32_t head[6] = { s->n_in,  s->n_hidden,           s->n_units,
                            s->n_out, model->context.causal, model->smooth };
  int32_t offset[PLA_CONTEXT_MAX];
  g_autoptr(GString) names = g_string_new(NULL);
  char name[PLA_ARRAYS_NAME];
  for (int i = 0; i < model->context.n; i++)
    offset[i] = model->context.offset[i];
  for (int c = 0; c < s->n_out; c++)
    g_string_append_printf(names, "%s\n", model->name[c]);
  put(&list, "head", PLA_I32, G_N_ELEMENTS(head), 0, head);
  put(&list, "context", PLA_I32, (uint64_t)model->context.n, 0, offset);
  put(&list, "channels", PLA_U8, names->len, 0, names->str);
  const char *provenance = model->provenance ? model->provenance : "";
  put(&list, "provenance", PLA_U8, strlen(provenance), 0, provenance);
  put(&list, "in_mean", PLA_F32, (uint64_t)s->n_in, 0, net->in_mean);
  put(&list, "in_std", PLA_F32, (uint64_t)s->n_in, 0, net->in_std);
  put(&list, "out_mean", PLA_F32, (uint64_t)s->n_out, 0, net->out_mean);
  put(&list, "out_std", PLA_F32, (uint64_t)s->n_out, 0, net->out_std);
  put(&list, "mean", PLA_F32, (uint64_t)s->n_hidden, (uint64_t)s->n_units, net->mean);
  put(&list, "var", PLA_F32, (uint64_t)s->n_hidden, (uint64_t)s->n_units, net->var);
  for (int l = 0; l <= s->n_hidden; l++) {
    const int n_in = pla_net_layer_inputs(s, l), n_out = l < s->n_hidden ? s->n_units : s->n_out;
    const float *w = net->param + pla_net_layer_at(s, l);
    put_weights(&list, l, w, n_out, n_in, bits);
    for (int k = 0; k < (l < s->n_hidden ? 3 : 1); k++) {
      g_snprintf(name, sizeof name, "layer%d.%s", l, vector_names[k]);
      put(&list, name, PLA_F32, (uint64_t)n_out, 0, w + (size_t)n_out * (size_t)(n_in + k));
    }
  }
  PlaStatus st = pla_arrays_write(path, KIND, list.array, list.n, err);
  g_ptr_array_unref(list.made);
  return st;
}

/* ---- reading */

static PlaStatus
copy_floats(const PlaArrays *file, const char *name, float *to, size_t n, PlaError *err)
{
  const void *data = NULL;
  PlaStatus st = pla_arrays_get(file, name, PLA_F32, n, &data, err);
  if (st == PLA_OK)
    memcpy(to, data, n * sizeof *to);
  return st;
}

static PlaStatus
read_layer(const PlaArrays *file, PlaNet *net, int l, PlaError *err)
{
  const PlaNetShape *s = &net->shape;
  const size_t n_in = (size_t)pla_net_layer_inputs(s, l);
  const size_t n_out = (size_t)(l < s->n_hidden ? s->n_units : s->n_out);
  float *w = net->param + pla_net_layer_at(s, l);
  char name[PLA_ARRAYS_NAME];
  g_snprintf(name, sizeof name, "layer%d.weight", l);
  const PlaFileArray *weight = pla_arrays_find(file, name);
  PlaStatus st;
  if (weight && weight->dtype == PLA_I8) {
    const void *small = NULL, *scale = NULL;
    st = pla_arrays_get(file, name, PLA_I8, n_out * n_in, &small, err);
    g_snprintf(name, sizeof name, "layer%d.scale", l);
    if (st == PLA_OK)
      st = pla_arrays_get(file, name, PLA_F32, n_out, &scale, err);
    for (size_t i = 0; st == PLA_OK && i < n_out * n_in; i++)
      w[i] = (float)((const int8_t *)small)[i] * ((const float *)scale)[i / n_in];
  } else {
    st = copy_floats(file, name, w, n_out * n_in, err);
  }
  for (size_t k = 0; st == PLA_OK && k < (l < s->n_hidden ? 3 : 1); k++) {
    g_snprintf(name, sizeof name, "layer%d.%s", l, vector_names[k]);
    st = copy_floats(file, name, w + n_out * (n_in + k), n_out, err);
  }
  return st;
}

/* a text of the file; NULL where there is none */
static char *
text_dup(const PlaArrays *file, const char *name)
{
  const PlaFileArray *a = pla_arrays_find(file, name);
  if (!a || a->dtype != PLA_U8)
    return NULL;
  g_autofree char *text = g_strndup(a->data, pla_file_array_count(a));
  return g_utf8_make_valid(text, -1);
}

static PlaStatus
read_channels(const PlaArrays *file, PlaSpeechModel *model, PlaError *err)
{
  g_autofree char *text = text_dup(file, "channels");
  g_auto(GStrv) names = g_strsplit(text ? text : "", "\n", -1);
  const int n = model->net->shape.n_out;
  if ((int)g_strv_length(names) != n + 1)
    return pla_fail(err, PLA_ERR_FORMAT, "the file names %d channels for %d outputs",
                    MAX((int)g_strv_length(names) - 1, 0), n);
  model->name = pla_array_new0((size_t)n, sizeof *model->name);
  for (int c = 0; model->name && c < n; c++) {
    if (names[c][0] == '\0' || strlen(names[c]) > 60)
      return pla_fail(err, PLA_ERR_FORMAT, "channel %d has no usable name", c + 1);
    model->name[c] = pla_strdup(names[c]);
    if (!model->name[c])
      return pla_fail_memory(err, "the model");
  }
  return model->name ? PLA_OK : pla_fail_memory(err, "the model");
}

static PlaStatus
read_head(const PlaArrays *file, PlaSpeechModel *model, PlaError *err)
{
  const void *data = NULL;
  PlaStatus st = pla_arrays_get(file, "head", PLA_I32, 6, &data, err);
  if (st != PLA_OK)
    return st;
  const int32_t *head = data;
  const PlaNetShape shape = { head[0], head[1], head[2], head[3] };
  const PlaFileArray *context = pla_arrays_find(file, "context");
  const size_t n = context ? pla_file_array_count(context) : 0;
  if (!context || context->dtype != PLA_I32 || n < 1 || n > PLA_CONTEXT_MAX)
    return pla_fail(err, PLA_ERR_FORMAT, "the file does not list the input frames of the network");
  model->context.causal = head[4] != 0;
  model->context.n = (int)n;
  for (size_t i = 0; i < n; i++) {
    const int32_t at = ((const int32_t *)context->data)[i];
    model->context.offset[i] = CLAMP(at, -2 * PLA_CONTEXT_REACH, 2 * PLA_CONTEXT_REACH);
  }
  model->smooth = head[5];
  if (!pla_context_check(&model->context) || shape.n_in != (int)n * PLA_N_FEATURES || head[5] < 1 ||
      head[5] > PLA_SMOOTH_MAX || head[5] % 2 == 0)
    return pla_fail(err, PLA_ERR_FORMAT, "the network's inputs do not fit its input frames");
  /* as many weights as the file can hold, before memory is taken for them */
  const PlaFileArray *weight = pla_arrays_find(file, "layer0.weight");
  if (shape.n_units < 1 || shape.n_hidden < 1 || !weight ||
      pla_file_array_count(weight) / (size_t)shape.n_units != (size_t)shape.n_in)
    return pla_fail(err, PLA_ERR_FORMAT, "the network's size does not fit its weights");
  return pla_net_new(&shape, 0, &model->net, err);
}

static PlaStatus
model_from(const PlaArrays *file, PlaSpeechModel **out, PlaError *err)
{
  PlaSpeechModel *model = pla_array_new0(1, sizeof *model);
  if (!model)
    return pla_fail_memory(err, "the model");
  PlaStatus st = read_head(file, model, err);
  PlaNet *net = model->net;
  const struct {
    const char *name;
    float *to;
    int n;
  } vectors[] = {
    { "in_mean", net ? net->in_mean : NULL, net ? net->shape.n_in : 0 },
    { "in_std", net ? net->in_std : NULL, net ? net->shape.n_in : 0 },
    { "out_mean", net ? net->out_mean : NULL, net ? net->shape.n_out : 0 },
    { "out_std", net ? net->out_std : NULL, net ? net->shape.n_out : 0 },
    { "mean", net ? net->mean : NULL, net ? net->shape.n_hidden * net->shape.n_units : 0 },
    { "var", net ? net->var : NULL, net ? net->shape.n_hidden * net->shape.n_units : 0 },
  };
  for (size_t i = 0; st == PLA_OK && i < G_N_ELEMENTS(vectors); i++)
    st = copy_floats(file, vectors[i].name, vectors[i].to, (size_t)vectors[i].n, err);
  for (int l = 0; st == PLA_OK && l <= net->shape.n_hidden; l++)
    st = read_layer(file, net, l, err);
  if (st == PLA_OK)
    st = pla_net_check(net, err);
  if (st == PLA_OK)
    st = read_channels(file, model, err);
  if (st == PLA_OK) {
    g_autofree char *provenance = text_dup(file, "provenance");
    model->provenance = pla_strdup(provenance ? provenance : "");
    *out = model;
  } else {
    pla_speech_model_free(model);
  }
  return st;
}

PlaStatus
pla_speech_net_read(const char *path, PlaSpeechModel **out, PlaError *err)
{
  PlaArrays file;
  *out = NULL;
  PlaStatus st = pla_arrays_read(path, KIND, &file, err);
  if (st != PLA_OK)
    return st;
  st = model_from(&file, out, err);
  if (st != PLA_OK)
    pla_fail_within(err, "%s", path);
  pla_arrays_clear(&file);
  return st;
}

PlaStatus
pla_speech_net_read_memory(const char *name, const void *data, size_t size, PlaSpeechModel **out,
                           PlaError *err)
{
  PlaArrays file;
  *out = NULL;
  PlaStatus st = pla_arrays_read_memory(name, data, size, KIND, &file, err);
  if (st != PLA_OK)
    return st;
  st = model_from(&file, out, err);
  if (st != PLA_OK)
    pla_fail_within(err, "%s", name);
  pla_arrays_clear(&file);
  return st;
}

PlaStatus
pla_speech_net_built_in(PlaSpeechModel **out, PlaError *err)
{
  *out = NULL;
  g_autoptr(GBytes) bytes = g_resource_lookup_data(pla_speech_files_get_resource(), BUILT_IN,
                                                   G_RESOURCE_LOOKUP_FLAGS_NONE, NULL);
  if (!bytes)
    return pla_fail(err, PLA_ERR_UNSUPPORTED,
                    "this Platysma was built without its speech model; give one with --model");
  gsize size;
  const void *data = g_bytes_get_data(bytes, &size);
  return pla_speech_net_read_memory("the built-in speech model", data, size, out, err);
}
