import { performance } from 'node:perf_hooks';
import { collectDefaultMetrics, Gauge, type Registry } from 'prom-client';

/**
 * Those for which prom-client has a timer fire a hundred times a second, in a process at rest too: 0.6 % of a core, half of
 * what a frontend at rest used (`bench:idle`).
 */
const SAMPLED = ['min', 'max', 'mean', 'stddev', 'p50', 'p90', 'p99'].map(
  (what) => `nodejs_eventloop_lag_${what}_seconds`,
);

/** The timer cannot be left out; so rarely it costs nothing. */
const NEVER_MS = 24 * 3_600_000;

/** Adds how far this process's clock is from that of Redis (`ClockSkew`). */
export function registerClockSkew(register: Registry, skew: { readonly ms: number }): void {
  new Gauge({
    name: 'laurel_clock_skew_seconds',
    help: 'How far the clock of this process is ahead of that of Redis, negative: behind. Above 60 s either way nothing is done by it.',
    registers: [register],
    collect() {
      this.set(skew.ms / 1_000);
    },
  });
}

/**
 * How this process fares: what prom-client measures when it is asked, and how busy the event loop was since it was asked last,
 * which Node counts anyway, in place of delays that are sampled all the time.
 */
export function collectProcessMetrics(register: Registry): void {
  collectDefaultMetrics({ register, eventLoopMonitoringPrecision: NEVER_MS });
  for (const name of SAMPLED) register.removeSingleMetric(name);
  let asked = performance.eventLoopUtilization();
  new Gauge({
    name: 'nodejs_eventloop_utilization',
    help: 'Share of the time since the last scrape in which the event loop was busy, 0 to 1.',
    registers: [register],
    collect() {
      const now = performance.eventLoopUtilization();
      this.set(performance.eventLoopUtilization(now, asked).utilization);
      asked = now;
    },
  });
}
