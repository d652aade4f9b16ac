/* The registry of file formats: what a file is, reading it, writing it.
 *
 * A format is one file io/format-NAME.c that declares one `const PlaFormat`; listing it in
 * io/formats/format.c makes the command line and the open dialog know it.  Readers convert to
 * metres and RAS (volumes keep their affine in mm), check every count against the file size before
 * they allocate, and name the place where a file is wrong.  Writers go through PlaOutput, so a
 * failed or interrupted write leaves the old file or none.  All functions are thread-safe. */
#pragma once

#include "anatomy/base/progress.h"
#include "anatomy/base/status.h"
#include "anatomy/mesh/mesh.h"
#include "anatomy/signal/phones.h"
#include "anatomy/signal/signal.h"
#include "anatomy/volume/volume.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum {
  PLA_KIND_NONE = 0,
  PLA_KIND_VOLUME,
  PLA_KIND_MESH,
  PLA_KIND_TAKE,
  PLA_KIND_TRACK,
  PLA_KIND_AUDIO,
  PLA_KIND_PHONES,
  PLA_KIND_LABEL_TABLE, /* names and colours only */
  PLA_KIND_CASE,
} PlaKind;
const char *pla_kind_name(PlaKind kind); /* "volume", "mesh", "markers", "track", "audio", ... */

/* One thing read from a file; exactly the member that `kind` names is set.
 *
 * It goes from a reader to whoever takes the thing out, or from its owner to a writer: one thread,
 * the caller's storage, no longer than that call.  It is not what a case holds: io knows no JSON,
 * and a file can be what no case stores, such as a table of labels, phonemes or a case. */
typedef struct {
  PlaKind kind;
  PlaVolume *volume;
  PlaMesh *mesh;
  PlaTake *take;
  PlaTrack *track;
  PlaAudio *audio;
  PlaPhones phones;
  PlaLabelTable labels; /* with a volume: names found in the file or beside it */
  PlaNotes notes;       /* what was repaired, assumed or left out */
} PlaItem;
void pla_item_clear(PlaItem *item);

typedef struct {
  PlaProgress *progress; /* may be NULL */
  int series;            /* DICOM: which series of the folder, 0-based; -1: the only one */
  bool keep_identity;    /* DICOM: keep identifying tags (default: no) */
  double unit_mm;        /* length unit of a file that states none; 0: millimetres */
  const char *tier;      /* TextGrid: the tier of phonemes; NULL: found by its name */
} PlaReadOptions;
PlaReadOptions pla_read_options_default(void);

/* how C3D coordinates are written: as integers only where those are exact, as floats, always as
 * integers (rounded to 1/32000 of the largest coordinate) */
typedef enum { PLA_C3D_AS_READ = 0, PLA_C3D_FLOAT, PLA_C3D_INTEGER } PlaC3dStorage;

typedef struct {
  PlaProgress *progress; /* may be NULL */
  int nifti_version;     /* 0: as read, else 1 or 2 */
  bool big_endian;       /* NIfTI, C3D, PLY, legacy VTK where the format allows a choice */
  bool text;             /* the ASCII flavour of formats that have both */
  bool uncompressed;     /* VTU, VTP: raw rather than zlib-compressed data */
  bool inline_data;      /* VTU, VTP: base64 inside the elements rather than appended bytes */
  int gmsh_version;      /* 0: 4.1, else 22 or 41 */
  PlaNotes *notes;       /* may be NULL: where the writer says what it chose or left out */
  PlaC3dStorage c3d_storage;
  bool c3d_dec; /* C3D: numbers of a DEC VAX; big_endian makes those of a MIPS */
} PlaWriteOptions;
PlaWriteOptions pla_write_options_default(void);

typedef struct {
  const char *id;                /* "nifti" */
  const char *title;             /* "NIfTI volume" */
  const char *const *extensions; /* lower case, with dot, NULL-terminated: ".nii.gz", ".nii" */
  PlaKind kind;
  /* Whether the file looks like this format.  @head holds its first @n_head bytes (at most 4096;
   * none for a folder).  NULL: the extension decides. */
  bool (*probe)(const char *path, const uint8_t *head, size_t n_head);
  PlaStatus (*read)(const char *path, const PlaReadOptions *opts, PlaItem *out, PlaError *err);
  /* NULL where Platysma only reads the format */
  PlaStatus (*write)(const char *path, const PlaItem *item, const PlaWriteOptions *opts,
                     PlaError *err);
} PlaFormat;

/* NULL-terminated. */
const PlaFormat *const *pla_formats_get(void);

/* The format of an existing file or folder, by content first, extension second.  A missing file
 * or unknown content is an error with a sentence. */
PlaStatus pla_format_detect(const char *path, const PlaFormat **out, PlaError *err);
/* The format that can write @kind to a file so named. */
PlaStatus pla_format_for_output(const char *path, PlaKind kind, const PlaFormat **out,
                                PlaError *err);

/* Detects and reads.  On failure *out is empty and the sentence names @path. */
PlaStatus pla_item_read(const char *path, const PlaReadOptions *opts, PlaItem *out, PlaError *err);
PlaStatus pla_item_write(const char *path, const PlaItem *item, const PlaWriteOptions *opts,
                         PlaError *err);
