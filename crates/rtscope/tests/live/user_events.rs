//! Live: what OCaml programs post about themselves is in the report as they posted it, and what collections
//! found adds up, by the compilers that rtscope is tested with.

use testkit::ground;

use ground::{reported, scratch};
use serde_json::Value;
use std::fs;
use xtask::cache::cache;
use xtask::missing;
use xtask::toolchain::Spec;

/// Two domains, each 200 spans with one inside, a value in each, a moment in every tenth;
/// one span ends late, one never, one was never begun.
const PROGRAM: &str = testkit::source!("ocaml/user-events/main.ml");

fn figures(toolchain: &str) -> Option<Value> {
    let Some(toolchain) = Spec::find(toolchain).unwrap().installed(&cache()).filter(|own| own.ocaml().is_some()) else {
        missing(&format!("OCaml: `cargo xtask toolchains --only {toolchain}`"));
        return None;
    };
    let folder = scratch();
    let (program, rings) = (folder.path().join("program"), folder.path().join("rings"));
    fs::create_dir(&rings).unwrap();
    fs::write(folder.path().join("main.ml"), PROGRAM).unwrap();
    let compile = "ocamlfind ocamlopt -package runtime_events -linkpkg main.ml -o program";
    let mut compiler = toolchain.command("sh".as_ref(), folder.path(), &[folder.path()]);
    assert!(compiler.args(["-c", compile]).status().unwrap().success());
    let mut run = toolchain.command(program.as_os_str(), folder.path(), &[folder.path()]);
    run.env("OCAML_RUNTIME_EVENTS_DIR", &rings).env("OCAML_RUNTIME_EVENTS_PRESERVE", "1");
    assert!(run.status().unwrap().success());
    let ring = fs::read_dir(&rings).unwrap().next().expect("a ring file").unwrap().path();
    Some(reported(&ring))
}

fn reported_as_posted(toolchain: &str) {
    let Some(report) = figures(toolchain) else { return };
    let user = |name: &str| {
        let all = report["user"].as_array().unwrap();
        all.iter().find(|one| one["name"] == name).unwrap_or_else(|| panic!("{name} in {all:?}"))
    };
    for name in ["solve", "inner"] {
        let one = user(name);
        assert_eq!((&one["spans_ns"]["count"], &one["cut"]), (&Value::from(400), &Value::from(0)), "{one}");
        let (in_pauses, sum) = (one["in_pauses_ns"].as_u64().unwrap(), one["spans_ns"]["sum"].as_u64().unwrap());
        assert!(in_pauses <= sum, "{one}");
    }
    assert!(user("solve")["in_pauses_ns"].as_u64() > Some(0), "200 MB were allocated in them");
    assert_eq!((&user("odd")["spans_ns"]["count"], &user("odd")["cut"]), (&Value::from(0), &Value::from(2)));
    assert_eq!(user("restart")["marks"], 40);
    let values = &user("depth")["values"];
    let wanted = ["count", "min", "max", "mean"].map(|key| values[key].as_f64());
    assert_eq!(wanted, [400.0, -2.0, 397.0, 147.75].map(Some));

    // The rates over time are the bytes that collections found.
    let line = |name: &str| {
        let all = report["counters"].as_array().unwrap();
        let line = all.iter().find(|line| line["name"] == name).unwrap_or_else(|| panic!("{name} in {all:?}"));
        line["points"].as_array().unwrap()
    };
    for (rate, bytes) in
        [("allocation_bytes_per_second", "young_bytes"), ("promotion_bytes_per_second", "promoted_bytes")]
    {
        let of_points = |pair: &[Value]| {
            let ns = pair[1][0].as_u64().unwrap() - pair[0][0].as_u64().unwrap();
            pair[0][1].as_f64().unwrap() * ns as f64 / 1e9
        };
        let area: f64 = line(rate).windows(2).map(of_points).sum();
        let sum = report["promotion"][bytes].as_f64().unwrap();
        assert!(sum > 0.0 && (area / sum - 1.0).abs() < 0.01, "{rate}: {area} of {sum}");
    }
    assert!(line("heap_bytes").len() > 1);
}

#[test]
fn live_user_events_of_ocaml_5_3() {
    reported_as_posted("ghc-9.6");
}

#[test]
fn live_user_events_of_ocaml_5_4() {
    reported_as_posted("ghc-9.10");
}
