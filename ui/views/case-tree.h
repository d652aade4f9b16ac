/* The case as a tree: scans, tissues, meshes; each row with its visibility and colour, and below
 * the tree the opacity of the chosen row. */
#pragma once

#include "ui/document/document.h"

G_BEGIN_DECLS

#define PLA_TYPE_CASE_TREE (pla_case_tree_get_type())
G_DECLARE_FINAL_TYPE(PlaCaseTree, pla_case_tree, PLA, CASE_TREE, GtkWidget)

GtkWidget *pla_case_tree_new(PlaDocument *document);

G_END_DECLS
