//! Decoding of streams made record by record, and the places of their samples.

use super::builder::{Builder, TIMER, WAITS, code, kernel, module};
use super::*;
use rtscope_model::{CodeKind, Cpu, LossKind, Symbol, Tid};

const PROGRAM: &str = "/home/prog";

fn names() -> Names {
    let mut names = kernel(&[
        (0xf000, 0xf100, "__schedule"),
        (0xf100, 0xf200, "schedule"),
        (0xf200, 0xf300, "futex_wait_queue"),
        (0xf300, 0xf400, "__x64_sys_futex"),
        (0xf400, 0xf500, "clear_page"),
        (0xf500, 0xf600, "asm_exc_page_fault"),
        (0xf600, 0xf700, "do_anonymous_page"),
    ]);
    names.modules = vec![module(
        PROGRAM,
        &[(0x100, 0x200, "Main.$wspin", CodeKind::Program), (0x200, 0x300, "c_busy", CodeKind::Foreign)],
    )];
    names.enter([(&WAIT[..], true), (&FAULT[..], false), (&FIRST[..], false)].into_iter());
    names
}

const WAIT: [u64; 4] = [0xf010, 0xf110, 0xf210, 0xf310];
const FAULT: [u64; 2] = [0xf410, 0xf510];
const FIRST: [u64; 3] = [0xf410, 0xf610, 0xf510];

fn open(streams: Vec<Vec<u8>>, ipe: &[Ipe]) -> CodeStream {
    let code = code(streams.len());
    let sources = streams.into_iter().map(|bytes| Arc::new(bytes) as Arc<dyn ReadAt>).collect();
    CodeStream::open(&code, sources, &names(), ipe).unwrap()
}

fn read(stream: &mut CodeStream) -> Vec<(u64, CodeSample)> {
    let events: Vec<Event> = stream.by_ref().collect();
    let sample = |event: Event| match event.body {
        Body::Code(sample) => (event.time.0, sample),
        other => panic!("{other:?}"),
    };
    events.into_iter().map(sample).collect()
}

fn leaves(streams: Vec<Vec<u8>>) -> Vec<(u64, Symbol)> {
    let mut stream = open(streams, &[]);
    let samples = read(&mut stream);
    samples.iter().map(|(time, sample)| (*time, stream.symbols().get(sample.leaf).clone())).collect()
}

fn program() -> Builder {
    Builder::cpu(0).exec(1, 5).mmap(2, 5, (0x40_0000, 0x1000), 0, PROGRAM)
}

#[test]
fn an_address_is_named_by_what_was_mapped_there() {
    let one = Builder::cpu(1).user(15, (5, 6), 0x40_0250).bytes;
    let zero = program().user(10, (5, 6), 0x40_0150).user(20, (5, 6), 0x50_0000).user(21, (9, 9), 0x40_0150).bytes;
    let seen = leaves(vec![zero, one]);
    let short: Vec<_> = seen.iter().map(|(time, symbol)| (*time, symbol.name.as_str(), symbol.kind)).collect();
    assert_eq!(
        short,
        [
            (10, "Main.$wspin", CodeKind::Program),
            (15, "c_busy", CodeKind::Foreign),
            (20, "an address where nothing was mapped", CodeKind::Unknown),
            (21, "", CodeKind::Unknown),
        ]
    );
    assert_eq!(seen[0].1.module, "prog");
}

#[test]
fn a_wait_is_named_below_the_scheduler_with_its_entry_point_and_the_calling_code() {
    let bytes = program()
        .sample(10, WAITS, (5, 6), WAIT[0], &WAIT, Some(0x40_0210))
        .sample(20, TIMER, (5, 6), FAULT[0], &FAULT, Some(0x40_0110))
        .sample(30, TIMER, (5, 6), FIRST[0], &FIRST, Some(0x40_0110))
        .bytes;
    let mut stream = open(vec![bytes], &[]);
    let samples = read(&mut stream);
    let shown: Vec<_> = samples
        .iter()
        .map(|(_, sample)| {
            let symbol = |id| stream.symbols().get(id).clone();
            let leaf = symbol(sample.leaf);
            (leaf.name, leaf.source, leaf.kind, symbol(sample.user.unwrap()).name)
        })
        .collect();
    let expected = [
        ("futex_wait_queue".to_owned(), Some("futex".to_owned()), CodeKind::Kernel, "c_busy".to_owned()),
        ("clear_page".to_owned(), Some("page fault".to_owned()), CodeKind::Kernel, "Main.$wspin".to_owned()),
        (
            "clear_page".to_owned(),
            Some("page fault, first touch".to_owned()),
            CodeKind::Kernel,
            "Main.$wspin".to_owned(),
        ),
    ];
    assert_eq!(shown, expected);
    assert_eq!((samples[0].1.what, samples[0].1.cpu, samples[0].1.tid), (Found::Waits, Cpu(0), Tid(6)));
    assert_eq!(samples[1].1.what, Found::Running { ns: 10_000_000 });
}

#[test]
fn the_logs_own_names_win_for_the_program() {
    let ipe = [
        Ipe { address: 0x40_0100, name: "Main.spin".into(), source: "Main.hs:7:1-20".into() },
        Ipe { address: 0x40_0180, name: String::new(), source: "Main.hs:9:1-4".into() },
        Ipe { address: 0x40_0200, name: "Main.other".into(), source: String::new() },
    ];
    let bytes = program().user(10, (5, 6), 0x40_0150).user(11, (5, 6), 0x40_0250).user(12, (5, 6), 0x40_0190).bytes;
    let mut stream = open(vec![bytes], &ipe);
    let samples = read(&mut stream);
    let symbols: Vec<_> = samples.iter().map(|(_, sample)| stream.symbols().get(sample.leaf).clone()).collect();
    assert_eq!((symbols[0].name.as_str(), symbols[0].source.as_deref()), ("Main.spin", Some("Main.hs:7:1-20")));
    assert_eq!(symbols[1].name, "c_busy");
    assert_eq!((symbols[2].name.as_str(), symbols[2].source.as_deref()), ("Main.$wspin", Some("Main.hs:9:1-4")));
}

#[test]
fn code_made_at_run_time_is_called_that() {
    let bytes = program().mmap(3, 5, (0x7000_0000, 0x1000), 0, "//anon").user(10, (5, 6), 0x7000_0010).bytes;
    let seen = leaves(vec![bytes]);
    assert_eq!((seen[0].1.name.as_str(), seen[0].1.kind), ("code made at run time", CodeKind::Unknown));
}

#[test]
fn forks_keep_and_execs_drop_mappings() {
    let bytes = program()
        .fork(3, (7, 7), 5)
        .user(10, (7, 7), 0x40_0150)
        .exec(11, 7)
        .user(12, (7, 7), 0x40_0150)
        .exit(13, 5, 5)
        .user(14, (5, 6), 0x40_0150)
        .bytes;
    let names: Vec<_> = leaves(vec![bytes]).into_iter().map(|(_, symbol)| symbol.name).collect();
    assert_eq!(names, ["Main.$wspin", "", "Main.$wspin"]);
}

#[test]
fn a_cut_anywhere_costs_only_the_last_record() {
    let head = program().bytes;
    let whole = program().user(10, (5, 6), 0x40_0150).user(20, (5, 6), 0x40_0150).bytes;
    let size = (whole.len() - head.len()) / 2;
    for cut in head.len()..whole.len() {
        let mut stream = open(vec![whole[..cut].to_vec()], &[]);
        assert_eq!(read(&mut stream).len(), (cut - head.len()) / size, "cut at {cut}");
        let kinds: Vec<_> = stream.losses().iter().map(|loss| loss.kind).collect();
        let at_a_border = (cut - head.len()).is_multiple_of(size);
        assert_eq!(kinds, if at_a_border { vec![] } else { vec![LossKind::Truncated] }, "cut at {cut}");
    }
}

#[test]
fn every_flipped_byte_is_survived_in_order() {
    let whole = (0..10).fold(program(), |stream, at| {
        stream.user(10 + at * 10, (5, 6), 0x40_0150).sample(15 + at * 10, WAITS, (5, 6), WAIT[0], &WAIT, None)
    });
    for at in 0..whole.bytes.len() {
        for flip in [0x01, 0x80, 0xff] {
            let mut bytes = whole.bytes.clone();
            bytes[at] ^= flip;
            let samples = read(&mut open(vec![bytes], &[]));
            assert!(samples.is_sorted_by_key(|(time, _)| *time), "byte {at} ^ {flip}");
            assert!(samples.len() >= 18, "byte {at} ^ {flip}: only {} samples", samples.len());
        }
    }
}

#[test]
fn a_full_ring_is_a_loss_with_its_times() {
    let bytes = program().user(10, (5, 6), 0x40_0150).lost(50, 12).user(60, (5, 6), 0x40_0150).bytes;
    let mut stream = open(vec![bytes], &[]);
    assert_eq!(read(&mut stream).len(), 2);
    let [loss] = &stream.losses()[..] else { panic!("{:?}", stream.losses()) };
    assert_eq!((loss.kind, loss.count, loss.source.as_str()), (LossKind::KernelRecords, 12, "code/cpu0.perf"));
}

#[test]
fn a_sample_of_an_event_that_was_not_requested_is_damage() {
    let bytes = program().sample(10, 99, (5, 6), 0x40_0150, &[], None).user(20, (5, 6), 0x40_0150).bytes;
    let mut stream = open(vec![bytes], &[]);
    assert_eq!(read(&mut stream).iter().map(|(time, _)| *time).collect::<Vec<_>>(), [20]);
    assert_eq!(stream.losses()[0].kind, LossKind::Damaged);
}

#[test]
fn what_does_not_fit_is_refused_with_a_reason() {
    let source = || vec![Arc::new(Vec::new()) as Arc<dyn ReadAt>];
    let refuse = |code: Code| CodeStream::open(&code, source(), &Names::default(), &[]).err();
    assert_eq!(refuse(code(1)), None);
    assert_eq!(refuse(code(2)), Some(CodeError::Streams { named: 2, given: 1 }));
    assert_eq!(refuse(Code { sample_type: 7, ..code(1) }), Some(CodeError::SampleType { sample_type: 7 }));
    let stream = "code/other".to_owned();
    let nameless = Code { streams: vec![stream.clone()], ..code(1) };
    assert_eq!(refuse(nameless), Some(CodeError::StreamName { stream }));
    assert!(matches!(Names::parse(b"{"), Err(CodeError::Names { line: 1, .. })));
    let other = serde_json::to_vec(&Names { schema: "rtscope/symbols/9".into(), ..Names::default() }).unwrap();
    assert!(matches!(Names::parse(&other), Err(CodeError::NamesSchema { .. })));
    let own = serde_json::to_vec(&names()).unwrap();
    assert_eq!(Names::parse(&own), Ok(names()));
}
