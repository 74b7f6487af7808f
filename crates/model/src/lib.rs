//! The vocabulary of rtscope, shared by all other crates.
//!
//! Owns the terms (time, lanes, events, pauses, findings, losses, the capture manifest) and their invariants. Refuses
//! I/O, decoding, and any knowledge of how a particular runtime writes its records.
#![forbid(unsafe_code)]

/// Defines an enum with the list of its variants, `ALL`, and a method with the name after the colon, which returns
/// the text given for each variant.
#[macro_export]
macro_rules! listed {
    ($(#[$meta:meta])* $vis:vis enum $name:ident { $($(#[$doc:meta])* $variant:ident,)* }) => {
        $(#[$meta])*
        $vis enum $name { $($(#[$doc])* $variant,)* }

        impl $name {
            /// All variants, in the order of declaration.
            pub const ALL: [$name; [$(stringify!($variant)),*].len()] = [$($name::$variant),*];
        }
    };
    ($(#[$meta:meta])* $vis:vis enum $name:ident: $word:ident {
        $($(#[$doc:meta])* $variant:ident = $text:literal,)*
    }) => {
        $crate::listed! { $(#[$meta])* $vis enum $name { $($(#[$doc])* $variant,)* } }

        impl $name {
            /// The text of the variant.
            pub fn $word(self) -> &'static str {
                match self {
                    $($name::$variant => $text,)*
                }
            }
        }
    };
}

pub mod account;
pub mod chance;
pub mod code;
pub mod event;
pub mod exported;
pub mod finding;
pub mod heap_profile;
pub mod ids;
pub mod lane_state;
pub mod loss;
pub mod manifest;
pub mod names;
pub mod options;
pub mod pause;
pub mod program;
pub mod purpose;
pub mod request;
pub mod resources;
pub mod runtime;
mod runtime_info;
pub mod runtimes;
pub mod setting;
pub mod stm;
pub mod text;
pub mod time;
pub mod units;
pub mod waits;

pub use account::{Account, LaneAccount, Node};
pub use code::{CodeKind, CodeSample, Found, Symbol, SymbolId, Symbols};
pub use event::{
    BlockedOn, Body, Class, Classes, Counter, Event, OffState, Phase, Runtime, Sample, Sched, StopReason, UserEvent,
};
pub use exported::{Exported, TypeCount};
pub use finding::{Advice, Claim, Confidence, Evidence, Figure, Finding, Metric, Remedy, Severity, Trend};
pub use heap_profile::{Breakdown, HeapProfile};
pub use ids::{Cpu, GreenThread, GroupId, LaneId, Pid, Tid};
pub use lane_state::LaneState;
pub use loss::{Loss, LossKind};
pub use names::{NameId, Names};
pub use pause::{Cause, CausePiece, LanePause, Pause, PauseKind, PauseMode, PauseQuality, ReleaseBasis};
pub use program::{Link, Refusal, Rtsopts, SchedPolicy, Version};
pub use purpose::{PurposeClass, PurposeId, Role};
pub use resources::Resources;
pub use runtime::RuntimeInfo;
pub use runtimes::heap;
pub use setting::Setting;
pub use stm::{STM_COUNTS, STM_SHARED_LANE, StmCounts, StmLine, StmNamed, StmSeen};
pub use time::{ClockMap, ClockMethod, LogTime, Time};
pub use waits::{Doing, Holder, OldObjects, TextId, WaitGroup, WaitKind, WaitLine, WaitLook, WaitSeen};
