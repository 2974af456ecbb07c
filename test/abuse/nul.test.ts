import { describe, expect, test } from 'vitest';
import { RawConnection } from '../http/raw-connection.ts';
import { startLaurel } from '../laurel.ts';
import { STUDY_APP } from '../study-app.ts';
import { keysOf } from '../stack/all-servers.ts';
import { opened } from '../stack/opened.ts';

// Postgres cannot store NUL, and a NUL separates user ID, metric and key in the place of an idempotency key. A NUL within a
// part would let two keys be taken for one, so every input refuses it.
const laurel = opened(() => startLaurel({ configuration: STUDY_APP }));

const refusal = (what: string) => ({ status: 400, body: { error: `${what} contains a NUL character` } });
const NUL_USER = { id: 'ada\0' };

describe('a user ID', () => {
  test('in a body', async () => {
    for (const answer of [
      laurel.app.post('/v1/metrics/flips/event', { user: NUL_USER, value: 1 }),
      laurel.app.post('/v1/achievements/tour/complete', { user: NUL_USER }),
    ])
      expect(await answer).toMatchObject(refusal('user.id'));
    expect(await laurel.app.post('/v1/users', NUL_USER)).toMatchObject(refusal('id'));
    expect(await laurel.admin.post('/v1/streaks/freezes', { freezes: [{ userId: 'ada\0' }] })).toMatchObject(
      refusal('freezes[0].userId'),
    );
  });

  test('in a path', async () => {
    for (const answer of [
      laurel.app.put('/v1/users/ada%00', {}),
      laurel.app.patch('/v1/users/ada%00', {}),
      laurel.app.get('/v1/users/ada%00'),
      laurel.app.get('/v1/users/ada%00/metrics/flips'),
      laurel.app.get('/v1/users/ada%00/wrapped'),
    ])
      expect(await answer).toMatchObject(refusal('The path'));
  });

  test('in a query', async () => {
    for (const answer of [
      laurel.admin.delete('/v1/users?ids=ada%00'),
      laurel.app.get('/v1/leaderboards/flips?userId=ada%00'),
      laurel.app.get('/v1/streaks?userIds=ada%00'),
    ])
      // A parameter that does not fit is 422.
      expect(await answer).toMatchObject({
        status: 422,
        body: { error: expect.stringMatching(/^\w+ contains a NUL/) },
      });
  });
});

describe('an idempotency key', () => {
  test('in the header', async () => {
    const connection = await RawConnection.open(Number(new URL(laurel.appUrl).port));
    const body = JSON.stringify({ user: { id: 'ada' }, value: 1 });
    const head = [
      'POST /v1/metrics/flips/event HTTP/1.1',
      'Host: x',
      `X-API-KEY: ${laurel.adminKey}`,
      'Content-Type: application/json',
      `Content-Length: ${body.length}`,
      'Idempotency-Key: key\0',
    ];
    connection.send(`${head.join('\r\n')}\r\n\r\n${body}`);
    await connection.until(({ closed }) => closed);
    expect(connection.received).toMatch(/^HTTP\/1\.1 400 /);
  });

  test.each([
    ['a small batch', 1],
    ['a batch that is parsed in pieces', 900],
  ])('in %s', async (_what, count) => {
    const events = Array.from({ length: count }, (_, n) => ({
      key: 'flips',
      user: { id: `user-${n}`, name: 'x'.repeat(100) },
      value: 1,
      idempotencyKey: n === count - 1 ? 'key\0' : `key-${n}`,
    }));
    expect(await laurel.admin.post('/v1/metrics/events', events)).toMatchObject(
      refusal(`[${count - 1}].idempotencyKey`),
    );
  });
});

describe("a metric's key", () => {
  test('in a path, in a batch and in a configuration', async () => {
    expect(await laurel.app.post('/v1/metrics/flips%00/event', { user: { id: 'ada' }, value: 1 })).toMatchObject(
      refusal('The path'),
    );
    const event = { key: 'flips\0', user: { id: 'ada' }, value: 1 };
    expect(await laurel.admin.post('/v1/metrics/events', [event])).toMatchObject(refusal('[0].key'));
    expect(
      await laurel.admin.put('/v1/configuration', { ...STUDY_APP, metrics: [{ key: 'a\0', name: 'A' }] }),
    ).toMatchObject(refusal('metrics[0].key'));
    expect(await laurel.admin.post('/v1/metrics', [{ key: 'a\0', name: 'A' }])).toMatchObject(refusal('[0].key'));
  });
});

test('stores nothing of it', async () => {
  expect(await keysOf(laurel.redis, '*:u:*')).toEqual([]);
  expect(await keysOf(laurel.redis, '*:i:*')).toEqual([]);
});
