/* Bodies on the operating table as items of a case.
 *
 * The item's mesh is the skin with its wounds as it lies, to be shown and exported like any other;
 * its arrays are the body itself, so that the next tool goes on from there.  In its metadata,
 * "surgery" tells:
 *   "labels", "lattice_mm"   what the body was made from; "box_mm", "tissue", "bones" where given
 *   "steps"                  what was done to it, as in a plan
 *   "found"                  what each of them measured
 *   "readings"               numbers of the last shape, units in their names
 *   "wounds"                 [{"name", "closed", "length_mm"}]
 *   "tissues"                names of what it consists of */
#pragma once

#include "app/content/content.h"
#include "app/show/field-view.h"
#include "sim/surgery/surgery.h"

/* Arrays beside those of the body, m and N: what is there to be seen. */
#define PLA_BODY_STITCHES "show/stitch" /* (5, stitches): place, gap, tension */
#define PLA_BODY_THREADS "show/thread"  /* (6, threads): their ends; several make a stitch */
#define PLA_BODY_HOOKS "show/hook"      /* (6, hooks): skin, place */
#define PLA_BODY_LIPS "show/lip"        /* (4, points): place, number of the wound */

/* Numbers of a shape with their units in the keys, as `operate --json` has them too.
 * json_object_unref(). */
JsonObject *pla_surgery_readings_to_json(const PlaSurgeryReadings *readings);
/* The body as an item; @surgery describes it so far ("labels", "lattice_mm", "steps", "found") and
 * is completed.  Takes a reference on it.  Caller unrefs *out. */
PlaStatus pla_body_to_content(PlaSurgery *body, JsonObject *surgery, PlaContent **out,
                              PlaError *err);
/* The body of an item.  Caller frees *out. */
PlaStatus pla_body_from_content(const PlaContent *content, PlaSurgery **out, PlaError *err);
/* The description in the item's metadata, or NULL. */
JsonObject *pla_body_get_surgery(const PlaContent *content);
