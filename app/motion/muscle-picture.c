/* Muscles drawn: streamlines as tubes, each muscle in its colour, over bones. */
#include "app/motion/muscles.h"
#include "app/show/picture.h"

#include <math.h>
#include <string.h>

#define LINE_MM 0.5 /* radius of a streamline */

/* colours far apart for neighbours in the list; left and right are neighbours and share one */
static void
muscle_colour(const PlaMuscleList *list, int m, double rgb[3])
{
  int index = 0;
  const char *last = NULL;
  size_t n_last = 0;
  for (int i = 0; i <= m; i++) {
    const char *name = list->muscle[i].name, *comma = strrchr(name, ',');
    const bool sided = comma && (strcmp(comma, ", left") == 0 || strcmp(comma, ", right") == 0);
    const size_t n = sided ? (size_t)(comma - name) : strlen(name);
    if (last && (n != n_last || strncmp(name, last, n) != 0))
      index++;
    last = name;
    n_last = n;
  }
  const double hue = fmod(0.02 + index * 0.61803398875, 1.0) * 6.0, low = index % 2 ? 0.25 : 0.42;
  for (int c = 0; c < 3; c++) {
    const double k = fmod(hue + (c == 0 ? 0.0 : c == 1 ? 4.0 : 2.0), 6.0);
    const double ramp = fmin(fmax(fabs(k - 3.0) - 1.0, 0.0), 1.0);
    rgb[c] = low + (0.95 - low) * ramp;
  }
}

static PlaStatus
add_muscle(PlaStage *stage, const PlaMuscleSet *set, int m, const double *pos, PlaError *err)
{
  g_autoptr(GArray) start = g_array_new(FALSE, FALSE, sizeof(int));
  g_autoptr(GArray) point = g_array_new(FALSE, FALSE, sizeof(int));
  for (int l = 0; l < set->n_lines; l++) {
    if (set->line_muscle[l] != m)
      continue;
    g_array_append_val(start, point->len);
    for (int p = set->line_start[l]; p < set->line_start[l + 1]; p++)
      g_array_append_val(point, p);
  }
  g_array_append_val(start, point->len);
  if (start->len == 1)
    return PLA_OK;
  const PlaSceneLines lines = { .n_points = set->point.n_points,
                                .n_lines = (int)start->len - 1,
                                .pos = pos,
                                .to_mm = 1000.0,
                                .start = (const int *)(void *)start->data,
                                .point = (const int *)(void *)point->data };
  double rgb[3];
  muscle_colour(&set->list, m, rgb);
  return pla_stage_add_lines(stage, &lines, LINE_MM, rgb, err);
}

PlaStatus
pla_muscle_picture(const PlaMuscleSet *set, const PlaTetMesh *mesh, const PlaLabelMap *labels,
                   const PlaPictureOptions *opts, const char *path, PlaError *err)
{
  PlaStage *stage = NULL;
  cairo_surface_t *image = NULL;
  g_autofree double *pos = g_try_new(double, 3 * (size_t)set->point.n_points + 1);
  if (!pos)
    return pla_fail_memory(err, "the fibres");
  pla_embedding_apply(&set->point, mesh->tet, mesh->rest, pos);
  PlaStatus st = pla_stage_new(&stage, err);
  for (int b = 0; b < set->n_bones && labels && st == PLA_OK; b++) {
    const PlaLabel *label = pla_label_table_find_name(&labels->table, set->bone[b]);
    if (!label)
      continue;
    const PlaSurfaceLook look = { .n_ids = 1,
                                  .ids = &label->id,
                                  .rgb = { 0.93, 0.89, 0.80 },
                                  .opacity = 1.0,
                                  .finish = PLA_FINISH_BONE };
    st = pla_stage_add_labels(stage, labels, &look, opts->progress, NULL, err);
  }
  for (int m = 0; m < set->list.n && st == PLA_OK; m++)
    st = add_muscle(stage, set, m, pos, err);
  if (st == PLA_OK)
    st = pla_stage_draw(stage, opts, &image, err);
  if (st == PLA_OK)
    st = pla_picture_write_surface(path, image, err);
  if (image)
    cairo_surface_destroy(image);
  pla_stage_free(stage);
  return st;
}
