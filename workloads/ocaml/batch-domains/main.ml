(* main DOMAINS PARTS: a batch of so many parts, shared out among so many domains, of which
   the main one is one. Each part makes short-lived values and updates a small map. Prints a
   sum that is the same however many domains there are. *)

module Numbers = Map.Make (Int)

let part number =
  let rec go n known =
    if n = 0 then Numbers.fold (fun key value sum -> ((sum * 31) + (key * value)) land 0xffffff) known 0
    else
      let key = (n * 7919 * (number + 1)) land 63 in
      let add = function
        | None -> Some n
        | Some old -> Some (old lxor n)
      in
      go (n - 1) (Numbers.update key add known)
  in
  go 4000 Numbers.empty

let () =
  let parts = Crew.number 2 4000 in
  let taken = Atomic.make 0 in
  let rec work sum _ =
    let number = Atomic.fetch_and_add taken 1 in
    if number >= parts then sum else work (sum + part number) 0
  in
  Printf.printf "sum %d\n" (Crew.run Crew.Main (Crew.number 1 2) (work 0))
