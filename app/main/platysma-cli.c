/* platysma-cli: Platysma without a window. */
#include "app/cli/command.h"
#include "app/main/start-openmp.h"

int
main(int argc, char **argv)
{
  pla_start_openmp(argv);
  return pla_cli_main(argc, argv);
}
