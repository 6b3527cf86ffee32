//! Power states around a drive of whatever model: when it enters them, what the first I/O waits for, and what
//! that saves.

use openpts_core::engine::Spent;
use openpts_core::workload::Io;

use super::drive::{Answer, Completion, Drive, Refusal};
use super::power_setting::{MOST_POWER_STATES, PowerSetting, Transition};
use super::preset::PowerState;
use super::scale::Scale;
use super::smart::{Sensed, Smart};
use super::time::{PS_PER_S, Ps, ps_of_us};

/// A drive with power states. Commands other than I/O leave it in the state that it is in.
pub(super) struct PowerSaving {
    drive: Box<dyn Drive>,
    states: Vec<PowerState>,
    setting: PowerSetting,
    scale: Scale,
    /// The state that it was in last, and when it had entered it.
    state: usize,
    since_ps: Ps,
    /// The state to which an I/O brings it back.
    operational: usize,
    awake_ps: Ps,
    busy_until_ps: Ps,
    busy_ps: Ps,
    deferred: usize,
    /// Energy without I/O until then.
    idle_j: f64,
    until_ps: Ps,
}

/// What has become of the drive at a moment.
struct Look {
    state: usize,
    since_ps: Ps,
    idle_j: f64,
}

fn joules(watts: f64, ps: Ps) -> f64 {
    watts * ps as f64 / PS_PER_S as f64
}

impl PowerSaving {
    pub(super) fn new(drive: Box<dyn Drive>, states: &[PowerState], scale: Scale) -> Self {
        Self {
            drive,
            states: states.to_vec(),
            setting: PowerSetting::of(states),
            scale,
            state: 0,
            since_ps: 0,
            operational: 0,
            awake_ps: 0,
            busy_until_ps: 0,
            busy_ps: 0,
            deferred: 0,
            idle_j: 0.0,
            until_ps: 0,
        }
    }

    const fn is_idle(&self, now_ps: Ps) -> bool {
        self.deferred == 0 && now_ps >= self.busy_until_ps
    }

    /// The state that follows by itself, and when the drive begins to enter it.
    fn follows(&self, state: usize, since_ps: Ps) -> Option<(usize, Ps)> {
        let Transition { to, after_ms } = self.setting.table[state];
        let to = usize::from(to);
        // A table that leads back would never end.
        let leads_on = self.setting.autonomous && after_ms > 0 && to > state && to < self.states.len();
        leads_on
            .then(|| (to, since_ps.saturating_add(self.scale.virtual_ps(u64::from(after_ms) * 1_000_000))))
    }

    fn look(&self, now_ps: Ps) -> Look {
        let mut look = Look { state: self.state, since_ps: self.since_ps, idle_j: self.idle_j };
        let mut until_ps = self.until_ps;
        let mut pass = |look: &mut Look, to_ps: Ps| {
            look.idle_j += joules(self.states[look.state].idle_w, to_ps.saturating_sub(until_ps));
            until_ps = until_ps.max(to_ps);
        };
        while self.is_idle(now_ps)
            && let Some((next, begin_ps)) = self.follows(look.state, look.since_ps)
            && begin_ps <= now_ps
        {
            let entered_ps = begin_ps.saturating_add(ps_of_us(self.states[next].entry_us));
            pass(&mut look, entered_ps.min(now_ps));
            (look.state, look.since_ps) = (next, entered_ps);
        }
        pass(&mut look, now_ps);
        look
    }

    fn come_to(&mut self, now_ps: Ps) {
        let look = self.look(now_ps);
        (self.state, self.since_ps, self.idle_j) = (look.state, look.since_ps, look.idle_j);
        self.until_ps = self.until_ps.max(now_ps);
    }

    /// Bring the drive to where I/O is done; when it is there.
    fn wake(&mut self, now_ps: Ps) -> Ps {
        self.come_to(now_ps);
        if self.state != self.operational {
            self.awake_ps = now_ps.max(self.since_ps) + ps_of_us(self.states[self.state].exit_us);
            (self.state, self.since_ps) = (self.operational, self.awake_ps);
        }
        now_ps.max(self.awake_ps)
    }

    fn occupy(&mut self, from_ps: Ps, to_ps: Ps) {
        if to_ps > self.busy_until_ps {
            self.busy_ps += to_ps - from_ps.max(self.busy_until_ps).min(to_ps);
            self.busy_until_ps = to_ps;
            self.since_ps = self.since_ps.max(to_ps);
        }
    }

    /// A moment that the drive within has not passed yet.
    fn within(&self, now_ps: Ps) -> Ps {
        now_ps.max(self.awake_ps)
    }

    /// Energy drawn by a drive whose own model knows none, or what the states change in that of one that does.
    fn energy_j(&self, of_model: Option<f64>, now_ps: Ps) -> f64 {
        let idle_j = self.look(now_ps).idle_j;
        let awake = &self.states[self.operational];
        of_model.map_or_else(
            || idle_j + joules(awake.most_w - awake.idle_w, self.busy_ps),
            |model_j| model_j + idle_j - joules(self.states[0].idle_w, now_ps),
        )
    }
}

impl Drive for PowerSaving {
    fn capacity_bytes(&self) -> u64 {
        self.drive.capacity_bytes()
    }

    fn sector_bytes(&self) -> u32 {
        self.drive.sector_bytes()
    }

    fn geometry(&self) -> Vec<(&'static str, f64)> {
        self.drive.geometry()
    }

    fn begin_step(&mut self, entropy: f64, now_ps: Ps) {
        self.drive.begin_step(entropy, self.within(now_ps));
    }

    fn submit(&mut self, io: &Io, tag: u32, now_ps: Ps) -> Answer {
        let awake_ps = self.wake(now_ps);
        let answer = self.drive.submit(io, tag, awake_ps);
        match &answer {
            Answer::Known(completion) => self.occupy(awake_ps, completion.at_ps),
            Answer::Deferred => {
                self.deferred += 1;
                self.occupy(awake_ps, awake_ps);
            }
        }
        answer
    }

    fn next_answer_ps(&self) -> Ps {
        self.drive.next_answer_ps()
    }

    fn answer_until(&mut self, now_ps: Ps, answered: &mut Vec<(u32, Completion)>) {
        let before = answered.len();
        self.drive.answer_until(self.within(now_ps), answered);
        for (_, completion) in &answered[before..] {
            // What the drive wrote for itself was never submitted.
            self.deferred = self.deferred.saturating_sub(1);
            self.occupy(self.busy_until_ps, completion.at_ps);
        }
    }

    fn idle_until(&mut self, until_ps: Ps) {
        self.drive.idle_until(self.within(until_ps));
        self.come_to(until_ps);
    }

    fn prefetch(&self, io: &Io) {
        self.drive.prefetch(io);
    }

    fn purge(&mut self, now_ps: Ps) -> Result<Ps, Refusal> {
        let awake_ps = self.wake(now_ps);
        let done_ps = self.drive.purge(awake_ps)?;
        self.occupy(awake_ps, done_ps);
        Ok(done_ps)
    }

    fn write_cache(&self) -> Option<bool> {
        self.drive.write_cache()
    }

    fn set_write_cache(&mut self, enabled: bool, now_ps: Ps) -> Result<(), Refusal> {
        self.drive.set_write_cache(enabled, self.within(now_ps))
    }

    fn flush_caches(&mut self, now_ps: Ps) -> Result<Ps, Refusal> {
        let awake_ps = self.wake(now_ps);
        let done_ps = self.drive.flush_caches(awake_ps)?;
        self.occupy(awake_ps, done_ps);
        Ok(done_ps)
    }

    fn jump_start(&mut self) -> Result<(), Refusal> {
        self.drive.jump_start()
    }

    fn smart(&self) -> Smart {
        let smart = self.drive.smart();
        Smart { energy_j: Some(self.energy_j(smart.energy_j, self.until_ps)), ..smart }
    }

    fn is_read_only(&self) -> bool {
        self.drive.is_read_only()
    }

    fn sensed(&self, now_ps: Ps) -> Option<Sensed> {
        self.drive.sensed(self.within(now_ps))
    }

    fn spent(&self, now_ps: Ps) -> Spent {
        let now_ps = now_ps.max(self.until_ps);
        let spent = self.drive.spent(self.within(now_ps));
        Spent { energy_j: Some(self.energy_j(spent.energy_j, now_ps)), ..spent }
    }

    fn power(&self) -> Option<(&[PowerState], &PowerSetting)> {
        Some((&self.states, &self.setting))
    }

    fn command_power_state(&mut self, state: u8, now_ps: Ps) -> Result<(), Refusal> {
        let number = usize::from(state);
        let Some(wanted) = self.states.get(number) else {
            return Err(Refusal(format!("the drive has no power state {state}")));
        };
        let (operational, entry_ps) = (wanted.operational, ps_of_us(wanted.entry_us));
        self.come_to(now_ps);
        if number != self.state {
            let leaves_ps = now_ps.max(self.since_ps) + ps_of_us(self.states[self.state].exit_us);
            (self.state, self.since_ps) = (number, leaves_ps + entry_ps);
            if operational {
                self.awake_ps = self.awake_ps.max(self.since_ps);
            }
        }
        if operational {
            self.operational = number;
        }
        self.setting.state = state;
        Ok(())
    }

    fn set_autonomous(
        &mut self,
        autonomous: bool,
        table: &[Transition; MOST_POWER_STATES],
        now_ps: Ps,
    ) -> Result<(), Refusal> {
        self.come_to(now_ps);
        (self.setting.autonomous, self.setting.table) = (autonomous, *table);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
