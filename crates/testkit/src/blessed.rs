//! Compares text with the files in `tests/golden`; `RTSCOPE_BLESS=1 cargo test -p rtscope` rewrites them.

pub fn check(name: &str, shown: &str) {
    let path = crate::tests().join("golden").join(name);
    if std::env::var_os("RTSCOPE_BLESS").is_some() {
        std::fs::write(&path, shown).expect("writing the golden file");
    }
    let golden = std::fs::read_to_string(&path).expect("the golden file");
    assert!(golden == shown, "{name} differs; RTSCOPE_BLESS=1 accepts:\n{shown}");
}
