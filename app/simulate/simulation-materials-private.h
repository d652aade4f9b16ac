/* What reads the materials of a scene, while it does. */
#pragma once

#include "app/simulate/simulation-materials.h"

/* a number, or a field with one for each element */
typedef struct {
  double value;
  const PlaField *field; /* NULL: the value */
} PlaCellQuantity;

/* a direction, or a field with one for each element */
typedef struct {
  double value[3];
  const PlaField *field;
} PlaCellDirection;

/* @side 1 or -1: turned by that angle from the direction about the normal, in the plane of both */
typedef struct {
  PlaCellDirection direction, normal;
  PlaCellQuantity angle_deg;
  int side;
  PlaCellQuantity overlap;
  int muscle;
} PlaFibreSpec;

typedef struct {
  double activation, gamma, alpha;
} PlaMuscleSpec;

typedef struct {
  const PlaMaterialsInput *input;
  size_t n_cells;
  GArray *materials;  /* of PlaFemMaterial */
  int *cell_material; /* or -1 */
  int *own;           /* row of constants, or -1 */
  GArray *constants;  /* rows of PLA_MAX_CONSTANTS doubles */
  double *prestretch; /* n_cells x 9, or NULL */
  int *first_fibre;   /* entry of a cell: its first fibre and their number (n_cells x 2) */
  GArray *fibres;     /* of PlaFibreSpec */
  GArray *muscles;    /* of PlaMuscleSpec */
  PlaMaterialsOutput *out;
} PlaMaterialsReader;

double pla_cell_field_at(const PlaMaterialsReader *self, const PlaField *field, size_t c,
                         int component);
double pla_cell_quantity_at(const PlaMaterialsReader *self, const PlaCellQuantity *q, size_t c);
/* the unit direction in cell @c; false where it has none */
bool pla_cell_direction_at(const PlaMaterialsReader *self, const PlaCellDirection *direction,
                           size_t c, double d[3]);
bool pla_materials_is_text(PlaJson json);
PlaStatus pla_cell_quantity_read(const PlaMaterialsReader *self, PlaJson json, PlaCellQuantity *out,
                                 PlaError *err);

/* the unit direction of a fibre in cell @c; false where it has none */
bool pla_cell_fibre_at(const PlaMaterialsReader *self, const PlaFibreSpec *fibre, size_t c,
                       double d[3]);
/* the constants of the law of cell @c */
const double *pla_cell_constants(const PlaMaterialsReader *self, size_t c);
/* the directions of an entry's marked cells ("fibre", "fibres", "families") */
PlaStatus pla_materials_read_fibres(PlaMaterialsReader *self, PlaJson json,
                                    const PlaMaterial *material, const bool *marked, PlaError *err);
/* the tension of the marked cells, whose law and fibres are read */
PlaStatus pla_materials_read_prestretch(PlaMaterialsReader *self, PlaJson json, const bool *marked,
                                        PlaError *err);
