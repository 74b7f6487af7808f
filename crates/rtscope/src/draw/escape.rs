//! Strings from outside (program arguments, process names) made safe for HTML,
//! SVG and for JSON inside a script element.

use crate::style::{clean, shorten};
use rtscope_model::text::clean_json;
use std::borrow::Cow;

/// Longest string that is shown.
const LONGEST: usize = 600;

/// `text` for element content and quoted attributes.
pub(crate) fn escape(text: &str) -> Cow<'_, str> {
    let shown = match clean(text) {
        Cow::Borrowed(text) => shorten(text, LONGEST),
        Cow::Owned(text) => Cow::Owned(shorten(&text, LONGEST).into_owned()),
    };
    if !shown.contains(['&', '<', '>', '"', '\'']) {
        return shown;
    }
    let mut out = String::with_capacity(shown.len() + 32);
    for c in shown.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// JSON that cannot end the script element it stands in, nor open a comment.
pub(crate) fn json_in_script(json: &str) -> String {
    clean_json(json).replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_gets_out() {
        assert_eq!(escape("<a href='x'>\"&\x1b"), "&lt;a href=&#39;x&#39;&gt;&quot;&amp;\\u{1b}");
        assert_eq!(escape("plain"), "plain");
        assert!(escape(&"x".repeat(5000)).len() <= LONGEST);
        assert_eq!(json_in_script("\"</script><!--\""), "\"\\u003c/script\\u003e\\u003c!--\"");
    }
}
