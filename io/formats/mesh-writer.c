/* What mesh writers share. */
#include "io/formats/mesh-writer.h"

#include "io/stream/source.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { FLUSH_AT = 1 << 18 }; /* bytes */

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
static const bool host_is_big = true;
#else
static const bool host_is_big = false;
#endif

PlaStatus
pla_mesh_writer_open(PlaMeshWriter *self, const char *path, const PlaMesh *mesh,
                     const PlaWriteOptions *opts, PlaError *err)
{
  *self = (PlaMeshWriter){
    .progress = opts->progress, .mesh = mesh, .path = path, .big_endian = opts->big_endian
  };
  self->expected = (uint64_t)mesh->n_verts * 24 + (uint64_t)mesh->n_tris * 12 +
                   (uint64_t)mesh->n_tets * 16 + (uint64_t)mesh->n_hexes * 32 + 1;
  PlaStatus st = pla_output_open(path, &self->output, err);
  if (st == PLA_OK)
    self->file = pla_output_get_file(self->output);
  return st;
}

void
pla_mesh_writer_flush(PlaMeshWriter *self)
{
  if (self->buffer.size > 0 && !self->cancelled)
    fwrite(self->buffer.data, 1, self->buffer.size, self->file); /* ferror() is kept */
  self->written += self->buffer.size;
  self->buffer.size = 0;
  double fraction = (double)self->written / (double)self->expected;
  self->cancelled |= !pla_progress_step(self->progress, fraction < 1.0 ? fraction : 1.0);
}

PlaStatus
pla_mesh_writer_finish(PlaMeshWriter *self, PlaStatus status, PlaOutput **output, PlaError *err)
{
  if (self->output)
    pla_mesh_writer_flush(self);
  if (status == PLA_OK && self->cancelled)
    status = pla_fail_cancelled(err);
  if (status == PLA_OK && self->short_memory)
    status = pla_fail_memory(err, self->path);
  if (status != PLA_OK) {
    pla_output_discard(self->output);
    self->output = NULL;
  }
  pla_bytes_clear(&self->buffer);
  *output = self->output;
  self->output = NULL;
  return status;
}

PlaStatus
pla_mesh_writer_close(PlaMeshWriter *self, PlaStatus status, PlaError *err)
{
  PlaOutput *output;
  status = pla_mesh_writer_finish(self, status, &output, err);
  return status == PLA_OK ? pla_output_commit(&output, 1, err) : status;
}

void
pla_mesh_writer_bytes(PlaMeshWriter *self, const void *data, size_t size)
{
  if (size >= FLUSH_AT) {
    pla_mesh_writer_flush(self);
    for (size_t done = 0; done < size && !self->cancelled;) {
      size_t piece = size - done < FLUSH_AT ? size - done : FLUSH_AT;
      fwrite((const uint8_t *)data + done, 1, piece, self->file);
      self->written += piece;
      done += piece;
      pla_mesh_writer_flush(self);
    }
    return;
  }
  self->short_memory |= !pla_bytes_append(&self->buffer, data, size);
  if (self->buffer.size >= FLUSH_AT)
    pla_mesh_writer_flush(self);
}

void
pla_mesh_writer_text(PlaMeshWriter *self, const char *text)
{
  pla_mesh_writer_bytes(self, text, strlen(text));
}

void
pla_mesh_writer_printf(PlaMeshWriter *self, const char *format, ...)
{
  char *text = NULL;
  va_list args;
  va_start(args, format);
  int n = vasprintf(&text, format, args);
  va_end(args);
  if (n < 0) {
    self->short_memory = true;
    return;
  }
  pla_mesh_writer_bytes(self, text, (size_t)n);
  free(text);
}

/* decimal digits of a whole number */
static size_t
put_whole(uint64_t value, bool negative, char *out)
{
  char digits[24];
  size_t n = 0, k = 0;
  do {
    digits[n++] = (char)('0' + value % 10);
    value /= 10;
  } while (value);
  if (negative)
    out[k++] = '-';
  while (n > 0)
    out[k++] = digits[--n];
  return k;
}

void
pla_mesh_writer_number(PlaMeshWriter *self, PlaDType dtype, const void *data, size_t i)
{
  char text[32];
  size_t n;
  if (dtype == PLA_F32) {
    n = strlen(pla_format_float(((const float *)data)[i], text));
  } else if (dtype == PLA_F64) {
    n = strlen(pla_format_double(((const double *)data)[i], text));
  } else if (dtype == PLA_U64) {
    n = put_whole(((const uint64_t *)data)[i], false, text);
  } else {
    int64_t value = dtype == PLA_I64   ? ((const int64_t *)data)[i]
                    : dtype == PLA_I32 ? ((const int32_t *)data)[i]
                                       : (int64_t)pla_dtype_get(dtype, data, i);
    n = put_whole(value < 0 ? 0 - (uint64_t)value : (uint64_t)value, value < 0, text);
  }
  pla_mesh_writer_bytes(self, text, n);
}

void
pla_mesh_writer_elements(PlaMeshWriter *self, PlaDType dtype, const void *data, size_t n)
{
  size_t size = pla_dtype_size(dtype);
  if (self->big_endian == host_is_big || size == 1) {
    pla_mesh_writer_bytes(self, data, n * size);
    return;
  }
  uint64_t piece[1024];
  size_t per_piece = sizeof piece / size;
  for (size_t done = 0; done < n;) {
    size_t count = n - done < per_piece ? n - done : per_piece;
    memcpy(piece, (const uint8_t *)data + done * size, count * size);
    pla_dtype_swap_bytes(dtype, piece, count);
    pla_mesh_writer_bytes(self, piece, count * size);
    done += count;
  }
}

PlaDType
pla_mesh_mm_dtype(const PlaMesh *mesh)
{
  return mesh->single ? PLA_F32 : PLA_F64;
}

void
pla_mesh_to_mm(const PlaMesh *mesh, size_t first, size_t n, void *out)
{
  const double *pos = mesh->pos + 3 * first;
  for (size_t i = 0; i < 3 * n; i++)
    if (mesh->single)
      ((float *)out)[i] = (float)(pos[i] * 1000.0);
    else
      ((double *)out)[i] = pos[i] * 1000.0;
}

PlaStatus
pla_mesh_need_surface(const PlaMesh *mesh, const char *path, const char *what, PlaError *err)
{
  if (mesh->n_tets == 0 && mesh->n_hexes == 0)
    return PLA_OK;
  return pla_fail(err, PLA_ERR_UNSUPPORTED,
                  "%s: %s files hold triangles only, and this mesh has %d tetrahedra and %d "
                  "hexahedra; write a .vtu file",
                  path, what, mesh->n_tets, mesh->n_hexes);
}

void
pla_mesh_note_losses(const PlaMesh *mesh, const char *what, bool rounds, PlaNotes *notes)
{
  if (mesh->n_fields > 0)
    pla_notes_add(notes, "%d fields were left out: %s files hold none", mesh->n_fields, what);
  if (rounds && !mesh->single)
    pla_notes_add(notes, "coordinates were rounded to 32 bits: %s files hold no others", what);
}

char *
pla_name_encode(const char *name)
{
  char *word = pla_array_new(3 * strlen(name) + 1, 1), *to = word;
  for (; word && *name; name++) {
    unsigned char c = (unsigned char)*name;
    if (c > 0x20 && c < 0x7f && c != '"' && c != '%')
      *to++ = (char)c;
    else
      to += sprintf(to, "%%%02X", c);
  }
  if (word)
    *to = '\0';
  return word;
}

static int
hex_digit(char c)
{
  return c >= '0' && c <= '9'                 ? c - '0'
         : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10
                                              : -1;
}

char *
pla_name_decode(const char *word, size_t len)
{
  char *name = pla_array_new(len + 1, 1), *to = name;
  for (size_t i = 0; name && i < len; i++) {
    int high = word[i] == '%' && i + 2 < len ? hex_digit(word[i + 1]) : -1;
    int low = high >= 0 ? hex_digit(word[i + 2]) : -1;
    if (low >= 0 && 16 * high + low > 0) {
      *to++ = (char)(16 * high + low);
      i += 2;
    } else if (word[i] != '\0') {
      *to++ = word[i];
    }
  }
  if (name)
    *to = '\0';
  return name;
}
