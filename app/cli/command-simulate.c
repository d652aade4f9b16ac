/* `simulate`: the static solution of a scene, or its motion. */
#include "anatomy/base/parallel.h"
#include "app/cli/cli-private.h"
#include "app/cli/mesh-series.h"
#include "app/simulate/simulation.h"
#include "app/verbs/simulate-report.h"
#include "io/formats/format.h"
#include "sim/solve/solve.h"

#include <glib.h>
#include <string.h>

/* PLA_ERR_CONVERGENCE where it is no equilibrium */
static PlaStatus
tell(PlaInvocation *inv, const PlaSimulationResult *result, PlaError *err)
{
  JsonBuilder *json = pla_invocation_json(inv);
  g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);
  pla_simulation_describe(result, json, lines);
  pla_json_number(json, "seconds", result->seconds);
  pla_json_int(json, "threads", pla_threads_get());
  for (guint i = 0; i < lines->len; i++)
    pla_say(inv, "%s", (const char *)lines->pdata[i]);
  g_autofree char *shortfall = pla_simulation_shortfall(result, pla_invocation_file(inv, 0));
  return shortfall ? pla_fail(err, PLA_ERR_CONVERGENCE, "%s", shortfall) : PLA_OK;
}

static PlaStatus
write_frame(const PlaMesh *mesh, double time_s, void *data, PlaError *err)
{
  return pla_mesh_series_add(data, mesh, time_s, err);
}

static PlaStatus
run_simulate(PlaInvocation *inv, PlaError *err)
{
  PlaSimulation *scene = NULL;
  PlaSimulationResult result = { 0 };
  PlaProgress *progress = pla_invocation_progress(inv);
  const PlaFormat *format = NULL;
  const char *output = pla_invocation_output(inv);
  const bool series = g_str_has_suffix(output, ".pvd");
  PlaMeshSeries frames;
  pla_mesh_series_init(&frames, output);
  PlaStatus st = series ? PLA_OK : pla_format_for_output(output, PLA_KIND_MESH, &format, err);
  pla_progress_phase(progress, "Reading the scene", 0.1);
  if (st == PLA_OK)
    st = pla_simulation_load(pla_invocation_file(inv, 0), progress, &scene, err);
  if (st == PLA_OK && series != pla_simulation_is_dynamic(scene))
    st = pla_fail(err, PLA_ERR_USAGE,
                  series
                      ? "%s has no 'dynamics', so there is one result and no series; write a .vtu "
                        "file instead of %s"
                      : "%s has 'dynamics', which gives a series of meshes; write a .pvd file "
                        "instead of %s",
                  pla_invocation_file(inv, 0), output);
  pla_progress_phase(progress, "Solving", 0.95);
  PlaProgressSpan span = pla_progress_push(progress);
  if (st == PLA_OK)
    st = pla_simulation_perform(scene, pla_invocation_has(inv, "sensitivity"),
                                series ? write_frame : NULL, &frames, progress, &result, err);
  pla_progress_pop(progress, span);
  if (st == PLA_OK && series) {
    st = pla_mesh_series_finish(&frames, err);
  } else if (st == PLA_OK) {
    PlaItem item = { .kind = PLA_KIND_MESH, .mesh = result.mesh };
    PlaWriteOptions opts = pla_write_options_default();
    st = format->write(pla_invocation_output(inv), &item, &opts, err);
  }
  if (st == PLA_OK)
    st = tell(inv, &result, err);
  pla_simulation_result_clear(&result);
  pla_simulation_free(scene);
  pla_mesh_series_clear(&frames);
  return st;
}

static const PlaOpt options[] = {
  { "sensitivity", 0, PLA_OPT_FLAG, NULL,
    "solve again with every preset at both ends of its range, and report the spread" },
  { NULL },
};

const PlaCommand pla_command_simulate = {
  .name = "simulate",
  .args = "SCENE.json -o OUT.vtu",
  .summary = "solves a scene: materials, fixed and moved parts, loads, contact, motion in time",
  .description =
      "Finds the static equilibrium of the body that SCENE.json describes and writes it with\n"
      "displacement (mm), volume ratio, principal stretches and von Mises stress (Pa).\n\n"
      "A load's force_n is shared equally by the vertices it acts on.  Elements are selected by\n"
      "their centroid at rest, vertices by their rest position.  \"where\" has one or several of\n"
      "all, box_mm, near ({at_mm, radius_mm}), plane, nodes, region, label, set and border,\n"
      "and selects what each of them selects: {\"border\": \"air\", \"near\": ...} is a disc of\n"
      "skin.  A set is a field of the mesh that is not 0 there, such as a named group of Gmsh.\n\n"
      "A motion or load without an equilibrium in one step is tried again in smaller "
      "increments.\n\n"
      "A material names a law (\"model\" and its constants, each a number or a cell field), or a\n"
      "tissue: \"preset\": \"skin\", or \"by-label\", which takes each element's tissue from the\n"
      "name that \"labels\" ({\"1\": \"Skin\", ...}) gives its label; bone is then fixed.\n"
      "\"fibre\" (a direction or a cell field) and \"activation\" make muscle contract,\n"
      "with a force-stretch \"curve\" (\"zajac\", \"blemker\", \"none\", or points of one's own:\n"
      "{\"stretch\", \"active\", \"passive\"}).  The model \"goh\" and the tissue "
      "\"skin-fibrous\"\n"
      "have dispersed fibres: \"fibre\", or \"families\" ({\"mean\", \"normal\", \"angle_deg\"}) "
      "for\n"
      "two in the plane of the skin.  \"prestretch\" ({\"line\", \"normal\", \"along\", "
      "\"across\"}, or\n"
      "\"along_pa\" and \"across_pa\") gives skin its tension: 28000 to 92000 on the arm\n"
      "(Flynn et al. 2011), 7000 at the lip to 53000 on the cheek (Flynn et al. 2018).\n"
      "\"mixture\" lists tissues that share elements by \"fraction\".\n\n"
      "Elements average strains and volumes over their neighbours, and lock neither in large "
      "cells\n"
      "nor in nearly incompressible tissue up to a Poisson's ratio of 0.4999.  \"formulation\":\n"
      "\"standard\" has plain elements instead, which do; \"mixed\" refuses materials without a\n"
      "volume term (stvk, linear, fixed-corotated, mixtures), of which strains alone are averaged\n"
      "otherwise.  The solver \"pbng\" has standard elements.\n\n"
      "A body is held, moved, hooked and loaded by its surface, forces being shared by area, also\n"
      "of the part of a triangle that lies in a box, ball or layer.\n"
      "{\"border\": \"bone\"} selects what borders on bone; also \"air\", \"cavity\", \"end\" (of "
      "the\n"
      "scan).\n\n"
      "Loads, besides force_n:\n"
      "  {\"where\": ..., \"pressure_pa\": P}   on the outer faces whose vertices are all "
      "selected,\n"
      "                                      always normal to them, positive towards the body\n"
      "Layers thinner than a cell, as skin and fascia, lie on the outer faces whose vertices are "
      "all\n"
      "selected, and resist being stretched along them beside what is below:\n"
      "  \"layers\": [{\"where\": ..., \"thickness_mm\": T,\n"
      "              \"preset\": \"skin\" or \"young_pa\": E,\n"
      "              \"prestretch\": S or [along, across], \"direction\": [...],\n"
      "              \"k1_pa\": K, \"k2\": N, \"kappa\": D, \"angle_deg\": A}]\n"
      "  They keep their volume.  With k1_pa they have two families of fibres at the angle A to "
      "the\n"
      "  direction, after Gasser, Ogden and Holzapfel.  With \"wrinkles\": true they carry no\n"
      "  compression.  The result has their tension (tension_kpa).\n"
      "Hooks pull at the vertex nearest to a point, and report their force:\n"
      "  \"hooks\": [{\"name\": \"flap\", \"at_mm\": [...], \"pull_mm\": [...],\n"
      "             \"stiffness_n_m\": K}]      without K the vertex goes exactly there\n"
      "Tensors of every cell in the result (xx, yy, zz, xy, yz, xz), and principal stresses:\n"
      "  \"fields\": [\"stress\", \"strain\"]\n"
      "Every equilibrium of tets comes with an estimate of its error by the size of the cells, "
      "for\n"
      "displacements, forces and stress: one step towards quadratic elements.  \"estimate\": "
      "false\n"
      "leaves it out.\n"
      "Colliders are rigid; a surface must be closed:\n"
      "  \"colliders\": [{\"surface\": \"plate.stl\", \"friction\": 0.3,\n"
      "                 \"move\": {\"translate_mm\": [...], \"rotate\": {...}}},\n"
      "                {\"plane\": {\"point_mm\": [...], \"normal\": [...]}}]\n"
      "Contact between the pieces of a body and with itself:\n"
      "  \"contact\": {\"pieces\": true, \"self\": true, \"thickness_mm\": T, \"stiffness_pa_m\": "
      "K,\n"
      "              \"friction\": MU, \"slip_mm\": S, \"fascia_mm\": R, "
      "\"fascia_stiffness_pa_m\": F}\n"
      "  Points closer than the thickness repel each other.  Friction is Coulomb's beyond a\n"
      "  sliding of slip_mm, and grows from 0 below it, so sticking points creep by up to slip_mm\n"
      "  in each step.  Points within fascia_mm of another piece at rest keep that distance, but\n"
      "  slide.  The result has the pressure of contact (contact_pressure_pa) at its vertices.\n"
      "Motion in time, with OUT.pvd and a mesh for every frame beside it:\n"
      "  \"dynamics\": {\"dt_s\": H, \"end_s\": T, \"every\": 1, \"integrator\": "
      "\"backward-euler\",\n"
      "               \"mass_damping_1_s\": A, \"stiffness_damping_s\": B}\n"
      "  Integrators: backward-euler, linear-euler, midpoint.  Moves run over the whole time.",
  .example = "platysma-cli simulate bar.json -o bent.vtu --json",
  .min_files = 1,
  .max_files = 1,
  .needs_output = true,
  .options = options,
  .run = run_simulate,
};
