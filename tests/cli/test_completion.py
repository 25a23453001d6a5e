#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The completions, as bash, zsh and fish run them: commands, the options of a command only, values, files by suffix."""
import os
import pty
import select
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

from cases import PATIENCE, TOP, check, done, skip

DOC = os.path.join(TOP, "user", "doc")
BASH_COMPLETION = "/usr/share/bash-completion/bash_completion"
FILES = ["run.gmt", "run.pickle", "notes.txt"]

# A command line, what is offered, and what is not.
CASES = [
    ("gpumemtrace re", ["report", "records"], ["oom", "--records"]),
    ("gpumemtrace report --f", ["--folded", "--folded-by", "--full", "--full-stacks"], ["--from"]),
    ("gpumemtrace replay --o", ["--output", "--older-than", "--owners"], ["--oom-dir"]),
    ("gpumemtrace records --", ["--kind", "--from", "--to", "--json"], ["--folded", "--all", "--stacks"]),
    ("gpumemtrace list --", ["--json", "--color"], ["--kind", "--folded", "--nvml"]),
    ("gpumemtrace --", ["--pid", "--stacks", "--ring-size"], ["--kind", "--from"]),
    ("gpumemtrace report ", ["run.gmt"], ["run.pickle", "notes.txt"]),
    ("gpumemtrace report -o ", ["run.pickle"], ["run.gmt", "notes.txt"]),
    ("gpumemtrace diff run.gmt ", ["run.gmt"], ["run.pickle", "notes.txt"]),
    ("gpumemtrace diff --", ["--full", "--top", "--json", "--strict"], ["--pid", "--folded"]),
    ("gpumemtrace -a -o ", ["run.gmt", "run.pickle"], ["notes.txt"]),
    ("gpumemtrace -a --stacks ", ["full", "native", "python", "fp", "off"], ["run.gmt"]),
    ("gpumemtrace -a --oom-dir ", ["off", "dumps"], ["full"]),
    ("gpumemtrace -a --nvml ", ["off", "notes.txt"], ["full"]),
    ("gpumemtrace -a --window ", ["off"], ["full"]),
    ("gpumemtrace report --folded-by ", ["live", "peak", "growth"], ["run.gmt"]),
    ("gpumemtrace help ", ["report", "doctor"], ["run.gmt", "--json"]),
    ("gpumemtrace -a -- nohu", ["nohup"], ["--no-live", "run.gmt"]),
]


def fish(folder, line):
    script = f"source {shlex.quote(DOC)}/gpumemtrace.fish-completion; complete -C {shlex.quote(line)}"
    found = subprocess.run(["fish", "--no-config", "-c", script], cwd=folder, stdout=subprocess.PIPE, text=True, timeout=PATIENCE,
                           env={**os.environ, "HOME": folder}, check=False)
    return [offered.split("\t")[0].rstrip("=/") for offered in found.stdout.splitlines()]


def on_terminal(program, folder, env, steps):
    """What the program prints on its terminal. steps: what to wait for, and the keys to send then."""
    pid, fd = pty.fork()
    if not pid:
        os.chdir(folder)
        os.execvpe(program[0], program, {**os.environ, **env})
    printed, seen, end = "", 0, time.monotonic() + PATIENCE
    for wanted, keys in steps:
        while wanted not in printed[seen:] and time.monotonic() < end:
            if select.select([fd], [], [], 1)[0]:
                try:
                    printed += os.read(fd, 65536).decode(errors="replace")
                except OSError:
                    end = 0
        seen = printed.find(wanted, seen) + len(wanted)
        os.write(fd, keys.encode())
    os.close(fd)
    os.waitpid(pid, 0)
    return printed


BASHRC = f"""
source {BASH_COMPLETION}; source {shlex.quote(DOC)}/gpumemtrace.bash-completion
PS1='READY> '
bind '"\\C-d": possible-completions'
bind 'set completion-query-items 0'; bind 'set page-completions off'; bind 'set mark-directories off'
bind 'set enable-bracketed-paste off'
stty cols 200 rows 200
"""
ZSHRC = """
fpath=(~/functions $fpath)
autoload -Uz compinit
compinit -u -D
PS1='READY> ' LISTMAX=0
unsetopt prompt_sp
bindkey -e
stty cols 200 rows 200
zstyle ':completion:*' verbose no
"""


def listed(folder, line, *shell, **env):
    """Shells list completions on a terminal only: Ctrl-D lists them, Ctrl-U drops the line."""
    printed = on_terminal(shell, folder, {"TERM": "dumb", "HOME": folder, **env},
                          [("READY> ", f"{line}\x04\x15: end\n"), (": end", ""), ("READY> ", "exit\n")])
    offered = printed[printed.index("READY> "):]
    # The typed line stands there, too.
    return [word.rstrip("=/") for text in offered.split("\n") if "READY> " not in text for word in text.split()]


def bash(folder, line):
    path = os.path.join(folder, ".bashrc")
    with open(path, "w", encoding="ascii") as file:
        file.write(BASHRC)
    return listed(folder, line, "bash", "--rcfile", path, "-i")


def zsh(folder, line):
    os.makedirs(os.path.join(folder, "functions"), exist_ok=True)
    shutil.copy(os.path.join(DOC, "gpumemtrace.zsh-completion"), os.path.join(folder, "functions", "_gpumemtrace"))
    with open(os.path.join(folder, ".zshrc"), "w", encoding="ascii") as file:
        file.write(ZSHRC)
    return listed(folder, line, "zsh", "-d", "-i", ZDOTDIR=folder)


SHELLS = {
    "bash": (bash, lambda: os.path.isfile(BASH_COMPLETION), "without the package bash-completion"),
    "zsh": (zsh, lambda: shutil.which("zsh"), "without zsh"),
    "fish": (fish, lambda: shutil.which("fish"), "without fish"),
}


def wrong_offers(offer):
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(os.path.join(folder, "dumps"))
        for name in FILES:
            with open(os.path.join(folder, name), "w", encoding="ascii"):
                pass
        for line, wanted, unwanted in CASES:
            offered = offer(folder, line)
            lacks = [word for word in wanted if word not in offered]
            # fish offers other files behind those with the suffix.
            has = [word for word in unwanted if word in offered and not (offer is fish and "." in word)]
            if lacks or has:
                yield f"{line!r} lacks {lacks}, and has {has}: {' '.join(offered)[:2000]}"


def main():
    for shell, (offer, is_there, without) in SHELLS.items():
        name = f"{shell} completes commands, their options, values and files"
        if is_there():
            wrong = list(wrong_offers(offer))
            check(name, not wrong, "\n".join(wrong))
        else:
            skip(name, without)
    return done()


if __name__ == "__main__":
    sys.exit(main())
