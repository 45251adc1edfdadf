//! The seccomp filter, assembled from the table of calls.
//!
//! The kernel caches `allow` for every number whose path through the filter loads nothing but number and architecture
//! (seccomp_is_const_allow in kernel/seccomp.c), so arguments are loaded only inside the branch of a matched number.

use super::calls::{Architecture, CALLS, Kind, LAST_KNOWN, REQUESTS};
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

/// The whole filter for the architectures given, the first being the machine's own.
#[must_use]
pub fn assemble(architectures: &[Architecture]) -> Vec<Instruction> {
    let mut program = vec![load(ARCHITECTURE)];
    let parts: Vec<Vec<Instruction>> = architectures.iter().map(|one| table(*one)).collect();
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

fn table(architecture: Architecture) -> Vec<Instruction> {
    let mut part = vec![load(NUMBER)];
    for call in CALLS {
        let Some(number) = call.number(architecture) else {
            continue;
        };
        let body = body(call.kind);
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

fn body(kind: Kind) -> Vec<Instruction> {
    match kind {
        Kind::Open(_, _, flags, _) => vec![
            argument(flags),
            jump(ANY_BIT, PATH_ONLY, 2, 0),
            jump(ANY_BIT, WRITING, 0, 1),
            give(NOTIFY),
            give(ALLOW),
        ],
        Kind::Control => {
            let mut body = vec![argument(1)];
            let requests = REQUESTS.len();
            for (index, (request, _)) in REQUESTS.iter().enumerate() {
                body.push(jump(EQUAL, *request, (requests - index) as u8, 0));
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
        Kind::Absent => vec![give(ABSENT)],
        _ => vec![give(NOTIFY)],
    }
}

#[cfg(test)]
mod tests {
    use super::super::calls::Call;
    use super::*;

    /// A classic BPF machine over `struct seccomp_data`, as far as the filter needs one.
    fn run(program: &[Instruction], architecture: u32, number: u32, arguments: [u64; 6]) -> u32 {
        let mut data = Vec::new();
        data.extend(number.to_le_bytes());
        data.extend(architecture.to_le_bytes());
        data.extend(0_u64.to_le_bytes());
        for argument in arguments {
            data.extend(argument.to_le_bytes());
        }
        let (mut at, mut held) = (0, 0);
        loop {
            let step = program[at];
            at += 1;
            let skip = |holds: bool| {
                usize::from(if holds {
                    step.jump_true
                } else {
                    step.jump_false
                })
            };
            match step.code {
                LOAD => {
                    let from = step.operand as usize;
                    held = u32::from_le_bytes(data[from..from + 4].try_into().unwrap());
                }
                EQUAL => at += skip(held == step.operand),
                AT_LEAST => at += skip(held >= step.operand),
                ANY_BIT => at += skip(held & step.operand != 0),
                0x05 => at += step.operand as usize,
                RETURN => return step.operand,
                code => panic!("unknown code {code:#x}"),
            }
        }
    }

    const ALL: [&[Architecture]; 2] = [
        &[Architecture::X86_64, Architecture::I386],
        &[Architecture::Aarch64],
    ];

    #[test]
    fn every_number_gets_the_answer_of_the_table() {
        for architectures in ALL {
            let program = assemble(architectures);
            assert!(program.len() < 4096);
            for architecture in architectures {
                for number in 0..600 {
                    let expected = match Call::find(*architecture, number).map(|call| call.kind) {
                        _ if number as u32 > LAST_KNOWN => ABSENT,
                        None | Some(Kind::Open(..) | Kind::Control | Kind::Socketcall) => ALLOW,
                        Some(Kind::Absent) => ABSENT,
                        Some(_) => NOTIFY,
                    };
                    let got = run(&program, architecture.audit(), number as u32, [0; 6]);
                    assert_eq!(got, expected, "{architecture:?} {number}");
                }
            }
        }
    }

    #[test]
    fn open_is_told_by_its_flags_alone() {
        let program = assemble(ALL[0]);
        let openat = |flags: u64| {
            run(
                &program,
                Architecture::X86_64.audit(),
                257,
                [0, 0, flags, 0, 0, 0],
            )
        };
        for reading in [
            0,
            libc::O_DIRECTORY,
            libc::O_NOFOLLOW | libc::O_CLOEXEC,
            libc::O_PATH | libc::O_WRONLY,
        ] {
            assert_eq!(openat(reading as u64), ALLOW, "{reading:#o}");
        }
        for writing in [
            1,
            2,
            3,
            libc::O_CREAT,
            libc::O_TRUNC,
            libc::O_TMPFILE | 1,
            libc::O_APPEND | 1,
        ] {
            assert_eq!(openat(writing as u64), NOTIFY, "{writing:#o}");
        }
        assert_eq!(
            openat(1 << 32),
            ALLOW,
            "the kernel does not look at the upper half"
        );
        assert_eq!(openat(1 << 32 | 1), NOTIFY);
    }

    #[test]
    fn requests_are_told_by_the_lower_half() {
        let program = assemble(ALL[0]);
        let ioctl = |request: u64| {
            run(
                &program,
                Architecture::X86_64.audit(),
                16,
                [0, request, 0, 0, 0, 0],
            )
        };
        for (request, _) in REQUESTS {
            assert_eq!(ioctl(u64::from(*request)), NOTIFY, "{request:#x}");
            assert_eq!(ioctl(u64::from(*request) | 7 << 32), NOTIFY, "{request:#x}");
        }
        assert_eq!(ioctl(0x5401), ALLOW);
    }

    #[test]
    fn what_is_unknown_does_not_exist() {
        let program = assemble(ALL[0]);
        let native = Architecture::X86_64.audit();
        assert_eq!(
            run(&program, native, 0x4000_0000 + 87, [0; 6]),
            ABSENT,
            "x32"
        );
        assert_eq!(
            run(&program, native, SKIPPED, [0; 6]),
            ALLOW,
            "ptrace skips a call"
        );
        assert_eq!(
            run(&program, 0x4000_0028, 5, [0; 6]),
            ABSENT,
            "another architecture"
        );
        let bind = run(
            &program,
            Architecture::I386.audit(),
            102,
            [2, 0, 0, 0, 0, 0],
        );
        assert_eq!(bind, NOTIFY, "socketcall(SYS_BIND)");
    }
}
