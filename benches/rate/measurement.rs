//! [`FalsePositives`]: a measurement of criterion's whose value is not a time but false positives in a million questions about strangers.

use criterion::Throughput;
use criterion::measurement::{Measurement, ValueFormatter};

/// Only for `iter_custom`, which returns the value: there is nothing to read off before and after a loop, as there is of a clock.
pub(crate) struct FalsePositives;

impl Measurement for FalsePositives {
    type Intermediate = ();
    type Value = f64;

    fn start(&self) {}

    fn end(&self, (): ()) -> f64 {
        f64::NAN
    }

    fn add(&self, one: &f64, other: &f64) -> f64 {
        one + other
    }

    fn zero(&self) -> f64 {
        0.0
    }

    fn to_f64(&self, value: &f64) -> f64 {
        *value
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        &Unit
    }
}

struct Unit;

impl ValueFormatter for Unit {
    fn scale_values(&self, _typical: f64, _values: &mut [f64]) -> &'static str {
        "in a million"
    }

    fn scale_throughputs(&self, _typical: f64, _throughput: &Throughput, _values: &mut [f64]) -> &'static str {
        "in a million"
    }

    fn scale_for_machines(&self, _values: &mut [f64]) -> &'static str {
        "false positives in a million"
    }
}
