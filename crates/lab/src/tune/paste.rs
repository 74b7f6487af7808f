//! What a user pastes to make a configuration permanent: a line for a shell, options for the link, a part of a
//! Pod. Owns these words; a `Setup` defines what a configuration means.

use crate::plan::k8s;
use crate::plan::program::as_text;
use rtscope_host::cpu_list;
use rtscope_model::SchedPolicy;
use rtscope_model::resources::Resources;
use rtscope_model::text::quoted;
use rtscope_terminal::style::clean;
use rtscope_tune::options::setup::Setup;
use serde::Serialize;

/// A configuration in forms that can be pasted.
#[derive(Clone, Eq, PartialEq, Debug, Serialize)]
pub struct Paste {
    /// A command for a shell, whole: `GHCRTS='-N2 -A64m' ./mill 100`.
    pub shell: String,
    /// `GHCRTS=-N2`, one per line; empty: no variables.
    pub variables: Vec<String>,
    /// Compiler option that links the flags in.
    pub link: Option<String>,
    /// `env` and `resources` of a container in a Pod, as YAML.
    pub kubernetes: String,
}

/// `setup` in forms that can be pasted; `resources` are the machine's.
pub fn paste(setup: &Setup, resources: &Resources) -> Paste {
    let variables: Vec<String> = setup.set.iter().map(|(name, value)| format!("{name}={}", quoted(value))).collect();
    let mut words = variables.clone();
    words.extend(setup.cpus.iter().map(|cpus| format!("taskset -c {}", cpu_list::show(cpus))));
    words.extend((setup.class == SchedPolicy::Batch).then(|| "chrt --batch 0".to_owned()));
    words.extend(as_text(&setup.argv).iter().map(|word| quoted(word)));
    let pairs = setup.set.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    Paste {
        shell: clean(&words.join(" ")).into_owned(),
        variables: variables.iter().map(|line| clean(line).into_owned()).collect(),
        link: setup.link.as_ref().map(|option| clean(&format!("\"{option}\"")).into_owned()),
        kubernetes: k8s::environment(pairs) + &k8s::resources(setup.workers, k8s::memory(resources).as_deref(), 6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_a_setup_has_is_in_the_line() {
        let setup = Setup {
            argv: ["./my mill", "100"].map(Into::into).into(),
            set: vec![("GHCRTS".into(), "-N2 -A64m".into())],
            cpus: Some(vec![0, 2]),
            class: SchedPolicy::Batch,
            workers: 2,
            link: Some("-with-rtsopts=-T -N2 -A64m".into()),
        };
        let paste = paste(&setup, &Resources::default());
        assert_eq!(paste.shell, "GHCRTS='-N2 -A64m' taskset -c 0,2 chrt --batch 0 './my mill' 100");
        assert_eq!(paste.link.as_deref(), Some("\"-with-rtsopts=-T -N2 -A64m\""));
        assert!(paste.kubernetes.contains("name: \"GHCRTS\"\n          value: \"-N2 -A64m\""), "{}", paste.kubernetes);
        assert!(paste.kubernetes.contains("cpu: \"2\""));
    }

    #[test]
    fn what_runs_today_is_the_command_itself() {
        let setup = Setup { argv: vec!["./mill".into()], workers: 1, ..Setup::default() };
        let paste = paste(&setup, &Resources::default());
        assert_eq!((paste.shell.as_str(), paste.link, paste.variables.len()), ("./mill", None, 0));
        assert!(paste.kubernetes.starts_with("      resources:"));
    }
}
