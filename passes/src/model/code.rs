//! Programs checked and made ready to run: labels bound, the drops of a thread's end known.

use super::object::Object;
use super::program::{Label, Op, Program};

/// The most threads, words, registers and sequences of a system.
pub const MOST: usize = 16;

/// The most objects.
pub(super) const OBJECTS: usize = 32;

/// A program with its labels resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Code {
    pub ops: Vec<Op>,
    /// By label: where it is bound.
    labels: Vec<usize>,
    /// Objects that the end of the thread drops, one step each after the last operation.
    leaves: Vec<u8>,
    pub workgroup: u8,
}

impl Code {
    pub(super) fn target(&self, label: Label) -> usize {
        self.labels[usize::from(label.0)]
    }

    /// The object that a thread at `pc` is about to drop because it ends.
    pub(super) fn leaving(&self, pc: usize) -> Option<usize> {
        let leave = pc.checked_sub(self.ops.len())?;
        self.leaves.get(leave).map(|object| usize::from(*object))
    }

    /// The objects that the end of the thread drops.
    pub(super) fn leaves(&self) -> impl Iterator<Item = u8> {
        self.leaves.iter().copied()
    }

    /// Where a thread can be after the operation at `pc`.
    pub(super) fn successors(&self, pc: usize) -> impl Iterator<Item = usize> {
        let op = self.ops.get(pc);
        let jumps = op.map_or(&[][..], |op| op.names().labels);
        let falls = !matches!(op, Some(Op::Goto(_) | Op::Choose(_)));
        jumps
            .iter()
            .map(|label| self.target(*label))
            .chain(falls.then_some(pc + 1))
    }

    /// Returns true if control never goes back to where it was.
    pub(super) fn goes_forward(&self) -> bool {
        (0..self.ops.len()).all(|pc| self.successors(pc).all(|next| next > pc))
    }

    /// Where a thread is that has ended.
    pub(super) fn end(&self) -> usize {
        self.ops.len() + self.leaves.len()
    }
}

/// Binds a program's labels and checks what it names.
///
/// # Errors
/// What is beyond the model's limits, or not well formed.
pub(super) fn resolve(
    program: &Program,
    workgroup: u8,
    objects: &[Object],
    words: usize,
) -> Result<Code, String> {
    let labels = program
        .labels
        .iter()
        .map(|label| label.ok_or_else(|| "a label is not bound".to_owned()))
        .collect::<Result<Vec<usize>, String>>()?;
    let leaves: Vec<u8> = (0..=u8::MAX)
        .zip(objects)
        .filter(|(_, object)| object.dropped_at_end && object.scope.holds(workgroup))
        .map(|(index, _)| index)
        .collect();
    let length = program.ops.len() + leaves.len();
    if length.max(labels.len()) >= usize::from(u16::MAX) {
        return Err(format!(
            "a program of {length} operations and {} labels: the model takes 65534 of each",
            labels.len()
        ));
    }
    for op in &program.ops {
        let names = op.names();
        if names
            .labels
            .iter()
            .any(|label| usize::from(label.0) >= labels.len())
        {
            return Err("a label of another program".to_owned());
        }
        if matches!(op, Op::Choose(all) if all.is_empty() || all.len() > MOST) {
            return Err(format!("a choice has 1 to {MOST} alternatives"));
        }
        if names.word.is_some_and(|word| usize::from(word.0) >= words) {
            return Err("a shared word that the system does not have".to_owned());
        }
    }
    Ok(Code {
        ops: program.ops.clone(),
        labels,
        leaves,
        workgroup,
    })
}
