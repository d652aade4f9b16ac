/* What is seen of speech: beside the 3-D view the tongue in section, the palate it touches and the
 * airway; below both the sound (ui/speech/speech-sound.h) and what plays it. */
#pragma once

#include "ui/document/document.h"

#include <gtk/gtk.h>

G_BEGIN_DECLS

GtkWidget *pla_speech_look_new(PlaDocument *document);
GtkWidget *pla_speech_strip_new(PlaDocument *document);

G_END_DECLS
