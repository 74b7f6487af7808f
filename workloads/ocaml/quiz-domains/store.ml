module Numbers = Map.Make (Int)

type question = { number : int; difficulty : float; prompt : string; choices : string list; right : int }
type answer = { question : int; chosen : int; correct : bool }
type student = { mastery : float Numbers.t; seen : int Numbers.t; quizzes : int; recent : answer list }

(* Students lie in shelves, each with a lock. *)
type t = { questions : question list array; shelves : (Mutex.t * (int, student) Hashtbl.t) array; size : int }

let topics = 40
let per_topic = 300

let mix n =
  let m = (n + 1) * 0x2545F4914F6CDD1D in
  (m lxor (m lsr 29)) land 0x3fffffffffff

let sentence seed count =
  let word n = String.init (3 + (n mod 6)) (fun i -> Char.chr (97 + (mix (n + i) mod 26))) in
  String.concat " " (List.init count (fun i -> word (mix ((seed * 31) + i))))

let make_question number =
  {
    number;
    difficulty = float_of_int (mix number mod 1000) /. 1000.;
    prompt = sentence number 14;
    choices = List.init 4 (fun i -> sentence ((number * 8) + i) 4);
    right = number mod 4;
  }

let make_student number =
  let level topic = float_of_int (mix ((number * topics) + topic) mod 1000) /. 1000. in
  {
    mastery = Numbers.of_seq (Seq.init ((topics / 2) + 1) (fun topic -> (topic, level topic)));
    seen = Numbers.of_seq (Seq.init 20 (fun i -> (mix (number + (i * 7919)) mod (topics * per_topic), i mod 5)));
    quizzes = 5;
    recent = [];
  }

let make size =
  let shelves = Array.init 64 (fun _ -> (Mutex.create (), Hashtbl.create (size / 64))) in
  for number = 0 to size - 1 do
    Hashtbl.replace (snd shelves.(number mod 64)) number (make_student number)
  done;
  let in_topic topic = List.init per_topic (fun i -> make_question ((topic * per_topic) + i)) in
  { questions = Array.init topics in_topic; shelves; size }

let topic store n = store.questions.(n mod topics)
let in_topic question = question.number / per_topic

let change store turn f =
  let number = mix turn mod store.size in
  let lock, students = store.shelves.(number mod 64) in
  Mutex.protect lock (fun () ->
      let before = Hashtbl.find students number in
      let after, result = f before in
      Hashtbl.replace students number after;
      (number, before, result))
