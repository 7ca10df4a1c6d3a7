//! One launch of a kernel and its buffers, and how results are compared with it.

use serde::{Deserialize, Serialize};

/// One launch of a kernel.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Case {
    /// Workgroups in x, y and z.
    pub groups: [u32; 3],
    /// Invocations of a workgroup in x, y and z.
    pub workgroup_size: [u32; 3],
    /// The words of the push-constant block.
    pub push_constants: Vec<u32>,
    /// The buffers, in the order of the kernel's arguments.
    pub buffers: Vec<Buffer>,
}

/// A buffer of a launch.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Buffer {
    /// The name of the buffer in the kernel.
    pub place: BufferName,
    /// Its name in the source.
    pub name: String,
    /// The type of its words.
    pub element: Element,
    /// The words before the launch.
    pub before: Vec<u32>,
    /// The words after the launch; `None` for a buffer that is only read.
    pub after: Option<Vec<u32>>,
}

/// The name of a buffer in a kernel.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BufferName {
    /// Descriptor set and binding.
    Binding(u32, u32),
    /// A parameter of the kernel.
    Argument(u32),
}

/// The type of a word in a buffer.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Element {
    /// An unsigned number; results are compared exactly.
    U32,
    /// The bits of a float; results may differ by this share of the expected value.
    F32 {
        /// The greatest relative error.
        tolerance: f32,
    },
}

impl Case {
    /// Compares the contents of the buffers after a launch (one slice per buffer, in their order)
    /// with the expected contents.
    ///
    /// # Errors
    /// The first word that differs, with buffer, index, expected and found value.
    pub fn compare(&self, found: &[&[u32]]) -> Result<(), String> {
        if found.len() != self.buffers.len() {
            return Err(format!(
                "{} buffers instead of {}",
                found.len(),
                self.buffers.len()
            ));
        }
        for (buffer, found) in self.buffers.iter().zip(found) {
            let expected = buffer.after.as_ref().unwrap_or(&buffer.before);
            if expected.len() != found.len() {
                return Err(format!(
                    "{}: {} words instead of {}",
                    buffer.name,
                    found.len(),
                    expected.len()
                ));
            }
            for (index, (&want, &got)) in expected.iter().zip(*found).enumerate() {
                if !buffer.element.accepts(want, got) {
                    return Err(format!(
                        "{}[{index}]: {} expected, {} found",
                        buffer.name,
                        buffer.element.show(want),
                        buffer.element.show(got)
                    ));
                }
            }
        }
        Ok(())
    }
}

impl Element {
    pub(super) fn accepts(self, want: u32, got: u32) -> bool {
        match self {
            Element::U32 => want == got,
            Element::F32 { tolerance } => {
                let (want, got) = (f32::from_bits(want), f32::from_bits(got));
                // Written so that a NaN is never accepted.
                (got - want).abs() <= tolerance * want.abs()
            }
        }
    }

    fn show(self, word: u32) -> String {
        match self {
            Element::U32 => format!("{word:#010x}"),
            Element::F32 { .. } => format!("{:?}", f32::from_bits(word)),
        }
    }
}

/// A buffer that is only read.
pub(super) fn input(binding: u32, name: &'static str, before: Vec<u32>) -> Buffer {
    Buffer {
        place: BufferName::Binding(0, binding),
        name: name.to_owned(),
        element: Element::U32,
        before,
        after: None,
    }
}

/// A buffer that is written in full; before the launch it holds a pattern that no result has.
pub(super) fn output(binding: u32, name: &'static str, after: Vec<u32>) -> Buffer {
    Buffer {
        place: BufferName::Binding(0, binding),
        name: name.to_owned(),
        element: Element::U32,
        before: vec![0xdead_beef; after.len()],
        after: Some(after),
    }
}
