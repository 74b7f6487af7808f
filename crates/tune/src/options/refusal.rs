//! Condenses what GHC's runtime printed when it refused into one sentence. Owns the format of its messages.

/// Longest sentence, characters.
const LONGEST: usize = 300;

/// The first message in `stderr`, a program's standard error; `None`: it is empty.
pub fn sentence(stderr: &str) -> Option<String> {
    let mut lines = stderr.lines().map(str::trim_end);
    let first = lines.by_ref().find(|line| !without_name(line).is_empty())?;
    let mut sentence = without_name(first).to_owned();
    // Continuation lines start at the margin and without the program's name.
    let more = lines.take_while(|line| line.starts_with(char::is_alphanumeric) && without_name(line) == *line);
    for line in more.take(2) {
        sentence.push(' ');
        sentence.push_str(line);
    }
    Some(sentence.chars().take(LONGEST).collect())
}

/// Strips the program's name from `prog: words`, and the runtime's prefix for its own errors.
fn without_name(line: &str) -> &str {
    let line = line.strip_prefix("internal error: ").unwrap_or(line);
    match line.split_once(':') {
        Some((name, rest)) if !name.is_empty() && !name.contains(' ') => rest.trim_start(),
        _ => line.trim_start(),
    }
}

#[cfg(test)]
mod tests {
    use super::sentence;

    #[test]
    fn messages_of_the_runtime_are_one_sentence() {
        for (stderr, wanted) in [
            (
                "mill: The non-moving collector cannot be used in conjunction with\nthe compacting collector.\nmill: \nmill: Usage: <prog>",
                "The non-moving collector cannot be used in conjunction with the compacting collector.",
            ),
            (
                "internal error: The non-moving collector doesn't support -G1\n    (GHC version 9.0.2)\n    Please report this",
                "The non-moving collector doesn't support -G1",
            ),
            (
                "p: the flag -N2 requires the program to be built with -threaded\np: \np: Usage: x",
                "the flag -N2 requires the program to be built with -threaded",
            ),
            ("\n\nno colon at all\n", "no colon at all"),
            ("a message: with a colon", "a message: with a colon"),
        ] {
            assert_eq!(sentence(stderr).as_deref(), Some(wanted));
        }
        assert_eq!((sentence(""), sentence("p: \n \n")), (None, None));
        assert_eq!(sentence(&"x".repeat(10_000)).map(|text| text.len()), Some(300));
    }
}
