//! A plan as NAME=VALUE lines, quoted so that a shell, systemd and compose read them alike.

use super::Planned;
use rtscope_model::text::quoted;

/// One line per variable; empty if there are none.
pub fn render(planned: &Planned) -> String {
    planned.plan.env.iter().map(|(name, value)| format!("{name}={}\n", quoted(value))).collect()
}
