/* A report as HTML with its pictures in a folder beside it. */
#include "app/picture.h"
#include "app/report-private.h"
#include "io/output.h"

#include <glib/gstdio.h>
#include <string.h>

static const char style[] =
    "body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;"
    "color:#1d2326;background:#fff}h1{font-size:1.7rem;margin-bottom:.2rem}h2{margin-top:2.2rem;"
    "font-size:1.25rem;border-bottom:1px solid #d5dcdf;padding-bottom:.2rem}"
    "table{border-collapse:collapse;width:100%;margin:1rem 0}"
    "th,td{text-align:left;padding:.35rem .7rem;border-bottom:1px solid #e6eaec;vertical-align:top}"
    "td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}figure{margin:0}"
    ".g{display:grid;grid-template-columns:repeat(auto-fit,minmax(20rem,1fr));gap:1rem}"
    "img{width:100%;border-radius:6px;display:block}figcaption,.q{color:#5a666c;font-size:.9rem}"
    ".w{background:#fff6dd;border-left:4px solid #d9a400;padding:.6rem 1rem;margin:1rem 0}"
    "code{font-size:.85em;word-break:break-all}.s{display:inline-block;width:.9em;height:.9em;"
    "border-radius:2px;margin-right:.5em;vertical-align:-.1em}p{white-space:pre-line}";

static void put(GString *html, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* markup with every argument escaped */
static void
put(GString *html, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  g_autofree char *text = g_markup_vprintf_escaped(format, args);
  va_end(args);
  g_string_append(html, text);
}

static void
put_table(GString *html, const PlaBlock *block)
{
  put(html, "<table><tr>");
  for (int c = 0; c < block->n_columns; c++) {
    put(html, block->column[c].number ? "<th class=\"n\">" : "<th>");
    put(html, "%s</th>", block->column[c].title);
  }
  put(html, "</tr>");
  for (guint i = 0; i < block->cell->len; i++) {
    const PlaCell *cell = &g_array_index(block->cell, PlaCell, i);
    const PlaColumn *column = &block->column[i % (guint)block->n_columns];
    if (i % (guint)block->n_columns == 0)
      put(html, "<tr>");
    put(html, column->number ? "<td class=\"n\">" : "<td>");
    if (cell->rgb >= 0)
      put(html, "<span class=\"s\" style=\"background:#%06x\"></span>", (unsigned)cell->rgb);
    put(html, column->code ? "<code>%s</code></td>" : "%s</td>", cell->text);
    if ((i + 1) % (guint)block->n_columns == 0)
      put(html, "</tr>");
  }
  put(html, "</table>");
}

static PlaStatus
put_pictures(GString *html, const PlaBlock *block, const char *folder, int *n_written,
             PlaError *err)
{
  PlaStatus st = PLA_OK;
  g_autofree char *inside = g_path_get_basename(folder);
  put(html, "<div class=\"g\">");
  for (guint i = 0; st == PLA_OK && i < block->picture->len; i++) {
    const PlaReportPicture *picture = &g_array_index(block->picture, PlaReportPicture, i);
    g_autofree char *name = g_strdup_printf("picture-%02d.png", ++*n_written);
    g_autofree char *path = g_build_filename(folder, name, NULL);
    st = pla_picture_write_surface(path, picture->image, err);
    put(html, "<figure><img src=\"%s/%s\" alt=\"%s\"><figcaption>%s</figcaption></figure>", inside,
        name, picture->caption, picture->caption);
  }
  put(html, "</div>");
  return st;
}

PlaStatus
pla_report_write_html(const PlaReport *self, const char *path, PlaError *err)
{
  g_autofree char *folder = g_strdup(path);
  char *dot = strrchr(folder, '.');
  if (dot && dot > strrchr(folder, '/'))
    *dot = '\0';
  char *stem = g_steal_pointer(&folder);
  folder = g_strconcat(stem, "-files", NULL);
  g_free(stem);
  if (g_mkdir_with_parents(folder, 0777) != 0)
    return pla_fail(err, PLA_ERR_IO, "the folder %s cannot be made; choose another place", folder);

  GString *html = g_string_new(NULL);
  PlaStatus st = PLA_OK;
  int n_written = 0;
  put(html,
      "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" content=\"width=device-width\"><title>%s</title><style>",
      self->heading);
  g_string_append(html, style);
  put(html, "</style></head><body><h1>%s</h1><p class=\"q\">%s</p>", self->heading, self->subtitle);
  for (guint i = 0; st == PLA_OK && i < self->blocks->len; i++) {
    const PlaBlock *block = self->blocks->pdata[i];
    switch (block->kind) {
    case PLA_BLOCK_HEADING:
      put(html, "<h2>%s</h2>", block->text);
      break;
    case PLA_BLOCK_TEXT:
      put(html, "<p>%s</p>", block->text);
      break;
    case PLA_BLOCK_WARNING:
      put(html, "<p class=\"w\">%s</p>", block->text);
      break;
    case PLA_BLOCK_PICTURES:
      st = put_pictures(html, block, folder, &n_written, err);
      break;
    case PLA_BLOCK_TABLE:
      put_table(html, block);
      break;
    }
  }
  put(html, "</body></html>\n");
  if (st == PLA_OK)
    st = pla_output_write(path, html->str, html->len, err);
  g_string_free(html, TRUE);
  return st;
}
