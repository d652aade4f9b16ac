/* Operations on items as such: rename, delete, and the two that only the case file writes. */
#include "app/verbs/verbs.h"

#include <string.h>

static PlaStatus
run_rename(PlaWork *work, PlaError *err)
{
  int64_t item;
  PlaStatus st = pla_work_item(work, "item", NULL, &item, err);
  if (st == PLA_OK && strcmp(pla_work_text(work, "name"), pla_work_text(work, "item")) == 0)
    return pla_fail(err, PLA_ERR_USAGE, "'%s' has that name already", pla_work_text(work, "name"));
  return st == PLA_OK ? pla_work_relabel(work, item, pla_work_text(work, "name"), NULL, err) : st;
}

static const PlaVerbParam rename_params[] = {
  { "item", PLA_PARAM_ITEM, NULL, 0, 0, NULL, "the item" },
  { "name", PLA_PARAM_TEXT, NULL, 1, 200, NULL, "its new name" },
  { NULL },
};

const PlaVerb pla_verb_rename = {
  .name = "rename",
  .title = "Rename",
  .summary = "renames an item",
  .params = rename_params,
  .run = run_rename,
};

static PlaStatus
run_delete(PlaWork *work, PlaError *err)
{
  int64_t item;
  PlaStatus st = pla_work_item(work, "item", NULL, &item, err);
  if (st == PLA_OK)
    pla_work_remove(work, item);
  return st;
}

static const PlaVerbParam delete_params[] = {
  { "item", PLA_PARAM_ITEM, NULL, 0, 0, NULL, "the item" },
  { NULL },
};

const PlaVerb pla_verb_delete = {
  .name = "delete",
  .title = "Delete",
  .summary = "deletes an item; undo restores it",
  .params = delete_params,
  .run = run_delete,
};

static const PlaVerbParam no_params[] = { { NULL } };

const PlaVerb pla_verb_snapshot = {
  .name = "snapshot",
  .title = "Compact",
  .summary = "stands for the history that 'case compact' pruned",
  .params = no_params,
  .from_store = true,
};

const PlaVerb pla_verb_recover = {
  .name = "recover",
  .title = "Recover",
  .summary = "what 'case recover' saved beyond the readable history",
  .params = no_params,
  .from_store = true,
};
