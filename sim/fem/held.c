/* Whether every piece of a body is held: no rigid motion of it leaves all prescribed coordinates
 * where they are.
 *
 * For each connected piece, the six rigid modes (three shifts, three turns about its centroid,
 * turns scaled to unit size) restricted to the prescribed coordinates form a matrix; the piece is
 * held when its Gram matrix has full rank. */
#include "sim/fem/model-data.h"

#include "anatomy/base/blas.h"
#include "anatomy/base/memory.h"
#include "anatomy/base/union-find.h"

#include <lapack.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  int n_verts, n_fixed;
  double centre[3], size2; /* m, sum of squared distances */
  double gram[36];
  int first_vert;
} Piece;

int
pla_fem_label_pieces(const PlaFemModel *model, int *piece)
{
  for (int v = 0; v < model->n_verts; v++)
    piece[v] = v;
  for (int c = 0; c < model->n_tets + model->n_hexes; c++) {
    const int *verts;
    int k = pla_fem_cell_verts(model, c, &verts);
    for (int a = 1; a < k; a++) {
      int x = pla_union_find_root(piece, verts[a]), y = pla_union_find_root(piece, verts[0]);
      /* the smaller id stays the root, so pieces come in the order of their first vertex */
      if (x < y)
        piece[y] = x;
      else
        piece[x] = y;
    }
  }
  for (int v = 0; v < model->n_verts; v++)
    piece[v] = pla_union_find_root(piece, v);
  int n = 0;
  for (int v = 0; v < model->n_verts; v++) {
    bool used = model->incidence.start[v + 1] > model->incidence.start[v];
    piece[v] = !used ? -1 : piece[v] == v ? n++ : piece[piece[v]];
  }
  return n;
}

/* row of the rigid modes at coordinate @d of a vertex at @r from the centre */
static void
mode_row(const double r[3], int d, double row[6])
{
  memset(row, 0, 6 * sizeof *row);
  row[d] = 1.0;
  /* a turn about axis k moves r by e_k x r */
  row[3 + (d + 1) % 3] = r[(d + 2) % 3];
  row[3 + (d + 2) % 3] = -r[(d + 1) % 3];
}

static PlaStatus
report_piece(const Piece *piece, const double mode[6], int n_pieces, PlaError *err)
{
  double shift = mode[0] * mode[0] + mode[1] * mode[1] + mode[2] * mode[2];
  double turn = mode[3] * mode[3] + mode[4] * mode[4] + mode[5] * mode[5];
  char which[96] = "the body";
  if (n_pieces > 1)
    snprintf(which, sizeof which, "the piece of %d vertices around (%.1f, %.1f, %.1f) mm",
             piece->n_verts, piece->centre[0] * 1e3, piece->centre[1] * 1e3,
             piece->centre[2] * 1e3);
  if (piece->n_fixed == 0)
    return pla_fail(err, PLA_ERR_GEOMETRY,
                    "nothing holds %s, so it has no equilibrium; fix some of its vertices", which);
  return pla_fail(err, PLA_ERR_GEOMETRY, "%s can still %s freely; fix more of its vertices", which,
                  turn > shift ? "turn" : "slide");
}

PlaStatus
pla_fem_check_held(const PlaFemModel *model, const unsigned char *fixed, PlaError *err)
{
  int *piece_of = pla_array_new((size_t)model->n_verts, sizeof *piece_of);
  int n_pieces = piece_of ? pla_fem_label_pieces(model, piece_of) : 0;
  Piece *pieces = piece_of ? pla_array_new0((size_t)n_pieces, sizeof *pieces) : NULL;
  if (!piece_of || !pieces) {
    free(piece_of);
    return pla_fail_memory(err, "the pieces of the body");
  }
  for (int v = 0; v < model->n_verts; v++) {
    if (piece_of[v] < 0)
      continue;
    Piece *piece = &pieces[piece_of[v]];
    piece->n_verts++;
    for (int d = 0; d < 3; d++)
      piece->centre[d] += model->rest[3 * (size_t)v + (size_t)d];
  }
  for (int p = 0; p < n_pieces; p++)
    for (int d = 0; d < 3; d++)
      pieces[p].centre[d] /= pieces[p].n_verts;
  for (int pass = 0; pass < 2; pass++)
    for (int v = 0; v < model->n_verts; v++) {
      if (piece_of[v] < 0)
        continue;
      Piece *piece = &pieces[piece_of[v]];
      double scale = pass ? sqrt(piece->n_verts / piece->size2) : 1.0, r[3];
      for (int d = 0; d < 3; d++) {
        r[d] = (model->rest[3 * (size_t)v + (size_t)d] - piece->centre[d]) * scale;
        if (!pass)
          piece->size2 += r[d] * r[d];
      }
      for (int d = 0; pass && d < 3; d++) {
        double row[6];
        if (!fixed[3 * (size_t)v + (size_t)d])
          continue;
        piece->n_fixed++;
        mode_row(r, d, row);
        for (int i = 0; i < 6; i++)
          for (int j = 0; j < 6; j++)
            piece->gram[6 * i + j] += row[i] * row[j];
      }
    }

  PlaStatus st = PLA_OK;
  for (int p = 0; st == PLA_OK && p < n_pieces; p++) {
    double w[6], work[64];
    int n = 6, n_work = 64, info = 0;
    pla_blas_single_thread();
    LAPACK_dsyev("V", "U", &n, pieces[p].gram, &n, w, work, &n_work, &info);
    /* columns of the result are eigenvectors; the first belongs to the smallest value */
    if (pieces[p].n_fixed == 0 || w[0] <= 1e-10 * w[5])
      st = report_piece(&pieces[p], pieces[p].gram, n_pieces, err);
  }
  free(pieces);
  free(piece_of);
  return st;
}
