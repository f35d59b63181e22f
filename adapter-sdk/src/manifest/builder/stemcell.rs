use super::ManifestBuilderError;
use crate::manifest::Stemcell;
use crate::protocol;

/// Selects a stemcell of the service deployment.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum StemcellChoice {
    /// The first one.
    First,
    /// The one of this operating system, such as `ubuntu-jammy`.
    Os(String),
    /// The one of this name, such as `bosh-google-kvm-ubuntu-jammy-go_agent`.
    Name(String),
}

impl StemcellChoice {
    pub(super) fn under(
        &self,
        alias: &str,
        stemcells: &[protocol::Stemcell],
    ) -> Result<Stemcell, ManifestBuilderError> {
        let fitting: Vec<_> = stemcells
            .iter()
            .filter(|stemcell| self.fits(stemcell))
            .collect();
        match (self, fitting.as_slice()) {
            (_, []) => Err(ManifestBuilderError::NoStemcell {
                wanted: self.in_words(),
                configured: described(stemcells),
            }),
            (Self::First, [stemcell, ..]) | (_, [stemcell]) => Ok(Stemcell::of(alias, stemcell)),
            _ => Err(ManifestBuilderError::SeveralStemcells {
                wanted: self.in_words(),
                configured: described(stemcells),
            }),
        }
    }

    fn fits(&self, stemcell: &protocol::Stemcell) -> bool {
        match self {
            Self::First => true,
            Self::Os(os) => stemcell.os == *os,
            Self::Name(name) => stemcell.name.as_ref() == Some(name),
        }
    }

    fn in_words(&self) -> String {
        match self {
            Self::First => "at all".to_owned(),
            Self::Os(os) => format!("of operating system `{os}`"),
            Self::Name(name) => format!("named `{name}`"),
        }
    }
}

fn described(stemcells: &[protocol::Stemcell]) -> String {
    if stemcells.is_empty() {
        return "none".to_owned();
    }
    let all: Vec<_> = stemcells
        .iter()
        .map(|stemcell| {
            let kind = stemcell.name.as_ref().unwrap_or(&stemcell.os);
            format!("`{kind}/{}`", stemcell.version)
        })
        .collect();
    all.join(", ")
}
