//! Decoding of streams made record by record.

use super::*;
use rtscope_model::manifest::{Tier, Tracepoint};
use rtscope_model::{Cpu, LossKind, OffState};

const SWITCH_FORMAT: &str = include_str!("fixtures/sched_switch.6.18.format");
const WAKING_FORMAT: &str = include_str!("fixtures/sched_waking.6.18.format");
const MIGRATE_FORMAT: &str = include_str!("fixtures/sched_migrate_task.6.18.format");
const SWITCH_ID: u16 = 372;
const WAKING_ID: u16 = 375;
const MIGRATE_ID: u16 = 371;

/// Builds the stream of one CPU.
struct Builder {
    cpu: u32,
    bytes: Vec<u8>,
}

impl Builder {
    fn cpu(cpu: u32) -> Builder {
        Builder { cpu, bytes: Vec::new() }
    }

    fn stamp(&self, pid: u32, tid: u32, time: u64) -> Vec<u8> {
        [&words(&[pid, tid])[..], &time.to_le_bytes(), &words(&[self.cpu, 0])].concat()
    }

    fn record(mut self, kind: u32, misc: u16, body: &[u8]) -> Builder {
        let size = (8 + body.len()) as u16;
        self.bytes.extend([&kind.to_le_bytes()[..], &misc.to_le_bytes(), &size.to_le_bytes(), body].concat());
        self
    }

    fn sample(self, pid: u32, tid: u32, time: u64, raw: &[u8]) -> Builder {
        let mut raw = raw.to_vec();
        raw.resize((raw.len() + 4).next_multiple_of(8) - 4, 0);
        let body = [self.stamp(pid, tid, time), (raw.len() as u32).to_le_bytes().to_vec(), raw].concat();
        self.record(9, 1, &body)
    }

    fn with_trailer(self, kind: u32, misc: u16, body: &[u8], time: u64) -> Builder {
        self.with_context(kind, misc, body, 0, 0, time)
    }

    fn with_context(self, kind: u32, misc: u16, body: &[u8], pid: u32, tid: u32, time: u64) -> Builder {
        let body = [body.to_vec(), self.stamp(pid, tid, time)].concat();
        self.record(kind, misc, &body)
    }

    fn switch(self, time: u64, (pid, prev): (u32, u32), state: u64, (next, comm): (u32, &str)) -> Builder {
        let raw = [
            &common(SWITCH_ID, prev)[..],
            &comm16("before"),
            &words(&[prev, 120]),
            &state.to_le_bytes(),
            &comm16(comm),
            &words(&[next, 120]),
        ];
        self.sample(pid, prev, time, &raw.concat())
    }

    fn waking(self, time: u64, waker: u32, target: u32, target_cpu: u32) -> Builder {
        let raw = [&common(WAKING_ID, waker)[..], &comm16("target"), &words(&[target, 120, target_cpu])].concat();
        self.sample(waker, waker, time, &raw)
    }

    fn migrate(self, time: u64, tid: u32, to: u32) -> Builder {
        let raw = [&common(MIGRATE_ID, 1)[..], &words(&[5 << 16 | 28, tid, 120, 0, to]), b"some\0"].concat();
        self.sample(1, 1, time, &raw)
    }

    fn fork(self, time: u64, pid: u32, tid: u32, parent: u32) -> Builder {
        self.task(7, time, pid, tid, parent)
    }

    fn exit(self, time: u64, pid: u32, tid: u32) -> Builder {
        self.task(4, time, pid, tid, 1)
    }

    fn task(self, kind: u32, time: u64, pid: u32, tid: u32, parent: u32) -> Builder {
        let body = [&words(&[pid, parent, tid, parent])[..], &time.to_le_bytes()].concat();
        self.with_trailer(kind, 0, &body, time)
    }

    fn comm(self, time: u64, pid: u32, tid: u32, comm: &str) -> Builder {
        let body = [&words(&[pid, tid])[..], &comm16(comm)].concat();
        self.with_trailer(3, 0x2000, &body, time)
    }

    fn lost(self, time: u64, count: u64) -> Builder {
        self.with_trailer(2, 0, &[7u64.to_le_bytes(), count.to_le_bytes()].concat(), time)
    }
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn comm16(comm: &str) -> Vec<u8> {
    let mut bytes = comm.as_bytes().to_vec();
    bytes.resize(16, 0);
    bytes
}

fn common(id: u16, pid: u32) -> Vec<u8> {
    [&id.to_le_bytes()[..], &[0, 0], &pid.to_le_bytes()].concat()
}

fn kernel(tier: Tier, cpus: usize) -> Kernel {
    let tracepoints = [("sched_switch", SWITCH_ID), ("sched_waking", WAKING_ID), ("sched_migrate_task", MIGRATE_ID)];
    let wide = tier == Tier::Tracepoints;
    Kernel {
        tier,
        streams: (0..cpus).map(|cpu| format!("sched/cpu{cpu}.perf")).collect(),
        tracepoints: tracepoints
            .into_iter()
            .filter(|_| wide)
            .map(|(name, id)| Tracepoint { name: name.into(), id: id.into(), format: format!("sched/{name}.format") })
            .collect(),
        sample_type: if wide { 0x486 } else { 0x86 },
        ..Kernel::default()
    }
}

fn formats() -> HashMap<String, String> {
    [("sched_switch", SWITCH_FORMAT), ("sched_waking", WAKING_FORMAT), ("sched_migrate_task", MIGRATE_FORMAT)]
        .map(|(name, text)| (name.to_owned(), text.to_owned()))
        .into()
}

fn open(tier: Tier, streams: Vec<Vec<u8>>, threads: Option<&str>) -> SchedStream {
    let kernel = kernel(tier, streams.len());
    let sources = streams.into_iter().map(|bytes| Arc::new(bytes) as Arc<dyn ReadAt>).collect();
    SchedStream::open(&kernel, sources, &formats(), threads.map(str::as_bytes)).unwrap()
}

fn read(stream: &mut SchedStream) -> Vec<(u64, Sched)> {
    stream
        .map(|event| match event.body {
            Body::Sched(sched) => (event.time.0, sched),
            other => panic!("{other:?}"),
        })
        .collect()
}

fn times(tier: Tier, bytes: Vec<u8>) -> (Vec<u64>, Vec<Loss>) {
    let mut stream = open(tier, vec![bytes], None);
    let times = read(&mut stream).into_iter().map(|(time, _)| time).collect();
    (times, stream.losses())
}

#[test]
fn cpus_are_merged_in_the_order_of_time() {
    let zero = Builder::cpu(0).switch(10, (5, 6), 1, (0, "swapper/0")).switch(40, (0, 0), 0, (6, "prog"));
    let one = Builder::cpu(1).waking(30, 9, 6, 0).migrate(35, 7, 1);
    let threads = r#"[{"tid":6,"pid":5,"comm":"prog"}]"#;
    let mut stream = open(Tier::Tracepoints, vec![zero.bytes, one.bytes], Some(threads));
    let events = read(&mut stream);
    let name = |id| stream.names().get(id).to_owned();
    let [named, leave, waking, migrate, enter] = events.as_slice() else { panic!("{events:?}") };
    assert!(matches!(named, (10, Sched::Named { tid: Tid(6), name: id }) if name(*id) == "prog"), "{named:?}");
    let (time, Sched::Switch { cpu, prev, prev_pid, prev_state, next, next_name }) = *leave else {
        panic!("{leave:?}")
    };
    assert_eq!((time, cpu, prev, prev_pid, next), (10, Cpu(0), Tid(6), Pid(5), Tid::IDLE));
    assert_eq!((prev_state, name(next_name).as_str()), (OffState::Sleeping, "swapper/0"));
    assert_eq!(*waking, (30, Sched::Waking { waker: Tid(9), target: Tid(6), target_cpu: Cpu(0) }));
    assert_eq!(*migrate, (35, Sched::Migrate { tid: Tid(7), to: Cpu(1) }));
    assert!(matches!(enter, (40, Sched::Switch { next: Tid(6), .. })));
    assert_eq!(stream.losses(), []);
}

#[test]
fn an_ending_thread_keeps_its_process() {
    // The kernel stamps an ended thread with -1; its fields still name it.
    let bytes = Builder::cpu(0).fork(5, 5, 6, 4).exit(9, 5, 6).switch(10, (GONE, 6), 0x10, (0, "swapper/0")).bytes;
    let mut stream = open(Tier::Tracepoints, vec![bytes], None);
    let events = read(&mut stream);
    assert_eq!(events[0], (5, Sched::Fork { parent: Tid(4), child: Tid(6), child_pid: Pid(5) }));
    assert_eq!(events[1], (9, Sched::Exit { tid: Tid(6) }));
    let (10, Sched::Switch { prev, prev_pid, prev_state, .. }) = events[2] else { panic!("{events:?}") };
    assert_eq!((prev, prev_pid, prev_state), (Tid(6), Pid(5), OffState::Dead));
}

const GONE: u32 = u32::MAX;

#[test]
fn a_new_thread_takes_its_makers_name() {
    let bytes = Builder::cpu(0).comm(1, 5, 5, "prog").fork(2, 5, 6, 5).bytes;
    let mut stream = open(Tier::OwnSwitches, vec![bytes], None);
    let events = read(&mut stream);
    let [
        (1, Sched::Named { tid: Tid(5), name }),
        (2, Sched::Fork { .. }),
        (2, Sched::Named { tid: Tid(6), name: same }),
    ] = events.as_slice()
    else {
        panic!("{events:?}")
    };
    assert_eq!((name, stream.names().get(*name)), (same, "prog"));
}

#[test]
fn switches_of_whole_cpus() {
    let bytes = Builder::cpu(0)
        .comm(1, 8, 8, "neighbour")
        .with_context(15, 0x6000, &words(&[8, 8]), 5, 6, 10)
        .with_context(15, 0, &words(&[5, 6]), 8, 8, 11)
        .with_context(15, 0x2000, &words(&[0, 0]), GONE, GONE, 20)
        .bytes;
    let mut stream = open(Tier::CpuWideSwitches, vec![bytes], None);
    let events = read(&mut stream);
    let [_, (10, Sched::Switch { prev: Tid(6), prev_pid: Pid(5), prev_state, next: Tid(8), next_name, .. }), last] =
        events.as_slice()
    else {
        panic!("{events:?}")
    };
    assert_eq!((*prev_state, stream.names().get(*next_name)), (OffState::Runnable, "neighbour"));
    let (20, Sched::Switch { prev, prev_pid, prev_state, next, .. }) = *last else { panic!("{last:?}") };
    assert_eq!((prev, prev_pid, prev_state, next), (Tid(8), Pid(8), OffState::Dead, Tid::IDLE));
}

#[test]
fn what_leaves_a_cpu_by_itself_sleeps_and_a_thread_that_ended_is_of_no_process() {
    let bytes = Builder::cpu(0)
        .with_context(15, 0x2000, &words(&[5, GONE]), 5, 6, 10)
        .with_context(15, 0x2000, &words(&[0, 0]), 5, GONE, 20)
        .with_context(15, 0x2000, &words(&[5, 7]), 0, 0, 30)
        .bytes;
    let mut stream = open(Tier::CpuWideSwitches, vec![bytes], None);
    let switches: Vec<_> = read(&mut stream)
        .into_iter()
        .filter_map(|(_, sched)| match sched {
            Sched::Switch { prev, prev_pid, prev_state, .. } => Some((prev.0, prev_pid.0, prev_state)),
            _ => None,
        })
        .collect();
    assert_eq!(switches, [(6, 5, OffState::Sleeping), (GONE, 0, OffState::Dead), (0, 0, OffState::Sleeping)]);
    assert_eq!(stream.losses(), []);
}

#[test]
fn a_switch_whose_leaving_side_is_not_recorded_is_still_reported() {
    let seen = Builder::cpu(0)
        .switch(10, (5, 6), 1, (0, "swapper/0"))
        .with_context(15, 0x2000, &words(&[0, 0]), 5, 6, 11)
        .with_context(15, 0, &words(&[0, 0]), 5, 6, 20)
        .switch(30, (5, 6), 1, (0, "swapper/0"));
    let mut stream = open(Tier::Tracepoints, vec![seen.bytes], None);
    let pairs: Vec<_> = read(&mut stream)
        .into_iter()
        .map(|(time, sched)| match sched {
            Sched::Switch { prev, next, .. } => (time, prev.0, next.0),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(pairs, [(10, 6, 0), (20, 0, 6), (30, 6, 0)]);
    assert_eq!(stream.losses(), []);
}

#[test]
fn a_switch_that_no_side_is_recorded_of_is_a_loss() {
    let bytes = Builder::cpu(0).switch(10, (5, 6), 1, (7, "a")).switch(30, (8, 8), 1, (6, "b")).bytes;
    let (_, losses) = times(Tier::Tracepoints, bytes);
    let [loss] = losses.as_slice() else { panic!("{losses:?}") };
    assert_eq!(
        (loss.kind, loss.count, loss.from, loss.to),
        (LossKind::KernelRecords, 1, Some(Time(10)), Some(Time(30)))
    );
    // Where the kernel itself reports missing records, that is not a second loss.
    let reported = Builder::cpu(0).switch(10, (5, 6), 1, (7, "a")).lost(20, 3).switch(30, (8, 8), 1, (6, "b")).bytes;
    assert_eq!(times(Tier::Tracepoints, reported).1.len(), 1);
}

#[test]
fn switches_of_own_threads_are_reported_once() {
    let bytes = Builder::cpu(0)
        .with_context(14, 0, &[], 5, 6, 10)
        .with_context(14, 0, &[], 5, 6, 11)
        .with_context(14, 0x6000, &[], 5, 6, 20)
        .with_context(14, 0x6000, &[], 5, 6, 21)
        .with_context(14, 0x2000, &[], 5, 7, 30)
        .bytes;
    let expected = [
        (10, Sched::SwitchIn { cpu: Cpu(0), tid: Tid(6) }),
        (20, Sched::SwitchOut { cpu: Cpu(0), tid: Tid(6), preempted: true }),
        (30, Sched::SwitchOut { cpu: Cpu(0), tid: Tid(7), preempted: false }),
    ];
    assert_eq!(read(&mut open(Tier::OwnSwitches, vec![bytes], None)), expected);
}

#[test]
fn a_full_ring_is_a_loss_with_its_times() {
    let bytes = Builder::cpu(0).exit(10, 1, 1).lost(50, 12).exit(60, 1, 2).bytes;
    let (times, losses) = times(Tier::Tracepoints, bytes);
    assert_eq!(times, [10, 60]);
    let [loss] = losses.as_slice() else { panic!("{losses:?}") };
    assert_eq!(
        (loss.kind, loss.count, loss.from, loss.to),
        (LossKind::KernelRecords, 12, Some(Time(10)), Some(Time(50)))
    );
    assert_eq!(loss.source, "sched/cpu0.perf");
}

#[test]
fn a_cut_anywhere_costs_only_the_last_record() {
    let whole = Builder::cpu(0).exit(10, 1, 1).switch(20, (5, 6), 1, (0, "swapper/0")).exit(30, 1, 2).bytes;
    let ends = [56, 56 + 104, 56 + 104 + 56];
    assert_eq!(whole.len(), ends[2]);
    for cut in 0..whole.len() {
        let (times, losses) = times(Tier::Tracepoints, whole[..cut].to_vec());
        let complete = ends.iter().filter(|end| **end <= cut).count();
        assert_eq!(times, [10, 20, 30][..complete], "cut at {cut}");
        let at_a_border = cut == 0 || ends.contains(&cut);
        let kinds: Vec<_> = losses.iter().map(|loss| loss.kind).collect();
        assert_eq!(kinds, if at_a_border { vec![] } else { vec![LossKind::Truncated] }, "cut at {cut}");
    }
}

#[test]
fn damage_is_skipped_and_counted() {
    let before = Builder::cpu(0).exit(10, 1, 1).bytes;
    let after = Builder::cpu(0).exit(30, 1, 2).exit(40, 1, 3).bytes;
    for garbage in [vec![0; 64], vec![0xff; 37], b"Not records at all, and of an odd length".to_vec()] {
        let (times, losses) = times(Tier::Tracepoints, [&before[..], &garbage, &after].concat());
        assert_eq!(times, [10, 30, 40]);
        let [loss] = losses.as_slice() else { panic!("{losses:?}") };
        assert_eq!((loss.kind, loss.count), (LossKind::Damaged, garbage.len() as u64));
        assert_eq!((loss.from, loss.to), (Some(Time(10)), Some(Time(30))));
    }
}

#[test]
fn every_flipped_byte_is_survived() {
    let whole = (0..10).fold(Builder::cpu(0), |stream, at| {
        stream.switch(10 + at * 10, (5, 6), 1, (6, "same")).waking(15 + at * 10, 7, 6, 0)
    });
    for at in 0..whole.bytes.len() {
        for flip in [0x01, 0x80, 0xff] {
            let mut bytes = whole.bytes.clone();
            bytes[at] ^= flip;
            let (times, _) = times(Tier::Tracepoints, bytes);
            assert!(times.is_sorted(), "byte {at} ^ {flip}");
            assert!(times.len() >= 18, "byte {at} ^ {flip}: only {} events", times.len());
        }
    }
}

#[test]
fn another_cpus_records_are_damage() {
    let (times, losses) = times(Tier::Tracepoints, Builder::cpu(3).exit(10, 1, 1).bytes);
    assert_eq!((times.len(), losses[0].kind), (0, LossKind::Damaged));
}

#[test]
fn small_disorder_is_repaired_and_large_is_a_loss() {
    let bytes = Builder::cpu(0).exit(20, 1, 1).exit(10, 1, 2).exit(30, 1, 3).bytes;
    assert_eq!(times(Tier::Tracepoints, bytes).0, [10, 20, 30]);
    let far = (0..100).fold(Builder::cpu(0), |stream, at| stream.exit(100 + at, 1, 1)).exit(50, 1, 2).bytes;
    let (times, losses) = times(Tier::Tracepoints, far);
    assert_eq!((times.len(), losses.len(), losses[0].kind), (100, 1, LossKind::OutOfOrder));
}

#[test]
fn losses_stay_bounded_and_keep_their_sum() {
    let bytes = (0..5000).fold(Builder::cpu(0), |stream, at| stream.lost(10 + at, 2)).bytes;
    let (_, losses) = times(Tier::Tracepoints, bytes);
    assert!(losses.len() <= 256);
    assert_eq!(losses.iter().map(|loss| loss.count).sum::<u64>(), 10_000);
    assert_eq!(losses.last().and_then(|loss| loss.to), Some(Time(10 + 4999)));
}

#[test]
fn what_does_not_fit_is_refused_with_a_reason() {
    let source = || vec![Arc::new(Vec::new()) as Arc<dyn ReadAt>];
    let refuse = |kernel: Kernel, formats: HashMap<String, String>, threads: Option<&[u8]>| {
        SchedStream::open(&kernel, source(), &formats, threads).err()
    };
    let good = kernel(Tier::Tracepoints, 1);
    assert_eq!(refuse(good.clone(), formats(), None), None);
    let no_format = SchedError::NoFormat { tracepoint: "sched_switch".into() };
    assert_eq!(refuse(good.clone(), HashMap::new(), None), Some(no_format));
    let other = Kernel { sample_type: 0x1486, ..good.clone() };
    assert_eq!(refuse(other, formats(), None), Some(SchedError::SampleType { sample_type: 0x1486 }));
    let two = kernel(Tier::Tracepoints, 2);
    assert_eq!(refuse(two, formats(), None), Some(SchedError::Streams { named: 2, given: 1 }));
    let threads = refuse(good.clone(), formats(), Some(b"[{"));
    assert!(matches!(threads, Some(SchedError::Threads { line: 1, .. })), "{threads:?}");
    let mut broken = formats();
    broken.insert("sched_waking".into(), SWITCH_FORMAT.into());
    let no_field = SchedError::NoField { tracepoint: "sched_waking".into(), field: "pid".into() };
    assert_eq!(refuse(good, broken, None), Some(no_field));
}

#[test]
fn records_that_arrive_in_portions_are_those_of_one_stream() {
    let zero = || {
        let begin = Builder::cpu(0).comm(1, 5, 5, "prog").fork(2, 5, 6, 5);
        (0..40).fold(begin, |builder, round| {
            let at = 10 + 10 * round;
            builder.switch(at, (5, 6), 1, (0, "swapper/0")).switch(at + 5, (0, 0), 0, (6, "prog"))
        })
    };
    let one = || (0..40).fold(Builder::cpu(1), |builder, round| builder.waking(11 + 10 * round, 9, 6, 0));
    let expected = read(&mut open(Tier::Tracepoints, vec![zero().bytes, one().bytes], None));
    for most in [1, 200, 1_000] {
        let mut stream = open(Tier::Tracepoints, vec![Vec::new(), Vec::new()], None);
        let mut rest = [zero().bytes, one().bytes];
        let mut seen = Vec::new();
        while rest.iter().any(|rest| !rest.is_empty()) {
            let more = rest.iter_mut().map(|rest| {
                // At least one record, split between two.
                let mut count = crate::perf::record::whole(&rest[..rest.len().min(most)]);
                if count == 0 {
                    count = crate::perf::record::whole(&rest[..rest.len().min(400)]).min(rest.len());
                }
                Arc::new(rest.drain(..count).collect::<Vec<u8>>()) as Arc<dyn ReadAt>
            });
            let more: Vec<_> = more.collect();
            stream.resume_with(more);
            seen.extend(read(&mut stream));
        }
        let sorted = |mut events: Vec<(u64, Sched)>| {
            events.sort_by_key(|event| format!("{event:?}"));
            events
        };
        assert_eq!(sorted(seen), sorted(expected.clone()), "{most}");
        assert!(stream.take_losses().is_empty());
    }
}

#[test]
fn whole_records_end_where_the_next_one_is_cut() {
    let bytes = Builder::cpu(0).waking(30, 9, 6, 0).migrate(35, 7, 1).bytes;
    let first = Builder::cpu(0).waking(30, 9, 6, 0).bytes.len();
    for cut in 0..bytes.len() {
        let expected = if cut >= first { first } else { 0 };
        assert_eq!(crate::perf::record::whole(&bytes[..cut]), expected);
    }
    assert_eq!(crate::perf::record::whole(&bytes), bytes.len());
    // Bytes that are not a record do not hold up their reader for ever.
    assert_eq!(crate::perf::record::whole(&[0; 50]), 50);
    let mut stream = open(Tier::Tracepoints, vec![Vec::new()], None);
    stream.resume_with([Arc::new([vec![0; 50], bytes.clone()].concat()) as Arc<dyn ReadAt>]);
    assert_eq!(read(&mut stream).len(), 2);
    assert_eq!(stream.take_losses().len(), 1);
    assert!(stream.take_losses().is_empty());
}
