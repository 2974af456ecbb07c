import { afterAll, beforeAll, expect, test } from 'vitest';
import { startLaurel } from '../../laurel.ts';
import { BoardsByTheClock } from './boards-by-the-clock.ts';

const board = (key: string, fields: object = {}) =>
  ({
    key,
    name: key,
    status: 'active',
    rankBy: 'metric',
    metricKey: 'm',
    start: '2031-03-01',
    runUnit: 'day',
    runInterval: 2,
    keepsMetadata: true,
    ...fields,
  }) as const;

let boards: BoardsByTheClock;
beforeAll(async () => {
  boards = await BoardsByTheClock.start('2031-03-01T10:00:00Z', [
    board('sum'),
    board('best', { aggregate: 'max' }),
    board('plain', { keepsMetadata: false }),
  ]);
});
afterAll(() => boards.laurel.close());

/** Sends an event. Returns its ID. */
async function send(user: string, value: number, metadata?: unknown): Promise<string> {
  const sent = { user: { id: user }, value, ...(metadata !== undefined && { metadata }) };
  const { status, body } = await boards.laurel.app.post('/v1/metrics/m/event', sent);
  expect([status, body.error]).toEqual([201, undefined]);
  return body.eventId;
}

/** What the entries of a leaderboard show, by user. */
async function shown(key: string, query = 'run=2031-03-01'): Promise<Record<string, unknown>> {
  const { status, body } = await boards.laurel.app.get(`/v1/leaderboards/${key}?${query}`);
  expect(status).toBe(200);
  return Object.fromEntries(
    body.rankings.map(({ userId, metadata }: { userId: string; metadata?: unknown }) => [userId, metadata ?? null]),
  );
}

/** The same among a user alone. */
async function among(key: string, user: string): Promise<unknown> {
  const { status, body } = await boards.laurel.app.post(`/v1/leaderboards/${key}/rankings`, {
    userIds: [user],
    run: '2031-03-01',
  });
  expect(status).toBe(200);
  return body.rankings[0].metadata ?? null;
}

test('a best score has the metadata of its event, a sum that of the last event that sent some', async () => {
  await send('a', 5, { hat: 'red' });
  expect([await shown('best'), await shown('sum'), await shown('plain')]).toEqual([
    { a: { hat: 'red' } },
    { a: { hat: 'red' } },
    { a: null },
  ]);
  await send('a', 3, { hat: 'blue' });
  await send('a', 2);
  expect([await among('best', 'a'), await among('sum', 'a')]).toEqual([{ hat: 'red' }, { hat: 'blue' }]);
  await send('a', 9);
  expect([await among('best', 'a'), await among('sum', 'a')]).toEqual([null, { hat: 'blue' }]);
});

test('metadata that is too large, or no object, is refused, and nothing of the event is applied', async () => {
  const { app, admin } = boards.laurel;
  const fits = { text: 'x'.repeat(256 - '{"text":""}'.length) };
  await send('b', 1, fits);
  expect(await among('sum', 'b')).toEqual(fits);
  const large = { text: 'é'.repeat(123) };
  const post = (metadata: unknown) => app.post('/v1/metrics/m/event', { user: { id: 'b' }, value: 1, metadata });
  const refused = await post(large);
  expect([refused.status, refused.body.error]).toEqual([
    422,
    expect.stringMatching(/^metadata must be at most 256 bytes/),
  ]);
  for (const wrong of ['text', 5, [1]]) {
    const { status, body } = await post(wrong);
    expect([wrong, status, body.error]).toEqual([wrong, 400, 'metadata must be an object']);
  }
  const events = [
    { key: 'm', user: { id: 'b2' }, value: 1, metadata: { hat: 'green' } },
    { key: 'm', user: { id: 'b2' }, value: 1, metadata: large },
  ];
  const whole = await admin.post('/v1/metrics/events', events);
  expect([whole.status, whole.body.error]).toEqual([422, expect.stringContaining('[1]: metadata must be at most')]);
});

test('a reversal removes what the event sent; a best score that becomes an earlier one has none', async () => {
  const { admin } = boards.laurel;
  await send('c', 5, { hat: 'first' });
  const id = await send('c', 9, { hat: 'second' });
  await send('c', 1);
  expect([await among('best', 'c'), await among('sum', 'c')]).toEqual([{ hat: 'second' }, { hat: 'second' }]);
  await boards.store();
  expect((await admin.post(`/v1/events/${id}/reverse`, {})).status).toBe(200);
  expect([await among('best', 'c'), await among('sum', 'c')]).toEqual([null, null]);
  await send('c', 7, { hat: 'third' });
  expect([await among('best', 'c'), await among('sum', 'c')]).toEqual([{ hat: 'third' }, { hat: 'third' }]);
});

test('a final run keeps metadata, without the leaderboard no longer showing it, until the user is deleted', async () => {
  const { admin, pool } = boards.laurel;
  await send('d', 20, { text: 'tab\t, line\n, \\ and é' });
  await send('e', 19, { hat: 'e' });
  const before = { best: await shown('best'), sum: await shown('sum') };
  await boards.at('2031-03-05T10:00:00Z');
  expect(await boards.due()).toContainEqual(expect.stringContaining('final'));
  // A state forgets scores of final runs with its next event.
  await send('d', 1, { hat: 'next run' });
  expect({ best: await shown('best'), sum: await shown('sum') }).toEqual(before);
  expect(await among('best', 'd')).toEqual({ text: 'tab\t, line\n, \\ and é' });
  expect(await shown('best', 'run=2031-03-05')).toEqual({ d: { hat: 'next run' } });
  await boards.store();
  const { status, body: exported } = await admin.get('/v1/users/e/export');
  expect([status, exported.error]).toEqual([200, undefined]);
  expect(exported.finalRanks).toContainEqual(expect.objectContaining({ leaderboard: 'best', metadata: { hat: 'e' } }));

  await boards.change('best', { keepsMetadata: false });
  expect(Object.values(await shown('best')).filter((metadata) => metadata !== null)).toEqual([]);
  await boards.change('best', { keepsMetadata: true });
  expect((await admin.delete('/v1/users/e')).status).toBeLessThan(300);
  await boards.store();
  const { rows } = await pool.query('SELECT metadata FROM board_finals WHERE metadata LIKE \'%"e"%\'');
  expect(rows).toEqual([]);
  expect(await among('best', 'd')).not.toBeNull();
});

test('batches and late events have metadata', async () => {
  const start = new Date(Date.now() - 3 * 86_400_000).toISOString().slice(0, 10);
  const laurel = await startLaurel({
    workers: true,
    configuration: {
      metrics: [{ key: 'm', name: 'M' }],
      leaderboards: [{ ...board('best', { aggregate: 'max' }), start, runUnit: null, runInterval: null }],
    },
  });
  try {
    const entries = async (): Promise<unknown[]> => {
      const { body } = await laurel.app.get('/v1/leaderboards/best');
      return body.rankings.map(({ userId, value, metadata }: Record<string, unknown>) => [userId, value, metadata]);
    };
    const events = [
      { key: 'm', user: { id: 'a' }, value: 5, metadata: { hat: 'a' } },
      { key: 'm', user: { id: 'b' }, value: 1, metadata: { text: 'x'.repeat(300) } },
      { key: 'm', user: { id: 'b' }, value: 4, metadata: { hat: 'b' } },
    ];
    const batch = await laurel.admin.post('/v1/metrics/events?partial=true', events);
    expect([batch.status, batch.body.refused]).toEqual([202, [expect.objectContaining({ index: 1 })]]);
    await expect.poll(entries).toEqual([
      ['a', 5, { hat: 'a' }],
      ['b', 4, { hat: 'b' }],
    ]);
    const occurredAt = new Date(Date.now() - 2 * 86_400_000).toISOString();
    const late = { user: { id: 'b' }, value: 6, occurredAt, metadata: { hat: 'late' } };
    expect((await laurel.app.post('/v1/metrics/m/event', late)).status).toBe(201);
    expect(await entries()).toEqual([
      ['b', 6, { hat: 'late' }],
      ['a', 5, { hat: 'a' }],
    ]);
  } finally {
    await laurel.close();
  }
});
