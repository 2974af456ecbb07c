import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { startWorkers } from '../../../../workers/start.ts';
import { startLaurel } from '../../../laurel.ts';
import { STUDY_APP } from '../../../study-app.ts';
import { changeState } from '../../../stack/change-state.ts';
import { opened } from '../../../stack/opened.ts';

const PATH = '/v1/metrics/events';
const patience = { interval: 20 };

const laurel = opened(() =>
  startLaurel({
    configuration: {
      ...STUDY_APP,
      pointsSystems: [
        ...STUDY_APP.pointsSystems!,
        {
          key: 'gems',
          name: 'Gems',
          triggers: [
            {
              type: 'metric',
              metricKey: 'minutes',
              metricThreshold: 1000,
              points: -1,
              blockIfOutOfPoints: true,
              status: 'active',
            },
          ],
        },
      ],
    },
    workers: true,
  }),
);

const event = (id: string, value = 1, more: object = {}) => ({ key: 'flips', user: { id }, value, ...more });
const wait = async (events: object[]) => {
  const { status, body } = await laurel.admin.post(`${PATH}?wait=true`, events);
  expect(status).toBe(200);
  return body as {
    accepted: number;
    results: { status: number; eventId?: string; total?: number; replayed?: boolean; error?: string }[];
  };
};
const stored = async (user: string) =>
  (
    await laurel.pool.query<{ id: string; value: number; total: number }>(
      'SELECT id, value::float8, total::float8 FROM events WHERE user_id = $1 ORDER BY at, total',
      [user],
    )
  ).rows;

describe('refusals', () => {
  test.each([
    [
      'unknown metric',
      event('nobody', 1, { key: 'nope' }),
      404,
      "[2].key: there is no metric with the key 'nope'. An unknown metric is 422 for a single event and 404 in a batch.",
    ],
    ['unknown event attribute', event('nobody', 1, { attributes: { nope: 'x' } }), 422, '[2]: Invalid attribute keys'],
    ['unknown user attribute', { key: 'flips', user: { id: 'a', attributes: { deck: 'x' } }, value: 1 }, 422, '[2]: '],
    [
      'unknown time zone',
      { key: 'flips', user: { id: 'a', tz: 'Mars/Base' }, value: 1 },
      422,
      '[2]: Unknown time zone',
    ],
    ['no value', { key: 'flips', user: { id: 'a' } }, 400, '[2].value is required'],
    ['no user ID', { key: 'flips', user: {}, value: 1 }, 400, '[2].user.id is required'],
    ['an empty idempotency key', event('a', 1, { idempotencyKey: '' }), 400, '[2].idempotencyKey must not be empty'],
    ['no object', 'x', 400, '[2] must be an object'],
  ])('%s: refuses the batch, names the index, accepts nothing', async (_, bad, status, text) => {
    const answer = await laurel.admin.post(PATH, [event('nobody'), event('nobody'), bad, event('nobody')]);
    expect(answer.status).toBe(status);
    expect(answer.body.error).toContain(text);
    expect(await laurel.redis.xlen('{s0}:batches')).toBe(0);
    // Processing a later batch shows that nothing of it was accepted.
    await wait([event('after')]);
    expect((await laurel.app.get('/v1/users/nobody')).status).toBe(404);
  });

  test.each([[[]], [Array.from({ length: 1001 }, () => event('many'))], [event('one')]])(
    'refuses what is no array of 1 to 1,000: %#',
    async (body) => expect((await laurel.admin.post(PATH, body)).status).toBe(422),
  );
});

test('1,000 events of one user: accepted, each processed once and in order', async () => {
  const events = Array.from({ length: 1000 }, (_, n) => event('hot', n + 1));
  expect(await laurel.admin.post(PATH, events)).toMatchObject({ status: 202, body: { accepted: 1000 } });
  await expect.poll(async () => (await stored('hot')).length, patience).toBe(1000);
  const rows = await stored('hot');
  expect(rows.map(({ value }) => value)).toEqual(events.map(({ value }) => value));
  expect(rows.at(-1)!.total).toBe(500_500);
  expect(rows.map(({ total }) => total)).toEqual(events.map((_, n) => ((n + 1) * (n + 2)) / 2));
});

test('wait=true answers the outcome of each event; a refused one does not block the others', async () => {
  const { accepted, results } = await wait([
    event('awaited', 3),
    event('awaited', 0.5, { key: 'minutes' }),
    event('awaited', 1000, { key: 'minutes' }),
    event('awaited', 4, { idempotencyKey: 'k' }),
    event('awaited', 4, { idempotencyKey: 'k' }),
  ]);
  expect(accepted).toBe(5);
  expect(results.map(({ status }) => status)).toEqual([201, 201, 422, 201, 202]);
  expect(results.map(({ total }) => total)).toEqual([3, 0.5, undefined, 7, 7]);
  expect(results[2]).toMatchObject({ code: 'out_of_points', error: expect.stringContaining("'gems'") });
  expect(results[4]).toEqual({ ...results[3], status: 202, replayed: true });
  await expect
    .poll(async () => (await stored('awaited')).map(({ id }) => id).toSorted(), patience)
    .toEqual([results[0]!, results[1]!, results[3]!].map(({ eventId }) => eventId!).toSorted());
});

test('checks all before it accepts any: subscribeToEmails without an address refuses the batch', async () => {
  const mail = (id: string, user: object) => ({ key: 'flips', user: { id, ...user }, value: 1 });
  const subscribe = (id: string) => mail(id, { subscribeToEmails: true });
  await laurel.app.put('/v1/users/reached', { email: 'r@example.org' });
  const refused = async (...events: object[]) => {
    const { status, body } = await laurel.admin.post(PATH, [mail('bystander', {}), ...events]);
    return status === 422 ? body.error : status;
  };
  const text = (index: number): string =>
    `[${index}].user.subscribeToEmails cannot be true: the user has no e-mail address on record.`;
  expect(await refused(subscribe('unreached'))).toBe(text(1));
  expect(await refused(mail('unreached', { email: '' }), subscribe('unreached'))).toBe(text(2));
  // Earlier events of the batch may change the address.
  expect(await refused(mail('reached', { subscribeToEmails: false }), subscribe('reached'))).toBe(text(2));
  expect((await laurel.app.get('/v1/users/bystander')).status).toBe(404);
  const { results } = await wait([
    subscribe('reached'),
    mail('late', { email: 'l@example.org' }),
    subscribe('late'),
    mail('own', { email: 'o@example.org', subscribeToEmails: true }),
    mail('reached', { subscribeToEmails: false }),
    mail('reached', { email: 'r@example.org', subscribeToEmails: true }),
  ]);
  expect(results.map(({ status }) => status)).toEqual(Array(6).fill(201));
});

test('partial=true accepts the valid events and lists the others by index', async () => {
  const batch = [
    event('partly', 1),
    { key: 'flips', user: { id: 'partly' } },
    event('partly', 2, { key: 'flps' }),
    event('partly', 2, { attributes: { nope: 'x' } }),
    event('partly', 4, { user: { id: 'unreached', subscribeToEmails: true } }),
    'no event',
    event('partly', 8),
  ];
  expect((await laurel.admin.post(PATH, batch)).status).toBe(400);
  const { status, body } = await laurel.admin.post(`${PATH}?partial=true`, batch);
  expect(status).toBe(202);
  expect(body).toEqual({
    accepted: 2,
    refused: [
      { index: 1, code: 'invalid', error: '[1].value is required' },
      {
        index: 2,
        code: 'not_found',
        error: expect.stringContaining("[2].key: there is no metric with the key 'flps'"),
        hint: expect.stringContaining('flips'),
      },
      { index: 3, code: 'unprocessable', error: expect.stringContaining('[3]: ') },
      { index: 4, code: 'unprocessable', error: expect.stringContaining('[4].user.subscribeToEmails') },
      { index: 5, code: 'invalid', error: expect.stringContaining('[5] must be an object') },
    ],
  });
  await expect.poll(async () => (await stored('partly')).map(({ total }) => total), patience).toEqual([1, 9]);
  const waited = await laurel.admin.post(`${PATH}?partial=true&wait=true`, batch);
  expect(waited.status).toBe(200);
  expect(waited.body.accepted).toBe(2);
  expect(waited.body.results.map((each: { status: number }) => each.status)).toEqual([
    201, 400, 404, 422, 422, 400, 201,
  ]);
  expect(waited.body.results.map((each: { total?: number }) => each.total).filter(Boolean)).toEqual([10, 18]);
  // Nothing valid: queues nothing, and lists each.
  expect((await laurel.admin.post(`${PATH}?partial=true`, [5])).body).toMatchObject({
    accepted: 0,
    refused: [{ index: 0 }],
  });
  const none = await laurel.admin.post(`${PATH}?partial=true&wait=true`, [5]);
  expect([none.status, none.body.results.length]).toEqual([200, 1]);
  // The list itself must still be valid.
  expect((await laurel.admin.post(`${PATH}?partial=true`, {})).status).toBe(422);
});

test('idempotency keys are those of the single operation, both ways', async () => {
  const headers = { 'Idempotency-Key': 'single first' };
  const single = await laurel.app.post('/v1/metrics/flips/event', { user: { id: 'both' }, value: 2 }, { headers });
  const { results } = await wait([
    event('both', 2, { idempotencyKey: 'single first' }),
    event('both', 5, { idempotencyKey: 'batch first' }),
    event('both', 6, { idempotencyKey: 'batch first' }),
  ]);
  expect(results[0]).toEqual({ status: 202, eventId: single.body.eventId, total: 2, replayed: true });
  expect(results[1]).toMatchObject({ status: 201, total: 7, replayed: false });
  expect(results[2]).toMatchObject({ status: 202, total: 7, replayed: true, idempotencyConflict: true });
  const again = await laurel.app.post(
    '/v1/metrics/flips/event',
    { user: { id: 'both' }, value: 5 },
    { headers: { 'Idempotency-Key': 'batch first' } },
  );
  expect(again).toMatchObject({ status: 202, body: { eventId: results[1]!.eventId, total: 7 } });
});

test('consecutive batches keep the order of a user, on any frontend', async () => {
  const other = await laurel.another();
  for (let n = 0; n < 20; n += 1) {
    const events = Array.from({ length: 60 }, (_, k) => event(`in order ${k % 3}`, n * 60 + k + 1));
    const { status } = await (n % 2 === 0 ? laurel : other).admin.post(PATH, events);
    expect(status).toBe(202);
  }
  for (const user of [0, 1, 2]) {
    const values = Array.from({ length: 400 }, (_, n) => n * 3 + user + 1);
    let total = 0;
    const expected = values.map((value) => ({ value, total: (total += value) }));
    await expect.poll(() => stored(`in order ${user}`), patience).toMatchObject(expected);
  }
});

test('renews an expired zone offset for all events of the zone at once', async () => {
  const zoned = (value: number) => ({ key: 'flips', user: { id: 'zoned', tz: 'Europe/Berlin' }, value });
  await wait([zoned(1)]);
  // As after a clock change: the stored offset is no longer valid.
  const key = '{s0}:0:u:zoned';
  await changeState(laurel.redis, key, (user) => void (user.offsetUntilMs = 1));
  const { results } = await wait([event('zoned', 1), event('other', 1), event('zoned', 1), zoned(1)]);
  expect(results.map(({ total }) => total)).toEqual([2, 1, 3, 4]);
});

test('checks a batch with its own tenant’s catalog', async () => {
  await laurel.admin.patch('/v1/organisation', { multiTenancy: true });
  try {
    await laurel.admin.post('/v1/tenants', [{ customerId: 'acme', name: 'Acme' }]);
    const answer = await laurel.admin.post(PATH, [event('hot')], { tenantId: 'acme' });
    expect(answer.status).toBe(404);
  } finally {
    await laurel.admin.patch('/v1/organisation', { multiTenancy: false });
  }
});

test('without a worker: accepts batches until too many wait, then answers 503', async () => {
  const alone = await startLaurel({ configuration: STUDY_APP });
  try {
    const statuses: number[] = [];
    for (let n = 0; n < 66; n += 1) statuses.push((await alone.admin.post(PATH, [event('waiting')])).status);
    expect(statuses).toEqual([...Array.from({ length: 64 }, () => 202), 503, 503]);
    expect((await alone.app.get('/v1/users/waiting')).status).toBe(404);
  } finally {
    await alone.close();
  }
});

test('deletions between acceptance and processing block nothing: events lose attributes, or are reported', async () => {
  const alone = await startLaurel({ configuration: STUDY_APP });
  const answer = alone.admin.post(`${PATH}?wait=true`, [
    { key: 'minutes', user: { id: 'late' }, value: 1 },
    { key: 'flips', user: { id: 'late', attributes: { plan: 'pro' } }, value: 2, attributes: { deck: 'a' } },
    { key: 'minutes', user: { id: 'late' }, value: 3 },
  ]);
  await expect.poll(() => alone.redis.xlen('{s0}:batches'), patience).toBe(1);
  const { achievements: _a, leaderboards, ...rest } = STUDY_APP;
  const changed = await alone.admin.put('/v1/configuration', {
    ...rest,
    attributes: STUDY_APP.attributes!.filter(({ key }) => key === '__proto__'),
    metrics: STUDY_APP.metrics!.filter(({ key }) => key === 'flips'),
    pointsSystems: [],
    leaderboards: leaderboards!.filter(({ key }) => key === 'flips'),
  });
  expect(changed.status).toBe(200);
  const log = pino({ level: 'silent' });
  const workers = await startWorkers({ redisUrl: alone.redisUrl, databaseUrl: alone.databaseUrl, log });
  try {
    const { status, body } = await answer;
    expect(status).toBe(200);
    expect(body.results).toMatchObject([
      { status: 422, code: 'unprocessable', error: expect.stringContaining("'minutes'") },
      { status: 201, total: 2 },
      { status: 422, error: expect.stringContaining("'minutes'") },
    ]);
    expect((await alone.app.get('/v1/users/late')).body.attributes).toEqual({});
  } finally {
    await workers.close();
    await alone.close();
  }
});
