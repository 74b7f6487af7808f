//! Which sizes keep to their share of memory. Owns the choice; the sizes are each runtime's.

use rtscope_model::resources::Resources;

/// Sizes that one worker's part of the young heap may have.
#[derive(Copy, Clone, Debug)]
pub struct Sizes {
    /// Those that are planned, largest first.
    pub planned: &'static [u64],
    /// Bytes in one of them.
    pub unit: u64,
    /// All workers' together take at most this part of memory.
    pub part: u64,
}

/// The size that was chosen, and whether it keeps to its share of memory.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Choice {
    /// The size.
    pub size: u64,
    /// No size fitted: this is the smallest.
    pub too_large: bool,
    /// Memory, not what was wanted, decided.
    pub for_memory: bool,
}

impl Sizes {
    /// The largest that is at most `wanted` and, for each of `workers`, keeps to its share.
    pub fn choose(&self, workers: u32, wanted: u64, memory: Option<u64>) -> Choice {
        let mut wanted = self.planned.iter().copied().filter(|size| *size <= wanted);
        let first = wanted.clone().next();
        let chosen = wanted.find(|size| self.fit(workers, *size, memory));
        let smallest = self.planned.last().copied().unwrap_or_default();
        Choice {
            size: chosen.unwrap_or(smallest),
            too_large: chosen.is_none(),
            for_memory: chosen.is_none() || chosen != first,
        }
    }

    /// Whether `size` for each of `workers` keeps to its share.
    pub fn fit(&self, workers: u32, size: u64, memory: Option<u64>) -> bool {
        let factor = u64::from(workers) * self.unit * self.part;
        memory.is_none_or(|memory| size.saturating_mul(factor) <= memory)
    }

    /// Those of `sizes` that are not the planned one and keep to their share.
    pub fn others(
        &self,
        sizes: impl Iterator<Item = u64>,
        workers: u32,
        planned: u64,
        memory: Option<u64>,
    ) -> Vec<u64> {
        sizes.filter(|size| *size != planned && self.fit(workers, *size, memory)).collect()
    }
}

impl Choice {
    /// How that fits: "at most a fifth of the 16 GiB of memory".
    pub fn share(&self, part: &str, of: &str) -> String {
        match (self.too_large, self.for_memory) {
            (true, _) => format!("even that is more than {part} of {of}"),
            (_, true) => format!("the next larger size would be more than {part} of {of}"),
            _ => format!("at most {part} of {of}"),
        }
    }

    /// Where the size is from.
    pub fn source(&self, resources: &Resources) -> String {
        let path = resources.memory_limit_path.as_deref().unwrap_or("no figure for memory");
        if self.for_memory { path.to_owned() } else { format!("rule of thumb, {path}") }
    }
}
