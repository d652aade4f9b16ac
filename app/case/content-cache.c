/* Contents kept in memory, beside those that callers hold. */
#include "app/case/content-cache.h"

#define CACHE_BYTES ((size_t)1 << 30)

typedef struct {
  PlaHash hash;
  PlaContent *content;
} Entry;

static void
entry_free(gpointer data)
{
  Entry *entry = data;
  pla_content_unref(entry->content);
  g_free(entry);
}

PlaContent *
pla_content_cache_find(const PlaHash *hash, void *data)
{
  PlaContentCache *cache = data;
  PlaContent *found = NULL;
  pthread_mutex_lock(&cache->lock);
  for (GList *l = cache->entries.head; l && !found; l = l->next) {
    Entry *entry = l->data;
    if (pla_hash_equal(&entry->hash, hash)) {
      found = pla_content_ref(entry->content);
      g_queue_unlink(&cache->entries, l);
      g_queue_push_head_link(&cache->entries, l);
      break;
    }
  }
  pthread_mutex_unlock(&cache->lock);
  return found;
}

void
pla_content_cache_add(const PlaHash *hash, PlaContent *content, void *data)
{
  PlaContentCache *cache = data;
  size_t n_bytes = pla_content_n_bytes(content);
  PlaContent *known = pla_content_cache_find(hash, cache);
  if (known || n_bytes > CACHE_BYTES) {
    pla_content_unref(known);
    return;
  }
  Entry *entry = g_new(Entry, 1);
  *entry = (Entry){ *hash, pla_content_ref(content) };
  pthread_mutex_lock(&cache->lock);
  g_queue_push_head(&cache->entries, entry);
  cache->n_bytes += n_bytes;
  while (cache->n_bytes > CACHE_BYTES) {
    Entry *oldest = g_queue_pop_tail(&cache->entries);
    cache->n_bytes -= pla_content_n_bytes(oldest->content);
    entry_free(oldest);
  }
  pthread_mutex_unlock(&cache->lock);
}

void
pla_content_cache_trim(PlaContentCache *cache, const PlaState *state)
{
  enum { MOST_OLD = 8 };
  int n_old = 0;
  pthread_mutex_lock(&cache->lock);
  for (GList *l = cache->entries.head, *next; l; l = next) {
    Entry *entry = l->data;
    bool old = true;
    next = l->next;
    for (int i = 0; old && i < state->n; i++)
      old = !pla_hash_equal(&state->item[i].hash, &entry->hash);
    n_old += old;
    if (old && n_old > MOST_OLD) {
      cache->n_bytes -= pla_content_n_bytes(entry->content);
      entry_free(entry);
      g_queue_delete_link(&cache->entries, l);
    }
  }
  pthread_mutex_unlock(&cache->lock);
}

void
pla_content_cache_init(PlaContentCache *self)
{
  pthread_mutex_init(&self->lock, NULL);
  g_queue_init(&self->entries);
  self->n_bytes = 0;
}

void
pla_content_cache_clear(PlaContentCache *self)
{
  g_queue_clear_full(&self->entries, entry_free);
  pthread_mutex_destroy(&self->lock);
}
