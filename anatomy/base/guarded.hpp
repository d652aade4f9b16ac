/* For the C++ shims: exceptions end here and become a status with a sentence. */
#pragma once

extern "C" {
#include "anatomy/base/status.h"
}

#include <exception>
#include <new>

/* @what is being made: "the surface".  @work returns a PlaStatus. */
template <typename Work>
PlaStatus
pla_guarded(const char *what, PlaError *err, Work work)
{
  try {
    return work();
  } catch (const std::bad_alloc &) {
    return pla_fail_memory(err, what);
  } catch (const std::exception &e) {
    return pla_fail(err, PLA_ERR_UNSUPPORTED, "It was not possible to make %s: %s", what, e.what());
  }
}
