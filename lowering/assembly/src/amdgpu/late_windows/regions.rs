//! Parts of a function with branches that a signal or wait may pass as a whole.

use crate::{Flow, Function, Instruction};
use std::ops::Range;

/// A region has at most so many instructions: looking for them stays linear.
const MOST: usize = 1024;

/// The regions of a function, apart from each other and in order.
///
/// A region begins with a branch forward, and ends in front of the first instruction to which all
/// ways through it come. Control comes in at its beginning only and leaves at its end only, and all
/// its instructions but the branches are free of the barrier: whoever passes the beginning passes
/// the end once.
pub(super) struct Regions(Vec<Range<usize>>);

impl Regions {
    /// The regions of `function`, by the positions of its instructions. `is_free` returns true for
    /// instructions that a signal or wait may pass.
    pub(super) fn analyze(function: &Function, is_free: impl Fn(&Instruction) -> bool) -> Regions {
        let instructions = &function.instructions;
        // From where control comes by a branch, by place.
        let mut sources: Vec<Option<(usize, usize)>> = vec![None; instructions.len() + 1];
        for (at, inst) in instructions.iter().enumerate() {
            for target in targets(inst) {
                if let Some(source) = sources.get_mut(*target) {
                    let (first, last) = source.unwrap_or((at, at));
                    *source = Some((first.min(at), last.max(at)));
                }
            }
        }
        let end_of = |start: usize| {
            let mut end = start + 1;
            let mut at = start;
            while at < end {
                let inst = instructions.get(at)?;
                let leads = targets(inst);
                let is_branch = matches!(inst.flow, Flow::Branch(_) | Flow::Jump(_));
                if is_branch == leads.is_empty() || !(is_branch || is_free(inst)) {
                    return None;
                }
                if leads.iter().any(|to| *to <= start) {
                    return None;
                }
                end = leads.iter().copied().fold(end, usize::max);
                if end - start > MOST {
                    return None;
                }
                at += 1;
            }
            let region = start..end;
            let mut entered = sources.get(start + 1..=end)?.iter().flatten();
            let closed =
                entered.all(|(first, last)| region.contains(first) && region.contains(last));
            (closed && end < instructions.len()).then_some(region)
        };
        let mut regions = Vec::new();
        let mut at = 0;
        while let Some(inst) = instructions.get(at) {
            let region = match inst.flow {
                Flow::Branch(_) => end_of(at),
                _ => None,
            };
            at = region.as_ref().map_or(at + 1, |region| region.end);
            regions.extend(region);
        }
        Regions(regions)
    }

    fn up_to(&self, at: usize) -> Option<&Range<usize>> {
        let behind = self.0.partition_point(|region| region.start <= at);
        self.0.get(behind.checked_sub(1)?)
    }

    /// Returns true if the instruction at `at` is part of a region.
    pub(super) fn contain(&self, at: usize) -> bool {
        self.up_to(at).is_some_and(|region| region.contains(&at))
    }

    /// Returns true if a region begins with the instruction at `at`.
    pub(super) fn begin_at(&self, at: usize) -> bool {
        self.up_to(at).is_some_and(|region| region.start == at)
    }

    /// Returns true if control reaches the labels at `at` only from inside a region.
    pub(super) fn have_label(&self, at: usize) -> bool {
        let before = at.checked_sub(1).and_then(|before| self.up_to(before));
        before.is_some_and(|region| region.start < at && at <= region.end)
    }
}

/// The successors of an instruction other than the next one.
pub(super) fn targets(inst: &Instruction) -> &[usize] {
    match &inst.flow {
        Flow::Next | Flow::End => &[],
        Flow::Jump(targets) | Flow::Branch(targets) => targets,
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::super::parse;
    use super::*;
    use pretty_assertions::assert_eq;

    /// The regions of a function, of which `x` is not free.
    fn regions(code: &str) -> Vec<(usize, usize)> {
        let lines = code.replace(" / ", "\n");
        let text = format!("\t.type\tk,@function\nk:\n{lines}\ns_endpgm\n.Lfunc_end0:\n");
        let functions = parse(&text);
        let regions = Regions::analyze(functions.first().unwrap(), |inst| inst.mnemonic == "v");
        let ends = |region: &Range<usize>| (region.start, region.end);
        regions.0.iter().map(ends).collect()
    }

    #[test]
    fn a_region_has_one_way_in_and_one_out() {
        assert_eq!(regions("v / s_cbranch_execz A / v / v / A: / v"), [(1, 4)]);
        // Two arms.
        assert_eq!(
            regions("s_cbranch_scc1 A / v / s_branch B / A: / v / B: / v"),
            [(0, 4)]
        );
        // A loop behind a guard.
        assert_eq!(
            regions("s_cbranch_scc1 B / A: / v / s_cbranch_scc1 A / B: / v"),
            [(0, 3)]
        );
        // One beside the other, and one in the other.
        assert_eq!(
            regions("s_cbranch_scc1 A / v / A: / s_cbranch_scc1 B / v / B: / v"),
            [(0, 2), (2, 4)]
        );
        assert_eq!(
            regions("s_cbranch_scc1 B / s_cbranch_scc1 A / v / A: / v / B: / v"),
            [(0, 4)]
        );
    }

    #[test]
    fn what_is_not_free_or_entered_elsewhere_is_no_region() {
        for code in [
            "s_cbranch_scc1 A / x / A: / v",
            // Control comes to its end or into it from elsewhere.
            "s_cbranch_scc1 A / v / A: / v / s_cbranch_scc1 A",
            "s_branch B / s_cbranch_scc1 A / v / B: / v / A: / x",
            // It leaves, or ends.
            "C: / v / s_cbranch_scc1 A / v / s_cbranch_scc1 C / A: / v",
            "s_cbranch_scc1 A / s_endpgm / A: / v",
            // It goes nowhere that is known.
            "s_cbranch_scc1 A / v",
            // A loop.
            "A: / v / s_cbranch_scc1 A",
        ] {
            assert_eq!(regions(code), [], "{code}");
        }
        // The inner one of two.
        assert_eq!(
            regions("s_cbranch_scc1 B / s_cbranch_scc1 A / v / A: / x / B: / v"),
            [(1, 3)]
        );
    }
}
