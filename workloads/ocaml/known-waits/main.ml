(* Domains and threads that wait, each for something that is known and stays as it is: mutexes whose holders do all
   that a holder can do, conditions, ends, the lock of a domain's threads, and what comes from outside. The program
   says itself what is true. The arguments: a seed, from which numbers of threads follow and which of them are domains;
   seconds. *)

let dice = Random.State.make [| int_of_string Sys.argv.(1) |]
let seconds = float_of_string Sys.argv.(2)
let told : Truth.t list ref = ref []
let tell it = told := it :: !told
let up_to most = 1 + Random.State.int dice most

(* The number that a started thread says. *)
let awaited cell =
  while Atomic.get cell = 0 do Unix.sleepf 0.0005 done;
  Atomic.get cell

let saying cell what () =
  Atomic.set cell (Truth.thread ());
  what ()

(* A domain of its own. *)
let in_domain what =
  let cell = Atomic.make 0 in
  let domain = Domain.spawn (saying cell what) in
  (awaited cell, domain)

(* A thread of the first domain's. *)
let in_thread what =
  let cell = Atomic.make 0 in
  let thread = Thread.create (saying cell what) () in
  (awaited cell, thread)

let start what = if Random.State.bool dice then fst (in_domain what) else fst (in_thread what)

let known ?thing ?holder ?callee case kind place who =
  tell { Truth.who; case; kind; place; thing; holder; callee }

(* What a thread can do while others wait for it: name, kind, place, callee, the thing, how. *)
let does () =
  let pipe, socket, listening, child = (Doing.pipe (), Doing.socket (), Doing.listening (), Doing.child ()) in
  ( child,
    [
      ("sleep", "time", "in_sleep", None, Doing.in_sleep);
      ("pipe", "io", "Unix.read", None, fun () -> Doing.in_read pipe);
      ("socket", "io", "Unix.read", None, fun () -> Doing.in_read socket);
      ("select", "io", "in_select", None, fun () -> Doing.in_select pipe);
      ("accept", "io", "in_accept", None, fun () -> Doing.in_accept listening);
      ("child process", "io", "in_child", None, fun () -> Doing.in_child child);
      ("call without the domain", "call", "in_call", Some "known_await_released", Doing.in_call);
    ] )

(* A mutex held by a thread that does this, and some threads that want it. *)
let lock_held ?(begins = start) (name, kind, place, callee, what) =
  let case = "lock, holder: " ^ name in
  let mutex, taken = (Mutex.create (), Atomic.make false) in
  let holder =
    begins (fun () ->
        Mutex.lock mutex;
        Atomic.set taken true;
        what ();
        Mutex.unlock mutex)
  in
  while not (Atomic.get taken) do Unix.sleepf 0.0005 done;
  if kind <> "runs" then known ?callee case kind place holder;
  for _ = 1 to up_to 3 do
    known case "lock" "in_lock" ~thing:case ~holder:(holder, kind) (start (fun () -> Doing.in_lock mutex))
  done

(* A thread that waits for a mutex holds another one; the first one's holder sleeps. *)
let chain () =
  let first, second, taken = (Mutex.create (), Mutex.create (), Atomic.make 0) in
  let take mutex what () =
    Mutex.lock mutex;
    Atomic.incr taken;
    what ();
    Mutex.unlock mutex
  in
  let until count = while Atomic.get taken < count do Unix.sleepf 0.0005 done in
  let sleeper = start (take second Doing.in_sleep) in
  known "chain" "time" "in_sleep" sleeper;
  until 1;
  let middle = start (take first (fun () -> Doing.in_lock second)) in
  known "chain" "lock" "in_lock" ~thing:"chain, second" ~holder:(sleeper, "time") middle;
  until 2;
  for _ = 1 to up_to 3 do
    known "chain" "lock" "in_lock" ~thing:"chain, first" ~holder:(middle, "lock")
      (start (fun () -> Doing.in_lock first))
  done

(* The thread that took this mutex has ended. *)
let dead () =
  let mutex = Mutex.create () in
  let _, thread = in_thread (fun () -> Mutex.lock mutex) in
  Thread.join thread;
  for _ = 1 to up_to 2 do
    known "lock, holder: ended" "lock" "in_lock" ~thing:"dead" (start (fun () -> Doing.in_lock mutex))
  done

let conditions () =
  let mutex, condition = (Mutex.create (), Condition.create ()) in
  for _ = 1 to 1 + up_to 3 do
    known "condition" "condition" "in_condition" ~thing:"condition"
      (start (fun () -> Doing.in_condition mutex condition))
  done

(* The end of a domain that does this. *)
let join case (joined, domain) does =
  for _ = 1 to up_to 2 do
    known case "child" "Domain" ~thing:case ~holder:(joined, does) (start (fun () -> Doing.in_join domain))
  done

(* The ends of domains and of a thread. *)
let joins running =
  let asleep = in_domain Doing.in_sleep in
  known "join" "time" "in_sleep" (fst asleep);
  join "join" asleep "time";
  join "join, domain: running" running "runs";
  let _, thread = in_thread Doing.in_sleep in
  known "join of a thread" "child" "in_thread_join" ~thing:"thread"
    (start (fun () -> Doing.in_thread_join thread))

(* A domain that is held does not answer requests to collect, which the start of another may make: all are held at once, at the end. *)
let keep = Atomic.make false

(* A domain one of whose threads has it in a call, and the others want it. *)
let domain_kept (name, kind, place, callee, what) =
  let case = "domain's lock, holder: " ^ name in
  let others = List.init (up_to 3) (fun _ -> Atomic.make 0) in
  let go = Atomic.make false in
  let holder, _ =
    in_domain (fun () ->
        let want cell = ignore (Thread.create (saying cell Doing.wanting) ()) in
        List.iter want others;
        while List.exists (fun cell -> Atomic.get cell = 0) others do Thread.yield () done;
        Atomic.set go true;
        while not (Atomic.get keep) do Thread.yield () done;
        what ())
  in
  while not (Atomic.get go) do Unix.sleepf 0.0005 done;
  if kind <> "runs" then known ?callee case kind place holder;
  List.iter
    (fun cell ->
      known case "runtime lock" "wanting" ~thing:case ~holder:(holder, kind) (Atomic.get cell))
    others

let alone (name, kind, place, callee, what) =
  for _ = 1 to up_to 2 do known ?callee name kind place (start what) done

let settle () = Unix.sleepf seconds [@@inline never]

let () =
  let child, does = does () in
  List.iter lock_held does;
  let running = ref None in
  let in_own what =
    let domain = in_domain what in
    running := Some domain;
    fst domain
  in
  lock_held ~begins:in_own ("running", "runs", "", None, Doing.running);
  chain ();
  dead ();
  conditions ();
  joins (Option.get !running);
  List.iter alone does;
  let held = "known_await_held" in
  domain_kept ("call", "call", "in_held_call", Some held, Doing.in_held_call);
  domain_kept ("sleep in a call", "time", "in_held_sleep", Some "known_sleep_held", Doing.in_held_sleep);
  if up_to 2 = 1 then domain_kept ("running in a call", "runs", "", None, Doing.in_held_spin);
  known "the first thread" "time" "settle" (Truth.thread ());
  (* What is allocated from here on fits. *)
  Gc.minor ();
  Atomic.set keep true;
  (* Threads of one domain get to where they wait one tick of 50 ms after the other, and later on a busy machine. *)
  Unix.sleepf 1.0;
  List.iter Truth.write !told;
  let from = Truth.now () in
  settle ();
  Truth.write_times from (Truth.now ());
  Unix.kill child Sys.sigkill;
  (* No thread is waited for. *)
  Unix._exit 0
