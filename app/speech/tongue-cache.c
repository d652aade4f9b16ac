/* Stores the phantom's tongue and its training poses as named arrays in the cache, checks them
 * when they are read, and rebuilds them when they are missing or damaged. */
#include "app/speech/tongue-cache.h"

#include "anatomy/base/memory.h"
#include "app/base/cache.h"
#include "sim/tongue/tongue-phantom.h"

#include <glib.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#define PHANTOM "tongue-phantom"
#define TRAINING "tongue-training"

static char *
cache_key(double cell_mm)
{
  return g_strdup_printf("cell_mm=%a", cell_mm);
}

/* ---- the phantom: mesh, what is held, bones */

static int
put_solid(const char *name, const PlaLevelSet *ls, PlaFileArray *array)
{
  g_autofree char *dims = g_strconcat(name, "/dims", NULL);
  g_autofree char *affine = g_strconcat(name, "/affine", NULL);
  g_autofree char *phi = g_strconcat(name, "/phi", NULL);
  array[0] = pla_cache_array(dims, PLA_I32, 1, 3, ls->dims);
  array[1] = pla_cache_array(affine, PLA_F64, 1, 12, ls->affine_mm);
  array[2] = pla_cache_array(phi, PLA_F32, 1, pla_levelset_n_voxels(ls), ls->phi_mm);
  return 3;
}

static void
keep_phantom(double cell_mm, const PlaTonguePhantom *phantom)
{
  const size_t n = (size_t)phantom->mesh->n_verts;
  g_autofree char *key = cache_key(cell_mm);
  PlaFileArray array[12];
  int k = 0;
  array[k++] = pla_cache_array("pos", PLA_F64, 3, n, phantom->mesh->pos);
  array[k++] =
      pla_cache_array("tet", PLA_I32, 4, (size_t)phantom->mesh->n_tets, phantom->mesh->tet);
  array[k++] = pla_cache_array("fixed", PLA_U8, 1, n, phantom->fixed);
  array[k++] = pla_cache_array("jaw_share", PLA_F64, 1, n, phantom->jaw_share);
  array[k++] = pla_cache_array("coils", PLA_I32, 1, PLA_N_TONGUE_COILS, phantom->coil_vert);
  array[k++] = pla_cache_array("hinge", PLA_F64, 1, 2, phantom->hinge);
  k += put_solid("palate", phantom->palate, array + k);
  k += put_solid("jaw", phantom->jaw, array + k);
  pla_cache_write(PHANTOM, key, array, k);
}

/* tuples of @width of an array, or 0 */
static size_t
count_of(const PlaArrays *arrays, const char *name, size_t width)
{
  const PlaFileArray *array = pla_arrays_find(arrays, name);
  const size_t n = array ? pla_file_array_count(array) / width : 0;
  return n <= INT_MAX / width ? n : 0;
}

static PlaStatus
copy_array(const PlaArrays *arrays, const char *name, PlaDType dtype, size_t n, size_t size,
           void *to, PlaError *err)
{
  const void *from = NULL;
  PlaStatus st = pla_arrays_get(arrays, name, dtype, n, &from, err);
  if (st == PLA_OK)
    memcpy(to, from, n * size);
  return st;
}

static PlaStatus
solid_from(const PlaArrays *arrays, const char *name, PlaLevelSet **out, PlaError *err)
{
  g_autofree char *dims_name = g_strconcat(name, "/dims", NULL);
  g_autofree char *affine_name = g_strconcat(name, "/affine", NULL);
  g_autofree char *phi_name = g_strconcat(name, "/phi", NULL);
  int dims[3];
  double affine[12];
  PlaStatus st = copy_array(arrays, dims_name, PLA_I32, 3, sizeof *dims, dims, err);
  if (st == PLA_OK)
    st = copy_array(arrays, affine_name, PLA_F64, 12, sizeof *affine, affine, err);
  if (st == PLA_OK && (dims[0] < 2 || dims[1] < 2 || dims[2] < 2 || dims[0] > 4096 ||
                       dims[1] > 4096 || dims[2] > 4096))
    st = pla_fail(err, PLA_ERR_FORMAT, "the cached solid is damaged");
  if (st == PLA_OK)
    st = pla_levelset_new(dims, affine, out, err);
  if (st == PLA_OK)
    st = copy_array(arrays, phi_name, PLA_F32, pla_levelset_n_voxels(*out), sizeof(float),
                    (*out)->phi_mm, err);
  return st;
}

static PlaStatus
phantom_from(const PlaArrays *arrays, PlaTonguePhantom *out, PlaError *err)
{
  const size_t n = count_of(arrays, "pos", 3), n_tets = count_of(arrays, "tet", 4);
  if (n == 0 || n_tets == 0)
    return pla_fail(err, PLA_ERR_FORMAT, "the cached tongue is damaged");
  PlaStatus st = pla_mesh_new((int)n, 0, (int)n_tets, 0, &out->mesh, err);
  out->fixed = pla_array_new(n, 1);
  out->jaw_share = pla_array_new(n, sizeof *out->jaw_share);
  if (st == PLA_OK && (!out->fixed || !out->jaw_share))
    st = pla_fail_memory(err, "a tongue");
  if (st == PLA_OK)
    st = copy_array(arrays, "pos", PLA_F64, 3 * n, sizeof(double), out->mesh->pos, err);
  if (st == PLA_OK)
    st = copy_array(arrays, "tet", PLA_I32, 4 * n_tets, sizeof(int), out->mesh->tet, err);
  if (st == PLA_OK)
    st = pla_mesh_check(out->mesh, err);
  if (st == PLA_OK)
    st = copy_array(arrays, "fixed", PLA_U8, n, 1, out->fixed, err);
  if (st == PLA_OK)
    st = copy_array(arrays, "jaw_share", PLA_F64, n, sizeof(double), out->jaw_share, err);
  if (st == PLA_OK)
    st = copy_array(arrays, "coils", PLA_I32, PLA_N_TONGUE_COILS, sizeof(int), out->coil_vert, err);
  for (int k = 0; st == PLA_OK && k < PLA_N_TONGUE_COILS; k++)
    if (out->coil_vert[k] < 0 || (size_t)out->coil_vert[k] >= n)
      st = pla_fail(err, PLA_ERR_FORMAT, "the cached coils are damaged");
  if (st == PLA_OK)
    st = copy_array(arrays, "hinge", PLA_F64, 2, sizeof(double), out->hinge, err);
  if (st == PLA_OK)
    st = solid_from(arrays, "palate", &out->palate, err);
  if (st == PLA_OK)
    st = solid_from(arrays, "jaw", &out->jaw, err);
  out->solid[0] = (PlaTongueSolid){ out->palate, false };
  out->solid[1] = (PlaTongueSolid){ out->jaw, true };
  return st;
}

static bool
recall_phantom(double cell_mm, PlaTonguePhantom *out)
{
  g_autofree char *key = cache_key(cell_mm);
  PlaArrays arrays;
  *out = (PlaTonguePhantom){ 0 };
  if (!pla_cache_read(PHANTOM, key, &arrays))
    return false;
  const bool fine = phantom_from(&arrays, out, NULL) == PLA_OK;
  pla_arrays_clear(&arrays);
  if (!fine)
    pla_tongue_phantom_clear(out);
  return fine;
}

/* ---- its training, in its own plane */

static void
keep_training(double cell_mm, const PlaTongue *tongue)
{
  PlaTongueTraining t;
  pla_tongue_get_training(tongue, &t);
  const size_t n = (size_t)t.n_verts;
  g_autofree char *key = cache_key(cell_mm);
  const PlaFileArray array[] = {
    pla_cache_array("phi", PLA_F64, (size_t)t.n_funcs, n, t.phi),
    pla_cache_array("lift", PLA_F64, 3, PLA_JAW_LIFTS * n, t.lift),
    pla_cache_array("tet", PLA_I32, 1, (size_t)t.n_points, t.tet),
    pla_cache_array("weight", PLA_F64, 1, (size_t)t.n_points, t.weight),
    pla_cache_array("change", PLA_F64, n, (size_t)t.n_changes, t.change),
    pla_cache_array("error", PLA_F64, 1, 1, &t.cubature_error),
  };
  pla_cache_write(TRAINING, key, array, G_N_ELEMENTS(array));
}

/* borrows from @arrays */
static bool
training_from(const PlaArrays *arrays, int n_verts, PlaTongueTraining *out)
{
  const size_t n = (size_t)n_verts, n_funcs = count_of(arrays, "phi", n);
  const size_t n_points = count_of(arrays, "tet", 1), n_changes = count_of(arrays, "change", n);
  const void *phi, *lift, *tet, *weight, *change;
  if (pla_arrays_get(arrays, "phi", PLA_F64, n * n_funcs, &phi, NULL) != PLA_OK ||
      pla_arrays_get(arrays, "lift", PLA_F64, 3 * PLA_JAW_LIFTS * n, &lift, NULL) != PLA_OK ||
      pla_arrays_get(arrays, "tet", PLA_I32, n_points, &tet, NULL) != PLA_OK ||
      pla_arrays_get(arrays, "weight", PLA_F64, n_points, &weight, NULL) != PLA_OK ||
      pla_arrays_get(arrays, "change", PLA_F64, n * n_changes, &change, NULL) != PLA_OK)
    return false;
  out->phi = phi;
  out->lift = lift;
  out->tet = tet;
  out->weight = weight;
  out->change = change;
  out->n_verts = n_verts;
  out->n_funcs = (int)n_funcs;
  out->n_points = (int)n_points;
  out->n_changes = (int)n_changes;
  return copy_array(arrays, "error", PLA_F64, 1, sizeof(double), &out->cubature_error, NULL) ==
         PLA_OK;
}

/* ---- both */

static PlaStatus
make_phantom(double cell_mm, PlaProgress *progress, PlaTonguePhantom *out, PlaError *err)
{
  PlaProgressSpan span = pla_progress_push(progress);
  PlaStatus st = pla_tongue_phantom_init(out, cell_mm, progress, err);
  pla_progress_pop(progress, span);
  if (st == PLA_OK)
    keep_phantom(cell_mm, out);
  return st;
}

PlaStatus
pla_phantom_tongue_new(double cell_mm, bool own_plane, PlaTongueInput *input, PlaProgress *progress,
                       PlaTongue **out, PlaError *err)
{
  PlaTonguePhantom phantom;
  PlaCoilFit fit;
  PlaTongueTraining training = { 0 };
  PlaArrays arrays;
  PlaStatus st = PLA_OK;
  g_autofree char *key = cache_key(cell_mm);
  *out = NULL;
  pla_progress_phase(progress, "Phantom", 0.3);
  if (!recall_phantom(cell_mm, &phantom))
    st = make_phantom(cell_mm, progress, &phantom, err);
  if (st != PLA_OK)
    return st;
  pla_tongue_phantom_input(&phantom, input);
  pla_tongue_phantom_fit(&phantom, &fit);
  input->fit = own_plane ? &fit : NULL;
  /* what does not fit counts as absent */
  if (own_plane && pla_cache_read(TRAINING, key, &arrays)) {
    input->training = training_from(&arrays, phantom.mesh->n_verts, &training) ? &training : NULL;
    if (input->training)
      (void)pla_tongue_new(input, NULL, out, NULL);
    input->training = NULL;
    pla_arrays_clear(&arrays);
  }
  pla_progress_phase(progress, "Reduced tongue", 1.0);
  PlaProgressSpan span = pla_progress_push(progress);
  if (!*out) {
    st = pla_tongue_new(input, progress, out, err);
    if (st == PLA_OK && own_plane)
      keep_training(cell_mm, *out);
  }
  pla_progress_pop(progress, span);
  pla_tongue_phantom_clear(&phantom);
  return st;
}
