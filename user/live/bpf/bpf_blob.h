/* SPDX-License-Identifier: BSD-2-Clause */
/* The compiled BPF object (build/gmt.bpf.o), put into the binary by bpf_blob.S, for bpf_object__open_mem(). */
#ifndef GPUMEMTRACE_LIVE_BPF_BPF_BLOB_H
#define GPUMEMTRACE_LIVE_BPF_BPF_BLOB_H

extern const unsigned char bpf_blob[];
extern const unsigned char bpf_blob_end[];

#define BPF_BLOB_SIZE ((size_t)(bpf_blob_end - bpf_blob))

#endif
