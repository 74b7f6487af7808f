(* solver MODE WORKERS SOLVES: each worker solves the same problems, so many of them.
   A problem is which of several versions of each package to install, where versions
   want or exclude versions of other packages: clauses over Booleans, searched with
   unit propagation and backtracking. As in solvers of that kind every step makes new,
   short-lived lists and maps, and the problems themselves live long. *)

module Assignment = Map.Make (Int)

type clause = int list (* literals: a variable, or its negative *)
type problem = { variables : int; clauses : clause list }

(* A generator of its own: the same problems in every run and on every version. *)
let random state below =
  state := (!state * 0x2545F4914F6CDD1D) + 0x14057B7EF767814F;
  (!state lsr 33) mod below

let packages = 24
let versions = 5

let make seed =
  let state = ref (seed + 1) in
  let variable package version = (package * versions) + version + 1 in
  let all package = List.init versions (variable package) in
  let literal () = variable (random state packages) (random state versions) in
  (* A package has at most one version. *)
  let rec exclusive = function
    | [] -> []
    | v :: rest -> List.map (fun w -> [ -v; -w ]) rest @ exclusive rest
  in
  let once = List.concat_map (fun package -> exclusive (all package)) (List.init packages Fun.id) in
  (* A version wants one of some versions of another package. *)
  let want package version =
    let other = random state packages in
    let some = List.filter (fun _ -> random state 2 = 0) (all other) in
    (-variable package version) :: some
  in
  let wants = List.concat_map (fun package -> List.init versions (want package)) (List.init packages Fun.id) in
  let conflicts = List.init 110 (fun _ -> [ -literal (); -literal () ]) in
  let roots = List.init (packages / 2) (fun i -> all (2 * i)) in
  { variables = packages * versions; clauses = roots @ once @ wants @ conflicts }

let value assignment literal =
  match Assignment.find_opt (abs literal) assignment with
  | None -> None
  | Some positive -> Some (positive = (literal > 0))

(* What is left of a clause; [None]: it holds. *)
let reduce assignment clause =
  if List.exists (fun literal -> value assignment literal = Some true) clause then None
  else Some (List.filter (fun literal -> value assignment literal = None) clause)

let rec propagate assignment clauses =
  let left = List.filter_map (reduce assignment) clauses in
  if List.exists (fun clause -> clause = []) left then None
  else
    match List.filter_map (function [ unit ] -> Some unit | _ -> None) left with
    | [] -> Some (assignment, left)
    | units ->
      let set assignment literal = Assignment.add (abs literal) (literal > 0) assignment in
      propagate (List.fold_left set assignment units) left

(* Steps of the search, whether or not it finds something; a bound keeps all problems
   of one size. *)
let solve problem ~steps_max =
  let steps = ref 0 in
  let rec search assignment clauses =
    incr steps;
    if !steps > steps_max then Some assignment
    else
      match propagate assignment clauses with
      | None -> None
      | Some (assignment, []) -> Some assignment
      | Some (assignment, ((literal :: _) :: _ as clauses)) ->
        let with_ positive = search (Assignment.add (abs literal) positive assignment) clauses in
        (match with_ (literal > 0) with
         | None -> with_ (literal <= 0)
         | found -> found)
      | Some (_, [] :: _) -> None
  in
  ignore (Sys.opaque_identity (search Assignment.empty problem.clauses));
  !steps

let problems = lazy (Array.init 16 make)

let work solves _ =
  let problems = Lazy.force problems in
  for i = 0 to solves - 1 do
    ignore (Sys.opaque_identity (solve problems.(i mod Array.length problems) ~steps_max:60))
  done;
  solves

let () =
  let mode = Crew.mode_of_string (Crew.argument 1 "domains") in
  ignore (Lazy.force problems);
  if Crew.argument 4 "" = "steps" then
    Array.iter (fun problem -> Printf.printf "%d " (solve problem ~steps_max:60)) (Lazy.force problems);
  let solved = Crew.run mode (Crew.number 2 2) (work (Crew.number 3 1000)) in
  Printf.printf "solves %d\n" solved
