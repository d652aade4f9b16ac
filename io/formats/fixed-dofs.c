/* Reads a list of fixed degrees of freedom. */
#include "io/formats/fixed-dofs.h"

#include "anatomy/base/memory.h"
#include "io/stream/source.h"

#include <ctype.h>
#include <stdlib.h>

enum { MOST = 100000000 }; /* degrees of freedom of a mesh */

static PlaStatus
read_entries(const char *path, const char *text, long count, int *out, PlaError *err)
{
  for (long i = 0; i < count; i++) {
    while (*text == ',' || isspace((unsigned char)*text))
      text++;
    char *end;
    const long dof = strtol(text, &end, 10);
    if (end == text || dof < 0 || dof > MOST)
      return pla_fail(err, PLA_ERR_FORMAT,
                      "%s, entry %ld of %ld: a degree of freedom from 0 on is expected", path,
                      i + 1, count);
    out[i] = (int)dof;
    text = end;
  }
  return PLA_OK;
}

PlaStatus
pla_fixed_dofs_read(const char *path, int **out, int *n, PlaError *err)
{
  PlaBytes bytes = { 0 };
  int *fixed = NULL;
  *out = NULL;
  *n = 0;
  PlaStatus st = pla_source_read(path, NULL, &bytes, err);
  if (st == PLA_OK) {
    const char *text = (const char *)bytes.data;
    char *end;
    const long count = strtol(text, &end, 10);
    if (end == text || count < 1 || count > MOST || (size_t)count > bytes.size)
      st = pla_fail(err, PLA_ERR_FORMAT,
                    "%s must begin with the number of fixed degrees of freedom, and list them",
                    path);
    if (st == PLA_OK) {
      fixed = pla_array_new((size_t)count, sizeof *fixed);
      st = fixed ? read_entries(path, end, count, fixed, err) : pla_fail_memory(err, path);
    }
    if (st == PLA_OK) {
      *out = fixed;
      *n = (int)count;
      fixed = NULL;
    }
  }
  free(fixed);
  pla_bytes_clear(&bytes);
  return st;
}
