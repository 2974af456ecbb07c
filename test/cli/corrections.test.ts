import { expect, test } from 'vitest';
import type { Configuration } from '../../src/domain/configuration.ts';
import { startLaurel } from '../laurel.ts';
import { runAdminCli, type Ended } from './run-cli.ts';
import { opened } from '../stack/opened.ts';

// `laurel events reverse` and `laurel recompute`, each in its own process.
const configuration = (points: number): Configuration => ({
  metrics: [{ key: 'm', name: 'M' }],
  pointsSystems: [
    {
      key: 'xp',
      name: 'XP',
      triggers: [{ type: 'metric', metricKey: 'm', metricThreshold: 1, points, status: 'active' }],
    },
  ],
});

const laurel = opened(() => startLaurel({ configuration: configuration(1), workers: true }));

const cli = (...words: string[]): Promise<Ended> => runAdminCli(laurel, words);
const total = async (): Promise<number> => (await laurel.app.get('/v1/users/ada/points/xp')).body.total;
const event = async (value: number, key: string): Promise<string> => {
  const headers = { 'Idempotency-Key': key };
  const { body } = await laurel.app.post('/v1/metrics/m/event', { user: { id: 'ada' }, value }, { headers });
  return body.eventId;
};

test('events reverse: by ID or by keys, after a preview', async () => {
  const id = await event(3, 'a');
  await event(4, 'b');
  const dry = await cli('events', 'reverse', id, '--dry-run');
  expect(dry.code).toBe(0);
  expect(dry.out).toContain('Nothing is changed');
  expect(dry.out).toContain('xp -3 → 4');
  expect(await total()).toBe(7);
  const done = JSON.parse((await cli('events', 'reverse', '--user', 'ada', '--keys', 'a', '--json')).out);
  expect(done).toMatchObject({ reversals: [{ eventId: id, status: 'reversed' }], issues: [] });
  expect(await total()).toBe(4);
  const unknown = await cli('events', 'reverse', '--user', 'ada', '--keys', 'c');
  expect([unknown.code, unknown.out]).toEqual([2, expect.stringContaining('c: The user has no event')]);
  expect((await cli('events', 'reverse')).code).toBe(2);
});

test('recompute: shows a plan, applies it and reverts it', async () => {
  await laurel.admin.put('/v1/configuration', configuration(2));
  const started = await cli('recompute', 'start', '--what', 'points');
  expect(started.code).toBe(0);
  expect(started.err).toMatch(/^planned: 1 of 1 /m);
  expect(started.out).toContain('xp 4 → 8');
  expect(started.out).toContain(
    '1 user: 1 changed (gaining: 1, losing: 0), 0 unchanged, 0 not planned because of an error.',
  );
  const id = /recompute apply (\S+)/.exec(started.out)![1]!;
  expect(await total()).toBe(4);
  expect((await cli('recompute', 'apply', id)).out).toContain('Applied: 1, reverted: 0, left out: 0.');
  expect(await total()).toBe(8);
  expect((await cli('recompute', 'list')).out).toMatch(new RegExp(`${id} +applied +points`));
  expect(JSON.parse((await cli('recompute', 'show', id, '--json')).out)).toMatchObject({ id, status: 'applied' });
  expect((await cli('recompute', 'revert', id)).out).toContain('reverted: 1');
  expect(await total()).toBe(4);
  expect(await cli('recompute', 'cancel', id)).toMatchObject({
    code: 2,
    err: expect.stringContaining('cannot be cancelled'),
  });
});
