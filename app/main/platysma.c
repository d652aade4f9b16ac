/* The workstation. */
#include "app/main/settle.h"
#include "ui/application.h"

int
main(int argc, char **argv)
{
  pla_settle_environment(argv);
  return pla_application_main(argc, argv);
}
