//! Lets accesses of a buffer beside each other share one offset.
//!
//! Offsets into a buffer are computed in 32 bits and widened without sign ([`crate::emit`]'s
//! `place.rs`), so that `buffer[i]` and `buffer[i + 1]` have the offsets `o` and `o + 4`, and LLVM
//! cannot put the 4 into the instruction: the sum may wrap around. Each access then has an addition
//! and a register of its own. But it does not wrap where `o` itself is the offset of an access that
//! has been made: a buffer ends at least [`FARTHEST`] bytes before 4 GiB (docs/abi.md), and an
//! access outside of it is undefined.
//!
//! In a block, an access at `o + d` behind one at `o` gets the address of the latter plus `d`, a
//! constant that every target adds for nothing. It is done when the optimiser has run, which has
//! brought the offsets into the form `sum of something and a constant`.

use crate::ffi::{self, Block, Func, Opcode, RawBuilder, Value};
use inkwell::context::Context;
use inkwell::module::Module;
use std::collections::HashMap;

/// The farthest that an access may lie behind the one that it shares the offset with, in bytes: the
/// smallest limit of an instruction's own offset (gfx10, 12 bits with a sign), and what a buffer is
/// shorter than 4 GiB by.
const FARTHEST: u32 = 2047;

/// An access whose offset others may use.
struct Anchor<'c> {
    /// The address that the offset counts from.
    base: Value<'c>,
    /// The offset, widened.
    wide: Value<'c>,
    /// Their sum.
    address: Value<'c>,
    /// What the offset is behind the value that it is found by.
    constant: u32,
}

/// An address `base + zext(value + constant)`.
#[derive(Copy, Clone)]
struct Place<'c> {
    base: Value<'c>,
    wide: Value<'c>,
    value: Value<'c>,
    constant: u32,
}

/// Rewrites the accesses of all functions. To be called when the optimiser has run, on modules
/// whose addresses of 32-bit offsets all lead into buffers.
pub(crate) fn share(context: &Context, module: &Module<'_>) {
    let builder = RawBuilder::new(context);
    for function in ffi::functions(ffi::module_ref(module)) {
        for block in Func::blocks(function) {
            share_in(&builder, block);
        }
    }
}

fn share_in<'c>(builder: &RawBuilder<'c>, block: Block<'c>) {
    let mut anchors: HashMap<Value<'c>, Vec<Anchor<'c>>> = HashMap::new();
    let instructions = block.instructions();
    let order: HashMap<Value<'c>, usize> = instructions.iter().copied().zip(0..).collect();
    for (at, access) in instructions.iter().enumerate() {
        let Some(address) = address_of(*access) else {
            continue;
        };
        let Some(place) = place(address) else {
            continue;
        };
        let known = anchors.entry(place.value).or_default();
        let distance = |anchor: &Anchor<'c>| place.constant.wrapping_sub(anchor.constant);
        let near = |anchor: &&Anchor<'c>| (1..=FARTHEST).contains(&distance(anchor));
        // The same buffer's costs no addition of its own.
        let same = known.iter().find(|a| near(a) && a.base == place.base);
        let Some(anchor) = same.or_else(|| known.iter().find(near)) else {
            if known
                .iter()
                .all(|anchor| anchor.base != place.base || anchor.constant != place.constant)
            {
                known.push(Anchor {
                    base: place.base,
                    wide: place.wide,
                    address,
                    constant: place.constant,
                });
            }
            continue;
        };
        builder.position_before(*access);
        let from = if anchor.base == place.base {
            anchor.address
        } else {
            builder.offset(place.base, anchor.wide, true)
        };
        let bytes = ffi::int_type(builder.context(), 64).int(distance(anchor).into());
        let shared = builder.offset(from, bytes, true);
        // In front of the access nothing is known of the offset.
        for user in address.users() {
            let behind = if user.block() == block && !user.is_phi() {
                order.get(&user).is_some_and(|user| *user >= at)
            } else {
                address.opcode().is_some() && address.block() == block
            };
            if behind && user != shared {
                user.replace_operand(address, shared);
            }
        }
    }
}

/// What a load, a store or an atomic operation accesses.
fn address_of(access: Value<'_>) -> Option<Value<'_>> {
    let index = match access.opcode()? {
        Opcode::LLVMLoad | Opcode::LLVMAtomicRMW | Opcode::LLVMAtomicCmpXchg => 0,
        Opcode::LLVMStore => 1,
        _ => return None,
    };
    access.operands().get(index).copied()
}

/// An address of device memory, taken apart.
fn place(address: Value<'_>) -> Option<Place<'_>> {
    if address.ty().address_space() != 1 || !address.is_byte_offset() {
        return None;
    }
    let [base, wide] = address.operands()[..] else {
        return None;
    };
    if wide.opcode() != Some(Opcode::LLVMZExt) {
        return None;
    }
    let [offset] = wide.operands()[..] else {
        return None;
    };
    if !offset.ty().is_int() || offset.ty().is_vector() || offset.ty().int_width() != 32 {
        return None;
    }
    let (value, constant) = match (offset.opcode(), offset.operands().as_slice()) {
        (Some(Opcode::LLVMAdd), [value, constant]) if constant.as_u64().is_some() => {
            // Both are of 32 bits and wrap around together.
            (*value, constant.as_u64()? as u32)
        }
        _ => (offset, 0),
    };
    Some(Place {
        base,
        wide,
        value,
        constant,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::share;
    use crate::{codegen, ffi};
    use inkwell::context::Context;
    use inkwell::memory_buffer::MemoryBuffer;
    use pretty_assertions::assert_eq;

    /// The addresses that the stores of a kernel with `body` go to, as the IR names them.
    fn addresses(body: &str) -> Vec<String> {
        let ir = format!(
            "define void @k(ptr addrspace(1) %p, ptr addrspace(1) %q, i32 %o, i1 %c) {{
entry:
  %w = zext i32 %o to i64
  %a = getelementptr i8, ptr addrspace(1) %p, i64 %w
  %o4 = add i32 %o, 4
  %w4 = zext i32 %o4 to i64
  %a4 = getelementptr i8, ptr addrspace(1) %p, i64 %w4
  %b4 = getelementptr i8, ptr addrspace(1) %q, i64 %w4
  %far = add i32 %o, 4096
  %wfar = zext i32 %far to i64
  %afar = getelementptr i8, ptr addrspace(1) %p, i64 %wfar
{body}
  ret void
}}
"
        );
        let context = Context::create();
        let buffer = MemoryBuffer::create_from_memory_range_copy(ir.as_bytes(), "k");
        let module = context.create_module_from_ir(buffer).unwrap();
        share(&context, &module);
        codegen::verify(&module, "shared").unwrap();
        let text = ffi::module_text(&module);
        let lines = || text.lines().map(str::trim);
        let defined = |name: &str| {
            let start = format!("{name} = ");
            let definition = lines().find_map(|line| line.strip_prefix(&start));
            let definition = definition.unwrap_or_default();
            definition.replace("getelementptr inbounds i8, ptr addrspace(1) ", "shared ")
        };
        lines()
            .filter(|line| line.starts_with("store"))
            .map(|store| {
                let address = store.rsplit_once("addrspace(1) ").unwrap().1;
                let address = address.split(',').next().unwrap();
                match defined(address) {
                    shared if shared.starts_with("shared") => shared,
                    _ => address.to_owned(),
                }
            })
            .collect()
    }

    fn store(address: &str) -> String {
        format!("  store i32 1, ptr addrspace(1) %{address}, align 4\n")
    }

    #[test]
    fn an_access_behind_another_takes_its_offset() {
        let body = [store("a"), store("a4")].concat();
        assert_eq!(addresses(&body), ["%a", "shared %a, i64 4"]);
    }

    #[test]
    fn another_buffer_has_the_same_offset() {
        let found = addresses(&[store("a"), store("b4")].concat());
        assert_eq!(found[0], "%a");
        assert!(found[1].starts_with("shared ") && found[1].ends_with(", i64 4"));
    }

    #[test]
    fn nothing_is_known_of_an_offset_before_its_access() {
        let body = [store("a4"), store("a")].concat();
        assert_eq!(addresses(&body), ["%a4", "%a"]);
        let body = [store("a4"), store("a"), store("a4")].concat();
        assert_eq!(addresses(&body), ["%a4", "%a", "shared %a, i64 4"]);
    }

    #[test]
    fn far_accesses_and_other_blocks_stay() {
        let body = [store("a"), store("afar")].concat();
        assert_eq!(addresses(&body), ["%a", "%afar"]);
        let branch = "  br i1 %c, label %then, label %end\nthen:\n";
        let body = [branch, &store("a"), "  br label %end\nend:\n", &store("a4")].concat();
        assert_eq!(addresses(&body), ["%a", "%a4"]);
    }
}
