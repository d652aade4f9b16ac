/* A forked process with limits, and the pipe to it. */
#include "io/stream/helper-process.h"

#include "anatomy/base/memory.h"
#include "anatomy/base/sanitizer.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
  PIPE_BYTES = 1 << 20, /* large enough that both sides rarely wait for each other */
  LOOK_MS = 50,         /* between two looks at cancel */
  EXIT_MS = 2000,       /* for the helper to vanish once its pipe is closed */
};

/* What the helper says at its end, in memory both processes share.  The caller trusts none of it.
 */
typedef struct {
  bool done;
  PlaError err;
} Report;

struct PlaHelper {
  char *what;
  pid_t pid;
  int fd; /* the pipe's reading end */
  Report *report;
  PlaProgress *progress;
  PlaHelperLimits limits;
  bool silent, cancelled, ended_early;
};

struct PlaHelperPipe {
  int fd;
};

PlaHelperLimits
pla_helper_limits_default(void)
{
  return (PlaHelperLimits){ .memory_bytes = (size_t)256 << 20, .cpu_s = 60, .silence_s = 60 };
}

/* ---- in the helper ---- */

/* bytes of address space in use */
static size_t
mapped_bytes(void)
{
  unsigned long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (file) {
    if (fscanf(file, "%lu", &pages) != 1)
      pages = 0;
    fclose(file);
  }
  return (size_t)pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void
limit(__rlimit_resource_t resource, rlim_t soft, rlim_t hard)
{
  struct rlimit now;
  if (getrlimit(resource, &now) == 0 && (now.rlim_max == RLIM_INFINITY || now.rlim_max >= hard))
    setrlimit(resource, &(struct rlimit){ soft, hard });
}

/* system calls that no parser needs: new files, changed names, programs, sockets, signals */
static const int forbidden_calls[] = {
/* clang-format off */
#ifdef SYS_fork /* the older calls, which newer machines lack */
  SYS_fork, SYS_vfork, SYS_creat, SYS_unlink, SYS_rename, SYS_mkdir, SYS_rmdir, SYS_link,
  SYS_symlink, SYS_mknod, SYS_chmod, SYS_chown, SYS_lchown,
#endif
#ifdef SYS_renameat
  SYS_renameat,
#endif
  SYS_clone, SYS_clone3, SYS_execve, SYS_execveat, SYS_socket, SYS_socketpair, SYS_connect,
  SYS_unlinkat, SYS_renameat2, SYS_mkdirat, SYS_linkat, SYS_symlinkat, SYS_mknodat, SYS_truncate,
  SYS_fchmodat, SYS_fchownat, SYS_setxattr, SYS_kill, SYS_ptrace, SYS_process_vm_readv,
  SYS_process_vm_writev, SYS_mount, SYS_umount2, SYS_openat2, SYS_io_uring_setup,
  SYS_memfd_create,
  /* clang-format on */
};

/* Has the kernel refuse them, and every open for writing.  Where it has no such filter, the other
 * limits must do. */
static void
forbid_system_calls(void)
{
#if defined(__x86_64__)
  const uint32_t arch = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
  const uint32_t arch = AUDIT_ARCH_AARCH64;
#else
  const uint32_t arch = 0; /* no filter known */
#endif
  enum { N = sizeof forbidden_calls / sizeof *forbidden_calls };
  const struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  const struct sock_filter refuse = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
  /* the flags of open and openat; lower half of a 64-bit argument on these little-endian machines
   */
  const struct {
    int call;
    uint32_t flags_at;
  } opens[] = {
#ifdef SYS_open
    { SYS_open, offsetof(struct seccomp_data, args[1]) },
#endif
    { SYS_openat, offsetof(struct seccomp_data, args[2]) },
  };
  struct sock_filter program[2 * N + 32];
  unsigned short n = 0;
#define STEP(...) program[n++] = (struct sock_filter)__VA_ARGS__
  STEP(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)));
  STEP(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, arch, 1, 0));
  program[n++] = refuse;
  STEP(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)));
  /* the second calling convention of x86-64 numbers its calls from here */
  STEP(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1));
  program[n++] = refuse;
  for (int i = 0; i < N; i++) {
    STEP(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)forbidden_calls[i], 0, 1));
    program[n++] = refuse;
  }
  for (size_t i = 0; i < sizeof opens / sizeof *opens; i++) {
    STEP(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)opens[i].call, 0, 4));
    STEP(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, opens[i].flags_at));
    STEP(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_WRONLY | O_RDWR | O_CREAT | O_TRUNC, 0, 1));
    program[n++] = refuse;
    program[n++] = allow;
  }
  program[n++] = allow;
#undef STEP
  if (arch != 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &(struct sock_fprog){ n, program });
}

/* takes the caller's files, signal handlers and powers away */
static void
confine(const PlaHelperLimits *limits)
{
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (int s = 1; s < NSIG; s++)
    if (!(PLA_SANITIZED && (s == SIGSEGV || s == SIGBUS || s == SIGFPE || s == SIGILL)))
      signal(s, SIG_DFL);
  signal(SIGINT, SIG_IGN); /* the caller decides what Ctrl-C means */
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);

  /* parsers chatter on standard error; a sanitizer's findings must be seen */
  int nothing = open("/dev/null", O_RDWR);
  if (nothing >= 0) {
    for (int fd = 0; fd <= (PLA_SANITIZED ? 1 : 2); fd++)
      dup2(nothing, fd);
    close(nothing);
  }

  limit(RLIMIT_CORE, 0, 0);
  limit(RLIMIT_FSIZE, 0, 0);
  limit(RLIMIT_CPU, (rlim_t)limits->cpu_s, (rlim_t)limits->cpu_s + 1); /* SIGXCPU, then SIGKILL */
  if (!PLA_SANITIZED) {
    rlim_t bytes = (rlim_t)(mapped_bytes() + limits->memory_bytes);
    limit(RLIMIT_AS, bytes, bytes);
  }
  forbid_system_calls();
}

/* the pipe's writing end becomes descriptor 3 and everything above goes */
static int
keep_only_descriptor(int fd)
{
  if (fd != 3 && dup2(fd, 3) != 3)
    _exit(3);
  syscall(SYS_close_range, 4u, ~0u, 0u);
  return 3;
}

bool
pla_helper_send(PlaHelperPipe *pipe, const void *data, size_t size)
{
  const char *at = data;
  while (size > 0) {
    ssize_t n = write(pipe->fd, at, size);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return false;
    at += n;
    size -= (size_t)n;
  }
  return true;
}

_Noreturn static void
run_helper(int fd, Report *report, const PlaHelperLimits *limits, PlaHelperFunc func,
           const void *job)
{
  PlaHelperPipe pipe = { .fd = keep_only_descriptor(fd) };
  confine(limits);
  PlaError err = { 0 };
  PlaStatus st = func(job, &pipe, &err);
  report->err = err;
  report->err.status = st;
  report->done = true;
  _exit(0);
}

/* ---- in the caller ---- */

static void
helper_free(PlaHelper *self)
{
  if (self->fd >= 0)
    close(self->fd);
  if (self->report != MAP_FAILED)
    munmap(self->report, sizeof *self->report);
  free(self->what);
  free(self);
}

PlaStatus
pla_helper_start(const char *what, PlaHelperFunc func, const void *job,
                 const PlaHelperLimits *limits, PlaProgress *progress, PlaHelper **out,
                 PlaError *err)
{
  int fds[2] = { -1, -1 };
  *out = NULL;
  PlaHelper *self = pla_array_new0(1, sizeof *self);
  if (!self)
    return pla_fail_memory(err, what);
  self->fd = -1;
  self->limits = *limits;
  self->progress = progress;
  self->what = pla_strdup(what);
  self->report =
      mmap(NULL, sizeof *self->report, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (!self->what || self->report == MAP_FAILED) {
    helper_free(self);
    return pla_fail_memory(err, what);
  }
  if (pipe2(fds, O_CLOEXEC) == 0) {
    self->fd = fds[0];
    fcntl(fds[1], F_SETPIPE_SZ, PIPE_BYTES); /* a smaller pipe is only slower */
    self->pid = fork();
    if (self->pid == 0)
      run_helper(fds[1], self->report, limits, func, job);
    int why = errno;
    close(fds[1]);
    errno = why;
  }
  if (self->fd < 0 || self->pid < 0) {
    int why = errno;
    helper_free(self);
    return pla_fail(err, PLA_ERR_IO,
                    "%s cannot be read: the system starts no helper process (%s); close other "
                    "programs",
                    what, strerror(why));
  }
  *out = self;
  return PLA_OK;
}

void
pla_helper_set_what(PlaHelper *self, const char *what)
{
  char *copy = pla_strdup(what);
  if (copy) { /* else the old name must do */
    free(self->what);
    self->what = copy;
  }
}

static int64_t
now_ms(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* up to @size bytes; 0 at the end, on silence and when cancelled */
static size_t
read_some(PlaHelper *self, void *data, size_t size)
{
  int64_t since = now_ms();
  while (!self->silent && !self->cancelled) {
    struct pollfd p = { .fd = self->fd, .events = POLLIN };
    if (poll(&p, 1, LOOK_MS) > 0) {
      ssize_t n = read(self->fd, data, size);
      if (n > 0)
        return (size_t)n;
      if (n == 0 || errno != EINTR)
        return 0;
    }
    self->cancelled = pla_progress_cancelled(self->progress);
    self->silent = now_ms() - since > (int64_t)self->limits.silence_s * 1000;
  }
  return 0;
}

bool
pla_helper_read(PlaHelper *self, void *data, size_t size)
{
  for (size_t done = 0; done < size;) {
    size_t n = read_some(self, (char *)data + done, size - done);
    if (n == 0) {
      self->ended_early = true;
      return false;
    }
    done += n;
  }
  return true;
}

/* wait status of the helper, which is killed when it does not end by itself */
static int
reap(PlaHelper *self, int patience_ms)
{
  int status = 0;
  int64_t since = now_ms();
  for (long pause_ns = 50000;; pause_ns = pause_ns < 5000000 ? pause_ns * 2 : pause_ns) {
    pid_t pid = waitpid(self->pid, &status, WNOHANG);
    if (pid == self->pid)
      return status;
    if (pid < 0 && errno != EINTR)
      return 0; /* somebody else took it; the report tells the rest */
    if (now_ms() - since >= patience_ms)
      kill(self->pid, SIGKILL);
    nanosleep(&(struct timespec){ 0, pause_ns }, NULL);
  }
}

PlaStatus
pla_helper_finish(PlaHelper *self, PlaError *err)
{
  /* what it still sends is nobody's; the end of the pipe is its end */
  char rest[4096];
  while (!self->ended_early && read_some(self, rest, sizeof rest) > 0)
    ;
  int status = reap(self, self->silent || self->cancelled ? 0 : EXIT_MS);

  PlaStatus st;
  if (self->cancelled) {
    st = pla_fail_cancelled(err);
  } else if (self->silent) {
    st = pla_fail(err, PLA_ERR_FORMAT,
                  "decoding %s makes no progress; the file is damaged, copy it again", self->what);
  } else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU) {
    st = pla_fail(err, PLA_ERR_FORMAT,
                  "%s needs more than %d s to decode; it is damaged, copy it again", self->what,
                  self->limits.cpu_s);
  } else if (status != 0 || !self->report->done) {
    st = pla_fail(err, PLA_ERR_FORMAT,
                  "the decoder failed on %s; the file is damaged, copy it again", self->what);
  } else {
    /* a sentence from over there is data like any other */
    PlaError said = self->report->err;
    said.message[sizeof said.message - 1] = '\0';
    st = said.status;
    if ((int)st < PLA_OK || st > PLA_ERR_CANCELLED)
      st = PLA_ERR_FORMAT;
    if (st != PLA_OK && said.message[0])
      pla_fail(err, st, "%s", said.message);
    else if (st != PLA_OK || self->ended_early)
      st = pla_fail(err, st == PLA_OK ? PLA_ERR_FORMAT : st,
                    "%s ends before all of it was decoded; copy it again", self->what);
  }
  helper_free(self);
  return st;
}

void
pla_helper_abandon(PlaHelper *self)
{
  if (!self)
    return;
  reap(self, 0);
  helper_free(self);
}
