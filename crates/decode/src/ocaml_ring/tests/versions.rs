//! The version of a ring is determined or refused, and never taken for another one.

use super::super::builder::RingBuilder;
use super::open;
use crate::ocaml_ring::{RingError, Rings, Version, VersionSource};

/// A program whose domains collect, with a major cycle in between.
fn program(version: Version) -> RingBuilder {
    (0..6).fold(RingBuilder::new(version, 2, 1 << 12), |rings, round| {
        let rings = rings.minor(1_000 * round + 10, (round % 2) as u16, &[1 - (round % 2) as u16]);
        // The end of a major cycle empties young heaps too, and no domain posts a wish before it.
        rings.slot(0, |ring| {
            let at = 1_000 * round + 500;
            ring.begin(at, "stw_leader").begin(at + 1, "major_gc_cycle_domains").begin(at + 2, "minor");
            ring.counter(at + 3, "minor_promoted", 8).counter(at + 3, "minor_allocated", 8).end(at + 4, "minor");
            ring.end(at + 5, "major_gc_cycle_domains").end(at + 6, "stw_leader");
        })
    })
}

fn version_of(rings: &RingBuilder, version: Option<Version>) -> Result<String, RingError> {
    let file = open(&rings.file(), version).map(|rings| rings.version().to_string());
    let captured = open(&rings.captured(5), version).map(|rings| rings.version().to_string());
    assert_eq!(file.as_ref().ok(), captured.as_ref().ok());
    file
}

#[test]
fn the_stream_distinguishes_versions_as_far_as_they_number_differently() {
    let expected = ["5.0", "5.1 or 5.2", "5.1 or 5.2", "5.3", "5.4 or 5.5", "5.4 or 5.5"];
    for (version, expected) in Version::ALL.into_iter().zip(expected) {
        assert_eq!(version_of(&program(version), None).expect("a version"), expected, "{version}");
    }
    let compacts = program(Version::V5_2).slot(0, |ring| {
        ring.span(9_000, 9_001, "compaction");
    });
    assert_eq!(version_of(&compacts, None).expect("a version"), "5.2");
    let newest = program(Version::V5_5).slot(0, |ring| {
        ring.counter(9_000, "minor_allocated_words", 5);
    });
    assert_eq!(version_of(&newest, None).expect("a version"), "5.5");
}

#[test]
fn a_label_is_only_taken_where_both_number_alike() {
    let group = |version: Version| match version {
        Version::V5_0 => 0,
        Version::V5_1 | Version::V5_2 => 1,
        Version::V5_3 => 2,
        Version::V5_4 | Version::V5_5 => 3,
    };
    for wrote in Version::ALL {
        for label in Version::ALL {
            match version_of(&program(wrote), Some(label)) {
                Ok(found) => assert!(group(wrote) == group(label) && found == label.as_str(), "{wrote} as {label}"),
                Err(RingError::OtherVersion { given, .. }) => {
                    assert!(group(wrote) != group(label) && given == label.as_str(), "{wrote} as {label}");
                }
                Err(error) => panic!("{wrote} as {label}: {error}"),
            }
        }
    }
}

#[test]
fn a_refusal_gives_what_contradicts() {
    let why = |wrote, label| version_of(&program(wrote), Some(label)).expect_err("refused").to_string();
    assert!(why(Version::V5_3, Version::V5_4).contains("do not say when they want a collection"));
    assert!(why(Version::V5_4, Version::V5_3).contains("phase 48"));
    assert!(why(Version::V5_2, Version::V5_3).contains("phase 10"));
    assert!(why(Version::V5_3, Version::V5_1).contains("phase 11"));
    assert!(why(Version::V5_0, Version::V5_1).contains("has not the table of names"));
}

#[test]
fn where_nothing_decides_it_is_refused_but_a_label_will_do() {
    let quiet = RingBuilder::new(Version::V5_4, 1, 1 << 10).slot(0, |ring| {
        ring.life(1, "ring_start", 7).span(5, 9, "explicit_gc_set").life(10, "ring_stop", 0);
    });
    let error = version_of(&quiet, None).expect_err("undecided");
    assert!(matches!(error, RingError::Undecided { .. }), "{error}");
    assert!(error.to_string().contains("--ocaml-version") && error.to_string().contains("5.1, 5.2, 5.3, 5.4, 5.5"));
    assert_eq!(version_of(&quiet, Some(Version::V5_3)).expect("the label"), "5.3");
    // From 5.3 on, but this ring has no leader: 5.3 or later.
    let followed = RingBuilder::new(Version::V5_4, 2, 1 << 10).minor(10, 1, &[0]);
    let only_follower = followed.captured_as(&[(0, 0..26)]);
    let error = open(&only_follower, None).err().expect("undecided").to_string();
    assert!(error.contains("5.3, 5.4, 5.5"), "{error}");
}

#[test]
fn what_is_missing_proves_nothing() {
    // The wish for the first collection is missing: the ring could be of 5.3.
    let rings = RingBuilder::new(Version::V5_4, 1, 1 << 10).minor(10, 0, &[]);
    let cut = rings.captured_as(&[(0, 2..24)]);
    let undecided = open(&cut, None).map(|rings| rings.version());
    assert!(matches!(undecided, Err(RingError::Undecided { .. })), "{undecided:?}");
    // Many collections of 5.3 that were seen whole prove it; a few may be of another kind.
    let rings = |count| {
        (0..count).fold(RingBuilder::new(Version::V5_3, 1, 1 << 12), |rings, n| rings.minor(100 * n + 10, 0, &[]))
    };
    let cut = |rings: RingBuilder| {
        open(&rings.captured_as(&[(0, 2..rings.words(0))]), None).map(|rings| rings.version().to_string())
    };
    assert_eq!(cut(rings(40)).expect("a version"), "5.3");
    assert!(matches!(cut(rings(10)), Err(RingError::Undecided { .. })));
    assert_eq!(version_of(&rings(2), None).expect("a version"), "5.3");
}

#[test]
fn a_major_collection_that_the_program_requests_does_not_make_a_ring_older() {
    // Gc.full_major: a section that empties young heaps first, without a wish.
    let full = |version| {
        (0..50).fold(RingBuilder::new(version, 1, 1 << 13), |rings, round| {
            rings.slot(0, |ring| {
                let at = 100 * round + 10;
                ring.begin(at, "explicit_gc_full_major").begin(at + 1, "stw_leader").begin(at + 2, "minor");
                ring.counter(at + 3, "minor_promoted", 8).counter(at + 3, "minor_allocated", 8).end(at + 4, "minor");
                ring.span(at + 5, at + 6, "minor_clear").span(at + 7, at + 8, "major_finish_cycle");
                ring.end(at + 9, "stw_leader").end(at + 10, "explicit_gc_full_major");
            })
        })
    };
    for version in [Version::V5_3, Version::V5_4] {
        assert!(matches!(version_of(&full(version), None), Err(RingError::Undecided { .. })), "{version}");
        assert_eq!(version_of(&full(version), Some(version)).expect("the label"), version.as_str());
    }
}

#[test]
fn young_heaps_laid_out_anew_do_not_make_a_ring_older() {
    // Gc.set: led without a wish, in every version.
    let resized = RingBuilder::new(Version::V5_4, 1, 1 << 10).slot(0, |ring| {
        ring.begin(1, "stw_leader").begin(2, "minor");
        ring.counter(3, "minor_promoted", 8).counter(3, "minor_allocated", 8).end(4, "minor");
        ring.span(5, 6, "domain_resize_heap_reservation").end(7, "stw_leader");
    });
    assert!(matches!(version_of(&resized, None), Err(RingError::Undecided { .. })));
    assert_eq!(version_of(&resized, Some(Version::V5_4)).expect("the label"), "5.4");
}

#[test]
fn versions_that_are_newer_or_mixed_are_refused() {
    for (kind, id) in [(2, 50), (4, 28)] {
        let newer = program(Version::V5_4).slot(0, |ring| {
            let payload: &[u64] = if kind == 4 { &[1] } else { &[] };
            ring.event(false, kind, id, 99_000, payload);
        });
        // 5.4 is proven first, so this only applies where it is asked for.
        assert!(matches!(version_of(&newer, Some(Version::V5_4)), Ok(_) | Err(RingError::OtherVersion { .. })));
        let first = RingBuilder::new(Version::V5_4, 1, 1 << 10).slot(0, |ring| {
            let payload: &[u64] = if kind == 4 { &[1] } else { &[] };
            ring.event(false, kind, id, 1, payload);
        });
        let error = version_of(&first, None).expect_err("newer").to_string();
        assert!(error.contains("newer"), "{error}");
        assert!(version_of(&first, Some(Version::V5_5)).is_err());
    }
    let mixed = RingBuilder::new(Version::V5_3, 1, 1 << 10).minor(10, 0, &[]).slot(0, |ring| {
        ring.counter(200, "minor_promoted", 1).counter(200, "minor_allocated", 1).event(false, 3, 10, 201, &[]);
    });
    let error = version_of(&mixed, None).expect_err("mixed").to_string();
    assert!(error.contains("contradict"), "{error}");
}

#[test]
fn detection_reads_no_further_than_it_must() {
    struct Watched(Vec<u8>, std::sync::atomic::AtomicU64);
    impl crate::ReadAt for Watched {
        fn read_at(&self, buffer: &mut [u8], offset: u64) -> std::io::Result<usize> {
            let count = self.0.read_at(buffer, offset)?;
            self.1.fetch_add(count as u64, std::sync::atomic::Ordering::Relaxed);
            Ok(count)
        }
        fn size(&self) -> std::io::Result<u64> {
            self.0.size()
        }
    }
    let rings = (0..50_000)
        .fold(RingBuilder::new(Version::V5_4, 2, 1 << 22), |rings, round| rings.minor(1_000 * round + 10, 1, &[0]));
    let source = std::sync::Arc::new(Watched(rings.captured(2_000), std::sync::atomic::AtomicU64::new(0)));
    let found = Rings::open(source.clone(), None).expect("opens").version();
    assert_eq!(found.by, VersionSource::Stream);
    let read = source.1.load(std::sync::atomic::Ordering::Relaxed);
    assert!(read * 4 < source.0.len() as u64, "{read} of {}", source.0.len());
}
