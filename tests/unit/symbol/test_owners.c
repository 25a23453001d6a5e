// SPDX-License-Identifier: BSD-2-Clause
/* Whose memory it is: stacks of each family by the built-in rules, rules of users before them, and wrong files. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbol/owners.h"

#define WORD_MOST 255            /* characters of a word */
#define FILE_MOST ((1 << 20) - 1) /* bytes of a file */
#define SITE "/opt/venv/lib/python3.12/site-packages/"
/* module, function, file */
#define LIBCUDA { "/usr/lib/x86_64-linux-gnu/libcuda.so.570.86.15", NULL, NULL }
#define CUDA(function) { "/usr/lib/x86_64-linux-gnu/libcuda.so.570.86.15", function, NULL }
#define CUDART { SITE "nvidia/cuda_runtime/lib/libcudart.so.12", "cudaMalloc", NULL }
#define LIBC { "/lib/x86_64-linux-gnu/libc.so.6", "__libc_start_main", NULL }
#define PYTHON { "/usr/bin/python3.12", "_PyEval_EvalFrameDefault", NULL }
#define C10 { SITE "torch/lib/libc10_cuda.so", "c10::cuda::CUDACachingAllocator::Native::DeviceCachingAllocator::malloc", NULL }
#define ATEN { SITE "torch/lib/libtorch_cpu.so", "at::_ops::empty_memory_format::call", NULL }
#define TORCH_PYTHON { SITE "torch/lib/libtorch_python.so", "torch::autograd::THPVariable_empty", NULL }
#define MODULE_PY { NULL, "_call_impl", SITE "torch/nn/modules/module.py" }
#define TRAIN_PY { NULL, "forward", "/home/me/train.py" }
#define PYFRAME(file) { NULL, "f", file }
#define LIB(path) { path, NULL, NULL }
#define APP { "/home/me/app", "main", NULL }

static const struct {
	const char *owner;
	struct owners_frame frames[10];   /* innermost first, up to an empty one */
} families[] = {
	{ "PyTorch", { LIBCUDA, CUDART, C10, ATEN, TORCH_PYTHON, PYTHON, MODULE_PY, TRAIN_PY, PYTHON, LIBC } },
	{ "NCCL", { LIBCUDA, LIB(SITE "nvidia/nccl/lib/libnccl.so.2"), LIB(SITE "torch/lib/libtorch_cuda.so"), PYTHON,
		    TRAIN_PY } },
	{ "NCCL", { LIBCUDA, { SITE "torch/lib/libtorch_cuda.so", "ncclCommInitRankConfig", NULL },
		    { SITE "torch/lib/libtorch_cuda.so", "c10d::ProcessGroupNCCL::initNCCLComm", NULL } } },
	{ "PyTorch", { LIBCUDA, CUDART, C10, { SITE "torch/lib/libtorch_cuda.so", "c10d::ProcessGroupNCCL::allreduce", NULL },
		       TRAIN_PY } },
	{ "cuBLAS", { LIBCUDA, LIB("/usr/local/cuda/lib64/libcublasLt.so.12"), LIB("/usr/local/cuda/lib64/libcublas.so.12"),
		      APP } },
	{ "cuBLAS", { LIBCUDA, CUDART, C10,
		      { SITE "torch/lib/libtorch_cuda.so", "at::cuda::getCurrentCUDABlasHandle", NULL }, ATEN, TRAIN_PY } },
	{ "cuDNN", { LIBCUDA, LIB(SITE "nvidia/cudnn/lib/libcudnn_engines_precompiled.so.9"), ATEN, TRAIN_PY } },
	{ "cuDNN", { LIBCUDA, CUDART, C10,
		     { SITE "torch/lib/libtorch_cuda.so", "at::native::raw_cudnn_convolution_forward_out", NULL }, ATEN } },
	{ "cuFFT", { LIBCUDA, LIB("libcufft.so.11"), APP } },
	{ "cuSPARSE", { LIBCUDA, LIB("libcusparse.so.12"), APP } },
	{ "cuSOLVER", { LIBCUDA, LIB("libcusolver.so.11"), APP } },
	{ "cuRAND", { LIBCUDA, LIB("libcurand.so.10"), APP } },
	{ "CUDA context", { LIBCUDA, LIBCUDA, CUDA("cuDevicePrimaryCtxRetain"), CUDART, C10, TRAIN_PY } },
	{ "CUDA context", { LIBCUDA, CUDA("cuCtxCreate_v2"), APP } },
	{ "CUDA modules", { LIBCUDA, CUDA("cuLibraryLoadData"), CUDART, ATEN } },
	{ "CUDA launches", { LIBCUDA, CUDA("cuLaunchKernelEx"), APP } },
	{ "CUDA streams", { LIBCUDA, CUDA("cuEventCreate"), APP } },
	{ "CUDA graphs", { LIBCUDA, CUDA("cuGraphInstantiateWithFlags"), APP } },
	{ "vLLM", { LIBCUDA, CUDART, C10, ATEN, TORCH_PYTHON, PYTHON, PYFRAME(SITE "vllm/v1/worker/gpu_model_runner.py"),
		    MODULE_PY, PYTHON, LIBC } },
	{ "vLLM", { LIBCUDA, LIB(SITE "vllm/cumem_allocator.abi3.so"), C10, TRAIN_PY } },
	{ "PyTorch", { LIBCUDA, CUDART, C10, ATEN, PYTHON, MODULE_PY, TRAIN_PY, PYFRAME(SITE "deepspeed/runtime/engine.py") } },
	{ "torch.optim", { LIBCUDA, CUDART, C10, ATEN, PYTHON, PYFRAME(SITE "torch/optim/adam.py"),
			   PYFRAME(SITE "deepspeed/runtime/zero/stage3.py"), TRAIN_PY } },
	{ "DeepSpeed", { LIBCUDA, CUDART, C10, ATEN, PYTHON, PYFRAME(SITE "torch/optim/optimizer.py"),
			 PYFRAME(SITE "deepspeed/runtime/zero/stage3.py"), TRAIN_PY } },
	{ "Transformer Engine", { LIBCUDA, CUDART, C10, ATEN, PYTHON, PYFRAME(SITE "transformer_engine/pytorch/module/base.py"),
				  MODULE_PY, TRAIN_PY } },
	{ "Triton", { LIBCUDA, PYTHON, PYFRAME(SITE "triton/compiler/compiler.py"), TRAIN_PY } },
	{ "JAX/XLA", { LIBCUDA, LIB(SITE "jax_plugins/xla_cuda12/xla_cuda_plugin.so"), LIB(SITE "jaxlib/xla_extension.so"),
		       PYTHON, PYFRAME(SITE "jax/_src/api.py"), TRAIN_PY } },
	{ "CuPy", { LIBCUDA, CUDART, LIB(SITE "cupy/cuda/memory.cpython-312-x86_64-linux-gnu.so"), PYTHON,
		    PYFRAME(SITE "cupy/_creation/basic.py"), TRAIN_PY } },
	{ "RMM", { LIBCUDA, CUDART, LIB("/opt/conda/lib/librmm.so"), APP } },
	{ "cuDF", { LIBCUDA, CUDART, LIB("/opt/conda/lib/librmm.so"), LIB("/opt/conda/lib/libcudf.so"), PYTHON, TRAIN_PY } },
	{ "CuPy", { LIBCUDA, CUDART, LIB("/opt/conda/lib/librmm.so"), LIB(SITE "rmm/pylibrmm/memory_resource.cpython-312.so"),
		    LIB(SITE "cupy/cuda/memory.cpython-312-x86_64-linux-gnu.so"), TRAIN_PY } },
	{ "TensorRT", { LIBCUDA, LIB("/usr/lib/libnvinfer.so.10"), APP } },
	{ "llama.cpp", { LIBCUDA, CUDART, LIB("/opt/llama/libggml-cuda.so"), LIB("/opt/llama/libllama.so"), APP } },
	{ "llama.cpp", { LIBCUDA, { "/opt/llama/llama-server", "ggml_backend_cuda_buffer_type_alloc_buffer", NULL }, APP } },
	{ "FAISS", { LIBCUDA, CUDART, LIB(SITE "faiss/_swigfaiss_avx2.so"), PYFRAME(SITE "faiss/__init__.py"), TRAIN_PY } },
	{ "TensorFlow", { LIBCUDA, LIB(SITE "tensorflow/libtensorflow_framework.so.2"), PYTHON, TRAIN_PY } },
	{ "ONNX Runtime", { LIBCUDA, CUDART, LIB("libonnxruntime_providers_cuda.so"), PYTHON, TRAIN_PY } },
	{ "application", { LIBCUDA, CUDART, APP, LIBC } },
	{ "application", { LIBCUDA, { "/usr/lib/libffi.so.8", "ffi_call", NULL }, PYTHON, TRAIN_PY, LIBC } },
	{ "application", { LIBCUDA, CUDART, { "/home/me/app", "thrust::detail::malloc", NULL }, APP, LIBC } },
	/* the name of a directory decides nothing */
	{ "application", { LIBCUDA, CUDART, { "/data/libnccl.so/torch/app", "run", NULL }, LIBC } },
	{ "application", { LIBCUDA, PYTHON, PYFRAME("/home/me/vllm-experiments/torch.py"), LIBC } },
	{ "unknown", { LIBCUDA, CUDART, LIBC } },
	{ "unknown", { LIBCUDA } },
	/* nor does the folder that an environment lies in: only the package that the file was installed with */
#define BELOW(folder) "/home/me/" folder "/env/lib/python3.12/site-packages/"
	{ "application", { LIBCUDA, LIB(BELOW("torch") "mylib/_ext.cpython-312-x86_64-linux-gnu.so"), PYTHON, TRAIN_PY } },
	{ "application", { LIBCUDA, LIB("/home/me/torch/plain.so"), APP, LIBC } },
	{ "application", { LIBCUDA, PYTHON, PYFRAME("/home/me/torch/train.py"), LIBC } },
	{ "application", { LIBCUDA, LIB("/home/me/cupy/jaxlib/vllm/plain.so"), APP, LIBC } },
	{ "JAX/XLA", { LIBCUDA, LIB(BELOW("torch") "jaxlib/_jax.so"), PYFRAME(BELOW("torch") "jax/_src/api.py"), TRAIN_PY } },
	{ "JAX/XLA", { LIBCUDA, LIB(BELOW("torch") "jax_plugins/xla_cuda12/plugin.so"), PYTHON, TRAIN_PY } },
	{ "CuPy", { LIBCUDA, CUDART, LIB(BELOW("torch") "cupy/cuda/memory.cpython-312-x86_64-linux-gnu.so"), TRAIN_PY } },
	{ "CuPy", { LIBCUDA, CUDART, LIB(BELOW("vllm/vllm") "cupy/cuda/memory.so"),
		    PYFRAME(BELOW("vllm/vllm") "cupy/_creation/basic.py"), TRAIN_PY } },
	{ "PyTorch", { LIBCUDA, CUDART, LIB(BELOW("cupy") "torch/_C.cpython-312.so"), PYFRAME(BELOW("rmm") "torch/nn/x.py"),
		       TRAIN_PY } },
	{ "PyTorch", { LIBCUDA, LIB("/usr/lib/python3/dist-packages/torchvision/_C.so"), APP } },
	{ "application", { LIBCUDA, PYTHON, PYFRAME(BELOW("torch") "mine/model.py") } },
	{ "application", { LIBCUDA, PYTHON, PYFRAME(BELOW("pytorch/torch") "mine/threading.py") } },
	{ "application", { LIBCUDA, PYTHON, PYFRAME(BELOW("DeepSpeed/deepspeed") "mine/model.py") } },
	{ "application", { LIBCUDA, PYTHON, PYFRAME("/srv/flash_attn/faiss/xformers/cuml/train.py") } },
	{ "application", { LIBCUDA, PYTHON, PYFRAME("/usr/lib/python3.12/site-packages/jobs/queue.py") } },
	/* a tree of sources that was not installed */
	{ "vLLM", { LIBCUDA, CUDART, PYFRAME("/src/vllm/vllm/worker.py") } },
	{ "vLLM", { LIBCUDA, LIB("/src/vllm/vllm/_C.abi3.so"), APP } },
	{ "PyTorch", { LIBCUDA, LIB("/tmp/torchinductor_me/ab/cdef.so"), TRAIN_PY } },
	{ "FlashAttention", { LIBCUDA, CUDART, PYFRAME(SITE "flash_attn_interface.py") } },
};

static size_t frame_count(const struct owners_frame *frames)
{
	size_t count = 0;

	while (count < 10 && (frames[count].module || frames[count].function || frames[count].file))
		count++;
	return count;
}

static uint16_t owners_of(const struct owners *owners, const struct owners_frame *frames, size_t count)
{
	struct owners_match matches[16];
	size_t frame;

	assert_in_range(count, 0, 16);
	for (size_t i = 0; i < count; i++)
		matches[i] = owners_match(owners, &frames[i]);
	return owners_decide(matches, count, &frame);
}

static struct owners *builtin(void)
{
	struct owners *owners = owners_new();
	char why[256] = "";

	if (owners_add_builtin(owners, why, sizeof(why)))
		fail_msg("%s", why);
	return owners;
}

static void every_family(void **state)
{
	struct owners *owners = builtin();

	(void)state;
	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
		const struct owners_frame *frames = families[i].frames;
		const char *name = owners_name(owners, owners_of(owners, frames, frame_count(frames)));

		if (strcmp(name, families[i].owner))
			fail_msg("stack %zu is called %s, not %s", i, name, families[i].owner);
	}
	assert_int_equal(owners_of(owners, NULL, 0), OWNER_UNKNOWN);
	owners_free(owners);
}

static void unknown_frames_say_nothing(void **state)
{
	static const struct owners_frame frames[] = { LIBCUDA, { NULL, NULL, NULL }, C10, { NULL, NULL, NULL },
						      LIB("[anon]"), PYFRAME(SITE "vllm/worker.py") };
	struct owners *owners = builtin();

	(void)state;
	assert_string_equal(owners_name(owners, owners_of(owners, frames, 6)), "vLLM");
	owners_free(owners);
}

static int add(struct owners *owners, const char *text, char *why, size_t size)
{
	return owners_add(owners, "my.conf", text, strlen(text), why, size);
}

static void users_rules_come_first(void **state)
{
	static const struct owners_frame frames[] = { LIBCUDA, C10, ATEN, TRAIN_PY };
	struct owners *owners = owners_new();
	char why[256] = "";

	(void)state;
	assert_int_equal(add(owners,
			     "# mine\n\n"
			     "owner \"My model\" file */train.py\r\n"
			     "\towner\tEmpty\tfunction\tat::_ops::empty* \tmodule\tlibtorch_cpu.so other.so # a comment\n",
			     why, sizeof(why)),
			 0);
	assert_int_equal(owners_add_builtin(owners, why, sizeof(why)), 0);
	assert_string_equal(owners_name(owners, owners_of(owners, frames, 4)), "Empty");
	assert_string_equal(owners_name(owners, owners_of(owners, frames + 3, 1)), "My model");
	assert_string_equal(owners_name(owners, OWNER_FIRST), "My model");
	assert_string_equal(owners_name(owners, 60000), "unknown");
	assert_true(owners_count(owners) > 40);
	owners_free(owners);
}

static void all_keywords_must_match(void **state)
{
	static const struct owners_frame yes = { "/x/liba.so", "f1", "a.c" }, no_function = { "/x/liba.so", "g", "a.c" },
					 no_module = { "/x/libb.so", "f1", "a.c" }, nameless = { "/x/liba.so", NULL, NULL };
	struct owners *owners = owners_new();
	char why[256] = "";

	(void)state;
	assert_int_equal(add(owners, "owner A module libz.so liba.so function e* f?\n", why, sizeof(why)), 0);
	assert_int_equal(owners_match(owners, &yes).verb, OWNERS_OWNER);
	assert_int_equal(owners_match(owners, &no_function).verb, OWNERS_NOTHING);
	assert_int_equal(owners_match(owners, &no_module).verb, OWNERS_NOTHING);
	assert_int_equal(owners_match(owners, &nameless).verb, OWNERS_NOTHING);
	owners_free(owners);
}

static void the_package_is_behind_the_last_folder_of_packages(void **state)
{
	static const struct {
		struct owners_frame frame;
		const char *owner;
	} cases[] = {
		{ LIB("/e/site-packages/one/lib/x.so"), "One" },
		{ LIB("/e/dist-packages/one.cpython-312.so"), "One" },
		{ PYFRAME("/e/site-packages/two/site-packages/one/x.py"), "One" },
		{ PYFRAME("/e/site-packages/two/dist-packages/one/x.py"), "One" },
		{ { "/e/site-packages/one/x.so", "f", "/build/site-packages/two/x.c" }, "One" },
		{ PYFRAME("/e/site-packages/one_more/x.py"), "unknown" },
		{ PYFRAME("/e/site-packages/"), "unknown" },
		{ PYFRAME("/e/my-site-packages/one/x.py"), "None" },
		{ PYFRAME("site-packages/one/x.py"), "None" },
		{ LIB("/e/one/x.so"), "None" },
	};
	struct owners *owners = owners_new();
	char why[256] = "";

	(void)state;
	assert_int_equal(add(owners, "owner Two package two\nowner One package one\nowner None package -\n", why,
			     sizeof(why)), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(owners_name(owners, owners_match(owners, &cases[i].frame).owner), cases[i].owner);
	owners_free(owners);
}

static void wrong_files_are_refused_with_the_line(void **state)
{
	static const struct {
		const char *text, *why;
	} cases[] = {
		{ "own A module a\n", "my.conf:1: \"owner\", \"part\", \"carrier\" or \"skip\" is expected, not \"own\"" },
		{ "skip module a\n\nowner\n", "my.conf:3: the owner's name is missing" },
		{ "owner module a\n", "my.conf:1: the owner's name is missing" },
		{ "owner A\n", "my.conf:1: the rule has no pattern" },
		{ "owner A module\n", "my.conf:1: the rule has no pattern" },
		{ "owner A module # a\n", "my.conf:1: the rule has no pattern" },
		{ "owner A module function f\n", "my.conf:1: a pattern is missing before \"function\"" },
		{ "owner A module a module b\n", "my.conf:1: \"module\" twice in a rule" },
		{ "owner A b module a\n", "my.conf:1: \"module\", \"function\", \"file\" or \"package\" is expected, not \"b\"" },
		{ "# x\nskip \"module\" a\n", "my.conf:2: \"module\", \"function\", \"file\" or \"package\" is expected, not \"module\"" },
		{ "owner \"A module a\n", "my.conf:1: no closing quotation mark" },
		{ "owner A module \"\"\n", "my.conf:1: an empty word" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct owners *owners = owners_new();
		char why[256] = "";

		assert_int_equal(add(owners, cases[i].text, why, sizeof(why)), -EINVAL);
		assert_string_equal(why, cases[i].why);
		owners_free(owners);
	}
}

static void files_are_bounded(void **state)
{
	char path[] = "/tmp/gmt-owners-XXXXXX", why[256] = "", text[WORD_MOST + 64];
	struct owners *owners = owners_new();
	static const char rule[] = "owner A module a\n";

	(void)state;
	for (int over = 0; over < 2; over++) {
		snprintf(text, sizeof(text), "owner A module %0*d\n", WORD_MOST + over, 7);
		assert_int_equal(add(owners, text, why, sizeof(why)), over ? -EINVAL : 0);
		assert_string_equal(why, over ? "my.conf:1: a word of more than 255 characters" : "");
	}
	assert_int_equal(close(mkstemp(path)), 0);
	for (int over = 0; over < 2; over++) {
		FILE *file = fopen(path, "w");

		fprintf(file, "%s#%*s", rule, FILE_MOST - (int)sizeof(rule) + over, "");
		fclose(file);
		assert_int_equal(owners_add_file(owners, path, why, sizeof(why)), over ? -EFBIG : 0);
	}
	assert_non_null(strstr(why, "File too large"));
	remove(path);
	owners_free(owners);
}

static void quoted_keywords_are_patterns(void **state)
{
	static const struct owners_frame frame = { "/x/module", NULL, NULL };
	struct owners *owners = owners_new();
	char why[256] = "";

	(void)state;
	assert_int_equal(add(owners, "owner \"file\" module \"module\"", why, sizeof(why)), 0);
	assert_string_equal(owners_name(owners, owners_of(owners, &frame, 1)), "file");
	owners_free(owners);
}

static void any_text(void **state)
{
	static const char *const words[] = { "owner ", "skip ", "carrier ", "module ", "function ", "file ", "*", "\"",
					     "\n",     "#",	" ",	    "a ",      "[",	    "\\",    "\t",  "\r" };
	uint32_t seed = 5;

	(void)state;
	for (int round = 0; round < 5000; round++) {
		static const struct owners_frame frame = { "/x/a", "a", "a" };
		struct owners *owners = owners_new();
		char text[512] = "", why[64];
		int err;

		while (strlen(text) < 400) {
			seed = seed * 1664525 + 1013904223;
			strncat(text, words[(seed >> 20) % 16], 100);
		}
		err = add(owners, text, why, sizeof(why));
		assert_true(err == 0 || err == -EINVAL);
		owners_match(owners, &frame);
		owners_free(owners);
	}
}

static void files(void **state)
{
	char path[] = "/tmp/gmt-owners-XXXXXX", why[256] = "";
	struct owners *owners = owners_new();
	int fd = mkstemp(path);
	FILE *file = fdopen(fd, "w");

	(void)state;
	fputs("owner A module a\nowner B modul b\n", file);
	fclose(file);
	assert_int_equal(owners_add_file(owners, path, why, sizeof(why)), -EINVAL);
	assert_non_null(strstr(why, ":2: "));
	assert_int_equal(remove(path), 0);
	assert_int_equal(owners_add_file(owners, path, why, sizeof(why)), -ENOENT);
	assert_non_null(strstr(why, "No such file"));
	assert_int_equal(owners_add_file(owners, "/tmp", why, sizeof(why)), -EISDIR);
	owners_free(owners);
}

static void the_users_file_comes_first(void **state)
{
	static const struct owners_frame frame = LIB("libnccl.so.2");
	char dir[] = "/tmp/gmt-owners-XXXXXX", path[128], why[256] = "";
	struct owners *owners = owners_new();
	FILE *file;

	(void)state;
	assert_non_null(mkdtemp(dir));
	setenv("XDG_CONFIG_HOME", dir, 1);
	assert_int_equal(owners_add_standard(owners, why, sizeof(why)), 0);
	assert_string_equal(owners_name(owners, owners_of(owners, &frame, 1)), "NCCL");
	owners_free(owners);
	snprintf(path, sizeof(path), "%s/gpumemtrace", dir);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/gpumemtrace/owners.conf", dir);
	file = fopen(path, "w");
	fputs("owner Mine module libnccl.so*\n", file);
	fclose(file);
	owners = owners_new();
	assert_int_equal(owners_add_standard(owners, why, sizeof(why)), 0);
	assert_string_equal(owners_name(owners, owners_of(owners, &frame, 1)), "Mine");
	owners_free(owners);
	remove(path);
	*strrchr(path, '/') = '\0';
	rmdir(path);
	rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_family),
		cmocka_unit_test(unknown_frames_say_nothing),
		cmocka_unit_test(users_rules_come_first),
		cmocka_unit_test(all_keywords_must_match),
		cmocka_unit_test(the_package_is_behind_the_last_folder_of_packages),
		cmocka_unit_test(wrong_files_are_refused_with_the_line),
		cmocka_unit_test(files_are_bounded),
		cmocka_unit_test(quoted_keywords_are_patterns),
		cmocka_unit_test(any_text),
		cmocka_unit_test(files),
		cmocka_unit_test(the_users_file_comes_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
