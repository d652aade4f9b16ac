/* What the two sides of the module for sound devices share. */
#pragma once

/* PortAudio's ALSA and JACK parts talk to the terminal while they look for devices; that is kept from
 * the user, who gets one sentence: standard error goes nowhere between these two. */
int pla_sound_hush(void);
void pla_sound_unhush(int kept);
