//! Removes debug lines and LLVM's comments from AMDGPU assembly.
//!
//! Code is measured with debug lines, and printed without them. Debug information changes no
//! instruction, so the second text can be derived from the first instead of generated, which takes
//! longer than anything else that is done with the code. Debug builds generate it too, and compare
//! the two.

/// Directives that appear only in code with debug lines.
const DIRECTIVES: [&str; 3] = [".loc\t", ".file\t", ".cfi_"];

/// Labels that appear only in code with debug lines, without their numbers.
const LABELS: [&str; 2] = [".Lfunc_begin", ".Ltmp"];

/// The start of a directive that begins a section with debug information.
const DEBUG_SECTION: &str = "\t.section\t.debug_";

/// The section that contains only comments.
const COMMENTS: &str = "\t.section\t.AMDGPU.csdata,";

/// The comment at the end of a function. Without comments its line is empty.
const END_OF_FUNCTION: &str = "; -- End function";

/// The first and the last line of the description of the kernels, which contains no comments.
const DESCRIPTION: [&str; 2] = ["\t.amdgpu_metadata", "\t.end_amdgpu_metadata"];

/// The text `lined` as LLVM prints it without debug lines and comments. `None` if the text cannot
/// be derived: if it contains inline assembly, or instructions that refer to labels whose numbers
/// depend on the debug lines.
pub(crate) fn without_lines(lined: &str) -> Option<String> {
    let [begin, end] = DESCRIPTION;
    let mut plain = String::with_capacity(lined.len());
    let mut push = |line: &str| {
        plain.push_str(line);
        plain.push('\n');
    };
    let mut lines = lined.lines();
    let mut is_debug = false;
    while let Some(line) = lines.next() {
        if line.contains(";;#ASMSTART") {
            return None;
        }
        if line == begin {
            is_debug = false;
            push(line);
            for line in lines.by_ref() {
                push(line);
                if line == end {
                    break;
                }
            }
            continue;
        }
        if line.starts_with(DEBUG_SECTION) {
            is_debug = true;
        } else if line.starts_with("\t.section\t") || line == "\t.text" || line == "\t.data" {
            is_debug = false;
        }
        if is_debug {
            continue;
        }
        if line.starts_with(COMMENTS) {
            // The line after its comments switches back to the earlier section.
            for line in lines.by_ref() {
                if !line.starts_with(';') {
                    break;
                }
            }
            continue;
        }
        let code = uncommented(line);
        if code.is_empty() && !line.is_empty() {
            if line.trim_start() == END_OF_FUNCTION {
                push("");
            }
            continue;
        }
        let statement = code.trim_start();
        if DIRECTIVES.iter().any(|name| statement.starts_with(name)) {
            continue;
        }
        if code.ends_with(':') && LABELS.iter().any(|name| code.starts_with(name)) {
            continue;
        }
        if LABELS.iter().any(|name| code.contains(name)) {
            return None;
        }
        push(code);
    }
    Some(plain)
}

/// A line without its comment, and the space before that.
fn uncommented(line: &str) -> &str {
    let mut is_quoted = false;
    let mut is_escaped = false;
    for (at, c) in line.char_indices() {
        match c {
            ';' if !is_quoted => return line.get(..at).unwrap_or(line).trim_end(),
            '"' if !is_escaped => is_quoted = !is_quoted,
            _ => {}
        }
        is_escaped = c == '\\' && !is_escaped;
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    const LINED: &str = "\
\t.text
\t.globl\tk                               ; -- Begin function k
k:                                      ; @k
.Lfunc_begin0:
\t.cfi_sections .debug_frame
\t.cfi_startproc
; %bb.0:
\t.file\t1 \".\" \"module.spv\"
\t.loc\t1 583 0 prologue_end            ; module.spv:583
\ts_endpgm
.Ltmp0:
.LBB0_1:                                ; %loop
                                        ; implicit-def: $vgpr3
\ts_branch .LBB0_1
.Lfunc_end0:
\t.cfi_endproc
\t.text
                                        ; -- End function
\t.section\t.AMDGPU.csdata,\"\",@progbits
; Kernel info:
; codeLenInByte = 1304
\t.text
\t.section\t.debug_str,\"MS\",@progbits,1
\t.asciz\t\"splitbar\"                      ; string offset=0 ; splitbar
\t.section\t.rodata,\"a\",@progbits
\t.asciz\t\"a;\\\";b\" ; c
\t.amdgpu_metadata
---
    .name:           'a;b'

\t.end_amdgpu_metadata
\t.section\t.debug_line,\"\",@progbits
.Lline_table_start0:
";

    const PLAIN: &str = "\
\t.text
\t.globl\tk
k:
\ts_endpgm
.LBB0_1:
\ts_branch .LBB0_1
.Lfunc_end0:
\t.text

\t.section\t.rodata,\"a\",@progbits
\t.asciz\t\"a;\\\";b\"
\t.amdgpu_metadata
---
    .name:           'a;b'

\t.end_amdgpu_metadata
";

    #[test]
    fn lines_and_comments_go() {
        assert_eq!(without_lines(LINED).as_deref(), Some(PLAIN));
        assert_eq!(without_lines(PLAIN).as_deref(), Some(PLAIN));
    }

    #[test]
    fn text_that_cannot_be_derived_is_refused() {
        assert_eq!(
            without_lines("\t;;#ASMSTART\n\ts_nop 0\n\t;;#ASMEND\n"),
            None
        );
        assert_eq!(without_lines("\ts_add_u32 s0, s0, .Ltmp1-4\n"), None);
    }
}
