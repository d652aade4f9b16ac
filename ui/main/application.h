/* The application: command line, appearance, About, shortcuts. */
#pragma once

#include <adwaita.h>

G_BEGIN_DECLS

#define PLA_TYPE_APPLICATION (pla_application_get_type())
G_DECLARE_FINAL_TYPE(PlaApplication, pla_application, PLA, APPLICATION, AdwApplication)

PlaApplication *pla_application_new(void);
/* g_application_run(), then the status: 0 done, 1 a screenshot could not be made, 2 bad usage or
 * a file that cannot be used. */
int pla_application_main(int argc, char **argv);

G_END_DECLS
