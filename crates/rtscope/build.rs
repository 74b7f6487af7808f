//! Rebuilds the program when a file of the viewer's page is added or removed.

fn main() {
    println!("cargo::rerun-if-changed=../../web/app");
}
