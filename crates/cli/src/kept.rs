//! What is known of runs from before, and what there is to be said about that.

use crate::output;
use schedlab_campaign::{Cache, Runner};
use schedlab_model::count::counted;
use std::time::SystemTime;

/// The cache of the user; with `fresh` it keeps runs and gives none. Nothing where there can be none.
pub fn cache(fresh: bool, quiet: bool) -> Option<Cache> {
    let cache = Cache::of_user();
    let why = match &cache {
        Ok(Some(_)) => None,
        Ok(None) => Some("there is no folder for them; set HOME or XDG_CACHE_HOME".to_string()),
        Err(error) => Some(format!("the running program cannot be read: {error}")),
    };
    if let (Some(why), false) = (why, quiet) {
        output::remark(&format!("results are not kept: {why}"));
    }
    let cache = cache.ok().flatten()?;
    Some(if fresh { cache.forgetful() } else { cache })
}

/// Says what came from the cache, and what could not be put there.
pub fn remark(runner: &Runner) {
    let known = runner.known();
    if known.runs > 0 {
        let measured = known
            .measured_since
            .map_or(String::new(), |since| format!(" (those in real time measured up to {} ago)", age(since)));
        let (runs, them) = (counted(known.runs as u64, "run"), if known.runs == 1 { "it" } else { "them" });
        output::remark(&format!("{runs} reused from the cache{measured}; --fresh repeats {them}"));
    }
    if let Some(why) = runner.unkept() {
        output::remark(&format!("results are not kept: {why}"));
    }
}

fn age(since: SystemTime) -> String {
    let seconds = since.elapsed().map_or(0, |age| age.as_secs());
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86400),
    }
}
