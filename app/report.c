/* The report of a case as HTML with pictures. */
#include "app/report.h"

#include "anatomy/base/memory.h"
#include "app/picture.h"
#include "io/output.h"
#include "platysma-config.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

static const char style[] =
    "body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;"
    "color:#1d2326;background:#fff}h1{font-size:1.7rem}h2{margin-top:2.2rem;font-size:1.25rem;"
    "border-bottom:1px solid #d5dcdf;padding-bottom:.2rem}table{border-collapse:collapse;width:100%}"
    "th,td{text-align:left;padding:.35rem .7rem;border-bottom:1px solid #e6eaec;vertical-align:top}"
    "td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}figure{margin:0}"
    ".g{display:grid;grid-template-columns:repeat(auto-fit,minmax(20rem,1fr));gap:1rem}"
    "img{width:100%;border-radius:6px;display:block}figcaption{color:#5a666c;font-size:.9rem}"
    ".w{background:#fff6dd;border-left:4px solid #d9a400;padding:.6rem 1rem;margin:1rem 0}"
    "code{font-size:.85em;word-break:break-all}.s{display:inline-block;width:.9em;height:.9em;"
    "border-radius:2px;margin-right:.5em;vertical-align:-.1em}";

typedef struct {
  PlaSession *session;
  PlaProgress *progress;
  GString *html;
  char *folder;      /* where pictures go */
  const char *inside; /* its name, for links */
  PlaReportSummary *summary;
} Report;

static void
put(Report *r, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* markup with every argument escaped */
static void
put(Report *r, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  g_autofree char *text = g_markup_vprintf_escaped(format, args);
  va_end(args);
  g_string_append(r->html, text);
}

/* path of the next picture; g_free() */
static char *
next_picture(Report *r, char **link)
{
  g_autofree char *name = g_strdup_printf("picture-%02d.png", ++r->summary->n_pictures);
  *link = g_strconcat(r->inside, "/", name, NULL);
  return g_build_filename(r->folder, name, NULL);
}

static void
put_picture(Report *r, const char *link, const char *caption)
{
  put(r, "<figure><img src=\"%s\" alt=\"%s\"><figcaption>%s</figcaption></figure>", link, caption,
      caption);
}

static PlaStatus
put_slices(Report *r, const PlaVolume *vol, const PlaLabelMap *labels, const char *name,
           PlaError *err)
{
  static const struct {
    PlaAxis axis;
    const char *title;
  } planes[] = { { PLA_AXIS_AXIAL, "Axial" }, { PLA_AXIS_CORONAL, "Coronal" }, { PLA_AXIS_SAGITTAL, "Sagittal" } };
  PlaStatus st = PLA_OK;
  put(r, "<div class=\"g\">");
  for (size_t k = 0; st == PLA_OK && k < G_N_ELEMENTS(planes); k++) {
    PlaSliceOptions opts = pla_slice_options_default(vol);
    g_autofree char *link = NULL;
    g_autofree char *path = next_picture(r, &link);
    g_autofree char *caption = g_strdup_printf("%s slice of %s, %s convention", planes[k].title,
                                               name, opts.radiological ? "radiological" : "neurological");
    opts.axis = planes[k].axis;
    opts.annotate = true;
    st = pla_render_slice_png(vol, labels, &opts, path, err);
    if (st == PLA_OK)
      put_picture(r, link, caption);
  }
  put(r, "</div>");
  return st;
}

/* a picture of each of the largest labels, each from another side */
static PlaStatus
put_surfaces(Report *r, const PlaLabelMap *map, PlaError *err)
{
  static const PlaViewPreset views[] = { PLA_VIEW_ANTERIOR, PLA_VIEW_THREE_QUARTER, PLA_VIEW_LEFT };
  const int most = 6; /* labels with a picture of their own */
  g_autofree size_t *counts = g_new(size_t, 65536);
  g_autofree int *order = g_new(int, map->table.n);
  PlaStatus st = PLA_OK;
  int n = 0;
  pla_label_map_count(map, counts);
  for (int i = 0; i < map->table.n; i++)
    if (counts[map->table.label[i].id] > 0)
      order[n++] = i;
  /* largest first */
  for (int i = 1; i < n; i++)
    for (int j = i; j > 0 && counts[map->table.label[order[j]].id] >
                                 counts[map->table.label[order[j - 1]].id];
         j--) {
      int swap = order[j];
      order[j] = order[j - 1];
      order[j - 1] = swap;
    }
  g_autofree int *every = g_new(int, n + 1);
  for (int i = 0; i < n; i++)
    every[i] = map->table.label[order[i]].id;
  put(r, "<div class=\"g\">");
  for (int i = 0; st == PLA_OK && i < MIN(n, most); i++) {
    const PlaLabel *label = &map->table.label[order[i]];
    PlaPictureOptions opts = pla_picture_options_default();
    PlaSurfaceLook look = pla_surface_look_for(label);
    g_autofree char *link = NULL;
    g_autofree char *path = next_picture(r, &link);
    opts.view = views[MIN(i, 2)];
    opts.annotate = true;
    opts.progress = r->progress;
    look.opacity = 1.0;
    /* skin is the outside of everything: where bone comes to the surface it must not gape */
    if (look.finish == PLA_FINISH_SKIN) {
      look.ids = every;
      look.n_ids = n;
    }
    st = pla_render_label_surface_png(map, &look, 1, &opts, path, err);
    if (st == PLA_OK)
      put_picture(r, link, label->name);
  }
  put(r, "</div>");
  return st;
}

static void
put_label_table(Report *r, const PlaLabelMap *map)
{
  g_autofree size_t *counts = g_new(size_t, 65536);
  double voxel = pla_volume_voxel_mm3(map->volume);
  pla_label_map_count(map, counts);
  put(r, "<table><tr><th>Label</th><th class=\"n\">Id</th><th class=\"n\">Voxels</th>"
         "<th class=\"n\">Volume, ml</th></tr>");
  for (int i = 0; i < map->table.n; i++) {
    const PlaLabel *label = &map->table.label[i];
    if (counts[label->id] == 0)
      continue;
    put(r,
        "<tr><td><span class=\"s\" style=\"background:#%02x%02x%02x\"></span>%s</td>"
        "<td class=\"n\">%d</td><td class=\"n\">%zu</td><td class=\"n\">%.2f</td></tr>",
        label->rgba[0], label->rgba[1], label->rgba[2], label->name, label->id, counts[label->id],
        (double)counts[label->id] * voxel / 1000.0);
  }
  put(r, "</table>");
  r->summary->n_tables++;
}

static void
put_frame(Report *r, const PlaVolume *vol)
{
  static const char *const sources[] = { "assumed", "pixdim", "qform", "sform", "DICOM", "made here" };
  double spacing[3], range[2];
  char letters[4];
  pla_volume_spacing_mm(vol, spacing);
  pla_volume_orientation(vol, letters);
  pla_volume_range(vol, &range[0], &range[1]);
  put(r, "<p>%d × %d × %d voxels of %.4g × %.4g × %.4g mm, %s, values %g to %g. Axes %s; frame from "
         "%s, axes %s",
      vol->dims[0], vol->dims[1], vol->dims[2], spacing[0], spacing[1], spacing[2],
      pla_dtype_name(vol->dtype), range[0], range[1], letters, sources[vol->audit.source],
      vol->audit.nonorthogonality < 1e-4 ? "at right angles" : "sheared");
  if (vol->audit.disagreement_mm > 0.001)
    put(r, "; the two frames in the file disagree by %.3f mm", vol->audit.disagreement_mm);
  put(r, ".</p>");
}

/* the content of a volume on the same grid as @labels, or NULL; caller unrefs */
static PlaContent *
find_image(Report *r, const PlaLabelMap *labels)
{
  const PlaState *state = pla_session_get_state(r->session);
  for (int i = 0; i < state->n; i++) {
    PlaContent *content = NULL;
    if (strcmp(state->item[i].kind, PLA_ITEM_VOLUME) != 0 ||
        pla_session_load(r->session, state->item[i].item, r->progress, &content, NULL) != PLA_OK)
      continue;
    if (memcmp(content->volume->dims, labels->volume->dims, 3 * sizeof(int)) == 0 &&
        memcmp(content->volume->affine_mm, labels->volume->affine_mm, 12 * sizeof(double)) == 0)
      return content;
    pla_content_unref(content);
  }
  return NULL;
}

static PlaStatus
put_item(Report *r, const PlaStateItem *item, PlaError *err)
{
  g_autoptr(PlaContent) content = NULL;
  PlaStatus st = pla_session_load(r->session, item->item, r->progress, &content, err);
  if (st != PLA_OK)
    return st;
  put(r, "<h2>%s</h2>", item->name);
  if (content->volume) {
    put_frame(r, content->volume);
    st = put_slices(r, content->volume, NULL, item->name, err);
  } else if (content->labels) {
    put_frame(r, content->labels->volume);
    st = put_surfaces(r, content->labels, err);
    g_autoptr(PlaContent) image = find_image(r, content->labels);
    if (st == PLA_OK && image)
      st = put_slices(r, image->volume, content->labels, item->name, err);
    put_label_table(r, content->labels);
  } else if (content->mesh) {
    PlaMeshSummary sum;
    st = pla_mesh_summary(content->mesh, &sum, err);
    if (st == PLA_OK)
      put(r, "<p>%d vertices, %d triangles, %d tetrahedra, %d hexahedra; volume %.3f ml.</p>",
          content->mesh->n_verts, content->mesh->n_tris, content->mesh->n_tets,
          content->mesh->n_hexes, sum.volume_m3 * 1e6);
  } else {
    put(r, "<p>%s</p>", item->kind);
  }
  return st;
}

static void
put_log(Report *r)
{
  const PlaLog *log = pla_session_get_log(r->session);
  put(r, "<h2>Operations</h2><table><tr><th class=\"n\">No.</th><th>Operation</th>"
         "<th>Parameters</th><th>State after it</th><th>Program</th></tr>");
  for (int i = 0; i < log->n; i++) {
    const PlaLogRow *row = &log->row[i];
    const PlaOperation *op = pla_operation_find(row->verb);
    char hash[33];
    pla_hash_text(&row->state, hash);
    put(r, "<tr><td class=\"n\">%" G_GINT64_FORMAT "</td><td>%s</td><td><code>%s</code></td>"
           "<td><code>%s</code></td><td>%s, %s kernels</td></tr>",
        row->id, op ? op->title : row->verb, row->parameters, hash, row->program, row->kernel);
  }
  put(r, "</table>");
  r->summary->n_tables++;
}

PlaStatus
pla_report_write_html(PlaSession *session, const char *path, PlaProgress *progress,
                      PlaReportSummary *out, PlaError *err)
{
  *out = (PlaReportSummary){ 0 };
  g_autofree char *stem = g_strdup(path);
  char *dot = strrchr(stem, '.');
  if (dot && dot > strrchr(stem, '/'))
    *dot = '\0';
  Report r = { .session = session, .progress = progress, .summary = out };
  r.html = g_string_new(NULL);
  r.folder = g_strconcat(stem, "-files", NULL);
  g_autofree char *inside = g_path_get_basename(r.folder);
  r.inside = inside;
  PlaStatus st = PLA_OK;
  if (g_mkdir_with_parents(r.folder, 0777) != 0)
    st = pla_fail(err, PLA_ERR_IO, "the folder %s cannot be made; choose another place", r.folder);

  const char *title = pla_session_get_title(session);
  put(&r, "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\">"
          "<meta name=\"viewport\" content=\"width=device-width\"><title>%s</title><style>", title);
  g_string_append(r.html, style);
  put(&r, "</style></head><body><h1>%s</h1>"
          "<p class=\"w\">Research use only, not a medical device. Left and right are the patient's; "
          "the letters at the edges of each picture name the sides.</p>"
          "<p>Platysma %s. Positions are in millimetres, RAS.</p>",
      title, PLA_VERSION);

  const PlaState *state = pla_session_get_state(session);
  for (int i = 0; st == PLA_OK && i < state->n; i++) {
    if (!pla_progress_phase(progress, "Drawing", 0.95 * (i + 1) / state->n))
      st = pla_fail_cancelled(err);
    PlaProgressSpan span = pla_progress_push(progress);
    if (st == PLA_OK)
      st = put_item(&r, &state->item[i], err);
    pla_progress_pop(progress, span);
  }
  if (st == PLA_OK) {
    put_log(&r);
    put(&r, "</body></html>\n");
    st = pla_output_write(path, r.html->str, r.html->len, err);
  }
  g_string_free(r.html, TRUE);
  g_free(r.folder);
  return st;
}
