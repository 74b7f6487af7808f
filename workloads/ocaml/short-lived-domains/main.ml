(* Short pieces of work, two at a time. The arguments: each in a domain of its own (apart) or in two that take pieces from a
   counter (pool); steps of a piece; pieces. *)

let piece steps =
  let value = ref 1 and kept = ref [] in
  for left = 1 to steps do
    value := ((!value * 7919) + left) mod 1000003;
    if left land 1023 = 0 then kept := !value :: !kept
  done;
  ignore (Sys.opaque_identity !kept)

let apart steps pieces =
  for _ = 1 to pieces / 2 do
    let both = List.init 2 (fun _ -> Domain.spawn (fun () -> piece steps)) in
    List.iter Domain.join both
  done

let pool steps pieces =
  let next = Atomic.make 0 in
  let rec worker () = if Atomic.fetch_and_add next 1 < pieces then (piece steps; worker ()) in
  let other = Domain.spawn worker in
  worker ();
  Domain.join other

let () =
  let number at = int_of_string Sys.argv.(at) in
  (match Sys.argv.(1) with "apart" -> apart | _ -> pool) (number 2) (number 3)
