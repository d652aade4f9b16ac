/* Descriptions of muscles, and those of the phantoms. */
#include "anatomy/base/memory.h"
#include "anatomy/muscle/muscle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const pla_fibre_methods[] = { "potential", "spline", "lines", "vectors", NULL };

static void
muscle_clear(PlaMuscle *m)
{
  for (int h = 0; h < m->n_heads; h++) {
    PlaMuscleHead *head = &m->head[h];
    free(head->origin);
    free(head->insertion);
    free(head->pos_mm);
    free(head->half_width_mm);
    free(head->half_thick_mm);
    free(head->normal);
  }
  free(m->name);
  free(m->head);
  free(m->tendon);
}

void
pla_muscle_list_clear(PlaMuscleList *self)
{
  for (int m = 0; m < self->n; m++)
    muscle_clear(&self->muscle[m]);
  free(self->muscle);
  memset(self, 0, sizeof *self);
}

PlaMuscle *
pla_muscle_list_add(PlaMuscleList *self, const char *name)
{
  char *copy = pla_strdup(name);
  if (!copy ||
      !pla_array_resize((void **)&self->muscle, (size_t)self->n + 1, sizeof *self->muscle)) {
    free(copy);
    return NULL;
  }
  PlaMuscle *m = &self->muscle[self->n++];
  *m = (PlaMuscle){ .name = copy, .peak_stress_pa = PLA_MUSCLE_STRESS_PA };
  return m;
}

PlaMuscleHead *
pla_muscle_add_head(PlaMuscle *self, const char *origin, const char *insertion, int n_points)
{
  if (!pla_array_resize((void **)&self->head, (size_t)self->n_heads + 1, sizeof *self->head))
    return NULL;
  PlaMuscleHead *h = &self->head[self->n_heads++];
  *h = (PlaMuscleHead){ .origin = pla_strdup(origin),
                        .insertion = pla_strdup(insertion),
                        .n_points = n_points };
  if (n_points > 0) {
    h->pos_mm = pla_array_new0(3 * (size_t)n_points, sizeof *h->pos_mm);
    h->half_width_mm = pla_array_new0((size_t)n_points, sizeof *h->half_width_mm);
    h->half_thick_mm = pla_array_new0((size_t)n_points, sizeof *h->half_thick_mm);
    h->normal = pla_array_new0(3 * (size_t)n_points, sizeof *h->normal);
  }
  return h->origin && h->insertion &&
                 (n_points == 0 || (h->pos_mm && h->half_width_mm && h->half_thick_mm && h->normal))
             ? h
             : NULL;
}

/* the bone as it is called on the muscle's side: "styloid process" may be two labels */
static void
bone_on_side(const PlaPhantom *phantom, const char *bone, PlaSide side, char *name, size_t size)
{
  snprintf(name, size, "%s", bone);
  if (!phantom->labels || bone[0] == '\0' ||
      pla_label_table_find_name(&phantom->labels->table, bone))
    return;
  char sided[128];
  snprintf(sided, sizeof sided, "%s, %s", bone, side == PLA_SIDE_LEFT ? "left" : "right");
  if (pla_label_table_find_name(&phantom->labels->table, sided))
    snprintf(name, size, "%s", sided);
}

PlaStatus
pla_muscle_list_from_phantom(const PlaPhantom *phantom, PlaMuscleList *out, PlaError *err)
{
  memset(out, 0, sizeof *out);
  if (phantom->n_muscles == 0)
    return pla_fail(err, PLA_ERR_EMPTY, "This phantom has no muscles; head, tongue and arm do.");
  bool memory = true;
  for (int i = 0; i < phantom->n_muscles && memory; i++) {
    const PlaPhantomMuscle *from = &phantom->muscle[i];
    char name[160];
    snprintf(name, sizeof name, "%s%s", from->name,
             from->side == PLA_SIDE_RIGHT  ? ", right"
             : from->side == PLA_SIDE_LEFT ? ", left"
                                           : "");
    PlaMuscle *m = pla_muscle_list_add(out, name);
    memory = m != NULL;
    if (!memory)
      break;
    m->label = from->label;
    m->peak_stress_pa = from->stress_factor * PLA_MUSCLE_STRESS_PA;
    for (int p = 0; p < from->n_paths && memory; p++) {
      const PlaPhantomPath *path = &from->path[p];
      char origin[128], insertion[128];
      bone_on_side(phantom, path->origin, from->side, origin, sizeof origin);
      bone_on_side(phantom, path->insertion, from->side, insertion, sizeof insertion);
      PlaMuscleHead *h = pla_muscle_add_head(m, origin, insertion, path->n_points);
      memory = h != NULL;
      if (!memory)
        break;
      const size_t n = (size_t)path->n_points;
      memcpy(h->pos_mm, path->pos_mm, 3 * n * sizeof *h->pos_mm);
      memcpy(h->half_width_mm, path->half_width_mm, n * sizeof *h->half_width_mm);
      memcpy(h->half_thick_mm, path->half_thick_mm, n * sizeof *h->half_thick_mm);
      memcpy(h->normal, path->normal, 3 * n * sizeof *h->normal);
    }
  }
  if (memory)
    return PLA_OK;
  pla_muscle_list_clear(out);
  return pla_fail_memory(err, "the muscles of a phantom");
}
