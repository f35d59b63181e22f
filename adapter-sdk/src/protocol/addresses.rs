use super::CreateBinding;

/// Addresses that a binding needs but that are missing. The error names the existing ones.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoAddressError {
    /// The instance group has no VM.
    #[error("instance group `{group}` has no VM; there are VMs of {existing}")]
    NoVm {
        /// Name of the group.
        group: String,
        /// Groups that have VMs, in words.
        existing: String,
    },
    /// The plan does not ask for the DNS address.
    #[error("unknown DNS address `{name}` ({existing}); add it to `binding_with_dns` of the plan")]
    NoDnsAddress {
        /// Name of the address.
        name: String,
        /// The existing names, in words.
        existing: String,
    },
}

impl CreateBinding {
    /// Addresses of the VMs of an instance group, at least one.
    pub fn addresses_of(&self, group: &str) -> Result<&[String], NoAddressError> {
        match self.bosh_vms.get(group).map(Vec::as_slice) {
            None | Some([]) => {
                let vms = self.bosh_vms.iter();
                let existing = vms.filter(|(_, addresses)| !addresses.is_empty());
                Err(NoAddressError::NoVm {
                    group: group.to_owned(),
                    existing: in_words(existing.map(|(name, _)| name), "no group"),
                })
            }
            Some(addresses) => Ok(addresses),
        }
    }

    /// The DNS address of that name, which survives VMs that get new IP addresses.
    pub fn dns_address(&self, name: &str) -> Result<&str, NoAddressError> {
        let address = self.dns_addresses.get(name).map(String::as_str);
        address.ok_or_else(|| NoAddressError::NoDnsAddress {
            name: name.to_owned(),
            existing: in_words(self.dns_addresses.keys(), "there is none at all"),
        })
    }
}

fn in_words<'n>(names: impl Iterator<Item = &'n String>, nothing: &str) -> String {
    let names: Vec<_> = names.map(|name| format!("`{name}`")).collect();
    if names.is_empty() {
        nothing.to_owned()
    } else {
        names.join(", ")
    }
}
