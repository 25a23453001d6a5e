// SPDX-License-Identifier: BSD-2-Clause
// callbacks CASE: a program on the driver API whose callbacks throw and whose threads are cancelled. Prints what the
// program itself sees. For callbacks.py, which compares the text untraced and traced.
//
// Constants and signatures: cuda.h of CUDA 12 (CUuserObject, CUhostFn).
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdexcept>
#include <unistd.h>

namespace {

sem_t waits, goes_on;

// A function of libcuda; the program ends with status 9 where there is none.
template <typename... Args> unsigned call(const char *name, Args... args)
{
	static void *library = dlopen("libcuda.so.1", RTLD_NOW);
	auto function = library ? reinterpret_cast<unsigned (*)(Args...)>(dlsym(library, name)) : nullptr;

	if (!function)
		_exit(9);
	return function(args...);
}

void need(unsigned result)
{
	if (result)
		_exit(9);
}

struct Told {
	const char *what;
	~Told()
	{
		printf("destroyed: %s\n", what);
	}
};

void throw_error(void *)
{
	throw std::runtime_error("an error");
}

void catch_error(void *)
{
	try {
		throw_error(nullptr);
	} catch (const std::exception &error) {
		printf("caught inside: %s\n", error.what());
	}
}

void hold(void *)
{
	sem_post(&waits);
	sem_wait(&goes_on);
}

void allocate()
{
	unsigned long long address;

	need(call("cuMemAlloc_v2", &address, static_cast<size_t>(1 << 20)));
	need(call("cuMemFree_v2", address));
}

// A pluggable allocator throws after the driver has answered.
void allocator()
{
	allocate();
	throw_error(nullptr);
}

void *make_graph(void (*destroy)(void *))
{
	void *object, *graph;

	need(call("cuUserObjectCreate", &object, static_cast<void *>(nullptr), destroy, 1u, 1u)); // NO_DESTRUCTOR_SYNC
	need(call("cuGraphCreate", &graph, 0u));
	need(call("cuGraphRetainUserObject", graph, object, 1u, 1u)); // MOVE
	return graph;
}

// The last reference to a user object goes with its graph.
template <void (*destroy)(void *)> void graph()
{
	printf("cuGraphDestroy returned %u\n", call("cuGraphDestroy", make_graph(destroy)));
	usleep(100000);
}

// ... or with the executable graph.
template <void (*destroy)(void *)> void graph_exec()
{
	void *graph = make_graph(destroy), *exec;

	need(call("cuGraphInstantiateWithFlags", &exec, graph, 0ull));
	need(call("cuGraphDestroy", graph));
	printf("cuGraphExecDestroy returned %u\n", call("cuGraphExecDestroy", exec));
	usleep(100000);
}

// The driver's own thread runs the callback of a stream.
template <void (*function)(void *)> void host_function()
{
	need(call("cuLaunchHostFunc", static_cast<void *>(nullptr), function, static_cast<void *>(nullptr)));
	need(call("cuCtxSynchronize"));
}

template <void (*run)()> void catching()
{
	unsigned long long address;

	try {
		Told told{"caller"};
		run();
	} catch (const std::exception &error) {
		printf("caught: %s\n", error.what());
	}
	printf("cuMemAlloc returned %u\n", call("cuMemAlloc_v2", &address, static_cast<size_t>(1 << 20)));
}

void *between_calls(void *context)
{
	Told told{"thread"};

	need(call("cuCtxSetCurrent", context));
	allocate();
	sem_post(&waits);
	for (;;)
		pause();
}

// Its callback waits while the thread waits for the stream.
void *for_a_stream(void *context)
{
	Told told{"thread"};

	need(call("cuCtxSetCurrent", context));
	need(call("cuLaunchHostFunc", static_cast<void *>(nullptr), hold, static_cast<void *>(nullptr)));
	need(call("cuCtxSynchronize"));
	pthread_testcancel();
	return nullptr;
}

template <void *(*run)(void *)> void cancelling()
{
	pthread_t thread;
	void *result, *context;

	need(call("cuCtxGetCurrent", &context));
	pthread_create(&thread, nullptr, run, context);
	sem_wait(&waits);
	usleep(100000);
	pthread_cancel(thread);
	sem_post(&goes_on);
	pthread_join(thread, &result);
	printf("cancelled: %d\n", result == PTHREAD_CANCELED);
	allocate();
}

const struct {
	const char *name;
	void (*run)();
} cases[] = {
	{"allocator", catching<allocator>},
	{"graph", catching<graph<catch_error>>},
	{"graph-throws", catching<graph<throw_error>>},
	{"graph-exec", catching<graph_exec<catch_error>>},
	{"graph-exec-throws", catching<graph_exec<throw_error>>},
	{"host-function", catching<host_function<catch_error>>},
	{"host-function-throws", catching<host_function<throw_error>>},
	{"cancel", cancelling<between_calls>},
	{"cancel-stream", cancelling<for_a_stream>},
};

} // namespace

int main(int argc, char **argv)
{
	void *context;

	setvbuf(stdout, nullptr, _IOLBF, 0);
	sem_init(&waits, 0, 0);
	sem_init(&goes_on, 0, 0);
	for (const auto &one : cases) {
		if (argc < 2)
			printf("%s\n", one.name);
		else if (!strcmp(argv[1], one.name)) {
			need(call("cuInit", 0u));
			need(call("cuDevicePrimaryCtxRetain", &context, 0));
			need(call("cuCtxSetCurrent", context));
			one.run();
		}
	}
	return 0;
}
