//! Holds artefacts back while versions of a module are compared: those of the version that is taken
//! are shown.

use crate::stage::{Artefact, Observer, Stage};
use std::time::Duration;

/// Artefacts, in the order of their production.
pub(super) type Artefacts = Vec<(Artefact, Vec<u8>)>;

/// An observer in front of another one, which is told of stages at once.
pub(super) struct Recorder<'o> {
    observer: &'o mut dyn Observer,
    /// The artefacts that are held back; `None` if they are shown at once.
    held: Option<Artefacts>,
}

impl<'o> Recorder<'o> {
    /// In front of `observer`; `holds` artefacts back.
    pub(super) fn new(observer: &'o mut dyn Observer, holds: bool) -> Recorder<'o> {
        Recorder {
            observer,
            held: holds.then(Vec::new),
        }
    }

    /// Takes the artefacts that were held back since the last call.
    pub(super) fn take(&mut self) -> Artefacts {
        self.held.as_mut().map_or_else(Vec::new, std::mem::take)
    }

    /// Shows `artefacts`, and from now on what is produced at once.
    pub(super) fn show(&mut self, artefacts: Artefacts) {
        for (artefact, bytes) in artefacts {
            self.observer.produced(artefact, &bytes);
        }
        self.held = None;
    }
}

impl Observer for Recorder<'_> {
    fn begin(&mut self, stage: Stage) {
        self.observer.begin(stage);
    }

    fn waits(&mut self, stage: Stage, since: Duration, pass: Option<&str>) {
        self.observer.waits(stage, since, pass);
    }

    fn wants_artefacts(&self) -> bool {
        self.observer.wants_artefacts()
    }

    fn produced(&mut self, artefact: Artefact, bytes: &[u8]) {
        match &mut self.held {
            Some(held) => held.push((artefact, bytes.to_vec())),
            None => self.observer.produced(artefact, bytes),
        }
    }
}
