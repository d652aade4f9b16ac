/* Sound played from a thread, and the clock it keeps: what is heard now, in the time of the
 * recording.
 *
 * Without a device (or without sound) it runs silently by the computer's clock and says so. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

typedef struct PlaSoundPlayer PlaSoundPlayer;

typedef struct {
  const float *sample; /* one channel in -1..1, copied; NULL: silent */
  gsize n;
  double rate_hz;
  double from_s, to_s; /* what is played */
  double speed;        /* 1, or slower; pitch is kept */
  gboolean loop;
} PlaSoundPart;

/* Begins at @start_s, which lies in the part. */
PlaSoundPlayer *pla_sound_player_start(const PlaSoundPart *part, double start_s);
/* The moment that is heard; FALSE when the end was reached. */
gboolean pla_sound_player_get(PlaSoundPlayer *self, double *time_s);
/* Why there is no sound, or NULL; borrowed until the player stops. */
const char *pla_sound_player_get_silence(PlaSoundPlayer *self);
void pla_sound_player_stop(PlaSoundPlayer *self); /* NULL is fine */

G_END_DECLS
