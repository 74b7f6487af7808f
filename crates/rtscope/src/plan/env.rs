//! A plan as NAME=VALUE lines, quoted so that a shell, systemd and compose read the
//! same, and the quoting itself for whoever writes commands.

use super::Planned;

/// One line for each variable; nothing where there is none.
pub fn render(planned: &Planned) -> String {
    planned.plan.env.iter().map(|(name, value)| format!("{name}={}\n", quoted(value))).collect()
}

pub use rtscope_model::text::quoted;

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn words_come_out_of_a_shell_as_they_went_in() {
        for text in ["-N4", "-N4 -A16m", "d=4,s=1M", "", "it's $HOME `x` \"y\" \\", "a\nb"] {
            let done = std::process::Command::new("sh").args(["-c", &format!("printf %s {}", quoted(text))]).output();
            assert_eq!(String::from_utf8(done.unwrap().stdout).unwrap(), text);
        }
        assert_eq!(quoted("d=4,s=1M"), "d=4,s=1M", "what needs no quotes is read by docker's env-file as well");
    }
}
