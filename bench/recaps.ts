/**
 * Recaps of all users of a zone, which fall due in one moment, and are then posted to a provider at the greatest pace: how long
 * events take in both, compared with the time before.
 *
 *   npm run bench -- recaps [thousands of users] [events per second]
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { askAdmin } from '../src/cli/admin-api.ts';
import { dateOf, DAY_MS } from '../src/domain/periods.ts';
import { uuidText } from '../src/domain/schemas.ts';
import { eventId } from '../src/engine/ids.ts';
import { encodeUser } from '../src/rules/user-codec.ts';
import { newUser } from '../src/rules/user.ts';
import { loadCatalog } from '../src/postgres/catalog.ts';
import { userKey } from '../src/redis/keys.ts';
import { onlyPart } from '../test/stack/only-part.ts';
import type { Outcome } from './jobs.ts';
import { steadyEvents } from './load.ts';
import { median } from './rows.ts';
import { cpuOfStoring, startStack } from './stack.ts';

const USERS = Number(process.argv[2] ?? 100) * 1_000;
const RATE = Number(process.argv[3] ?? 500);
const ROUND_SECONDS = 5;
const ROUNDS = 4;
const AT_ONCE = 5_000;
/** What falls due when the clock is set is done before the answer. */
const CLOCK_MS = 600_000;
/** The greatest that a channel may have. */
const PACE = 100;
const ZONE = 'Pacific/Kiritimati';
const OFFSET_MS = 14 * 3_600_000;

/** The next Monday, on which weekly recaps are due at 09:00. */
const TODAY = Math.floor(Date.now() / DAY_MS);
const MONDAY = TODAY + 7 - ((TODAY + 3) % 7);
const DUE_MS = MONDAY * DAY_MS - OFFSET_MS + 9 * 3_600_000;

let posted = 0;
const provider = createServer((request, response) => {
  request.resume().on('end', () => {
    posted += 1;
    response.end('{}');
  });
});
await new Promise<void>((listening) => void provider.listen(0, '127.0.0.1', listening));
const stack = await startStack({ users: 0, settings: { TEST_CLOCK: '1', PUBLIC_URL: 'https://laurel.example' } });
try {
  const { pool, redis } = stack;
  const put = (path: string, body: unknown): Promise<unknown> =>
    askAdmin(stack.admin, { method: 'PUT', path, body, timeoutMs: CLOCK_MS });
  const setClock = (ms: number): Promise<unknown> => put('/v1/clock', { now: new Date(ms).toISOString() });
  await setClock(DUE_MS - 3_600_000);
  await put('/v1/configuration', {
    messages: {
      templates: [
        {
          kind: 'recap',
          subject: 'Your week, {{user.name|friend}}',
          html: '<p>Well done, {{user.name|friend}}.</p><p><a href="{{unsubscribeUrl}}">Unsubscribe</a></p>',
          text: 'Well done, {{user.name|friend}}.\n\nUnsubscribe: {{unsubscribeUrl}}',
        },
      ],
    },
  });
  const channel = {
    transport: 'http',
    senderAddress: 'hello@example.com',
    pace: PACE,
    http: {
      url: `http://127.0.0.1:${(provider.address() as AddressInfo).port}/`,
      body: { to: '{{to}}', from: '{{from}}', subject: '{{subject}}', html: '{{html}}', text: '{{text}}' },
    },
  };
  await put('/v1/messages/channel', channel);
  const catalog = (await loadCatalog(pool, 0))!;
  console.log(`Storing ${USERS.toLocaleString('en')} users …`);
  await storeReaders(catalog.metrics[0]!.no);

  const send = steadyEvents(stack, catalog, { rate: RATE });
  const count = async (where = 'true'): Promise<number> =>
    (await pool.query<{ n: number }>(`SELECT count(*)::int AS n FROM email_messages WHERE ${where}`)).rows[0]!.n;
  const cpu = () => cpuOfStoring(stack);
  await send(ROUND_SECONDS);
  const before = await rounds(ROUNDS);
  const [cpuBefore, beganMs] = [await cpu(), performance.now()];
  await setClock(DUE_MS);
  let createdSeconds = 0;
  const created = (async () => {
    while ((await count()) < USERS) await sleep(200);
    createdSeconds = (performance.now() - beganMs) / 1_000;
  })();
  const during: Outcome[] = [];
  while (createdSeconds === 0) during.push(await send(ROUND_SECONDS));
  await created;
  const wave = (await cpu()).map((after, no) => ((after - cpuBefore[no]!) / USERS) * 1e6);
  const [postedBefore, sendingMs] = [posted, performance.now()];
  const sending = await rounds(ROUNDS);
  const perSecond = ((posted - postedBefore) * 1_000) / (performance.now() - sendingMs);
  await put('/v1/messages/channel', { ...channel, enabled: false });
  await sleep(5_000);
  const afterwards = await rounds(ROUNDS);
  console.log(
    `${USERS.toLocaleString('en')} recaps fell due in ${createdSeconds.toFixed(1)} s at ${RATE} events/s; CPU in µs each, with ` +
      `the events: worker ${wave[0]!.toFixed(0)}, Redis ${wave[1]!.toFixed(0)}, Postgres ${wave[2]!.toFixed(0)}`,
  );
  console.log(`then ${perSecond.toFixed(0)} a second were posted; ${await count("status = 'unknown'")} unknown`);
  const base = median([...before, ...afterwards].map(({ p99 }) => p99));
  for (const [name, outcomes] of Object.entries({ before, 'falling due': during, sending, afterwards })) {
    const p99 = outcomes.map((each) => each.p99);
    console.log(
      `p99 of events, ${name}: ${p99.map((ms) => ms.toFixed(1)).join(', ')} ms (${ROUND_SECONDS} s each); median ` +
        `${(median(p99) / base).toFixed(2)} of that before and afterwards; statuses ${JSON.stringify(outcomes.at(-1)?.statuses)}`,
    );
  }

  async function rounds(number: number): Promise<Outcome[]> {
    const outcomes: Outcome[] = [];
    for (let no = 0; no < number; no += 1) outcomes.push(await send(ROUND_SECONDS));
    return outcomes;
  }

  /** Users of the zone with an address and an event in the last week. */
  async function storeReaders(metricNo: number): Promise<void> {
    const eventMs = DUE_MS - 3 * DAY_MS;
    for (let from = 0; from < USERS; from += AT_ONCE) {
      const ids = Array.from({ length: Math.min(AT_ONCE, USERS - from) }, (_, index) => `reader-${from + index}`);
      const states = ids.map((id) =>
        encodeUser({
          ...newUser(eventMs - 7 * DAY_MS, { freezes: 0, generation: null }),
          updatedMs: eventMs,
          name: `Name of ${id}`,
          email: `${id}@example.com`,
          zone: ZONE,
          offsetSeconds: OFFSET_MS / 1_000,
          offsetUntilMs: DUE_MS + 90 * DAY_MS,
          totals: new Map([[metricNo, { whole: 1, micros: 0, peak: null }]]),
        }),
      );
      await redis.mset(ids.flatMap((id, index) => [userKey(onlyPart(0), id), states[index]!]));
      await pool.query(
        `INSERT INTO users (tenant_no, id, created, state, attributes, points, zone, email_key)
         SELECT 0, id, now(), state, '{}', '{}', $1, id || '@example.com'
           FROM unnest($2::text[], $3::bytea[]) AS made (id, state)`,
        [ZONE, ids, states],
      );
      await pool.query(
        `INSERT INTO events (id, tenant_no, user_id, metric_no, value, total, at, local_date)
         SELECT id, 0, user_id, $1, 1, 1, to_timestamp($2::float8 / 1000), $3::date
           FROM unnest($4::uuid[], $5::text[]) AS made (id, user_id)`,
        [metricNo, eventMs, dateOf(MONDAY - 3), ids.map(() => uuidText(eventId(eventMs))), ids],
      );
    }
    // Its midnight is over.
    await pool.query('INSERT INTO streak_zones (tenant_no, zone, swept_day) VALUES (0, $1, $2)', [ZONE, MONDAY]);
    await pool.query('VACUUM ANALYZE');
  }
} finally {
  await stack.stop();
  provider.close();
}
