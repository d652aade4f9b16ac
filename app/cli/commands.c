/* The table of commands, from the list in cli-private.h. */
#include "app/cli/cli-private.h"

#define COMMAND_ROW(name) &pla_command_##name,
static const PlaCommand *const commands[] = { PLA_COMMANDS(COMMAND_ROW) NULL };

const PlaCommand *const *
pla_commands_get(void)
{
  return commands;
}
