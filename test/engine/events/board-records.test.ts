import { expect, test } from 'vitest';
import type { WebhookFilter } from '../../../src/domain/schemas.ts';
import type { NotificationType } from '../../../src/domain/notifications/notification.ts';
import type { HappenedRecord } from '../../../src/packed/record.ts';
import { RECORD, RECORDED_BOARD } from '../../../src/packed/record-fields.ts';
import { unpackAll } from '../../../src/packed/state.ts';
import { OUTBOX_START, parseEntry, readOutbox } from '../../../src/redis/outbox.ts';
import { testStack } from '../../stack/stack.ts';
import type { CatalogBuilder } from '../catalog-builder.ts';
import { withEngineOn, type TestEngine } from './engine.ts';
import { opened } from '../../stack/opened.ts';

const stack = opened(() => testStack({ database: 'none' }));

const withEngine = withEngineOn(() => stack.redisUrl);

/** The leaderboard data in the records of a tenant's events, from the previous rank on. */
async function recordedPlaces(laurel: TestEngine): Promise<unknown[]> {
  const raw = await readOutbox(laurel.redis, { shard: 0, after: OUTBOX_START, count: 100 });
  const records = raw.flatMap((entry) => unpackAll(parseEntry(entry).records) as HappenedRecord[]);
  return records.flatMap((record) =>
    ((record[RECORD.boards] ?? []) as unknown as unknown[][]).map((board) => board.slice(RECORDED_BOARD.previousRank)),
  );
}

const withBoard =
  (events: NotificationType[], { filter, enabled = true }: { filter?: WebhookFilter; enabled?: boolean } = {}) =>
  (builder: CatalogBuilder): void => {
    builder.leaderboard('board', 'metric', { metricId: builder.metric('m').id, maxParticipants: 2 });
    builder.webhook(events, { enabled, ...(filter && { filter }) });
  };

/** A user appears, moves, is overtaken by two others, and stays below them. */
async function play(laurel: TestEngine): Promise<void> {
  await laurel.event('m', 'a', 5);
  await laurel.event('m', 'a', 0.25);
  await laurel.event('m', 'b', 6);
  await laurel.event('m', 'c', 7);
  await laurel.event('m', 'a', 0.5);
  await laurel.event('m', 'b', -7);
}

const WITHOUT_SCORES = [
  [-1, 1, 0],
  [1, 1, 0],
  [-1, 1, 5.25],
  [-1, 1, 6],
  [-1, -1, 6],
  [2, -1, 5.75],
];

test("records contain the scores before and after if a webhook wants the leaderboard's ranks", () =>
  withEngine(withBoard(['streak.lost', 'leaderboard.rank_changed']), async (laurel) => {
    await play(laurel);
    expect(await recordedPlaces(laurel)).toEqual([
      [-1, 1, 0, 0, 5],
      [1, 1, 0, 5, 5.25],
      [-1, 1, 5.25, 0, 6],
      [-1, 1, 6, 0, 7],
      [-1, -1, 6],
      [2, -1, 5.75, 6, -1],
    ]);
  }));

const unwanted: [string, (builder: CatalogBuilder) => void][] = [
  ['no webhook wants them', withBoard(['leaderboard.changed', 'points.changed'])],
  ['the webhook is disabled', withBoard(['leaderboard.rank_changed'], { enabled: false })],
  [
    'its filter names another board',
    withBoard(['leaderboard.rank_changed'], { filter: { leaderboardIds: ['00000000-0000-7000-8000-0000000000ff'] } }),
  ],
];

test.each(unwanted)('where %s, the records are as usual', (_name, build) =>
  withEngine(build, async (laurel) => {
    await play(laurel);
    expect(await recordedPlaces(laurel)).toEqual(WITHOUT_SCORES);
  }),
);
