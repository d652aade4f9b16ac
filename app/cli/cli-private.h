/* Shared between the command line and its verbs. */
#pragma once

#include "anatomy/mesh/mesh.h"
#include "app/cli/verb.h"

extern const PlaVerb pla_verb_bench;
extern const PlaVerb pla_verb_case;
extern const PlaVerb pla_verb_convert;
extern const PlaVerb pla_verb_cut;
extern const PlaVerb pla_verb_demo;
extern const PlaVerb pla_verb_fit;
extern const PlaVerb pla_verb_info;
extern const PlaVerb pla_verb_mesh;
extern const PlaVerb pla_verb_muscles;
extern const PlaVerb pla_verb_operate;
extern const PlaVerb pla_verb_phantom;
extern const PlaVerb pla_verb_physemes;
extern const PlaVerb pla_verb_register;
extern const PlaVerb pla_verb_report;
extern const PlaVerb pla_verb_segment;
extern const PlaVerb pla_verb_simulate;
extern const PlaVerb pla_verb_speak;
extern const PlaVerb pla_verb_speech_corpus;
extern const PlaVerb pla_verb_speech_eval;
extern const PlaVerb pla_verb_speech_train;
extern const PlaVerb pla_verb_surface;
extern const PlaVerb pla_verb_warp;

/* `run` of verbs that have an operation. */
PlaStatus pla_run_operation(PlaInvocation *inv, PlaError *err);
/* Writes @mesh in the format that the ending of @path means. */
PlaStatus pla_invocation_write_mesh(PlaInvocation *inv, const char *path, PlaMesh *mesh,
                                    PlaError *err);
