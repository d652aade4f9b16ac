/* Inputs that `fit` and `muscles activate` share. */
#include "app/cli/body-input.h"

#include "app/case/session.h"
#include "io/formats/format.h"

#include <string.h>

static PlaStatus
body_from_case(PlaInvocation *inv, const char *path, const PlaActiveBodyOptions *opts,
               PlaActiveBody **out, PlaError *err)
{
  g_autoptr(PlaSession) session = NULL;
  g_autoptr(PlaContent) muscles = NULL;
  g_autoptr(PlaContent) mesh = NULL;
  const char *wanted = pla_invocation_text(inv, "muscles", 0, NULL);
  const PlaStateItem *newest = NULL, *body = NULL;
  PlaStatus st = pla_session_open(path, &session, err);
  if (st != PLA_OK)
    return st;
  const PlaState *state = pla_session_get_state(session);
  for (int i = 0; i < state->n; i++)
    if (strcmp(state->item[i].kind, PLA_ITEM_MUSCLES) == 0 &&
        (!wanted || strcmp(state->item[i].name, wanted) == 0))
      newest = &state->item[i];
  if (!newest)
    return pla_fail(err, PLA_ERR_USAGE,
                    "%s has no muscles%s%s; the operation 'active-body' or 'muscles' "
                    "makes some",
                    path, wanted ? " called " : "", wanted ? wanted : "");
  st = pla_session_load(session, newest->item, NULL, &muscles, err);
  if (st == PLA_OK)
    body = pla_state_find_name(state, json_object_get_string_member(muscles->meta, "mesh"));
  if (st == PLA_OK && !body)
    st = pla_fail(err, PLA_ERR_USAGE, "%s: the mesh of '%s' is not in the case any more", path,
                  newest->name);
  if (st == PLA_OK)
    st = pla_session_load(session, body->item, NULL, &mesh, err);
  if (st == PLA_OK)
    st = pla_active_body_from_contents(newest->name, mesh, muscles, opts, out, err);
  return st;
}

PlaStatus
pla_invocation_body(PlaInvocation *inv, const char *path, PlaActiveBody **out, PlaError *err)
{
  static const char phantom[] = "phantom:";
  PlaActiveBodyOptions opts = pla_active_body_options_default();
  opts.cell_mm = pla_invocation_number(inv, "cell-mm", 0.0);
  opts.young_pa = pla_invocation_number(inv, "young-pa", 0.0);
  opts.poisson = pla_invocation_number(inv, "poisson", 0.0);
  opts.strength = pla_invocation_number(inv, "strength", 0.0);
  if (g_str_has_prefix(path, phantom))
    return pla_active_body_from_phantom(path + strlen(phantom), &opts, pla_invocation_progress(inv),
                                        out, err);
  if (!pla_session_is_case(path))
    return pla_fail(err, PLA_ERR_USAGE,
                    "'%s' is neither a case with muscles nor phantom:face, phantom:tongue or "
                    "phantom:arm",
                    path);
  return body_from_case(inv, path, &opts, out, err);
}

/* reads a file that must be of @kind */
static PlaStatus
read_kind(PlaInvocation *inv, const char *path, PlaKind kind, PlaItem *item, PlaError *err)
{
  PlaReadOptions opts = pla_read_options_default();
  opts.progress = pla_invocation_progress(inv);
  PlaStatus st = pla_item_read(path, &opts, item, err);
  if (st == PLA_OK && item->kind != kind)
    st = pla_fail(err, PLA_ERR_USAGE, "%s holds %s; %s are needed here", path,
                  pla_kind_name(item->kind), kind == PLA_KIND_TAKE ? "markers" : "activations");
  for (int i = 0; st == PLA_OK && i < item->notes.n; i++)
    pla_say(inv, "%s: %s", path, item->notes.text[i]);
  return st;
}

PlaStatus
pla_invocation_take(PlaInvocation *inv, const char *path, PlaTake **out, PlaError *err)
{
  PlaItem item = { 0 };
  PlaStatus st = read_kind(inv, path, PLA_KIND_TAKE, &item, err);
  if (st == PLA_OK)
    *out = g_steal_pointer(&item.take);
  pla_item_clear(&item);
  return st;
}

PlaStatus
pla_invocation_activation(PlaInvocation *inv, const char *path, const PlaActiveModel *model,
                          PlaActivation *out, PlaError *err)
{
  PlaItem item = { 0 };
  PlaStatus st = read_kind(inv, path, PLA_KIND_TRACK, &item, err);
  if (st == PLA_OK) {
    st = pla_activation_from_track(model, item.track, out, err);
    if (st != PLA_OK)
      pla_fail_within(err, "%s", path);
  }
  pla_item_clear(&item);
  return st;
}

PlaStatus
pla_invocation_write_activation(PlaInvocation *inv, const char *path, const PlaActiveModel *model,
                                const PlaActivation *track, PlaError *err)
{
  PlaWriteOptions opts = pla_write_options_default();
  PlaItem item = { .kind = PLA_KIND_TRACK };
  PlaStatus st = pla_activation_to_track(track, model, &item.track, err);
  if (st == PLA_OK)
    st = pla_item_write(path, &item, &opts, err);
  pla_item_clear(&item);
  return st;
}
