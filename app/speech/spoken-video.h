/* A motion as moving pictures: a GIF, a folder of numbered PNGs, or a video where ffmpeg or
 * GStreamer is installed. */
#pragma once

#include "app/speech/spoken-picture.h"

typedef struct {
  const PlaSpoken *spoken;
  const PlaSpoken *other; /* or NULL; with @pair */
  const PlaSpokenPair *pair;
  const PlaAudio *audio; /* goes into videos; or NULL */
  double from_s, to_s;
  double speed;   /* 1, or slower; sound is left out then */
  double rate_hz; /* pictures a second; 25 */
  int width, height;
  bool dark;
} PlaSpokenVideo;

/* The ending chooses: .gif, .webm, .mp4; anything else is a folder of pictures.  A .webm or .mp4
 * without a program to make it is PLA_ERR_UNSUPPORTED with a sentence that says what can be done.
 */
PlaStatus pla_spoken_write_video(const PlaSpokenVideo *video, const char *path,
                                 PlaProgress *progress, PlaError *err);
