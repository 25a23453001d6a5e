# SPDX-License-Identifier: BSD-2-Clause
"""What the completions of bash, zsh and fish say of the commands and the options, from their table."""
import re

def words_of(table):
    """The words of all commands, with what they do. Two have no row in CLI_COMMANDS."""
    named = [(command["word"], command["help"]) for command in table["commands"] if command["word"]]
    return named + [("help", "print the help of a command"), ("version", "print the version")]


def readers(table):
    """The commands that take a recording."""
    return [command["word"] for command in table["commands"] if command["word"] and "FILE" in command["arguments"]]


def options_of(table, command):
    return [option for option in table["options"] if command in option["commands"]]


def help_of(option, command):
    return option["helps"][command].replace("@", option["initial"])


def suffixes(table, option, command):
    """Of the files that an option names, without the dot; []: any. -o means an output by its suffix, or a recording."""
    if option["is_output"] or not option["suffix"]:
        return [option["suffix"].lstrip(".")] if option["suffix"] else []
    outputs = [other["suffix"] for other in options_of(table, command) if other["is_output"] and other["suffix"]]
    return [suffix.lstrip(".") for suffix in ([] if command else [option["suffix"]]) + outputs]


def kind(option):
    """How the value is completed."""
    argument = option["argument"]
    if option["words"] or option["is_optional"] and argument.islower():
        return "list" if "LIST" in argument else "words"
    for word, found in (("PID", "pids"), ("DIR", "folders"), ("FILE", "files"), ("PATH", "files")):
        if word in argument:
            return found
    return "any" if argument else ""


def takes_off(option):
    """Whether "off" stands beside another kind of value."""
    return "|off" in option["argument"]


def choices(option):
    return " ".join(option["words"]).lower() if option["words"] else option["argument"]


# ---- bash ----

def bash_value(table, option, command):
    """The shell's commands that complete the value of an option."""
    last = '-P "${cur%"${cur##*,}"}" -- "${cur##*,}"' if kind(option) == "list" else '-- "$cur"'
    files = suffixes(table, option, command)
    found = {"list": f"COMPREPLY=($(compgen -W '{choices(option)}' {last}))", "pids": "_pids", "folders": "_filedir -d",
             "files": "_filedir" + (f" '@({'|'.join(files)})'" if files else ""), "any": ":"}
    found["words"] = found["list"]
    more = "\n\t\tCOMPREPLY+=($(compgen -W 'off' -- \"$cur\"))" if takes_off(option) else ""
    return ("[[ $split == true ]] || return 1\n\t\t" if option["is_optional"] else "") + found[kind(option)] + more


def bash(table):
    cases = {}
    for command in [command["word"] for command in table["commands"]]:
        for option in options_of(table, command):
            if not kind(option):
                continue
            names = [f"-{option['letter']}"] if option["letter"] and not option["is_optional"] else []
            for name in names + [f"--{option['name']}"]:
                cases.setdefault(bash_value(table, option, command), []).append(f"'{command} {name}'")
    yield f"_gpumemtrace_commands='{' '.join(word for word, _ in words_of(table))}'"
    yield f"_gpumemtrace_readers='{' '.join(readers(table))}'\n"
    yield "# The options of a command; '' is tracing.\n_gpumemtrace_options()\n{\n\tcase $1 in"
    for command in [command["word"] for command in table["commands"]]:
        names = [f"--{option['name']}" for option in options_of(table, command)]
        letters = [f"-{option['letter']}" for option in options_of(table, command) if option["letter"]]
        yield f"\t'{command}')\n\t\techo '{' '.join(names + letters)}'\n\t\t;;"
    yield "\tesac\n}\n\n# The value of the option $prev of $command; false: the option takes none.\n_gpumemtrace_value()\n{"
    yield '\tcase "$command $prev" in'
    for body, names in cases.items():
        yield "\t" + " | \\\n\t\t".join(names) + f")\n\t\t{body}\n\t\t;;"
    yield "\t*)\n\t\treturn 1\n\t\t;;\n\tesac\n\treturn 0\n}"


# ---- zsh ----

def zsh_quoted(text):
    return text.replace("'", "'\\''")


def zsh_text(text):
    """Text in the brackets of an argument of _arguments."""
    return zsh_quoted(re.sub(r"([\[\]:\\])", r"\\\1", text))


def zsh_value(table, option, command):
    files = suffixes(table, option, command)
    # "(pickle)" alone would be a qualifier.
    pattern = f"*.({'|'.join(files)})" if len(files) > 1 else f"*.{''.join(files)}"
    found = {"list": f"_values -s , value {choices(option)}", "words": f"({choices(option)})", "pids": "_pids",
             "folders": "_files -/", "files": "_files" + (f' -g "{pattern}"' if files else ""), "any": " "}
    if takes_off(option):
        found["any"] = "(off)"
        found["folders"], found["files"] = (f"{{{found[name]}; compadd -- off}}" for name in ("folders", "files"))
    return zsh_quoted(found[kind(option)])


def zsh_option(table, option, command):
    text, value = f"[{zsh_text(help_of(option, command))}]", ""
    if kind(option):
        colons = "::" if option["is_optional"] else ":"
        value = f"{colons}{zsh_text(option['argument'])}:{zsh_value(table, option, command)}"
    long = f"--{option['name']}" + ("=-" if option["is_optional"] else "=" if kind(option) else "")
    if not option["letter"]:
        return f"'{long}{text}{value}'"
    letter = f"-{option['letter']}" + ("+" if kind(option) and not option["is_optional"] else "")
    if option["is_optional"]:
        return f"'{long}{text}{value}' '{letter}{text}'"
    return f"'*'{{{letter},{long}}}'{text}{value}'"


def zsh(table):
    yield "_gpumemtrace_words()\n{\n\tlocal -a words_and_helps=("
    for word, text in words_of(table):
        yield f"\t\t'{word}:{zsh_text(text)}'"
    yield "\t)\n\t_describe -t commands command words_and_helps\n}\n"
    yield "# The options of a command, into the array `options`; '' is tracing.\n_gpumemtrace_options()\n{\n\tcase $1 in"
    for command in table["commands"]:
        yield f"\t'{command['word']}')\n\t\toptions=("
        for option in options_of(table, command["word"]):
            yield f"\t\t\t{zsh_option(table, option, command['word'])}"
        if command["word"] in readers(table):
            yield "\t\t\t'" + ("*" if command["arguments"].count("FILE") > 1 else "1") + ":recording:_files -g \"*.gmt\"'"
        yield "\t\t)\n\t\t;;"
    yield "\tesac\n}"


# ---- fish ----

def fish_quoted(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def fish_value(table, option, command):
    files = suffixes(table, option, command)
    many = " ".join(f"(__fish_complete_suffix .{suffix})" for suffix in files)
    found = {"list": f"-x -a \"(__fish_append , {choices(option)})\"", "words": f"-x -a {fish_quoted(choices(option))}",
             "pids": "-x -a '(__fish_complete_pids)'", "folders": "-x -a '(__fish_complete_directories)'",
             "files": f"-r -k -a {fish_quoted(many)}" if files else "-r -F", "any": "-x", "": ""}
    if takes_off(option):
        found.update(folders="-x -a '(__fish_complete_directories) off'", files=found["files"] + " -a off", any="-x -a off")
    text = found[kind(option)]
    return text.replace("-x ", "-f ").replace("-r ", "") if option["is_optional"] else text


def fish(table):
    yield f"set -g __gpumemtrace_words {' '.join(word for word, _ in words_of(table))}\n"
    for word, text in words_of(table):
        yield f"complete -c gpumemtrace -n '__gpumemtrace_is none' -a {word} -d {fish_quoted(text)}"
    yield f"complete -c gpumemtrace -n '__gpumemtrace_is help' -a {fish_quoted(' '.join(word for word, _ in words_of(table)))}"
    for word in readers(table):
        yield f"complete -c gpumemtrace -n '__gpumemtrace_is {word}' -k -a '(__fish_complete_suffix .gmt)'"
    for command in [command["word"] for command in table["commands"]]:
        yield ""
        for option in options_of(table, command):
            letter = f" -s {option['letter']}" if option["letter"] else ""
            yield (f"complete -c gpumemtrace -n '__gpumemtrace_is {command or 'trace'}'{letter} -l {option['name']} "
                   f"{fish_value(table, option, command)}".rstrip() + f" -d {fish_quoted(help_of(option, command))}")
