//! Names of threads as the kernel has them: at most 16 bytes. Owns turning them into ids of a bounded [`Names`] table.

use rtscope_model::{NameId, Names};
use std::collections::HashMap;

/// Limit of distinct names; later ones become empty. A machine has hundreds; hostile bytes could have one per record.
const KEPT: usize = 1 << 16;

/// A table of thread names.
#[derive(Clone, Debug, Default)]
pub struct NameTable {
    pub names: Names,
    index: HashMap<Box<[u8]>, NameId>,
}

impl NameTable {
    /// The id of `comm`; that of the empty name if the table is full.
    pub fn intern(&mut self, comm: &[u8]) -> NameId {
        if let Some(id) = self.index.get(comm) {
            return *id;
        }
        if self.index.len() >= KEPT {
            return NameId(0);
        }
        let id = self.names.intern(&String::from_utf8_lossy(comm));
        self.index.insert(comm.into(), id);
        id
    }
}
