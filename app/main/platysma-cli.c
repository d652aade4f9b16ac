/* platysma-cli: Platysma without a window. */
#include "app/cli/command.h"
#include "app/main/start-libraries.h"

int
main(int argc, char **argv)
{
  pla_start_libraries(argv);
  return pla_cli_main(argc, argv);
}
