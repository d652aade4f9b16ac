/* Looks for "converged": false and unsolved frames in the metadata of new items, so that a verb
 * can end with status 1. */
#include "app/cli/command-reached.h"

#include "app/surgery/surgery-body.h"

/* the last solve of a surgery: -1 none, 0 did not converge, 1 did */
static int
last_solve(JsonObject *surgery)
{
  JsonNode *node = surgery ? json_object_get_member(surgery, "found") : NULL;
  JsonArray *found = node && JSON_NODE_HOLDS_ARRAY(node) ? json_node_get_array(node) : NULL;
  int last = -1;
  for (guint i = 0; found && i < json_array_get_length(found); i++) {
    JsonNode *one = json_array_get_element(found, i);
    if (JSON_NODE_HOLDS_OBJECT(one) &&
        json_object_has_member(json_node_get_object(one), "converged"))
      last = json_object_get_boolean_member(json_node_get_object(one), "converged");
  }
  return last;
}

PlaStatus
pla_content_check_reached(const char *name, PlaContent *content, PlaError *err)
{
  if (pla_body_get_surgery(content))
    return last_solve(pla_body_get_surgery(content)) == 0
               ? pla_fail(err, PLA_ERR_CONVERGENCE,
                          "'%s' is in the case, but its last solve did not converge; solve again, "
                          "or reduce the load",
                          name)
               : PLA_OK;
  /* results tell of themselves in an object of their own: "simulated", "shapes", ... */
  g_autoptr(GList) keys = json_object_get_members(content->meta);
  for (GList *l = keys; l; l = l->next) {
    JsonNode *node = json_object_get_member(content->meta, l->data);
    JsonObject *found = JSON_NODE_HOLDS_OBJECT(node) ? json_node_get_object(node) : NULL;
    if (found && !json_object_get_boolean_member_with_default(found, "converged", TRUE))
      return pla_fail(
          err, PLA_ERR_CONVERGENCE,
          "'%s' is in the case, but is not in equilibrium: %s; reduce the load, or refine the mesh",
          name,
          json_object_get_string_member_with_default(found, "reason",
                                                     "the solve did not converge"));
    const gint64 unsolved =
        found ? json_object_get_int_member_with_default(found, "unsolved", 0) : 0;
    if (unsolved > 0)
      return pla_fail(err, PLA_ERR_CONVERGENCE,
                      "'%s' is in the case, but %" G_GINT64_FORMAT
                      " of its frames did not reach equilibrium; change the controls more slowly",
                      name, unsolved);
  }
  return PLA_OK;
}

GArray *
pla_session_get_hashes(PlaSession *session)
{
  GArray *hashes = g_array_new(FALSE, FALSE, sizeof(PlaHash));
  const PlaState *state = pla_session_get_state(session);
  for (int i = 0; i < state->n; i++)
    g_array_append_val(hashes, state->item[i].hash);
  return hashes;
}

PlaStatus
pla_session_check_reached(PlaSession *session, const GArray *before, PlaProgress *progress,
                          PlaError *err)
{
  const PlaState *state = pla_session_get_state(session);
  PlaStatus st = PLA_OK;
  for (int i = 0; i < state->n && st == PLA_OK; i++) {
    bool old = false;
    for (guint k = 0; k < before->len && !old; k++)
      old = pla_hash_equal(&g_array_index(before, PlaHash, k), &state->item[i].hash);
    if (old)
      continue;
    g_autoptr(PlaContent) content = NULL;
    st = pla_session_load(session, state->item[i].item, progress, &content, err);
    if (st == PLA_OK)
      st = pla_content_check_reached(state->item[i].name, content, err);
  }
  return st;
}
