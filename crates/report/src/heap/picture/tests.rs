//! Pictures of valid and of absurd documents.

use super::*;
use rtscope_model::heap::Megablock;

pub(crate) fn heap(megablocks: &[(u64, &str)]) -> Heap {
    let megablock = |(slot, marks): &(u64, &str)| Megablock {
        address: slot * MEGABLOCK,
        blocks: marks.chars().cycle().take(if marks.is_empty() { 0 } else { BLOCKS }).collect(),
    };
    Heap { megablocks: megablocks.iter().map(megablock).collect(), ..Heap::default() }
}

fn marks(picture: &Picture, per: u64) -> String {
    picture.squares(per).map(|(_, square)| square.mark()).collect()
}

#[test]
fn every_mark_survives() {
    let all = "=naoL0123456789Cmx?., ";
    let picture = Picture::of(&heap(&[(4, all)]));
    let expected: String = all.chars().cycle().take(BLOCKS).collect();
    assert_eq!(marks(&picture, 1), expected);
    assert_eq!(picture.blocks.iter().sum::<u64>(), 256);
    assert_eq!(picture.totals().map(|(_, bytes, _)| bytes).sum::<u64>(), MEGABLOCK);
}

#[test]
fn absurd_documents_are_sorted_filled_and_bounded() {
    let mut heap = heap(&[(9, "o"), (2, "."), (9, "n"), (u64::MAX / MEGABLOCK, "")]);
    heap.megablocks[1].blocks = "ö\u{202e}5".into();
    heap.megablocks[0].blocks.push_str(&"L".repeat(10_000));
    let picture = Picture::of(&heap);
    assert_eq!(picture.tiles.iter().map(|tile| tile.slot).collect::<Vec<_>>(), [2, 9, u64::MAX / MEGABLOCK]);
    assert_eq!(picture.blocks[SquareKind::Large as usize], 0);
    assert_eq!(picture.blocks[SquareKind::Pinned as usize], 1);
    assert_eq!(picture.blocks[SquareKind::Other as usize], 255 + 256);
    assert_eq!(picture.squares(1).count(), 768);
    for per in [2, 8, 256, 4096] {
        assert!(picture.squares(per).count() <= 768 / per.min(256) as usize);
    }
    assert!(picture.tile_words(&picture.tiles[2]).contains("256 the runtime's own"));
    assert_eq!(Picture::of(&Heap::default()).squares(4).count(), 0);
}

#[test]
fn squares_of_several_blocks_are_as_frequent_as_their_blocks() {
    // One block in four, and one in sixteen, is pinned: they are the majority of no square.
    for (pattern, share) in [("o.9.", 4), ("...............1", 16)] {
        let picture = Picture::of(&heap(&[(1, pattern), (2, pattern), (3, pattern), (4, pattern)]));
        for per in [2, 4, 8, 16] {
            let pinned = picture.squares(per).filter(|(_, square)| square.kind == SquareKind::Pinned).count() as u64;
            let wanted = 1024 / share / per;
            assert!(pinned.abs_diff(wanted) <= 1, "{pattern} by {per}: {pinned}, not {wanted}");
        }
    }
}

#[test]
fn a_square_is_of_a_kind_that_is_there_and_grades_are_means() {
    let picture = Picture::of(&heap(&[(1, "nL"), (2, "."), (3, "1379")]));
    let squares: Vec<_> = picture.squares(64).collect();
    assert!(squares[..4].iter().all(|(_, square)| matches!(square.kind, SquareKind::Nursery | SquareKind::Large)));
    assert!(squares[4..8].iter().all(|(_, square)| square.kind == SquareKind::Free));
    assert!(squares[8..].iter().all(|(_, square)| square.mark() == '5'));
}

#[test]
fn descriptors_do_not_count_in_coarse_squares_and_gaps_do() {
    let full = format!("===={}", "o".repeat(252));
    assert_eq!(marks(&Picture::of(&heap(&[(1, &full)])), 8), "o".repeat(32));
    assert_eq!(marks(&Picture::of(&heap(&[(1, &full)])), 4), format!("={}", "o".repeat(63)));
    assert_eq!(marks(&Picture::of(&heap(&[(0, "="), (1, "=")])), 256), "==");
    let apart = Picture::of(&heap(&[(0, "o"), (4, "o"), (8, "o"), (12, "o")]));
    assert_eq!(marks(&apart, 1024), "  o ", "a quarter is there");
}

#[test]
fn run_words_give_place_kind_and_fill() {
    let mut document = heap(&[(0x4200, "5")]);
    let square = Square { kind: SquareKind::Pinned, grade: 5 };
    let used = Picture::of(&document).run_words(0x42_0010_0000, 2, square);
    assert_eq!(used, "0x4200100000 to 0x4200102000: pinned objects, at most 55 % used; 2 blocks, 8.0 KiB");
    document.scan = Some(Default::default());
    let picture = Picture::of(&document);
    assert_eq!(picture.grade_words(0), "nothing in it alive");
    assert_eq!(picture.grade_words(9), "more than 88 % alive");
}
