//! Entry point of the `rtscope` program.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    rtscope::program::main()
}
