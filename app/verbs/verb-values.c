/* Keeps what was set as the JSON object that a request needs, and asks the definition for the
 * rest. */
#include "app/verbs/verb-values.h"

#include "app/base/json.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

struct _PlaVerbValues {
  GObject parent_instance;
  const PlaVerb *verb;
  JsonObject *set; /* what was set */
};

enum { CHANGED, N_SIGNALS };
static guint signals[N_SIGNALS];

G_DEFINE_FINAL_TYPE(PlaVerbValues, pla_verb_values, G_TYPE_OBJECT)

/* a parameter without limits still needs ends for its arrows */
#define ANY 1e6

static void
pla_verb_values_finalize(GObject *object)
{
  PlaVerbValues *self = PLA_VERB_VALUES(object);
  g_clear_pointer(&self->set, json_object_unref);
  G_OBJECT_CLASS(pla_verb_values_parent_class)->finalize(object);
}

static void
pla_verb_values_class_init(PlaVerbValuesClass *klass)
{
  G_OBJECT_CLASS(klass)->finalize = pla_verb_values_finalize;
  signals[CHANGED] =
      g_signal_new("changed", PLA_TYPE_VERB_VALUES, G_SIGNAL_RUN_LAST | G_SIGNAL_DETAILED, 0, NULL,
                   NULL, NULL, G_TYPE_NONE, 1, G_TYPE_STRING);
}

static void
pla_verb_values_init(PlaVerbValues *self)
{
  self->set = json_object_new();
}

/* a constant of the definition; json_node_unref() */
static JsonNode *
constant(const PlaVerbParam *param, const char *text)
{
  JsonNode *node = pla_json_literal(text);
  /* 3 and 3.0 are the same number */
  if (param->type == PLA_PARAM_NUMBER && JSON_NODE_HOLDS_VALUE(node)) {
    json_node_set_double(node, json_node_get_double(node));
  } else if (param->type == PLA_PARAM_POINT && JSON_NODE_HOLDS_ARRAY(node)) {
    double point[3];
    for (guint d = 0; d < 3; d++)
      point[d] = json_array_get_double_element(json_node_get_array(node), d);
    json_node_take_array(node, pla_json_array_of(point, 3));
  }
  return node;
}

PlaVerbValues *
pla_verb_values_new(const char *verb)
{
  PlaVerbValues *self = g_object_new(PLA_TYPE_VERB_VALUES, NULL);
  self->verb = pla_verb_find(verb);
  if (!self->verb)
    g_error("there is no verb '%s'", verb);
  return self;
}

PlaVerbValues *
pla_verb_values_dup(PlaVerbValues *self)
{
  PlaVerbValues *copy = g_object_new(PLA_TYPE_VERB_VALUES, NULL);
  JsonObjectIter iter;
  const char *name;
  JsonNode *node;
  copy->verb = self->verb;
  json_object_iter_init(&iter, self->set);
  while (json_object_iter_next(&iter, &name, &node))
    json_object_set_member(copy->set, name, pla_json_dup(node));
  return copy;
}

const PlaVerb *
pla_verb_values_get_verb(PlaVerbValues *self)
{
  return self->verb;
}

const PlaVerbParam *
pla_verb_values_get_param(PlaVerbValues *self, const char *name)
{
  for (const PlaVerbParam *param = self->verb->params; param->name; param++)
    if (strcmp(param->name, name) == 0)
      return param;
  g_error("'%s' has no parameter \"%s\"", self->verb->name, name);
}

static const PlaVerbParam *
param_of(PlaVerbValues *self, const char *name, PlaParamType type)
{
  const PlaVerbParam *param = pla_verb_values_get_param(self, name);
  const bool word = type == PLA_PARAM_TEXT && param->type == PLA_PARAM_ITEM;
  const bool whole = type == PLA_PARAM_NUMBER && param->type == PLA_PARAM_INT;
  const bool names = type == PLA_PARAM_LIST && param->type == PLA_PARAM_ITEMS;
  if (param->type != type && !word && !whole && !names)
    g_error("\"%s\" of '%s' is of another type", name, self->verb->name);
  return param;
}

/* ----------------------------------------------------------------------- domain */

PlaParamDomain
pla_verb_values_get_domain(PlaVerbValues *self, const char *name)
{
  const PlaVerbParam *param = param_of(self, name, PLA_PARAM_NUMBER);
  const PlaParamPanel *panel = &param->panel;
  const bool limited = param->min != 0.0 || param->max != 0.0;
  PlaParamDomain domain = { .low = limited ? param->min : -ANY,
                            .high = limited ? param->max : ANY,
                            .step = panel->step > 0.0 ? panel->step : 1.0,
                            .digits = panel->digits };
  if (panel->low != 0.0 || panel->high != 0.0) {
    domain.low = panel->low;
    domain.high = panel->high;
  }
  domain.page = panel->page > 0.0 ? panel->page : 10.0 * domain.step;
  return domain;
}

const char *
pla_verb_values_get_unit(PlaVerbValues *self, const char *name)
{
  const PlaVerbParam *param = pla_verb_values_get_param(self, name);
  return param->unit ? param->unit : "";
}

/* ---------------------------------------------------------------------- reading */

/* json_node_unref() */
static JsonNode *
dup_node(PlaVerbValues *self, const PlaVerbParam *param)
{
  JsonNode *node = json_object_get_member(self->set, param->name);
  if (node)
    return json_node_ref(node);
  return constant(param, param->otherwise ? param->otherwise : "null");
}

double
pla_verb_values_get_number(PlaVerbValues *self, const char *name)
{
  g_autoptr(JsonNode) node = dup_node(self, param_of(self, name, PLA_PARAM_NUMBER));
  return JSON_NODE_HOLDS_NULL(node) ? NAN : json_node_get_double(node);
}

int
pla_verb_values_get_int(PlaVerbValues *self, const char *name)
{
  g_autoptr(JsonNode) node = dup_node(self, param_of(self, name, PLA_PARAM_INT));
  return JSON_NODE_HOLDS_NULL(node) ? 0 : (int)json_node_get_int(node);
}

bool
pla_verb_values_get_bool(PlaVerbValues *self, const char *name)
{
  g_autoptr(JsonNode) node = dup_node(self, param_of(self, name, PLA_PARAM_BOOL));
  return !JSON_NODE_HOLDS_NULL(node) && json_node_get_boolean(node);
}

const char *
pla_verb_values_get_text(PlaVerbValues *self, const char *name)
{
  const PlaVerbParam *param = param_of(self, name, PLA_PARAM_TEXT);
  if (!json_object_has_member(self->set, name)) {
    /* kept, so that the text can be borrowed */
    g_autoptr(JsonNode) node = dup_node(self, param);
    if (JSON_NODE_HOLDS_NULL(node))
      return NULL;
    json_object_set_member(self->set, name, g_steal_pointer(&node));
  }
  JsonNode *kept = json_object_get_member(self->set, name);
  return JSON_NODE_HOLDS_NULL(kept) ? NULL : json_node_get_string(kept);
}

/* ---------------------------------------------------------------------- setting */

static void
emit_changed(PlaVerbValues *self, const PlaVerbParam *param)
{
  g_signal_emit(self, signals[CHANGED], g_quark_from_static_string(param->name), param->name);
}

/* takes @node */
static void
set_node(PlaVerbValues *self, const PlaVerbParam *param, JsonNode *node)
{
  g_autoptr(JsonNode) before = dup_node(self, param);
  const bool same = json_node_equal(before, node);
  json_object_set_member(self->set, param->name, node);
  if (!same)
    emit_changed(self, param);
}

static double
within(const PlaVerbParam *param, double value)
{
  return param->min != 0.0 || param->max != 0.0 ? CLAMP(value, param->min, param->max) : value;
}

void
pla_verb_values_set_number(PlaVerbValues *self, const char *name, double value)
{
  const PlaVerbParam *param = param_of(self, name, PLA_PARAM_NUMBER);
  if (param->type == PLA_PARAM_INT) {
    pla_verb_values_set_int(self, name, (int)lround(value));
    return;
  }
  set_node(self, param, json_node_init_double(json_node_alloc(), within(param, value)));
}

void
pla_verb_values_set_int(PlaVerbValues *self, const char *name, int value)
{
  const PlaVerbParam *param = param_of(self, name, PLA_PARAM_INT);
  set_node(self, param, json_node_init_int(json_node_alloc(), (gint64)within(param, value)));
}

void
pla_verb_values_set_bool(PlaVerbValues *self, const char *name, bool value)
{
  const PlaVerbParam *param = param_of(self, name, PLA_PARAM_BOOL);
  set_node(self, param, json_node_init_boolean(json_node_alloc(), value));
}

void
pla_verb_values_set_text(PlaVerbValues *self, const char *name, const char *value)
{
  const PlaVerbParam *param = param_of(self, name, PLA_PARAM_TEXT);
  if (value)
    set_node(self, param, json_node_init_string(json_node_alloc(), value));
  else
    pla_verb_values_unset(self, name);
}

void
pla_verb_values_set_point(PlaVerbValues *self, const char *name, const double value[3])
{
  const PlaVerbParam *param = param_of(self, name, PLA_PARAM_POINT);
  JsonNode *node = json_node_new(JSON_NODE_ARRAY);
  json_node_take_array(node, pla_json_array_of(value, 3));
  set_node(self, param, node);
}

void
pla_verb_values_set_points(PlaVerbValues *self, const char *name, const double *points, int n)
{
  const PlaVerbParam *param = param_of(self, name, PLA_PARAM_POINTS);
  JsonNode *node = json_node_new(JSON_NODE_ARRAY);
  JsonArray *list = json_array_new();
  for (int i = 0; i < n; i++)
    json_array_add_array_element(list, pla_json_array_of(points + 3 * (size_t)i, 3));
  json_node_take_array(node, list);
  set_node(self, param, node);
}

/* json_node_unref() */
static JsonNode *
choice_node(const PlaVerbParam *param, const char *choice)
{
  return param->type == PLA_PARAM_TEXT ? json_node_init_string(json_node_alloc(), choice)
                                       : constant(param, choice);
}

void
pla_verb_values_choose(PlaVerbValues *self, const char *name, const char *choice)
{
  const PlaVerbParam *param = pla_verb_values_get_param(self, name);
  set_node(self, param, choice_node(param, choice));
}

bool
pla_verb_values_holds(PlaVerbValues *self, const char *name, const char *choice)
{
  const PlaVerbParam *param = pla_verb_values_get_param(self, name);
  g_autoptr(JsonNode) node = choice_node(param, choice);
  g_autoptr(JsonNode) value = dup_node(self, param);
  return json_node_equal(node, value);
}

bool
pla_verb_values_get_choice(PlaVerbValues *self, const char *name, PlaParamChoice *out)
{
  const PlaVerbParam *param = pla_verb_values_get_param(self, name);
  for (int i = 0; param->panel.choice(i, out); i++)
    if (pla_verb_values_holds(self, name, out->value))
      return true;
  return false;
}

void
pla_verb_values_begin(PlaVerbValues *self, const char *name)
{
  const PlaVerbParam *param = pla_verb_values_get_param(self, name);
  if (json_object_has_member(self->set, name))
    return;
  if (param->panel.words)
    pla_verb_values_set_text(self, name, g_dgettext(NULL, param->panel.words));
  else if (param->panel.begin)
    set_node(self, param, constant(param, param->panel.begin));
}

void
pla_verb_values_unset(PlaVerbValues *self, const char *name)
{
  const PlaVerbParam *param = pla_verb_values_get_param(self, name);
  if (!json_object_has_member(self->set, name))
    return;
  json_object_remove_member(self->set, name);
  emit_changed(self, param);
}

/* ------------------------------------------------------------------------ lists */

void
pla_verb_values_clear_list(PlaVerbValues *self, const char *name)
{
  const PlaVerbParam *param = param_of(self, name, PLA_PARAM_LIST);
  JsonNode *node = json_node_new(JSON_NODE_ARRAY);
  json_node_take_array(node, json_array_new());
  set_node(self, param, node);
}

void
pla_verb_values_add_node(PlaVerbValues *self, const char *name, JsonNode *node)
{
  const PlaVerbParam *param = param_of(self, name, PLA_PARAM_LIST);
  JsonNode *list = json_object_get_member(self->set, name);
  if (!list || !JSON_NODE_HOLDS_ARRAY(list)) {
    pla_verb_values_clear_list(self, name);
    list = json_object_get_member(self->set, name);
  }
  json_array_add_element(json_node_get_array(list), node);
  emit_changed(self, param);
}

void
pla_verb_values_add_text(PlaVerbValues *self, const char *name, const char *value)
{
  pla_verb_values_add_node(self, name, json_node_init_string(json_node_alloc(), value));
}

void
pla_verb_values_add_int(PlaVerbValues *self, const char *name, int value)
{
  pla_verb_values_add_node(self, name, json_node_init_int(json_node_alloc(), value));
}

void
pla_verb_values_add_ints(PlaVerbValues *self, const char *name, const int *values, int n)
{
  JsonNode *node = json_node_new(JSON_NODE_ARRAY);
  JsonArray *list = json_array_new();
  for (int i = 0; i < n; i++)
    json_array_add_int_element(list, values[i]);
  json_node_take_array(node, list);
  pla_verb_values_add_node(self, name, node);
}

PlaRequest
pla_verb_values_get_request(PlaVerbValues *self)
{
  return (PlaRequest){ .verb = self->verb->name,
                       .params = self->set,
                       .read = pla_read_options_default() };
}
