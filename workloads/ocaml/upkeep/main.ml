(* What a program keeps alive, and how. The arguments: a way, and how much of it.
   deep, shallow: reads so many thousand lines, on a stack that grows with them or not;
   boxed, flat: changes so many thousand old records, each by a new block or in place;
   snapshot, journal: writes to so many MiB, while a child has a copy of them or not. *)

let keep value = ignore (Sys.opaque_identity value)
let fields line = String.split_on_char ';' (Printf.sprintf "%d;%d;%d;name" line (line * 7) (line land 255))

let rec deep left = if left = 0 then 0 else List.length (fields left) + deep (left - 1)
let rec shallow sum left = if left = 0 then sum else shallow (sum + List.length (fields left)) (left - 1)

type boxed = { mutable last : int * int }
type flat = { mutable price : float; mutable volume : float }

(* In no order, as events come. *)
let changes count what =
  let at = ref 1 in
  for change = 1 to 12_000_000 do
    at := ((!at * 1103515245) + 12345) land 0x3fffffff;
    what (!at mod count) change
  done

let boxed count =
  let all = Array.init count (fun number -> { last = (number, 0) }) in
  changes count (fun at change -> all.(at).last <- (at, change));
  keep all

let flat count =
  let all = Array.init count (fun number -> { price = float number; volume = 0. }) in
  let change at change = all.(at).price <- float at; all.(at).volume <- float change in
  changes count change;
  keep all

let touch memory =
  let at = ref 0 in
  while !at < Bytes.length memory do
    Bytes.unsafe_set memory !at 'x';
    at := !at + 4096
  done

let batches with_child mib =
  let memory = Bytes.make (mib lsl 20) 'a' in
  for _ = 1 to 6000 / mib do
    let child = if with_child then Unix.fork () else 1 in
    if child = 0 then (Unix.sleepf 10.; Unix._exit 0);
    touch memory;
    if with_child then (Unix.kill child Sys.sigkill; ignore (Unix.waitpid [] child))
  done;
  keep memory

let () =
  let much = int_of_string Sys.argv.(2) in
  match Sys.argv.(1) with
  | "deep" -> keep (deep (much * 1000))
  | "shallow" -> keep (shallow 0 (much * 1000))
  | "boxed" -> boxed (much * 1000)
  | "flat" -> flat (much * 1000)
  | "snapshot" -> batches true much
  | _ -> batches false much
