//! Reads a written plan or job with the types of its consumers: Kubernetes' own, and the compose
//! specification's. Owns that the text is valid and contains no unknown key.
//!
//! These types are large, so this crate, which is compiled without optimization, reads them.

use compose_spec::Compose;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

/// Serializing again shows what the type did not know: it is missing then.
fn typed<T: DeserializeOwned + Serialize>(text: &str) -> T {
    let typed: T = serde_saphyr::from_str(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(serde_json::to_value(&typed).expect("JSON"), read(text), "{text}");
    typed
}

/// Parses any YAML.
pub fn read(text: &str) -> Value {
    serde_saphyr::from_str(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

pub fn pod(text: &str) -> Pod {
    typed(text)
}

pub fn job(text: &str) -> Job {
    typed(text)
}

pub fn claim(text: &str) -> PersistentVolumeClaim {
    typed(text)
}

pub fn compose(text: &str) -> Compose {
    let compose: Compose = serde_json::from_value(read(text)).unwrap_or_else(|error| panic!("{error}\n{text}"));
    compose.validate_all().expect("a valid compose file");
    compose
}
