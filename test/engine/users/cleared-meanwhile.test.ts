import { afterEach, expect, test } from 'vitest';
import { COMMIT_SCRIPT } from '../../../src/engine/changes/change-users.ts';
import type { Scripts } from '../../../src/engine/scripts.ts';
import { differencesIn } from '../../differences.ts';
import { keysOf } from '../../stack/all-servers.ts';
import { BoardsByTheClock } from '../leaderboards/boards-by-the-clock.ts';

// Workers remove an ended run from Redis while a user who has a score in it is changed. Nothing is left of the run.

const DAILY = {
  key: 'board',
  name: 'B',
  rankBy: 'metric',
  metricKey: 'm',
  start: '2030-01-01',
  status: 'active',
  runUnit: 'day',
  runInterval: 1,
} as const;

let boards: BoardsByTheClock;
afterEach(() => boards.laurel.close());

const keysOfBoards = (): Promise<string[]> => keysOf(boards.laurel.redis, '*:[bgt]:*');

async function clearRun(): Promise<void> {
  expect(await keysOfBoards()).not.toEqual([]);
  await boards.at('2030-01-06T12:05:00Z');
  await boards.due();
  expect(await keysOfBoards()).toEqual([]);
}

/** Does something just before the frontend's next commit, which is computed then. */
function beforeCommit(action: () => Promise<void>): void {
  const { scripts } = (boards.laurel.services.merges as unknown as { options: { scripts: Scripts } }).options;
  const callPart = scripts.callPart.bind(scripts);
  scripts.callPart = async (part, call) => {
    if (call.script === COMMIT_SCRIPT) {
      scripts.callPart = callPart;
      await action();
    }
    return callPart(part, call);
  };
}

const hide = (hidden: boolean) => boards.laurel.admin.patch('/v1/users/ann', { hidden });

test.each([
  ['merged', {}, () => boards.laurel.admin.post('/v1/users/merge', { from: 'ann', into: 'bob' })],
  ['deleted', {}, () => boards.laurel.admin.delete('/v1/users/ann')],
  ['hidden', {}, () => hide(true)],
  ['shown again', { isHidden: true }, () => hide(false)],
] as const)('a user who is %s', async (_, { isHidden = false }: { isHidden?: boolean }, change) => {
  boards = await BoardsByTheClock.start('2030-01-05T10:00:00Z', [
    { ...DAILY, teamAttributeKey: 'land' },
    { ...DAILY, key: 'groups', breakdownAttributes: ['land'] },
    { ...DAILY, key: 'ties', ties: 'first' },
  ]);
  for (const [id, land] of Object.entries({ ann: 'fr', bob: 'de', cem: 'fr' }))
    await boards.event({ id, attributes: { land } }, 5);
  if (isHidden) expect((await hide(true)).status).toBe(200);
  await boards.store();
  beforeCommit(clearRun);
  const { status, body } = await change();
  expect({ status, body }).toMatchObject({ status: expect.toSatisfy((each: number) => each < 300) });
  await boards.store();
  expect(await keysOfBoards()).toEqual([]);
  expect(await differencesIn(boards.laurel)).toEqual([]);
});
