//! Tables of small recordings, read with the library's own reader.

use super::*;
use crate::testing::{facts, kernel, pause, rt, switch, tables, write};
use ::parquet::file::reader::{FileReader, SerializedFileReader};
use rtscope_model::{Counter, Cpu, NameId, Runtime, Tid, UserEvent};
use rtscope_table::GROUP;
use std::cell::RefCell;
use std::fs::File;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

/// A buffer that can be read after the writer was dropped.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

type Files = Rc<RefCell<BTreeMap<String, Kept>>>;

fn begun(family: &str) -> (ParquetWriter<Kept>, Files) {
    let files = Files::default();
    let to = files.clone();
    let mut open = move |name: &str| Ok(to.borrow_mut().entry(name.to_owned()).or_default().clone());
    (ParquetWriter::new(&mut open, &facts(family)).unwrap(), files)
}

/// Rows of a table as the reader prints them, and the number of rows of each group.
fn rows(files: &Files, table: &str) -> (Vec<String>, Vec<i64>) {
    let bytes = files.borrow()[table].0.lock().unwrap().clone();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    std::fs::write(&path, bytes).unwrap();
    let reader = SerializedFileReader::new(std::fs::File::open(path).unwrap()).unwrap();
    let metadata = reader.metadata().file_metadata().key_value_metadata().unwrap();
    assert!(metadata.iter().any(|pair| pair.value.as_deref() == Some(SCHEMA)));
    let groups = reader.metadata().row_groups().iter().map(|group| group.num_rows()).collect();
    (reader.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect(), groups)
}

#[test]
fn each_thing_is_a_row_of_its_table() {
    let (mut writer, files) = begun("ghc");
    let events = [
        kernel(50, switch(1, 0, OffState::Runnable, 11, 2)),
        kernel(55, Sched::Waking { waker: Tid(11), target: Tid(12), target_cpu: Cpu(0) }),
        kernel(60, switch(1, 11, OffState::Uninterruptible, 0, 0)),
        kernel(70, switch(1, 0, OffState::Runnable, 11, 2)),
        rt(100, 0, Runtime::StopRequested { parallel: true }),
        rt(155, 0, Runtime::Stopped),
        rt(160, 0, Runtime::Count(Counter::AllocatedBytes, 77)),
        rt(170, 1, Runtime::User(NameId(1), UserEvent::Begin)),
        rt(175, 1, Runtime::User(NameId(1), UserEvent::Mark)),
        rt(260, 0, Runtime::Resumed),
    ];
    tables(|tables| {
        write(&mut writer, "ghc", &events, Some(pause(3, 100, 155, 260, 270)), tables).unwrap();
    });
    writer.finish(&[]).unwrap();
    assert_eq!(files.borrow().len(), TABLES.len());
    let of = |table| rows(&files, table).0;
    assert_eq!(of("runs").len(), 2);
    assert!(of("runs")[0].contains("from_ns: 50, to_ns: 60, left: \"uninterruptible\""), "{:?}", of("runs"));
    assert!(of("runs")[1].contains("from_ns: 70, to_ns: 260, left: null"), "{:?}", of("runs"));
    assert_eq!(of("wakeups"), ["{at_ns: 55, waker_tid: 11, tid: 12, cpu: 0}"]);
    let state = |row: &str| of("states").iter().any(|found| found.contains(row));
    assert!(state(
        "state: \"collection, leading\", role: \"waiting-for-others\", thread: null, from_ns: 100, to_ns: 260"
    ));
    assert!(state("track: \"user\", lane: 1, state: \"solve\""), "{:?}", of("states"));
    let value = "{name: \"allocated\", unit: \"bytes\", lane: 0, at_ns: 160, value: 77}";
    assert_eq!(of("values"), [value]);
    assert_eq!(of("marks"), ["{track: \"user\", lane: 1, at_ns: 175, name: \"solve\"}"]);
    assert!(of("pauses")[0].contains("time_to_stop_ns: 55, collect_ns: 105, release_ns: 10"), "{:?}", of("pauses"));
    assert_eq!(of("pause_lanes").len(), 2);
    assert!(of("causes")[0].contains("cause: \"preempted\", lane: 1, tid: 12, who: \"thief \"7\"\", who_pid: 99"));
    assert!(of("losses").is_empty());
}

#[test]
fn many_rows_come_in_groups() {
    let (mut writer, files) = begun("ocaml");
    let count = GROUP as u64 * 2 + 5;
    tables(|tables| {
        for at in 0..count {
            writer.event(&rt(at, 0, Runtime::Count(Counter::AllocatedBytes, at)), tables).unwrap();
        }
    });
    writer.finish(&[]).unwrap();
    let (rows, groups) = rows(&files, "values");
    assert_eq!((rows.len() as u64, groups), (count, vec![GROUP as i64, GROUP as i64, 5]));
    assert!(rows.last().unwrap().ends_with(&format!("value: {}}}", count - 1)), "{:?}", rows.last());
}

#[test]
fn what_cannot_be_written_is_reported() {
    let written = ParquetWriter::new(&mut |_| File::options().write(true).open("/dev/full"), &facts("ghc"))
        .and_then(|mut writer| writer.finish(&[]));
    assert_eq!(written.unwrap_err().to_string(), "No space left on device (os error 28)");
}
