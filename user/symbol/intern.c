// SPDX-License-Identifier: BSD-2-Clause
#include "symbol/intern.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"

struct intern_text {
	struct intern_text *next;   /* of the same hash */
	char text[];
};

void intern_init(struct intern *in)
{
	hash_init(&in->chains, sizeof(struct intern_text *));
}

void intern_fini(struct intern *in)
{
	struct intern_text *text, *next;
	size_t pos = 0;
	void *value;

	while (hash_next(&in->chains, &pos, NULL, &value)) {
		for (memcpy(&text, value, sizeof(text)); text; text = next) {
			next = text->next;
			free(text);
		}
	}
	hash_fini(&in->chains);
}

const char *intern(struct intern *in, const char *text)
{
	struct intern_text **head, *item;
	size_t len;

	if (!text)
		return NULL;
	len = strlen(text);
	head = hash_put(&in->chains, hash_of_bytes(hash_seed(&in->chains), text, len), NULL);
	for (item = *head; item; item = item->next) {
		if (!strcmp(item->text, text))
			return item->text;
	}
	item = xmalloc(sizeof(*item) + len + 1);
	memcpy(item->text, text, len + 1);
	item->next = *head;
	*head = item;
	return item->text;
}
