//! Sets of CPUs as the kernel writes them: lists (`0-3,8`) and masks
//! (`ff,00000001`). Refuses what it cannot parse completely, and numbers that no
//! kernel has, so that `0-4294967295` costs nothing.

/// One more than the largest accepted CPU number.
pub const CPUS_MAX: u32 = 1 << 16;

/// Numbers accepted in one list, repetitions counted.
const NUMBERS_MAX: usize = 4 * CPUS_MAX as usize;

/// Why a text is not a set of CPUs.
#[derive(Clone, Eq, PartialEq, Debug, thiserror::Error)]
pub enum BadList {
    /// A part that is neither a number nor a range.
    #[error("`{0}` is no CPU number or range")]
    NotANumber(String),
    /// A range that ends before it begins.
    #[error("the range `{0}` runs backwards")]
    Backwards(String),
    /// A number above what any kernel can have.
    #[error("`{0}` is beyond CPU {max}", max = CPUS_MAX - 1)]
    TooLarge(String),
    /// More numbers than there can be CPUs.
    #[error("it names more CPUs than there can be")]
    TooMany,
}

/// The CPUs of a list, ascending; an empty text is an empty list.
pub fn parse(text: &str) -> Result<Vec<u32>, BadList> {
    let mut cpus = Vec::new();
    let text = text.trim();
    for part in text.split(',').map(str::trim).filter(|_| !text.is_empty()) {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let (from, to) = (number(from, part)?, number(to, part)?);
        if from > to {
            return Err(BadList::Backwards(quoted(part)));
        }
        cpus.extend(from..=to);
        if cpus.len() > NUMBERS_MAX {
            return Err(BadList::TooMany);
        }
    }
    cpus.sort_unstable();
    cpus.dedup();
    Ok(cpus)
}

fn number(text: &str, part: &str) -> Result<u32, BadList> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(BadList::NotANumber(quoted(part)));
    }
    text.parse().ok().filter(|cpu| *cpu < CPUS_MAX).ok_or_else(|| BadList::TooLarge(quoted(part)))
}

/// The CPUs of a mask in groups of 32 bits, the highest first.
pub fn parse_mask(text: &str) -> Result<Vec<u32>, BadList> {
    let groups: Vec<&str> = text.trim().split(',').collect();
    if groups.len() > CPUS_MAX as usize / 32 {
        return Err(BadList::TooMany);
    }
    let mut cpus = Vec::new();
    for (index, group) in (0u32..).zip(groups.iter().rev()) {
        let hex = !group.is_empty() && group.len() <= 8 && group.bytes().all(|byte| byte.is_ascii_hexdigit());
        let bits = u32::from_str_radix(group, 16).ok().filter(|_| hex);
        let bits = bits.ok_or_else(|| BadList::NotANumber(quoted(group)))?;
        cpus.extend((0..32).filter(|bit| bits >> bit & 1 == 1).map(|bit| index * 32 + bit));
    }
    Ok(cpus)
}

/// Formats ascending `cpus` as the kernel would.
pub fn show(cpus: &[u32]) -> String {
    let runs = cpus.chunk_by(|one, next| one.checked_add(1) == Some(*next));
    let parts: Vec<String> = runs
        .filter_map(|run| match run {
            [] => None,
            [one] => Some(one.to_string()),
            [first, .., last] => Some(format!("{first}-{last}")),
        })
        .collect();
    parts.join(",")
}

/// The start of an arbitrary text, for a message.
fn quoted(text: &str) -> String {
    text.chars().take(24).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_and_written_alike() {
        for text in ["0", "0-2,5", "1023-1026", "8191", ""] {
            assert_eq!(show(&parse(text).unwrap()), text);
        }
        assert_eq!(parse(" 3,0-1, 1 \n").unwrap(), [0, 1, 3]);
    }

    #[test]
    fn what_is_no_list_is_refused_whole() {
        assert_eq!(parse("0-"), Err(BadList::NotANumber("0-".into())));
        assert_eq!(parse("x,3"), Err(BadList::NotANumber("x".into())));
        assert_eq!(parse("+1"), Err(BadList::NotANumber("+1".into())));
        assert_eq!(parse("1,,2"), Err(BadList::NotANumber(String::new())));
        assert_eq!(parse("5-2"), Err(BadList::Backwards("5-2".into())));
        assert_eq!(parse("0-4294967295"), Err(BadList::TooLarge("0-4294967295".into())));
        assert_eq!(parse("0-99999999999999999999"), Err(BadList::TooLarge("0-99999999999999999999".into())));
        assert_eq!(parse(&"0-65535,".repeat(1000)), Err(BadList::TooMany));
    }

    #[test]
    fn masks_count_from_the_right() {
        assert_eq!(parse_mask("3\n").unwrap(), [0, 1]);
        assert_eq!(parse_mask("00000001,80000000").unwrap(), [31, 32]);
        assert_eq!(parse_mask(&format!("1{}", ",00000000".repeat(40))).unwrap(), [1280]);
        assert!(parse_mask("").is_err() && parse_mask("0x3").is_err() && parse_mask("123456789").is_err());
        assert_eq!(parse_mask(&"1,".repeat(5000)), Err(BadList::TooMany));
    }
}
