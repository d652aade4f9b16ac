/* What the metadata of a body on the operating table tells, as plain values: what can be done with
 * it next, what was done and what that did.  surgery-body.h says how it is stored; what is missing
 * there is 0, empty or NAN here. */
#pragma once

#include "app/content/content.h"

G_BEGIN_DECLS

/* Of the last shape. */
typedef struct {
  bool known;         /* else all are 0 */
  double max_stretch; /* length over length at rest */
  int stitches, hooks;
  double edge_gap_mm, dog_ear_mm;
  double tip_gap_mm; /* NAN: not measured */
  double max_tension_n, closure_force_n, max_hook_force_n;
} PlaSurgeryNumbers;

/* One step that was done: what the tool was told, and what it found.  NAN: not told, not found. */
typedef struct {
  const char *tool;   /* "incise" */
  const char *name;   /* of the wound that it made or began from, or of the implant; or NULL */
  const char *tissue; /* it went through this one alone; or NULL */
  double depth_mm, pressure_kpa, radius_mm, along, across;
  double at_mm[3]; /* of implants; NAN in all where it lies there already */
  double pieces, specimen_mm3, specimen_g, stitches, open_mm, residual_rel;
  bool solved, converged; /* it was brought to equilibrium; and reached it */
} PlaSurgeryDone;

/* Texts are borrowed from the content. */
typedef struct {
  double lattice_mm;
  bool settled; /* the last thing that was done is an equilibrium */
  PlaSurgeryNumbers readings;
  GPtrArray *wounds, *tissues; /* const char * */
  GArray *done;                /* PlaSurgeryDone */
} PlaSurgeryFacts;

/* NULL where the content is no body.  @content must outlive it. */
PlaSurgeryFacts *pla_surgery_facts_new(const PlaContent *content);
void pla_surgery_facts_free(PlaSurgeryFacts *self); /* NULL is fine */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PlaSurgeryFacts, pla_surgery_facts_free)

G_END_DECLS
