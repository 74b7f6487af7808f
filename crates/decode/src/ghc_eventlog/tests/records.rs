//! Tests of header, framing and records.

use super::super::builder::{Field, LogBuilder};
use super::super::tags::*;
use super::super::{EventlogError, GcStats, Header, Next, Record, RecordReader, Size};
use super::{open, small};
use rtscope_model::LogTime;

#[test]
fn a_header_gives_sizes_and_where_data_starts() {
    let bytes = small().end();
    let header = Header::parse(&bytes).expect("parses");
    assert_eq!(header.declared(RUN_THREAD).map(|event| event.size), Some(Size::Fixed(4)));
    assert_eq!(header.declared(USER_MSG).map(|event| event.size), Some(Size::Variable));
    assert_eq!(header.declared(60).map(|event| event.size), None);
    assert_eq!(header.data_offset(), LogBuilder::new().len() as u64);
    assert_eq!(header.declared(GC_START).map(|event| event.description.as_str()), Some("GC_START"));
}

#[test]
fn an_extension_of_a_type_is_skipped() {
    let mut bytes = b"hdrbhetbetb\0".to_vec();
    bytes.extend([0, 1, 0, 4, 0, 0, 0, 1, b'x', 0, 0, 0, 3, 9, 9, 9]);
    bytes.extend(b"ete\0hetehdredatb");
    let header = Header::parse(&bytes).expect("parses");
    assert_eq!(header.declared(1).map(|event| event.size), Some(Size::Fixed(4)));
}

#[test]
fn non_logs_are_distinguished_with_what_to_do() {
    let whole = LogBuilder::new().cut();
    assert!(matches!(open(Vec::new()), Err(EventlogError::Empty)));
    assert!(matches!(open(b"\x7fELF and more".to_vec()), Err(EventlogError::NotAnEventlog)));
    assert!(matches!(open(b"hd".to_vec()), Err(EventlogError::HeaderCut { position: 2 })));
    assert!(matches!(open(whole.clone()), Err(EventlogError::HeaderOnly { .. })));
    let mut ended = whole.clone();
    ended.extend([0xff, 0xff]);
    assert!(matches!(open(ended), Err(EventlogError::HeaderOnly { .. })));
    let mut damaged = whole;
    damaged[9] ^= 0x40;
    assert!(matches!(open(damaged), Err(EventlogError::HeaderDamaged { position: 8, .. })));
    let text = EventlogError::HeaderOnly { position: 3180 }.to_string();
    assert!(text.contains("3180") && text.contains("rtscope record"), "{text}");
}

#[test]
fn a_header_cut_anywhere_is_an_error_and_no_panic() {
    let whole = LogBuilder::new().cut();
    for length in 1..whole.len() {
        let cut = open(whole[..length].to_vec());
        assert!(matches!(cut, Err(EventlogError::HeaderCut { .. })), "cut at {length}");
    }
}

#[test]
fn a_header_that_claims_much_allocates_nothing() {
    let mut bytes = b"hdrbhetbetb\0".to_vec();
    bytes.extend([0, 1, 0, 4, 0xff, 0xff, 0xff, 0xff, b'x']);
    assert!(matches!(Header::parse(&bytes), Err(EventlogError::HeaderCut { .. })));
}

#[test]
fn every_tag_of_the_table_decodes_from_a_payload_of_its_size() {
    for info in TAGS {
        for size in info.sizes {
            let length = if *size == VARIABLE { 64 } else { *size as usize };
            let payload = vec![0; length];
            let record = Record::decode(info.tag, &payload);
            assert!(!matches!(record, Record::Unknown { .. }), "{} of {length} bytes: {record:?}", info.name);
        }
    }
}

#[test]
fn a_payload_that_is_too_short_is_unknown_and_no_panic() {
    for tag in (0..300).chain([0xffff]) {
        for length in 0..70 {
            let payload = vec![0xff; length];
            if let Record::Unknown { payload: kept, .. } = Record::decode(tag, &payload) {
                assert_eq!(kept.len(), length);
            }
        }
    }
    assert!(matches!(Record::decode(RUN_THREAD, &[0, 0, 1]), Record::Unknown { tag: RUN_THREAD, .. }));
}

#[test]
fn sizes_of_older_versions_decode() {
    assert_eq!(
        Record::decode(STOP_THREAD, &[0, 0, 0, 9, 0, 5]),
        Record::StopThread { thread: 9, status: 5, info: None }
    );
    let old = Record::decode(GC_STATS_GHC, &[1; 50]);
    assert!(matches!(old, Record::GcStats(GcStats { copied_balanced_bytes: None, threads: 0x0101_0101, .. })));
    let new = Record::decode(GC_STATS_GHC, &[1; 58]);
    assert!(matches!(new, Record::GcStats(GcStats { copied_balanced_bytes: Some(_), .. })));
    let census = |bytes: &[u8]| match Record::decode(NONMOVING_HEAP_CENSUS, bytes) {
        Record::NonmovingHeapCensus { block_bytes, active_segments, .. } => (block_bytes, active_segments),
        other => panic!("{other:?}"),
    };
    assert_eq!(census(&[4, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0]), (16, 7));
    assert_eq!(census(&[0, 24, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0]), (24, 7));
    assert!(matches!(Record::decode(NONMOVING_HEAP_CENSUS, &[200; 13]), Record::Unknown { .. }));
}

#[test]
fn packed_texts_and_ids_come_out() {
    let Record::ProgramArgs { args, .. } = Record::decode(PROGRAM_ARGS, b"\0\0\0\0prog\0-x\0\0+RTS\0") else {
        panic!("args")
    };
    assert_eq!(args.iter().collect::<Vec<_>>(), [&b"prog"[..], b"-x", b"", b"+RTS"]);
    let mut payload = vec![0; 12];
    payload.extend([2, 0, 0, 0, 5, 0, 0, 0, 6]);
    let Record::ProfSampleCostCentre { stack, .. } = Record::decode(PROF_SAMPLE_COST_CENTRE, &payload) else {
        panic!("stack")
    };
    assert_eq!(stack.iter().collect::<Vec<_>>(), [5, 6]);
    payload[12] = 3;
    assert!(matches!(Record::decode(PROF_SAMPLE_COST_CENTRE, &payload), Record::Unknown { .. }));
}

/// Tags and times from a reader that is fed `piece` bytes at a time.
fn all(bytes: &[u8], piece: usize) -> Vec<(LogTime, String)> {
    let header = Header::parse(bytes).expect("parses");
    let mut reader = RecordReader::new(&header);
    let mut found = Vec::new();
    let data = &bytes[header.data_offset() as usize..];
    let mut pieces = data.chunks(piece);
    let mut over = false;
    loop {
        match reader.next() {
            Next::Record(time, record) => found.push((time, format!("{record:?}"))),
            Next::NeedMore => match pieces.next() {
                Some(bytes) => reader.push(bytes),
                None if over => return found,
                None => {
                    over = true;
                    reader.finish();
                }
            },
            Next::End => return found,
            Next::Undeclared => panic!("not declared"),
        }
    }
}

#[test]
fn a_reader_gives_the_same_records_however_the_bytes_arrive() {
    let bytes = small().end();
    let whole = all(&bytes, bytes.len());
    assert_eq!(whole.len(), 4 + 3 + 14 + 10);
    for piece in [1, 2, 7, 24, 100] {
        assert_eq!(all(&bytes, piece), whole, "in pieces of {piece}");
    }
}

#[test]
fn a_reader_reports_that_a_tag_is_undeclared() {
    let bytes = LogBuilder::with_types([(RUN_THREAD, 4)]).cut();
    let mut reader = RecordReader::new(&Header::parse(&bytes).expect("parses"));
    reader.push(&[0, 1, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 1, 0, 77, 0]);
    assert!(matches!(reader.next(), Next::Record(LogTime(5), Record::RunThread { thread: 1 })));
    assert!(matches!(reader.next(), Next::Undeclared));
}

/// An IPE record whose length field is off by `excess`.
fn ipe(excess: u16, texts: [&str; 6]) -> Vec<u8> {
    let mut payload = 0x1234u64.to_be_bytes().to_vec();
    texts.iter().for_each(|text| payload.extend(text.bytes().chain([0])));
    let mut bytes = IPE.to_be_bytes().to_vec();
    bytes.extend(7u64.to_be_bytes());
    bytes.extend((payload.len() as u16).wrapping_add(excess).to_be_bytes());
    bytes.extend(payload);
    bytes
}

#[test]
fn ipe_records_of_either_length_keep_the_stream_in_step() {
    let texts = ["f_info", "8", "Int", "f", "Main", "Main.hs:1:1"];
    for excess in [0, 1] {
        let log = LogBuilder::new().block(u16::MAX, 5, 50, |block| {
            block.raw(&ipe(excess, texts)).raw(&ipe(excess, texts)).mark(9, CONC_MARK_BEGIN).raw(&ipe(excess, texts));
        });
        let found = all(&log.clone().end(), 1000);
        assert_eq!(found.len(), 5, "excess {excess}: {found:?}");
        assert!(found[1].1.contains("info: 4660") && found[3].1 == "ConcMarkBegin", "{found:?}");
        let (_, tally) = super::read(log.end(), &[]);
        assert_eq!((tally.count(IPE), tally.count(CONC_MARK_BEGIN), tally.losses.len()), (3, 1, 0));
    }
}

#[test]
fn an_ipe_record_of_more_than_64_kib_wraps_its_length() {
    let long = "x".repeat(70_000);
    let log = LogBuilder::new().block(u16::MAX, 5, 50, |block| {
        block.raw(&ipe(1, ["f", "8", &long, "f", "Main", "p"])).mark(9, CONC_MARK_BEGIN);
    });
    let (_, tally) = super::read(log.end(), &[]);
    assert_eq!((tally.count(IPE), tally.count(CONC_MARK_BEGIN), tally.losses.len()), (1, 1, 0));
}

#[test]
fn an_ipe_record_with_more_texts_than_known_is_skipped_by_its_length() {
    let mut bytes = ipe(0, ["f", "8", "t", "l", "Main", "p"]);
    bytes.extend(b"new\0");
    let length = (bytes.len() - 12) as u16;
    bytes[10..12].copy_from_slice(&length.to_be_bytes());
    let log = LogBuilder::new().block(u16::MAX, 5, 50, |block| {
        block.raw(&bytes).mark(9, CONC_MARK_BEGIN);
    });
    let (_, tally) = super::read(log.end(), &[]);
    assert_eq!((tally.count(IPE), tally.count(CONC_MARK_BEGIN), tally.losses.len()), (1, 1, 0));
}

#[test]
fn bytes_after_the_known_fields_are_ignored() {
    let log = LogBuilder::with_types([(RUN_THREAD, 9), (BLOCK_MARKER, 14)]).block(0, 1, 9, |block| {
        block.event(2, RUN_THREAD, &[Field::U32(3)]).event(4, RUN_THREAD, &[Field::U32(5)]);
    });
    let (events, tally) = super::read(log.end(), &[rtscope_model::Class::Green]);
    assert_eq!((events.len(), tally.losses.len()), (2, 0));
}
