// Preloaded into a frontend: reports the longest stretch of its event loop to its parent on request. Measures the main thread's CPU
// between two turns of the loop: not the time, which other processes take on a busy machine, nor the CPU of threads that compile and
// collect garbage beside it.
import { existsSync, readFileSync } from 'node:fs';

const TICK_MS = 1;
const SAMPLE = JSON.stringify(
  Array.from({ length: 20_000 }, (_, at) => ({ key: `k${at}`, name: `n${at}`, type: 'user' })),
);

const OF_THREAD = '/proc/thread-self/schedstat';
const NOTHING = new Int32Array(new SharedArrayBuffer(4));

function usedOnLinux() {
  // Linux counts when a thread begins to wait, or every few milliseconds.
  Atomics.wait(NOTHING, 0, 0, 0.001);
  return Number(readFileSync(OF_THREAD, 'latin1').split(' ')[0]) / 1_000_000;
}

const usedMs = existsSync(OF_THREAD)
  ? usedOnLinux
  : () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1_000;
    };

let last = 0;
let longestMs = 0;
let ticking;

function tick() {
  const now = usedMs();
  longestMs = Math.max(longestMs, now - last);
  last = now;
}

/** CPU of parsing a fixed text of 900 KB, as the unit of this machine. */
function calibrate() {
  const times = Array.from({ length: 9 }, () => {
    const from = usedMs();
    JSON.parse(SAMPLE);
    return usedMs() - from;
  });
  return times.sort((a, b) => a - b)[4];
}

process.on('message', (message) => {
  if (message === 'loop-watch: reset') {
    last = usedMs();
    longestMs = 0;
    ticking ??= setInterval(tick, TICK_MS).unref();
    process.send({ loopWatch: 0 });
  } else if (message === 'loop-watch: report') {
    // The current stretch counts: it ends here.
    tick();
    // While nobody asks, ticks would take time from what is measured otherwise.
    clearInterval(ticking);
    ticking = undefined;
    process.send({ loopWatch: longestMs });
  } else if (message === 'loop-watch: calibrate') {
    process.send({ loopWatch: calibrate() });
  }
});
process.channel?.unref();
