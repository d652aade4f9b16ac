/* C3D, the binary marker files of motion capture systems (www.c3d.org user guide, 2021).
 *
 * A file is a header block of 512 bytes, parameters in named groups, then frames: four words for
 * each marker, then the analogue samples, which are skipped.  The words are 16-bit integers times
 * POINT:SCALE or, where that is negative, 32-bit floats; both in the byte order and float format
 * of the processor that the parameters name: Intel, DEC (VAX) or MIPS.  The fourth word of a marker
 * is negative where it was not seen; else its high byte tells cameras and its low byte, times
 * |SCALE|, the residual.
 *
 * Counts stand in several places (header, POINT, TRIAL) and old files disagree with themselves: the
 * parameters are believed first, and whatever is believed must fit into the file.  Positions stay
 * in the frame of the capture: POINT:X_SCREEN and Y_SCREEN only tell how to show them. */
#include "io/formats/formats.h"
#include "io/formats/signals.h"
#include "io/stream/output.h"
#include "io/stream/source.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
  BLOCK = 512,              /* bytes */
  MAX_PARAMETERS = 1 << 20, /* bytes; the format's own count ends at 255 blocks */
  INTEL = 84,
  DEC = 85,
  MIPS = 86,
};

/* ---- numbers of the three processors */

static unsigned
get_u16(int processor, const uint8_t *p)
{
  return processor == MIPS ? (unsigned)p[0] << 8 | p[1] : (unsigned)p[1] << 8 | p[0];
}

static int
get_i16(int processor, const uint8_t *p)
{
  return (int16_t)get_u16(processor, p);
}

/* VAX F_floating: two little-endian 16-bit words, high one first; 0.1m x 2^(e-128) */
static float
get_vax(const uint8_t *p)
{
  uint32_t bits = (uint32_t)p[1] << 24 | (uint32_t)p[0] << 16 | (uint32_t)p[3] << 8 | p[2];
  int exponent = (int)(bits >> 23 & 0xff);
  if (exponent == 0)
    return bits >> 31 ? NAN : 0.0f; /* a negative zero is VAX's "reserved operand" */
  float value = ldexpf((float)((bits & 0x7fffff) | 0x800000), exponent - 128 - 24);
  return bits >> 31 ? -value : value;
}

static float
get_float(int processor, const uint8_t *p)
{
  if (processor == DEC)
    return get_vax(p);
  uint32_t bits = processor == MIPS
                      ? (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3]
                      : (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static void
put_u16(int processor, uint8_t *p, unsigned value)
{
  p[processor == MIPS ? 0 : 1] = (uint8_t)(value >> 8);
  p[processor == MIPS ? 1 : 0] = (uint8_t)value;
}

/* false when the processor's floats do not reach so far; too small ones become 0 */
static bool
put_float(int processor, uint8_t *p, float value)
{
  uint32_t bits;
  if (processor != DEC) {
    memcpy(&bits, &value, sizeof bits);
    for (int i = 0; i < 4; i++)
      p[processor == MIPS ? 3 - i : i] = (uint8_t)(bits >> 8 * i);
    return isfinite(value);
  }
  int exponent;
  float mantissa = frexpf(fabsf(value), &exponent); /* 0.5 .. 1 */
  if (!isfinite(value) || exponent + 128 > 255)
    return false;
  bits = value == 0 || exponent + 128 < 1
             ? 0
             : ((uint32_t)ldexpf(mantissa, 24) & 0x7fffff) | (uint32_t)(exponent + 128) << 23;
  if (bits && value < 0)
    bits |= 0x80000000u;
  p[1] = (uint8_t)(bits >> 24);
  p[0] = (uint8_t)(bits >> 16);
  p[3] = (uint8_t)(bits >> 8);
  p[2] = (uint8_t)bits;
  return true;
}

/* ---- parameters */

typedef struct {
  int group;
  const char *name; /* not terminated */
  size_t n_name;
  int type; /* -1 text, 1 byte, 2 integer, 4 float */
  int n_dims, dim[7];
  const uint8_t *data;
  size_t n; /* elements */
} Parameter;

typedef struct {
  const char *path;
  uint64_t size;
  int processor;
  uint8_t header[BLOCK];
  PlaBytes section;
  PlaBytes parameters; /* Parameter each */
  const char *group[128];
  size_t n_group[128];
} C3d;

static bool
name_is(const char *name, size_t n, const char *expected)
{
  return n == strlen(expected) && strncasecmp(name, expected, n) == 0;
}

static const Parameter *
find_parameter(const C3d *c, const char *group, const char *name)
{
  const Parameter *p = (const Parameter *)(const void *)c->parameters.data;
  for (size_t i = 0; i < c->parameters.size / sizeof *p; i++)
    if (c->group[p[i].group] && name_is(c->group[p[i].group], c->n_group[p[i].group], group) &&
        name_is(p[i].name, p[i].n_name, name))
      return &p[i];
  return NULL;
}

/* element @i as a number; integers are counts here, hence unsigned */
static bool
get_number(const C3d *c, const char *group, const char *name, size_t i, double *out)
{
  const Parameter *p = find_parameter(c, group, name);
  if (!p || i >= p->n || p->type < 1)
    return false;
  *out = p->type == 1   ? p->data[i]
         : p->type == 2 ? get_u16(c->processor, p->data + 2 * i)
                        : (double)get_float(c->processor, p->data + 4 * i);
  return isfinite(*out);
}

/* dimensions and data of the parameter at @at, which ends before @end; false: damaged */
static bool
parse_parameter(Parameter *p, const uint8_t *at, const uint8_t *end)
{
  if (end - at < 2)
    return false;
  p->type = (int8_t)at[0];
  p->n_dims = at[1];
  at += 2;
  if ((p->type != -1 && p->type != 1 && p->type != 2 && p->type != 4) || p->n_dims > 7 ||
      end - at < p->n_dims)
    return false;
  p->n = 1;
  for (int d = 0; d < p->n_dims; d++) {
    p->dim[d] = at[d];
    p->n *= at[d]; /* at most 255^7 < 2^56 */
  }
  p->data = at + p->n_dims;
  return p->n <= (size_t)(end - p->data) / (size_t)abs(p->type);
}

/* walks the chain of groups and parameters; stops where it breaks, which is said */
static PlaStatus
parse_parameters(C3d *c, PlaNotes *notes, PlaError *err)
{
  const uint8_t *at = c->section.data + 4, *end = c->section.data + c->section.size;
  bool broken = false;
  while (end - at > 2 && at[0] != 0 && !broken) {
    size_t n_name = (size_t)abs((int8_t)at[0]);
    int id = (int8_t)at[1];
    const uint8_t *link = at + 2 + n_name;
    if ((size_t)(end - at) < n_name + 4 || id == 0) {
      broken = id != 0;
      break;
    }
    size_t step = get_u16(c->processor, link);
    const uint8_t *next = step >= 2 && step <= (size_t)(end - link) ? link + step : NULL;
    if (id < 0 && id > -128) {
      c->group[-id] = (const char *)at + 2;
      c->n_group[-id] = n_name;
    } else if (id > 0) {
      Parameter p = { .group = id, .name = (const char *)at + 2, .n_name = n_name };
      if (!parse_parameter(&p, link + 2, next ? next : end))
        broken = true;
      else if (!pla_bytes_append(&c->parameters, &p, sizeof p))
        return pla_fail_memory(err, c->path);
    }
    broken |= step != 0 && !next;
    if (!next)
      break;
    at = next;
  }
  if (broken)
    pla_notes_add(notes, "the parameters are damaged at byte %zu; those from there on are ignored",
                  (size_t)(at - c->section.data));
  return PLA_OK;
}

/* header block and parameter section */
static PlaStatus
read_head(C3d *c, FILE *file, PlaNotes *notes, PlaError *err)
{
  if (fread(c->header, 1, BLOCK, file) != BLOCK)
    return pla_fail(err, PLA_ERR_FORMAT,
                    "%s ends inside its header, after %llu bytes; copy it again", c->path,
                    (unsigned long long)c->size);
  if (c->header[1] != 0x50)
    return pla_fail(err, PLA_ERR_FORMAT, "%s, byte 1: the mark of a C3D file is missing", c->path);
  uint64_t at = (uint64_t)(c->header[0] ? c->header[0] - 1 : 1) * BLOCK;
  if (at == 0 || at + 4 > c->size)
    return pla_fail(
        err, PLA_ERR_FORMAT,
        "%s, byte 0: the parameters should be in block %u, which the file of %llu bytes has "
        "not",
        c->path, c->header[0], (unsigned long long)c->size);
  uint8_t mark[4];
  if (fseeko(file, (off_t)at, SEEK_SET) != 0 || fread(mark, 1, 4, file) != 4)
    return pla_fail(err, PLA_ERR_IO, "%s cannot be read (%s)", c->path, strerror(errno));
  c->processor = mark[3];
  if (c->processor != INTEL && c->processor != DEC && c->processor != MIPS) {
    pla_notes_add(notes, "the processor type %u is unknown; Intel is assumed", mark[3]);
    c->processor = INTEL;
  }

  /* up to the data, whatever the count of blocks says */
  uint64_t data = (uint64_t)get_u16(c->processor, c->header + 16) * BLOCK;
  uint64_t length = (uint64_t)mark[2] * BLOCK;
  if (data > BLOCK + at && data - BLOCK - at > length)
    length = data - BLOCK - at;
  if (length > MAX_PARAMETERS)
    length = MAX_PARAMETERS;
  if (length > c->size - at)
    length = c->size - at;
  if (length < 4)
    length = 4;
  if (!pla_bytes_reserve(&c->section, (size_t)length))
    return pla_fail_memory(err, c->path);
  if (fseeko(file, (off_t)at, SEEK_SET) != 0 ||
      fread(c->section.data, 1, (size_t)length, file) != (size_t)length)
    return pla_fail(err, PLA_ERR_IO, "%s cannot be read (%s)", c->path, strerror(errno));
  c->section.size = (size_t)length;
  return parse_parameters(c, notes, err);
}

/* ---- what the file holds */

typedef struct {
  int n_markers, n_analog; /* analogue samples in one frame of markers */
  int64_t n_frames, first;
  double rate_hz, unit_mm;
  float scale; /* file units; negative: floats */
  uint64_t data;
  size_t word, frame_bytes;
} Layout;

/* a 32-bit frame number from two 16-bit words or one float */
static bool
get_field(const C3d *c, const char *name, int64_t *out)
{
  double low, high = 0.0;
  const Parameter *p = find_parameter(c, "TRIAL", name);
  if (!p || !get_number(c, "TRIAL", name, 0, &low))
    return false;
  if (p->type == 2)
    get_number(c, "TRIAL", name, 1, &high);
  double field = low + 65536.0 * high;
  *out = (int64_t)field;
  return field >= 0 && field < 4294967296.0;
}

typedef struct {
  const char *where;
  int64_t first, n;
} FrameClaim;

/* the first claim about the number of frames that the file can hold */
static PlaStatus
choose_frames(const C3d *c, Layout *l, PlaNotes *notes, PlaError *err)
{
  int64_t head_first = get_u16(c->processor, c->header + 6);
  int64_t head_last = get_u16(c->processor, c->header + 8), start, end;
  double value;
  FrameClaim claim[4];
  int n_claims = 0;
  if (get_field(c, "ACTUAL_START_FIELD", &start) && get_field(c, "ACTUAL_END_FIELD", &end) &&
      end >= start)
    claim[n_claims++] = (FrameClaim){ "TRIAL", start, end - start + 1 };
  if (get_number(c, "POINT", "LONG_FRAMES", 0, &value) && value >= 1 && value < 4e9)
    claim[n_claims++] = (FrameClaim){ "POINT:LONG_FRAMES", head_first, (int64_t)value };
  if (get_number(c, "POINT", "FRAMES", 0, &value) && value >= 1 && value < 4e9)
    claim[n_claims++] = (FrameClaim){ "POINT:FRAMES", head_first, (int64_t)value };
  if (head_last >= head_first)
    claim[n_claims++] = (FrameClaim){ "the header", head_first, head_last - head_first + 1 };

  int64_t room = (int64_t)((c->size - l->data) / l->frame_bytes);
  for (int i = 0; i < n_claims; i++)
    if (claim[i].n <= room && claim[i].n <= INT32_MAX) {
      l->n_frames = claim[i].n;
      l->first = claim[i].first;
      for (int j = 0; j < n_claims; j++)
        /* 16-bit counts of long takes are full, which is no disagreement */
        if (claim[j].n != l->n_frames && !(claim[j].n == 65535 && l->n_frames > 65535) &&
            !(j == n_claims - 1 && head_last == 65535)) {
          pla_notes_add(notes, "%s says %lld frames and %s says %lld; %lld are read",
                        claim[i].where, (long long)claim[i].n, claim[j].where,
                        (long long)claim[j].n, (long long)claim[i].n);
          break;
        }
      return PLA_OK;
    }
  if (n_claims == 0)
    return pla_fail(err, PLA_ERR_FORMAT, "%s holds no frames", c->path);
  return pla_fail(
      err, PLA_ERR_FORMAT,
      "%s ends after %lld of %lld frames of %zu bytes; it was probably cut short, copy it again",
      c->path, (long long)room, (long long)claim[0].n, l->frame_bytes);
}

static PlaStatus
read_layout(const C3d *c, const PlaReadOptions *opts, Layout *l, PlaNotes *notes, PlaError *err)
{
  double value;
  *l = (Layout){ .n_analog = (int)get_u16(c->processor, c->header + 4) };
  l->n_markers = (int)get_u16(c->processor, c->header + 2);
  if (get_number(c, "POINT", "USED", 0, &value) && value == floor(value) && value >= 0 &&
      value <= 65535 && (int)value != l->n_markers) {
    pla_notes_add(notes, "the header says %d markers, POINT:USED %d; the latter is used",
                  l->n_markers, (int)value);
    l->n_markers = (int)value;
  }
  if (l->n_markers == 0)
    return pla_fail(err, PLA_ERR_EMPTY, "%s holds no markers%s", c->path,
                    l->n_analog ? ", only analogue channels" : "");

  /* scale, and with it the size of a word */
  l->scale = get_float(c->processor, c->header + 12);
  if (get_number(c, "POINT", "SCALE", 0, &value) && value != 0)
    l->scale = (float)value;
  /* DEC's floats end at 3e-39 */
  if (!isfinite(l->scale) || fabsf(l->scale) < 1e-30f)
    return pla_fail(err, PLA_ERR_FORMAT,
                    "%s, byte 12: POINT:SCALE is %g, which is no scale; correct it", c->path,
                    (double)l->scale);
  l->word = l->scale < 0 ? 4 : 2;
  l->frame_bytes = l->word * (4 * (size_t)l->n_markers + (size_t)l->n_analog);

  unsigned block = get_u16(c->processor, c->header + 16);
  if (block < 2 && get_number(c, "POINT", "DATA_START", 0, &value))
    block = (unsigned)fmin(fmax(value, 0), 65535);
  l->data = block < 2 ? 0 : (uint64_t)(block - 1) * BLOCK;
  if (l->data == 0 || l->data > c->size)
    return pla_fail(
        err, PLA_ERR_FORMAT,
        "%s, byte 16: the data should begin in block %u, which the file of %llu bytes has not; "
        "copy it again",
        c->path, block, (unsigned long long)c->size);

  PlaStatus st = choose_frames(c, l, notes, err);
  if (st != PLA_OK)
    return st;

  l->rate_hz = (double)get_float(c->processor, c->header + 20);
  if (get_number(c, "POINT", "RATE", 0, &value) && value > 0)
    l->rate_hz = value;
  if (!(l->rate_hz > 1e-6 && l->rate_hz < 1e9)) {
    if (l->n_frames > 1)
      return pla_fail(err, PLA_ERR_FORMAT,
                      "%s, byte 20: a rate of %g Hz is impossible; correct POINT:RATE", c->path,
                      l->rate_hz);
    pla_notes_add(notes, "the one frame has no rate; 1 Hz is assumed");
    l->rate_hz = 1.0;
  }

  l->unit_mm = opts->unit_mm > 0 ? opts->unit_mm : 1.0;
  const Parameter *p = find_parameter(c, "POINT", "UNITS");
  if (p && p->type == -1) {
    const char *unit = (const char *)p->data;
    size_t n = p->n;
    while (n > 0 && (unit[n - 1] == ' ' || unit[n - 1] == '\0' || unit[n - 1] == '.'))
      n--;
    if (n > 0 && !pla_length_unit_parse(unit, n, &l->unit_mm))
      return pla_fail(err, PLA_ERR_FORMAT,
                      "%s: POINT:UNITS \"%.*s\" are not understood; they should be mm, cm, m or in",
                      c->path, (int)(n > 20 ? 20 : n), unit);
  }
  return PLA_OK;
}

/* LABELS, LABELS2, ... in order */
static PlaStatus
read_names(const C3d *c, PlaTake *take, PlaNotes *notes, PlaError *err)
{
  int m = 0;
  for (int part = 1; m < take->n_markers; part++) {
    char name[16];
    snprintf(name, sizeof name, part == 1 ? "LABELS" : "LABELS%d", part);
    const Parameter *p = find_parameter(c, "POINT", name);
    if (!p || p->type != -1 || p->n_dims < 1 || p->n == 0)
      break;
    size_t width = (size_t)p->dim[0];
    for (size_t i = 0; i < p->n / width && m < take->n_markers; i++, m++) {
      take->name[m] = pla_name_dup((const char *)p->data + i * width, width);
      if (!take->name[m])
        return pla_fail_memory(err, c->path);
    }
  }
  return pla_names_finish(take->name, take->n_markers, "M", notes, err);
}

typedef struct {
  bool cameras, not_numbers;
} Seen;

/* one marker of one frame; false for an infinite coordinate */
static bool
decode(const C3d *c, const Layout *l, const uint8_t *p, double pos[3], float *residual, Seen *seen)
{
  float last;
  double v[3];
  if (l->word == 4) {
    for (int d = 0; d < 3; d++)
      v[d] = (double)get_float(c->processor, p + 4 * d);
    last = get_float(c->processor, p + 12);
  } else {
    for (int d = 0; d < 3; d++)
      v[d] = get_i16(c->processor, p + 2 * d) * (double)l->scale;
    last = (float)get_i16(c->processor, p + 6);
  }
  *residual = NAN;
  if (!(last >= 0))
    return true;
  if (isnan(v[0]) || isnan(v[1]) || isnan(v[2])) {
    seen->not_numbers = true;
    return true;
  }
  for (int d = 0; d < 3; d++) {
    if (isinf(v[d]))
      return false;
    pos[d] = pla_length_to_m(v[d], l->unit_mm);
  }
  float cameras = last < 32768.0f ? floorf(last / 256.0f) * 256.0f : 0.0f;
  seen->cameras |= cameras > 0;
  *residual = (float)pla_length_to_m((double)(last - cameras) * fabs((double)l->scale), l->unit_mm);
  return true;
}

static PlaStatus
read_frames(const C3d *c, const Layout *l, FILE *file, PlaProgress *progress, PlaTake *take,
            PlaNotes *notes, PlaError *err)
{
  Seen seen = { 0 };
  PlaStatus st = PLA_OK;
  uint8_t *frame = pla_array_new(l->frame_bytes, 1);
  take->residual = pla_array_new((size_t)take->n_frames * (size_t)take->n_markers, sizeof(float));
  if (!frame || !take->residual)
    st = pla_fail_memory(err, "the marker positions");
  if (st == PLA_OK && fseeko(file, (off_t)l->data, SEEK_SET) != 0)
    st = pla_fail(err, PLA_ERR_IO, "%s cannot be read (%s)", c->path, strerror(errno));
  for (int f = 0; f < take->n_frames && st == PLA_OK; f++) {
    if (fread(frame, 1, l->frame_bytes, file) != l->frame_bytes)
      st = pla_fail(err, PLA_ERR_IO, "%s cannot be read in frame %d; copy the file again", c->path,
                    f + 1);
    for (int m = 0; m < take->n_markers && st == PLA_OK; m++) {
      size_t at = (size_t)f * (size_t)take->n_markers + (size_t)m;
      if (!decode(c, l, frame + 4 * l->word * (size_t)m, take->pos + 3 * at, &take->residual[at],
                  &seen))
        st = pla_fail(err, PLA_ERR_FORMAT,
                      "%s, byte %llu: marker %.80s has an infinite coordinate in frame %d", c->path,
                      (unsigned long long)(l->data + (uint64_t)f * l->frame_bytes +
                                           4 * l->word * (size_t)m),
                      take->name[m], f + 1);
    }
    if (f % 64 == 0 && !pla_progress_step(progress, (double)f / take->n_frames))
      st = pla_fail_cancelled(err);
  }
  free(frame);
  if (seen.cameras)
    pla_notes_add(notes, "the camera masks of the markers were left out");
  if (seen.not_numbers)
    pla_notes_add(notes, "positions that are no numbers (NaN) are taken as missing");
  return st;
}

static PlaStatus
c3d_read(const char *path, const PlaReadOptions *opts, PlaItem *out, PlaError *err)
{
  C3d *c = pla_array_new0(1, sizeof *c);
  Layout l;
  FILE *file = NULL;
  PlaTake *take = NULL;
  *out = (PlaItem){ 0 };
  if (!c)
    return pla_fail_memory(err, path);
  c->path = path;
  PlaStatus st = pla_source_size(path, &c->size, err);
  if (st == PLA_OK && !(file = fopen(path, "rbe")))
    st = pla_fail(err, PLA_ERR_IO, "%s cannot be opened (%s)", path, strerror(errno));
  if (st == PLA_OK)
    st = read_head(c, file, &out->notes, err);
  if (st == PLA_OK)
    st = read_layout(c, opts, &l, &out->notes, err);
  if (st == PLA_OK)
    st = pla_take_new((int)l.n_frames, l.n_markers, &take, err);
  if (st == PLA_OK) {
    out->kind = PLA_KIND_TAKE;
    out->take = take;
    take->rate_hz = l.rate_hz;
    take->start_s = l.first > 1 ? (double)(l.first - 1) / l.rate_hz : 0.0;
    take->unit_mm = l.unit_mm;
    take->single = l.word == 4;
    take->step = l.word == 2 ? l.scale : 0.0f;
    st = read_names(c, take, &out->notes, err);
  }
  if (st == PLA_OK)
    st = read_frames(c, &l, file, opts->progress, take, &out->notes, err);
  if (st == PLA_OK && l.n_analog)
    pla_notes_add(&out->notes, "analogue channels (%d samples in each frame) are left out",
                  l.n_analog);
  if (st != PLA_OK)
    pla_item_clear(out);
  if (file)
    fclose(file);
  pla_bytes_clear(&c->section);
  pla_bytes_clear(&c->parameters);
  free(c);
  return st;
}

static bool
c3d_probe(const char *path, const uint8_t *head, size_t n_head)
{
  if (n_head < BLOCK || head[1] != 0x50)
    return false;
  size_t at = head[0] ? (size_t)(head[0] - 1) * BLOCK : BLOCK;
  return at + 4 > n_head || (head[at + 3] >= INTEL && head[at + 3] <= MIPS);
}

/* ---- writing */

/* appends a group or parameter; its link is set by the next call or stays 0 for the last */
typedef struct {
  PlaBytes bytes;
  size_t link; /* offset of the last link word, 0: none */
  int processor;
  bool ok;
} Section;

static void
section_begin(Section *s, const char *name, int id)
{
  uint8_t head[2] = { (uint8_t)strlen(name), (uint8_t)id };
  if (s->link && s->ok) /* else the link itself may be missing */
    put_u16(s->processor, s->bytes.data + s->link, (unsigned)(s->bytes.size - s->link));
  s->ok =
      s->ok && pla_bytes_append(&s->bytes, head, 2) && pla_bytes_append(&s->bytes, name, head[0]);
  s->link = s->bytes.size;
  s->ok = s->ok && pla_bytes_append(&s->bytes, "\0\0", 2);
}

static void
section_group(Section *s, const char *name, int id)
{
  section_begin(s, name, -id);
  s->ok = s->ok && pla_bytes_append(&s->bytes, "", 1); /* no description */
}

/* type, dimensions (0: a single value), room for the data; returns where they go, or NULL */
static uint8_t *
section_parameter(Section *s, const char *name, int id, int type, int n_dims, int dim0, int dim1)
{
  uint8_t head[4] = { (uint8_t)type, (uint8_t)n_dims, (uint8_t)dim0, (uint8_t)dim1 };
  size_t n = (n_dims > 0 ? (size_t)dim0 : 1) * (n_dims > 1 ? (size_t)dim1 : 1) * (size_t)abs(type);
  section_begin(s, name, id);
  s->ok = s->ok && pla_bytes_append(&s->bytes, head, 2 + (size_t)n_dims);
  size_t at = s->bytes.size;
  s->ok = s->ok && pla_bytes_reserve(&s->bytes, at + n + 1);
  if (!s->ok)
    return NULL;
  memset(s->bytes.data + at, type == -1 ? ' ' : 0, n);
  s->bytes.data[at + n] = 0; /* no description */
  s->bytes.size = at + n + 1;
  return s->bytes.data + at;
}

static void
section_int(Section *s, const char *name, int id, unsigned value)
{
  uint8_t *to = section_parameter(s, name, id, 2, 0, 0, 0);
  if (to)
    put_u16(s->processor, to, value);
}

static void
section_float(Section *s, const char *name, int id, float value)
{
  uint8_t *to = section_parameter(s, name, id, 4, 0, 0, 0);
  if (to)
    s->ok = put_float(s->processor, to, value);
}

/* two words, low first */
static void
section_long(Section *s, const char *name, int id, int64_t value)
{
  uint8_t *to = section_parameter(s, name, id, 2, 1, 2, 0);
  if (to) {
    put_u16(s->processor, to, (unsigned)(value & 0xffff));
    put_u16(s->processor, to + 2, (unsigned)(value >> 16 & 0xffff));
  }
}

static void
section_labels(Section *s, const PlaTake *take, int id)
{
  size_t width = 1;
  for (int m = 0; m < take->n_markers; m++)
    if (take->name[m] && strlen(take->name[m]) > width)
      width = strlen(take->name[m]);
  if (width > 255)
    width = 255;
  /* a link is a signed 16-bit number to many readers */
  int per_part = width > 125 ? 32000 / (int)width : 255;
  for (int m = 0, part = 1; m < take->n_markers; part++) {
    char name[16];
    int n = take->n_markers - m < per_part ? take->n_markers - m : per_part;
    snprintf(name, sizeof name, part == 1 ? "LABELS" : "LABELS%d", part);
    uint8_t *to = section_parameter(s, name, id, -1, 2, (int)width, n);
    for (int i = 0; i < n; i++, m++)
      if (to && take->name[m])
        memcpy(to + (size_t)i * width, take->name[m], strnlen(take->name[m], width));
  }
}

/* whether every coordinate is a whole number of steps that 16 bits hold */
static bool
fits_integers(const PlaTake *take, double unit_mm, float step)
{
  if (!(step > 0))
    return false;
  for (size_t i = 0; i < (size_t)take->n_frames * (size_t)take->n_markers * 3; i++) {
    double n = pla_length_from_m(take->pos[i], unit_mm) / (double)step;
    if (!isnan(n) && (fabs(n) > 32767.0 || fabs(n - round(n)) > 1e-9 * fmax(1.0, fabs(n))))
      return false;
  }
  return true;
}

/* the step between 16-bit coordinates, and the unit of residuals (at most 255 of it) */
static float
choose_scale(const PlaTake *take, double unit_mm, bool integers)
{
  double reach = 0.0, worst = 0.0;
  for (size_t i = 0; i < (size_t)take->n_frames * (size_t)take->n_markers; i++) {
    for (size_t d = 0; d < 3; d++)
      reach = fmax(reach, fabs(pla_length_from_m(take->pos[3 * i + d], unit_mm)));
    if (take->residual)
      worst = fmax(worst, pla_length_from_m((double)take->residual[i], unit_mm));
  }
  double scale = fmax(worst / 250.0, integers ? reach / 32000.0 : 0.0);
  return scale > 1e-30 ? (float)scale : 0.1f;
}

typedef struct {
  const PlaTake *take;
  int processor;
  bool integers;
  double unit_mm;
  float scale; /* positive */
  int64_t first;
} Writer;

/* one marker of one frame; false when a coordinate is too large */
static bool
encode(const Writer *w, size_t at, uint8_t *p)
{
  const PlaTake *take = w->take;
  const double *pos = take->pos + 3 * at;
  bool missing = isnan(pos[0]) || isnan(pos[1]) || isnan(pos[2]), ok = true;
  double residual =
      take->residual && isfinite(take->residual[at])
          ? pla_length_from_m((double)take->residual[at], w->unit_mm) / (double)w->scale
          : 0.0;
  double whole = round(residual);
  if (w->integers || fabs(residual - whole) < 1e-5 * fmax(1.0, whole))
    residual = whole;
  residual = fmin(fmax(residual, 0.0), 255.0);
  for (size_t d = 0; d < 3; d++) {
    double v = missing ? 0.0 : pla_take_coordinate(take, 3 * at + d, w->unit_mm);
    if (w->integers)
      put_u16(w->processor, p + 2 * d, (unsigned)(int)round(v / (double)w->scale) & 0xffff);
    else
      ok &= fabs(v) < 3.4e38 && put_float(w->processor, p + 4 * d, (float)v);
  }
  if (w->integers)
    put_u16(w->processor, p + 6, missing ? 0xffff : (unsigned)residual);
  else
    put_float(w->processor, p + 12, missing ? -1.0f : (float)residual);
  return ok;
}

static bool
make_head(const Writer *w, PlaBytes *head)
{
  const PlaTake *take = w->take;
  const int cpu = w->processor;
  const int64_t last = w->first + take->n_frames - 1;
  const unsigned frames16 = take->n_frames > 65535 ? 65535 : (unsigned)take->n_frames;
  const float scale = w->integers ? w->scale : -w->scale;
  Section s = { .processor = cpu, .ok = true };
  s.ok = pla_bytes_append(&s.bytes, (const uint8_t[4]){ 1, 0x50, 0, (uint8_t)cpu }, 4);
  section_group(&s, "POINT", 1);
  section_int(&s, "USED", 1, (unsigned)take->n_markers);
  section_float(&s, "SCALE", 1, scale);
  section_float(&s, "RATE", 1, (float)take->rate_hz);
  section_int(&s, "DATA_START", 1, 0);
  size_t data_start = s.bytes.size - 3;
  section_int(&s, "FRAMES", 1, frames16);
  if (take->n_frames > 65535)
    section_float(&s, "LONG_FRAMES", 1, (float)take->n_frames);
  section_labels(&s, take, 1);
  const char *unit = pla_length_unit_name(w->unit_mm);
  uint8_t *to = section_parameter(&s, "UNITS", 1, -1, 1, (int)strlen(unit), 0);
  if (to)
    memcpy(to, unit, strlen(unit));
  section_group(&s, "ANALOG", 2);
  section_int(&s, "USED", 2, 0);
  section_group(&s, "TRIAL", 3);
  section_long(&s, "ACTUAL_START_FIELD", 3, w->first);
  section_long(&s, "ACTUAL_END_FIELD", 3, last);

  size_t blocks = (s.bytes.size + 2 + BLOCK - 1) / BLOCK;
  bool ok = s.ok && blocks <= 255 && pla_bytes_reserve(head, (1 + blocks) * BLOCK);
  if (ok) {
    memset(head->data, 0, (1 + blocks) * BLOCK);
    head->size = (1 + blocks) * BLOCK;
    s.bytes.data[2] = (uint8_t)blocks;
    put_u16(cpu, s.bytes.data + data_start, (unsigned)blocks + 2);
    memcpy(head->data + BLOCK, s.bytes.data, s.bytes.size);
    uint8_t *h = head->data;
    h[0] = 2;
    h[1] = 0x50;
    put_u16(cpu, h + 2, (unsigned)take->n_markers);
    put_u16(cpu, h + 6, (unsigned)(w->first > 65535 ? 65535 : w->first));
    put_u16(cpu, h + 8, (unsigned)(last > 65535 ? 65535 : last));
    put_float(cpu, h + 12, scale);
    put_u16(cpu, h + 16, (unsigned)blocks + 2);
    ok = put_float(cpu, h + 20, (float)take->rate_hz);
  }
  pla_bytes_clear(&s.bytes);
  return ok;
}

static PlaStatus
c3d_write(const char *path, const PlaItem *item, const PlaWriteOptions *opts, PlaError *err)
{
  const PlaTake *take = item->take;
  PlaOutput *output = NULL;
  PlaBytes head = { 0 };
  uint8_t *frame = NULL;
  PlaStatus st = pla_take_check_writable(take, path, err);
  if (st == PLA_OK && take->n_markers > 65535)
    st = pla_fail(err, PLA_ERR_UNSUPPORTED, "%s is not written: C3D holds 65535 markers, not %d",
                  path, take->n_markers);
  if (st != PLA_OK)
    return st;

  Writer w = { .take = take, .unit_mm = pla_take_unit_mm(take) };
  w.processor = opts->big_endian ? MIPS : opts->c3d_dec ? DEC : INTEL;
  bool exact = fits_integers(take, w.unit_mm, take->step);
  w.integers =
      opts->c3d_storage == PLA_C3D_INTEGER || (opts->c3d_storage == PLA_C3D_AS_READ && exact);
  w.scale = w.integers && exact ? take->step : choose_scale(take, w.unit_mm, w.integers);
  w.first = pla_take_first_frame(take);
  if (w.first + take->n_frames > UINT32_MAX)
    w.first = 1;

  size_t width = 4 * (w.integers ? 2 : 4);
  size_t row = width * (size_t)take->n_markers;
  if (!make_head(&w, &head))
    st = pla_fail(
        err, PLA_ERR_UNSUPPORTED,
        "%s is not written: the names of %d markers or the rate of %g Hz do not fit into the "
        "parameters of a C3D file",
        path, take->n_markers, take->rate_hz);
  else if (!(frame = pla_array_new(row, 1)))
    st = pla_fail_memory(err, path);
  if (st == PLA_OK)
    st = pla_output_open(path, &output, err);
  FILE *file = st == PLA_OK ? pla_output_get_file(output) : NULL;
  if (file)
    fwrite(head.data, 1, head.size, file);
  for (int f = 0; f < take->n_frames && st == PLA_OK; f++) {
    for (int m = 0; m < take->n_markers && st == PLA_OK; m++)
      if (!encode(&w, (size_t)f * (size_t)take->n_markers + (size_t)m, frame + width * (size_t)m))
        st = pla_fail(
            err, PLA_ERR_UNSUPPORTED,
            "%s is not written: marker %.80s is too far away in frame %d for the numbers of a "
            "C3D file",
            path, take->name[m] ? take->name[m] : "", f + 1);
    fwrite(frame, 1, row, file);
    if (f % 64 == 0 && !pla_progress_step(opts->progress, (double)f / take->n_frames))
      st = pla_fail_cancelled(err);
  }
  /* the file ends with a whole block */
  size_t over = (size_t)take->n_frames * row % BLOCK;
  static const uint8_t zeros[BLOCK];
  if (st == PLA_OK && over)
    fwrite(zeros, 1, BLOCK - over, file);
  pla_bytes_clear(&head);
  free(frame);
  if (st == PLA_OK)
    return pla_output_commit(&output, 1, err);
  pla_output_discard(output);
  return st;
}

static const char *const extensions[] = { ".c3d", NULL };

const PlaFormat pla_format_c3d = {
  .id = "c3d",
  .title = "C3D markers",
  .extensions = extensions,
  .kind = PLA_KIND_TAKE,
  .probe = c3d_probe,
  .read = c3d_read,
  .write = c3d_write,
};
