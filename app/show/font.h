/* The typeface of pictures, plots and reports: one that .ci/packages installs, so that lines break
 * at the same places on every machine. */
#pragma once

#define PLA_FONT_SANS "Liberation Sans, DejaVu Sans, Sans"
#define PLA_FONT_MONO "Liberation Mono, DejaVu Sans Mono, Monospace"
