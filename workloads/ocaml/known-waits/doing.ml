(* What threads do: each function is the place on top of the stack of those that do it. *)

external await_released : unit -> unit = "known_await_released"
external await_held : unit -> unit = "known_await_held"
external spin_held : unit -> unit = "known_spin_held"
external sleep_held : unit -> unit = "known_sleep_held"
external end_calls : unit -> unit = "known_end_calls"

let over = Atomic.make false

let in_sleep () = Unix.sleepf 1000. [@@inline never]

(* The library's own function is on top. *)
let in_read descriptor = ignore (Unix.read descriptor (Bytes.create 1) 0 1) [@@inline never]
let in_select descriptor = ignore (Unix.select [ descriptor ] [] [] 1000.) [@@inline never]
let in_accept socket = ignore (Unix.accept socket) [@@inline never]
let in_child pid = ignore (Unix.waitpid [] pid) [@@inline never]
let in_call () = await_released () [@@inline never]
let in_held_call () = await_held () [@@inline never]
let in_held_sleep () = sleep_held () [@@inline never]
let in_held_spin () = spin_held () [@@inline never]

let in_condition mutex condition =
  Mutex.lock mutex;
  while not (Atomic.get over) do Condition.wait condition mutex done;
  Mutex.unlock mutex
[@@inline never]

let in_lock mutex =
  Mutex.lock mutex;
  Mutex.unlock mutex
[@@inline never]

let in_join domain = Domain.join domain [@@inline never]
let in_thread_join thread = Thread.join thread [@@inline never]

let running () =
  let count = ref 0 in
  while not (Atomic.get over) do count := (!count * 7919 + 1) mod 1000003 done;
  ignore (Sys.opaque_identity !count)
[@@inline never]

(* The domain's lock, which its other threads have to get. *)
let wanting () = while not (Atomic.get over) do Thread.yield () done [@@inline never]

let pipe () = fst (Unix.pipe ())

let socket () = fst (Unix.socketpair Unix.PF_UNIX Unix.SOCK_STREAM 0)

let listening () =
  let socket = Unix.socket Unix.PF_INET Unix.SOCK_STREAM 0 in
  Unix.bind socket (Unix.ADDR_INET (Unix.inet_addr_loopback, 0));
  Unix.listen socket 1;
  socket

(* A child that does nothing until it is killed. *)
let child () = Unix.create_process "sleep" [| "sleep"; "1000" |] Unix.stdin Unix.stdout Unix.stderr
