//! Work that is begun again when it panics.

use std::{any::Any, future::Future, panic::AssertUnwindSafe, time::Duration};

use futures_util::FutureExt;
use tokio::time::sleep;

/// Begins the work again, after a pause, as long as it panics.
pub(super) async fn begin_until_one_ends<Work>(
    mut begin: impl FnMut() -> Option<Work>,
    pause: Duration,
    complain: impl Fn(&str),
) where
    Work: Future<Output = ()>,
{
    while let Some(work) = begin() {
        // The next one begins from what the Director tells, not from what this one has left.
        let Err(panic) = AssertUnwindSafe(work).catch_unwind().await else {
            return;
        };
        complain(panic_text(panic.as_ref()));
        sleep(pause).await;
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::{cell::RefCell, collections::VecDeque};

    use super::*;

    #[tokio::test]
    async fn work_that_panics_is_begun_again_until_one_comes_to_its_end() {
        let mut fates = VecDeque::from([Some("no such index"), Some("still not"), None, None]);
        let complaints = RefCell::new(Vec::new());

        begin_until_one_ends(
            || {
                let fate = fates.pop_front().flatten();
                Some(async move { assert!(fate.is_none(), "{}", fate.unwrap_or_default()) })
            },
            Duration::ZERO,
            |panic| complaints.borrow_mut().push(panic.to_owned()),
        )
        .await;

        assert_eq!(fates.len(), 1, "the third has come to its end");
        assert_eq!(complaints.into_inner(), ["no such index", "still not"]);
    }
}
