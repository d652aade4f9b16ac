/* Finds the schema of this build before an installed one, and makes the GSettings object once. */
#define G_SETTINGS_ENABLE_BACKEND
#include "ui/widgets/settings.h"

#include <gio/gsettingsbackend.h>

#define SCHEMA_ID "org.platysma.Platysma"

static gboolean in_memory;

/* the schema in a folder with a gschemas.compiled, or NULL */
static GSettingsSchema *
look_in(const char *dir)
{
  g_autoptr(GSettingsSchemaSource) source =
      g_settings_schema_source_new_from_directory(dir, g_settings_schema_source_get_default(),
                                                  FALSE, NULL);
  return source ? g_settings_schema_source_lookup(source, SCHEMA_ID, FALSE) : NULL;
}

/* The copy that belongs to this program comes first: an older one may be installed. */
static GSettingsSchema *
find_schema(void)
{
  static const char *const places[] = { "../ui/data", "../share/platysma" };
  g_autofree char *exe = g_file_read_link("/proc/self/exe", NULL);
  g_autofree char *dir = exe ? g_path_get_dirname(exe) : g_strdup(".");
  for (size_t i = 0; i < G_N_ELEMENTS(places); i++) {
    g_autofree char *path = g_build_filename(dir, places[i], NULL);
    GSettingsSchema *schema = look_in(path);
    if (schema)
      return schema;
  }
  GSettingsSchemaSource *installed = g_settings_schema_source_get_default();
  return installed ? g_settings_schema_source_lookup(installed, SCHEMA_ID, TRUE) : NULL;
}

void
pla_settings_use_memory(void)
{
  in_memory = TRUE;
}

GSettings *
pla_settings_get(void)
{
  static GSettings *settings; /* kept */
  if (!settings) {
    g_autoptr(GSettingsSchema) schema = find_schema();
    if (!schema)
      g_error("the preferences' description %s.gschema.xml is not installed; "
              "run 'meson install' again",
              SCHEMA_ID);
    g_autoptr(GSettingsBackend) backend = in_memory ? g_memory_settings_backend_new() : NULL;
    settings = g_settings_new_full(schema, backend, NULL);
  }
  return settings;
}
