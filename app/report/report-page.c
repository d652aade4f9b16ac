/* A report on paper.
 *
 * Blocks become pieces that are not broken (a paragraph, a row of a table, a row of pictures);
 * pieces fill pages from the top, headings and heads of tables stay with what follows, and a table
 * that goes on begins its next page with its head again.  Drawing a page walks its pieces, so that
 * the PDF file and the preview on the screen are the same. */
#include "app/report/report-private.h"
#include "app/show/font.h"
#include "app/show/picture.h"
#include "io/stream/output.h"
#include "platysma-config.h"

#include <cairo-pdf.h>
#include <math.h>
#include <pango/pangocairo.h>

/* points of 1/72 inch */
#define MARGIN 48.0
#define HEADER 30.0 /* height of the running title and its gap */
#define FOOTER 30.0
#define GAP 10.0 /* between blocks */
#define CELL_PAD 4.0

typedef struct {
  const PlaBlock *block; /* NULL: the title of the report */
  int row;               /* of a table (-1: its head) or of pictures */
  double height, gap;    /* points; the gap goes above unless first on its page */
  bool with_next;        /* never the last of its page */
} Piece;

typedef struct {
  int piece;
  bool repeated; /* the head of a table that goes on */
  double y;
} Place;

struct PlaReportPages {
  const PlaReport *report;
  double width, height; /* of the paper, points */
  PangoContext *pango;
  GArray *piece;    /* of Piece */
  GPtrArray *pages; /* of GArray of Place */
};

void
pla_paper_size(PlaPaper paper, double *width, double *height)
{
  *width = paper == PLA_PAPER_LETTER ? 612.0 : 595.276;
  *height = paper == PLA_PAPER_LETTER ? 792.0 : 841.89;
}

/* --------------------------------------------------------------------- text */

typedef enum { BODY, SMALL, CODE, STRONG, HEADING, TITLE } Face;

static PangoLayout *
layout_new(const PlaReportPages *self, Face face, double width, const char *text)
{
  static const struct {
    double size;
    PangoWeight weight;
  } faces[] = {
    [BODY] = { 9.5, PANGO_WEIGHT_NORMAL },       [SMALL] = { 8.0, PANGO_WEIGHT_NORMAL },
    [CODE] = { 7.0, PANGO_WEIGHT_NORMAL },       [STRONG] = { 9.0, PANGO_WEIGHT_SEMIBOLD },
    [HEADING] = { 13.0, PANGO_WEIGHT_SEMIBOLD }, [TITLE] = { 20.0, PANGO_WEIGHT_SEMIBOLD },
  };
  PangoLayout *layout = pango_layout_new(self->pango);
  PangoFontDescription *font =
      pango_font_description_from_string(face == CODE ? PLA_FONT_MONO : PLA_FONT_SANS);
  pango_font_description_set_absolute_size(font, faces[face].size * PANGO_SCALE);
  pango_font_description_set_weight(font, faces[face].weight);
  pango_layout_set_font_description(layout, font);
  pango_font_description_free(font);
  pango_layout_set_width(layout, (int)(width * PANGO_SCALE));
  pango_layout_set_wrap(layout, PANGO_WRAP_WORD_CHAR);
  pango_layout_set_spacing(layout, (int)(1.5 * PANGO_SCALE));
  pango_layout_set_text(layout, text, -1);
  /* a hash that goes on in the next line has no hyphen in it */
  if (face == CODE) {
    PangoAttrList *attributes = pango_attr_list_new();
    pango_attr_list_insert(attributes, pango_attr_insert_hyphens_new(FALSE));
    pango_layout_set_attributes(layout, attributes);
    pango_attr_list_unref(attributes);
  }
  return layout;
}

static double
layout_height(PangoLayout *layout)
{
  int w, h;
  pango_layout_get_size(layout, &w, &h);
  return (double)h / PANGO_SCALE;
}

static double
text_height(const PlaReportPages *self, Face face, double width, const char *text)
{
  PangoLayout *layout = layout_new(self, face, width, text);
  double h = layout_height(layout);
  g_object_unref(layout);
  return h;
}

static void
show(const PlaReportPages *self, cairo_t *cr, Face face, double x, double y, double width,
     PangoAlignment align, const char *text)
{
  PangoLayout *layout = layout_new(self, face, width, text);
  pango_layout_set_alignment(layout, align);
  cairo_move_to(cr, x, y);
  pango_cairo_show_layout(cr, layout);
  g_object_unref(layout);
}

/* ------------------------------------------------------------------- pieces */

static double
body_width(const PlaReportPages *self)
{
  return self->width - 2.0 * MARGIN;
}

static double
column_width(const PlaReportPages *self, const PlaBlock *block, int column)
{
  double sum = 0.0;
  for (int c = 0; c < block->n_columns; c++)
    sum += block->column[c].weight;
  return body_width(self) * block->column[column].weight / sum;
}

static int
n_rows(const PlaBlock *block)
{
  return block->kind == PLA_BLOCK_TABLE
             ? (int)block->cell->len / block->n_columns
             : ((int)block->picture->len + block->across - 1) / block->across;
}

static const char *
cell_text(const PlaBlock *block, int row, int column, int32_t *rgb)
{
  *rgb = -1;
  if (row < 0)
    return block->heading[column];
  const PlaReportCell *cell =
      &g_array_index(block->cell, PlaReportCell, row * block->n_columns + column);
  *rgb = cell->rgb;
  return cell->text;
}

static Face
cell_face(const PlaBlock *block, int row, int column)
{
  return row < 0 ? STRONG : block->column[column].code ? CODE : BODY;
}

static double
row_height(const PlaReportPages *self, const PlaBlock *block, int row)
{
  double most = 0.0;
  for (int c = 0; c < block->n_columns; c++) {
    int32_t rgb;
    const char *text = cell_text(block, row, c, &rgb);
    double width = column_width(self, block, c) - 2.0 * CELL_PAD - (rgb >= 0 ? 12.0 : 0.0);
    most = fmax(most, text_height(self, cell_face(block, row, c), width, text));
  }
  return most + 2.0 * CELL_PAD;
}

/* width and height of a picture in its place, kept in shape */
static void
picture_size(const PlaReportPages *self, const PlaBlock *block, const PlaReportPicture *picture,
             double *width, double *height)
{
  double w = cairo_image_surface_get_width(picture->image);
  double h = cairo_image_surface_get_height(picture->image);
  double room = (body_width(self) - GAP * (block->across - 1)) / block->across;
  double scale = fmin(room / w, 0.5 * self->height / h);
  *width = w * scale;
  *height = h * scale;
}

static double
picture_row_height(const PlaReportPages *self, const PlaBlock *block, int row)
{
  double most = 0.0;
  double room = (body_width(self) - GAP * (block->across - 1)) / block->across;
  for (int k = 0; k < block->across; k++) {
    guint i = (guint)(row * block->across + k);
    if (i >= block->picture->len)
      break;
    const PlaReportPicture *picture = &g_array_index(block->picture, PlaReportPicture, i);
    double w, h;
    picture_size(self, block, picture, &w, &h);
    most = fmax(most, h + 4.0 + text_height(self, SMALL, room, picture->caption));
  }
  return most;
}

static void
add_piece(PlaReportPages *self, const PlaBlock *block, int row, double height, double gap,
          bool with_next)
{
  Piece piece = { block, row, height, gap, with_next };
  g_array_append_val(self->piece, piece);
}

static void
cut_into_pieces(PlaReportPages *self)
{
  const PlaReport *report = self->report;
  const double width = body_width(self);
  add_piece(self, NULL, 0,
            text_height(self, TITLE, width, report->heading) + 4.0 +
                text_height(self, SMALL, width, report->subtitle),
            0.0, true);
  for (guint b = 0; b < report->blocks->len; b++) {
    const PlaBlock *block = report->blocks->pdata[b];
    switch (block->kind) {
    case PLA_BLOCK_HEADING:
      add_piece(self, block, 0, text_height(self, HEADING, width, block->text) + 5.0, 2.0 * GAP,
                true);
      break;
    case PLA_BLOCK_TEXT:
      add_piece(self, block, 0, text_height(self, BODY, width, block->text), GAP, false);
      break;
    case PLA_BLOCK_WARNING:
      add_piece(self, block, 0, text_height(self, BODY, width - 20.0, block->text) + 14.0, GAP,
                false);
      break;
    case PLA_BLOCK_PICTURES:
      for (int r = 0; r < n_rows(block); r++)
        add_piece(self, block, r, picture_row_height(self, block, r), GAP, false);
      break;
    case PLA_BLOCK_TABLE:
      add_piece(self, block, -1, row_height(self, block, -1), GAP, true);
      for (int r = 0; r < n_rows(block); r++)
        add_piece(self, block, r, row_height(self, block, r), 0.0, false);
      break;
    }
  }
}

/* pieces onto pages, in order */
static void
fill_pages(PlaReportPages *self)
{
  const double top = MARGIN + HEADER, bottom = self->height - MARGIN - FOOTER;
  GArray *page = NULL;
  double y = top;
  for (int p = 0; p < (int)self->piece->len;) {
    /* what has to stay together: pieces that want their next one, and that one */
    int last = p;
    while (last + 1 < (int)self->piece->len && g_array_index(self->piece, Piece, last).with_next)
      last++;
    double need = 0.0;
    for (int q = p; q <= last; q++) {
      const Piece *piece = &g_array_index(self->piece, Piece, q);
      need += piece->height + (q > p || y > top ? piece->gap : 0.0);
    }
    if (!page || (y + need > bottom && y > top)) {
      page = g_array_new(FALSE, FALSE, sizeof(Place));
      g_ptr_array_add(self->pages, page);
      y = top;
      const Piece *first = &g_array_index(self->piece, Piece, p);
      if (first->block && first->block->kind == PLA_BLOCK_TABLE && first->row > 0) {
        int head = p - first->row - 1;
        Place again = { head, true, y };
        g_array_append_val(page, again);
        y += g_array_index(self->piece, Piece, head).height;
      }
    }
    for (; p <= last; p++) {
      const Piece *piece = &g_array_index(self->piece, Piece, p);
      if (y > top)
        y += piece->gap;
      Place place = { p, false, y };
      g_array_append_val(page, place);
      y += piece->height;
    }
  }
}

static void
page_free(gpointer data)
{
  g_array_unref(data);
}

PlaReportPages *
pla_report_paginate(const PlaReport *report, PlaPaper paper)
{
  PlaReportPages *self = g_new0(PlaReportPages, 1);
  self->report = report;
  pla_paper_size(paper, &self->width, &self->height);
  /* a font map of its own: pages may be laid out and drawn on any thread */
  PangoFontMap *fonts = pango_cairo_font_map_new();
  pango_cairo_font_map_set_resolution(PANGO_CAIRO_FONT_MAP(fonts), 72.0);
  self->pango = pango_font_map_create_context(fonts);
  g_object_unref(fonts);
  /* widths do not depend on where or how large the page is drawn */
  cairo_font_options_t *options = cairo_font_options_create();
  cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
  cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
  pango_cairo_context_set_font_options(self->pango, options);
  cairo_font_options_destroy(options);
  pango_context_set_round_glyph_positions(self->pango, FALSE);
  self->piece = g_array_new(FALSE, FALSE, sizeof(Piece));
  self->pages = g_ptr_array_new_with_free_func(page_free);
  cut_into_pieces(self);
  fill_pages(self);
  return self;
}

void
pla_report_pages_free(PlaReportPages *self)
{
  if (!self)
    return;
  g_object_unref(self->pango);
  g_array_unref(self->piece);
  g_ptr_array_unref(self->pages);
  g_free(self);
}

int
pla_report_pages_count(const PlaReportPages *self)
{
  return (int)self->pages->len;
}

/* ------------------------------------------------------------------ drawing */

static void
ink(cairo_t *cr)
{
  cairo_set_source_rgb(cr, 0.10, 0.13, 0.15);
}

static void
faint_ink(cairo_t *cr)
{
  cairo_set_source_rgb(cr, 0.35, 0.40, 0.43);
}

static void
rule(cairo_t *cr, double x, double y, double width, double grey)
{
  cairo_set_source_rgb(cr, grey, grey, grey);
  cairo_set_line_width(cr, 0.6);
  cairo_move_to(cr, x, y);
  cairo_line_to(cr, x + width, y);
  cairo_stroke(cr);
}

static void
draw_row(const PlaReportPages *self, const PlaBlock *block, int row, double y, double height,
         cairo_t *cr)
{
  double x = MARGIN;
  for (int c = 0; c < block->n_columns; c++) {
    int32_t rgb;
    const char *text = cell_text(block, row, c, &rgb);
    double width = column_width(self, block, c), indent = CELL_PAD;
    if (rgb >= 0) {
      cairo_set_source_rgb(cr, (rgb >> 16 & 255) / 255.0, (rgb >> 8 & 255) / 255.0,
                           (rgb & 255) / 255.0);
      cairo_rectangle(cr, x + CELL_PAD, y + CELL_PAD + 2.0, 8.0, 8.0);
      cairo_fill(cr);
      indent += 12.0;
    }
    ink(cr);
    show(self, cr, cell_face(block, row, c), x + indent, y + CELL_PAD, width - indent - CELL_PAD,
         block->column[c].number ? PANGO_ALIGN_RIGHT : PANGO_ALIGN_LEFT, text);
    x += width;
  }
  rule(cr, MARGIN, y + height, body_width(self), row < 0 ? 0.55 : 0.88);
}

static void
draw_pictures(const PlaReportPages *self, const PlaBlock *block, int row, double y, cairo_t *cr)
{
  const double room = (body_width(self) - GAP * (block->across - 1)) / block->across;
  for (int k = 0; k < block->across; k++) {
    guint i = (guint)(row * block->across + k);
    if (i >= block->picture->len)
      break;
    const PlaReportPicture *picture = &g_array_index(block->picture, PlaReportPicture, i);
    const double x = MARGIN + k * (room + GAP);
    double w, h;
    picture_size(self, block, picture, &w, &h);
    cairo_save(cr);
    cairo_translate(cr, x, y);
    cairo_scale(cr, w / cairo_image_surface_get_width(picture->image),
                h / cairo_image_surface_get_height(picture->image));
    cairo_set_source_surface(cr, picture->image, 0.0, 0.0);
    cairo_pattern_set_filter(cairo_get_source(cr), CAIRO_FILTER_GOOD);
    cairo_paint(cr);
    cairo_restore(cr);
    faint_ink(cr);
    show(self, cr, SMALL, x, y + h + 4.0, room, PANGO_ALIGN_LEFT, picture->caption);
  }
}

static void
draw_piece(const PlaReportPages *self, const Piece *piece, double y, cairo_t *cr)
{
  const PlaBlock *block = piece->block;
  const double width = body_width(self);
  if (!block) {
    const PlaReport *report = self->report;
    ink(cr);
    show(self, cr, TITLE, MARGIN, y, width, PANGO_ALIGN_LEFT, report->heading);
    faint_ink(cr);
    show(self, cr, SMALL, MARGIN, y + text_height(self, TITLE, width, report->heading) + 4.0, width,
         PANGO_ALIGN_LEFT, report->subtitle);
    return;
  }
  ink(cr);
  switch (block->kind) {
  case PLA_BLOCK_HEADING:
    show(self, cr, HEADING, MARGIN, y, width, PANGO_ALIGN_LEFT, block->text);
    rule(cr, MARGIN, y + piece->height - 1.0, width, 0.75);
    break;
  case PLA_BLOCK_TEXT:
    show(self, cr, BODY, MARGIN, y, width, PANGO_ALIGN_LEFT, block->text);
    break;
  case PLA_BLOCK_WARNING:
    cairo_set_source_rgb(cr, 1.0, 0.965, 0.867);
    cairo_rectangle(cr, MARGIN, y, width, piece->height);
    cairo_fill(cr);
    cairo_set_source_rgb(cr, 0.85, 0.64, 0.0);
    cairo_rectangle(cr, MARGIN, y, 3.0, piece->height);
    cairo_fill(cr);
    ink(cr);
    show(self, cr, BODY, MARGIN + 12.0, y + 7.0, width - 20.0, PANGO_ALIGN_LEFT, block->text);
    break;
  case PLA_BLOCK_PICTURES:
    draw_pictures(self, block, piece->row, y, cr);
    break;
  case PLA_BLOCK_TABLE:
    draw_row(self, block, piece->row, y, piece->height, cr);
    break;
  }
}

void
pla_report_pages_draw(const PlaReportPages *self, int page, cairo_t *cr)
{
  const GArray *places = self->pages->pdata[page];
  const double width = body_width(self);
  if (page > 0) {
    faint_ink(cr);
    show(self, cr, SMALL, MARGIN, MARGIN, width, PANGO_ALIGN_LEFT, self->report->heading);
    rule(cr, MARGIN, MARGIN + 14.0, width, 0.85);
  }
  for (guint i = 0; i < places->len; i++) {
    const Place *place = &g_array_index(places, Place, i);
    draw_piece(self, &g_array_index(self->piece, Piece, place->piece), place->y, cr);
  }
  const double y = self->height - MARGIN - 12.0;
  g_autofree char *number =
      g_strdup_printf("Page %d of %d", page + 1, pla_report_pages_count(self));
  rule(cr, MARGIN, y - 5.0, width, 0.85);
  faint_ink(cr);
  show(self, cr, SMALL, MARGIN, y, width - 80.0, PANGO_ALIGN_LEFT, PLA_RESEARCH_LINE);
  show(self, cr, SMALL, MARGIN + width - 80.0, y, 80.0, PANGO_ALIGN_RIGHT, number);
}

/* ---------------------------------------------------------------------- PDF */

static cairo_status_t
append(void *closure, const unsigned char *data, unsigned int size)
{
  return pla_bytes_append(closure, data, size) ? CAIRO_STATUS_SUCCESS : CAIRO_STATUS_NO_MEMORY;
}

/* bookmarks: one for each heading */
static void
add_outline(cairo_surface_t *pdf, const PlaReportPages *self, int page)
{
  const GArray *places = self->pages->pdata[page];
  for (guint i = 0; i < places->len; i++) {
    const Place *place = &g_array_index(places, Place, i);
    const PlaBlock *block = g_array_index(self->piece, Piece, place->piece).block;
    if (block && block->kind == PLA_BLOCK_HEADING) {
      g_autofree char *where =
          g_strdup_printf("page=%d pos=[%.2f %.2f]", page + 1, MARGIN, place->y);
      cairo_pdf_surface_add_outline(pdf, CAIRO_PDF_OUTLINE_ROOT, block->text, where, 0);
    }
  }
}

PlaStatus
pla_report_write_pdf(const PlaReport *report, PlaPaper paper, const char *path, int *n_pages,
                     PlaError *err)
{
  PlaBytes bytes = { 0 };
  PlaReportPages *pages = pla_report_paginate(report, paper);
  cairo_surface_t *pdf =
      cairo_pdf_surface_create_for_stream(append, &bytes, pages->width, pages->height);
  g_autoptr(GDateTime) date = g_date_time_new_from_unix_utc(report->time_ms / 1000);
  g_autofree char *stamp =
      date ? g_date_time_format(date, "%Y-%m-%dT%H:%M:%SZ") : g_strdup("1970-01-01T00:00:00Z");
  cairo_pdf_surface_set_metadata(pdf, CAIRO_PDF_METADATA_TITLE, report->heading);
  cairo_pdf_surface_set_metadata(pdf, CAIRO_PDF_METADATA_SUBJECT, PLA_RESEARCH_LINE);
  cairo_pdf_surface_set_metadata(pdf, CAIRO_PDF_METADATA_CREATOR, "Platysma " PLA_VERSION);
  cairo_pdf_surface_set_metadata(pdf, CAIRO_PDF_METADATA_CREATE_DATE, stamp);
  cairo_pdf_surface_set_metadata(pdf, CAIRO_PDF_METADATA_MOD_DATE, stamp);
  cairo_t *cr = cairo_create(pdf);
  for (int page = 0; page < pla_report_pages_count(pages); page++) {
    pla_report_pages_draw(pages, page, cr);
    add_outline(pdf, pages, page);
    cairo_show_page(cr);
  }
  PlaStatus st = PLA_OK;
  cairo_surface_finish(pdf);
  if (cairo_status(cr) != CAIRO_STATUS_SUCCESS || cairo_surface_status(pdf) != CAIRO_STATUS_SUCCESS)
    st = pla_fail_memory(err, "the report");
  cairo_destroy(cr);
  cairo_surface_destroy(pdf);
  if (st == PLA_OK)
    st = pla_output_write(path, bytes.data, bytes.size, err);
  if (n_pages)
    *n_pages = pla_report_pages_count(pages);
  pla_report_pages_free(pages);
  pla_bytes_clear(&bytes);
  return st;
}
