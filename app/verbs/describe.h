/* What a thing is, in members of a JSON object that is open and in lines for people (of char *):
 * what `info` says, with the keys of the command-line contract. */
#pragma once

#include "app/content/content.h"

/* Everything that is known of @item. */
PlaStatus pla_item_describe(const PlaItem *item, JsonBuilder *json, GPtrArray *lines,
                            PlaError *err);
/* The same of an item of a case. */
PlaStatus pla_content_describe(const PlaContent *content, JsonBuilder *json, GPtrArray *lines,
                               PlaError *err);
/* The member "labels": id, name, voxels and volume of each. */
PlaStatus pla_labels_describe(const PlaLabelMap *map, JsonBuilder *json, GPtrArray *lines,
                              PlaError *err);
