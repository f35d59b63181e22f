//! A selection of service instances.

use std::collections::BTreeSet;

use odb_api_types::ids::PlanId;
use odb_clients::cloud_controller::{LocationNames, OrganizationGuid, SpaceGuid};

/// The parameters that the Cloud Controller's instances are chosen by: names of an organization and of a space in it.
const LOCATION: [&str; 2] = ["cf_org", "cf_space"];

/// A selection of service instances.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// Those on these plans of the catalog; on any if there is none.
    pub plans: BTreeSet<PlanId>,
    /// Those in these spaces; in any if there is none.
    pub spaces: Vec<SpaceGuid>,
    /// Those in these organizations; in any if there is none. The service instances API knows no organizations.
    pub organizations: Vec<OrganizationGuid>,
    /// Whether to include the names of spaces and organizations, if the source has them.
    pub names: LocationNames,
    /// The query for the service instances API, each name once. The Cloud Controller does not get it.
    pub parameters: Vec<(String, String)>,
}

/// A filter that the Cloud Controller's instances cannot be chosen by.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    /// One of the two is not there.
    #[error("the filter has no `{parameter}`: give both `cf_org` and `cf_space`, or no filter")]
    Missing {
        /// Which.
        parameter: &'static str,
    },
    /// There is one more.
    #[error("the filter has `{parameter}`, which is not known: give `cf_org` and `cf_space` alone")]
    Unknown {
        /// Which.
        parameter: String,
    },
}

impl Selection {
    /// All instances, without names.
    pub fn all() -> Self {
        Self {
            plans: BTreeSet::new(),
            spaces: Vec::new(),
            organizations: Vec::new(),
            names: LocationNames::Left,
            parameters: Vec::new(),
        }
    }
}

/// The names of an organization and of a space in it that parameters ask for; nothing without parameters.
pub(super) fn named_location(
    parameters: &[(String, String)],
) -> Result<Option<(&str, &str)>, FilterError> {
    if parameters.is_empty() {
        return Ok(None);
    }
    let given = |parameter: &'static str| {
        let found = parameters.iter().find(|(name, _)| name == parameter);
        found
            .map(|(_, value)| value.as_str())
            .filter(|value| !value.is_empty())
            .ok_or(FilterError::Missing { parameter })
    };
    let [organization, space] = LOCATION;
    let location = (given(organization)?, given(space)?);
    let unknown = parameters
        .iter()
        .find(|(name, _)| !LOCATION.contains(&name.as_str()));
    match unknown {
        Some((name, _)) => Err(FilterError::Unknown {
            parameter: name.clone(),
        }),
        None => Ok(Some(location)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameters(given: &[(&str, &str)]) -> Vec<(String, String)> {
        let given = given.iter();
        given
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    #[test]
    fn a_location_is_an_organization_and_a_space_and_nothing_else() {
        let (org, space) = (("cf_org", "o"), ("cf_space", "s"));

        assert_eq!(named_location(&[]), Ok(None));
        for given in [[org, space], [space, org]] {
            assert_eq!(named_location(&parameters(&given)), Ok(Some(("o", "s"))));
        }
        for (given, missing) in [
            (&[org][..], "cf_space"),
            (&[space], "cf_org"),
            (&[org, ("cf_space", "")], "cf_space"),
            (&[("a", "1"), ("b", "2")], "cf_org"),
            (&[org, ("b", "2")], "cf_space"),
        ] {
            let error = named_location(&parameters(given)).unwrap_err();
            assert_eq!(error, FilterError::Missing { parameter: missing });
        }
        let error = named_location(&parameters(&[org, ("plan", "p"), space])).unwrap_err();
        assert!(error.to_string().contains("`plan`"), "{error}");
    }
}
