/* Our mesh files through VTK's readers, and VTK's files through ours: an independent
 * implementation of the same formats, in every flavour it writes. */
#include <atomic>
using std::atomic_bool; /* C++17 has no stdatomic.h */
extern "C" {
#include "io/formats/formats.h"
#include "tests/io/fuzz.h"
#include "tests/io/mesh-samples.h"
}

#include <glib.h>

#include <cstring>
#include <string>
#include <vector>

#include <vtkCellArray.h>
#include <vtkCellData.h>
#include <vtkDataArray.h>
#include <vtkDoubleArray.h>
#include <vtkFloatArray.h>
#include <vtkIdTypeArray.h>
#include <vtkIntArray.h>
#include <vtkNew.h>
#include <vtkPointData.h>
#include <vtkPolyData.h>
#include <vtkPolyDataReader.h>
#include <vtkPolyDataWriter.h>
#include <vtkShortArray.h>
#include <vtkSmartPointer.h>
#include <vtkUnsignedCharArray.h>
#include <vtkUnstructuredGrid.h>
#include <vtkUnstructuredGridReader.h>
#include <vtkUnstructuredGridWriter.h>
#include <vtkXMLPolyDataReader.h>
#include <vtkXMLPolyDataWriter.h>
#include <vtkXMLUnstructuredGridReader.h>
#include <vtkXMLUnstructuredGridWriter.h>

namespace
{

std::string
path_of(const char *name)
{
  char *path = pla_test_path(name);
  std::string text(path);
  g_free(path);
  return text;
}

PlaMesh *
sample(unsigned parts)
{
  return pla_sample_mesh(3, parts | PLA_SAMPLE_FIELDS);
}

/* the fields of one place: every component equal as a double */
void
check_fields(const PlaMesh *mesh, PlaFieldPlace place, vtkDataSetAttributes *attributes)
{
  int n = 0;
  for (int f = 0; f < mesh->n_fields; f++) {
    const PlaField *field = &mesh->field[f];
    if (field->place != place)
      continue;
    n++;
    vtkDataArray *array = attributes->GetArray(field->name);
    if (!array)
      g_error("VTK does not see the field %s", field->name);
    g_assert_cmpint(array->GetNumberOfComponents(), ==, field->n_components);
    size_t n_values = pla_field_n_tuples(mesh, field) * (size_t)field->n_components;
    g_assert_cmpint(array->GetNumberOfValues(), ==, (int64_t)n_values);
    g_assert_cmpint(array->GetDataTypeSize(), ==, (int)pla_dtype_size(field->dtype));
    for (size_t i = 0; i < n_values; i++)
      g_assert_cmpfloat(array->GetComponent((vtkIdType)i / field->n_components,
                                            (int)(i % (size_t)field->n_components)),
                        ==, pla_dtype_get(field->dtype, field->data, i));
  }
  g_assert_cmpint(attributes->GetNumberOfArrays(), ==, n);
}

/* the data set that VTK read, against the mesh that we wrote */
void
check_data_set(const PlaMesh *mesh, vtkPointSet *set)
{
  g_assert_cmpint(set->GetNumberOfPoints(), ==, mesh->n_verts);
  g_assert_cmpint(set->GetNumberOfCells(), ==, (int64_t)pla_mesh_n_cells(mesh));
  g_assert_cmpint(set->GetPoints()->GetDataType(), ==, mesh->single ? VTK_FLOAT : VTK_DOUBLE);
  for (int v = 0; v < mesh->n_verts; v++) {
    double x[3];
    set->GetPoint(v, x);
    for (int d = 0; d < 3; d++) {
      double mm = mesh->pos[3 * v + d] * 1000.0;
      g_assert_cmpfloat(x[d], ==, mesh->single ? (double)(float)mm : mm);
    }
  }
  const int *cells[3] = { mesh->tri, mesh->tet, mesh->hex };
  const int count[3] = { mesh->n_tris, mesh->n_tets, mesh->n_hexes };
  const int corners[3] = { 3, 4, 8 }, types[3] = { VTK_TRIANGLE, VTK_TETRA, VTK_HEXAHEDRON };
  vtkIdType at = 0;
  for (int k = 0; k < 3; k++)
    for (int c = 0; c < count[k]; c++, at++) {
      vtkNew<vtkIdList> ids;
      set->GetCellPoints(at, ids);
      g_assert_cmpint(set->GetCellType(at), ==, types[k]);
      g_assert_cmpint(ids->GetNumberOfIds(), ==, corners[k]);
      for (int i = 0; i < corners[k]; i++)
        g_assert_cmpint(ids->GetId(i), ==, cells[k][c * corners[k] + i]);
    }
  check_fields(mesh, PLA_ON_VERTS, set->GetPointData());
  check_fields(mesh, PLA_ON_CELLS, set->GetCellData());
}

template <class Reader>
vtkSmartPointer<vtkPointSet>
read_with_vtk(const std::string &path)
{
  vtkNew<Reader> reader;
  reader->SetFileName(path.c_str());
  reader->Update();
  return vtkSmartPointer<vtkPointSet>(vtkPointSet::SafeDownCast(reader->GetOutputDataObject(0)));
}

/* compressed or not, big-endian or not, appended, inline or text */
std::vector<PlaWriteOptions>
flavours(void)
{
  std::vector<PlaWriteOptions> all;
  for (int k = 0; k < 9; k++) {
    PlaWriteOptions opts = pla_write_options_default();
    opts.uncompressed = k & 1;
    opts.big_endian = k & 2;
    opts.inline_data = k & 4;
    opts.text = k == 8;
    all.push_back(opts);
  }
  return all;
}

void
test_ours_by_vtk(void)
{
  for (unsigned single = 0; single < 2; single++) {
    PlaMesh *solid =
        sample(PLA_SAMPLE_TRIS | PLA_SAMPLE_TETS | PLA_SAMPLE_HEXES | single * PLA_SAMPLE_SINGLE);
    PlaMesh *surface = sample(PLA_SAMPLE_TRIS | single * PLA_SAMPLE_SINGLE);
    for (const PlaWriteOptions &opts : flavours()) {
      std::string vtu = path_of("ours.vtu"), vtp = path_of("ours.vtp");
      pla_mesh_write_sample(&pla_format_vtu, vtu.c_str(), solid, &opts);
      check_data_set(solid, read_with_vtk<vtkXMLUnstructuredGridReader>(vtu));
      pla_mesh_write_sample(&pla_format_vtp, vtp.c_str(), surface, &opts);
      check_data_set(surface, read_with_vtk<vtkXMLPolyDataReader>(vtp));
    }
    for (bool text : { false, true }) {
      PlaWriteOptions opts = pla_write_options_default();
      opts.text = text;
      std::string path = path_of("ours.vtk");
      pla_mesh_write_sample(&pla_format_vtk, path.c_str(), solid, &opts);
      check_data_set(solid, read_with_vtk<vtkUnstructuredGridReader>(path));
      pla_mesh_write_sample(&pla_format_vtk, path.c_str(), surface, &opts);
      check_data_set(surface, read_with_vtk<vtkPolyDataReader>(path));
    }
    pla_mesh_free(solid);
    pla_mesh_free(surface);
  }
}

PlaItem
read_with_ours(const std::string &path)
{
  PlaItem item;
  PlaError err = {};
  PlaReadOptions opts = pla_read_options_default();
  if (pla_item_read(path.c_str(), &opts, &item, &err) != PLA_OK)
    g_error("VTK's file is refused: %s", err.message);
  return item;
}

template <class Array, class Value>
void
add_array(vtkDataSetAttributes *to, const char *name, vtkIdType n, int components)
{
  vtkNew<Array> array;
  array->SetName(name);
  array->SetNumberOfComponents(components);
  array->SetNumberOfTuples(n);
  for (vtkIdType i = 0; i < n * components; i++)
    array->SetValue(i, (Value)((i * 37) % 251));
  to->AddArray(array);
}

void
add_arrays(vtkDataSet *set)
{
  add_array<vtkFloatArray, float>(set->GetPointData(), "a b", set->GetNumberOfPoints(), 3);
  add_array<vtkUnsignedCharArray, unsigned char>(set->GetPointData(), "c(2)",
                                                 set->GetNumberOfPoints(), 1);
  add_array<vtkIdTypeArray, vtkIdType>(set->GetCellData(), "ids", set->GetNumberOfCells(), 1);
  add_array<vtkShortArray, short>(set->GetCellData(), "tag", set->GetNumberOfCells(), 2);
}

vtkSmartPointer<vtkPoints>
make_points(int type)
{
  vtkSmartPointer<vtkPoints> points = vtkSmartPointer<vtkPoints>::New();
  points->SetDataType(type);
  for (int i = 0; i < 60; i++) /* exact in the six digits of VTK's text */
    points->InsertNextPoint(i % 4 + 0.125 * (i % 3), i / 4 % 3 - 0.375, i / 12 + 0.0625 * (i % 9));
  return points;
}

/* fields of the read mesh against VTK's arrays, through the cells kept: @source of each */
void
check_read(const PlaMesh *mesh, vtkPointSet *set, const std::vector<vtkIdType> &source)
{
  g_assert_cmpint(mesh->n_verts, ==, set->GetNumberOfPoints());
  g_assert_cmpint((int64_t)pla_mesh_n_cells(mesh), ==, (int64_t)source.size());
  g_assert_cmpint(mesh->single, ==, set->GetPoints()->GetDataType() == VTK_FLOAT);
  for (int v = 0; v < mesh->n_verts; v++) {
    double x[3];
    set->GetPoint(v, x);
    for (int d = 0; d < 3; d++)
      g_assert_cmpfloat(mesh->pos[3 * v + d], ==, x[d] / 1000.0);
  }
  g_assert_cmpint(mesh->n_fields, ==, 4);
  for (int f = 0; f < mesh->n_fields; f++) {
    const PlaField *field = &mesh->field[f];
    bool on_cells = field->place == PLA_ON_CELLS;
    vtkDataSetAttributes *attributes =
        on_cells ? (vtkDataSetAttributes *)set->GetCellData() : set->GetPointData();
    vtkDataArray *array = attributes->GetArray(field->name);
    g_assert_nonnull(array);
    g_assert_cmpint(array->GetNumberOfComponents(), ==, field->n_components);
    size_t n = pla_field_n_tuples(mesh, field);
    for (size_t t = 0; t < n; t++)
      for (int c = 0; c < field->n_components; c++)
        g_assert_cmpfloat(array->GetComponent(on_cells ? source[t] : (vtkIdType)t, c), ==,
                          pla_dtype_get(field->dtype, field->data,
                                        t * (size_t)field->n_components + (size_t)c));
  }
}

/* calls @check for the data set written by VTK in every mode of its XML writers */
template <class Writer, class Check>
void
for_each_xml_mode(vtkDataSet *set, const char *name, Check check)
{
  std::string path = path_of(name);
  for (int mode : { vtkXMLWriter::Ascii, vtkXMLWriter::Binary, vtkXMLWriter::Appended })
    for (int compress = 0; compress < 2; compress++)
      for (int header : { vtkXMLWriter::UInt32, vtkXMLWriter::UInt64 })
        for (int encode = 0; encode < 2; encode++)
          for (int order : { vtkXMLWriter::LittleEndian, vtkXMLWriter::BigEndian }) {
            vtkNew<Writer> writer;
            writer->SetInputData(set);
            writer->SetFileName(path.c_str());
            writer->SetDataMode(mode);
            writer->SetHeaderType(header);
            writer->SetEncodeAppendedData(encode);
            writer->SetByteOrder(order);
            writer->SetBlockSize(1024);
            if (compress)
              writer->SetCompressorTypeToZLib();
            else
              writer->SetCompressorTypeToNone();
            g_assert_cmpint(writer->Write(), ==, 1);
            check(path);
          }
}

void
test_vtk_grid_by_ours(void)
{
  for (int type : { VTK_FLOAT, VTK_DOUBLE }) {
    vtkNew<vtkUnstructuredGrid> grid;
    grid->SetPoints(make_points(type));
    const vtkIdType quad[] = { 0, 1, 5, 4 }, tet[] = { 0, 1, 4, 12 }, line[] = { 2, 3 };
    const vtkIdType voxel[] = { 0, 1, 4, 5, 12, 13, 16, 17 };
    std::vector<vtkIdType> tris, tets, hexes;
    for (int i = 0; i < 40; i++) {
      grid->InsertNextCell(VTK_TETRA, 4, tet);
      tets.push_back(grid->GetNumberOfCells() - 1);
      if (i % 3 == 0) {
        grid->InsertNextCell(VTK_QUAD, 4, quad);
        tris.insert(tris.end(), 2, grid->GetNumberOfCells() - 1);
      }
      if (i % 5 == 0)
        grid->InsertNextCell(VTK_LINE, 2, line);
      if (i % 7 == 0) {
        grid->InsertNextCell(VTK_VOXEL, 8, voxel);
        hexes.push_back(grid->GetNumberOfCells() - 1);
      }
    }
    add_arrays(grid);
    std::vector<vtkIdType> source = tris;
    source.insert(source.end(), tets.begin(), tets.end());
    source.insert(source.end(), hexes.begin(), hexes.end());
    auto check = [&](const std::string &path) {
      PlaItem item = read_with_ours(path);
      check_read(item.mesh, grid, source);
      const int hex[] = { 0, 1, 5, 4, 12, 13, 17, 16 }, first[] = { 0, 1, 4, 12 };
      g_assert_cmpmem(item.mesh->hex, sizeof hex, hex, sizeof hex);
      g_assert_cmpmem(item.mesh->tet, sizeof first, first, sizeof first);
      pla_item_clear(&item);
    };
    if (type == VTK_DOUBLE)
      for_each_xml_mode<vtkXMLUnstructuredGridWriter>(grid, "theirs.vtu", check);
    for (int mode : { VTK_ASCII, VTK_BINARY })
      for (int version : { 42, 51 }) {
        std::string path = path_of("theirs.vtk");
        vtkNew<vtkUnstructuredGridWriter> writer;
        writer->SetInputData(grid);
        writer->SetFileName(path.c_str());
        writer->SetFileType(mode);
        writer->SetFileVersion(version);
        g_assert_cmpint(writer->Write(), ==, 1);
        check(path);
      }
  }
}

void
test_vtk_surface_by_ours(void)
{
  vtkNew<vtkPolyData> surface;
  surface->SetPoints(make_points(VTK_FLOAT));
  vtkNew<vtkCellArray> verts, lines, polys, strips;
  const vtkIdType ids[] = { 0, 1, 5, 9, 4 };
  verts->InsertNextCell(2, ids);
  lines->InsertNextCell(3, ids);
  lines->InsertNextCell(2, ids);
  polys->InsertNextCell(3, ids);
  polys->InsertNextCell(5, ids);
  polys->InsertNextCell(4, ids);
  strips->InsertNextCell(5, ids);
  surface->SetVerts(verts);
  surface->SetLines(lines);
  surface->SetPolys(polys);
  surface->SetStrips(strips);
  add_arrays(surface);
  const std::vector<vtkIdType> source = { 3, 4, 4, 4, 5, 5, 6, 6, 6 };
  auto check = [&](const std::string &path) {
    PlaItem item = read_with_ours(path);
    check_read(item.mesh, surface, source);
    const int tris[] = { 0, 1, 5, 0, 1, 5, 0, 5, 9, 0, 9, 4, 0, 1,
                         5, 0, 5, 9, 0, 1, 5, 1, 9, 5, 5, 9, 4 };
    g_assert_cmpmem(item.mesh->tri, 12 * (size_t)item.mesh->n_tris, tris, sizeof tris);
    pla_item_clear(&item);
  };
  for_each_xml_mode<vtkXMLPolyDataWriter>(surface, "theirs.vtp", check);
  for (int mode : { VTK_ASCII, VTK_BINARY })
    for (int version : { 42, 51 }) {
      std::string path = path_of("theirs.vtk");
      vtkNew<vtkPolyDataWriter> writer;
      writer->SetInputData(surface);
      writer->SetFileName(path.c_str());
      writer->SetFileType(mode);
      writer->SetFileVersion(version);
      g_assert_cmpint(writer->Write(), ==, 1);
      check(path);
    }
}

} // namespace

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/io/vtk-interop/ours-by-vtk", test_ours_by_vtk);
  g_test_add_func("/io/vtk-interop/grid-by-ours", test_vtk_grid_by_ours);
  g_test_add_func("/io/vtk-interop/surface-by-ours", test_vtk_surface_by_ours);
  return g_test_run();
}
