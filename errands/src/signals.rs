//! How a running errand reacts to signals.

use std::time::{Duration, Instant};

/// A terminal and a wrapper script may both deliver one Ctrl-C: two interrupts so close to each other are one.
const SAME_KEYPRESS: Duration = Duration::from_secs(1);

/// The signals that end an errand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// SIGINT, as Ctrl-C sends it.
    Interrupt,
    /// SIGTERM.
    Terminate,
}

/// The reaction to a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reaction {
    /// Finish the current step, then end.
    Stop,
    /// End at once.
    Abort,
    /// Nothing: it repeats the signal before it.
    Ignore,
}

/// The first signal stops an errand, the second one aborts it.
#[derive(Debug, Default)]
pub struct Signals {
    first: Option<(Signal, Instant)>,
}

impl Signals {
    /// Takes note of a signal that arrives at `now`.
    pub fn receive(&mut self, signal: Signal, now: Instant) -> Reaction {
        match self.first {
            None => {
                self.first = Some((signal, now));
                Reaction::Stop
            }
            Some((Signal::Interrupt, first))
                if signal == Signal::Interrupt && now.duration_since(first) < SAME_KEYPRESS =>
            {
                Reaction::Ignore
            }
            Some(_) => Reaction::Abort,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reactions(received: &[(Signal, u64)]) -> Vec<Reaction> {
        let (mut signals, start) = (Signals::default(), Instant::now());
        let received = received.iter();
        received
            .map(|(signal, millis)| {
                signals.receive(*signal, start + Duration::from_millis(*millis))
            })
            .collect()
    }

    #[test]
    fn the_second_signal_aborts() {
        use Reaction::{Abort, Stop};
        use Signal::{Interrupt, Terminate};
        assert_eq!(
            reactions(&[(Interrupt, 0), (Interrupt, 1000)]),
            [Stop, Abort]
        );
        assert_eq!(reactions(&[(Terminate, 0), (Terminate, 1)]), [Stop, Abort]);
        assert_eq!(reactions(&[(Terminate, 0), (Interrupt, 1)]), [Stop, Abort]);
    }

    #[test]
    fn one_keypress_that_is_delivered_twice_is_one_signal() {
        use Reaction::{Abort, Ignore, Stop};
        let interrupts = [0, 0, 999, 1500].map(|millis| (Signal::Interrupt, millis));
        assert_eq!(reactions(&interrupts), [Stop, Ignore, Ignore, Abort]);
    }
}
