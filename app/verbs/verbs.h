/* The list of verbs, and what several of them share. */
#pragma once

#include "anatomy/surface/repair.h"
#include "app/motion/activation.h"
#include "app/motion/muscles.h"
#include "app/motion/surroundings.h"
#include "app/simulate/mesh-method.h"
#include "app/simulate/simulation.h"
#include "app/verbs/verb.h"

/* Every verb, in the order shown by `case operations`.  A row declares pla_verb_NAME and lists it;
 * its source also goes into meson.build. */
/* clang-format off */
#define PLA_VERBS(ROW)     \
  ROW(import)              \
  ROW(phantom)             \
  ROW(segment)             \
  ROW(surface)             \
  ROW(repair_surface)      \
  ROW(mesh)                \
  ROW(body)                \
  ROW(cut)                 \
  ROW(prepare_body)        \
  ROW(operate)             \
  ROW(simulate)            \
  ROW(compare)             \
  ROW(edit_label)          \
  ROW(fill_outline)        \
  ROW(grow_label)          \
  ROW(interpolate_slices)  \
  ROW(split_label)         \
  ROW(keep_component)      \
  ROW(mirror_label)        \
  ROW(muscles)             \
  ROW(torque)              \
  ROW(active_body)         \
  ROW(activate)            \
  ROW(fit)                 \
  ROW(pose)                \
  ROW(animate)             \
  ROW(perform)             \
  ROW(set_phonemes)        \
  ROW(say_line)            \
  ROW(say)                 \
  ROW(speak)               \
  ROW(register)            \
  ROW(warp)                \
  ROW(set_labels)          \
  ROW(rename)              \
  ROW(delete)              \
  ROW(note)                \
  ROW(landmark)            \
  ROW(measure)             \
  ROW(snapshot)            \
  ROW(recover)
/* clang-format on */
#define PLA_VERB_DECLARE(name) extern const PlaVerb pla_verb_##name;
PLA_VERBS(PLA_VERB_DECLARE)

/* The scene that the parameters of "simulate" describe, unsolved, and the mesh that it is about.
 * Caller frees both. */
PlaStatus pla_verb_simulate_scene(PlaWork *work, PlaContent **mesh, PlaSimulation **out,
                                  PlaError *err);
/* Channels of each marker in the residuals by axis: "NAME dx", "NAME dy", "NAME dz" in mm, and
 * "NAME weight". */
enum { PLA_RESIDUAL_PARTS = 4 };
/* Parameters for another flesh than the body's own, and what they say. */
#define PLA_FLESH_FORMULATION                                                                      \
  "standard: plain linear tets, quick but too stiff in coarse cells; mixed: free of locking"
#define PLA_FLESH_PARAMS                                                                           \
  { "young_pa",                                                                                    \
    PLA_PARAM_NUMBER,                                                                              \
    NULL,                                                                                          \
    100,                                                                                           \
    1e8,                                                                                           \
    "null",                                                                                        \
    "stiffness of the flesh between the fibres",                                                   \
    .arg = "E" },                                                                                  \
      { "poisson",                                                                                 \
        PLA_PARAM_NUMBER,                                                                          \
        NULL,                                                                                      \
        0.01,                                                                                      \
        0.4999,                                                                                    \
        "null",                                                                                    \
        "Poisson's ratio of that flesh; 0.5 is incompressible",                                    \
        .arg = "NU" },                                                                             \
      { "strength",                                                                                \
        PLA_PARAM_NUMBER,                                                                          \
        NULL,                                                                                      \
        0.01,                                                                                      \
        100,                                                                                       \
        "null",                                                                                    \
        "factor on the peak stress of all muscles",                                                \
        .arg = "S" },                                                                              \
  {                                                                                                \
    "formulation", PLA_PARAM_TEXT, NULL, 1, 20, "null", PLA_FLESH_FORMULATION, .arg = "NAME"       \
  }
PlaStatus pla_verb_flesh(const PlaWork *work, PlaActiveBodyOptions *out, PlaError *err);
/* The parameter "formulation", where it is given. */
PlaStatus pla_verb_read_formulation(const PlaWork *work, PlaFleshElements *out, PlaError *err);
/* The body of the muscles that the parameter "muscles" names.  Caller frees *out. */
PlaStatus pla_verb_load_body(PlaWork *work, const PlaActiveBodyOptions *opts, PlaActiveBody **out,
                             PlaError *err);
/* That body, and the activations that the parameter "track" names.  Caller frees both, always. */
PlaStatus pla_verb_load_moves(PlaWork *work, PlaActiveBody **body, PlaActivation *track,
                              int64_t *item, PlaError *err);
/* One frame of controls, from [[name, value], ...].  Caller frees *out. */
PlaStatus pla_verb_read_controls(JsonArray *list, PlaTrack **out, PlaError *err);
/* What the body meets, as parameters tell it; the arguments are further members of "contact".  @out
 * has been initialised; *wanted: it meets anything, or moves in time. */
#define PLA_SURROUNDINGS_PARAMS(...)                                                               \
  { "contact",                                                                                     \
    PLA_PARAM_BOOL,                                                                                \
    NULL,                                                                                          \
    0,                                                                                             \
    0,                                                                                             \
    "false",                                                                                       \
    N_("contact between parts, such as lips, and with the face's own teeth"),                      \
    __VA_ARGS__ },                                                                                 \
      { "colliders",                                                                               \
        PLA_PARAM_ITEMS,                                                                           \
        NULL,                                                                                      \
        0,                                                                                         \
        0,                                                                                         \
        "[]",                                                                                      \
        "a closed surface as a rigid obstacle",                                                    \
        .kinds = PLA_ITEM_MESH,                                                                    \
        .option = "collider",                                                                      \
        .arg = "SURF" },                                                                           \
      { "jaw_colliders",                                                                           \
        PLA_PARAM_ITEMS,                                                                           \
        NULL,                                                                                      \
        0,                                                                                         \
        0,                                                                                         \
        "[]",                                                                                      \
        "the same, moving with the jaw",                                                           \
        .kinds = PLA_ITEM_MESH,                                                                    \
        .option = "jaw-collider",                                                                  \
        .arg = "SURF" },                                                                           \
  {                                                                                                \
    "dynamic", PLA_PARAM_BOOL, NULL, 0, 0, "false", "with inertia"                                 \
  }
PlaStatus pla_verb_find_surroundings(PlaWork *work, const PlaActiveBody *body, double rate_hz,
                                     PlaSurroundings *out, bool *wanted, PlaError *err);
/* Moves @body by @track up to @frame, from 0, and keeps that shape as the mesh @name; a watch gets
 * every shape (PlaMesh).  @around NULL: static equilibria, without @touch. */
PlaStatus pla_verb_move(PlaWork *work, const PlaActiveBody *body, const PlaActivation *track,
                        const PlaSurroundings *around, int frame, const char *name,
                        PlaActivationReport *report, PlaForwardReport *touch, PlaError *err);
/* A text as a sound with its phonemes; @voice NULL: "en", 0 words per minute and @pitch -1: as
 * usual. Caller unrefs *out. */
PlaStatus pla_say_words(const char *words, const char *voice, int words_per_minute, int pitch,
                        PlaContent **out, PlaError *err);
/* The array of an item that holds a network of speech-train: the bytes of its file. */
#define PLA_SPEECH_NET_ARRAY "net"
/* What was built: members of an open object, and lines for people (of char *). */
void pla_muscle_set_describe(const PlaMuscleSet *set, JsonBuilder *json, GPtrArray *lines);
/* What a meshing method itself has found, as members and lines. */
void pla_verb_tell_meshing(PlaWork *work, const PlaMeshResult *result);
/* What a repair of a surface did, among what was found. */
void pla_verb_tell_repair(PlaWork *work, const PlaRepairReport *report);
/* Appends to @ids (of int) the labels of @map that @list names by id or name, at least one. */
PlaStatus pla_verb_read_labels(const PlaLabelMap *map, JsonArray *list, GArray *ids, PlaError *err);
/* The same with lists inside the list, each one tissue; an empty @list means every label by itself.
 * Appends to @first (of int) where each tissue begins in @ids, and in the end their number. */
PlaStatus pla_verb_read_tissues(const PlaLabelMap *map, JsonArray *list, GArray *ids, GArray *first,
                                PlaError *err);
/* Appends the ids of all labels that have voxels; a table may name more. */
void pla_labels_add_present(const PlaLabelMap *map, GArray *ids);
/* That there is a label and none twice. */
PlaStatus pla_labels_check_distinct(const GArray *ids, PlaError *err);
