/* What reading and writing of VTK's XML meshes share. */
#pragma once

#include "io/formats/format.h"

extern const char *const pla_vtk_type_names[PLA_N_DTYPES];

/* @surface: as PolyData, else as UnstructuredGrid */
PlaStatus pla_vtk_xml_write(const char *path, const PlaMesh *mesh, bool surface,
                            const PlaWriteOptions *opts, PlaError *err);
