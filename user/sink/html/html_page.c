// SPDX-License-Identifier: BSD-2-Clause
#include "sink/html/html_page.h"

#include "base/out.h"
#include "sink/html/html_text.h"

extern const char html_style[], html_style_end[], html_shared[], html_shared_end[];

void html_page_begin(struct out *out)
{
	out_text(out, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
		      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		      "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
		      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		      "<title>gpumemtrace</title>\n<style>\n");
	out_bytes(out, html_style, (size_t)(html_style_end - html_style));
	out_text(out, "</style></head>\n<body>\n<main id=\"page\">\n");
}

void html_page_text(struct out *out, const char *title, struct out *text, bool redact)
{
	out_printf(out, "<h2>%s</h2>\n<pre id=\"report\">", title);
	html_put_text(out, text->data ? text->data : "", text->size, redact);
	out_text(out, "</pre>\n");
	out_close(text);
}

void html_page_data_begin(struct out *out)
{
	out_text(out, "<noscript>A script in this file draws pictures and tables. Scripts are off.</noscript>\n"
		      "</main>\n"
		      "<script type=\"application/json\" id=\"data\">{\"page\":1");
}

void html_page_data_end(struct out *out)
{
	out_text(out, "}</script>\n");
}

void html_page_end(struct out *out, const struct html_script *script)
{
	out_text(out, "<script>\n\"use strict\";\n(() => {\n");
	out_bytes(out, html_shared, (size_t)(html_shared_end - html_shared));
	out_bytes(out, script->begin, (size_t)(script->end - script->begin));
	out_text(out, "})();\n</script>\n</body></html>\n");
}
