import { afterAll, beforeAll, expect, test } from 'vitest';
import type { BatchMetricEvent } from '../../../src/domain/event.ts';
import { createBatchIntake } from '../../../src/engine/events/batch-intake.ts';
import { createBatchProcessor } from '../../../src/engine/events/batch-processor.ts';
import { AppError } from '../../../src/errors.ts';
import { boardKeyPrefix } from '../../../src/redis/keys.ts';
import { packedUser } from '../../../src/redis/parts.ts';
import { emptyRedis } from '../../stack/all-servers.ts';
import { onlyPart } from '../../stack/only-part.ts';
import { testStack } from '../../stack/stack.ts';
import type { CatalogBuilder } from '../catalog-builder.ts';
import { withEngineOn, type TestEngine } from './engine.ts';

// The steps of a batch are computed while Redis commits the ones before (`batch-processor.ts`).

let stack: Awaited<ReturnType<typeof testStack>>;
beforeAll(async () => {
  stack = await testStack({ database: 'none' });
});
afterAll(() => stack.close());

const withEngine = withEngineOn(() => stack.redisUrl);

/** Rules that make answers depend on earlier events: points that are spent, a guard, a leaderboard. */
function catalog(builder: CatalogBuilder): void {
  const xp = builder.system('xp');
  const earn = builder.metric('earn');
  const spend = builder.metric('spend');
  builder.metric('guarded', { maxTotal: { limit: 9, action: 'refuse' } });
  builder.trigger(xp, 'metric', { points: 3, metricId: earn.id, metricThreshold: 2 });
  builder.trigger(xp, 'metric', { points: -5, metricId: spend.id, metricThreshold: 1, blockIfOutOfPoints: true });
  builder.leaderboard('earned', 'metric', { metricId: earn.id });
}

const METRICS = ['earn', 'earn', 'spend', 'guarded'];
const EVENTS = 450;

/** Events of users in turn, some of which repeat an idempotency key of an earlier step. */
const eventsOf = (users: number): BatchMetricEvent[] =>
  Array.from({ length: EVENTS }, (_, no) => {
    const user = { id: `user ${(no * 7) % users}` };
    const key = METRICS[(no * 5 + Math.floor(no / 24)) % METRICS.length]!;
    return { key, user, value: 1 + (no % 3), ...(no % 4 === 0 && { idempotencyKey: `${no % 96}` }) };
  });

async function sendBatch(laurel: TestEngine, events: BatchMetricEvent[], onMoment?: () => Promise<void>) {
  const { redis, compiled, clock, ids, late } = laurel;
  const catalogs = { of: () => compiled(), atLeast: async () => undefined };
  const processor = createBatchProcessor({
    redis,
    catalogs,
    ids,
    late,
    lookUpKeys: () => Promise.reject(new Error('no key is old')),
    onWritten: () => undefined,
    onRefused: () => undefined,
    ...(onMoment && { onMoment }),
  });
  let processed: Promise<void> | undefined;
  const intake = createBatchIntake({
    redis,
    catalogs,
    clock,
    ids,
    withAddress: async () => new Set(),
    onAccepted: (shard) => void (processed = processor.drain(shard)),
    overloaded: () => false,
  });
  const results = await intake.accept(laurel.catalog.tenantNo, events, { wait: true });
  await processed;
  return results!.map(({ status, total, replayed, code }) => ({ status, total, replayed, code }));
}

async function sendEach(laurel: TestEngine, events: BatchMetricEvent[]) {
  const results = [];
  for (const { key, user, value, idempotencyKey } of events) {
    try {
      const answer = await laurel.event(key, user.id, value, { ...(idempotencyKey && { key: idempotencyKey }) });
      results.push({ status: answer.status, total: answer.total, replayed: answer.idempotentReplayed ?? false });
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      results.push({ status: error.status, code: error.code });
    }
  }
  return results;
}

/** The states of all users, and the leaderboard. */
async function stored({ redis, catalog: { tenantNo } }: TestEngine, users: number): Promise<unknown> {
  const names = Array.from({ length: users }, (_, no) => `user ${no}`);
  const [board] = await redis.keys(`${boardKeyPrefix(onlyPart(tenantNo))}*`);
  return {
    states: await Promise.all(names.map((name) => packedUser(redis, tenantNo, name))),
    board: await redis.zrange(board!, '0', '-1', 'WITHSCORES'),
  };
}

test.each([1, 32, 450])('a batch about %d users answers and stores the same as its events one by one', (users) =>
  withEngine(catalog, async (laurel) => {
    await laurel.ready();
    const events = eventsOf(users);
    const expected = [await sendEach(laurel, events), await stored(laurel, users)];
    await emptyRedis(laurel.redis);
    expect(await sendBatch(laurel, events)).toEqual(expected[0]);
    expect(await stored(laurel, users)).toEqual(expected[1]);
    expect(new Set((expected[0] as { status: number }[]).map(({ status }) => status)).size).toBeGreaterThan(1);
  }),
);

test('events that come between the steps count, and no event of the batch counts twice', () =>
  withEngine(catalog, async (laurel) => {
    await laurel.ready();
    const events = eventsOf(5).filter(({ key }) => key === 'earn');
    let between = 0;
    const results = await sendBatch(laurel, events, async () => {
      between += 1;
      for (let user = 0; user < 5; user += 1) await laurel.event('earn', `user ${user}`, 100);
    });
    expect(between).toBeGreaterThan(4);
    const sent = events.filter((_, index) => results[index]!.status === 201);
    for (let user = 0; user < 5; user += 1) {
      const own = sent.filter((event) => event.user.id === `user ${user}`);
      const { total } = await laurel.event('earn', `user ${user}`, 1);
      expect(total).toBe(1 + 100 * between + own.reduce((sum, { value }) => sum + value, 0));
    }
  }));

test('users are read before the step before theirs is committed', () =>
  withEngine(catalog, async (laurel) => {
    await laurel.ready();
    const calls: string[] = [];
    const monitor = await laurel.redis.monitor();
    monitor.on('monitor', (_time: string, [command, name]: string[]) => {
      const called = command?.toLowerCase() === 'fcall' ? /^laurel_(read|commit)_/.exec(name!) : null;
      if (called !== null) calls.push(called[1]!);
    });
    // The first batch loads the functions.
    await sendBatch(laurel, [{ key: 'earn', user: { id: 'ann' }, value: 1 }]);
    calls.length = 0;
    await sendBatch(laurel, eventsOf(450));
    monitor.disconnect();
    const steps = ['read commit', 'read read commit', 'read commit', 'read commit', 'commit'];
    expect(calls.join(' ')).toBe(steps.join(' '));
  }));
