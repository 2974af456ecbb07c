import { expect, test } from 'vitest';
import type { BatchMetricEvent } from '../../../src/domain/event.ts';
import type { NotificationType } from '../../../src/domain/notifications/notification.ts';
import { createBatchIntake } from '../../../src/engine/events/batch-intake.ts';
import { createBatchProcessor } from '../../../src/engine/events/batch-processor.ts';
import type { HappenedRecord } from '../../../src/packed/record.ts';
import { KIND, kindField, RECORD, RECORDED_BOARD } from '../../../src/packed/record-fields.ts';
import { unpackAll } from '../../../src/packed/state.ts';
import { boardKeyPrefix, SHARDS } from '../../../src/redis/keys.ts';
import { listenLive } from '../../../src/redis/live-streams.ts';
import { OUTBOX_START, parseEntry, readOutbox } from '../../../src/redis/outbox.ts';
import { everybodyOf } from '../../redis/everybody-of.ts';
import { testStack } from '../../stack/stack.ts';
import type { CatalogBuilder } from '../catalog-builder.ts';
import { withEngineOn, type TestEngine } from './engine.ts';
import { emptyRedis } from '../../stack/all-servers.ts';
import { onlyPart } from '../../stack/only-part.ts';
import { opened } from '../../stack/opened.ts';

const stack = opened(() => testStack({ database: 'none' }));

const withEngine = withEngineOn(() => stack.redisUrl);

/** Two leaderboards, one with two ranks and one by country; `wanted`: what a webhook receives of the first. */
const withBoards =
  (wanted: NotificationType[] = []) =>
  (builder: CatalogBuilder): void => {
    const metricId = builder.metric('m').id;
    const { id: country } = builder.attribute('country', 'user');
    const full = builder.leaderboard('full', 'metric', { metricId, maxParticipants: 2 });
    builder.leaderboard('countries', 'metric', { metricId, breakdownAttributes: [country] });
    if (wanted.length > 0) builder.webhook(wanted, { filter: { leaderboardIds: [full.id] } });
  };

/** Users come, pass each other, fall off, change their countries, and leave. */
const EVENTS: BatchMetricEvent[] = (
  [
    ['a', 5, 'de'],
    ['b', 6, 'de'],
    ['a', 2.25, 'fr'],
    ['c', 9, 'fr'],
    ['d', 1, 'it'],
    ['b', -6, 'de'],
    ['d', 20, 'it'],
    ['a', 1, 'it'],
    ['c', -9.5, 'de'],
    ['b', 3, 'fr'],
  ] as const
).map(([id, value, country]) => ({ key: 'm', user: { id, attributes: { country } }, value }));

/** Accepts the events as a batch and processes it. */
async function sendBatch({ redis, compiled, clock, ids, late, catalog }: TestEngine): Promise<void> {
  const catalogs = { of: () => compiled(), atLeast: async () => undefined };
  const processor = createBatchProcessor({
    redis,
    catalogs,
    ids,
    lookUpKeys: () => Promise.reject(new Error('no key is old')),
    onWritten: () => undefined,
    onRefused: () => undefined,
    late,
  });
  const intake = createBatchIntake({
    redis,
    catalogs,
    clock,
    ids,
    withAddress: async () => new Set(),
    onAccepted: () => undefined,
    overloaded: () => false,
  });
  await intake.accept(catalog.tenantNo, EVENTS, { wait: false });
  await processor.drain(0);
}

/** Every set and list of the leaderboards. */
async function boards({ redis, catalog }: TestEngine): Promise<Record<string, string[]>> {
  const prefix = boardKeyPrefix(onlyPart(catalog.tenantNo));
  const keys = await redis.keys(`${prefix.replace(/b:$/, '[bg]:')}*`);
  const all = keys.map(async (key): Promise<[string, string[]]> => {
    const isList = (await redis.type(key)) === 'set';
    return [key, isList ? (await redis.smembers(key)).toSorted() : await redis.zrange(key, '0', '-1', 'WITHSCORES')];
  });
  return Object.fromEntries(await Promise.all(all));
}

/** An empty Lua table is packed as a map. */
const listOf = <T>(packed: T[] | undefined): T[] => (Array.isArray(packed) ? packed : []);

/** The leaderboards of each event's record: numbers and ranks. */
async function ranks({ redis }: TestEngine): Promise<number[][]> {
  const raw = await readOutbox(redis, { shard: 0, after: OUTBOX_START, count: 100 });
  const records = raw.flatMap((entry) => unpackAll(parseEntry(entry).records) as HappenedRecord[]);
  const events = records.filter((record) => record[kindField] === KIND.event);
  expect(events).toHaveLength(EVENTS.length);
  return events.flatMap((record) =>
    listOf(record[RECORD.boards]).map((board) => [
      board[RECORDED_BOARD.board],
      board[RECORDED_BOARD.previousRank],
      board[RECORDED_BOARD.rank],
    ]),
  );
}

async function sendEach(laurel: TestEngine): Promise<void> {
  for (const { key, user, value } of EVENTS) {
    await laurel.event(key, { id: user.id, attributes: user.attributes! }, value);
  }
}

const boardNo = ({ catalog }: TestEngine, key: string): number =>
  catalog.leaderboards.find((board) => board.key === key)!.no;

test('a batch without listeners moves leaderboards like its events one by one, and computes no ranks', () =>
  withEngine(withBoards(), async (laurel) => {
    await laurel.ready();
    await sendEach(laurel);
    const expected = await boards(laurel);
    expect(Object.keys(expected).length).toBeGreaterThan(3);
    await emptyRedis(laurel.redis);
    await sendBatch(laurel);
    expect(await boards(laurel)).toEqual(expected);
    expect(await ranks(laurel)).toEqual([]);
  }));

test.each<NotificationType>(['leaderboard.rank_changed', 'leaderboard.changed'])(
  'ranks of a leaderboard of which a webhook wants %s equal those of the events one by one; others are absent',
  (type) =>
    withEngine(withBoards([type]), async (laurel) => {
      await laurel.ready();
      await sendEach(laurel);
      const expected = [await boards(laurel), await ranks(laurel)] as const;
      const heard = boardNo(laurel, 'full');
      await emptyRedis(laurel.redis);
      await sendBatch(laurel);
      expect(await boards(laurel)).toEqual(expected[0]);
      expect(await ranks(laurel)).toEqual(expected[1].filter(([no]) => no === heard));
    }),
);

test('computes all ranks while somebody listens to live streams', () =>
  withEngine(withBoards(), async (laurel) => {
    await laurel.ready();
    await sendEach(laurel);
    const expected = await ranks(laurel);
    await emptyRedis(laurel.redis);
    await listenLive(laurel.redis, 0, everybodyOf(laurel.catalog.tenantNo));
    await sendBatch(laurel);
    expect(await ranks(laurel)).toEqual(expected);
  }));

test.each([
  ['somebody who follows leaderboards', { ranks: true }, true],
  ['a user who follows no leaderboards', { ranks: false }, false],
  ['another tenant of the shard', { tenantNo: SHARDS, ranks: true }, false],
])('a live stream of %s makes the tenant ranked: %o', (_, whom, isRanked) =>
  withEngine(withBoards(), async (laurel) => {
    await laurel.ready();
    const { tenantNo } = laurel.catalog;
    await listenLive(laurel.redis, 0, [{ tenantNo, users: ['a'], ...whom }]);
    await sendBatch(laurel);
    expect((await ranks(laurel)).length > 0).toBe(isRanked);
  }),
);
