(* The OCaml side: the program's own events by name, and when threads are watched from.
   Refuses to lock: a span may begin in a signal handler, or in any domain. *)

module User = Runtime_events.User
module Type = Runtime_events.Type
module Names = Map.Make (String)

type User.tag += Thread | Span | Mark | Value

external watch : int User.t -> unit = "rtscope_events_watch"
external watch_domains : unit -> unit = "rtscope_events_watch_domains"
external announce : string -> unit = "rtscope_events_announce"
external active : unit -> bool = "rtscope_events_active" [@@noalloc]
external can_start : unit -> bool = "rtscope_events_can_start"
external lane : unit -> int = "rtscope_events_lane" [@@noalloc]
external thread_id : unit -> int = "rtscope_events_thread" [@@noalloc]

(* At most so many bytes, and no part of a character. *)
let cut limit text =
  let rec boundary at = if at > 0 && Char.code text.[at] land 0xc0 = 0x80 then boundary (at - 1) else at in
  if String.length text <= limit then text else String.sub text 0 (boundary limit)

let name_bytes_max = 127
let thread_name_bytes_max = 15
let names_max = 2048

(* What was registered of one kind. *)
type 'content known = { names : 'content User.t Names.t; count : int }
type 'content kind = { tag : User.tag; content : 'content Type.t; known : 'content known Atomic.t }

let kind tag content = { tag; content; known = Atomic.make { names = Names.empty; count = 0 } }
let spans = kind Span Type.span
let marks = kind Mark Type.unit
let values = kind Value Type.int
let other = "rtscope.other"

(* Two domains may register a name at once: it has two ids then, which mean the same. *)
let rec event kind name =
  let known = Atomic.get kind.known in
  match Names.find name known.names with
  | event -> event
  | exception Not_found when name <> other && known.count >= names_max -> event kind other
  | exception Not_found ->
      let made = User.register (cut name_bytes_max name) kind.tag kind.content in
      keep kind name made

and keep kind name made =
  let known = Atomic.get kind.known in
  let more = { names = Names.add name made known.names; count = known.count + 1 } in
  if Atomic.compare_and_set kind.known known more then made else keep kind name made

let write kind name content = if active () then User.write (event kind name) content
let mark name = write marks name ()
let value name figure = write values name figure

let span name work =
  if not (active ()) then work ()
  else begin
    let event = event spans name in
    User.write event Type.Begin;
    match work () with
    | result ->
        User.write event Type.End;
        result
    | exception error ->
        let trace = Printexc.get_raw_backtrace () in
        User.write event Type.End;
        Printexc.raise_with_backtrace error trace
  end

let name_thread ?name () =
  let name = match name with Some name -> name | None -> "dom " ^ string_of_int (lane ()) in
  announce (cut thread_name_bytes_max name)

let start () =
  if (not (active ())) && can_start () then begin
    Runtime_events.start ();
    announce ""
  end;
  active ()

(* The event is read while minor heaps are emptied, so it must not be in one. *)
let () =
  let event = User.register "rtscope.thread" Thread Type.int in
  Gc.minor ();
  watch event;
  try Domain.before_first_spawn watch_domains
  with Invalid_argument _ -> () (* too late: threads are named as they collect *)
