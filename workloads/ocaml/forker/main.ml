(* forker WAY MIB STARTS: a program whose heap has so many MiB starts another program so
   many times, with 50 ms of work in between, each time with
   - [library]: fork and execute from C code, as process libraries do;
   - [spawn]: [Unix.create_process], which copies no page tables;
   - [fork]: [Unix.fork], which the runtime permits only without other domains;
   - [spawn-alone]: as [spawn], without another domain.
   With [library] and [spawn] a second domain makes short-lived references all the while, as
   fast as it can. The first one works, too: one that slept would be woken for each
   collection, which is another fault than this one. *)

external fork_and_execute : unit -> int = "fork_and_execute"

let block = 1 lsl 16

let start = function
  | "library" -> fork_and_execute
  | "spawn" | "spawn-alone" -> fun () -> Unix.create_process "/bin/true" [| "true" |] Unix.stdin Unix.stdout Unix.stderr
  | "fork" -> fun () -> (match Unix.fork () with 0 -> Unix._exit 0 | child -> child)
  | other -> failwith (other ^ " is no way to start a program")

let work seconds =
  let until = Unix.gettimeofday () +. seconds in
  while Unix.gettimeofday () < until do
    for _ = 1 to 10_000 do
      ignore (Sys.opaque_identity (ref ()))
    done
  done

let starts start times =
  let slowest = ref 0. and all = ref 0. in
  for _ = 1 to times do
    let before = Unix.gettimeofday () in
    let child = start () in
    let took = Unix.gettimeofday () -. before in
    slowest := Float.max !slowest took;
    all := !all +. took;
    ignore (Unix.waitpid [] child);
    work 0.05
  done;
  Printf.printf "starts %d, %.1f ms in all, slowest %.1f ms\n" times (!all *. 1e3) (!slowest *. 1e3)

let () =
  let way = Crew.argument 1 "library" in
  let mib = Crew.number 2 1024 and times = Crew.number 3 30 in
  let heap = Array.init (mib * 16) (fun _ -> Bytes.make block 'x') in
  let over = Atomic.make false in
  let allocate () =
    let millions = ref 0 and longest = ref 0. in
    let before = ref (Unix.gettimeofday ()) in
    while not (Atomic.get over) do
      for _ = 1 to 100_000 do
        ignore (Sys.opaque_identity (ref ()))
      done;
      let now = Unix.gettimeofday () in
      longest := Float.max !longest (now -. !before);
      before := now;
      incr millions
    done;
    Printf.printf "allocated %d, longest %.1f ms\n" (!millions / 10) (!longest *. 1e3)
  in
  let beside = if way = "fork" || way = "spawn-alone" then None else Some (Domain.spawn allocate) in
  starts (start way) times;
  Atomic.set over true;
  Option.iter Domain.join beside;
  Printf.printf "solves %d\n" (Array.length (Sys.opaque_identity heap))
