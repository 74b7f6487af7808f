let words () = (Gc.get ()).minor_heap_size
let () =
  let other = try Domain.join (Domain.spawn words) with Failure _ -> 0 in
  let variable name = Option.value (Sys.getenv_opt name) ~default:"" in
  Printf.printf "{\"main\":%d,\"other\":%d,\"o\":%d,\"recommended\":%d,\"environment\":\"%s%s\"}\n" (words ()) other
    (Gc.get ()).space_overhead (Domain.recommended_domain_count ()) (variable "OCAMLRUNPARAM") (variable "CAMLRUNPARAM")
