/* `case`: case files from the command line. */
#include "anatomy/base/parallel.h"
#include "app/base/json.h"
#include "app/case/case-check.h"
#include "app/case/case-table.h"
#include "app/case/session.h"
#include "app/cli/cli-private.h"
#include "app/cli/command-reached.h"
#include "app/content/files.h"
#include "app/surgery/plan-compare.h"
#include "io/stream/output.h"
#include "io/stream/source.h"
#include "platysma-config.h"

#include <math.h>
#include <string.h>

/* ---- what every sub-verb prints ------------------------------------------------------------ */

/* "operations" and "verified": true or false after a full check, null where none was made */
static void
put_result(PlaInvocation *inv, int64_t operations, const bool *verified)
{
  JsonBuilder *json = pla_invocation_json(inv);
  pla_json_int(json, "operations", operations);
  json_builder_set_member_name(json, "verified");
  if (verified)
    json_builder_add_boolean_value(json, *verified);
  else
    json_builder_add_null_value(json);
}

static void
put_texts(PlaInvocation *inv, const char *key, const PlaNotes *notes)
{
  JsonBuilder *json = pla_invocation_json(inv);
  json_builder_set_member_name(json, key);
  json_builder_begin_array(json);
  for (int i = 0; i < notes->n; i++) {
    g_autofree char *valid = g_utf8_make_valid(notes->text[i], -1);
    json_builder_add_string_value(json, valid);
    pla_say(inv, "  %s", valid);
  }
  json_builder_end_array(json);
}

static PlaStatus
open_case(PlaInvocation *inv, PlaSession **out, PlaError *err)
{
  PlaStatus st = pla_session_open(pla_invocation_file(inv, 1), out, err);
  if (st == PLA_OK && pla_session_get_read_only_reason(*out))
    pla_say(inv, "note: %s", pla_session_get_read_only_reason(*out));
  return st;
}

static PlaStatus
end(PlaInvocation *inv, PlaSession *session, PlaStatus st)
{
  if (st == PLA_OK)
    put_result(inv, pla_session_get_log(session)->n, NULL);
  g_clear_object(&session);
  return st;
}

/* ---- sub-verbs ------------------------------------------------------------------------------ */

static PlaStatus
run_new(PlaInvocation *inv, PlaError *err)
{
  PlaSession *session = NULL;
  PlaStatus st = pla_session_create(pla_invocation_file(inv, 1),
                                    pla_invocation_text(inv, "title", 0, ""), &session, err);
  if (st == PLA_OK)
    pla_say(inv, "made %s", pla_invocation_file(inv, 1));
  return end(inv, session, st);
}

static PlaStatus
run_import(PlaInvocation *inv, PlaError *err)
{
  PlaSession *session = NULL;
  const char *name = pla_invocation_text(inv, "name", 0, NULL);
  int n = pla_invocation_n_files(inv) - 2;
  if (name && n > 1)
    return pla_fail(err, PLA_ERR_USAGE, "--name can name one file, and %d are given", n);
  PlaStatus st = open_case(inv, &session, err);
  JsonBuilder *json = pla_invocation_json(inv);
  json_builder_set_member_name(json, "items");
  json_builder_begin_array(json);
  for (int i = 0; i < n && st == PLA_OK; i++) {
    PlaProgress *progress = pla_invocation_progress(inv);
    g_autoptr(JsonObject) params = json_object_new();
    if (name)
      json_object_set_string_member(params, "name", name);
    json_object_set_string_member(params, "as", pla_invocation_text(inv, "as", 0, "auto"));
    PlaRequest request = { .verb = "import",
                           .params = params,
                           .source = pla_invocation_file(inv, i + 2),
                           .read = pla_read_options_default() };
    request.read.series = pla_invocation_int(inv, "series", -1);
    pla_progress_phase(progress, "Importing", (i + 1.0) / n);
    PlaProgressSpan span = pla_progress_push(progress);
    st = pla_session_run(session, &request, progress, NULL, err);
    pla_progress_pop(progress, span);
    if (st == PLA_OK) { /* a new item has the highest number */
      const PlaState *state = pla_session_get_state(session);
      const PlaStateItem *item = &state->item[state->n - 1];
      json_builder_add_string_value(json, item->name);
      pla_say(inv, "imported %s '%s'", item->kind, item->name);
    }
  }
  json_builder_end_array(json);
  return end(inv, session, st);
}

static void
list_branches(PlaInvocation *inv, PlaSession *session)
{
  JsonBuilder *json = pla_invocation_json(inv);
  const PlaBranches *branches = pla_session_get_branches(session);
  json_builder_set_member_name(json, "branches");
  json_builder_begin_array(json);
  for (int b = 0; b < branches->n; b++) {
    const PlaBranch *branch = &branches->branch[b];
    bool current = b == branches->current;
    json_builder_begin_object(json);
    pla_json_text(json, "name", branch->name);
    pla_json_int(json, "head", branch->head);
    pla_json_int(json, "tip", branch->tip);
    pla_json_bool(json, "current", current);
    json_builder_end_object(json);
    pla_say(inv, "%c branch '%s' at operation %lld%s", current ? '*' : ' ', branch->name,
            (long long)branch->head,
            branch->tip != branch->head ? ", with undone ones after it" : "");
  }
  json_builder_end_array(json);
}

static PlaStatus
run_list(PlaInvocation *inv, PlaError *err)
{
  PlaSession *session = NULL;
  PlaStatus st = open_case(inv, &session, err);
  if (st != PLA_OK)
    return st;
  JsonBuilder *json = pla_invocation_json(inv);
  const PlaState *state = pla_session_get_state(session);
  pla_json_text(json, "title", pla_session_get_title(session));
  pla_json_text(json, "read_only", pla_session_get_read_only_reason(session));
  pla_say(inv, "%s: %s", pla_invocation_file(inv, 1), pla_session_get_title(session));
  json_builder_set_member_name(json, "items");
  json_builder_begin_array(json);
  for (int i = 0; i < state->n; i++) {
    const PlaStateItem *item = &state->item[i];
    char hash[33];
    json_builder_begin_object(json);
    pla_json_text(json, "name", item->name);
    pla_json_text(json, "kind", item->kind);
    pla_json_text(json, "hash", pla_hash_text(&item->hash, hash));
    json_builder_end_object(json);
    pla_say(inv, "  %-12s %s", item->kind, item->name);
  }
  json_builder_end_array(json);
  list_branches(inv, session);
  pla_say(inv, "%d operations in the log", pla_session_get_log(session)->n);
  return end(inv, session, st);
}

static PlaStatus
run_log(PlaInvocation *inv, PlaError *err)
{
  PlaSession *session = NULL;
  PlaStatus st = open_case(inv, &session, err);
  if (st != PLA_OK)
    return st;
  JsonBuilder *json = pla_invocation_json(inv);
  const PlaLog *log = pla_session_get_log(session);
  json_builder_set_member_name(json, "log");
  json_builder_begin_array(json);
  for (int i = 0; i < log->n; i++) {
    const PlaLogRow *row = &log->row[i];
    char hash[33];
    g_autoptr(GDateTime) time = g_date_time_new_from_unix_local(row->time_ms / 1000);
    g_autofree char *when = time ? g_date_time_format(time, "%Y-%m-%d %H:%M:%S") : g_strdup("?");
    JsonObject *params = NULL;
    pla_json_parse_stored(row->parameters, "the parameters", &params, NULL);
    json_builder_begin_object(json);
    pla_json_int(json, "id", row->id);
    pla_json_int(json, "parent", row->parent);
    pla_json_text(json, "verb", row->verb);
    json_builder_set_member_name(json, "parameters");
    json_builder_add_value(json, params ? json_node_init_object(json_node_alloc(), params)
                                        : json_node_new(JSON_NODE_NULL));
    g_clear_pointer(&params, json_object_unref);
    pla_json_text(json, "state", pla_hash_text(&row->state, hash));
    pla_json_text(json, "program", row->program);
    pla_json_text(json, "kernel", row->kernel);
    pla_json_text(json, "time", when);
    pla_json_number(json, "seconds", (double)row->duration_ms / 1000.0);
    json_builder_end_object(json);
    pla_say(inv, "%4lld <- %-4lld %s  %-11s %s", (long long)row->id, (long long)row->parent, when,
            row->verb, row->parameters);
  }
  json_builder_end_array(json);
  list_branches(inv, session);
  return end(inv, session, st);
}

static PlaStatus
find_item(PlaSession *session, const char *name, const PlaStateItem **out, PlaError *err)
{
  *out = pla_state_find_name(pla_session_get_state(session), name);
  return *out ? PLA_OK
              : pla_fail(err, PLA_ERR_USAGE,
                         "%s has no item '%s'; 'platysma-cli case list' shows them",
                         pla_session_get_path(session), name);
}

static PlaStatus
run_export(PlaInvocation *inv, PlaError *err)
{
  const char *path = pla_invocation_output(inv);
  g_autoptr(PlaSession) session = NULL;
  g_autoptr(PlaContent) content = NULL;
  const PlaStateItem *item = NULL;
  PlaProgress *progress = pla_invocation_progress(inv);
  if (!path)
    return pla_fail(err, PLA_ERR_USAGE, "'case export' needs -o FILE to write to");
  PlaStatus st = open_case(inv, &session, err);
  if (st == PLA_OK)
    st = find_item(session, pla_invocation_file(inv, 2), &item, err);
  if (st == PLA_OK && pla_progress_phase(progress, "Reading the case", 0.5))
    st = pla_session_load(session, item->item, progress, &content, err);
  if (st != PLA_OK)
    return st;
  pla_progress_phase(progress, "Writing", 1.0);
  if (g_str_has_suffix(path, ".json")) { /* notes, landmarks: what is known about any item */
    g_autofree char *text = pla_json_canonical(content->meta);
    g_autofree char *line = g_strconcat(text, "\n", NULL);
    st = pla_output_write(path, line, strlen(line), err);
  } else {
    st = pla_content_write_file(content, path, progress, err);
  }
  if (st == PLA_OK) {
    pla_json_text(pla_invocation_json(inv), "kind", content->kind);
    pla_say(inv, "wrote %s '%s' to %s", content->kind, item->name, path);
    put_result(inv, pla_session_get_log(session)->n, NULL);
  }
  return st;
}

static PlaStatus
run_verify(PlaInvocation *inv, PlaError *err)
{
  PlaStoreCheck check = { 0 };
  PlaStore *store = NULL;
  const char *path = pla_invocation_file(inv, 1);
  PlaStatus st = pla_store_open(path, &store, err);
  if (st == PLA_OK)
    st = pla_case_verify(store, pla_invocation_progress(inv), &check, err);
  if (st == PLA_OK) {
    JsonBuilder *json = pla_invocation_json(inv);
    bool fine = check.problems.n == 0;
    put_result(inv, check.operations, &fine);
    pla_json_int(json, "items", check.items);
    pla_json_int(json, "arrays", check.arrays);
    pla_json_int(json, "chunks", check.chunks);
    pla_json_number(json, "array_bytes", (double)check.array_bytes);
    pla_json_number(json, "stored_bytes", (double)check.stored_bytes);
    if (fine)
      pla_say(inv,
              "%s is intact: %lld operations, %lld versions of items, %.1f MiB of arrays stored "
              "in %.1f MiB",
              path, (long long)check.operations, (long long)check.items,
              (double)check.array_bytes / 1048576.0, (double)check.stored_bytes / 1048576.0);
    put_texts(inv, "problems", &check.problems);
    if (!fine)
      st = pla_fail(err, PLA_ERR_CONVERGENCE,
                    "%s is damaged in %d places, the first being %s; 'platysma-cli case recover' "
                    "saves what can be read",
                    path, check.problems.n, check.problems.text[0]);
  }
  pla_store_check_clear(&check);
  pla_store_close(store);
  return st;
}

static PlaStatus
run_replay(PlaInvocation *inv, PlaError *err)
{
  g_autoptr(PlaSession) session = NULL;
  PlaReplay replay = { 0 };
  /* everything is made again, nothing taken from what earlier runs kept */
  g_setenv("PLATYSMA_CACHE", "none", TRUE);
  PlaStatus st = open_case(inv, &session, err);
  if (st == PLA_OK)
    st = pla_session_replay(session, pla_invocation_progress(inv), &replay, err);
  if (st == PLA_OK) {
    JsonBuilder *json = pla_invocation_json(inv);
    bool equal = replay.n_equal == replay.n_operations;
    put_result(inv, replay.n_operations, &equal);
    pla_json_int(json, "equal", replay.n_equal);
    pla_json_int(json, "differ", replay.n_differ);
    pla_json_int(json, "failed", replay.n_failed);
    pla_json_number(json, "largest_mm", replay.largest_mm);
    pla_say(inv,
            "%d operations run again: %d gave the same result, %d differ because another version "
            "made them, %d failed",
            replay.n_operations, replay.n_equal, replay.n_differ, replay.n_failed);
    put_texts(inv, "differences", &replay.notes);
    if (replay.n_failed > 0)
      st = pla_fail(err, PLA_ERR_CONVERGENCE,
                    "%d of %d operations gave another result although program and kernels are the "
                    "same, the first being: %s",
                    replay.n_failed, replay.n_operations,
                    replay.notes.n ? replay.notes.text[0] : "unknown");
  }
  pla_replay_clear(&replay);
  return st;
}

static PlaStatus
run_recover(PlaInvocation *inv, PlaError *err)
{
  const char *path = pla_invocation_file(inv, 1), *to = pla_invocation_output(inv);
  PlaStoreSalvage salvage = { 0 };
  PlaStore *store = NULL;
  PlaStoreCheck check = { 0 };
  int64_t n_mended;
  uint64_t size;
  if (!to)
    return pla_fail(err, PLA_ERR_USAGE, "'case recover' needs -o NEW to write to");
  PlaStatus st = pla_source_size(path, &size, err);
  if (st == PLA_OK)
    st = pla_case_recover(path, to, pla_invocation_progress(inv), &salvage, err);
  if (st == PLA_OK)
    st = pla_store_open(to, &store, err);
  if (st == PLA_OK)
    st = pla_case_mend(store, &n_mended, err);
  if (st == PLA_OK)
    st = pla_case_verify(store, NULL, &check, err);
  if (st == PLA_OK) {
    JsonBuilder *json = pla_invocation_json(inv);
    bool fine = check.problems.n == 0;
    put_result(inv, salvage.operations_kept, &fine);
    pla_json_int(json, "operations_found", salvage.operations_found);
    pla_json_int(json, "items_found", salvage.items_found);
    pla_json_int(json, "items_kept", salvage.items_kept);
    pla_say(inv, "%lld of %lld operations and %lld of %lld versions of items are in %s",
            (long long)salvage.operations_kept, (long long)salvage.operations_found,
            (long long)salvage.items_kept, (long long)salvage.items_found, to);
    put_texts(inv, "lost", &salvage.lost);
  }
  pla_store_check_clear(&check);
  pla_store_close(store);
  pla_store_salvage_clear(&salvage);
  return st;
}

static PlaStatus
run_table(PlaInvocation *inv, PlaError *err)
{
  PlaSession *session = NULL;
  const char *out = pla_invocation_output(inv);
  int n_rows = 0;
  if (!out)
    return pla_fail(err, PLA_ERR_USAGE, "'case table' needs -o FILE, the .csv file to write");
  PlaStatus st = open_case(inv, &session, err);
  if (st == PLA_OK)
    st = pla_table_write_csv(session, out, pla_invocation_progress(inv), &n_rows, err);
  if (st == PLA_OK) {
    pla_json_int(pla_invocation_json(inv), "rows", n_rows);
    pla_say(inv, "%s: %d numbers", out, n_rows);
  }
  g_clear_object(&session);
  return st;
}

/* plans side by side */
static PlaStatus
run_plans(PlaInvocation *inv, PlaError *err)
{
  PlaSession *session = NULL;
  g_autoptr(GPtrArray) sides = NULL;
  int n_lines;
  const PlaPlanLine *lines = pla_plan_lines_get(&n_lines);
  PlaStatus st = open_case(inv, &session, err);
  if (st == PLA_OK)
    st = pla_plan_sides(pla_session_get_store(session), pla_invocation_progress(inv), &sides, err);
  JsonBuilder *json = pla_invocation_json(inv);
  if (st == PLA_OK) {
    json_builder_set_member_name(json, "plans");
    json_builder_begin_array(json);
  }
  for (guint i = 0; st == PLA_OK && i < sides->len; i++) {
    const PlaPlanSide *side = sides->pdata[i];
    json_builder_begin_object(json);
    pla_json_text(json, "name", side->name);
    pla_json_int(json, "steps", side->n_steps);
    pla_json_bool(json, "settled", side->settled);
    pla_json_int(json, "stitches", side->n_stitches);
    pla_json_number(json, "closure_force_n", side->closure_force_n);
    pla_json_number(json, "max_tension_n", side->max_tension_n);
    pla_json_number(json, "edge_gap_mm", side->edge_gap_mm);
    if (isfinite(side->tip_gap_mm))
      pla_json_number(json, "tip_gap_mm", side->tip_gap_mm);
    pla_json_number(json, "dog_ear_mm", side->dog_ear_mm);
    pla_json_number(json, "stretch_percent", side->stretch_percent);
    pla_json_number(json, "tension_kpa", side->tension_kpa);
    pla_json_number(json, "pressure_kpa", side->pressure_kpa);
    pla_json_number(json, "above_30_percent_cm2", side->above_cm2);
    pla_json_number(json, "removed_ml", side->removed_ml);
    pla_json_number(json, "flap_width_to_length", side->flap_ratio);
    json_builder_end_object(json);
    pla_say(inv, "%s", side->name);
    for (int l = 0; l < n_lines; l++) {
      g_autofree char *text = lines[l].text(side);
      pla_say(inv, "  %-22s %s", lines[l].title, text);
    }
  }
  if (st == PLA_OK)
    json_builder_end_array(json);
  return end(inv, session, st);
}

static PlaStatus
run_compact(PlaInvocation *inv, PlaError *err)
{
  PlaSession *session = NULL;
  uint64_t before = 0, after = 0;
  const char *path = pla_invocation_file(inv, 1);
  PlaStatus st = open_case(inv, &session, err);
  if (st == PLA_OK)
    st = pla_source_size(path, &before, err);
  if (st == PLA_OK)
    st = pla_session_compact(session, pla_invocation_progress(inv), err);
  if (st == PLA_OK)
    st = pla_source_size(path, &after, err);
  if (st == PLA_OK) {
    pla_json_int(pla_invocation_json(inv), "bytes_before", (int64_t)before);
    pla_json_int(pla_invocation_json(inv), "bytes_after", (int64_t)after);
    pla_say(inv, "%.1f MiB became %.1f; earlier states can no longer be reached",
            (double)before / 1048576.0, (double)after / 1048576.0);
  }
  return end(inv, session, st);
}

static PlaStatus
move(PlaInvocation *inv, PlaStatus (*step)(PlaSession *, PlaError *), PlaError *err)
{
  PlaSession *session = NULL;
  PlaStatus st = open_case(inv, &session, err);
  if (st == PLA_OK)
    st = step(session, err);
  if (st == PLA_OK) {
    pla_json_int(pla_invocation_json(inv), "head", pla_session_get_head(session));
    pla_say(inv, "at operation %lld", (long long)pla_session_get_head(session));
  }
  return end(inv, session, st);
}

static PlaStatus
run_undo(PlaInvocation *inv, PlaError *err)
{
  return move(inv, pla_session_undo, err);
}

static PlaStatus
run_redo(PlaInvocation *inv, PlaError *err)
{
  return move(inv, pla_session_redo, err);
}

/* parameters from the word @text: JSON, or @FILE that holds it */
static PlaStatus
parse_params(const char *text, JsonObject **out, PlaError *err)
{
  PlaJsonFile *file;
  PlaJson root;
  PlaError why;
  *out = NULL;
  PlaStatus st = text[0] == '@' ? pla_json_file_load(text + 1, &file, &root, &why)
                                : pla_json_text_load(text, "the parameters", &file, &root, &why);
  if (st != PLA_OK)
    return pla_fail(err, st == PLA_ERR_IO ? st : PLA_ERR_USAGE,
                    "%s; write parameters like '{\"item\": \"ct\"}'", why.message);
  *out = json_node_dup_object(root.node);
  pla_json_file_free(file);
  return PLA_OK;
}

/* what an operation remarked about the items that it made; @before: hashes of those that were there
 */
static void
put_remarks(PlaInvocation *inv, PlaSession *session, const GArray *before)
{
  const PlaState *state = pla_session_get_state(session);
  PlaNotes notes = { 0 };
  for (int i = 0; i < state->n; i++) {
    bool old = false;
    for (guint k = 0; k < before->len && !old; k++)
      old = pla_hash_equal(&g_array_index(before, PlaHash, k), &state->item[i].hash);
    g_autoptr(PlaContent) content = old ? NULL : pla_session_peek(session, &state->item[i].hash);
    JsonNode *node = content ? json_object_get_member(content->meta, "notes") : NULL;
    JsonArray *list = node && JSON_NODE_HOLDS_ARRAY(node) ? json_node_get_array(node) : NULL;
    for (guint k = 0; list && k < json_array_get_length(list); k++)
      pla_notes_add(&notes, "%s", json_array_get_string_element(list, k));
  }
  put_texts(inv, "notes", &notes);
  pla_notes_clear(&notes);
}

static PlaStatus
run_apply(PlaInvocation *inv, PlaError *err)
{
  PlaSession *session = NULL;
  int64_t operation = 0;
  g_autoptr(JsonObject) params = NULL;
  const char *text = pla_invocation_file(inv, 3);
  g_autoptr(GArray) before = g_array_new(FALSE, FALSE, sizeof(PlaHash));
  PlaStatus st = text ? parse_params(text, &params, err) : PLA_OK;
  if (st == PLA_OK)
    st = open_case(inv, &session, err);
  if (st == PLA_OK) {
    const PlaState *state = pla_session_get_state(session);
    for (int i = 0; i < state->n; i++)
      g_array_append_val(before, state->item[i].hash);
    PlaRequest request = { .verb = pla_invocation_file(inv, 2),
                           .params = params,
                           .read = pla_read_options_default() };
    st = pla_session_run(session, &request, pla_invocation_progress(inv), &operation, err);
  }
  if (st == PLA_OK) {
    char hash[33];
    const PlaLogRow *row = pla_log_find(pla_session_get_log(session), operation);
    pla_json_int(pla_invocation_json(inv), "operation", operation);
    pla_json_text(pla_invocation_json(inv), "state", row ? pla_hash_text(&row->state, hash) : NULL);
    pla_say(inv, "operation %lld: %s", (long long)operation, pla_invocation_file(inv, 2));
    put_remarks(inv, session, before);
    if (pla_session_get_shortfall(session))
      st = pla_fail(err, PLA_ERR_CONVERGENCE, "%s", pla_session_get_shortfall(session));
    else
      st = pla_session_check_reached(session, before, pla_invocation_progress(inv), err);
  }
  return end(inv, session, st);
}

static PlaStatus
run_branch(PlaInvocation *inv, PlaError *err)
{
  PlaSession *session = NULL;
  const char *name = pla_invocation_file(inv, 2);
  PlaStatus st = open_case(inv, &session, err);
  if (st == PLA_OK && name) {
    bool known = false;
    const PlaBranches *branches = pla_session_get_branches(session);
    for (int b = 0; b < branches->n; b++)
      known |= strcmp(branches->branch[b].name, name) == 0;
    if (pla_invocation_has(inv, "remove"))
      st = pla_session_remove_branch(session, name, err);
    else if (known && !pla_invocation_has(inv, "at"))
      st = pla_session_switch_branch(session, name, err);
    else
      st = pla_session_add_branch(session, name, pla_invocation_int(inv, "at", -1), err);
  }
  if (st == PLA_OK)
    list_branches(inv, session);
  return end(inv, session, st);
}

static PlaStatus
run_title(PlaInvocation *inv, PlaError *err)
{
  PlaSession *session = NULL;
  PlaStatus st = open_case(inv, &session, err);
  if (st == PLA_OK)
    st = pla_session_set_title(session, pla_invocation_file(inv, 2), err);
  return end(inv, session, st);
}

static PlaStatus
run_operations(PlaInvocation *inv, PlaError *err)
{
  JsonBuilder *json = pla_invocation_json(inv);
  int n = 0;
  json_builder_set_member_name(json, "available");
  json_builder_begin_array(json);
  for (const PlaVerb *const *op = pla_verbs_get(); *op; op++) {
    if (!(*op)->run)
      continue;
    n++;
    json_builder_begin_object(json);
    pla_json_text(json, "verb", (*op)->name);
    pla_json_text(json, "summary", (*op)->summary);
    json_builder_set_member_name(json, "parameters");
    json_builder_begin_array(json);
    pla_say(inv, "%s: %s", (*op)->name, (*op)->summary);
    for (const PlaVerbParam *param = (*op)->params; param->name; param++) {
      json_builder_begin_object(json);
      pla_json_text(json, "name", param->name);
      pla_json_text(json, "unit", param->unit);
      pla_json_text(json, "default", param->otherwise);
      pla_json_text(json, "help", param->help);
      json_builder_end_object(json);
      const bool optional = g_strcmp0(param->otherwise, "null") == 0;
      const bool standard = param->otherwise && !optional;
      pla_say(inv, "  %-12s %s%s%s%s%s%s", param->name, param->help, param->unit ? ", " : "",
              param->unit ? param->unit : "", standard ? " (default: " : "",
              standard   ? param->otherwise
              : optional ? " (optional)"
                         : "",
              standard ? ")" : "");
    }
    json_builder_end_array(json);
    json_builder_end_object(json);
  }
  json_builder_end_array(json);
  put_result(inv, n, NULL);
  return PLA_OK;
}

/* ---- the table ------------------------------------------------------------------------------ */

static const struct {
  const char *name, *args;
  int min_words, max_words; /* after this one */
  PlaStatus (*run)(PlaInvocation *inv, PlaError *err);
} subs[] = {
  { "new", "CASE [--title T]", 1, 1, run_new },
  { "import", "CASE FILE... [--name N] [--as volume|labels]", 2, 100000, run_import },
  { "list", "CASE", 1, 1, run_list },
  { "log", "CASE", 1, 1, run_log },
  { "export", "CASE ITEM -o FILE", 2, 2, run_export },
  { "table", "CASE -o FILE.csv", 1, 1, run_table },
  { "plans", "CASE", 1, 1, run_plans },
  { "verify", "CASE", 1, 1, run_verify },
  { "replay", "CASE", 1, 1, run_replay },
  { "recover", "CASE -o NEW", 1, 1, run_recover },
  { "compact", "CASE", 1, 1, run_compact },
  { "undo", "CASE", 1, 1, run_undo },
  { "redo", "CASE", 1, 1, run_redo },
  { "apply", "CASE OPERATION [JSON|@FILE]", 2, 3, run_apply },
  { "branch", "CASE [NAME] [--at OPERATION] [--remove]", 1, 2, run_branch },
  { "title", "CASE TITLE", 2, 2, run_title },
  { "operations", "", 0, 0, run_operations },
};

static PlaStatus
run_case(PlaInvocation *inv, PlaError *err)
{
  const char *name = pla_invocation_file(inv, 0);
  int n_words = pla_invocation_n_files(inv) - 1;
  for (size_t i = 0; i < G_N_ELEMENTS(subs); i++) {
    if (strcmp(subs[i].name, name) != 0)
      continue;
    if (n_words < subs[i].min_words || n_words > subs[i].max_words)
      return pla_fail(err, PLA_ERR_USAGE, "usage: platysma-cli case %s %s", name, subs[i].args);
    return subs[i].run(inv, err);
  }
  return pla_fail(err, PLA_ERR_USAGE,
                  "'case' has no part '%s'; 'platysma-cli case --help' lists them", name);
}

static const PlaOpt options[] = {
  { "title", 0, PLA_OPT_TEXT, "T", "new: title of the case" },
  { "name", 0, PLA_OPT_TEXT, "N", "import: name of the item (default: the file's own)" },
  { "as", 0, PLA_OPT_TEXT, "KIND", "import: volume, labels, landmarks or auto (default)" },
  { "series", 0, PLA_OPT_INT, "N", "import: which series of a DICOM folder, from 0", 0, 100000 },
  { "at", 0, PLA_OPT_INT, "ID", "branch: start after this operation (default: here)", 0,
    2147483647 },
  { "remove", 0, PLA_OPT_FLAG, NULL, "branch: remove the branch's name" },
  { NULL },
};

const PlaCommand pla_command_case = {
  .name = "case",
  .args = "WORD CASE ...",
  .summary = "makes, fills, checks and repairs case files",
  .description =
      "new CASE [--title T]               makes a case file\n"
      "import CASE FILE... [--name N]     volumes, meshes and recordings become items\n"
      "list CASE, log CASE                items and branches; every operation\n"
      "export CASE ITEM -o FILE           writes an item (any format; .json: its metadata)\n"
      "table CASE -o FILE.csv             volumes, sizes and measurements as numbers\n"
      "apply CASE OPERATION [JSON|@FILE]  runs an operation; 'case operations' lists them\n"
      "undo CASE, redo CASE               one step back or forward\n"
      "branch CASE [NAME] [--at ID]       lists branches, or makes or selects one\n"
      "title CASE TITLE                   changes the title\n"
      "plans CASE                         compares the body before surgery and on each branch\n"
      "verify CASE                        checks every stored byte and hash, and that every item\n"
      "                                   and step of the history can be read\n"
      "replay CASE                        runs the log again and compares the results\n"
      "recover CASE -o NEW                saves what is readable of a damaged case\n"
      "compact CASE                       prunes the history and shrinks the file\n"
      "\n"
      "Every change is one operation in the log and is on disk when the command returns.",
  .example = "platysma-cli case import patient.platysma ct.nii.gz --name ct",
  .min_files = 1,
  .max_files = -1,
  .options = options,
  .run = run_case,
};
