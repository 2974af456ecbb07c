// A receiver of Laurel's webhooks: verifies, answers at once, and works on each message once.
//   WEBHOOK_SECRET=whsec_… node examples/webhook-receiver/receiver.mjs
import { createServer } from 'node:http';
import { hasBodySignature, isFromLaurel } from './verify.mjs';

// The header of the simple signature, where the webhook names another one.
const {
  WEBHOOK_SECRET: secret,
  SIGNATURE_HEADER = 'X-Laurel-Signature',
  PORT = '4000',
  HOST = '127.0.0.1',
} = process.env;
if (!secret?.startsWith('whsec_')) {
  process.stderr.write('WEBHOOK_SECRET must be the secret of the webhook: whsec_…\n');
  process.exit(1);
}

/** Far more than any message has. */
const MOST_BYTES = 4 * 1024 * 1024;
/** IDs and sequences that are remembered. Keep them in your database instead, written in the transaction that does the work. */
const REMEMBERED = 100_000;

/** Of these only the latest counts: an older one that arrives late is passed over. */
const LATEST_COUNTS = new Set(['points.changed', 'leaderboard.changed', 'leaderboard.rank_changed']);

const seen = new Map();
const latest = new Map();

/** Remembers, and forgets the oldest beyond a bound. */
function remember(map, key, value) {
  map.delete(key);
  map.set(key, value);
  if (map.size > REMEMBERED) map.delete(map.keys().next().value);
}

/** What is to be done about a message: `new`, `duplicate` (it was here already), `outdated` (a later one was). */
function judge({ id, sequence, payload }) {
  if (seen.has(id)) return 'duplicate';
  remember(seen, id, true);
  if (!LATEST_COUNTS.has(payload.type)) return 'new';
  const { user, points, leaderboard } = payload;
  // Each run and group of a leaderboard has rankings of its own.
  const place = [leaderboard?.id, leaderboard?.start, leaderboard?.breakdownAttributeValues];
  const about = JSON.stringify([payload.type, user?.id, points?.id, place]);
  if ((latest.get(about) ?? 0) > sequence) return 'outdated';
  remember(latest, about, sequence);
  return 'new';
}

/** Here your work begins: after the answer, so that Laurel does not wait for it. */
function work(message) {
  const { id, sequence, payload } = message;
  const line = { outcome: judge(message), id, sequence, type: payload.type, userId: payload.user?.id ?? null };
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

async function receive(request, response) {
  const answer = (status, text = '') => response.writeHead(status).end(text);
  if (request.method !== 'POST') return answer(405, 'POST only');
  const chunks = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += chunk.length;
    if (bytes > MOST_BYTES) return answer(413, 'too large');
    chunks.push(chunk);
  }
  const body = Buffer.concat(chunks).toString('utf8');
  const delivery = { secret, headers: request.headers, body, header: SIGNATURE_HEADER.toLowerCase() };
  // Either is enough; this example checks both.
  if (!isFromLaurel(delivery) || !hasBodySignature(delivery)) return answer(401, 'the signature is not valid');
  const { 'webhook-id': id, 'webhook-sequence': sequence } = request.headers;
  answer(204);
  work({ id, sequence: Number(sequence), payload: JSON.parse(body) });
}

const server = createServer((request, response) => {
  receive(request, response).catch(() => response.destroy());
});
server.listen(Number(PORT), HOST, () => process.stdout.write(`listening on http://${HOST}:${server.address().port}\n`));
