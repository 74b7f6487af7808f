//! A plan as a drop-in for a systemd service. Owns quoting as systemd reads it.

use super::{Planned, yaml};

/// The drop-in.
pub fn render(planned: &Planned) -> String {
    let plan = &planned.plan;
    let name = yaml::name(&planned.name());
    let mut out = format!("# /etc/systemd/system/{name}.service.d/rtscope.conf, then `systemctl daemon-reload`\n");
    out += &yaml::reasons(plan);
    out += "[Service]\n";
    for (name, value) in &plan.env {
        out += &format!("Environment={}\n", quoted(&format!("{name}={value}")));
    }
    if plan.env.is_empty() {
        out += "# No flags: `rtscope plan` says why.\n";
    }
    if let Some(cpus) = &plan.cpus {
        let cpus: Vec<String> = cpus.iter().map(u32::to_string).collect();
        out += &format!("# One CPU of each core.\nCPUAffinity={}\n", cpus.join(" "));
    }
    out
}

/// An assignment in double quotes; everything that systemd interprets is escaped.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '%' => out.push_str("%%"),
            '\n' => out.push_str("\\n"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn nothing_in_a_value_acts() {
        assert_eq!(quoted("GHCRTS=-N4 -A16m"), "\"GHCRTS=-N4 -A16m\"");
        assert_eq!(quoted("A=\"%h\\\n"), "\"A=\\\"%%h\\\\\\n\"");
    }
}
