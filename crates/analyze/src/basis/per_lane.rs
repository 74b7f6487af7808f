//! A map with one value per lane. Owns its costs: every event of a log looks up a lane, so that takes constant time
//! whatever the lane's number. Iteration follows the numbers. Memory is reused after the map is emptied.

use rtscope_model::LaneId;

/// A map from lanes to values.
pub struct PerLane<T> {
    slots: Vec<Option<T>>,
    /// Lanes with a value, sorted.
    there: Vec<LaneId>,
}

impl<T> Default for PerLane<T> {
    fn default() -> Self {
        PerLane { slots: Vec::new(), there: Vec::new() }
    }
}

impl<T> PerLane<T> {
    /// The value of `lane`.
    pub fn get(&self, lane: LaneId) -> Option<&T> {
        self.slots.get(usize::from(lane.0))?.as_ref()
    }

    /// The value of `lane`, mutable.
    pub fn get_mut(&mut self, lane: LaneId) -> Option<&mut T> {
        self.slots.get_mut(usize::from(lane.0))?.as_mut()
    }

    /// The number of lanes with a value.
    pub(crate) fn len(&self) -> usize {
        self.there.len()
    }

    /// All lanes with their values, by lane number.
    pub fn iter(&self) -> impl Iterator<Item = (LaneId, &T)> {
        self.there.iter().filter_map(|lane| Some((*lane, self.get(*lane)?)))
    }

    /// All values, by lane number.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.iter().map(|(_, value)| value)
    }

    /// Calls `change` for each lane.
    pub fn change(&mut self, mut change: impl FnMut(LaneId, &mut T)) {
        for lane in &self.there {
            if let Some(value) = self.slots.get_mut(usize::from(lane.0)).and_then(Option::as_mut) {
                change(*lane, value);
            }
        }
    }

    /// Takes all values out.
    pub fn drain(&mut self) -> impl Iterator<Item = (LaneId, T)> {
        let slots = &mut self.slots;
        self.there.drain(..).filter_map(|lane| Some((lane, slots.get_mut(usize::from(lane.0))?.take()?)))
    }
}

impl<T: Default> PerLane<T> {
    /// The value of `lane`, created if missing.
    pub fn of(&mut self, lane: LaneId) -> &mut T {
        let place = usize::from(lane.0);
        if self.slots.len() <= place {
            self.slots.resize_with(place + 1, || None);
        }
        let slot = &mut self.slots[place];
        if slot.is_none() {
            let before = self.there.partition_point(|known| *known < lane);
            self.there.insert(before, lane);
        }
        slot.get_or_insert_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_come_in_order_and_go_when_they_are_taken() {
        let mut lanes = PerLane::<u32>::default();
        for lane in [7, 2, 65_534, 2, 0] {
            *lanes.of(LaneId(lane)) += 1;
        }
        lanes.change(|lane, count| *count += 10 * u32::from(lane == LaneId(7)));
        let all: Vec<(u16, u32)> = lanes.iter().map(|(lane, count)| (lane.0, *count)).collect();
        assert_eq!(all, [(0, 1), (2, 2), (7, 11), (65_534, 1)]);
        assert_eq!((lanes.len(), lanes.get(LaneId(1)), lanes.get(LaneId(2))), (4, None, Some(&2)));
        assert_eq!(lanes.get_mut(LaneId(65_535)), None);
        assert_eq!(lanes.drain().map(|(lane, _)| lane.0).collect::<Vec<_>>(), [0, 2, 7, 65_534]);
        assert_eq!((lanes.len(), lanes.get(LaneId(7))), (0, None));
        assert_eq!(lanes.of(LaneId(7)), &mut 0);
    }
}
