//! Prints the table of thresholds in `docs/findings/README.md`: `cargo xtask findings`.

use std::io::Write;

fn main() -> std::io::Result<()> {
    std::io::stdout().write_all(rtscope_analyze::runtimes::thresholds().as_bytes())
}
