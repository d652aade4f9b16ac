/* Collects the rows of all items and writes them as one CSV file. */
#include "app/case/case-table.h"

#include "app/base/csv.h"
#include "app/base/quantity.h"
#include "app/content/annotation.h"
#include "io/stream/output.h"

typedef struct {
  GString *csv;
  int n_rows;
} Table;

/* a number in @unit, or none where that is PLA_UNIT_ONE, and a place or NULL */
static void
add_row(Table *table, const PlaStateItem *item, const char *name, const char *quantity,
        double value, PlaUnit unit, const double *at_mm)
{
  GString *csv = table->csv;
  char number[G_ASCII_DTOSTR_BUF_SIZE];
  const char *const texts[] = { item->name, item->kind, name, quantity };
  for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
    pla_csv_put(csv, texts[i]);
    g_string_append_c(csv, ',');
  }
  if (unit != PLA_UNIT_ONE)
    g_string_append(csv, g_ascii_dtostr(number, sizeof number, value));
  g_string_append_printf(csv, ",%s", pla_unit_suffix(unit));
  for (int d = 0; d < 3; d++)
    g_string_append_printf(csv, ",%s",
                           at_mm ? g_ascii_dtostr(number, sizeof number, at_mm[d]) : "");
  g_string_append_c(csv, '\n');
  table->n_rows++;
}

static void
add_labels(Table *table, const PlaStateItem *item, const PlaLabelMap *map)
{
  g_autofree size_t *counts = g_new(size_t, 65536);
  pla_label_map_count(map, counts);
  for (int i = 0; i < map->table.n; i++) {
    const PlaLabel *label = &map->table.label[i];
    add_row(table, item, label->name, "volume",
            (double)counts[label->id] * pla_volume_voxel_mm3(map->volume), PLA_UNIT_MM3, NULL);
  }
}

static PlaStatus
add_mesh(Table *table, const PlaStateItem *item, const PlaMesh *mesh, PlaError *err)
{
  PlaMeshSummary sum;
  PlaStatus st = pla_mesh_summary(mesh, &sum, err);
  if (st != PLA_OK)
    return st;
  if (mesh->n_tets + mesh->n_hexes > 0 || sum.closed)
    add_row(table, item, item->name, "volume",
            pla_unit_convert(sum.volume_m3, PLA_UNIT_M3, PLA_UNIT_MM3), PLA_UNIT_MM3, NULL);
  if (mesh->n_tris > 0)
    add_row(table, item, item->name, "area",
            pla_unit_convert(sum.area_m2, PLA_UNIT_M2, PLA_UNIT_MM2), PLA_UNIT_MM2, NULL);
  if (mesh->n_tets > 0)
    add_row(table, item, item->name, "smallest dihedral angle", sum.min_dihedral_deg, PLA_UNIT_DEG,
            NULL);
  return PLA_OK;
}

static void
add_annotation(Table *table, const PlaStateItem *item, const PlaAnnotation *note)
{
  static const PlaUnit units[] = { [PLA_ANNOTATION_DISTANCE] = PLA_UNIT_MM,
                                   [PLA_ANNOTATION_ANGLE] = PLA_UNIT_DEG,
                                   [PLA_ANNOTATION_PATH] = PLA_UNIT_MM,
                                   [PLA_ANNOTATION_VOLUME] = PLA_UNIT_MM3,
                                   [PLA_ANNOTATION_NOTE] = PLA_UNIT_ONE };
  const char *what = pla_annotation_kind_name(note->kind);
  if (units[note->kind] != PLA_UNIT_ONE)
    add_row(table, item, item->name, what, note->value, units[note->kind], NULL);
  for (int p = 0; p < note->n_points; p++)
    add_row(table, item, item->name, "point", 0.0, PLA_UNIT_ONE, note->point_mm + 3 * p);
}

PlaStatus
pla_table_write_csv(PlaSession *session, const char *path, PlaProgress *progress, int *n_rows,
                    PlaError *err)
{
  const PlaState *state = pla_session_get_state(session);
  Table table = { .csv = g_string_new("item,kind,name,quantity,value,unit,x_mm,y_mm,z_mm\n") };
  PlaStatus st = PLA_OK;
  for (int i = 0; st == PLA_OK && i < state->n; i++) {
    const PlaStateItem *item = &state->item[i];
    g_autoptr(PlaContent) content = NULL;
    PlaAnnotation note;
    if (!pla_progress_phase(progress, "Collecting numbers", (i + 1.0) / state->n))
      st = pla_fail_cancelled(err);
    PlaProgressSpan span = pla_progress_push(progress);
    if (st == PLA_OK)
      st = pla_session_load(session, item->item, progress, &content, err);
    pla_progress_pop(progress, span);
    if (st != PLA_OK)
      break;
    if (content->labels) {
      add_labels(&table, item, content->labels);
    } else if (content->mesh) {
      st = add_mesh(&table, item, content->mesh, err);
    } else if (pla_annotation_read(content, &note)) {
      add_annotation(&table, item, &note);
      pla_annotation_clear(&note);
    }
  }
  if (st == PLA_OK && table.n_rows == 0)
    st = pla_fail(err, PLA_ERR_EMPTY,
                  "the case has no tissues, meshes or measurements to put into a table");
  if (st == PLA_OK)
    st = pla_output_write(path, table.csv->str, table.csv->len, err);
  if (n_rows)
    *n_rows = table.n_rows;
  g_string_free(table.csv, TRUE);
  return st;
}
