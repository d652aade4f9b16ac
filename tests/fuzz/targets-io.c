/* Readers of files, the parsers under them, and what comes back from helper processes. */
#include "tests/fuzz/fuzz.h"

#include "io/formats/fixed-dofs.h"
#include "io/formats/format-inv3.h"
#include "io/formats/formats.h"
#include "io/formats/label-files.h"
#include "io/formats/plist.h"
#include "io/formats/pvd.h"
#include "io/store/arrays-file.h"
#include "io/stream/base64.h"
#include "io/stream/output.h"
#include "io/stream/reader.h"
#include "io/stream/source.h"
#include "io/stream/text-table.h"
#include "io/stream/xml.h"
#include "tests/fuzz/samples.h"

#include <glib.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include <zlib.h>

/* what was read goes into a file of the same format, which must be read again */
static void
write_again(const PlaFormat *format, const PlaItem *item)
{
  PlaWriteOptions opts = pla_write_options_default();
  PlaReadOptions read = pla_read_options_default();
  PlaItem copy = { 0 };
  PlaNotes notes = { 0 };
  PlaError err = { 0 };
  const unsigned turn = (unsigned)(pla_fuzz_choice() >> 33); /* endings and flavours */
  unsigned n_endings = 0;
  while (format->extensions[n_endings])
    n_endings++;
  opts.notes = &notes;
  opts.text = turn & 1;
  opts.big_endian = turn & 2;
  opts.uncompressed = turn & 4;
  opts.inline_data = turn & 8;
  opts.gmsh_version = turn & 16 ? 22 : 41;
  opts.c3d_dec = turn & 32;
  opts.c3d_storage = (PlaC3dStorage)(turn / 64 % 3);
  pla_fuzz_empty("again");
  g_autofree char *name = g_strconcat("again/a", format->extensions[turn / 256 % n_endings], NULL);
  g_autofree char *path = g_strdup(pla_fuzz_path(name));
  PlaStatus st = pla_item_write(path, item, &opts, &err);
  pla_fuzz_check(st, &err);
  if (st == PLA_OK) {
    st = format->read(path, &read, &copy, &err);
    pla_fuzz_check(st, &err);
    if (st != PLA_OK && !pla_fuzz_is_troubled())
      pla_fuzz_fault("what was written is refused: %s", err.message);
    pla_item_clear(&copy);
  }
  pla_notes_clear(&notes);
}

/* reads @path as the product does once it knows the format; returns what came of it */
static PlaItem
read_only(const PlaFormat *format, const char *path, const PlaReadOptions *opts)
{
  PlaItem item = { 0 };
  PlaError err = { 0 };
  PlaStatus st = format->read(path, opts, &item, &err);
  pla_fuzz_check(st, &err);
  if (st == PLA_OK)
    pla_fuzz_look_at(&item);
  else
    pla_item_clear(&item);
  return item;
}

static void
read_as(const PlaFormat *format, const char *path, const PlaReadOptions *opts)
{
  PlaItem item = read_only(format, path, opts);
  if (format->write && item.kind == format->kind) /* CSV files may be of two kinds */
    write_again(format, &item);
  pla_item_clear(&item);
}

static void
probe_and_read(const PlaFormat *format, const char *name, const uint8_t *data, size_t size)
{
  const char *path = pla_fuzz_write(name, data, size);
  const PlaReadOptions opts = pla_read_options_default();
  if (format->probe)
    format->probe(path, data, MIN(size, 4096));
  read_as(format, path, &opts);
}

#define FORMAT_TARGET(function, format, name)                                                      \
  static void function(const uint8_t *data, size_t size)                                           \
  {                                                                                                \
    probe_and_read(&(format), name, data, size);                                                   \
  }
FORMAT_TARGET(run_c3d, pla_format_c3d, "a.c3d")
FORMAT_TARGET(run_csv_markers, pla_format_csv_markers, "a.csv")
FORMAT_TARGET(run_ema_text, pla_format_ema_text, "a.txt")
FORMAT_TARGET(run_est, pla_format_est, "a.ema")
FORMAT_TARGET(run_gmsh, pla_format_gmsh, "a.msh")
FORMAT_TARGET(run_mat, pla_format_mat, "a.mat")
FORMAT_TARGET(run_obj, pla_format_obj, "a.obj")
FORMAT_TARGET(run_ply, pla_format_ply, "a.ply")
FORMAT_TARGET(run_stl, pla_format_stl, "a.stl")
FORMAT_TARGET(run_trc, pla_format_trc, "a.trc")
FORMAT_TARGET(run_vtk, pla_format_vtk, "a.vtk")
FORMAT_TARGET(run_vtu, pla_format_vtu, "a.vtu")

/* tracks as well: one function reads both */
static void
run_csv_track(const uint8_t *data, size_t size)
{
  probe_and_read(&pla_format_csv_track, "a.csv", data, size);
}

/* any file, found by its content */
static void
run_any(const uint8_t *data, size_t size)
{
  const char *path = pla_fuzz_write("anything", data, size);
  const PlaReadOptions opts = pla_read_options_default();
  PlaItem item;
  PlaError err = { 0 };
  PlaStatus st = pla_item_read(path, &opts, &item, &err);
  pla_fuzz_check(st, &err);
  if (st == PLA_OK) {
    pla_fuzz_look_at(&item);
    /* every ending either suits the kind or is refused in a sentence */
    for (const PlaFormat *const *f = pla_formats_get(); *f; f++) {
      const PlaFormat *chosen = NULL;
      g_autofree char *name = g_strconcat("a", (*f)->extensions[0], NULL);
      st = pla_format_for_output(name, item.kind, &chosen, &err);
      pla_fuzz_check(st, &err);
      if (st == PLA_OK && (chosen->kind != item.kind || !chosen->write))
        pla_fuzz_fault("%s is no format for a %s", chosen->id, pla_kind_name(item.kind));
    }
    const PlaWriteOptions write = pla_write_options_default();
    st = pla_item_write("a.unknown", &item, &write, &err);
    pla_fuzz_check(st, &err);
    if (st == PLA_OK)
      pla_fuzz_fault("an unknown ending was written");
  } else if (item.kind != PLA_KIND_NONE || item.notes.n > 0)
    pla_fuzz_fault("something is left of what was refused");
  pla_item_clear(&item);
}

/* the rest of the input deflated, so that mutations get past the checksum */
static const char *
write_gz(const char *name, const uint8_t *data, size_t size)
{
  z_stream z = { 0 };
  const uLong room = compressBound((uLong)size) + 64;
  g_autofree uint8_t *packed = g_malloc(room);
  if (deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    pla_fuzz_fault("zlib does not start");
  z.next_in = (Bytef *)(uintptr_t)data;
  z.avail_in = (uInt)size;
  z.next_out = packed;
  z.avail_out = (uInt)room;
  deflate(&z, Z_FINISH);
  const size_t n = z.total_out;
  deflateEnd(&z);
  return pla_fuzz_write(name, packed, n);
}

/* NAME.nii as it is; behind a 'Z', compressed here; in two parts, NAME.hdr and NAME.img; in three,
 * a volume with labels beside it */
static void
run_nifti(const uint8_t *data, size_t size)
{
  const PlaReadOptions opts = pla_read_options_default();
  const uint8_t *part[3];
  size_t n[3];
  int n_parts = 0;
  if (size > 0 && data[0] == 'Z') {
    read_as(&pla_format_nifti, write_gz("z.nii.gz", data + 1, size - 1), &opts);
    return;
  }
  while (n_parts < 3 && pla_fuzz_part(&data, &size, &part[n_parts], &n[n_parts]))
    n_parts++;
  if (n_parts < 2) {
    probe_and_read(&pla_format_nifti, n[0] > 1 && part[0][0] == 0x1f ? "a.nii.gz" : "a.nii",
                   part[0], n[0]);
  } else if (n_parts == 2) {
    pla_fuzz_write("pair.img", part[1], n[1]);
    probe_and_read(&pla_format_nifti, "pair.hdr", part[0], n[0]);
  } else {
    pla_fuzz_write("named.tsv", part[1], n[1]);
    pla_fuzz_write("named.label", part[2], n[2]);
    probe_and_read(&pla_format_nifti, "named.nii", part[0], n[0]);
  }
}

/* one slice, or a folder of them */
static void
run_dicom(const uint8_t *data, size_t size)
{
  PlaReadOptions opts = pla_read_options_default();
  const uint8_t *part;
  size_t n;
  int n_parts = 0;
  opts.keep_identity = size % 2 == 1;
  opts.series = size % 3 == 0 ? 0 : -1;
  pla_fuzz_empty("study");
  while (n_parts < 8 && pla_fuzz_part(&data, &size, &part, &n)) {
    char name[32];
    g_snprintf(name, sizeof name, "study/%d.dcm", n_parts++);
    const char *path = pla_fuzz_write(name, part, n);
    pla_format_dicom.probe(path, part, MIN(n, 4096));
  }
  read_as(&pla_format_dicom, pla_fuzz_path(n_parts == 1 ? "study/0.dcm" : "study"), &opts);
}

/* InVesalius projects are tar archives, mostly compressed; image and masks are read apart */
static void
run_inv3(const uint8_t *data, size_t size)
{
  const PlaReadOptions opts = pla_read_options_default();
  PlaLabelMap *masks = NULL;
  PlaNotes notes = { 0 };
  PlaError err = { 0 };
  const char *path = size > 0 && data[0] == 'Z' ? write_gz("a.inv3", data + 1, size - 1)
                                                : pla_fuzz_write("a.inv3", data, size);
  pla_format_inv3.probe(path, data, MIN(size, 4096));
  PlaStatus st = pla_inv3_read_masks(path, NULL, &masks, &notes, &err);
  pla_fuzz_check(st, &err);
  if (st == PLA_OK)
    pla_fuzz_look_at_volume(masks->volume);
  pla_label_map_free(masks);
  pla_notes_clear(&notes);
  read_as(&pla_format_inv3, path, &opts);
}

static void
run_tetgen(const uint8_t *data, size_t size)
{
  static const char *const ending[] = { ".node", ".ele", ".face" };
  const PlaReadOptions opts = pla_read_options_default();
  const uint8_t *part;
  size_t n;
  pla_fuzz_empty("tetgen");
  for (size_t i = 0; i < G_N_ELEMENTS(ending) && pla_fuzz_part(&data, &size, &part, &n); i++) {
    char name[32];
    g_snprintf(name, sizeof name, "tetgen/a%s", ending[i]);
    if (n > 0) /* an empty part: no such file */
      pla_fuzz_write(name, part, n);
  }
  read_as(&pla_format_tetgen, pla_fuzz_path("tetgen/a.node"), &opts);
  read_as(&pla_format_tetgen, pla_fuzz_path("tetgen/a.ele"), &opts);
}

/* several grammars, by their content and ending */
static void
run_phones(const uint8_t *data, size_t size)
{
  static const char *const name[] = { "a.TextGrid", "a.lab", "a.phn", "a.csv" };
  PlaReadOptions opts = pla_read_options_default();
  const char *path = pla_fuzz_write(name[size % G_N_ELEMENTS(name)], data, size);
  pla_format_phones.probe(path, data, MIN(size, 4096));
  read_as(&pla_format_phones, path, &opts);
  opts.tier = "phones";
  read_as(&pla_format_phones, path, &opts);
}

static void
run_sound(const uint8_t *data, size_t size)
{
  probe_and_read(&pla_format_sound, "a.wav", data, size);
}

static void
run_label_files(const uint8_t *data, size_t size)
{
  static const char *const name[] = { "a.label", "a.tsv", "a.ctbl", "a.txt" };
  probe_and_read(&pla_format_label_table, name[size % G_N_ELEMENTS(name)], data, size);
}

static void
run_fixed_dofs(const uint8_t *data, size_t size)
{
  PlaError err = { 0 };
  int *fixed = NULL, n = 0;
  const PlaStatus st =
      pla_fixed_dofs_read(pla_fuzz_write("fixed.txt", data, size), &fixed, &n, &err);
  pla_fuzz_check(st, &err);
  for (int i = 0; i < n; i++)
    if (fixed[i] < 0)
      pla_fuzz_fault("entry %d is %d", i, fixed[i]);
  free(fixed);
}

static void
run_pvd(const uint8_t *data, size_t size)
{
  PlaPvd pvd = { 0 };
  PlaError err = { 0 };
  PlaStatus st = pla_pvd_read(pla_fuzz_write("a.pvd", data, size), &pvd, &err);
  pla_fuzz_check(st, &err);
  for (int i = 0; st == PLA_OK && i < pvd.n; i++)
    if (pvd.file[i][0] == '/' || strcmp(pvd.file[i], "..") == 0 ||
        g_str_has_prefix(pvd.file[i], "../") || strstr(pvd.file[i], "/../"))
      pla_fuzz_fault("%s lies outside the folder", pvd.file[i]);
  if (st == PLA_OK && pvd.n > 0) {
    PlaPvd again = { 0 };
    const char *path = pla_fuzz_path("b.pvd");
    st = pla_pvd_write(path, pvd.n, pvd.time_s, (const char *const *)pvd.file, &err);
    pla_fuzz_check(st, &err);
    if (st == PLA_OK && pla_pvd_read(path, &again, &err) != PLA_OK && !pla_fuzz_is_troubled())
      pla_fuzz_fault("what was written is refused: %s", err.message);
    pla_pvd_clear(&again);
    /* as one of several files that take their names together; they are taken back, or names that
     * the input chose would pile up */
    PlaOutputSet *set = NULL;
    st = pla_output_set_begin(&set, &err);
    if (st == PLA_OK) {
      if (!strchr(pvd.file[0], '/'))
        st = pla_output_write(pla_fuzz_path(pvd.file[0]), "", 0, &err);
      if (st == PLA_OK)
        st = pla_pvd_remove_frames(pla_fuzz_path("b.pvd"), "a", &err);
      if (st == PLA_OK)
        st = pla_pvd_write(pla_fuzz_path("b.pvd"), pvd.n, pvd.time_s, (const char *const *)pvd.file,
                           &err);
      pla_fuzz_check(st, &err);
      pla_output_set_end(set, PLA_ERR_CANCELLED, &err);
    }
  }
  pla_pvd_clear(&pvd);
}

static void
run_plist(const uint8_t *data, size_t size)
{
  PlaPlist list;
  PlaError err = { 0 };
  PlaStatus st = pla_plist_parse("the list", data, size, &list, &err);
  pla_fuzz_check(st, &err);
  if (st != PLA_OK && list.n > 0)
    pla_fuzz_fault("something is left of the list that was refused");
  for (int i = 0; i < list.n; i++) {
    double number;
    int whole;
    if (!pla_plist_text(&list, list.entry[i].path))
      pla_fuzz_fault("%s is not found", list.entry[i].path);
    pla_plist_double(&list, list.entry[i].path, &number);
    pla_plist_int(&list, list.entry[i].path, &whole);
  }
  pla_plist_clear(&list);
}

/* every way to walk an XML file, chosen tag by tag by the input */
static void
run_xml(const uint8_t *data, size_t size)
{
  PlaReader reader;
  PlaError err = { 0 };
  PlaXmlEvent event = PLA_XML_START;
  PlaBytes text = { 0 };
  PlaStatus st = pla_reader_open(&reader, pla_fuzz_write("a.xml", data, size), NULL, &err);
  PlaXml *xml = st == PLA_OK ? pla_xml_new(&reader) : NULL;
  for (size_t i = 0; xml && st == PLA_OK && event != PLA_XML_DONE; i++) {
    st = pla_xml_next(xml, &event, &err);
    if (st != PLA_OK || event != PLA_XML_START)
      continue;
    pla_fuzz_look_at_bytes(pla_xml_name(xml, 0), strlen(pla_xml_name(xml, 0)));
    pla_xml_attribute(xml, "type");
    if (data[i % size] % 4 == 1)
      st = pla_xml_text(xml, 1000, &text, &err);
  }
  pla_fuzz_check(st, &err);
  PlaBytes escaped = { 0 };
  if (st == PLA_OK && text.data)
    pla_xml_escape((const char *)text.data, &escaped);
  pla_bytes_clear(&escaped);
  free(xml);
  pla_bytes_clear(&text);
  pla_reader_close(&reader);
}

static void
walk_cells(const PlaText *line, char separator)
{
  PlaCells cells;
  PlaCell cell;
  double value;
  int n = 0;
  pla_cells_init(&cells, line, separator);
  while (pla_cells_next(&cells, &cell)) {
    n++;
    if (!cell.at)
      break;
    pla_cell_number(&cell, separator == ';', &value);
    pla_cell_is(&cell, "time");
    if (pla_cell_quote(&cell) > cell.end - cell.at)
      pla_fuzz_fault("more is quoted than there is");
  }
  pla_cells_count(line, separator);
  pla_line_is_blank(line);
}

static void
run_table(const uint8_t *data, size_t size)
{
  PlaLines *lines = NULL;
  PlaText line = { 0 };
  PlaError err = { 0 };
  int64_t second = -1;
  PlaStatus st = pla_lines_open(pla_fuzz_write("a.csv", data, size), NULL, &lines, &err);
  for (int n = 0; st == PLA_OK; n++) {
    st = pla_lines_next(lines, &line, &err);
    if (st != PLA_OK || !line.at)
      break;
    if (n == 0)
      second = pla_lines_get_offset(lines);
    for (const char *s = ",;\t "; *s; s++)
      walk_cells(&line, *s);
  }
  if (st == PLA_OK)
    pla_lines_get_unfinished(lines);
  if (st == PLA_OK && second >= 0)
    st = pla_lines_seek(lines, second, 2, &err);
  if (st == PLA_OK)
    st = pla_lines_next(lines, &line, &err);
  pla_fuzz_check(st, &err);
  pla_lines_free(lines);
}

/* streams, texts and numbers */
static void
run_source(const uint8_t *data, size_t size)
{
  PlaBytes bytes = { 0 };
  PlaError err = { 0 };
  const char *path = size > 0 && data[0] == 'Z' ? write_gz("z", data + 1, size - 1)
                                                : pla_fuzz_write("a", data, size);
  PlaStatus st = pla_source_read_gz(path, NULL, &bytes, &err);
  pla_fuzz_check(st, &err);
  if (st == PLA_OK) {
    PlaText text, line;
    pla_text_init(&text, &bytes);
    while (pla_text_next_line(&text, &line)) {
      const char *word;
      size_t len;
      double number;
      int whole;
      int64_t large;
      PlaText copy = line;
      while (pla_text_word(&copy, &word, &len))
        pla_fuzz_look_at_bytes(word, len);
      copy = line;
      while (pla_text_double(&copy, &number) || pla_text_int(&copy, &whole) ||
             pla_text_int64(&copy, &large)) {
        char buffer[32];
        pla_format_double(number, buffer);
        pla_format_float((float)number, buffer);
      }
    }
  }
  pla_bytes_clear(&bytes);
}

/* the window over a file: each byte of the first part is a call on the second */
static void
run_reader(const uint8_t *data, size_t size)
{
  PlaReader reader, second;
  PlaError err = { 0 };
  const uint8_t *script, *content;
  size_t n_script, n_content;
  if (!pla_fuzz_part(&data, &size, &script, &n_script) ||
      !pla_fuzz_part(&data, &size, &content, &n_content))
    return;
  PlaStatus st = pla_reader_open(&reader, pla_fuzz_write("a", content, n_content), NULL, &err);
  PlaBase64 base64 = { 0 };
  PlaBytes bytes = { 0 };
  for (size_t i = 0; i < MIN(n_script, 200) && st == PLA_OK; i++) {
    const char *word;
    size_t len;
    uint8_t some[64];
    double number;
    int64_t large;
    int whole;
    const unsigned argument = script[i] >> 4;
    bytes.size = 0;
    switch (script[i] % 16) {
    case 0:
      pla_reader_word(&reader, &word, &len);
      break;
    case 1:
      pla_reader_word_on_line(&reader, &word, &len);
      break;
    case 2:
      pla_reader_line(&reader, &word, &len);
      break;
    case 3:
      pla_reader_skip_line(&reader);
      break;
    case 4:
      pla_reader_find(&reader, '<');
      break;
    case 5:
      pla_reader_skip_past(&reader, "-->");
      break;
    case 6:
      pla_reader_double(&reader, &number);
      break;
    case 7:
      pla_reader_int64(&reader, &large);
      break;
    case 8:
      pla_reader_int(&reader, &whole);
      break;
    case 9:
      st =
          pla_reader_numbers(&reader, (PlaDType)(argument % 10), argument, "numbers", &bytes, &err);
      break;
    case 10:
      st = pla_reader_elements(&reader, (PlaDType)(argument % 10), argument, i % 2, "elements",
                               &bytes, &err);
      break;
    case 11:
      pla_reader_read(&reader, some, argument);
      break;
    case 12:
      pla_reader_skip(&reader, argument);
      break;
    case 13:
      pla_base64_read(&base64, &reader, some, argument);
      break;
    case 14:
      pla_reader_seek(&reader, MIN(argument, reader.size), 1);
      break;
    default:
      st = pla_reader_clone(&reader, &second, &err);
      if (st == PLA_OK) {
        pla_reader_at_end(&second);
        pla_reader_close(&second);
      }
    }
    if (pla_reader_tell(&reader) + pla_reader_left(&reader) != reader.size)
      pla_fuzz_fault("the reader is lost");
  }
  pla_fuzz_check(st, &err);
  pla_bytes_clear(&bytes);
  pla_reader_close(&reader);
}

/* the checksum is put right where the input starts like an honest file; else it is left */
static void
run_arrays(const uint8_t *data, size_t size)
{
  PlaArrays arrays;
  PlaError err = { 0 };
  g_autofree uint8_t *copy = g_malloc(size + 8);
  memcpy(copy, data, size);
  if (size > 0 && data[0] == 'P') {
    const XXH64_hash_t hash = XXH64(data, size, 0);
    memcpy(copy + size, &hash, 8);
    size += 8;
  }
  PlaStatus st = pla_arrays_read(pla_fuzz_write("a.net", copy, size), "speech-net", &arrays, &err);
  pla_fuzz_check(st, &err);
  for (int i = 0; st == PLA_OK && i < arrays.n; i++) {
    const PlaFileArray *a = &arrays.array[i];
    const void *found;
    pla_fuzz_look_at_bytes(a->data, pla_file_array_count(a) * pla_dtype_size(a->dtype));
    pla_arrays_get(&arrays, a->name, a->dtype, 6, &found, &err);
  }
  if (st != PLA_OK)
    return;
  /* what was read can be written and read */
  PlaArrays again;
  const char *path = pla_fuzz_path("b.net");
  st = pla_arrays_write(path, "speech-net", arrays.array, arrays.n, &err);
  pla_fuzz_check(st, &err);
  if (st == PLA_OK) {
    st = pla_arrays_read(path, "speech-net", &again, &err);
    pla_fuzz_check(st, &err);
    if (st == PLA_OK)
      pla_arrays_clear(&again);
    else if (!pla_fuzz_is_troubled())
      pla_fuzz_fault("what was written is refused: %s", err.message);
  }
  pla_arrays_clear(&arrays);
}

/* What a hostile helper might send: the first byte chooses the reader, whose file is an honest
 * one; the rest takes the place of what its decoder would send. */
static void
run_helper_replies(const uint8_t *data, size_t size)
{
  static const struct {
    const PlaFormat *format;
    const char *name;
    GBytes *(*sample)(void);
  } reader[] = {
    { &pla_format_dicom, "replies/a.dcm", pla_fuzz_sample_dicom },
    { &pla_format_mat, "replies/a.mat", pla_fuzz_sample_mat },
    { &pla_format_sound, "replies/a.ogg", pla_fuzz_sample_ogg },
  };
  if (size < 1)
    return;
  const size_t r = data[0] % G_N_ELEMENTS(reader);
  const PlaReadOptions opts = pla_read_options_default();
  GBytes *sample = reader[r].sample();
  pla_fuzz_empty("replies");
  const char *path =
      pla_fuzz_write(reader[r].name, g_bytes_get_data(sample, NULL), g_bytes_get_size(sample));
  pla_fuzz_helper_reply(data + 1, size - 1);
  PlaItem item = read_only(reader[r].format, path, &opts);
  pla_item_clear(&item);
  pla_fuzz_helper_reply(NULL, 0);
}

const PlaFuzzTarget pla_fuzz_targets[] = {
  { "any", run_any },
  { "arrays", run_arrays },
  { "c3d", run_c3d },
  { "csv-markers", run_csv_markers },
  { "csv-track", run_csv_track },
  { "dicom", run_dicom },
  { "ema-text", run_ema_text },
  { "est", run_est },
  { "fixed-dofs", run_fixed_dofs },
  { "gmsh", run_gmsh },
  { "helper-replies", run_helper_replies },
  { "inv3", run_inv3 },
  { "label-files", run_label_files },
  { "mat", run_mat },
  { "nifti", run_nifti },
  { "obj", run_obj },
  { "phones", run_phones },
  { "plist", run_plist },
  { "ply", run_ply },
  { "pvd", run_pvd },
  { "reader", run_reader },
  { "sound", run_sound },
  { "source", run_source },
  { "stl", run_stl },
  { "table", run_table },
  { "tetgen", run_tetgen },
  { "trc", run_trc },
  { "vtk", run_vtk },
  { "vtu", run_vtu },
  { "xml", run_xml },
  { NULL },
};
