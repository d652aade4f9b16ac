/* What must be in the environment before the libraries start. */
#pragma once

/* Starts the program anew with settings that OpenMP and OpenBLAS read only as they are loaded,
 * unless they are there already.  Returns where that is not needed or cannot be done. */
void pla_start_libraries(char **argv);
