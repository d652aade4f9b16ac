/* Surgical plans: the JSON of the command-line contract carried out on the soft tissue of a
 * patient. */
#pragma once

#include "anatomy/registration/registration.h"
#include "anatomy/volume/volume.h"
#include "app/base/json.h"
#include "sim/solve/solve.h"
#include "sim/surgery/surgery.h"

typedef struct {
  JsonArray *operations; /* {"name", "seconds", ...} for each; owned */
  bool solved;           /* there was a "solve" */
  PlaFemReport solve;    /* the last one */
  PlaSurgeryReadings readings;
  GArray *stitches; /* PlaSurgeryStitch; owned */
  int n_tets;
  double mesh_seconds;
  PlaMesh *mesh;    /* the body as it lies in the end, with its displacement; owned */
  PlaMesh *surface; /* skin and wounds; owned */
} PlaPlanResult;
void pla_plan_result_clear(PlaPlanResult *self);

/* How the cells of a body are made. */
typedef enum {
  PLA_PLAN_TETS,   /* conforming tets: the surface is that of the cells */
  PLA_PLAN_CARVED, /* a lattice carved along the surface of the scan */
} PlaPlanCells;
/* "tets" or "carved". */
PlaStatus pla_plan_cells_find(const char *name, PlaPlanCells *out, PlaError *err);
const char *pla_plan_cells_name(PlaPlanCells cells);

/* The body of a plan: every label of @labels that is soft tissue by its name, in cells of
 * @lattice_mm and held where it meets what is rigid or the end of the scan.  @bones: rigid labels
 * that are meshed as well, to be cut, NULL-terminated; NULL: none.  Caller frees *out. */
PlaStatus pla_plan_make_body(const PlaLabelMap *labels, PlaPlanCells cells, double lattice_mm,
                             const char *const *bones, PlaProgress *progress, PlaSurgery **out,
                             int *n_tets, PlaError *err);

/* Carries the places and directions of @operations, and the box (NULL: none), onto the patient that
 * @warp leads to, in mm.  Lengths, depths and angles stay. */
void pla_plan_warp(const PlaWarp *warp, PlaJson operations, double (*box_mm)[3]);

/* What a plan is carried out on, where it works in a part of the body alone: the voxels in the box
 * from box_mm[0] to box_mm[1], RAS (NULL: all), with all labels of soft tissue as one of the name
 * @tissue (NULL: as they are).  *out is NULL where both are. */
PlaStatus pla_plan_part(const PlaLabelMap *labels, const double (*box_mm)[3], const char *tissue,
                        PlaLabelMap **out, PlaError *err);

/* A piece that was taken out. */
typedef struct {
  char *name;       /* of the excision; owned */
  PlaMesh *surface; /* closed, as it lay; owned */
} PlaPlanSpecimen;
GArray *pla_plan_specimens_new(void); /* of PlaPlanSpecimen, which it owns */

/* What one step did. */
typedef struct {
  const char *tool;  /* "incise", ... */
  JsonObject *found; /* what it measured, no times; owned */
  bool solved;       /* it was a "solve" */
  PlaFemReport solve;
  GArray *specimens; /* PlaPlanSpecimen, or NULL; owned */
  double seconds;
} PlaPlanStep;
void pla_plan_step_clear(PlaPlanStep *self);
/* Does @operation, an object with one member that names the tool.  A failure says where it stands
 * and leaves the body as it was; *out is to be cleared either way. */
PlaStatus pla_plan_step_run(PlaSurgery *surgery, PlaJson operation, PlaProgress *progress,
                            PlaPlanStep *out, PlaError *err);

/* Does @operations, an array, one after the other: what a plan and an operation of a case do. @done
 * is told of each, which it may take parts of; "name" of what was found is the tool. */
typedef void (*PlaPlanStepFunc)(PlaPlanStep *step, PlaJson operation, void *data);
PlaStatus pla_plan_run_steps(PlaSurgery *surgery, PlaJson operations, PlaProgress *progress,
                             PlaPlanStepFunc done, void *data, PlaError *err);

/* Reads every value of @operations, an array, without doing anything: what is missing, unknown or
 * impossible is found before any work starts.  @from_start: the plan begins with an unhurt body, so
 * wounds that are sewn or undermined must be made before. */
PlaStatus pla_plan_check(PlaJson operations, bool from_start, PlaError *err);

/* What a template is, by the names of CLI and window; the flap that it makes. */
typedef struct {
  double width, length; /* m; 0: there is none */
} PlaPlanFlap;
/* Lays the template that @template describes on the skin as it is, and tells the plain operations
 * that it stands for; nothing is done.  *out is the caller's; @flap may be NULL. */
PlaStatus pla_plan_expand(PlaSurgery *surgery, PlaJson template, JsonArray **out, PlaPlanFlap *flap,
                          PlaError *err);

/* The square that a "cut" by a plane makes: corners in turn, @reach from the middle to each side,
 * m. */
void pla_plan_plane(const double at[3], const double normal[3], double reach, double corner[12]);

/* Makes the body and does what @operations, an array, lists. */
PlaStatus pla_plan_run(const PlaLabelMap *labels, PlaPlanCells cells, double lattice_mm,
                       const char *const *bones, PlaJson operations, PlaProgress *progress,
                       PlaPlanResult *out, PlaError *err);

/* A template as panels offer it; rows of sim/surgery/template.h by their number. */
typedef struct {
  const char *id;    /* as plans name it */
  const char *title; /* not translated */
  const char *size;  /* what its size is, not translated */
  double angle_deg;  /* customary; 0: it has none */
  double min_angle_deg, max_angle_deg;
} PlaTemplateChoice;
int pla_plan_templates_count(void);
PlaTemplateChoice pla_plan_template_get(int i);
