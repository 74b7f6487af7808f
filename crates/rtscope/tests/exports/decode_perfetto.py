"""Decodes a trace with Perfetto's published descriptors and says what is in it, as JSON.

A field that the descriptors do not know is an error, so is a span that does not nest, a name
or a track that was not declared, a bundle whose events are out of order.
"""

import json
import sys

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as protos


def unknown(message):
    """Whether a message holds fields without a descriptor: they get lost on the way."""
    again = type(message)()
    again.CopyFrom(message)
    again.DiscardUnknownFields()
    return again.ByteSize() != message.ByteSize()


trace = protos.Trace()
with open(sys.argv[1], "rb") as file:
    trace.ParseFromString(file.read())
assert not unknown(trace), "there are fields that the descriptors do not know"



class Sequence:
    """What packets of a sequence refer to."""

    def __init__(self):
        self.names, self.categories, self.facts = {}, {}, {}
        # By clock: absolute times, or the last time, which the next is added to.
        self.clock, self.track, self.last = 0, 0, {}

    def learn(self, packet):
        if packet.sequence_flags & packet.SEQ_INCREMENTAL_STATE_CLEARED:
            self.__init__()
        self.names.update((name.iid, name.name) for name in packet.interned_data.event_names)
        self.facts.update((name.iid, name.name) for name in packet.interned_data.debug_annotation_names)
        self.categories.update((name.iid, name.name) for name in packet.interned_data.event_categories)
        if packet.HasField("trace_packet_defaults"):
            self.clock = packet.trace_packet_defaults.timestamp_clock_id
            self.track = packet.trace_packet_defaults.track_event_defaults.track_uuid
        for clock in packet.clock_snapshot.clocks:
            if clock.is_incremental:
                assert clock.clock_id >= 64, packet
                self.last[clock.clock_id] = clock.timestamp

    def time(self, packet):
        clock = packet.timestamp_clock_id or self.clock
        if clock not in self.last:
            # The clock since boot is that of the trace.
            assert clock in (0, 6), packet
            return packet.timestamp
        self.last[clock] += packet.timestamp
        return self.last[clock]


sequences, tracks, threads = {}, {}, {}
functions, mappings, frames, stacks = {}, set(), {}, {}
events, switches, wakings, samples = [], [], [], {}
process = None
for packet in trace.packet:
    assert packet.trusted_packet_sequence_id, packet
    sequence = sequences.setdefault(packet.trusted_packet_sequence_id, Sequence())
    sequence.learn(packet)
    functions.update((name.iid, name.str.decode()) for name in packet.interned_data.function_names)
    mappings.update(mapping.iid for mapping in packet.interned_data.mappings)
    for frame in packet.interned_data.frames:
        assert frame.mapping_id in mappings and frame.iid not in frames, frame
        frames[frame.iid] = functions[frame.function_name_id]
    for stack in packet.interned_data.callstacks:
        stacks[stack.iid] = [frames[frame] for frame in stack.frame_ids]
    if packet.HasField("perf_sample"):
        sample = packet.perf_sample
        assert sample.pid and sample.tid and packet.timestamp and packet.sequence_flags & 2, packet
        leaf = stacks[sample.callstack_iid][-1]
        samples[leaf] = samples.get(leaf, 0) + 1
    if packet.HasField("track_descriptor"):
        track = packet.track_descriptor
        assert track.uuid not in tracks, track
        assert not track.parent_uuid or track.parent_uuid in tracks, track
        tracks[track.uuid] = track
        if track.HasField("process"):
            process = {"pid": track.process.pid, "name": track.process.process_name}
    for thread in packet.process_tree.threads:
        threads[thread.tid] = thread.name
    if packet.HasField("track_event"):
        event = packet.track_event
        event.track_uuid = event.track_uuid or sequence.track
        assert event.track_uuid in tracks, event
        # A packet that refers to others says so.
        assert packet.sequence_flags & packet.SEQ_NEEDS_INCREMENTAL_STATE, packet
        name = sequence.names[event.name_iid] if event.name_iid else event.name
        [sequence.categories[iid] for iid in event.category_iids]
        assert all(fact.name or sequence.facts[fact.name_iid] for fact in event.debug_annotations), event
        events.append((sequence.time(packet), len(events), event, name))
    if packet.HasField("ftrace_events"):
        before = 0
        for event in packet.ftrace_events.event:
            assert event.timestamp >= before, packet
            before = event.timestamp
            if event.HasField("sched_switch"):
                switches.append((event.timestamp, packet.ftrace_events.cpu, event.sched_switch))
            if event.HasField("sched_waking"):
                wakings.append((event.timestamp, event.pid, event.sched_waking))

# As a reader sorts them: by time, those of one moment as they stand in the file.
events.sort(key=lambda event: event[:2])
open_spans, deepest = {}, {}
spans, values, marks, flows_from, flows_to, lengths = {}, {}, {}, {}, {}, {}
for at, _, event, name in events:
    stack = open_spans.setdefault(event.track_uuid, [])
    label = tracks[event.track_uuid].name
    if event.type == event.TYPE_SLICE_BEGIN:
        assert name, event
        stack.append((name, at))
        deepest[label] = max(deepest.get(label, 0), len(stack))
    elif event.type == event.TYPE_SLICE_END:
        begun = stack.pop()
        spans[begun[0]] = spans.get(begun[0], 0) + 1
        if label == "pauses":
            lengths[begun[0]] = lengths.get(begun[0], 0) + at - begun[1]
    elif event.type == event.TYPE_COUNTER:
        assert tracks[event.track_uuid].HasField("counter"), event
        values[label] = values.get(label, 0) + 1
    else:
        marks[name] = marks.get(name, 0) + 1
    for flow in event.flow_ids:
        assert flow not in flows_from
        flows_from[flow] = at
    for flow in event.terminating_flow_ids:
        assert flow not in flows_to
        flows_to[flow] = at
assert not any(open_spans.values()), "spans are open at the end"
assert flows_from.keys() == flows_to.keys() and all(flows_from[flow] <= flows_to[flow] for flow in flows_to)

# What a CPU goes on with is what it came to.
running, seen, broken = {}, {}, 0
for at, cpu, switch in sorted(switches, key=lambda switch: switch[:2]):
    if cpu in running and running[cpu] != switch.prev_pid:
        broken += 1
    running[cpu] = switch.next_pid
    seen[switch.next_comm] = seen.get(switch.next_comm, 0) + 1

print(json.dumps({
    "packets": len(trace.packet),
    "process": process,
    "tracks": sorted(track.name for track in tracks.values() if not track.HasField("counter")),
    "deepest": deepest,
    "spans": spans,
    "pauses_ns": lengths,
    "values": values,
    "marks": marks,
    "flows": len(flows_to),
    "switches": len(switches),
    "broken_switches": broken,
    "cpus": sorted(running),
    "comms": seen,
    "wakings": len(wakings),
    "samples": samples,
    "clocks": [
        clock.clock_id
        for packet in trace.packet
        if not any(clock.is_incremental for clock in packet.clock_snapshot.clocks)
        for clock in packet.clock_snapshot.clocks
    ],
}))
