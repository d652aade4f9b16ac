/* Collects the colliders of a body (phantom teeth, surfaces of the user) and hands them to its
 * contact terms. */
#include "app/motion/surroundings.h"

#include "sim/bodies/face-teeth.h"

#include <string.h>

static void
free_collider(gpointer collider)
{
  pla_collider_free(collider);
}

void
pla_surroundings_init(PlaSurroundings *self)
{
  *self = (PlaSurroundings){ .colliders = g_ptr_array_new_with_free_func(free_collider),
                             .with_jaw = g_byte_array_new() };
}

void
pla_surroundings_clear(PlaSurroundings *self)
{
  g_clear_pointer(&self->colliders, g_ptr_array_unref);
  g_clear_pointer(&self->with_jaw, g_byte_array_unref);
  g_clear_pointer(&self->among, g_free);
}

static void
take_collider(PlaSurroundings *self, PlaCollider *collider, bool jaw)
{
  const guint8 with_jaw = jaw;
  g_ptr_array_add(self->colliders, collider);
  g_byte_array_append(self->with_jaw, &with_jaw, 1);
}

PlaStatus
pla_surroundings_add(PlaSurroundings *self, const PlaMesh *surface, bool jaw, PlaError *err)
{
  PlaCollider *collider = NULL;
  PlaStatus st = pla_collider_new_surface(surface, &collider, err);
  if (st == PLA_OK)
    take_collider(self, collider, jaw);
  return st;
}

PlaStatus
pla_surroundings_finish(PlaSurroundings *self, const PlaActiveBody *body, bool parts,
                        PlaProgress *progress, PlaError *err)
{
  const bool face = g_strcmp0(body->phantom, "face") == 0,
             mouth = face && self->colliders->len == 0;
  const unsigned char *hold = pla_active_hold(body->model);
  PlaStatus st = PLA_OK;
  if (parts && face) {
    PlaCollider *teeth[PLA_N_TEETH];
    st = pla_face_teeth(0.0, progress, teeth, err);
    for (int k = 0; k < PLA_N_TEETH && st == PLA_OK; k++)
      take_collider(self, teeth[k], k == PLA_TEETH_LOWER);
  }
  self->among = g_new(unsigned char, (size_t)body->mesh->n_verts + 1);
  for (int v = 0; v < body->mesh->n_verts; v++)
    self->among[v] = hold[v] == PLA_HOLD_FREE;
  if (mouth)
    pla_face_mouth(body->mesh, hold, self->among);
  self->contact = pla_contact_options_default();
  self->contact.settled = true;
  self->contact.among = self->among;
  self->contact.self = self->contact.pieces = parts;
  self->contact.thickness = 3e-4; /* of a thin film of saliva, m */
  self->options.contact = parts || self->colliders->len > 0 ? &self->contact : NULL;
  self->options.collider = (PlaCollider *const *)self->colliders->pdata;
  self->options.n_colliders = (int)self->colliders->len;
  self->options.with_jaw = self->with_jaw->data;
  return st;
}
