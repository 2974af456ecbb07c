// Preloaded into a frontend: reports the longest stretch of its event loop to its parent on request. Measures the process's
// CPU between two turns of the loop, not the time, which other processes take on a busy machine.
const TICK_MS = 1;
const SAMPLE = JSON.stringify(
  Array.from({ length: 20_000 }, (_, at) => ({ key: `k${at}`, name: `n${at}`, type: 'user' })),
);

const usedMs = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
};

let last = usedMs();
let longestMs = 0;
setInterval(() => {
  const now = usedMs();
  longestMs = Math.max(longestMs, now - last);
  last = now;
}, TICK_MS).unref();

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
    process.send({ loopWatch: 0 });
  } else if (message === 'loop-watch: report') {
    // The current stretch counts: it ends here.
    process.send({ loopWatch: Math.max(longestMs, usedMs() - last) });
  } else if (message === 'loop-watch: calibrate') {
    process.send({ loopWatch: calibrate() });
  }
});
process.channel?.unref();
