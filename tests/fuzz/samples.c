/* Writes one small valid DICOM, MATLAB and Ogg file each and keeps its bytes for the fuzz
 * targets. */
#include "tests/fuzz/samples.h"

#include "io/formats/formats.h"
#include "tests/fuzz/fuzz.h"
#include "tests/io/dicom-writer.h"

#include <sndfile.h>

static GBytes *
take_file(const char *path)
{
  char *data = NULL;
  gsize size = 0;
  if (!g_file_get_contents(path, &data, &size, NULL))
    pla_fuzz_fault("%s was not written", path);
  return g_bytes_new_take(data, size);
}

GBytes *
pla_fuzz_sample_dicom(void)
{
  static GBytes *sample;
  if (!sample) {
    static const gint16 pixels[12] = { 0, 1, -2, 3, -4, 5, -6, 7, -8, 9, -10, 11 };
    const char *path = pla_fuzz_path("sample.dcm");
    test_dicom_write(path, &(TestDicom){ .columns = 4,
                                         .rows = 3,
                                         .bits_allocated = 16,
                                         .bits_stored = 16,
                                         .is_signed = true,
                                         .pixels = pixels,
                                         .series = 1,
                                         .instance = 1 });
    sample = take_file(path);
  }
  return sample;
}

GBytes *
pla_fuzz_sample_mat(void)
{
  static GBytes *sample;
  if (!sample) {
    const char *path = pla_fuzz_path("sample.mat");
    const PlaWriteOptions opts = pla_write_options_default();
    PlaTrack *track = NULL;
    PlaError err = { 0 };
    if (pla_track_new(3, 2, &track, &err) != PLA_OK)
      pla_fuzz_fault("%s", err.message);
    track->rate_hz = 100.0;
    for (int i = 0; i < 6; i++)
      track->value[i] = i;
    for (int c = 0; c < 2; c++) {
      track->name[c] = strdup(c ? "TT_y" : "TT_x");
      track->unit[c] = strdup("mm");
    }
    const PlaItem item = { .kind = PLA_KIND_TRACK, .track = track };
    if (pla_format_mat.write(path, &item, &opts, &err) != PLA_OK)
      pla_fuzz_fault("%s", err.message);
    pla_track_free(track);
    sample = take_file(path);
  }
  return sample;
}

GBytes *
pla_fuzz_sample_ogg(void)
{
  static GBytes *sample;
  if (!sample) {
    const char *path = pla_fuzz_path("sample.ogg");
    SF_INFO info = { .samplerate = 8000,
                     .channels = 1,
                     .format = SF_FORMAT_OGG | SF_FORMAT_VORBIS };
    float wave[800];
    SNDFILE *file = sf_open(path, SFM_WRITE, &info);
    for (int i = 0; i < 800; i++)
      wave[i] = (float)(i * 7919 % 200 - 100) / 128.0f;
    if (!file || sf_writef_float(file, wave, 800) != 800)
      pla_fuzz_fault("%s cannot be written", path);
    sf_close(file);
    sample = take_file(path);
  }
  return sample;
}
