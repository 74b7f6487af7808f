(* The OCaml side: what the stubs planned before the runtime started is shown, and set where
   it could not be then. Refuses to change what somebody else has set. *)

type goal = Latency | Throughput | Memory

type plan = {
  goal : goal;
  domains : int;
  minor_words : int;
  space_overhead : int;
  followed : bool;
  reasons : string;
}

external figures : unit -> int array = "rtscope_start_figures"
external text : unit -> string = "rtscope_start_text"
external restore : unit -> unit = "rtscope_start_restore"

(* First of all: what is read of the environment below is the user's. *)
let () = restore ()

let default_minor_words = 256 * 1024
let default_space_overhead = 120

(* Words of OCAMLRUNPARAM; its older name counts where it is not set at all. *)
let given =
  let parameters =
    match Sys.getenv_opt "OCAMLRUNPARAM" with
    | Some text -> text
    | None -> Option.value (Sys.getenv_opt "CAMLRUNPARAM") ~default:""
  in
  List.filter (fun word -> word <> "") (String.split_on_char ',' parameters)

let is_given letter = List.exists (fun word -> word.[0] = letter) given

let plan () =
  let figures = figures () in
  let stays = List.filter (fun word -> String.contains "sod" word.[0]) given in
  {
    goal = [| Latency; Throughput; Memory |].(figures.(0));
    domains = figures.(1);
    minor_words = figures.(2);
    space_overhead = figures.(3);
    followed = figures.(4) <> 0;
    reasons =
      text ()
      ^ String.concat "" (List.map (fun word -> "given: " ^ word ^ ", which stays.\n") stays);
  }

let domain_count () =
  let recommended = Domain.recommended_domain_count () in
  let figures = figures () in
  if figures.(4) = 0 then recommended else min recommended figures.(1)

(* In bytecode, and in programs that run with another's rights, the runtime has not seen
   the plan: then the main domain's minor heap is set here. What is not the default has been
   chosen already, by the plan or by somebody. *)
let () =
  let figures = figures () in
  if figures.(4) <> 0 then begin
    let now = Gc.get () in
    let choose letter default now planned =
      if is_given letter || now <> default then now else planned
    in
    let minor_heap_size = choose 's' default_minor_words now.Gc.minor_heap_size figures.(2) in
    let space_overhead = choose 'o' default_space_overhead now.Gc.space_overhead figures.(3) in
    if minor_heap_size <> now.Gc.minor_heap_size || space_overhead <> now.Gc.space_overhead then
      Gc.set { now with Gc.minor_heap_size; space_overhead }
  end
