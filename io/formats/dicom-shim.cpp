/* GDCM behind plain C: headers and pixels of one DICOM file. */
#include "io/formats/dicom-shim.h"

#include <gdcmBoxRegion.h>
#include <gdcmImageReader.h>
#include <gdcmImageRegionReader.h>
#include <gdcmMediaStorage.h>
#include <gdcmReader.h>
#include <gdcmSequenceOfItems.h>
#include <gdcmTrace.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <new>
#include <string>
#include <vector>

namespace
{

enum { MAX_FRAMES = 1 << 16 };

const gdcm::Tag PIXEL_DATA(0x7fe0, 0x0010);

/* the raw value of an element without padding; empty when absent */
std::string
text_of(const gdcm::DataSet &set, uint16_t group, uint16_t element)
{
  const gdcm::Tag tag(group, element);
  if (!set.FindDataElement(tag))
    return {};
  const gdcm::ByteValue *value = set.GetDataElement(tag).GetByteValue();
  if (!value || !value->GetPointer())
    return {};
  std::string text(value->GetPointer(), value->GetLength());
  text.resize(std::strlen(text.c_str()));
  const size_t first = text.find_first_not_of(' '), last = text.find_last_not_of(' ');
  return first == std::string::npos ? std::string() : text.substr(first, last - first + 1);
}

/* component @i of a value in which backslashes part the components */
std::string
component(const std::string &text, int i)
{
  size_t from = 0;
  for (; i > 0; i--) {
    from = text.find('\\', from);
    if (from == std::string::npos)
      return {};
    from++;
  }
  return text.substr(from, text.find('\\', from) - from);
}

/* exactly @n decimal numbers; false leaves @out as it was */
bool
numbers_of(const gdcm::DataSet &set, uint16_t group, uint16_t element, int n, double *out)
{
  const std::string text = text_of(set, group, element);
  std::vector<double> value(static_cast<size_t>(n));
  for (int i = 0; i < n; i++) {
    const std::string word = component(text, i);
    const char *at = word.c_str(), *end = at + word.size();
    while (at < end && (*at == ' ' || *at == '+'))
      at++;
    const std::from_chars_result got = std::from_chars(at, end, value[static_cast<size_t>(i)]);
    if (got.ec != std::errc() || !std::isfinite(value[static_cast<size_t>(i)]))
      return false;
  }
  std::copy(value.begin(), value.end(), out);
  return true;
}

int
whole_number_of(const gdcm::DataSet &set, uint16_t group, uint16_t element, int otherwise)
{
  double value;
  return numbers_of(set, group, element, 1, &value) && std::fabs(value) < 2e9
             ? static_cast<int>(value)
             : otherwise;
}

/* a 16-bit binary value, which GDCM has put into native byte order */
int
short_of(const gdcm::DataSet &set, uint16_t element, int otherwise)
{
  const gdcm::Tag tag(0x0028, element);
  if (!set.FindDataElement(tag))
    return otherwise;
  const gdcm::ByteValue *value = set.GetDataElement(tag).GetByteValue();
  uint16_t number;
  if (!value || !value->GetPointer() || value->GetLength() < sizeof number)
    return otherwise;
  std::memcpy(&number, value->GetPointer(), sizeof number);
  return number;
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

/* plain printable ASCII only, so that nothing odd reaches a terminal or a label */
template <size_t N>
void
copy_word(char (&out)[N], const std::string &text)
{
  size_t n = 0;
  for (char c : text)
    if (n + 1 < N && c >= ' ' && c <= '~')
      out[n++] = c;
  out[n] = '\0';
}

using Sequence = gdcm::SmartPointer<gdcm::SequenceOfItems>;

/* sequence (group, element) of @set; null when there is none */
Sequence
sequence_of(const gdcm::DataSet &set, uint16_t group, uint16_t element)
{
  const gdcm::Tag tag(group, element);
  return set.FindDataElement(tag) ? set.GetDataElement(tag).GetValueAsSQ() : Sequence();
}

/* item @i of @sequence, counted from 0, or nullptr; lives as long as the sequence */
const gdcm::DataSet *
item_of(const Sequence &sequence, size_t i)
{
  return sequence && i < sequence->GetNumberOfItems() ? &sequence->GetItem(i + 1).GetNestedDataSet()
                                                      : nullptr;
}

/* what a data set, or the functional groups of a frame, say about place and scale */
void
read_plane(const gdcm::DataSet &set, PlaDicomFrame &f)
{
  f.has_position |= numbers_of(set, 0x0020, 0x0032, 3, f.position);
  f.has_orientation |= numbers_of(set, 0x0020, 0x0037, 6, f.orientation);
  f.has_pixel_spacing |= numbers_of(set, 0x0028, 0x0030, 2, f.pixel_spacing);
  if (!numbers_of(set, 0x0018, 0x0088, 1, &f.slice_step) && f.slice_step == 0.0)
    numbers_of(set, 0x0018, 0x0050, 1, &f.slice_step);
  numbers_of(set, 0x0028, 0x1053, 1, &f.slope);
  numbers_of(set, 0x0028, 0x1052, 1, &f.inter);
}

void
read_functional_groups(const gdcm::DataSet &groups, PlaDicomFrame &f)
{
  const uint16_t sequences[][2] = {
    { 0x0020, 0x9113 }, /* plane position */
    { 0x0020, 0x9116 }, /* plane orientation */
    { 0x0028, 0x9110 }, /* pixel measures */
    { 0x0028, 0x9145 }, /* pixel value transformation */
  };
  for (const auto &s : sequences) {
    const Sequence sequence = sequence_of(groups, s[0], s[1]);
    if (const gdcm::DataSet *item = item_of(sequence, 0))
      read_plane(*item, f);
  }
}

void
read_common(const gdcm::DataSet &set, bool keep_identity, PlaDicomFrame &f)
{
  copy_word(f.series_uid, text_of(set, 0x0020, 0x000e));
  copy_word(f.instance_uid, text_of(set, 0x0008, 0x0018));
  copy_word(f.modality, text_of(set, 0x0008, 0x0060));
  copy_word(f.kernel, component(text_of(set, 0x0018, 0x1210), 0));
  copy_word(f.image_type, component(text_of(set, 0x0008, 0x0008), 2));
  if (keep_identity) {
    const uint16_t tags[][2] = { { 0x0010, 0x0010 }, { 0x0010, 0x0020 }, { 0x0010, 0x0030 },
                                 { 0x0008, 0x0020 }, { 0x0008, 0x1030 }, { 0x0008, 0x103e } };
    std::string all;
    for (const auto &t : tags) {
      const std::string text = text_of(set, t[0], t[1]);
      all += (all.empty() || text.empty() ? "" : ", ") + text;
    }
    copy_word(f.identity, all);
  }
  f.series_number = whole_number_of(set, 0x0020, 0x0011, 0);
  f.images_in_acquisition = whole_number_of(set, 0x0020, 0x1002, 0);
  f.rows = short_of(set, 0x0010, 0);
  f.columns = short_of(set, 0x0011, 0);
  f.samples = short_of(set, 0x0002, 1);
  f.bits_allocated = short_of(set, 0x0100, 0);
  f.bits_stored = short_of(set, 0x0101, f.bits_allocated);
  f.high_bit = short_of(set, 0x0102, f.bits_stored - 1);
  f.is_signed = short_of(set, 0x0103, 0) == 1;
  const std::string photometric = text_of(set, 0x0028, 0x0004);
  f.is_inverted = photometric == "MONOCHROME1";
  f.is_grey = f.is_inverted || photometric == "MONOCHROME2" || photometric.empty();
  f.is_lossy = text_of(set, 0x0028, 0x2110) == "01";
  f.has_lookup_table = set.FindDataElement(gdcm::Tag(0x0028, 0x3000));
  f.slope = 1.0;
}

PlaStatus
damaged_header(const char *path, PlaError *err)
{
  return pla_fail(err, PLA_ERR_FORMAT,
                  "%s: the DICOM header is damaged or ends early; copy the file again", path);
}

/* A file that ends when it was gone through too often.  Where lengths of nested sequences are
 * damaged, GDCM goes back and tries again at every level: a file of 2 kB took 1.6 million seeks. An
 * element has 8 bytes at least, and a few seeks. */
class HeaderFile : public std::filebuf
{
public:
  explicit HeaderFile(const char *path)
  {
    std::error_code none;
    const uintmax_t size = std::filesystem::file_size(path, none);
    left = none ? 0 : 10000 + 4 * size;
    open(path, std::ios::in | std::ios::binary);
  }

protected:
  pos_type
  seekoff(off_type off, std::ios_base::seekdir way, std::ios_base::openmode which) override
  {
    return spend() ? std::filebuf::seekoff(off, way, which) : pos_type(off_type(-1));
  }
  pos_type
  seekpos(pos_type to, std::ios_base::openmode which) override
  {
    return spend() ? std::filebuf::seekpos(to, which) : pos_type(off_type(-1));
  }
  int_type
  underflow() override
  {
    return left > 0 ? std::filebuf::underflow() : traits_type::eof();
  }
  std::streamsize
  xsgetn(char *to, std::streamsize n) override
  {
    return left > 0 ? std::filebuf::xsgetn(to, n) : 0;
  }

private:
  bool
  spend()
  {
    left -= left > 0;
    return left > 0;
  }
  uintmax_t left; /* seeks */
};

PlaStatus
frames_of(const char *path, bool keep_identity, std::vector<PlaDicomFrame> &out, PlaError *err)
{
  HeaderFile file(path);
  std::istream stream(&file);
  gdcm::Reader reader;
  reader.SetStream(stream);
  if (!file.is_open() || !reader.ReadUpToTag(PIXEL_DATA))
    return damaged_header(path, err);
  const gdcm::DataSet &set = reader.GetFile().GetDataSet();
  const gdcm::TransferSyntax &syntax = reader.GetFile().GetHeader().GetDataSetTransferSyntax();

  PlaDicomFrame f = {};
  read_common(set, keep_identity, f);
  f.is_packed =
      syntax.IsEncapsulated() || syntax == gdcm::TransferSyntax::DeflatedExplicitVRLittleEndian;
  if (f.rows == 0 || f.columns == 0 || f.series_uid[0] == '\0') {
    /* reports, directories and the like have no picture; a slice without one is damaged */
    gdcm::MediaStorage kind;
    kind.SetFromFile(reader.GetFile());
    return gdcm::MediaStorage::IsImage(kind) ? damaged_header(path, err) : PLA_OK;
  }
  read_plane(set, f);
  f.n_frames = whole_number_of(set, 0x0028, 0x0008, 1);
  if (f.n_frames < 1 || f.n_frames > MAX_FRAMES)
    return pla_fail(err, PLA_ERR_FORMAT,
                    "%s: a DICOM file cannot hold %d frames; copy the file again", path,
                    f.n_frames);

  /* enhanced CT and MR: groups shared by all frames, then those of each frame */
  const Sequence shared = sequence_of(set, 0x5200, 0x9229);
  const Sequence frames = sequence_of(set, 0x5200, 0x9230);
  if (const gdcm::DataSet *groups = item_of(shared, 0))
    read_functional_groups(*groups, f);
  for (f.frame = 0; f.frame < f.n_frames; f.frame++) {
    PlaDicomFrame one = f;
    if (f.n_frames > 1)
      one.has_position = 0; /* one place cannot be that of several frames */
    if (const gdcm::DataSet *groups = item_of(frames, static_cast<size_t>(f.frame)))
      read_functional_groups(*groups, one);
    out.push_back(one);
  }
  return PLA_OK;
}

/* Whether the packed pixels that begin at byte @start go on to their closing mark.  GDCM fills up
 * what is missing. */
bool
fragments_are_whole(const char *path, size_t start)
{
  std::ifstream file(path, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(start));
  for (unsigned char head[8]; file.read(reinterpret_cast<char *>(head), 8);) {
    const uint32_t tag =
        head[0] | head[1] << 8 | head[2] << 16 | static_cast<uint32_t>(head[3]) << 24;
    const uint32_t length =
        head[4] | head[5] << 8 | head[6] << 16 | static_cast<uint32_t>(head[7]) << 24;
    if (tag == 0xe0ddfffe)
      return true;
    if (tag != 0xe000fffe)
      return false;
    file.seekg(static_cast<std::streamoff>(length), std::ios::cur);
  }
  return false;
}

PlaStatus
pixels_of(const char *path, const int *frame, int n, size_t frame_bytes, PlaDicomSink sink,
          void *data, PlaError *err)
{
  const auto damaged = [&] {
    return pla_fail(
        err, PLA_ERR_FORMAT,
        "%s: the pixels are damaged, end early or are packed in an unknown way; copy the "
        "file again",
        path);
  };

  /* plain frames are read one at a time, so that a large file needs little memory */
  gdcm::ImageRegionReader region;
  region.SetFileName(path);
  if (!region.ReadInformation())
    return damaged();
  const gdcm::TransferSyntax &syntax = region.GetFile().GetHeader().GetDataSetTransferSyntax();
  const unsigned columns = region.GetImage().GetDimension(0),
                 rows = region.GetImage().GetDimension(1);
  if (!syntax.IsEncapsulated() && syntax != gdcm::TransferSyntax::DeflatedExplicitVRLittleEndian &&
      region.GetImage().GetPixelFormat().GetBitsAllocated() % 8 == 0) {
    /* GDCM would take the end of the file for zeros */
    const size_t n_frames =
        region.GetImage().GetNumberOfDimensions() > 2 ? region.GetImage().GetDimension(2) : 1;
    const size_t start = region.GetStreamCurrentPosition();
    std::error_code none;
    const uintmax_t size = std::filesystem::file_size(path, none);
    if (none || start > size || (size - start) / frame_bytes < n_frames)
      return damaged();

    /* the caller clears unused bits itself: GDCM's own way stops the program on 8-bit files */
    gdcm::DataSet &set = region.GetFile().GetDataSet();
    const int bits = short_of(set, 0x0100, 16);
    put_short(set, 0x0101, bits);
    put_short(set, 0x0102, bits - 1);
    std::vector<char> pixels(frame_bytes);
    for (int i = 0; i < n; i++) {
      gdcm::BoxRegion box;
      box.SetDomain(0, columns - 1, 0, rows - 1, static_cast<unsigned>(frame[i]),
                    static_cast<unsigned>(frame[i]));
      region.SetRegion(box);
      if (region.ComputeBufferLength() != frame_bytes ||
          !region.ReadIntoBuffer(pixels.data(), frame_bytes))
        return damaged();
      if (!sink(data, pixels.data(), frame_bytes))
        return PLA_ERR_CANCELLED;
    }
    return PLA_OK;
  }

  if (syntax.IsEncapsulated() && !fragments_are_whole(path, region.GetStreamCurrentPosition()))
    return damaged();
  gdcm::ImageReader reader;
  reader.SetFileName(path);
  if (!reader.Read())
    return damaged();
  const gdcm::Image &image = reader.GetImage();
  const size_t n_frames = image.GetNumberOfDimensions() > 2 ? image.GetDimension(2) : 1;
  if (image.GetPixelFormat().GetSamplesPerPixel() != 1 ||
      image.GetBufferLength() / n_frames != frame_bytes || image.GetBufferLength() % n_frames != 0)
    return damaged();
  std::vector<char> pixels(image.GetBufferLength());
  if (!image.GetBuffer(pixels.data()))
    return damaged();
  for (int i = 0; i < n; i++) {
    if (static_cast<size_t>(frame[i]) >= n_frames)
      return damaged();
    if (!sink(data, pixels.data() + frame_bytes * static_cast<size_t>(frame[i]), frame_bytes))
      return PLA_ERR_CANCELLED;
  }
  return PLA_OK;
}

/* runs @work and turns whatever GDCM throws into a sentence */
template <typename Work>
PlaStatus
guarded(const char *path, PlaError *err, Work work)
{
  try {
    gdcm::Trace::DebugOff();
    gdcm::Trace::WarningOff();
    gdcm::Trace::ErrorOff();
    return work();
  } catch (const std::bad_alloc &) {
    return pla_fail_memory(err, path);
  } catch (...) {
    return pla_fail(err, PLA_ERR_FORMAT, "%s: the DICOM data are damaged; copy the file again",
                    path);
  }
}

} // namespace

PlaStatus
pla_dicom_shim_frames(const char *path, bool keep_identity, PlaDicomFrame **out, int *n,
                      PlaError *err)
{
  *out = nullptr;
  *n = 0;
  return guarded(path, err, [&] {
    std::vector<PlaDicomFrame> frames;
    PlaStatus st = frames_of(path, keep_identity, frames, err);
    if (st != PLA_OK || frames.empty())
      return st;
    *out = static_cast<PlaDicomFrame *>(std::malloc(frames.size() * sizeof **out));
    if (!*out)
      return pla_fail_memory(err, path);
    std::copy(frames.begin(), frames.end(), *out);
    *n = static_cast<int>(frames.size());
    return PLA_OK;
  });
}

PlaStatus
pla_dicom_shim_pixels(const char *path, const int *frame, int n, size_t frame_bytes,
                      PlaDicomSink sink, void *data, PlaError *err)
{
  return guarded(path, err,
                 [&] { return pixels_of(path, frame, n, frame_bytes, sink, data, err); });
}
