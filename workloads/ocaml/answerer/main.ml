(* answerer MIB EVERY SECONDS: an HTTP server of one domain with so many MiB of small live
   values. Every so many milliseconds it collects the whole heap ([Gc.full_major]): clients
   that ask meanwhile wait. It prints "port N" first, answers all requests for so many seconds,
   and prints how many it answered and how many collections that were. *)

let answer = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine"
let chunk = Bytes.create 4096

(* Requests have no body: each ends with an empty line. *)
let rec ends text from count =
  match String.index_from_opt text from '\r' with
  | Some at when at + 4 <= String.length text ->
    if String.sub text at 4 = "\r\n\r\n" then ends text (at + 4) (count + 1) else ends text (at + 1) count
  | _ -> count

(* How many were asked by what [client] sent; [None] when it has gone. Clients of loads
   send a request with one write, so none is cut. *)
let asked client =
  match Unix.read client chunk 0 (Bytes.length chunk) with
  | 0 -> None
  | read -> Some (ends (Bytes.sub_string chunk 0 read) 0 0)
  | exception Unix.Unix_error _ -> None

let say client =
  match Unix.write_substring client answer 0 (String.length answer) with
  | written -> written = String.length answer
  | exception Unix.Unix_error _ -> false

let () =
  let mib = Crew.number 1 0 and every = float (Crew.number 2 500) /. 1000. in
  let seconds = float (Crew.number 3 5) in
  Sys.set_signal Sys.sigpipe Sys.Signal_ignore;
  (* A list cell has 24 bytes with its header. *)
  let live = List.init (mib * 1024 * 1024 / 24) Fun.id in
  let listener = Unix.socket PF_INET SOCK_STREAM 0 in
  Unix.bind listener (ADDR_INET (Unix.inet_addr_loopback, 0));
  Unix.listen listener 512;
  (match Unix.getsockname listener with
   | ADDR_INET (_, port) -> Printf.printf "port %d\n%!" port
   | ADDR_UNIX _ -> failwith "no port");
  let began = Unix.gettimeofday () in
  let answers = ref 0 and collections = ref 0 and clients = ref [] in
  let serve client =
    let count = if client = listener then None else asked client in
    match count with
    | _ when client = listener -> clients := fst (Unix.accept listener) :: !clients
    | Some count when List.for_all Fun.id (List.init count (fun _ -> say client)) -> answers := !answers + count
    | _ ->
      clients := List.filter (( <> ) client) !clients;
      Unix.close client
  in
  let rec loop due =
    let now = Unix.gettimeofday () -. began in
    if now < seconds then begin
      if now >= due then begin
        Gc.full_major ();
        incr collections;
        loop (due +. every)
      end
      else begin
        let ready, _, _ = Unix.select (listener :: !clients) [] [] (Float.min due seconds -. now) in
        List.iter serve ready;
        loop due
      end
    end
  in
  loop every;
  Printf.printf "answered %d, collected %d, live %d\n" !answers !collections (List.length (Sys.opaque_identity live))
