// As many events as Laurel answers, with autocannon: closed loop, each connection waits for its answer.
//   npm install autocannon
//   LAUREL_KEY=… node examples/autocannon/events.mjs lessons
import autocannon from 'autocannon';

const {
  API_URL = 'http://localhost:8080',
  LAUREL_KEY,
  ADMIN_API_KEY,
  SECONDS = '10',
  CONNECTIONS = '64',
} = process.env;
const key = LAUREL_KEY ?? ADMIN_API_KEY;
const [metric] = process.argv.slice(2);
if (!key || !metric) {
  process.stderr.write('LAUREL_KEY=… node events.mjs METRIC\n');
  process.exit(1);
}

/** A request of its own for each event: random users, and an idempotency key, so that a repeated request is safe. */
const run = Date.now().toString(36);
let sent = 0;
function newEvent(request) {
  sent += 1;
  const user = { id: `autocannon-${Math.floor(Math.random() * 1_000)}` };
  return {
    ...request,
    headers: { ...request.headers, 'Idempotency-Key': `${run}-${sent}` },
    body: JSON.stringify({ user, value: 1 + Math.floor(Math.random() * 20) }),
  };
}

const result = await autocannon({
  url: API_URL,
  connections: Number(CONNECTIONS),
  duration: Number(SECONDS),
  requests: [
    {
      method: 'POST',
      path: `/v1/metrics/${encodeURIComponent(metric)}/event`,
      headers: { 'X-API-KEY': key, 'Content-Type': 'application/json' },
      setupRequest: newEvent,
    },
  ],
});
process.stdout.write(
  `${result['2xx']} events recorded, ${result.requests.average} per second; ` +
    `p50 ${result.latency.p50} ms, p99 ${result.latency.p99} ms; ${result.non2xx} other answers, ${result.errors} errors\n`,
);
if (result.non2xx + result.errors > 0) process.exitCode = 1;
