//! The scheduler: every actor is a coroutine on one thread, and at each point somebody else may go on.
//!
//! A point is a [`pause`]: the ones inside the protocol (`sync::point`), those of the simulated database and store, and every wait of a future. At a
//! point the running actor may be set aside, now and then for a long time ([`Haste`]), which is how the narrow windows of a protocol are held open.
//! All choices come from one generator, so a run is a function of (scenario, rules switched off, seed). An event has a number, [`Run::now`]; there is
//! no other order of things.
//!
//! Futures are polled by [`drive`]. An actor whose future waits is resumed when its waker was called, so that a lost wake-up strands it; now and then
//! it is polled without reason, which a future has to bear.

use super::check::{Check, Kind};
use super::rng::Rng;
use super::world::World;
use crate::sync::{AtomicBool, Ordering};
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, Yielder};
use scoped_tls::{ScopedKey, scoped_thread_local};
use std::cell::RefCell;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

/// How restless this run is, in percent a point.
#[derive(Clone, Copy, Debug)]
pub(super) struct Haste {
    /// The actor is set aside.
    pub(super) switch: u64,
    /// And if so, then for long.
    pub(super) freeze: u64,
}

/// One line of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) at: u64,
    pub(super) actor: &'static str,
    pub(super) what: &'static str,
    pub(super) number: Option<u64>,
}

struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        // ORDERING: Relaxed here and below: there is one thread.
        self.0.store(true, Ordering::Relaxed);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Ready,
    Waiting,
    Done,
}

struct Task {
    name: &'static str,
    state: State,
    frozen: u64,
    woken: Arc<Woken>,
    /// Will drop what it waits for: polled although nobody woke it.
    impatient: bool,
    /// The question that it has asked and that is not answered.
    question: Option<usize>,
}

/// What is simulated, as one value.
pub(super) struct Run {
    pub(super) rng: Rng,
    /// Number of the last event.
    pub(super) now: u64,
    pub(super) world: World,
    pub(super) check: Check,
    pub(super) haste: Haste,
    /// The source answers at once, time stands still, nobody is polled without reason: whoever waits now must be woken by what happens.
    pub(super) draining: bool,
    pub(super) schedule: Vec<Line>,
    turn: Option<usize>,
    tasks: Vec<Task>,
    /// Where there is no actor.
    nobody: Option<usize>,
}

impl Run {
    pub(super) fn new(rng: Rng, world: World, check: Check, haste: Haste) -> Self {
        Self { rng, now: 0, world, check, haste, draining: false, schedule: Vec::new(), turn: None, tasks: Vec::new(), nobody: None }
    }

    /// Something happened.
    pub(super) fn event(&mut self, what: &'static str, number: Option<u64>) -> u64 {
        self.now += 1;
        let actor = self.turn.map_or("-", |turn| self.tasks[turn].name);
        self.schedule.push(Line { at: self.now, actor, what, number });
        self.now
    }

    /// The open question of the actor whose turn it is.
    pub(super) fn question(&mut self) -> &mut Option<usize> {
        match self.turn {
            Some(turn) => &mut self.tasks[turn].question,
            None => &mut self.nobody,
        }
    }

    /// The actors whose questions are not answered.
    pub(super) fn asking(&self) -> Vec<&'static str> {
        self.tasks.iter().filter(|task| task.question.is_some()).map(|task| task.name).collect()
    }

    pub(super) fn unfinished(&self) -> Vec<&'static str> {
        self.tasks.iter().filter(|task| task.state != State::Done).map(|task| task.name).collect()
    }

    fn cut(&mut self, what: &'static str) -> Option<usize> {
        self.event(what, None);
        let turn = self.turn?;
        if !self.rng.percent(self.haste.switch) {
            return None;
        }
        if self.rng.percent(self.haste.freeze) {
            self.tasks[turn].frozen = self.now + 20 + self.rng.below(200);
        }
        Some(turn)
    }

    fn choose(&mut self) -> Choice {
        if self.tasks.iter().all(|task| task.state == State::Done) {
            return Choice::AllDone;
        }
        let baseless = !self.draining && self.rng.percent(2);
        let able = |task: &Task| match task.state {
            State::Ready => true,
            State::Waiting => task.impatient || baseless || task.woken.0.load(Ordering::Relaxed),
            State::Done => false,
        };
        let pick = |frozen_too: bool| -> Vec<usize> {
            (0..self.tasks.len()).filter(|&i| able(&self.tasks[i]) && (frozen_too || self.tasks[i].frozen <= self.now)).collect()
        };
        let mut candidates = pick(false);
        if candidates.is_empty() {
            candidates = pick(true);
        }
        if candidates.is_empty() {
            return Choice::AllWait;
        }
        let chosen = self.rng.of(&candidates);
        self.tasks[chosen].state = State::Ready;
        Choice::Resume(chosen)
    }
}

enum Choice {
    Resume(usize),
    AllWait,
    AllDone,
}

thread_local!(static RUN: RefCell<Option<Run>> = const { RefCell::new(None) });

/// The run of this thread. Nothing in `f` may come to a point.
pub(super) fn with<R>(f: impl FnOnce(&mut Run) -> R) -> R {
    RUN.with_borrow_mut(|run| f(run.as_mut().expect("no simulation runs on this thread")))
}

pub(super) fn install(run: Option<Run>) -> Option<Run> {
    RUN.replace(run)
}

/// A point.
pub(super) fn pause(what: &'static str) {
    // A destructor that runs because of a panic is not cut: the panic is this thread's, and so everybody's.
    if std::thread::panicking() {
        return;
    }
    if let Some(turn) = RUN.with_borrow_mut(|run| run.as_mut().and_then(|run| run.cut(what))) {
        suspend(turn);
    }
}

fn suspend(turn: usize) {
    SLOTS[turn].with(|yielder| yielder.suspend(()));
}

/// Polls `future` to its end, or drops it after it has waited `patience` times.
pub(super) fn drive<F: Future>(future: F, patience: Option<u64>) -> Option<F::Output> {
    let mut future = pin!(future);
    let (turn, woken) = with(|run| {
        let turn = run.turn.expect("only actors wait");
        run.tasks[turn].impatient = patience.is_some();
        (turn, Arc::clone(&run.tasks[turn].woken))
    });
    let waker = Waker::from(Arc::clone(&woken));
    let mut left = patience.unwrap_or(u64::MAX);
    loop {
        woken.0.store(false, Ordering::Relaxed);
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return Some(output);
        }
        if left == 0 {
            with(|run| run.event("gives up", None));
            return None;
        }
        left -= 1;
        with(|run| run.tasks[turn].state = State::Waiting);
        suspend(turn);
    }
}

type Actor = Coroutine<(), (), (), DefaultStack>;
/// An actor's name and what it does.
pub(super) type Part = (&'static str, Box<dyn FnOnce()>);

/// How a cast of actors ended.
pub(super) enum Ended {
    AllDone,
    /// Those actors wait for something that `idle` could not bring about.
    Stuck(Vec<&'static str>),
}

/// Runs actors to their end. `each` is called after every step; `idle` when all who are left wait, and says whether it changed anything.
pub(super) fn perform(parts: Vec<Part>, mut each: impl FnMut(), mut idle: impl FnMut() -> bool) -> Ended {
    let mut actors: Vec<Option<Actor>> = Vec::new();
    for (slot, (name, act)) in parts.into_iter().enumerate() {
        with(|run| {
            let woken = Arc::new(Woken(AtomicBool::new(false)));
            run.tasks.push(Task { name, state: State::Ready, frozen: 0, woken, impatient: false, question: None });
        });
        let body = move |yielder: &Yielder<(), ()>, ()| {
            let play = || SLOTS[slot].set(yielder, act);
            if let Err(payload) = catch_unwind(AssertUnwindSafe(play)) {
                let text = payload.downcast_ref::<String>().map(String::as_str).or_else(|| payload.downcast_ref::<&str>().copied());
                with(|run| run.violate(Kind::Panic, format!("{name}: {}", text.unwrap_or("a staged panic that nobody caught"))));
            }
        };
        actors.push(Some(Coroutine::with_stack(stack(), body)));
    }
    let ended = loop {
        match with(|run| run.choose()) {
            Choice::AllDone => break Ended::AllDone,
            Choice::AllWait if idle() => {}
            Choice::AllWait => break Ended::Stuck(with(|run| run.unfinished())),
            Choice::Resume(turn) => {
                let actor = actors[turn].as_mut().expect("not done");
                with(|run| run.turn = Some(turn));
                let over = actor.resume(()).as_return().is_some();
                with(|run| {
                    run.turn = None;
                    if over {
                        run.tasks[turn].state = State::Done;
                    }
                });
                if over {
                    actors[turn].take().into_iter().for_each(|actor| STACKS.with_borrow_mut(|stacks| stacks.push(actor.into_stack())));
                }
                each();
            }
        }
        if with(|run| run.now > MOST_EVENTS) {
            break Ended::Stuck(with(|run| run.unfinished()));
        }
    };
    // Whoever is stuck stays so: unwinding it would run the protocol once more.
    actors.into_iter().flatten().for_each(std::mem::forget);
    with(|run| run.tasks.clear());
    ended
}

/// A run that takes longer goes round in circles; those of the scenarios here take one to four thousand.
const MOST_EVENTS: u64 = 100_000;
/// Deep enough for a rebuild that asks its canaries in a build without optimisation.
const STACK_BYTES: usize = 512 << 10;

thread_local!(static STACKS: RefCell<Vec<DefaultStack>> = const { RefCell::new(Vec::new()) });

fn stack() -> DefaultStack {
    STACKS.with_borrow_mut(Vec::pop).unwrap_or_else(|| DefaultStack::new(STACK_BYTES).expect("memory for a stack"))
}

/// Where each actor's way back to the scheduler is found. One slot an actor, because the actors' scopes do not nest.
macro_rules! slots {
    ($($slot:ident)*) => {
        $(scoped_thread_local!(static $slot: Yielder<(), ()>);)*
        static SLOTS: &[&ScopedKey<Yielder<(), ()>>] = &[$(&$slot),*];
    };
}
slots!(S0 S1 S2 S3 S4 S5 S6 S7 S8 S9 S10 S11 S12 S13 S14 S15);
