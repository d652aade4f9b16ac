#include "io/sound-device.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int
pla_sound_hush(void)
{
  fflush(stderr);
  const int kept = dup(STDERR_FILENO), nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (kept >= 0 && nowhere >= 0)
    dup2(nowhere, STDERR_FILENO);
  if (nowhere >= 0)
    close(nowhere);
  return kept;
}

void
pla_sound_unhush(int kept)
{
  if (kept < 0)
    return;
  dup2(kept, STDERR_FILENO);
  close(kept);
}
