/* Bodies as arrays: what is stored and read again goes on as if nothing had happened. */
#include "anatomy/base/parallel.h"
#include "sim/solve/solve.h"
#include "sim/surgery/surgery-state.h"
#include "tests/sim/surgery/slab.h"

#include <string.h>

static PlaNamedArrays
save(const PlaSurgery *body)
{
  PlaNamedArrays arrays = { 0 };
  TRY(pla_surgery_save(body, &arrays, &err));
  return arrays;
}

static size_t
array_bytes(const PlaNamedArray *a)
{
  return a->n * (size_t)a->width * pla_dtype_size(a->dtype);
}

static void
assert_same(const PlaNamedArrays *a, const PlaNamedArrays *b)
{
  g_assert_cmpint(a->n, ==, b->n);
  for (int i = 0; i < a->n; i++) {
    const PlaNamedArray *x = &a->array[i], *y = &b->array[i];
    g_assert_cmpstr(x->name, ==, y->name);
    if (array_bytes(x) != array_bytes(y) || memcmp(x->data, y->data, array_bytes(x)) != 0)
      g_error("'%s' differs", x->name);
  }
}

enum { N_STEPS = 7 };

/* one thing that can be done to a body */
static void
do_step(PlaSurgery *s, int step)
{
  const double flap[9] = { -0.012, -0.004, 0.0, 0.0, 0.009, 0.0, 0.013, -0.003, 0.0 };
  const double lesion[12] = { 0.02,  0.012, 0.0, 0.032, 0.012, 0.0,
                              0.032, 0.021, 0.0, 0.02,  0.021, 0.0 };
  const double at[3] = { 0.001, 0.004, 0.0 }, pull[3] = { 0.0, -0.004, 0.002 };
  PlaFemReport report;
  switch (step) {
  case 0:
    TRY(pla_surgery_incise(s, "flap", flap, 3, 0.007, 0.1, NULL, &err));
    break;
  case 1:
    TRY(pla_surgery_undermine(s, &(PlaSurgeryRegion){ .from = "flap", .radius = 0.01 }, 0.007, NULL,
                              &err));
    break;
  case 2:
    TRY(pla_surgery_hook(s, at, pull, &err));
    break;
  case 3:
  case 6:
    TRY(pla_surgery_solve(s, 1e-5, NULL, &report, &err));
    break;
  case 4:
    TRY(pla_surgery_excise(s, "lesion", lesion, 4, 0.006, NULL, NULL, &err));
    break;
  case 5:
    pla_surgery_release_hooks(s);
    TRY(pla_surgery_suture(s, "lesion", "lesion", 0.004, 1.0, NULL, &err));
    break;
  }
}

/* after every step the body is stored and read, and the next step is done to both */
static void
test_going_on(void)
{
  PlaSurgery *body = slab(4.0), *read = NULL;
  for (int step = 0; step < N_STEPS; step++) {
    PlaNamedArrays before = save(body);
    TRY(pla_surgery_load(&before, &read, &err));
    PlaNamedArrays again = save(read);
    assert_same(&before, &again);
    /* asking for the surface is no change */
    const PlaCutSurface *surface;
    const double *pos;
    TRY(pla_surgery_get_surface(body, &surface, &pos, &err));
    PlaNamedArrays asked = save(body);
    assert_same(&before, &asked);

    pla_threads_set(1 + step % 2);
    do_step(body, step);
    pla_threads_set(2 - step % 2);
    do_step(read, step);
    PlaNamedArrays a = save(body), b = save(read);
    assert_same(&a, &b);
    pla_named_arrays_clear(&a);
    pla_named_arrays_clear(&b);
    pla_named_arrays_clear(&asked);
    pla_named_arrays_clear(&again);
    pla_named_arrays_clear(&before);
    pla_surgery_free(read);
  }
  PlaSurgeryReadings readings;
  TRY(pla_surgery_read(body, &readings, &err));
  g_assert_cmpint(readings.n_stitches, >=, 2);
  pla_surgery_free(body);
}

/* What came with later builds, in pairs that go together. */
static const char *const later[][2] = {
  { "body/colour", "body/colour" },         { "body/gauge", "body/gauge_tet" },
  { "body/prestretch", "body/prestretch" }, { "body/expander", "body/expander" },
  { "body/implant", "body/implant_name" },  { "body/tissue", "body/tissue" },
};

static bool
came_later(const char *name)
{
  for (size_t i = 0; i < 2 * G_N_ELEMENTS(later); i++)
    if (strcmp(name, later[i / 2][i % 2]) == 0)
      return true;
  return false;
}

/* hides arrays, or shows them again */
static void
flip(PlaNamedArrays *arrays, const char *name)
{
  for (int a = 0; a < arrays->n; a++)
    if (strcmp(arrays->array[a].name + 1, name + 1) == 0)
      arrays->array[a].name[0] = (char)(arrays->array[a].name[0] == 'b' ? '?' : 'b');
}

/* a body of an earlier build is opened and operated on; without what it cannot lack, a sentence */
static void
test_earlier_builds(void)
{
  PlaSurgery *body = slab(6.0), *read = NULL;
  PlaFemReport report;
  for (int step = 0; step < 5; step++)
    do_step(body, step);
  PlaNamedArrays arrays = save(body);
  for (size_t i = 0; i < G_N_ELEMENTS(later); i++)
    for (int k = 0; k < (strcmp(later[i][0], later[i][1]) ? 2 : 1); k++)
      flip(&arrays, later[i][k]);
  TRY(pla_surgery_load(&arrays, &read, &err));
  TRY(pla_surgery_suture(read, "lesion", "lesion", 0.004, 1.0, NULL, &err));
  TRY(pla_surgery_solve(read, 1e-3, NULL, &report, &err));
  g_assert_cmpint(report.reason, ==, PLA_STOP_CONVERGED);
  PlaNamedArrays again = save(read); /* whole again */
  pla_surgery_free(read);
  TRY(pla_surgery_load(&again, &read, &err));
  pla_surgery_free(read);

  PlaError err = { 0 };
  flip(&again, "body/pos");
  g_assert_cmpint(pla_surgery_load(&again, &read, &err), ==, PLA_ERR_FORMAT);
  g_assert_nonnull(strstr(err.message, "prepare it again"));
  g_assert_nonnull(strstr(err.message, "'body/pos'"));
  pla_named_arrays_clear(&again);
  pla_named_arrays_clear(&arrays);
  pla_surgery_free(body);
}

/* arrays with a wrong number, of another length, or gone: refused, or at least no worse than odd */
static void
test_damage(void)
{
  PlaSurgery *body = slab(6.0), *read = NULL;
  for (int step = 0; step < 3; step++)
    do_step(body, step);
  PlaNamedArrays arrays = save(body);
  g_autoptr(GRand) rand = g_rand_new_with_seed(4);
  int refused = 0;
  for (int i = 0; i < 400; i++) {
    PlaNamedArray *a = &arrays.array[g_rand_int_range(rand, 0, arrays.n)];
    PlaError err = { 0 };
    const int way = g_rand_int_range(rand, 0, 3);
    if (way == 0 || a->n == 0) {
      char first = a->name[0];
      const bool lacks = came_later(a->name);
      a->name[0] = '?';
      const PlaStatus st = pla_surgery_load(&arrays, &read, &err);
      g_assert_true(st == PLA_ERR_FORMAT || (st == PLA_OK && lacks));
      a->name[0] = first;
      refused += st != PLA_OK;
    } else if (way == 1) {
      a->n--;
      refused += pla_surgery_load(&arrays, &read, &err) != PLA_OK;
      a->n++;
    } else {
      size_t k = (size_t)g_rand_int_range(rand, 0, (int)a->n * a->width);
      size_t size = pla_dtype_size(a->dtype);
      char *at = (char *)a->data + k * size, kept[8];
      memcpy(kept, at, size);
      for (size_t b = 0; b < size; b++)
        at[b] = (char)g_rand_int_range(rand, -128, 128);
      refused += pla_surgery_load(&arrays, &read, &err) != PLA_OK;
      memcpy(at, kept, size);
    }
    pla_surgery_free(read);
  }
  g_assert_cmpint(refused, >, 300);
  TRY(pla_surgery_load(&arrays, &read, &err));
  pla_surgery_free(read);
  pla_named_arrays_clear(&arrays);
  pla_surgery_free(body);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/surgery/state/going-on", test_going_on);
  g_test_add_func("/surgery/state/damage", test_damage);
  g_test_add_func("/surgery/state/earlier-builds", test_earlier_builds);
  return g_test_run();
}
