//! Random streams for parts of a study. Owns how the seed and the place where randomness is needed
//! form a stream's seed, so that no stream depends on earlier draws.

use rtscope_model::chance::Chance;

/// The stream of `seed` at the place named by `parts`.
pub fn at(seed: u64, parts: &[u64]) -> Chance {
    Chance::new(parts.iter().fold(mixed(seed), |state, part| mixed(state ^ mixed(*part))))
}

/// Spreads adjacent values far apart (the finaliser of splitmix64, Steele and others 2014).
fn mixed(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::at;

    #[test]
    fn neighbours_have_streams_of_their_own() {
        let first = |seed, parts: &[u64]| at(seed, parts).below(1 << 40);
        assert_eq!(first(1, &[2, 3]), first(1, &[2, 3]));
        let places = [first(1, &[2, 3]), first(1, &[3, 2]), first(2, &[2, 3]), first(1, &[2]), first(1, &[])];
        assert!(places.iter().enumerate().all(|(index, value)| !places[..index].contains(value)), "{places:?}");
        let low = (0..4_000).filter(|block| at(7, &[*block]).below(8) == 0).count();
        assert!((400..600).contains(&low), "{low} of 4000 are the first of eight");
    }
}
