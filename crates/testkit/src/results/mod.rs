//! Handmade results as an analysis would return them: one for each situation that a report must
//! describe. Deterministic, so that golden files stay valid.
pub mod base;
pub mod classes;
mod domains;
mod drawing;
mod heaps;
mod hostile;
mod looks;
pub mod programs;
mod requests;
mod stm;
pub use base::*;
pub use hostile::hostile;
pub use programs::*;

/// Every situation.
pub fn all() -> Vec<Fixture> {
    vec![
        throttled(),
        preempted(),
        foreign(),
        healthy(),
        cut(),
        no_kernel(),
        non_threaded(),
        concurrent(),
        profiled(),
        domains::domains(),
        heaps::heaps(),
        heap_map(),
        requests::loaded(),
        stm::contended(),
        stm::attempts_alone(),
        kernel_only(),
        many_lanes(),
        hostile(),
        empty(),
    ]
}

pub fn by_name(name: &str) -> Fixture {
    all().into_iter().find(|fixture| fixture.name == name).expect("a fixture of that name")
}

/// Adds every path of keys in `value`, spelled as in the documentation: `a.b[].c`.
pub fn key_paths(value: &serde_json::Value, prefix: &str, into: &mut std::collections::BTreeSet<String>) {
    match value {
        serde_json::Value::Object(members) => {
            for (key, member) in members {
                let path = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
                into.insert(path.clone());
                key_paths(member, &path, into);
            }
        }
        serde_json::Value::Array(elements) => {
            elements.iter().for_each(|element| key_paths(element, &format!("{prefix}[]"), into));
        }
        _ => {}
    }
}
