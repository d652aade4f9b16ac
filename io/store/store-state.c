/* What a case holds, outside its file: hashes, items, states, logs, shapes. */
#include "io/store/store-private.h"

#include "anatomy/base/memory.h"
#include "io/stream/source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define XXH_STATIC_LINKING_ONLY /* for hash states on the stack; their layout is fixed since 0.8   \
                                 */
#include <xxhash.h>

/* hashes */

bool
pla_hash_equal(const PlaHash *a, const PlaHash *b)
{
  return memcmp(a->byte, b->byte, sizeof a->byte) == 0;
}

const char *
pla_hash_text(const PlaHash *hash, char text[33])
{
  for (int i = 0; i < 16; i++)
    snprintf(text + 2 * i, 3, "%02x", hash->byte[i]);
  return text;
}

static PlaHash
canonical(XXH128_hash_t value)
{
  XXH128_canonical_t c;
  PlaHash hash;
  XXH128_canonicalFromHash(&c, value);
  memcpy(hash.byte, c.digest, sizeof hash.byte);
  return hash;
}

PlaHash
pla_hash_bytes(const void *data, size_t size)
{
  return canonical(XXH3_128bits(data, size));
}

PlaStatus
pla_hash_file(const char *path, PlaProgress *progress, PlaHash *out, uint64_t *size, PlaError *err)
{
  uint64_t done = 0;
  PlaStatus st = pla_source_size(path, size, err);
  if (st != PLA_OK)
    return st;
  FILE *file = fopen(path, "rbe");
  XXH3_state_t *state = XXH3_createState();
  uint8_t *piece = pla_array_new(PLA_CHUNK_BYTES, 1);
  if (!state || !piece)
    st = pla_fail_memory(err, path);
  else if (!file)
    st = pla_fail(err, PLA_ERR_IO, "%s cannot be opened (%s)", path, strerror(errno));
  else
    XXH3_128bits_reset(state);
  while (st == PLA_OK) {
    size_t n = fread(piece, 1, PLA_CHUNK_BYTES, file);
    if (n == 0)
      break;
    XXH3_128bits_update(state, piece, n);
    done += n;
    if (!pla_progress_step(progress, *size ? (double)done / (double)*size : 1.0))
      st = pla_fail_cancelled(err);
  }
  if (st == PLA_OK && ferror(file))
    st = pla_fail(err, PLA_ERR_IO, "%s cannot be read (%s)", path, strerror(errno));
  if (st == PLA_OK) {
    *out = canonical(XXH3_128bits_digest(state));
    *size = done;
  }
  free(piece);
  XXH3_freeState(state);
  if (file)
    fclose(file);
  return st;
}

/* appends fields in a form where no two sets of fields give the same bytes */
static void
hash_blob(XXH3_state_t *state, const void *data, size_t size)
{
  uint64_t n = size;
  XXH3_128bits_update(state, &n, sizeof n);
  XXH3_128bits_update(state, data, size);
}

static void
hash_text(XXH3_state_t *state, const char *text)
{
  hash_blob(state, text, strlen(text));
}

static void
hash_int(XXH3_state_t *state, int64_t value)
{
  XXH3_128bits_update(state, &value, sizeof value);
}

/* the state lives on the stack; every hash starts with the kind of thing it is of */
static void
hash_start(XXH3_state_t *state, const char *what)
{
  XXH3_INITSTATE(state);
  XXH3_128bits_reset(state);
  hash_text(state, what);
}

PlaHash
pla_log_row_checksum(const PlaLogRow *row)
{
  XXH3_state_t s;
  hash_start(&s, "operation");
  hash_int(&s, row->id);
  hash_int(&s, row->parent);
  hash_text(&s, row->verb);
  hash_text(&s, row->parameters);
  hash_text(&s, row->inputs);
  hash_blob(&s, row->state.byte, sizeof row->state.byte);
  hash_text(&s, row->program);
  hash_text(&s, row->kernel);
  hash_int(&s, row->time_ms);
  hash_int(&s, row->duration_ms);
  return canonical(XXH3_128bits_digest(&s));
}

PlaHash
pla_branch_checksum(const PlaBranch *branch)
{
  XXH3_state_t s;
  hash_start(&s, "branch");
  hash_text(&s, branch->name);
  hash_int(&s, branch->head);
  hash_int(&s, branch->tip);
  return canonical(XXH3_128bits_digest(&s));
}

PlaHash
pla_meta_checksum(const char *key, const char *value)
{
  XXH3_state_t s;
  hash_start(&s, "meta");
  hash_text(&s, key);
  hash_text(&s, value);
  return canonical(XXH3_128bits_digest(&s));
}

PlaHash
pla_array_hash(const PlaStoreArray *array, const PlaHash *chunks, size_t n_chunks)
{
  XXH3_state_t s;
  hash_start(&s, "array");
  hash_text(&s, pla_dtype_name(array->dtype));
  hash_int(&s, array->n_dims);
  for (int d = 0; d < array->n_dims; d++)
    hash_int(&s, (int64_t)array->shape[d]);
  for (size_t c = 0; c < n_chunks; c++)
    hash_blob(&s, chunks[c].byte, sizeof chunks[c].byte);
  return canonical(XXH3_128bits_digest(&s));
}

PlaHash
pla_bundle_hash(const PlaBundle *bundle)
{
  XXH3_state_t s;
  hash_start(&s, "item");
  hash_text(&s, bundle->kind);
  hash_text(&s, bundle->name);
  hash_text(&s, bundle->meta);

  /* in order of the names, which are few and differ; nothing here may fail */
  const char *last = NULL;
  for (int done = 0; done < bundle->n_arrays; done++) {
    const PlaStoreArray *next = NULL;
    for (int a = 0; a < bundle->n_arrays; a++) {
      const PlaStoreArray *array = &bundle->array[a];
      if ((!last || strcmp(array->name, last) > 0) &&
          (!next || strcmp(array->name, next->name) < 0))
        next = array;
    }
    if (!next)
      break;
    hash_text(&s, next->name);
    hash_blob(&s, next->hash.byte, sizeof next->hash.byte);
    last = next->name;
  }
  return canonical(XXH3_128bits_digest(&s));
}

/* plain structs */

size_t
pla_store_array_bytes(const PlaStoreArray *array)
{
  size_t n = pla_dtype_size(array->dtype);
  for (int d = 0; d < array->n_dims; d++)
    if (array->shape[d] == 0)
      return 0;
  for (int d = 0; d < array->n_dims; d++)
    if (!pla_size_mul(n, array->shape[d], &n) || n > PTRDIFF_MAX)
      return SIZE_MAX;
  return n;
}

void
pla_bundle_clear(PlaBundle *bundle, bool with_data)
{
  for (int a = 0; a < bundle->n_arrays; a++) {
    free(bundle->array[a].name);
    if (with_data)
      free(bundle->array[a].data);
  }
  free(bundle->array);
  free(bundle->kind);
  free(bundle->name);
  free(bundle->meta);
  *bundle = (PlaBundle){ 0 };
}

static void
state_item_clear(PlaStateItem *item)
{
  free(item->kind);
  free(item->name);
}

void
pla_state_clear(PlaState *state)
{
  for (int i = 0; i < state->n; i++)
    state_item_clear(&state->item[i]);
  free(state->item);
  *state = (PlaState){ 0 };
}

PlaStatus
pla_state_dup(const PlaState *state, PlaState *out, PlaError *err)
{
  *out = (PlaState){ 0 };
  PlaStatus st = PLA_OK;
  for (int i = 0; i < state->n && st == PLA_OK; i++) {
    const PlaStateItem *it = &state->item[i];
    st = pla_state_set(out, it->item, &it->hash, it->kind, it->name, err);
  }
  if (st != PLA_OK)
    pla_state_clear(out);
  return st;
}

/* where @item stands in the ascending list, or would */
static int
state_position(const PlaState *state, int64_t item)
{
  int lo = 0, hi = state->n;
  while (lo < hi) {
    int mid = (lo + hi) / 2;
    if (state->item[mid].item < item)
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo;
}

const PlaStateItem *
pla_state_find(const PlaState *state, int64_t item)
{
  int at = state_position(state, item);
  return at < state->n && state->item[at].item == item ? &state->item[at] : NULL;
}

const PlaStateItem *
pla_state_find_name(const PlaState *state, const char *name)
{
  for (int i = 0; i < state->n; i++)
    if (strcmp(state->item[i].name, name) == 0)
      return &state->item[i];
  return NULL;
}

PlaStatus
pla_state_set(PlaState *state, int64_t item, const PlaHash *hash, const char *kind,
              const char *name, PlaError *err)
{
  int at = state_position(state, item);
  bool known = at < state->n && state->item[at].item == item;
  if (!hash) {
    if (known) {
      state_item_clear(&state->item[at]);
      memmove(state->item + at, state->item + at + 1,
              (size_t)(state->n - at - 1) * sizeof *state->item);
      state->n--;
    }
    return PLA_OK;
  }
  PlaStateItem fresh = { item, *hash, pla_strdup(kind), pla_strdup(name) };
  void *items = state->item;
  if (!fresh.kind || !fresh.name ||
      (!known && !pla_array_resize(&items, (size_t)state->n + 1, sizeof *state->item))) {
    state_item_clear(&fresh);
    return pla_fail_memory(err, "the list of items");
  }
  state->item = items;
  if (known) {
    state_item_clear(&state->item[at]);
  } else {
    memmove(state->item + at + 1, state->item + at, (size_t)(state->n - at) * sizeof *state->item);
    state->n++;
  }
  state->item[at] = fresh;
  return PLA_OK;
}

PlaHash
pla_state_hash(const PlaState *state)
{
  XXH3_state_t s;
  hash_start(&s, "state");
  const char *last = NULL;
  for (int done = 0; done < state->n; done++) {
    const PlaStateItem *next = NULL;
    for (int i = 0; i < state->n; i++) {
      const PlaStateItem *item = &state->item[i];
      if ((!last || strcmp(item->name, last) > 0) && (!next || strcmp(item->name, next->name) < 0))
        next = item;
    }
    if (!next)
      break;
    hash_blob(&s, next->hash.byte, sizeof next->hash.byte);
    last = next->name;
  }
  return canonical(XXH3_128bits_digest(&s));
}

void
pla_log_row_clear(PlaLogRow *row)
{
  free(row->verb);
  free(row->parameters);
  free(row->inputs);
  free(row->program);
  free(row->kernel);
  *row = (PlaLogRow){ 0 };
}

void
pla_log_clear(PlaLog *log)
{
  for (int i = 0; i < log->n; i++)
    pla_log_row_clear(&log->row[i]);
  free(log->row);
  *log = (PlaLog){ 0 };
}

const PlaLogRow *
pla_log_find(const PlaLog *log, int64_t id)
{
  int lo = 0, hi = log->n;
  while (lo < hi) {
    int mid = (lo + hi) / 2;
    if (log->row[mid].id < id)
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo < log->n && log->row[lo].id == id ? &log->row[lo] : NULL;
}

void
pla_branches_clear(PlaBranches *branches)
{
  for (int b = 0; b < branches->n; b++)
    free(branches->branch[b].name);
  free(branches->branch);
  *branches = (PlaBranches){ 0 };
}

bool
pla_shape_parse(const char *text, PlaStoreArray *array)
{
  array->n_dims = 0;
  const char *at = text;
  while (*at) {
    char *end;
    if (*at < '0' || *at > '9' || array->n_dims == PLA_STORE_MAX_DIMS)
      return false;
    errno = 0;
    array->shape[array->n_dims++] = strtoull(at, &end, 10);
    if (errno || (*end && *end != ' '))
      return false;
    at = *end ? end + 1 : end;
  }
  return array->n_dims > 0 && pla_store_array_bytes(array) != SIZE_MAX;
}

void
pla_shape_text(const PlaStoreArray *array, char text[192])
{
  int n = 0;
  for (int d = 0; d < array->n_dims; d++)
    n += snprintf(text + n, 192 - (size_t)n, d ? " %llu" : "%llu",
                  (unsigned long long)array->shape[d]);
}
