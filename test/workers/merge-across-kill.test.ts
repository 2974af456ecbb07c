import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { verify } from '../../src/engine/rebuild/verify.ts';
import type { MergeMoment } from '../../src/engine/users/user-merges.ts';
import { knownPart } from '../../src/redis/parts.ts';
import { startLaurel, type TestLaurel } from '../laurel.ts';
import { DyingWorkers } from './dying-workers.ts';

// The frontend that seals a user and the worker that merges across shards are killed, while events and batches of both users arrive.

let laurel: TestLaurel;
let redis: TestLaurel['redis'];
let worker: ChildProcess;
const processes = new DyingWorkers();
beforeAll(async () => {
  laurel = await startLaurel({ spread: 4, configuration: { metrics: [{ key: 'm', name: 'M' }] } });
  const hook = { name: 'Hook', url: 'https://example.com/hook', events: ['user.merged'] };
  await laurel.admin.post('/v1/webhooks?strict=true', [hook]);
  redis = await laurel.connect();
  worker = processes.start(laurel, { LEASE_MS: '1000' });
  await once(worker, 'message');
});
afterAll(async () => {
  processes.close();
  redis.disconnect();
  await laurel.close();
});

/** Repeated until it is answered. */
async function send(id: string, key: string): Promise<number> {
  for (;;) {
    const headers = { 'Idempotency-Key': key };
    const { status } = await laurel.app.post('/v1/metrics/m/event', { user: { id }, value: 1 }, { headers });
    if (status !== 503) return status;
    await sleep(10);
  }
}

const rows = async (sql: string, ...values: unknown[]): Promise<unknown[]> =>
  (await laurel.pool.query(sql, values)).rows;

const shardOf = (id: string): number => knownPart(laurel.redis, 0, id).shard;

const DEATHS: [MergeMoment, string][] = [
  ['permitted', 'merge transferred'],
  ['sealed', 'written'],
  ['sealed', 'user_merge leased'],
  ['sealed', 'merge transferred'],
  ['sealed', 'merge unsealed'],
];

test.each(DEATHS)(
  'a frontend killed when a merge is %s, and a worker at "%s"',
  { timeout: 120_000 },
  async (moment, step) => {
    const name = `${moment}-${step.replaceAll(' ', '-')}`;
    const from = `${name}-guest`;
    const into = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']
      .map((n) => `${name}-${n}`)
      .find((id) => shardOf(id) !== shardOf(from))!;
    for (const id of [from, into]) expect(await send(id, `${id} first`)).toBe(201);
    // Stored, so that the next step of a persister is about the merge.
    await expect.poll(() => rows('SELECT FROM events WHERE user_id = ANY ($1)', [from, into])).toHaveLength(2);
    const asked = { from, into, acrossControlGroup: true };
    const dying = await processes.startFrontend(laurel, `merge ${moment}`);
    const frontendEnds = once(dying.child, 'exit');
    const workerEnds = once(worker, 'exit');
    await processes.dieAt(worker, step, 1);
    const merging = fetch(`${dying.adminUrl}/v1/users/merge`, {
      method: 'POST',
      headers: { 'X-API-KEY': laurel.adminKey, 'Content-Type': 'application/json' },
      body: JSON.stringify(asked),
    });
    await expect(merging).rejects.toThrow();
    expect(await frontendEnds).toEqual([null, 'SIGKILL']);
    // Without the seal, nothing goes on by itself.
    if (moment === 'permitted') void laurel.admin.post('/v1/users/merge', asked).catch(() => undefined);
    expect(await workerEnds).toEqual([null, 'SIGKILL']);
    // Accepted while the user is sealed: 202 promises that they count.
    const batch = [
      { key: 'm', user: { id: from }, value: 1 },
      { key: 'm', user: { id: from }, value: 1, idempotencyKey: 'queued' },
    ];
    const accepted = (await laurel.admin.post('/v1/metrics/events', batch)).status === 202 ? 2 : 0;
    worker = processes.start(laurel, { LEASE_MS: '1000' });
    await once(worker, 'message');
    // Nobody asks again.
    await expect.poll(async () => (await laurel.app.get(`/v1/users/${from}`)).body.id, { timeout: 60_000 }).toBe(into);
    let counted = 2 + accepted;
    for (const key of ['after', 'again']) {
      expect(await send(from, key)).toBe(201);
      expect(await send(into, key)).toBe(202);
      counted += 1;
    }
    await expect
      .poll(async () => (await laurel.app.get(`/v1/users/${from}/metrics/m`)).body.current, { timeout: 20_000 })
      .toBe(counted);
    if (accepted > 0) expect(await send(into, 'queued')).toBe(202);
    expect((await laurel.admin.post('/v1/users/merge', asked)).body.status).toBe('unchanged');
    await expect
      .poll(() =>
        rows('SELECT user_id AS id, count(*)::int AS n FROM events WHERE user_id = ANY ($1) GROUP BY 1', [from, into]),
      )
      .toEqual([{ id: into, n: counted }]);
    const reported = `SELECT payload::jsonb -> 'merge' ->> 'from' AS "from" FROM webhook_messages WHERE user_id = $1`;
    expect(await rows(reported, into)).toEqual([{ from }]);
    await expect.poll(() => rows(`SELECT FROM jobs WHERE kind = 'user_merge'`)).toHaveLength(0);
    const found: unknown[] = [];
    await verify({ redis, pool: laurel.pool, onDifference: (each) => found.push(each) });
    expect(found).toEqual([]);
  },
);
