/* Whether a case can be understood. */
#include "app/case/case-check.h"

#include "anatomy/base/blas.h"
#include "anatomy/base/memory.h"
#include "anatomy/base/parallel.h"
#include "app/base/json.h"
#include "app/motion/muscles.h"
#include "app/surgery/surgery-body.h"
#include "platysma-config.h"

#include <string.h>

/* kinds whose arrays make a thing of their own */
static PlaStatus
build_thing(const PlaContent *content, PlaError *err)
{
  PlaStatus st = PLA_OK;
  if (strcmp(content->kind, PLA_ITEM_BODY) == 0) {
    PlaSurgery *body = NULL;
    st = pla_body_from_content(content, &body, err);
    pla_surgery_free(body);
  } else if (pla_content_find_array(content, "tet_start")) {
    PlaMuscleSet set = { 0 };
    st = pla_muscle_set_from_content(content, &set, err);
    pla_muscle_set_clear(&set);
  }
  return st;
}

static PlaStatus
check_item(PlaStore *store, const PlaHash *hash, PlaProgress *progress, PlaError *err)
{
  PlaBundle bundle;
  PlaStatus st = pla_store_read_bundle(store, hash, &bundle, err);
  if (st != PLA_OK)
    return st;
  PlaError why;
  PlaStatus read = pla_content_check(store, hash, progress, &why);
  const bool has_thing =
      strcmp(bundle.kind, PLA_ITEM_BODY) == 0 || strcmp(bundle.kind, PLA_ITEM_MUSCLES) == 0;
  if (read == PLA_OK && has_thing) {
    g_autoptr(PlaContent) content = NULL;
    read = pla_content_load(store, hash, progress, &content, &why);
    if (read == PLA_OK)
      read = build_thing(content, &why);
  }
  if (read != PLA_OK)
    st = pla_fail(err, read, "%s '%s': %s", bundle.kind, bundle.name, why.message);
  pla_bundle_clear(&bundle, false);
  return st;
}

static PlaStatus
check_row(const PlaLogRow *row, PlaError *err)
{
  const char *const texts[] = { row->parameters, row->inputs };
  const char *const names[] = { "its parameters", "its inputs" };
  PlaStatus st = PLA_OK;
  for (int i = 0; i < 2 && st == PLA_OK; i++) {
    g_autoptr(JsonObject) object = NULL;
    PlaError why;
    st = pla_json_parse_stored(texts[i], names[i], &object, &why);
    if (st != PLA_OK)
      st = pla_fail(err, st, "%s: %s", row->verb, why.message);
  }
  return st;
}

static const PlaStoreMeaning meaning = { check_item, check_row };

PlaStatus
pla_case_verify(PlaStore *store, PlaProgress *progress, PlaStoreCheck *out, PlaError *err)
{
  return pla_store_verify(store, &meaning, progress, out, err);
}

PlaStatus
pla_case_recover(const char *path, const char *to, PlaProgress *progress, PlaStoreSalvage *out,
                 PlaError *err)
{
  return pla_store_recover(path, to, &meaning, PLA_VERSION, pla_kernels_text(), progress, out, err);
}

/* the store frees with free() */
static char *
mend(const char *text)
{
  g_autofree char *mended = pla_json_repair(text);
  return mended ? pla_strdup(mended) : NULL;
}

PlaStatus
pla_case_mend(PlaStore *store, int64_t *n, PlaError *err)
{
  return pla_store_mend_texts(store, mend, n, err);
}
