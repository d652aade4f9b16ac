/* The table of workspaces: id, title, icon, layout of the views, constructor of the panel. */
#include "ui/main/workspace.h"

#include "ui/panels/anatomy-panel.h"
#include "ui/panels/history-panel.h"
#include "ui/panels/import-panel.h"
#include "ui/panels/mesh-panel.h"
#include "ui/panels/muscles-panel.h"
#include "ui/panels/report-panel.h"
#include "ui/panels/simulate-panel.h"
#include "ui/panels/speech-panel.h"
#include "ui/surgery/surgery-panel.h"

#include <glib/gi18n.h>

static const PlaWorkspace workspaces[] = {
  { "import", N_("Import"), "document-open-symbolic", "four", pla_import_panel_new },
  { "anatomy", N_("Anatomy"), "avatar-default-symbolic", "four", pla_anatomy_panel_new },
  { "mesh", N_("Mesh"), "view-app-grid-symbolic", "large", pla_mesh_panel_new },
  { "simulate", N_("Simulate"), "media-playback-start-symbolic", "large", pla_simulate_panel_new },
  { "surgery", N_("Surgery"), "edit-cut-symbolic", "scene", pla_surgery_panel_new },
  { "muscles", N_("Muscles"), "face-smile-symbolic", "scene", pla_muscles_panel_new },
  { "speech", N_("Speech"), "audio-input-microphone-symbolic", "speech", pla_speech_panel_new },
  { "history", N_("History"), "document-open-recent-symbolic", "large", pla_history_panel_new },
  { "report", N_("Report"), "x-office-document-symbolic", "four", pla_report_panel_new },
};

const PlaWorkspace *
pla_workspaces_get(int *n)
{
  *n = G_N_ELEMENTS(workspaces);
  return workspaces;
}

const PlaWorkspace *
pla_workspace_find(const char *id)
{
  for (size_t i = 0; i < G_N_ELEMENTS(workspaces); i++)
    if (g_strcmp0(workspaces[i].id, id) == 0)
      return &workspaces[i];
  return NULL;
}
