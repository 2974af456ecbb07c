import type { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { CALL_WORK } from '../../../src/catalog/event-work.ts';
import { EventQueues, type Part } from '../../../src/engine/events/event-batcher.ts';
import { onlyPart } from '../../stack/only-part.ts';

const WORK = CALL_WORK / 200;

const many = <T>(count: number, make: (n: number) => T): T[] => Array.from({ length: count }, (_, n) => make(n));

/** Queues whose commands are answered when the test says so. */
function queued() {
  // Only tells servers apart: the test answers the commands.
  const redis = {} as Redis;
  const parts = many(10, onlyPart);
  const sent: { users: string[]; answer: () => void }[] = [];
  const queues: EventQueues = new EventQueues(
    redis,
    (_, sentParts: readonly Part[]) =>
      new Promise((resolve) => {
        const answer = (): void => {
          for (const part of sentParts) queues.finished(part);
          resolve();
        };
        sent.push({ users: sentParts.flatMap(({ batch }) => batch.map(({ event }) => event.userId)), answer });
      }),
  );
  const add = (userId: string, { tenantNo = 0, work = WORK, isGone = false } = {}): void =>
    queues.append(parts[tenantNo]!, {
      event: { userId, plan: { work } } as never,
      from: { isGone },
      resolve: () => undefined,
      reject: () => undefined,
    });
  /** The users of each command that was sent since the last call. */
  let seen = 0;
  const commands = async (): Promise<string[][]> => {
    for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    const users = sent.slice(seen).map((command) => command.users);
    seen = sent.length;
    return users;
  };
  return { add, commands, answer: (nth: number) => sent[nth]!.answer() };
}

const names = (count: number, name = 'user'): string[] => many(count, (n) => `${name} ${n}`);

test('a command takes fewer events if each is much work', async () => {
  const { add, commands, answer } = queued();
  for (const user of names(10)) add(user, { work: CALL_WORK / 4 });
  const sizes: number[] = [];
  for (let nth = 0; nth < 3; nth += 1) {
    sizes.push(...(await commands()).map((users) => users.length));
    answer(nth);
  }
  expect(sizes).toEqual([4, 4, 2]);
});

test('while a command is in flight, eight events are sent beside it, fewer wait, and no third command is sent', async () => {
  const { add, commands, answer } = queued();
  add('first');
  expect(await commands()).toEqual([['first']]);
  const seven = names(7);
  for (const user of seven) add(user);
  expect(await commands()).toEqual([]);
  add('eighth');
  expect(await commands()).toEqual([[...seven, 'eighth']]);
  const more = names(20, 'more');
  for (const user of more) add(user);
  expect(await commands()).toEqual([]);
  answer(1);
  expect(await commands()).toEqual([more]);
  add('last');
  answer(0);
  answer(2);
  expect(await commands()).toEqual([['last']]);
});

test('events of several tenants are counted together', async () => {
  const { add, commands } = queued();
  add('first');
  expect(await commands()).toEqual([['first']]);
  for (const [tenantNo, user] of names(8).entries()) add(user, { tenantNo });
  expect(await commands()).toEqual([names(8)]);
});

test('events of a user with events in flight wait in their order, and those of others overtake them', async () => {
  const { add, commands, answer } = queued();
  add('ada');
  expect(await commands()).toEqual([['ada']]);
  for (let n = 0; n < 20; n += 1) add('ada');
  expect(await commands()).toEqual([]);
  for (const user of names(9)) add(user);
  expect(await commands()).toEqual([names(9)]);
  answer(1);
  expect(await commands()).toEqual([]);
  answer(0);
  expect(await commands()).toEqual([many(20, () => 'ada')]);
});

test('events whose clients have gone are dropped, also in front of many others', async () => {
  const { add, commands } = queued();
  for (let n = 0; n < 2_000; n += 1) add('gone', { isGone: true });
  add('ada');
  for (let turns = 0; turns < 10; turns += 1) {
    const sent = await commands();
    if (sent.length > 0) return expect(sent).toEqual([['ada']]);
  }
  expect.unreachable('The event of ada is not sent.');
});
