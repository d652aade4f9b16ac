/* `report` and `demo`. */
#include "app/cli/cli-private.h"
#include "app/demo.h"
#include "app/report.h"

#include <glib.h>

static PlaStatus
run_report(PlaInvocation *inv, PlaError *err)
{
  const char *out = pla_invocation_output(inv);
  PlaSession *session = NULL;
  PlaReportSummary summary = { 0 };
  if (!g_str_has_suffix(out, ".html"))
    return pla_fail(err, PLA_ERR_UNSUPPORTED, "%s: reports are written as .html", out);
  PlaStatus st = pla_session_open(pla_invocation_file(inv, 0), &session, err);
  if (st == PLA_OK)
    st = pla_report_write_html(session, out, pla_invocation_progress(inv), &summary, err);
  if (st == PLA_OK) {
    JsonBuilder *json = pla_invocation_json(inv);
    pla_json_int(json, "pages", 1);
    pla_json_int(json, "pictures", summary.n_pictures);
    pla_json_int(json, "tables", summary.n_tables);
    pla_say(inv, "%s: %d pictures, %d tables", out, summary.n_pictures, summary.n_tables);
  }
  g_clear_object(&session);
  return st;
}

const PlaVerb pla_verb_report = {
  .name = "report",
  .args = "CASE -o OUT.html",
  .summary = "writes a case as a report with pictures",
  .description = "Draws the volumes and labels of a case, lists their frames and label volumes and every\n"
                 "operation with its parameters and state hash.  Pictures go into the folder\n"
                 "OUT-files beside the report.",
  .example = "platysma-cli report study.platysma -o study.html",
  .min_files = 1,
  .max_files = 1,
  .needs_output = true,
  .run = run_report,
};

static PlaStatus
run_demo(PlaInvocation *inv, PlaError *err)
{
  PlaSession *session = NULL;
  PlaStatus st = pla_demo_create(pla_invocation_output(inv),
                                 pla_invocation_text(inv, "volume", 0, NULL),
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

const PlaVerb pla_verb_demo = {
  .name = "demo",
  .args = "-o CASE",
  .summary = "makes the demo case",
  .description = "Imports a head CT into a new case and segments it; without --volume the case holds the\n"
                 "procedural head instead.",
  .example = "platysma-cli demo -o demo.platysma --volume datasets/cache/ct-head.nii.gz",
  .needs_output = true,
  .options = demo_options,
  .run = run_demo,
};
