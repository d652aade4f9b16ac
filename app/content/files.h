/* Files as the window reads and writes them: it knows contents, not formats. */
#pragma once

#include "anatomy/signal/phones.h"
#include "app/content/content.h"

/* Writes @content in the format that the ending of @path means; names and colours of labels go into
 * a .tsv beside them. */
PlaStatus pla_content_write_file(const PlaContent *content, const char *path, PlaProgress *progress,
                                 PlaError *err);
PlaStatus pla_volume_write_file(PlaVolume *volume, const char *path, PlaProgress *progress,
                                PlaError *err);
PlaStatus pla_track_write_file(PlaTrack *track, const char *path, PlaError *err);
PlaStatus pla_audio_write_file(PlaAudio *audio, const char *path, PlaError *err);

/* Phonemes with their times; PLA_ERR_USAGE where the file holds something else.  pla_phones_clear()
 * by the caller. */
PlaStatus pla_phones_read_file(const char *path, PlaProgress *progress, PlaPhones *out,
                               PlaError *err);

/* Endings without their dots of all formats of these kinds; caller frees with g_strfreev(). */
typedef enum { PLA_FILES_SHAPES = 1, PLA_FILES_SPEECH = 2 } PlaFileGroup;
char **pla_file_endings(PlaFileGroup group);

/* Whether values are a segmentation: a few small whole numbers, the same from voxel to voxel over
 * most of what is not background.  An image of few grey levels has noise instead. */
bool pla_volume_looks_like_labels(const PlaVolume *volume);
/* Whether a file may hold a map of tissues, by its format; and whether it does: its labels have
 * names, or its voxels look like labels. */
bool pla_file_may_hold_labels(const char *path);
PlaStatus pla_file_holds_labels(const char *path, PlaProgress *progress, bool *out, PlaError *err);

/* A series of meshes in time (.pvd), all with as many vertices as the first. */
typedef struct {
  int n_frames, n_verts;
  double *time_s;   /* (n_frames) */
  float *pos_m;     /* (n_frames x n_verts x 3) */
  char *first_path; /* the first mesh */
} PlaMeshFrames;
PlaStatus pla_mesh_frames_read(const char *path, PlaProgress *progress, PlaMeshFrames *out,
                               PlaError *err);
void pla_mesh_frames_clear(PlaMeshFrames *self);
