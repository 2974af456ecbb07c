import { beforeAll, expect, test } from 'vitest';
import { startLaurel } from '../../laurel.ts';
import { STUDY_APP } from '../../study-app.ts';
import { opened } from '../../stack/opened.ts';

const LIMIT = 5;
/** Ten minutes before a UTC day ends. */
const NOW = '2037-03-10T23:50:00.000Z';
const guarded = STUDY_APP.metrics!.map((metric) =>
  metric.key === 'flips' ? { ...metric, guards: { maxValue: { limit: 100, action: 'quarantine' as const } } } : metric,
);
const laurel = opened(() =>
  startLaurel({
    testClock: true,
    workers: true,
    configuration: { ...STUDY_APP, metrics: guarded },
    idempotencyKeysPerDay: LIMIT,
    worker: { idempotencyKeysPerDay: LIMIT },
  }),
);
beforeAll(async () => {
  await laurel.admin.put('/v1/clock', { now: NOW });
});

const send = (id: string, key: string | null, value = 1) =>
  laurel.app.post(
    '/v1/metrics/flips/event',
    { user: { id }, value },
    { headers: key === null ? {} : { 'Idempotency-Key': key } },
  );
const statuses = async (id: string, keys: (string | null)[], value = 1): Promise<number[]> => {
  const seen: number[] = [];
  for (const key of keys) seen.push((await send(id, key, value)).status);
  return seen;
};
const keys = (from: number, count: number): string[] => Array.from({ length: count }, (_, n) => `key-${from + n}`);

test('beyond the limit a new key is 429 until the UTC day is over; used keys and events without one work as before', async () => {
  expect(await statuses('ada', keys(0, LIMIT))).toEqual(Array(LIMIT).fill(201));
  const refused = await send('ada', 'key-100');
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '600']);
  expect(refused.body.error).toContain('idempotency keys');
  expect(await statuses('ada', ['key-0', null])).toEqual([202, 201]);
  // Nothing of it was applied, and others have their own count.
  expect((await laurel.app.get('/v1/users/ada/metrics/flips')).body.current).toBe(LIMIT + 1);
  expect(await statuses('bob', keys(0, 1))).toEqual([201]);
});

test('quarantined events count as well', async () => {
  await send('eve', null);
  expect(await statuses('eve', keys(0, LIMIT), 1_000)).toEqual(Array(LIMIT).fill(202));
  expect(await statuses('eve', ['key-200'], 1_000)).toEqual([429]);
  expect(await statuses('eve', ['key-201'])).toEqual([429]);
  // A new user.
  expect(await statuses('new', keys(0, LIMIT + 1), 1_000)).toEqual([...Array<number>(LIMIT).fill(202), 429]);
});

test('events of a batch count, and those beyond the limit are refused one by one', async () => {
  const events = keys(0, LIMIT + 2).map((idempotencyKey) => ({
    key: 'flips',
    user: { id: 'cy' },
    value: 1,
    idempotencyKey,
  }));
  const { body } = await laurel.admin.post('/v1/metrics/events?wait=true', events);
  expect(body.results.map(({ status }: { status: number }) => status)).toEqual([
    ...Array<number>(LIMIT).fill(201),
    429,
    429,
  ]);
  expect(await statuses('cy', ['key-50'])).toEqual([429]);
});

test('the count starts over on the next day', async () => {
  await laurel.admin.put('/v1/clock', { now: '2037-03-11T00:00:01.000Z' });
  expect(await statuses('ada', keys(300, LIMIT + 1))).toEqual([...Array<number>(LIMIT).fill(201), 429]);
  expect(await statuses('ada', ['key-0', 'key-300'])).toEqual([202, 202]);
});
