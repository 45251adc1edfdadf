//! The seccomp filter, assembled from the table of calls.
//!
//! The kernel caches `allow` for every number whose path through the filter loads nothing but number and architecture
//! (seccomp_is_const_allow in kernel/seccomp.c), so arguments are loaded only inside the branch of a matched number.

use super::calls::{
    Architecture, CALLS, Call, EXECUTIONS, Kind, LAST_KNOWN, LOOSENING, LOOSENING_REQUESTS,
    REQUESTS,
};
use crate::sys::seccomp::Instruction;

const LOAD: u16 = 0x20; // BPF_LD | BPF_W | BPF_ABS
const EQUAL: u16 = 0x15; // BPF_JMP | BPF_JEQ | BPF_K
const AT_LEAST: u16 = 0x35; // BPF_JMP | BPF_JGE | BPF_K
const ANY_BIT: u16 = 0x45; // BPF_JMP | BPF_JSET | BPF_K
const RETURN: u16 = 0x06; // BPF_RET | BPF_K

const NUMBER: u32 = 0; // offsets in struct seccomp_data
const ARCHITECTURE: u32 = 4;

const ALLOW: u32 = 0x7FFF_0000;
const NOTIFY: u32 = 0x7FC0_0000;
const ERROR: u32 = 0x0005_0000;

/// What ptrace(2) sets to skip a call; the kernel answers it itself.
const SKIPPED: u32 = u32::MAX;

const fn load(offset: u32) -> Instruction {
    Instruction {
        code: LOAD,
        jump_true: 0,
        jump_false: 0,
        operand: offset,
    }
}

const fn jump(code: u16, operand: u32, jump_true: u8, jump_false: u8) -> Instruction {
    Instruction {
        code,
        jump_true,
        jump_false,
        operand,
    }
}

const fn give(operand: u32) -> Instruction {
    Instruction {
        code: RETURN,
        jump_true: 0,
        jump_false: 0,
        operand,
    }
}

/// The low half of an argument; every architecture here is little-endian. The kernel looks at no more of flags and
/// request numbers, so neither may the filter.
const fn argument(index: u8) -> Instruction {
    load(16 + 8 * index as u32)
}

const ABSENT: u32 = ERROR | libc::ENOSYS as u32;

/// Flags of open(2) that let the call change something. The bits above the access mode differ between architectures
/// only for values that are not in here: `O_TMPFILE`'s own bit, `O_CREAT` and `O_TRUNC` are the same.
const WRITING: u32 = (libc::O_ACCMODE | libc::O_CREAT | libc::O_TRUNC | 0o20_000_000) as u32;
const PATH_ONLY: u32 = libc::O_PATH as u32;

/// A flag of pwritev2(2): write at the offset although the descriptor was opened to append (Linux 6.9). Kernels before
/// that answer so too.
const NO_APPEND: u32 = 0x20;
const UNSUPPORTED: u32 = ERROR | libc::EOPNOTSUPP as u32;

/// What the supervisor is asked about besides what changes the tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Besides {
    /// Executions, only to look at the program.
    pub executions: bool,
    /// Uses of descriptors that were opened to append.
    pub loosening: bool,
}

/// The whole filter for the architectures given, the first being the machine's own.
#[must_use]
pub fn assemble(architectures: &[Architecture], besides: Besides) -> Vec<Instruction> {
    let mut program = vec![load(ARCHITECTURE)];
    let parts: Vec<Vec<Instruction>> = architectures
        .iter()
        .map(|one| table(*one, besides))
        .collect();
    for (architecture, part) in architectures.iter().zip(&parts) {
        // A part is longer than a conditional jump reaches, so the test jumps over an unconditional one.
        program.push(jump(EQUAL, architecture.audit(), 1, 0));
        program.push(Instruction {
            code: 0x05,
            jump_true: 0,
            jump_false: 0,
            operand: part.len() as u32,
        });
        program.extend_from_slice(part);
    }
    program.push(give(ABSENT));
    program
}

fn table(architecture: Architecture, besides: Besides) -> Vec<Instruction> {
    let mut part = vec![load(NUMBER)];
    let when = |asked: bool, list: &'static [Call]| if asked { list } else { &[] };
    let executions = when(besides.executions, EXECUTIONS);
    let loosening = when(besides.loosening, LOOSENING);
    for call in CALLS.iter().chain(executions).chain(loosening) {
        let Some(number) = call.number(architecture) else {
            continue;
        };
        let body = body(call.kind, besides);
        part.push(jump(EQUAL, number, 0, body.len() as u8));
        part.extend(body);
    }
    // Unknown numbers, and on x86_64 the x32 ones, do not exist.
    part.push(jump(AT_LEAST, LAST_KNOWN + 1, 0, 2));
    part.push(jump(EQUAL, SKIPPED, 1, 0));
    part.push(give(ABSENT));
    part.push(give(ALLOW));
    part
}

fn body(kind: Kind, besides: Besides) -> Vec<Instruction> {
    match kind {
        Kind::Open(_, _, flags, _) => vec![
            argument(flags),
            jump(ANY_BIT, PATH_ONLY, 2, 0),
            jump(ANY_BIT, WRITING, 0, 1),
            give(NOTIFY),
            give(ALLOW),
        ],
        Kind::Control => {
            let more = if besides.loosening {
                LOOSENING_REQUESTS
            } else {
                &[]
            };
            let requests: Vec<u32> = REQUESTS
                .iter()
                .map(|(request, _)| *request)
                .chain(more.iter().copied())
                .collect();
            let mut body = vec![argument(1)];
            for (index, request) in requests.iter().enumerate() {
                body.push(jump(EQUAL, *request, (requests.len() - index) as u8, 0));
            }
            body.push(give(ALLOW));
            body.push(give(NOTIFY));
            body
        }
        Kind::Socketcall => vec![
            argument(0),
            jump(EQUAL, 2, 0, 1), // SYS_BIND
            give(NOTIFY),
            give(ALLOW),
        ],
        Kind::Flags => vec![
            argument(1),
            jump(EQUAL, libc::F_SETFL as u32, 0, 3),
            argument(2),
            jump(ANY_BIT, libc::O_APPEND as u32, 1, 0),
            give(NOTIFY),
            give(ALLOW),
        ],
        Kind::WriteAt => vec![
            argument(5),
            jump(ANY_BIT, NO_APPEND, 0, 1),
            give(UNSUPPORTED),
            give(ALLOW),
        ],
        Kind::Absent => vec![give(ABSENT)],
        _ => vec![give(NOTIFY)],
    }
}

#[cfg(test)]
mod tests;
