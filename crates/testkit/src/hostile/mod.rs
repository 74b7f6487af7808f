//! Random hostile targets and captures against every command that takes one: shared by the root tier
//! and the slow tier. Owns the seed, the world of a draw (root's secrets, the other user's folder) and
//! what must hold after each run; [`processes`] and [`captures`] own what is drawn.
//!
//! A draw depends only on its seed, apart from the machine's timing: `RTSCOPE_SEED=N RTSCOPE_DRAWS=1`
//! repeats one. Consecutive seeds go through all commands, names and kinds.

pub mod captures;
pub mod processes;
pub mod run;
pub mod world;

pub use world::{OTHER, SECRET, SECRET_BEGINS};

use std::hash::{BuildHasher, RandomState};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use xtask::missing;
use xtask::toolchain::is_root;

/// Draws that run in parallel: each mostly waits.
const WORKERS: u64 = 2;
/// Escape sequences that move the cursor, set the title or erase; C0 and C1.
pub const ESCAPES: &str = "\u{1b}[31m\u{1b}]0;x\u{7}\r\u{9b}2J";

/// Pseudo-random numbers from a seed (SplitMix64).
pub struct Random(u64);

impl Random {
    /// The generator for `seed`.
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// A random number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }

    /// A random element of `all`.
    pub fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }

    /// True with a probability of 1 in `times`.
    pub fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }
}

/// The element of `all` for `seed`: consecutive seeds go through all of them.
pub fn in_turn<T: Copy>(all: &[T], seed: u64) -> T {
    all[(seed % all.len() as u64) as usize]
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
}

/// Makes `usual` draws, or as many as the environment says: `one` returns a draw's description and its
/// faults. Panics with all draws that had faults.
pub fn draw(usual: u64, one: impl Fn(u64) -> (String, Vec<String>) + Sync) {
    if !is_root() {
        return missing("root, to run as another user");
    }
    if run::tools().is_none() {
        return;
    }
    let seed = number("RTSCOPE_SEED").unwrap_or_else(|| RandomState::new().hash_one(0) >> 40);
    let draws = number("RTSCOPE_DRAWS").unwrap_or(usual);
    println!("RTSCOPE_SEED={seed} RTSCOPE_DRAWS={draws}");
    let (next, broken) = (AtomicU64::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= draws {
                        return;
                    }
                    let seed = seed + index;
                    let (what, faults) = one(seed);
                    if !faults.is_empty() {
                        println!("RTSCOPE_SEED={seed} {what}\n    {}", faults.join("\n    "));
                        broken.lock().unwrap().push(seed);
                    }
                }
            });
        }
    });
    let mut broken: Vec<u64> = broken.into_inner().unwrap();
    broken.sort_unstable();
    assert!(broken.is_empty(), "{} of {draws} draws from seed {seed} broke something: {broken:?}", broken.len());
}
