/* Weights of domains from elastostatics (Luo 2020, ch. 3): a seed is pushed, everything that bounds
 * its domain holds still, and the weight of a vertex is how far it follows.
 *
 * The principal direction is the one in which a unit push moves most.  With "principal" weights
 * what bounds the domain is held along that direction only, so the weight goes on beyond other
 * seeds with the opposite sign, as a bent beam does, where a full hold would lock. */
#pragma once

#include "anatomy/base/progress.h"
#include "anatomy/base/status.h"
#include "anatomy/mesh/mesh.h"
#include "sim/reduced/reduced-domains.h"

typedef enum {
  PLA_WEIGHT_PRINCIPAL = 0, /* held along the direction only */
  PLA_WEIGHT_HELD,          /* held in every direction */
  PLA_WEIGHT_HARMONIC,      /* Laplace's equation: knows nothing of stiffness */
} PlaWeightKind;

typedef struct {
  PlaWeightKind kind;
  const double *young;     /* stiffness of each tet, any unit (n_tets); NULL: the same everywhere */
  double poisson;          /* 0.3 */
  const double *direction; /* NULL: the principal one, else a unit vector */
  double support; /* principal weights leave the turning about the direction through the seed
                     free: this part of the stiffness holds it; 1e-6 */
} PlaWeightOptions;
PlaWeightOptions pla_weight_options_default(void);

/* What the weight of one domain is made from; all borrowed. */
typedef struct {
  const PlaTetMesh *mesh;
  const unsigned char *inside; /* 1: the tet is in the domain (n_tets) */
  int seed;                    /* vertex */
  const unsigned char *held; /* 1: a vertex where the weight is 0: anchors, other seeds; vertices on
                                tets outside the domain are so anyway (n_verts) */
} PlaWeightDomain;

/* @weight: 0 outside the domain (n_verts).  @direction: the one used; may be NULL.
 * PLA_ERR_GEOMETRY when the domain is not held or its seed is. */
PlaStatus pla_domain_weight(const PlaWeightDomain *domain, const PlaWeightOptions *options,
                            double *weight, double direction[3], PlaError *err);

/* Weights of all domains, each 0 at @fixed vertices (n_verts) and at the seeds of the others
 * (domains x n_verts). */
PlaStatus pla_domain_weights(const PlaTetMesh *mesh, const PlaDomains *domains,
                             const unsigned char *fixed, const PlaWeightOptions *options,
                             PlaProgress *progress, double *weight, PlaError *err);

/* A domain with the weight @added was put in at vertex @seed: @weight gives way, so that it is 0
 * there (w - w(seed) added) (n_verts). */
void pla_weight_give_way(double *weight, const double *added, int seed, int n_verts);

/* A push at one vertex leaves a spike in the weight.  This spreads all @n_domains weights
 * (n_domains x n_verts) over about @reach (m), keeps them 0 at @fixed vertices, and takes the
 * combinations of them that are again 1 at their own seed and 0 at the others.  PLA_ERR_GEOMETRY
 * when the reach blurs seeds together. */
PlaStatus pla_weights_smooth(const PlaTetMesh *mesh, const unsigned char *fixed, const int *seed,
                             int n_domains, double reach, double *weight, PlaError *err);

/* Displacements of the whole body where those of @fixed vertices are given: @n_fields fields at
 * once, linear elastic (n_fields x n_verts x 3, in at fixed vertices and out everywhere). */
PlaStatus pla_elastic_extend(const PlaTetMesh *mesh, const unsigned char *fixed, double poisson,
                             int n_fields, double *disp, PlaError *err);
