import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { PACKAGE_ROOT } from '../../src/package-root.ts';
import { readPlacement, type PlacedShard } from '../../src/postgres/shards/placement.ts';
import { OwnRedis } from '../engine/rebuild/own-redis.ts';
import { startLaurel, type TestLaurel } from '../laurel.ts';
import { STUDY_APP } from '../study-app.ts';
import { runCli, type Ended } from './run-cli.ts';

// `npx laurel shards …` as processes of their own, beside a Laurel that runs.

let east: OwnRedis;
let west: OwnRedis;
let laurel: TestLaurel;

beforeAll(async () => {
  [east, west] = await Promise.all([OwnRedis.start(), OwnRedis.start()]);
  const redisUrl = `east=${east.url},west=${west.url}`;
  laurel = await startLaurel({ redisUrl, configuration: STUDY_APP, workers: true });
});
afterAll(async () => {
  await laurel.close();
  await Promise.all([east.close(), west.close()]);
});

const event = async (): Promise<number> =>
  (await laurel.app.post('/v1/metrics/flips/event', { user: { id: 'ada' }, value: 1 })).status;

const variables = (): Record<string, string> => ({ REDIS_URL: laurel.redisUrl, DATABASE_URL: laurel.databaseUrl });

const run = (words: string): Promise<Ended> => runCli(['shards', ...words.split(' ')], variables());

/** The shard of the only tenant, whose number is 0. */
const placed = async (): Promise<PlacedShard> => (await readPlacement(laurel.pool))[0]!;

test('lists where shards are, moves one, and says so', async () => {
  expect(await run('list')).toEqual({
    code: 0,
    out:
      'east: 128 shards\n  numbers: 0 to 254 in steps of 2\n  with tenants: 0\n' +
      'west: 128 shards\n  numbers: 1 to 255 in steps of 2\n  with tenants: none\n' +
      'A tenant is on the shard that its number leaves when it is divided by 256.\n',
    err: '',
  });
  const moved = await run('move 0 --to west');
  expect(moved.out).toMatch(/^\nShard 0 is on "west", and no more on "east"\. It was shut for \d+\.\d s\.\n$/);
  expect(moved.code).toBe(0);
  await expect.poll(event).toBe(201);
  expect((await run('list')).out).toContain(
    'east: 127 shards\n  numbers: 2 to 254 in steps of 2\n  with tenants: none\n' +
      'west: 129 shards\n  numbers: 0, 1 to 255 in steps of 2\n  with tenants: 0\n',
  );
  expect(await run('move 0 2 --to west')).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^Shard 0 is on "west" already\.\n\nShard 2 is on "west", and no more on "east"\./),
  });
  expect((await run('list')).out).toContain('west: 130 shards\n  numbers: 0 to 3, 5 to 255 in steps of 2\n');
  expect(await run('move 0 --to north')).toEqual({
    code: 2,
    out: '',
    err: 'REDIS_URL does not name a Redis "north"; it names "east", "west". Nothing was moved.\n',
  });
  expect((await run('move 256 --to west')).err).toContain('It must be a whole number from 0 to 255.');
});

test('one that is killed while the shard is shut is as if it had not been', async () => {
  const [here, there] = (await placed()).endpoint === 'east' ? ['east', 'west'] : ['west', 'east'];
  const moving = spawn(join(PACKAGE_ROOT, 'src/cli/laurel.mjs'), ['shards', 'move', '0', '--to', there], {
    cwd: PACKAGE_ROOT,
    env: { ...process.env, ...variables() },
    stdio: 'ignore',
  });
  const ended = once(moving, 'exit');
  await expect.poll(async () => (await placed()).movingTo, { interval: 5 }).toBe(there);
  moving.kill('SIGKILL');
  await ended;
  // Killed before it took the mark away, events are still accepted until that is noticed; the outbox keeps them.
  await expect.poll(placed).toMatchObject({ endpoint: here, movingTo: null });
  await expect.poll(event).toBe(201);

  expect((await run(`move 0 --to ${there}`)).code).toBe(0);
  await expect.poll(event).toBe(201);
  expect(await placed()).toMatchObject({ endpoint: there, movingTo: null, leftOn: null });
});
