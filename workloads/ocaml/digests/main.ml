(* digests KIB MILLIONS: the main domain makes so many million short-lived references while
   another one computes checksums of so many KiB at a time, each by one call of the standard
   library's C code. *)

let () =
  let bytes = Bytes.make (1024 * Crew.number 1 65536) 'x' in
  let millions = Crew.number 2 2 in
  let over = Atomic.make false in
  let caller () =
    let calls = ref 0 in
    while not (Atomic.get over) do
      ignore (Sys.opaque_identity (Digest.bytes bytes));
      incr calls
    done;
    !calls
  in
  let beside = Domain.spawn caller in
  for _ = 1 to millions do
    for _ = 1 to 1_000_000 do
      ignore (Sys.opaque_identity (ref ()))
    done
  done;
  Atomic.set over true;
  Printf.printf "solves %d, calls %d\n" millions (Domain.join beside)
