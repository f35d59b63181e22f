//! Whether the platform's idea of a plan's version is the catalog's (Open Service Broker API 2.17, "Maintenance Info Object").

/// The platform's idea of a plan's version is not the catalog's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MaintenanceConflict {
    /// The plan has another version.
    #[error("the platform asks for version `{asked}` of the plan, the catalog has `{known}`")]
    Differs {
        /// What the platform asks for.
        asked: String,
        /// What the catalog has.
        known: String,
    },
    /// The plan has no version.
    #[error("the platform asks for version `{asked}` of the plan, the catalog has none")]
    NotVersioned {
        /// What the platform asks for.
        asked: String,
    },
}

/// Decides by version alone. A platform that says nothing has no idea to be wrong about; an empty version says nothing.
pub fn check_maintenance_version(
    known: Option<&str>,
    asked: Option<&str>,
) -> Result<(), MaintenanceConflict> {
    let Some(asked) = asked.filter(|asked| !asked.is_empty()) else {
        return Ok(());
    };
    match known {
        Some(known) if known == asked => Ok(()),
        Some(known) => Err(MaintenanceConflict::Differs {
            asked: asked.to_owned(),
            known: known.to_owned(),
        }),
        None => Err(MaintenanceConflict::NotVersioned {
            asked: asked.to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_decide() {
        for (known, asked, fits) in [
            (Some("1.0.0"), Some("1.0.0"), true),
            (Some("1.0.0"), Some("2.0.0"), false),
            (Some("1.0.0"), None, true),
            (Some("1.0.0"), Some(""), true),
            (None, Some("1.0.0"), false),
            (None, None, true),
        ] {
            assert_eq!(
                check_maintenance_version(known, asked).is_ok(),
                fits,
                "{known:?} {asked:?}"
            );
        }
    }
}
