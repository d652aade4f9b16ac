/* platysma-cli: Platysma without a window. */
#include "app/cli/verb.h"

int
main(int argc, char **argv)
{
  return pla_cli_main(argc, argv);
}
