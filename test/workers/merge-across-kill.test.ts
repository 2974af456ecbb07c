import { afterEach, expect, test } from 'vitest';
import type { MergeMoment } from '../../src/engine/users/user-merges.ts';
import { knownPart } from '../../src/redis/parts.ts';
import { startDyingMerge } from './dying-merge.ts';
import { DyingWorkers } from './dying-workers.ts';
import { opened } from '../stack/opened.ts';

const processes = new DyingWorkers();
// The frontend that seals a user and the worker that merges across shards are killed, while events and batches of both users arrive.

const dying = opened(async () => {
  const configuration = { metrics: [{ key: 'm', name: 'M' }] };
  return startDyingMerge({ processes, laurel: { spread: 4, configuration }, env: { LEASE_MS: '1000' } });
});
// The worker of a case that failed has ended or is to die.
afterEach(({ task }) => (task.result?.state === 'fail' ? dying.startWorker() : undefined));

const shardOf = (id: string): number => knownPart(dying.laurel.redis, 0, id).shard;

const DEATHS: [MergeMoment, string][] = [
  ['permitted', 'merge transferred'],
  ['sealed', 'written'],
  ['sealed', 'user_merge leased'],
  ['sealed', 'merge transferred'],
  ['sealed', 'merge unsealed'],
];

test.each(DEATHS)('a frontend killed when a merge is %s, and a worker at "%s"', async (moment, step) => {
  const { laurel, send, rows, merge } = dying;
  const name = `${moment}-${step.replaceAll(' ', '-')}`;
  const from = `${name}-guest`;
  const into = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']
    .map((n) => `${name}-${n}`)
    .find((id) => shardOf(id) !== shardOf(from))!;
  const users = { from, into };
  for (const id of [from, into]) expect(await send(id, `${id} first`)).toBe(201);
  // Stored, so that the next step of a persister is about the merge.
  await expect.poll(() => rows('SELECT FROM events WHERE user_id = ANY ($1)', [from, into])).toHaveLength(2);
  const { workerEnds } = await dying.killDuring(users, moment, step);
  // Without the seal, nothing goes on by itself.
  if (moment === 'permitted') void merge(users).catch(() => undefined);
  expect(await workerEnds()).toEqual([null, 'SIGKILL']);
  // Accepted while the user is sealed: 202 promises that they count.
  const batch = [
    { key: 'm', user: { id: from }, value: 1 },
    { key: 'm', user: { id: from }, value: 1, idempotencyKey: 'queued' },
  ];
  const accepted = (await laurel.admin.post('/v1/metrics/events', batch)).status === 202 ? 2 : 0;
  await dying.startWorker();
  // Nobody asks again.
  await expect.poll(async () => (await laurel.app.get(`/v1/users/${from}`)).body.id).toBe(into);
  let counted = 2 + accepted;
  for (const key of ['after', 'again']) {
    expect(await send(from, key)).toBe(201);
    expect(await send(into, key)).toBe(202);
    counted += 1;
  }
  await expect.poll(async () => (await laurel.app.get(`/v1/users/${from}/metrics/m`)).body.current).toBe(counted);
  if (accepted > 0) expect(await send(into, 'queued')).toBe(202);
  expect(await merge(users)).toBe('unchanged');
  await dying.expectStored(users, counted);
  await expect.poll(() => rows(`SELECT FROM jobs WHERE kind = 'user_merge'`)).toHaveLength(0);
});
