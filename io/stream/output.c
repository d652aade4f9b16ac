/* Atomic replacement of files: write to a temporary beside the target, sync, rename. */
#include "io/stream/output-private.h"

#include "anatomy/base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct PlaOutput {
  char *path;
  char *place; /* in a set: where the whole file waits; else NULL */
  char *temp;
  FILE *file;
  int slot; /* in open_temps, or -1 */
};

/* temporaries that a signal handler must remove; more than these at once are merely not listed */
enum { MAX_TEMPS = 64 };
static _Atomic(char *) open_temps[MAX_TEMPS];

static int
remember_temp(char *temp)
{
  for (int i = 0; i < MAX_TEMPS; i++) {
    char *expected = NULL;
    if (atomic_compare_exchange_strong(&open_temps[i], &expected, temp))
      return i;
  }
  return -1;
}

static void
output_free(PlaOutput *self)
{
  if (self->slot >= 0)
    atomic_store(&open_temps[self->slot], NULL);
  if (self->file)
    fclose(self->file);
  free(self->path);
  free(self->place);
  free(self->temp);
  free(self);
}

PlaStatus
pla_output_open(const char *path, PlaOutput **out, PlaError *err)
{
  *out = NULL;
  PlaOutput *self = pla_array_new0(1, sizeof *self);
  if (!self)
    return pla_fail_memory(err, "an output file");
  self->slot = -1;

  struct stat st;
  if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
    output_free(self);
    return pla_fail(err, PLA_ERR_IO, "%s is a folder; name a file to write", path);
  }
  PlaStatus placed = pla_output_set_place(path, &self->place, err);
  if (placed != PLA_OK) {
    output_free(self);
    return placed;
  }
  self->path = pla_strdup(path);
  self->temp = pla_strdup_printf("%s.XXXXXX.part", self->place ? self->place : path);
  if (!self->path || !self->temp) {
    output_free(self);
    return pla_fail_memory(err, "an output file");
  }
  int fd = mkostemps(self->temp, 5, O_CLOEXEC);
  if (fd < 0) {
    int why = errno;
    output_free(self);
    return pla_fail(err, PLA_ERR_IO, "%s cannot be written (%s); choose another place", path,
                    strerror(why));
  }

  /* the new file gets the permissions of the one it replaces, or the usual ones */
  mode_t mask = umask(0);
  umask(mask);
  fchmod(fd, stat(path, &st) == 0 ? st.st_mode & 0777 : 0666 & ~mask);
  if (!self->place) /* else its folder is remembered */
    self->slot = remember_temp(self->temp);
  self->file = fdopen(fd, "w+b");
  if (!self->file) {
    close(fd);
    unlink(self->temp);
    output_free(self);
    return pla_fail_memory(err, "an output file");
  }
  *out = self;
  return PLA_OK;
}

FILE *
pla_output_get_file(PlaOutput *self)
{
  return self->file;
}

const char *
pla_output_get_temp_path(const PlaOutput *self)
{
  return self->temp;
}

void
pla_output_discard(PlaOutput *self)
{
  if (!self)
    return;
  unlink(self->temp);
  output_free(self);
}

PlaStatus
pla_output_commit(PlaOutput **outputs, int n, PlaError *err)
{
  PlaStatus st = PLA_OK;

  /* everything is safely on disk before the first rename */
  for (int i = 0; i < n && st == PLA_OK; i++) {
    FILE *file = outputs[i]->file;
    if (ferror(file) || fflush(file) != 0 || fsync(fileno(file)) != 0)
      st = pla_fail(err, PLA_ERR_IO, "%s cannot be written (%s); nothing was changed",
                    outputs[i]->path, strerror(errno ? errno : EIO));
  }
  for (int i = 0; i < n; i++) {
    const char *to = outputs[i]->place ? outputs[i]->place : outputs[i]->path;
    if (st == PLA_OK && rename(outputs[i]->temp, to) != 0)
      st = pla_fail(err, PLA_ERR_IO, "%s cannot be replaced (%s)", outputs[i]->path,
                    strerror(errno));
    if (st == PLA_OK && outputs[i]->place)
      st = pla_output_set_add(outputs[i]->path, err);
    if (st == PLA_OK)
      output_free(outputs[i]);
    else
      pla_output_discard(outputs[i]);
    outputs[i] = NULL;
  }
  return st;
}

PlaStatus
pla_output_write(const char *path, const void *data, size_t size, PlaError *err)
{
  PlaOutput *output = NULL;
  PlaStatus st = pla_output_open(path, &output, err);
  if (st != PLA_OK)
    return st;
  fwrite(data, 1, size, output->file); /* commit sees a short write through ferror() */
  return pla_output_commit(&output, 1, err);
}

bool
pla_output_remove_all_temporaries(void)
{
  if (!pla_output_set_remove_folders())
    return false;
  for (int i = 0; i < MAX_TEMPS; i++) {
    char *temp = atomic_load(&open_temps[i]);
    if (temp)
      unlink(temp);
  }
  return true;
}
