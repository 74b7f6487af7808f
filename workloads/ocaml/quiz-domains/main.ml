(* main --domains N --port P --size S --work W --slow-every E: a quiz service. A request takes
   in a student's answers, chooses the next questions and sends them as JSON, which is about
   2 ms of work in one of N domains. One request in E is answered 50 ms later, as if it waited
   for something else (0: none). S students are in memory; W topics are searched for a quiz. *)

open Store

let domains = ref 2
let port = ref 0
let size = ref 40000
let searched = ref 40
let slow_every = ref 250

let answered turn question =
  let chosen = mix (turn + question.number) mod 4 in
  { question = question.number; chosen; correct = chosen = question.right }

let mark turn known answer =
  let got = if answer.correct then 1. else 0. in
  let blend = function
    | None -> Some got
    | Some old -> Some ((old *. 0.8) +. (got *. 0.2))
  in
  Numbers.update ((turn + answer.question) mod topics) blend known

(* How little a question is worth asking. *)
let distance student recently question =
  let level = Option.value ~default:0.5 (Numbers.find_opt (in_topic question) student.mastery) in
  let again = if Numbers.mem question.number recently then 10. else 0. in
  Float.abs (question.difficulty -. level) +. again

let rec take n = function
  | first :: rest when n > 0 -> first :: take (n - 1) rest
  | _ -> []

(* The student after its answers to the last quiz, and the next quiz: the questions that are
   nearest to what the student knows. *)
let next store turn before =
  let now = before.quizzes + 1 in
  let places = List.init !searched (fun i -> topic store (turn + i + 1)) in
  let recent = List.map (answered turn) (take 10 (List.concat (take 1 places))) in
  let marked = { before with mastery = List.fold_left (mark turn) before.mastery recent; quizzes = now; recent } in
  (* What was asked long ago may be asked again. *)
  let recently = Numbers.filter (fun _ last -> last > now - 5) before.seen in
  let weighed question = (distance marked recently question, question) in
  (* Topic by topic: little is alive at a time. *)
  let better found questions =
    take 10 (List.sort (fun (a, _) (b, _) -> Float.compare a b) (found @ List.map weighed questions))
  in
  let quiz = List.map snd (List.fold_left better [] places) in
  let seen = List.fold_left (fun seen question -> Numbers.add question.number now seen) recently quiz in
  let after = { marked with seen } in
  (after, (after, quiz))

(* Nothing here needs escapes. *)
let list shown items = "[" ^ String.concat "," (List.map shown items) ^ "]"
let text = Printf.sprintf "\"%s\""

let shown number before (after, quiz) =
  let sum known = Numbers.fold (fun _ level total -> level +. total) known 0. in
  let answer a = Printf.sprintf {|{"question":%d,"chosen":%d,"correct":%b}|} a.question a.chosen a.correct in
  let level (topic, level) = Printf.sprintf {|{"topic":%d,"level":%.17g}|} topic level in
  let question q =
    Printf.sprintf {|{"number":%d,"prompt":%s,"choices":%s}|} q.number (text q.prompt) (list text q.choices)
  in
  Printf.sprintf {|{"student":%d,"quiz":%d,"answers":%s,"score":%d,"gained":%.17g,"mastery":%s,"questions":%s}|} number
    after.quizzes
    (list answer after.recent)
    (List.length (List.filter (fun a -> a.correct) after.recent))
    (sum after.mastery -. sum before.mastery)
    (list level (Numbers.bindings after.mastery))
    (list question quiz)

let () =
  let set name to_ about = (name, Arg.Set_int to_, about) in
  Arg.parse
    [
      set "--domains" domains " that answer";
      set "--port" port " 0: one that is free";
      set "--size" size " students in memory";
      set "--work" searched " topics that are searched for a quiz";
      set "--slow-every" slow_every " one request in so many waits";
    ]
    (fun word -> raise (Arg.Bad word))
    "quiz";
  let store = make !size in
  let asked = Atomic.make 1 in
  Http.serve ~port:!port ~domains:!domains (fun () ->
      let turn = Atomic.fetch_and_add asked 1 in
      let number, before, after = change store turn (next store turn) in
      let slow = !slow_every > 0 && turn mod !slow_every = 0 in
      { body = shown number before after; after = (if slow then 0.05 else 0.) })
