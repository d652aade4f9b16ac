/* Every operation, for the table in app/verbs/operation.c. */
#pragma once

#include "anatomy/surface/repair.h"
#include "app/motion/activation.h"
#include "app/simulate/simulation.h"
#include "app/verbs/operation.h"

extern const PlaOperation pla_operation_import;
extern const PlaOperation pla_operation_phantom;
extern const PlaOperation pla_operation_segment;
extern const PlaOperation pla_operation_surface;
extern const PlaOperation pla_operation_repair_surface;
extern const PlaOperation pla_operation_mesh;
extern const PlaOperation pla_operation_prepare_body;
extern const PlaOperation pla_operation_operate;
extern const PlaOperation pla_operation_muscles;
extern const PlaOperation pla_operation_active_body;
extern const PlaOperation pla_operation_activate;
extern const PlaOperation pla_operation_fit;
extern const PlaOperation pla_operation_pose;
extern const PlaOperation pla_operation_animate;
extern const PlaOperation pla_operation_perform;
extern const PlaOperation pla_operation_set_phonemes;
extern const PlaOperation pla_operation_say_line;
extern const PlaOperation pla_operation_say;
extern const PlaOperation pla_operation_speak;
extern const PlaOperation pla_operation_warp;
extern const PlaOperation pla_operation_simulate;
extern const PlaOperation pla_operation_compare;
extern const PlaOperation pla_operation_edit_label;
extern const PlaOperation pla_operation_fill_outline;
extern const PlaOperation pla_operation_grow_label;
extern const PlaOperation pla_operation_interpolate_slices;
extern const PlaOperation pla_operation_split_label;
extern const PlaOperation pla_operation_keep_component;
extern const PlaOperation pla_operation_mirror_label;
extern const PlaOperation pla_operation_rename;
extern const PlaOperation pla_operation_delete;
extern const PlaOperation pla_operation_set_labels;
extern const PlaOperation pla_operation_note;
extern const PlaOperation pla_operation_landmark;
extern const PlaOperation pla_operation_measure;
extern const PlaOperation pla_operation_snapshot;
extern const PlaOperation pla_operation_recover;

/* The scene that the parameters of "simulate" describe, unsolved, and the mesh that it is about.
 * Caller frees both. */
PlaStatus pla_operation_simulate_scene(PlaWork *work, PlaContent **mesh, PlaSimulation **out,
                                       PlaError *err);
/* The body of the muscles that the parameter "muscles" names.  Caller frees *out. */
PlaStatus pla_operation_load_body(PlaWork *work, PlaActiveBody **out, PlaError *err);
/* That body, and the activations that the parameter "track" names.  Caller frees both, always. */
PlaStatus pla_operation_load_moves(PlaWork *work, PlaActiveBody **body, PlaActivation *track,
                                   int64_t *item, PlaError *err);
/* Moves @body by @track up to @frame, from 0, and keeps that shape as the mesh @name. */
PlaStatus pla_operation_keep_shape(PlaWork *work, const PlaActiveBody *body,
                                   const PlaActivation *track, int frame, const char *name,
                                   PlaError *err);
/* The member "labels" of what was found: id, name, voxels and volume of each; a line for each goes
 * to @lines (of char *). */
PlaStatus pla_labels_describe(const PlaLabelMap *map, JsonBuilder *json, GPtrArray *lines,
                              PlaError *err);
/* What a repair of a surface did, among what was found. */
void pla_operation_tell_repair(PlaWork *work, const PlaRepairReport *report);
/* Appends to @ids (of int) the labels of @map that @list names by id or name, at least one. */
PlaStatus pla_operation_read_labels(const PlaLabelMap *map, JsonArray *list, GArray *ids,
                                    PlaError *err);
/* The same with lists inside the list, each one tissue; an empty @list means every label by itself.
 * Appends to @first (of int) where each tissue begins in @ids, and in the end their number. */
PlaStatus pla_operation_read_tissues(const PlaLabelMap *map, JsonArray *list, GArray *ids,
                                     GArray *first, PlaError *err);
/* Appends the ids of all labels that have voxels; a table may name more. */
void pla_labels_add_present(const PlaLabelMap *map, GArray *ids);
/* That there is a label and none twice. */
PlaStatus pla_labels_check_distinct(const GArray *ids, PlaError *err);
