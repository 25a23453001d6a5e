#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""gpumemtrace replay, doctor, list and --help as a person runs them: exit codes, sentences, JSON."""
import json
import os
import pickle
import subprocess
import sys
import tempfile

from cases import BIN, PATIENCE, TOP, check, done, skip

DATA = os.path.join(TOP, "tests", "data", "h200x2-ioctls-native.gmt")


def run(*words, data=b"", out=subprocess.PIPE):
    env = dict(os.environ, LC_ALL="C")
    said = subprocess.run([BIN, *words], input=data, stdout=out, stderr=subprocess.PIPE, env=env, timeout=PATIENCE)
    return said.returncode, said.stdout or b"", said.stderr.decode()


def says(name, words, code, sentence, **more):
    """The exit code, one line on standard error that has the sentence, and the line's form."""
    rc, out, err = run(*words, **more)
    fine = rc == code and sentence in err and err.startswith("gpumemtrace: ") and err.count("\n") == 1
    check(name, fine, "exit code %d\n%s" % (rc, err))
    return out


def with_file(folder, name, data):
    path = os.path.join(folder, name)
    with open(path, "wb") as file:
        file.write(data)
    return path


def damaged(folder):
    with open(DATA, "rb") as file:
        whole = file.read()
    cut = with_file(folder, "cut.gmt", whole[:-20])
    out = says("a cut recording: what is whole, and a sentence", ["report", "--full", cut], 0, "the file is cut off; 397 records were read, 84 bytes")
    check("the report says it too", b"the recording is incomplete" in out and b"nothing was lost" not in out, out)
    check("and it still has the numbers", b"nvidia-smi (NVML)" in out, out)
    says("--strict makes it an error", ["replay", "--strict", cut], 5, "the file is cut off")
    out = says("JSON has it as a note", ["replay", "--json", cut], 0, "the file is cut off")
    check("one note", len(json.loads(out)["notes"]) == 1, out)
    newer = with_file(folder, "newer.gmt", whole[:12] + b"\x63" + whole[13:])
    says("a newer major version is refused", ["replay", newer], 1, "newer gpumemtrace")
    flipped = with_file(folder, "flipped.gmt", whole[:300] + bytes([whole[300] ^ 1]) + whole[301:])
    says("a flipped bit is found", ["replay", flipped], 0, "the file is damaged")
    says("an empty file", ["replay", with_file(folder, "empty", b"")], 1, "not a gpumemtrace recording")
    says("another kind of file", ["replay", BIN], 1, "not a gpumemtrace recording")
    says("a directory", ["replay", folder], 1, "Is a directory")
    says("no file", ["replay", os.path.join(folder, "none.gmt")], 1, "No such file or directory")


def whole():
    rc, out, err = run("report", "--full", DATA)
    check("a recording: exit code 0 and no message", rc == 0 and not err, err)
    check("-q: the report is printed, as it is the result", run("report", "--full", "-q", DATA) == (0, out, ""))
    check("-qq: no report", run("report", "-qq", DATA) == (0, b"", ""))
    check("-qq --json: the data", json.loads(run("report", "-qq", "--json", DATA)[1])["type"] == "report")
    pid = json.loads(run("report", "--json", DATA)[1])["processes"][0]["pid"]
    _, short, _ = run("report", "-p", str(pid), "--gpu", "0", DATA)
    words = [line[line.index("gpumemtrace report"):].split() for line in short.decode().splitlines()
             if "gpumemtrace report" in line]
    check("the command to run next has the process and the GPU that were chosen",
          words == [["gpumemtrace", "report", "--full", "-p", str(pid), "--gpu", "0", DATA]], short.decode())
    rc, more, _ = run(*words[0][1:])
    check("and this command works", rc == 0 and len(more) > len(short), more.decode())
    check("what nvidia-smi said, and nothing left over",
          b"946 MiB" in out and out.count(b"residual                          0\n") == 2, out.decode())
    check("the same text again", run("report", "--full", DATA)[1] == out)
    with open(DATA, "rb") as file:
        check("the same text from standard input", run("report", "--full", "-", data=file.read())[1] == out)
    check("--strict is content", run("replay", "--strict", DATA)[0] == 0)
    view = json.loads(run("replay", "--json", DATA)[1])
    check("JSON of a schema that is named", view["schema"] == "gpumemtrace/1" and view["type"] == "report", view)
    sums = [sum(gpu["nvml"]["sum"].values()) == gpu["nvml"]["used_bytes"]
            for process in view["processes"] for gpu in process["gpus"]]
    check("the members of each sum add up", len(sums) == 2 and all(sums), view)
    with open("/dev/full", "wb") as full:
        says("a full disk under the report", ["replay", DATA], 1, "No space left on device", out=full)


def schema():
    try:
        import jsonschema
    except ImportError:
        skip("the schema holds", "no python3-jsonschema")
        return
    with open(os.path.join(TOP, "user", "doc", "json-schema.json")) as file:
        described = json.load(file)
    jsonschema.Draft202012Validator.check_schema(described)
    view = json.loads(run("replay", "--json", DATA)[1])
    errors = list(jsonschema.Draft202012Validator(described).iter_errors(view))
    check("the schema holds", not errors, errors)


def others():
    rc, out, err = run("list", "--json")
    probes = json.loads(out)["probes"]
    check("list names the probes", rc == 0 and any(p["symbol"] == "cuMemAlloc_v2" for p in probes), err)
    rc, out, err = run("doctor", "--json")
    doctor = json.loads(out)
    check("doctor says whether tracing works, by its exit code too", rc == (0 if doctor["works"] else 4), out)
    check("each thing that is missing has a remedy",
          all(f["remedy"] for f in doctor["features"] if f["state"] == "missing"), out)
    rc, out, err = run("--help")
    check("--help goes to standard output", rc == 0 and out.startswith(b"usage: ") and not err)
    rc, out, err = run("--version")
    check("--version", rc == 0 and out.startswith(b"gpumemtrace "))
    says("wrong usage", ["--frobnicate"], 2, "there is no option --frobnicate")
    says("nothing to trace", [], 2, "nothing to trace:")


def snapshot(path, *words):
    run(*words, "-q", "-o", path)
    with open(path, "rb") as file:
        return pickle.load(file)


def snapshots(folder):
    """A snapshot of one GPU has this GPU's part of the snapshot of all."""
    path, file = os.path.join(folder, "x.pickle"), os.path.join(TOP, "tests", "data", "kept", "torch-late.gmt")
    both = snapshot(path, "report", file)
    rows = json.loads(run("report", "--json", file)[1])["processes"][0]["gpus"]
    rows = [row for row in rows if row["ordinal"] is not None]
    check("two GPUs", len(rows) == 2, rows)
    for row in rows:
        one, device = snapshot(path, "report", "--gpu", row["uuid"], file), row["ordinal"]
        segments = [s for s in both["segments"] if s["device"] == device]
        check(f"a snapshot of cuda:{device}: its segments", segments and one["segments"] == segments, one["segments"])
        traces = [trace if i == device else [] for i, trace in enumerate(both["device_traces"])]
        check("... and its events", traces[device] and one["device_traces"] == traces)
    says("a snapshot of no GPU", ["report", "--gpu", "GPU-0", "-o", path, file], 3, "no such process or GPU")


def chosen(folder):
    """--pid and --gpu restrict the report, its JSON and its files."""
    view = json.loads(run("report", "--json", DATA)[1])
    process = view["processes"][0]
    uuid, other = view["gpus"][1]["uuid"], view["gpus"][0]["uuid"]
    for name in "1", uuid, uuid[:8].lower():
        found = json.loads(run("report", "--json", "--gpu", name, DATA)[1])["processes"]
        check(f"--gpu {name}: the rows of this GPU, as they were",
              [p["gpus"] for p in found] == [[row for row in process["gpus"] if row["uuid"] == uuid]], found)
    live = {name: sum(row["classes"][name]["live_bytes"] for row in found[0]["gpus"]) for name in found[0]["classes"]}
    check("the classes are those of the rows", {n: c["live_bytes"] for n, c in found[0]["classes"].items()} == live, live)
    text = run("report", "--full", "--gpu", "1", DATA)[1].decode()
    check("the text has this GPU only, and says so", uuid in text and other not in text and "--gpu are shown" in text, text)
    found = json.loads(run("report", "--json", "-p", str(process["pid"]), DATA)[1])
    check("-p PID: the process as it was", found["processes"] == view["processes"], found)
    says("-p of no process", ["report", "-p", "1", DATA], 3, "no such process or GPU")
    says("--gpu of no GPU", ["report", "--gpu", "7", DATA], 3, "no such process or GPU")
    path = os.path.join(folder, "x.folded")
    rc, _, err = run("report", "--gpu", "1", "-o", path, DATA)
    with open(path) as file:
        lines = file.readlines()
    check("a file for flame graphs, too", rc == 0 and lines and all(";GPU 1;" in line for line in lines), (err, lines))
    failed = os.path.join(TOP, "tests", "data", "kept", "oom-torch.gmt")
    lines = [json.loads(line) for line in run("oom", "--json", failed)[1].splitlines()]
    asked = {line["processes"][line["oom"]["process"]]["pid"] for line in lines}
    same = run("oom", "--json", "-p", ",".join(map(str, asked)), failed)[1].splitlines()
    check("oom -p: the requests of this process", asked and len(same) == len(lines), same)
    check("... and of no other", not run("oom", "--json", "-p", "1", failed)[1])
    code, out, err = run("oom", "-p", "1", failed)
    named = ", ".join(str(line["processes"][line["oom"]["process"]]["pid"]) for line in lines[:1])
    wanted = f"no request of process 1 failed; those that failed are of process {named}"
    check("... and those that failed are named", code == 0 and not out and wanted in err, (out, err))


def main():
    whole()
    with tempfile.TemporaryDirectory() as folder:
        damaged(folder)
        chosen(folder)
        snapshots(folder)
    schema()
    others()
    return done()


sys.exit(main())
