/* How an item of a scene looks: its colours with the shade in folds, its style, the shader for
 * drafts and full pictures, and what a plane cuts away of it. */
#include "ui/views/scene.hpp"

#include <vtkCellData.h>
#include <vtkDoubleArray.h>
#include <vtkGlyph3DMapper.h>
#include <vtkPointData.h>
#include <vtkProperty.h>
#include <vtkShaderProperty.h>
#include <vtkUnsignedCharArray.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>

namespace view
{

namespace
{

/* the colour of shade in folds, as a factor on the item's colour */
std::array<double, 3>
shade(PlaFinish finish)
{
  switch (finish) {
  case PLA_FINISH_SKIN:
    return { 0.50, 0.27, 0.22 };
  case PLA_FINISH_BONE:
    return { 0.36, 0.28, 0.20 };
  default:
    return { 0.33, 0.33, 0.36 };
  }
}

/* one picture of the item's colours: of its fine or of its coarse faces */
void
colour_faces(Item *item, vtkMapper *mapper, vtkPolyData *data, const std::vector<Face> &faces)
{
  vtkPointData *points = data->GetPointData();
  vtkCellData *cells = data->GetCellData();
  points->SetScalars(nullptr);
  cells->SetScalars(nullptr);
  mapper->ScalarVisibilityOff();
  if (item->kind != Kind::mesh)
    return;

  if (item->coloured) {
    vtkNew<vtkDoubleArray> scalars;
    if (item->on_cells) {
      scalars->SetNumberOfValues((vtkIdType)faces.size());
      for (size_t f = 0; f < faces.size(); f++)
        scalars->SetValue((vtkIdType)f, item->value[faces[f].cell]);
      cells->SetScalars(scalars);
      mapper->SetScalarModeToUseCellData();
    } else {
      scalars->SetNumberOfValues(item->n_verts);
      std::copy(item->value.begin(), item->value.end(), scalars->GetPointer(0));
      points->SetScalars(scalars);
      mapper->SetScalarModeToUsePointData();
    }
    mapper->SetLookupTable(item->table);
    mapper->UseLookupTableScalarRangeOn();
    mapper->SetColorModeToMapScalars();
    mapper->SetInterpolateScalarsBeforeMapping(!item->on_cells);
    mapper->ScalarVisibilityOn();
  } else if (!item->open.empty()) {
    const std::array<double, 3> dark = shade(item->style.finish);
    vtkNew<vtkUnsignedCharArray> rgb;
    rgb->SetNumberOfComponents(3);
    rgb->SetNumberOfTuples(item->n_verts);
    unsigned char *at = rgb->GetPointer(0);
    for (int v = 0; v < item->n_verts; v++) {
      /* brightens the middle: a flat cheek and a forehead should look the same */
      const double open = std::min(1.0, 1.15 * std::sqrt(std::max(0.0f, item->open[v])));
      for (int d = 0; d < 3; d++)
        *at++ = (unsigned char)std::lround(
            255.0 * std::clamp(item->style.rgb[d] * (dark[d] + (1.0 - dark[d]) * open), 0.0, 1.0));
    }
    points->SetScalars(rgb);
    mapper->SetScalarModeToUsePointData();
    mapper->SetColorModeToDirectScalars();
    mapper->SetInterpolateScalarsBeforeMapping(0);
    mapper->ScalarVisibilityOn();
  }
}

} // namespace

void
upload_colours(Item *item)
{
  colour_faces(item, item->fine_mapper ? item->fine_mapper.Get() : item->actor->GetMapper(),
               item->data, item->face);
  if (item->coarse_mapper)
    colour_faces(item, item->coarse_mapper, item->coarse, item->coarse_face);
}

void
apply_clip(PlaScene *scene, Item *item)
{
  for (vtkMapper *mapper : { item->actor->GetMapper(), (vtkMapper *)item->fine_mapper,
                             (vtkMapper *)item->coarse_mapper }) {
    if (!mapper)
      continue;
    mapper->RemoveAllClippingPlanes();
    if (scene->clipping && item->style.clipped && item->tet.empty() && item->hex.empty()) {
      /* VTK keeps the side that the normal points to */
      vtkNew<vtkPlane> plane;
      double n[3];
      scene->clip->GetNormal(n);
      plane->SetOrigin(scene->clip->GetOrigin());
      plane->SetNormal(-n[0], -n[1], -n[2]);
      mapper->AddClippingPlane(plane);
    }
  }
}

vtkPlane *
plane_for(PlaScene *scene, const Item *item)
{
  return scene->clipping && item->style.clipped ? scene->clip.Get() : nullptr;
}

void
cut_solid(PlaScene *scene, Item *item)
{
  find_faces(plane_for(scene, item), item);
  /* a plane that follows the hand leaves no time for a draft */
  if (plane_for(scene, item))
    item->coarse_face.clear();
  else
    find_coarse_faces(item);
  upload_points(item, true);
  upload_faces(item);
  upload_colours(item);
}

void
apply_style(PlaScene *scene, Item *item)
{
  const PlaSceneStyle &style = item->style;
  vtkProperty *property = item->actor->GetProperty();
  item->actor->SetVisibility(style.visible && style.opacity > 0.0);
  property->SetColor(style.rgb[0], style.rgb[1], style.rgb[2]);
  property->SetOpacity(style.opacity);
  property->SetBackfaceCulling(style.hide_back);
  property->SetInterpolation(style.flat ? VTK_FLAT : VTK_GOURAUD);
  property->SetLineWidth((float)style.width_px);

  if (item->kind == Kind::image) {
    property->LightingOff();
    property->SetColor(1.0, 1.0, 1.0);
  } else {
    property->SetAmbient(0.08);
    property->SetDiffuse(0.95);
    struct {
      double strength, power;
    } const highlight[] = { { 0.18, 18.0 }, { 0.13, 14.0 }, { 0.10, 10.0 }, { 0.0, 1.0 } };
    property->SetSpecular(highlight[style.finish].strength);
    property->SetSpecularPower(highlight[style.finish].power);
    property->SetSpecularColor(1.0, 0.97, 0.93);
  }
  property->SetEdgeVisibility(item->kind == Kind::mesh && style.edges);
  property->SetEdgeColor(0.35 * style.rgb[0], 0.35 * style.rgb[1], 0.35 * style.rgb[2]);
  if (item->coloured)
    property->SetEdgeColor(0.12, 0.12, 0.14);

  if (item->tube)
    item->tube->SetRadius(std::max(style.radius_mm, 1e-3));
  if (item->kind == Kind::markers && !item->data->GetPointData()->GetVectors())
    static_cast<vtkGlyph3DMapper *>(item->actor->GetMapper())->SetScaleFactor(style.radius_mm);

  /* millionths of the depth that is seen: a blade shines through the skin it lies under */
  vtkMapper *const mappers[] = { item->actor->GetMapper(), item->fine_mapper.Get(),
                                 item->coarse_mapper.Get() };
  for (vtkMapper *mapper : mappers)
    if (mapper) {
      mapper->SetResolveCoincidentTopology(style.in_front ? VTK_RESOLVE_POLYGON_OFFSET
                                                          : VTK_RESOLVE_OFF);
      const double units = style.in_front ? -66000.0 : 0.0;
      mapper->SetRelativeCoincidentTopologyPolygonOffsetParameters(0.0, units);
      mapper->SetRelativeCoincidentTopologyLineOffsetParameters(0.0, units);
    }

  item->shaded = -1;
  apply_clip(scene, item);
}

void
shade_for(Item *item, PlaQuality quality)
{
  if (item->kind != Kind::mesh || item->shaded == (int)quality)
    return;
  item->shaded = (int)quality;
  /* vtkLightKit adds its lights in this order: head, key, fill, two behind */
  std::string code = quality == PLA_QUALITY_FULL ? "//VTK::Light::Impl\n" : R"(
  vec3 sum = vec3(0.0);
  sum += max(0.0, -dot(normalVCVSOutput, lightDirectionVC0)) * lightColor0;
  sum += max(0.0, -dot(normalVCVSOutput, lightDirectionVC1)) * lightColor1;
  sum += max(0.0, -dot(normalVCVSOutput, lightDirectionVC2)) * lightColor2;
  sum += max(0.0, -dot(normalVCVSOutput, lightDirectionVC3)) * lightColor3;
  sum += max(0.0, -dot(normalVCVSOutput, lightDirectionVC4)) * lightColor4;
  float glint = max(0.0, dot(normalVCVSOutput, normalize(vec3(0.0, 0.0, 1.0) - lightDirectionVC1)));
  glint *= glint; glint *= glint; glint *= glint; glint *= glint; glint *= glint;
  fragOutput0 = vec4(ambientColor + sum * diffuseColor + glint * lightColor1 * specularColor, opacity);
)";
  const PlaSceneStyle &style = item->style;
  if (style.rim > 0.0 && style.opacity < 1.0) {
    char rim[256];
    std::snprintf(rim, sizeof rim,
                  "  float edgeOn = 1.0 - abs(normalVCVSOutput.z);\n"
                  "  fragOutput0.a += (1.0 - fragOutput0.a) * float(%f) * edgeOn * edgeOn;\n",
                  style.rim);
    code += rim;
  }
  vtkShaderProperty *shader = item->actor->GetShaderProperty();
  shader->ClearAllFragmentShaderReplacements();
  shader->AddFragmentShaderReplacement("//VTK::Light::Impl", true, code, false);
}

void
set_colours(PlaScene *scene, int id, const PlaSceneColours *colours)
{
  Item *item = find_item(scene, id);
  if (!item || item->kind != Kind::mesh)
    return;
  if (!colours) {
    item->coloured = false;
  } else {
    const size_t n = colours->on_cells ? (size_t)item->n_tris + item->n_tets + item->hex.size() / 8
                                       : (size_t)item->n_verts;
    /* colours of a shape that is still to come */
    if (colours->n != n)
      return;
    item->coloured = true;
    item->on_cells = colours->on_cells;
    item->value.assign(colours->value, colours->value + n);
    vtkLookupTable *table = item->table;
    table->SetNumberOfTableValues(256);
    table->SetTableRange(colours->lo, std::max(colours->hi, std::nextafter(colours->lo, HUGE_VAL)));
    for (int i = 0; i < 256; i++)
      table->SetTableValue(i, colours->map_rgb[3 * i] / 255.0, colours->map_rgb[3 * i + 1] / 255.0,
                           colours->map_rgb[3 * i + 2] / 255.0, 1.0);
    table->SetNanColor(0.45, 0.45, 0.45, 1.0);
    table->Modified();
  }
  upload_colours(item);
  apply_style(scene, item);
}

void
set_style(PlaScene *scene, int id, const PlaSceneStyle *style)
{
  Item *item = find_item(scene, id);
  if (!item)
    return;
  const bool repaint = std::memcmp(item->style.rgb, style->rgb, sizeof style->rgb) != 0 ||
                       item->style.finish != style->finish;
  const bool reclip = item->style.clipped != style->clipped && scene->clipping &&
                      (!item->tet.empty() || !item->hex.empty());
  item->style = *style;
  if (reclip)
    cut_solid(scene, item);
  if (repaint || reclip)
    upload_colours(item);
  apply_style(scene, item);
}

void
set_clip(PlaScene *scene, const double point_mm[3], const double normal[3])
{
  scene->clipping = point_mm != nullptr;
  if (point_mm) {
    scene->clip->SetOrigin(point_mm[0], point_mm[1], point_mm[2]);
    scene->clip->SetNormal(normal[0], normal[1], normal[2]);
  }
  for (const auto &[id, item] : scene->items) {
    if (!item->across.empty() && item->style.clipped)
      cut_solid(scene, item.get());
    apply_clip(scene, item.get());
  }
}

} // namespace view
