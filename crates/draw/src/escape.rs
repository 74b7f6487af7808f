//! Makes strings from outside (program arguments, process names) safe for HTML, SVG and JSON inside a script element.

use rtscope_model::text::clean_json;
use rtscope_model::text::{clean, shorten};
use std::borrow::Cow;

/// Longest string that is shown.
const LONGEST: usize = 600;

/// HTML entities and the characters that they replace, in the order of replacement.
const ENTITIES: [(&str, &str); 5] = [("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'")];

/// Escapes `text` for element content and quoted attributes.
pub fn escape(text: &str) -> Cow<'_, str> {
    let shown = match clean(text) {
        Cow::Borrowed(text) => shorten(text, LONGEST),
        Cow::Owned(text) => Cow::Owned(shorten(&text, LONGEST).into_owned()),
    };
    if !shown.contains(['&', '<', '>', '"', '\'']) {
        return shown;
    }
    Cow::Owned(ENTITIES.iter().fold(shown.into_owned(), |text, (entity, sign)| text.replace(sign, entity)))
}

/// Like [`escape`] for element content, but text between backticks becomes code.
pub fn marked(text: &str) -> String {
    let escaped = escape(text);
    let parts: Vec<&str> = escaped.split('`').collect();
    // An odd number of backticks: they do not pair up.
    if parts.len().is_multiple_of(2) {
        return escaped.into_owned();
    }
    let part = |(index, part): (usize, &&str)| {
        if index % 2 == 1 { format!("<code>{part}</code>") } else { (*part).to_owned() }
    };
    parts.iter().enumerate().map(part).collect()
}

/// Undoes [`escape`].
pub fn unescape(text: &str) -> String {
    ENTITIES.iter().rev().fold(text.to_owned(), |text, (entity, sign)| text.replace(entity, sign))
}

/// Makes JSON unable to end its script element or to open a comment.
pub fn json_in_script(json: &str) -> String {
    clean_json(json).replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_between_backticks_is_code() {
        assert_eq!(marked("call `f<x>` or `g`"), "call <code>f&lt;x&gt;</code> or <code>g</code>");
        assert_eq!(marked("one ` alone"), "one ` alone");
    }

    #[test]
    fn nothing_gets_out() {
        assert_eq!(escape("<a href='x'>\"&\x1b"), "&lt;a href=&#39;x&#39;&gt;&quot;&amp;\\u{1b}");
        assert_eq!(escape("plain"), "plain");
        assert!(escape(&"x".repeat(5000)).len() <= LONGEST);
        assert_eq!(json_in_script("\"</script><!--\""), "\"\\u003c/script\\u003e\\u003c!--\"");
    }
}
