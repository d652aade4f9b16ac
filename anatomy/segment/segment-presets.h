/* The presets that segment.c lists; one file each. */
#pragma once

#include "anatomy/segment/segment.h"

extern const PlaSegmentPreset pla_segment_preset_ct_head;
