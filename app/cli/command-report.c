/* The verbs `report` (a case as PDF or HTML) and `demo` (the demo case). */
#include "app/case/demo.h"
#include "app/cli/cli-private.h"
#include "app/report/report.h"

#include <glib.h>
#include <string.h>

/* bits for the names in "front,left"; an unknown one is an error that lists all */
static PlaStatus
read_views(const char *text, unsigned *out, PlaError *err)
{
  g_auto(GStrv) names = g_strsplit(text, ",", -1);
  *out = 0;
  for (int i = 0; names[i]; i++) {
    PlaViewPreset preset;
    if (!pla_view_preset_from_name(g_strstrip(names[i]), &preset)) {
      g_autoptr(GString) known = g_string_new(NULL);
      for (int v = 0; v < PLA_N_VIEWS; v++)
        g_string_append_printf(known, "%s%s", v ? ", " : "",
                               pla_view_preset_name((PlaViewPreset)v));
      return pla_fail(err, PLA_ERR_USAGE, "--views: there is no view '%s'; choose from %s",
                      names[i], known->str);
    }
    *out |= 1u << preset;
  }
  return PLA_OK;
}

static PlaStatus
read_sections(const char *text, unsigned *out, PlaError *err)
{
  static const char *const names[] = { "views",        "slices", "tissues",    "meshes",
                                       "measurements", "notes",  "provenance", "operations" };
  g_auto(GStrv) given = g_strsplit(text, ",", -1);
  *out = 0;
  for (int i = 0; given[i]; i++) {
    size_t k = 0;
    g_strstrip(given[i]);
    while (k < G_N_ELEMENTS(names) && strcmp(names[k], given[i]) != 0)
      k++;
    if (k == G_N_ELEMENTS(names)) {
      g_autoptr(GString) known = g_string_new(names[0]);
      for (k = 1; k < G_N_ELEMENTS(names); k++)
        g_string_append_printf(known, ", %s", names[k]);
      return pla_fail(err, PLA_ERR_USAGE, "--sections: there is no section '%s'; choose from %s",
                      given[i], known->str);
    }
    *out |= 1u << k;
  }
  return PLA_OK;
}

static PlaStatus
run_report(PlaInvocation *inv, PlaError *err)
{
  const char *out = pla_invocation_output(inv);
  const char *paper = pla_invocation_text(inv, "paper", 0, "a4");
  const char *views = pla_invocation_text(inv, "views", 0, NULL);
  const char *sections = pla_invocation_text(inv, "sections", 0, NULL);
  const bool pdf = g_str_has_suffix(out, ".pdf");
  PlaReportOptions opts = pla_report_options_default();
  PlaSession *session = NULL;
  PlaReport *report = NULL;
  int n_pages = 1;
  opts.names = pla_invocation_has(inv, "names");
  opts.heading = pla_invocation_text(inv, "heading", 0, NULL);
  if (!pdf && !g_str_has_suffix(out, ".html"))
    return pla_fail(err, PLA_ERR_UNSUPPORTED, "%s: reports are written as .pdf or .html", out);
  if (strcmp(paper, "a4") != 0 && strcmp(paper, "letter") != 0)
    return pla_fail(err, PLA_ERR_USAGE, "--paper is a4 or letter, not '%s'", paper);
  PlaStatus st = views ? read_views(views, &opts.views, err) : PLA_OK;
  if (st == PLA_OK && sections)
    st = read_sections(sections, &opts.sections, err);
  if (st == PLA_OK)
    st = pla_session_open(pla_invocation_file(inv, 0), &session, err);
  if (st == PLA_OK)
    st = pla_report_make(session, &opts, pla_invocation_progress(inv), &report, err);
  if (st == PLA_OK)
    st = pdf ? pla_report_write_pdf(report, *paper == 'a' ? PLA_PAPER_A4 : PLA_PAPER_LETTER, out,
                                    &n_pages, err)
             : pla_report_write_html(report, out, err);
  if (st == PLA_OK) {
    JsonBuilder *json = pla_invocation_json(inv);
    pla_json_int(json, "pages", n_pages);
    pla_json_int(json, "pictures", pla_report_n_pictures(report));
    pla_json_int(json, "tables", pla_report_n_tables(report));
    pla_say(inv, "%s: %d page%s, %d pictures, %d tables", out, n_pages, n_pages == 1 ? "" : "s",
            pla_report_n_pictures(report), pla_report_n_tables(report));
  }
  pla_report_free(report);
  g_clear_object(&session);
  return st;
}

static const PlaOpt report_options[] = {
  { "views", 0, PLA_OPT_TEXT, "LIST",
    "sides to look from, such as anterior,left (default: anterior,left,three-quarter)" },
  { "sections", 0, PLA_OPT_TEXT, "LIST",
    "of views, slices, tissues, meshes, measurements, notes, provenance, operations (default: "
    "all)" },
  { "heading", 0, PLA_OPT_TEXT, "TEXT", "first line (default: Case report)" },
  { "names", 0, PLA_OPT_FLAG, NULL, "show the case's title and names that came from files" },
  { "paper", 0, PLA_OPT_TEXT, "SIZE", "a4 or letter (default: a4)" },
  { NULL },
};

const PlaCommand pla_command_report = {
  .name = "report",
  .args = "CASE -o OUT.pdf",
  .summary = "writes a case as a printable report",
  .description =
      "Draws the scans, tissues and meshes of a case, lists tissue volumes, the quality of meshes\n"
      "and solutions, measurements and notes, the source of each item (hashes of files, audit\n"
      "of their frames) and every operation with its parameters and state hash.  The case's title\n"
      "and names of files, which often name a patient, are left out unless --names is given.\n"
      "OUT is .pdf, or .html with its pictures in the folder OUT-files beside it.",
  .example = "platysma-cli report study.platysma -o study.pdf --views anterior,left",
  .min_files = 1,
  .max_files = 1,
  .needs_output = true,
  .options = report_options,
  .run = run_report,
};

static PlaStatus
run_demo(PlaInvocation *inv, PlaError *err)
{
  PlaSession *session = NULL;
  PlaStatus st =
      pla_demo_create(pla_invocation_output(inv), pla_invocation_text(inv, "volume", 0, NULL),
                      pla_invocation_progress(inv), &session, err);
  if (st == PLA_OK) {
    pla_json_int(pla_invocation_json(inv), "operations", pla_session_get_log(session)->n);
    pla_say(inv, "%s is ready: %s", pla_invocation_output(inv), pla_session_get_title(session));
  }
  g_clear_object(&session);
  return st;
}

static const PlaOpt demo_options[] = {
  { "volume", 0, PLA_OPT_TEXT, "FILE", "a head CT (default: the head phantom)" },
  { NULL },
};

const PlaCommand pla_command_demo = {
  .name = "demo",
  .args = "-o CASE",
  .summary = "makes the demo case",
  .description =
      "Imports a head CT into a new case and segments it; without --volume the case has the\n"
      "head phantom instead.",
  .example = "platysma-cli demo -o demo.platysma --volume datasets/cache/ct-head.nii.gz",
  .needs_output = true,
  .options = demo_options,
  .run = run_demo,
};
