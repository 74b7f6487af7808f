//! What can be tried of an OCaml program. Owns its settings and today's values.

use super::knobs::*;
use crate::dialect::Words;
use crate::options::part::{Dimension, SpacePart};
use crate::options::start::counts;
use crate::plan::workers::Room;
use crate::plan::{Goal, KeptOption, Refused};
use crate::runtime::Wish;
use rtscope_model::runtimes::OcamlRelease;

/// Minor heaps in words, as powers of two: from 32k to 8M.
const MINOR: std::ops::RangeInclusive<u32> = 15..=23;
/// The minor heap of the third base, words.
const ROOMY: u64 = 4 << 20;

/// The settings; `template`: the command says where the number of domains goes.
pub fn part(wish: &Wish<'_>, room: &Room, ocaml: &Ocaml, template: bool) -> SpacePart {
    let five = ocaml.release != Some(OcamlRelease::Before5);
    let given = parameters(wish.program.given.variable(&DIALECT));
    let mut part = SpacePart { today: today(room, five), ..SpacePart::default() };
    let mut dimensions = vec![minor_heap(), overhead()];
    if five && !template {
        match ocaml.release {
            Some(OcamlRelease::From5_3) => dimensions.push(most_domains(room)),
            _ => part.refused.push(Refused {
                flag: "d".to_owned(),
                value: None,
                why: "The parameter came with OCaml 5.3.".to_owned(),
            }),
        }
    }
    for (letter, entry) in given {
        let Some(dimension) = dimensions.iter().position(|of| of.name.starts_with(letter)) else { continue };
        if let Some(what) = DIALECT.knob(entry) {
            part.today.insert(what, entry.to_owned());
        }
        if !wish.vary_given {
            dimensions.remove(dimension);
            let means = "It stays in every trial.".to_owned();
            part.kept.push(KeptOption { option: entry.to_owned(), from: DIALECT.variable(), means });
        }
    }
    if dimensions.iter().any(|of| of.what == &MINOR_HEAP) {
        let roomy = MINOR_HEAPS.choose(wish.plan.workers, ROOMY, wish.resources.memory_limit_bytes).size;
        part.roomy = Some((&MINOR_HEAP, MINOR_HEAP.word(words(roomy))));
    }
    part.dimensions = dimensions;
    part
}

fn today(room: &Room, five: bool) -> Words {
    let mut today = Words::from([(&MINOR_HEAP, MINOR_HEAP.word(words(MINOR_DEFAULT)))]);
    if five {
        today.insert(&OVERHEAD, "o=120".to_owned());
        today.insert(&MOST_DOMAINS, MOST_DOMAINS.word(room.cpus));
    }
    today
}

fn minor_heap() -> Dimension {
    let why = "Words that each domain allocates before all stop: a larger minor heap stops them less often, a smaller one \
               stays in the caches.";
    let product = MINOR.map(|power| MINOR_HEAP.word(words(1 << power))).collect();
    Dimension { product, ..Dimension::new(&MINOR_HEAP, "s", why) }
}

fn overhead() -> Dimension {
    let words = |values: &[u32]| values.iter().map(|value| OVERHEAD.word(value)).collect();
    let why = "Garbage that the major heap may hold, in percent of what is alive: memory for time.";
    Dimension { product: words(&[80, 200]), single: words(&[40, 400]), ..Dimension::new(&OVERHEAD, "o", why) }
}

/// On bases only: a program that starts a fixed number of domains fails with a lower limit, which
/// wastes the trial.
fn most_domains(room: &Room) -> Dimension {
    let counts = counts(room).into_iter().filter(|count| *count < room.cpus);
    let why = format!(
        "What Domain.recommended_domain_count answers, and the most that can be started: a program that starts more \
         fails and says so. {}",
        room.reason(Goal::Latency)
    );
    let single = counts.map(|count| MOST_DOMAINS.word(count)).collect();
    Dimension { single, ..Dimension::new(&MOST_DOMAINS, "d", why) }
}
