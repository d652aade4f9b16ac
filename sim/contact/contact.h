/* Contact of a deforming body with rigid obstacles, between its pieces and with itself, and fascia
 * along which pieces slide.
 *
 * Points are spread over the surface: vertices, middles of edges and of triangles, with the weights
 * of a rule that integrates cubics.  Each point within @thickness of an obstacle is pushed off by a
 * pressure that grows with how far it is within, so surfaces stay apart while that pressure
 * suffices, and what is inside already is pushed out.  A contact is the pair of the point and the
 * nearest place of the obstacle; the gap is the height over its plane, gap = normal . (sum_j
 * weight_j x_j - anchor),   energy = k/2 max(0, thickness - gap)^2, or the distance from its edge
 * or vertex.  At the positions where contacts were found this has the energy and the force of the
 * true distance; solvers find them anew as they go. */
#pragma once

#include "sim/contact/collider.h"
#include "sim/fem/colouring.h"
#include "sim/fem/model.h"

typedef struct {
  double thickness; /* m; 0: a thousandth of the body's extent */
  double stiffness; /* pressure for each metre within the thickness, Pa/m; 0: twice the stiffness of
                       the material below, over the thickness */
  double friction;  /* Coulomb's coefficient between pieces */
  double slip;      /* sliding, m, up to which friction grows; 0: a tenth of the thickness */
  bool pieces;      /* pieces of the body meet each other */
  bool self;        /* a piece meets itself */
  double link_radius; /* fascia: points this close to another piece at rest keep their height over
                         it and are free to slide (Sifakis 2007), m; 0: none */
  double link_stiffness; /* Pa/m; 0: the stiffness of the material below over the radius */
  bool settled; /* what is inside a collider at rest belongs there, and is only kept from going
                   deeper */
  const unsigned char *among; /* 1: vertices whose points are looked at; NULL: all.  Read when the
                                 set is made (n_verts) */
} PlaContactOptions;
PlaContactOptions pla_contact_options_default(void); /* pieces and self; no friction, no links */

enum { PLA_CONTACT_VERTS = 6 };

typedef struct {
  int n_verts;
  int vert[PLA_CONTACT_VERTS];      /* the point's, then the obstacle's if that deforms */
  double weight[PLA_CONTACT_VERTS]; /* positive, then negative */
  int n_own;                        /* vertices of the point */
  double normal[3];                 /* unit, out of the obstacle */
  double anchor[3];                 /* nearest place of a rigid obstacle, m; 0 for others */
  double thickness, stiffness;      /* m; N/m */
  double gap;                       /* m, where it was found */
  bool round;                       /* an edge or a vertex: the normal turns as the point goes by */
  double along[3];                  /* unit direction of an edge, 0 for others */
  double reach;                     /* 0: contact; else a link that fades at this length, m */
  int point;
  int obstacle; /* collider, or n_colliders + piece */
} PlaContact;

/* Energy, J, push along the normal, N, and a non-negative stiffness, N/m, at a gap; the latter two
 * may be NULL. */
double pla_contact_law(const PlaContact *contact, double gap, double *push, double *stiffness);
/* The gap at positions with @stride numbers a vertex, and the unit direction in which it grows.
 * With
 * @place >= 0, as if that vertex of the contact stood @dx further. */
double pla_contact_gap(const PlaContact *contact, const double *pos, int stride, int place,
                       const double dx[3], double normal[3]);

/* Friction of one contact over a step: energy limit f0(|u|) of the sliding u, f0 the integral of
 * min(1, 2 y - y^2), y = |u| / slip.  Coulomb's law beyond @slip; below it a steep but finite
 * slope, so what should stick creeps by up to @slip a step. */
typedef struct {
  int n_verts;
  int vert[PLA_CONTACT_VERTS];
  double weight[PLA_CONTACT_VERTS];
  double normal[3];
  double origin[3]; /* sum of weight x at the start of the step, m */
  double limit;     /* friction coefficient times the push, N */
  double slip;      /* m */
} PlaFriction;

/* Energy, force on a point of weight 1, and 3x3 stiffness, positive semidefinite. */
double pla_friction_law(const PlaFriction *friction, const double *pos, int stride, double force[3],
                        double stiffness[9]);

/* The surface of a model, obstacles, and the contacts of the newest positions. */
typedef struct PlaContactSet PlaContactSet;

/* @model and @colliders are borrowed; colliders may be moved by their owner between solves.
 * @friction: per collider, or NULL. */
PlaStatus pla_contact_set_new(const PlaFemModel *model, PlaCollider *const *colliders,
                              const double *friction, int n_colliders,
                              const PlaContactOptions *options, PlaContactSet **out, PlaError *err);
void pla_contact_set_free(PlaContactSet *self);              /* NULL is fine */
double pla_contact_set_thickness(const PlaContactSet *self); /* m */
double pla_contact_set_spacing(const PlaContactSet *self);   /* mean edge of the surface, m */

/* 1 for vertices of the surface, 0 for others (n_verts). */
void pla_contact_set_mark_surface(const PlaContactSet *self, unsigned char *on_surface);

/* Finds all contacts of points nearer than their thickness plus @margin at @pos (n_verts x 3).  The
 * same for any number of threads. */
PlaStatus pla_contact_set_update(PlaContactSet *self, const double *pos, double margin,
                                 PlaError *err);
int pla_contact_set_get(const PlaContactSet *self, const PlaContact **contacts);

/* Largest t in 0..1 so that on the way from @pos to @pos + t (@end - @pos) no point enters an
 * obstacle by more than the thickness or passes through a triangle of the body. */
double pla_contact_set_limit(PlaContactSet *self, const double *pos, const double *end);

/* Begins a step at @pos: sliding counts from here, links hold on to what is nearest now, and
 * obstacles stand where they will at its end.  @before: their poses at its start (12 numbers a
 * collider, rotation and shift; NULL: not moved).  A new set is at the beginning of a step at rest.
 */
PlaStatus pla_contact_set_begin_step(PlaContactSet *self, const double *pos, const double *before,
                                     PlaError *err);
/* Takes the pushes and normals of the newest update for the limits of friction, which stay as they
 * are until the next call, so that a solver has an energy to descend in between. */
PlaStatus pla_contact_set_hold(PlaContactSet *self, PlaError *err);
int pla_contact_set_get_friction(const PlaContactSet *self, const PlaFriction **friction);

/* Of contacts and friction, at positions near those of the update. */
double pla_contact_set_energy(const PlaContactSet *self, const double *pos);
void pla_contact_set_add_forces(const PlaContactSet *self, const double *pos, double *force);

typedef struct {
  int contacts;           /* that push */
  double max_penetration; /* m, how deep the deepest point is inside anything; 0 if none is */
  double min_gap;         /* m; INFINITY without contacts */
  double normal_force;    /* sum of all pushes, N */
  double deepest[3];      /* where, m */
} PlaContactReport;
void pla_contact_set_report(const PlaContactSet *self, const double *pos, PlaContactReport *out);
/* Pressure on the vertices of the surface, Pa, 0 elsewhere (n_verts): the pushes of all contacts on
 * a vertex over its area as they see it, a third of that of the triangles around it at @pos.
 * Friction and links do not count. */
PlaStatus pla_contact_set_pressure(const PlaContactSet *self, const double *pos, double *pressure,
                                   PlaError *err);
/* Total force of collider @c on the body, N. */
void pla_contact_set_collider_force(const PlaContactSet *self, int c, const double *pos,
                                    double force[3]);
