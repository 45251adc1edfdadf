//! The way to one destination: a bounded queue and a thread, begun at the first event, that delivers and tries again.

use std::collections::VecDeque;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::Event;

/// Events that wait; further ones are lost.
const MOST_WAITING: usize = 512;
/// How often something is tried.
const TRIES: u32 = 6;
/// The pause after the first time; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// No pause is longer, whatever the other side asks.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Where events go.
pub trait Sink: Send {
    /// How many are delivered at once, and how long the first of them waits for others.
    fn batch(&self) -> (usize, Duration);

    /// Delivers. It may take its time, within a bound.
    fn deliver(&mut self, events: &[Arc<Event>]) -> Outcome;
}

/// What became of a delivery.
#[derive(Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It arrived.
    Delivered,
    /// So many were not taken, and will not be.
    Rejected(usize, String),
    /// It may arrive if it is tried again, after a pause if the other side asks for one.
    Later(String, Option<Duration>),
}

/// How things stand with one destination.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// Delivered.
    pub delivered: u64,
    /// Lost for good.
    pub lost: u64,
    /// Neither as yet.
    pub waiting: u64,
    /// Why, where that is known.
    pub why: Option<String>,
}

impl Standing {
    /// Whether everything was delivered.
    pub fn is_well(&self) -> bool {
        self.lost == 0 && self.waiting == 0
    }
}

/// The way to one destination.
pub struct Queue {
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    /// Something was added, or is to be done at once.
    news: Condvar,
    /// Something was delivered or lost.
    done: Condvar,
}

struct State {
    /// Until its thread has begun.
    sink: Option<Box<dyn Sink>>,
    waiting: VecDeque<Arc<Event>>,
    under_way: usize,
    standing: Standing,
    pace: Pace,
    reach: Reach,
}

/// How urgent it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pace {
    /// There is time to gather several.
    Calm,
    /// Somebody waits.
    Hurried,
    /// The run is over: no event is taken any more.
    Closed,
}

/// Whether the last delivery got somewhere.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    Unknown,
    Good,
    Bad,
}

impl Queue {
    /// A queue before `sink`.
    pub fn new(sink: Box<dyn Sink>) -> Self {
        Self {
            shared: Arc::new(Shared {
                state: Mutex::new(State {
                    sink: Some(sink),
                    waiting: VecDeque::new(),
                    under_way: 0,
                    standing: Standing::default(),
                    pace: Pace::Calm,
                    reach: Reach::Unknown,
                }),
                news: Condvar::new(),
                done: Condvar::new(),
            }),
        }
    }

    /// Whether its thread has begun.
    #[cfg(test)]
    pub fn has_begun(&self) -> bool {
        self.shared.lock().sink.is_none()
    }

    /// Adds an event, or counts it as lost.
    pub fn offer(&self, event: Arc<Event>) {
        let mut state = self.shared.lock();
        if state.pace == Pace::Closed {
            return;
        }
        if let Some(sink) = state.sink.take() {
            let shared = Arc::clone(&self.shared);
            let thread = std::thread::Builder::new()
                .name("forward".into())
                .spawn(move || shared.work(sink));
            if let Err(error) = thread {
                state.pace = Pace::Closed;
                state.standing.why = Some(format!("cannot start a thread: {error}"));
                state.standing.lost += 1;
                return;
            }
        }
        if state.waiting.len() >= MOST_WAITING {
            state.standing.lost += 1;
            return;
        }
        state.waiting.push_back(event);
        drop(state);
        self.shared.news.notify_one();
    }

    /// Delivers what there is at once, and waits for that until `deadline`; not where the last delivery got nowhere.
    pub fn settle(&self, deadline: Instant) -> Standing {
        let mut state = self.shared.lock();
        state.pace = state.pace.at_least_hurried();
        self.shared.news.notify_one();
        state = self.shared.wait_for(state, deadline, |state| {
            state.is_idle() || state.reach == Reach::Bad
        });
        if state.pace == Pace::Hurried {
            state.pace = Pace::Calm;
        }
        state.standing()
    }

    /// The same for the last time; what is tried again is waited for too.
    pub fn close(&self, deadline: Instant) -> Standing {
        let mut state = self.shared.lock();
        state.pace = Pace::Closed;
        self.shared.news.notify_one();
        self.shared
            .wait_for(state, deadline, State::is_idle)
            .standing()
    }
}

impl Pace {
    fn at_least_hurried(self) -> Self {
        match self {
            Self::Calm => Self::Hurried,
            other => other,
        }
    }
}

impl State {
    fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.under_way == 0
    }

    fn standing(&self) -> Standing {
        Standing {
            waiting: (self.waiting.len() + self.under_way) as u64,
            ..self.standing.clone()
        }
    }
}

impl Shared {
    /// A thread that panicked has left the counts as they were.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_for<'a>(
        &self,
        mut state: MutexGuard<'a, State>,
        deadline: Instant,
        over: impl Fn(&State) -> bool,
    ) -> MutexGuard<'a, State> {
        while !over(&state) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let waited = self.done.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state
    }

    /// The thread.
    fn work(&self, mut sink: Box<dyn Sink>) {
        loop {
            let batch = self.next(sink.batch());
            let count = batch.len();
            let mut tries = 0;
            let lost = loop {
                match sink.deliver(&batch) {
                    Outcome::Delivered => break None,
                    Outcome::Rejected(lost, why) => break Some((lost.min(count), why)),
                    Outcome::Later(why, pause) => {
                        tries += 1;
                        if tries == TRIES {
                            break Some((count, why));
                        }
                        self.trouble(why);
                        self.pause(tries, pause);
                    }
                }
            };
            self.settled(count, lost);
        }
    }

    /// The next events, once there are enough of them or the first has waited for long enough.
    fn next(&self, (most, linger): (usize, Duration)) -> Vec<Arc<Event>> {
        let mut state = self.lock();
        while state.waiting.is_empty() {
            state = self
                .news
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        let deadline = Instant::now() + linger;
        while state.waiting.len() < most && state.pace == Pace::Calm {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let waited = self.news.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        let count = state.waiting.len().min(most);
        let batch: Vec<_> = state.waiting.drain(..count).collect();
        state.under_way = batch.len();
        batch
    }

    /// A delivery got nowhere, and is to be tried again.
    fn trouble(&self, why: String) {
        let mut state = self.lock();
        state.reach = Reach::Bad;
        state.standing.why = Some(why);
        drop(state);
        self.done.notify_all();
    }

    fn settled(&self, count: usize, lost: Option<(usize, String)>) {
        let mut state = self.lock();
        state.under_way = 0;
        let (gone, why) = lost.map_or((0, None), |(gone, why)| (gone, Some(why)));
        state.standing.delivered += (count - gone) as u64;
        state.standing.lost += gone as u64;
        state.reach = if gone == 0 { Reach::Good } else { Reach::Bad };
        match why {
            Some(why) => state.standing.why = Some(why),
            // What had to be tried again arrived: that was no loss.
            None if state.standing.lost == 0 => state.standing.why = None,
            None => {}
        }
        drop(state);
        self.done.notify_all();
    }

    /// Pauses before the next try, each time for twice as long, give or take a quarter: many runs that lost one collector do
    /// not come back at the same moment.
    fn pause(&self, tries: u32, asked: Option<Duration>) {
        let doubled = FIRST_PAUSE * 2_u32.pow(tries - 1);
        let own = doubled.mul_f64(0.75 + random() / 2.0);
        let pause = asked.map_or(own, |asked| asked.max(own)).min(LONGEST_PAUSE);
        std::thread::sleep(pause);
    }
}

/// From 0 to 1.
fn random() -> f64 {
    let digits = RandomState::new().build_hasher().finish();
    digits as f64 / u64::MAX as f64
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;
    use crate::forward::event::tests::event;

    /// Answers as it is told, and tells what it was given.
    struct Scripted {
        answers: Receiver<Outcome>,
        given: Sender<usize>,
        most: usize,
    }

    impl Sink for Scripted {
        fn batch(&self) -> (usize, Duration) {
            (self.most, Duration::from_secs(60))
        }

        fn deliver(&mut self, events: &[Arc<Event>]) -> Outcome {
            self.given.send(events.len()).unwrap();
            self.answers.recv().unwrap_or(Outcome::Delivered)
        }
    }

    fn scripted(most: usize) -> (Queue, Sender<Outcome>, Receiver<usize>) {
        let (answer, answers) = channel();
        let (given, was_given) = channel();
        let sink = Scripted {
            answers,
            given,
            most,
        };
        (Queue::new(Box::new(sink)), answer, was_given)
    }

    fn offer(queue: &Queue, count: usize) {
        for _ in 0..count {
            queue.offer(Arc::new(event()));
        }
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(10)
    }

    #[test]
    fn whoever_waits_gets_everything_delivered_at_once_and_in_batches() {
        let (queue, answer, given) = scripted(4);
        offer(&queue, 3);
        answer.send(Outcome::Delivered).unwrap();
        assert!(queue.settle(soon()).is_well());
        offer(&queue, 5);
        drop(answer);
        let standing = queue.close(soon());
        assert_eq!((standing.delivered, standing.is_well()), (8, true));
        assert_eq!(given.iter().take(3).collect::<Vec<_>>(), [3, 4, 1]);
    }

    #[test]
    fn one_that_never_answers_holds_nobody_up_and_the_rest_is_counted() {
        let (queue, answer, given) = scripted(1);
        let begun = Instant::now();
        offer(&queue, 2 * MOST_WAITING + 1);
        assert!(begun.elapsed() < Duration::from_secs(2));
        given.recv().unwrap();
        let standing = queue.settle(Instant::now() + Duration::from_millis(50));
        assert_eq!(
            standing.waiting + standing.lost,
            2 * MOST_WAITING as u64 + 1
        );
        assert!((MOST_WAITING as u64..=MOST_WAITING as u64 + 1).contains(&standing.waiting));
        let closed = queue.close(Instant::now());
        assert_eq!(closed, standing);
        offer(&queue, 1);
        assert_eq!(queue.close(Instant::now()), standing);
        drop(answer);
    }

    #[test]
    fn what_failed_is_tried_again_and_what_is_rejected_is_not() {
        let (queue, answer, given) = scripted(8);
        offer(&queue, 2);
        for outcome in [
            Outcome::Later("HTTP 503".into(), Some(Duration::from_millis(1))),
            Outcome::Delivered,
        ] {
            answer.send(outcome).unwrap();
        }
        assert_eq!(
            queue.close(soon()),
            Standing {
                delivered: 2,
                ..Standing::default()
            }
        );
        assert_eq!(given.try_iter().collect::<Vec<_>>(), [2, 2]);

        let (queue, answer, given) = scripted(8);
        offer(&queue, 3);
        answer
            .send(Outcome::Rejected(2, "HTTP 400".into()))
            .unwrap();
        let standing = queue.close(soon());
        assert_eq!((standing.delivered, standing.lost), (1, 2));
        assert_eq!(standing.why.as_deref(), Some("HTTP 400"));
        assert_eq!(given.try_iter().collect::<Vec<_>>(), [3]);
    }

    #[test]
    fn the_end_of_the_command_does_not_wait_for_whom_nothing_reaches() {
        let (queue, answer, _given) = scripted(8);
        offer(&queue, 1);
        answer.send(Outcome::Later("refused".into(), None)).unwrap();
        let begun = Instant::now();
        let standing = queue.settle(soon());
        assert!(begun.elapsed() < Duration::from_secs(5));
        assert_eq!(
            (standing.waiting, standing.why.as_deref()),
            (1, Some("refused"))
        );
    }
}
