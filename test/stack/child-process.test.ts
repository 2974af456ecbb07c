import { fork, type ChildProcess } from 'node:child_process';
import { expect, test } from 'vitest';
import { endChild, exitOf, messageOf } from './child-process.ts';

/** A process that runs this code. */
const running = (code: string): ChildProcess => fork('unused', { execArgv: ['--input-type=module', '-e', code] });

test('how a child ended is known before and after its end, and after it was killed', async () => {
  const child = running('process.exit(3)');
  expect(await exitOf(child)).toEqual([3, null]);
  expect(await exitOf(child)).toEqual([3, null]);
  expect(await endChild(child, 'SIGKILL')).toEqual([3, null]);
  expect(await endChild(running('setInterval(() => {}, 1000)'), 'SIGKILL')).toEqual([null, 'SIGKILL']);
});

test('messages are kept while nothing waits for them; a child that ends without one is no endless wait', async () => {
  const child = running("process.send('first'); process.send('second'); process.on('message', () => process.exit(0))");
  expect(await messageOf(child)).toBe('first');
  expect(await messageOf(child)).toBe('second');
  const next = messageOf(child);
  child.send('end');
  await expect(next).rejects.toThrow('ended without a message');
  await expect(messageOf(child)).rejects.toThrow('ended without a message');
});
