//! Sums over slices of time of equal width. Owns that the width doubles when there are too many slices, so that
//! memory does not depend on a run's length. Refuses to know where the first slice begins.

/// Merges two adjacent slices into one.
pub trait Join: Copy + Default {
    fn join(&mut self, later: &Self);
}

/// At most `MAX` slices, initially of `WIDTH_NS` nanoseconds.
#[derive(Clone, Debug)]
pub struct Slices<T, const MAX: usize, const WIDTH_NS: u64> {
    pub width_ns: u64,
    slices: Vec<T>,
}

impl<T, const MAX: usize, const WIDTH_NS: u64> Default for Slices<T, MAX, WIDTH_NS> {
    fn default() -> Self {
        Slices { width_ns: WIDTH_NS, slices: Vec::new() }
    }
}

impl<T: Join, const MAX: usize, const WIDTH_NS: u64> Slices<T, MAX, WIDTH_NS> {
    /// Slices from the first to the last one in use, each with its start in nanoseconds after the first.
    pub fn all(&self) -> impl Iterator<Item = (u64, &T)> {
        (0..).zip(&self.slices).map(|(number, slice)| (self.width_ns.saturating_mul(number), slice))
    }

    /// The slices up to the one that contains the moment `ns` after the start of the first.
    pub fn until(&mut self, ns: u64) -> &mut [T] {
        while ns / self.width_ns >= MAX as u64 {
            self.width_ns = self.width_ns.saturating_mul(2);
            let join = |pair: &[T]| {
                let mut joined = T::default();
                pair.iter().for_each(|slice| joined.join(slice));
                joined
            };
            self.slices = self.slices.chunks(2).map(join).collect();
        }
        let last = (ns / self.width_ns) as usize;
        if self.slices.len() <= last {
            self.slices.resize(last + 1, T::default());
        }
        self.slices.get_mut(..=last).unwrap_or_default()
    }
}
