//! The entries seen of a list, and whether some may be missing.
//!
//! New entries come first. So if the first entry and the total are the same before and after all other pages are read, no
//! new entry is left and none of the former ones is gone. A page with that total was then read while there was no other
//! new entry either: every page is one of the same list. It does not suffice to look for entries that are seen twice: an
//! entry that another one has pushed to a read page may be deleted before it is seen again.

use std::collections::{HashMap, hash_map::Entry};

use super::InstancePage;
use crate::cloud_controller::{CfInstance, InstanceGuid};

/// The entries seen so far.
#[derive(Default)]
pub(super) struct Tally {
    /// With the pass in which it was seen last.
    seen: HashMap<InstanceGuid, u32>,
    pass: u32,
    /// As the first page of the pass had it.
    total: Option<u64>,
    entries: u64,
    /// The first entry of the list when the pass began.
    head: Option<InstanceGuid>,
    has_changed: bool,
}

impl Tally {
    pub(super) fn begin_pass(&mut self) {
        self.pass += 1;
        self.total = None;
        self.entries = 0;
        self.has_changed = false;
    }

    pub(super) fn take(&mut self, page: InstancePage) -> Vec<CfInstance> {
        if self.total.is_none() {
            self.head = head(&page);
        }
        let total = *self.total.get_or_insert(page.total);
        self.has_changed |= total != page.total;
        self.entries += page.instances.len() as u64;
        let mut fresh = page.instances;
        fresh.retain(|instance| match self.seen.entry(instance.guid.clone()) {
            Entry::Vacant(vacant) => {
                vacant.insert(self.pass);
                true
            }
            Entry::Occupied(mut seen) => {
                self.has_changed |= seen.insert(self.pass) == self.pass;
                false
            }
        });
        fresh
    }

    /// Compares the first page at the end of a pass with the one at its beginning. A list of one page needs no such look.
    pub(super) fn close(&mut self, first: &InstancePage) {
        self.has_changed |= self.total != Some(first.total) || self.head != head(first);
    }

    /// Whether a pass that has read all pages has missed nothing.
    pub(super) fn is_whole(&self) -> bool {
        !self.has_changed && self.total.is_none_or(|total| total == self.entries)
    }
}

fn head(page: &InstancePage) -> Option<InstanceGuid> {
    page.instances.first().map(|entry| entry.guid.clone())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::{collection::vec, prelude::*};

    use super::*;

    /// Newest first.
    #[derive(Clone)]
    struct List {
        entries: Vec<usize>,
        next: usize,
        per_page: usize,
    }

    #[derive(Clone, Debug)]
    enum Event {
        Add,
        /// Of the entries there are.
        Delete(prop::sample::Index),
    }

    impl List {
        fn of(count: usize, per_page: usize) -> Self {
            Self {
                entries: (0..count).rev().collect(),
                next: count,
                per_page,
            }
        }

        fn suffer(&mut self, event: &Event) {
            match event {
                Event::Add => {
                    self.entries.insert(0, self.next);
                    self.next += 1;
                }
                Event::Delete(_) if self.entries.is_empty() => {}
                Event::Delete(index) => {
                    self.entries.remove(index.index(self.entries.len()));
                }
            }
        }

        fn page(&self, number: usize) -> InstancePage {
            let begin = (number - 1) * self.per_page;
            let entries = self.entries.iter().skip(begin).take(self.per_page);
            InstancePage {
                total: self.entries.len() as u64,
                pages: self.entries.len().div_ceil(self.per_page).max(1),
                instances: entries.copied().map(instance).collect(),
            }
        }
    }

    fn instance(number: usize) -> CfInstance {
        CfInstance {
            guid: format!("i-{number}").parse().unwrap(),
            name: None,
            plan: "plan".parse().unwrap(),
            space: "space".parse().unwrap(),
            last_operation: None,
            space_name: None,
            organization: None,
            organization_name: None,
        }
    }

    fn event() -> impl Strategy<Value = Event> {
        prop_oneof![
            Just(Event::Add),
            any::<prop::sample::Index>().prop_map(Event::Delete)
        ]
    }

    /// The events before each page of a pass; mostly none.
    fn happenings() -> impl Strategy<Value = Vec<Vec<Event>>> {
        vec(
            prop_oneof![3 => Just(Vec::new()), 2 => vec(event(), 0..4)],
            40,
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        /// After the first page, the client reads pages in any order and returns them in list order.
        #[test]
        fn a_pass_that_calls_itself_whole_has_seen_whatever_was_there_all_the_time(
            count in 0_usize..60,
            per_page in 1_usize..8,
            happenings in happenings(),
            last in vec(event(), 0..3),
            order in vec(any::<u32>(), 60),
        ) {
            let mut list = List::of(count, per_page);
            let mut stayed: BTreeSet<usize> = list.entries.iter().copied().collect();
            let first = list.page(1);
            let mut others: Vec<usize> = (2..=first.pages).collect();
            others.sort_by_key(|number| order[*number % order.len()]);
            let mut pages = vec![(1, first)];
            for (number, events) in others.into_iter().zip(&happenings) {
                for event in events {
                    list.suffer(event);
                }
                stayed.retain(|entry| list.entries.contains(entry));
                pages.push((number, list.page(number)));
            }
            prop_assume!(pages.len() == pages[0].1.pages);
            let is_long = pages.len() > 1;
            if is_long {
                for event in &last {
                    list.suffer(event);
                }
                stayed.retain(|entry| list.entries.contains(entry));
            }
            let again = list.page(1);
            pages.sort_by_key(|(number, _)| *number);

            let mut tally = Tally::default();
            tally.begin_pass();
            let mut given = BTreeSet::new();
            for (_, page) in pages {
                given.extend(tally.take(page).into_iter().map(|instance| instance.guid));
            }
            if is_long {
                tally.close(&again);
            }

            if tally.is_whole() {
                for entry in stayed {
                    prop_assert!(given.contains(&instance(entry).guid), "{entry} is missing");
                }
            }
        }
    }

    #[test]
    fn a_list_that_stays_as_it_is_is_whole_and_given_once_however_often_it_is_read() {
        let list = List::of(10, 3);
        let mut tally = Tally::default();

        for given in [10, 0] {
            tally.begin_pass();
            let fresh: usize = (1..=4)
                .map(|number| tally.take(list.page(number)).len())
                .sum();
            assert_eq!(fresh, given);
            assert!(tally.is_whole());
        }
    }

    #[test]
    fn an_entry_that_vanishes_between_pages_is_noticed_and_the_one_it_hid_is_found() {
        let mut list = List::of(4, 2);
        let mut tally = Tally::default();
        tally.begin_pass();
        let mut given = tally.take(list.page(1));
        list.entries.remove(0);
        given.extend(tally.take(list.page(2)));
        assert!(!tally.is_whole());

        tally.begin_pass();
        for number in 1..=2 {
            given.extend(tally.take(list.page(number)));
        }

        assert!(tally.is_whole());
        assert_eq!(given.len(), 4);
    }

    /// Each of two deletions is hidden by a new entry, and the entry that was pushed to another page is deleted.
    #[test]
    fn an_entry_that_deleted_ones_hide_is_noticed_by_the_second_look_at_the_first_page() {
        let mut list = List::of(4, 1);
        let mut tally = Tally::default();
        tally.begin_pass();
        let mut pages = vec![list.page(1), list.page(4)];
        list.entries = vec![4, 3, 2, 1];
        pages.insert(1, list.page(3));
        list.entries = vec![5, 4, 2, 1];
        pages.insert(1, list.page(2));
        for page in pages {
            tally.take(page);
        }
        assert!(
            tally.is_whole(),
            "all totals are equal, and none is seen twice"
        );

        tally.close(&list.page(1));

        assert!(!tally.is_whole());
    }

    #[test]
    fn fewer_entries_than_the_list_is_said_to_have_are_not_all_of_it() {
        let mut tally = Tally::default();
        tally.begin_pass();
        let mut page = List::of(3, 5).page(1);
        page.total = 4;

        tally.take(page);

        assert!(!tally.is_whole());
    }
}
