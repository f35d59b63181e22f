//! Clocks: whether those of the upstreams agree with ours. Certificates and tokens are valid by the clock of their
//! verifier.

use std::time::Duration;

use jiff::{Timestamp, fmt::rfc2822};
use odb_api_types::code::Code;
use odb_core::finding::Finding;

use crate::preflight::chart::{Chart, Probe, Subject};

/// The difference in seconds that is tolerated. Answers have complete seconds, and take time.
const TOLERATED: i64 = 30;
/// Upstreams that are so close to each other agree, in seconds.
const AGREEING: i64 = 5;

/// How far the clock of an answer's `Date` is ahead of ours, in seconds. `asked_at` is the time of the request, by our
/// clock.
pub(crate) fn ahead(date: &str, asked_at: Timestamp, took: Duration) -> Option<i64> {
    let theirs = rfc2822::parse(date).ok()?.timestamp();
    let half = i64::try_from(took.as_millis() / 2).ok()?;
    let own = asked_at.as_millisecond() + half;
    // They have cut half a second off, in the mean; another half is for rounding.
    let ahead = theirs.as_millisecond() - own + 1000;
    Some(ahead.div_euclid(1000))
}

/// Compares all clocks. If most upstreams agree with each other and not with this machine, its clock is wrong.
pub(crate) fn compare(charts: &mut Vec<Chart>) {
    let mut known: Vec<i64> = charts.iter().filter_map(|chart| chart.ahead).collect();
    known.sort_unstable();
    let Some(middle) = known.get(known.len() / 2).copied() else {
        return;
    };
    let agreeing = known
        .iter()
        .filter(|ahead| (**ahead - middle).abs() <= AGREEING);
    let is_own = middle.abs() > TOLERATED && known.len() > 1 && agreeing.count() * 2 > known.len();
    let right = if is_own { middle } else { 0 };
    let finding = |tried: &str, came, remedy| {
        Finding::tried(Code::Clocks, None, tried, came, remedy).warning()
    };
    for chart in charts.iter_mut() {
        let Some(ahead) = chart.ahead else { continue };
        if (ahead - right).abs() <= TOLERATED {
            let others = if is_own { ", as others" } else { "" };
            let text = format!("{}{others}", difference(ahead));
            chart.fine(Probe::Clock, None, text);
        } else {
            let tried = "to compare the time of its answer with this machine's";
            let remedy = format!(
                "set the clock of the {} (`chronyc tracking` there): validity of tokens and certificates depends on the clock of both machines",
                chart.subject
            );
            let finding = finding(tried, difference(ahead), remedy);
            chart.found(Probe::Clock, None, finding);
        }
    }
    if is_own && let Some(timeouts) = charts.first().map(|chart| chart.timeouts) {
        let tried = "to compare the time of the upstreams' answers with this machine's";
        let came = format!("most of them agree, and are {}", difference(middle));
        let remedy = "set the clock of this machine (`chronyc tracking`): it decides whether certificates are valid";
        let mut own = Chart::of(Subject::Machine, timeouts);
        own.found(Probe::Clock, None, finding(tried, came, remedy.to_owned()));
        charts.push(own);
    }
}

fn difference(ahead: i64) -> String {
    match ahead {
        -1..=1 => "agrees with this machine".to_owned(),
        ahead if ahead > 0 => format!("{ahead} s ahead of this machine"),
        behind => format!("{} s behind this machine", -behind),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::preflight::context::Timeouts;

    fn charts(ahead: &[i64]) -> Vec<Chart> {
        let chart = |ahead: &i64| {
            let mut chart = Chart::of(Subject::Director, Timeouts::of(Duration::ZERO));
            chart.ahead = Some(*ahead);
            chart
        };
        ahead.iter().map(chart).collect()
    }

    /// The wrong clocks: upstreams by their position, this machine by its name.
    fn blamed(ahead: &[i64]) -> Vec<String> {
        let mut charts = charts(ahead);
        compare(&mut charts);
        charts
            .iter()
            .enumerate()
            .filter(|(_, chart)| chart.findings().next().is_some())
            .map(|(position, chart)| match chart.subject {
                Subject::Machine => "own".to_owned(),
                _ => position.to_string(),
            })
            .collect()
    }

    #[test]
    fn the_clock_that_differs_from_the_others_is_the_wrong_one() {
        for (ahead, expected) in [
            (&[][..], &[][..]),
            (&[0, 1, -1], &[]),
            (&[29, 0], &[]),
            (&[0, 400, 1], &["1"]),
            (&[0, -400], &["1"]),
            (&[400], &["0"]),
            (&[400, 401, 399], &["own"]),
            (&[400, 401, 0], &["2", "own"]),
            (&[400, -400, 0], &["0", "1"]),
        ] {
            assert_eq!(blamed(ahead), expected, "{ahead:?}");
        }
    }

    #[test]
    fn the_time_of_an_answer_is_that_of_its_middle() {
        let asked_at = "2026-11-22T10:00:00Z".parse().unwrap();
        let ahead = |date: &str, took| ahead(date, asked_at, Duration::from_secs(took));
        assert_eq!(ahead("Sun, 22 Nov 2026 10:00:00 GMT", 0), Some(1));
        assert_eq!(ahead("Sun, 22 Nov 2026 10:00:04 GMT", 10), Some(0));
        assert_eq!(ahead("Sun, 22 Nov 2026 09:00:00 GMT", 0), Some(-3599));
        assert_eq!(ahead("yesterday", 0), None);
    }
}
