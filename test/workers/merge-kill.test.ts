import { afterEach, expect, test } from 'vitest';
import type { PersistStep } from '../../src/engine/persist/persister.ts';
import type { MergeMoment } from '../../src/engine/users/user-merges.ts';
import { startDyingMerge } from './dying-merge.ts';
import { DyingWorkers } from './dying-workers.ts';
import { opened } from '../stack/opened.ts';

const processes = new DyingWorkers();
// The frontend that merges two users and the worker that stores the merge are killed, while events of both users arrive.

const dying = opened(async () => {
  const trigger = { type: 'metric', metricKey: 'm', metricThreshold: 1, points: 2, status: 'active' } as const;
  const configuration = {
    metrics: [{ key: 'm', name: 'M' }],
    pointsSystems: [{ key: 'xp', name: 'XP', triggers: [trigger] }],
  };
  return startDyingMerge({ processes, laurel: { spread: 1, configuration } });
});
// The worker of a case that failed has ended or is to die.
afterEach(({ task }) => (task.result?.state === 'fail' ? dying.startWorker() : undefined));

const DEATHS: [MergeMoment, PersistStep][] = [
  ['noted', 'read'],
  ['computed', 'written'],
  ['committed', 'written'],
  ['committed', 'committed'],
];

test.each(DEATHS)('a frontend killed when a merge is %s, and a worker when its batch is %s', async (moment, step) => {
  const { laurel, send, merge } = dying;
  const users = { from: `${moment}-${step}-guest`, into: `${moment}-${step}-account` };
  const { from, into } = users;
  for (const id of [from, into]) expect(await send(id, `${id} first`)).toBe(201);
  const { workerEnds } = await dying.killDuring(users, moment, step);
  // Used once under either ID, whether the users are merged by now or not.
  let counted = 2;
  const both = async (key: string): Promise<void> => {
    expect(await send(from, key)).toBe(201);
    counted += 1;
    if ((await send(into, key)) === 201) counted += 1;
  };
  await both('between');
  expect(await workerEnds()).toEqual([null, 'SIGKILL']);
  await dying.startWorker();
  await expect.poll(() => merge(users)).toBe(moment === 'committed' ? 'unchanged' : 'merged');
  expect(await merge(users)).toBe('unchanged');
  await both('after');
  expect((await laurel.app.get(`/v1/users/${from}/metrics/m`)).body.current).toBe(counted);
  expect((await laurel.app.get(`/v1/users/${into}/points/xp`)).body.total).toBe(2 * counted);
  await dying.expectStored(users, counted);
});
