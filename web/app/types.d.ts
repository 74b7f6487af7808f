// The shapes of what the server says (docs/formats/view.md) and of what the modules hand
// each other. Only for the type check: nothing of it is served.

/** What a span is: `role` chooses its colour and pattern. */
export interface Kind {
  id: number;
  name: string;
  role: string;
}

export type Form = "spans" | "values" | "marks";

export interface Track {
  id: number;
  name: string;
  form: Form;
  /** Of values: "bytes", "ns", "1/s", … */
  unit: string | null;
  /** Highest level that is kept. */
  top: number;
}

export interface Group {
  name: string;
  sub: string | null;
  tracks: Track[];
  folded: boolean;
}

export interface Finding {
  id: string;
  severity: "note" | "warning" | "severe";
  claim: string;
  /** What it stands on, a sentence each. */
  seen: string[];
  changes: Change[];
  at_ns: number | null;
  to_ns: number | null;
  track: number | null;
}

/** A remedy; `paste` is null where it is words only. */
export interface Change {
  text: string;
  paste: string | null;
}

export interface Gap {
  from_ns: number;
  to_ns: number;
  note: string;
  /** Null: of everything. */
  track: number | null;
}

export interface CauseWords {
  id: string;
  words: string;
  /** The words with a name, which replaces `{who}`. */
  with_who: string;
  /** What it is drawn as. */
  role: string;
}

export interface Session {
  schema: string;
  title: string;
  from_ns: number;
  span_ns: number;
  clock: string;
  runtime: string | null;
  /** What the runtime calls a lane. */
  lane: string;
  lanes: string;
  kinds: Kind[];
  groups: Group[];
  details: string[];
  findings: Finding[];
  gaps: Gap[];
  missing: string[];
  /** What the report says in figures. */
  sections: Section[];
  causes: CauseWords[];
}

export interface PauseLane {
  lane: number;
  tid: number | null;
  arrived_ns: number | null;
  work_begin_ns: number | null;
  work_end_ns: number | null;
  work_ns: number;
  left_ns: number | null;
}

export interface PauseCause {
  cause: string;
  who: string | null;
  who_pid: number | null;
  code: string | null;
  neighbour: boolean;
  lane: number | null;
  tid: number | null;
  from_ns: number;
  to_ns: number;
  confidence: string;
}

/** A line of `report --pauses`: times are those of the trace clock. */
export interface Pause {
  id: number;
  kind: string;
  mode: string;
  generation: number | null;
  leader: number | null;
  requested_ns: number | null;
  stopped_ns: number;
  collected_ns: number;
  released_ns: number;
  release_basis: string;
  straggler: number | null;
  quality: string;
  copied_bytes: number | null;
  gc_threads: number | null;
  lanes: PauseLane[];
  held_up_by: HeldUp | null;
  causes: PauseCause[];
}

/** What a pause waited for longest. */
export interface HeldUp {
  lane: number | null;
  tid: number | null;
  cause: string;
  who: string | null;
  code: string | null;
  ns: number;
}

/** A part of the account, as `report --json` has it. */
export interface AccountNode {
  id: string;
  name: string;
  ns: number;
  why: string | null;
  parts: AccountNode[];
}

/** Where the time of all lanes went in an interval. */
export interface Tree {
  head: string;
  whole: string;
  whole_ns: number;
  tops: { role: string; part: AccountNode }[];
}

/** A part of a report: the forms of `crates/draw/src/present.rs`. */
export interface Section {
  id: string;
  title: string;
  blocks: Block[];
}

/** One of these. */
export interface Block {
  text?: { topic: string; sentences: string[]; form: "plain" | "strong" | "faint" | "list" };
  table?: Table;
  tree?: Tree;
}

export interface Table {
  topic: string;
  columns: { head: string }[];
  rows: { name: { text: string; code: boolean; depth: number }; cells: Cell[] }[];
}

/** One of these. */
export interface Cell {
  figure?: string;
  /** Null: not a number. */
  share?: number | null;
  interval?: { text: string };
  note?: string;
}

/** What of an interval is whose. */
export interface Summary {
  from_ns: number;
  to_ns: number;
  pauses: {
    count: number;
    stood_ns: number;
    stop_ns: number;
    collect_ns: number;
    release_ns: number;
    longest_ns: number | null;
  };
  tracks: { id: number; kinds: { kind: number; ns: number; count: number }[] }[];
}

/** Where something was found. */
export interface Found {
  track: number;
  from_ns: number;
  to_ns: number;
  kind: number;
  count: number;
}

export interface Interval {
  from: number;
  to: number;
}

/** The spans of a tile, as they came: typed windows on the same 32-byte records. */
export interface Spans {
  count: number;
  /** Stride 4: from at 0, to at 1, in nanoseconds since the session's start. */
  times: Float64Array;
  /** Stride 8: spans at 4, detail at 6. */
  words: Uint32Array;
  /** Stride 16: kind at 10. */
  halves: Uint16Array;
  /** Stride 8: share of from..to that is covered, at 7. */
  shares: Float32Array;
}

/** The values of a tile. Stride 5: from, to, min, max, last. */
export interface Values {
  count: number;
  numbers: Float64Array;
}

/** One row of the drawing: y and height are CSS pixels from the top of all rows. */
export interface Row {
  form: Form;
  /** One track; several where values of one unit share a plot. */
  tracks: Track[];
  group: number;
  y: number;
  height: number;
  /** First row of its group. */
  first: boolean;
  /** Drawn small because its group is closed. */
  closed: boolean;
}

export interface Spot {
  row: Row;
  track: Track;
  from: number;
  to: number;
  kind: number;
  count: number;
  detail: number;
  share: number;
}
