// SPDX-License-Identifier: BSD-2-Clause
/* What an environment asks PyTorch's allocator for. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gpumemtrace/wire.h>

#include "live/framework/library_kinds.h"
#include "live/process/settings.h"

static const struct {
	const char *environ;     /* ended by two NULs */
	uint32_t flags;
} cases[] = {
	{ "", 0 },
	{ "PATH=/bin\0", 0 },
	{ "A=1\0PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync\0B=2\0", GMT_FRAMEWORK_ASYNC },
	{ "PYTORCH_ALLOC_CONF=max_split_size_mb:64, backend: cudaMallocAsync\0", GMT_FRAMEWORK_ASYNC },
	{ "PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync,max_split_size_mb:64\0", GMT_FRAMEWORK_ASYNC },
	{ "PYTORCH_CUDA_ALLOC_CONF=backend:native,expandable_segments:True\0", 0 },
	{ "PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsyncX\0", 0 },
	{ "PYTORCH_CUDA_ALLOC_CONF=Xbackend:cudaMallocAsync\0", 0 },
	{ "PYTORCH_CUDA_ALLOC_CONF=backend:cudaMalloc\0Async=1\0", 0 },
	{ "MY_PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync\0", 0 },
	{ "PYTORCH_CUDA_ALLOC_CONFIG=backend:cudaMallocAsync\0", 0 },
	{ "PYTORCH_CUDA_ALLOC_CONF=\0", 0 },
	{ "PYTORCH_CUDA_ALLOC_CONF\0", 0 },
	{ "PYTORCH_NO_CUDA_MEMORY_CACHING=1\0", GMT_FRAMEWORK_UNCACHED },
	{ "PYTORCH_NO_CUDA_MEMORY_CACHING=0\0", GMT_FRAMEWORK_UNCACHED },   /* as PyTorch takes it */
	{ "PYTORCH_NO_CUDA_MEMORY_CACHING=1\0PYTORCH_ALLOC_CONF=backend:cudaMallocAsync\0",
	  GMT_FRAMEWORK_UNCACHED | GMT_FRAMEWORK_ASYNC },
};

static size_t size_of(const char *environ)
{
	size_t size = 0;

	while (environ[size])
		size += strlen(environ + size) + 1;
	return size;
}

static void environments(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t size = size_of(cases[i].environ);
		char *exact = malloc(size + 1);   /* a read behind its end is one that a sanitizer sees */

		memcpy(exact, cases[i].environ, size);
		exact[size] = '\0';
		assert_int_equal(settings_parse(&framework_pytorch, exact, size), cases[i].flags);
		if (size)
			assert_int_equal(settings_parse(&framework_pytorch, exact, size - 1), cases[i].flags); /* its last NUL is cut off */
		free(exact);
	}
}

static void of_a_process(void **state)
{
	(void)state;
	assert_int_equal(settings_read(&framework_pytorch, getpid()), 0);
	assert_int_equal(settings_read(&framework_pytorch, 0x7ffffff0), 0);
}

#define PAD_BYTES 100000

/* Settings behind 500 KB of other variables, in a program that waits for the end of its input. */
static void behind_much_else(void **state)
{
	char *variables[7], pad[PAD_BYTES] = "PAD=", byte;
	int input[2], started[2];
	pid_t pid;

	(void)state;
	memset(pad + 4, 'x', sizeof(pad) - 5);
	for (int i = 0; i < 5; i++)
		variables[i] = pad;
	variables[5] = (char[]){ "PYTORCH_NO_CUDA_MEMORY_CACHING=1" };
	variables[6] = NULL;
	assert_int_equal(pipe(input) || pipe2(started, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		dup2(input[0], 0);
		close(input[1]);
		execve("/bin/cat", (char *[]){ "cat", NULL }, variables);
		_exit(1);
	}
	close(started[1]);
	assert_int_equal(read(started[0], &byte, 1), 0); /* closed by the exec */
	assert_int_equal(settings_read(&framework_pytorch, pid), GMT_FRAMEWORK_UNCACHED);
	close(input[1]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	close(input[0]);
	close(started[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(environments), cmocka_unit_test(of_a_process), cmocka_unit_test(behind_much_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
