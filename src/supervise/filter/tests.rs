//! The filter, run in a small machine: every number on three architectures against a list of all system calls, and
//! arguments by the million.

use super::*;
use crate::random::Random;

/// `name x86_64 i386 aarch64 answer`, one call a line, made from the kernel's tables and not from ours.
const REFERENCE: &str = include_str!("reference.tsv");

const X86_64: u32 = 0xC000_003E;
const I386: u32 = 0x4000_0003;
const AARCH64: u32 = 0xC000_00B7;

/// A classic BPF machine over `struct seccomp_data`, as far as the filter needs one.
fn run(program: &[Instruction], architecture: u32, number: u32, arguments: [u64; 6]) -> u32 {
    let mut data = [0_u8; 64];
    data[..4].copy_from_slice(&number.to_le_bytes());
    data[4..8].copy_from_slice(&architecture.to_le_bytes());
    for (argument, bytes) in arguments.iter().zip(data[16..].chunks_exact_mut(8)) {
        bytes.copy_from_slice(&argument.to_le_bytes());
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

/// A filter, the architectures that it knows, and what it asks about besides.
type Known = (Vec<Instruction>, &'static [u32], Besides);

/// The filters of both builds, with and without what is asked about besides.
fn filters() -> Vec<Known> {
    let builds: [(&[Architecture], &[u32]); 2] = [
        (&[Architecture::X86_64, Architecture::I386], &[X86_64, I386]),
        (&[Architecture::Aarch64], &[AARCH64]),
    ];
    let besides = [(false, false), (true, false), (false, true), (true, true)];
    let besides = besides.map(|(executions, loosening)| Besides {
        executions,
        loosening,
    });
    besides
        .into_iter()
        .flat_map(|asks| {
            builds.map(|(architectures, numbers)| (assemble(architectures, asks), numbers, asks))
        })
        .collect()
}

/// The answer word of the reference for each number of an architecture.
fn reference(architecture: u32) -> Vec<Option<(&'static str, &'static str)>> {
    let column = [X86_64, I386, AARCH64]
        .iter()
        .position(|known| *known == architecture)
        .unwrap()
        + 1;
    let mut all = vec![None; 600];
    for line in REFERENCE.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split('\t').collect();
        assert_eq!(fields.len(), 5, "{line}");
        if let Ok(number) = fields[column].parse::<usize>() {
            assert_eq!(all[number], None, "two calls have number {number}");
            all[number] = Some((fields[0], fields[4]));
        }
    }
    all
}

/// What open(2)'s flags ask for, in the words of its manual page.
fn open_changes(flags: u32) -> bool {
    let path_only = flags & 0o10_000_000 != 0;
    let access = flags & 3 != 0;
    let creates = flags & 0o100 != 0;
    let empties = flags & 0o1000 != 0;
    let nameless = flags & 0o20_000_000 != 0;
    !path_only && (access || creates || empties || nameless)
}

/// Where open and openat have their flags.
fn flags_at(name: &str) -> usize {
    if name == "open" { 1 } else { 2 }
}

fn expected(call: Option<(&str, &str)>, arguments: [u64; 6], besides: Besides) -> u32 {
    let by = |asked: bool| if asked { NOTIFY } else { ALLOW };
    match call {
        None | Some((_, "goes-on")) => ALLOW,
        Some((_, "asked")) => NOTIFY,
        Some((_, "executes")) => by(besides.executions),
        Some((_, "loosens" | "loosens-flags" | "loosens-end" | "loosens-absent"))
            if !besides.loosening =>
        {
            ALLOW
        }
        Some((_, "loosens")) => NOTIFY,
        Some((_, "loosens-flags")) => by(arguments[1] as u32 == 4 && arguments[2] & 0o2000 == 0),
        Some((_, "loosens-end")) if arguments[5] & 0x20 != 0 => UNSUPPORTED,
        Some((_, "loosens-end")) => ALLOW,
        Some((_, "loosens-absent")) => ABSENT,
        Some((_, "absent")) => ABSENT,
        Some((name, "flags")) => by(open_changes(arguments[flags_at(name)] as u32)),
        Some((_, "request")) => {
            let request = arguments[1] as u32;
            let more = besides.loosening && LOOSENING_REQUESTS.contains(&request);
            by(more || REQUESTS.iter().any(|(known, _)| *known == request))
        }
        Some((_, "socketcall")) => by(arguments[0] as u32 == 2),
        Some((name, word)) => panic!("{name}: {word}?"),
    }
}

#[test]
fn every_number_gets_the_answer_of_the_reference() {
    for (program, architectures, besides) in filters() {
        for architecture in architectures {
            let calls = reference(*architecture);
            assert!(calls.iter().flatten().count() > 300);
            for (number, call) in calls.iter().enumerate() {
                let number = number as u32;
                let expected = if number > 469 {
                    ABSENT
                } else {
                    expected(*call, [0; 6], besides)
                };
                let got = run(&program, *architecture, number, [0; 6]);
                assert_eq!(got, expected, "{architecture:#x} {number} {call:?}");
            }
        }
    }
}

/// Random numbers and arguments: half of them calls that look at their arguments, with flags and requests of every kind.
#[test]
fn random_calls_get_the_answer_of_the_reference() {
    let mut random = Random(0x1234_5678_9ABC_DEF1);
    for (program, architectures, besides) in filters() {
        for architecture in architectures {
            let calls = reference(*architecture);
            let by_argument: Vec<usize> = (0..calls.len())
                .filter(|number| {
                    calls[*number].is_some_and(|(_, word)| {
                        !matches!(
                            word,
                            "goes-on"
                                | "asked"
                                | "absent"
                                | "executes"
                                | "loosens"
                                | "loosens-absent"
                        )
                    })
                })
                .collect();
            for _ in 0..200_000 {
                let number = match random.below(4) {
                    0 => random.next() as u32,
                    1 => random.below(600) as u32,
                    _ => by_argument[random.below(by_argument.len())] as u32,
                };
                let mut arguments = [0; 6].map(|_: u64| random.next() & random.next());
                match random.below(4) {
                    0 => {
                        arguments[1] = u64::from(REQUESTS[random.below(REQUESTS.len())].0)
                            | random.next() << 32
                    }
                    1 => arguments = arguments.map(|argument| argument & 0o33_777_777),
                    2 if random.below(2) == 0 => arguments[1] = 4, // F_SETFL
                    _ => arguments[0] = random.below(24) as u64,
                }
                let expected = match calls.get(number as usize) {
                    _ if number == SKIPPED => ALLOW,
                    Some(call) if number <= 469 => expected(*call, arguments, besides),
                    _ => ABSENT,
                };
                let got = run(&program, *architecture, number, arguments);
                assert_eq!(got, expected, "{architecture:#x} {number} {arguments:x?}");
            }
        }
    }
}

/// Every combination of up to three flags with every way of access.
#[test]
fn open_is_told_by_its_flags_alone() {
    let (program, ..) = &filters()[0];
    let bits: Vec<u32> = (0..26).map(|bit| 1 << bit).chain([0]).collect();
    let combined = |so_far: Vec<u32>| -> Vec<u32> {
        let with = |flags: &u32| bits.iter().map(|bit| flags | bit).collect::<Vec<_>>();
        so_far.iter().flat_map(with).collect()
    };
    for flags in combined(combined(combined(vec![0, 1, 2, 3]))) {
        let got = run(program, X86_64, 257, [0, 0, u64::from(flags), 0, 0, 0]);
        assert_eq!(got == NOTIFY, open_changes(flags), "{flags:#o}");
    }
    let high = |low: u64| run(program, X86_64, 257, [0, 0, 1 << 32 | low, 0, 0, 0]);
    assert_eq!(
        (high(0), high(1)),
        (ALLOW, NOTIFY),
        "the kernel does not look at the upper half"
    );
}

#[test]
fn what_is_unknown_does_not_exist() {
    for (program, architectures, _) in filters() {
        for native in architectures {
            assert_eq!(
                run(&program, *native, SKIPPED, [0; 6]),
                ALLOW,
                "ptrace skips a call"
            );
            assert_eq!(
                run(&program, *native, 0x4000_0000 + 87, [0; 6]),
                ABSENT,
                "x32"
            );
        }
        let others = (0..64).map(|bit| 1_u32.rotate_left(bit)).chain([
            X86_64,
            I386,
            AARCH64,
            0,
            0x4000_0028,
        ]);
        for other in others.filter(|other| !architectures.contains(other)) {
            for number in [1, 2, 5, 10, 35, 87, 257] {
                assert_eq!(
                    run(&program, other, number, [0; 6]),
                    ABSENT,
                    "{other:#x} {number}"
                );
            }
        }
    }
}

/// What the kernel demands of a filter (kernel/seccomp.c, net/core/filter.c), so that none is ever turned down: every way
/// leads forward, stays inside, and ends in an answer; loads are of whole words inside the call's data.
#[test]
fn the_program_is_one_that_the_kernel_takes() {
    for (program, ..) in filters() {
        assert!(program.len() <= 4096);
        assert_eq!(program.last().map(|step| step.code), Some(RETURN));
        for (at, step) in program.iter().enumerate() {
            let inside = |skip: usize| assert!(at + 1 + skip < program.len(), "{at}: {step:?}");
            match step.code {
                LOAD => assert!(step.operand % 4 == 0 && step.operand < 64),
                EQUAL | AT_LEAST | ANY_BIT => [step.jump_true, step.jump_false]
                    .map(usize::from)
                    .into_iter()
                    .for_each(inside),
                0x05 => inside(step.operand as usize),
                RETURN => assert!([ALLOW, NOTIFY, ABSENT, UNSUPPORTED].contains(&step.operand)),
                code => panic!("{at}: unknown code {code:#x}"),
            }
        }
    }
}

/// Calls without a look at their arguments have a constant answer that the kernel keeps: nothing is loaded on their way
/// but number and architecture.
#[test]
fn what_is_always_allowed_is_allowed_by_its_number() {
    for (program, architectures, _) in filters() {
        for architecture in architectures {
            for (number, call) in reference(*architecture).iter().enumerate().take(470) {
                if !call.is_none_or(|(_, word)| word == "goes-on") {
                    continue;
                }
                let same = |value: u64| run(&program, *architecture, number as u32, [value; 6]);
                assert_eq!((same(0), same(u64::MAX)), (ALLOW, ALLOW), "{number}");
            }
        }
    }
}
