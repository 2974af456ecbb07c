import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { withTimeLimit } from '../../src/pacing/time-limit.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

test('a time limit fires although garbage is collected meanwhile', async () => {
  const limited = AbortSignal.any([withTimeLimit(new AbortController().signal, 50), new AbortController().signal]);
  collectGarbage();
  await sleep(20);
  collectGarbage();
  await sleep(200);
  expect(limited.aborted).toBe(true);
});

test('a time limit ends with the other signal', () => {
  const ending = new AbortController();
  const limited = withTimeLimit(ending.signal, 60_000);
  expect(limited.aborted).toBe(false);
  ending.abort();
  expect(limited.aborted).toBe(true);
  expect(withTimeLimit(ending.signal, 60_000).aborted).toBe(true);
});
