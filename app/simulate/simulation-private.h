/* A scene as it was read, for those who solve it. */
#pragma once

#include "anatomy/volume/volume.h"
#include "app/simulate/scene-contact.h"
#include "app/simulate/simulation.h"
#include "sim/solve/solve.h"

typedef struct {
  char *name;
  int vert;
} PlaProbeSpec;

/* a spring or a prescribed vertex that pulls, and tells how hard */
typedef struct {
  char *name;
  int vert;
  int spring; /* in springs, or -1 where the vertex is prescribed */
} PlaHookSpec;

/* a spring that holds the surface of a carved body for a constraint; @motion: of the scene, or -1
 */
typedef struct {
  int spring, constraint, motion;
} PlaSupportSpec;

struct PlaSimulation {
  PlaMesh *mesh;
  PlaFemModel *model;
  PlaFemBindings *bindings;   /* of vertices that follow others, or NULL */
  PlaFemMembranes *membranes; /* thin layers, or NULL */
  unsigned char *fixed;       /* n_verts x 3 */
  int *motion_of;             /* vertex -> motion, or -1 (n_verts) */
  unsigned char *moved;       /* axes that the motion prescribes: bits 1, 2, 4 (n_verts) */
  int *holder;                /* constraint that holds an axis, from 1; 0: none (n_verts x 3) */
  GArray *motions;            /* of PlaRigidMotion */
  int steps;                  /* increments of the motions */
  double *force;              /* N (n_verts x 3) */
  GArray *springs;            /* of PlaSpring */
  GArray *supports;           /* of PlaSupportSpec */
  PlaFemSprings spring_list;
  GArray *pressure_tri; /* of int, three a triangle */
  GArray *pressure_pa;  /* of double */
  PlaFemPressure pressure;
  GArray *hooks; /* of PlaHookSpec */
  PlaSceneColliders colliders;
  PlaContactSet *contacts; /* or NULL */
  PlaSceneDynamics dynamics;
  GArray *probes; /* of PlaProbeSpec */
  PlaFemOptions options;
  PlaLabelTable labels; /* names of the mesh's labels */
  GPtrArray *mixtures;  /* that the model's materials belong to */
  double *reach;        /* PlaMaterial.reach of each cell, or NULL */
  GPtrArray *notes;     /* what was assumed, a sentence each */
  int stiffness;        /* PlaStiffness instead of that of every preset, or -1 */
  int n_presets;        /* elements whose stiffness comes from a preset */
  bool sensitivity;     /* asked for */
  bool estimate;        /* of the discretisation error, asked for */
  double gravity[3];    /* m/s2 */
  bool stress, strain;  /* tensors asked for */
  GPtrArray *held;      /* vertices of each constraint (GArray of int) */
  /* where it comes from: a file, or a text and what finds the meshes that it names */
  char *path, *text;
  PlaSceneMeshes meshes;
  PlaProgress *progress; /* while it is read */
};

/* The same scene with its presets at @stiffness (PlaStiffness). */
PlaStatus pla_simulation_new_at(const PlaSimulation *scene, int stiffness, PlaProgress *progress,
                                PlaSimulation **out, PlaError *err);
