//! Figures as plans and their reasons say them. Owns no unit but these.

/// `16 MiB`, `2.5 GiB`.
pub fn bytes(bytes: u64) -> String {
    const UNITS: [(&str, u64); 3] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    let Some((unit, size)) = UNITS.into_iter().find(|(_, size)| bytes >= *size) else {
        return format!("{bytes} bytes");
    };
    if bytes.is_multiple_of(size) {
        format!("{} {unit}", bytes / size)
    } else {
        format!("{:.1} {unit}", bytes as f64 / size as f64)
    }
}

/// `2.5 CPUs`, `1 CPU`.
pub fn cpus(quota: f64) -> String {
    let rounded = (quota * 1000.0).round() / 1000.0;
    format!("{rounded} {}", if rounded == 1.0 { "CPU" } else { "CPUs" })
}

/// `1 core`, `4 cores`.
pub fn count(number: u64, one: &str) -> String {
    format!("{number} {one}{}", if number == 1 { "" } else { "s" })
}

/// `16 MiB for each of 2 workers are 32 MiB`, `16 MiB for one worker`.
pub fn each(size: &str, number: u32, one: &str, total: u64) -> String {
    if number == 1 {
        format!("{size} for one {one}")
    } else {
        format!("{size} for each of {number} {one}s are {}", bytes(total))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_read_as_people_say_them() {
        assert_eq!(bytes(16 << 20), "16 MiB");
        assert_eq!(bytes((2 << 30) + (1 << 29)), "2.5 GiB");
        assert_eq!(bytes(12), "12 bytes");
        assert_eq!((cpus(2.5), cpus(1.0), cpus(1.0 / 3.0)), ("2.5 CPUs".into(), "1 CPU".into(), "0.333 CPUs".into()));
        assert_eq!((count(1, "core"), count(0, "core")), ("1 core".into(), "0 cores".into()));
    }
}
