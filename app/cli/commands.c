/* Every verb of platysma-cli, in the order shown by --help. */
#include "app/cli/cli-private.h"

static const PlaCommand *const commands[] = {
  &pla_command_info,
  &pla_command_convert,
  &pla_command_phantom,
  &pla_command_segment,
  &pla_command_surface,
  &pla_command_mesh,
  &pla_command_muscles,
  &pla_command_physemes,
  &pla_command_warp,
  &pla_command_register,
  &pla_command_fit,
  &pla_command_simulate,
  &pla_command_cut,
  &pla_command_operate,
  &pla_command_speak,
  &pla_command_speech_train,
  &pla_command_speech_eval,
  &pla_command_speech_corpus,
  &pla_command_case,
  &pla_command_report,
  &pla_command_demo,
  &pla_command_bench,
  NULL,
};

const PlaCommand *const *
pla_commands_get(void)
{
  return commands;
}
