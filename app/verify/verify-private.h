/* What problems are made of: scenes that are solved, and the functions of the table. */
#pragma once

#include "anatomy/mesh/mesh.h"
#include "app/simulate/simulation.h"
#include "app/verify/verify.h"

/* Ends with a row without a name. */
extern const PlaVerifyProblem pla_verify_table[];

/* Solves a scene about @mesh, with the estimate of its error where the scene does not refuse it.
 * Single quotes of the text become double ones.  PLA_ERR_CONVERGENCE when no equilibrium is found.
 * @meshes: what the scene names besides, or NULL.  Clear *out in any case. */
PlaStatus pla_verify_scene(PlaVerifyRun *run, const PlaMesh *mesh, const PlaSceneMeshes *meshes,
                           PlaSimulationResult *out, PlaError *err, const char *format, ...)
    __attribute__((format(printf, 6, 7)));
/* Members of a material of a scene: model, Young's modulus (times run->stiffness), Poisson's ratio,
 * density.  g_free() */
char *pla_verify_material(const PlaVerifyRun *run, const char *model, double young_pa,
                          double poisson, double density);

/* A mesh of the surface or labels by a method of `mesh`. */
PlaStatus pla_verify_mesh(PlaVerifyRun *run, const char *method, const PlaMesh *surface,
                          double cell_mm, PlaMesh **out, PlaError *err);

/* Problems, by what they are made of. */
PlaStatus pla_verify_stretch(PlaVerifyRun *run, PlaError *err); /* verify-laws.c */
PlaStatus pla_verify_box_bar(PlaVerifyRun *run, PlaError *err); /* verify-bars.c */
PlaStatus pla_verify_turned_bar(PlaVerifyRun *run, PlaError *err);
PlaStatus pla_verify_cut_bar(PlaVerifyRun *run, PlaError *err);
PlaStatus pla_verify_methods(PlaVerifyRun *run, PlaError *err);
PlaStatus pla_verify_weight(PlaVerifyRun *run, PlaError *err);
PlaStatus pla_verify_torsion(PlaVerifyRun *run, PlaError *err); /* verify-slender.c */
PlaStatus pla_verify_elastica(PlaVerifyRun *run, PlaError *err);
PlaStatus pla_verify_cylinder(PlaVerifyRun *run, PlaError *err);
PlaStatus pla_verify_cook(PlaVerifyRun *run, PlaError *err); /* verify-blocks.c */
PlaStatus pla_verify_leaning_block(PlaVerifyRun *run, PlaError *err);
PlaStatus pla_verify_layer(PlaVerifyRun *run, PlaError *err);
PlaStatus pla_verify_sphere(PlaVerifyRun *run, PlaError *err); /* verify-spheres.c */
PlaStatus pla_verify_hertz(PlaVerifyRun *run, PlaError *err);
