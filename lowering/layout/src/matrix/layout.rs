//! The distribution of the elements of a cooperative matrix over invocations.
//!
//! An invocation holds `slots` elements. A layout is a list of digits: the number of a lane and the
//! number of a slot are written in mixed radix, and each digit counts rows or columns in steps of
//! its weight. All radices and weights are powers of two, so that digits are bit fields and both
//! directions (who holds an element, which element somebody holds) are shifts and masks. A digit of
//! the lane number that counts nothing means that lanes hold copies.
//!
//! Rows and columns are padded to powers of two; what lies beyond the matrix is loaded as zero and
//! never stored.

/// The number that a digit belongs to.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Holder {
    /// The invocation's lane in its subgroup.
    Lane,
    /// The element's number within the invocation.
    Slot,
}

/// The axis that a digit counts.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Axis {
    /// Rows.
    Row,
    /// Columns.
    Column,
}

/// `holder / place % radix` counts `axis` in steps of `weight`.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Digit {
    /// Whose number it belongs to.
    pub holder: Holder,
    /// The divisor of the number.
    pub place: u32,
    /// The number of values of the digit.
    pub radix: u32,
    /// The axis that it counts.
    pub axis: Axis,
    /// In which steps.
    pub weight: u32,
}

/// An element's coordinates.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Element {
    /// Its row.
    pub row: u32,
    /// Its column.
    pub column: u32,
}

/// The place of an element.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct LaneSlot {
    /// Its number within the invocation.
    pub slot: u32,
    /// The lane of the invocation.
    pub lane: u32,
}

/// The distribution of elements over invocations.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Layout {
    /// The digits that count something.
    pub digits: Vec<Digit>,
    /// Elements of each invocation.
    pub slots: u32,
}

impl Layout {
    /// A layout of these digits.
    pub fn new(digits: Vec<Digit>) -> Layout {
        let digits: Vec<Digit> = digits.into_iter().filter(|d| d.radix > 1).collect();
        let slots = digits
            .iter()
            .filter(|d| d.holder == Holder::Slot)
            .map(|d| d.radix)
            .product();
        Layout { digits, slots }
    }

    /// Row after row, an element for each lane in turn: what memory in row-major order suits best,
    /// on any target.
    pub fn striped(rows: u32, columns: u32, wave: u32) -> Layout {
        let (rows, columns) = (rows.next_power_of_two(), columns.next_power_of_two());
        let across = columns.min(wave);
        let down = rows.min(wave / across);
        let digit = |holder, place, radix, axis, weight| Digit {
            holder,
            place,
            radix,
            axis,
            weight,
        };
        Layout::new(vec![
            digit(Holder::Lane, 1, across, Axis::Column, 1),
            digit(Holder::Lane, across, down, Axis::Row, 1),
            digit(Holder::Slot, 1, columns / across, Axis::Column, across),
            digit(Holder::Slot, columns / across, rows / down, Axis::Row, down),
        ])
    }

    /// The layout of a matrix that is made of `down` by `across` tiles of `rows` by `columns`
    /// elements, each laid out as `self`.
    pub fn tiled(&self, rows: u32, columns: u32, down: u32, across: u32) -> Layout {
        let mut digits = self.digits.clone();
        digits.push(Digit {
            holder: Holder::Slot,
            place: self.slots,
            radix: across,
            axis: Axis::Column,
            weight: columns,
        });
        digits.push(Digit {
            holder: Holder::Slot,
            place: self.slots * across,
            radix: down,
            axis: Axis::Row,
            weight: rows,
        });
        Layout::new(digits)
    }

    /// The bits of a lane's number, in waves of `wave` lanes, that count nothing: lanes that differ
    /// in them alone hold the same elements.
    pub fn copies(&self, wave: u32) -> u32 {
        let lanes = self.digits.iter().filter(|d| d.holder == Holder::Lane);
        lanes.fold(wave - 1, |bits, d| bits & !((d.radix - 1) * d.place))
    }

    /// The element coordinates from the digits of one holder with the number `number`.
    pub fn part(&self, holder: Holder, number: u32) -> Element {
        let mut element = Element::default();
        for digit in self.digits.iter().filter(|d| d.holder == holder) {
            let count = number / digit.place % digit.radix * digit.weight;
            match digit.axis {
                Axis::Row => element.row += count,
                Axis::Column => element.column += count,
            }
        }
        element
    }

    /// The element that a slot of a lane holds.
    pub fn element(&self, place: LaneSlot) -> Element {
        let (lane, slot) = (
            self.part(Holder::Lane, place.lane),
            self.part(Holder::Slot, place.slot),
        );
        Element {
            row: lane.row + slot.row,
            column: lane.column + slot.column,
        }
    }

    /// The first place that holds an element.
    pub fn place(&self, element: Element) -> LaneSlot {
        let mut place = LaneSlot::default();
        for digit in &self.digits {
            let coordinate = match digit.axis {
                Axis::Row => element.row,
                Axis::Column => element.column,
            };
            let count = coordinate / digit.weight % digit.radix * digit.place;
            match digit.holder {
                Holder::Lane => place.lane += count,
                Holder::Slot => place.slot += count,
            }
        }
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every element is somewhere, and where it is said to be.
    fn check(layout: &Layout, rows: u32, columns: u32, wave: u32) {
        for row in 0..rows {
            for column in 0..columns {
                let element = Element { row, column };
                let place = layout.place(element);
                assert!(place.lane < wave && place.slot < layout.slots, "{layout:?}");
                assert_eq!(layout.element(place), element, "{layout:?}");
            }
        }
    }

    #[test]
    fn striped_layouts_hold_every_element() {
        for wave in [32, 64] {
            for (rows, columns) in [
                (16, 16),
                (1, 2),
                (4, 1),
                (8, 16),
                (64, 64),
                (3, 5),
                (8, 256),
            ] {
                let layout = Layout::striped(rows, columns, wave);
                check(&layout, rows, columns, wave);
                let padded = rows.next_power_of_two() * columns.next_power_of_two();
                assert_eq!(layout.slots, padded.div_ceil(wave));
            }
        }
    }

    #[test]
    fn tiles_follow_each_other_in_the_slots() {
        let tile = Layout::striped(16, 8, 32);
        let layout = tile.tiled(16, 8, 2, 4);
        assert_eq!(layout.slots, tile.slots * 8);
        check(&layout, 32, 32, 32);
        let place = layout.place(Element { row: 0, column: 8 });
        assert_eq!((place.slot, place.lane), (tile.slots, 0));
    }
}
