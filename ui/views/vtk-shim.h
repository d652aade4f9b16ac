/* The entry of the module platysma-view: scenes drawn by VTK behind the C table of
 * app/show/render.h. No VTK type or exception gets out. */
#pragma once

const void *pla_view_module(void); /* a const PlaRenderer * */
