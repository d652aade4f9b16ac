/* Writes DICOM files for tests, through GDCM. */
#include "tests/io/dicom-writer.h"

#include <gdcmImageChangeTransferSyntax.h>
#include <gdcmImageReader.h>
#include <gdcmImageWriter.h>
#include <gdcmItem.h>
#include <gdcmSequenceOfItems.h>
#include <gdcmWriter.h>
#include <glib.h>

#include <cstring>
#include <string>
#include <vector>

namespace
{

void
put(gdcm::DataSet &set, uint16_t group, uint16_t element, gdcm::VR::VRType vr,
    const std::string &text)
{
  std::string even = text;
  if (even.size() % 2)
    even += vr == gdcm::VR::UI ? '\0' : ' ';
  gdcm::DataElement de(gdcm::Tag(group, element));
  de.SetVR(vr);
  de.SetByteValue(even.data(), static_cast<uint32_t>(even.size()));
  set.Replace(de);
}

void
put_short(gdcm::DataSet &set, uint16_t element, int value)
{
  const uint16_t number = static_cast<uint16_t>(value);
  gdcm::DataElement de(gdcm::Tag(0x0028, element));
  de.SetVR(gdcm::VR::US);
  de.SetByteValue(reinterpret_cast<const char *>(&number), sizeof number);
  set.Replace(de);
}

std::string
decimals(const double *value, int n)
{
  std::string text;
  char number[G_ASCII_DTOSTR_BUF_SIZE];
  for (int i = 0; i < n; i++) {
    g_ascii_formatd(number, sizeof number, "%.10g", value[i]); /* at most 16 characters allowed */
    text += (i ? "\\" : "") + std::string(number);
  }
  return text;
}

void
put_sequence(gdcm::DataSet &set, uint16_t group, uint16_t element,
             const std::vector<gdcm::DataSet> &items)
{
  gdcm::SmartPointer<gdcm::SequenceOfItems> sequence = new gdcm::SequenceOfItems;
  sequence->SetLengthToUndefined();
  for (const gdcm::DataSet &data : items) {
    gdcm::Item item;
    item.SetVLToUndefined();
    item.SetNestedDataSet(data);
    sequence->AddItem(item);
  }
  gdcm::DataElement de(gdcm::Tag(group, element));
  de.SetVR(gdcm::VR::SQ);
  de.SetValue(*sequence);
  de.SetVLToUndefined();
  set.Replace(de);
}

/* place and scale as a classic slice has them */
void
put_plane(gdcm::DataSet &set, const TestDicom &s)
{
  put(set, 0x0020, 0x0032, gdcm::VR::DS, decimals(s.position, 3));
  put(set, 0x0020, 0x0037, gdcm::VR::DS, decimals(s.orientation, 6));
  put(set, 0x0028, 0x0030, gdcm::VR::DS, decimals(s.pixel_spacing, 2));
  if (s.slope != 0.0) {
    put(set, 0x0028, 0x1053, gdcm::VR::DS, decimals(&s.slope, 1));
    put(set, 0x0028, 0x1052, gdcm::VR::DS, decimals(&s.inter, 1));
  }
}

/* the same in the functional groups of an enhanced file */
void
put_functional_groups(gdcm::DataSet &set, const TestDicom &s)
{
  gdcm::DataSet orientation, measures, transform, shared;
  put(orientation, 0x0020, 0x0037, gdcm::VR::DS, decimals(s.orientation, 6));
  put(measures, 0x0028, 0x0030, gdcm::VR::DS, decimals(s.pixel_spacing, 2));
  put_sequence(shared, 0x0020, 0x9116, { orientation });
  put_sequence(shared, 0x0028, 0x9110, { measures });
  if (s.slope != 0.0) {
    put(transform, 0x0028, 0x1053, gdcm::VR::DS, decimals(&s.slope, 1));
    put(transform, 0x0028, 0x1052, gdcm::VR::DS, decimals(&s.inter, 1));
    put_sequence(shared, 0x0028, 0x9145, { transform });
  }
  put_sequence(set, 0x5200, 0x9229, { shared });
  std::vector<gdcm::DataSet> frames;
  for (int f = 0; f < s.n_frames; f++) {
    double at[3];
    for (int d = 0; d < 3; d++)
      at[d] = s.position[d] + (s.frames_reversed ? s.n_frames - 1 - f : f) * s.frame_step[d];
    gdcm::DataSet place, frame;
    put(place, 0x0020, 0x0032, gdcm::VR::DS, decimals(at, 3));
    put_sequence(frame, 0x0020, 0x9113, { place });
    frames.push_back(frame);
  }
  put_sequence(set, 0x5200, 0x9230, frames);
}

gdcm::TransferSyntax::TSType
syntax_of(TestDicomSyntax syntax)
{
  switch (syntax) {
  case TEST_DICOM_IMPLICIT:
    return gdcm::TransferSyntax::ImplicitVRLittleEndian;
  case TEST_DICOM_BIG_ENDIAN:
    return gdcm::TransferSyntax::ExplicitVRBigEndian;
  case TEST_DICOM_DEFLATED:
    return gdcm::TransferSyntax::DeflatedExplicitVRLittleEndian;
  case TEST_DICOM_RLE:
    return gdcm::TransferSyntax::RLELossless;
  case TEST_DICOM_JPEG_LOSSLESS:
    return gdcm::TransferSyntax::JPEGLosslessProcess14_1;
  case TEST_DICOM_JPEG_LS:
    return gdcm::TransferSyntax::JPEGLSLossless;
  case TEST_DICOM_JPEG_2000:
    return gdcm::TransferSyntax::JPEG2000Lossless;
  default:
    return gdcm::TransferSyntax::ExplicitVRLittleEndian;
  }
}

/* packs the pixels of a plain file in place */
void
change_syntax(const char *path, TestDicomSyntax syntax)
{
  gdcm::ImageReader reader;
  reader.SetFileName(path);
  g_assert_true(reader.Read());
  gdcm::ImageChangeTransferSyntax change;
  change.SetTransferSyntax(syntax_of(syntax));
  change.SetInput(reader.GetImage());
  g_assert_true(change.Change());
  gdcm::ImageWriter writer;
  writer.SetFile(reader.GetFile());
  writer.SetImage(change.GetOutput());
  writer.SetFileName(path);
  g_assert_true(writer.Write());
}

} // namespace

void
test_dicom_write(const char *path, const TestDicom *spec)
{
  const TestDicom &s = *spec;
  const int frames = s.n_frames > 1 ? s.n_frames : 1, samples = s.samples ? s.samples : 1;
  const std::string root = "1.2.826.0.1.3680043.10.1338.";
  const std::string instance = root + std::to_string(s.series) + "." + std::to_string(s.instance);
  const bool packed = s.syntax >= TEST_DICOM_RLE;

  gdcm::Writer writer;
  gdcm::File &file = writer.GetFile();
  gdcm::DataSet &set = file.GetDataSet();
  put(set, 0x0008, 0x0016, gdcm::VR::UI,
      s.without_pixels ? "1.2.840.10008.5.1.4.1.1.88.11"
      : frames > 1     ? "1.2.840.10008.5.1.4.1.1.2.1"
                       : "1.2.840.10008.5.1.4.1.1.2");
  put(set, 0x0008, 0x0018, gdcm::VR::UI, instance);
  put(set, 0x0008, 0x0008, gdcm::VR::CS, "ORIGINAL\\PRIMARY\\AXIAL");
  put(set, 0x0008, 0x0060, gdcm::VR::CS, s.without_pixels ? "SR" : "CT");
  put(set, 0x0020, 0x000d, gdcm::VR::UI, root + "99");
  put(set, 0x0020, 0x000e, gdcm::VR::UI, root + std::to_string(s.series));
  put(set, 0x0020, 0x0011, gdcm::VR::IS, std::to_string(s.series));
  put(set, 0x0020, 0x0013, gdcm::VR::IS, std::to_string(s.instance));
  put(set, 0x0018, 0x1210, gdcm::VR::SH, "H30s");

  /* everything that could identify somebody */
  if (s.patient) {
    const struct {
      uint16_t group, element;
      gdcm::VR::VRType vr;
    } tags[] = {
      { 0x0010, 0x0010, gdcm::VR::PN }, { 0x0010, 0x0020, gdcm::VR::LO },
      { 0x0010, 0x1040, gdcm::VR::LO }, { 0x0010, 0x4000, gdcm::VR::LT },
      { 0x0008, 0x0050, gdcm::VR::SH }, { 0x0008, 0x0080, gdcm::VR::LO },
      { 0x0008, 0x0090, gdcm::VR::PN }, { 0x0008, 0x1030, gdcm::VR::LO },
      { 0x0008, 0x103e, gdcm::VR::LO },
    };
    for (const auto &t : tags)
      put(set, t.group, t.element, t.vr, s.patient);
  }

  if (!s.without_pixels) {
    put_short(set, 0x0002, samples);
    put(set, 0x0028, 0x0004, gdcm::VR::CS, samples == 3 ? "RGB" : "MONOCHROME2");
    if (samples == 3)
      put_short(set, 0x0006, 0);
    put_short(set, 0x0010, s.rows);
    put_short(set, 0x0011, s.columns);
    put_short(set, 0x0100, s.bits_allocated);
    put_short(set, 0x0101, s.bits_stored);
    put_short(set, 0x0102, s.bits_stored - 1);
    put_short(set, 0x0103, s.is_signed);
    if (frames > 1) {
      put(set, 0x0028, 0x0008, gdcm::VR::IS, std::to_string(frames));
      put_functional_groups(set, s);
    } else {
      put_plane(set, s);
    }
    const size_t bytes = static_cast<size_t>(s.columns) * static_cast<size_t>(s.rows) *
                         static_cast<size_t>(frames * samples * s.bits_allocated / 8);
    std::vector<char> pixels(bytes + bytes % 2);
    std::memcpy(pixels.data(), s.pixels, bytes);
    gdcm::DataElement de(gdcm::Tag(0x7fe0, 0x0010));
    de.SetVR(s.bits_allocated > 8 || s.syntax == TEST_DICOM_IMPLICIT ? gdcm::VR::OW : gdcm::VR::OB);
    de.SetByteValue(pixels.data(), static_cast<uint32_t>(pixels.size()));
    set.Replace(de);
  }
  file.GetHeader().SetDataSetTransferSyntax(packed ? gdcm::TransferSyntax::ExplicitVRLittleEndian
                                                   : syntax_of(s.syntax));
  writer.SetFileName(path);
  g_assert_true(writer.Write());
  if (packed)
    change_syntax(path, s.syntax);
}
