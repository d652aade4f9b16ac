/* Ways to make a volume mesh, behind the verb `mesh` and the operation of the same name.
 *
 * A method is one file app/simulate/mesh-NAME.c that declares one `const PlaMeshMethod`; listing it
 * in app/simulate/mesh-method.c is all there is to do.  It must be a function of its input alone
 * and give the same bits for any number of threads. */
#pragma once

#include "anatomy/base/progress.h"
#include "anatomy/mesh/mesh.h"
#include "anatomy/volume/volume.h"

#include <json-glib/json-glib.h>

/* What to mesh and how; everything is borrowed. */
typedef struct {
  /* the body: tissues of a label map, or a triangle surface; the other is NULL */
  const PlaLabelMap *labels;
  int n_groups;
  const int *ids, *first; /* tissue g: ids[first[g]] .. ids[first[g + 1] - 1] */
  const PlaMesh *surface; /* or, where the method takes them, tets */

  double cell_mm; /* size of a cell, at the surface where cells differ */
  /* carved bodies */
  double skin_cell_mm;  /* at most this at the skin; 0: as elsewhere */
  double skin_depth_mm; /* below the skin it reaches so far; 0: two cells */
  /* tets */
  int levels;       /* doublings of the cell towards the inside */
  double smooth_mm; /* detail to remove first; negative: as the method sees fit */
  double round_mm;  /* remove parts and gaps into which a ball of this radius does not fit */
  /* embeddings */
  int coarsen;                  /* halvings of the resolution afterwards; of a lattice, doublings of
                                   the cell inside */
  bool separate;                /* tissues of a lattice that touch do not hold together */
  bool as_tets;                 /* hexahedra become tetrahedra */
  const PlaMesh *embed_surface; /* what the mesh carries along; NULL: the body's own surface */
} PlaMeshInput;
PlaMeshInput pla_mesh_input_default(void);

typedef struct {
  PlaMesh *mesh;
  int duplicated_cells;   /* cells that stand where another one does */
  int winding_violations; /* places where the mesh does not cover what the surface encloses */
  JsonObject *found;      /* what else is worth reporting, keys with units; made by the caller */
  GPtrArray *lines;       /* the same in words (char *, freed with it); made by the caller */
} PlaMeshResult;
void pla_mesh_result_init(PlaMeshResult *self);
void pla_mesh_result_clear(PlaMeshResult *self);

typedef struct {
  const char *name;    /* "tets" */
  const char *summary; /* one line, lower case */
  const char *title;   /* translatable, for people who do not type commands: "Tetrahedra" */
  const char *about;   /* translatable sentence for them */
  bool takes_labels, takes_surfaces;
  bool takes_tets; /* as the surface, a mesh of tets too */
  PlaStatus (*run)(const PlaMeshInput *input, PlaProgress *progress, PlaMeshResult *out,
                   PlaError *err);
} PlaMeshMethod;

const PlaMeshMethod *const *pla_mesh_methods_get(void); /* NULL-terminated */
/* PLA_ERR_USAGE, naming all there are, for an unknown one. */
PlaStatus pla_mesh_method_find(const char *name, const PlaMeshMethod **out, PlaError *err);
/* Checks that the method takes such a body, and runs it. */
PlaStatus pla_mesh_method_run(const PlaMeshMethod *method, const PlaMeshInput *input,
                              PlaProgress *progress, PlaMeshResult *out, PlaError *err);
