/* A first session on a patient, by mouse and keys alone, on the program itself: a scan is opened
 * from the welcome page, its tissues are found and meshed, a body is prepared and the first
 * incision made.  Then the program is killed.  The next start offers what was not saved, and
 * everything is there.
 *
 * PLA_SHOTS names a folder for a picture of every step. */
#include "tests/ui/remote.h"

#include <gio/gio.h>
#include <glib/gstdio.h>
#include <string.h>

enum { LONG = 1200 }; /* s; a guard against hanging, not a measure */

static char *home; /* of this test's files */

/* what platysma-cli says of a case */
static char *
ask_cli(const char *sub, const char *path)
{
  const char *const argv[] = { g_getenv("PLATYSMA_CLI"), "case", sub, path, NULL };
  g_autoptr(GError) error = NULL;
  char *said = NULL;
  g_autofree char *wrong = NULL;
  int status;
  if (!g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_DEFAULT, NULL, NULL, &said, &wrong, &status,
                    &error) ||
      !g_spawn_check_wait_status(status, &error))
    g_error("case %s: %s %s", sub, error->message, wrong ? wrong : "");
  return said;
}

/* the only case that is not saved */
static char *
unsaved_case(void)
{
  g_autofree char *folder = g_build_filename(home, "platysma", "unsaved", NULL);
  g_autoptr(GDir) listing = g_dir_open(folder, 0, NULL);
  char *found = NULL;
  for (const char *name; listing && (name = g_dir_read_name(listing));)
    if (g_str_has_suffix(name, ".platysma")) {
      g_assert_null(found);
      found = g_build_filename(folder, name, NULL);
    }
  g_assert_nonnull(found);
  return found;
}

static Remote *
start(void)
{
  const char *const argv[] = { g_getenv("PLATYSMA"), "--size", "1600x1000", NULL };
  Remote *user = remote_start(argv, g_getenv("PLA_SHOTS"));
  remote_wait(user, "label", "Open a Scan", 120);
  remote_settle(user, 120);
  return user;
}

static void
open_scan(Remote *user, const char *scan)
{
  remote_press(user, "label", "Open a Scan");
  remote_wait(user, NULL, "Open", 30);
  g_usleep(1500000);
  remote_type(user, scan); /* a slash begins the name of a file */
  remote_shoot(user, "open");
  remote_key(user, "Return");
  remote_wait(user, NULL, "ct-head (unsaved)", 120);
  remote_settle(user, LONG);
  remote_shoot(user, "scan");
}

/* around the head and back, with a look at the moving picture */
static void
turn(Remote *user, const char *name)
{
  const RemoteThing scene = remote_wait(user, NULL, "Three-dimensional view", 30);
  const int x = scene.x + scene.width / 2, y = scene.y + scene.height / 2;
  remote_move(user, x, y);
  remote_button(user, 1, TRUE);
  for (int i = 1; i <= 8; i++)
    remote_move(user, x + 12 * i, y + 4 * i);
  g_usleep(50000);
  remote_shoot(user, name);
  for (int i = 8; i >= 0; i--)
    remote_move(user, x + 12 * i, y + 4 * i);
  remote_button(user, 1, FALSE);
  remote_settle(user, 120);
}

static void
incise(Remote *user)
{
  remote_press(user, NULL, "Incise");
  remote_settle(user, 60);
  const RemoteThing scene = remote_wait(user, NULL, "Three-dimensional view", 30);
  /* on the cheek, as the head is seen from its left */
  static const double path[3][2] = { { 0.55, 0.66 }, { 0.60, 0.68 }, { 0.65, 0.69 } };
  for (int i = 0; i < 3; i++) {
    remote_click(user, scene.x + (int)(path[i][0] * scene.width),
                 scene.y + (int)(path[i][1] * scene.height));
    g_usleep(700000);
  }
  remote_settle(user, 120);
  remote_shoot(user, "line");
  remote_wait(user, NULL, "3 points", 10);
  remote_key(user, "Control_L+Shift_L+Return");
  remote_settle(user, LONG);
  remote_shoot(user, "incision");
}

static void
test_killed(void)
{
  g_autofree char *scan =
      g_test_build_filename(G_TEST_DIST, "..", "datasets", "cache", "ct-head.nii.gz", NULL);
  g_autofree char *whole = g_canonicalize_filename(scan, NULL);
  if (!g_file_test(whole, G_FILE_TEST_EXISTS)) {
    g_test_skip("after datasets/fetch-ct-head");
    return;
  }
  Remote *user = start();
  remote_shoot(user, "welcome");
  open_scan(user, whole);

  remote_press(user, NULL, "Anatomy");
  remote_press(user, "label", "Find Tissues");
  remote_wait(user, NULL, "Colour of soft tissue", LONG);
  remote_settle(user, LONG);
  remote_shoot(user, "tissues");
  turn(user, "turning-tissues");

  remote_press(user, NULL, "Mesh");
  remote_settle(user, 60);
  remote_shoot(user, "before-mesh");
  remote_press(user, "label", "Make Mesh");
  remote_wait(user, NULL, "Colour of soft tissue mesh", LONG);
  remote_settle(user, LONG);
  remote_shoot(user, "mesh");
  turn(user, "turning-mesh");

  remote_press(user, NULL, "Surgery");
  remote_settle(user, 60);
  /* coarser cells than offered: minutes instead of an hour on a busy machine */
  remote_press(user, NULL, "Cell size of the body");
  remote_key(user, "Control_L+a");
  remote_type(user, "5");
  remote_key(user, "Tab");
  remote_press(user, "label", "Prepare the Body");
  remote_wait(user, NULL, "Incise", LONG);
  remote_settle(user, LONG);
  remote_shoot(user, "body");
  remote_key(user, "Control_L+0");
  remote_settle(user, 60);
  incise(user);
  turn(user, "turning-body");

  remote_kill(user);
  g_autofree char *path = unsaved_case();
  g_autofree char *items = ask_cli("list", path);
  g_autofree char *log = ask_cli("log", path);
  g_free(ask_cli("verify", path));
  g_test_message("%s", items);
  g_test_message("%s", log);
  static const char *const there[] = { "ct-head", "soft tissue mesh" };
  for (size_t i = 0; i < G_N_ELEMENTS(there); i++)
    g_assert_nonnull(strstr(items, there[i]));
  static const char *const done[] = { "import", "segment", "mesh", "prepare-body", "operate" };
  for (size_t i = 0; i < G_N_ELEMENTS(done); i++)
    g_assert_nonnull(strstr(log, done[i]));

  user = start();
  remote_shoot(user, "again");
  remote_press(user, NULL, "Unsaved: ct-head");
  remote_wait(user, NULL, "ct-head (unsaved)", 120);
  remote_settle(user, LONG);
  remote_press(user, NULL, "Surgery");
  remote_settle(user, 120);
  remote_shoot(user, "restored");
  static const char *const seen[] = { "Colour of soft tissue", "Colour of bone", "Colour of airway",
                                      "Colour of soft tissue mesh", "Incise" };
  for (size_t i = 0; i < G_N_ELEMENTS(seen); i++)
    remote_wait(user, NULL, seen[i], 30);
  remote_press(user, NULL, "History");
  remote_settle(user, 60);
  remote_shoot(user, "history");
  remote_kill(user);
  g_autofree char *items_again = ask_cli("list", path);
  g_assert_cmpstr(items_again, ==, items);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  home = g_dir_make_tmp("platysma-user-XXXXXX", NULL);
  g_setenv("XDG_DATA_HOME", home, TRUE);
  g_setenv("XDG_STATE_HOME", home, TRUE);
  g_setenv("XDG_CACHE_HOME", home, TRUE);
  g_test_add_func("/ct-session/killed", test_killed);
  const int status = g_test_run();
  const char *const argv_rm[] = { "rm", "-rf", home, NULL };
  g_spawn_sync(NULL, (char **)argv_rm, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL, NULL,
               NULL);
  g_free(home);
  return status;
}
