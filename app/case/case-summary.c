/* What a case is, without opening it as a session: for lists of recent cases. */
#include "app/case/session.h"

#include "io/stream/source.h"

#include <string.h>

PlaStatus
pla_case_summary(const char *path, PlaCaseSummary *out, PlaError *err)
{
  g_autoptr(PlaSession) session = NULL;
  *out = (PlaCaseSummary){ 0 };
  PlaStatus st = pla_session_open(path, &session, err);
  if (st == PLA_OK)
    st = pla_source_size(path, &out->file_bytes, err);
  if (st != PLA_OK)
    return st;
  const PlaState *state = pla_session_get_state(session);
  for (int i = 0; i < state->n; i++) {
    const char *kind = state->item[i].kind;
    int *count = strcmp(kind, PLA_ITEM_VOLUME) == 0   ? &out->n_volumes
                 : strcmp(kind, PLA_ITEM_LABELS) == 0 ? &out->n_labels
                 : pla_item_kind_has_mesh(kind)       ? &out->n_meshes
                                                      : &out->n_other;
    ++*count;
  }
  out->title = g_strdup(pla_session_get_title(session));
  out->n_operations = pla_session_get_log(session)->n;
  out->n_branches = pla_session_get_branches(session)->n;
  return PLA_OK;
}

void
pla_case_summary_clear(PlaCaseSummary *summary)
{
  g_free(summary->title);
  *summary = (PlaCaseSummary){ 0 };
}

bool
pla_session_is_case(const char *path)
{
  uint8_t head[128];
  size_t n = 0;
  return pla_source_head(path, head, sizeof head, &n, NULL) == PLA_OK && pla_store_probe(head, n);
}
