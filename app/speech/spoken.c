/* The motion of the built-in tongue as an item of a case, and back. */
#include "app/speech/spoken.h"

#include "anatomy/mesh/boundary.h"
#include "anatomy/phantom/phantom.h"
#include "anatomy/surface/surface.h"
#include "app/base/json.h"
#include "app/speech/spoken-tongue.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST_S 120.0 /* all frames are kept in memory: about 1 MB a second */

static const double section_at[2] = { 0.0, -112.0 }; /* mm: forward, up */
static const int section_dims[2] = { 220, 200 };
static const double section_step = 0.5;

/* ---- making ---------------------------------------------------------------------------------- */

struct PlaSpokenMaking {
  const PlaTongue *tongue;
  PlaCoilPaths paths;
  int n_frames, n_verts, n_tris, n_outline;
  int *vert;    /* of the tets' mesh, for each of the surface (n_verts) */
  int *surface; /* the other way round, -1 inside */
  int32_t *tri;
  float *rest_mm, *place_mm, *outline_mm, *rest_outline_mm, *jaw, *area, *length, *formant, *heard,
      *contact, *volume, *section[2], wall_mm[PLA_TRACT_FIXED][2];
  int16_t *moved;
  double cell_height[PLA_PALATE_ROWS * PLA_PALATE_COLUMNS]; /* of the palate; NaN: none */
  int n_above;
  int *above; /* surface vertices that look upwards at rest */
};
typedef PlaSpokenMaking Making;

void
pla_spoken_making_free(PlaSpokenMaking *m)
{
  if (!m)
    return;
  pla_coil_paths_clear(&m->paths);
  g_free(m->vert);
  g_free(m->surface);
  g_free(m->tri);
  g_free(m->rest_mm);
  g_free(m->place_mm);
  g_free(m->outline_mm);
  g_free(m->rest_outline_mm);
  g_free(m->jaw);
  g_free(m->area);
  g_free(m->length);
  g_free(m->formant);
  g_free(m->heard);
  g_free(m->contact);
  g_free(m->volume);
  g_free(m->section[0]);
  g_free(m->section[1]);
  g_free(m->moved);
  g_free(m->above);
  g_free(m);
}

/* the outer vertices of the tongue, numbered in order */
static PlaStatus
find_surface(Making *m, PlaError *err)
{
  const PlaMesh *mesh = pla_tongue_get_mesh(m->tongue);
  const PlaTetMesh tets = pla_mesh_tets(mesh);
  PlaBoundary boundary = { 0 };
  PlaStatus st = pla_boundary_init(&boundary, &tets, &(PlaHexMesh){ 0 }, false, err);
  if (st != PLA_OK)
    return st;
  m->surface = g_new(int, mesh->n_verts);
  m->vert = g_new(int, mesh->n_verts);
  m->n_tris = boundary.n_tris;
  m->tri = g_new(int32_t, 3 * (gsize)boundary.n_tris);
  for (int v = 0; v < mesh->n_verts; v++)
    m->surface[v] = -1;
  for (int i = 0; i < 3 * boundary.n_tris; i++)
    m->surface[boundary.tri[i]] = 0;
  for (int v = 0; v < mesh->n_verts; v++)
    if (m->surface[v] == 0) {
      m->surface[v] = m->n_verts;
      m->vert[m->n_verts++] = v;
    }
  m->rest_mm = g_new(float, 3 * (gsize)m->n_verts);
  for (int i = 0; i < m->n_verts; i++)
    for (int d = 0; d < 3; d++)
      m->rest_mm[3 * i + d] = (float)(1000.0 * mesh->pos[3 * (size_t)m->vert[i] + (size_t)d]);
  for (int i = 0; i < 3 * boundary.n_tris; i++)
    m->tri[i] = m->surface[boundary.tri[i]];
  pla_boundary_clear(&boundary);
  return PLA_OK;
}

/* vertices on the back of the tongue: the sum of the faces around them looks up */
static void
find_above(Making *m)
{
  g_autofree double *up = g_new0(double, m->n_verts);
  for (int t = 0; t < m->n_tris; t++) {
    const float *a = m->rest_mm + 3 * m->tri[3 * t], *b = m->rest_mm + 3 * m->tri[3 * t + 1],
                *c = m->rest_mm + 3 * m->tri[3 * t + 2];
    const double z = (double)((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]));
    for (int k = 0; k < 3; k++)
      up[m->tri[3 * t + k]] += z;
  }
  m->above = g_new(int, m->n_verts);
  for (int v = 0; v < m->n_verts; v++)
    if (up[v] > 0.0)
      m->above[m->n_above++] = v;
}

/* the middle of a cell of the contact map: right and forward, mm */
static void
palate_cell(int cell, double at[2])
{
  static const double front = 84.0, back = 30.0, side = 22.0;
  const int row = cell / PLA_PALATE_COLUMNS, column = cell % PLA_PALATE_COLUMNS;
  at[0] = side * (2.0 * (column + 0.5) / PLA_PALATE_COLUMNS - 1.0);
  at[1] = front + (back - front) * (row + 0.5) / PLA_PALATE_ROWS;
}

/* how high the roof of the mouth is above each cell: the first bone on the way up */
static void
find_palate(Making *m)
{
  bool with_jaw;
  const PlaLevelSet *palate = pla_tongue_get_solid(m->tongue, 0, &with_jaw);
  for (int c = 0; c < PLA_PALATE_ROWS * PLA_PALATE_COLUMNS; c++) {
    double at[2];
    palate_cell(c, at);
    m->cell_height[c] = NAN;
    for (double up = -60.0; up < -22.0 && isnan(m->cell_height[c]); up += 0.5)
      if (pla_levelset_at(palate, (double[3]){ at[0], at[1], up }) < 0.0)
        m->cell_height[c] = up;
    if (m->cell_height[c] < -47.0) /* teeth */
      m->cell_height[c] = NAN;
  }
}

/* bones cut near the middle of the head */
static void
draw_sections(Making *m)
{
  for (int s = 0; s < 2; s++) {
    bool with_jaw;
    const PlaLevelSet *solid = pla_tongue_get_solid(m->tongue, s, &with_jaw);
    m->section[s] = g_new(float, section_dims[0] * section_dims[1]);
    for (int j = 0; j < section_dims[1]; j++)
      for (int i = 0; i < section_dims[0]; i++) {
        double least = 30.0;
        /* beside the middle too: between the incisors there is a gap */
        for (int side = 0; side < 2; side++) {
          const double at[3] = { 3.0 * side, section_at[0] + section_step * i,
                                 section_at[1] + section_step * j };
          least = fmin(least, pla_levelset_at(solid, at));
        }
        m->section[s][j * section_dims[0] + i] = (float)least;
      }
  }
}

/* gaps at vertices under the palate, spread over the cells around them by their nearness */
static void
measure_contacts(const Making *m, const double *pos, float *out)
{
  bool with_jaw;
  const PlaLevelSet *palate = pla_tongue_get_solid(m->tongue, 0, &with_jaw);
  double sum[PLA_PALATE_ROWS * PLA_PALATE_COLUMNS] = { 0 }, weight[G_N_ELEMENTS(sum)] = { 0 };
  for (int i = 0; i < m->n_above; i++) {
    const double *p = pos + 3 * (size_t)m->vert[m->above[i]];
    const double mm[3] = { 1000.0 * p[0], 1000.0 * p[1], 1000.0 * p[2] };
    double gap = NAN;
    for (size_t c = 0; c < G_N_ELEMENTS(sum); c++) {
      double at[2];
      palate_cell((int)c, at);
      const double d2 = pow(at[0] - mm[0], 2.0) + pow(at[1] - mm[1], 2.0);
      if (d2 > 16.0 || isnan(m->cell_height[c]))
        continue;
      if (isnan(gap))
        gap = fmax(0.0, pla_levelset_at(palate, mm));
      const double w = 1.0 / (0.5 + d2);
      sum[c] += w * gap;
      weight[c] += w;
    }
  }
  for (size_t c = 0; c < G_N_ELEMENTS(sum); c++)
    out[c] = (float)(isnan(m->cell_height[c]) ? NAN : weight[c] > 0.0 ? sum[c] / weight[c] : 30.0);
}

static void
keep_places(Making *m, int frame, const double *pos)
{
  const PlaCoilFit *fit = pla_tongue_get_fit(m->tongue);
  float *place = m->place_mm + (gsize)frame * 2 * PLA_N_COILS;
  for (int k = 0; k < PLA_N_COILS; k++) {
    double at[2];
    if (k < PLA_N_TONGUE_COILS)
      pla_head_frame_sagittal(pla_tongue_get_frame(m->tongue), pos + 3 * (size_t)fit->vert[k], at);
    else
      pla_coil_fit_place(fit, m->paths.pos_mm + ((size_t)frame * PLA_N_COILS + (size_t)k) * 2, at);
    for (int a = 0; a < 2; a++)
      place[2 * k + a] = (float)(1000.0 * at[a]);
  }
}

static void
keep_outline(const Making *m, const double *pos, float *out)
{
  const PlaOutline *outline = pla_tongue_get_outline(m->tongue);
  g_autofree double *at = g_new(double, 2 * outline->n);
  pla_outline_place(outline, pla_tongue_get_frame(m->tongue), pos, at);
  for (int i = 0; i < 2 * outline->n; i++)
    out[i] = (float)(1000.0 * at[i]);
}

void
pla_spoken_making_frame(PlaSpokenMaking *m, const PlaTongueMotion *motion, int frame)
{
  const double *pos = pla_tongue_motion_get_pos(motion);
  const gsize f = (gsize)frame;
  int16_t *moved = m->moved + 3 * f * (gsize)m->n_verts;
  for (int i = 0; i < m->n_verts; i++)
    for (int d = 0; d < 3; d++) {
      const double mm = 1000.0 * pos[3 * (size_t)m->vert[i] + (size_t)d];
      moved[3 * i + d] =
          (int16_t)CLAMP(lround(100.0 * (mm - (double)m->rest_mm[3 * i + d])), -32767, 32767);
    }
  keep_outline(m, pos, m->outline_mm + 2 * f * (gsize)m->n_outline);
  keep_places(m, frame, pos);
  PlaTongueFrame pose;
  pla_tongue_motion_frame(motion, &pose);
  for (int i = 0; i < 9; i++)
    m->jaw[12 * f + (gsize)i] = (float)pose.jaw_rotation[i];
  for (int d = 0; d < 3; d++)
    m->jaw[12 * f + 9 + (gsize)d] = (float)(1000.0 * pose.jaw_shift[d]);
  PlaAirway airway;
  double hz[PLA_FORMANTS];
  pla_tongue_motion_airway(motion, &airway);
  const int n = pla_airway_formants(&airway, PLA_FORMANTS, hz);
  for (int s = 0; s < PLA_AIRWAY_SECTIONS; s++) {
    m->area[f * PLA_AIRWAY_SECTIONS + (gsize)s] = (float)airway.area_mm2[s];
    m->length[f * PLA_AIRWAY_SECTIONS + (gsize)s] = (float)airway.length_mm[s];
  }
  for (int k = 0; k < PLA_FORMANTS; k++)
    m->formant[f * PLA_FORMANTS + (gsize)k] = k < n ? (float)hz[k] : NAN;
  measure_contacts(m, pos, m->contact + f * PLA_PALATE_ROWS * PLA_PALATE_COLUMNS);
  m->volume[f] = (float)(pla_tongue_motion_report(motion)->step.volume_ratio - 1.0);
}

/* room for all frames */
static PlaStatus
make_room(Making *m, PlaError *err)
{
  const gsize n = (gsize)m->n_frames;
  m->n_outline = pla_tongue_get_outline(m->tongue)->n;
  m->moved = g_try_new0(int16_t, 3 * n * (gsize)m->n_verts + 1);
  m->outline_mm = g_new0(float, 2 * n * (gsize)m->n_outline + 1);
  m->rest_outline_mm = g_new0(float, 2 * m->n_outline + 1);
  m->place_mm = g_new0(float, 2 * PLA_N_COILS * n);
  m->jaw = g_new0(float, 12 * n);
  m->area = g_new0(float, PLA_AIRWAY_SECTIONS *n);
  m->length = g_new0(float, PLA_AIRWAY_SECTIONS *n);
  m->formant = g_new0(float, PLA_FORMANTS *n);
  m->heard = g_new0(float, PLA_FORMANTS *n);
  m->contact = g_new0(float, PLA_PALATE_ROWS *PLA_PALATE_COLUMNS *n);
  m->volume = g_new0(float, n);
  if (!m->moved)
    return pla_fail_memory(err, "the motion");
  keep_outline(m, pla_tongue_get_mesh(m->tongue)->pos, m->rest_outline_mm);
  for (int i = 0; i < 2 * PLA_TRACT_FIXED; i++)
    m->wall_mm[i / 2][i % 2] = (float)(1000.0 * pla_airway_get_wall(m->tongue)[i / 2][i % 2]);
  return PLA_OK;
}

/* ---- as an item ------------------------------------------------------------------------------ */

static PlaStatus
to_content(const Making *m, PlaContent **out, PlaError *err)
{
  const uint64_t n = (uint64_t)m->n_frames, verts = (uint64_t)m->n_verts,
                 outline = (uint64_t)m->n_outline;
  const uint64_t dims[2] = { (uint64_t)section_dims[1], (uint64_t)section_dims[0] };
  const struct {
    const char *name;
    PlaDType dtype;
    int n_dims;
    uint64_t shape[3];
    const void *data;
  } rows[] = {
    { "coil_mm", PLA_F64, 3, { n, PLA_N_COILS, 2 }, m->paths.pos_mm },
    { "place_mm", PLA_F32, 3, { n, PLA_N_COILS, 2 }, m->place_mm },
    { "rest_mm", PLA_F32, 2, { verts, 3 }, m->rest_mm },
    { "tri", PLA_I32, 2, { (uint64_t)m->n_tris, 3 }, m->tri },
    { "moved", PLA_I16, 3, { n, verts, 3 }, m->moved },
    { "outline_mm", PLA_F32, 3, { n, outline, 2 }, m->outline_mm },
    { "rest_outline_mm", PLA_F32, 2, { outline, 2 }, m->rest_outline_mm },
    { "jaw", PLA_F32, 2, { n, 12 }, m->jaw },
    { "palate_mm", PLA_F32, 2, { dims[0], dims[1] }, m->section[0] },
    { "mandible_mm", PLA_F32, 2, { dims[0], dims[1] }, m->section[1] },
    { "area_mm2", PLA_F32, 2, { n, PLA_AIRWAY_SECTIONS }, m->area },
    { "length_mm", PLA_F32, 2, { n, PLA_AIRWAY_SECTIONS }, m->length },
    { "wall_mm", PLA_F32, 2, { PLA_TRACT_FIXED, 2 }, m->wall_mm },
    { "formant_hz", PLA_F32, 2, { n, PLA_FORMANTS }, m->formant },
    { "heard_hz", PLA_F32, 2, { n, PLA_FORMANTS }, m->heard },
    { "contact_mm", PLA_F32, 3, { n, PLA_PALATE_ROWS, PLA_PALATE_COLUMNS }, m->contact },
    { "volume", PLA_F32, 1, { n }, m->volume },
  };
  g_autoptr(PlaContent) content = pla_content_new(PLA_ITEM_RESULT);
  PlaStatus st = PLA_OK;
  for (size_t i = 0; st == PLA_OK && i < G_N_ELEMENTS(rows); i++)
    st = pla_content_add_array(content, rows[i].name, rows[i].dtype, rows[i].n_dims, rows[i].shape,
                               rows[i].data, err);
  if (st == PLA_OK)
    *out = g_steal_pointer(&content);
  return st;
}

PlaStatus
pla_spoken_making_new(const PlaTongueMotion *motion, const PlaTrack *track, PlaSpokenMaking **out,
                      PlaError *err)
{
  *out = NULL;
  if (track->rate_hz <= 0.0 || track->n_samples < 1)
    return pla_fail(err, PLA_ERR_EMPTY, "the track of the coils has no frames or no rate");
  if (track->n_samples / track->rate_hz > LONGEST_S)
    return pla_fail(err, PLA_ERR_UNSUPPORTED,
                    "the recording lasts %.0f s; cut it into pieces of at most %.0f s",
                    track->n_samples / track->rate_hz, LONGEST_S);
  PlaSpokenMaking *m = g_new0(PlaSpokenMaking, 1);
  m->tongue = pla_tongue_motion_get_tongue(motion);
  m->n_frames = track->n_samples;
  PlaStatus st = pla_coil_paths_init(&m->paths, track, err);
  if (st == PLA_OK)
    st = find_surface(m, err);
  if (st == PLA_OK) {
    find_above(m);
    find_palate(m);
    draw_sections(m);
    st = make_room(m, err);
  }
  if (st == PLA_OK)
    *out = m;
  else
    pla_spoken_making_free(m);
  return st;
}

PlaStatus
pla_spoken_making_rest(const PlaSpokenMaking *m, PlaMesh **out, PlaError *err)
{
  PlaStatus st = pla_mesh_new(m->n_verts, m->n_tris, 0, 0, out, err);
  if (st != PLA_OK)
    return st;
  memcpy((*out)->tri, m->tri, 3 * (gsize)m->n_tris * sizeof *m->tri);
  for (gsize i = 0; i < 3 * (gsize)m->n_verts; i++)
    (*out)->pos[i] = (double)m->rest_mm[i] / 1000.0;
  return PLA_OK;
}

PlaStatus
pla_spoken_making_finish(PlaSpokenMaking *m, const double *heard_hz, PlaContent **out,
                         PlaError *err)
{
  for (gsize i = 0; i < PLA_FORMANTS * (gsize)m->n_frames; i++)
    m->heard[i] = heard_hz ? (float)heard_hz[i] : NAN;
  return to_content(m, out, err);
}

/* ---- the mouth around it --------------------------------------------------------------------- */

static double
skin_distance(const double pos_mm[3], const void *data)
{
  return pla_phantom_shape_distance(data, 1, pos_mm);
}

/* the lower part of the head's skin, from the nose to the throat */
static PlaStatus
make_head(PlaMesh **out, PlaProgress *progress, PlaError *err)
{
  static const int dims[3] = { 44, 56, 46 };
  static const double affine[12] = { 4, 0, 0, -86, 0, 4, 0, -96, 0, 0, 4, -130 };
  PlaPhantomModel *model = NULL;
  PlaLevelSet *skin = NULL;
  PlaStatus st = pla_phantom_model_new("head", &model, err);
  if (st == PLA_OK)
    st = pla_levelset_new(dims, affine, &skin, err);
  if (st == PLA_OK) {
    pla_levelset_fill(skin, skin_distance, model);
    st = pla_progress_step(progress, 0.5) ? pla_surface_from_levelset(skin, out, err)
                                          : pla_fail_cancelled(err);
  }
  pla_levelset_free(skin);
  pla_phantom_model_free(model);
  return st;
}

PlaStatus
pla_spoken_make_mouth(double cell_mm, PlaProgress *progress, PlaContent *out[3], PlaError *err)
{
  PlaTongueMotion *motion = NULL;
  PlaMesh *mesh[3] = { NULL };
  for (int i = 0; i < 3; i++)
    out[i] = NULL;
  PlaStatus st = pla_spoken_tongue_take(NULL, cell_mm, progress, &motion, err);
  if (st != PLA_OK)
    return st;
  for (int i = 0; st == PLA_OK && i < 2; i++) {
    bool with_jaw;
    st = pla_surface_from_levelset(
        pla_tongue_get_solid(pla_tongue_motion_get_tongue(motion), i, &with_jaw), &mesh[i], err);
  }
  pla_spoken_tongue_release(NULL, motion);
  if (st == PLA_OK)
    st = make_head(&mesh[2], progress, err);
  for (int i = 0; i < 3; i++) {
    if (st == PLA_OK) {
      out[i] = pla_content_new(PLA_ITEM_MESH);
      out[i]->mesh = mesh[i];
    } else
      pla_mesh_free(mesh[i]);
  }
  return st;
}

/* ---- reading --------------------------------------------------------------------------------- */

bool
pla_spoken_is(const PlaContent *content)
{
  JsonNode *node = json_object_get_member(content->meta, "spoken");
  return strcmp(content->kind, PLA_ITEM_RESULT) == 0 && node && JSON_NODE_HOLDS_OBJECT(node);
}

/* the data of an array of that shape, where 0 stands for any number, which is then filled in */
static const void *
find(const PlaContent *content, const char *name, PlaDType dtype, int n_dims, int *const shape[3],
     PlaStatus *st, PlaError *err)
{
  const PlaStoreArray *array = pla_content_find_array(content, name);
  if (*st != PLA_OK)
    return NULL;
  bool fits = array && array->dtype == dtype && array->n_dims == n_dims;
  for (int d = 0; fits && d < n_dims; d++) {
    if (*shape[d] == 0 && array->shape[d] > 0 && array->shape[d] < INT32_MAX)
      *shape[d] = (int)array->shape[d];
    fits = array->shape[d] == (uint64_t)*shape[d];
  }
  if (!fits)
    *st = pla_fail(err, PLA_ERR_FORMAT, "the motion of a tongue lacks '%s'; make it again", name);
  return fits ? array->data : NULL;
}

/* mean of the ratios on a logarithmic scale, every formant counting alike */
static double
formant_size(const PlaSpoken *self)
{
  double sum = 0.0;
  int heard = 0;
  for (gsize k = 0; k < PLA_FORMANTS; k++) {
    double ratio = 0.0;
    int n = 0;
    for (gsize f = 0; f < (gsize)self->n_frames; f++) {
      const double tube = (double)self->formant_hz[f * PLA_FORMANTS + k];
      const double sound = (double)self->heard_hz[f * PLA_FORMANTS + k];
      if (tube > 0.0 && sound > 0.0) {
        ratio += log(sound / tube);
        n++;
      }
    }
    sum += n > 0 ? ratio / n : 0.0;
    heard += n > 0;
  }
  return heard > 0 ? exp(sum / heard) : 1.0;
}

PlaStatus
pla_spoken_new(PlaContent *content, PlaSpoken **out, PlaError *err)
{
  *out = NULL;
  if (!pla_spoken_is(content))
    return pla_fail(err, PLA_ERR_USAGE, "the item holds no motion of a tongue");
  PlaSpoken *self = g_new0(PlaSpoken, 1);
  JsonObject *meta = json_object_get_object_member(content->meta, "spoken");
  self->content = pla_content_ref(content);
  self->source = json_object_get_string_member_with_default(meta, "source", "");
  self->trained_on = json_object_get_string_member_with_default(meta, "trained_on", "");
  self->measured = json_object_get_boolean_member_with_default(meta, "measured", FALSE);
  self->own_plane = json_object_get_boolean_member_with_default(meta, "own_plane", !self->measured);
  self->rate_hz = json_object_get_double_member_with_default(meta, "rate_hz", 0.0);
  self->start_s = json_object_get_double_member_with_default(meta, "start_s", 0.0);
  memcpy(self->section_at_mm, section_at, sizeof section_at);
  self->section_step_mm = section_step;
  PlaStatus st = self->rate_hz > 0.0 && isfinite(self->rate_hz) && isfinite(self->start_s)
                     ? PLA_OK
                     : pla_fail(err, PLA_ERR_FORMAT, "the motion of a tongue has no rate");
  int two = 2, three = 3, twelve = 12, coils = PLA_N_COILS, sections = PLA_AIRWAY_SECTIONS,
      wall = PLA_TRACT_FIXED, formants = PLA_FORMANTS, rows = PLA_PALATE_ROWS,
      columns = PLA_PALATE_COLUMNS;
  int *const n = &self->n_frames;
#define FIND(NAME, DTYPE, N, ...)                                                                  \
  find(content, NAME, DTYPE, N, (int *const[3]){ __VA_ARGS__ }, &st, err)
  self->coil_mm = FIND("coil_mm", PLA_F64, 3, n, &coils, &two);
  self->place_mm = FIND("place_mm", PLA_F32, 3, n, &coils, &two);
  self->rest_mm = FIND("rest_mm", PLA_F32, 2, &self->n_verts, &three);
  self->tri = FIND("tri", PLA_I32, 2, &self->n_tris, &three);
  self->moved = FIND("moved", PLA_I16, 3, n, &self->n_verts, &three);
  self->outline_mm = FIND("outline_mm", PLA_F32, 3, n, &self->n_outline, &two);
  self->rest_outline_mm = FIND("rest_outline_mm", PLA_F32, 2, &self->n_outline, &two);
  self->jaw = FIND("jaw", PLA_F32, 2, n, &twelve);
  self->palate_mm = FIND("palate_mm", PLA_F32, 2, &self->section_dims[1], &self->section_dims[0]);
  self->mandible_mm =
      FIND("mandible_mm", PLA_F32, 2, &self->section_dims[1], &self->section_dims[0]);
  self->area_mm2 = FIND("area_mm2", PLA_F32, 2, n, &sections);
  self->length_mm = FIND("length_mm", PLA_F32, 2, n, &sections);
  self->wall_mm = FIND("wall_mm", PLA_F32, 2, &wall, &two);
  self->formant_hz = FIND("formant_hz", PLA_F32, 2, n, &formants);
  self->heard_hz = FIND("heard_hz", PLA_F32, 2, n, &formants);
  self->contact_mm = FIND("contact_mm", PLA_F32, 3, n, &rows, &columns);
  self->volume = FIND("volume", PLA_F32, 1, n);
#undef FIND
  for (int i = 0; st == PLA_OK && i < 3 * self->n_tris; i++)
    if (self->tri[i] < 0 || self->tri[i] >= self->n_verts)
      st = pla_fail(err, PLA_ERR_FORMAT, "a face of the tongue names a vertex that is not there");
  if (st == PLA_OK) {
    self->size = formant_size(self);
    *out = self;
  } else
    pla_spoken_free(self);
  return st;
}

void
pla_spoken_free(PlaSpoken *self)
{
  if (!self)
    return;
  pla_content_unref(self->content);
  g_free(self);
}

double
pla_spoken_time(const PlaSpoken *self, int frame)
{
  return self->start_s + frame / self->rate_hz;
}

int
pla_spoken_frame_at(const PlaSpoken *self, double time_s)
{
  const double frame = round((time_s - self->start_s) * self->rate_hz);
  return (int)CLAMP(frame, 0.0, self->n_frames - 1.0);
}

double
pla_spoken_seconds(const PlaSpoken *self)
{
  return pla_spoken_time(self, self->n_frames - 1) + 0.5 / self->rate_hz;
}

void
pla_spoken_pos(const PlaSpoken *self, int frame, double *pos)
{
  const int16_t *moved = self->moved + 3 * (gsize)frame * (gsize)self->n_verts;
  for (gsize i = 0; i < 3 * (gsize)self->n_verts; i++)
    pos[i] = ((double)self->rest_mm[i] + moved[i] / 100.0) / 1000.0;
}

void
pla_spoken_move_jaw(const PlaSpoken *self, int frame, const double *pos, int n, double *out)
{
  const float *pose = self->jaw + 12 * (gsize)frame;
  for (int v = 0; v < n; v++)
    for (int d = 0; d < 3; d++) {
      const double *p = pos + 3 * (gsize)v;
      out[3 * (gsize)v + (gsize)d] = (double)pose[3 * d] * p[0] + (double)pose[3 * d + 1] * p[1] +
                                     (double)pose[3 * d + 2] * p[2] + (double)pose[9 + d] / 1000.0;
    }
}

const char *
pla_spoken_get_note(const PlaSpoken *self, int i)
{
  JsonObject *spoken = pla_json_member_object(self->content->meta, "spoken");
  return pla_json_element_text(pla_json_member_array(spoken, "notes"), (guint)i);
}
