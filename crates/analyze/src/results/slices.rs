//! Sums over slices of time of one width. Owns that the width doubles where there would be too many, so that memory
//! does not depend on a run's length. Refuses to know where the first slice begins.

/// What two slices that become one come to.
pub trait Join: Copy + Default {
    fn join(&mut self, later: &Self);
}

/// At most `MAX` slices, of `WIDTH_NS` nanoseconds at first.
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
    /// Those from the first on as far as one holds something, each with when it begins, nanoseconds after the first.
    pub fn all(&self) -> impl Iterator<Item = (u64, &T)> {
        (0..).zip(&self.slices).map(|(number, slice)| (self.width_ns.saturating_mul(number), slice))
    }

    /// The slices up to the one in which the moment `ns` after the beginning of the first lies: that is the last.
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
