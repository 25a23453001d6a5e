/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of the HTML report that do not change, inside the binary: the scripts are one script, in this order. */
	.section .rodata
	.globl html_style, html_style_end, html_script, html_script_end
html_style:
	.incbin "user/sink/html/page/report.css"
html_style_end:
	.byte 0
html_script:
	.ascii "\"use strict\";\n(() => {\n"
	.incbin "user/sink/html/page/data.js"
	.incbin "user/sink/html/page/model.js"
	.incbin "user/sink/html/page/state.js"
	.incbin "user/sink/html/page/parts.js"
	.incbin "user/sink/html/page/story.js"
	.incbin "user/sink/html/page/verdict.js"
	.incbin "user/sink/html/page/chart.js"
	.incbin "user/sink/html/page/table.js"
	.incbin "user/sink/html/page/flame.js"
	.incbin "user/sink/html/page/input.js"
	.incbin "user/sink/html/page/start.js"
	.ascii "})();\n"
html_script_end:
	.byte 0
	.section .note.GNU-stack,"",%progbits
