/* A user for tests: the program runs as a process of its own, and is seen and touched as from
 * outside: what stands where is asked over the accessibility bus, the hand is the pointer and the
 * keys of the X server's test extension, the eye a picture of the screen. */
#pragma once

#include <glib.h>

typedef struct Remote Remote;

/* Starts a program on the display of this process, and waits for its window.  Pictures go to @shots
 * (NULL: none). */
Remote *remote_start(const char *const *argv, const char *shots);
/* Ends it as a crash would (SIGKILL), or waits for its end; then frees. */
void remote_kill(Remote *self);

/* Something that is on the screen, by the beginning of its name and its role ("button", ...; NULL:
 * any).
 */
typedef struct {
  int x, y, width, height; /* px of the screen */
  gboolean sensitive;
} RemoteThing;
gboolean remote_find(Remote *self, const char *role, const char *name, RemoteThing *thing);
/* The same, waited for; g_error() when it does not come within @seconds. */
RemoteThing remote_wait(Remote *self, const char *role, const char *name, int seconds);
/* Until nothing runs any more and the picture of the screen stands still. */
void remote_settle(Remote *self, int seconds);

void remote_press(Remote *self, const char *role,
                  const char *name); /* scrolls to it if it has to */
void remote_click(Remote *self, int x, int y);
void remote_move(Remote *self, int x, int y);
void remote_button(Remote *self, int button, gboolean down);
/* "Control_L+o", "Return", or a text to type. */
void remote_key(Remote *self, const char *keys);
void remote_type(Remote *self, const char *text);

/* A picture of the screen, numbered, where shots are kept. */
void remote_shoot(Remote *self, const char *name);
