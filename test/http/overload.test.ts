import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { Admission } from '../../src/http/access/admission.ts';
import { startLaurel } from '../laurel.ts';
import { STUDY_APP } from '../study-app.ts';
import { OwnRedis } from '../engine/rebuild/own-redis.ts';
import type { SeenResponse } from './client.ts';
import { RawConnection, rawRequest } from './raw-connection.ts';
import { ADMIN_KEY, type Fixture, startServer } from './server-fixture.ts';
import { opened } from '../stack/opened.ts';

/** An event of a user of its own, because events of one user are sent one after the other. */
const eventOf = (key: string): object => ({ user: { id: key }, value: 1 });

const redis = opened(() => OwnRedis.start());
const laurel = opened(() => startLaurel({ redisUrl: redis.url, configuration: STUDY_APP }));
beforeAll(async () => {
  // While Redis hangs, this process keeps its connection.
  laurel.redis.options.socketTimeout = 3_600_000;
});

async function event(key: string): Promise<[status: number, total: number]> {
  const headers = { 'Idempotency-Key': key };
  const { status, body } = await laurel.app.post('/v1/metrics/flips/event', eventOf(key), { headers });
  return [status, body.total];
}

/** Sends an event over a connection of its own. */
async function sent(key: string): Promise<RawConnection> {
  const connection = await RawConnection.open(Number(new URL(laurel.appUrl).port));
  const headers = [`X-API-KEY: ${laurel.adminKey}`, 'Content-Type: application/json', `Idempotency-Key: ${key}`];
  const body = JSON.stringify(eventOf(key));
  connection.send(rawRequest('POST', '/v1/metrics/flips/event', { headers, body }));
  return connection;
}

/** Resolves when the server has read what was sent to it, and noticed what was closed, before the call. */
const noticed = async (): Promise<void> => expect((await laurel.app.get('/healthz')).status).toBe(200);

test('a waiting event is dropped when its client disconnects: nothing is done, and its key is unused', async () => {
  // The first call on a shard is preceded by another command.
  expect(await event('warm-up')).toEqual([201, 1]);
  const commands = vi.spyOn(laurel.redis, 'sendCommand');
  const calls = (): number => commands.mock.calls.filter(([{ name }]) => name.toLowerCase() === 'fcall').length;
  redis.pause();
  // A tenant has one command in flight at most, so a second event waits.
  const first = await sent('first');
  await expect.poll(calls).toBe(1);
  const second = await sent('second');
  const third = await sent('third');
  await noticed();
  second.destroy();
  await noticed();
  redis.resume();
  for (const connection of [first, third]) {
    await connection.until(({ statuses }) => statuses.length === 1);
    expect(connection.statuses).toEqual([201]);
    connection.destroy();
  }
  commands.mockRestore();
  expect(await event('second')).toEqual([201, 1]);
});

test('health checks send nothing to Redis, and do not wait for a connection to Postgres', async () => {
  const pings = async (): Promise<number> =>
    Number(/cmdstat_ping:calls=(\d+)/.exec(String(await redis.command('INFO', 'commandstats')))?.[1] ?? 0);
  const ready = async (): Promise<unknown> => (await laurel.app.get('/readyz')).body;
  await expect.poll(ready).toEqual({ status: 'ready' });
  const before = await pings();
  const { max } = laurel.pool.options;
  const clients = await Promise.all(Array.from({ length: max }, () => laurel.pool.connect()));
  try {
    expect(await ready()).toEqual({ status: 'ready' });
  } finally {
    for (const client of clients) client.release();
  }
  expect(await pings()).toBe(before);
});

describe('a server with a full queue', () => {
  const bound = { mostWaitMs: 1_000, burst: 2, firstRate: 1 };
  let fixture: Fixture;
  let waiting: Promise<SeenResponse>[];
  const slow = (): Promise<SeenResponse> => fixture.client.post('/v1/slow', {});
  beforeAll(async () => {
    fixture = await startServer({ admission: new Admission({ requests: bound }) });
    waiting = [slow(), slow()];
    await vi.waitUntil(() => fixture.gate.waiting === 2, { timeout: 120_000 });
  });
  afterAll(() => fixture.server.close());

  /** Sends requests of `/v1/slow` on one connection, each after the answer to the one before it. */
  async function answersTo(...requests: { headers: string[]; body: string }[]): Promise<RawConnection> {
    const connection = await RawConnection.open(fixture.port);
    for (const [index, { headers, body }] of requests.entries()) {
      connection.send(
        rawRequest('POST', '/v1/slow', { headers: ['Content-Type: application/json', ...headers], body }),
      );
      await connection.until(({ statuses }) => statuses.length === index + 1);
    }
    connection.destroy();
    return connection;
  }

  test('refuses a request before its body is read, and the next one on the connection after it', async () => {
    const headers = [`X-API-KEY: ${ADMIN_KEY}`];
    const connection = await RawConnection.open(fixture.port);
    const type = 'Content-Type: application/json';
    connection.send(rawRequest('POST', '/v1/slow', { headers: [...headers, type, 'Content-Length: 9'], body: '{"no' }));
    await connection.until(({ statuses }) => statuses.length === 1);
    expect(connection.received).toMatch(/Retry-After: [1-9]\d*\r\n/i);
    expect(connection.received).toContain('"code":"overloaded"');
    // The rest of the body is no request.
    connection.send(`":1 }${rawRequest('GET', '/healthz')}`);
    await connection.until(({ statuses }) => statuses.length === 2);
    expect(connection.statuses).toEqual([503, 200]);
    connection.destroy();
  });

  test('a refusal has the headers of every answer, and the ID of its request', async () => {
    const headers = [`X-API-KEY: ${ADMIN_KEY}`, 'X-Request-Id: mine'];
    const { received } = await answersTo({ headers, body: '{}' }, { headers: headers.slice(0, 1), body: '{}' });
    const [first, second] = received.split(/(?<=\})(?=HTTP)/);
    expect(first).toMatch(/^HTTP\/1\.1 503 Service Unavailable\r\n/);
    const expected = ['x-request-id: mine', 'cache-control: no-store', 'vary: x-api-key, tenant-id'];
    for (const line of [...expected, 'x-content-type-options: nosniff', 'content-type: application/json'])
      expect(first!.toLowerCase()).toContain(`\r\n${line}\r\n`);
    const [head, json] = first!.split('\r\n\r\n');
    expect(JSON.parse(json!)).toMatchObject({ code: 'overloaded' });
    expect(head!.toLowerCase()).toContain(`\r\ncontent-length: ${json!.length}`);
    expect(second).toMatch(/\r\nX-Request-Id: (?!mine)[\w-]+\r\n/i);
  });

  test('does not check the secret of a known key, but unknown keys and invalid framing as usual', async () => {
    const wrong = `${ADMIN_KEY.split('.')[0]}.wrong`;
    const body = '{}';
    const answers = await answersTo(
      { headers: [`X-API-KEY: ${wrong}`], body },
      { headers: ['X-API-KEY: adm_other.wrong'], body },
      { headers: [], body },
      { headers: [`X-API-KEY: ${ADMIN_KEY}`, 'Content-Length: 2', 'Content-Length: 2'], body },
    );
    expect(answers.statuses).toEqual([503, 401, 401, 400]);
    expect(fixture.gate.waiting).toBe(2);
  });

  test('answers health checks; then goes on', async () => {
    const { client, gate } = fixture;
    for (const path of ['/healthz', '/readyz']) expect((await client.get(path)).status).toBe(200);
    gate.release();
    for (const answer of waiting) expect((await answer).status).toBe(200);
    expect((await slow()).status).toBe(200);
  });
});
