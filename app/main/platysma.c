/* The workstation. */
#include "ui/application.h"

int
main(int argc, char **argv)
{
  return pla_application_main(argc, argv);
}
