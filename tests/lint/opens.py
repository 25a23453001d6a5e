#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Every function of user/ that gives a path to the system stands in a table, which says whose path it is and why this is
safe: a job must not choose which file gpumemtrace opens, asks about, changes or runs."""
import re

from ccode import DEFINITION, code_of, line_of
from tap import Tap, files, text

# What takes a path. Calls that take only a descriptor (fstat, fdopen) are none; libbpf and libelf open files, too.
CALLS = ("access btf__parse chdir chmod chown chroot creat dlmopen dlopen elf_begin euidaccess execl execle execlp execv execve"
         " execveat execvp execvpe faccessat fchmodat fchownat fopen freopen fstatat ftw getxattr glob inotify_add_watch"
         " lchown link linkat lstat mkdir mkdirat mkdtemp mkfifo mkfifoat mknod mknodat mkostemp mkostemps mkstemp mkstemps mount"
         " name_to_handle_at nftw open open_tree openat openat2 opendir popen posix_spawn posix_spawnp readlink readlinkat"
         " realpath remove rename renameat renameat2 rmdir scandir setxattr shm_open shm_unlink stat statfs statvfs statx"
         " symlink symlinkat system truncate unlink unlinkat utimensat").split()
CALL = re.compile(rf"(?<![\w.>])(?:{'|'.join(CALLS)})\s*\(|\bSYS_(?:{'|'.join(CALLS)})\b")

# Whose path it is.
WHOSE = {
    "system": "a path that is written in the source, of the kernel or of the machine's owner; a driver root may stand before it",
    "proc": "the kernel's file about a process: a job chooses what it says, and nobody chooses which file it is",
    "held": "a link of /proc to an open or a mapped file: the path leads to no other file",
    "user": "who runs gpumemtrace named the file, by an option, an argument or the environment",
    "foreign": "a job's path: only in base/foreign_file.c, which opens regular files below the job's root and nothing else",
}
FOREIGN = "base/foreign_file.c"

# file of user/, function, whose path, why it may
TABLE = [
    ("base/foreign_file.c", "open_regular", "held", "opens what an O_PATH descriptor holds, if that is a regular file"),
    ("base/foreign_file.c", "foreign_open_in", "foreign", "O_PATH and O_NOFOLLOW first: opening has no effect"),
    ("base/foreign_file.c", "foreign_open_path", "foreign", "O_PATH and RESOLVE_IN_ROOT: links stay below the process's root"),
    ("base/foreign_file.c", "foreign_open_mapped", "held", "a mapped file, O_PATH"),
    ("base/glibc_old.c", "fstatat", "system", "the C library's own function, for older C libraries"),
    ("base/glibc_old.c", "stat", "system", "the C library's own function, for older C libraries"),
    ("base/glibc_old.c", "lstat", "system", "the C library's own function, for older C libraries"),
    ("base/out_file.c", "open_new", "user", "an output: O_EXCL, so it is new"),
    ("base/out_file.c", "open_again", "held", "the output that was looked at, by its O_PATH descriptor"),
    ("base/out_file.c", "create_nameless", "user", "asks for a file without a name in the folder of an output"),
    ("base/out_file.c", "name_file", "held", "links the new file that is open to a name that nobody can guess"),
    ("base/out_file.c", "descriptor_of", "held", "asks which descriptor of the tracer's own is meant"),
    ("base/out_file.c", "follow_link", "held", "reads the link that is open"),
    ("base/out_file.c", "open_own_file", "user", "removes an old output that is the user's own, with one name"),
    ("base/out_file.c", "out_file_open", "user", "an output: O_PATH and O_NOFOLLOW, and looked at before it is opened"),
    ("base/out_file.c", "out_file_may_fill", "user", "asks whether the folder of an output may be written to"),
    ("base/out_file.c", "out_file_may_begin", "user", "asks, without following a link, what is at an output's path"),
    ("base/out_file.c", "out_file_may_be_new", "user", "asks whether a pipe or a device is at an output's path"),
    ("base/out_file.c", "out_file_settle", "user", "puts a new file at an output's path, or removes the new file"),
    ("base/xalloc.c", "xalloc_bound", "proc", "the tracer's own"),
    ("live/bpf/programs.c", "can_walk", "user", "a description of another kernel's types, for tests; else no path"),
    ("live/features/features_checks.c", "feature_exists", "system", "asks whether the kernel has a feature"),
    ("live/features/features_kernel.c", "feature_check_btf", "system", "asks whether the kernel's types can be read"),
    ("live/nvidia/driver.c", "stand_in", "system", "asks for the number of a device of the driver"),
    ("live/nvidia/driver.c", "explain_absence", "system", "asks what the machine has in place of the driver"),
    ("live/nvidia/inventory.c", "inventory_read", "system", "the driver's list of GPUs"),
    ("live/nvidia/nvml.c", "try_library", "user", "--nvml, or NVML as the loader finds it: code that runs in the tracer"),
    ("live/probe/hazard.c", "judge_threads", "proc", "the threads of a process"),
    ("live/probe/hazard.c", "is_library_mapping", "held", "asks which file is mapped"),
    ("live/probe/holder.c", "hold_probes", "proc", "the tracer's own descriptors"),
    ("live/probe/library.c", "library_open_file", "held", "a mapped file that foreign_open_mapped() opened, or one of --libcuda"),
    ("live/probe/permission.c", "open_own_mapping", "held", "the tracer's own program"),
    ("live/probe/probed_files.c", "find_file", "held", "asks which file is held; as library_open_file()"),
    ("live/probe/refused_files.c", "refused_has", "held", "asks which file is held; as library_open_file()"),
    ("live/probe/target.c", "target_pids_are_initial", "proc", "the tracer's own namespace"),
    ("live/probe/target.c", "target_each_process", "proc", "the list of processes"),
    ("live/probe/target.c", "uses_device", "held", "asks about open files whose links say /dev/: no network mount is asked"),
    ("live/probe/target.c", "search_ld_cache", "system", "the loader's list of libraries"),
    ("live/probe/tracepoint.c", "read_id", "system", "below a tracefs of the tracer's own mount"),
    ("live/probe/unmapped.c", "see_kind", "held", "asks which file is mapped"),
    ("live/probe/uprobe.c", "read_number", "system", "the kernel's numbers of probes"),
    ("live/process/descendants.c", "read_kins", "proc", "the list of processes"),
    ("live/process/find.c", "find_each", "proc", "the list of processes, below a root of tests"),
    ("live/process/find_facts.c", "read_identity", "proc", "asks for a program's inode; no file system has to answer"),
    ("live/process/find_names.c", "find_container_ids", "system", "docker's folder, which is root's"),
    ("live/process/find_names.c", "each_pod", "system", "the kubelet's folder, which is root's"),
    ("live/process/find_selector.c", "take_cgroup", "system", "asks which version of cgroups is mounted"),
    ("live/process/launch.c", "become_command", "user", "the command behind --, in a child of its own"),
    ("live/process/own_memory.c", "map_bytes", "proc", "the tracer's own descriptors"),
    ("live/process/own_memory.c", "own_memory_maps", "proc", "the tracer's own descriptors"),
    ("live/process/procfs.c", "procfs_read", "proc", "O_NONBLOCK; callers read /proc, /sys and files of root's daemons"),
    ("live/process/procfs.c", "read_program", "proc", "reads a link, and does not follow it"),
    ("live/process/procfs.c", "procfs_reader", "proc", "the threads of a process"),
    ("live/process/procfs.c", "procfs_maps_of", "proc", "the mappings of a process"),
    ("live/process/relay.c", "open_slave", "held", "the pseudo terminal that the tracer made"),
    ("live/process/relay_child.c", "move_descriptors", "system", "/dev/null"),
    ("live/stacks/address_space.c", "shares_mounts", "proc", "asks whether two processes have one namespace"),
    ("live/stacks/address_space.c", "space_may_open", "proc", "O_PATH: asks whether a process's root may be entered"),
    ("live/stacks/space_tables.c", "space_is_lost", "proc", "asks whether a process is still there"),
    ("commands/at_moment.c", "at_moment_read", "user", "asks whether an argument with an @ is a file's name"),
    ("commands/at_moment.c", "can_read_twice", "user", "asks whether an argument is a regular file"),
    ("commands/command_diff.c", "is_one_file", "user", "asks whether two arguments are one file"),
    ("commands/main.c", "fill_descriptors", "system", "/dev/null"),
    ("output_clash.c", "locate_output", "user", "asks which file is at an output's or an input's path"),
    ("pager.c", "find_less", "system", "asks where less is"),
    ("pager.c", "run_less_safely", "system", "less in secure mode, for who has privileges"),
    ("pager.c", "run_pager", "user", "the pager of PAGER, or less, without privileges"),
    ("parse/keeper.c", "keep_socket", "system", "/dev/null"),
    ("parse/oom_kills.c", "oom_kills", "system", "the kernel's number of processes that it killed for lack of memory"),
    ("privileges.c", "lacks_for_file", "user", "asks which capabilities an output needs"),
    ("screen/curses.c", "open_files", "system", "/dev/null"),
    ("screen/terminal.c", "open_own", "held", "the terminal that the tracer has, or the one that controls the tracer"),
    ("source/dump_folder.c", "dump_folder_is", "user", "asks whether an argument is a folder"),
    ("source/dump_folder.c", "add_entry", "user", "asks about a name in the user's folder, without following a link"),
    ("source/dump_folder.c", "dump_folder_open", "user", "an argument"),
    ("sink/html/source_lines.c", "leads_to_source", "held", "reads the link of a file that foreign_open_path() opened"),
    ("source/reader.c", "reader_open", "user", "an argument; files of a folder come from foreign_open_in()"),
    ("symbol/elf/lines.c", "lines_open", "held", "a descriptor, no path; in a worker without privileges"),
    ("symbol/elf/modules.c", "modules_read", "proc", "the mappings of a process"),
    ("symbol/owners.c", "owners_add_file", "user", "--owners"),
    ("symbol/python/pyversion.c", "exe_of", "proc", "reads a link, and does not follow it"),
    ("symbol/unwind/table_cache.c", "table_cache_open", "user", "the cache's folder: O_NOFOLLOW, and nobody else may write to it"),
    ("symbol/unwind/table_cache.c", "load_table", "held", "a name of the cache's own in its folder, O_NOFOLLOW"),
    ("symbol/unwind/table_cache.c", "table_cache_store", "held", "a name of the cache's own in its folder, O_EXCL"),
    ("symbol/unwind/table_cache.c", "list_entries", "held", "names of the cache's own in its folder"),
    ("symbol/unwind/table_cache.c", "table_cache_trim", "held", "names of the cache's own in its folder"),
    ("targets.c", "add_root_library", "system", "asks where a driver root has libcuda"),
]


def calls():
    """(file of user/, line, function or None, what is called)"""
    for name in files("user", ends=(".c", ".h")):
        code = code_of(text(name))
        functions = [(found.start(), found["name"]) for found in DEFINITION.finditer(code)]
        for found in CALL.finditer(code):
            before = [function for start, function in functions if start < found.start()]
            yield name.removeprefix("user/"), line_of(code, found.start()), before[-1] if before else None, \
                found.group(0).rstrip("( ")


def unknown(found):
    known = {(file, function) for file, function, _, _ in TABLE}
    for file, line, function, call in found:
        if (file, function) not in known:
            yield f"user/{file}:{line}: {function or 'no function'} calls {call}: say in the table whose path it is"


def stale(found):
    called = {(file, function) for file, _, function, _ in found}
    yield from (f"{file}: {function} calls nothing with a path" for file, function, _, _ in TABLE if (file, function) not in called)


def wrong_rows():
    seen = set()
    for file, function, whose, why in TABLE:
        if (file, function) in seen:
            yield f"{file}: {function} stands twice"
        seen.add((file, function))
        if whose not in WHOSE or not why:
            yield f"{file}: {function}: whose path it is, and why it may"
        if whose == "foreign" and file != FOREIGN:
            yield f"{file}: {function}: a job's path is opened by {FOREIGN}"


CALLED = list(calls())
tap = Tap()
tap.check("functions with paths are found", [] if CALLED else ["none in user/"])
tap.check("a function that gives a path to the system stands in the table", unknown(CALLED))
tap.check("each row is still true", stale(CALLED))
tap.check("each row says whose path it is; jobs' paths are opened in one file", wrong_rows())
tap.done()
