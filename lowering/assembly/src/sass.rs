//! Reads SASS, NVIDIA's machine code, as `nvdisasm -c -gi` prints it: `/*ADDRESS*/ @PREDICATE
//! MNEMONIC OPERANDS ;`, labels that end with `:`, and comments `//## File "NAME", line N` before
//! the instructions that they describe. For inlined code, the last such comment is the outermost
//! place.

use super::{Builder, Function, Pending, Role};

/// The roles of mnemonics, by the text that they begin with. The first matching row counts; a
/// mnemonic without a row is work.
///
/// There is no public description of SASS but the list of mnemonics in NVIDIA's "CUDA Binary
/// Utilities". What each PTX barrier becomes was read off ptxas 13.5's output for sm_75 to sm_120.
const ROLES: &[(&str, Role)] = &[
    // mbarrier.arrive, mbarrier.try_wait from sm_90 on; before, an atomic, and a load that only its
    // line tells from others.
    ("SYNCS.ARRIVE", Role::Arrive),
    ("SYNCS.PHASECHK", Role::Wait),
    ("SYNCS", Role::Housekeeping),
    ("ATOMS.ARRIVE", Role::Arrive),
    // barrier.cluster
    ("UCGABAR_ARV", Role::Arrive),
    ("UCGABAR_WAIT", Role::Wait),
    // bar
    ("BAR.ARV", Role::Arrive),
    ("BAR", Role::ArriveAndWait),
    // Fences, caches, convergence, scheduling.
    ("MEMBAR", Role::Housekeeping),
    ("ERRBAR", Role::Housekeeping),
    ("CGAERRBAR", Role::Housekeeping),
    ("CCTL", Role::Housekeeping),
    ("FENCE", Role::Housekeeping),
    ("WARPSYNC", Role::Housekeeping),
    ("BSSY", Role::Housekeeping),
    ("BSYNC", Role::Housekeeping),
    ("BREAK", Role::Housekeeping),
    ("YIELD", Role::Housekeeping),
    ("NANOSLEEP", Role::Housekeeping),
    ("DEPBAR", Role::Housekeeping),
    ("NOP", Role::Housekeeping),
    // Control transfer.
    ("BRA", Role::Housekeeping),
    ("BRX", Role::Housekeeping),
    ("JMP", Role::Housekeeping),
    ("JMX", Role::Housekeeping),
    ("RET", Role::Housekeeping),
    ("EXIT", Role::Housekeeping),
    ("BPT", Role::Housekeeping),
    // Copies between registers.
    ("MOV", Role::Housekeeping),
    ("UMOV", Role::Housekeeping),
    ("IMAD.MOV", Role::Housekeeping),
    ("R2UR", Role::Housekeeping),
];

/// Reads the functions of `text`.
pub fn parse(text: &str) -> Vec<Function> {
    let mut functions = Vec::new();
    let mut open: Option<Builder> = None;
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix(".text.") {
            functions.extend(open.take().map(Builder::finish));
            open = Some(Builder::named(name.trim_end_matches(':')));
        } else if line.starts_with(".section") {
            functions.extend(open.take().map(Builder::finish));
        } else if let Some(function) = &mut open {
            if let Some(place) = line.strip_prefix("//##") {
                if let Some(number) = last_line(place) {
                    function.location(&format!("1 {number} 0"));
                }
            } else if let Some(label) = line.strip_suffix(':') {
                function.label(label);
            } else if let Some((_, code)) = line
                .strip_prefix("/*")
                .and_then(|rest| rest.split_once("*/"))
            {
                instruction(function, code.trim());
            }
        }
    }
    functions.extend(open.take().map(Builder::finish));
    functions
}

/// The number after the last `line` of a comment.
fn last_line(place: &str) -> Option<u32> {
    let (_, number) = place.rsplit_once(", line ")?;
    number.split_whitespace().next()?.parse().ok()
}

fn instruction(function: &mut Builder, code: &str) {
    // The second half of an instruction is its encoding, where that is printed.
    let code = code.split(';').next().unwrap_or("").trim();
    if code.is_empty() {
        return;
    }
    let (predicated, code) = match code.strip_prefix('@') {
        Some(rest) => rest
            .split_once(char::is_whitespace)
            .map_or((true, ""), |(_, code)| (true, code.trim_start())),
        None => (false, code),
    };
    let (mnemonic, operands) = code.split_once(char::is_whitespace).unwrap_or((code, ""));
    let target = operands
        .rsplit_once("`(")
        .and_then(|(_, rest)| rest.split_once(')'))
        .map(|(label, _)| label.to_owned());
    let kind = mnemonic.split('.').next().unwrap_or("");
    let flow = match (kind, target) {
        // A condition is a predicate in front, one among the operands, or in the mnemonic
        // (`BRA.DIV`).
        ("BRA", Some(target)) if predicated || mnemonic != "BRA" || !operands.starts_with('`') => {
            Pending::Branch(vec![target])
        }
        ("BRA" | "JMP", Some(target)) => Pending::Jump(vec![target]),
        ("BRA" | "JMP" | "BRX" | "JMX" | "RET" | "EXIT", _) if !predicated => Pending::End,
        _ => Pending::Next,
    };
    function.push(
        mnemonic,
        operands,
        Role::from_mnemonic(mnemonic, ROLES),
        flow,
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    const KERNEL: &str = "\
\t.section\t.text.k,\"ax\",@progbits
k:
.text.k:
\t//## File \"./module.spv\", line 21
        /*0000*/                   S2R R5, SR_TID.X ;
        /*0010*/              @!P0 STS [0x190], RZ ;
        /*0020*/                   BAR.SYNC.DEFER_BLOCKING 0x0 ;
\t//## File \"./module.spv\", line 90 inlined at \"./module.spv\", line 31
\t//## File \"./module.spv\", line 31
        /*0030*/               @P0 BRA `(.L_x_1) ;
        /*0040*/                   MEMBAR.ALL.CTA ;
        /*0050*/                   ATOMS.ARRIVE.64 R4, [URZ] ;
.L_x_1:
        /*0060*/                   BRA.DIV UR4, `(.L_x_2) ;
\t//## File \"./module.spv\", line 41
        /*0070*/                   FFMA R1, R2, R3, R1 ;
.L_x_2:
\t//## File \"./module.spv\", line 61
        /*0080*/                   LDS R2, [0x4] ;
        /*0090*/              @!P0 BRA `(.L_x_2) ;
        /*00a0*/                   EXIT ;
.L_x_3:
        /*00b0*/                   BRA `(.L_x_3);
\t.section\t.nv.shared.k,\"aw\",@nobits
";

    #[test]
    fn lines_roles_and_targets() {
        let functions = parse(KERNEL);
        assert_eq!(functions.len(), 1);
        let kernel = &functions[0];
        assert_eq!(kernel.name, "k");
        let seen: Vec<_> = kernel
            .instructions
            .iter()
            .map(|i| (i.mnemonic.as_str(), i.word, i.role))
            .collect();
        assert_eq!(
            seen,
            [
                ("S2R", Some(20), Role::Work),
                ("STS", Some(20), Role::Work),
                ("BAR.SYNC.DEFER_BLOCKING", Some(20), Role::ArriveAndWait),
                ("BRA", Some(30), Role::Housekeeping),
                ("MEMBAR.ALL.CTA", Some(30), Role::Housekeeping),
                ("ATOMS.ARRIVE.64", Some(30), Role::Arrive),
                ("BRA.DIV", Some(30), Role::Housekeeping),
                ("FFMA", Some(40), Role::Work),
                ("LDS", Some(60), Role::Work),
                ("BRA", Some(60), Role::Housekeeping),
                ("EXIT", Some(60), Role::Housekeeping),
                ("BRA", Some(60), Role::Housekeeping),
            ]
        );
        assert_eq!(kernel.successors(3), [4, 6]);
        assert_eq!(kernel.successors(6), [7, 8]);
        assert_eq!(kernel.successors(9), [10, 8]);
        assert_eq!(kernel.successors(10), Vec::<usize>::new());
        assert_eq!(kernel.successors(11), [11]);
    }
}
