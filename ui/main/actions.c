/* The table of actions, and what is generated from it: accelerators, menus, the shortcuts
 * window. */
#include "ui/main/actions.h"

#include "app/show/render.h"
#include "ui/document/document.h"
#include "ui/main/workspace.h"

#include <glib/gi18n.h>
#include <string.h>

#define APPEARANCE N_("_Appearance")
#define GREY N_("_Grey Window")
#define MEASURE N_("_Measure")
#define LOOK N_("_Look From")
#define SCAN N_("Sho_w")
#define CUT N_("_Cut Away at the Crosshair")

/* titles are untranslated here */
static const PlaActionInfo rows[] = {
  { "win.new-case", N_("_New Case…"), "<Control>n", PLA_GROUP_CASE, PLA_MENU_MAIN, 0 },
  { "win.open", N_("_Open…"), "<Control>o", PLA_GROUP_CASE, PLA_MENU_MAIN, 0 },
  { "win.open-folder", N_("Open a DICOM _Folder…"), "<Control><Shift>o", PLA_GROUP_CASE,
    PLA_MENU_MAIN, 0 },
  { "win.open-demo", N_("Open the _Demo Head"), NULL, PLA_GROUP_CASE, PLA_MENU_MAIN, 0 },
  { "win.save-as", N_("Save Case _As…"), "<Control>s", PLA_GROUP_CASE, PLA_MENU_MAIN, 0 },
  { "win.close-case", N_("_Close Case"), "<Control>w", PLA_GROUP_CASE, PLA_MENU_MAIN, 0 },
  { "win.save-picture", N_("_Save 3-D Picture…"), "<Control><Shift>s", PLA_GROUP_CASE,
    PLA_MENU_MAIN, 1 },
  { "win.export", N_("_Export…"), "<Control>e", PLA_GROUP_CASE, PLA_MENU_MAIN, 1 },
  { "win.play", N_("Play or Pause"), NULL, PLA_GROUP_VIEWS },
  { "win.plots", N_("_Plots"), "<Control>p", PLA_GROUP_CASE, PLA_MENU_MAIN, 1 },
  { "win.compare-plans", N_("_Compare Plans"), NULL, PLA_GROUP_CASE, PLA_MENU_MAIN, 1 },
  { "win.forget-recent", N_("Forget Recent Files"), NULL, PLA_GROUP_CASE },
  { "win.dismiss", N_("Close the Message"), NULL, PLA_GROUP_PROGRAM },
  { "win.undo", N_("_Undo"), "<Control>z", PLA_GROUP_EDIT },
  { "win.redo", N_("_Redo"), "<Control><Shift>z", PLA_GROUP_EDIT },

  { "win.measure::distance", N_("_Distance"), "<Control>d", PLA_GROUP_MEASURE, PLA_MENU_MAIN, 1,
    MEASURE },
  { "win.measure::angle", N_("_Angle"), NULL, PLA_GROUP_MEASURE, PLA_MENU_MAIN, 1, MEASURE },
  { "win.measure::path", N_("_Path"), NULL, PLA_GROUP_MEASURE, PLA_MENU_MAIN, 1, MEASURE },
  { "win.measure::volume", N_("_Volume"), NULL, PLA_GROUP_MEASURE, PLA_MENU_MAIN, 1, MEASURE },
  { "win.measure::landmark", N_("_Landmark"), "<Control>m", PLA_GROUP_MEASURE, PLA_MENU_MAIN, 1,
    MEASURE },
  { "win.measure::note", N_("_Note"), NULL, PLA_GROUP_MEASURE, PLA_MENU_MAIN, 1, MEASURE },

  { "win.layout::four", N_("_Four Views"), "<Control>1", PLA_GROUP_VIEWS, PLA_MENU_VIEW, 0 },
  { "win.layout::large", N_("3-_D and Slices"), "<Control>6", PLA_GROUP_VIEWS, PLA_MENU_VIEW, 0 },
  { "win.layout::axial", N_("_Axial"), "<Control>2", PLA_GROUP_VIEWS, PLA_MENU_VIEW, 0 },
  { "win.layout::coronal", N_("_Coronal"), "<Control>3", PLA_GROUP_VIEWS, PLA_MENU_VIEW, 0 },
  { "win.layout::sagittal", N_("_Sagittal"), "<Control>4", PLA_GROUP_VIEWS, PLA_MENU_VIEW, 0 },
  { "win.layout::scene", N_("_3-D"), "<Control>5", PLA_GROUP_VIEWS, PLA_MENU_VIEW, 0 },
  { "win.layout::speech", N_("3-D and So_und"), "<Control>7", PLA_GROUP_VIEWS, PLA_MENU_VIEW, 0 },
  { "win.convention::radiological", N_("_Radiological (Right on the Left)"), NULL, PLA_GROUP_SLICES,
    PLA_MENU_VIEW, 1 },
  { "win.convention::neurological", N_("_Neurological (Left on the Left)"), NULL, PLA_GROUP_SLICES,
    PLA_MENU_VIEW, 1 },
  { "win.smooth", N_("S_mooth Pixels"), NULL, PLA_GROUP_SLICES, PLA_MENU_VIEW, 1 },
  { "win.slices-in-space", N_("Slices in S_pace"), "<Control>l", PLA_GROUP_SCENE, PLA_MENU_VIEW,
    2 },
  { "win.volume::none", N_("_Shapes"), NULL, PLA_GROUP_SCENE, PLA_MENU_VIEW, 2, SCAN },
  { "win.volume::skin", N_("Scan: S_kin"), NULL, PLA_GROUP_SCENE, PLA_MENU_VIEW, 2, SCAN },
  { "win.volume::bone", N_("Scan: _Bone"), NULL, PLA_GROUP_SCENE, PLA_MENU_VIEW, 2, SCAN },
  { "win.volume::both", N_("Scan: Skin _over Bone"), NULL, PLA_GROUP_SCENE, PLA_MENU_VIEW, 2,
    SCAN },
  { "win.cut-away::none", N_("_Nothing"), NULL, PLA_GROUP_SCENE, PLA_MENU_VIEW, 2, CUT },
  { "win.cut-away::left", N_("The _Left"), NULL, PLA_GROUP_SCENE, PLA_MENU_VIEW, 2, CUT },
  { "win.cut-away::right", N_("The _Right"), NULL, PLA_GROUP_SCENE, PLA_MENU_VIEW, 2, CUT },
  { "win.cut-away::front", N_("The _Front"), NULL, PLA_GROUP_SCENE, PLA_MENU_VIEW, 2, CUT },
  { "win.cut-away::back", N_("The _Back"), NULL, PLA_GROUP_SCENE, PLA_MENU_VIEW, 2, CUT },
  { "win.cut-away::above", N_("_Above"), NULL, PLA_GROUP_SCENE, PLA_MENU_VIEW, 2, CUT },
  { "win.cut-away::below", N_("Bel_ow"), NULL, PLA_GROUP_SCENE, PLA_MENU_VIEW, 2, CUT },
  { "win.fit", N_("F_it All Views"), "<Control>0", PLA_GROUP_VIEWS, PLA_MENU_VIEW, 2 },

  { "app.style::dark", N_("_Dark"), NULL, PLA_GROUP_PROGRAM, PLA_MENU_MAIN, 2, APPEARANCE },
  { "app.style::light", N_("_Light"), NULL, PLA_GROUP_PROGRAM, PLA_MENU_MAIN, 2, APPEARANCE },
  { "app.style::system", N_("As the _System"), NULL, PLA_GROUP_PROGRAM, PLA_MENU_MAIN, 2,
    APPEARANCE },
  { "win.show-tree", N_("Case _List"), "F9", PLA_GROUP_VIEWS, PLA_MENU_MAIN, 2 },
  { "win.show-panel", N_("_Workspace Panel"), "<Control>F9", PLA_GROUP_VIEWS, PLA_MENU_MAIN, 2 },
  { "win.palette", N_("Fin_d an Action…"), "<Control>k", PLA_GROUP_PROGRAM, PLA_MENU_MAIN, 3 },
  { "app.preferences", N_("_Preferences"), "<Control>comma", PLA_GROUP_PROGRAM, PLA_MENU_MAIN, 3 },
  { "win.help", N_("_User Guide"), "F1", PLA_GROUP_PROGRAM, PLA_MENU_MAIN, 3 },
  { "win.tutorials", N_("_Tutorials"), NULL, PLA_GROUP_PROGRAM, PLA_MENU_MAIN, 3 },
  { "win.show-help-overlay", N_("_Keyboard Shortcuts"), "<Control>question", PLA_GROUP_PROGRAM,
    PLA_MENU_MAIN, 3 },
  { "app.about", N_("_About Platysma"), NULL, PLA_GROUP_PROGRAM, PLA_MENU_MAIN, 3 },
  { "app.quit", N_("_Quit"), "<Control>q", PLA_GROUP_PROGRAM },

  { "anatomy.segment", N_("Find Tissues"), NULL, PLA_GROUP_TOOLS },
  { "report.save-pdf", N_("Save the Report as PDF…"), NULL, PLA_GROUP_TOOLS },
  { "report.save-html", N_("Save the Report as HTML…"), NULL, PLA_GROUP_TOOLS },
  { "report.enlarge", N_("Show All Pages of the Report"), NULL, PLA_GROUP_TOOLS },
  { "anatomy.threshold", N_("Make One Tissue by Its Values"), NULL, PLA_GROUP_TOOLS },
  { "anatomy.surface", N_("Make Surface"), NULL, PLA_GROUP_TOOLS },
  { "mesh.make", N_("Make Mesh"), NULL, PLA_GROUP_TOOLS },
  { "simulate.solve", N_("Solve"), "<Control>Return", PLA_GROUP_TOOLS },
  { "surgery.prepare", N_("Prepare the Body for Surgery"), NULL, PLA_GROUP_TOOLS },
  { "surgery.tool::none", N_("Put Instruments Down"), NULL, PLA_GROUP_TOOLS },
  { "surgery.tool::incise", N_("Incise"), NULL, PLA_GROUP_TOOLS },
  { "surgery.tool::excise", N_("Excise"), NULL, PLA_GROUP_TOOLS },
  { "surgery.tool::undermine", N_("Undermine"), NULL, PLA_GROUP_TOOLS },
  { "surgery.tool::hook", N_("Hook"), NULL, PLA_GROUP_TOOLS },
  { "surgery.tool::suture", N_("Suture"), NULL, PLA_GROUP_TOOLS },
  { "surgery.tool::template", N_("Lay a Flap Template"), NULL, PLA_GROUP_TOOLS },
  { "surgery.tool::cut", N_("Cut Through the Body or a Bone"), NULL, PLA_GROUP_TOOLS },
  { "surgery.tool::implant", N_("Implant"), NULL, PLA_GROUP_TOOLS },
  { "surgery.tool::expand", N_("Expander"), NULL, PLA_GROUP_TOOLS },
  { "surgery.tool::tension", N_("Skin Tension Lines"), NULL, PLA_GROUP_TOOLS },
  { "surgery.add-point", N_("Add a Point at the Crosshair"), "<Control>period", PLA_GROUP_TOOLS },
  { "surgery.remove-point", N_("Remove the Last Point"), "<Control>BackSpace", PLA_GROUP_TOOLS },
  { "surgery.clear", N_("Remove All Points"), NULL, PLA_GROUP_TOOLS },
  { "surgery.apply", N_("Carry Out the Step"), "<Control><Shift>Return", PLA_GROUP_TOOLS },
  { "surgery.release", N_("Release All Hooks"), NULL, PLA_GROUP_TOOLS },
  { "surgery.solve", N_("Let the Tissue Settle"), NULL, PLA_GROUP_TOOLS },
  { "surgery.export-plan", N_("Export the Surgical Plan"), NULL, PLA_GROUP_TOOLS },
  { "muscles.step::model", N_("Muscles: Model"), NULL, PLA_GROUP_TOOLS },
  { "muscles.step::move", N_("Muscles: Move by Hand"), NULL, PLA_GROUP_TOOLS },
  { "muscles.step::take", N_("Muscles: Recording"), NULL, PLA_GROUP_TOOLS },
  { "muscles.step::fit", N_("Muscles: Fit"), NULL, PLA_GROUP_TOOLS },
  { "muscles.step::play", N_("Muscles: Play"), NULL, PLA_GROUP_TOOLS },
  { "muscles.step::speak", N_("Muscles: Speak"), NULL, PLA_GROUP_TOOLS },
  { "muscles.step::export", N_("Muscles: Export"), NULL, PLA_GROUP_TOOLS },
  { "muscles.previous", N_("Previous Step of Muscles"), NULL, PLA_GROUP_TOOLS },
  { "muscles.next", N_("Next Step of Muscles"), NULL, PLA_GROUP_TOOLS },
  { "muscles.build", N_("Build a Body with Muscles"), NULL, PLA_GROUP_TOOLS },
  { "muscles.relax", N_("Relax All Muscles"), NULL, PLA_GROUP_TOOLS },
  { "muscles.express::smile", N_("Smile"), NULL, PLA_GROUP_TOOLS },
  { "muscles.express::frown", N_("Frown"), NULL, PLA_GROUP_TOOLS },
  { "muscles.express::surprise", N_("Show Surprise"), NULL, PLA_GROUP_TOOLS },
  { "muscles.express::pucker", N_("Pucker the Lips"), NULL, PLA_GROUP_TOOLS },
  { "muscles.express::open", N_("Open the Jaw"), NULL, PLA_GROUP_TOOLS },
  { "muscles.keep", N_("Keep the Pose"), NULL, PLA_GROUP_TOOLS },
  { "muscles.record", N_("Make Up a Recording"), NULL, PLA_GROUP_TOOLS },
  { "muscles.fit", N_("Fit Muscles to the Recording"), NULL, PLA_GROUP_TOOLS },
  { "muscles.animate", N_("Compute the Shapes of a Track"), NULL, PLA_GROUP_TOOLS },
  { "muscles.find-phonemes", N_("Find the Phonemes of a Text"), NULL, PLA_GROUP_TOOLS },
  { "muscles.read-phonemes", N_("Read Phonemes from a File…"), NULL, PLA_GROUP_TOOLS },
  { "muscles.say", N_("Say the Line"), NULL, PLA_GROUP_TOOLS },
  { "muscles.cancel", N_("Cancel the Work on Muscles"), NULL, PLA_GROUP_TOOLS },
  { "muscles.export-track", N_("Save Activations as a Table…"), NULL, PLA_GROUP_TOOLS },
  { "muscles.export-residuals", N_("Save Residuals as a Table…"), NULL, PLA_GROUP_TOOLS },
  { "simulate.clear", N_("Remove Hooks and Places"), NULL, PLA_GROUP_TOOLS },
  { "speech.record", N_("Record Speech, or Stop"), "<Control><Shift>r", PLA_GROUP_TOOLS },
  { "speech.open", N_("Open a Recording…"), NULL, PLA_GROUP_TOOLS },
  { "speech.say", N_("Say the Text"), NULL, PLA_GROUP_TOOLS },
  { "speech.move", N_("Make the Tongue Move"), NULL, PLA_GROUP_TOOLS },
  { "speech.play", N_("Play or Pause Speech"), "<Control>space", PLA_GROUP_TOOLS },
  { "speech.loop", N_("Play Again and Again"), NULL, PLA_GROUP_TOOLS },
  { "speech.pace::spoken", N_("Play as Spoken"), NULL, PLA_GROUP_TOOLS },
  { "speech.pace::half", N_("Play Half as Fast"), NULL, PLA_GROUP_TOOLS },
  { "speech.pace::quarter", N_("Play a Quarter as Fast"), NULL, PLA_GROUP_TOOLS },
  { "speech.cut", N_("Look at the Middle of the Head"), NULL, PLA_GROUP_TOOLS },
  { "speech.beside", N_("Two Recordings Side by Side"), NULL, PLA_GROUP_TOOLS },
  { "speech.muscles", N_("Show What the Tongue’s Muscles Do"), NULL, PLA_GROUP_TOOLS },
  { "speech.activations", N_("Save What the Muscles Do…"), NULL, PLA_GROUP_TOOLS },
  { "speech.table", N_("Save the Numbers of a Motion…"), NULL, PLA_GROUP_TOOLS },
  { "speech.video", N_("Save a Motion as Video…"), NULL, PLA_GROUP_TOOLS },
};

static const char *const look_titles[PLA_N_VIEWS] = {
  [PLA_VIEW_ANTERIOR] = N_("The _Front"),
  [PLA_VIEW_POSTERIOR] = N_("_Behind"),
  [PLA_VIEW_LEFT] = N_("The _Left"),
  [PLA_VIEW_RIGHT] = N_("The _Right"),
  [PLA_VIEW_SUPERIOR] = N_("_Above"),
  [PLA_VIEW_INFERIOR] = N_("Bel_ow"),
  [PLA_VIEW_THREE_QUARTER] = N_("_Three-Quarter"),
};

/* keys that a view handles itself while it has the focus */
static const struct {
  const char *heading, *title, *accels;
} view_keys[] = {
  { N_("In a slice"), N_("Next and previous slice"), "Up Down" },
  { NULL, N_("Ten slices"), "Page_Up Page_Down" },
  { NULL, N_("Zoom in, zoom out, fit"), "plus minus 0" },
  { N_("In 3-D"), N_("Turn"), "Left Right Up Down" },
  { NULL, N_("Closer, further, fit"), "plus minus 0" },
};

const char *
pla_action_group_title(PlaActionGroupId group)
{
  static const char *const titles[PLA_N_GROUPS] = {
    [PLA_GROUP_CASE] = N_("Case"),
    [PLA_GROUP_EDIT] = N_("History"),
    [PLA_GROUP_WORKSPACES] = N_("Workspaces"),
    [PLA_GROUP_VIEWS] = N_("Views"),
    [PLA_GROUP_SLICES] = N_("Slices"),
    [PLA_GROUP_SCENE] = N_("3-D"),
    [PLA_GROUP_MEASURE] = N_("Measure"),
    [PLA_GROUP_TOOLS] = N_("Work"),
    [PLA_GROUP_PROGRAM] = N_("Program"),
  };
  return _(titles[group]);
}

/* ------------------------------------------------------------------ the table */

static GArray *
make_table(void)
{
  GArray *table = g_array_new(FALSE, FALSE, sizeof(PlaActionInfo));
  for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
    PlaActionInfo row = rows[i];
    row.title = _(row.title);
    row.submenu = row.submenu ? _(row.submenu) : NULL;
    g_array_append_val(table, row);
  }
  /* what registries of their own know: workspaces, sides to look from, grey windows */
  int n;
  const PlaWorkspace *workspaces = pla_workspaces_get(&n);
  for (int i = 0; i < n; i++) {
    PlaActionInfo row = { .title = _(workspaces[i].title), .group = PLA_GROUP_WORKSPACES };
    row.action = g_strconcat("win.workspace::", workspaces[i].id, NULL);
    row.accel = i < 9 ? g_strdup_printf("<Alt>%d", i + 1) : NULL;
    g_array_append_val(table, row);
  }
  for (int v = 0; v < PLA_N_VIEWS; v++) {
    PlaActionInfo row = { .title = _(look_titles[v]),
                          .group = PLA_GROUP_SCENE,
                          .menu = PLA_MENU_VIEW,
                          .section = 2,
                          .submenu = _(LOOK) };
    row.action = g_strconcat("win.look::", pla_view_preset_name((PlaViewPreset)v), NULL);
    g_array_append_val(table, row);
  }
  const PlaWindowPreset *presets = pla_window_presets_get(&n);
  for (int i = 0; i < n; i++) {
    PlaActionInfo row = { .title = _(presets[i].title),
                          .group = PLA_GROUP_SLICES,
                          .menu = PLA_MENU_VIEW,
                          .section = 1,
                          .submenu = _(GREY) };
    row.action = g_strconcat("win.grey-window::", presets[i].id, NULL);
    g_array_append_val(table, row);
  }
  return table;
}

const PlaActionInfo *
pla_actions_get(int *n)
{
  static GArray *table; /* made once, kept */
  if (!table)
    table = make_table();
  *n = (int)table->len;
  return (const PlaActionInfo *)(gpointer)table->data;
}

/* "_Open…" as "Open"; behind a submenu as "Look From: The Front" */
char *
pla_action_dup_plain_title(const PlaActionInfo *info)
{
  g_autofree char *whole =
      info->submenu ? g_strdup_printf("%s: %s", info->submenu, info->title) : g_strdup(info->title);
  GString *text = g_string_new(NULL);
  for (const char *c = whole; *c; c = g_utf8_next_char(c))
    if (*c != '_' && !g_str_has_prefix(c, "…"))
      g_string_append_unichar(text, g_utf8_get_char(c));
  return g_string_free(text, FALSE);
}

const PlaWorkspace *
pla_action_get_workspace(const char *action)
{
  g_autofree char *prefix = g_strndup(action, strcspn(action, "."));
  return pla_workspace_find(prefix);
}

void
pla_actions_set_accels(GtkApplication *application)
{
  int n;
  const PlaActionInfo *table = pla_actions_get(&n);
  for (int i = 0; i < n; i++)
    if (table[i].accel && !pla_action_get_workspace(table[i].action))
      gtk_application_set_accels_for_action(application, table[i].action,
                                            (const char *[]){ table[i].accel, NULL });
}

/* ---------------------------------------------------------------------- menus */

static const char *const view_sections[] = { N_("Views"), N_("Slices"), N_("3-D") };

static GMenu *
submenu_of(GMenu *section, GHashTable *known, const char *title)
{
  GMenu *menu = g_hash_table_lookup(known, title);
  if (!menu) {
    menu = g_menu_new();
    g_menu_append_submenu(section, title, G_MENU_MODEL(menu));
    g_hash_table_insert(known, g_strdup(title), menu);
  }
  return menu;
}

GMenuModel *
pla_actions_menu_new(PlaMenuId id)
{
  int n;
  const PlaActionInfo *table = pla_actions_get(&n);
  g_autoptr(GMenu) menu = g_menu_new();
  g_autoptr(GHashTable) submenus =
      g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_object_unref);
  int last = -1;
  for (int i = 0; i < n; i++)
    last = table[i].menu == id ? MAX(last, table[i].section) : last;
  for (int s = 0; s <= last; s++) {
    g_autoptr(GMenu) section = g_menu_new();
    for (int i = 0; i < n; i++) {
      if (table[i].menu != id || table[i].section != s)
        continue;
      GMenu *into = table[i].submenu ? submenu_of(section, submenus, table[i].submenu) : section;
      g_menu_append(into, table[i].title, table[i].action);
    }
    g_menu_append_section(menu, id == PLA_MENU_VIEW ? _(view_sections[s]) : NULL,
                          G_MENU_MODEL(section));
  }
  return G_MENU_MODEL(g_steal_pointer(&menu));
}

/* ----------------------------------------------------------- shortcuts window */

static AdwPreferencesGroup *
add_group(AdwPreferencesPage *page, const char *title)
{
  GtkWidget *group = adw_preferences_group_new();
  adw_preferences_group_set_title(ADW_PREFERENCES_GROUP(group), title);
  adw_preferences_page_add(page, ADW_PREFERENCES_GROUP(group));
  return ADW_PREFERENCES_GROUP(group);
}

GtkWidget *
pla_keycap_new(const char *accel)
{
  guint key;
  GdkModifierType mods;
  gtk_accelerator_parse(accel, &key, &mods);
  g_autofree char *text = gtk_accelerator_get_label(key, mods);
  GtkWidget *label = gtk_label_new(text);
  gtk_widget_add_css_class(label, "caption");
  gtk_widget_add_css_class(label, "keycaps");
  gtk_widget_set_valign(label, GTK_ALIGN_CENTER);
  return label;
}

/* @accels: one or more, separated by blanks */
static void
add_shortcut(AdwPreferencesGroup *group, const char *title, const char *accels)
{
  GtkWidget *row = adw_action_row_new();
  adw_preferences_row_set_use_markup(ADW_PREFERENCES_ROW(row), FALSE);
  adw_preferences_row_set_title(ADW_PREFERENCES_ROW(row), title);
  g_auto(GStrv) each = g_strsplit(accels, " ", -1);
  for (int i = 0; each[i]; i++)
    adw_action_row_add_suffix(ADW_ACTION_ROW(row), pla_keycap_new(each[i]));
  adw_preferences_group_add(group, row);
}

GtkWidget *
pla_shortcuts_window_new(GtkWindow *parent)
{
  int n;
  const PlaActionInfo *table = pla_actions_get(&n);
  AdwPreferencesPage *page = ADW_PREFERENCES_PAGE(adw_preferences_page_new());
  for (int g = 0; g < PLA_N_GROUPS; g++) {
    AdwPreferencesGroup *group = NULL;
    for (int i = 0; i < n; i++) {
      if ((int)table[i].group != g || !table[i].accel)
        continue;
      g_autofree char *title = pla_action_dup_plain_title(&table[i]);
      if (!group)
        group = add_group(page, pla_action_group_title((PlaActionGroupId)g));
      add_shortcut(group, title, table[i].accel);
    }
  }
  AdwPreferencesGroup *group = NULL;
  for (size_t i = 0; i < G_N_ELEMENTS(view_keys); i++) {
    if (view_keys[i].heading)
      group = add_group(page, _(view_keys[i].heading));
    add_shortcut(group, _(view_keys[i].title), view_keys[i].accels);
  }
  GtkWidget *window = adw_preferences_window_new();
  adw_preferences_window_add(ADW_PREFERENCES_WINDOW(window), page);
  g_object_set(window, "title", _("Keyboard Shortcuts"), "modal", TRUE, "transient-for", parent,
               NULL);
  return window;
}
