//! What the YAML formats share: names, strings, comments. Owns quoting: whatever comes from outside is a
//! double-quoted string, which YAML and JSON read alike.

use rtscope_terminal::style::{clean, wrap};
use rtscope_tune::plan::Plan;

/// `text` as a YAML string.
pub fn string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// `text` as comment lines, indented.
pub fn comment(text: &str, indent: usize) -> String {
    let pad = " ".repeat(indent);
    wrap(&clean(text), 96 - indent).into_iter().map(|line| format!("{pad}# {line}\n")).collect()
}

/// Each flag with its reason, as comment lines.
pub fn reasons(plan: &Plan) -> String {
    plan.words().zip(&plan.flags).map(|(word, flag)| comment(&format!("{word}: {}", flag.reason), 0)).collect()
}

/// `text` as a name that Kubernetes, compose and systemd all accept: lower-case letters, digits and dashes, at
/// most 63.
pub fn name(text: &str) -> String {
    let letters = text.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' });
    let name: String = letters.skip_while(|c| *c == '-').take(63).collect();
    let name = name.trim_end_matches('-');
    if name.is_empty() { "prog".to_owned() } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_labels() {
        assert_eq!(name("My_Service.exe"), "my-service-exe");
        assert_eq!(name("-_-"), "prog");
        assert_eq!(name(&"x".repeat(80)).len(), 63);
    }

    #[test]
    fn comments_stay_comments() {
        assert_eq!(comment("a\nb: c", 2), "  # a b: c\n");
        assert_eq!(string("a\"b\n"), r#""a\"b\n""#);
    }
}
