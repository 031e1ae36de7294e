//! A deterministic simulation of the protocol: the real gate, negative cache, store and rebuild, under a seeded scheduler, against a simulated
//! database.
//!
//! Not a model: what is played is the code that ships, with nothing replaced but the two ends, the database and the clock. Every actor is a coroutine
//! on one thread ([`sched`]), and each `sync::point` of the protocol is a place where another may go on, so a create can be cut between registering
//! and raising its fence while a rebuild runs from publication to swap. The database ([`world`]) knows transactions whose COMMIT lands after their
//! client has given up, reads that are slow, fail, hang and panic, and scans over snapshots, pages and lagging replicas. [`check`] holds every answer
//! against what the database really had; each of its [`Kind`](check::Kind)s is a definition. [`scenarios`] lists the mixes, [`stage`] plays one,
//! [`tests`] says that they hold, [`actors`] and [`writers`] are who acts, [`ports`] is what the real code is plugged into.
//!
//! That it would notice is shown by [`mutants`]: each rule switched off alone lets some scenario say "absent" of an acknowledged key (I1), to a
//! caller, through the public answers. Measured over 6,000 seeds:
//!
//! ```text
//! rule                       without it                                                  scenario            first seed   one seed in
//! R1 (i)   pending           BeginWithoutPending                                         rebuilds                     1             5
//! R1 (ii)  fence             BeginWithoutFence                                           hot key                      3             3
//! R1 (iii) current bits      BeginWithoutCurrentBits                                     hot key                      1             1
//! R1 (iii) building bits     BeginWithoutBuildingBits                                    rebuilds                     7            13
//! R1 pending before bits     PendingAfterBits                                            rebuilds                    17            19
//! R2 token compared          TokenNotCompared                                            hot key                    115           261
//! R2 pending is 0            PendingIgnored                                              hot key                     39            61
//! R3 flights validated       JoinWithoutRevalidation + JoinWithoutLook                   hot key                    152            82
//! Advisory: join next        AdvisoryRevalidates                                         advisory                   259           333
//! R8 pending copied          RebuildWithoutCopy                                          rebuilds                     1             5
//! R8 copy before scan        CopyAfterScan                                               rebuilds                   202            82
//! R8 cursor after publish    a key source whose snapshot is older than its rebuild       rebuilds                    15            18
//! distrust is lasting        OneShotDistrust                                             import                      13            15
//! unknown is not aborted     ErrTakenAsAborted                                           unknown outcomes            32           113
//! ready: new epoch           ReadyInOldEpoch                                             successor                  105           500
//! distrust outlives the lag  LagForgotten                                                lagging import              27           222
//! R9 delete confirmed        RetireUnconfirmed                                          retire                      10           375
//! R9 of the last row         RetireNotLast                                              retire                     150           113
//! R9 generation as captured  RetireReloads                                              retire                     952          6000
//! R9 trusted all along *     RetireUntrusted                                            retire, import             306          1000
//! R9 exclusive *             RetireAdvisory                                             retire, advisory            94           462
//! R9 not in the delta        RetireDeltaIgnored                                         retire                     391           333
//! ```
//!
//! \* By the bits (I4) and not by an answer: there the filter is a hint. The retiring scenarios have a base that can remove ([`copies`]), in which keys
//! share fingerprints.
//!
//! Equivalent, so they show nowhere:
//! * `JoinWithoutRevalidation` alone. A rider boards a flight only while its leader's token is valid, so at an instant at which no create has begun
//!   since the token was captured. If the leader has read by then, and found nothing, the key is absent at that instant; if it reads later, at that
//!   later one. Either lies within the rider's own lookup, so what the rider is told was true while it asked. `JoinWithoutLook` alone: the same, with
//!   the instant of the validation after the landing. One of the two is enough; the gate's own look at the evidence is a third, for other loaders.
//! * `PendingIgnored` under `create_with` alone: settling moves the sequence number, which kills the token before the acknowledgement. It shows
//!   because a success may be passed on before its guard is settled (R4), and because a client can see for itself a row whose outcome nobody
//!   reported.
//! * `RetireOtherWrite` alone: an announced create is in the delta before it can commit, and what the delta claims is not retired.
//!
//! What it does not see: the memory model (one thread, so everything is sequentially consistent; loom has that part), cuts inside a lock's critical
//! section, which are one step, and stripes that saturate, which takes 65,535 creates at once.

mod actors;
mod check;
mod copies;
mod mutants;
mod ports;
mod rng;
mod scenarios;
mod sched;
mod stage;
mod tests;
mod world;
mod writers;
