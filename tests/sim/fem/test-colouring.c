/* Node colours: the published counts on boxes, no neighbours alike, and local repair. */
#include "sim/fem/colouring.h"
#include "tests/sim/fem/boxes.h"

#include <glib.h>
#include <stdlib.h>
#include <string.h>

static PlaFemModel *
box(int nodes, PlaBoxCells cells)
{
  const int n[3] = { nodes - 1, nodes - 1, nodes - 1 };
  return box_new("neo-hookean", 1e5, 0.3, 10.0, cells, (double[3]){ 1, 1, 1 }, n);
}

static void
assert_legal(const PlaFemModel *model, const PlaColouring *colouring, const PlaVertSets *sets)
{
  for (int c = 0; c < model->n_tets + model->n_hexes; c++) {
    const int *verts;
    int k = pla_fem_cell_verts(model, c, &verts);
    for (int a = 0; a < k; a++)
      for (int b = 0; b < a; b++)
        g_assert_cmpint(colouring->colour[verts[a]], !=, colouring->colour[verts[b]]);
  }
  for (int s = 0; sets && s < sets->n; s++)
    for (int a = sets->start[s]; a < sets->start[s + 1]; a++)
      for (int b = sets->start[s]; b < a; b++)
        g_assert_cmpint(colouring->colour[sets->vert[a]], !=, colouring->colour[sets->vert[b]]);
}

/* colours of elements such that those of one colour share no vertex, greedily in their order: what
 * solvers that visit elements need */
static int
n_element_colours(const PlaFemModel *model)
{
  g_autofree guint64 *taken = g_new0(guint64, model->n_verts);
  int n = 0;
  for (int t = 0; t < model->n_tets; t++) {
    guint64 used = 0;
    for (int a = 0; a < 4; a++)
      used |= taken[model->tet[4 * t + a]];
    g_assert_cmpuint(used, !=, G_MAXUINT64);
    const int bit = __builtin_ctzll(~used);
    for (int a = 0; a < 4; a++)
      taken[model->tet[4 * t + a]] |= (guint64)1 << bit;
    n = MAX(n, bit + 1);
  }
  return n;
}

/* 5 node colours against 38 and 39 element colours (Chen 2024; greedy, natural order) */
static void
test_boxes_need_five_colours(void)
{
  const int sizes[2] = { 16, 32 }, verts[2] = { 4096, 32768 }, tets[2] = { 16875, 148955 };
  const int of_elements[2] = { 38, 39 };
  for (int k = 0; k < 2; k++) {
    PlaFemModel *model = box(sizes[k], PLA_BOX_TETS_5);
    PlaColouring colouring;
    PlaError err = { 0 };
    g_assert_cmpint(model->n_verts, ==, verts[k]);
    g_assert_cmpint(model->n_tets, ==, tets[k]);
    g_assert_cmpint(pla_colouring_init(&colouring, model, &err), ==, PLA_OK);
    g_assert_cmpint(colouring.n_colours, ==, 5);
    g_assert_cmpint(n_element_colours(model), ==, of_elements[k]);
    assert_legal(model, &colouring, NULL);
    pla_colouring_clear(&colouring);
    pla_fem_model_free(model);
  }
}

static void
test_hexes_need_eight_colours(void)
{
  PlaFemModel *model = box(6, PLA_BOX_HEXES);
  PlaColouring colouring;
  PlaError err = { 0 };
  g_assert_cmpint(pla_colouring_init(&colouring, model, &err), ==, PLA_OK);
  g_assert_cmpint(colouring.n_colours, ==, 8);
  assert_legal(model, &colouring, NULL);
  pla_colouring_clear(&colouring);
  pla_fem_model_free(model);
}

/* new links recolour only their own vertices, and not all of those */
static void
test_links_recolour_locally(void)
{
  PlaFemModel *model = box(8, PLA_BOX_TETS_5);
  PlaColouring colouring;
  PlaError err = { 0 };
  g_autoptr(GRand) rand = g_rand_new_with_seed(3);
  int start[41] = { 0 }, vert[240], changed = 0;
  g_assert_cmpint(pla_colouring_init(&colouring, model, &err), ==, PLA_OK);
  g_autofree int *before = g_memdup2(colouring.colour, (gsize)model->n_verts * sizeof(int));
  for (int s = 0; s < 40; s++) {
    start[s + 1] = start[s] + 6;
    /* distinct vertices: one from each sixth of the box */
    for (int a = 0; a < 6; a++)
      vert[start[s] + a] = g_rand_int_range(rand, 85 * a, 85 * (a + 1));
  }
  PlaVertSets sets = { 40, start, vert };
  g_assert_cmpint(pla_colouring_refine(&colouring, model, &sets, &err), ==, PLA_OK);
  assert_legal(model, &colouring, &sets);
  for (int v = 0; v < model->n_verts; v++) {
    bool linked = false;
    for (int k = 0; k < 240; k++)
      linked |= vert[k] == v;
    if (!linked)
      g_assert_cmpint(colouring.colour[v], ==, before[v]);
    changed += colouring.colour[v] != before[v];
  }
  g_assert_cmpint(changed, >, 0);
  g_assert_cmpint(changed, <, 160);
  pla_colouring_clear(&colouring);
  pla_fem_model_free(model);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/colouring/boxes-need-five-colours", test_boxes_need_five_colours);
  g_test_add_func("/colouring/hexes-need-eight-colours", test_hexes_need_eight_colours);
  g_test_add_func("/colouring/links-recolour-locally", test_links_recolour_locally);
  return g_test_run();
}
