//! Whether something that was sent may still be on its way to the Director. As long as that is so nothing more is sent: no
//! errand is started twice.

use tokio::time::Instant;

use super::Driver;

/// Whether something may be on its way.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Doubt {
    /// Nothing is.
    #[default]
    None,
    /// Something may be, and the Director has not been looked at since.
    Unresolved,
    /// The Director has been seen without it since then, unless it was mute in between.
    SeenWithoutSince(Instant),
}

impl Doubt {
    /// A task is at work, which was the last thing that was sent: a driver sends nothing beside a task.
    pub(super) fn resolve(&mut self) {
        *self = Self::None;
    }
}

impl Driver {
    /// Whether what has not been seen since `start` will not turn up any more: the Director has told without fail for long
    /// enough.
    pub(super) fn has_told_long_enough(&self, start: Instant) -> bool {
        self.observer.told_since(start) >= self.neighbours.timings.lost_answer
    }

    /// The first task may still be on its way, as long as none is known.
    pub(super) fn is_to_be_awaited(&self, empty_since: &mut Option<Instant>) -> bool {
        let since = *empty_since.get_or_insert_with(Instant::now);
        self.observer.newest().is_none() && !self.has_told_long_enough(since)
    }

    /// Asked after each look at the Director that has found nothing at work.
    pub(super) fn is_in_doubt(&mut self) -> bool {
        match self.doubt {
            Doubt::None => false,
            Doubt::Unresolved => {
                self.doubt = Doubt::SeenWithoutSince(Instant::now());
                true
            }
            Doubt::SeenWithoutSince(since) => {
                let is_over = self.has_told_long_enough(since);
                if is_over {
                    self.doubt.resolve();
                }
                !is_over
            }
        }
    }
}
