(* Work of the runtime that is known, with one kind of it and without: all else is the same. The arguments: the kind,
   with or without, how much of it, how many turns. Prints the CPU time of the process within collections (of kinds that
   are no collection's: within the loop that has the runtime work; of faults: in the kernel), in nanoseconds. *)

let cpu = ref 0.

let timed_by clock what =
  let before = clock () in
  what ();
  cpu := !cpu +. (clock () -. before)

let timed = timed_by Sys.time
let timed_in_kernel = timed_by (fun () -> (Unix.times ()).tms_stime)

(* In each turn prepares, then times a collection. *)
let collect turns collection prepare =
  for turn = 1 to turns do
    prepare turn;
    timed collection
  done

let keep value = ignore (Sys.opaque_identity value)

(* Calls itself so deep before it runs what it is given; each frame holds the cell. *)
let rec deep depth cell what =
  if depth = 0 then (what (); !cell)
  else
    let below = deep (depth - 1) cell what in
    below + !cell

(* The first word of each page. *)
let touch_pages bytes =
  let at = ref 0 in
  while !at < Bytes.length bytes do
    Bytes.unsafe_set bytes !at 'x';
    at := !at + 4096
  done

(* Fields that hold pointers to blocks, or numbers; the blocks are alive either way. *)
let marking with_it amount turns =
  let blocks = Array.init (amount / 32) (fun i -> (i, i)) in
  let number = Array.length blocks in
  let field i = if with_it then Obj.repr blocks.(i * 7919 mod number) else Obj.repr i in
  let fields = Array.init amount field in
  timed Gc.full_major;
  collect turns Gc.full_major ignore;
  keep (blocks, fields)

let work kind with_it amount turns =
  match kind with
  | "stacks" ->
      let cell = ref 1 in
      keep (deep (if with_it then amount else 0) cell (fun () -> collect turns Gc.minor ignore))
  | "remembered" ->
      let old = Array.make amount (ref 0) and numbers = Array.make amount 0 in
      timed Gc.full_major;
      collect turns Gc.minor (fun turn ->
          let young = ref turn in
          if with_it then for i = 0 to amount - 1 do old.(i) <- young done
          else for i = 0 to amount - 1 do numbers.(i) <- turn done);
      keep (old, numbers)
  | "marking" -> marking with_it amount turns
  | "ephemerons" ->
      let key = ref 0 in
      let ephemeron _ = Obj.repr (Ephemeron.Kn.make (Array.make 30 key) 0) and bytes _ = Obj.repr (Bytes.create 255) in
      let all = Array.init amount (if with_it then ephemeron else bytes) in
      timed Gc.full_major;
      collect turns Gc.full_major ignore;
      keep (key, all)
  | "finalisers" ->
      let value = ref 0 in
      if with_it then for _ = 1 to amount do Gc.finalise ignore value done;
      timed Gc.full_major;
      collect turns Gc.full_major ignore;
      keep value
  | "custom" ->
      (* Both die with a finaliser of the runtime's; only with it there is memory to free. *)
      let create size = Bigarray.Array1.create Bigarray.char Bigarray.c_layout size in
      let shared = create 4096 in
      let dead = Array.make amount shared in
      collect turns Gc.full_major (fun _ ->
          for i = 0 to amount - 1 do
            dead.(i) <- (if with_it then create 4096 else Bigarray.Array1.sub shared 0 4096)
          done;
          (* What dies old is swept. *)
          Gc.minor ();
          Array.fill dead 0 amount shared)
  | "large" ->
      let dead = Array.make amount Bytes.empty in
      collect turns Gc.full_major (fun _ ->
          if with_it then for i = 0 to amount - 1 do dead.(i) <- Bytes.create 2048 done;
          Array.fill dead 0 amount Bytes.empty)
  | "copy" ->
      let bytes = Bytes.create amount in
      touch_pages bytes;
      for _ = 1 to turns do
        let child = if with_it then Unix.fork () else 0 in
        if with_it && child = 0 then (Unix.sleep 60; Unix._exit 0);
        timed_in_kernel (fun () -> touch_pages bytes);
        if with_it then (Unix.kill child Sys.sigkill; ignore (Unix.waitpid [] child))
      done
  | "touch" ->
      let old = Bytes.create amount in
      touch_pages old;
      let kept = List.init turns (fun _ ->
          let bytes = if with_it then Bytes.create amount else old in
          timed_in_kernel (fun () -> touch_pages bytes);
          bytes) in
      keep kept
  | "retouch" ->
      let old = if with_it then Bytes.empty else Bytes.create amount in
      touch_pages old;
      for _ = 1 to turns do
        let bytes = if with_it then Bytes.create amount else old in
        timed_in_kernel (fun () -> touch_pages bytes);
        keep bytes;
        Gc.full_major ()
      done
  | "marshalling" ->
      let list = List.init amount (fun i -> (i, float_of_int i)) and buffer = Bytes.create (40 * amount) in
      for _ = 1 to turns do
        timed (fun () -> if with_it then keep (Marshal.to_buffer buffer 0 (Bytes.length buffer) list []))
      done
  | _ -> failwith ("no work " ^ kind)

let () =
  work Sys.argv.(1) (Sys.argv.(2) = "with") (int_of_string Sys.argv.(3)) (int_of_string Sys.argv.(4));
  Printf.printf "%.0f\n" (!cpu *. 1e9)
