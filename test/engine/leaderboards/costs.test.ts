import { afterEach, expect, test, vi } from 'vitest';
import type { Leaderboard } from '../../../src/domain/catalog.ts';
import { dayOf } from '../../../src/domain/periods.ts';
import { groupName } from '../../../src/domain/user.ts';
import type { KeptRuns } from '../../../src/engine/leaderboards/kept-runs.ts';
import { NO_PAST } from './no-past.ts';
import { teamScores } from '../../../src/engine/leaderboards/teams.ts';
import { createUserDirectory } from '../../../src/engine/users/user-directory.ts';
import { TEAM_SUM } from '../../../src/packed/call-fields.ts';
import { teamsKey } from '../../../src/redis/keys.ts';
import { testDatabase } from '../../postgres/database.ts';
import { onlyPart } from '../../stack/only-part.ts';
import { withReads, type ReadFixture } from '../read-fixture.ts';
import { opened } from '../../stack/opened.ts';

const database = opened(() => testDatabase());
afterEach(() => void vi.restoreAllMocks());

const ATTRIBUTES = Array.from({ length: 12 }, (_, at) => `note-${at}`);

/** A leaderboard `board` of the metric `m`, with user attributes for large states, a team and a country. */
const withBoard = (
  fields: Partial<Leaderboard>,
  run: (reads: ReadFixture) => Promise<void>,
  { past, isGrouped = false }: { past?: KeptRuns; isGrouped?: boolean } = {},
): Promise<void> =>
  withReads(
    database,
    (b) => {
      for (const key of ATTRIBUTES) b.attribute(key, 'user');
      const teamAttributeId = b.attribute('team', 'user').id;
      const land = b.attribute('land', 'user').id;
      const breakdownAttributes = isGrouped ? [land] : [];
      const more = isGrouped ? {} : { teamAttributeId, teamsBy: 'sum' as const, teamMinMembers: 1 };
      b.leaderboard('board', 'metric', { metricId: b.metric('m').id, breakdownAttributes, ...more, ...fields });
    },
    run,
    past,
  );

/** The commands that Redis gets meanwhile, and the bytes that it sends. */
async function costOf(reads: ReadFixture, work: () => Promise<unknown>): Promise<{ mgets: number[]; bytes: number }> {
  const { redis } = reads.laurel;
  const sentBytes = async (): Promise<number> =>
    Number(/total_net_output_bytes:(\d+)/.exec(await redis.info('stats'))![1]);
  const before = await sentBytes();
  await work();
  const bytes = (await sentBytes()) - before;
  const monitor = await redis.monitor();
  const mgets: number[] = [];
  monitor.on('monitor', (_time: string, [name, ...keys]: string[]) => {
    if (name!.toLowerCase() === 'mget') mgets.push(keys.length);
  });
  await work();
  await redis.echo('end');
  await expect.poll(() => redis.ping()).toBe('PONG');
  monitor.disconnect();
  return { mgets, bytes };
}

const USERS = Array.from({ length: 200 }, (_, no) => `user-${no}`);
const STATE_BYTES = 12_000;

async function largeUsers(reads: ReadFixture): Promise<void> {
  const attributes = Object.fromEntries(ATTRIBUTES.map((key) => [key, 'x'.repeat(STATE_BYTES / ATTRIBUTES.length)]));
  for (const [no, id] of USERS.entries()) {
    const event = { user: { id, name: `Name ${no}`, attributes }, value: no + 1 };
    await reads.laurel.engine.record(0, 'm', { event, idempotencyKey: null });
  }
}

test('teams are sorted once for all requests, and compared without buffers', () =>
  withBoard({}, async (reads) => {
    const teams = 2_000;
    const board = reads.compiled.leaderboards.get('board')!;
    const key = teamsKey(onlyPart(0), { boardNo: board.no, runDay: dayOf(board.start) });
    const fields = Array.from({ length: teams }, (_, no) => [
      [`${TEAM_SUM.whole}team ${no}`, '5'],
      [`${TEAM_SUM.members}team ${no}`, '1'],
    ]);
    await reads.laurel.redis.hset(key, Object.fromEntries(fields.flat()));
    const sorts = [vi.spyOn(Array.prototype, 'sort'), vi.spyOn(Array.prototype, 'toSorted')];
    const compared = vi.spyOn(Buffer, 'compare');
    const page = { offset: 0, limit: 2 };
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => reads.leaderboards.teams(reads.compiled, 'board', page)),
    );
    const sorted = sorts
      .flatMap(({ mock }) => mock.contexts)
      .reduce<number>((sum, items) => sum + (items as unknown[]).length, 0);
    expect(compared).not.toHaveBeenCalled();
    expect(sorted).toBeLessThan(2 * teams);
    for (const { rankings } of answers)
      expect(rankings).toEqual([
        { team: 'team 999', rank: 1, value: 5, members: 1 },
        { team: 'team 998', rank: 1, value: 5, members: 1 },
      ]);
  }));

test('the sums of a team are from one moment, also if all teams change while many are read', () =>
  withBoard({}, async (reads) => {
    const { redis } = reads.laurel;
    const board = reads.compiled.leaderboards.get('board')!;
    const run = { tenantNo: 0, boardNo: board.no, runDay: dayOf(board.start) };
    const teams = Array.from({ length: 7_000 }, (_, no) => `team ${no}`);
    // Each team has 1, as a whole unit or as a million millionths.
    const write = (client: typeof redis, [whole, micros]: readonly [number, number]): Promise<number> =>
      client.hset(
        teamsKey(onlyPart(0), run),
        ...teams.flatMap((team) => [TEAM_SUM.whole + team, whole, TEAM_SUM.micros + team, micros]),
        ...teams.flatMap((team) => [TEAM_SUM.members + team, 1]),
      );
    await write(redis, [1, 0]);
    const writer = redis.duplicate();
    let isRead = false;
    async function goOnWriting(): Promise<void> {
      for (let n = 0; !isRead; n += 1) await write(writer, n % 2 === 0 ? [0, 1_000_000] : [1, 0]);
    }
    const written = goOnWriting();
    try {
      for (let n = 0; n < 3; n += 1) {
        const scores = await teamScores(redis, board, run);
        expect(scores).toHaveLength(teams.length);
        expect(new Set(scores.map(({ score }) => score))).toEqual(new Set([1]));
      }
    } finally {
      isRead = true;
      await written;
      writer.disconnect();
    }
  }));

test('given users are ranked by their scores alone: large states are read for the names on the page', () =>
  withBoard({}, async (reads) => {
    await largeUsers(reads);
    const among = (limit: number) => reads.leaderboards.among(reads.compiled, 'board', { userIds: USERS, limit });
    const page = await costOf(reads, () => among(3));
    expect(page.bytes).toBeLessThan(10 * STATE_BYTES);
    expect(page.mgets).toEqual([3]);
    const { rankings } = await among(3);
    expect(rankings[0]).toEqual({ userId: 'user-199', userName: 'Name 199', rank: 1, value: 200 });
    // All names need all states, which are read in slices.
    const { mgets } = await costOf(reads, () => among(USERS.length));
    expect(mgets.reduce((sum, keys) => sum + keys)).toBe(USERS.length);
    expect(Math.max(...mgets)).toBeLessThanOrEqual(32);
  }));

test('a filter of users reads large states in slices', () =>
  withBoard({}, async (reads) => {
    await largeUsers(reads);
    await reads.persist();
    const { redis, clock } = reads.laurel;
    const caughtUp = { tenant: async () => undefined };
    const directory = createUserDirectory({ redis, pool: reads.pool, caughtUp, controlShare: () => 0, clock });
    const filter = { userAttributes: [`note-0:${'x'.repeat(STATE_BYTES / ATTRIBUTES.length)}`] };
    const read = () => directory.filtered(reads.compiled, filter, 1_000);
    const { mgets } = await costOf(reads, read);
    expect((await read()).users).toHaveLength(USERS.length);
    expect(Math.max(...mgets)).toBeLessThanOrEqual(32);
  }));

test('a user without a value of the breakdown is in no group of a run under way, whatever earlier results say', async () => {
  const asked: string[] = [];
  const past: KeptRuns = {
    ...NO_PAST,
    groupOf: async (_run, userId) => {
      asked.push(userId);
      return groupName(['de']);
    },
  };
  await withBoard(
    {},
    async (reads) => {
      await reads.laurel.event('m', { id: 'a', attributes: { land: 'de' } }, 5);
      await reads.laurel.event('m', 'landless', 9);
      const own = async (userId: string) => {
        const { rank, participants } = await reads.leaderboards.ofUser(reads.compiled, userId, {
          key: 'board',
          numEvents: 0,
        });
        return { rank, participants };
      };
      expect(await own('landless')).toEqual({ rank: null, participants: null });
      expect(await own('a')).toEqual({ rank: 1, participants: 1 });
      expect(asked).toEqual([]);
    },
    { past, isGrouped: true },
  );
});
