/* Sound files: every sample type keeps its bits, bad lengths are refused. */
#include "io/formats/formats.h"
#include "tests/io/signal-samples.h"

#include <glib.h>
#include <math.h>
#include <sndfile.h>
#include <string.h>

/* noise over the whole range of @bits (0: floats) */
static PlaAudio *
make_sound(PlaDType dtype, int bits, int n_channels, int n_frames)
{
  PlaAudio *audio = calloc(1, sizeof *audio);
  uint64_t state = 3;
  size_t n = (size_t)n_frames * (size_t)n_channels;
  *audio = (PlaAudio){
    .n_frames = n_frames, .n_channels = n_channels, .rate_hz = 16000, .dtype = dtype
  };
  audio->bits = bits;
  audio->samples = calloc(n, pla_dtype_size(dtype));
  for (size_t i = 0; i < n; i++) {
    uint64_t r = pla_test_random(&state);
    if (bits == 8)
      ((int16_t *)audio->samples)[i] = (int16_t)(r & 0xff00);
    else if (bits == 16)
      ((int16_t *)audio->samples)[i] = (int16_t)r;
    else if (bits == 24)
      ((int32_t *)audio->samples)[i] = (int32_t)(r & 0xffffff00);
    else if (bits == 32)
      ((int32_t *)audio->samples)[i] = (int32_t)r;
    else
      pla_dtype_set(dtype, audio->samples, i, (double)(int64_t)r / 9.3e18 * (i % 5 ? 1.0 : 3.0));
  }
  return audio;
}

static void
test_round_trip(void)
{
  static const struct {
    PlaDType dtype;
    int bits;
  } types[] = { { PLA_I16, 8 },  { PLA_I16, 16 }, { PLA_I32, 24 },
                { PLA_I32, 32 }, { PLA_F32, 0 },  { PLA_F64, 0 } };
  static const char *const names[] = { "a.wav", "a.aiff", "a.au",  "a.caf",
                                       "a.w64", "a.rf64", "a.flac" };
  for (size_t f = 0; f < G_N_ELEMENTS(names); f++)
    for (size_t t = 0; t < G_N_ELEMENTS(types); t++)
      for (int channels = 1; channels <= 6; channels += 5) {
        PlaItem back, item = { .kind = PLA_KIND_AUDIO };
        item.audio = make_sound(types[t].dtype, types[t].bits, channels, 5001);
        if (f == 6 && t >= 3) { /* FLAC holds no 32-bit samples */
          PlaWriteOptions opts = pla_write_options_default();
          PlaError err = { 0 };
          g_autofree char *path = pla_test_path(names[f]);
          g_assert_cmpint(pla_format_sound.write(path, &item, &opts, &err), ==,
                          PLA_ERR_UNSUPPORTED);
          g_assert_nonnull(strstr(err.message, ".wav"));
          pla_item_clear(&item);
          continue;
        }
        pla_test_round_trip(&pla_format_sound, names[f], &item, NULL, &back);
        g_assert_cmpint(back.audio->dtype, ==, types[t].dtype);
        g_assert_cmpint(back.audio->bits, ==, types[t].bits);
        g_assert_cmpint(back.audio->n_channels, ==, channels);
        g_assert_cmpfloat(back.audio->rate_hz, ==, 16000);
        size_t n = 5001 * (size_t)channels * pla_dtype_size(types[t].dtype);
        g_assert_cmpint(back.audio->n_frames, ==, 5001);
        g_assert_cmpmem(back.audio->samples, n, item.audio->samples, n);
        g_assert_cmpint(back.notes.n, ==, 0);
        pla_item_clear(&item);
        pla_item_clear(&back);
      }
}

/* full scale is 1 in every type */
static void
test_get(void)
{
  int16_t i16[2] = { INT16_MIN, 16384 };
  int32_t i32[2] = { INT32_MIN, 1 << 30 };
  float f32[2] = { -1.0f, 0.5f };
  PlaAudio audio = { .n_frames = 2, .n_channels = 1, .rate_hz = 1 };
  const PlaDType dtypes[] = { PLA_I16, PLA_I32, PLA_F32 };
  void *const samples[] = { i16, i32, f32 };
  for (int i = 0; i < 3; i++) {
    audio.dtype = dtypes[i];
    audio.samples = samples[i];
    g_assert_cmpfloat(pla_audio_get(&audio, 0, 0), ==, -1.0);
    g_assert_cmpfloat(pla_audio_get(&audio, 1, 0), ==, 0.5);
  }
}

static uint8_t *
write_bytes(const char *name, PlaAudio *audio, size_t *size)
{
  g_autofree char *path = pla_test_path(name);
  PlaItem item = { .kind = PLA_KIND_AUDIO, .audio = audio };
  PlaWriteOptions opts = pla_write_options_default();
  PlaError err = { 0 };
  char *data;
  g_assert_cmpint(pla_format_sound.write(path, &item, &opts, &err), ==, PLA_OK);
  g_assert_true(g_file_get_contents(path, &data, size, NULL));
  pla_item_clear(&item);
  return (uint8_t *)data;
}

/* the same sound is the same file, whenever it is written */
static void
test_same_bytes(void)
{
  size_t n, m;
  g_autofree uint8_t *a = write_bytes("a.wav", make_sound(PLA_F32, 0, 1, 100), &n);
  g_usleep(1100000);
  g_autofree uint8_t *b = write_bytes("b.wav", make_sound(PLA_F32, 0, 1, 100), &m);
  g_assert_cmpmem(a, n, b, m);
}

static void
test_lengths(void)
{
  static const char *const names[] = { "a.wav", "a.aiff", "a.au", "a.flac", "a.rf64" };
  for (size_t f = 0; f < G_N_ELEMENTS(names); f++) {
    size_t size;
    g_autofree uint8_t *data = write_bytes(names[f], make_sound(PLA_I16, 16, 2, 20000), &size);
    pla_test_refuse_bytes(&pla_format_sound, names[f], data, size - 40,
                          (const char *const[]){ "cut short", NULL });
  }

  /* a recorder that was never stopped */
  size_t size;
  g_autofree uint8_t *wav = write_bytes("a.wav", make_sound(PLA_I16, 16, 1, 1000), &size);
  uint8_t *data = memmem(wav, 100, "data", 4);
  for (int i = 0; i < 2; i++) {
    PlaItem item;
    memset(data + 4, i ? 0xff : 0, 4);
    memcpy(wav + 4, i ? "\xff\xff\xff\xff" : "\x08\0\0\0", 4);
    pla_test_read_bytes(&pla_format_sound, "open.wav", wav, size, &item);
    g_assert_cmpint(item.audio->n_frames, ==, 1000);
    g_assert_true(pla_test_has_note(&item, "length"));
    pla_item_clear(&item);
  }

  memset(data + 4, 0, 4);
  pla_test_refuse_bytes(&pla_format_sound, "none.wav", wav, (size_t)(data + 8 - wav),
                        (const char *const[]){ "", NULL });
  const char *text = "this is no sound at all";
  pla_test_refuse_text(&pla_format_sound, "text.wav", text, "begin like a sound");
}

/* a minute of silence in FLAC takes hundreds of times its size and is read; the memory is its own
 */
static void
test_compressed(void)
{
  PlaAudio *audio = calloc(1, sizeof *audio);
  const int n = 60 * 48000;
  *audio =
      (PlaAudio){ .n_frames = n, .n_channels = 2, .rate_hz = 48000, .dtype = PLA_I16, .bits = 16 };
  audio->samples = calloc((size_t)n, 4);
  size_t size;
  g_autofree uint8_t *data = write_bytes("silence.flac", audio, &size);
  g_assert_cmpuint(size, <, (size_t)n * 4 / 200);
  PlaItem item;
  pla_peak_reset();
  pla_test_read_bytes(&pla_format_sound, "silence.flac", data, size, &item);
  g_assert_cmpuint(pla_peak_get(), <, (size_t)n * 4 + (4 << 20));
  g_assert_cmpint(item.audio->n_frames, ==, n);
  pla_item_clear(&item);
  pla_test_refuse_bytes(&pla_format_sound, "silence.flac", data, size * 2 / 3,
                        (const char *const[]){ "silence.flac", "s", NULL });
}

/* seeds that only the library writes: Ogg and Sphere */
static uint8_t *
encode_with_library(int format, size_t *size)
{
  g_autofree char *path = pla_test_path("library");
  SF_INFO info = { .samplerate = 16000, .channels = 1, .format = format };
  SNDFILE *file = sf_open(path, SFM_WRITE, &info);
  g_assert_nonnull(file);
  for (int i = 0; i < 8000; i++) {
    float v = 0.5f * sinf((float)i * 0.05f);
    g_assert_cmpint(sf_write_float(file, &v, 1), ==, 1);
  }
  g_assert_cmpint(sf_close(file), ==, 0);
  char *data;
  g_assert_true(g_file_get_contents(path, &data, size, NULL));
  return (uint8_t *)data;
}

static void
test_lossy(void)
{
  const int formats[] = { SF_FORMAT_OGG | SF_FORMAT_VORBIS, SF_FORMAT_OGG | SF_FORMAT_OPUS,
                          SF_FORMAT_NIST | SF_FORMAT_PCM_16, SF_FORMAT_WAV | SF_FORMAT_ULAW };
  for (size_t f = 0; f < G_N_ELEMENTS(formats); f++) {
    size_t size;
    g_autofree uint8_t *data = encode_with_library(formats[f], &size);
    PlaItem item;
    pla_test_read_bytes(&pla_format_sound, "lossy", data, size, &item);
    g_assert_cmpint(item.audio->n_frames, ==, 8000);
    double worst = 0.0, energy = 0.0;
    for (int i = 2000; i < 6000; i++) {
      double v = pla_audio_get(item.audio, i, 0);
      worst = fmax(worst, fabs(v - 0.5 * sin(i * 0.05)));
      energy += v * v / 4000.0;
    }
    /* Opus keeps the loudness rather than the wave: 0.5^2 / 2 within 1 dB */
    if (f == 1)
      g_assert_cmpfloat(fabs(10.0 * log10(energy / 0.125)), <, 1.0);
    else
      g_assert_cmpfloat(worst, <, 0.05);
    pla_item_clear(&item);
  }
}

static void
test_damage(void)
{
  static const char *const endings[] = { ".wav", ".aiff", ".au", ".flac", ".caf", ".w64" };
  for (size_t f = 0; f < G_N_ELEMENTS(endings); f++) {
    PlaItem item = { .kind = PLA_KIND_AUDIO, .audio = make_sound(PLA_I16, 16, 2, 150) };
    pla_test_fuzz_item(&pla_format_sound, endings[f], &item, NULL);
    pla_item_clear(&item);
  }
  const int formats[] = { SF_FORMAT_OGG | SF_FORMAT_VORBIS, SF_FORMAT_OGG | SF_FORMAT_OPUS,
                          SF_FORMAT_NIST | SF_FORMAT_PCM_16 };
  for (size_t f = 0; f < G_N_ELEMENTS(formats); f++) {
    size_t size;
    g_autofree uint8_t *data = encode_with_library(formats[f], &size);
    PlaFuzz fuzz = {
      .format = &pla_format_sound, .extension = ".ogg", .n_mutations = 40, .truncation_stride = 499
    };
    pla_fuzz_run(&fuzz, data, size);
  }
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/io/sound/round-trip", test_round_trip);
  g_test_add_func("/io/sound/get", test_get);
  g_test_add_func("/io/sound/same-bytes", test_same_bytes);
  g_test_add_func("/io/sound/lengths", test_lengths);
  g_test_add_func("/io/sound/compressed", test_compressed);
  g_test_add_func("/io/sound/lossy", test_lossy);
  g_test_add_func("/io/sound/damage", test_damage);
  return g_test_run();
}
