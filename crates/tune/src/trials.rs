//! The order in which configurations are tried. Owns the design: whole blocks, in each of which every
//! configuration runs once, so that a slow spell of the machine affects all of them alike.

use rtscope_model::chance::Chance;

/// `blocks` permutations of the numbers below `configurations`; `seed` determines each order.
pub fn blocks(configurations: usize, blocks: usize, seed: u64) -> Vec<Vec<usize>> {
    let mut chance = Chance::new(seed);
    let mut block = || {
        let mut order: Vec<usize> = (0..configurations).collect();
        chance.shuffle(&mut order);
        order
    };
    (0..blocks).map(|_| block()).collect()
}

#[cfg(test)]
mod tests {
    use super::blocks;

    #[test]
    fn each_block_has_every_configuration_once() {
        let made = blocks(9, 6, 5);
        assert_eq!((made.len(), blocks(9, 6, 5) == made, blocks(9, 6, 6) == made), (6, true, false));
        for block in &made {
            let mut sorted = block.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..9).collect::<Vec<_>>());
        }
        assert!(made.windows(2).any(|pair| pair[0] != pair[1]));
    }
}
