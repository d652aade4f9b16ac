/* Speech made visible, step by step: a recording, the tongue that makes its sounds, looking and
 * listening, a second recording beside it, and what is kept of it all. */
#pragma once

#include "ui/document/document.h"

#include <adwaita.h>

G_BEGIN_DECLS

#define PLA_TYPE_SPEECH_PANEL (pla_speech_panel_get_type())
G_DECLARE_FINAL_TYPE(PlaSpeechPanel, pla_speech_panel, PLA, SPEECH_PANEL, AdwBin)

GtkWidget *pla_speech_panel_new(PlaDocument *document);
/* Size of the tongue's elements in mm, 0: the usual one.  Larger ones are faster and coarser. */
void pla_speech_panel_set_cell(PlaSpeechPanel *self, double cell_mm);
/* Without a dialog. */
void pla_speech_panel_save_table(PlaSpeechPanel *self, const char *path);
void pla_speech_panel_save_activations(PlaSpeechPanel *self, const char *path);
void pla_speech_panel_save_video(PlaSpeechPanel *self, const char *path);

G_END_DECLS
