// SPDX-License-Identifier: BSD-2-Clause
// throws CASE: callbacks that throw, and threads that are cancelled. Prints what the program itself sees.
#include <cstdio>
#include <cstring>
#include <pthread.h>
#include <semaphore.h>
#include <stdexcept>
#include <unistd.h>

extern "C" {
void standin_call_back(void (*function)(void *), void *arg);
unsigned cuInit(unsigned flags);
unsigned cuDevicePrimaryCtxRetain(void **context, int device);
unsigned cuCtxSetCurrent(void *context);
unsigned cuMemAlloc_v2(unsigned long long *address, size_t bytes);
unsigned cuMemFree_v2(unsigned long long address);
unsigned cuGraphExecDestroy(void *exec);
}

namespace {

sem_t waits;

struct Told {
	const char *what;
	~Told()
	{
		printf("destroyed: %s\n", what);
	}
};

void raise_error(void *)
{
	throw std::runtime_error("an error");
}

void wait_for_end(void *)
{
	Told told{"callback"};

	sem_post(&waits);
	for (;;)
		pause();
}

void allocate(size_t bytes)
{
	unsigned long long address;

	if (cuMemAlloc_v2(&address, bytes) == 0)
		cuMemFree_v2(address);
}

// A pluggable allocator throws after the driver has answered.
void allocator()
{
	allocate(4096);
	raise_error(nullptr);
}

// The driver runs the destructor of a user object.
void destructor()
{
	standin_call_back(raise_error, nullptr);
	cuGraphExecDestroy(nullptr);
}

// The driver hands a line of its log to the program.
void log_line()
{
	standin_call_back(raise_error, nullptr);
	allocate(4096);
}

template <void (*run)()> void catching()
{
	try {
		Told told{"caller"};
		run();
	} catch (const std::exception &error) {
		printf("caught: %s\n", error.what());
	}
	allocate(8192);
}

void *between_calls(void *)
{
	Told told{"thread"};

	allocate(4096);
	wait_for_end(nullptr);
	return nullptr;
}

void *in_destructor(void *)
{
	Told told{"thread"};

	standin_call_back(wait_for_end, nullptr);
	cuGraphExecDestroy(nullptr);
	return nullptr;
}

void *in_call(void *)
{
	Told told{"thread"};

	standin_call_back(wait_for_end, nullptr);
	allocate(4096);
	return nullptr;
}

template <void *(*run)(void *)> void cancelling()
{
	pthread_t thread;
	void *result;

	pthread_create(&thread, nullptr, run, nullptr);
	sem_wait(&waits);
	pthread_cancel(thread);
	pthread_join(thread, &result);
	printf("cancelled: %d\n", result == PTHREAD_CANCELED);
}

const struct {
	const char *name;
	void (*run)();
} cases[] = {
	{"allocator", catching<allocator>},          {"destructor", catching<destructor>},
	{"log", catching<log_line>},                 {"cancel", cancelling<between_calls>},
	{"cancel-destructor", cancelling<in_destructor>}, {"cancel-call", cancelling<in_call>},
};

} // namespace

int main(int argc, char **argv)
{
	void *context;

	setvbuf(stdout, nullptr, _IOLBF, 0);
	sem_init(&waits, 0, 0);
	if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context))
		return 9;
	for (const auto &one : cases)
		if (argc > 1 && !strcmp(argv[1], one.name))
			one.run();
	return 0;
}
