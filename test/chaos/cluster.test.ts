import { join } from 'node:path';
import { expect, test } from 'vitest';
import { inFewFiles } from '../stack/in-few-files.ts';
import { longestGapMs } from './cluster/gaps.ts';
import { parseArrangement } from './cluster/redis-cluster.ts';
import { runGroupChaos } from './cluster/suite.ts';

// A short run of `npm run chaos -- --cluster 3x1` with the built code.

test('losing a master whose replica is cut off loses nothing acknowledged, and other tenants do not notice', async () => {
  const lines: string[] = [];
  const seed = Number(process.env['SEED']);
  const arrangement = { masters: 3, replicas: 1 };
  const main = join(await inFewFiles(), 'src/main.js');
  const only = 'cut the replication, then kill the master';
  const result = await runGroupChaos({ arrangement, rounds: 1, seed, only, main, say: (line) => lines.push(line) });
  expect({ lines, differences: result.findings.differences }).toEqual({ lines, differences: [] });
  expect(result.othersFailures).toBe(0);
  expect(result.acknowledged).toBeGreaterThan(100);
  expect(result.findings.stored).toBeGreaterThanOrEqual(result.acknowledged);
  // Some 5 s on a quiet machine.
  expect(result.rounds[0]!.hitGapMs).toBeLessThan(40_000);
});

test('the longest gap includes the beginning and the end of the span', () => {
  const at = (...times: number[]): { sentMs: number; atMs: number }[] => times.map((atMs) => ({ sentMs: atMs, atMs }));
  expect(longestGapMs(at(1, 12, 19, 33, 90), { beganMs: 10, endMs: 35 })).toBe(14);
  expect(longestGapMs([], { beganMs: 10, endMs: 35 })).toBe(25);
});

test('an arrangement is a number of masters with a number of replicas each', () => {
  expect(parseArrangement('3x1')).toEqual({ masters: 3, replicas: 1 });
  expect(() => parseArrangement('3')).toThrow('"3" is no arrangement like 3x1');
});
