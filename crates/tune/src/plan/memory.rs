//! Which sizes stay within their share of memory. Owns the choice; each runtime defines its sizes.

use rtscope_model::resources::Resources;

/// Possible sizes of one worker's part of the young generation.
#[derive(Copy, Clone, Debug)]
pub struct Sizes {
    /// Sizes that a plan may use, largest first.
    pub planned: &'static [u64],
    /// Bytes per unit of size.
    pub unit: u64,
    /// All workers together use at most this fraction of memory.
    pub part: u64,
}

/// The chosen size, and whether it stays within its share of memory.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Choice {
    /// The chosen size.
    pub size: u64,
    /// No size fits: this is the smallest.
    pub too_large: bool,
    /// Memory limited the size to less than was wanted.
    pub for_memory: bool,
}

impl Sizes {
    /// The largest size that is at most `wanted` and, for all `workers` together, stays within the share.
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

    /// Whether `size` for each of `workers` stays within the share.
    pub fn fit(&self, workers: u32, size: u64, memory: Option<u64>) -> bool {
        let factor = u64::from(workers) * self.unit * self.part;
        memory.is_none_or(|memory| size.saturating_mul(factor) <= memory)
    }

    /// The other `sizes` that stay within the share.
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
    /// The limit in words: "at most a fifth of the 16 GiB of memory".
    pub fn share(&self, part: &str, of: &str) -> String {
        match (self.too_large, self.for_memory) {
            (true, _) => format!("even that is more than {part} of {of}"),
            (_, true) => format!("the next larger size would be more than {part} of {of}"),
            _ => format!("at most {part} of {of}"),
        }
    }

    /// The source of the memory size.
    pub fn source(&self, resources: &Resources) -> String {
        let path = resources.memory_limit_path.as_deref().unwrap_or("no figure for memory");
        if self.for_memory { path.to_owned() } else { format!("rule of thumb, {path}") }
    }
}
