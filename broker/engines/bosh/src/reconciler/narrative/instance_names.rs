//! Instances as users read them: `GROUP/INDEX`. The Director's texts have a UUID instead of the index or beside it.

use std::collections::BTreeMap;

use odb_clients::director::{Event, Step};

/// A UUID as the Director writes it.
const UUID_LENGTH: usize = 36;

/// The instances whose index occurred in a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct InstanceNames {
    indexes: BTreeMap<String, String>,
}

impl InstanceNames {
    /// The events in words for people.
    pub(crate) fn report_events(&mut self, events: &[Event]) -> Vec<Event> {
        // The index may occur only in a later line.
        for event in events {
            if let Event::Step(step) = event {
                self.replace_in(&step.stage);
                self.replace_in(&step.task);
            }
        }
        events
            .iter()
            .map(|event| self.report_event(event))
            .collect()
    }

    fn report_event(&mut self, event: &Event) -> Event {
        match event {
            Event::Step(step) => Event::Step(Step {
                stage: self.replace_in(&step.stage),
                task: self.replace_in(&step.task),
                status: step.status.as_deref().map(|status| self.replace_in(status)),
                ..step.clone()
            }),
            Event::Failure(failure) => {
                let mut failure = failure.clone();
                failure.message = self.replace_in(&failure.message);
                Event::Failure(failure)
            }
        }
    }

    /// `redis-server/d9de9ef9-… (0) (canary)` becomes `redis-server/0 (canary)`. Without an index, the one of another
    /// text with the same UUID is used; without that, only the group is shown.
    pub(crate) fn replace_in(&mut self, text: &str) -> String {
        let mut reported = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(slash) = rest.find('/') {
            let (before, after) = (&rest[..slash], &rest[slash + 1..]);
            reported.push_str(before);
            let Some(uuid) = uuid_at_start(after).filter(|_| ends_with_a_group(&reported)) else {
                reported.push('/');
                rest = after;
                continue;
            };
            rest = &after[UUID_LENGTH..];
            if let Some((index, behind)) = index_at_start(rest) {
                self.indexes.insert(uuid.to_owned(), index.to_owned());
                rest = behind;
            }
            if let Some(index) = self.indexes.get(uuid) {
                reported.push('/');
                reported.push_str(index);
            }
        }
        reported.push_str(rest);
        reported
    }
}

fn uuid_at_start(text: &str) -> Option<&str> {
    let uuid = text.get(..UUID_LENGTH)?;
    let is_over =
        !text[UUID_LENGTH..].starts_with(|letter: char| letter.is_alphanumeric() || letter == '/');
    (is_over && uuid::Uuid::parse_str(uuid).is_ok()).then_some(uuid)
}

/// ` (0)`, and what follows.
fn index_at_start(text: &str) -> Option<(&str, &str)> {
    let (index, behind) = text.strip_prefix(" (")?.split_once(')')?;
    index.parse::<u32>().is_ok().then_some((index, behind))
}

/// The part before the slash is a name, and no part of a path.
fn ends_with_a_group(text: &str) -> bool {
    let is_of_a_name = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_');
    let before = text.trim_end_matches(is_of_a_name);
    before.len() < text.len() && !before.ends_with('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "d9de9ef9-8587-4d5c-bf92-d2d98c5582db";
    const OTHER: &str = "0d4504c0-8a5f-4d83-bf4c-e0a326c1b1d4";

    #[test]
    fn people_read_group_and_index_wherever_the_director_names_an_instance() {
        let mut names = InstanceNames::default();
        for (text, reported) in [
            // No text had its index yet.
            (format!("redis-server/{ONE}"), "redis-server"),
            (
                format!("redis-server/{ONE} (0) (canary)"),
                "redis-server/0 (canary)",
            ),
            (format!("redis-server/{ONE}"), "redis-server/0"),
            (
                format!("Fetching logs for redis-server/{ONE} (0)"),
                "Fetching logs for redis-server/0",
            ),
            (
                format!("'redis/{ONE} (1), redis/{OTHER} (2)' are not running"),
                "'redis/1, redis/2' are not running",
            ),
            (format!("'redis/{OTHER}' is silent"), "'redis/2' is silent"),
            (
                format!("/var/vcap/data/{ONE} is full"),
                &format!("/var/vcap/data/{ONE} is full"),
            ),
            ("redis/0 and/or a/b".to_owned(), "redis/0 and/or a/b"),
        ] {
            assert_eq!(names.replace_in(&text), reported, "{text}");
        }
    }

    #[test]
    fn an_index_that_a_later_line_reports_counts_for_the_lines_before() {
        let step = |task: String| {
            Event::Step(Step {
                stage: "Deleting instances".to_owned(),
                tags: Vec::new(),
                task,
                index: 1,
                total: 1,
                state: odb_clients::director::StepState::Started,
                status: None,
            })
        };
        let events = [
            step(format!("redis/{ONE}")),
            step(format!("redis/{ONE} (3)")),
        ];
        let reported = InstanceNames::default().report_events(&events);
        assert_eq!(
            reported,
            [step("redis/3".to_owned()), step("redis/3".to_owned())]
        );
    }
}
