/* Contents by hash, the least recently used dropped first; shared with worker threads. */
#pragma once

#include "app/content/content.h"

#include <pthread.h>

typedef struct {
  pthread_mutex_t lock; /* not a GMutex, which ThreadSanitizer cannot see through */
  GQueue entries;       /* most recent first */
  size_t n_bytes;
} PlaContentCache;

void pla_content_cache_init(PlaContentCache *self);
void pla_content_cache_clear(PlaContentCache *self);
/* A new reference, or NULL; @cache is a PlaContentCache, as callbacks have it. */
PlaContent *pla_content_cache_find(const PlaHash *hash, void *cache);
void pla_content_cache_add(const PlaHash *hash, PlaContent *content, void *cache);
/* Of contents that @state does not hold, the few that undo and redo go back to stay: memory must
 * not grow with the number of operations. */
void pla_content_cache_trim(PlaContentCache *self, const PlaState *state);
