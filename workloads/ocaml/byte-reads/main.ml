(* Counts the lines of what a child process writes, and checks its bytes. The arguments: how, megabytes.
   each: every byte is a call of its own; channel: 64 KiB are read at a time. *)

let lines = ref 0
let sum = ref 0

let take char =
  if char = '\n' then incr lines;
  sum := ((!sum * 31) + Char.code char) land 0xffffff

let each from =
  let byte = Bytes.create 1 in
  while Unix.read from byte 0 1 = 1 do
    take (Bytes.get byte 0)
  done

let channel from =
  let from = Unix.in_channel_of_descr from in
  try
    while true do
      take (input_char from)
    done
  with End_of_file -> ()

let rec write_all upon data from =
  if from < Bytes.length data then
    write_all upon data (from + Unix.write upon data from (Bytes.length data - from))

let write megabytes upon =
  let data = Bytes.init 1_000_000 (fun at -> if at mod 40 = 39 then '\n' else 'x') in
  for part = 1 to int_of_float (megabytes *. 10.) do
    ignore part;
    write_all upon (Bytes.sub data 0 100_000) 0
  done

let () =
  let megabytes = float_of_string Sys.argv.(2) in
  let from, upon = Unix.pipe () in
  match Unix.fork () with
  | 0 ->
    Unix.close from;
    write megabytes upon;
    Unix._exit 0
  | child ->
    Unix.close upon;
    (match Sys.argv.(1) with "each" -> each from | _ -> channel from);
    ignore (Unix.waitpid [] child);
    Printf.printf "%d lines, %d\n" !lines !sum
