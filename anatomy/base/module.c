/* Finds a module on the search path, opens it with dlopen(), and returns the table that its
 * entry function exports. */
#include "anatomy/base/module.h"

#include "platysma-config.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* a program in the build tree stands at most this many folders below its root */
#define MAX_LEVELS 4

static bool
present(char path[PATH_MAX], const char *dir, const char *room, const char *name)
{
  int n = snprintf(path, PATH_MAX, "%s%s%s/%s.so", dir, room ? "/" : "", room ? room : "", name);
  return n > 0 && n < PATH_MAX && access(path, R_OK) == 0;
}

static bool
locate(char path[PATH_MAX], const char *room, const char *name)
{
  const char *chosen = getenv("PLATYSMA_MODULES");
  if (chosen && present(path, chosen, NULL, name))
    return true;

  char dir[PATH_MAX];
  ssize_t n = readlink("/proc/self/exe", dir, sizeof dir - 1);
  if (n > 0) {
    dir[n] = '\0';
    for (int level = 0; level < MAX_LEVELS; level++) {
      char *slash = strrchr(dir, '/');
      if (!slash || slash == dir)
        break;
      *slash = '\0';
      if (present(path, dir, room, name))
        return true;
    }
  }
  return present(path, PLA_MODULE_DIR, NULL, name);
}

PlaStatus
pla_module_load(const char *room, const char *name, const char *entry, const void **table,
                PlaError *err)
{
  *table = NULL;
  char path[PATH_MAX];
  if (!locate(path, room, name))
    return pla_fail(err, PLA_ERR_UNSUPPORTED,
                    "The module %s.so was not found beside the program or in %s; build Platysma "
                    "with VTK, or set PLATYSMA_MODULES to the folder that holds it",
                    name, PLA_MODULE_DIR);

  /* local scope: the module's own symbols come first for the libraries that it brings along */
  void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return pla_fail(err, PLA_ERR_UNSUPPORTED,
                    "The module %s could not be loaded (%s); install the packages that "
                    "Platysma's README names",
                    path, dlerror());
  const void *(*get_table)(void) = NULL;
  *(void **)&get_table = dlsym(handle, entry);
  if (!get_table)
    return pla_fail(err, PLA_ERR_UNSUPPORTED,
                    "The module %s belongs to another version of Platysma; rebuild or reinstall it",
                    path);
  *table = get_table();
  return PLA_OK;
}
