//! The workgroup size that a module requires.

use super::{Constant, Constants, Declarations, EntryPoint, Id, SpecValues};
use crate::diagnostic::Diagnostics;
use spirv::{Decoration, Op};

impl<'m> Declarations<'m> {
    /// The module's constants under these specialization values, and with a workgroup of this size
    /// where [specialization constants give it](Self::specialize_workgroup_size).
    pub fn specialized(
        &self,
        spec: &SpecValues,
        workgroup_size: Option<[u32; 3]>,
        found: &mut Diagnostics,
    ) -> Constants {
        let mut spec = spec.clone();
        if let Some(size) = workgroup_size {
            self.specialize_workgroup_size(size, &mut spec);
        }
        Constants::evaluate(self, &spec, found)
    }

    /// The size of the workgroup of `entry`: a constant decorated with the WorkgroupSize built-in,
    /// else LocalSizeId, else LocalSize (the built-in takes precedence over the execution modes,
    /// SPIR-V 3.21 "WorkgroupSize"); `None` when the module leaves it open (OpenCL without
    /// reqd_work_group_size).
    pub fn workgroup_size(
        &self,
        entry: &EntryPoint<'m>,
        constants: &Constants,
    ) -> Option<[u32; 3]> {
        // The built-in goes before the execution modes, also where its value is open.
        let is_open = |id: &Id| {
            let def = self.module.def(*id).and_then(|inst| inst.op());
            constants.get(*id).is_none() && def == Some(Op::SpecConstantComposite)
        };
        if self.workgroup_sizes.iter().any(is_open) {
            return None;
        }
        self.size_from_built_in(constants)
            .or_else(|| {
                let mode = entry.mode(spirv::ExecutionMode::LocalSizeId)?;
                let [x, y, z] = *mode.operands().get(2..5)? else {
                    return None;
                };
                Some([
                    constants.as_u32(Id(x))?,
                    constants.as_u32(Id(y))?,
                    constants.as_u32(Id(z))?,
                ])
            })
            .or_else(|| {
                entry
                    .mode(spirv::ExecutionMode::LocalSize)?
                    .operands()
                    .get(2..5)?
                    .try_into()
                    .ok()
            })
    }

    /// Gives every specialization constant that is itself a dimension of a workgroup, and that
    /// `values` leaves at its default, that dimension of `size`: what an application does when it
    /// creates a pipeline.
    pub fn specialize_workgroup_size(&self, size: [u32; 3], values: &mut SpecValues) {
        let built_in = self
            .workgroup_sizes
            .iter()
            .filter_map(|id| self.module.def(*id))
            .filter(|inst| inst.op() == Some(Op::SpecConstantComposite))
            .filter_map(|inst| inst.operands().get(..3));
        let modes = self
            .entry_points
            .iter()
            .filter_map(|entry| entry.mode(spirv::ExecutionMode::LocalSizeId))
            .filter_map(|mode| mode.operands().get(2..5));
        for dimensions in built_in.chain(modes) {
            for (id, extent) in dimensions.iter().zip(size) {
                let is_constant = self
                    .module
                    .def(Id(*id))
                    .is_some_and(|inst| inst.op() == Some(Op::SpecConstant));
                if let (true, Some(spec)) =
                    (is_constant, self.decoration(Id(*id), Decoration::SpecId))
                {
                    values.0.entry(spec).or_insert(u64::from(extent));
                }
            }
        }
    }

    fn size_from_built_in(&self, constants: &Constants) -> Option<[u32; 3]> {
        let value = self
            .workgroup_sizes
            .iter()
            .find_map(|id| constants.get(*id))?;
        match value {
            Constant::Composite(parts) => match parts.as_slice() {
                [x, y, z] => Some([x.as_u32()?, y.as_u32()?, z.as_u32()?]),
                _ => None, // not three components
            },
            Constant::Bool(_)
            | Constant::Int { .. }
            | Constant::Float { .. }
            | Constant::Null
            | Constant::Undef => None,
        }
    }
}
