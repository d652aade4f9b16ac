/* Streamlines of a potential on tetrahedra: midpoint steps through the gradient at vertices, a
 * third of an element long, sliding along the boundary where they touch it. */
#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/muscle/muscle-fibre.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STEP 0.33 /* of the element's size */
enum { MAX_STEPS = 20000, MAX_WALK = 200, MAX_BEYOND = 24 };

void
pla_streamlines_clear(PlaStreamlines *self)
{
  free(self->start);
  free(self->pos);
  memset(self, 0, sizeof *self);
}

typedef struct {
  const PlaTetMesh *mesh;
  const int *across;
  const double *weight, *potential, *gradient;
  const uint8_t *end;
  double level; /* potential of the section that lines start from */
} Field;

/* a place: the tet it is in and its weights there */
typedef struct {
  int tet;
  double w[4];
} Place;

static bool
usable(const Field *f, int t)
{
  if (f->weight && !(f->weight[t] > 0.0))
    return false;
  for (int c = 0; c < 4; c++)
    if (!isfinite(f->potential[f->mesh->tet[4 * (size_t)t + c]]))
      return false;
  return true;
}

/* Moves @place to @pos, tet by tet; at the boundary it stays on the last face.  Returns false when
 * it was held there. */
static bool
walk(const Field *f, Place *place, const double pos[3])
{
  for (int step = 0; step < MAX_WALK; step++) {
    if (!pla_tet_weights(f->mesh, place->tet, pos, place->w))
      return false;
    int least = 0;
    for (int c = 1; c < 4; c++)
      if (place->w[c] < place->w[least])
        least = c;
    if (place->w[least] >= -1e-12)
      return true;
    const int next = f->across[4 * (size_t)place->tet + least];
    if (next >= 0 && usable(f, next)) {
      place->tet = next;
      continue;
    }
    /* outside: the nearest weights that are not negative, roughly */
    double sum = 0.0;
    for (int c = 0; c < 4; c++) {
      place->w[c] = fmax(place->w[c], 0.0);
      sum += place->w[c];
    }
    for (int c = 0; c < 4; c++)
      place->w[c] /= sum;
    return false;
  }
  return false;
}

static double
potential_at(const Field *f, const Place *p)
{
  double u = 0.0;
  for (int c = 0; c < 4; c++)
    u += p->w[c] * f->potential[f->mesh->tet[4 * (size_t)p->tet + c]];
  return u;
}

/* whether the place lies between vertices of the end that the line runs to, mostly */
static bool
has_arrived(const Field *f, const Place *p, double sign)
{
  const uint8_t end = sign > 0.0 ? PLA_END_INSERTION : PLA_END_ORIGIN;
  double share = 0.0;
  for (int c = 0; c < 4; c++)
    share += f->end[f->mesh->tet[4 * (size_t)p->tet + c]] == end ? p->w[c] : 0.0;
  return share > 0.9;
}

static void
position_of(const Field *f, const Place *p, double pos[3])
{
  memset(pos, 0, 3 * sizeof *pos);
  for (int c = 0; c < 4; c++)
    for (int d = 0; d < 3; d++)
      pos[d] += p->w[c] * f->mesh->rest[3 * (size_t)f->mesh->tet[4 * (size_t)p->tet + c] + d];
}

/* unit direction; false where the field vanishes */
static bool
direction_at(const Field *f, const Place *p, double dir[3])
{
  memset(dir, 0, 3 * sizeof *dir);
  for (int c = 0; c < 4; c++)
    for (int d = 0; d < 3; d++)
      dir[d] += p->w[c] * f->gradient[3 * (size_t)f->mesh->tet[4 * (size_t)p->tet + c] + d];
  const double l = pla_vec3_norm(dir);
  for (int d = 0; d < 3 && l > 0.0; d++)
    dir[d] /= l;
  return l > 0.0 && isfinite(l);
}

static double
element_size(const Field *f, int t)
{
  const int *v = f->mesh->tet + 4 * (size_t)t;
  double e[3][3], n[3];
  for (int c = 0; c < 3; c++)
    pla_vec3_sub(f->mesh->rest + 3 * (size_t)v[c + 1], f->mesh->rest + 3 * (size_t)v[0], e[c]);
  pla_vec3_cross(e[0], e[1], n);
  return cbrt(fabs(pla_vec3_dot(n, e[2])));
}

typedef enum { TRACE_ENDED, TRACE_LOST, TRACE_MEMORY } Outcome;

/* Appends points from @at on, upwards (sign +1) or downwards, into the end and up to its boundary;
 * lost where a corner of the boundary has nothing ahead. */
static Outcome
trace(const Field *f, Place at, double sign, double **pos, size_t *n, size_t *room)
{
  double x[3], dir[3], to[3];
  position_of(f, &at, x);
  double u = potential_at(f, &at);
  int beyond = 0; /* steps inside the end */
  for (int step = 0; step < MAX_STEPS; step++) {
    if (*n == *room) {
      *room = 2 * *room + 64;
      if (!pla_array_resize((void **)pos, 3 * *room, sizeof **pos))
        return TRACE_MEMORY;
    }
    memcpy(*pos + 3 * (*n)++, x, sizeof x);
    if (beyond > 0 || has_arrived(f, &at, sign))
      beyond++;
    if (beyond > MAX_BEYOND)
      return TRACE_ENDED;
    double h = STEP * element_size(f, at.tet);
    Place next = at;
    bool free_way = direction_at(f, &at, dir);
    if (free_way) {
      for (int d = 0; d < 3; d++)
        to[d] = x[d] + 0.5 * sign * h * dir[d];
      walk(f, &next, to);
      free_way = direction_at(f, &next, dir);
    }
    if (!free_way)
      return beyond > 0 ? TRACE_ENDED : TRACE_LOST;
    /* in the end, the last step is as long as there is room */
    for (int cut = 0; cut < 5; cut++, h *= 0.5) {
      next = at;
      for (int d = 0; d < 3; d++)
        to[d] = x[d] + sign * h * dir[d];
      free_way = walk(f, &next, to);
      if (free_way || beyond == 0)
        break;
    }
    if (beyond > 0 && !free_way)
      return TRACE_ENDED;
    at = next;
    const double before = u;
    u = potential_at(f, &at);
    if (beyond == 0 && !(sign * (u - before) > 1e-9))
      return TRACE_LOST;
    position_of(f, &at, x);
  }
  return TRACE_LOST;
}

/* area of the section through tet @t, and its middle as a place */
static double
section(const Field *f, int t, Place *place)
{
  const int *v = f->mesh->tet + 4 * (size_t)t;
  double corner[4][4]; /* weights of the section's corners */
  double pos[4][3];
  int n = 0;
  /* edges from below to above, in an order that walks around the section */
  int low[4], high[4], n_low = 0, n_high = 0;
  for (int c = 0; c < 4; c++)
    if (f->potential[v[c]] < f->level)
      low[n_low++] = c;
    else
      high[n_high++] = c;
  if (n_low == 0 || n_high == 0)
    return 0.0;
  for (int i = 0; i < n_low; i++)
    for (int k = 0; k < n_high; k++) {
      const int j = i % 2 == 0 ? k : n_high - 1 - k;
      const double a = f->potential[v[low[i]]], b = f->potential[v[high[j]]];
      const double s = (f->level - a) / (b - a);
      memset(corner[n], 0, sizeof corner[n]);
      corner[n][low[i]] = 1.0 - s;
      corner[n][high[j]] = s;
      n++;
    }
  memset(place->w, 0, sizeof place->w);
  place->tet = t;
  for (int i = 0; i < n; i++) {
    Place p = { .tet = t };
    memcpy(p.w, corner[i], sizeof p.w);
    position_of(f, &p, pos[i]);
    for (int c = 0; c < 4; c++)
      place->w[c] += corner[i][c] / n;
  }
  double area = 0.0;
  for (int i = 1; i + 1 < n; i++) {
    double a[3], b[3], c[3];
    pla_vec3_sub(pos[i], pos[0], a);
    pla_vec3_sub(pos[i + 1], pos[0], b);
    pla_vec3_cross(a, b, c);
    area += 0.5 * pla_vec3_norm(c);
  }
  return area * (f->weight ? fmin(f->weight[t], 1.0) : 1.0);
}

typedef struct {
  double area;
  uint64_t key; /* along a space-filling curve */
  Place place;
} Seed;

static int
compare_seeds(const void *a, const void *b)
{
  const Seed *s = a, *t = b;
  if (s->key != t->key)
    return s->key < t->key ? -1 : 1;
  return (s->place.tet > t->place.tet) - (s->place.tet < t->place.tet);
}

/* place on a Morton curve through the box of the seeds */
static uint64_t
morton(const double pos[3], const double lo[3], double size)
{
  uint64_t key = 0;
  for (int d = 0; d < 3; d++) {
    const double s = size > 0.0 ? (pos[d] - lo[d]) / size : 0.0;
    const uint64_t q = (uint64_t)(fmin(fmax(s, 0.0), 1.0) * 1048575.0);
    for (int bit = 0; bit < 20; bit++)
      key |= ((q >> bit) & 1) << (3 * bit + d);
  }
  return key;
}

static int
make_seeds(const Field *f, Seed **out)
{
  Seed *seed = NULL;
  size_t room = 0;
  int n = 0;
  double lo[3] = { INFINITY, INFINITY, INFINITY }, hi[3] = { -INFINITY, -INFINITY, -INFINITY };
  *out = NULL;
  for (int t = 0; t < f->mesh->n_tets; t++) {
    Place place;
    if (!usable(f, t))
      continue;
    const double area = section(f, t, &place);
    if (!(area > 0.0))
      continue;
    if ((size_t)n == room) {
      room = 2 * room + 256;
      if (!pla_array_resize((void **)&seed, room, sizeof *seed)) {
        free(seed);
        return -1;
      }
    }
    seed[n++] = (Seed){ .area = area, .place = place };
    double pos[3];
    position_of(f, &place, pos);
    for (int d = 0; d < 3; d++) {
      lo[d] = fmin(lo[d], pos[d]);
      hi[d] = fmax(hi[d], pos[d]);
    }
  }
  const double size = fmax(fmax(hi[0] - lo[0], hi[1] - lo[1]), hi[2] - lo[2]);
  for (int i = 0; i < n; i++) {
    double pos[3];
    position_of(f, &seed[i].place, pos);
    seed[i].key = morton(pos, lo, size);
  }
  if (n > 0)
    qsort(seed, (size_t)n, sizeof *seed, compare_seeds);
  *out = seed;
  return n;
}

PlaStatus
pla_streamlines_trace(const PlaFibreFlow *flow, double level, int n_lines, PlaStreamlines *out,
                      PlaError *err)
{
  const Field f = { .mesh = flow->mesh,
                    .across = pla_tet_locator_neighbours(flow->locator),
                    .weight = flow->weight,
                    .potential = flow->potential,
                    .gradient = flow->gradient,
                    .end = flow->end,
                    .level = level };
  Seed *seed = NULL;
  double *line = NULL;
  size_t room = 0;
  memset(out, 0, sizeof *out);
  const int n_seeds = make_seeds(&f, &seed);
  out->start = pla_array_new0((size_t)n_lines + 1, sizeof *out->start);
  bool memory = n_seeds >= 0 && out->start;
  double total = 0.0;
  for (int i = 0; i < n_seeds && memory; i++)
    total += seed[i].area;

  /* one line for every equal share of the area along the curve; where one is lost, the next place
   * is tried */
  double passed = 0.0;
  int next = 0;
  for (int i = 0; i < n_seeds && memory && next < n_lines; i++) {
    passed += seed[i].area;
    if (passed < (next + 0.5) * total / n_lines)
      continue;
    size_t n = 0;
    Outcome down = trace(&f, seed[i].place, -1.0, &line, &n, &room), up = TRACE_LOST;
    for (size_t a = 0, b = n - 1; a < b && down == TRACE_ENDED; a++, b--)
      for (int d = 0; d < 3; d++) {
        const double swap = line[3 * a + d];
        line[3 * a + d] = line[3 * b + d];
        line[3 * b + d] = swap;
      }
    if (down == TRACE_ENDED) {
      n--; /* the seed itself comes again */
      up = trace(&f, seed[i].place, 1.0, &line, &n, &room);
    }
    memory = down != TRACE_MEMORY && up != TRACE_MEMORY;
    if (up != TRACE_ENDED)
      continue;
    while (next < n_lines && passed >= (next + 0.5) * total / n_lines)
      next++;
    memory =
        pla_array_resize((void **)&out->pos, 3 * ((size_t)out->n_points + n), sizeof *out->pos);
    if (memory) {
      memcpy(out->pos + 3 * (size_t)out->n_points, line, 3 * n * sizeof *line);
      out->n_points += (int)n;
      out->start[++out->n_lines] = out->n_points;
    }
  }
  free(seed);
  free(line);
  if (memory)
    return PLA_OK;
  pla_streamlines_clear(out);
  return pla_fail_memory(err, "the streamlines of a muscle");
}
