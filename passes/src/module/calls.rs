//! The functions that an entry point reaches.

use super::callee::called;
use super::{Declarations, Function, Id};
use crate::diagnostic::{Code, Diagnostic, WordOffset};
use std::collections::BTreeMap;

/// A function on the way down: its callees, and how many of them are done.
struct Frame {
    id: Id,
    callees: Vec<(Id, WordOffset)>,
    next: usize,
}

impl<'m> Declarations<'m> {
    /// Functions that `entry` reaches, callees before callers.
    ///
    /// # Errors
    /// `RecursiveCall` when functions call each other in a circle, `UndefinedId` when one is not
    /// there.
    pub fn reachable_functions(&self, entry: Id) -> Result<Vec<Id>, Diagnostic> {
        let mut order = Vec::new();
        let mut finished: BTreeMap<Id, bool> = BTreeMap::new();
        let mut stack = vec![self.frame(entry, WordOffset::default())?];
        finished.insert(entry, false);
        while let Some(frame) = stack.last_mut() {
            let Some((callee, site)) = frame.callees.get(frame.next).copied() else {
                finished.insert(frame.id, true);
                order.push(frame.id);
                stack.pop();
                continue;
            };
            frame.next += 1;
            match finished.get(&callee) {
                Some(true) => {}
                Some(false) => return Err(self.recursion(callee, site)),
                None => {
                    finished.insert(callee, false);
                    stack.push(self.frame(callee, site)?);
                }
            }
        }
        Ok(order)
    }

    fn frame(&self, id: Id, site: WordOffset) -> Result<Frame, Diagnostic> {
        let function = self.function(id).ok_or_else(|| {
            Diagnostic::error(
                Code::UndefinedId,
                format!("the function {id} is called but not defined"),
            )
            .at_word(site)
        })?;
        Ok(Frame {
            id,
            callees: callees(function),
            next: 0,
        })
    }

    fn recursion(&self, callee: Id, site: WordOffset) -> Diagnostic {
        let name = self
            .name(callee)
            .map_or_else(|| callee.to_string(), str::to_owned);
        Diagnostic::error(
            Code::RecursiveCall,
            format!("{name} calls itself, directly or indirectly"),
        )
        .at_word(site)
        .because("SPIR-V 2.16.1 forbids recursion in shaders, and kernels have no stack for it")
        .help("replace the recursion with a loop")
    }
}

/// Callees of `function` and the offsets of the calls, in order.
fn callees(function: &Function<'_>) -> Vec<(Id, WordOffset)> {
    let calls = function.calls.iter();
    calls
        .filter_map(|inst| Some((called(*inst)?, inst.offset)))
        .collect()
}
