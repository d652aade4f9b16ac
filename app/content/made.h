/* What the metadata of an item tells about how it was made, as plain values.  Metadata may come
 * from another program: what is missing or of another type reads as not there. */
#pragma once

#include "app/content/content.h"

/* In the metadata of a mesh: it was taken out of a body; holds what was measured. */
#define PLA_META_SPECIMEN "specimen"

/* From what; texts are borrowed from the content, NULL where there is none. */
typedef struct {
  const char *simulated;                /* a deformed shape: the mesh */
  const char *compared, *compared_with; /* a comparison: its two shapes; both or none */
  const char *mesh;                     /* muscles: the mesh that they are in; "" for others */
  const char *markers;                  /* a track: the take that it was fitted to */
  const char *moves_with;               /* a mesh: the motion that it goes with */
  bool specimen;                        /* it was taken out of a body */
  bool posed;                           /* a pose that was kept */
} PlaMade;
PlaMade pla_content_get_made(const PlaContent *content);

/* Adds what a reader repaired or assumed to @notes. */
void pla_content_get_notes(const PlaContent *content, PlaNotes *notes);

/* How good a deformed shape is; see the verb "simulate". */
typedef struct {
  const char *mesh; /* borrowed */
  bool converged;
  int iterations, inverted;
  int worst_element; /* -1: not known */
  double residual_rel, max_displacement_mm;
  int n_hooks;
  double *hook_force_n; /* owned */
  /* by the size of the cells; NaN, and NULL: not known */
  double displacement_error_mm, *hook_error_n; /* owned */
} PlaSimulated;
/* false where the content is no such shape; *out is empty then. */
bool pla_simulated_read(const PlaContent *content, PlaSimulated *out);
void pla_simulated_clear(PlaSimulated *self);
