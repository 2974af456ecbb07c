import { beforeAll, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { readStreakFacts } from '../../../src/engine/corrections/streak-facts.ts';
import { JobRunner } from '../../../src/engine/schedule/job-runner.ts';
import { createMergeEnding } from '../../../src/engine/users/merge-ending.ts';
import { rowRemoval } from '../../../src/engine/users/row-removal.ts';
import { USER_TABLES } from '../../../src/postgres/users/user-tables.ts';
import { differencesIn } from '../../differences.ts';
import type { TestLaurel } from '../../laurel.ts';
import { largeUsers, ROWS } from './large-users.ts';

// A merge of a user with many rows is stored at once, and a job moves the rows in slices; both may be stopped at any time.

let redis: TestLaurel['redis'];
let nth = 0;
let [from, into] = ['', ''];

const { laurel, rows, countOf, persist, send, makeLarge, runnerOf } = largeUsers();
beforeAll(async () => {
  redis = await laurel.connect();
});
beforeEach(async () => {
  nth += 1;
  [from, into] = [`from-${nth}`, `into-${nth}`];
  for (const id of [from, into]) await send(id, `first of ${id}`);
  await persist();
  await makeLarge(from);
});

const ask = (one: string, other: string) =>
  laurel.admin.post('/v1/users/merge', { from: one, into: other, acrossControlGroup: true });

function runner({ stops = false } = {}): JobRunner {
  const options = { redis: laurel.redis, pool: laurel.pool, clock: systemClock, onWritten: () => undefined };
  return runnerOf(createMergeEnding(options), stops);
}

const isMoving = async (): Promise<boolean> => (await rows(`SELECT FROM jobs WHERE kind = 'user_merge'`)).length > 0;

async function moveAll(): Promise<number> {
  const working = runner();
  let steps = 0;
  while (await isMoving()) if (await working.step()) steps += 1;
  return steps;
}

const differences = () => differencesIn({ redis, pool: laurel.pool });

test('the merge is stored at once, others are stored between slices, and each row is moved once', async () => {
  expect((await ask(from, into)).body.status).toBe('merged');
  await persist();
  // Everything but the many rows.
  expect(await rows('SELECT id FROM users WHERE id = ANY ($1)', [from, into])).toEqual([{ id: into }]);
  expect([await countOf('events', from), await countOf('awards', from)]).toEqual([ROWS + 1, ROWS + 1]);
  expect([await countOf('user_merges', into), await countOf('merged_keys', into)]).toEqual([1, 1]);

  // What is computed from history waits.
  const compiled = await laurel.services.catalogs.of(0);
  const facts = () => readStreakFacts(laurel.pool, compiled, { userId: into, nowMs: Date.now(), firstDay: 0 });
  await expect(facts()).rejects.toThrow('is being moved');
  expect(await differences()).toEqual([]);

  const stopping = runner({ stops: true });
  const before = await countOf('event_days', from);
  await stopping.step();
  expect(await countOf('event_days', from)).toBe(before);
  let most = 0;
  let round = 0;
  while (await isMoving()) {
    const left = (await countOf('events', from)) + (await countOf('awards', from));
    round += 1;
    await send(into, `meanwhile ${round}`);
    await send(`other-${nth}`, `meanwhile ${round}`);
    // The persister holds no lock that a slice waits for, and the other way round.
    await Promise.all([stopping.step(), persist()]);
    most = Math.max(most, left - (await countOf('events', from)) - (await countOf('awards', from)));
  }
  expect(most).toBeGreaterThan(0);
  expect(most).toBeLessThanOrEqual(2_000);
  const meanwhile = await countOf('events', `other-${nth}`);
  expect(meanwhile).toBeGreaterThan(4);
  const all = ROWS + 2 + meanwhile;
  expect([await countOf('events', into), await countOf('awards', into)]).toEqual([all, all]);
  const summed = 'SELECT sum(events)::int AS events, sum(value)::int AS value FROM event_days WHERE user_id = $1';
  expect(await rows(summed, into)).toEqual([{ events: all, value: all }]);
  expect(await rows('SELECT sum(awarded)::int AS awarded FROM award_days WHERE user_id = $1', into)).toEqual([
    { awarded: all },
  ]);
  for (const { table, user } of USER_TABLES)
    if (table !== 'audit_log')
      expect([table, await rows(`SELECT FROM ${table} WHERE ${user} = $1`, from)]).toEqual([table, []]);
  expect((await facts())!.facts.events.length).toBeGreaterThan(1);
  expect(await differences()).toEqual([]);
});

test('a small user has no job', async () => {
  const small = `small-${nth}`;
  await send(small, 'only');
  await persist();
  expect((await ask(small, into)).body).toMatchObject({ status: 'merged' });
  await persist();
  expect([await isMoving(), await countOf('events', small), await countOf('events', into)]).toEqual([false, 0, 2]);
});

test('the remaining user is deleted while rows are moved: nothing of both is left', async () => {
  await ask(from, into);
  await persist();
  await runner().step();
  await laurel.admin.delete(`/v1/users/${into}`);
  await persist();
  expect(await isMoving()).toBe(false);
  const removing = new JobRunner({ pool: laurel.pool, works: [rowRemoval(laurel.redis)] });
  while ((await rows('SELECT FROM jobs')).length > 0) await removing.step();
  for (const { table, user } of USER_TABLES)
    if (table !== 'audit_log')
      expect([table, await rows(`SELECT FROM ${table} WHERE ${user} = ANY ($1)`, [from, into])]).toEqual([table, []]);
  await send(from, `first of ${from}`);
  await persist();
  expect(await differences()).toEqual([]);
});

test('a merge of the remaining user waits for the rows; a reversal finds the user of the event', async () => {
  const event = (
    await rows('SELECT id::text FROM events WHERE user_id = $1 AND idempotency_key IS NOT NULL', from)
  )[0]!;
  const third = `third-${nth}`;
  await send(third, 'third');
  await persist();
  expect((await ask(from, into)).body.status).toBe('merged');
  await persist();
  const reversing = laurel.admin.post(`/v1/events/${event['id'] as string}/reverse`, {});
  const merging = reversing.then(() => ask(into, third));
  const storing = setInterval(() => void persist().catch(() => undefined), 20);
  const done = moveAll();
  expect((await reversing).status).toBe(200);
  expect((await merging).body.status).toBe('merged');
  await done;
  clearInterval(storing);
  const counts = async (): Promise<number[]> => {
    await persist();
    await moveAll();
    return [await countOf('events', from), await countOf('events', into), await countOf('events', third)];
  };
  await expect.poll(counts).toEqual([0, 0, ROWS + 4]);
  expect((await laurel.app.get(`/v1/users/${from}/metrics/m`)).body.current).toBe(2);
  expect(await differences()).toEqual([]);
});
