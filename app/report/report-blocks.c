/* Blocks of a report, and names as they may be printed. */
#include "app/report/report-private.h"

#include "app/base/json.h"

#include <string.h>

void
pla_report_block_free(gpointer data)
{
  PlaBlock *block = data;
  for (guint i = 0; block->picture && i < block->picture->len; i++) {
    PlaReportPicture *picture = &g_array_index(block->picture, PlaReportPicture, i);
    cairo_surface_destroy(picture->image);
    g_free(picture->caption);
  }
  for (guint i = 0; block->cell && i < block->cell->len; i++)
    g_free(g_array_index(block->cell, PlaReportCell, i).text);
  g_clear_pointer(&block->picture, g_array_unref);
  g_clear_pointer(&block->cell, g_array_unref);
  g_strfreev(block->heading);
  g_free(block->text);
  g_free(block);
}

void
pla_report_free(PlaReport *self)
{
  if (!self)
    return;
  g_ptr_array_unref(self->blocks);
  g_free(self->heading);
  g_free(self->subtitle);
  g_free(self);
}

int
pla_report_n_pictures(const PlaReport *self)
{
  int n = 0;
  for (guint i = 0; i < self->blocks->len; i++) {
    const PlaBlock *block = self->blocks->pdata[i];
    n += block->kind == PLA_BLOCK_PICTURES ? (int)block->picture->len : 0;
  }
  return n;
}

int
pla_report_n_tables(const PlaReport *self)
{
  int n = 0;
  for (guint i = 0; i < self->blocks->len; i++)
    n += ((const PlaBlock *)self->blocks->pdata[i])->kind == PLA_BLOCK_TABLE;
  return n;
}

PlaReportOptions
pla_report_options_default(void)
{
  return (PlaReportOptions){ .sections = PLA_REPORT_EVERYTHING,
                             .scenes = true,
                             .views = 1u << PLA_VIEW_ANTERIOR | 1u << PLA_VIEW_LEFT |
                                      1u << PLA_VIEW_THREE_QUARTER };
}

static PlaBlock *
add_block(PlaReportMaker *m, PlaBlockKind kind)
{
  PlaBlock *block = g_new0(PlaBlock, 1);
  block->kind = kind;
  g_ptr_array_add(m->report->blocks, block);
  return block;
}

void
pla_report_add_text(PlaReportMaker *m, PlaBlockKind kind, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  add_block(m, kind)->text = g_strdup_vprintf(format, args);
  va_end(args);
}

PlaBlock *
pla_report_add_pictures(PlaReportMaker *m, int across)
{
  PlaBlock *block = add_block(m, PLA_BLOCK_PICTURES);
  block->across = across;
  block->picture = g_array_new(FALSE, FALSE, sizeof(PlaReportPicture));
  return block;
}

void
pla_report_add_picture(PlaBlock *block, cairo_surface_t *image, char *caption)
{
  PlaReportPicture picture = { image, caption };
  g_array_append_val(block->picture, picture);
}

PlaBlock *
pla_report_add_table(PlaReportMaker *m, const PlaColumn *columns, int n_columns)
{
  PlaBlock *block = add_block(m, PLA_BLOCK_TABLE);
  block->column = columns;
  block->n_columns = n_columns;
  block->heading = g_new0(char *, n_columns + 1);
  for (int c = 0; c < n_columns; c++)
    block->heading[c] = pla_quantity_heading(columns[c].title, columns[c].unit);
  block->cell = g_array_new(FALSE, FALSE, sizeof(PlaReportCell));
  return block;
}

void
pla_report_add_cell(PlaBlock *block, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  PlaReportCell cell = { g_strdup_vprintf(format, args), -1 };
  va_end(args);
  /* a number that there is none of */
  const PlaColumn *column = &block->column[block->cell->len % (guint)block->n_columns];
  const char *digits = cell.text + (*cell.text == '-');
  if (column->number && (g_str_has_prefix(digits, "nan") || g_str_has_prefix(digits, "inf"))) {
    g_free(cell.text);
    cell.text = g_strdup("–");
  }
  g_array_append_val(block->cell, cell);
}

void
pla_report_set_swatch(PlaBlock *block, const uint8_t rgba[4])
{
  g_array_index(block->cell, PlaReportCell, block->cell->len - 1).rgb =
      rgba[0] << 16 | rgba[1] << 8 | rgba[2];
}

static void
add_alias(PlaReportMaker *m, const char *name, char *alias)
{
  PlaReportAlias entry = { g_strdup(name), alias };
  guint at = 0;
  while (at < m->alias->len &&
         strlen(g_array_index(m->alias, PlaReportAlias, at).name) >= strlen(name))
    at++;
  g_array_insert_val(m->alias, at, entry);
}

void
pla_report_find_aliases(PlaReportMaker *m)
{
  const PlaLog *log = pla_session_get_log(m->session);
  for (int i = 0, n = 0; i < log->n; i++) {
    const PlaLogRow *row = &log->row[i];
    g_autoptr(JsonObject) params = NULL;
    if (strcmp(row->verb, "import") != 0 ||
        pla_json_parse_stored(row->parameters, "the parameters", &params, NULL) != PLA_OK)
      continue;
    JsonObject *source = json_object_has_member(params, "source")
                             ? json_object_get_object_member(params, "source")
                             : NULL;
    const char *file =
        source ? json_object_get_string_member_with_default(source, "file", NULL) : NULL;
    const char *name = json_object_get_string_member_with_default(params, "name", NULL);
    if (!file)
      continue;
    n++;
    const char *ending = strchr(file, '.');
    /* a name that a person chose stays; one that stands in the file's name does not */
    if (name && strstr(file, name))
      add_alias(m, name, g_strdup_printf("import %d", n));
    if (strcmp(file, "folder") != 0)
      add_alias(m, file, g_strdup_printf("file %d%s", n, ending ? ending : ""));
  }
}

char *
pla_report_shown(const PlaReportMaker *m, const char *text)
{
  char *out = g_strdup(text);
  for (guint i = 0; i < m->alias->len; i++) {
    const PlaReportAlias *alias = &g_array_index(m->alias, PlaReportAlias, i);
    /* letters and short words would be found in the middle of others */
    if (strlen(alias->name) < 3 && strcmp(out, alias->name) != 0)
      continue;
    g_auto(GStrv) parts = g_strsplit(out, alias->name, -1);
    g_free(out);
    out = g_strjoinv(alias->alias, parts);
  }
  return out;
}

PlaStatus
pla_report_load(PlaReportMaker *m, const PlaStateItem *item, PlaContent **out, PlaError *err)
{
  return pla_session_load(m->session, item->item, m->progress, out, err);
}
