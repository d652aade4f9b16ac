/* Files of trained speech models. */
#pragma once

#include "sim/speech/speech-model.h"

/* @bits 32: weights as they are; 8: rounded to 1/127 of the largest in each row. */
PlaStatus pla_speech_net_write(const char *path, const PlaSpeechModel *model, int bits,
                               PlaError *err);
/* Everything is checked: a damaged or hostile file is a sentence. */
PlaStatus pla_speech_net_read(const char *path, PlaSpeechModel **out, PlaError *err);
/* The bytes of such a file; @name stands in sentences. */
PlaStatus pla_speech_net_read_memory(const char *name, const void *data, size_t size,
                                     PlaSpeechModel **out, PlaError *err);
/* The model that comes with Platysma. */
PlaStatus pla_speech_net_built_in(PlaSpeechModel **out, PlaError *err);
