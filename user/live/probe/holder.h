/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process that waits for the kernel in the tracer's place. Kernels without uprobe_multi (before 6.6) remove probes
 * one at a time, and whoever closes the last descriptor of the probes waits: tens of seconds on a busy machine. The
 * holder shares the tracer's table of descriptors. If the tracer ends before its probes are removed, by a second signal
 * or by kill -9, the tracer is gone at once, and the holder closes the descriptors and waits.
 */
#ifndef GPUMEMTRACE_LIVE_PROBE_HOLDER_H
#define GPUMEMTRACE_LIVE_PROBE_HOLDER_H

struct holder;

/* Starts the process, which drops all privileges. Call before the first thread, before the first probe, and before the
 * tracer drops its privileges. 0 or -errno. */
int holder_start(struct holder **holder);

/* Ends the process, when no probe is left, and waits for its end. NULL is fine. */
void holder_free(struct holder *holder);

#endif
