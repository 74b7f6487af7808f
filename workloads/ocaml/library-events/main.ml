(* What tests of the library of events do with it, by the name of the deed. Each prints
   what it knows to be true, as JSON. *)

module R = Rtscope_events

let thread_name thread =
  In_channel.with_open_bin (Printf.sprintf "/proc/self/task/%d/comm" thread) (fun file ->
      Option.get (In_channel.input_line file))

let all_names () =
  let threads = List.map int_of_string (Array.to_list (Sys.readdir "/proc/self/task")) in
  List.map (fun thread -> (thread, thread_name thread)) (List.sort compare threads)

let names_json () =
  String.concat "," (List.map (fun (thread, name) -> Printf.sprintf "\"%d\":\"%s\"" thread name) (all_names ()))

let place () = (R.lane (), R.thread_id ())
let place_json (lane, thread) = Printf.sprintf "[%d,%d]" lane thread

(* A domain that blocks until it is let go. *)
let mutex = Mutex.create ()
let changed = Condition.create ()
let free = ref false

let blocked ?name () =
  Option.iter (fun name -> R.name_thread ~name ()) name;
  let place = place () in
  Mutex.protect mutex (fun () ->
      while not !free do
        Condition.wait changed mutex
      done);
  place

let release () =
  Mutex.protect mutex (fun () ->
      free := true;
      Condition.broadcast changed)

let rec collect_until ?(tries = 20_000) holds =
  if tries > 0 && not (holds ()) then begin
    Gc.minor ();
    collect_until ~tries:(tries - 1) holds
  end

let some_named wanted = List.exists (fun (_, name) -> name = wanted) (all_names ())

(* The main domain collects, the third one asks for it while the main one waits. *)
let names () =
  let first = Domain.spawn (fun () -> blocked ~name:"a long name, ends in \xc3\xa9 or not" ()) in
  let second = Domain.spawn (fun () -> blocked ~name:"fourteen char\xc3\xa9\xc3\xa9" ()) in
  collect_until (fun () -> some_named "dom 1 backup" && some_named "dom 2 backup");
  let third = Domain.spawn (fun () -> collect_until (fun () -> some_named "dom 0 backup"); names_json ()) in
  let names = Domain.join third in
  release ();
  let places = List.map Domain.join [ first; second ] in
  Printf.printf "{\"names\":{%s},\"main\":%d,\"places\":[%s]}" names (R.thread_id ()) (String.concat "," (List.map place_json places))

let turns () =
  let turn _ = place_json (Domain.join (Domain.spawn place)) in
  Printf.printf "{\"main\":%s,\"places\":[%s]}" (place_json (place ())) (String.concat "," (List.init 60 turn))

let spans () =
  let sum = R.span "outer" (fun () -> R.mark "in"; R.span "inner" (fun () -> R.value "depth" (-3); 40) + 2) in
  let deep () = R.span "outer" (fun () -> R.span "inner" (fun () -> if sum > 0 then raise Exit)) in
  let raised = try deep (); false with Exit -> R.mark "caught"; true in
  R.mark (String.make 126 'x' ^ "\xc3\xa9");
  R.mark (String.make 125 'y' ^ "\xc3\xa9");
  Printf.printf "{\"sum\":%d,\"raised\":%b}" sum raised

(* The ring comes when domains run already. *)
let late () =
  let sleeping = Domain.spawn (fun () -> blocked ()) in
  let done_ = Atomic.make false in
  let busy = Domain.spawn (fun () ->
      while not (Atomic.get done_) do ignore (Sys.opaque_identity (ref ())) done;
      place ()) in
  collect_until (fun () -> some_named "dom 1 backup");
  let started = R.start () in
  let again = R.start () in
  for _ = 1 to 3 do Gc.minor () done;
  let names = names_json () in
  Atomic.set done_ true;
  release ();
  let places = List.map Domain.join [ sleeping; busy ] in
  Printf.printf "{\"started\":[%b,%b],\"main\":%s,\"places\":[%s],\"names\":{%s}}" started again (place_json (place ()))
    (String.concat "," (List.map place_json places)) names

let start () =
  let started = R.start () in
  Printf.printf "{\"started\":%b}" started

let paused () =
  R.mark "before";
  Runtime_events.pause ();
  let on = R.start () in
  R.span "unseen" (fun () -> R.mark "unseen"; Runtime_events.resume ());
  R.mark "after";
  Printf.printf "{\"on\":%b}" on

let many () =
  for i = 1 to 2100 do R.mark (string_of_int i) done;
  print_string "{}"

(* Threads of the threads library serve their domain too, by turns. *)
let threads () =
  let helper () = R.name_thread ~name:"helper" (); let place = place () in (place, thread_name (snd place)) in
  let result = ref None in
  Thread.join (Thread.create (fun () -> result := Some (helper ())) ());
  let place', name = Option.get !result in
  let domain, domain_name = Domain.join (Domain.spawn (fun () -> (place (), thread_name (R.thread_id ())))) in
  Printf.printf "{\"helper\":%s,\"name\":%S,\"domain\":%s,\"domain_name\":%S}" (place_json place') name
    (place_json domain) domain_name

let fork () =
  match Unix.fork () with
  | 0 ->
      Gc.minor ();
      R.mark "child"
  | child ->
      ignore (Unix.waitpid [] child);
      R.mark "parent";
      Printf.printf "{\"child\":%d,\"main\":%s}" child (place_json (place ()))

let () =
  match Sys.argv.(1) with
  | "names" -> names ()
  | "turns" -> turns ()
  | "spans" -> spans ()
  | "late" -> late ()
  | "start" -> start ()
  | "paused" -> paused ()
  | "many" -> many ()
  | "threads" -> threads ()
  | "fork" -> fork ()
  | other -> failwith other
