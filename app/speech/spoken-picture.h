/* What is shown of a speaking tongue: in the window, in reports and in exported pictures.
 *
 * Each function fills width x height user units.  The front is to the left, as coils are usually
 * drawn; palates are seen from below, the front above, as in electropalatography. */
#pragma once

#include "app/speech/spoken.h"

#include <cairo.h>

typedef struct {
  bool dark;
  bool rest;              /* the tongue at rest as a dashed line */
  const PlaSpoken *other; /* drawn over it in a second colour, or NULL */
  int other_frame;
  const char *name, *other_name; /* written above, each in its colour; NULL: not */
  bool second;                   /* in the second colour itself */
} PlaSpokenLook;

/* Bones of a motion, drawn once; NULL is fine everywhere and then they are drawn anew. */
typedef struct PlaSpokenBones PlaSpokenBones;
PlaSpokenBones *pla_spoken_bones_new(const PlaSpoken *self, bool dark);
void pla_spoken_bones_free(PlaSpokenBones *bones); /* NULL is fine */

/* Palate, teeth and jaw in section, the tongue's outline, coils, lips, places of contact. */
void pla_spoken_draw_sagittal(const PlaSpoken *self, int frame, const PlaSpokenBones *bones,
                              const PlaSpokenLook *look, cairo_t *cr, double width, double height);
/* The palate: filled where the tongue touches, fainter where it is near. */
void pla_spoken_draw_contacts(const PlaSpoken *self, int frame, const PlaSpokenLook *look,
                              cairo_t *cr, double width, double height);
/* Areas from the glottis to the lips, and formants of that tube beside those in the sound. */
void pla_spoken_draw_areas(const PlaSpoken *self, int frame, const PlaSpokenLook *look, cairo_t *cr,
                           double width, double height);
/* Heights of the coils over time, from @from_s to @to_s; those of @other (NULL is fine) dashed, at
 * the moments that @pair gives them and brought to the same mean. */
void pla_spoken_draw_traces(const PlaSpoken *self, const PlaSpoken *other,
                            const PlaSpokenPair *pair, double from_s, double to_s, bool dark,
                            cairo_t *cr, double width, double height);
/* Everything of one moment, for exported pictures and videos. */
void pla_spoken_draw_frame(const PlaSpoken *self, int frame, const PlaSpokenBones *bones,
                           const PlaSpokenLook *look, cairo_t *cr, double width, double height);

/* A spectrogram as an image, one pixel a column and band; cairo_surface_destroy(). */
cairo_surface_t *pla_spectrogram_image(const PlaSpectrogram *spectrogram, bool dark);

/* The part of the palate that is touched (less than 0.8 mm away), 0..1, in its front third (behind
 * the teeth), in the middle and at the back. */
void pla_spoken_contact_parts(const PlaSpoken *self, int frame, double part[3]);
