//! The text report against golden files: every situation, fixed width, no colour.
//! `RTSCOPE_BLESS=1 cargo test -p rtscope` rewrites them.

use testkit::blessed;
use testkit::results as common;

use rtscope_model::{Loss, LossKind, Time};
use rtscope_report::{exit_code, text, words};
use rtscope_terminal::style::Style;

/// Lines that fit on one screen, with the prompt.
const SCREEN_LINES: usize = 40;
/// Lines of a section of the whole report, and of all of it.
const SECTION_LINES: usize = 34;
const ALL_LINES: usize = 160;

#[test]
fn every_situation_reads_as_agreed() {
    for fixture in common::all() {
        let shown = text::render(&fixture.results, &Style::plain(100));
        blessed::check(&format!("{}.txt", fixture.name), &shown);
        for section in shown.split("\n\n") {
            assert!(section.lines().count() <= SECTION_LINES, "{}: {section}", fixture.name);
        }
        assert!(shown.lines().count() <= ALL_LINES, "{}: {} lines", fixture.name, shown.lines().count());
    }
}

#[test]
fn a_first_screen_is_one_and_says_where_the_rest_is() {
    for fixture in common::all() {
        let shown = text::first_screen(&fixture.results, &Style::plain(100));
        // Absurdly long names may exceed it.
        let fits = shown.lines().count() <= SCREEN_LINES || fixture.name == "hostile";
        assert!(fits, "{}: {} lines\n{shown}", fixture.name, shown.lines().count());
        assert!(shown.contains("report -v"), "{shown}");
        for finding in &fixture.results.findings {
            let words = finding.claim.to_string();
            let begins = words.split(' ').next().unwrap();
            assert!(shown.contains(begins) || fixture.results.findings.len() > 3, "{}: {shown}", fixture.name);
        }
    }
    blessed::check("first-throttled.txt", &text::first_screen(&common::throttled().results, &Style::plain(100)));
    blessed::check("first-healthy.txt", &text::first_screen(&common::healthy().results, &Style::plain(100)));
}

#[test]
fn the_tops_of_an_account_sum_to_a_hundred_percent_and_fill_the_bar() {
    let shown = text::first_screen(&common::throttled().results, &Style::plain(100));
    let (_, tree) = shown.split_once("Where the time went").unwrap();
    let tops = tree.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   ") && line.contains('#'));
    let (mut percent, mut cells) = (0, 0);
    for line in tops {
        let (before, _) = line.split_once(" %").unwrap();
        percent += before.rsplit(' ').next().unwrap().parse::<u32>().unwrap();
        cells += line.matches('#').count();
    }
    assert_eq!((percent, cells), (100, 24), "{shown}");
}

#[test]
fn a_narrow_terminal_and_bars_of_blocks() {
    let results = common::throttled().results;
    let shown = text::render(&results, &Style { unicode: true, ..Style::plain(80) });
    blessed::check("throttled-80-utf8.txt", &shown);
    for line in shown.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

#[test]
fn colour_changes_nothing_but_colour() {
    for fixture in common::all() {
        let plain = Style::plain(90);
        let painted = text::render(&fixture.results, &Style { colour: true, ..plain });
        assert!(painted.contains("\x1b["), "{} has no colour at all", fixture.name);
        let mut stripped = String::new();
        let mut rest = painted.as_str();
        while let Some((before, after)) = rest.split_once("\x1b[") {
            stripped.push_str(before);
            rest = after.split_once('m').map_or("", |(_, after)| after);
        }
        stripped.push_str(rest);
        let trimmed = stripped.lines().map(|line| line.trim_end().to_string() + "\n").collect::<String>();
        assert_eq!(trimmed, text::render(&fixture.results, &plain), "{}", fixture.name);
    }
}

#[test]
fn no_string_of_the_program_can_act_on_the_terminal() {
    let shown = text::render(&common::hostile().results, &Style::plain(100));
    assert!(!shown.contains('\x1b') && !shown.contains('\u{202e}'), "{shown}");
    assert!(shown.contains("\\u{1b}[2J"), "{shown}");
}

#[test]
fn losses_that_change_the_answer_change_the_exit_code() {
    let code = |name: &str| exit_code(&common::by_name(name).results);
    assert_eq!(code("throttled"), 0);
    assert_eq!(code("healthy"), 0);
    assert_eq!(code("preempted"), 0, "late samples change no claim");
    assert_eq!(code("no_kernel"), 0, "what was never asked for is no loss");
    assert_eq!(code("cut"), 3);
    assert_eq!(code("many_lanes"), 3);
    assert_eq!(code("kernel_only"), 3, "no pause could be seen");
}

#[test]
fn times_without_the_recorder_are_reported_once_with_the_longest() {
    let mut results = common::by_name("healthy").results;
    let late = |from: u64, ms: u64| Loss {
        source: "samples".into(),
        kind: LossKind::RecorderLate,
        count: 1,
        from: Some(Time(from)),
        to: Some(Time(from + ms * 1_000_000)),
        note: format!("the sampler did not get to run for {ms} ms: no samples in between"),
    };
    let missing = Loss { from: None, to: None, note: "no such file".into(), ..late(0, 0) };
    results.losses = vec![late(1_000, 30), late(2_000, 310), missing, late(3_000, 45)];
    let sentences = words::losses(&results);
    assert_eq!(
        sentences,
        [
            "samples: the sampler did not get to run for 310 ms: no samples in between (the longest of 3 times, 385 ms in all)",
            "samples: no such file",
        ]
    );
}

#[test]
fn partial_pauses_alone_change_the_answer_when_they_are_many() {
    let mut results = common::healthy().results;
    results.pauses.partial = results.pauses.count / 50;
    assert_eq!(exit_code(&results), 3);
    assert!(text::render(&results, &Style::plain(100)).contains("pauses were not seen whole"));

    results.pauses.partial = 1;
    assert_eq!(exit_code(&results), 0, "one of many");
    assert!(text::render(&results, &Style::plain(100)).contains("1 pause was not seen whole"));
}

#[test]
fn kernel_records_matter_by_the_causes_that_they_void() {
    let mut results = common::throttled().results;
    results.losses.push(rtscope_model::Loss {
        source: "kernel".into(),
        kind: rtscope_model::LossKind::KernelRecords,
        count: 2,
        from: None,
        to: None,
        note: String::new(),
    });
    assert_eq!(exit_code(&results), 0);
    results.causes.iter_mut().for_each(|sum| sum.cause = rtscope_model::Cause::Unknown);
    assert_eq!(exit_code(&results), 3);
    results.causes.iter_mut().for_each(|sum| sum.sum_ns /= 10_000);
    assert_eq!(exit_code(&results), 0, "all of the waiting, but next to nothing of the run");
}

#[test]
fn the_title_says_how_a_program_ended_that_did_not_end_well() {
    let ended = |exit_code, signal, oom_killed| {
        let mut results = common::throttled().results;
        let program = rtscope_analyze::results::Program { exit_code, signal, oom_killed, ..Default::default() };
        results.program = Some(program);
        text::render(&results, &Style::plain(100)).lines().take(2).collect::<String>()
    };
    assert!(!ended(Some(0), None, false).contains("ended"));
    assert!(ended(Some(3), None, false).contains("ended with 3"));
    assert!(ended(Some(137), None, false).contains("ended with 137: SIGKILL"));
    assert!(ended(None, Some(15), false).contains("killed by SIGTERM"));
    assert!(ended(None, Some(9), true).contains("killed by SIGKILL (out of memory)"));
}

#[test]
fn one_of_several_logs_is_named_with_the_way_to_the_others() {
    let mut results = common::throttled().results;
    assert!(!text::render(&results, &Style::plain(100)).contains("--log"));
    results.source.logs = 3;
    let shown = text::render(&results, &Style::plain(100));
    assert!(shown.contains("eventlog/0.eventlog, one of 3 logs"), "{shown}");
}
