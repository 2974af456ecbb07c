import { expect, test } from 'vitest';
import { RecentStates } from '../../../src/engine/changes/recent-states.ts';
import { onlyPart } from '../../stack/only-part.ts';
import { testStack } from '../../stack/stack.ts';
import type { CatalogBuilder } from '../catalog-builder.ts';
import { TestEngine, withEngineOn } from './engine.ts';
import { opened } from '../../stack/opened.ts';

// A user whom a process changed last is not read again (`RecentStates`).

const stack = opened(() => testStack({ database: 'none' }));

const withEngine = withEngineOn(() => stack.redisUrl);

const catalog = (builder: CatalogBuilder): void => {
  builder.metric('work');
};

/** The number of `read` calls that some work makes. */
async function reads(laurel: TestEngine, work: () => Promise<unknown>): Promise<number> {
  const calls: string[] = [];
  const monitor = await laurel.redis.monitor();
  monitor.on('monitor', (_time: string, args: string[]) => {
    if (args[0]?.toLowerCase() === 'fcall') calls.push(args[1]!);
  });
  try {
    await work();
    // The monitor has seen everything before this.
    const seen = new Promise((resolve) => {
      monitor.on('monitor', (_time: string, [, word]: string[]) => void (word === 'end of work' && resolve(null)));
    });
    await laurel.redis.echo('end of work');
    await seen;
  } finally {
    monitor.disconnect();
  }
  return calls.filter((name) => name.startsWith('laurel_read_')).length;
}

const BOTH = 'as one process, which sees what the other wrote only through Redis';

/** Another process on the same Redis, with the same catalog and users. */
async function withAnother(laurel: TestEngine, run: (other: TestEngine) => Promise<void>): Promise<void> {
  const other = new TestEngine(stack.redisUrl, laurel.catalog);
  try {
    await run(other);
  } finally {
    await other.redis.quit();
  }
}

test('the second event of a user reads nothing', () =>
  withEngine(catalog, async (laurel) => {
    // Redis knows the functions after their first call.
    await laurel.event('work', 'bob', 1);
    expect(await reads(laurel, () => laurel.event('work', 'ann', 1))).toBe(1);
    expect(await reads(laurel, () => laurel.event('work', 'ann', 2, { key: 'second' }))).toBe(0);
    expect(await laurel.event('work', 'ann', 4)).toMatchObject({ total: 7 });
  }));

test(`two processes in turn count ${BOTH}`, () =>
  withEngine(catalog, (laurel) =>
    withAnother(laurel, async (other) => {
      for (let no = 1; no <= 40; no += 1)
        expect(await (no % 2 === 0 ? other : laurel).event('work', 'ann', 1)).toMatchObject({ total: no });
      // Most states were outdated, so users are read.
      expect(await reads(laurel, () => laurel.event('work', 'ann', 1))).toBe(1);
    }),
  ));

test('a key that a recalled user has used answers as the first time', () =>
  withEngine(catalog, async (laurel) => {
    const first = await laurel.event('work', 'ann', 1, { key: 'once' });
    expect(await laurel.event('work', 'ann', 2)).toMatchObject({ total: 3 });
    const again = await laurel.event('work', 'ann', 1, { key: 'once' });
    expect(again).toMatchObject({ eventId: first.eventId, idempotentReplayed: true, total: 3 });
    expect(await laurel.event('work', 'ann', 4)).toMatchObject({ total: 7 });
  }));

test('a key that another process has used answers as the first time', () =>
  withEngine(catalog, (laurel) =>
    withAnother(laurel, async (other) => {
      await laurel.event('work', 'ann', 1);
      const first = await other.event('work', 'ann', 2, { key: 'once' });
      const again = await laurel.event('work', 'ann', 2, { key: 'once' });
      expect(again).toMatchObject({ eventId: first.eventId, idempotentReplayed: true, total: 3 });
    }),
  ));

test('an event is not refused because of an outdated state', () =>
  withEngine(catalog, (laurel) =>
    withAnother(laurel, async (other) => {
      const most = 1e15 - 1;
      await laurel.event('work', 'ann', most - 1);
      await other.event('work', 'ann', -5);
      expect(await laurel.event('work', 'ann', 3)).toMatchObject({ status: 201, total: most - 3 });
    }),
  ));

test('a state that is larger than its share replaces the oldest ones', () => {
  const recent = new RecentStates();
  const part = onlyPart(1);
  const large = Buffer.alloc(32 * 1024, 1);
  for (let no = 0; no < 1_100; no += 1) recent.note(part, `user ${no}`, large);
  expect(recent.recall(part, 'user 0')).toBeNull();
  expect(recent.recall(part, 'user 1099')).toEqual(large);
  recent.note(part, 'user 1099', null);
  expect(recent.recall(part, 'user 1099')).toBeNull();
});

test('a state is forgotten after ten minutes', () => {
  const recent = new RecentStates();
  const part = onlyPart(1);
  recent.note(part, 'ann', Buffer.from('state'), 0);
  recent.note(part, 'bob', Buffer.from('state'), 600_000);
  expect(recent.recall(part, 'ann')).not.toBeNull();
  recent.note(part, 'eve', Buffer.from('state'), 600_001);
  expect(recent.recall(part, 'ann')).toBeNull();
  expect(recent.recall(part, 'bob')).not.toBeNull();
});

test('states are used only while most of them are current', () => {
  const recent = new RecentStates();
  const part = onlyPart(1);
  const [state, other] = [Buffer.from('state'), Buffer.from('other')];
  recent.note(part, 'ann', state);
  expect(recent.recall(part, 'ann')).toEqual(state);
  recent.compare(part, 'ann', other);
  expect(recent.recall(part, 'ann')).toBeNull();
  for (let no = 0; no < 20; no += 1) recent.compare(part, 'ann', state);
  expect(recent.recall(part, 'ann')).toEqual(state);
});
