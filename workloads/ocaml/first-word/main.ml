let () =
  let gc = Gc.get () in
  Printf.printf "%d\n%d\n%d\n" (Domain.recommended_domain_count ()) gc.Gc.minor_heap_size gc.Gc.space_overhead
