// A receiver of Laurel's webhooks: verifies, answers at once, and works on each message once.
//   WEBHOOK_SECRET=whsec_… node examples/webhook-receiver/receiver.mjs
import { createServer } from 'node:http';
import { hasBodySignature, isFromLaurel } from './verify.mjs';

// The header of the simple signature, if the webhook renames it.
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

/** Far more than the size of any message. */
const MOST_BYTES = 4 * 1024 * 1024;
/** Number of remembered IDs and sequences. Store them in your database instead, in the transaction that does the work. */
const REMEMBERED = 100_000;

/** Only the latest of these counts: an older one that arrives late is skipped. */
const LATEST_COUNTS = new Set(['points.changed', 'leaderboard.changed', 'leaderboard.rank_changed']);

const seen = new Map();
const latest = new Map();

/** Remembers a value; forgets the oldest beyond the limit. */
function remember(map, key, value) {
  map.delete(key);
  map.set(key, value);
  if (map.size > REMEMBERED) map.delete(map.keys().next().value);
}

/** Classifies a message: `new`, `duplicate` (received before) or `outdated` (a later one was received). */
function judge({ id, sequence, payload }) {
  if (seen.has(id)) return 'duplicate';
  remember(seen, id, true);
  if (!LATEST_COUNTS.has(payload.type)) return 'new';
  const { user, points, leaderboard } = payload;
  // Each run and group of a leaderboard has its own rankings.
  const place = [leaderboard?.id, leaderboard?.start, leaderboard?.breakdownAttributeValues];
  const about = JSON.stringify([payload.type, user?.id, points?.id, place]);
  if ((latest.get(about) ?? 0) > sequence) return 'outdated';
  remember(latest, about, sequence);
  return 'new';
}

/** Your work begins here, after the answer, so that Laurel does not wait for it. */
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
