/* SPDX-License-Identifier: BSD-2-Clause */
/* JSON: exact numbers, and the members that the schema in user/doc describes: no more and no less. */
#include "golden.h"

#include <stdbool.h>

#include <jansson.h>

#include "views.h"

#include "base/out.h"
#include "core/view/finding.h"
#include "oom_scene.h"
#include "sink/oom/oom_sinks.h"
#include "sink/sink.h"
#include "sinks.h"

static struct fixture now;

/* ---- the part of JSON Schema 2020-12 that the schema uses ---- */

struct checker {
	json_t *schema;
	char path[512];
};

static bool valid(struct checker *c, json_t *schema, json_t *value, bool strict);

static json_t *follow(struct checker *c, json_t *schema)
{
	const char *ref = json_string_value(json_object_get(schema, "$ref"));

	if (!ref)
		return schema;
	assert_int_equal(strncmp(ref, "#/$defs/", 8), 0);
	schema = json_object_get(json_object_get(c->schema, "$defs"), ref + 8);
	assert_non_null(schema);
	return follow(c, schema);
}

static bool has_type(json_t *value, const char *type)
{
	return (!strcmp(type, "object") && json_is_object(value)) ||
	       (!strcmp(type, "array") && json_is_array(value)) ||
	       (!strcmp(type, "string") && json_is_string(value)) ||
	       (!strcmp(type, "integer") && json_is_integer(value)) ||
	       (!strcmp(type, "boolean") && json_is_boolean(value)) ||
	       (!strcmp(type, "null") && json_is_null(value));
}

static bool type_fits(json_t *type, json_t *value)
{
	json_t *one;
	size_t i;

	if (json_is_string(type))
		return has_type(value, json_string_value(type));
	json_array_foreach(type, i, one)
		if (has_type(value, json_string_value(one)))
			return true;
	return !type;
}

static bool object_fits(struct checker *c, json_t *schema, json_t *value)
{
	json_t *properties = json_object_get(schema, "properties"), *member, *name;
	size_t length = strlen(c->path), i;
	const char *key;

	json_array_foreach(json_object_get(schema, "required"), i, name)
		if (!json_object_get(value, json_string_value(name)))
			fail_msg("%s lacks %s", c->path, json_string_value(name));
	if (json_array_size(json_object_get(schema, "required")) != json_object_size(properties))
		fail_msg("%s: each member is always there, so each must be required", c->path);
	json_object_foreach(value, key, member) {
		snprintf(c->path + length, sizeof(c->path) - length, "/%s", key);
		if (!json_object_get(properties, key))
			fail_msg("%s is not in the schema", c->path);
		valid(c, json_object_get(properties, key), member, true);
		c->path[length] = '\0';
	}
	return true;
}

static bool one_of(json_t *list, json_t *value)
{
	json_t *one;
	size_t i;

	json_array_foreach(list, i, one)
		if (json_equal(one, value))
			return true;
	return false;
}

/* Whether the value fits; if `strict`, a value that does not fit fails the test. */
static bool valid(struct checker *c, json_t *schema, json_t *value, bool strict)
{
	json_t *option, *constant, *least;
	bool fits;
	size_t i;

	schema = follow(c, schema);
	/* Of the first that fits. */
	json_array_foreach(json_object_get(schema, "oneOf"), i, option)
		if (valid(c, option, value, false))
			return valid(c, option, value, true);
	constant = json_object_get(schema, "const");
	least = json_object_get(schema, "minimum");
	fits = type_fits(json_object_get(schema, "type"), value) && !json_object_get(schema, "oneOf") &&
	       (!constant || json_equal(constant, value)) &&
	       (!json_object_get(schema, "enum") || one_of(json_object_get(schema, "enum"), value)) &&
	       (!least || json_integer_value(value) >= json_integer_value(least));
	if (strict && !fits)
		fail_msg("%s is not what the schema says", c->path);
	if (!strict || !fits)
		return fits;
	if (json_is_object(value))
		return object_fits(c, schema, value);
	json_array_foreach(value, i, option)
		valid(c, json_object_get(schema, "items"), option, true);
	return true;
}

/* ---- tests ---- */

static char *json_of(const struct fixture *f, bool live, const struct sink_opts *opts)
{
	struct view view = f->view;
	struct out out;

	view.findings = findings_make(&view, &view.finding_count);
	out_init_mem(&out);
	if (live)
		sink_find("json")->live(&out, &view, NULL, opts);
	else
		sink_find("json")->report(&out, &view, opts);
	free(view.findings);
	return out_take(&out);
}

static json_t *parsed(char *text)
{
	json_error_t error;
	json_t *value = json_loads(text, JSON_REJECT_DUPLICATES, &error);

	if (!value)
		fail_msg("%s", error.text);
	free(text);
	return value;
}

static void check_schema(char *text)
{
	struct checker checker = { .path = "" };
	json_t *value = parsed(text);

	checker.schema = json_load_file("user/doc/json-schema.json", 0, NULL);
	assert_non_null(checker.schema);
	valid(&checker, checker.schema, value, true);
	json_decref(checker.schema);
	json_decref(value);
}

static void test_schema_describes_all(void **state)
{
	const char *notes[] = { "the recording is incomplete" };
	struct sink_opts opts = { .notes = notes, .note_count = 1 };
	static struct fixture empty;

	(void)state;
	check_schema(json_of(typical(&now), false, &opts));
	check_schema(json_of(typical(&now), true, &opts));
	check_schema(json_of(troubled(&now), false, &opts));
	check_schema(json_of(sliced(&now), false, &opts));
	check_schema(json_of(stacked(&now), false, &opts));
	check_schema(json_of(stacked(&now), true, &opts));
	empty.view.end_reason = UINT32_MAX;
	check_schema(json_of(&empty, false, &opts));
}

static void test_schema_describes_a_failed_request(void **state)
{
	struct oom_view view;
	struct records r;
	struct out out;

	(void)state;
	scene_fill(&r);
	scene_view(&r, &view);
	out_init_mem(&out);
	oom_print_json(&out, &view, &(struct sink_opts){ 0 });
	check_schema(out_take(&out));
	oom_view_free(&view);
	records_fini(&r);
}

static char *indented(char *line)
{
	json_t *value = parsed(line);
	char *text = json_dumps(value, JSON_INDENT(1));

	json_decref(value);
	text = realloc(text, strlen(text) + 2);
	assert_non_null(text);
	return strcat(text, "\n");
}

static void test_whole(void **state)
{
	(void)state;
	golden_check(indented(json_of(troubled(&now), false, &(struct sink_opts){0})),
		     "report-troubled.json");
}

static void test_a_line_each(void **state)
{
	char *text = json_of(typical(&now), true, &(struct sink_opts){ .made_ns = 1700000000123456789 });

	(void)state;
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
	assert_int_equal(strncmp(text, "{\"schema\":\"gpumemtrace/1\",\"type\":\"live\",", 39), 0);
	assert_non_null(strstr(text, "\"made_at\":\"2023-11-14T22:13:20.123456Z\","));
	free(text);
}

static int64_t at(json_t *value, const char *path)
{
	char copy[128];

	snprintf(copy, sizeof(copy), "%s", path);
	for (char *key = strtok(copy, "/"); key; key = strtok(NULL, "/"))
		value = *key >= '0' && *key <= '9' ? json_array_get(value, (size_t)atoi(key))
						   : json_object_get(value, key);
	assert_true(json_is_integer(value));
	return json_integer_value(value);
}

static void test_numbers_are_exact_and_add_up(void **state)
{
	json_t *value, *members, *member;
	const char *key;
	int64_t sum = 0;

	(void)state;
	typical(&now);
	now.rows[0].physical.live = (1ull << 53) + 1;
	now.view.loss[0] = UINT64_MAX;
	value = parsed(json_of(&now, false, &(struct sink_opts){ 0 }));
	assert_int_equal(at(value, "processes/0/gpus/0/physical/live_bytes"), (1ll << 53) + 1);
	assert_int_equal(at(value, "losses/ring_full"), INT64_MAX);
	assert_int_equal(at(value, "processes/0/gpus/1/classes/pool/live_bytes"), 100 * MIB + 512);
	assert_int_equal(at(value, "processes/0/gpus/0/attributed/peak_at/offset_ns"), 72 * S);
	assert_int_equal(at(value, "processes/0/gpus/0/attributed/peak_at/unix_ns"), WALL0 + 72 * S);
	members = json_array_get(json_object_get(value, "processes"), 0);
	members = json_array_get(json_object_get(members, "gpus"), 0);
	members = json_object_get(json_object_get(members, "nvml"), "sum");
	json_object_foreach(members, key, member)
		sum += json_integer_value(member);
	assert_int_equal(sum, at(value, "processes/0/gpus/0/nvml/used_bytes"));
	json_decref(value);
}

static void test_neighbours(void **state)
{
	struct view_neighbour *n = now.gpus[1].neighbours;
	json_t *value, *gpu, *first;

	(void)state;
	typical(&now);
	now.gpus[1].neighbour_count = 2;
	n[0] = (struct view_neighbour){ 4300, GIB, "pyth\xffon" };
	n[1] = (struct view_neighbour){ 4301, MIB, "" };
	now.gpus[1].more_neighbours = 3;
	now.gpus[1].more_bytes = 512;
	check_schema(json_of(&now, true, &(struct sink_opts){ 0 }));
	value = parsed(json_of(&now, true, &(struct sink_opts){ 0 }));
	gpu = json_array_get(json_object_get(value, "gpus"), 1);
	first = json_array_get(json_object_get(gpu, "neighbours"), 0);
	assert_string_equal(json_string_value(json_object_get(first, "comm")), "pyth\xef\xbf\xbd" "on");
	assert_int_equal(at(value, "gpus/1/neighbours/0/pid"), 4300);
	assert_int_equal(at(value, "gpus/1/neighbours/0/used_bytes"), GIB);
	assert_int_equal(at(value, "gpus/1/neighbours/1/pid"), 4301);
	assert_int_equal(at(value, "gpus/1/more_neighbours"), 3);
	assert_int_equal(at(value, "gpus/1/more_neighbours_bytes"), 512);
	json_decref(value);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_schema_describes_all),
		cmocka_unit_test(test_schema_describes_a_failed_request),
		cmocka_unit_test(test_neighbours),
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_a_line_each),
		cmocka_unit_test(test_numbers_are_exact_and_add_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
