# SPDX-License-Identifier: BSD-2-Clause
# gpumemtrace. `make help` lists the targets, `make V=1` prints the commands, `make SAN=1 ...` builds
# with the address and undefined-behaviour sanitizers into build/san, `make SAN=thread ...` with the one for threads
# into build/tsan. Sources are listed, not globbed: tests/lint/sources.sh fails when one is not.

VERSION := 0.1.0
PREFIX  ?= /usr/local
DESTDIR ?=

O    := build$(if $(SAN),/$(if $(filter thread,$(SAN)),tsan,san))
# For another machine: make CROSS=aarch64-linux-gnu SYSROOT=DIR test-programs build/demos/train, in a tree of its own,
# for build/ holds one machine's programs. DIR is the root of a Debian of that machine with the packages of
# tests/setup.sh from libc6-dev to libcmocka-dev. `tests/run` and demos/demo.sh then run there, without make.
ARCH := $(patsubst aarch64,arm64,$(patsubst x86_64,x86,$(or $(firstword $(subst -, ,$(CROSS))),$(shell uname -m))))

# ---- tools and flags ------------------------------------------------------------------------------
CC         := $(if $(filter default,$(origin CC)),$(CROSS:%=%-)gcc$(SYSROOT:%= --sysroot=%),$(CC))
CLANG      ?= clang
LLVM_STRIP ?= llvm-strip
AR         := $(if $(filter default,$(origin AR)),$(CROSS:%=%-)ar,$(AR))
OBJCOPY    := $(CROSS:%=%-)objcopy
CFLAGS     ?= -O2 -g

comma   := ,
SANITIZE_thread := -fsanitize=thread -fno-omit-frame-pointer
SANITIZE := $(or $(SANITIZE_$(SAN)),$(if $(SAN),-fsanitize=address$(comma)undefined -fno-sanitize-recover=undefined \
                                                -fno-omit-frame-pointer))
GMT_CPPFLAGS := -D_GNU_SOURCE -DGMT_VERSION='"$(VERSION)"' -Iinclude -Iuser $(CPPFLAGS)
GMT_CFLAGS   := -std=gnu17 -Wall -Wextra -Werror -Wmissing-prototypes -Wvla $(CFLAGS) $(SANITIZE)
GMT_LDFLAGS  := $(LDFLAGS) $(SANITIZE)
# Functions that begin with what indirect branches may lead to (endbr64; bti or paciasp), and plain ones.
PLAIN_x86     := -fcf-protection=none
GUARDED_x86   := -fcf-protection=full
PLAIN_arm64   := -mbranch-protection=none
GUARDED_arm64 := -mbranch-protection=standard
# The last two: libbpf's CO-RE macros have an uninitialised variable of the type that is read, a const one on arm64,
# of which clang warns from 21 on.
BPF_CFLAGS   := -target bpf -std=gnu17 -O2 -g -Wall -Wextra -Werror -Wno-unused-parameter -mcpu=v3 -Iinclude \
                -Wno-unknown-warning-option -Wno-default-const-init-var-unsafe

# libbpf and what it needs go into the binary, so that it can be copied to a machine that has nothing.
# libelf needs zstd from elfutils 0.189 on. libc stays shared: NVML is opened with dlopen().
# OLD_LIBC: what glibc before 2.34 keeps apart; newer ones have empty files of these names (user/base/glibc_old.c).
OLD_LIBC := -Wl,--push-state,--no-as-needed -l:libdl.so.2 -l:libpthread.so.0 -Wl,--pop-state
# Names and lines: libdw needs libelf, libiberty demangles, liblzma unpacks .gnu_debugdata. libgmt.a is searched
# again behind them, for eu_search.c.
# GUARDED: copies of libraries that crash or leave out something in silence when memory or the storage fails. The copies
# call functions of user/base that end the process with a sentence (xalloc.h, guarded.h), or tell the worker (storage.h).
GUARDED := $(addprefix $(O)/guarded/,$(addsuffix .a,libdw libelf libz liblzma libncursesw libtinfo libsqlite3))
redefine = $(foreach pair,$(1),--redefine-sym $(pair))
GUARDS  := $(call redefine,malloc=xmalloc calloc=xcalloc realloc=xrealloc reallocarray=xreallocarray strdup=xstrdup \
                          strndup=guarded_strndup tsearch=guarded_tsearch posix_memalign=guarded_memalign \
                          write=guarded_write pread=storage_pread pread64=storage_pread64)
# SQLite tells of the failures of memory and storage itself. It must not load code.
GUARDS_libsqlite3 := $(call redefine,dlopen=guarded_dlopen dlsym=guarded_dlsym dlclose=guarded_dlclose dlerror=guarded_dlerror)
SYMBOL_LIBS = -L$(O)/guarded -Wl,-Bstatic -ldw -lelf -lz -lzstd -liberty -llzma $(filter %/libgmt.a,$^) -Wl,-Bdynamic
# libm is a part of libc that SQLite needs.
SQLITE_LIBS = -L$(O)/guarded -Wl,-Bstatic -lsqlite3 $(filter %/libgmt.a,$^) -Wl,-Bdynamic -lm
STATIC_LIBS = -L$(O)/guarded -Wl,-Bstatic -lbpf -ljansson -lncursesw -ltinfo $(SYMBOL_LIBS) $(SQLITE_LIBS)
# The live view on a terminal (user/screen/curses.c), as in STATIC_LIBS.
SCREEN_LIBS = -L$(O)/guarded -Wl,-Bstatic -lncursesw -ltinfo $(filter %/libgmt.a,$^) -Wl,-Bdynamic
# The tests of rows 0 to 3 link without libbpf and libelf: that they link is the proof of the layers.
UNIT_LIBS   = -lcmocka -ljansson -lzstd -lz $(SQLITE_LIBS)

# ---- sources, by row and room (tests/lint/layering.py: which may include which) --------------------
in = $(addprefix $(1)/,$(2))
BASE     := blake2 confine for_tests foreign_file guarded hash human js maps out out_file rangemap siphash \
            storage xalloc
PARSE    := channel client keeper oom_kills parser worker
CORE     := $(call in,terms,array_size cgroup_parts dropped frames gpus libraries limits module_paths names neighbours own_code \
                            owner_names probes symbol_hint) \
            $(call in,account,account stacks sums) \
            $(call in,rm,rm rm_memory rm_objects) \
            $(call in,ledger,alloc balance bind books calls checkpoint context driver_records dump_records \
                             ended ends framework_records graph held import ledger life overlap pool process \
                             process_tables stack_ends streams vmm vmm_object) \
            $(call in,framework,categories category framework framework_view frameworks iteration_end iteration_marks phase_line phases \
                                range_name recent rises segments sizes torch_silent waiting) \
            $(call in,oom,oom_ask oom_copy oom_dump oom_gpus oom_kept oom_picture oom_read oom_refused oom_requests oom_state oom_watch) \
            $(call in,history,births history history_dump history_events history_marks history_read instant_cut instants \
                              view_instants window) \
            $(call in,timeline,phase_spans series series_merge series_of_key series_parts series_peak timeline \
                               timeline_room view_timeline) \
            $(call in,lives,kept_lives largest_lives life_takers live_process live_table lives lives_alive \
                            lives_around view_lives) \
            $(call in,pipeline,pipeline) \
            $(call in,compare,diff diff_moved diff_pairs diff_tables held_entries moment ranks) \
            $(call in,snapshot,snapshot snapshot_index snapshot_replay) \
            $(call in,view,by_stack by_stack_order by_stack_purposes finding_search findings findings_growth \
                            looked oom_causes oom_findings oom_judge oom_parts oom_verdict \
                            oom_reason oom_view picture_over_time request_why \
                            table view view_build view_facts view_filter view_over_time \
                            view_placed view_single)
SOURCE   := dump_folder reader recorder
SYMBOL   := intern owners symbolizer \
            $(call in,elf,demangle ehread elfsym entry eu_search fde file_names image lines modules source symfile symtab) \
            $(call in,python,eval_parts pycode pyfile pylayout pylines pyparse pytext pytls pyversion) \
            $(call in,unwind,bare_code cfa_arch cfa_program ehframe rewalk switchers table_cache table_parse unwind_table)
SINK     := registry \
            $(call in,text,finding_text neighbour_text page redact stack_text text why_text) \
            $(call in,records,record_fields record_text) \
            $(call in,json,json_cgroup json_stacks json_view) \
            $(call in,report,doctor list report report_answer report_gpu report_next report_nothing report_others \
                              report_held report_parts report_stacks report_training sum warnings) \
            $(call in,compare,diff_json diff_names diff_text held_name ranks_json ranks_text) \
            $(call in,oom,oom_holders oom_json oom_list oom_more oom_report oom_sentences oom_text) \
            $(call in,formats,json plain processes) \
            $(call in,export,folded gzip pickle pprof pprof_names protobuf torch_snapshot) \
            $(call in,html,html html_compare html_data html_events html_page html_segments html_series \
                           html_text packed source_lines) \
            $(call in,perfetto,heap_samples memory_tracks perfetto trace_packet) \
            $(call in,sqlite,db db_file sqlite sqlite_rows)
SCREEN   := curses finding_reader grid head messages picture picture_lines rows screen screen_findings spark stage terminal
LIVE     := stream \
            $(call in,bpf,guard plan programs ring rodata target_map users) \
            $(call in,features,features features_checks features_driver features_kernel features_place features_programs) \
            $(call in,framework,library_kinds pytorch) \
            $(call in,nvidia,driver inventory neighbours_told nvml nvml_sampler nvml_thread) \
            $(call in,probe,attach hazard holder library library_parse mmap_watch permission probed_files probed_processes \
                            quota refused_files removal target tracepoint trial unmapped uprobe usdt_notes) \
            $(call in,process,descendants find find_facts find_match find_names find_selector identity launch own_memory procfs \
                              refused_calls relay relay_child relay_line roster settings) \
            $(call in,select,candidates chooser cuda_list selection) \
            $(call in,stacks,address_space bpf_tables code_events copies map_publisher space_tables stack_names \
                             stack_needs stack_thread stack_worker stack_worker_state turns walk_check)
NO_NVML  := user/live/nvidia/nvml_none
OLD      := $(if $(SAN),,user/base/glibc_old)
CLI      := cli cli_commands cli_help cli_near cli_options cli_values
TOP      := $(call in,cli,$(CLI)) \
            $(call in,commands,at_moment command_diff command_oom command_ranks command_records command_replay main) \
            attribution display dump_writer dumping ending events finish \
            interact loading mapped memory_watch output_clash output_files outputs pager playback privileges progress \
            rescan say session setup streamed_file targets

LIB_SRC  := $(BASE:%=user/base/%) $(PARSE:%=user/parse/%) $(CORE:%=user/core/%) $(SOURCE:%=user/source/%) \
            $(SYMBOL:%=user/symbol/%) \
            $(SINK:%=user/sink/%) $(SCREEN:%=user/screen/%)
# Texts inside the binary.
EMBEDDED := user/symbol/owners_builtin user/sink/html/page user/sink/sqlite/schema_text
LIVE_SRC := $(LIVE:%=user/live/%)
BIN_SRC  := $(TOP:%=user/%)

# ---- unit tests, in rooms as above: what those of the last three lists need beside libgmt.a, their rules say --------
UNIT      := $(call in,base,confine foreign_file hash human out out_file rangemap) \
             $(call in,parse,killed parse) \
             $(call in,terms,array_size cgroup_parts libraries own_code probes terms) \
             $(call in,bpf,joint memo pairing) \
             $(call in,account,stacks) \
             $(call in,rm,rm rm_model) \
             $(call in,ledger,alloc before bind bounds checkpoint context graph known_bugs known_bugs_others known_bugs_own ledger \
                             mark orders overlap pool stack_ends streams vmm) \
             $(call in,framework,category iterations phases phases_now range_name recent rises torch torch_silent torch_size) \
             $(call in,oom,oom oom_pictures oom_refused) \
             $(call in,history,history history_dump instants) \
             $(call in,timeline,phase_spans series timeline) \
             $(call in,compare,diff moment ranks) \
             $(call in,lives,kept_lives lives) \
             $(call in,view,by_stack by_stack_model by_stack_order findings shed table view) \
             $(call in,source,recfile recordings) \
             $(call in,symbol,ehframe eval_parts pycode pyfile pystack rewalk rewalk_arm64 switchers table_cache unwind \
                              unwind_arm64 unwind_table) \
             $(call in,sink,answer folded oom_rules page pickle plain processes protobuf redact \
                           registry sink_json sink_oom sink_report verdict)
UNIT_SYMBOL := $(call in,symbol,demangle elfsym image lines modules owners symbolizer symtab)
UNIT_SCREEN := $(call in,screen,screen)
UNIT_LIVE := $(call in,live,candidates code_events driver features find guard hazard holder identity library neighbours nvml plan procfs \
                         quota refused_calls relay_line settings space_tables stack_needs target trial turns usdt watch) \
             $(call in,bpf,room) $(call in,probe,refused)
UNIT_CLI  := $(call in,cli,cli)
UNIT_TOP  := $(call in,top,attribution dump_writer ending say)
unit_path = $(foreach test,$(1),$(O)/tests/unit/$(dir $(test))test_$(notdir $(test)))
UNIT_BIN  := $(call unit_path,$(UNIT) $(UNIT_SYMBOL) $(UNIT_SCREEN) $(UNIT_LIVE) $(UNIT_CLI) $(UNIT_TOP))
UNIT_OBJ  := $(O)/tests/unit/records.o

all: $(O)/gpumemtrace

# ---- how things are built --------------------------------------------------------------------------
Q   := $(if $(V),,@)
SILENT := $(findstring s,$(firstword -$(MAKEFLAGS)))
msg  = $(if $(V)$(SILENT),@:,@printf '  %-7s %s\n' $(1) $(2))

.DELETE_ON_ERROR:
.SUFFIXES:
.SECONDARY:
MAKEFLAGS += --no-builtin-rules

# The targets that are a user's first command install what is missing before anything is compiled.
SETUP := $(if $(filter test demo pictures bench fuzz setup,$(MAKECMDGOALS)),build/setup.stamp)
build/setup.stamp: tests/setup.sh
	$(Q)tests/setup.sh $@
# After the others, whose apt this would meet.
build/setup-browser.stamp: tests/setup.sh | build/setup.stamp
	$(Q)WITH_BROWSER=1 tests/setup.sh $@
build/setup-bench.stamp: tests/setup.sh
	$(Q)WITH_BENCH=1 tests/setup.sh $@

$(O)/%.o: %.c Makefile | $(SETUP)
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(GMT_CPPFLAGS) $(GMT_CFLAGS) -MMD -MP -c $< -o $@

$(GUARDED): $(O)/guarded/%: Makefile | $(SETUP)
	$(call msg,OBJCOPY,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(OBJCOPY) $(or $(GUARDS_$(basename $*)),$(GUARDS)) $$($(CC) -print-file-name=$*) $@

# Quick append: two layers may hold files of one name, which `ar r` would take for the same member.
$(O)/libgmt.a: $(LIB_SRC:%=$(O)/%.o) $(EMBEDDED:%=$(O)/%.o)
$(O)/liblive.a: $(LIVE_SRC:%=$(O)/%.o) $(O)/user/live/bpf/bpf_blob.o
$(O)/libgmt.a $(O)/liblive.a: | $(GUARDED)
	$(call msg,AR,$@)
	$(Q)rm -f $@.new
	$(Q)$(AR) qcs $@.new $(filter %.o,$^)
	$(Q)mv $@.new $@

$(EMBEDDED:%=$(O)/%.o): $(O)/%.o: %.S
$(EMBEDDED:%=build/fuzz/%.o): build/fuzz/%.o: %.S
$(O)/user/symbol/owners_builtin.o build/fuzz/user/symbol/owners_builtin.o: user/symbol/owners.conf
PAGE     := $(wildcard user/sink/html/page/*.js user/sink/html/page/*.css)
$(O)/user/sink/html/page.o build/fuzz/user/sink/html/page.o: $(PAGE)
$(O)/user/sink/sqlite/schema_text.o build/fuzz/user/sink/sqlite/schema_text.o: user/doc/sqlite-schema.sql
$(EMBEDDED:%=$(O)/%.o) $(EMBEDDED:%=build/fuzz/%.o):
	$(call msg,AS,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -c $< -o $@

# ---- BPF object: BTF stays, debug sections go; the .incbin makes bpftool unnecessary ----------------
bpf_compile = $(CLANG) $(BPF_CFLAGS) $(BPF_CPPFLAGS) -D__TARGET_ARCH_$(1) $(BPF_DEFS_$(1)) -Ivmlinux/$(1) \
              -MMD -MP -MT $@ -MF $(@:.o=.d) -c $< -o $@ && $(LLVM_STRIP) -g $@
# With -target bpf the compiler does not say for which machine: api.h asks.
BPF_DEFS_x86   := -D__x86_64__
BPF_DEFS_arm64 := -D__aarch64__

$(O)/gmt.bpf.o: bpf/gmt.bpf.c Makefile | $(SETUP)
	$(call msg,BPF,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(call bpf_compile,$(ARCH))

# Built to see that the programs compile for it, not run.
build/arm64/gmt.bpf.o: bpf/gmt.bpf.c Makefile | $(SETUP)
	$(call msg,BPF,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(call bpf_compile,arm64)

# What test_guard.c has to notice: the programs as kernels from 6.13 on would run them without bpf/guard.bpf.h.
$(O)/private/gmt.bpf.o: BPF_CPPFLAGS += -DGMT_WITH_PRIVATE_STACKS
$(O)/private/gmt.bpf.o: bpf/gmt.bpf.c Makefile | $(SETUP)
	$(call msg,BPF,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(call bpf_compile,$(ARCH))
$(call unit_path,live/guard): | $(O)/private/gmt.bpf.o

$(O)/user/live/bpf/bpf_blob.o: user/live/bpf/bpf_blob.S $(O)/gmt.bpf.o
	$(call msg,AS,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -DGMT_BPF_OBJECT='"$(O)/gmt.bpf.o"' -c $< -o $@

# ---- the binary -------------------------------------------------------------------------------------
define link_binary
	$(call msg,LINK,$@)
	$(Q)$(CC) $(GMT_LDFLAGS) $^ $(STATIC_LIBS) $(if $(OLD),$(OLD_LIBC),-ldl) -o $@
endef
$(O)/gpumemtrace: $(BIN_SRC:%=$(O)/%.o) $(OLD:%=$(O)/%.o) $(O)/liblive.a $(O)/libgmt.a
	$(link_binary)

# One file that needs no libc at all; no NVML: nvml_none.o comes before liblive.a, which then leaves nvml.o out.
$(O)/gpumemtrace-static: $(BIN_SRC:%=$(O)/%.o) $(O)/$(NO_NVML).o $(O)/liblive.a $(O)/libgmt.a
	$(call msg,LINK,$@)
	$(Q)$(CC) -static-pie $(GMT_LDFLAGS) $^ $(filter-out -Wl$(comma)-Bdynamic,$(STATIC_LIBS)) -o $@

# The binary with a BPF object that another clang made (tests/clangs.sh), which comes before the one in liblive.a.
$(O)/clangs/%.blob.o: user/live/bpf/bpf_blob.S $(O)/clangs/%.bpf.o
	$(Q)$(CC) -DGMT_BPF_OBJECT='"$(O)/clangs/$*.bpf.o"' -c $< -o $@
$(O)/clangs/gpumemtrace-%: $(O)/clangs/%.blob.o $(BIN_SRC:%=$(O)/%.o) $(OLD:%=$(O)/%.o) $(O)/liblive.a $(O)/libgmt.a
	$(link_binary)

# ---- unit tests -------------------------------------------------------------------------------------
$(UNIT_BIN:%=%.o): GMT_CPPFLAGS += -Itests/unit
# The test defines what this instrumentation calls, so nothing is linked for it.
$(O)/tests/unit/bpf/test_memo.o: GMT_CFLAGS += $(if $(SAN),,-fsanitize=thread -DMEMO_STOPS)

$(call unit_path,$(UNIT)): %: %.o $(UNIT_OBJ) $(O)/libgmt.a
	$(call msg,LINK,$@)
	$(Q)$(CC) $(GMT_LDFLAGS) $(filter %.o,$^) $(filter %.a,$^) $(UNIT_LIBS) -o $@

# Stacks to be unwound: without frame pointers, through a PLT that is bound late, and as the compiler
# alone lays them out.
STACKS := $(O)/tests/symbol/stacks.o $(O)/tests/symbol/selfmaps.o
STACKS_FLAGS := -std=gnu17 -Wall -Wextra -Werror -O2 -g -fno-optimize-sibling-calls
$(O)/tests/symbol/stacks.o: GMT_CFLAGS := $(STACKS_FLAGS) -fomit-frame-pointer $(PLAIN_$(ARCH))
# One object without the mark keeps the linker from the other kind of PLT, which Ubuntu's compiler asks for in all objects.
$(O)/tests/symbol/selfmaps.o: GMT_CFLAGS += $(PLAIN_$(ARCH))
$(call unit_path,symbol/unwind symbol/rewalk): $(STACKS)

# The unwinder in the kernel, and tables against libdw's.
UNWIND_TESTS := $(O)/tests/symbol/test_unwind_bpf $(O)/tests/symbol/test_tables_libdw
# Stacks as other options of the compiler lay them out: with signed return addresses (arm64), with frame pointers.
UNWIND_VARIANTS := $(patsubst %,$(O)/tests/symbol/test_unwind_bpf_%,guarded fp)
$(O)/tests/symbol/stacks_guarded.o: GMT_CFLAGS := $(STACKS_FLAGS) -fomit-frame-pointer $(GUARDED_$(ARCH))
$(O)/tests/symbol/stacks_fp.o: GMT_CFLAGS := $(STACKS_FLAGS) -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer
$(O)/tests/symbol/stacks_%.o: tests/symbol/stacks.c Makefile | $(SETUP)
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(GMT_CPPFLAGS) $(GMT_CFLAGS) -MMD -MP -c $< -o $@
$(UNWIND_VARIANTS): $(O)/tests/symbol/test_unwind_bpf_%: $(O)/tests/symbol/test_unwind_bpf.o \
                    $(O)/tests/symbol/stacks_%.o $(O)/tests/symbol/selfmaps.o
$(UNWIND_TESTS): %: %.o $(STACKS)
$(UNWIND_TESTS) $(UNWIND_VARIANTS): $(O)/libgmt.a | $(O)/tests/symbol/unwind_test.bpf.o
	$(call msg,LINK,$@)
	$(Q)$(CC) $(GMT_LDFLAGS) -Wl,-z,lazy $(filter %.o,$^) $(filter %.a,$^) $(STATIC_LIBS) -ldl -o $@

$(O)/tests/symbol/unwind_test.bpf.o: tests/symbol/unwind_test.bpf.c Makefile | $(SETUP)
	$(call msg,BPF,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(call bpf_compile,$(ARCH))

$(call unit_path,$(UNIT_SYMBOL)): %: %.o $(UNIT_OBJ) $(O)/libgmt.a
	$(call msg,LINK,$@)
	$(Q)$(CC) $(GMT_LDFLAGS) $^ $(UNIT_LIBS) $(SYMBOL_LIBS) -o $@

$(call unit_path,$(UNIT_SCREEN)): %: %.o $(UNIT_OBJ) $(O)/libgmt.a
	$(call msg,LINK,$@)
	$(Q)$(CC) $(GMT_LDFLAGS) $^ $(UNIT_LIBS) $(SCREEN_LIBS) -o $@

# What tests/symbol/test_python.py asks: from outside, and in the kernel.
PYTHON_TESTS := $(O)/tests/symbol/pystack $(O)/tests/symbol/pystack_bpf
$(PYTHON_TESTS): %: %.o $(O)/tests/symbol/pyprint.o $(O)/libgmt.a | $(O)/tests/symbol/python_test.bpf.o
	$(call msg,LINK,$@)
	$(Q)$(CC) $(GMT_LDFLAGS) $^ $(STATIC_LIBS) -ldl -o $@

$(O)/tests/symbol/python_test.bpf.o: tests/symbol/python_test.bpf.c Makefile | $(SETUP)
	$(call msg,BPF,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(call bpf_compile,$(ARCH))

# What tests/symbol/test_symbols.py asks.
$(O)/tests/symbol/names: $(O)/tests/symbol/names.o $(O)/libgmt.a
	$(call msg,LINK,$@)
	$(Q)$(CC) $(GMT_LDFLAGS) $^ $(SYMBOL_LIBS) -o $@

CLI_OBJ := $(CLI:%=$(O)/user/cli/%.o)
$(call unit_path,$(UNIT_CLI)): %: %.o $(UNIT_OBJ) $(CLI_OBJ) $(O)/libgmt.a
	$(call msg,LINK,$@)
	$(Q)$(CC) $(GMT_LDFLAGS) $^ $(UNIT_LIBS) -o $@

$(call unit_path,$(UNIT_TOP)): $(O)/tests/unit/top/test_%: $(O)/tests/unit/top/test_%.o $(UNIT_OBJ) $(O)/user/%.o \
                               $(CLI_OBJ) $(O)/libgmt.a
	$(call msg,LINK,$@)
	$(Q)$(CC) $(GMT_LDFLAGS) $^ $(UNIT_LIBS) -o $@

# The table of options, for tests/cli/test_man.py.
OPTIONS := $(O)/tests/cli/options
$(OPTIONS): %: %.o $(CLI_OBJ) $(O)/libgmt.a
	$(call msg,LINK,$@)
	$(Q)$(CC) $(GMT_LDFLAGS) $^ $(UNIT_LIBS) -o $@

$(call unit_path,$(UNIT_LIVE)): %: %.o $(UNIT_OBJ) $(O)/liblive.a $(O)/libgmt.a
	$(call msg,LINK,$@)
	$(Q)$(CC) $(GMT_LDFLAGS) $^ $(UNIT_LIBS) $(STATIC_LIBS) -ldl -o $@

# ---- the stand-in driver and its workloads (tests/standin/README.md); never with sanitizers ------------
STANDIN   := build/standin/root
CUDA_SRC  := $(wildcard tests/standin/libcuda/*.c) tests/standin/common/share.c
NVML_SRC  := tests/standin/nvml/nvml.c tests/standin/common/share.c
WL_SRC    := $(filter-out %/wl_common.c,$(wildcard tests/standin/workloads/*.c))
WORKLOADS := $(WL_SRC:tests/standin/%.c=build/standin/%)
STANDIN_H := $(wildcard tests/standin/*.h tests/standin/*/*.h) include/gpumemtrace/api.h include/gpumemtrace/wire.h
TEST_CFLAGS := -std=gnu17 -Wall -Wextra -Werror -D_GNU_SOURCE $(CFLAGS)
# Entries begin as those of the real library do: a frame pointer first, nothing inlined or merged.
CUDA_FLAGS := -fPIC -shared -fvisibility=hidden -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer \
              -fno-shrink-wrap -fno-optimize-sibling-calls -fno-ipa-icf -fno-partial-inlining \
              -Iinclude -Wl,-soname,libcuda.so.1 -Wl,-Bsymbolic

$(STANDIN)/usr/lib/libcuda.so.1:       CUDA_FLAGS += $(PLAIN_$(ARCH))
$(STANDIN)/usr/lib-endbr/libcuda.so.1: CUDA_FLAGS += $(GUARDED_$(ARCH)) -DSTANDIN_OLD_EXPORTS
$(STANDIN)/usr/lib/libcuda.so.1 $(STANDIN)/usr/lib-endbr/libcuda.so.1: $(CUDA_SRC) $(STANDIN_H) Makefile | $(SETUP)
	$(call msg,CUDA,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(TEST_CFLAGS) $(CUDA_FLAGS) -o $@ $(CUDA_SRC) -pthread

$(STANDIN)/lib/libnvidia-ml.so.1: $(NVML_SRC) $(STANDIN_H) Makefile | $(SETUP)
	$(call msg,NVML,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(TEST_CFLAGS) -fPIC -shared -fvisibility=hidden -Wl,-soname,libnvidia-ml.so.1 -o $@ $(NVML_SRC) -pthread

# PyTorch's report functions as of 2.x, and as of 1.13 with endbr64.
C10 := _ZN3c1027reportMemoryUsageToProfilerEPv
C10_OOM := _ZN3c1027reportOutOfMemoryToProfilerE
$(STANDIN)/usr/lib-torch/libc10.so:       C10_FLAGS := $(PLAIN_$(ARCH)) -DREPORT=$(C10)lmmNS_6DeviceE \
                                                        -DREPORT_OOM=$(C10_OOM)lmmNS_6DeviceE
$(STANDIN)/usr/lib-torch-endbr/libc10.so: C10_FLAGS := $(GUARDED_$(ARCH)) -Wl,--build-id=none -DREPORT=$(C10)lllNS_6DeviceE \
                                                        -DREPORT_OOM=$(C10_OOM)lllNS_6DeviceE
$(STANDIN)/usr/lib-torch/libc10.so $(STANDIN)/usr/lib-torch-endbr/libc10.so: tests/standin/libc10/libc10.c Makefile | $(SETUP)
	$(call msg,C10,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(TEST_CFLAGS) -fPIC -shared -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer \
		-Wl,-soname,libc10.so $(C10_FLAGS) -o $@ $<

$(STANDIN)/usr/lib-torch/libc10_cuda.so: tests/standin/libc10_cuda/libc10_cuda.c $(STANDIN)/usr/lib/libcuda.so.1
	$(call msg,C10,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(TEST_CFLAGS) -fPIC -shared -Wl,-soname,libc10_cuda.so -o $@ $< -L$(STANDIN)/usr/lib -l:libcuda.so.1

# What workloads/stacks.c and test_stacks_python.py load.
$(STANDIN)/usr/lib-stacks/libstacks.so: tests/standin/libstacks/libstacks.c Makefile | $(SETUP)
	$(call msg,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(TEST_CFLAGS) -fPIC -shared -Wl,-soname,libstacks.so -o $@ $< -ldl -pthread

# Of which one takes the addresses of the other: tests/bpf/test_stacks_odd.py.
TWINS := $(STANDIN)/usr/lib-twins/libleft.so $(STANDIN)/usr/lib-twins/libright.so
$(TWINS): $(STANDIN)/usr/lib-twins/lib%.so: tests/standin/libtwin/libtwin.c Makefile | $(SETUP)
	$(call msg,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(TEST_CFLAGS) -fPIC -shared -DINNER=inner_$* -o $@ $<

# What is preloaded into a real PyTorch: tests/bpf/torch_training.py.
$(STANDIN)/usr/lib-blocks/libblocks.so: tests/standin/libblocks/libblocks.c Makefile | $(SETUP)
	$(call msg,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(TEST_CFLAGS) -fPIC -shared -Wl,-soname,libblocks.so -o $@ $< -ldl -pthread

$(WORKLOADS): build/standin/%: tests/standin/%.c tests/standin/workloads/wl_common.c $(STANDIN)/usr/lib/libcuda.so.1
	$(call msg,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(TEST_CFLAGS) -o $@ $(filter %.c,$^) -L$(STANDIN)/usr/lib -Wl,--as-needed -l:libcuda.so.1 \
		-Wl,-rpath,'$$ORIGIN/../root/usr/lib' -Wl,--enable-new-dtags -ldl -pthread

$(STANDIN)/proc/devices: tests/standin/mkroot.sh
	$(call msg,ROOT,$(STANDIN))
	$(Q)tests/standin/mkroot.sh $(STANDIN)
	$(Q)touch $@

standin: $(WORKLOADS) $(STANDIN)/usr/lib-endbr/libcuda.so.1 $(STANDIN)/usr/lib-torch/libc10.so \
         $(STANDIN)/usr/lib-torch/libc10_cuda.so $(STANDIN)/usr/lib-torch-endbr/libc10.so \
         $(STANDIN)/usr/lib-stacks/libstacks.so $(TWINS) \
         $(STANDIN)/usr/lib-blocks/libblocks.so $(STANDIN)/lib/libnvidia-ml.so.1 $(STANDIN)/proc/devices

build/demos/train: demos/train.c Makefile | $(SETUP)
	$(call msg,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(TEST_CFLAGS) -o $@ $< -ldl

# ---- what makes calls of the binary fail: preloaded, so never into one with sanitizers -----------------------
FAULTS := $(if $(SAN),,$(O)/tests/faults/fail_calls.so $(O)/tests/faults/swap_pid.so $(O)/tests/faults/known_numbers.so)
$(O)/tests/faults/%.so: tests/faults/%.c Makefile | $(SETUP)
	$(call msg,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(TEST_CFLAGS) -fPIC -shared -fvisibility=hidden -o $@ $(filter %.c,$^) -ldl
$(O)/tests/faults/fail_calls.so: tests/faults/fail_which.c tests/faults/fail_which.h

# ---- benchmark: the programs that tests/bench/bench.py runs ----------------------------------------------
BENCH := $(patsubst %,$(O)/tests/bench/%,pairs stacks empty empty.bpf.o copy.bpf.o ledger_bench dump_bench \
                                               page_bench screen_bench tables)

$(O)/tests/bench/%: $(O)/tests/bench/%.o $(O)/liblive.a $(O)/libgmt.a
	$(call msg,LINK,$@)
	$(Q)$(CC) $(GMT_LDFLAGS) $^ $(STATIC_LIBS) -ldl -o $@

$(O)/tests/bench/%.bpf.o: tests/bench/%.bpf.c Makefile | $(SETUP)
	$(call msg,BPF,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(call bpf_compile,$(ARCH))

# ---- fuzzers: where clang has the runtime for them, else their test is skipped ------------------------
FUZZ     := $(addprefix fuzz_,record orders recfile outputs ehframe table elf elfsym pycode pyfile unwind rewalk pairing \
                             joint text cli)
FUZZ_BIN := $(FUZZ:%=build/fuzz/%)
FUZZ_SAN := address,undefined -fno-sanitize-recover=undefined

build/fuzz/%.o: %.c Makefile | $(SETUP)
	$(call msg,CLANG,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(GMT_CPPFLAGS) -std=gnu17 -O1 -g -fsanitize=fuzzer-no-link,$(FUZZ_SAN) -MMD -MP -c $< -o $@

# Of the rows above the library, what reads foreign bytes.
FUZZ_LIVE := $(addprefix build/fuzz/user/live/,probe/library.o probe/usdt_notes.o probe/mmap_watch.o process/procfs.o \
               process/settings.o nvidia/driver.o nvidia/inventory.o framework/library_kinds.o framework/pytorch.o) \
             $(CLI:%=build/fuzz/user/cli/%.o)
build/fuzz/libgmt.a: $(LIB_SRC:%=build/fuzz/%.o) $(EMBEDDED:%=build/fuzz/%.o) $(FUZZ_LIVE)
	$(call msg,AR,$@)
	$(Q)rm -f $@.new
	$(Q)$(AR) qcs $@.new $^
	$(Q)mv $@.new $@

$(FUZZ_BIN): build/fuzz/%: build/fuzz/tests/fuzz/%.o build/fuzz/libgmt.a
	$(call msg,LINK,$@)
	$(Q)$(CLANG) -fsanitize=fuzzer,$(FUZZ_SAN) $^ $(STATIC_LIBS) -ldl -o $@

# A mistake that was made once, planted again: the number of a window's first event as a place in memory. A fuzzer that
# no longer finds it has gone blind.
build/fuzz/planted/history_read.c: user/core/history/history_read.c Makefile
	$(Q)mkdir -p $(@D)
	$(Q)sed 's/h->origin = h->first = h->next = rec->first/h->first = h->next = rec->first/' $< >$@
	$(Q)! cmp -s $< $@
build/fuzz/planted/fuzz_%: build/fuzz/tests/fuzz/fuzz_%.o build/fuzz/build/fuzz/planted/history_read.o build/fuzz/libgmt.a
	$(call msg,LINK,$@)
	$(Q)$(CLANG) -fsanitize=fuzzer,$(FUZZ_SAN) $^ $(STATIC_LIBS) -ldl -o $@

fuzz-programs: $(SETUP)
	$(Q)if echo 'int LLVMFuzzerTestOneInput(void){return 0;}' | \
		$(CLANG) -fsanitize=fuzzer,address -x c - -o /dev/null 2>/dev/null; then \
		$(MAKE) --no-print-directory $(FUZZ_BIN) build/fuzz/planted/fuzz_record; fi

# ---- targets for people -----------------------------------------------------------------------------
.PHONY: all static unit standin test-programs test lint kernels bench demo pictures fuzz fuzz-programs fuzz-corpus setup man \
        install clean help print-sources compile_commands.json print-compile-commands every-source map guest-programs
unit: $(UNIT_BIN) $(OPTIONS)

static: $(O)/gpumemtrace-static

test-programs: all $(if $(SAN),,static) unit $(BENCH) $(O)/tests/symbol/names $(UNWIND_TESTS) $(UNWIND_VARIANTS) $(PYTHON_TESTS) standin \
               build/demos/train build/arm64/gmt.bpf.o $(FAULTS) $(if $(CROSS),,fuzz-programs)

test: $(SETUP) build/setup-browser.stamp test-programs
	$(Q)BUILD=$(O) tests/run $(T)

lint: $(O)/libgmt.a
	$(Q)BUILD=$(O) tests/run lint

# What tests/kernels.sh runs in its guests.
guest-programs: all standin build/demos/train $(O)/tests/symbol/test_unwind_bpf $(UNWIND_VARIANTS) $(PYTHON_TESTS)

# Debian's kernels under emulation: K="trixie sid" for some of them.
kernels:
	$(Q)BUILD=$(O) tests/kernels.sh $(or $(K),all arm64 arm64-16k)

setup: $(SETUP)

fuzz: fuzz-programs
	$(Q)FUZZ_SECONDS=$(or $(SECONDS),60) FUZZ_RUNS=$(RUNS) FUZZERS="$(F)" tests/fuzz/test_fuzz.sh

fuzz-corpus: fuzz-programs
	$(Q)tests/fuzz/corpus.sh

demo: $(SETUP) all standin build/demos/train
	$(Q)demos/demo.sh

# What the README shows: as root, for the probes.
pictures: $(SETUP) build/setup-browser.stamp all standin build/demos/train
	$(Q)tests/pictures.py

SHARE := $(DESTDIR)$(PREFIX)/share
bench: $(SETUP) build/setup-bench.stamp all standin $(BENCH)
ifdef AGAINST
	$(Q)BUILD=$(O) tests/bench/against.py $(AGAINST) $(A)
else
	$(Q)BUILD=$(O) tests/bench/bench.py $(A)
	$(Q)BUILD=$(O) tests/bench/stacks.py $(A)
	$(Q)BUILD=$(O) tests/bench/screen_live.py $(A)
endif

# What user/doc says of the options, from their table.
man: $(OPTIONS)
	$(Q)BUILD=$(O) tests/cli/test_man.py --write

install: all
	install -D -m 755 $(O)/gpumemtrace $(DESTDIR)$(PREFIX)/bin/gpumemtrace
	install -D -m 644 user/doc/gpumemtrace.1 $(SHARE)/man/man1/gpumemtrace.1
	install -D -m 644 user/doc/json-schema.json $(SHARE)/gpumemtrace/json-schema.json
	install -D -m 644 user/doc/sqlite-schema.sql $(SHARE)/gpumemtrace/sqlite-schema.sql
	install -D -m 644 user/doc/gpumemtrace.bash-completion $(SHARE)/bash-completion/completions/gpumemtrace
	install -D -m 644 user/doc/gpumemtrace.zsh-completion $(SHARE)/zsh/site-functions/_gpumemtrace
	install -D -m 644 user/doc/gpumemtrace.fish-completion $(SHARE)/fish/vendor_completions.d/gpumemtrace.fish

clean:
	rm -rf build

# How each C source is compiled, for editors (clangd): from the rules above, run by nobody.
compile_commands.json:
	$(Q)$(MAKE) -s --no-print-directory print-compile-commands >$@.new
	$(Q)mv $@.new $@

print-compile-commands:
	$(Q)$(MAKE) -Bn V=1 SAN=$(SAN) --no-print-directory every-source | tests/compile_commands.py

every-source: all unit standin build/demos/train $(FAULTS) $(O)/$(NO_NVML).o $(BENCH) $(O)/tests/symbol/names $(UNWIND_TESTS) \
              $(PYTHON_TESTS) $(FUZZ:%=build/fuzz/tests/fuzz/%.o)

map:
	$(Q)tests/lint/map.py --print >MAP.md

# For tests/lint/sources.sh.
print-sources:
	@echo $(LIB_SRC) $(LIVE_SRC) $(BIN_SRC) $(OLD) $(NO_NVML) $(UNIT_BIN:$(O)/%=%) $(UNIT_OBJ:$(O)/%.o=%)

help:
	@echo 'make            build/gpumemtrace'
	@echo 'make static     build/gpumemtrace-static, which needs no libc at all and leaves NVML out'
	@echo 'make test       all tests that need no GPU (as root also real uprobes); T="NAME ..." for some of them'
	@echo 'make kernels    what other kernels make of it, emulated; K="trixie sid" for some of them'
	@echo 'make demo       a traced workload: on the GPU if there is one, else on a stand-in driver'
	@echo 'make pictures   the pictures of the README, from the live view and the reports of today; as root'
	@echo 'make bench      the cost for the target, beside empty probes and bpftrace'
	@echo 'make fuzz       fuzzes the parsers for a minute each (SECONDS=60, RUNS=10000000, F="record text")'
	@echo 'make fuzz-corpus  adds to tests/fuzz/corpus what fuzzing has found'
	@echo 'make setup      install what the build needs (Debian, Ubuntu); test, demo and bench do it too'
	@echo 'make compile_commands.json  how each source is compiled, for editors'
	@echo 'make map        MAP.md, a line for each file'
	@echo 'make man        what the man page and the completions say of the options, from their table'
	@echo 'make install    PREFIX=/usr/local DESTDIR='
	@echo 'make clean      remove build/'
	@echo 'V=1 prints the commands; SAN=1 builds with sanitizers into build/san'

-include $(shell find $(O) build/arm64 build/fuzz -name fresh -prune -o -type f -name '*.d' -print 2>/dev/null)
