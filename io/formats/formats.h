/* Every format there is; io/formats/format.c lists them in the order of probing. */
#pragma once

#include "io/formats/format.h"

extern const PlaFormat pla_format_c3d;
extern const PlaFormat pla_format_csv_markers;
extern const PlaFormat pla_format_csv_track;
extern const PlaFormat pla_format_dicom;
extern const PlaFormat pla_format_ema_text;
extern const PlaFormat pla_format_est;
extern const PlaFormat pla_format_gmsh;
extern const PlaFormat pla_format_inv3;
extern const PlaFormat pla_format_label_table;
extern const PlaFormat pla_format_mat;
extern const PlaFormat pla_format_nifti;
extern const PlaFormat pla_format_obj;
extern const PlaFormat pla_format_phones;
extern const PlaFormat pla_format_ply;
extern const PlaFormat pla_format_sound;
extern const PlaFormat pla_format_stl;
extern const PlaFormat pla_format_tetgen;
extern const PlaFormat pla_format_trc;
extern const PlaFormat pla_format_vtk;
extern const PlaFormat pla_format_vtp;
extern const PlaFormat pla_format_vtu;
