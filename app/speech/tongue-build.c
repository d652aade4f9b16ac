/* Fits a tongue to a speaker's coils, from the phantom or a mesh, and sets it in motion. */
#include "app/speech/tongue-build.h"

#include "app/speech/tongue-cache.h"
#include "sim/tongue/tongue-mesh.h"

#include <glib.h>

PlaTongueMotionOptions
pla_tongue_motion_options_default(void)
{
  return (PlaTongueMotionOptions){ 0 };
}

PlaStatus
pla_tongue_motion_new(const PlaTongueMotionOptions *options, const PlaTrack *const *tracks,
                      int n_tracks, PlaTongueMotion **out, PlaError *err)
{
  PlaTongue *tongue = NULL;
  PlaTongueInput input = pla_tongue_input_default();
  PlaTongueBodyOptions body = pla_tongue_body_options_default();
  PlaCoilPaths *paths = g_new0(PlaCoilPaths, n_tracks);
  PlaStatus st = PLA_OK;
  *out = NULL;
  for (int i = 0; st == PLA_OK && i < n_tracks; i++)
    st = pla_coil_paths_init(&paths[i], tracks[i], err);
  input.paths = paths;
  input.n_paths = n_tracks;
  const PlaTongueMeshOptions mesh = { options->mesh,         options->fixed,   options->n_fixed,
                                      options->mesh_unit_mm, options->forward, options->up };
  if (st == PLA_OK)
    st = options->mesh ? pla_tongue_from_mesh(&mesh, &input, options->progress, &tongue, err)
                       : pla_phantom_tongue_new(options->cell_mm, options->own_plane, &input,
                                                options->progress, &tongue, err);
  body.quasistatic = options->quasistatic;
  body.without_volume = options->without_volume;
  body.without_contact = options->without_contact;
  if (n_tracks > 0 && tracks[0]->rate_hz > 0.0)
    body.dt_s = 1.0 / tracks[0]->rate_hz;
  if (st == PLA_OK)
    st = pla_tongue_motion_take(tongue, &body, out, err);
  for (int i = 0; i < n_tracks; i++)
    pla_coil_paths_clear(&paths[i]);
  g_free(paths);
  return st;
}
