/* Bodies with muscles as inputs of commands. */
#include "app/cli/body-input.h"

#include "app/case/session.h"

#include <string.h>

/* the muscles of a case and the mesh that they are in */
static PlaStatus
contents_from_case(PlaInvocation *inv, const char *path, PlaContent **mesh, PlaContent **muscles,
                   PlaError *err)
{
  g_autoptr(PlaSession) session = NULL;
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
  st = pla_session_load(session, newest->item, NULL, muscles, err);
  if (st == PLA_OK)
    body = pla_state_find_name(state, json_object_get_string_member((*muscles)->meta, "mesh"));
  if (st == PLA_OK && !body)
    st = pla_fail(err, PLA_ERR_USAGE, "%s: the mesh of '%s' is not in the case any more", path,
                  newest->name);
  return st == PLA_OK ? pla_session_load(session, body->item, NULL, mesh, err) : st;
}

/* both of a phantom, or of a case */
static PlaStatus
read_contents(PlaInvocation *inv, const char *path, PlaContent **mesh, PlaContent **muscles,
              PlaError *err)
{
  static const char phantom[] = "phantom:";
  PlaActiveBodyOptions opts = pla_active_body_options_default();
  PlaActiveBody *body = NULL;
  if (!g_str_has_prefix(path, phantom))
    return pla_session_is_case(path)
               ? contents_from_case(inv, path, mesh, muscles, err)
               : pla_fail(err, PLA_ERR_USAGE,
                          "'%s' is neither a case with muscles nor phantom:face, phantom:tongue or "
                          "phantom:arm",
                          path);
  opts.cell_mm = pla_invocation_number(inv, "cell-mm", 0.0);
  PlaStatus st = pla_active_body_from_phantom(path + strlen(phantom), &opts,
                                              pla_invocation_progress(inv), &body, err);
  if (st == PLA_OK)
    st = pla_active_body_to_contents(body, body->name, mesh, muscles, err);
  pla_active_body_free(body);
  return st;
}

PlaStatus
pla_invocation_add_body(PlaInvocation *inv, const char *path, GArray *items, PlaError *err)
{
  g_autoptr(PlaContent) mesh = NULL;
  g_autoptr(PlaContent) muscles = NULL;
  PlaStatus st = read_contents(inv, path, &mesh, &muscles, err);
  if (st != PLA_OK)
    return st;
  PlaWorkItem both[2] = { { json_object_get_string_member(muscles->meta, "mesh"), mesh },
                          { path, muscles } };
  g_array_append_vals(items, both, 2);
  mesh = muscles = NULL; /* theirs now */
  return PLA_OK;
}
