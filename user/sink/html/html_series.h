/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory over time of one sum (view_timeline.h) as JSON, the frames as packed numbers. */
#ifndef GPUMEMTRACE_SINK_HTML_HTML_SERIES_H
#define GPUMEMTRACE_SINK_HTML_HTML_SERIES_H

#include "base/js.h"

struct view;
struct view_phases;
struct view_series;

json_t *html_series(const struct view *view, const struct view_series *s);

/* The phases of a training; JSON's null: none are known. */
json_t *html_phases(const struct view *view, const struct view_phases *phases);

#endif
