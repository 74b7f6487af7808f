external busy : int -> int = "busy_stub"
let[@inline never] rec spin sum n = if n = 0 then sum else spin (sum * 31 + n) (n - 1)
let held = ref []
let () =
  for i = 1 to 30 do
    if spin i (20_000_000 + i) = 0 then print_string "never";
    ignore (Sys.opaque_identity (busy 20));
    held := List.init 100_000 (fun n -> string_of_int (n * i));
    Gc.full_major ()
  done
