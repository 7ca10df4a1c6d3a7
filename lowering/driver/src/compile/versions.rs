//! Compiled versions of a module, compared by the expected times of their entry points.

use super::expected::{By, Expected, expected_times};
use super::output::Output;
use super::recorder::{Artefacts, Recorder};
use super::request::Request;
use super::select::Expect;
use crate::failure::Failure;
use crate::options::Options;
use crate::stage::Observer;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// A version, compiled and measured, with the artefacts of its stages.
pub(super) type Compiled = (Output, Artefacts);

/// The decision between versions of a module.
pub(super) struct Decided {
    /// The options of the version that is taken.
    pub(super) options: Options,
    /// Why it is this one.
    pub(super) why: String,
    /// Its code; `None` where nothing was compiled.
    pub(super) compiled: Option<Compiled>,
}

/// Compiles the version by `options`, measured. `observer` holds back what it shows.
///
/// # Errors
/// The problems of the module.
pub(super) fn compiled(
    request: Request<'_>,
    options: Options,
    observer: &mut Recorder<'_>,
    compile: impl Fn(Request<'_>, &mut dyn Observer) -> Result<Output, Failure>,
) -> Result<Compiled, Failure> {
    let options = Options {
        measure: true,
        ..options
    };
    let output = compile(request.with(&options), observer);
    // Those of a version that failed go too.
    let artefacts = observer.take();
    Ok((output?, artefacts))
}

/// A version, an entry point, and the number of the launch that is made up.
type Measurement = (usize, usize, Option<usize>);

/// Versions of a module, which of them is the best, and what is known of their times.
pub(super) struct Versions<T> {
    /// Each with what it is a version of. The first one is that which others are compared with.
    all: Vec<(T, Compiled)>,
    expect: Expect,
    /// Expected times.
    times: RefCell<BTreeMap<Measurement, Expected>>,
}

impl<T> Versions<T> {
    pub(super) fn new(what: T, first: Compiled, expect: Expect) -> Versions<T> {
        Versions {
            all: vec![(what, first)],
            expect,
            times: RefCell::default(),
        }
    }

    pub(super) fn push(&mut self, what: T, version: Compiled) {
        self.all.push((what, version));
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// The code of the first version that `is` true for.
    pub(super) fn find(&self, is: impl Fn(&T) -> bool) -> Option<&Output> {
        let found = self.all.iter().find(|(what, _)| is(what));
        found.map(|(_, (output, _))| output)
    }

    /// Version number `number`.
    pub(super) fn take(mut self, number: usize) -> (T, Compiled) {
        self.all.swap_remove(number)
    }

    /// The version that is taken, and why: the one that is expected to take the fewest cycles of
    /// those that take fewer in one entry point than the first, and more in none; else the first,
    /// which the reason calls `first`.
    pub(super) fn choose(&self, by: By<'_>, first: &str) -> (usize, String) {
        let outputs = self.all.iter().map(|(_, (output, _))| output);
        let outputs: Vec<(usize, &Output)> = outputs.enumerate().collect();
        let given = outputs.first();
        let entries = given.map_or(0, |(_, given)| given.entries().len());
        let times: Vec<Vec<Expected>> = (0..entries)
            .map(|index| {
                expected_times(&outputs, by, |(version, output), by| {
                    self.time(*version, output, index, by)
                })
            })
            .collect();
        let of = |version: usize| -> Vec<[&Expected; 2]> {
            let pairs = times
                .iter()
                .map(|entry| [entry.get(version), entry.first()]);
            pairs
                .filter_map(|[own, given]| Some([own?, given?]))
                .collect()
        };
        let mut others: Vec<(usize, f64, Result<String, String>)> = (1..outputs.len())
            .map(|version| {
                let times = of(version);
                (version, time_of_given(&times), gain(&times, first))
            })
            .collect();
        // The fastest of those that gain, else the fastest.
        others.sort_by(|(_, one, gain), (_, other, others)| {
            let is_worse = gain.is_err().cmp(&others.is_err());
            is_worse.then(one.total_cmp(other))
        });
        match others.into_iter().next() {
            Some((version, _, Ok(why))) => (version, why),
            Some((_, _, Err(why))) => (0, why),
            None => (0, String::new()),
        }
    }

    /// The expected time of a version, which is looked for once.
    fn time(&self, version: usize, output: &Output, entry: usize, by: By<'_>) -> Expected {
        let launch = match by {
            By::Given(_) => None,
            By::MadeUp(number) => Some(number),
        };
        let key = (version, entry, launch);
        if let Some(known) = self.times.borrow().get(&key) {
            return Expected::clone(known);
        }
        let time = (self.expect)(output, entry, by);
        self.times.borrow_mut().insert(key, time.clone());
        time
    }
}

/// The product of the times of entry points over those of the same ones as they are.
fn time_of_given(times: &[[&Expected; 2]]) -> f64 {
    let ratios = times.iter().filter_map(|[own, given]| own.over(given));
    ratios.product()
}

/// Why a version is taken, of the times of its entry points and of the same ones in the `first`
/// version.
///
/// # Errors
/// Why it is not.
fn gain(times: &[[&Expected; 2]], first: &str) -> Result<String, String> {
    let mut gain = Err("nothing depends on it".to_owned());
    for [own, given] in times {
        let beats = |one: &Expected, other| one.beats_version(other, first);
        match beats(own, given) {
            Ok(why) => gain = Ok(why),
            Err(why) if beats(given, own).is_ok() => return Err(why),
            Err(why) => gain = gain.or(Err(why)),
        }
    }
    gain
}
