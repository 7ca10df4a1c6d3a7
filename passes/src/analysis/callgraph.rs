//! The call graph, and the functions from which a given kind of instruction is reachable.

use crate::diagnostic::{Code, Diagnostic};
use crate::module::{Declarations, Function, Id, WordOffset, callee};
use std::collections::{BTreeMap, BTreeSet};

/// Direct calls between the functions of a module.
#[derive(Clone, Debug)]
pub struct CallGraph {
    /// By caller: callee and word offset of the first call of it, in module order.
    calls: BTreeMap<Id, Vec<(Id, WordOffset)>>,
}

impl CallGraph {
    /// The call graph of a module.
    pub fn analyze(declarations: &Declarations<'_>) -> CallGraph {
        let calls = declarations
            .functions
            .iter()
            .map(|function| (function.id, calls(function)))
            .collect();
        CallGraph { calls }
    }

    /// The functions that `function` calls itself, each once, with the word offset of the first
    /// call.
    pub fn callees(&self, function: Id) -> &[(Id, WordOffset)] {
        self.calls.get(&function).map_or(&[], Vec::as_slice)
    }

    /// The functions of `seeds` and all that call one of them, directly or through others.
    pub fn callers(&self, seeds: impl IntoIterator<Item = Id>) -> BTreeSet<Id> {
        let mut callers: BTreeMap<Id, Vec<Id>> = BTreeMap::new();
        for (caller, callees) in &self.calls {
            for (callee, _) in callees {
                callers.entry(*callee).or_default().push(*caller);
            }
        }
        let mut found = BTreeSet::new();
        let mut work: Vec<Id> = seeds.into_iter().collect();
        while let Some(function) = work.pop() {
            if found.insert(function) {
                work.extend(callers.get(&function).into_iter().flatten());
            }
        }
        found
    }

    /// The functions of `within` that `roots` reach by calls inside of `within`, callees before
    /// callers.
    ///
    /// # Errors
    /// `RecursiveCall` when they call each other in a circle.
    pub fn callees_first(
        &self,
        roots: impl IntoIterator<Item = Id>,
        within: &BTreeSet<Id>,
    ) -> Result<Vec<Id>, Diagnostic> {
        let mut order = Vec::new();
        let mut finished: BTreeMap<Id, bool> = BTreeMap::new();
        for root in roots {
            if !within.contains(&root) || finished.contains_key(&root) {
                continue;
            }
            finished.insert(root, false);
            let mut stack = vec![(root, 0)];
            while let Some((function, next)) = stack.last_mut() {
                let function = *function;
                let call = self.callees(function).get(*next).copied();
                *next += 1;
                match call {
                    None => {
                        finished.insert(function, true);
                        order.push(function);
                        stack.pop();
                    }
                    Some((callee, _)) if !within.contains(&callee) => {}
                    Some((callee, site)) => match finished.get(&callee) {
                        Some(true) => {}
                        Some(false) => return Err(circle(callee, site)),
                        None => {
                            finished.insert(callee, false);
                            stack.push((callee, 0));
                        }
                    },
                }
            }
        }
        Ok(order)
    }
}

fn calls(function: &Function<'_>) -> Vec<(Id, WordOffset)> {
    let mut seen = BTreeSet::new();
    let calls = function.calls.iter();
    let all = calls.filter_map(|inst| Some((callee(*inst)?, inst.offset)));
    all.filter(|(callee, _)| seen.insert(*callee)).collect()
}

fn circle(callee: Id, site: WordOffset) -> Diagnostic {
    Diagnostic::error(
        Code::RecursiveCall,
        format!("the function {callee} calls itself, directly or indirectly"),
    )
    .at_word(site)
    .because("SPIR-V 2.16.1 forbids recursion in shaders, and kernels have no stack for it")
    .help("replace the recursion with a loop")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn graph(calls: &[(u32, &[u32])]) -> CallGraph {
        let entry = |(caller, callees): &(u32, &[u32])| {
            (
                Id(*caller),
                callees
                    .iter()
                    .map(|callee| (Id(*callee), WordOffset::default()))
                    .collect(),
            )
        };
        CallGraph {
            calls: calls.iter().map(entry).collect(),
        }
    }

    #[test]
    fn callees_come_first_and_others_stay_out() {
        let graph = graph(&[(1, &[2, 3]), (2, &[3, 4]), (3, &[]), (4, &[4])]);
        let within = graph.callers([Id(3)]);
        assert_eq!(within, BTreeSet::from([Id(1), Id(2), Id(3)]));
        assert_eq!(
            graph.callees_first([Id(1)], &within).unwrap(),
            [Id(3), Id(2), Id(1)]
        );
    }

    #[test]
    fn a_circle_is_an_error() {
        let graph = graph(&[(1, &[2]), (2, &[1])]);
        let error = graph
            .callees_first([Id(1)], &BTreeSet::from([Id(1), Id(2)]))
            .unwrap_err();
        assert_eq!(error.code, Code::RecursiveCall);
    }
}
