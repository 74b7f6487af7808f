(* Which kernel thread serves which domain, as the program itself knows it: the truth to
   compare a recording with. Domains allocate at different rates and block in different
   ways, so that backup threads serve some of their collections.

   domain_map [DOMAINS [MILLISECONDS]] prints a line for each domain, the first one
   included, when all have ended: index of its ring, its thread, its backup thread (- where
   that had served no collection when domains were asked to end, or threads go unnamed), how
   it spent its time. *)

let ways = [| "allocates"; "waits"; "sleeps"; "locks"; "allocates-little" |]

let mutex = Mutex.create ()
let changed = Condition.create ()
let ending = Atomic.make false
let ready = Atomic.make 0

let allocate times =
  for _ = 1 to times do
    ignore (Sys.opaque_identity (ref ()))
  done

(* A backup thread gives itself its name, so the name is true. *)
let backup lane =
  let name = Printf.sprintf "dom %d backup" lane in
  let is_it thread =
    In_channel.with_open_bin ("/proc/self/task/" ^ thread ^ "/comm") (fun file -> In_channel.input_line file = Some name)
  in
  Option.value (List.find_opt is_it (Array.to_list (Sys.readdir "/proc/self/task"))) ~default:"-"

let under_mutex work = Mutex.protect mutex work

(* One round of a way; each comes back soon, to see whether to end. *)
let round = function
  | "waits" -> under_mutex (fun () -> if not (Atomic.get ending) then Condition.wait changed mutex)
  | "sleeps" -> Thread.delay 0.003
  | "locks" ->
      under_mutex (fun () -> allocate 20_000);
      Domain.cpu_relax ()
  | "allocates-little" ->
      allocate 1_000;
      Thread.delay 0.0005
  | _ -> allocate 200_000

let serve way =
  Atomic.incr ready;
  while not (Atomic.get ending) do
    round way
  done;
  (Rtscope_events.lane (), Rtscope_events.thread_id (), way)

let () =
  let given at default = if Array.length Sys.argv > at then int_of_string Sys.argv.(at) else default in
  let domains = given 1 5 and milliseconds = given 2 300 in
  let main = (Rtscope_events.lane (), Rtscope_events.thread_id (), "main") in
  let spawned = List.init domains (fun at -> Domain.spawn (fun () -> serve ways.(at mod Array.length ways))) in
  while Atomic.get ready < domains do
    Thread.delay 0.001
  done;
  Thread.delay (float_of_int milliseconds /. 1000.);
  let backups = Array.init (domains + 1) backup in
  under_mutex (fun () ->
      Atomic.set ending true;
      Condition.broadcast changed);
  let served = List.map Domain.join spawned in
  List.iter
    (fun (lane, thread, way) -> Printf.printf "%d %d %s %s\n" lane thread backups.(lane) way)
    (main :: served)