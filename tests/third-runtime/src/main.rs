//! `rtscope` with support for pebble.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    third_runtime::register();
    rtscope::program::main()
}
