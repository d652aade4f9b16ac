/* `convert`: any volume, mesh, take, track or sound from one format into another. */
#include "app/cli/cli-private.h"
#include "io/formats/format.h"
#include "io/stream/output.h"

#include <string.h>

static PlaStatus
run_convert(PlaInvocation *inv, PlaError *err)
{
  PlaReadOptions read = pla_read_options_default();
  PlaWriteOptions write = pla_write_options_default();
  PlaItem item = { 0 }, again = { 0 };
  PlaProgress *progress = pla_invocation_progress(inv);
  const char *in = pla_invocation_file(inv, 0);
  const char *out =
      pla_invocation_n_files(inv) > 1 ? pla_invocation_file(inv, 1) : pla_invocation_output(inv);
  if (!out)
    return pla_fail(err, PLA_ERR_USAGE, "name the file to write after %s", in);

  read.progress = write.progress = progress;
  read.series = pla_invocation_int(inv, "series", -1);
  read.unit_mm = pla_invocation_number(inv, "unit-mm", 0.0);
  read.keep_identity = pla_invocation_has(inv, "keep-identity");
  write.nifti_version = pla_invocation_int(inv, "nifti", 0);
  write.big_endian = pla_invocation_has(inv, "big-endian");
  write.text = pla_invocation_has(inv, "text");
  write.uncompressed = pla_invocation_has(inv, "uncompressed");

  pla_progress_phase(progress, "Reading", 0.6);
  PlaStatus st = pla_item_read(in, &read, &item, err);
  pla_progress_phase(progress, "Writing", 0.9);
  if (st == PLA_OK)
    st = pla_item_write(out, &item, &write, err);
  for (int i = 0; st == PLA_OK && i < item.notes.n; i++)
    pla_say(inv, "note: %s", item.notes.text[i]);
  pla_item_clear(&item);

  /* what was written is what is described: read it back */
  read = pla_read_options_default();
  if (st == PLA_OK && pla_item_read(pla_output_get_staged(out), &read, &again, err) != PLA_OK) {
    /* the sentence tells where in the file, which waits under another name */
    const char *why = err && strstr(err->message, ": ") ? strstr(err->message, ": ") + 2 : "";
    g_autofree char *copy = g_strdup(why);
    st = pla_fail(
        err, PLA_ERR_FORMAT,
        "the output for %s cannot be read back (%s), so nothing was changed; choose another format",
        out, copy);
  }
  if (st == PLA_OK)
    st = pla_invocation_describe(inv, &again, err);
  pla_item_clear(&again);
  return st;
}

static const PlaOpt options[] = {
  { "series", 0, PLA_OPT_INT, "N", "which series of a DICOM folder, from 0", 0, 100000 },
  { "keep-identity", 0, PLA_OPT_FLAG, NULL, "keep identifying DICOM tags (default: dropped)" },
  { "unit-mm", 0, PLA_OPT_NUMBER, "U", "length unit of a mesh file, in mm (default: 1)", 1e-6,
    1e6 },
  { "nifti", 0, PLA_OPT_INT, "V", "NIfTI version to write, 1 or 2 (default: as read)", 1, 2 },
  { "big-endian", 0, PLA_OPT_FLAG, NULL, "write the high byte first where the format allows" },
  { "text", 0, PLA_OPT_FLAG, NULL, "write the text flavour of formats that have two" },
  { "uncompressed", 0, PLA_OPT_FLAG, NULL, "write VTU and VTP without compression" },
  { NULL },
};

const PlaCommand pla_command_convert = {
  .name = "convert",
  .args = "IN OUT",
  .summary = "converts any volume or mesh format into another",
  .description =
      "Reads IN in any supported format, also a DICOM folder or an InVesalius project (.inv3),\n"
      "and writes OUT in the format that its ending names.  Voxels, connectivity, fields and\n"
      "NIfTI affines are preserved bit for bit where both formats can store them.",
  .example = "platysma-cli convert scan-folder/ head.nii.gz",
  .min_files = 1,
  .max_files = 2,
  .options = options,
  .run = run_convert,
};
