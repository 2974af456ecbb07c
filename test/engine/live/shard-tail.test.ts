import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import type { LiveListener } from '../../../src/engine/live/stream-listener.ts';
import type { LiveMessage } from '../../../src/engine/live/stream-sink.ts';
import { ShardTail } from '../../../src/engine/live/shard-tail.ts';
import { TenantFeed } from '../../../src/engine/live/tenant-feed.ts';
import { systemClock } from '../../../src/clock.ts';
import { connectionOf } from '../../../src/redis/endpoints.ts';
import { LISTENED } from '../../../src/packed/call-fields.ts';
import { listenedKey, markKey } from '../../../src/redis/keys.ts';
import { type Listened, listenLive } from '../../../src/redis/live-streams.ts';
import { comparePositions } from '../../../src/redis/outbox.ts';
import { Signals } from '../../../src/redis/signals.ts';
import { startLaurel } from '../../laurel.ts';
import { STUDY_APP } from '../../study-app.ts';
import { listening, read } from './listening.ts';
import { opened } from '../../stack/opened.ts';

const SHARD = 0;

let connected: Redis;
/** The connection to the shard's server. */
let redis: Redis;
let tail: ShardTail;
let signals: Signals;
let stopListening = (): void => undefined;

const laurel = opened(() => startLaurel({ configuration: STUDY_APP }));
beforeAll(async () => {
  connected = await laurel.connect();
  redis = connectionOf(connected, SHARD);
  signals = new Signals(connected);
  await signals.start();
});
afterAll(async () => {
  await signals.close();
  tail.stop();
});

afterEach(() => void vi.restoreAllMocks());

const event = (id: string, value: number) => laurel.app.post('/v1/metrics/flips/event', { user: { id }, value });

/** Holds back the commands of a name on the tail's connection until `release` is called. */
function hold(name: string): { asked: () => boolean; release: () => void } {
  let asked = false;
  let release: () => void = () => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  const send = redis.sendCommand.bind(redis);
  vi.spyOn(redis, 'sendCommand').mockImplementation((command, ...rest) => {
    if (command.name !== name) return send(command, ...rest);
    asked = true;
    return released.then(() => send(command, ...rest));
  });
  return {
    asked: () => asked,
    release: () => {
      vi.restoreAllMocks();
      release();
    },
  };
}

/** Starts a tail with a listener, at the newest position or where it was. */
async function begin(options: {
  listener: LiveListener;
  from?: Listened;
  onGap: (feed: TenantFeed<ShardTail>, why: string) => void;
  onProblem?: (error: unknown) => void;
}): Promise<void> {
  const { listener, from, onGap, onProblem = () => undefined } = options;
  const { nowMs, last } = from ?? (await listenLive(redis, SHARD, [listener.whom]));
  const { catalogs } = laurel.services;
  const sources = { catalogs, clock: systemClock, controlShare: () => 0, onProblem };
  tail = new ShardTail(SHARD, sources, {
    redis,
    at: { ...last, asOfMs: nowMs },
    offsetMs: nowMs - performance.now(),
    mark: (await redis.get(markKey(SHARD)))!,
    onGap,
    connect: () => Promise.resolve(redis),
  });
  const feed = new TenantFeed(0, sources, [tail], () => redis);
  tail.add(feed, 0);
  feed.join(listener, { readUpTo: [last], boards: [last.outbox], moves: [] });
  stopListening();
  stopListening = signals.listen('outbox', () => tail.wake());
}

test('entries read during a leaderboard report are reported neither with it nor a second time after it', async () => {
  const boards = (await laurel.admin.get('/v1/leaderboards')).body as { id: string; key: string }[];
  const { listener, sent } = listening([boards.find(({ key }) => key === 'flips')!.id]);
  const of = (type: string): LiveMessage[] => sent.filter((message) => message.type === type);

  const problems: unknown[] = [];
  await begin({
    listener,
    onGap: (_, why) => void problems.push(why),
    onProblem: (error) => void problems.push(error),
  });
  const { asked, release } = hold('zrevrange');
  await event('ada', 5);
  await expect.poll(asked).toBe(true);
  expect(of('points.changed').length).toBe(1);
  await event('ada', 5);
  await expect.poll(() => of('points.changed').length).toBe(2);
  const later = read(of('points.changed')[1]!.id).position.parts[0]!.outbox;
  expect(of('leaderboard.changed')).toEqual([]);
  release();
  await expect.poll(() => of('leaderboard.changed').length).toBe(2);

  const positions = sent.map(({ id }) => read(id).position.parts[0]!);
  const order = positions.slice(1).map(({ outbox }, index) => comparePositions(positions[index]!.outbox, outbox) <= 0);
  expect(order).not.toContain(false);
  const first = sent.indexOf(of('leaderboard.changed')[0]!);
  const second = sent.indexOf(of('leaderboard.changed')[1]!);
  expect(comparePositions(positions[first]!.outbox, later)).toBeGreaterThanOrEqual(0);
  // Until the second report nothing claims that leaderboards are reported up to there.
  const reported = positions.slice(first, second).map(({ boards: at }) => comparePositions(at, later));
  expect(reported.filter((compared) => compared >= 0)).toEqual([]);
  expect(problems).toEqual([]);
});

test('a long leaderboard report is followed by a rest, so that reports take a third of the time', async () => {
  tail.stop();
  const boards = (await laurel.admin.get('/v1/leaderboards')).body as { id: string; key: string }[];
  const { listener, sent } = listening([boards.find(({ key }) => key === 'flips')!.id]);
  const reports = (): number => sent.filter(({ type }) => type === 'leaderboard.changed').length;
  await begin({ listener, onGap: () => undefined });
  const { asked, release } = hold('zrevrange');
  await event('ada', 5);
  await expect.poll(asked).toBe(true);
  await sleep(400);
  const releasedMs = performance.now();
  release();
  await expect.poll(reports).toBe(1);
  await event('ada', 5);
  await expect.poll(reports).toBe(2);
  expect(performance.now() - releasedMs).toBeGreaterThan(700);
});

test('a tail that continues after its entries were removed reports a gap to its listeners', async () => {
  tail.stop();
  const { listener } = listening([]);
  const gaps: [LiveListener[], string][] = [];
  const from = await listenLive(redis, SHARD, [listener.whom]);
  await event('ada', 5);
  const { last } = await listenLive(redis, SHARD, [listener.whom]);
  await redis.hset(
    listenedKey(SHARD),
    LISTENED.recentFloor,
    last.outbox.replace(/\d+$/, (n) => String(Number(n) + 1)),
  );
  await begin({
    listener,
    from,
    onGap: (feed, why) => {
      gaps.push([[...feed.listeners.all], why]);
      tail.remove(feed);
    },
  });
  await expect.poll(() => gaps).toEqual([[[listener], 'the messages after the position are no longer kept']]);
});
