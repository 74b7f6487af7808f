//! Has the program built anew when a file of the viewer's page is added or taken away.

fn main() {
    println!("cargo::rerun-if-changed=../../web/app");
}
