/* The sentences below the titles of steps: shown or hidden by the preference "explain". */
#pragma once

#include <adwaita.h>

G_BEGIN_DECLS

/* Follows the preference for every group in @panel from now on. */
void pla_explain_follow(GtkWidget *panel);

G_END_DECLS
