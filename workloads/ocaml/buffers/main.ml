(* Pages of numbers outside the heap, and a heap of small values. The arguments: how, kilobytes of a page, values that
   live, seconds.
   fresh: each piece of work gets a page of its own; pooled: all use one. *)

open Bigarray

type page = (char, int8_unsigned_elt, c_layout) Array1.t

let page kilobytes : page = Array1.create char c_layout (kilobytes * 1024)

let work (page : page) n =
  let last = Array1.dim page - 1 in
  let sum = ref 0 in
  for i = 0 to 500 do
    let at = (i * 7919 + n) mod last in
    Array1.set page at (Char.chr (i land 255));
    sum := !sum + Char.code (Array1.get page ((at * 31) mod last))
  done;
  !sum

let () =
  match Sys.argv with
  | [| _; how; kilobytes; values; seconds |] ->
    let kilobytes = int_of_string kilobytes in
    let alive = Array.init (int_of_string values) (fun n -> [ n; n + 1 ]) in
    let pooled = page kilobytes in
    let until = Unix.gettimeofday () +. float_of_string seconds in
    let turns = ref 0 and sum = ref 0 in
    while Unix.gettimeofday () < until do
      let page = if how = "pooled" then pooled else page kilobytes in
      sum := (!sum + work page !turns) land 0xffffff;
      incr turns
    done;
    Printf.printf "%d %d %d\n" !turns !sum (List.length alive.(!turns mod Array.length alive))
  | _ -> prerr_endline "main fresh|pooled KILOBYTES VALUES SECONDS"; exit 2
