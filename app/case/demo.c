/* Makes the demo case: runs its operations one after the other on a new case. */
#include "app/case/demo.h"

#include "app/base/json.h"

#include <glib/gstdio.h>

static PlaStatus
run(PlaSession *session, const char *verb, const char *params, const char *source,
    PlaProgress *progress, PlaError *err)
{
  g_autoptr(JsonNode) node = pla_json_literal(params);
  PlaRequest request = { .verb = verb,
                         .params = json_node_get_object(node),
                         .source = source,
                         .read = pla_read_options_default() };
  PlaProgressSpan span = pla_progress_push(progress);
  PlaStatus st = pla_session_run(session, &request, progress, NULL, err);
  pla_progress_pop(progress, span);
  return st;
}

PlaStatus
pla_demo_create(const char *path, const char *volume, PlaProgress *progress, PlaSession **out,
                PlaError *err)
{
  PlaSession *session = NULL;
  *out = NULL;
  PlaStatus st =
      pla_session_create(path, volume ? "Demo: head CT" : "Demo: head phantom", &session, err);
  if (st != PLA_OK)
    return st;
  if (volume) {
    pla_progress_phase(progress, "Importing the scan", 0.5);
    st = run(session, "import", "{\"name\": \"head CT\"}", volume, progress, err);
    pla_progress_phase(progress, "Finding skin, bone and airway", 1.0);
    if (st == PLA_OK)
      st = run(session, "segment",
               "{\"item\": \"head CT\", \"name\": \"tissues\", \"preset\": \"ct-head\"}", NULL,
               progress, err);
  } else {
    pla_progress_phase(progress, "Making the phantom", 1.0);
    st = run(session, "phantom", "{\"phantom\": \"head\", \"spacing_mm\": 1, \"name\": \"head\"}",
             NULL, progress, err);
  }
  if (st == PLA_OK) {
    *out = session;
    return PLA_OK;
  }
  /* half a demo is no demo */
  g_object_unref(session);
  g_unlink(path);
  return st;
}
