//! Problems on the standard error.

use super::{Format, LowerArgs, child};
use splitbar::diagnostic::Diagnostics;
use splitbar::diagnostic::text::Colour;
use splitbar::diagnostic::{json, text};

/// Prints problems in the form that `args` ask for.
pub fn print(problems: &Diagnostics, args: &LowerArgs) {
    let rendered = match args.diagnostics {
        Format::Text => text::render_with(
            problems,
            &args.input.display().to_string(),
            if child::in_colour() {
                Colour::On
            } else {
                Colour::Off
            },
        ),
        Format::Json => json::render(problems),
    };
    eprint!("{rendered}");
}
