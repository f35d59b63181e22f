//! The `update` block of a manifest: how many instances are updated at a time, and in which order groups are.

use serde::{Deserialize, Serialize};

use super::{error::ManifestError, spec::Spec};
use crate::director::tasks::TaskFailure;

/// How the instances of a group are updated.
#[derive(Clone, Copy, Debug)]
pub(super) struct UpdateSpec {
    pub(super) canaries: Amount,
    pub(super) max_in_flight: Amount,
    pub(super) order: GroupOrder,
}

/// A number of instances, or a share of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Amount {
    Count(usize),
    Percent(usize),
    /// Text that is neither. The error is raised when the number is needed.
    Neither,
}

/// Whether a group waits for the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GroupOrder {
    Serial,
    Parallel,
}

/// The options of a call that replace all `update` blocks (`?canaries=` and `?max_in_flight=`).
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(in crate::director) struct UpdateOverrides {
    pub(in crate::director) canaries: Option<String>,
    pub(in crate::director) max_in_flight: Option<String>,
}

impl UpdateSpec {
    /// The block of the deployment, which must be complete.
    pub(super) fn of_deployment(
        spec: &Spec<'_>,
        overrides: &UpdateOverrides,
    ) -> Result<Self, TaskFailure> {
        let block = Self::read(spec, None, overrides)?;
        for key in ["canary_watch_time", "update_watch_time"] {
            spec.required(key)?;
        }
        Ok(block)
    }

    /// The block of a group, which may leave out what the deployment's says.
    pub(super) fn of_group(
        spec: &Spec<'_>,
        deployment: Self,
        overrides: &UpdateOverrides,
    ) -> Result<Self, TaskFailure> {
        Self::read(spec, Some(deployment), overrides)
    }

    fn read(
        spec: &Spec<'_>,
        inherited: Option<Self>,
        overrides: &UpdateOverrides,
    ) -> Result<Self, TaskFailure> {
        let amount = |key, overridden: &Option<String>, inherited: Option<Amount>| {
            let text = match overridden {
                Some(text) => Some(text.clone()),
                None => spec.optional_text(key)?,
            };
            match (text, inherited) {
                (Some(text), _) => Ok(Amount::read(&text)),
                (None, Some(inherited)) => Ok(inherited),
                (None, None) => Err(spec.missing(key)),
            }
        };
        let canaries = amount(
            "canaries",
            &overrides.canaries,
            inherited.map(|block| block.canaries),
        )?;
        let max_in_flight = amount(
            "max_in_flight",
            &overrides.max_in_flight,
            inherited.map(|block| block.max_in_flight),
        )?;
        for key in ["canary_watch_time", "update_watch_time"] {
            if let Some(time) = spec.optional_text(key)? {
                check_watch_time(&time)?;
            }
        }
        let order = match spec.boolean("serial")? {
            Some(true) => GroupOrder::Serial,
            Some(false) => GroupOrder::Parallel,
            None => inherited.map_or(GroupOrder::Serial, |block| block.order),
        };
        Ok(Self {
            canaries,
            max_in_flight,
            order,
        })
    }

    /// How many of `size` instances are updated first, to see whether it goes well.
    pub(super) fn canaries(self, size: usize) -> Result<usize, TaskFailure> {
        Ok(self.canaries.of(size)?.min(size))
    }

    /// How many of `size` instances are updated at a time; one at least.
    pub(super) fn max_in_flight(self, size: usize) -> Result<usize, TaskFailure> {
        Ok(self.max_in_flight.of(size)?.max(1))
    }
}

impl UpdateOverrides {
    /// A call may say numbers and percentages only.
    pub(super) fn check(&self) -> Result<(), TaskFailure> {
        let said = [
            ("max_in_flight", &self.max_in_flight),
            ("canaries", &self.canaries),
        ];
        for (key, value) in said {
            if value
                .as_ref()
                .is_some_and(|value| Amount::read(value) == Amount::Neither)
            {
                return Err(ManifestError::NotANumberOrPercent(key).into());
            }
        }
        Ok(())
    }
}

impl Amount {
    fn read(text: &str) -> Self {
        if let Some(percent) = text.strip_suffix('%') {
            let digits = !percent.is_empty() && percent.bytes().all(|byte| byte.is_ascii_digit());
            return match percent.parse() {
                Ok(percent) if digits => Self::Percent(percent),
                _ => Self::Neither,
            };
        }
        match text.parse::<i64>() {
            Ok(count) => Self::Count(usize::try_from(count).unwrap_or(0)),
            Err(_) => Self::Neither,
        }
    }

    fn of(self, size: usize) -> Result<usize, TaskFailure> {
        match self {
            Self::Count(count) => Ok(count),
            Self::Percent(percent) => Ok((percent.saturating_mul(size) / 100).min(size)),
            Self::Neither => Err(ManifestError::AmountNotCalculable.into()),
        }
    }
}

/// Watch times are milliseconds, one number or a range. Processes in the sandbox report when they are ready, so the
/// times are checked but not used.
fn check_watch_time(text: &str) -> Result<(), ManifestError> {
    let number = |text: &str| -> Result<u64, ManifestError> {
        let text = text.trim();
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        match text.parse() {
            Ok(number) if digits => Ok(number),
            _ => Err(ManifestError::WatchTimeUnreadable),
        }
    };
    match text.split_once('-') {
        None => number(text).map(|_| ()),
        Some((least, most)) if number(least)? > number(most)? => {
            Err(ManifestError::WatchTimeReversed)
        }
        Some(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn block(spec: &Value) -> UpdateSpec {
        UpdateSpec::of_deployment(&Spec::new(spec), &UpdateOverrides::default()).unwrap()
    }

    #[test]
    fn a_share_is_rounded_down_and_one_instance_is_always_in_flight() {
        let spec = json!({"canaries": "50%", "max_in_flight": "10%", "canary_watch_time": 1, "update_watch_time": "1-2"});
        let update = block(&spec);
        assert_eq!(update.canaries(5).unwrap(), 2);
        assert_eq!(update.max_in_flight(5).unwrap(), 1);
        assert_eq!(update.order, GroupOrder::Serial);
    }

    #[test]
    fn a_group_says_only_what_differs() {
        let spec = json!({"canaries": 1, "max_in_flight": 3, "canary_watch_time": 1, "update_watch_time": 1});
        let own = json!({"serial": false, "canaries": 0});
        let update = UpdateSpec::of_group(
            &Spec::new(&own),
            block(&spec),
            &UpdateOverrides {
                max_in_flight: Some("7".to_owned()),
                canaries: None,
            },
        )
        .unwrap();
        assert_eq!(update.order, GroupOrder::Parallel);
        assert_eq!(
            (
                update.canaries(9).unwrap(),
                update.max_in_flight(9).unwrap()
            ),
            (0, 7)
        );
    }

    #[test]
    fn watch_times_are_a_number_or_a_range() {
        for (time, code) in [
            (json!("1000 - 2000"), None),
            (json!(5), None),
            (json!("soon"), Some(180_001)),
            (json!("9-3"), Some(180_001)),
        ] {
            let spec = json!({"canaries": 1, "max_in_flight": 1, "canary_watch_time": time, "update_watch_time": 1});
            let read =
                UpdateSpec::of_deployment(&Spec::new(&spec), &UpdateOverrides::default()).err();
            assert_eq!(read.map(|failure| failure.code()), code, "{spec}");
        }
    }

    #[test]
    fn a_call_says_numbers_and_percentages_only() {
        let overrides = UpdateOverrides {
            canaries: Some("abc".to_owned()),
            max_in_flight: Some("20%".to_owned()),
        };
        assert_eq!(
            overrides.check().unwrap_err().to_string(),
            "canaries value should be integer or percent"
        );
    }
}
