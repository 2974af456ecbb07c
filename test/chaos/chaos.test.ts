import { expect, test } from 'vitest';
import { runChaos } from './suite.ts';

// A short run of `npm run chaos`, which see; it runs the built code.
test('faults under load: nothing is lost, nothing stands twice, all agree', async () => {
  const lines: string[] = [];
  const result = await runChaos({ rounds: 3, seed: Number(process.env['SEED']), say: (line) => lines.push(line) });
  expect({ lines, differences: result.findings.differences }).toEqual({ lines, differences: [] });
  expect(result.rounds).toHaveLength(3);
  expect(result.acknowledged).toBeGreaterThan(100);
  expect(result.findings.stored).toBeGreaterThanOrEqual(result.acknowledged);
});
