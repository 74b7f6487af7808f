//! A command in one text. Owns how it is split into words; refuses everything else that shells do.

/// Splits at spaces; single and double quotes keep what is between them.
///
/// # Errors
/// A quote is not closed.
pub fn split(text: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in text.chars() {
        match quote {
            Some(end) if c == end => quote = None,
            Some(_) => word.get_or_insert_default().push(c),
            None if c == '\'' || c == '"' => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            None if c.is_whitespace() => words.extend(word.take()),
            None => word.get_or_insert_default().push(c),
        }
    }
    if quote.is_some() {
        return Err("a quote is not closed".into());
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn quotes_keep_words_together() {
        assert_eq!(split("  a 'b c'd  \"e ' f\" '' ").unwrap(), ["a", "b cd", "e ' f", ""]);
        assert!(split("a 'b").is_err() && split("").unwrap().is_empty());
    }
}
