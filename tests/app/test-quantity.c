/* The table of quantities: every row, conversions, ranges, and that nothing in the product states a
 * unit or a colour map of its own beside it. */
#include "app/show/field-view.h"
#include "app/show/picture.h"

#include <float.h>
#include <glib.h>
#include <math.h>
#include <string.h>

/* ------------------------------------------------------------------- units */

static void
test_units(void)
{
  for (int u = 0; u < PLA_N_UNITS; u++) {
    const PlaUnit unit = (PlaUnit)u, si = pla_unit_si(unit);
    g_autofree char *key = g_strdup_printf("largest_%s", pla_unit_suffix(unit));
    g_assert_nonnull(pla_unit_symbol(unit));
    g_assert_true(pla_unit_si(si) == si);
    g_assert_cmpfloat(pla_unit_convert(1.0, unit, unit), ==, 1.0);
    g_assert_true(isfinite(pla_unit_convert(1.0, unit, si)));
    g_assert_true(pla_unit_of_key(key) == unit);
    for (int v = 0; v < u; v++) {
      g_assert_cmpstr(pla_unit_symbol(unit), !=, pla_unit_symbol((PlaUnit)v));
      g_assert_cmpstr(pla_unit_suffix(unit), !=, pla_unit_suffix((PlaUnit)v));
      /* there and back */
      if (pla_unit_si((PlaUnit)v) == si) {
        const double there = pla_unit_convert(0.7, unit, (PlaUnit)v);
        g_assert_cmpfloat_with_epsilon(pla_unit_convert(there, (PlaUnit)v, unit), 0.7, 4e-16);
      }
    }
  }
  const struct {
    double value;
    PlaUnit from, to;
    double expected;
  } known[] = {
    { 0.0125, PLA_UNIT_M, PLA_UNIT_MM, 12.5 },     { 2500.0, PLA_UNIT_PA, PLA_UNIT_KPA, 2.5 },
    { 125.0, PLA_UNIT_MM3, PLA_UNIT_ML, 0.125 },   { 3.0, PLA_UNIT_CM2, PLA_UNIT_MM2, 300.0 },
    { 2.0, PLA_UNIT_ML, PLA_UNIT_MM3, 2000.0 },    { 250.0, PLA_UNIT_MS, PLA_UNIT_S, 0.25 },
    { 0.5, PLA_UNIT_ONE, PLA_UNIT_PERCENT, 50.0 }, { 4.0, PLA_UNIT_KG, PLA_UNIT_G, 4000.0 }
  };
  for (size_t i = 0; i < G_N_ELEMENTS(known); i++)
    g_assert_cmpfloat(pla_unit_convert(known[i].value, known[i].from, known[i].to), ==,
                      known[i].expected);
  g_assert_cmpfloat_with_epsilon(pla_unit_convert(G_PI, PLA_UNIT_RAD, PLA_UNIT_DEG), 180.0, 1e-12);
}

/* keys say their unit; what is written is what a factor of 1000 by hand gave, to the bit */
static void
test_keys(void)
{
  g_autoptr(GRand) rand = g_rand_new_with_seed(3);
  g_assert_true(pla_unit_of_key("density_kg_m3") == PLA_UNIT_ONE);
  g_assert_true(pla_unit_of_key("gravity_m_s2") == PLA_UNIT_ONE);
  g_assert_true(pla_unit_of_key("iterations") == PLA_UNIT_ONE);
  g_assert_true(pla_unit_of_key("mm") == PLA_UNIT_ONE);
  g_assert_true(pla_unit_of_key("specimen_mm3") == PLA_UNIT_MM3);
  for (int i = 0; i < 10000; i++) {
    const double x = g_rand_double_range(rand, -3.0, 3.0);
    g_assert_cmpfloat(pla_key_value("rms_mm", x), ==, 1000.0 * x);
    g_assert_cmpfloat(pla_key_value("area_mm2", x), ==, 1e6 * x);
    g_assert_cmpfloat(pla_key_value("volume_mm3", x), ==, 1e9 * x);
    g_assert_cmpfloat(pla_key_value("pressure_kpa", x), ==, x / 1000.0);
    g_assert_cmpfloat(pla_key_value("force_n", x), ==, x);
    g_assert_cmpfloat(pla_key_value("stretch", x), ==, x);
  }
}

/* -------------------------------------------------------------- quantities */

static void
test_rows(void)
{
  for (int q = 0; q < PLA_N_QUANTITIES; q++) {
    const PlaQuantityId id = (PlaQuantityId)q;
    const PlaQuantity *row = pla_quantity_get(id);
    g_assert_nonnull(row->id);
    for (int p = 0; p < q; p++)
      g_assert_cmpstr(row->id, !=, pla_quantity_get((PlaQuantityId)p)->id);
    g_test_message("%s", row->id);
    g_assert_true(row->label && g_ascii_isupper(row->label[0]));
    g_assert_true(row->about && g_str_has_suffix(row->about, ".") && strlen(row->about) > 15);
    g_assert_cmpint(row->unit, <, PLA_N_UNITS);
    g_assert_cmpint(row->map, <, PLA_N_MAPS);
    g_assert_cmpint(row->digits, >=, row->significant ? 1 : 0);
    g_assert_cmpint(row->digits, <=, 6);
    /* the colour map has the kind of the quantity: two arms where there is a middle */
    const bool centred = row->rule == PLA_RANGE_CENTRED || row->rule == PLA_RANGE_FIXED_CENTRED;
    g_assert_true(centred == (row->map == PLA_MAP_DIVERGING));
    if (row->rule == PLA_RANGE_FIXED || row->rule == PLA_RANGE_FIXED_CENTRED)
      g_assert_cmpfloat(row->limit, >, 0.0);

    /* what is printed reads back to half a unit of its last digit, in the unit that stands there */
    const double si = pla_unit_convert(12.3456789, row->unit, pla_unit_si(row->unit));
    g_autofree char *text = pla_quantity_text(id, si, pla_unit_si(row->unit));
    g_autofree char *number = pla_quantity_number(id, 12.3456789, row->unit);
    char *end;
    const double back = g_ascii_strtod(text, &end);
    const int decimals = row->significant ? row->digits - 2 : row->digits;
    g_assert_true(g_str_has_prefix(text, number));
    g_assert_cmpfloat(fabs(back - 12.3456789), <=, 0.5 * pow(10.0, -decimals) + 1e-12);
    g_assert_cmpstr(end + (*end == ' '), ==, pla_unit_symbol(row->unit));
    g_autofree char *none = pla_quantity_text(id, NAN, row->unit);
    g_assert_cmpstr(none, ==, "–");
  }
}

static void
test_words(void)
{
  const double size[3] = { 0.001, 0.0205, 0.3 };
  const struct {
    char *text;
    const char *expected;
  } cases[] = {
    { pla_quantity_text(PLA_QUANTITY_VON_MISES, 2345.0, PLA_UNIT_PA), "2.35 kPa" },
    { pla_quantity_text(PLA_QUANTITY_ANGLE, 12.5, PLA_UNIT_DEG), "12.50°" },
    { pla_quantity_text(PLA_QUANTITY_SKIN_STRETCH, 0.3, PLA_UNIT_ONE), "30 %" },
    { pla_quantity_text(PLA_QUANTITY_STRETCH, 1.25, PLA_UNIT_ONE), "1.25" },
    { pla_quantity_text(PLA_QUANTITY_VOLUME, 125.0, PLA_UNIT_MM3), "0.125 ml" },
    { pla_quantity_text(PLA_QUANTITY_FREQUENCY, 44100.0, PLA_UNIT_HZ), "44100 Hz" },
    { pla_quantity_size_text(PLA_QUANTITY_TOOL, size, PLA_UNIT_M), "1.0 × 20.5 × 300.0 mm" },
    { pla_quantity_heading("Area", PLA_UNIT_CM2), "Area, cm²" },
    { pla_quantity_heading("Ratio", PLA_UNIT_ONE), "Ratio" },
    { pla_quantity_row_title("_Threshold", PLA_UNIT_KPA), "_Threshold (kPa)" },
  };
  for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_assert_cmpstr(cases[i].text, ==, cases[i].expected);
    g_free(cases[i].text);
  }
}

/* 1000 values from 0.1 to 100, and two that are far out: the rules against their definitions */
static void
test_ranges(void)
{
  enum { N = 1002 };
  double value[N], lo, hi;
  for (int i = 0; i < N - 2; i++)
    value[(7 * i) % (N - 2)] = 0.1 * (i + 1);
  value[N - 2] = 1e9;
  value[N - 1] = NAN;
  for (int q = 0; q < PLA_N_QUANTITIES; q++) {
    const PlaQuantity *row = pla_quantity_get((PlaQuantityId)q);
    pla_quantity_range(row, value, N, &lo, &hi);
    switch (row->rule) {
    case PLA_RANGE_SPREAD:
      g_assert_cmpfloat_with_epsilon(lo, 0.6, 1e-12);
      g_assert_cmpfloat_with_epsilon(hi, 99.6, 1e-12);
      break;
    case PLA_RANGE_FROM_ZERO:
      g_assert_cmpfloat(lo, ==, 0.0);
      g_assert_cmpfloat_with_epsilon(hi, 99.6, 1e-12);
      break;
    case PLA_RANGE_CENTRED:
      g_assert_cmpfloat_with_epsilon(hi, 99.6, 1e-12);
      g_assert_cmpfloat_with_epsilon(0.5 * (lo + hi), row->centre, 1e-12);
      break;
    case PLA_RANGE_FIXED:
      g_assert_cmpfloat(lo, ==, 0.0);
      g_assert_cmpfloat(hi, ==, row->limit);
      break;
    case PLA_RANGE_FIXED_CENTRED:
      g_assert_cmpfloat(lo, ==, row->centre - row->limit);
      g_assert_cmpfloat(hi, ==, row->centre + row->limit);
      break;
    }
    /* nothing, one value, only what is no number, the largest there are */
    const double odd[] = { -4.0, INFINITY, NAN, DBL_MAX, -DBL_MAX };
    for (size_t i = 0; i <= G_N_ELEMENTS(odd); i++) {
      pla_quantity_range(row, odd, i, &lo, &hi);
      g_assert_true(isfinite(lo) && isfinite(hi) && isfinite(hi - lo) && hi > lo);
    }
    pla_quantity_range_to(row, 7.0, &lo, &hi);
    g_assert_cmpfloat(hi, ==, row->map == PLA_MAP_DIVERGING ? row->centre + 7.0 : 7.0);
    g_assert_cmpfloat(lo, ==, row->map == PLA_MAP_DIVERGING ? row->centre - 7.0 : 0.0);
  }
}

/* ----------------------------------------------------------------- legends */

/* a row of tets with every field that a view knows */
static PlaMesh *
mesh_new(void)
{
  enum { N = 400 };
  PlaMesh *mesh = NULL;
  PlaError err;
  g_assert_cmpint(pla_mesh_new(N + 3, 0, N, 0, &mesh, &err), ==, PLA_OK);
  for (int v = 0; v < mesh->n_verts; v++) {
    mesh->pos[3 * v] = 0.001 * v;
    mesh->pos[3 * v + 1] = 0.003 * (v % 2);
    mesh->pos[3 * v + 2] = 0.003 * (v / 2 % 2);
  }
  for (int t = 0; t < N; t++)
    for (int k = 0; k < 4; k++)
      mesh->tet[4 * t + k] = t + k;
  int n_views;
  const PlaFieldView *views = pla_field_views_get(&n_views);
  for (int i = 0; i < n_views; i++) {
    if (!views[i].field)
      continue;
    const int wide = views[i].magnitude ? 3 : 1;
    double *data = pla_mesh_add_field(mesh, views[i].field, views[i].place, PLA_F64, wide);
    g_assert_nonnull(data);
    const size_t n =
        views[i].place == PLA_ON_VERTS ? (size_t)mesh->n_verts : pla_mesh_n_cells(mesh);
    for (size_t k = 0; k < n * (size_t)wide; k++)
      data[k] = k == 5 ? 1e6 : 3.0 + 40.0 * sin(0.37 * (double)k);
  }
  return mesh;
}

/* The window draws pla_legend_init() of the entry's range, which is pla_field_view_range(); reports
 * and pictures draw the legend of their stage: unit, range and colours are the same. */
static void
test_legends(void)
{
  PlaMesh *mesh = mesh_new();
  PlaStage *stage = NULL;
  PlaError err;
  int n_views, shape;
  const PlaSurfaceLook look = { .rgb = { 0.8, 0.8, 0.8 }, .opacity = 1.0 };
  const PlaFieldView *views = pla_field_views_get(&n_views);
  g_assert_cmpint(pla_stage_new(&stage, &err), ==, PLA_OK);
  g_assert_cmpint(pla_stage_add_mesh(stage, mesh, &look, &shape, &err), ==, PLA_OK);
  for (int i = 0; i < n_views; i++) {
    const PlaQuantity *row = pla_quantity_get(views[i].quantity);
    PlaLegend window;
    uint8_t rgb[256 * 3];
    size_t n;
    double lo, hi;
    g_test_message("%s", views[i].id);
    g_assert_cmpstr(views[i].id, ==, row->id);
    g_assert_true(pla_field_view_suits(&views[i], mesh));
    /* a field whose name says its unit is read in it */
    if (views[i].field && pla_unit_of_key(views[i].field) != PLA_UNIT_ONE)
      g_assert_true(pla_unit_of_key(views[i].field) == views[i].unit);
    g_assert_true(pla_unit_si(views[i].unit) == pla_unit_si(row->unit));
    g_autofree double *value = pla_field_view_values(&views[i], mesh, &n);
    pla_field_view_range(&views[i], value, n, &lo, &hi);
    pla_legend_init(&window, views[i].quantity, lo, hi);
    g_assert_cmpint(pla_stage_show_field(stage, shape, mesh, &views[i], &err), ==, PLA_OK);
    const PlaLegend *report = pla_stage_get_legend(stage);
    g_assert_true((report == NULL) == views[i].tissue);
    if (!report)
      continue;
    g_assert_cmpstr(report->unit, ==, window.unit);
    g_assert_cmpstr(report->label, ==, window.label);
    g_assert_cmpfloat(report->lo, ==, window.lo);
    g_assert_cmpfloat(report->hi, ==, window.hi);
    g_assert_cmpmem(report->rgb, sizeof report->rgb, window.rgb, sizeof window.rgb);
    pla_colour_map_table(row->map, rgb);
    g_assert_cmpmem(report->rgb, sizeof report->rgb, rgb, sizeof rgb);
  }
  /* von Mises stress, which had drifted: kPa, cream to red, without the outermost half percent */
  g_assert_cmpint(pla_stage_show_field(stage, shape, mesh, pla_field_view_find("von-mises"), &err),
                  ==, PLA_OK);
  const PlaLegend *legend = pla_stage_get_legend(stage);
  g_assert_cmpstr(legend->unit, ==, "kPa");
  g_assert_cmpfloat(legend->hi, <, 0.0431);
  g_assert_cmpfloat(legend->hi, >, 0.0425);
  g_assert_true(legend->rgb[0] > 220 && legend->rgb[2] > 180);                /* cream */
  g_assert_true(legend->rgb[3 * 255] > 100 && legend->rgb[3 * 255 + 1] < 40); /* red */
  pla_stage_free(stage);
  pla_mesh_free(mesh);
}

/* `operate` of version 0.1.0 calls its field "displacement": it is shown as well */
static void
test_other_name(void)
{
  const PlaFieldView *view = pla_field_view_find("displacement");
  PlaMesh *mesh = NULL;
  PlaError err;
  size_t n;
  g_assert_cmpint(pla_mesh_new(2, 0, 0, 0, &mesh, &err), ==, PLA_OK);
  g_assert_false(pla_field_view_suits(view, mesh));
  double *moved = pla_mesh_add_field(mesh, "displacement", PLA_ON_VERTS, PLA_F64, 3);
  for (int i = 0; i < 6; i++)
    moved[i] = i == 1 ? 3.0 : i == 2 ? 4.0 : 0.0;
  g_assert_true(pla_field_view_suits(view, mesh));
  g_autofree double *value = pla_field_view_values(view, mesh, &n);
  g_assert_cmpuint(n, ==, 2);
  g_assert_cmpfloat(value[0], ==, 5.0);
  pla_mesh_free(mesh);
}

/* ----------------------------------------------------------------- sources */

typedef struct {
  int n_files;
  GString *found;
  GRegex *comments, *kpa, *by_hand, *numbers;
} Search;

/* a regular expression of all symbols, longest first */
static char *
symbols(void)
{
  static const char *const order[] = { "mm³", "mm²", "cm²", "kPa", "mm", "cm", "ml",
                                       "ms",  "Pa",  "Hz",  "kg",  "m",  "N",  "J",
                                       "g",   "s",   "°",   "m²",  "m³", "rad" };
  for (int u = 0; u < PLA_N_UNITS; u++)
    if ((PlaUnit)u != PLA_UNIT_ONE && (PlaUnit)u != PLA_UNIT_PERCENT) {
      bool known = false;
      for (size_t i = 0; i < G_N_ELEMENTS(order); i++)
        known = known || strcmp(order[i], pla_unit_symbol((PlaUnit)u)) == 0;
      g_assert_true(known);
    }
  g_autoptr(GString) out = g_string_new(NULL);
  for (size_t i = 0; i < G_N_ELEMENTS(order); i++)
    g_string_append_printf(out, "%s%s", i ? "|" : "", order[i]);
  return g_string_free(g_steal_pointer(&out), FALSE);
}

/* sentences of the command line and settings of operations name units in words */
static bool
may_name_units(const char *path)
{
  static const char *const rooms[] = { "/app/cli/", "/app/bench/", "/app/verbs/", NULL };
  for (int r = 0; rooms[r]; r++)
    if (strstr(path, rooms[r]))
      return true;
  return false;
}

/* where the statement around @at begins: behind a line that ends one */
static const char *
statement(const char *text, const char *at)
{
  while (at > text && !(*at == '\n' && strchr(";{}", at[-1])))
    at--;
  return at;
}

static void
search_source(Search *self, const char *path, const char *source)
{
  static const char *const own[] = { "app/base/quantity.c", "app/base/quantity.h",
                                     "app/base/colour-map.c", "app/base/colour-map.h", NULL };
  self->n_files++;
  for (int i = 0; own[i]; i++)
    if (g_str_has_suffix(path, strrchr(own[i], '/')))
      return;
  g_autofree char *text = g_regex_replace_literal(self->comments, source, -1, 0, "", 0, NULL);
  g_assert_nonnull(text);
  /* colour maps */
  if (strstr(text, "PLA_MAP_"))
    g_string_append_printf(self->found, "%s names a colour map\n", path);
  /* stress and pressure are shown in one unit only */
  if (g_regex_match(self->kpa, text, 0, NULL))
    g_string_append_printf(self->found, "%s names kPa\n", path);
  /* a key says its unit, and the table converts to it: pla_json_si(), pla_json_set_si() */
  if (g_regex_match(self->by_hand, text, 0, NULL))
    g_string_append_printf(self->found, "%s converts a number for JSON, or names a track's unit\n",
                           path);
  if (may_name_units(path))
    return;
  /* "%.2f mm" and "Length (mm)", except in sentences of errors */
  g_autoptr(GMatchInfo) match = NULL;
  for (g_regex_match(self->numbers, text, 0, &match); g_match_info_matches(match);
       g_match_info_next(match, NULL)) {
    int start;
    g_autofree char *word = g_match_info_fetch(match, 0);
    g_match_info_fetch_pos(match, 0, &start, NULL);
    const char *begin = statement(text, text + start);
    g_autofree char *before = g_strndup(begin, (gsize)(text + start - begin));
    if (!strstr(before, "fail(") && !strstr(before, "fail_within("))
      g_string_append_printf(self->found, "%s writes %s\n", path, word);
  }
}

/* Units and colour maps of quantities stand in the table alone. */
static void
test_one_table(void)
{
  static const char *const rooms[] = { "app", "ui", NULL };
  g_autofree char *root = g_test_build_filename(G_TEST_DIST, "..", NULL);
  g_autofree char *units = symbols();
  g_autofree char *pattern = g_strdup_printf(
      "%%[-+ 0-9.*]*[efg] ?(%s)(?![\\w²³])|\"[^\"\\n]*[^\"\\n%%][,(] ?\\(?(%s)\\)?\"", units,
      units);
  g_autoptr(GPtrArray) folders = g_ptr_array_new_with_free_func(g_free);
  Search search = {
    .found = g_string_new(NULL),
    .comments = g_regex_new("/\\*.*?\\*/", G_REGEX_DOTALL, 0, NULL),
    .kpa = g_regex_new("\\bkPa\\b", 0, 0, NULL),
    .by_hand =
        g_regex_new("(pla_json_number|set_double_member)\\([^;\"]*\"\\w+_(mm[23]?|k?pa|n|g|ml)\","
                    "\\s*(1000\\.0|1e-?[0-9]) \\*|unit\\[\\w+\\] = \\w+\\(\"[a-z]",
                    0, 0, NULL),
    .numbers = g_regex_new(pattern, 0, 0, NULL)
  };
  g_assert_nonnull(search.numbers);
  for (int r = 0; rooms[r]; r++)
    g_ptr_array_add(folders, g_build_filename(root, rooms[r], NULL));
  for (guint f = 0; f < folders->len; f++) {
    g_autoptr(GDir) dir = g_dir_open(folders->pdata[f], 0, NULL);
    g_assert_nonnull(dir);
    for (const char *name; (name = g_dir_read_name(dir));) {
      g_autofree char *path = g_build_filename(folders->pdata[f], name, NULL), *text = NULL;
      if (g_file_test(path, G_FILE_TEST_IS_DIR))
        g_ptr_array_add(folders, g_steal_pointer(&path));
      else if ((g_str_has_suffix(name, ".c") || g_str_has_suffix(name, ".h") ||
                g_str_has_suffix(name, ".cpp")) &&
               g_file_get_contents(path, &text, NULL, NULL))
        search_source(&search, path, text);
    }
  }
  g_assert_cmpint(search.n_files, >, 250);
  if (search.found->len > 0)
    g_error("ask app/base/quantity.h instead:\n%s", search.found->str);
  g_string_free(search.found, TRUE);
  g_regex_unref(search.comments);
  g_regex_unref(search.kpa);
  g_regex_unref(search.by_hand);
  g_regex_unref(search.numbers);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/quantity/units", test_units);
  g_test_add_func("/quantity/keys", test_keys);
  g_test_add_func("/quantity/rows", test_rows);
  g_test_add_func("/quantity/words", test_words);
  g_test_add_func("/quantity/ranges", test_ranges);
  g_test_add_func("/quantity/legends", test_legends);
  g_test_add_func("/quantity/other-name", test_other_name);
  g_test_add_func("/quantity/one-table", test_one_table);
  return g_test_run();
}
