/* Exact geometric predicates on double coordinates.
 *
 * The sign returned is that of the exact determinant, whatever the rounding: a floating-point
 * filter decides the easy cases, exact expansions the others.  The magnitude is not meant to be
 * used.  Coordinates must be finite, and no product of three may overflow or underflow.  Not
 * valid under -ffast-math. */
#pragma once

/* +1 when d is on the side of the plane a, b, c from which they are seen clockwise, that is
 * det [b - a, c - a, d - a] > 0 (a positive tet a, b, c, d); 0 when coplanar; -1 otherwise. */
int pla_orient3d(const double a[3], const double b[3], const double c[3], const double d[3]);

/* +1 when a, b, c turn left (counter-clockwise), 0 when collinear, -1 otherwise. */
int pla_orient2d(const double a[2], const double b[2], const double c[2]);
