/* SPDX-License-Identifier: BSD-2-Clause */
/* The entries that no file of the stand-in has a function for: generic.c makes them from api.h. */
#ifndef STANDIN_GENERIC_H
#define STANDIN_GENERIC_H

/* NULL: there is none of that name, or it has a function of its own. */
__attribute__((visibility("hidden"))) void *generic_entry(const char *name);

/* For tests: the entry of a row, by id, that does nothing, for the stand-in has no function of its operation or none
 * that takes its values like that. NULL: there is no such row, or it does what it should. */
__attribute__((visibility("default"))) const char *standin_unplayed(unsigned int id);

#endif
