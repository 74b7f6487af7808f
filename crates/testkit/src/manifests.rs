//! What a plan or a job is written as, read by those whom it is for: Kubernetes' own types, the
//! compose specification's. Owns that such text is valid and knows no key that its reader does not.
//!
//! These types are large, so they are read here, in a crate that is compiled without optimising.

use compose_spec::Compose;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

/// What is left out of a type is what it did not know.
fn typed<T: DeserializeOwned + Serialize>(text: &str) -> T {
    let typed: T = serde_saphyr::from_str(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(serde_json::to_value(&typed).expect("JSON"), read(text), "{text}");
    typed
}

/// Any YAML.
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
