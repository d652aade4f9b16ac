/* What is drawn over the shapes of a scene: paths, blades, stitches and muscles. */
#pragma once

#include "ui/document/tools.h"

/* Puts the sketch of @tools into @scene under the ids from @first_id on. */
void pla_scene_put_sketch(const PlaRenderer *render, PlaScene *scene, int first_id,
                          PlaTools *tools);

/* Muscles by how active they are: as many ids from @first_id on. */
enum { PLA_STRAND_LEVELS = 9 };
void pla_scene_put_strands(const PlaRenderer *render, PlaScene *scene, int first_id,
                           PlaTools *tools);
