# SPDX-License-Identifier: BSD-2-Clause
"""Reads traces for Perfetto with the descriptors that Perfetto publishes (PyPI's perfetto), and checks that a trace keeps
Perfetto's rules. Perfetto's own program, trace_processor_shell, is used where it is on the PATH."""
import collections
import shutil
import subprocess

import pypilib
from patience import PATIENCE

PACKAGES = ("perfetto==0.59.1", "protobuf==6.33.5")
MONOTONIC, MONOTONIC_COARSE, REALTIME = 3, 4, 1
Sample = collections.namedtuple("Sample", "frames at_peak allocated freed allocs frees")
Frame = collections.namedtuple("Frame", "name module file line")
Unavailable = pypilib.Unavailable


def descriptors():
    pypilib.unpacked("perfetto", PACKAGES)
    try:
        # pylint: disable=import-outside-toplevel,import-error
        from perfetto.protos.perfetto.trace import perfetto_trace_pb2
    except ImportError as why:
        raise Unavailable(f"the descriptors cannot be read: {why}") from None
    return perfetto_trace_pb2


def table(messages):
    """By their ids, of which each stands once."""
    found = {message.iid: message for message in messages}
    assert len(found) == len(messages) and 0 not in found, "an id stands twice, or is 0"
    return found


class Trace:
    """counters: {(pid, name): [(ns, value)]}; slices: {(pid, name): [(from, until, name)]}; instants: {(pid, name):
    [(ns, name)]}; heaps: {(pid, name): (ns, [Sample])}; processes: {pid: names and command lines}; clocks: {id: ns}."""

    def __init__(self, path):
        messages = descriptors()
        trace = messages.Trace()
        with open(path, "rb") as file:
            trace.ParseFromString(file.read())
        size = trace.ByteSize()
        trace.DiscardUnknownFields()
        assert trace.ByteSize() == size, "fields that Perfetto does not know"
        self.event = messages.TrackEvent
        self.counters, self.slices, self.instants, self.heaps = ({} for _ in range(4))
        self.processes, self.clocks, self.tracks, self.open = {}, {}, {}, {}
        self.interned = collections.defaultdict(lambda: collections.defaultdict(list))
        self.indices = collections.Counter()
        sequences = set()
        for packet in trace.packet:
            sequence = packet.trusted_packet_sequence_id
            assert sequence and (sequence in sequences) == (packet.sequence_flags != 1), "a sequence begins with its flag"
            sequences.add(sequence)
            self.take(packet, sequence)
        assert not any(self.open.values()), "a slice has no end"

    def take(self, packet, sequence):
        if packet.HasField("clock_snapshot"):
            assert packet.clock_snapshot.primary_trace_clock == MONOTONIC
            self.clocks = {clock.clock_id: clock.timestamp for clock in packet.clock_snapshot.clocks}
        elif packet.HasField("track_descriptor"):
            self.track(packet.track_descriptor)
        elif packet.HasField("track_event"):
            assert packet.timestamp_clock_id == MONOTONIC
            self.happen(packet.timestamp, packet.track_event)
        elif packet.HasField("interned_data"):
            for field, messages in packet.interned_data.ListFields():
                self.interned[sequence][field.name] += messages
        elif packet.HasField("profile_packet"):
            self.profile(packet.profile_packet, sequence)
        else:
            raise AssertionError(f"nothing is in a packet: {packet}")

    def track(self, track):
        assert track.uuid and track.uuid not in self.tracks, "a track stands twice"
        if track.HasField("process"):
            key = (track.process.pid, None)
            self.processes.setdefault(track.process.pid, []).append((track.process.process_name, list(track.process.cmdline)))
        else:
            key = (self.tracks[track.parent_uuid][0], track.name)
            kind = self.counters if track.HasField("counter") else self.slices
            assert key not in kind, f"two tracks are called {key}"
            kind[key] = []
            self.instants.setdefault(key, [])
        self.tracks[track.uuid] = key

    def happen(self, ts, event):
        key = self.tracks[event.track_uuid]
        if event.type == self.event.TYPE_COUNTER:
            self.counters[key].append((ts, event.counter_value))
        elif event.type == self.event.TYPE_INSTANT:
            self.instants[key].append((ts, event.name))
        elif event.type == self.event.TYPE_SLICE_BEGIN:
            self.open.setdefault(key, []).append((ts, event.name))
        else:
            assert event.type == self.event.TYPE_SLICE_END
            begin, name = self.open[key].pop()
            assert begin <= ts, "a slice ends before it begins"
            self.slices[key].append((begin, ts, name))

    def profile(self, packet, sequence):
        assert packet.index == self.indices[sequence], "a profile packet is missing"
        self.indices[sequence] += 1
        data = {name: table(messages) for name, messages in self.interned[sequence].items()}
        for dump in packet.process_dumps:
            ts, samples = self.heaps.setdefault((dump.pid, dump.heap_name), (dump.timestamp, []))
            assert ts == dump.timestamp
            for s in dump.samples:
                frames = [frame_of(data, iid) for iid in data["callstacks"][s.callstack_id].frame_ids]
                assert frames, "a stack trace has no frames"
                samples.append(Sample(frames, s.self_max, s.self_allocated, s.self_freed, s.alloc_count, s.free_count))

    def at(self, key, ts):
        """The value of a counter at a time; None: it has none yet."""
        before = [value for t, value in self.counters.get(key, []) if t <= ts]
        return before[-1] if before else None

    def highest(self, key, since=0):
        return max([value for ts, value in self.counters.get(key, []) if ts >= since] + [self.at(key, since) or 0])


def frame_of(data, iid):
    frame = data["frames"][iid]
    paths = [data["mapping_paths"][path].str.decode() for path in data["mappings"][frame.mapping_id].path_string_ids]
    source = data["source_paths"][frame.source_path_iid].str.decode() if frame.source_path_iid else ""
    return Frame(data["function_names"][frame.function_name_id].str.decode(), "/".join(paths), source, frame.line_number)


def processor():
    """Perfetto's own reader, or None: its home is no package index, so nobody fetches it here."""
    return shutil.which("trace_processor_shell")


def query(path, sql):
    """Rows of numbers and texts, by Perfetto's own reader."""
    said = subprocess.run([processor(), "-Q", sql, path], capture_output=True, text=True, timeout=PATIENCE, check=True)
    return [line for line in said.stdout.splitlines()[1:] if line]
