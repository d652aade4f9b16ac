/* Import: what a file holds becomes an item.
 *
 * The log keeps the file's own name without its folder, its size and the hash of its content, and
 * what its header said about the axes; nothing that identifies a patient.  The stored item is the
 * original from then on. */
#include "app/motion/landmark-table.h"
#include "app/verbs/verbs.h"

#include <string.h>
#include <sys/stat.h>

/* "head.nii.gz" from a path, without its endings for an item's name */
static char *
name_from_file(const char *base)
{
  char *name = g_strdup(base);
  for (int i = 0; i < 2; i++) {
    char *dot = strrchr(name, '.');
    if (dot && dot != name && strlen(dot) <= 6)
      *dot = '\0';
  }
  return name;
}

static JsonNode *
text_node(const char *text)
{
  g_autofree char *valid = g_utf8_make_valid(text, -1);
  JsonNode *node = json_node_new(JSON_NODE_VALUE);
  json_node_set_string(node, valid);
  return node;
}

/* size and content hash of the file; a folder (DICOM) has neither, and its name often names the
 * patient */
static PlaStatus
describe_source(PlaWork *work, const char *path, JsonObject *source, PlaError *err)
{
  struct stat info;
  if (stat(path, &info) == 0 && S_ISDIR(info.st_mode)) {
    json_object_set_string_member(source, "file", "folder");
    return PLA_OK;
  }
  g_autofree char *base = g_path_get_basename(path);
  g_autofree char *valid = g_utf8_make_valid(base, -1);
  PlaHash hash;
  uint64_t size;
  char text[33];
  PlaStatus st = pla_hash_file(path, pla_work_progress(work), &hash, &size, err);
  if (st != PLA_OK)
    return st;
  json_object_set_string_member(source, "file", valid);
  json_object_set_int_member(source, "bytes", (gint64)size);
  json_object_set_string_member(source, "hash", pla_hash_text(&hash, text));
  return PLA_OK;
}

/* what the file said about its axes, in words and numbers */
static void
describe_frame(const PlaVolume *vol, JsonObject *source)
{
  static const char *const names[] = { "none", "pixdim", "qform", "sform", "dicom", "made" };
  json_object_set_string_member(source, "frame", names[vol->audit.source]);
  json_object_set_int_member(source, "qform_code", vol->audit.qform_code);
  json_object_set_int_member(source, "sform_code", vol->audit.sform_code);
  json_object_set_double_member(source, "disagreement_mm", vol->audit.disagreement_mm);
  json_object_set_double_member(source, "nonorthogonality", vol->audit.nonorthogonality);
}

static PlaStatus
run(PlaWork *work, PlaError *err)
{
  const char *path = pla_work_source(work);
  if (!path)
    return pla_fail(err, PLA_ERR_USAGE,
                    "name a file to import: 'platysma-cli case import CASE FILE'");
  PlaProgress *progress = pla_work_progress(work);
  g_autoptr(JsonObject) source = json_object_new();
  PlaItem item = { 0 };
  PlaContent *content = NULL;
  const char *as = pla_work_text(work, "as");
  const bool table = strcmp(as, "landmarks") == 0;
  if (!table && strcmp(as, "auto") != 0 && strcmp(as, "volume") != 0 && strcmp(as, "labels") != 0)
    return pla_fail(err, PLA_ERR_USAGE, "\"as\" is auto, volume, labels or landmarks, not '%s'",
                    as);
  pla_progress_phase(progress, "Checking the file", 0.1);
  PlaStatus st = describe_source(work, path, source, err);
  if (st != PLA_OK)
    return st;
  pla_progress_phase(progress, "Reading the file", 1.0);
  PlaProgressSpan span = pla_progress_push(progress);
  st = table ? pla_landmarks_read_content(path, &content, err)
             : pla_item_read(path, pla_work_read_options(work), &item, err);
  pla_progress_pop(progress, span);
  if (st != PLA_OK)
    return st;

  bool as_labels = strcmp(as, "labels") == 0 || (strcmp(as, "auto") == 0 && item.labels.n > 0);
  g_autofree char *base = g_path_get_basename(json_object_get_string_member(source, "file"));
  g_autofree char *own_name = name_from_file(base);
  const char *asked = pla_work_text(work, "name");
  if (!table)
    st = pla_content_take_item(&item, as_labels, &content, err);
  if (st == PLA_OK) {
    const PlaVolume *vol = content->labels ? content->labels->volume : content->volume;
    if (vol)
      describe_frame(vol, source);
    JsonArray *notes = json_array_new();
    for (int i = 0; i < item.notes.n; i++) {
      /* sentences of readers name the path: keep the file's own name only */
      g_auto(GStrv) parts = g_strsplit(item.notes.text[i], path, -1);
      g_autofree char *note = g_strjoinv(base, parts);
      g_autofree char *valid = g_utf8_make_valid(note, -1);
      json_array_add_string_element(notes, valid);
    }
    json_object_set_object_member(content->meta, "source", json_object_ref(source));
    json_object_set_array_member(content->meta, "notes", notes);
    const char *name = pla_work_add(work, asked ? asked : own_name, content);
    pla_work_record(work, "name", text_node(name));
    JsonNode *node = json_node_new(JSON_NODE_OBJECT);
    json_node_set_object(node, source);
    pla_work_record(work, "source", node);
  }
  pla_item_clear(&item);
  return st;
}

static const PlaVerbParam params[] = {
  { "name", PLA_PARAM_TEXT, NULL, 1, 200, "null", "name of the item; the file's own otherwise" },
  { "as", PLA_PARAM_TEXT, NULL, 0, 0, "\"auto\"",
    "volume, labels, landmarks, or auto: labels where the file names them" },
  { NULL },
};

const PlaVerb pla_verb_import = {
  .name = "import",
  .title = "Import",
  .summary = "a volume, mesh or recording from a file",
  .params = params,
  .from_store = true,
  .run = run,
};
