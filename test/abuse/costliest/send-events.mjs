// The process of a victim: sends events evenly, whether or not the earlier ones are answered, and reports the times
// from when each was due to its answer, in ms.
import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

const EVERY_MS = 5;
let sent = 0;

function send({ url, key, tenantId, agent }) {
  sent += 1;
  const body = JSON.stringify({ user: { id: `victim-${sent % 100}` }, value: 1 });
  const headers = { 'X-API-KEY': key, 'Tenant-ID': tenantId, 'Content-Type': 'application/json' };
  return new Promise((resolve, reject) => {
    const asked = request(`${url}/v1/metrics/flips/event`, { method: 'POST', agent, headers }, (answer) => {
      answer.resume();
      answer.on('end', () => (answer.statusCode === 201 ? resolve() : reject(new Error(String(answer.statusCode)))));
    });
    asked.on('error', reject);
    asked.end(body);
  });
}

async function measure({ seconds, ...options }) {
  // The server closes connections that were idle between two measurements.
  const agent = new Agent({ keepAlive: true });
  const to = { ...options, agent };
  const beganMs = performance.now();
  const times = [];
  const count = (seconds * 1_000) / EVERY_MS;
  for (let no = 0; no < count; no += 1) {
    const dueMs = beganMs + no * EVERY_MS;
    const earlyMs = dueMs - performance.now();
    if (earlyMs > 0) await sleep(earlyMs);
    times.push(send(to).then(() => performance.now() - dueMs));
  }
  const tookMs = await Promise.all(times);
  agent.destroy();
  process.send(tookMs);
}

process.on('message', (options) => void measure(options));
process.on('disconnect', () => {
  process.exit(0);
});
