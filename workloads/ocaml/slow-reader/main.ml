(* Makes lines and writes them to another process. The arguments: milliseconds that the other one rests after each piece that
   it reads (0: it reads as fast as it can), seconds. *)

module Table = Map.Make (Int)

let line n =
  let table = List.fold_left (fun table key -> Table.add (key * 7919 mod 1009) key table) Table.empty (List.init 300 Fun.id) in
  let text = Buffer.create 2000 in
  Table.iter (fun _ value -> Buffer.add_string text (string_of_int (value + n))) table;
  Buffer.contents text

let () =
  match Sys.argv with
  | [| _; rest; seconds |] ->
    let reads, writes = Unix.pipe ~cloexec:true () in
    let script =
      if int_of_string rest = 0 then "exec cat >/dev/null" else
      Printf.sprintf "while [ \"$(dd bs=16k count=1 2>&1 >/dev/null | head -c 1)\" != 0 ]; do sleep 0.%03d; done" (int_of_string rest)
    in
    let other = Unix.create_process "sh" [| "sh"; "-c"; script |] reads Unix.stdout Unix.stderr in
    Unix.close reads;
    let out = Unix.out_channel_of_descr writes in
    let until = Unix.gettimeofday () +. float_of_string seconds in
    let lines = ref 0 in
    while Unix.gettimeofday () < until do
      output_string out (line !lines);
      incr lines
    done;
    close_out out;
    ignore (Unix.waitpid [] other);
    print_int !lines
  | _ -> prerr_endline "main MILLISECONDS SECONDS"; exit 2
