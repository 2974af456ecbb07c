// Preloaded into a frontend: tells its parent, when asked, the longest stretch of its event loop. The CPU that the process
// uses between two turns of the loop is counted, not the time: on a busy machine others take that.
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

/** What parsing a fixed text of 900 KB takes here and now: the machine's measure. */
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
    // The stretch that is going on counts: it ends here.
    process.send({ loopWatch: Math.max(longestMs, usedMs() - last) });
  } else if (message === 'loop-watch: calibrate') {
    process.send({ loopWatch: calibrate() });
  }
});
process.channel?.unref();
