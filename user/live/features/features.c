// SPDX-License-Identifier: BSD-2-Clause
#include "live/features/features.h"

static const struct check {
	const char *name;
	void (*run)(struct feature *feature, const struct features_where *where);
	bool can_block;
} checks[] = {
#define X(check, name, can_block) { name, feature_check_##check, can_block },
	FEATURE_CHECKS(X)
#undef X
};
#define CHECKS (sizeof(checks) / sizeof(checks[0]))
_Static_assert(CHECKS <= FEATURES_MAX, "callers' arrays hold every check");

static void run_check(const struct check *check, const struct features_where *where, struct feature *feature)
{
	*feature = (struct feature){ .name = check->name };
	check->run(feature, where);
}

size_t features_probe(const struct features_where *where, struct feature out[FEATURES_MAX])
{
	for (size_t i = 0; i < CHECKS; i++)
		run_check(&checks[i], where, &out[i]);
	return CHECKS;
}

bool features_blocker(const struct features_where *where, struct feature *out)
{
	for (size_t i = 0; i < CHECKS; i++) {
		if (!checks[i].can_block)
			continue;
		run_check(&checks[i], where, out);
		if (out->state == FEATURE_MISSING)
			return true;
	}
	return false;
}
