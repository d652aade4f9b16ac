/* Several files that take their names together.
 *
 * They wait in a folder beside their targets, which its owner locks.  When all are whole and on
 * disk, a journal in that folder lists them, and they are renamed in the order in which they were
 * written.  A folder whose lock is free belongs to a program that died: with a whole journal the
 * renames are finished (a name that is gone from it has been renamed already), else all is removed.
 *
 * A list that names others (a series) would tell of missing or mixed files between two renames.  It
 * is replaced first by one that names them in the waiting folder, where they stay as hard links
 * until the list with their final names follows them. */
#include "io/stream/output-private.h"

#include "anatomy/base/memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char journal_name[] = ".journal", journal_end[] = "end";
static const char prefix[] = ".platysma-part-"; /* and six random letters */

/* the waiting files of one folder */
typedef struct {
  char *dir;     /* of the targets; "." where a path has none */
  char *folder;  /* dir/.platysma-part-XXXXXX */
  int fd;        /* of folder, locked */
  int slot;      /* in open_folders, or -1 */
  char *interim; /* name of the list that comes first, or NULL; its text waits as ".interim" */
} Stage;

typedef struct {
  int stage;
  char *path, *place;                        /* where it goes and where it waits */
  const char *name;                          /* the last part of path */
  enum { OLD_NONE, OLD_KEPT, OLD_LOST } old; /* what stood there before, while names are taken */
} Entry;

struct PlaOutputSet {
  PlaOutputSet *outer; /* NULL: this one holds the files */
  int first;           /* entries of the outermost set before this one began */
  int n_stages, n_entries, n_made, n_obsolete;
  int stages_room, entries_room, made_room, obsolete_room;
  Stage *stage;
  Entry *entry;
  char **made;     /* folders to remove where the set fails */
  char **obsolete; /* files to remove where it does not */
};

static _Thread_local PlaOutputSet *current;

/* ---- signals ------------------------------------------------------------------------------- */

enum { MAX_FOLDERS = 64 };
static _Atomic(char *) open_folders[MAX_FOLDERS];
static atomic_int committing; /* sets that are taking their names */

/* removes all files of an open folder, without malloc */
static void
empty_folder(int fd)
{
  struct Entry64 {
    uint64_t ino;
    int64_t off;
    unsigned short size;
    unsigned char type;
    char name[];
  };
  _Alignas(8) char buffer[4096];
  bool again = true;
  while (again) {
    long got;
    again = false;
    lseek(fd, 0, SEEK_SET);
    while ((got = syscall(SYS_getdents64, fd, buffer, sizeof buffer)) > 0)
      for (long at = 0; at < got;) {
        const struct Entry64 *e = (const struct Entry64 *)(const void *)(buffer + at);
        if (strcmp(e->name, ".") != 0 && strcmp(e->name, "..") != 0 &&
            unlinkat(fd, e->name, 0) == 0)
          again = true;
        at += e->size;
      }
  }
}

bool
pla_output_set_remove_folders(void)
{
  if (atomic_load(&committing) > 0)
    return false;
  for (int i = 0; i < MAX_FOLDERS; i++) {
    char *folder = atomic_load(&open_folders[i]);
    int fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
    if (fd < 0)
      continue;
    empty_folder(fd);
    close(fd);
    rmdir(folder);
  }
  return true;
}

/* ---- what a dead program left --------------------------------------------------------------- */

static bool
is_plain_name(const char *name)
{
  return *name && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

/* the lines of a whole journal, each with its zero: "+NAME" is to be renamed, "-NAME" is obsolete;
 * free() */
static char *
read_journal(int fd, size_t *size)
{
  const int file = openat(fd, journal_name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  struct stat info;
  char *text = NULL;
  *size = 0;
  if (file < 0)
    return NULL;
  if (fstat(file, &info) == 0 && S_ISREG(info.st_mode) && info.st_size < 1 << 28)
    text = pla_array_new((size_t)info.st_size + 1, 1);
  for (ssize_t got = 1; text && got > 0 && *size < (size_t)info.st_size;) {
    got = read(file, text + *size, (size_t)info.st_size - *size);
    *size += got > 0 ? (size_t)got : 0;
  }
  close(file);
  if (!text || *size < sizeof journal_end || text[*size - 1] != '\0' ||
      strcmp(text + *size - sizeof journal_end, journal_end) != 0) {
    free(text);
    return NULL;
  }
  *size -= sizeof journal_end;
  return text;
}

static void
finish_dead(int dir_fd, const char *name)
{
  const int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  struct stat info;
  size_t size;
  if (fd < 0)
    return;
  if (fstat(fd, &info) == 0 && info.st_uid == geteuid() && flock(fd, LOCK_EX | LOCK_NB) == 0) {
    char *names = read_journal(fd, &size);
    for (size_t at = 0; names && at < size; at += strlen(names + at) + 1) {
      const char *file = names + at + 1;
      if (names[at] == '+' && is_plain_name(file))
        renameat(fd, file, dir_fd, file); /* gone: done already */
      else if (names[at] == '-' && is_plain_name(file))
        unlinkat(dir_fd, file, 0);
    }
    free(names);
    if (names)
      fsync(dir_fd);
    empty_folder(fd);
    unlinkat(dir_fd, name, AT_REMOVEDIR);
  }
  close(fd);
}

static void
finish_all_dead(const char *dir)
{
  DIR *entries = opendir(dir);
  const struct dirent *e;
  if (!entries)
    return;
  while ((e = readdir(entries)))
    if (strlen(e->d_name) == sizeof prefix - 1 + 6 &&
        strncmp(e->d_name, prefix, sizeof prefix - 1) == 0)
      finish_dead(dirfd(entries), e->d_name);
  closedir(entries);
}

/* ---- folders in which files wait ------------------------------------------------------------ */

static PlaOutputSet *
outermost(void)
{
  PlaOutputSet *set = current;
  while (set && set->outer)
    set = set->outer;
  return set;
}

/* the folder of @path; free() */
static char *
dir_of(const char *path)
{
  const char *slash = strrchr(path, '/');
  while (slash && slash > path && slash[-1] == '/')
    slash--;
  char *dir = pla_strdup(slash ? path : ".");
  if (dir && slash)
    dir[slash == path ? 1 : slash - path] = '\0';
  return dir;
}

static const char *
name_of(const char *path)
{
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

/* a new folder that nobody else takes for a dead one; @folder is its template */
static bool
lock_folder(char *folder, int *fd)
{
  char *random = folder + strlen(folder) - 6;
  for (int tries = 0; tries < 8; tries++) {
    struct stat here, there;
    memcpy(random, "XXXXXX", 6);
    if (!mkdtemp(folder))
      return false;
    *fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*fd >= 0)
      flock(*fd, LOCK_EX); /* where a share has no locks, nothing is ever taken for dead */
    /* removed by somebody who was faster */
    if (*fd >= 0 && fstat(*fd, &here) == 0 && stat(folder, &there) == 0 &&
        here.st_ino == there.st_ino && here.st_dev == there.st_dev)
      return true;
    if (*fd >= 0)
      close(*fd);
    *fd = -1;
    rmdir(folder);
  }
  return false;
}

static void
stage_clear(Stage *stage)
{
  if (stage->fd >= 0) {
    empty_folder(stage->fd);
    rmdir(stage->folder);
    close(stage->fd);
  }
  if (stage->slot >= 0)
    atomic_store(&open_folders[stage->slot], NULL);
  free(stage->dir);
  free(stage->folder);
  free(stage->interim);
}

/* the stage of @path's folder, made on demand; -1 with a sentence where that cannot be */
static PlaStatus
find_stage(PlaOutputSet *set, const char *path, int *out, PlaError *err)
{
  char *dir = dir_of(path);
  if (!dir)
    return pla_fail_memory(err, "an output file");
  for (int i = 0; i < set->n_stages; i++)
    if (strcmp(set->stage[i].dir, dir) == 0) {
      free(dir);
      *out = i;
      return PLA_OK;
    }
  Stage stage = { .dir = dir, .fd = -1, .slot = -1 };
  stage.folder = pla_strdup_printf("%s/%sXXXXXX", dir, prefix);
  if (!stage.folder ||
      !pla_array_reserve(&set->stage, set->n_stages + 1, &set->stages_room, sizeof *set->stage)) {
    stage_clear(&stage);
    return pla_fail_memory(err, "an output file");
  }
  finish_all_dead(dir);
  if (!lock_folder(stage.folder, &stage.fd)) {
    const int why = errno;
    stage_clear(&stage);
    return pla_fail(err, PLA_ERR_IO, "%s cannot be written (%s); choose another place", path,
                    strerror(why));
  }
  for (int i = 0; i < MAX_FOLDERS && stage.slot < 0; i++) {
    char *expected = NULL;
    if (atomic_compare_exchange_strong(&open_folders[i], &expected, stage.folder))
      stage.slot = i;
  }
  set->stage[set->n_stages] = stage;
  *out = set->n_stages++;
  return PLA_OK;
}

PlaStatus
pla_output_set_place(const char *path, char **out, PlaError *err)
{
  PlaOutputSet *set = outermost();
  int at;
  *out = NULL;
  if (!set)
    return PLA_OK;
  if (!is_plain_name(name_of(path)))
    return pla_fail(err, PLA_ERR_IO, "%s is no name of a file; name a file to write", path);
  PlaStatus st = find_stage(set, path, &at, err);
  if (st != PLA_OK)
    return st;
  *out = pla_strdup_printf("%s/%s", set->stage[at].folder, name_of(path));
  return *out ? PLA_OK : pla_fail_memory(err, "an output file");
}

static Entry *
find_entry(const PlaOutputSet *set, const char *path)
{
  for (int i = set ? set->n_entries - 1 : -1; i >= 0; i--)
    if (strcmp(set->entry[i].path, path) == 0)
      return &set->entry[i];
  return NULL;
}

static void
entry_clear(Entry *entry)
{
  free(entry->path);
  free(entry->place);
}

PlaStatus
pla_output_set_add(const char *path, PlaError *err)
{
  PlaOutputSet *set = outermost();
  int at;
  if (find_entry(set, path))
    return PLA_OK; /* written again: the later one counts */
  PlaStatus st = find_stage(set, path, &at, err);
  if (st != PLA_OK)
    return st;
  Entry entry = { .stage = at, .path = pla_strdup(path) };
  entry.place = pla_strdup_printf("%s/%s", set->stage[at].folder, name_of(path));
  if (!entry.path || !entry.place ||
      !pla_array_reserve(&set->entry, set->n_entries + 1, &set->entries_room, sizeof *set->entry)) {
    entry_clear(&entry);
    return pla_fail_memory(err, "an output file");
  }
  entry.name = name_of(entry.path);
  set->entry[set->n_entries++] = entry;
  return PLA_OK;
}

/* ---- taking names --------------------------------------------------------------------------- */

/* a file of the folder, on disk */
static bool
write_inside(int fd, const char *name, const void *data, size_t size)
{
  const int file = openat(fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  bool ok = file >= 0;
  for (size_t done = 0; ok && done < size;) {
    const ssize_t put = write(file, (const char *)data + done, size - done);
    ok = put > 0;
    done += ok ? (size_t)put : 0;
  }
  ok = ok && fsync(file) == 0;
  if (file >= 0)
    ok = close(file) == 0 && ok;
  return ok;
}

static bool
append_line(PlaBytes *text, char what, const char *name)
{
  return pla_bytes_append(text, &what, 1) && pla_bytes_append(text, name, strlen(name) + 1);
}

static PlaStatus
write_journal(const PlaOutputSet *set, int at, PlaError *err)
{
  const Stage *stage = &set->stage[at];
  PlaBytes text = { 0 };
  bool ok = true;
  for (int i = 0; i < set->n_entries && ok; i++)
    if (set->entry[i].stage == at)
      ok = append_line(&text, '+', set->entry[i].name);
  for (int i = 0; i < set->n_obsolete && ok; i++) {
    char *dir = dir_of(set->obsolete[i]);
    if (dir && strcmp(dir, stage->dir) == 0 && !find_entry(set, set->obsolete[i]))
      ok = append_line(&text, '-', name_of(set->obsolete[i]));
    free(dir);
  }
  ok = ok && pla_bytes_append(&text, journal_end, sizeof journal_end);
  PlaStatus st = ok ? PLA_OK : pla_fail_memory(err, "a list of files");
  if (ok && (!write_inside(stage->fd, journal_name, text.data, text.size) || fsync(stage->fd) != 0))
    st = pla_fail(err, PLA_ERR_IO, "%s cannot be written (%s); nothing was changed", stage->dir,
                  strerror(errno));
  pla_bytes_clear(&text);
  return st;
}

/* the way back, should a later name be refused: ".old-N" is what stood there before */
static void
keep_old(const Stage *stage, Entry *entry, int i)
{
  char old[32];
  snprintf(old, sizeof old, ".old-%d", i);
  if (linkat(AT_FDCWD, entry->path, stage->fd, old, 0) == 0)
    entry->old = OLD_KEPT;
  else
    entry->old = errno == ENOENT ? OLD_NONE : OLD_LOST; /* a file system without hard links */
}

static void
put_back(PlaOutputSet *set, int n)
{
  for (int i = n - 1; i >= 0; i--) {
    const Entry *entry = &set->entry[i];
    char old[32];
    snprintf(old, sizeof old, ".old-%d", i);
    if (entry->old == OLD_KEPT)
      renameat(set->stage[entry->stage].fd, old, AT_FDCWD, entry->path);
    else if (entry->old == OLD_NONE)
      unlink(entry->path);
  }
}

/* gives a file its name; @stays: it can also be read where it waited, as far as links go */
static bool
take_name(const Stage *stage, const Entry *entry, bool stays)
{
  static const char spare[] = ".link";
  if (stays && linkat(stage->fd, entry->name, stage->fd, spare, 0) == 0) {
    const bool ok = renameat(stage->fd, spare, AT_FDCWD, entry->path) == 0;
    unlinkat(stage->fd, spare, 0);
    return ok;
  }
  return renameat(stage->fd, entry->name, AT_FDCWD, entry->path) == 0;
}

static PlaStatus
take_names(PlaOutputSet *set, PlaError *err)
{
  PlaStatus st = PLA_OK;
  for (int s = 0; s < set->n_stages && st == PLA_OK; s++)
    st = write_journal(set, s, err);
  bool back = true;
  for (int s = 0; s < set->n_stages && st == PLA_OK; s++) {
    const Stage *stage = &set->stage[s];
    char *to = stage->interim ? pla_strdup_printf("%s/%s", stage->dir, stage->interim) : NULL;
    if (to && renameat(stage->fd, ".interim", AT_FDCWD, to) != 0)
      st = pla_fail(err, PLA_ERR_IO, "%s cannot be replaced (%s)", to, strerror(errno));
    back = back && !stage->interim;
    free(to);
  }
  for (int i = 0; i < set->n_entries && st == PLA_OK; i++) {
    Entry *entry = &set->entry[i];
    const Stage *stage = &set->stage[entry->stage];
    if (back)
      keep_old(stage, entry, i);
    const bool list = stage->interim && strcmp(stage->interim, entry->name) == 0;
    if (!take_name(stage, entry, stage->interim && !list)) {
      st = pla_fail(err, PLA_ERR_IO, "%s cannot be replaced (%s)", entry->path, strerror(errno));
      if (back)
        put_back(set, i);
    }
  }
  for (int i = 0; i < set->n_obsolete && st == PLA_OK; i++)
    if (!find_entry(set, set->obsolete[i]))
      unlink(set->obsolete[i]);
  for (int s = 0; s < set->n_stages && st == PLA_OK; s++) {
    const int dir = open(set->stage[s].dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir >= 0) {
      fsync(dir);
      close(dir);
    }
  }
  return st;
}

/* ---- sets ---------------------------------------------------------------------------------- */

PlaStatus
pla_output_set_begin(PlaOutputSet **out, PlaError *err)
{
  PlaOutputSet *self = *out = pla_array_new0(1, sizeof *self);
  if (!self)
    return pla_fail_memory(err, "output files");
  const PlaOutputSet *root = outermost();
  self->outer = current;
  self->first = root ? root->n_entries : 0;
  current = self;
  return PLA_OK;
}

static void
set_free(PlaOutputSet *self)
{
  for (int i = 0; i < self->n_stages; i++)
    stage_clear(&self->stage[i]);
  for (int i = 0; i < self->n_entries; i++)
    entry_clear(&self->entry[i]);
  for (int i = 0; i < self->n_made; i++)
    free(self->made[i]);
  for (int i = 0; i < self->n_obsolete; i++)
    free(self->obsolete[i]);
  free(self->stage);
  free(self->entry);
  free(self->made);
  free(self->obsolete);
  free(self);
}

PlaStatus
pla_output_set_end(PlaOutputSet *self, PlaStatus status, PlaError *err)
{
  if (!self)
    return status;
  PlaOutputSet *root = outermost();
  if (self != root) {
    /* what failed within is not part of the whole */
    while (status != PLA_OK && root->n_entries > self->first) {
      Entry *last = &root->entry[--root->n_entries];
      unlink(last->place);
      entry_clear(last);
    }
    current = self->outer;
    set_free(self);
    return status;
  }
  if (status == PLA_OK) {
    atomic_fetch_add(&committing, 1);
    status = take_names(self, err);
    atomic_fetch_sub(&committing, 1);
  }
  /* folders that wait inside folders that were made go first */
  for (int i = 0; i < self->n_stages; i++) {
    stage_clear(&self->stage[i]);
    self->stage[i] = (Stage){ .fd = -1, .slot = -1 };
  }
  for (int i = self->n_made - 1; i >= 0 && status != PLA_OK; i--)
    rmdir(self->made[i]);
  current = NULL;
  set_free(self);
  return status;
}

static PlaStatus
add_text(char ***list, int *n, int *room, const char *text, PlaError *err)
{
  char *copy = pla_strdup(text);
  if (!copy || !pla_array_reserve(list, *n + 1, room, sizeof **list)) {
    free(copy);
    return pla_fail_memory(err, "output files");
  }
  (*list)[(*n)++] = copy;
  return PLA_OK;
}

PlaStatus
pla_output_set_mkdir(const char *path, PlaError *err)
{
  PlaOutputSet *root = outermost();
  struct stat info;
  if (mkdir(path, 0777) == 0)
    return root ? add_text(&root->made, &root->n_made, &root->made_room, path, err) : PLA_OK;
  if (errno == EEXIST && stat(path, &info) == 0 && S_ISDIR(info.st_mode))
    return PLA_OK;
  return pla_fail(err, PLA_ERR_IO, "the folder %s cannot be made (%s); choose another place", path,
                  strerror(errno));
}

PlaStatus
pla_output_set_remove(const char *path, PlaError *err)
{
  PlaOutputSet *root = outermost();
  if (root)
    return add_text(&root->obsolete, &root->n_obsolete, &root->obsolete_room, path, err);
  unlink(path);
  return PLA_OK;
}

PlaStatus
pla_output_set_interim(const char *path, const void *data, size_t size, PlaError *err)
{
  PlaOutputSet *root = outermost();
  int at;
  if (!root)
    return PLA_OK;
  PlaStatus st = find_stage(root, path, &at, err);
  if (st != PLA_OK)
    return st;
  Stage *stage = &root->stage[at];
  /* without hard links it would name files that move away while it is read */
  const bool links = write_inside(stage->fd, ".probe", "", 0) &&
                     linkat(stage->fd, ".probe", stage->fd, ".link", 0) == 0;
  unlinkat(stage->fd, ".probe", 0);
  unlinkat(stage->fd, ".link", 0);
  /* one list a folder: the others of a second series are renamed one by one */
  if (!links || stage->interim)
    return PLA_OK;
  if (!write_inside(stage->fd, ".interim", data, size))
    return pla_fail(err, PLA_ERR_IO, "%s cannot be written (%s); nothing was changed", path,
                    strerror(errno));
  stage->interim = pla_strdup(name_of(path));
  return stage->interim ? PLA_OK : pla_fail_memory(err, "output files");
}

const char *
pla_output_get_staged(const char *path)
{
  const Entry *entry = find_entry(outermost(), path);
  return entry ? entry->place : path;
}

const char *
pla_output_get_staging_name(const char *path)
{
  const PlaOutputSet *root = outermost();
  const Entry *entry = find_entry(outermost(), path);
  return entry ? name_of(root->stage[entry->stage].folder) : NULL;
}

PlaOutputSet *
pla_output_set_pause(void)
{
  PlaOutputSet *set = current;
  current = NULL;
  return set;
}

void
pla_output_set_resume(PlaOutputSet *set)
{
  current = set;
}
