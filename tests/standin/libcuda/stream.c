/* SPDX-License-Identifier: BSD-2-Clause */
/* Streams, their capture into graphs, and launches. Work itself does nothing here. */
#include "standin.h"

#define STREAMS_OF_CONTEXT 8       /* more of them take memory, each */
#define STREAM_BYTES (2 * STANDIN_MIB)

struct stream *stream_get(CUstream handle)
{
	return (uintptr_t)handle <= CU_STREAM_PER_THREAD ? NULL : object_get(handle, OBJECT_STREAM);
}

static CUresult create(CUstream *out)
{
	CUresult why = CUDA_SUCCESS;
	struct ctx *ctx = ctx_current(&why);
	struct stream *stream;
	uint32_t rm = 0;

	if (!ctx)
		return why;
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	if (ctx->streams >= STREAMS_OF_CONTEXT) {
		rm = rm_vidmem_inside(ctx->device, STREAM_BYTES);
		if (!rm)
			return CUDA_ERROR_OUT_OF_MEMORY;
	}
	ctx->streams++;
	stream = object_new(OBJECT_STREAM);
	stream->ctx = ctx;
	stream->rm = rm;
	*out = (CUstream)stream;
	return CUDA_SUCCESS;
}

static void delete(struct stream *stream)
{
	if (stream->rm)
		rm_free_vidmem(stream->ctx->device, stream->rm, STREAM_BYTES);
	stream->ctx->streams--;
	object_delete(stream);
}

CUresult cuStreamCreate(CUstream *stream, unsigned int flags)
{
	(void)flags;
	API(create(stream));
}

CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned int flags, int priority)
{
	(void)flags, (void)priority;
	API(create(stream));
}

static CUresult destroy(CUstream handle)
{
	struct stream *stream = stream_get(handle);

	if (!stream)
		return CUDA_ERROR_INVALID_HANDLE;
	delete(stream);
	return CUDA_SUCCESS;
}

CUresult cuStreamDestroy(CUstream stream)
{
	API(destroy(stream));
}

static CUresult synchronize(CUstream stream)
{
	CUresult why = CUDA_SUCCESS;
	struct ctx *ctx = ctx_of_stream(stream, &why);

	if (ctx)
		pool_sync(ctx->device);
	return why;
}

CUresult cuStreamSynchronize(CUstream stream)
{
	API(synchronize(stream));
}

CUresult cuStreamSynchronize_ptsz(CUstream stream)
{
	API(synchronize(stream));
}

static CUresult begin(CUstream handle, CUgraph into)
{
	struct stream *stream = stream_get(handle);

	if (!stream || stream->capture)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	stream->capture = into ? object_get(into, OBJECT_GRAPH) : object_new(OBJECT_GRAPH);
	return stream->capture ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuStreamBeginCapture(CUstream stream)
{
	API(begin(stream, NULL));
}

CUresult cuStreamBeginCapture_v2(CUstream stream, int mode)
{
	(void)mode;
	API(begin(stream, NULL));
}

CUresult cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph, const CUgraphNode *deps,
		const CUgraphEdgeData *edges, size_t count, int mode)
{
	(void)deps, (void)edges, (void)count, (void)mode;
	if (!graph)
		return CUDA_ERROR_INVALID_VALUE;
	API(begin(stream, graph));
}

static CUresult begin_again(CUstream handle, CUgraph into)
{
	CUresult rc = into ? begin(handle, into) : CUDA_ERROR_INVALID_VALUE;
	struct stream *stream = stream_get(handle);

	if (!rc) {
		stream->recaptures = true;
		stream->recaptured = 0;
	}
	return rc;
}

CUresult cuStreamBeginRecaptureToGraph(CUstream stream, int mode, CUgraph graph, void *callback, void *data)
{
	(void)mode, (void)callback, (void)data;
	API(begin_again(stream, graph));
}

static CUresult end(CUstream handle, CUgraph *graph)
{
	struct stream *stream = stream_get(handle);

	if (!stream || !stream->capture || !graph)
		return CUDA_ERROR_ILLEGAL_STATE;
	*graph = (CUgraph)stream->capture;
	stream->capture = NULL;
	stream->recaptures = false;
	return CUDA_SUCCESS;
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph)
{
	API(end(stream, graph));
}

static void stream_of_ctx(void *body, void *ctx)
{
	if (((struct stream *)body)->ctx == ctx)
		delete(body);
}

void stream_take_down(struct ctx *ctx)
{
	object_each(OBJECT_STREAM, stream_of_ctx, ctx);
}
