/* The second stage of `speak`: a tongue that follows the track. */
#pragma once

#include "anatomy/signal/signal.h"
#include "app/cli/cli-private.h"
#include "io/formats/format.h"

/* Options of the verb that concern the tongue. */
#define PLA_SPEAK_TONGUE_OPTIONS                                                                     \
  { "speaker",                                                                                       \
    0,                                                                                               \
    PLA_OPT_TEXT,                                                                                    \
    "TRACK",                                                                                         \
    "another recording of the same speaker, for the fit and the palate",                             \
    0,                                                                                               \
    0,                                                                                               \
    true },                                                                                          \
      { "mesh", 0, PLA_OPT_TEXT, "FILE", "tongue of tetrahedra (default: the built-in phantom)" },   \
      { "fixed", 0, PLA_OPT_TEXT, "FILE",                                                            \
        "its fixed degrees of freedom: count, then 3 v + axis (default: the lowest seventh)" },      \
      { "mesh-unit-mm",                                                                              \
        0,                                                                                           \
        PLA_OPT_NUMBER,                                                                              \
        "U",                                                                                         \
        "size of its unit (default: what fits the speaker)",                                         \
        1e-6,                                                                                        \
        1e6 },                                                                                       \
      { "forward", 0, PLA_OPT_TEXT, "AXIS",                                                          \
        "where its front is: x, -x, y, ... (default: guessed)" },                                    \
      { "up", 0, PLA_OPT_TEXT, "AXIS", "where its upper side is (default: guessed)" },               \
      { "cell-mm", 0, PLA_OPT_NUMBER, "H", "tets of the phantom's tongue (default 3.5)", 1.0, 8.0 }, \
      { "own-plane", 0, PLA_OPT_FLAG, NULL,                                                          \
        "the sensors lie in the phantom's own plane, as speak writes them: no fit" },                \
      { "animation", 0, PLA_OPT_OUTPUT, "OUT.pvd", "write the moving mesh, one file a frame" },      \
      { "activations", 0, PLA_OPT_OUTPUT, "OUT.csv",                                                 \
        "write the muscle activations that explain the motion, 0..1 per frame" },                    \
      { "muscles", 0, PLA_OPT_OUTPUT, "OUT.png", "draw these activations over time" },               \
      { "picture", 0, PLA_OPT_OUTPUT, "OUT.png", "draw midsagittal views of eight moments" },        \
      { "at", 0, PLA_OPT_NUMBER, "S", "draw this moment alone, s", 0, 1e6 },                         \
      { "quasistatic", 0, PLA_OPT_FLAG, NULL, "without inertia and damping" },                       \
      { "no-volume", 0, PLA_OPT_FLAG, NULL, "without the volume constraint, for comparison" },       \
      { "no-contact", 0, PLA_OPT_FLAG, NULL, "without contact with palate and teeth" },              \
  {                                                                                                  \
    "track-only", 0, PLA_OPT_FLAG, NULL, "write the track only, without a tongue"                    \
  }

/* Moves the tongue along @track, to which it adds the channels jaw_deg, volume_ratio,
 * penetration_mm and contacts, and adds what it found to the JSON.  @own_plane: as in
 * PlaTongueMotionOptions.  @heard: resonances of the sound (frames x PLA_FORMANTS), which become
 * channels beside those of the tongue's tube, or NULL.  *seconds: time spent on building and on
 * frames. */
PlaStatus pla_speak_tongue(PlaInvocation *inv, bool own_plane, const double *heard,
                           PlaTrack **track, double *seconds, PlaError *err);

/* A file that must hold a track. */
PlaStatus pla_speak_read_track(const char *path, PlaItem *item, PlaError *err);
