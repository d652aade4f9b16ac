/* The content of a report: what is said of a case, in which order. */
#include "app/base/json.h"
#include "app/content/annotation.h"
#include "app/report/report-private.h"
#include "platysma-config.h"

#include <string.h>

/* ------------------------------------------------- measurements and notes */

static PlaStatus
put_annotations(PlaReportMaker *m, PlaError *err)
{
  static const PlaColumn columns[] = { { "Name", 4, false, false },
                                       { "What", 2, false, false },
                                       { "Value", 2, true, false },
                                       { "Of what, or points in RAS mm", 5, false, true } };
  const PlaState *state = pla_session_get_state(m->session);
  PlaBlock *table = NULL;
  for (int i = 0; i < state->n; i++) {
    g_autoptr(PlaContent) content = NULL;
    if (!pla_annotation_is_kind(state->item[i].kind) ||
        strcmp(state->item[i].kind, PLA_ITEM_NOTE) == 0)
      continue;
    PlaStatus st = pla_report_load(m, &state->item[i], &content, err);
    PlaAnnotation note;
    if (st != PLA_OK)
      return st;
    if (!pla_annotation_read(content, &note))
      continue;
    if (!table) {
      pla_report_add_text(m, PLA_BLOCK_HEADING, "Measurements and landmarks");
      table = pla_report_add_table(m, columns, G_N_ELEMENTS(columns));
    }
    g_autofree char *name = pla_report_shown(m, state->item[i].name);
    g_autofree char *value = pla_annotation_value_text(&note);
    g_autofree char *of = note.text ? pla_report_shown(m, note.text) : NULL;
    g_autoptr(GString) text = g_string_new(of);
    for (int p = 0; p < MIN(note.n_points, 12); p++)
      g_string_append_printf(text, "%s(%.1f, %.1f, %.1f)", p ? " " : "", note.point_mm[3 * p],
                             note.point_mm[3 * p + 1], note.point_mm[3 * p + 2]);
    if (note.n_points > 12)
      g_string_append_printf(text, " and %d more", note.n_points - 12);
    pla_report_add_cell(table, "%s", name);
    pla_report_add_cell(table, "%s", pla_annotation_kind_name(note.kind));
    pla_report_add_cell(table, "%s", *value ? value : "–");
    pla_report_add_cell(table, "%s", text->str);
    pla_annotation_clear(&note);
  }
  return PLA_OK;
}

/* paragraphs short enough for a page */
static void
put_long_text(PlaReportMaker *m, const char *text)
{
  enum { MOST = 1500 }; /* characters */
  g_auto(GStrv) paragraphs = g_strsplit(text, "\n", -1);
  for (int i = 0; paragraphs[i]; i++) {
    const char *rest = g_strstrip(paragraphs[i]);
    while (*rest) {
      glong n = g_utf8_strlen(rest, -1);
      const char *end = g_utf8_offset_to_pointer(rest, MIN(n, MOST));
      /* at a blank, unless there is none near */
      const char *blank = *end ? g_utf8_strrchr(rest, end - rest, ' ') : NULL;
      if (blank && blank > rest)
        end = blank + 1;
      pla_report_add_text(m, PLA_BLOCK_TEXT, "%.*s", (int)(end - rest), rest);
      rest = end;
    }
  }
}

static PlaStatus
put_notes(PlaReportMaker *m, PlaError *err)
{
  const PlaState *state = pla_session_get_state(m->session);
  for (int i = 0; i < state->n; i++) {
    g_autoptr(PlaContent) content = NULL;
    if (strcmp(state->item[i].kind, PLA_ITEM_NOTE) != 0)
      continue;
    PlaStatus st = pla_report_load(m, &state->item[i], &content, err);
    if (st != PLA_OK)
      return st;
    g_autofree char *name = pla_report_shown(m, state->item[i].name);
    g_autofree char *text =
        pla_report_shown(m, json_object_get_string_member_with_default(content->meta, "text", ""));
    pla_report_add_text(m, PLA_BLOCK_HEADING, "Note: %s", name);
    put_long_text(m, text);
  }
  return PLA_OK;
}

/* --------------------------------------------------------------- provenance */

static const char *
frame_words(const char *code)
{
  static const struct {
    const char *code, *words;
  } table[] = {
    { "none", "none: axes assumed" },
    { "pixdim", "voxel sizes only" },
    { "qform", "NIfTI qform" },
    { "sform", "NIfTI sform" },
    { "dicom", "DICOM position and orientation" },
    { "made", "made here" },
  };
  for (size_t i = 0; i < G_N_ELEMENTS(table); i++)
    if (g_strcmp0(code, table[i].code) == 0)
      return table[i].words;
  return "–";
}

static PlaStatus
put_sources(PlaReportMaker *m, PlaError *err)
{
  static const PlaColumn columns[] = { { "Item", 3, false, false },
                                       { "File", 3, false, false },
                                       { "Bytes", 2, true, false },
                                       { "XXH3-128 of the file", 4, false, true },
                                       { "Frame", 3, false, false },
                                       { "Forms disagree", 2, true, false, PLA_UNIT_MM },
                                       { "Largest cosine of axes", 2, true, false } };
  const PlaState *state = pla_session_get_state(m->session);
  PlaBlock *table = NULL;
  g_autoptr(GString) notes = g_string_new(NULL);
  for (int i = 0; i < state->n; i++) {
    g_autoptr(PlaContent) content = NULL;
    PlaStatus st = pla_report_load(m, &state->item[i], &content, err);
    if (st != PLA_OK)
      return st;
    JsonObject *source = json_object_has_member(content->meta, "source")
                             ? json_object_get_object_member(content->meta, "source")
                             : NULL;
    if (!source)
      continue;
    if (!table)
      table = pla_report_add_table(m, columns, G_N_ELEMENTS(columns));
    g_autofree char *name = pla_report_shown(m, state->item[i].name);
    g_autofree char *file =
        pla_report_shown(m, json_object_get_string_member_with_default(source, "file", "–"));
    pla_report_add_cell(table, "%s", name);
    pla_report_add_cell(table, "%s", file);
    if (json_object_has_member(source, "bytes"))
      pla_report_add_cell(table, "%" G_GINT64_FORMAT, json_object_get_int_member(source, "bytes"));
    else
      pla_report_add_cell(table, "–");
    pla_report_add_cell(table, "%s",
                        json_object_get_string_member_with_default(source, "hash", "–"));
    pla_report_add_cell(table, "%s",
                        frame_words(
                            json_object_get_string_member_with_default(source, "frame", NULL)));
    if (json_object_has_member(source, "frame")) {
      pla_report_add_cell(table, "%.4f", json_object_get_double_member(source, "disagreement_mm"));
      pla_report_add_cell(table, "%.2e", json_object_get_double_member(source, "nonorthogonality"));
    } else {
      pla_report_add_cell(table, "–");
      pla_report_add_cell(table, "–");
    }
    JsonArray *said = json_object_has_member(content->meta, "notes")
                          ? json_object_get_array_member(content->meta, "notes")
                          : NULL;
    for (guint k = 0; said && k < json_array_get_length(said); k++) {
      g_autofree char *sentence = pla_report_shown(m, json_array_get_string_element(said, k));
      g_string_append_printf(notes, "%s: %s\n", name, sentence);
    }
  }
  if (!table)
    pla_report_add_text(m, PLA_BLOCK_TEXT, "Nothing in this case came from a file.");
  if (notes->len > 0)
    put_long_text(m, notes->str);
  return PLA_OK;
}

static void
put_versions(PlaReportMaker *m)
{
  static const PlaColumn columns[] = { { "Item", 4, false, false },
                                       { "Kind", 2, false, false },
                                       { "XXH3-128 of its content", 5, false, true } };
  const PlaState *state = pla_session_get_state(m->session);
  if (state->n == 0)
    return;
  PlaBlock *table = pla_report_add_table(m, columns, G_N_ELEMENTS(columns));
  for (int i = 0; i < state->n; i++) {
    char hash[33];
    g_autofree char *name = pla_report_shown(m, state->item[i].name);
    pla_report_add_cell(table, "%s", name);
    pla_report_add_cell(table, "%s", state->item[i].kind);
    pla_report_add_cell(table, "%s", pla_hash_text(&state->item[i].hash, hash));
  }
}

/* "item: head CT; preset: ct-head": what was given, without what was left open; g_free() */
static char *
parameters_text(const PlaReportMaker *m, const char *json)
{
  g_autoptr(JsonObject) object = NULL;
  g_autofree char *text = NULL;
  if (pla_json_parse_stored(json, "the parameters", &object, NULL) != PLA_OK) {
    text = g_strdup(json);
  } else {
    g_autoptr(GString) list = g_string_new(NULL);
    g_autoptr(GList) keys = g_list_sort(json_object_get_members(object), (GCompareFunc)strcmp);
    for (GList *l = keys; l; l = l->next) {
      JsonNode *value = json_object_get_member(object, l->data);
      if (JSON_NODE_HOLDS_NULL(value))
        continue;
      GType type = JSON_NODE_HOLDS_VALUE(value) ? json_node_get_value_type(value) : G_TYPE_NONE;
      g_autofree char *plain = type == G_TYPE_STRING ? g_strdup(json_node_get_string(value))
                               : type == G_TYPE_DOUBLE
                                   ? g_strdup_printf("%.12g", json_node_get_double(value))
                                   : pla_json_write_lossy(value, PLA_JSON_PLAIN);
      g_string_append_printf(list, "%s%s: %s", list->len ? "; " : "", (char *)l->data, plain);
    }
    text = g_string_free(g_steal_pointer(&list), FALSE);
  }
  return pla_report_shown(m, text);
}

static void
put_log(PlaReportMaker *m)
{
  enum { MOST = 600 }; /* characters of parameters: the strokes of a brush are thousands */
  static const PlaColumn columns[] = { { "No.", 1, true, false },
                                       { "Operation", 3, false, false },
                                       { "Parameters", 8, false, true },
                                       { "State after it", 4, false, true },
                                       { "Program", 2.5, false, false } };
  const PlaLog *log = pla_session_get_log(m->session);
  pla_report_add_text(m, PLA_BLOCK_HEADING, "Operations");
  if (log->n == 0) {
    pla_report_add_text(m, PLA_BLOCK_TEXT, "Nothing was done to this case yet.");
    return;
  }
  PlaBlock *table = pla_report_add_table(m, columns, G_N_ELEMENTS(columns));
  for (int i = 0; i < log->n; i++) {
    const PlaLogRow *row = &log->row[i];
    const PlaVerb *op = pla_verb_find(row->verb);
    char hash[33];
    g_autofree char *params = parameters_text(m, row->parameters);
    glong length = g_utf8_strlen(params, -1);
    pla_report_add_cell(table, "%" G_GINT64_FORMAT, row->id);
    pla_report_add_cell(table, "%s", op ? op->title : row->verb);
    if (length > MOST)
      pla_report_add_cell(table, "%.*s… (%ld characters in all)",
                          (int)(g_utf8_offset_to_pointer(params, MOST) - params), params, length);
    else
      pla_report_add_cell(table, "%s", params);
    pla_report_add_cell(table, "%s", pla_hash_text(&row->state, hash));
    pla_report_add_cell(table, "%s, %s", row->program, row->kernel);
  }
}

/* ------------------------------------------------------------------- report */

static void
put_head(PlaReportMaker *m)
{
  const PlaReportOptions *opts = m->opts;
  const PlaLog *log = pla_session_get_log(m->session);
  const PlaState *state = pla_session_get_state(m->session);
  PlaReport *report = m->report;
  char text[33];
  PlaHash hash = pla_state_hash(state);
  const char *heading = opts->heading;
  if (!heading && opts->names)
    heading = pla_session_get_title(m->session);
  report->heading = g_strdup(heading && *heading ? heading : "Case report");
  report->time_ms = log->n > 0 ? log->row[log->n - 1].time_ms : 0;
  g_autoptr(GDateTime) date = g_date_time_new_from_unix_utc(report->time_ms / 1000);
  /* a clock that was wrong by thousands of years gives no date */
  g_autofree char *when = log->n == 0 ? g_strdup("empty")
                          : date      ? g_date_time_format(date, "last changed %Y-%m-%d %H:%M UTC")
                                      : g_strdup("last changed at an unknown time");
  report->subtitle =
      g_strdup_printf("Platysma %s  ·  %d items, %d operations, %s  ·  state %s", PLA_VERSION,
                      state->n, log->n, when, pla_hash_text(&hash, text));
  pla_report_add_text(
      m, PLA_BLOCK_WARNING,
      "%s  Left and right are the patient’s; the letters at the edges of each picture name "
      "the sides. Positions are in millimetres, RAS.",
      PLA_RESEARCH_LINE);
}

PlaStatus
pla_report_make(PlaSession *session, const PlaReportOptions *opts, PlaProgress *progress,
                PlaReport **out, PlaError *err)
{
  PlaReport *report = g_new0(PlaReport, 1);
  report->blocks = g_ptr_array_new_with_free_func(pla_report_block_free);
  PlaReportMaker m = { .session = session, .opts = opts, .progress = progress, .report = report };
  m.alias = g_array_new(FALSE, FALSE, sizeof(PlaReportAlias));
  if (!opts->names)
    pla_report_find_aliases(&m);
  put_head(&m);
  if ((opts->sections & PLA_REPORT_VIEWS) && opts->n_pictures > 0) {
    PlaBlock *block =
        pla_report_add_pictures(&m, opts->n_pictures % 3 == 0 ? 3 : MIN(opts->n_pictures, 2));
    for (int i = 0; i < opts->n_pictures; i++)
      pla_report_add_picture(block, cairo_surface_reference(opts->picture[i].image),
                             g_strdup(opts->picture[i].caption));
  }

  const PlaState *state = pla_session_get_state(session);
  PlaStatus st = PLA_OK;
  for (int i = 0; st == PLA_OK && i < state->n; i++) {
    if (!pla_progress_phase(progress, "Drawing", 0.95 * (i + 1) / state->n))
      st = pla_fail_cancelled(err);
    PlaProgressSpan span = pla_progress_push(progress);
    if (st == PLA_OK)
      st = pla_report_put_item(&m, &state->item[i], err);
    pla_progress_pop(progress, span);
  }
  if (st == PLA_OK && (opts->sections & PLA_REPORT_MEASUREMENTS))
    st = put_annotations(&m, err);
  if (st == PLA_OK && (opts->sections & PLA_REPORT_NOTES))
    st = put_notes(&m, err);
  if (st == PLA_OK && (opts->sections & PLA_REPORT_PROVENANCE)) {
    pla_report_add_text(&m, PLA_BLOCK_HEADING, "Provenance");
    st = put_sources(&m, err);
    put_versions(&m);
  }
  if (st == PLA_OK && (opts->sections & PLA_REPORT_OPERATIONS))
    put_log(&m);

  for (guint i = 0; i < m.alias->len; i++) {
    g_free(g_array_index(m.alias, PlaReportAlias, i).name);
    g_free(g_array_index(m.alias, PlaReportAlias, i).alias);
  }
  g_array_unref(m.alias);
  if (st == PLA_OK)
    *out = report;
  else
    pla_report_free(report);
  return st;
}
