import { afterEach, beforeEach, expect, test } from 'vitest';
import { RedisNotReady } from '../../../src/redis/gate.ts';
import { rebuildThatStands } from '../rebuild/by-hand.ts';
import { BoardsByTheClock } from './boards-by-the-clock.ts';

let boards: BoardsByTheClock;
/** Continues a stopped rebuild, and waits for it. */
let goOn: () => Promise<void>;

beforeEach(async () => {
  goOn = () => Promise.resolve();
  boards = await BoardsByTheClock.start('2026-11-18T12:00:00Z', [
    {
      key: 'board',
      name: 'Board',
      status: 'active',
      rankBy: 'metric',
      metricKey: 'm',
      start: '2026-11-01',
      runUnit: 'day',
      runInterval: 1,
      breakdownAttributes: ['land'],
    },
  ]);
  await boards.event({ id: 'u', attributes: { land: 'de' } }, 5);
  await boards.event({ id: 'v', attributes: { land: 'fr' } }, 7);
});
afterEach(async () => {
  await goOn();
  await boards.laurel.close();
});

/** Begins a rebuild and stops it: nobody is on any leaderboard. */
async function empty(): Promise<void> {
  goOn = await rebuildThatStands(boards.laurel);
  expect(await boards.sets()).toEqual([]);
}

async function expectAll(): Promise<void> {
  expect(await boards.places('run=2026-11-18&userAttributes=land:de')).toEqual([[1, 'u', 5]]);
  expect(await boards.places('run=2026-11-18&userAttributes=land:fr')).toEqual([[1, 'v', 7]]);
  expect(await boards.history('u', 'run=2026-11-18')).toContainEqual(['2026-11-18', null, 1, null, 5]);
}

test('takes neither a snapshot nor a final run of a Redis that is being rebuilt', async () => {
  await boards.at('2026-11-19T12:02:00Z');
  await empty();
  for (const kind of boards.kinds) {
    const dueMs = await kind.due(boards.clock.now());
    await expect(kind.perform(dueMs!, new AbortController().signal)).rejects.toThrow(RedisNotReady);
  }
  await goOn();
  await boards.due();
  await expectAll();
});

test('finishes copying a run of which a part was copied when Redis was rebuilt', async () => {
  await boards.at('2026-11-19T12:02:00Z');
  let groups = 0;
  boards.onStep = async (step) => {
    if (step === 'written' && ++groups === 1) await empty();
  };
  await expect(boards.due()).rejects.toThrow(RedisNotReady);
  await goOn();
  await boards.due();
  await expectAll();
});
