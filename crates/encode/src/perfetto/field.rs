//! Field numbers of Perfetto's published descriptors, as far as they are written (`crates/rtscope/tests/exports`
//! decodes with the descriptors). Owns only these numbers.

/// `Trace.packet`
pub const PACKET: u32 = 1;

/// `TracePacket`
pub mod packet {
    pub const FTRACE_EVENTS: u32 = 1;
    pub const PROCESS_TREE: u32 = 2;
    pub const CLOCK_SNAPSHOT: u32 = 6;
    pub const TIMESTAMP: u32 = 8;
    pub const SEQUENCE: u32 = 10;
    pub const TRACK_EVENT: u32 = 11;
    pub const INTERNED_DATA: u32 = 12;
    pub const SEQUENCE_FLAGS: u32 = 13;
    pub const SYSTEM_INFO: u32 = 45;
    pub const TIMESTAMP_CLOCK: u32 = 58;
    pub const DEFAULTS: u32 = 59;
    pub const TRACK_DESCRIPTOR: u32 = 60;
    pub const PERF_SAMPLE: u32 = 66;
}

/// `TracePacketDefaults` and its `TrackEventDefaults`
pub mod defaults {
    pub const TIMESTAMP_CLOCK: u32 = 58;
    pub const TRACK_EVENT: u32 = 11;
    pub const TRACK: u32 = 11;
}

/// `TrackEvent`
pub mod event {
    pub const CATEGORY: u32 = 3;
    pub const ANNOTATION: u32 = 4;
    pub const TYPE: u32 = 9;
    pub const NAME_IID: u32 = 10;
    pub const TRACK: u32 = 11;
    pub const NAME: u32 = 23;
    pub const VALUE: u32 = 30;
    pub const FLOW: u32 = 47;
    pub const FLOW_END: u32 = 48;

    pub const BEGIN: u64 = 1;
    pub const END: u64 = 2;
    pub const INSTANT: u64 = 3;
    pub const COUNTER: u64 = 4;
}

/// `DebugAnnotation`
pub mod annotation {
    pub const NAME_IID: u32 = 1;
    pub const UINT: u32 = 3;
    pub const STRING: u32 = 6;
    pub const NAME: u32 = 10;
}

/// `InternedData`, and `iid` and `name` of its entries
pub mod interned {
    pub const CATEGORIES: u32 = 1;
    pub const EVENT_NAMES: u32 = 2;
    pub const ANNOTATION_NAMES: u32 = 3;
    pub const FUNCTION_NAMES: u32 = 5;
    pub const FRAMES: u32 = 6;
    pub const CALLSTACKS: u32 = 7;
    pub const MAPPING_PATHS: u32 = 17;
    pub const MAPPINGS: u32 = 19;
    pub const IID: u32 = 1;
    pub const NAME: u32 = 2;
}

/// `TrackDescriptor`, `ProcessDescriptor`, `CounterDescriptor`
pub mod track {
    pub const UUID: u32 = 1;
    pub const NAME: u32 = 2;
    pub const PROCESS: u32 = 3;
    pub const PARENT: u32 = 5;
    pub const COUNTER: u32 = 8;
    pub const CHILD_ORDER: u32 = 11;
    pub const RANK: u32 = 12;

    pub const PROCESS_PID: u32 = 1;
    pub const PROCESS_COMMAND: u32 = 2;
    pub const PROCESS_NAME: u32 = 6;
    pub const COUNTER_UNIT: u32 = 3;
    pub const COUNTER_UNIT_NAME: u32 = 6;
    pub const EXPLICIT: u64 = 3;
}

/// `ProcessTree` and its `Thread`
pub mod tree {
    pub const THREADS: u32 = 2;
    pub const TID: u32 = 1;
    pub const NAME: u32 = 2;
    pub const PID: u32 = 3;
}

/// `ClockSnapshot`, its `Clock` and the numbers of clocks
pub mod clock {
    pub const CLOCKS: u32 = 1;
    pub const ID: u32 = 1;
    pub const TIMESTAMP: u32 = 2;
    pub const INCREMENTAL: u32 = 3;
    pub const REALTIME: u64 = 1;
    pub const MONOTONIC: u64 = 3;
    pub const BOOTTIME: u64 = 6;
    /// The first number for a sequence's own clocks.
    pub const OWN: u64 = 64;
}

/// `SystemInfo` and its `Utsname`
pub mod system {
    pub const UTSNAME: u32 = 1;
    pub const NAME: u32 = 1;
    pub const RELEASE: u32 = 3;
    pub const MACHINE: u32 = 4;
}

/// `FtraceEventBundle`
pub mod bundle {
    pub const CPU: u32 = 1;
    pub const EVENT: u32 = 2;
}

/// `FtraceEvent`
pub mod ftrace {
    pub const TIMESTAMP: u32 = 1;
    pub const PID: u32 = 2;
    pub const SCHED_SWITCH: u32 = 4;
    pub const SCHED_WAKING: u32 = 20;
}

/// `SchedSwitchFtraceEvent`
pub mod switch {
    pub const PREV_COMM: u32 = 1;
    pub const PREV_PID: u32 = 2;
    pub const PREV_STATE: u32 = 4;
    pub const NEXT_COMM: u32 = 5;
    pub const NEXT_PID: u32 = 6;
}

/// `SchedWakingFtraceEvent`
pub mod waking {
    pub const COMM: u32 = 1;
    pub const PID: u32 = 2;
    pub const SUCCESS: u32 = 4;
    pub const TARGET_CPU: u32 = 5;
}

/// `Frame`, `Callstack`, `Mapping`
pub mod places {
    pub const FUNCTION: u32 = 2;
    pub const MAPPING: u32 = 3;
    pub const FRAMES: u32 = 2;
    pub const PATHS: u32 = 7;
}

/// `PerfSample`
pub mod sample {
    pub const CPU: u32 = 1;
    pub const PID: u32 = 2;
    pub const TID: u32 = 3;
    pub const CALLSTACK: u32 = 4;
    pub const MODE: u32 = 5;
    pub const COUNT: u32 = 6;
}
