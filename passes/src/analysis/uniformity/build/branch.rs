//! Builds the branch at the end of a block.

use super::Builder;
use crate::analysis::cfg::Cfg;
use crate::analysis::uniformity::Branch;
use crate::module::{Id, Inst};

impl<'m> Builder<'_, 'm> {
    pub(super) fn branch(&mut self, inst: Inst<'m>) -> Branch {
        let target = |cfg: &Cfg, word: Option<&u32>| word.and_then(|word| cfg.index_of(Id(*word)));
        match (inst.op(), inst.operands()) {
            (Some(spirv::Op::BranchConditional), [condition, yes, no, ..]) if yes != no => {
                let condition = self.value(Id(*condition));
                match (target(&self.cfg, Some(yes)), target(&self.cfg, Some(no))) {
                    (Some(yes), Some(no)) => Branch::If { condition, yes, no },
                    _ => Branch::None, // the reader has reported it
                }
            }
            (Some(spirv::Op::Switch), [selector, default, ..]) => {
                let selector = self.value(Id(*selector));
                let width = self.graph.node(selector).width;
                let Some(default) = target(&self.cfg, Some(default)) else {
                    return Branch::None;
                };
                let words = if width > 32 { 3 } else { 2 };
                let mut cases = Vec::new();
                for case in inst.operands().get(2..).unwrap_or(&[]).chunks_exact(words) {
                    let (bits, label) = match *case {
                        [low, label] => (u64::from(low), label),
                        [low, high, label] => (u64::from(high) << 32 | u64::from(low), label),
                        _ => continue, // chunks have two words or three
                    };
                    let bits = if width == 0 || width >= 64 {
                        bits
                    } else {
                        bits & ((1 << width) - 1)
                    };
                    if let Some(to) = self.cfg.index_of(Id(label)) {
                        let literal = self.graph.number(bits, width);
                        let is = self.graph.pure(
                            spirv::Op::IEqual as u16,
                            Vec::new(),
                            vec![selector, literal],
                            1,
                        );
                        cases.push((is, bits, to));
                    }
                }
                Branch::Switch {
                    selector,
                    cases,
                    default,
                }
            }
            _ => Branch::None, // one way to go, or none
        }
    }
}
