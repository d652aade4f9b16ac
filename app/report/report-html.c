/* A report as HTML with its pictures in a folder beside it. */
#include "app/report/report-private.h"
#include "app/show/picture.h"
#include "io/stream/output.h"

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
    put(html, "%s</th>", block->heading[c]);
  }
  put(html, "</tr>");
  for (guint i = 0; i < block->cell->len; i++) {
    const PlaReportCell *cell = &g_array_index(block->cell, PlaReportCell, i);
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

/* Pictures are named after their content: those of an older report stay valid until the page that
 * shows them is replaced, which happens in one moment. */
static PlaStatus
write_picture(const char *folder, cairo_surface_t *image, int number, GPtrArray *written,
              char **name, PlaError *err)
{
  PlaBytes png = { 0 };
  PlaStatus st = pla_picture_encode(image, &png, err);
  g_autofree char *sum = g_compute_checksum_for_data(G_CHECKSUM_SHA256, png.data, png.size);
  *name = g_strdup_printf("picture-%02d-%.8s.png", number, sum);
  g_autofree char *path = g_build_filename(folder, *name, NULL);
  if (st == PLA_OK)
    st = pla_output_write(path, png.data, png.size, err);
  g_ptr_array_add(written, g_strdup(*name));
  pla_bytes_clear(&png);
  return st;
}

static PlaStatus
put_pictures(GString *html, const PlaBlock *block, const char *folder, GPtrArray *written,
             PlaError *err)
{
  PlaStatus st = PLA_OK;
  g_autofree char *inside = g_path_get_basename(folder);
  put(html, "<div class=\"g\">");
  for (guint i = 0; st == PLA_OK && i < block->picture->len; i++) {
    const PlaReportPicture *picture = &g_array_index(block->picture, PlaReportPicture, i);
    g_autofree char *name = NULL;
    st = write_picture(folder, picture->image, (int)written->len + 1, written, &name, err);
    put(html, "<figure><img src=\"%s/%s\" alt=\"%s\"><figcaption>%s</figcaption></figure>", inside,
        name, picture->caption, picture->caption);
  }
  put(html, "</div>");
  return st;
}

/* pictures of an earlier report go when this one has its name */
static PlaStatus
remove_others(const char *folder, const GPtrArray *written, PlaError *err)
{
  g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
  g_autoptr(GRegex) ours = g_regex_new("^picture-[0-9]{2,}(-[0-9a-f]{8})?\\.png$", 0, 0, NULL);
  PlaStatus st = PLA_OK;
  const char *name;
  while (dir && st == PLA_OK && (name = g_dir_read_name(dir)))
    if (g_regex_match(ours, name, 0, NULL) &&
        !g_ptr_array_find_with_equal_func((GPtrArray *)written, name, g_str_equal, NULL)) {
      g_autofree char *path = g_build_filename(folder, name, NULL);
      st = pla_output_set_remove(path, err);
    }
  return st;
}

static PlaStatus
put_blocks(const PlaReport *self, GString *html, const char *folder, GPtrArray *written,
           PlaError *err)
{
  PlaStatus st = PLA_OK;
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
      st = put_pictures(html, block, folder, written, err);
      break;
    case PLA_BLOCK_TABLE:
      put_table(html, block);
      break;
    }
  }
  return st;
}

PlaStatus
pla_report_write_html(const PlaReport *self, const char *path, PlaError *err)
{
  const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path, *dot = strrchr(name, '.');
  g_autofree char *folder =
      g_strdup_printf("%.*s-files", (int)((dot ? dot : path + strlen(path)) - path), path);
  g_autoptr(GPtrArray) written = g_ptr_array_new_with_free_func(g_free);
  g_autoptr(GString) html = g_string_new(NULL);
  PlaOutputSet *set = NULL;
  PlaStatus st = pla_output_set_begin(&set, err);
  if (st == PLA_OK)
    st = pla_output_set_mkdir(folder, err);
  put(html,
      "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" content=\"width=device-width\"><title>%s</title><style>",
      self->heading);
  g_string_append(html, style);
  put(html, "</style></head><body><h1>%s</h1><p class=\"q\">%s</p>", self->heading, self->subtitle);
  if (st == PLA_OK)
    st = put_blocks(self, html, folder, written, err);
  put(html, "</body></html>\n");
  if (st == PLA_OK)
    st = remove_others(folder, written, err);
  if (st == PLA_OK)
    st = pla_output_write(path, html->str, html->len, err);
  return pla_output_set_end(set, st, err);
}
