//! The suites for users' own stores and loaders: ours pass, and each clause fails somebody.

use crate::broken_loaders as loaders;
use crate::broken_stores as stores;
use crate::support::*;
use absentia::conformance::{LoaderSuite, ScriptedSource, StoreSuite, loader, store};
use absentia::*;
use std::panic::{AssertUnwindSafe, catch_unwind};

type Memory = MemoryStore<u64, String>;

fn small() -> Memory {
    MemoryStore::builder().positive_bytes(1 << 18).negative_bytes(1 << 16).shards(4).weigher(|_, value: &String| value.capacity()).build()
}

#[test]
fn the_memory_store_conforms() {
    block_on(store(Memory::new));
    block_on(store(|| MemoryStore::builder().shards(1).build()));
}

#[test]
fn the_memory_store_stays_within_its_budgets() {
    let used = |store: &Memory| (store.stats().negative_bytes + store.stats().positive_bytes) as u64;
    block_on(StoreSuite::new(small).flood(10_000).budget((1 << 18) + (1 << 16), used).run());
}

#[test]
fn a_boxed_store_conforms() {
    block_on(store(|| -> Box<dyn DynStore<u64, String>> { Box::new(Memory::new()) }));
}

#[test]
fn the_negative_cache_conforms_over_any_store() {
    block_on(loader(|source| NegativeCache::builder(source, Memory::new()).build().unwrap()));
    let boxed = || -> Box<dyn DynStore<u64, String>> { Box::new(Memory::new()) };
    block_on(loader(|source| NegativeCache::builder(source, boxed()).build().unwrap()));
}

#[test]
fn the_negative_cache_conforms_without_room_for_anything() {
    let none = || MemoryStore::builder().positive_bytes(0).negative_bytes(0).build();
    block_on(loader(|source| NegativeCache::builder(source, none()).build().unwrap()));
}

#[test]
fn the_negative_cache_conforms_over_a_store_that_awaits() {
    block_on(store(|| stores::Awaiting(small())));
    block_on(loader(|source| NegativeCache::builder(source, stores::Awaiting(small())).build().unwrap()));
}

#[test]
fn ten_lines_over_a_table_conform() {
    block_on(loader(TableLoader::<ScriptedSource>));
}

#[test]
fn the_suites_run_inside_tokio_as_well() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        store(Memory::new).await;
        loader(|source| NegativeCache::builder(source, Memory::new()).build().unwrap()).await;
    });
}

/// The message with which `suite` fails.
#[track_caller]
fn fails(clause: &str, suite: impl FnOnce()) {
    let panic = catch_unwind(AssertUnwindSafe(suite)).expect_err(&format!("nobody noticed that not: {clause}"));
    let message = panic.downcast_ref::<String>().expect("a message");
    assert!(message.contains(&format!("\"{clause}\" does not hold")), "{message}\ndoes not name: {clause}");
}

#[track_caller]
fn store_fails<S: Store<u64, String>>(clause: &str, make: impl Fn() -> S) {
    fails(clause, || block_on(StoreSuite::new(make).flood(2_000).run()));
}

#[test]
fn each_clause_of_the_store_fails_a_store_that_breaks_it() {
    use stores::{Bug, Buggy};
    let buggy = |bug| move || Buggy::new(bug);
    block_on(store(buggy(Bug::None)));
    store_fails("a store that is up answers", buggy(Bug::Down));
    store_fails("an empty store knows nothing", buggy(Bug::InventsAbsence));
    store_fails("an entry comes back as it was put", buggy(Bug::LosesTheToken));
    store_fails("an entry does not come back younger than it was put", buggy(Bug::Rejuvenates));
    store_fails("a value is never mistaken for an absence", buggy(Bug::Sentinel("")));
    store_fails("a value is never mistaken for an absence", buggy(Bug::Sentinel("\0missing")));
    store_fails("the newest entry replaces the one before", buggy(Bug::KeepsTheFirst));
    store_fails("a removed entry is gone", buggy(Bug::NeverRemoves));
    store_fails("a remove takes its own key only", buggy(Bug::RemovesAll));
    store_fails("keys are compared whole, not by hash", buggy(Bug::ByHash));
    store_fails("a put whose token died stores nothing", buggy(Bug::NeverAsks));
    store_fails("a put whose token died brings nothing older back", buggy(Bug::Resurrects));
    store_fails("a remove is not undone by a put that it overtook", buggy(Bug::AsksTooEarly));
    store_fails("an entry under an unusable token stays unusable", buggy(Bug::BelievesAnyToken));
    store_fails("absences never push out values", buggy(Bug::OneBudget));
}

#[test]
fn a_store_without_a_bound_fails_a_stated_budget() {
    let suite = StoreSuite::new(|| stores::Buggy::new(stores::Bug::None)).flood(3_000).budget(1_000, |store| store.len() as u64);
    fails("memory stays within the budget", || block_on(suite.run()));
}

#[track_caller]
fn loader_fails<L: Loader<u64, String> + 'static>(clause: &str, make: impl Fn(ScriptedSource) -> L) {
    fails(clause, || block_on(LoaderSuite::new(make).patience(std::time::Duration::from_millis(300)).run()));
}

#[test]
fn each_clause_of_the_loader_fails_a_loader_that_breaks_it() {
    use loaders::{Bug, Buggy, Flight, Flights};
    let buggy = |bug| move |source| Buggy::new(source, bug);
    block_on(loader(buggy(Bug::None)));
    loader_fails("a row is present", buggy(Bug::Down));
    loader_fails("a row is present", buggy(Bug::Sentinel));
    loader_fails("no row is absent", buggy(Bug::AbsenceIsAnError));
    loader_fails("an error is not an absence", buggy(Bug::ErrorIsAbsence));
    loader_fails("an error is not remembered", buggy(Bug::RemembersErrors));
    loader_fails("an absence from before a create is not answered after it", buggy(Bug::RemembersAbsences));
    loader_fails("a read from before a create is not remembered after it", buggy(Bug::EvictsOnly));
    loader_fails("a fresh lookup reads the source", buggy(Bug::NeverFresh));
    loader_fails("a row from before an update is not answered after it", buggy(Bug::NeverForgets));
    loader_fails("where tombstones are off nothing absent is remembered", buggy(Bug::CallsMemoryARead));
    let flights = |flight| move |source| Flights::new(source, flight);
    block_on(loader(flights(Flight::None)));
    loader_fails("a read from before a create does not answer a caller from after it", flights(Flight::Naive));
    loader_fails("a fresh lookup shares no read from before it", flights(Flight::SharesFresh));
    loader_fails("a caller that goes away strands nobody", flights(Flight::StrandsOnDrop));
    loader_fails("a panic strands nobody", flights(Flight::StrandsOnPanic));
}
