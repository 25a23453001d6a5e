// SPDX-License-Identifier: BSD-2-Clause
/* The table of probe points: each row's values are the fields of its operation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "core/terms/probes.h"
#include "core/view/view.h"

/* Entry points that lack the last fields of their operation, and how many. */
static const struct {
	enum gmt_api api;
	unsigned int missing;
} shorter[] = {
	{ GMT_API_cuMemAllocHost_v2, 1 }, /* flags */
	{ GMT_API_cuMemAllocHost, 1 },
	{ GMT_API_cuMulticastBindMem, 1 }, /* dev */
	{ GMT_API_cuMulticastBindAddr, 1 },
};

static unsigned int missing_of(unsigned int api)
{
	for (size_t i = 0; i < sizeof(shorter) / sizeof(shorter[0]); i++)
		if (shorter[i].api == api)
			return shorter[i].missing;
	return 0;
}

static void every_row_sends_its_operations_fields(void **state)
{
	unsigned int rows = 0;

	(void)state;
	for (unsigned int api = 0; api < GMT_API_MAX; api++) {
		const struct gmt_probe *probe = &gmt_probes[api];

		if (!probe->symbol)
			continue;
		rows++;
		if (probe->count + missing_of(api) != gmt_ops[probe->op].count)
			fail_msg("%s sends %u values, %s has the fields \"%s\"", probe->symbol, probe->count,
				 gmt_ops[probe->op].name, gmt_ops[probe->op].fields);
		assert_in_range(probe->count, 0, GMT_CALL_VALS);
		for (unsigned int i = 0; i < probe->count; i++)
			assert_in_range(probe->caps[i] >> 24, GMT_CAP_ARG64, GMT_CAP_OUTHASH);
		/* This value's bit in gmt_call.unread is GMT_CALL_CONTEXT_LOST. */
		if (probe->count == GMT_CALL_VALS)
			assert_in_range(probe->caps[GMT_CALL_VALS - 1] >> 24, GMT_CAP_ARG64, GMT_CAP_ARG32);
	}
	assert_in_range(rows, 120, GMT_API_MAX);
}

static void symbols_are_unique(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < GMT_API_MAX; i++)
		for (unsigned int j = 0; gmt_probes[i].symbol && j < i; j++)
			if (gmt_probes[j].symbol && strcmp(gmt_probes[i].symbol, gmt_probes[j].symbol) == 0)
				fail_msg("%s is there twice", gmt_probes[i].symbol);
}

static void fields_are_counted(void **state)
{
	(void)state;
	assert_int_equal(gmt_ops[GMT_OP_SCOPE_MODULE].count, 0);
	assert_int_equal(gmt_ops[GMT_OP_MEM_FREE].count, 1);
	assert_int_equal(gmt_ops[GMT_OP_MIPMAP_CREATE].count, 8);
	for (int op = 0; op < GMT_OP_COUNT; op++) {
		const char *fields = gmt_ops[op].fields;
		unsigned int count = *fields != '\0';

		for (; *fields; fields++)
			count += *fields == ',';
		assert_int_equal(gmt_ops[op].count, count);
	}
}

static void a_release_has_no_values_from_its_return(void **state)
{
	(void)state;
	for (unsigned int api = 0; api < GMT_API_MAX; api++) {
		const struct gmt_probe *probe = &gmt_probes[api];

		for (unsigned int i = 0; (probe->flags & GMT_API_RELEASE) && i < probe->count; i++) {
			unsigned int kind = probe->caps[i] >> 24;

			if (kind == GMT_CAP_OUT64 || kind == GMT_CAP_OUT32 || kind == GMT_CAP_OUTHASH)
				fail_msg("%s is sent at entry, value %u is there at return only", probe->symbol, i);
		}
	}
}

static void purposes_come_from_the_operation(void **state)
{
	(void)state;
	assert_int_equal(gmt_purpose_of_api(GMT_API_NONE), GMT_PURPOSE_OTHER);
	assert_int_equal(gmt_purpose_of_api(GMT_API_cuInit), GMT_PURPOSE_CONTEXT);
	assert_int_equal(gmt_purpose_of_api(GMT_API_cuDevicePrimaryCtxRetain), GMT_PURPOSE_CONTEXT);
	assert_int_equal(gmt_purpose_of_api(GMT_API_cuModuleLoadData), GMT_PURPOSE_MODULE);
	assert_int_equal(gmt_purpose_of_api(GMT_API_cuMemAlloc_v2), GMT_PURPOSE_ALLOC);
	assert_int_equal(gmt_purpose_of_api(GMT_API_cuMemAllocFromPoolAsync_ptsz), GMT_PURPOSE_POOL);
	assert_int_equal(gmt_purpose_of_api(GMT_API_cuMemCreate), GMT_PURPOSE_VMM);
	assert_int_equal(gmt_purpose_of_api(GMT_API_cuGraphUpload), GMT_PURPOSE_GRAPH);
	assert_int_equal(gmt_purpose_of_api(19), GMT_PURPOSE_OTHER);
	assert_int_equal(gmt_purpose_of_api(60000), GMT_PURPOSE_OTHER);
}

static void names(void **state)
{
	(void)state;
	assert_string_equal(gmt_class_name(GMT_CLASS_DEVICE), "device");
	assert_string_equal(gmt_class_text(GMT_CLASS_GRAPH), "graph (planned)");
	assert_true(gmt_class_is_device(GMT_CLASS_POOL));
	assert_false(gmt_class_is_device(GMT_CLASS_MANAGED));
	assert_false(gmt_class_is_device(GMT_CLASS_COUNT));
	assert_string_equal(gmt_anomaly_name(GMT_ANOMALY_AFTER_EXIT), "after_exit");
	assert_string_equal(gmt_anomaly_text(GMT_ANOMALY_FREE_UNKNOWN, 1),
			    "free of an address whose allocation was not seen");
	assert_string_equal(gmt_purpose_name(GMT_PURPOSE_MODULE), "modules");
	assert_string_equal(gmt_purpose_text(GMT_PURPOSE_VMM), "cuMemCreate");
	assert_string_equal(gmt_loss_name(GMT_LOSS_RING_FULL), "ring_full");
	assert_string_equal(gmt_loss_name(GMT_LOSS_IOCTL_UNREADABLE), "ioctl_unreadable");
	assert_string_equal(gmt_loss_text(GMT_LOSS_RING_FULL, 2), "records: ring buffer full");
	assert_string_equal(gmt_class_name(GMT_CLASS_COUNT), "unknown");
	assert_string_equal(gmt_loss_name(GMT_LOSS_COUNT), "unknown");
	assert_string_equal(gmt_purpose_name(-1), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_sends_its_operations_fields),
		cmocka_unit_test(symbols_are_unique),
		cmocka_unit_test(fields_are_counted),
		cmocka_unit_test(a_release_has_no_values_from_its_return),
		cmocka_unit_test(purposes_come_from_the_operation),
		cmocka_unit_test(names),
	};

	return cmocka_run_group_tests_name("probes", tests, NULL, NULL);
}
