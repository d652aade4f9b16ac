/* PlaError for callers that speak GError. */
#include "app/base/error.h"

#include <gio/gio.h>

G_DEFINE_QUARK(pla - error - quark, pla_error)

void
pla_error_to_gerror(const PlaError *err, GError **error)
{
  /* sentences may quote a file name of any encoding */
  g_autofree char *sentence = g_utf8_make_valid(err->message, -1);
  if (err->status == PLA_ERR_CANCELLED)
    g_set_error_literal(error, G_IO_ERROR, G_IO_ERROR_CANCELLED, sentence);
  else
    g_set_error_literal(error, PLA_ERROR, (int)err->status, sentence);
}
