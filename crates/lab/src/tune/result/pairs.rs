//! Findings of two captures side by side: what became of each. Owns which belong together; `analyze` defines
//! what a finding says.

use rtscope_model::finding::Finding;
use serde::Serialize;

/// One finding in both captures.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Pair {
    /// Stable name: `cpu-throttled`.
    pub id: String,
    /// In the capture of the default; null: not found there.
    pub default: Option<Claim>,
    /// In the capture of the recommendation; null: gone.
    pub recommended: Option<Claim>,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Claim {
    pub claim: String,
    /// What it cost, as a share of the recording's time or of the resident memory.
    pub share: f64,
}

/// Pairs findings by name, several of one name in order; the most expensive come first.
pub fn pair(default: &[Finding], recommended: &[Finding]) -> Vec<Pair> {
    let said = |finding: &Finding| Claim { claim: finding.claim.to_string(), share: finding.share };
    let first = |finding: &Finding| Pair { id: finding.id.clone(), default: Some(said(finding)), recommended: None };
    let mut pairs: Vec<Pair> = default.iter().map(first).collect();
    for finding in recommended {
        match pairs.iter_mut().find(|pair| pair.id == finding.id && pair.recommended.is_none()) {
            Some(pair) => pair.recommended = Some(said(finding)),
            None => {
                pairs.push(Pair { id: finding.id.clone(), default: None, recommended: Some(said(finding)) });
            }
        }
    }
    let cost = |pair: &Pair| {
        [&pair.default, &pair.recommended].into_iter().flatten().map(|said| said.share).fold(0.0, f64::max)
    };
    pairs.sort_by(|one, other| cost(other).total_cmp(&cost(one)));
    pairs
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use rtscope_model::finding::{Confidence, Severity};

    /// A finding as captures have them.
    pub(in super::super) fn finding(id: &str, claim: &str, share: f64) -> Finding {
        Finding {
            id: id.to_owned(),
            severity: Severity::Warning,
            confidence: Confidence::High,
            claim: claim.into(),
            cost_ns: 1,
            cost_bytes: None,
            share,
            evidence: Vec::new(),
            remedies: Vec::new(),
        }
    }

    #[test]
    fn findings_of_one_name_are_paired() {
        let default = [finding("sync", "a", 0.1), finding("throttled", "b", 0.4), finding("sync", "c", 0.05)];
        let recommended = [finding("sync", "d", 0.02), finding("memory", "e", 0.2)];
        let found = pair(&default, &recommended);
        let claim = |said: &Option<Claim>| said.as_ref().map_or("-", |said| said.claim.as_str()).to_owned();
        let shown: Vec<_> =
            found.iter().map(|pair| (pair.id.as_str(), claim(&pair.default), claim(&pair.recommended))).collect();
        let row = |id, one: &str, other: &str| (id, one.to_owned(), other.to_owned());
        let wanted =
            [row("throttled", "b", "-"), row("memory", "-", "e"), row("sync", "a", "d"), row("sync", "c", "-")];
        assert_eq!(shown, wanted);
        assert_eq!(pair(&[], &[]), []);
    }
}
