import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { FixedClock } from '../../../../src/clock.ts';
import { adminUsersExport } from '../../../../src/operations/users.ts';
import { batchesKey } from '../../../../src/redis/keys.ts';
import { knownPart } from '../../../../src/redis/parts.ts';
import { startLaurel } from '../../../laurel.ts';
import { STUDY_APP } from '../../../study-app.ts';
import { opened } from '../../../stack/opened.ts';

const NOW = Date.UTC(2026, 10, 18, 12);
const laurel = opened(() => startLaurel({ configuration: STUDY_APP, clock: new FixedClock(NOW), workers: true }));

const exported = (id: string) => laurel.admin.get(`/v1/users/${encodeURIComponent(id)}/export`);

test('everything that Laurel holds of a user, by names, without secrets, and nothing of others', async () => {
  const user = { id: 'ada', name: 'Ada', email: 'ada@example.com', tz: 'Europe/Berlin', attributes: { plan: 'pro' } };
  await laurel.app.post(
    '/v1/metrics/flips/event',
    { user, value: 12.5, attributes: { deck: 'verbs' } },
    { headers: { 'Idempotency-Key': 'once' } },
  );
  await laurel.app.post('/v1/metrics/minutes/event', { user: { id: 'ada' }, value: 3 });
  await laurel.app.post('/v1/metrics/minutes/event', { user: { id: 'somebody else' }, value: 99 });
  await laurel.app.post('/v1/achievements/tour/complete', { user: { id: 'ada' } });
  await laurel.app.patch('/v1/users/ada/preferences', { notifications: { recap: ['email'] } });
  const [key] = (await laurel.admin.post('/v1/application-api-keys', [{ userId: 'ada' }])).body.created;

  const { status, body, headers } = await exported('ada');
  expect(status).toBe(200);
  expect(headers.get('content-type')).toBe('application/json');
  const at = new Date(NOW).toISOString();
  expect(body.exported).toBe(at);
  const declared = adminUsersExport.responses[200] as { properties?: object } | undefined;
  expect(Object.keys(body).filter((name) => !(name in (declared?.properties ?? {})))).toEqual([]);
  expect(body.user).toEqual((await laurel.app.get('/v1/users/ada')).body);
  expect(body.preferences.notifications.recap).toEqual(['email']);
  expect(body.metrics).toEqual({ flips: 12.5, minutes: 3 });
  expect(body.points).toEqual({ xp: (await laurel.app.get('/v1/users/ada/points/xp')).body.total });
  expect(body.streaks.daily).toMatchObject({ length: 1, started: '2026-11-18', extended: at });
  expect(body.leaderboards.flips).toEqual([{ firstDay: '2026-01-01', group: '', score: 12.5 }]);
  expect(body.events).toEqual([
    {
      id: expect.any(String),
      metric: 'flips',
      value: 12.5,
      total: 12.5,
      at,
      localDate: '2026-11-18',
      attributes: { deck: 'verbs' },
      idempotencyKey: 'once',
      occurredAt: null,
      streak: 1,
      reverses: null,
      imported: false,
    },
    expect.objectContaining({ metric: 'minutes', value: 3, idempotencyKey: null }),
  ]);
  expect(body.awards).toContainEqual(
    expect.objectContaining({
      system: 'xp',
      trigger: 'metric',
      awarded: 40,
      boosts: ['Double'],
      localDate: '2026-11-18',
    }),
  );
  expect(body.completions.map((one: { achievement: string }) => one.achievement).toSorted()).toEqual([
    'both',
    'day',
    'ten',
    'tour',
  ]);
  expect(body.applicationKeys).toEqual([
    {
      id: key.id,
      prefix: key.prefix,
      created: expect.any(String),
      scope: 'all',
      expiresAt: null,
      lastUsed: null,
      rateLimit: null,
    },
  ]);
  expect(JSON.stringify(body)).not.toContain(key.key.split('.')[1]);
  expect(JSON.stringify(body)).not.toContain('somebody else');
});

test('data of a deleted resource keeps its name', async () => {
  const [metric] = (await laurel.admin.post('/v1/metrics', [{ key: 'gone', name: 'Gone', unitType: 'number' }])).body
    .created;
  await laurel.app.post('/v1/metrics/gone/event', { user: { id: 'cleo' }, value: 1 });
  await laurel.admin.delete(`/v1/metrics?ids=${metric.id}`);
  const { body } = await exported('cleo');
  expect(body.metrics).toEqual({ gone: 1 });
  expect(body.events).toMatchObject([{ metric: 'gone', value: 1 }]);
});

test('404 for a user never seen, or deleted', async () => {
  expect((await exported('nobody')).status).toBe(404);
  await laurel.app.post('/v1/metrics/flips/event', { user: { id: 'dora' }, value: 1 });
  await laurel.admin.delete('/v1/users?ids=dora');
  expect((await exported('dora')).status).toBe(404);
});

test('a long history arrives completely, in pieces; a client that leaves in the middle does no harm', async () => {
  const EVENTS = 20_000;
  await laurel.app.post('/v1/metrics/flips/event', { user: { id: 'long' }, value: 1 });
  await expect
    .poll(async () => (await laurel.pool.query(`SELECT FROM events WHERE user_id = 'long'`)).rowCount)
    .toBe(1);
  await laurel.pool.query(
    `INSERT INTO events (id, tenant_no, user_id, metric_no, value, total, at, local_date, attributes)
     SELECT gen_random_uuid(), 0, 'long', metric_no, n, n, at, local_date - n % 300, jsonb_build_object('deck', repeat('x', 300))
       FROM events, generate_series(2, $1) AS n WHERE user_id = 'long'`,
    [EVENTS],
  );
  const { body } = await exported('long');
  const values = body.events.map(({ value }: { value: number }) => value).toSorted((a: number, b: number) => a - b);
  expect(values).toEqual(Array.from({ length: EVENTS }, (_, n) => n + 1));
  const days = body.events.map(({ localDate }: { localDate: string }) => localDate);
  expect(days).toEqual(days.toSorted());

  const { hostname, port } = new URL(laurel.adminUrl);
  for (let n = 0; n < 3; n += 1) {
    const socket = connect(Number(port), hostname);
    socket.write(`GET /v1/users/long/export HTTP/1.1\r\nHost: x\r\nX-API-KEY: ${laurel.adminKey}\r\n\r\n`);
    await new Promise((resolve) => socket.once('data', resolve));
    socket.destroy();
  }
  const head = await laurel.admin.send('HEAD', '/v1/users/long/export');
  expect([head.status, head.body]).toEqual([200, null]);
  expect((await exported('ada')).status).toBe(200);
});

test('includes events of pending batches', async () => {
  await laurel.app.post('/v1/metrics/flips/event', { user: { id: 'eve' }, value: 1 });
  const events = [
    { key: 'flips', user: { id: 'eve' }, value: 7 },
    { key: 'flips', user: { id: 'ada' }, value: 8 },
  ];
  // Nobody is woken for a batch that is added this way; still, a worker that happens to check may be faster than the export.
  const queued = async (): Promise<unknown> => {
    await laurel.redis.xadd(
      batchesKey(knownPart(laurel.redis, 0, 'eve').shard),
      '*',
      't',
      0,
      'a',
      NOW,
      'c',
      0,
      'w',
      0,
      'e',
      JSON.stringify(events),
    );
    const { body } = await exported('eve');
    expect([...body.queuedEvents, ...body.events].map(({ value }: { value: number }) => value)).toContain(1);
    return body.queuedEvents.at(-1);
  };
  await expect.poll(queued).toEqual(events[0]);
});
