/* The workstation program `platysma`: sets up OpenMP and starts the window. */
#include "app/main/start-libraries.h"
#include "ui/main/application.h"

int
main(int argc, char **argv)
{
  pla_start_libraries(argv);
  return pla_application_main(argc, argv);
}
