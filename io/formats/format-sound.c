/* Sound through libsndfile: WAV (RF64, W64), AIFF, AU, CAF, FLAC, Ogg Vorbis and Opus, NIST Sphere.
 *
 * Integer samples keep their bits: 8 and 16 bits in int16, 24 and 32 bits in int32, all in the high
 * bits.  Only containers named above reach the library, told by their first bytes; the lengths that
 * WAV, AIFF and AU state are compared with the file before, because the library would silently
 * shorten them.  Uncompressed sound must fit into the file; compressed sound is decoded once to
 * count and once to keep, so that a damaged or absurd stream is refused in little memory.  Ogg is
 * decoded in a helper process: the library leaks where such a header is damaged. */
#include "io/formats/formats.h"
#include "io/stream/helper-process.h"
#include "io/stream/output.h"
#include "io/stream/reader.h"
#include "io/stream/source.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <sndfile.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum {
  BLOCK = 1 << 16,    /* samples decoded at a time */
  MAX_CHANNELS = 256, /* more is no sound */
  MAX_RATE = 10000000 /* Hz */
};

typedef enum { NO_SOUND, WAV, AIFF, AU, OGG, OTHER_SOUND } Container;

static Container
container_of(const uint8_t *head, size_t n)
{
  static const uint8_t w64[8] = { 'r', 'i', 'f', 'f', 0x2e, 0x91, 0xcf, 0x11 };
  if (n < 16)
    return NO_SOUND;
  bool riff =
      memcmp(head, "RIFF", 4) == 0 || memcmp(head, "RIFX", 4) == 0 || memcmp(head, "RF64", 4) == 0;
  if (riff && memcmp(head + 8, "WAVE", 4) == 0)
    return WAV;
  if (memcmp(head, "FORM", 4) == 0 &&
      (memcmp(head + 8, "AIFF", 4) == 0 || memcmp(head + 8, "AIFC", 4) == 0))
    return AIFF;
  if (memcmp(head, ".snd", 4) == 0 || memcmp(head, "dns.", 4) == 0)
    return AU;
  if (memcmp(head, "OggS", 4) == 0)
    return OGG;
  return memcmp(head, "fLaC", 4) == 0 || memcmp(head, "caff", 4) == 0 ||
                 memcmp(head, "NIST_1A", 7) == 0 || memcmp(head, w64, 8) == 0
             ? OTHER_SOUND
             : NO_SOUND;
}

static bool
sound_probe(const char *path, const uint8_t *head, size_t n_head)
{
  return container_of(head, n_head) != NO_SOUND;
}

static uint64_t
get_uint(const uint8_t *p, int n, bool big_endian)
{
  uint64_t value = 0;
  for (int i = 0; i < n; i++)
    value |= (uint64_t)p[i] << 8 * (big_endian ? n - 1 - i : i);
  return value;
}

/* the claim of a chunk of samples against the file; lengths that recorders leave open are fine */
static PlaStatus
check_claim(const PlaReader *r, uint64_t data, uint64_t length, uint64_t open_length,
            PlaNotes *notes, PlaError *err)
{
  if (length == open_length || length == 0) {
    if (length == open_length || r->size > data)
      pla_notes_add(notes, "the file does not state its length; everything up to its end is read");
    return PLA_OK;
  }
  if (length > r->size - data)
    return pla_fail(err, PLA_ERR_FORMAT,
                    "%s, byte %" PRIu64 ": the samples should take %" PRIu64
                    " bytes and the file ends "
                    "after %" PRIu64 "; it was probably cut short, copy it again",
                    r->path, data, length, r->size - data);
  return PLA_OK;
}

/* Finds the samples of WAV, AIFF and AU, and the number of frames that an AIFF file states. */
static PlaStatus
check_lengths(const char *path, Container container, int64_t *n_frames, PlaNotes *notes,
              PlaError *err)
{
  PlaReader r;
  uint8_t h[28];
  PlaStatus st = pla_reader_open(&r, path, NULL, err);
  if (st != PLA_OK)
    return st;
  if (container == AU && pla_reader_read(&r, h, 16)) {
    bool big_endian = h[0] == '.';
    uint64_t data = get_uint(h + 4, 4, big_endian);
    if (data > r.size)
      st =
          pla_fail(err, PLA_ERR_FORMAT,
                   "%s, byte 4: the samples should begin at byte %" PRIu64 " of a file of %" PRIu64,
                   path, data, r.size);
    else
      st = check_claim(&r, data, get_uint(h + 8, 4, big_endian), 0xffffffff, notes, err);
  } else if (pla_reader_read(&r, h, 12)) {
    bool big_endian = container == AIFF || h[3] == 'X';
    uint64_t long_length = 0xffffffff; /* of RF64 */
    for (uint64_t at = 12; st == PLA_OK && pla_reader_read(&r, h, 8);) {
      uint64_t length = get_uint(h + 4, 4, big_endian);
      bool samples = memcmp(h, container == AIFF ? "SSND" : "data", 4) == 0;
      at += 8;
      if (memcmp(h, "ds64", 4) == 0 && length >= 16 && pla_reader_read(&r, h, 16))
        long_length = get_uint(h + 8, 8, false);
      if (container == AIFF && memcmp(h, "COMM", 4) == 0 && length >= 6 &&
          pla_reader_read(&r, h, 6))
        *n_frames = (int64_t)get_uint(h + 2, 4, true);
      if (samples) {
        if (length == 0xffffffff)
          length = long_length;
        st = check_claim(&r, at, length, 0xffffffff, notes, err);
        break;
      }
      at += length + (length & 1);
      if (at >= r.size)
        break;
      pla_reader_seek(&r, at, 0);
    }
  }
  pla_reader_close(&r);
  return st;
}

/* the checksum of an Ogg page: CRC-32 of 0x04c11db7, most significant bit first */
static uint32_t
ogg_crc(uint32_t crc, const uint8_t *p, size_t n)
{
  for (size_t i = 0; i < n; i++) {
    crc ^= (uint32_t)p[i] << 24;
    for (int bit = 0; bit < 8; bit++)
      crc = crc << 1 ^ (crc >> 31 ? 0x04c11db7 : 0);
  }
  return crc;
}

/* every page of an Ogg file is whole and has the checksum that it states (RFC 3533) */
static PlaStatus
check_ogg_pages(const char *path, PlaProgress *progress, PlaError *err)
{
  PlaReader r;
  uint8_t page[27 + 255 + 255 * 255];
  PlaStatus st = pla_reader_open(&r, path, progress, err);
  if (st != PLA_OK)
    return st;
  while (st == PLA_OK && pla_reader_left(&r) > 0) {
    uint64_t at = pla_reader_tell(&r);
    size_t n_segments = 0, n_body = 0;
    bool whole = pla_reader_read(&r, page, 27) && memcmp(page, "OggS", 5) == 0;
    if (whole) {
      n_segments = page[26];
      whole = pla_reader_read(&r, page + 27, n_segments);
    }
    for (size_t i = 0; whole && i < n_segments; i++)
      n_body += page[27 + i];
    if (whole)
      whole = pla_reader_read(&r, page + 27 + n_segments, n_body);
    if (whole) {
      uint64_t stated = get_uint(page + 22, 4, false);
      memset(page + 22, 0, 4);
      whole = ogg_crc(0, page, 27 + n_segments + n_body) == stated;
    }
    if (!whole) {
      pla_reader_seek(&r, at, 0);
      st = pla_reader_fail_byte(&r, err,
                                "the page of sound that begins here is damaged or cut short; copy "
                                "the file again");
    }
  }
  pla_reader_close(&r);
  return st;
}

typedef struct {
  const char *path;
  uint64_t size;
  int fd;
  SNDFILE *file;
  SF_INFO info;
  PlaDType dtype;
  int bits;
  int stored_bits;    /* of an uncompressed sample in the file; 0: compressed */
  int64_t max_frames; /* that the file states */
  PlaProgress *progress;
} Sound;

static PlaStatus
choose_type(Sound *s, PlaError *err)
{
  switch (s->info.format & SF_FORMAT_SUBMASK) {
  case SF_FORMAT_PCM_S8:
  case SF_FORMAT_PCM_U8:
    s->dtype = PLA_I16;
    s->bits = s->stored_bits = 8;
    break;
  case SF_FORMAT_ULAW:
  case SF_FORMAT_ALAW:
    s->stored_bits = 8;
    s->dtype = PLA_I16;
    s->bits = 16;
    break;
  case SF_FORMAT_PCM_16:
    s->stored_bits = 16;
    s->dtype = PLA_I16;
    s->bits = 16;
    break;
  case SF_FORMAT_IMA_ADPCM:
  case SF_FORMAT_MS_ADPCM:
  case SF_FORMAT_GSM610:
  case SF_FORMAT_G721_32:
  case SF_FORMAT_G723_24:
  case SF_FORMAT_G723_40:
  case SF_FORMAT_ALAC_16:
    s->dtype = PLA_I16;
    s->bits = 16;
    break;
  case SF_FORMAT_PCM_24:
    s->stored_bits = 24;
    s->dtype = PLA_I32;
    s->bits = 24;
    break;
  case SF_FORMAT_ALAC_24:
    s->dtype = PLA_I32;
    s->bits = 24;
    break;
  case SF_FORMAT_PCM_32:
    s->stored_bits = 32;
    s->dtype = PLA_I32;
    s->bits = 32;
    break;
  case SF_FORMAT_FLOAT:
    s->stored_bits = 32;
    s->dtype = PLA_F32;
    break;
  case SF_FORMAT_DOUBLE:
    s->stored_bits = 64;
    s->dtype = PLA_F64;
    break;
  case SF_FORMAT_VORBIS:
  case SF_FORMAT_OPUS:
    s->dtype = PLA_F32;
    break;
  default:
    return pla_fail(err, PLA_ERR_UNSUPPORTED,
                    "%s holds sound of a rare encoding (0x%x); convert it to WAV or FLAC", s->path,
                    (unsigned)s->info.format & SF_FORMAT_SUBMASK);
  }
  if ((s->info.format & SF_FORMAT_TYPEMASK) == SF_FORMAT_FLAC)
    s->stored_bits = 0;
  return PLA_OK;
}

static PlaStatus
sound_open(Sound *s, PlaError *err)
{
  s->info = (SF_INFO){ 0 };
  if (lseek(s->fd, 0, SEEK_SET) != 0)
    return pla_fail(err, PLA_ERR_IO, "%s cannot be read (%s)", s->path, strerror(errno));
  s->file = sf_open_fd(s->fd, SFM_READ, &s->info, 0);
  if (!s->file) {
    char why[160];
    snprintf(why, sizeof why, "%s", sf_strerror(NULL));
    for (size_t n = strlen(why); n > 0 && (why[n - 1] == '.' || why[n - 1] == '\n'); n--)
      why[n - 1] = '\0';
    return pla_fail(err, PLA_ERR_FORMAT,
                    "%s: the header of this sound is damaged (%s); copy it again", s->path, why);
  }
  if (s->info.channels < 1 || s->info.channels > MAX_CHANNELS)
    return pla_fail(err, PLA_ERR_FORMAT, "%s: %d channels are impossible; 1 to %d are read",
                    s->path, s->info.channels, MAX_CHANNELS);
  if (s->info.samplerate < 1 || s->info.samplerate > MAX_RATE)
    return pla_fail(err, PLA_ERR_FORMAT, "%s: a rate of %d Hz is impossible; 1 to %d Hz are read",
                    s->path, s->info.samplerate, MAX_RATE);
  if (s->info.frames < 0)
    return pla_fail(err, PLA_ERR_FORMAT, "%s: its length is negative", s->path);
  return choose_type(s, err);
}

static void
sound_close(Sound *s)
{
  if (s->file)
    sf_close(s->file);
  s->file = NULL;
}

/* decodes up to @n frames in the sound's own type */
static sf_count_t
decode(Sound *s, void *to, sf_count_t n)
{
  switch (s->dtype) {
  case PLA_I16:
    return sf_readf_short(s->file, to, n);
  case PLA_I32:
    return sf_readf_int(s->file, to, n);
  case PLA_F32:
    return sf_readf_float(s->file, to, n);
  default:
    return sf_readf_double(s->file, to, n);
  }
}

static size_t
frame_size(const Sound *s)
{
  return (size_t)s->info.channels * pla_dtype_size(s->dtype);
}

/* Decodes @n frames into @to or, where that is NULL, block by block into @pipe or, where that is
 * NULL too, into nowhere to count all there are; *out frames came. */
static PlaStatus
decode_all(Sound *s, void *to, PlaHelperPipe *pipe, int64_t n, int64_t *out, PlaError *err)
{
  const sf_count_t step = BLOCK / s->info.channels;
  const double limit = (double)PLA_MAX_INFLATE * (double)s->size + (double)(64 << 20); /* bytes */
  void *block = to ? NULL : pla_array_new((size_t)step, frame_size(s));
  PlaStatus st = to || block ? PLA_OK : pla_fail_memory(err, s->path);
  *out = 0;
  while (st == PLA_OK && *out < n) {
    sf_count_t want = n - *out < step ? n - *out : step;
    sf_count_t got = decode(s, to ? (char *)to + (size_t)*out * frame_size(s) : block, want);
    if (got <= 0)
      break;
    *out += got;
    if ((double)*out * (double)frame_size(s) > limit)
      st = pla_fail(err, PLA_ERR_FORMAT,
                    "%s: its %" PRIu64 " bytes expand to more than %.0f MB of sound, which no real "
                    "recording does",
                    s->path, s->size, limit / 1e6);
    else if (pipe && !pla_helper_send(pipe, block, (size_t)got * frame_size(s)))
      st = pla_fail(err, PLA_ERR_IO, "%s: the reader has stopped", s->path);
    off_t at = lseek(s->fd, 0, SEEK_CUR);
    if (st == PLA_OK &&
        !pla_progress_step(s->progress, s->size ? (double)at / (double)s->size : 1.0))
      st = pla_fail_cancelled(err);
  }
  if (st == PLA_OK && sf_error(s->file) != SF_ERR_NO_ERROR)
    st = pla_fail(err, PLA_ERR_FORMAT, "%s: the sound is damaged after %.3f s; copy the file again",
                  s->path, (double)*out / s->info.samplerate);
  if (st == PLA_OK && n < INT64_MAX && *out != n)
    st = pla_fail(err, PLA_ERR_FORMAT, "%s ends after %.3f of %.3f s; copy the file again", s->path,
                  (double)*out / s->info.samplerate, (double)n / s->info.samplerate);
  free(block);
  return st;
}

/* how many frames there are, before anything is allocated for them */
static PlaStatus
count_frames(Sound *s, int64_t *out, PlaError *err)
{
  if (s->stored_bits) {
    *out = s->info.frames < s->max_frames ? s->info.frames : s->max_frames;
    double bytes = (double)s->info.frames * s->info.channels * s->stored_bits / 8.0;
    return bytes <= (double)s->size
               ? PLA_OK
               : pla_fail(err, PLA_ERR_FORMAT,
                          "%s: %" PRId64
                          " samples in %d channels cannot stand in a file of %" PRIu64
                          " bytes; it was probably cut short, copy it again",
                          s->path, (int64_t)s->info.frames, s->info.channels, s->size);
  }
  PlaStatus st = decode_all(s, NULL, NULL, INT64_MAX, out, err);
  /* FLAC states its length, unless it was written to a pipe */
  bool flac = (s->info.format & SF_FORMAT_TYPEMASK) == SF_FORMAT_FLAC;
  if (st == PLA_OK && flac && s->info.frames > *out && s->info.frames < INT64_MAX / 4)
    st = pla_fail(err, PLA_ERR_FORMAT,
                  "%s ends after %.3f of %.3f s; it was probably cut short, copy it again", s->path,
                  (double)*out / s->info.samplerate, (double)s->info.frames / s->info.samplerate);
  sound_close(s);
  return st == PLA_OK ? sound_open(s, err) : st;
}

/* opens the file and finds out how long the sound is */
static PlaStatus
sound_begin(Sound *s, int64_t *n, PlaError *err)
{
  s->fd = open(s->path, O_RDONLY | O_CLOEXEC);
  if (s->fd < 0)
    return pla_fail(err, PLA_ERR_IO, "%s cannot be opened (%s)", s->path, strerror(errno));
  PlaStatus st = sound_open(s, err);
  if (st == PLA_OK)
    st = count_frames(s, n, err);
  if (st == PLA_OK && *n == 0)
    st = pla_fail(err, PLA_ERR_EMPTY, "%s holds no sound", s->path);
  return st;
}

static void
sound_end(Sound *s)
{
  sound_close(s);
  if (s->fd >= 0)
    close(s->fd);
}

static PlaStatus
audio_new(int64_t n, int n_channels, int rate, PlaDType dtype, int bits, PlaAudio **out,
          PlaError *err)
{
  size_t n_samples = 0;
  PlaAudio *audio = pla_array_new0(1, sizeof *audio);
  if (audio) {
    *audio = (PlaAudio){
      .n_frames = n, .n_channels = n_channels, .rate_hz = rate, .dtype = dtype, .bits = bits
    };
    if (pla_size_mul((size_t)n, (size_t)n_channels, &n_samples))
      audio->samples = pla_array_new(n_samples, pla_dtype_size(dtype));
  }
  *out = audio && audio->samples ? audio : NULL;
  if (*out)
    return PLA_OK;
  pla_audio_free(audio);
  return pla_fail_memory(err, "the sound");
}

/* what a helper sends before the samples, which are 32-bit floats */
typedef struct {
  int64_t n;
  int channels, rate;
} OggHead;

static PlaStatus
ogg_helper(const void *job, PlaHelperPipe *pipe, PlaError *err)
{
  Sound s = *(const Sound *)job;
  int64_t n = 0, got;
  PlaStatus st = sound_begin(&s, &n, err);
  if (st == PLA_OK && s.dtype != PLA_F32)
    st = pla_fail(err, PLA_ERR_UNSUPPORTED, "%s holds neither Vorbis nor Opus; convert it to WAV",
                  s.path);
  OggHead head = { n, s.info.channels, s.info.samplerate };
  if (st == PLA_OK && !pla_helper_send(pipe, &head, sizeof head))
    st = pla_fail(err, PLA_ERR_IO, "%s: the reader has stopped", s.path);
  if (st == PLA_OK)
    st = decode_all(&s, NULL, pipe, n, &got, err);
  sound_end(&s);
  return st;
}

static PlaStatus
ogg_read(const Sound *s, PlaProgress *progress, PlaAudio **out, PlaError *err)
{
  PlaHelper *helper = NULL;
  PlaHelperLimits limits = pla_helper_limits_default();
  PlaStatus st = check_ogg_pages(s->path, progress, err);
  if (st != PLA_OK)
    return st;
  limits.cpu_s += (int)(s->size / 100000); /* far slower than any decoder */
  limits.silence_s = limits.cpu_s;
  st = pla_helper_start(s->path, ogg_helper, s, &limits, progress, &helper, err);
  if (st != PLA_OK)
    return st;
  OggHead head = { 0 };
  bool come = pla_helper_read(helper, &head, sizeof head);
  double bytes = (double)head.n * head.channels * 4.0;
  if (come && (head.n < 1 || head.channels < 1 || head.channels > MAX_CHANNELS || head.rate < 1 ||
               bytes > (double)PLA_MAX_INFLATE * (double)s->size + (double)(65 << 20)))
    st = pla_fail(err, PLA_ERR_FORMAT, "%s: its header is inconsistent; copy the file again",
                  s->path);
  if (come && st == PLA_OK)
    st = audio_new(head.n, head.channels, head.rate, PLA_F32, 0, out, err);
  if (st != PLA_OK) {
    pla_helper_abandon(helper);
    return st;
  }
  size_t frame = 4 * (size_t)head.channels;
  for (int64_t at = 0; come && at < head.n; at += BLOCK) {
    size_t n = (size_t)(head.n - at < BLOCK ? head.n - at : BLOCK);
    come = pla_helper_read(helper, (char *)(*out)->samples + (size_t)at * frame, n * frame);
  }
  st = pla_helper_finish(helper, err);
  if (st == PLA_OK && !come)
    st = pla_fail(err, PLA_ERR_FORMAT, "%s: the sound ends early; copy the file again", s->path);
  if (st != PLA_OK) {
    pla_audio_free(*out);
    *out = NULL;
  }
  return st;
}

static PlaStatus
sound_read(const char *path, const PlaReadOptions *opts, PlaItem *out, PlaError *err)
{
  Sound s = { .path = path, .fd = -1, .max_frames = INT64_MAX };
  uint8_t head[16];
  size_t n_head = 0;
  PlaAudio *audio = NULL;
  *out = (PlaItem){ 0 };
  PlaStatus st = pla_source_size(path, &s.size, err);
  if (st == PLA_OK)
    st = pla_source_head(path, head, sizeof head, &n_head, err);
  Container container = container_of(head, n_head);
  if (st == PLA_OK && container == NO_SOUND)
    st = pla_fail(
        err, PLA_ERR_FORMAT,
        "%s does not begin like a sound that Platysma reads (WAV, AIFF, AU, CAF, FLAC, Ogg, "
        "Sphere); convert it",
        path);
  if (st == PLA_OK && container == OGG) {
    st = ogg_read(&s, opts->progress, &audio, err);
  } else if (st == PLA_OK) {
    int64_t n = 0, got;
    s.progress = opts->progress;
    if (container != OTHER_SOUND)
      st = check_lengths(path, container, &s.max_frames, &out->notes, err);
    if (st == PLA_OK)
      st = sound_begin(&s, &n, err);
    if (st == PLA_OK)
      st = audio_new(n, s.info.channels, s.info.samplerate, s.dtype, s.bits, &audio, err);
    if (st == PLA_OK)
      st = decode_all(&s, audio->samples, NULL, n, &got, err);
    sound_end(&s);
  }
  if (st == PLA_OK) {
    out->kind = PLA_KIND_AUDIO;
    out->audio = audio;
  } else {
    pla_audio_free(audio);
    pla_item_clear(out);
  }
  return st;
}

/* ---- writing */

static int
format_of(const char *path)
{
  static const struct {
    const char *ending;
    int format;
  } endings[] = {
    { ".wav", SF_FORMAT_WAV },  { ".rf64", SF_FORMAT_RF64 }, { ".w64", SF_FORMAT_W64 },
    { ".aif", SF_FORMAT_AIFF }, { ".aiff", SF_FORMAT_AIFF }, { ".au", SF_FORMAT_AU },
    { ".snd", SF_FORMAT_AU },   { ".caf", SF_FORMAT_CAF },   { ".flac", SF_FORMAT_FLAC },
  };
  size_t n = strlen(path);
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
    size_t m = strlen(endings[i].ending);
    if (n > m && strcasecmp(path + n - m, endings[i].ending) == 0)
      return endings[i].format;
  }
  return 0;
}

static int
subtype_of(const PlaAudio *audio, int format)
{
  if (audio->dtype == PLA_F32)
    return SF_FORMAT_FLOAT;
  if (audio->dtype == PLA_F64)
    return SF_FORMAT_DOUBLE;
  if (audio->bits == 8)
    return format == SF_FORMAT_WAV || format == SF_FORMAT_RF64 || format == SF_FORMAT_W64
               ? SF_FORMAT_PCM_U8
               : SF_FORMAT_PCM_S8;
  return audio->dtype == PLA_I16 ? SF_FORMAT_PCM_16
         : audio->bits == 24     ? SF_FORMAT_PCM_24
                                 : SF_FORMAT_PCM_32;
}

static sf_count_t
encode(SNDFILE *file, const PlaAudio *audio, int64_t from, sf_count_t n)
{
  const char *at = (const char *)audio->samples +
                   (size_t)from * (size_t)audio->n_channels * pla_dtype_size(audio->dtype);
  const void *p = at;
  switch (audio->dtype) {
  case PLA_I16:
    return sf_writef_short(file, p, n);
  case PLA_I32:
    return sf_writef_int(file, p, n);
  case PLA_F32:
    return sf_writef_float(file, p, n);
  default:
    return sf_writef_double(file, p, n);
  }
}

/* The library counts the byte that fills up an odd AIFF chunk as a sample: the counts are put
 * right in the header, whose chunks stand in the first few hundred bytes. */
static void
fix_aiff_counts(FILE *file, const PlaAudio *audio)
{
  uint8_t head[512];
  uint32_t n = (uint32_t)audio->n_frames, length = n * (uint32_t)audio->n_channels + 8;
  rewind(file);
  size_t size = fread(head, 1, sizeof head, file);
  uint8_t *comm = memmem(head, size, "COMM", 4), *ssnd = memmem(head, size, "SSND", 4);
  if (!comm || !ssnd || comm + 14 > head + size || ssnd + 8 > head + size)
    return;
  for (int i = 0; i < 4; i++) {
    comm[10 + i] = (uint8_t)(n >> 8 * (3 - i));
    ssnd[4 + i] = (uint8_t)(length >> 8 * (3 - i));
  }
  rewind(file);
  fwrite(head, 1, size, file);
}

static PlaStatus
sound_write(const char *path, const PlaItem *item, const PlaWriteOptions *opts, PlaError *err)
{
  const PlaAudio *audio = item->audio;
  int format = format_of(path);
  if (!format)
    return pla_fail(
        err, PLA_ERR_UNSUPPORTED,
        "%s is not written: sound goes into .wav, .flac, .aiff, .au, .caf, .rf64 or .w64 files",
        path);
  if (audio->rate_hz != round(audio->rate_hz) || audio->rate_hz < 1 || audio->rate_hz > MAX_RATE)
    return pla_fail(err, PLA_ERR_UNSUPPORTED,
                    "%s is not written: sound files hold whole rates, not %g Hz", path,
                    audio->rate_hz);
  double bytes = (double)audio->n_frames * audio->n_channels * (double)pla_dtype_size(audio->dtype);
  if (format == SF_FORMAT_WAV && bytes > 4.2e9)
    format = SF_FORMAT_RF64;
  SF_INFO info = { .samplerate = (int)audio->rate_hz, .channels = audio->n_channels };
  info.format = format | subtype_of(audio, format);
  if (!sf_format_check(&info))
    return pla_fail(
        err, PLA_ERR_UNSUPPORTED,
        "%s is not written: this kind of file cannot hold %d channels of %s%s; choose .wav", path,
        audio->n_channels, audio->bits ? "integers of as many bits" : pla_dtype_name(audio->dtype),
        format == SF_FORMAT_FLAC && !audio->bits ? " (FLAC holds integers)" : "");

  PlaOutput *output = NULL;
  PlaStatus st = pla_output_open(path, &output, err);
  if (st != PLA_OK)
    return st;
  SNDFILE *file = sf_open_fd(fileno(pla_output_get_file(output)), SFM_WRITE, &info, 0);
  if (!file)
    st = pla_fail(err, PLA_ERR_IO, "%s cannot be written (%s)", path, sf_strerror(NULL));
  else /* the chunk of peaks carries the time of day, which would make every file another */
    sf_command(file, SFC_SET_ADD_PEAK_CHUNK, NULL, SF_FALSE);
  const sf_count_t step = BLOCK / (audio->n_channels > 0 ? audio->n_channels : 1);
  for (int64_t at = 0; st == PLA_OK && at < audio->n_frames; at += step) {
    sf_count_t n = audio->n_frames - at < step ? audio->n_frames - at : step;
    if (encode(file, audio, at, n) != n)
      st = pla_fail(err, PLA_ERR_IO, "%s cannot be written (%s); nothing was changed", path,
                    sf_strerror(file));
    else if (!pla_progress_step(opts->progress, (double)at / (double)audio->n_frames))
      st = pla_fail_cancelled(err);
  }
  if (file && sf_close(file) != 0 && st == PLA_OK)
    st = pla_fail(err, PLA_ERR_IO, "%s cannot be written to its end; nothing was changed", path);
  if (st == PLA_OK && format == SF_FORMAT_AIFF && audio->bits == 8 &&
      audio->n_frames * audio->n_channels % 2)
    fix_aiff_counts(pla_output_get_file(output), audio);
  if (st == PLA_OK)
    return pla_output_commit(&output, 1, err);
  pla_output_discard(output);
  return st;
}

static const char *const extensions[] = { ".wav", ".flac", ".aiff", ".aif", ".au",
                                          ".snd", ".caf",  ".rf64", ".w64", ".ogg",
                                          ".oga", ".opus", ".sph",  NULL };

const PlaFormat pla_format_sound = {
  .id = "sound",
  .title = "Sound",
  .extensions = extensions,
  .kind = PLA_KIND_AUDIO,
  .probe = sound_probe,
  .read = sound_read,
  .write = sound_write,
};
