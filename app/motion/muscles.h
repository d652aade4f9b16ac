/* Muscles from files and cases: descriptions as JSON, shapes from phantoms, labels and surfaces,
 * and sets of muscles as items of a case.
 *
 * A description:
 *
 *   { "muscles": [ { "name": "masseter, right", "label": 112,     (an id or a name; default: the
 * name) "surface": "masseter.stl",                   (in place of a label) "peak_stress_pa":
 * 300000, "fibres": "potential", "heads": [ { "origin": "skull", "insertion": "mandible",
 *                                 "line_mm": [[56,48,-13], ...], "half_width_mm": [13, ...],
 *                                 "half_thick_mm": [4.4, ...], "normal": [[1,0,0], ...] } ],
 *                    "tendons": [ { "from_mm": [..], "to_mm": [..], "radius_mm": [2, 3] } ] } ],
 *     "bones": [ { "name": "skull", "label": 4 } ] }               (default: labels of that name)
 *
 * Everything but names and heads may be left out. */
#pragma once

#include "anatomy/muscle/muscle-model.h"
#include "app/base/json.h"
#include "app/content/content.h"
#include "app/show/picture.h"

/* Loads a surface that a description names.  Caller frees *out. */
typedef PlaStatus (*PlaSurfaceLoad)(const char *name, void *data, PlaMesh **out, PlaError *err);

/* Muscles of a description in a label map, which may be NULL when surfaces stand for everything.
 * @load may be NULL: then surfaces are refused. */
PlaStatus pla_muscle_model_from_labels(const PlaLabelMap *map, PlaJson description,
                                       PlaSurfaceLoad load, void *load_data, PlaProgress *progress,
                                       PlaMuscleModel **out, PlaError *err);

/* The list as JSON of the form above, without surfaces. */
JsonNode *pla_muscle_list_to_json(const PlaMuscleList *list);
PlaStatus pla_muscle_list_from_json(PlaJson description, PlaMuscleList *out, PlaError *err);
/* The same method of fibres for all; @method is one of pla_fibre_methods. */
PlaStatus pla_muscle_list_set_fibres(PlaMuscleList *list, const char *method, PlaError *err);
/* A description as an item of a case, which has its members in the metadata; and as a file. */
PlaContent *pla_muscle_description_new(const PlaMuscleList *list);
PlaStatus pla_muscle_description_read(const char *path, PlaContent **out, PlaError *err);
PlaStatus pla_muscle_description_write(const PlaContent *content, const char *path, PlaError *err);

/* A set as an item of kind "muscles"; @mesh_name: the item it belongs to. */
PlaStatus pla_muscle_set_to_content(const PlaMuscleSet *set, const char *mesh_name,
                                    PlaContent **out, PlaError *err);
PlaStatus pla_muscle_set_from_content(const PlaContent *content, PlaMuscleSet *out, PlaError *err);

/* Streamlines in the muscles' colours over the bones among @labels (may be NULL). */
PlaStatus pla_muscle_picture(const PlaMuscleSet *set, const PlaTetMesh *mesh,
                             const PlaLabelMap *labels, const PlaPictureOptions *opts,
                             const char *path, PlaError *err);
