/* What `info` says of a thing: the JSON keys of the command-line contract and lines for people. */
#pragma once

#include "app/cli/verb.h"
#include "io/formats/format.h"

/* Adds the keys of @item to the invocation's JSON object and says the same in lines. */
PlaStatus pla_describe_item(PlaInvocation *inv, const PlaItem *item, PlaError *err);

/* "labels": [{id, name, voxels, volume_mm3}, ...] */
PlaStatus pla_describe_labels(PlaInvocation *inv, const PlaLabelMap *map, PlaError *err);
