//! Figures for display: at most three digits, followed by the unit. Owns rounding; every text and page formats
//! its figures here.

/// A duration in nanoseconds: "640 ns", "16 us", "71.6 ms", "2.01 s", "3 min 20 s".
pub fn duration(ns: u64) -> String {
    let value = ns as f64;
    match ns {
        0 => "0".into(),
        1..1_000 => format!("{ns} ns"),
        1_000..9_950 => format!("{:.1} us", value / 1e3),
        9_950..999_500 => format!("{:.0} us", value / 1e3),
        999_500..999_500_000 => format!("{} ms", three_digits(value / 1e6)),
        999_500_000..119_500_000_000 => format!("{} s", three_digits(value / 1e9)),
        _ => long_duration((value / 1e9).round() as u64),
    }
}

fn three_digits(value: f64) -> String {
    if value < 9.995 {
        format!("{value:.2}")
    } else if value < 99.95 {
        format!("{value:.1}")
    } else {
        format!("{value:.0}")
    }
}

fn long_duration(seconds: u64) -> String {
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    if hours >= 2 {
        format!("{hours} h {minutes:02} min")
    } else {
        format!("{} min {:02} s", seconds / 60, seconds % 60)
    }
}

/// A duration, or a dash if it is unknown.
pub fn duration_or_dash(ns: Option<u64>) -> String {
    ns.map_or_else(|| "-".into(), duration)
}

/// A round number of nanoseconds without needless digits: "20 ms", "0.5 s".
pub fn tick_label(ns: f64) -> String {
    let (value, unit) = match ns {
        ns if ns < 1e3 => (ns, "ns"),
        ns if ns < 1e6 => (ns / 1e3, "us"),
        ns if ns < 1e9 => (ns / 1e6, "ms"),
        ns => (ns / 1e9, "s"),
    };
    format!("{} {unit}", trimmed(&format!("{value:.2}")))
}

/// Bytes, in powers of 1024: "512 B", "9.6 MiB", "84 MiB", "1.2 GiB".
pub fn bytes(count: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if count < 1024 {
        return format!("{count} B");
    }
    let mut value = count as f64 / 1024.0;
    let mut unit = UNITS[0];
    for next in &UNITS[1..] {
        if value < 1023.5 {
            break;
        }
        value /= 1024.0;
        unit = next;
    }
    if value < 9.95 { format!("{value:.1} {unit}") } else { format!("{value:.0} {unit}") }
}

/// A rate in bytes: "559 MiB/s".
pub fn bytes_per_second(rate: f64) -> String {
    format!("{}/s", bytes(rate.max(0.0) as u64))
}

/// A share, 0 to 1, in per cent: "88 %", "6.7 %", "< 0.1 %". Never rounds up to 100 or down to 0.
pub fn percent(share: f64) -> String {
    let value = share * 100.0;
    if !value.is_finite() {
        "-".into()
    } else if value <= 0.0 {
        "0 %".into()
    } else if value < 0.1 {
        "< 0.1 %".into()
    } else if value < 9.95 {
        format!("{value:.1} %")
    } else if value > 99.0 && value < 100.0 {
        "> 99 %".into()
    } else {
        format!("{value:.0} %")
    }
}

/// The share of `part` in `whole`, in per cent.
pub fn percent_of(part: u64, whole: u64) -> String {
    if whole == 0 { "-".into() } else { percent(part as f64 / whole as f64) }
}

/// A number of CPUs without needless digits: "2", "0.5". Quotas can be small fractions.
pub fn cpus(count: f64) -> String {
    trimmed(&format!("{count:.3}"))
}

/// A number of CPUs with the unit: "2.5 CPUs", "1 CPU".
pub fn of_cpus(count: f64) -> String {
    let text = cpus(count);
    let word = if text == "1" { "CPU" } else { "CPUs" };
    format!("{text} {word}")
}

fn trimmed(text: &str) -> String {
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A count with separators: "103,060".
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A count with its noun: "1 pause", "12 pauses".
pub fn counted(value: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(value), if value == 1 { one } else { many })
}

/// A rate per second: "280", "6.2", "0.03".
pub fn rate(per_second: f64) -> String {
    if !per_second.is_finite() {
        "-".into()
    } else if per_second >= 9.95 {
        count(per_second.round() as u64)
    } else if per_second >= 0.095 {
        format!("{per_second:.1}")
    } else {
        format!("{per_second:.2}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_three_digits_at_most() {
        for (ns, text) in [
            (0, "0"),
            (640, "640 ns"),
            (4_249, "4.2 us"),
            (9_960, "10 us"),
            (16_000, "16 us"),
            (999_499, "999 us"),
            (999_600, "1.00 ms"),
            (71_600_000, "71.6 ms"),
            (347_000_000, "347 ms"),
            (999_700_000, "1.00 s"),
            (2_010_000_000, "2.01 s"),
            (9_996_000_000, "10.0 s"),
            (200_000_000_000, "3 min 20 s"),
            (3 * 3_600_000_000_000, "3 h 00 min"),
            (u64::MAX, "5124095 h 34 min"),
        ] {
            assert_eq!(duration(ns), text);
        }
    }

    #[test]
    fn ticks_have_no_needless_digits() {
        assert_eq!(tick_label(5e8), "500 ms");
        assert_eq!(tick_label(2.5e9), "2.5 s");
        assert_eq!(tick_label(2e4), "20 us");
    }

    #[test]
    fn what_a_log_counts_in_bytes_is_not_shown_in_thousands() {
        // 100 million words of 8 bytes, 10 million byte strings of 32.
        assert_eq!((bytes(800_000_000), bytes(320_000_000)), ("763 MiB".into(), "305 MiB".into()));
        // A "kB" figure of /proc, which is in KiB.
        assert_eq!(bytes(1_929_380 * 1024), "1.8 GiB");
    }

    #[test]
    fn bytes_are_binary() {
        for (value, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1536, "1.5 KiB"),
            (84 << 20, "84 MiB"),
            ((1 << 30) - 1, "1.0 GiB"),
            (1_288_490_189, "1.2 GiB"),
            (u64::MAX, "16384 PiB"),
        ] {
            assert_eq!(bytes(value), text);
        }
    }

    #[test]
    fn shares_never_pretend_all_or_nothing() {
        for (share, text) in [
            (0.0, "0 %"),
            (0.0001, "< 0.1 %"),
            (0.067, "6.7 %"),
            (0.8843, "88 %"),
            (0.9991, "> 99 %"),
            (1.0, "100 %"),
            (f64::NAN, "-"),
        ] {
            assert_eq!(percent(share), text);
        }
        assert_eq!(percent_of(1, 0), "-");
    }

    #[test]
    fn counts_are_grouped() {
        assert_eq!(count(0), "0");
        assert_eq!(count(103_060), "103,060");
        assert_eq!(count(1_000), "1,000");
        assert_eq!(counted(1, "pause", "pauses"), "1 pause");
        assert_eq!(
            (of_cpus(2.5), of_cpus(1.0), of_cpus(1.0 / 3.0)),
            ("2.5 CPUs".into(), "1 CPU".into(), "0.333 CPUs".into())
        );
        assert_eq!(rate(280.4), "280");
        assert_eq!(rate(6.24), "6.2");
        assert_eq!(rate(0.03), "0.03");
    }
}
