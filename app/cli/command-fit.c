/* `fit` from file to file; residuals and strengths are tables of their own. */
#include "app/base/csv.h"
#include "app/cli/body-input.h"
#include "app/cli/cli-private.h"
#include "app/verbs/verbs.h"
#include "io/stream/output.h"

#include <math.h>
#include <string.h>

/* frame, marker, residual, weight */
static PlaStatus
write_residuals(const char *path, const PlaTrack *track, PlaError *err)
{
  g_autoptr(GString) text = g_string_new("frame,marker,dx_mm,dy_mm,dz_mm,weight\n");
  for (int f = 0; f < track->n_samples; f++)
    for (int c = 0; c < track->n_channels; c += PLA_RESIDUAL_PARTS) {
      const double *value = track->value + (size_t)f * (size_t)track->n_channels + c;
      char number[PLA_RESIDUAL_PARTS][G_ASCII_DTOSTR_BUF_SIZE];
      if (!isfinite(value[0]))
        continue;
      for (int d = 0; d < PLA_RESIDUAL_PARTS; d++)
        g_ascii_formatd(number[d], sizeof number[d], d < 3 ? "%.5f" : "%.4f", value[d]);
      /* the channel is called "MARKER dx" */
      g_autofree char *marker = g_strndup(track->name[c], strlen(track->name[c]) - strlen(" dx"));
      g_string_append_printf(text, "%d,", f + 1);
      pla_csv_put(text, marker);
      g_string_append_printf(text, ",%s,%s,%s,%s\n", number[0], number[1], number[2], number[3]);
    }
  return pla_output_write(path, text->str, text->len, err);
}

static void
add_row(GString *text, const char *name, double value, double error)
{
  char number[2][G_ASCII_DTOSTR_BUF_SIZE];
  pla_csv_put(text, name);
  g_string_append_printf(text, ",%s,%s\n",
                         g_ascii_formatd(number[0], sizeof number[0], "%.5f", value),
                         g_ascii_formatd(number[1], sizeof number[1], "%.5f", error));
}

static PlaStatus
write_strengths(const char *path, JsonObject *found, PlaError *err)
{
  g_autoptr(GString) text = g_string_new("muscle,strength,expected_error\n");
  JsonArray *list = json_object_has_member(found, "strengths")
                        ? json_object_get_array_member(found, "strengths")
                        : NULL;
  for (guint i = 0; list && i < json_array_get_length(list); i++) {
    JsonObject *one = json_array_get_object_element(list, i);
    add_row(text, json_object_get_string_member(one, "name"),
            json_object_get_double_member(one, "strength"),
            json_object_get_double_member(one, "expected_error"));
  }
  if (json_object_has_member(found, "stiffness"))
    add_row(text, "flesh stiffness", json_object_get_double_member(found, "stiffness"),
            json_object_get_double_member(found, "stiffness_expected_error"));
  return pla_output_write(path, text->str, text->len, err);
}

static PlaStatus
write_tables(PlaInvocation *inv, const PlaWork *work, const char *option, const char *path,
             bool *done, void *data, PlaError *err)
{
  (void)data;
  if (option) {
    const PlaContent *made = pla_work_get_made(work, "residuals");
    *done = true;
    return made ? write_residuals(path, made->track, err) : PLA_OK;
  }
  *done = pla_invocation_has(inv, "activations");
  return *done ? write_strengths(path, pla_work_get_found(work), err) : PLA_OK;
}

static PlaStatus
run_fit(PlaInvocation *inv, PlaError *err)
{
  return pla_run_verb_with(inv, &pla_verb_fit, &(PlaVerbRun){ .write = write_tables }, err);
}

static const PlaOpt options[] = { PLA_BODY_OPTIONS, { NULL } };

const PlaCommand pla_command_fit = {
  .name = "fit",
  .args = "MODEL MARKERS -o ACTIVATIONS.csv",
  .summary = "finds muscle activations, jaw and head motion from markers",
  .description =
      "MODEL is a case with muscles, or phantom:face (79 marker sites), phantom:tongue (22) or\n"
      "phantom:arm.  MARKERS is a C3D, TRC or CSV file.  Markers are matched by name, or by\n"
      "their position in a rest frame when names are unknown.  Another length unit, exchanged\n"
      "markers, markers that stand still and dropped frames are repaired and reported.\n\n"
      "Every frame is an equilibrium of the body, so single outliers do not distort it.\n"
      "Activations lie in 0..1.  Muscles that the markers do not determine are reported as not\n"
      "identifiable, with their posterior deviation at the noise of the take.\n\n"
      "With --activations the body is fitted instead: strengths of the muscles, or the\n"
      "stiffness of the flesh, as factors on the values of the model.  Without an external\n"
      "force only their ratio is determined: when both are fitted, the mean strength stays\n"
      "about 1, and the posterior deviation of the stiffness is large.\n\n"
      "Standard elements are too stiff, so activations come out 1.3 to 3.3 times too large.\n"
      "With --formulation mixed they are 0.7 to 1.3 times the true ones on the whole, in three\n"
      "to four times the time.  Use it where amounts matter, and for the motion that is made\n"
      "of them, too.",
  .example = "platysma-cli fit phantom:face take.c3d -o activations.csv --hold-out 10",
  .min_files = 2,
  .max_files = 2,
  .needs_output = true,
  .options = options,
  .verb = &pla_verb_fit,
  .run = run_fit,
};
