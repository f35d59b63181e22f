//! Certificates: the broker's own, those of servers, and trust roots.

pub(crate) mod of_server;
pub(crate) mod own;
pub(crate) mod reload;
pub(crate) mod trust;

use jiff::{Timestamp, civil::Date, tz::TimeZone};

/// How many days before its end a certificate causes a warning.
const NOTICE_DAYS: i64 = 30;

/// The complete days left, if they are few; negative after the end.
pub(crate) fn days_left(end: Timestamp, now: Timestamp) -> Option<i64> {
    let seconds = end.as_second() - now.as_second();
    let days = seconds.div_euclid(24 * 60 * 60);
    (days < NOTICE_DAYS).then_some(days)
}

pub(crate) fn day(time: Timestamp) -> Date {
    time.to_zoned(TimeZone::UTC).date()
}

#[cfg(test)]
mod tests;
