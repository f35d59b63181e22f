//! The limits of platforms on a catalog (`spec/contracts/osb-api.md` §12.3). One error there rejects the complete
//! catalog, so it is reported here, with line and key.

use super::{
    plan_version::{MaintenanceInfo, PlanVersion},
    section::{Found, Section},
};

const DESCRIPTION_CHARACTERS: usize = 10_000;
const TAGS_CHARACTERS: usize = 2048;
const MAINTENANCE_INFO_CHARACTERS: usize = 2000;
const REQUIREMENTS: [&str; 3] = ["syslog_drain", "route_forwarding", "volume_mount"];

/// A name or an id: not only blanks.
pub(super) fn named(section: &Section<'_>, found: Found<String>) -> Option<Found<String>> {
    if found.value.trim().is_empty() {
        return section.refuse_value(&found, ("is blank", "platforms refuse that"));
    }
    Some(found)
}

/// A description.
pub(super) fn described(section: &Section<'_>, found: Found<String>) -> Option<Found<String>> {
    let length = found.value.chars().count();
    if length > DESCRIPTION_CHARACTERS {
        let text = (
            format!("has {length} characters"),
            format!("platforms take {DESCRIPTION_CHARACTERS}"),
        );
        return section.refuse_value(&found, text);
    }
    Some(found)
}

/// The tags of an offering.
pub(super) fn tags(section: &Section<'_>) -> Option<Vec<String>> {
    let tags = section.plain_texts("tags");
    let length: usize = tags.iter().map(|tag| tag.chars().count()).sum();
    if length > TAGS_CHARACTERS {
        let text = (
            format!("have {length} characters together"),
            format!("platforms take {TAGS_CHARACTERS}"),
        );
        return section.refuse("tags", text);
    }
    Some(tags)
}

/// The requirements of an offering on the platform.
pub(super) fn requirements(section: &Section<'_>) -> Option<Vec<String>> {
    let found = section.texts("requires");
    let mut known = Some(());
    for wanted in &found {
        if !REQUIREMENTS.contains(&wanted.value.as_str()) {
            let text = (
                format!("is `{}`", wanted.value),
                format!("platforms know `{}`", REQUIREMENTS.join("`, `")),
            );
            known = section.refuse_value(wanted, text);
        }
    }
    known.map(|()| found.into_iter().map(|wanted| wanted.value).collect())
}

/// The published version of a plan.
pub(super) fn maintenance_info(section: &Section<'_>, info: &MaintenanceInfo) -> Option<()> {
    let version = PlanVersion::of(info);
    let published = serde_json::json!({
        "version": version.as_ref().map(PlanVersion::as_str),
        "description": info.description,
    });
    let length = published.to_string().chars().count();
    if version.is_some() && length > MAINTENANCE_INFO_CHARACTERS {
        let text = (
            format!("has {length} characters as JSON"),
            format!("platforms take {MAINTENANCE_INFO_CHARACTERS}, so shorten the description"),
        );
        return section.refuse("maintenance_info", text);
    }
    Some(())
}
