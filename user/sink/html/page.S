/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of the HTML pages that do not change, inside the binary. A page's script is what all pages share, then what
 * is the page's own, each in this order. */
	.section .rodata
	.globl html_style, html_style_end, html_shared, html_shared_end
	.globl html_report, html_report_end, html_compare, html_compare_end
html_style:
	.incbin "user/sink/html/page/report.css"
html_style_end:
	.byte 0
html_shared:
	.incbin "user/sink/html/page/shared.js"
html_shared_end:
	.byte 0
html_report:
	.incbin "user/sink/html/page/data.js"
	.incbin "user/sink/html/page/model.js"
	.incbin "user/sink/html/page/bounds.js"
	.incbin "user/sink/html/page/state.js"
	.incbin "user/sink/html/page/scale.js"
	.incbin "user/sink/html/page/parts.js"
	.incbin "user/sink/html/page/story.js"
	.incbin "user/sink/html/page/source.js"
	.incbin "user/sink/html/page/verdict.js"
	.incbin "user/sink/html/page/phases.js"
	.incbin "user/sink/html/page/chart.js"
	.incbin "user/sink/html/page/table.js"
	.incbin "user/sink/html/page/flame.js"
	.incbin "user/sink/html/page/events.js"
	.incbin "user/sink/html/page/placed.js"
	.incbin "user/sink/html/page/segments.js"
	.incbin "user/sink/html/page/segment_zoom.js"
	.incbin "user/sink/html/page/input.js"
	.incbin "user/sink/html/page/print.js"
	.incbin "user/sink/html/page/start.js"
html_report_end:
	.byte 0
html_compare:
	.incbin "user/sink/html/page/compare_rows.js"
	.incbin "user/sink/html/page/compare.js"
html_compare_end:
	.byte 0
	.section .note.GNU-stack,"",%progbits
