//! How many attempts a page lists: of each event as many as fit, so that one flood does not hide another event.

use crate::record::Event;

/// Leaves at most `most` attempts in all, at least one of each event, the first of each; says how many are gone.
pub fn cut(events: &mut [Event], most: usize) -> u64 {
    let lengths: Vec<usize> = events.iter().map(|event| event.attempts.len()).collect();
    let each = share(&lengths, most);
    let mut gone = 0;
    for event in events {
        gone += event.attempts.len().saturating_sub(each);
        event.attempts.truncate(each);
    }
    gone as u64
}

/// The largest number that each may keep.
fn share(lengths: &[usize], most: usize) -> usize {
    let kept = |each: usize| -> usize { lengths.iter().map(|&length| length.min(each)).sum() };
    let longest = lengths.iter().copied().max().unwrap_or(0);
    let (mut low, mut high) = (1, longest.max(1));
    while low < high {
        let middle = (low + high).div_ceil(2);
        if kept(middle) <= most {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::share;

    #[test]
    fn the_longest_give_way() {
        for (lengths, most, each) in [
            (&[3, 100, 5][..], 1000, 100),
            (&[3, 100, 5], 50, 42),
            (&[3, 100, 100], 103, 50),
            (&[9, 9, 9], 2, 1),
            (&[], 10, 1),
            (&[0], 10, 1),
        ] {
            assert_eq!(share(lengths, most), each, "{lengths:?} in {most}");
        }
    }
}
