/* Reports: what stands in them, what must not, pages that hold their content. */
#include "anatomy/volume/volume.h"
#include "app/report/report.h"
#include "io/formats/format.h"

#include <glib/gstdio.h>
#include <string.h>

static char *dir;

static char *
inside(const char *name)
{
  return g_build_filename(dir, name, NULL);
}

static void
run(PlaSession *session, const char *verb, const char *params, const char *source)
{
  g_autoptr(JsonNode) node = json_from_string(params, NULL);
  PlaRequest request = { .verb = verb,
                         .params = json_node_get_object(node),
                         .source = source,
                         .read = pla_read_options_default() };
  PlaError err;
  if (pla_session_run(session, &request, NULL, NULL, &err) != PLA_OK)
    g_error("%s", err.message);
}

/* a scan whose file is named after somebody, tissues, measurements and many operations */
static PlaSession *
make_case(const char *name, int n_notes)
{
  g_autofree char *path = inside(name), *scan = inside("mustermann_erika.nii");
  PlaItem item = { .kind = PLA_KIND_VOLUME };
  PlaSession *session = NULL;
  PlaError err;
  g_assert_cmpint(pla_volume_new((int[4]){ 12, 12, 12, 1 }, PLA_I16, &item.volume, NULL), ==,
                  PLA_OK);
  item.volume->audit.source = PLA_FRAME_MADE;
  for (int v = 0; v < 12 * 12 * 12; v++)
    ((int16_t *)item.volume->voxels)[v] = (int16_t)(v % 12 > 3 && v % 12 < 9 ? 900 : -1000);
  PlaWriteOptions opts = pla_write_options_default();
  g_assert_cmpint(pla_item_write(scan, &item, &opts, &err), ==, PLA_OK);
  pla_item_clear(&item);
  g_assert_cmpint(pla_session_create(path, "Erika Mustermann", &session, &err), ==, PLA_OK);
  run(session, "import", "{}", scan);
  run(session, "segment",
      "{\"item\": \"mustermann_erika\", \"lo\": 500, \"hi\": 2000, \"label_name\": \"Core\"}",
      NULL);
  run(session, "landmark", "{\"name\": \"nasion\", \"at_mm\": [6, 6, 6]}", NULL);
  run(session, "measure", "{\"name\": \"width\", \"points_mm\": [[0, 0, 0], [3, 4, 0]]}", NULL);
  for (int i = 0; i < n_notes; i++) {
    g_autofree char *params =
        g_strdup_printf("{\"name\": \"note %d\", \"text\": \"Seen on day %d.\"}", i, i);
    run(session, "note", params, NULL);
  }
  return session;
}

static void
drop_case(PlaSession *session)
{
  g_autofree char *path = g_strdup(pla_session_get_path(session));
  g_object_unref(session);
  g_remove(path);
}

/* sections that need no drawing of surfaces, so that the test runs without one */
static PlaReport *
make_report(PlaSession *session, gboolean names, const char *heading)
{
  PlaReportOptions opts = pla_report_options_default();
  PlaReport *report = NULL;
  PlaError err;
  opts.sections &= ~(unsigned)(PLA_REPORT_VIEWS | PLA_REPORT_TISSUES);
  opts.names = names;
  opts.heading = heading;
  if (pla_report_make(session, &opts, NULL, &report, &err) != PLA_OK)
    g_error("%s", err.message);
  return report;
}

static char *
html_of(const PlaReport *report)
{
  g_autofree char *path = inside("report.html");
  char *text = NULL;
  PlaError err;
  if (pla_report_write_html(report, path, &err) != PLA_OK)
    g_error("%s", err.message);
  g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
  g_remove(path);
  /* every picture that the page shows is there, and nothing else */
  g_autoptr(GRegex) shown = g_regex_new("<img src=\"(report-files/[^\"]+)\"", 0, 0, NULL);
  g_autoptr(GMatchInfo) match = NULL;
  int n = 0;
  for (g_regex_match(shown, text, 0, &match); g_match_info_matches(match);
       g_match_info_next(match, NULL)) {
    g_autofree char *name = g_match_info_fetch(match, 1);
    g_autofree char *picture = inside(name);
    g_assert_true(g_file_test(picture, G_FILE_TEST_IS_REGULAR));
    g_remove(picture);
    n++;
  }
  g_assert_cmpint(n, ==, pla_report_n_pictures(report));
  g_autofree char *folder = inside("report-files");
  g_assert_cmpint(g_rmdir(folder), ==, 0);
  return text;
}

static void
test_content(void)
{
  PlaSession *session = make_case("content.platysma", 2);
  PlaReport *report = make_report(session, FALSE, NULL);
  g_autofree char *html = html_of(report);
  static const char *const there[] = { "Case report", "Research use only", "Core",
                                       "nasion",      "5.00 mm",           "Seen on day 1.",
                                       "import 1",    "file 1.nii",        "Provenance",
                                       "Operations",  "item: import 1" };
  for (size_t i = 0; i < G_N_ELEMENTS(there); i++)
    if (!strstr(html, there[i]))
      g_error("the report does not say '%s'", there[i]);
  /* the hash of the file, of the state and of every item */
  const PlaState *state = pla_session_get_state(session);
  char text[33];
  PlaHash hash = pla_state_hash(state);
  g_assert_nonnull(strstr(html, pla_hash_text(&hash, text)));
  for (int i = 0; i < state->n; i++)
    g_assert_nonnull(strstr(html, pla_hash_text(&state->item[i].hash, text)));
  /* nothing of the name, in any spelling */
  g_autofree char *lower = g_utf8_strdown(html, -1);
  g_assert_null(strstr(lower, "mustermann"));
  g_assert_null(strstr(lower, "erika"));
  pla_report_free(report);

  report = make_report(session, TRUE, NULL);
  g_autofree char *named = html_of(report);
  g_assert_nonnull(strstr(named, "Erika Mustermann"));
  g_assert_nonnull(strstr(named, "mustermann_erika.nii"));
  pla_report_free(report);

  report = make_report(session, FALSE, "Trial 7 <b>");
  g_autofree char *headed = html_of(report);
  g_assert_nonnull(strstr(headed, "Trial 7 &lt;b&gt;"));
  pla_report_free(report);
  drop_case(session);
}

/* whether any pixel of a strip of the page is not white */
static gboolean
inked(cairo_surface_t *page, double x0, double y0, double x1, double y1)
{
  const uint8_t *data = cairo_image_surface_get_data(page);
  const int stride = cairo_image_surface_get_stride(page);
  for (int y = (int)y0; y < (int)y1; y++)
    for (int x = (int)x0; x < (int)x1; x++) {
      uint32_t pixel;
      memcpy(&pixel, data + (size_t)y * stride + 4 * (size_t)x, 4);
      if ((pixel & 0xffffff) != 0xffffff)
        return TRUE;
    }
  return FALSE;
}

/* many operations: several pages, each with content and footer, nothing in the margins */
static void
test_pages(void)
{
  PlaSession *session = make_case("pages.platysma", 40);
  PlaReport *report = make_report(session, FALSE, NULL);
  for (int paper = 0; paper < 2; paper++) {
    double w, h;
    pla_paper_size((PlaPaper)paper, &w, &h);
    PlaReportPages *pages = pla_report_paginate(report, (PlaPaper)paper);
    const int n = pla_report_pages_count(pages);
    g_assert_cmpint(n, >=, 4);
    g_assert_cmpint(n, <=, 12);
    for (int p = 0; p < n; p++) {
      cairo_surface_t *image = cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)w, (int)h);
      cairo_t *cr = cairo_create(image);
      cairo_set_source_rgb(cr, 1, 1, 1);
      cairo_paint(cr);
      pla_report_pages_draw(pages, p, cr);
      cairo_destroy(cr);
      cairo_surface_flush(image);
      g_assert_true(inked(image, 48, 78, w - 48, h - 90));          /* content */
      g_assert_true(inked(image, 48, h - 62, w - 130, h - 46));     /* research-use line */
      g_assert_true(inked(image, w - 100, h - 62, w - 47, h - 46)); /* page number */
      g_assert_false(inked(image, 0, 0, 46, h));
      g_assert_false(inked(image, w - 46, 0, w, h));
      g_assert_false(inked(image, 0, 0, w, 46));
      g_assert_false(inked(image, 0, h - 44, w, h));
      g_assert_false(inked(image, 48, h - 77, w - 48, h - 66)); /* content ends above the footer */
      cairo_surface_destroy(image);
    }
    pla_report_pages_free(pages);
  }
  pla_report_free(report);
  drop_case(session);
}

/* the same case, the same bytes; an unwritable place is a sentence */
static void
test_pdf(void)
{
  PlaSession *session = make_case("pdf.platysma", 3);
  g_autofree char *path = inside("report.pdf");
  g_autofree char *first = NULL, *second = NULL;
  gsize n_first, n_second;
  int n_pages = 0;
  PlaError err;
  PlaReport *report = make_report(session, FALSE, NULL);
  g_assert_cmpint(pla_report_write_pdf(report, PLA_PAPER_A4, path, &n_pages, &err), ==, PLA_OK);
  g_assert_cmpint(n_pages, >=, 2);
  g_assert_true(g_file_get_contents(path, &first, &n_first, NULL));
  g_assert_true(g_str_has_prefix(first, "%PDF-1."));
  pla_report_free(report);
  report = make_report(session, FALSE, NULL);
  g_assert_cmpint(pla_report_write_pdf(report, PLA_PAPER_A4, path, NULL, &err), ==, PLA_OK);
  g_assert_true(g_file_get_contents(path, &second, &n_second, NULL));
  g_assert_cmpmem(first, n_first, second, n_second);
  g_assert_cmpint(pla_report_write_pdf(report, PLA_PAPER_A4, "/nowhere/r.pdf", NULL, &err), ==,
                  PLA_ERR_IO);
  g_assert_nonnull(strstr(err.message, "/nowhere/r.pdf"));
  pla_report_free(report);
  g_remove(path);
  drop_case(session);
}

int
main(int argc, char **argv)
{
  dir = g_dir_make_tmp("platysma-report-XXXXXX", NULL);
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/report/content", test_content);
  g_test_add_func("/report/pages", test_pages);
  g_test_add_func("/report/pdf", test_pdf);
  int status = g_test_run();
  g_autofree char *scan = inside("mustermann_erika.nii");
  g_remove(scan);
  g_rmdir(dir);
  g_free(dir);
  return status;
}
