/* Every verb of platysma-cli, in the order shown by --help. */
#include "app/cli/cli-private.h"

static const PlaVerb *const verbs[] = {
  &pla_verb_info,
  &pla_verb_convert,
  &pla_verb_phantom,
  &pla_verb_segment,
  &pla_verb_surface,
  &pla_verb_mesh,
  &pla_verb_muscles,
  &pla_verb_physemes,
  &pla_verb_warp,
  &pla_verb_register,
  &pla_verb_fit,
  &pla_verb_simulate,
  &pla_verb_cut,
  &pla_verb_operate,
  &pla_verb_speak,
  &pla_verb_speech_train,
  &pla_verb_speech_eval,
  &pla_verb_speech_corpus,
  &pla_verb_case,
  &pla_verb_report,
  &pla_verb_demo,
  &pla_verb_bench,
  NULL,
};

const PlaVerb *const *
pla_verbs_get(void)
{
  return verbs;
}
