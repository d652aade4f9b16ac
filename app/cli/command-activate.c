/* `muscles activate` from file to file: the shapes of all frames as a series, or one of them. */
#include "app/cli/command-activate.h"

#include "app/cli/cli-private.h"
#include "app/cli/mesh-series.h"
#include "app/verbs/verbs.h"

#include <math.h>
#include <string.h>

static PlaStatus
write_frame(void *data, int frame, double time_s, const void *what, PlaError *err)
{
  (void)frame;
  return pla_mesh_series_add(data, what, time_s, err);
}

/* "NAME=VALUE" pairs as [["NAME", VALUE], ...] */
static PlaStatus
read_pairs(PlaInvocation *inv, JsonObject *params, GArray *items, void *data, PlaError *err)
{
  (void)items;
  (void)data;
  g_autoptr(JsonArray) list = json_array_new();
  for (int i = 0; i < pla_invocation_count(inv, "set"); i++) {
    const char *pair = pla_invocation_text(inv, "set", i, ""), *sign = strrchr(pair, '=');
    char *end = NULL;
    const double value = sign ? g_ascii_strtod(sign + 1, &end) : NAN;
    if (!sign || end == sign + 1 || *end)
      return pla_fail(err, PLA_ERR_USAGE, "--set takes NAME=VALUE, not '%s'", pair);
    g_autofree char *name = g_strstrip(g_strndup(pair, (gsize)(sign - pair)));
    JsonArray *one = json_array_new();
    json_array_add_string_element(one, name);
    json_array_add_double_element(one, value);
    json_array_add_array_element(list, one);
  }
  json_object_set_array_member(params, "set", g_steal_pointer(&list));
  /* markers alone need no shapes */
  json_object_set_boolean_member(params, "shape",
                                 pla_invocation_output(inv) || !pla_invocation_has(inv, "markers"));
  return PLA_OK;
}

/* the list of a series, whose frames are written */
static PlaStatus
write_list(PlaInvocation *inv, const PlaWork *work, const char *option, const char *path,
           bool *done, void *data, PlaError *err)
{
  (void)inv;
  (void)work;
  (void)path;
  PlaMeshSeries *series = data;
  *done = !option && series->list;
  return *done ? pla_mesh_series_finish(series, err) : PLA_OK;
}

PlaStatus
pla_run_activate(PlaInvocation *inv, PlaError *err)
{
  const char *output = pla_invocation_output(inv);
  const bool is_series = output && g_str_has_suffix(output, ".pvd");
  PlaMeshSeries series = { 0 };
  const PlaWorkWatch watch = { write_frame, &series };
  if (pla_invocation_n_files(inv) < 2)
    return pla_fail(err, PLA_ERR_USAGE,
                    "name the body: platysma-cli muscles activate phantom:face track.csv -o "
                    "out.pvd");
  if (is_series)
    pla_mesh_series_init(&series, output);
  PlaStatus st = pla_run_verb_with(inv, &pla_verb_activate,
                                   &(PlaVerbRun){ .word = 1,
                                                  .prepare = read_pairs,
                                                  .watch = is_series ? &watch : NULL,
                                                  .write = write_list,
                                                  .data = &series },
                                   err);
  pla_mesh_series_clear(&series);
  return st;
}
