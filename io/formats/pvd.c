/* Reads and writes .pvd collections of VTK. File names that leave the folder of the list are
 * refused; frames of an earlier, longer series are removed after a write. */
#include "io/formats/pvd.h"

#include "anatomy/base/memory.h"
#include "io/stream/output.h"
#include "io/stream/reader.h"
#include "io/stream/source.h"
#include "io/stream/xml.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void
pla_pvd_clear(PlaPvd *self)
{
  for (int i = 0; i < self->n; i++)
    free(self->file[i]);
  free(self->file);
  free(self->time_s);
  *self = (PlaPvd){ 0 };
}

/* a file of the same folder or below it: a list must not reach into other places */
static bool
stays_inside(const char *file)
{
  if (file[0] == '/' || file[0] == '\0')
    return false;
  for (const char *part = file; part; part = strchr(part, '/')) {
    part += *part == '/';
    if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || part[2] == '\0'))
      return false;
  }
  return true;
}

static PlaStatus
add_entry(PlaPvd *self, const PlaXml *xml, PlaError *err)
{
  const char *file = pla_xml_attribute(xml, "file");
  const char *time = pla_xml_attribute(xml, "timestep");
  const char *path = xml->reader->path;
  char *end = NULL;
  const double seconds = time ? strtod(time, &end) : self->n;
  if (!file || !stays_inside(file))
    return pla_fail(err, PLA_ERR_FORMAT,
                    "%s, line %lld: a DataSet must name a file of the same folder, not '%s'", path,
                    (long long)xml->reader->line, file ? file : "");
  if (time && (end == time || !isfinite(seconds)))
    return pla_fail(err, PLA_ERR_FORMAT, "%s, line %lld: the timestep '%s' is no number", path,
                    (long long)xml->reader->line, time);
  if (self->n > 0 && seconds < self->time_s[self->n - 1])
    return pla_fail(err, PLA_ERR_FORMAT, "%s, line %lld: the timestep %g goes back in time", path,
                    (long long)xml->reader->line, seconds);
  char *copy = pla_strdup(file);
  if (!copy || !pla_array_resize((void **)&self->time_s, (size_t)self->n + 1, sizeof(double)) ||
      !pla_array_resize((void **)&self->file, (size_t)self->n + 1, sizeof(char *))) {
    free(copy);
    return pla_fail_memory(err, path);
  }
  self->time_s[self->n] = seconds;
  self->file[self->n++] = copy;
  return PLA_OK;
}

PlaStatus
pla_pvd_read(const char *path, PlaPvd *out, PlaError *err)
{
  PlaReader reader = { 0 };
  PlaXml *xml = NULL;
  PlaXmlEvent event = PLA_XML_START;
  *out = (PlaPvd){ 0 };
  PlaStatus st = pla_reader_open(&reader, path, NULL, err);
  if (st == PLA_OK && !(xml = pla_xml_new(&reader)))
    st = pla_fail_memory(err, path);
  if (st == PLA_OK)
    st = pla_xml_next(xml, &event, err);
  if (st == PLA_OK && (event != PLA_XML_START || strcmp(pla_xml_name(xml, 0), "VTKFile") != 0 ||
                       !pla_xml_attribute(xml, "type") ||
                       strcmp(pla_xml_attribute(xml, "type"), "Collection") != 0))
    st = pla_fail(err, PLA_ERR_FORMAT,
                  "%s is no series of VTK meshes (VTKFile type=\"Collection\")", path);
  while (st == PLA_OK && event != PLA_XML_DONE) {
    st = pla_xml_next(xml, &event, err);
    if (st == PLA_OK && event == PLA_XML_START && strcmp(pla_xml_name(xml, 0), "DataSet") == 0)
      st = add_entry(out, xml, err);
  }
  free(xml);
  pla_reader_close(&reader);
  if (st != PLA_OK)
    pla_pvd_clear(out);
  return st;
}

/* the list as text; @folder (NULL: none) stands before each file */
static bool
put_list(int n, const double *time_s, const char *const *file, const char *folder, PlaBytes *text)
{
  bool ok = pla_bytes_printf(text, "<?xml version=\"1.0\"?>\n<VTKFile type=\"Collection\" "
                                   "version=\"1.0\" byte_order=\"LittleEndian\">\n"
                                   "  <Collection>\n");
  for (int i = 0; i < n && ok; i++) {
    char number[32];
    ok = pla_bytes_printf(text, "    <DataSet timestep=\"%s\" part=\"0\" file=\"",
                          pla_format_double(time_s[i], number)) &&
         (!folder || pla_bytes_printf(text, "%s/", folder)) && pla_xml_escape(file[i], text) &&
         pla_bytes_printf(text, "\"/>\n");
  }
  return ok && pla_bytes_printf(text, "  </Collection>\n</VTKFile>\n");
}

/* @file beside @list; free() */
static char *
beside(const char *list, const char *file)
{
  const char *slash = strrchr(list, '/');
  return pla_strdup_printf("%.*s%s", slash ? (int)(slash - list + 1) : 0, list, file);
}

PlaStatus
pla_pvd_write(const char *path, int n, const double *time_s, const char *const *file, PlaError *err)
{
  PlaBytes text = { 0 };
  PlaStatus st = put_list(n, time_s, file, NULL, &text)
                     ? pla_output_write(path, text.data, text.size, err)
                     : pla_fail_memory(err, path);
  pla_bytes_clear(&text);

  /* until all files have their names, a list that finds them where they wait */
  char *first = st == PLA_OK && n > 0 ? beside(path, file[0]) : NULL;
  const char *folder = first ? pla_output_get_staging_name(first) : NULL;
  for (int i = 0; i < n && folder; i++)
    if (strchr(file[i], '/'))
      folder = NULL;
  if (folder)
    st = put_list(n, time_s, file, folder, &text)
             ? pla_output_set_interim(path, text.data, text.size, err)
             : pla_fail_memory(err, path);
  free(first);
  pla_bytes_clear(&text);
  return st;
}

/* "STEM_0012.vtu": a file that an earlier series of this name wrote */
static bool
is_frame(const char *file, const char *stem)
{
  const size_t n = strlen(stem);
  if (strncmp(file, stem, n) != 0 || file[n] != '_')
    return false;
  const size_t digits = strspn(file + n + 1, "0123456789");
  return digits >= 4 && strcmp(file + n + 1 + digits, ".vtu") == 0;
}

PlaStatus
pla_pvd_remove_frames(const char *path, const char *stem, PlaError *err)
{
  PlaPvd old;
  PlaError not_read;
  if (pla_pvd_read(path, &old, &not_read) != PLA_OK)
    return PLA_OK; /* nothing that we wrote */
  PlaStatus st = PLA_OK;
  for (int i = 0; i < old.n && st == PLA_OK; i++) {
    char *frame = is_frame(old.file[i], stem) ? beside(path, old.file[i]) : NULL;
    if (frame)
      st = pla_output_set_remove(frame, err);
    free(frame);
  }
  pla_pvd_clear(&old);
  return st;
}
