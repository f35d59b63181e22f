//! Users who have shown too many wrong passwords.

use std::collections::HashMap;

use uuid::Uuid;

use super::now;

/// The default of a UAA: five failures within an hour lock the user out for five minutes.
const FAILURES: usize = 5;
const COUNTED_FOR_MS: i64 = 60 * 60 * 1000;
const LOCKED_FOR_MS: i64 = 5 * 60 * 1000;

/// When each user failed to log in, as far as it still counts.
#[derive(Default)]
pub(in crate::uaa) struct Lockout(HashMap<Uuid, Vec<i64>>);

impl Lockout {
    /// Whether the user is locked out at the moment.
    pub(in crate::uaa) fn holds(&self, user: Uuid) -> bool {
        let failures = self.0.get(&user).map_or(&[][..], Vec::as_slice);
        failures.len() >= FAILURES
            && failures
                .last()
                .is_some_and(|last| now() - last < LOCKED_FOR_MS)
    }

    pub(in crate::uaa) fn failed(&mut self, user: Uuid) {
        let failures = self.0.entry(user).or_default();
        failures.retain(|at| now() - at < COUNTED_FOR_MS);
        failures.push(now());
    }

    /// Forgets the failures of a user: a right password, or an administrator's word.
    pub(in crate::uaa) fn forget(&mut self, user: Uuid) {
        self.0.remove(&user);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_failures_lock_a_user_out_until_they_are_forgotten() {
        let (user, other) = (Uuid::new_v4(), Uuid::new_v4());
        let mut lockout = Lockout::default();

        for _ in 0..4 {
            lockout.failed(user);
        }
        assert!(!lockout.holds(user));
        lockout.failed(user);
        assert!(lockout.holds(user) && !lockout.holds(other));

        lockout.forget(user);
        assert!(!lockout.holds(user));
    }
}
