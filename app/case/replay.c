/* Running the log again.
 *
 * Everything goes into a private temporary case: imports are copied there, checked byte for byte,
 * and every other operation is run on what was made there before it, so a difference in one
 * operation shows in those that build on it.  The stored state hashes are the reference. */
#include "app/case/session.h"

#include "anatomy/base/blas.h"
#include "anatomy/base/parallel.h"
#include "app/base/json.h"
#include "platysma-config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  PlaStore *from, *to;
  PlaProgress *progress;
  PlaReplay *report;
  GHashTable *ids; /* operation of the case -> operation of the temporary one (int64_t keys) */
} Replayer;

void
pla_replay_clear(PlaReplay *replay)
{
  pla_notes_clear(&replay->notes);
  *replay = (PlaReplay){ 0 };
}

/* writes the stored result of @row on top of @state */
static PlaStatus
take_stored(Replayer *r, const PlaLogRow *row, int64_t parent, PlaState *state, int64_t *id,
            PlaError *err)
{
  PlaChange *changes = NULL;
  int n = 0;
  PlaStatus st = pla_store_read_changes(r->from, row->id, &changes, &n, err);
  PlaState before = { 0 };
  if (st == PLA_OK)
    st = pla_store_read_state(r->from, row->parent, &before, err);
  for (int c = 0; c < n && st == PLA_OK; c++) {
    if (changes[c].has)
      st = pla_store_copy(r->to, r->from, &changes[c].after, r->progress, err);
    /* the item is known by its name: numbers may run differently in the temporary case */
    const PlaStateItem *was = changes[c].had ? pla_state_find(&before, changes[c].item) : NULL;
    const PlaStateItem *is = was ? pla_state_find_name(state, was->name) : NULL;
    changes[c].item = is ? is->item : 0;
    changes[c].had = is != NULL;
    if (is)
      changes[c].before = is->hash;
  }
  if (st == PLA_OK) {
    PlaLogRow copy = *row;
    copy.parent = parent;
    st = pla_store_add_operation(r->to, &copy, changes, n, err);
    *id = copy.id;
  }
  if (st == PLA_OK)
    st = pla_store_apply(r->to, state, changes, n, false, err);
  pla_state_clear(&before);
  free(changes);
  return st;
}

/* runs @row again on @state */
static PlaStatus
run_again(Replayer *r, const PlaLogRow *row, int64_t parent, PlaState *state, int64_t *id,
          PlaError *err)
{
  g_autoptr(JsonObject) params = NULL;
  PlaStatus st = pla_json_parse_stored(row->parameters, "its parameters", &params, err);
  if (st != PLA_OK)
    return st;
  PlaRequest request = { .verb = row->verb, .params = params, .read = pla_read_options_default() };
  PlaWork *work = NULL;
  st = pla_work_run(&request, r->to, state, NULL, NULL, r->progress, &work, err);
  if (st == PLA_OK)
    st = pla_work_write(work, r->to, parent, state, NULL, id, err);
  pla_work_free(work);
  return st;
}

/* says how far the items of the new state are from the stored ones */
static void
describe_difference(Replayer *r, const PlaLogRow *row, const PlaState *state)
{
  PlaState stored = { 0 };
  if (pla_store_read_state(r->from, row->id, &stored, NULL) != PLA_OK)
    return;
  for (int i = 0; i < stored.n; i++) {
    const PlaStateItem *was = &stored.item[i], *is = pla_state_find_name(state, was->name);
    if (is && pla_hash_equal(&is->hash, &was->hash))
      continue;
    g_autoptr(PlaContent) a = NULL;
    g_autoptr(PlaContent) b = NULL;
    g_autofree char *text = NULL;
    if (!is) {
      text = g_strdup("it was not made");
    } else if (pla_content_load(r->from, &was->hash, r->progress, &a, NULL) == PLA_OK &&
               pla_content_load(r->to, &is->hash, r->progress, &b, NULL) == PLA_OK) {
      PlaDifference d = pla_content_compare(a, b);
      text = pla_difference_text(&d);
      if (d.in_mm && !(d.largest <= r->report->largest_mm))
        r->report->largest_mm = d.largest;
    } else {
      text = g_strdup("it cannot be read");
    }
    pla_notes_add(&r->report->notes, "operation %lld (%s), %s '%s': %s", (long long)row->id,
                  row->verb, was->kind, was->name, text);
  }
  for (int i = 0; i < state->n; i++)
    if (!pla_state_find_name(&stored, state->item[i].name))
      pla_notes_add(&r->report->notes, "operation %lld (%s): '%s' was not made before",
                    (long long)row->id, row->verb, state->item[i].name);
  pla_state_clear(&stored);
}

typedef PlaStatus (*Step)(Replayer *r, const PlaLogRow *row, int64_t parent, PlaState *state,
                          int64_t *id, PlaError *err);

static PlaStatus
in_transaction(Step step, Replayer *r, const PlaLogRow *row, int64_t parent, PlaState *state,
               int64_t *id, PlaError *err)
{
  PlaStatus st = pla_store_begin(r->to, err);
  if (st != PLA_OK)
    return st;
  st = step(r, row, parent, state, id, err);
  if (st == PLA_OK)
    return pla_store_commit(r->to, err);
  pla_store_rollback(r->to);
  return st;
}

static PlaStatus
replay_row(Replayer *r, const PlaLogRow *row, PlaError *err)
{
  int64_t parent = 0, id = 0;
  PlaState state = { 0 };
  PlaError why = { 0 };
  if (row->parent) {
    const int64_t *known = g_hash_table_lookup(r->ids, &row->parent);
    if (!known)
      return pla_fail(err, PLA_ERR_FORMAT, "operation %lld has no parent in the log",
                      (long long)row->id);
    parent = *known;
  }
  const PlaVerb *op = pla_verb_find(row->verb);
  bool again = op && op->run && !op->from_store, broke = false;
  PlaStatus st = pla_store_read_state(r->to, parent, &state, err);
  if (st == PLA_OK && again) {
    st = in_transaction(run_again, r, row, parent, &state, &id, &why);
    broke = st != PLA_OK && st != PLA_ERR_CANCELLED;
    if (st == PLA_ERR_CANCELLED)
      pla_fail_cancelled(err);
  }
  if (broke)
    pla_notes_add(&r->report->notes, "operation %lld (%s) cannot be run again: %s",
                  (long long)row->id, row->verb, why.message);
  /* what it made before stands for an operation that fails now, so that the rest can be run */
  if (broke || (st == PLA_OK && !again))
    st = in_transaction(take_stored, r, row, parent, &state, &id, err);

  if (st == PLA_OK) {
    bool same_program =
        strcmp(row->program, PLA_VERSION) == 0 && strcmp(row->kernel, pla_kernels_text()) == 0;
    PlaHash is = pla_state_hash(&state);
    bool equal = !broke && pla_hash_equal(&is, &row->state);
    int *count = equal          ? &r->report->n_equal
                 : same_program ? &r->report->n_failed
                                : &r->report->n_differ;
    ++*count;
    r->report->n_operations++;
    if (!equal && !broke)
      describe_difference(r, row, &state);
    int64_t *pair = g_new(int64_t, 2);
    pair[0] = row->id;
    pair[1] = id;
    g_hash_table_insert(r->ids, pair, pair + 1);
  }
  pla_state_clear(&state);
  return st;
}

PlaStatus
pla_session_replay(PlaSession *self, PlaProgress *progress, PlaReplay *out, PlaError *err)
{
  *out = (PlaReplay){ 0 };
  Replayer r = { .from = pla_session_get_store(self), .progress = progress, .report = out };
  const PlaLog *log = pla_session_get_log(self);
  PlaStatus st = pla_store_create_temporary(&r.to, err);
  r.ids = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
  for (int i = 0; i < log->n && st == PLA_OK; i++) {
    if (!pla_progress_phase(progress, "Running the log again", (i + 1.0) / log->n)) {
      st = pla_fail_cancelled(err);
      break;
    }
    PlaProgressSpan span = pla_progress_push(progress);
    st = replay_row(&r, &log->row[i], err);
    pla_progress_pop(progress, span);
  }
  g_hash_table_unref(r.ids);
  pla_store_close(r.to);
  if (st != PLA_OK)
    pla_replay_clear(out);
  return st;
}
