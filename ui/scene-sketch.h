/* What is drawn over the shapes of a scene: paths, blades and stitches. */
#pragma once

#include "ui/tools.h"

/* Puts the sketch of @tools into @scene under the ids from @first_id on. */
void pla_scene_put_sketch(const PlaRenderer *render, PlaScene *scene, int first_id,
                          PlaTools *tools);
