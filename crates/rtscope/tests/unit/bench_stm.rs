//! `rtscope bench stm` with programs that a shell can imitate: in which order and how they run, what is
//! printed, written and refused. Owns nothing about speed.

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use testkit::executable;

/// Records how it was started, and reports that it took a millisecond per thread; asked to count, that 5
/// attempts in 7 were useful.
const PROGRAM: &str = r#"#!/bin/sh
echo "$(basename "$0") $* [$GHCRTS] $RTSCOPE_STM" >> order
case "$*" in
*--count*) echo "stm ns=${2}000000 attempts=7 transactions=4 waits=1" ;;
*) echo "stm ns=${2}000000 operations=10" ;;
esac
"#;

fn program(folder: &Path, name: &str, text: &str) {
    executable::write(folder.join(name), text);
}

fn bench(folder: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(testkit::rtscope());
    command.args(["bench", "stm", "--noisy"]).args(words).current_dir(folder).env("GHCRTS", "-A1m").output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn each_configuration_is_run_as_it_says_and_files_say_what_is_printed() {
    let folder = tempfile::tempdir().unwrap();
    program(folder.path(), "plain", PROGRAM);
    program(folder.path(), "linked", &PROGRAM.replace("operations=10", "aborts=3"));
    let words = "--program ./plain --scheduled ./linked --only si,ll-24 --operations 50,si=9 --threads 2,1 --runs 6 \
                 --counted 2 --capabilities 4 --cores 3 --configurations often,few-never,scheduler --json -o out/deeper -q";
    let done = bench(folder.path(), &words.split_whitespace().collect::<Vec<_>>());
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    assert!(done.stderr.is_empty(), "{}", text(&done.stderr));
    let printed: Value = serde_json::from_slice(&done.stdout).unwrap();
    let read = |name: &str| fs::read_to_string(folder.path().join("out/deeper").join(name)).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&read("stm.json")).unwrap(), printed);

    // Four discarded; six blocks of two benchmarks, two numbers of threads and four configurations; three of
    // them once more in two blocks, to count.
    let order = fs::read_to_string(folder.path().join("order")).unwrap();
    assert_eq!((order.lines().count(), order.matches("--count").count()), (4 + 96 + 24, 24));
    for line in [
        "plain si 2 9 [-A1m -N4] ",
        "plain ll 1 50 --keys 24 [-A1m -N4 -C0] ",
        "plain ll 2 50 --keys 24 --count [-A1m -N3 -C3600] ",
        "linked si 1 9 [-A1m -N4] adaptive",
    ] {
        assert!(order.lines().any(|found| found == line), "{line} in\n{order}");
    }
    let [si, _] = &printed["benchmarks"].as_array().unwrap()[..] else { panic!("{printed}") };
    assert_eq!((&printed["schema"], &si["name"]), (&"rtscope/stm-bench/1".into(), &"si".into()));
    let points = si["points"].as_array().unwrap();
    let names: Vec<_> = points.iter().map(|point| point["configuration"].as_str().unwrap()).collect();
    assert_eq!(names, ["default", "often", "few-never", "scheduler"].repeat(2));
    for point in points {
        let threads = point["threads"].as_f64().unwrap();
        assert_eq!(
            (point["time_ns"]["median"].as_f64(), point["times"].as_array().unwrap().len()),
            (Some(threads * 1e6), 6)
        );
        let linked = point["configuration"] == "scheduler";
        let counted = if linked { vec![3.0; 6] } else { vec![2.0; 2] };
        assert_eq!(point["aborts_of_runs"], Value::from(counted), "{point}");
        assert_eq!(point["of_default"]["high"].as_f64().is_some(), point["configuration"] != "default");
    }

    let (drawn, said, page) = (read("stm-ll-24.svg"), read("stm.txt"), read("stm.html"));
    assert!(drawn.contains(">scheduler</text>") && drawn.contains("ll-24: aborts"), "{drawn}");
    assert!(said.contains("6 runs of each") && said.contains("few-never: -N3 -C3600"), "{said}");
    assert!(page.contains("<section id=\"benchmark-2\">") && read("stm-si.svg").contains("si: time"));
}

#[test]
fn a_command_of_the_user_s_says_what_it_can() {
    let folder = tempfile::tempdir().unwrap();
    program(folder.path(), "own", "#!/bin/sh\necho begin; echo \"stm ns=$(($1 * 1000))\"; echo end\n");
    let words = ["--threads", "1,2", "--runs", "2", "--configurations", "again", "--", "./own", "{threads}"];
    let done = bench(folder.path(), &words);
    let (said, errors) = (text(&done.stdout), text(&done.stderr));
    assert_eq!(done.status.code(), Some(0), "{errors}");
    assert!(said.contains("own: ./own {threads}") && said.contains("at least 6 runs"), "{said}");
    assert!(
        said.lines().filter(|line| line.contains(" again ")).all(|line| line.ends_with('-')),
        "no transaction was counted: {said}"
    );
    assert!(errors.contains("block 2 of 2") && !errors.contains("block 3"), "{errors}");
}

#[test]
fn what_was_measured_before_the_end_is_printed() {
    let folder = tempfile::tempdir().unwrap();
    let fails = PROGRAM.replace("case", "[ $(wc -l < order) -le 20 ] || { echo 'broken: sum' >&2; exit 1; }\ncase");
    program(folder.path(), "plain", &fails);
    let words = ["--program", "./plain", "--only", "si", "--threads", "1", "--runs", "30", "--counted", "0", "-q"];
    let done = bench(folder.path(), &[&words[..], &["--configurations", "again", "-o", "out"]].concat());
    let (said, errors) = (text(&done.stdout), text(&done.stderr));
    assert_eq!(done.status.code(), Some(1), "{errors}");
    assert!(said.contains("It is not all: ./plain si 1, as ") && said.contains("broken: sum"), "{said}");
    assert!(errors.contains("the measurement is not whole") && errors.lines().count() == 1, "{errors}");
    let kept: Value = serde_json::from_str(&fs::read_to_string(folder.path().join("out/stm.json")).unwrap()).unwrap();
    let points = kept["benchmarks"][0]["points"].as_array().unwrap();
    let times: usize = points.iter().map(|point| point["times"].as_array().unwrap().len()).sum();
    // Two of twenty are dropped.
    assert_eq!((times, kept["ended"].as_str().map(|why| why.contains("broken"))), (18, Some(true)));
}

#[test]
fn what_does_not_work_is_reported_on_one_line() {
    let folder = tempfile::tempdir().unwrap();
    program(folder.path(), "mute", "#!/bin/sh\necho nothing\n");
    program(folder.path(), "own", PROGRAM);
    fs::write(folder.path().join("file"), "").unwrap();
    let own = ["--program", "./own", "--only", "si", "--threads", "1", "--runs", "1"];
    for (status, words, expected) in [
        (1, &["--program", "./mute", "--runs", "1"][..], "let it print a line `stm ns=NANOSECONDS`"),
        (1, &["--program", "./not-there", "--runs", "1"], "not-there"),
        (1, &["--", "sh", "-c", "exit 7", "{threads}"], "it ended with 7"),
        (2, &["--program", "./own", "--only", "sl"], "no benchmark is called sl"),
        (2, &["--program", "./own", "--configurations", "scheduler"], "--scheduled"),
        (2, &["--", "./own", "4"], "no place for the number of threads"),
        (1, &[&own[..], &["-o", "file/in"]].concat(), "cannot write file/in/stm.txt"),
    ] {
        let done = bench(folder.path(), &[&["-q"], words].concat());
        let said = text(&done.stderr);
        assert_eq!(done.status.code(), Some(status), "{words:?}: {said}");
        assert!(said.contains(expected) && said.lines().count() == 1 && done.stdout.is_empty(), "{words:?}: {said}");
    }
}
