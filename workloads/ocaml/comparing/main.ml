(* Work that is done through the runtime, or without it. The arguments: how, seconds.
   any: sorts records by the comparison of any type; typed: by one of their own type;
   look-up: looks up keys that differ in their last part only, with the hash of any type; look-up-whole: with a hash
   of all parts; spin: one domain waits for the other in a loop. *)

type order = { day : int; amount : int; number : int }

let by_fields a b =
  match Int.compare a.day b.day with
  | 0 -> (match Int.compare a.amount b.amount with 0 -> Int.compare a.number b.number | other -> other)
  | other -> other

(* Many are equal in their first two fields. *)
let orders = List.init 1_000 (fun at -> { day = at * 7919 mod 50; amount = at * 31 mod 7; number = at })

let rec until deadline work turn =
  if Unix.gettimeofday () < deadline then begin
    work turn;
    until deadline work (turn + 1)
  end

let sorted compare _ = ignore (Sys.opaque_identity (List.sort compare orders))

(* The hash of any type does not see the last number. *)
let versions = Array.init 1_000 (fun at -> List.init 11 Fun.id @ [ at ])

module Whole = Hashtbl.Make (struct
  type t = int list

  let equal = List.equal Int.equal
  let hash = List.fold_left (fun sum number -> (sum * 31) + number) 0
end)

let looked_up find turn =
  for at = turn to turn + 100 do
    ignore (Sys.opaque_identity (find versions.(at * 7919 mod Array.length versions)))
  done

let steps count =
  let value = ref 1 in
  for left = 1 to count do
    value := ((!value * 7919) + left) mod 1000003
  done;
  ignore (Sys.opaque_identity !value)

(* The second domain has a tenth of the work, and waits for its turn for the rest. *)
let in_turn deadline =
  let turn = Atomic.make 0 in
  let side own count () =
    until deadline
      (fun _ ->
        while Atomic.get turn <> own && Unix.gettimeofday () < deadline do
          for _ = 1 to 1000 do if Atomic.get turn <> own then Domain.cpu_relax () done
        done;
        steps count;
        Atomic.set turn (1 - own))
      0
  in
  let other = Domain.spawn (side 1 200_000) in
  side 0 2_000_000 ();
  Domain.join other

let () =
  let deadline = Unix.gettimeofday () +. float_of_string Sys.argv.(2) in
  match Sys.argv.(1) with
  | "any" -> until deadline (sorted compare) 0
  | "typed" -> until deadline (sorted by_fields) 0
  | "look-up" ->
    let all = Hashtbl.create 1_000 in
    Array.iteri (fun at version -> Hashtbl.replace all version at) versions;
    until deadline (looked_up (Hashtbl.find all)) 0
  | "look-up-whole" ->
    let all = Whole.create 1_000 in
    Array.iteri (fun at version -> Whole.replace all version at) versions;
    until deadline (looked_up (Whole.find all)) 0
  | "spin" -> in_turn deadline
  | how -> failwith how
