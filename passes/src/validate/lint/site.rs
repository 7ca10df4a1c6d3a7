//! The places that lints speak of.

use super::super::flow::Entry;
use crate::analysis::pairing::{Site, SiteId};
use crate::module::WordOffset;

pub(super) fn site<'s>(entry: &'s Entry<'_, '_>, id: SiteId) -> Option<&'s Site> {
    entry.pairing.site(id)
}

pub(super) fn name(entry: &Entry<'_, '_>, offset: WordOffset) -> String {
    let word = entry.word(offset);
    entry
        .original
        .module
        .at(word)
        .map_or_else(String::new, |inst| entry.original.op_name(inst))
}
