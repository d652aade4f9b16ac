/* Names and colours of labels in files of their own: ITK-SNAP label descriptions (.label, .txt),
 * BIDS tables (.tsv with the columns index, name and color) and 3D Slicer or FreeSurfer colour
 * tables (.ctbl, .txt).  What a file is, is decided by its content.  Background (0) has no entry.
 */
#pragma once

#include "io/formats/format.h"

/* On failure *out is empty and the sentence names @path and the line. */
PlaStatus pla_label_file_read(const char *path, PlaLabelTable *out, PlaNotes *notes, PlaError *err);
/* By the ending of @path; .txt is ITK-SNAP's. */
PlaStatus pla_label_file_write(const char *path, const PlaLabelTable *table, PlaError *err);

/* The table beside a volume: the file of the same name with the ending .tsv, .label, .txt or .ctbl,
 * the first that is such a table.  *out stays empty where there is none; one that cannot be read
 * is noted. */
void pla_label_sidecar_read(const char *volume_path, PlaLabelTable *out, PlaNotes *notes);
/* Writes it, as .tsv. */
PlaStatus pla_label_sidecar_write(const char *volume_path, const PlaLabelTable *table,
                                  PlaError *err);
