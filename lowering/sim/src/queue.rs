//! Operations of one wave that are outstanding, and which of them a wait proves complete.
//!
//! An operation counts in one or more counters. A counter is decremented in order for operations of
//! one class and in any order between classes (the AMDGPU rule: LDS in order, vector loads in
//! order, scalar loads in no order). So a wait for "at most `n` left" proves nothing about an
//! operation of a class without order unless `n` is 0, and proves of an ordered class that all but
//! its youngest `n` are complete.

use std::collections::VecDeque;

/// Up to eight counters, a bit each.
pub type Counters = u8;

/// In which order the operations of a class complete.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum InClass {
    /// In the order of issue.
    Ordered,
    /// In any order.
    Unordered,
}

/// The counter of an operation, and the order in which it completes.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// The counters that it is in.
    pub counters: Counters,
    /// Operations of one class are counted down in order with each other, if `order` says so.
    pub class: u8,
    /// In these of its counters it is of this class instead.
    pub elsewhere: Option<(Counters, u8)>,
    /// The order inside the class.
    pub order: InClass,
    /// Operations on one path take effect in the order of issue, whatever the counters say: one
    /// wave sees its own accesses in order. But see [`Work::follows`].
    pub path: Option<u8>,
}

/// The effect of operations, as far as their order matters.
pub trait Work {
    /// Returns true if this one has to take effect after an older one of its path.
    fn follows(&self, older: &Self) -> bool;

    /// Returns true if a wait for it can make a difference.
    fn matters(&self) -> bool {
        true
    }

    /// Returns true if others may learn from it what was done before.
    fn tells(&self) -> bool {
        false
    }
}

/// One outstanding operation.
#[derive(Clone, Debug)]
pub struct Outstanding<T> {
    /// A number that no other operation of this queue has; never 0.
    pub id: u32,
    /// Its rules; a counter that was waited for is taken out.
    pub rules: Rules,
    /// True if it has taken effect.
    pub performed: bool,
    /// Counters that a wait which is left out would have taken it out of
    /// ([`Queue::leave_out_wait`]).
    overdue: Counters,
    /// Its effect.
    pub what: T,
}

/// The outstanding operations of a wave, the oldest first.
#[derive(Clone, Debug)]
pub struct Queue<T> {
    operations: VecDeque<Outstanding<T>>,
    issued: u32,
}

impl<T> Default for Queue<T> {
    fn default() -> Queue<T> {
        Queue {
            operations: VecDeque::new(),
            issued: 0,
        }
    }
}

impl<T: Work> Queue<T> {
    /// The id that the next operation will have.
    pub fn next_id(&self) -> u32 {
        self.issued.wrapping_add(1).max(1)
    }

    /// Adds an operation; gives its id.
    pub fn issue(&mut self, rules: Rules, what: T) -> u32 {
        self.issued = self.next_id();
        self.operations.push_back(Outstanding {
            id: self.issued,
            rules,
            performed: false,
            overdue: 0,
            what,
        });
        self.issued
    }

    /// Returns true if nothing is outstanding.
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    /// The number of outstanding operations.
    pub fn len(&self) -> usize {
        self.operations.len()
    }

    /// The operation with this id.
    pub fn get(&self, id: u32) -> Option<&Outstanding<T>> {
        self.operations.iter().find(|o| o.id == id)
    }

    /// The operations, the oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &Outstanding<T>> {
        self.operations.iter()
    }

    /// Waits until at most `left` operations count in `counter`: what that proves complete is out
    /// of the counter. Gives whether anything was that matters.
    pub fn wait(&mut self, counter: Counters, left: u32) -> bool {
        let mut any = false;
        self.each_proved(counter, left, |operation| {
            operation.rules.counters &= !counter;
            any |= operation.what.matters();
        });
        any
    }

    /// Does not wait, but notes what [`Queue::wait`] would have proved complete.
    pub fn leave_out_wait(&mut self, counter: Counters, left: u32) {
        self.each_proved(counter, left, |operation| operation.overdue |= counter);
    }

    /// Operations that are outstanding only because a wait was left out.
    pub fn overdue(&self) -> impl Iterator<Item = &T> {
        self.operations
            .iter()
            .filter(|o| o.overdue & o.rules.counters != 0)
            .map(|o| &o.what)
    }

    /// What a wait for at most `left` operations in `counter` proves complete.
    fn each_proved(
        &mut self,
        counter: Counters,
        left: u32,
        mut act: impl FnMut(&mut Outstanding<T>),
    ) {
        // For each class, how many of its operations may still be left.
        let mut kept = [0u32; 256];
        for operation in self.operations.iter_mut().rev() {
            let rules = operation.rules;
            if rules.counters & counter == 0 {
                continue;
            }
            let class = match rules.elsewhere {
                Some((counters, class)) if counters & counter != 0 => class,
                _ => rules.class,
            };
            let kept = &mut kept[usize::from(class)];
            *kept += 1;
            let proved = match rules.order {
                InClass::Ordered => *kept > left,
                InClass::Unordered => left == 0,
            };
            if proved {
                act(operation);
            }
        }
    }

    /// Takes out every operation that is out of all its counters, the oldest first. `perform` lets
    /// an operation take effect: each exactly once, and after the older ones of its path. What
    /// tells others goes before what nothing keeps it behind. `retire` gets what is taken out.
    pub fn settle(&mut self, mut perform: impl FnMut(&mut T), mut retire: impl FnMut(u32, T)) {
        for at in 0..self.operations.len() {
            let early = |o: &Outstanding<T>| o.rules.counters == 0 && o.what.tells();
            if self.operations.get(at).is_some_and(early) {
                self.perform_at(at, &mut perform);
            }
        }
        while let Some(at) = self.operations.iter().position(|o| o.rules.counters == 0) {
            self.perform_at(at, &mut perform);
            if let Some(done) = self.operations.remove(at) {
                retire(done.id, done.what);
            }
        }
    }

    /// Lets one operation take effect early, with the older ones of its path; `choose` picks it
    /// among those that have not (it gets their number).
    pub fn perform_one(
        &mut self,
        choose: impl FnOnce(usize) -> usize,
        mut perform: impl FnMut(&mut T),
    ) {
        let waiting = self.operations.iter().filter(|o| !o.performed).count();
        if waiting == 0 {
            return;
        }
        let chosen = choose(waiting);
        let at = self
            .operations
            .iter()
            .enumerate()
            .filter(|(_, o)| !o.performed)
            .nth(chosen);
        if let Some((at, _)) = at {
            self.perform_at(at, &mut perform);
        }
    }

    /// Lets everything take effect that has not, the oldest first.
    pub fn perform_all(&mut self, mut perform: impl FnMut(&mut T)) {
        for operation in self.operations.iter_mut().filter(|o| !o.performed) {
            operation.performed = true;
            perform(&mut operation.what);
        }
    }

    fn perform_at(&mut self, at: usize, perform: &mut impl FnMut(&mut T)) {
        let Some(last) = self.operations.get(at).filter(|o| !o.performed) else {
            return; // it has taken effect already
        };
        let path = last.rules.path;
        let mut due = vec![(at, last)];
        for (index, older) in self.operations.iter().enumerate().take(at).rev() {
            let waits = path.is_some() && older.rules.path == path && !older.performed;
            if waits && due.iter().any(|(_, due)| due.what.follows(&older.what)) {
                due.push((index, older));
            }
        }
        let due: Vec<usize> = due.into_iter().map(|(index, _)| index).collect();
        for index in due.into_iter().rev() {
            if let Some(operation) = self.operations.get_mut(index) {
                operation.performed = true;
                perform(&mut operation.what);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Capital letters follow only themselves.
    impl Work for char {
        fn follows(&self, older: &char) -> bool {
            !self.is_ascii_uppercase() || self == older
        }

        fn tells(&self) -> bool {
            *self == 'T'
        }
    }

    const A: Counters = 1;
    const B: Counters = 2;

    fn rules(counters: Counters, class: u8, order: InClass) -> Rules {
        let path = Some(class);
        Rules {
            counters,
            class,
            order,
            elsewhere: None,
            path,
        }
    }

    /// What takes effect, then what retires.
    fn settle(queue: &mut Queue<char>) -> (String, String) {
        let (mut performed, mut retired) = (String::new(), String::new());
        queue.settle(|c| performed.push(*c), |_, c| retired.push(c));
        (performed, retired)
    }

    #[test]
    fn what_tells_others_goes_first_unless_it_follows() {
        let mut queue = Queue::default();
        for what in ['a', 'T', 'b', 'T'] {
            queue.issue(rules(A, 0, InClass::Ordered), what);
        }
        queue.wait(A, 1);
        assert_eq!(settle(&mut queue), ("Tab".to_owned(), "aTb".to_owned()));
    }

    #[test]
    fn ordered_operations_complete_from_the_oldest() {
        let mut queue = Queue::default();
        for what in ['a', 'b', 'c'] {
            queue.issue(rules(A, 0, InClass::Ordered), what);
        }
        queue.wait(A, 1);
        assert_eq!(settle(&mut queue).1, "ab");
        queue.wait(B, 0);
        assert_eq!(settle(&mut queue).1, "");
    }

    #[test]
    fn unordered_operations_complete_at_zero_only() {
        let mut queue = Queue::default();
        queue.issue(rules(A, 1, InClass::Unordered), 's');
        queue.issue(rules(A, 0, InClass::Ordered), 'x');
        queue.issue(rules(A, 0, InClass::Ordered), 'y');
        queue.wait(A, 1);
        assert_eq!(
            settle(&mut queue).1,
            "x",
            "at most one of its class is left"
        );
        queue.wait(A, 0);
        assert_eq!(settle(&mut queue).1, "sy");
    }

    #[test]
    fn an_operation_in_two_counters_waits_for_both() {
        let mut queue = Queue::default();
        queue.issue(rules(A | B, 0, InClass::Ordered), 'f');
        queue.wait(A, 0);
        assert_eq!(settle(&mut queue).1, "");
        queue.wait(B, 0);
        assert_eq!(settle(&mut queue).1, "f");
    }

    #[test]
    fn an_operation_of_another_class_in_one_counter_is_in_order_in_both() {
        let mut queue = Queue::default();
        queue.issue(rules(A, 0, InClass::Ordered), 'l');
        let flat = Rules {
            elsewhere: Some((B, 1)),
            ..rules(A | B, 0, InClass::Ordered)
        };
        queue.issue(flat, 'f');
        queue.issue(rules(B, 1, InClass::Ordered), 's');
        queue.wait(A, 1);
        assert_eq!(settle(&mut queue).1, "l");
        queue.wait(B, 1);
        assert_eq!(settle(&mut queue).1, "");
        queue.wait(A, 0);
        assert_eq!(settle(&mut queue).1, "f");
    }

    #[test]
    fn a_path_takes_effect_in_order_over_counters() {
        let mut queue = Queue::default();
        let store = Rules {
            path: Some(9),
            ..rules(B, 1, InClass::Ordered)
        };
        let load = Rules {
            path: Some(9),
            ..rules(A, 0, InClass::Ordered)
        };
        queue.issue(store, 's');
        queue.issue(load, 'l');
        queue.wait(A, 0);
        assert_eq!(settle(&mut queue), ("sl".into(), "l".into()));
        queue.wait(B, 0);
        assert_eq!(settle(&mut queue), (String::new(), "s".into()));
    }

    #[test]
    fn what_need_not_follow_may_overtake() {
        let mut queue = Queue::default();
        let store = Rules {
            path: Some(0),
            ..rules(B, 1, InClass::Ordered)
        };
        queue.issue(store, 's');
        queue.issue(rules(A, 0, InClass::Ordered), 'X');
        queue.issue(rules(A, 0, InClass::Ordered), 'X');
        queue.wait(A, 0);
        assert_eq!(settle(&mut queue), ("XX".into(), "XX".into()));
        queue.issue(rules(A, 0, InClass::Ordered), 'l');
        queue.wait(A, 0);
        assert_eq!(settle(&mut queue), ("sl".into(), "l".into()));
    }

    #[test]
    fn a_wait_that_is_left_out_matters_until_another_makes_up_for_it() {
        let mut queue = Queue::default();
        queue.issue(rules(A, 0, InClass::Ordered), 'a');
        queue.issue(rules(A, 0, InClass::Ordered), 'b');
        queue.leave_out_wait(A, 1);
        assert_eq!(queue.overdue().collect::<String>(), "a");
        assert!(!queue.wait(B, 0), "nothing counts in it");
        assert!(queue.wait(A, 0));
        assert_eq!(queue.overdue().count(), 0);
    }

    #[test]
    fn early_effects_happen_once() {
        let mut queue = Queue::default();
        queue.issue(rules(A, 0, InClass::Ordered), 'a');
        queue.issue(rules(A, 0, InClass::Ordered), 'b');
        let mut performed = String::new();
        queue.perform_one(|n| n - 1, |c| performed.push(*c));
        assert_eq!(performed, "ab");
        queue.perform_one(|n| n - 1, |c| performed.push(*c));
        assert_eq!(performed, "ab", "nothing is left");
        queue.wait(A, 0);
        assert_eq!(settle(&mut queue), (String::new(), "ab".into()));
    }
}
