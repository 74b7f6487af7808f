//! How values of options are written: times, sizes, numbers. Owns the errors for what is none of these.

use std::time::Duration;

/// `10ms`, `1s`, `1.5s`, `2m`, `1h`, `3 min 16 s`.
pub fn duration(text: &str) -> Result<Duration, String> {
    let seconds = seconds(text)?;
    if !(1e-3..=1e9).contains(&seconds) {
        return Err("it must be between 1ms and 30 years".to_owned());
    }
    Ok(Duration::from_secs_f64(seconds))
}

/// Parses a duration of any length, `500us` too, into seconds, which may be zero or negative.
pub fn seconds(text: &str) -> Result<f64, String> {
    let mut left = text.trim();
    let mut sum = 0.0;
    loop {
        let unit = left.find(|letter: char| letter.is_ascii_alphabetic()).unwrap_or(left.len());
        let (number, rest) = left.split_at(unit);
        let end = rest.find(|letter: char| !letter.is_ascii_alphabetic()).unwrap_or(rest.len());
        let (unit, rest) = rest.split_at(end);
        let factor = match unit {
            "us" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            "m" | "min" => 60.0,
            "h" => 3600.0,
            _ => return Err("give a number with a unit: 10ms, 1s, 2m, 1m30s".to_owned()),
        };
        sum += number.trim().parse::<f64>().map_err(|_| format!("{number:?} is no number"))? * factor;
        left = rest.trim_start();
        if left.is_empty() {
            return Ok(sum);
        }
    }
}

/// Parses a plain number, 0 or above.
pub fn number(text: &str) -> Result<f64, String> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    text.parse().ok().filter(|_| plain).ok_or_else(|| format!("{text:?} is no number"))
}

/// `64K`, `1.5G`, `512MiB`: bytes; at least 1 MiB, below which no GHC program is.
pub fn binary_size(text: &str) -> Result<u64, String> {
    let unit = text.find(|letter: char| letter.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(unit);
    let power = match unit {
        "K" | "KiB" => 10,
        "M" | "MiB" => 20,
        "G" | "GiB" => 30,
        "k" | "kB" | "KB" | "MB" | "GB" => {
            return Err(format!("{unit} is 1000s to some and 1024s to others: write K, M, G or KiB, MiB, GiB"));
        }
        _ => return Err("give a size with a unit: 64K, 512M, 1.5G, or KiB, MiB, GiB".to_owned()),
    };
    let number = number.trim();
    let bytes = number.parse::<f64>().map_err(|_| format!("{number:?} is no number"))? * f64::from(1_u32 << power);
    // 16 TiB and more is no real limit, and f64 is exact below.
    if !((1_u64 << 20) as f64..=(1_u64 << 44) as f64).contains(&bytes) {
        return Err("it must be between 1 MiB and 16 TiB".to_owned());
    }
    Ok(bytes as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        assert_eq!(duration("10ms"), Ok(Duration::from_millis(10)));
        assert_eq!(duration("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(duration("2m"), Ok(Duration::from_secs(120)));
        assert_eq!(duration("3 min 16 s"), Ok(Duration::from_secs(196)));
        assert_eq!(duration("1h1m30s"), Ok(Duration::from_secs(3690)));
        for wrong in ["", "5", "s", "0s", "-1s", "1e300h", "5 parsecs", "1m30", "1m s"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }
}
