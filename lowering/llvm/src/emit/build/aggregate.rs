//! Elements of vectors and members of aggregates.

use super::super::Result;
use super::Build;
use crate::ffi::Value;

impl<'c> Build<'c> {
    /// Element `index` of a vector; of a scalar, the scalar itself for index 0.
    pub(crate) fn lane(&self, vector: Value<'c>, index: u32) -> Result<Value<'c>> {
        if !vector.ty().is_vector() {
            return if index == 0 {
                Ok(vector)
            } else {
                Err(self.mismatch("a component of a scalar"))
            };
        }
        if index >= vector.ty().lanes() {
            return Err(self.mismatch(format!("component {index} of {}", vector.ty().print())));
        }
        Ok(self.raw.extract_element(vector, self.i32(index)))
    }

    /// Element at a run-time index.
    pub(crate) fn lane_dynamic(&self, vector: Value<'c>, index: Value<'c>) -> Result<Value<'c>> {
        if vector.ty().is_vector() && index.ty().is_int() && !index.ty().is_vector() {
            Ok(self.raw.extract_element(vector, index))
        } else if vector.ty().is_int() || vector.ty().is_float() {
            // A vector of one element is a scalar, and no other index is valid.
            Ok(vector)
        } else {
            Err(self.mismatch(format!("a component of {}", vector.ty().print())))
        }
    }

    /// The vector with one element replaced, at a constant or run-time index.
    pub(crate) fn with_lane(
        &self,
        vector: Value<'c>,
        element: Value<'c>,
        index: Value<'c>,
    ) -> Result<Value<'c>> {
        let ty = vector.ty();
        if ty.is_vector()
            && ty.element() == element.ty()
            && index.ty().is_int()
            && !index.ty().is_vector()
        {
            Ok(self.raw.insert_element(vector, element, index))
        } else if !ty.is_vector() && ty == element.ty() && index.ty().is_int() {
            Ok(element) // a vector of one element
        } else {
            Err(self.mismatch(format!(
                "{} as a component of {}",
                element.ty().print(),
                ty.print()
            )))
        }
    }

    /// A vector of these scalars; one scalar comes back as it is.
    pub(crate) fn vector(&self, elements: &[Value<'c>]) -> Result<Value<'c>> {
        match elements {
            [] => Err(self.mismatch("a vector without components")),
            [one] => Ok(*one),
            [first, ..] => {
                let mut result = first.ty().vector(elements.len() as u32).poison();
                for (i, element) in elements.iter().enumerate() {
                    result = self.with_lane(result, *element, self.i32(i as u32))?;
                }
                Ok(result)
            }
        }
    }

    /// The scalar in every lane of a vector of `lanes`; for one lane the scalar itself.
    pub(crate) fn splat(&self, scalar: Value<'c>, lanes: u32) -> Result<Value<'c>> {
        if lanes == 1 {
            return Ok(scalar);
        }
        let one = self.with_lane(scalar.ty().vector(lanes).poison(), scalar, self.i32(0))?;
        self.shuffle(one, one, &vec![Some(0); lanes as usize])
    }

    /// Shuffle of two vectors of one type; `None` in the mask: that lane does not matter.
    pub(crate) fn shuffle(
        &self,
        a: Value<'c>,
        b: Value<'c>,
        mask: &[Option<u32>],
    ) -> Result<Value<'c>> {
        self.same("shuffle", a, b)?;
        let limit = a.ty().lanes() * 2;
        if !a.ty().is_vector()
            || mask.is_empty()
            || mask.iter().flatten().any(|&lane| lane >= limit)
        {
            return Err(self.mismatch(format!("shuffle of {}", a.ty().print())));
        }
        let mask: Vec<Value<'c>> = mask
            .iter()
            .map(|lane| lane.map_or_else(|| self.int_type(32).poison(), |lane| self.i32(lane)))
            .collect();
        Ok(self.raw.shuffle(a, b, Value::vector(&mask)))
    }

    /// Applies `f` to every lane of vectors with equal lane counts (or to scalars) and puts the
    /// results together.
    pub(crate) fn each_lane<const N: usize>(
        &self,
        operands: &[Value<'c>; N],
        mut f: impl FnMut(&[Value<'c>; N]) -> Result<Value<'c>>,
    ) -> Result<Value<'c>> {
        let lanes = operands.first().map_or(1, |v| v.ty().lanes());
        if lanes == 1 {
            return f(operands);
        }
        let mut results = Vec::with_capacity(lanes as usize);
        for lane in 0..lanes {
            let mut scalars = *operands;
            for scalar in &mut scalars {
                *scalar = self.lane(*scalar, lane)?;
            }
            results.push(f(&scalars)?);
        }
        self.vector(&results)
    }

    /// Member `index` of an array or structure value, or lane of a vector.
    pub(crate) fn member(&self, aggregate: Value<'c>, index: u32) -> Result<Value<'c>> {
        let ty = aggregate.ty();
        if ty.is_vector() || ty.is_int() || ty.is_float() {
            return self.lane(aggregate, index);
        }
        match aggregate.ty().member(index) {
            Some(_) => Ok(self.raw.extract_value(aggregate, index)),
            None => Err(self.mismatch(format!("member {index} of {}", aggregate.ty().print()))),
        }
    }

    /// The aggregate (or vector) with member `index` replaced.
    pub(crate) fn with_member(
        &self,
        aggregate: Value<'c>,
        member: Value<'c>,
        index: u32,
    ) -> Result<Value<'c>> {
        // A vector of one element is a scalar.
        let scalar = aggregate.ty().is_int() || aggregate.ty().is_float();
        if index == 0 && scalar && aggregate.ty() == member.ty() && !aggregate.ty().is_vector() {
            return Ok(member);
        }
        match aggregate.ty().member(index) {
            Some(ty) if ty == member.ty() => Ok(if aggregate.ty().is_vector() {
                self.raw.insert_element(aggregate, member, self.i32(index))
            } else {
                self.raw.insert_value(aggregate, member, index)
            }),
            _ => Err(self.mismatch(format!(
                "{} as member {index} of {}",
                member.ty().print(),
                aggregate.ty().print()
            ))),
        }
    }
}
