/* How fast the window is: pictures a second while the head is turned and while slices are gone
 * through, and how long the first picture takes. */
#pragma once

#include "ui/main/window.h"

/* Opens @path (NULL: the demo) in @window, measures, and prints one JSON object.  Takes half a
 * minute; runs the main loop meanwhile. */
void pla_window_bench(PlaWindow *window, const char *path);
