(* Domains and threads that wait, each for something that is known, for so many seconds: the argument. *)

let seconds = float_of_string Sys.argv.(1)
let until = Unix.gettimeofday () +. seconds
let lock = Mutex.create ()
let other = Mutex.create ()
let condition = Condition.create ()

(* In a call that gives the domain up. *)
let hold_lock () = Mutex.lock lock; Unix.sleepf (seconds +. 0.3); Mutex.unlock lock
[@@inline never]

let take_lock () = Mutex.lock lock; Mutex.unlock lock
[@@inline never]

let await_signal () =
  Mutex.lock other;
  while Unix.gettimeofday () < until do Condition.wait condition other done;
  Mutex.unlock other
[@@inline never]

let nap () = Unix.sleepf seconds
[@@inline never]

let read_pipe descriptor = ignore (Unix.read descriptor (Bytes.create 1) 0 1)
[@@inline never]

let accept_one socket = ignore (Unix.accept socket)
[@@inline never]

let join_domain domain = Domain.join domain
[@@inline never]

let listening () =
  let socket = Unix.socket Unix.PF_INET Unix.SOCK_STREAM 0 in
  Unix.bind socket (Unix.ADDR_INET (Unix.inet_addr_loopback, 0));
  Unix.listen socket 1;
  socket

let () =
  let reader, writer = Unix.pipe () in
  let socket = listening () in
  let holder = Domain.spawn hold_lock in
  Unix.sleepf 0.05;
  let others =
    List.map Domain.spawn
      [ take_lock; await_signal; nap; (fun () -> read_pipe reader); (fun () -> accept_one socket);
        (fun () -> join_domain holder) ]
  in
  Unix.sleepf (seconds +. 0.1);
  ignore (Unix.write writer (Bytes.create 1) 0 1);
  let client = Unix.socket Unix.PF_INET Unix.SOCK_STREAM 0 in
  Unix.connect client (Unix.getsockname socket);
  Condition.broadcast condition;
  List.iter Domain.join others
