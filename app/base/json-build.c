/* Members of JSON objects that are being built. */
#include "app/base/json.h"

#include "app/base/quantity.h"

#include <math.h>

void
pla_json_number(JsonBuilder *json, const char *key, double value)
{
  json_builder_set_member_name(json, key);
  if (isfinite(value))
    json_builder_add_double_value(json, value);
  else
    json_builder_add_null_value(json);
}

void
pla_json_si(JsonBuilder *json, const char *key, double si)
{
  pla_json_number(json, key, pla_key_value(key, si));
}

void
pla_json_int(JsonBuilder *json, const char *key, int64_t value)
{
  json_builder_set_member_name(json, key);
  json_builder_add_int_value(json, value);
}

void
pla_json_text(JsonBuilder *json, const char *key, const char *value)
{
  json_builder_set_member_name(json, key);
  if (value) {
    g_autofree char *valid = g_utf8_make_valid(value, -1);
    json_builder_add_string_value(json, valid);
  } else {
    json_builder_add_null_value(json);
  }
}

void
pla_json_bool(JsonBuilder *json, const char *key, bool value)
{
  json_builder_set_member_name(json, key);
  json_builder_add_boolean_value(json, value);
}

void
pla_json_numbers(JsonBuilder *json, const char *key, const double *value, int n)
{
  json_builder_set_member_name(json, key);
  json_builder_begin_array(json);
  for (int i = 0; i < n; i++)
    if (isfinite(value[i]))
      json_builder_add_double_value(json, value[i]);
    else
      json_builder_add_null_value(json);
  json_builder_end_array(json);
}
