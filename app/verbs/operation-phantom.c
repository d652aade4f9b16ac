/* phantom: a built-in phantom as an item.  Replay makes it again. */
#include "anatomy/phantom/phantom.h"
#include "app/verbs/operations.h"

static PlaStatus
run(PlaWork *work, PlaError *err)
{
  const char *which = pla_work_text(work, "phantom");
  PlaPhantom phantom = { 0 };
  PlaStatus st = pla_phantom_make(
      which, pla_work_is_null(work, "spacing_mm") ? 0.0 : pla_work_number(work, "spacing_mm"),
      pla_work_progress(work), &phantom, err);
  if (st != PLA_OK)
    return st;
  PlaContent *content = pla_content_new(phantom.labels ? PLA_ITEM_LABELS : PLA_ITEM_MESH);
  content->labels = g_steal_pointer(&phantom.labels);
  content->mesh = g_steal_pointer(&phantom.mesh);
  pla_work_add(work, pla_work_is_null(work, "name") ? which : pla_work_text(work, "name"), content);
  pla_phantom_clear(&phantom);
  return PLA_OK;
}

static const PlaOpParam params[] = {
  { "phantom", PLA_PARAM_TEXT, NULL, 1, 100, NULL, "which one: head, tongue, arm, ..." },
  { "spacing_mm", PLA_PARAM_NUMBER, "mm", 0.001, 1000, "null", "voxel or element size" },
  { "name", PLA_PARAM_TEXT, NULL, 1, 200, "null", "name of the item" },
  { NULL },
};

const PlaOperation pla_operation_phantom = {
  .verb = "phantom",
  .title = "Make Phantom",
  .summary = "adds a built-in phantom",
  .params = params,
  .run = run,
};
