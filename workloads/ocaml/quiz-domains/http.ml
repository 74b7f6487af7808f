type answer = { body : string; after : float }

(* A connection belongs to the domain that took it out of [server.idle] or [server.later]. *)
type connection = { socket : Unix.file_descr; mutable pending : string }

type server = {
  listener : Unix.file_descr;
  wake_read : Unix.file_descr;  (* something changed: waiting threads must check again *)
  wake_write : Unix.file_descr;
  turn : Mutex.t;  (* held by the one domain that waits *)
  state : Mutex.t;  (* guards what follows *)
  mutable idle : connection list;
  mutable later : (float * connection * string) list;
  ended : bool Atomic.t;
}

type event =
  | Readable of connection
  | Due of connection * string
  | End

let locked mutex f = Mutex.lock mutex; Fun.protect ~finally:(fun () -> Mutex.unlock mutex) f

(* A full pipe wakes as well as one more byte would. *)
let wake server =
  try ignore (Unix.single_write_substring server.wake_write "x" 0 1)
  with Unix.Unix_error ((EAGAIN | EWOULDBLOCK), _, _) -> ()

let close connection = try Unix.close connection.socket with Unix.Unix_error _ -> ()
let keep server connection =
  locked server.state (fun () -> server.idle <- connection :: server.idle);
  wake server

let rec send socket text from =
  if from < String.length text then
    match Unix.write_substring socket text from (String.length text - from) with
    | sent -> send socket text (from + sent)
    | exception Unix.Unix_error ((EAGAIN | EWOULDBLOCK), _, _) ->
      ignore (Unix.select [] [ socket ] [] (-1.));
      send socket text from
    | exception Unix.Unix_error (EINTR, _, _) -> send socket text from

let head status length =
  Printf.sprintf "HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" status length

let respond server connection status body =
  match send connection.socket (head status (String.length body) ^ body) 0 with
  | () -> keep server connection
  | exception Unix.Unix_error _ -> close connection

(* Where the head of a request ends, if all of it is there. *)
let rec head_end text from =
  match String.index_from_opt text from '\r' with
  | Some at when at + 3 < String.length text ->
    if String.sub text at 4 = "\r\n\r\n" then Some (at + 4) else head_end text (at + 1)
  | _ -> None

let accept server =
  match Unix.accept ~cloexec:true server.listener with
  | socket, _ ->
    Unix.set_nonblock socket;
    Unix.setsockopt socket TCP_NODELAY true;
    locked server.state (fun () -> server.idle <- { socket; pending = "" } :: server.idle)
  | exception Unix.Unix_error ((EAGAIN | EWOULDBLOCK | ECONNABORTED | EINTR | EMFILE), _, _) -> ()

let drain server =
  let bytes = Bytes.create 256 in
  try ignore (Unix.read server.wake_read bytes 0 256) with Unix.Unix_error _ -> ()

let take_due server now =
  locked server.state (fun () ->
      match List.partition (fun (at, _, _) -> at <= now) server.later with
      | (_, connection, body) :: others, rest ->
        server.later <- others @ rest;
        Some (Due (connection, body))
      | [], _ -> None)

let take_readable server sockets =
  locked server.state (fun () ->
      match List.partition (fun connection -> List.memq connection.socket sockets) server.idle with
      | first :: others, rest ->
        server.idle <- others @ rest;
        Some (Readable first)
      | [], _ -> None)

(* Called by one domain at a time. *)
let rec await server =
  if Atomic.get server.ended then End
  else
    match take_due server (Unix.gettimeofday ()) with
    | Some event -> event
    | None ->
      let idle, next =
        locked server.state (fun () ->
            (server.idle, List.fold_left (fun next (at, _, _) -> Float.min next at) infinity server.later))
      in
      (* A signal interrupts only the thread that gets it, which may be one that waits for its
         turn: its handler runs when some domain next does. *)
      let timeout = Float.max 0. (Float.min 0.1 (next -. Unix.gettimeofday ())) in
      let own = [ server.listener; server.wake_read ] in
      (match Unix.select (own @ List.map (fun c -> c.socket) idle) [] [] timeout with
       | exception Unix.Unix_error (EINTR, _, _) -> await server
       | ready, _, _ ->
         if List.mem server.wake_read ready then drain server;
         if List.mem server.listener ready then accept server;
         (match take_readable server ready with
          | Some event -> event
          | None -> await server))

let read server connection answer =
  let bytes = Bytes.create 8192 in
  match Unix.read connection.socket bytes 0 8192 with
  | 0 | (exception Unix.Unix_error (ECONNRESET, _, _)) -> close connection
  | exception Unix.Unix_error ((EAGAIN | EWOULDBLOCK | EINTR), _, _) -> keep server connection
  | length ->
    let text = connection.pending ^ Bytes.sub_string bytes 0 length in
    (match head_end text 0 with
     | None when String.length text > 65536 -> close connection
     | None ->
       connection.pending <- text;
       keep server connection
     | Some past when past < String.length text || not (String.starts_with ~prefix:"GET " text) ->
       connection.pending <- "";
       respond server connection "400 Bad Request" "{}"
     | Some _ ->
       connection.pending <- "";
       let { body; after } = answer () in
       if after <= 0. then respond server connection "200 OK" body
       else begin
         let at = Unix.gettimeofday () +. after in
         locked server.state (fun () -> server.later <- (at, connection, body) :: server.later);
         wake server
       end)

let rec work server answer () =
  match locked server.turn (fun () -> await server) with
  | End -> ()
  | Due (connection, body) -> respond server connection "200 OK" body; work server answer ()
  | Readable connection -> read server connection answer; work server answer ()

let serve ~port ~domains answer =
  let listener = Unix.socket ~cloexec:true PF_INET SOCK_STREAM 0 in
  Unix.setsockopt listener SO_REUSEADDR true;
  Unix.bind listener (ADDR_INET (Unix.inet_addr_loopback, port));
  Unix.listen listener 1024;
  Unix.set_nonblock listener;
  let wake_read, wake_write = Unix.pipe ~cloexec:true () in
  Unix.set_nonblock wake_read;
  Unix.set_nonblock wake_write;
  let server =
    {
      listener;
      wake_read;
      wake_write;
      turn = Mutex.create ();
      state = Mutex.create ();
      idle = [];
      later = [];
      ended = Atomic.make false;
    }
  in
  Sys.set_signal Sys.sigpipe Signal_ignore;
  Sys.set_signal Sys.sigint (Signal_handle (fun _ -> Atomic.set server.ended true; wake server));
  (match Unix.getsockname listener with
   | ADDR_INET (_, port) -> Printf.printf "listening on http://127.0.0.1:%d\n%!" port
   | ADDR_UNIX _ -> ());
  let others = List.init (domains - 1) (fun _ -> Domain.spawn (work server answer)) in
  work server answer ();
  List.iter Domain.join others
