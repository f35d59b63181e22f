//! `GET /events`: the audit.

use actix_web::{
    HttpRequest, HttpResponse,
    web::{Data, Path},
};
use jiff::{Timestamp, civil::DateTime, tz::TimeZone};

use super::{
    Rejection,
    answer::{self, parameters},
    caller::Caller,
};
use crate::director::{Director, ids::EventId};

/// So many records are shown at most.
const LIMIT: usize = 200;

/// Records, the newest first. A caller with any read right may read those of every deployment.
pub(super) async fn list(
    request: HttpRequest,
    director: Data<Director>,
    caller: Caller,
) -> Result<HttpResponse, Rejection> {
    caller.may_list()?;
    let wanted = parameters(&request);
    let time = |name| wanted.get(name).map(|text| (text, point_in_time(text)));
    let before = match time("before_time") {
        Some((text, None)) => return Err(Rejection::BadTime("before", text.to_owned())),
        other => other.and_then(|(_, time)| time),
    };
    let after = match time("after_time") {
        Some((text, None)) => return Err(Rejection::BadTime("after", text.to_owned())),
        other => other.and_then(|(_, time)| time),
    };
    let before_id = wanted.get("before_id").map(EventId::parse);
    let is = |name: &str, value: Option<&str>| {
        wanted.get(name).is_none_or(|wanted| value == Some(wanted))
    };
    let shown = director.inner.audit.list(LIMIT, |id, record| {
        let task = record.task.map(|task| task.to_string());
        before_id.is_none_or(|before| id < before)
            && before.is_none_or(|before| record.timestamp < before)
            && after.is_none_or(|after| record.timestamp.as_second() > after.as_second())
            && is("task", task.as_deref())
            && is("deployment", record.deployment.as_ref().map(AsRef::as_ref))
            && is("instance", record.instance.as_deref())
            && is("user", Some(&record.user))
            && is("action", Some(&record.action))
            && is("object_type", Some(&record.object_type))
            && is("object_name", record.object_name.as_deref())
    });
    Ok(answer::json(&shown))
}

pub(super) async fn show(
    director: Data<Director>,
    caller: Caller,
    id: Path<String>,
) -> Result<HttpResponse, Rejection> {
    caller.may_list()?;
    let record = director.inner.audit.find(EventId::parse(&id));
    record
        .map(|record| answer::json(&record))
        .ok_or(Rejection::NoSuchEvent)
}

/// Unix seconds, or a date and time with or without its zone, which is UTC then.
fn point_in_time(text: &str) -> Option<Timestamp> {
    if let Ok(seconds) = text.parse::<i64>() {
        return Timestamp::from_second(seconds).ok();
    }
    if let Ok(time) = text.parse::<Timestamp>() {
        return Some(time);
    }
    let text = text.trim_end_matches(" UTC");
    let local: DateTime = text
        .parse()
        .or_else(|_| DateTime::strptime("%a %b %d %H:%M:%S UTC %Y", text))
        .ok()?;
    let zoned = local.to_zoned(TimeZone::UTC).ok()?;
    Some(zoned.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_in_time_is_read_in_every_usual_form() {
        let forms = [
            "1795227371",
            "2026-11-21T02:16:11Z",
            "2026-11-21 02:16:11 UTC",
            "2026-11-21 02:16:11",
            "Sat Nov 21 02:16:11 UTC 2026",
        ];
        for form in forms {
            let time = point_in_time(form).map(Timestamp::as_second);
            assert_eq!(time, Some(1_795_227_371), "{form}");
        }
        assert_eq!(point_in_time("yesterday"), None);
    }
}
