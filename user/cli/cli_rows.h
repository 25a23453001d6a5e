/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The options, one row each. The members of struct options, the parser, --help, the list of the manual page and the
 * completion come from these rows; `make man` writes the last two. The file has no include guard: each includer defines
 * OPTION, and takes what it needs of a row.
 *
 * OPTION(letter, name, argument, section, commands, value, help, manual)
 *   name      "": the options of the outputs (sink/registry.c) stand here; their texts are in the registry
 *   letter    0: the option has only the long name
 *   argument  what --help calls the value; NULL: the option takes none. Capitals stand for something: FILE, DIR, PATH
 *             and PID are completed as such; "off" and "all" stand for themselves.
 *   section   of --help and the manual page (CLI_SECTIONS); EXPERT: few people need the option, see --help=all
 *   commands  the commands that take the option (cli_options.c)
 *   value     MEMBER(kind, name, limits): a member of struct options of a kind of CLI_VALUES
 *             SETS(name, value): the option sets another member to this value
 *             TAKES(function): the function of cli_options.c reads the value
 *   help      one line; "@" stands for the initial value, here as in the manual. Where the text is wrong for a command,
 *             the value has another text: .others = { { FOR_OOM, "..." } }
 *   manual    `bold`, *italic*; an empty line begins a new paragraph, "- " begins an item
 */

/* ---- What is traced ---- */
OPTION('p', "pid", "PID|NAME", TRACED, FOR_TRACE, MEMBER(pids, pids),
       "trace processes and their children; may be repeated",
       "Trace these processes, the children that they have, and those that they fork: a process id, a list of ids with"
       " commas, or the name of a command, a program or a script (`train.py`); see `TARGETS`. May be given more than"
       " once.")
OPTION('a', "all", NULL, TRACED, FOR_TRACE, MEMBER(flag, all),
       "trace every process that uses CUDA, now or later",
       "Trace every process that has libcuda mapped, now or later.")
OPTION(0, "container", "ID|NAME", TRACED, FOR_TRACE, MEMBER(list, containers),
       "trace the processes of a container, now or later",
       "Trace the processes of a container, and those that start there later: the id, its first 4 or more digits, or"
       " the name; see `TARGETS`. May be given more than once, as the four options below.")
OPTION(0, "cgroup", "PATH", TRACED, FOR_TRACE, MEMBER(list, cgroups),
       "trace the processes in a cgroup and below",
       "Trace the processes in a cgroup and below, and those that start there later: the path as in"
       " */proc/PID/cgroup*, or below */sys/fs/cgroup*.")
OPTION(0, "unit", "UNIT", TRACED, FOR_TRACE, MEMBER(list, units),
       "trace the processes of a systemd unit",
       "Trace the processes of a systemd unit, and those that start there later: a service, a scope or a slice. A"
       " name without one of these endings means a service.")
OPTION(0, "slurm-job", "JOB[.STEP]", TRACED, FOR_TRACE, MEMBER(list, slurm_jobs),
       "trace a Slurm job or task (1234_5) on this machine",
       "Trace the processes of a Slurm job, of a task of an array (`1234_5`) or of a step (`1234.0`) on this machine,"
       " and those that start there later.")
OPTION(0, "pod", "UID|POD", TRACED, FOR_TRACE, MEMBER(list, pods),
       "trace the processes of a Kubernetes pod",
       "Trace the processes of a Kubernetes pod, and those that start there later: its uid, its name, or"
       " NAMESPACE/NAME.")
OPTION(0, "no-children", NULL, TRACED, FOR_TRACE, MEMBER(flag, no_children),
       "do not trace children of traced processes",
       "Do not trace the children of traced processes.")
OPTION('d', "duration", "SECONDS", TRACED, FOR_TRACE, MEMBER(time, duration_ns, .least = CLI_MS),
       "stop tracing after this many seconds (also 5m, 2h)",
       "Stop tracing after this time. `5m` and `2h` are accepted, too. With *COMMAND* tracing stops and the report is"
       " printed, but the command continues, and gpumemtrace exits when the command ends."
       "\n\n"
       "With *COMMAND* the first interrupt goes to the command; the second interrupt ends the tracing and leaves the"
       " command running.")

/* ---- What is shown ---- */
OPTION('i', "interval", "SECONDS", SHOWN, FOR_TRACE, MEMBER(time, interval_ns, .least = 100 * CLI_MS, .initial = "1"),
       "time between live views; default @",
       "Time between updates of the live view, 0.1 or more; the default is @.")
OPTION(0, "", "FILE", SHOWN, 0, TAKES(take_format), "", "")
OPTION(0, "full", NULL, SHOWN, FOR_STACKS | FOR_DIFF,
       MEMBER(flag, full, .others = { { FOR_DIFF, "also print what is the same, and each process" } }),
       "print all tables behind the answer",
       "Print all tables of the report after the answer, and of `oom` after the verdict: the column that adds up to"
       " nvidia-smi's number, and memory by"
       " kind of call, owner, line, stack trace, tensor use and iteration; see `THE NUMBERS`.")
OPTION(0, "top", "N", SHOWN, FOR_STACKS | FOR_DIFF,
       MEMBER(number, top, .most = 100000, .initial = "10",
	      .others = { { FOR_DIFF, "rows of each table; default @" } }),
       "stack traces in each list; default @",
       "Number of stack traces in each list of the report and of the JSON; the default is @. 0 prints no stack"
       " traces, only the table by owner.")
OPTION(0, "older-than", "SECONDS", SHOWN, FOR_REPORT, MEMBER(time, older_than_ns, .least = CLI_MS, .initial = "60"),
       "list memory not freed for this long; default @",
       "List memory that has not been freed for longer than this time; the default is @.")
OPTION(0, "full-stacks", NULL, SHOWN, FOR_STACKS, MEMBER(flag, full_stacks),
       "print all frames of a stack trace; means --full",
       "Print all frames of a stack trace; in a report this means `--full`, too. By default the report leaves out"
       " frames that do not help to identify the code: entry points of CUDA and the interpreter.")
OPTION(0, "owners", "FILE", SHOWN, FOR_STACKS | FOR_DIFF, MEMBER(list, owners),
       "read rules about who owns a stack trace's memory",
       "Read rules that decide who owns the memory of a stack trace; see `OWNERS AND STACKS`. May be given more than"
       " once. These rules come before the standard rules.")
OPTION('q', "quiet", NULL, SHOWN, FOR_FILES | FOR_DIFF,
       MEMBER(times, quiet, .others = { { FOR_REPLAY, "print no messages but errors; -qq: no report" },
					{ FOR_OOM | FOR_DIFF | FOR_RECORDS, "print no messages but errors" } }),
       "no live view, only error messages; -qq: no report",
       "Print no live view, and no messages except errors. The report is the result and is printed. Given twice"
       " (`-qq`), tracing and `report` print no report for people either, only files and `--json`; with `--strict` the"
       " exit status then still shows that data was lost.")
OPTION('v', "verbose", NULL, SHOWN, FOR_ALL,
       MEMBER(times, verbose, .others = { { FOR_OOM, "show requests that a retry satisfied in full, too" } }),
       "print more messages; may be repeated",
       "Print more messages. May be given more than once.")
OPTION(0, "live", NULL, SHOWN, FOR_COMMAND, SETS(live, CLI_ALWAYS),
       "live view even if COMMAND uses the same terminal",
       "Show the live view even if *COMMAND* writes to the same terminal or file. By default the live view is off in"
       " this case. On a terminal the screen has no keys then: what is typed is for *COMMAND*. What"
       " *COMMAND* prints is kept and comes to the terminal behind the screen; see `THE SCREEN`.")
OPTION(0, "no-live", NULL, SHOWN, FOR_TRACE, SETS(live, CLI_NEVER),
       "print no live view, only the report",
       "Print no live view, only the report.")
OPTION(0, "color", "WHEN", SHOWN, FOR_ALL, MEMBER(word, color, .words = when_words, .initial = "auto"),
       "use colours: auto, always or never; default @",
       "When to use colours: `auto` (the default: on a terminal, unless `NO_COLOR` is set), `always` or `never`.")
OPTION(0, "no-pager", NULL, SHOWN, FOR_PAGED, MEMBER(flag, no_pager),
       "do not show the output in a pager",
       "Print long output as it is. By default `report`, `oom`, `diff`, `records` and `list` show it in a pager, if"
       " standard output is a terminal: in the command that `GPUMEMTRACE_PAGER` or else `PAGER` names, or else in"
       " `less -FRX`. No pager is used if the variable is empty or `cat`, or if `TERM` is unset, empty or `dumb`. For"
       " root, and for a gpumemtrace with file capabilities,"
       " the variables do not count: the pager is less in its secure mode (`LESSSECURE`), which runs no commands.")

/* ---- What is kept ---- */
OPTION('o', "output", "FILE", KEPT, FOR_STACKS | FOR_DIFF,
       TAKES(take_output, .suffix = RECORDING_SUFFIX,
	     .others = { { FOR_REPLAY, "write what the suffix says, as .html or .pickle" },
			 { FOR_OOM, "write what the suffix says: .html or .pickle" },
			 { FOR_DIFF, "write FILE.html, a page for a browser" } }),
       "write what the suffix says, as .gmt or .html",
       "Write a file at the end. The suffix of its name says which file: `.gmt`, or no suffix, is a recording"
       " (see `RECORDINGS`), which only tracing writes. The suffixes of other files stand at the options that write"
       " these files, as `.pickle` at `--snapshot`."
       " Another suffix is refused. `-` is standard output for a recording; the report then goes to standard error."
       " May be given several times, for several files. No output may have the name of a recording that is read, or of"
       " another output.")
OPTION(0, "", "FILE", KEPT, 0, TAKES(take_file), "", "")
OPTION(0, "folded-by", "WHAT", KEPT, FOR_REPORT, MEMBER(word, folded_by, .words = order_words, .initial = "live"),
       "live, peak, growth, old or allocated; default @",
       "Which bytes `--folded` writes: `live` (the default), `peak` (held at the peak of each GPU), `growth`, `old`"
       " (not freed for longer than `--older-than`) or `allocated` (the sum of all allocations).")
OPTION(0, "events", "some|all", KEPT, FOR_REPLAY, MEMBER(word, events, .words = event_words, .initial = "some"),
       "single allocations in --html; default @",
       "Which single allocations and tensors the page of `--html` has: `some` (the default) are those around peaks,"
       " failed requests and marks, and the 1,000 largest, and the page says how many are left out;"
       " `all` has no limit: a million events take about 150 MB of memory (see `--memory`) and 11 MB of the page.")
OPTION(0, "source", NULL, KEPT, FOR_REPLAY, MEMBER(flag, source),
       "show lines of source files in --html",
       "Show in the page of `--html` the source text of each line that a finding names, with the two lines before and"
       " after: of regular files of this machine with the suffix of a source file. Without this option the page has"
       " no text of files. Not with `--redact`.")
OPTION(0, "redact", NULL, KEPT, FOR_STACKS | FOR_DIFF,
       MEMBER(flag, redact, .others = { { FOR_OOM | FOR_DIFF, "leave command lines and folders out of --html" } }),
       "no command lines, folders in --html, --perfetto",
       "Leave out of what `--html` and `--perfetto` write: command lines, cgroups, the host's name, the folders of"
       " files, and the hosts of URLs and addresses."
       " The names of programs, functions and source files stay.")
OPTION(0, "window", "HOW|off", KEPT, FOR_STACKS,
       MEMBER(window, window, .initial = "200k",
	      .others = { { FOR_REPLAY | FOR_OOM, "newest events to keep for a snapshot; default @" } }),
       "newest events in dumps and snapshots; default @",
       "How many events a snapshot or a dump contains: the newest events of all processes, limited by their number"
       " (`@`, the default), by their age (`60s`, `5min`, `2h`) or by the memory that they take (`16MiB`; 40 bytes"
       " each). Several limits may be given, separated by commas; all limits apply. With `off` dumps contain no"
       " events and show only one moment.")
OPTION(0, "oom-dir", "DIR|off", KEPT, FOR_TRACE, MEMBER(place, oom_dir),
       "directory for dumps when memory runs out; default .",
       "The directory for the dumps that are written when a process runs out of memory; the default is the current"
       " directory. With `off` gpumemtrace writes only the dumps that are asked for with SIGUSR1; see `OUT OF MEMORY`.")
OPTION(0, "strict", NULL, KEPT, FOR_FILES | FOR_DIFF,
       MEMBER(flag, strict, .others = { { FOR_OOM | FOR_RECORDS, "exit with 5 if a recording is incomplete" } }),
       "exit with 5 if any data was lost",
       "Exit with status 5 if any data was lost, a library could not be probed or the recording is incomplete. `oom`"
       " and `records` only see whether the recording is incomplete. With a"
       " command this holds if the command itself ends with 0.")

/* ---- How it is observed ---- */
OPTION(0, "stacks", "MODE", OBSERVED, FOR_TRACE,
       MEMBER(word, stack_mode, .words = stack_words, .initial = "full"),
       "full (default), native, python, fp, off",
       "How stack traces are taken:"
       "\n\n- `full` Native and Python frames in one stack trace; the default."
       "\n\n- `native` No Python frames."
       "\n\n- `python` The driver's function and the Python frames. This mode costs least where native stacks are"
       " deep."
       "\n\n- `fp` Native frames along frame pointers, as the kernel walks them, and no Python frames. The stack trace"
       " ends in the first library that was built without frame pointers."
       "\n\n- `off` No stack traces."
       "\n\nBefore Linux 5.17 every mode except `off` works as `fp`.")
OPTION(0, "block-stacks", NULL, OBSERVED, FOR_TRACE, MEMBER(flag, block_stacks),
       "name the lines that hold PyTorch's tensors, too",
       "Also take stack traces of the blocks that PyTorch's allocator gives out. A block is a tensor's memory, so these"
       " stack traces name the lines that hold tensors. There are many more blocks than allocations from the driver, so"
       " this option costs more (README.md gives numbers) and takes 6 MiB of the kernel's memory. The report then shows"
       " owners and stack traces of the blocks beside those of the driver's allocations.")

/* ---- What is chosen ---- */
OPTION('p', "pid", "PID[,PID...]", CHOSEN, FOR_READING,
       TAKES(cli_take_pids, .offset = offsetof(struct options, pids),
	     .others = { { FOR_OOM, "explain only these processes' requests" } }),
       "show only these processes; may be repeated",
       "With `report`, `oom` and `records` show only these processes of the recording, in the output and in its files:"
       " `oom` shows the requests of these processes, with all that held memory then.")
OPTION(0, "gpu", "N|UUID", CHOSEN, FOR_REPLAY | FOR_OOM,
       MEMBER(text, gpu, .others = { { FOR_OOM, "explain only this GPU's requests: number or UUID" } }),
       "show only this GPU: nvidia-smi's number, or UUID",
       "Show only this GPU: nvidia-smi's number of the GPU, or the beginning of the UUID. A report has the processes"
       " that used this GPU, with the memory on this GPU only; host memory is left out. A snapshot has this"
       " GPU's memory and events, under the number that the GPU has in the process. Losses and limits are those of the"
       " whole session.")
OPTION(0, "kind", "LIST", CHOSEN, FOR_RECORDS, MEMBER(kinds, kinds, .words = kind_words),
       "print only records of these kinds: call,stack",
       "Print only records of these kinds: names from *include/gpumemtrace/wire.h*, separated by commas, such as"
       " `call,fw_mem`. Capitals do not matter. May be given more than once.")
OPTION(0, "thread", "TID", CHOSEN, FOR_RECORDS, MEMBER(number, thread, .least = 1, .most = UINT32_MAX),
       "print only records of this thread",
       "Print only records of this thread. `--pid` does the same for processes.")
OPTION(0, "from", "SECONDS", CHOSEN, FOR_RECORDS, MEMBER(moment, from),
       "print only records from this time on",
       "Print only records from this time on, counted from the session's start.")
OPTION(0, "to", "SECONDS", CHOSEN, FOR_RECORDS, MEMBER(moment, to),
       "print only records up to this time",
       "Print only records up to this time, counted from the session's start.")

/* ---- Others ---- */
OPTION('h', "help", "all", OTHERS, FOR_ALL, TAKES(take_help, .is_optional = true),
       "print this help; all: with the expert options",
       "Print a summary of the command, or of tracing. With `--help=all` the summary has the expert options, too."
       " `gpumemtrace help` *COMMAND* and `gpumemtrace help` *COMMAND* `--all` do the same.")
OPTION('V', "version", NULL, OTHERS, FOR_ALL, SETS(command, CLI_VERSION),
       "print the version",
       "Print the version.")

/* ---- Expert options ---- */
OPTION(0, "layers", "LIST", EXPERT, FOR_TRACE,
       MEMBER(words, layers, .words = layer_words, .initial = "api,kernel,nvml,framework"),
       "use only these layers: @",
       "Use only these layers: a list of `api`, `kernel`, `nvml` and `framework`, separated by commas.")
OPTION(0, "stack-depth", "N", EXPERT, FOR_TRACE,
       MEMBER(number, stack_depth, .least = 1, .most = GMT_UNWIND_FRAMES_MAX,
	      .initial = CLI_NUMBER(GMT_STACK_DEPTH_DEFAULT)),
       "largest number of native frames; default @",
       "Largest number of native frames in a stack trace, at most 1024; the default is @.")
OPTION(0, "stack-sample", "SIZE", EXPERT, FOR_TRACE, MEMBER(size, stack_sample_bytes, .most = UINT64_MAX),
       "one stack trace for each SIZE bytes of a thread",
       "Take a stack trace only each time that a thread has asked for another *SIZE* bytes, such as `1G`. All sums stay"
       " exact. Memory that was allocated in between is reported as `(without a stack)`.")
OPTION(0, "requested-sizes", NULL, EXPERT, FOR_TRACE, MEMBER(flag, requested_sizes),
       "also read each block's requested size",
       "On x86-64, also read the size that was requested for each block, from a static probe of PyTorch 2.1 and later"
       " (USDT pytorch:malloc in libc10_cuda). The report then shows the memory lost to rounding (`block rounding`)."
       " This option costs one more probe for each block. While the probe is attached, the kernel keeps a counter in"
       " the library's data above 0; static probes are made to be used in this way. `--snapshot` implies this option,"
       " because a snapshot contains the requested sizes.")
OPTION(0, "ring-size", "SIZE", EXPERT, FOR_TRACE,
       MEMBER(power, ring_bytes, .least = CLI_RING_MIN, .most = CLI_RING_MAX, .initial = "16M"),
       "size of the ring buffer; default @",
       "Size of the ring buffer between the kernel and gpumemtrace, such as `@`, the default. The size is rounded up to"
       " a power of two, from 64K to 1G. Choose a larger size if the report says that the ring buffer was full.")
OPTION(0, "memory", "SIZE", EXPERT, FOR_TRACE | FOR_READING | FOR_DIFF,
       MEMBER(size, memory_bytes, .least = CLI_MEMORY_MIN, .most = UINT64_MAX, .initial = "1G",
	      .others = { { FOR_READING | FOR_DIFF, "most memory for reading a file; default @" } }),
       "most memory for gpumemtrace itself; default @",
       "The most memory that gpumemtrace itself may take, at least 64M; the default is @. It is measured ten times a"
       " second, and counts what gpumemtrace and the processes that read files for it have allocated; the ring buffer"
       " and the kernel's maps do not count. From 70 % of the size on, gpumemtrace gives up, in this order: the"
       " processes that read files (they are started again when they are needed), stack traces of new allocations, the"
       " events of `--window` and of the page of `--html`, the names of stack traces. The report says what was given"
       " up. The sums of bytes stay exact. Memory over time (`--html`, `--perfetto`) gets at most 128M and at most an"
       " eighth of the size, and an eighth of that once events are given up. The less room there is, the further apart"
       " are the moments at which it is exact; processes that ended first may be left out. If the live allocations"
       " alone take as much, the tracing ends with an error, and the recording is closed. `report`, `oom`, `diff` and"
       " `records` give nothing up: a recording that needs more ends the command with an error.")
OPTION(0, "oom-max", "N", EXPERT, FOR_TRACE, MEMBER(number, oom_max, .least = 1, .most = 100000, .initial = "16"),
       "write at most N dumps; default @",
       "Write at most *N* dumps in one session; the default is @. Dumps that are asked for with SIGUSR1 do not count."
       " If no more dumps may be written and a process dies of a request, the dump of this request takes the place of"
       " the process's newest dump.")
OPTION(0, "nvml", "PATH|off", EXPERT, FOR_TRACE | FOR_DOCTOR | FOR_PS, MEMBER(place, nvml),
       "load this NVML library, or none",
       "Load this NVML library instead of libnvidia-ml.so.1 from the usual places. With `off` load no NVML"
       " library.")
OPTION(0, "libcuda", "PATH", EXPERT, FOR_TRACE | FOR_DOCTOR, MEMBER(list, libcuda),
       "also probe this library",
       "Also probe this library, if libcuda has another name. May be given more than once.")
OPTION(0, "driver-root", "DIR", EXPERT, FOR_TRACE | FOR_DOCTOR | FOR_PS, MEMBER(text, driver_root),
       "look for the driver's files below DIR",
       "Look for the driver's files below this directory. A containerised driver needs this option"
       " (`/run/nvidia/driver`).")
#undef OPTION
