(* Domains and threads that work under one lock, or wait for work. The arguments: how, how many, seconds.
   compute: all do most of their work under one mutex; striped: each has a mutex of its own;
   pool: they wait for short jobs, one each 10 ms; threads: threads of one domain compute; domains: domains do;
   rounds: two domains work in rounds, of which the first gets so many hundredths;
   shares: the main domain works on so many hundredths of some pieces, once, and another on the rest. *)

let spin steps =
  let value = ref 1 in
  for left = 1 to steps do
    value := ((!value * 7919) + left) mod 1000003
  done;
  ignore (Sys.opaque_identity !value)

let rec until deadline work =
  if Unix.gettimeofday () < deadline then begin
    work ();
    until deadline work
  end

let in_domains count work =
  let domains = List.init count (fun number -> Domain.spawn (fun () -> work number)) in
  List.iter Domain.join domains

let in_threads count work =
  let threads = List.init count (fun number -> Thread.create work number) in
  List.iter Thread.join threads

let under mutex number =
  spin 20_000;
  Mutex.lock mutex;
  spin (1_000_000 + number);
  Mutex.unlock mutex

(* Jobs are numbers of steps; 0 ends a worker. *)
let pool count deadline =
  let jobs = Queue.create () and mutex = Mutex.create () and there = Condition.create () in
  let put job = Mutex.protect mutex (fun () -> Queue.push job jobs; Condition.signal there) in
  let rec take () = if Queue.is_empty jobs then (Condition.wait there mutex; take ()) else Queue.pop jobs in
  let rec worker () =
    match Mutex.protect mutex take with
    | 0 -> ()
    | steps -> spin steps; worker ()
  in
  let domains = List.init count (fun _ -> Domain.spawn worker) in
  until deadline (fun () -> put 300_000; Unix.sleepf 0.01);
  List.iter (fun _ -> put 0) domains;
  List.iter Domain.join domains

(* A round is over when both are done. *)
let rounds first deadline =
  let mutex = Mutex.create () and over = Condition.create () in
  let done_ = ref 0 and round = ref 0 and go_on = ref true in
  let meet () =
    Mutex.protect mutex (fun () ->
        let own = !round in
        incr done_;
        if !done_ = 2 then begin
          done_ := 0;
          incr round;
          go_on := Unix.gettimeofday () < deadline;
          Condition.broadcast over
        end
        else while !round = own do Condition.wait over mutex done)
  in
  in_domains 2 (fun number ->
      let pieces = if number = 0 then first else 100 - first in
      while !go_on do
        for _ = 1 to pieces do spin 100_000 done;
        meet ()
      done)

let shares first pieces =
  let work hundredths = for _ = 1 to pieces * hundredths / 100 do spin 100_000 done in
  let other = Domain.spawn (fun () -> work (100 - first)) in
  work first;
  Domain.join other

let () =
  let how = Sys.argv.(1) and count = int_of_string Sys.argv.(2) in
  let deadline = Unix.gettimeofday () +. float_of_string Sys.argv.(3) in
  let compute number = until deadline (fun () -> spin (1_000_000 + number)) in
  match how with
  | "compute" ->
    let mutex = Mutex.create () in
    in_domains count (fun number -> until deadline (fun () -> under mutex number))
  | "striped" ->
    in_domains count (fun number -> let mutex = Mutex.create () in until deadline (fun () -> under mutex number))
  | "pool" -> pool count deadline
  | "rounds" -> rounds count deadline
  | "shares" -> shares count (int_of_string Sys.argv.(3))
  | "threads" -> in_threads count compute
  | "domains" -> in_domains count compute
  | _ -> failwith how
