//! A mean with its interval, narrowed by a control.
//!
//! The wait W that each job would have had under first come, first served is known for each job and in the mean, and
//! says how busy the queue happened to be. So the mean of a discipline's response T is estimated by the regression of
//! its batch means on those of W, at the known E[W] (Lavenberg and Welch, "A perspective on the use of control variables
//! to increase the efficiency of Monte Carlo simulations", 1981). The interval is that of the regression's value there.

use schedlab_metrics::statistics::{BatchMeans, mean, student};

const LEVEL: f64 = 0.99;

/// A mean that another's simulation gave.
#[derive(Clone, Copy)]
pub struct Published {
    pub mean: f64,
    /// Half the width of its 95 % interval.
    pub half_95: f64,
}

impl Published {
    /// Half the width at our level, the error taken to be normal.
    fn half(&self) -> f64 {
        let normal = |level: f64| student::quantile(0.5 + level / 2.0, 1e9);
        self.half_95 * normal(LEVEL) / normal(0.95)
    }
}

/// Estimates the mean of what is recorded.
#[derive(Default)]
pub struct Estimate {
    values: BatchMeans,
    controls: BatchMeans,
    count: u64,
}

impl Estimate {
    pub fn record(&mut self, value: f64, control: f64) {
        self.values.record(value);
        self.controls.record(control);
        self.count += 1;
    }

    /// Middle and half width without a control.
    pub fn plain(&self) -> (f64, f64) {
        let interval = self.values.interval(LEVEL).expect("batches");
        (interval.estimate, (interval.high - interval.low) / 2.0)
    }

    /// Middle and half width, given the mean of the control.
    pub fn controlled(&self, control: f64) -> (f64, f64) {
        let (values, controls) = (self.values.means(), self.controls.means());
        let (y, x) = (mean(&values).expect("batches"), mean(&controls).expect("batches"));
        let sum =
            |f: &dyn Fn(f64, f64) -> f64| values.iter().zip(&controls).map(|(&v, &c)| f(v - y, c - x)).sum::<f64>();
        let xx = sum(&|_, c| c * c);
        let slope = sum(&|v, c| v * c) / xx;
        let rest = sum(&|v, c| (v - slope * c) * (v - slope * c));
        let (n, off) = (values.len() as f64, control - x);
        let variance = rest / (n - 2.0) * (1.0 / n + off * off / xx);
        (y + slope * off, student::quantile(0.5 + LEVEL / 2.0, n - 2.0) * variance.sqrt())
    }

    /// `expected` lies in the interval, which is not wider than `width` of it to each side.
    pub fn assert_plain(&self, what: &str, expected: f64, width: f64) {
        self.assert(what, self.plain(), expected, width);
    }

    /// The same with a control of this mean.
    pub fn assert_controlled(&self, what: &str, control: f64, expected: f64, width: f64) {
        self.assert(what, self.controlled(control), expected, width);
    }

    fn assert(&self, what: &str, (middle, half): (f64, f64), expected: f64, width: f64) {
        println!("{what:<44} {middle:>9.3} ± {half:>7.3}  theory {expected:>9.3}  {:>9} jobs", self.count);
        assert!((middle - expected).abs() <= half, "{what}: {middle} ± {half}, theory says {expected}");
        assert!(half <= width * expected, "{what}: ± {half} of {expected} says too little");
    }

    /// The published mean is the one estimated here, at our level. Both are estimates with an error of their own, and
    /// independent, since no random number is shared: the variance of their difference is the sum of both variances, so
    /// its interval has the half width √(ours² + theirs²), theirs brought to our level. Zero has to lie in it. Our half
    /// is not wider than `width` of the mean.
    pub fn assert_published(&self, what: &str, (middle, half): (f64, f64), published: Published, width: f64) {
        let (theirs, both) = (published.mean, published.half().hypot(half));
        let allowed = format!("{middle:.3} ± {half:.3}, published {theirs} ± {:.3}", published.half());
        println!("{what:<44} {allowed}, apart {:.3} of {both:.3}  {:>9} jobs", middle - theirs, self.count);
        assert!((middle - theirs).abs() <= both, "{what}: {allowed}");
        assert!(half <= width * theirs, "{what}: {allowed} says too little");
    }
}
