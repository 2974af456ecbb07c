import { join } from 'node:path';
import { expect, test } from 'vitest';
import { inFewFiles } from '../stack/in-few-files.ts';
import { runChaos, type ChaosResult } from './suite.ts';

// Short runs of `npm run chaos` with the built code.
async function run(rounds: number, only?: string): Promise<ChaosResult> {
  const lines: string[] = [];
  const seed = Number(process.env['SEED']);
  const main = join(await inFewFiles(), 'src/main.js');
  const result = await runChaos({ rounds, seed, main, ...(only && { only }), say: (line) => lines.push(line) });
  expect({ lines, differences: result.findings.differences }).toEqual({ lines, differences: [] });
  expect(result.acknowledged).toBeGreaterThan(100);
  expect(result.findings.messages).toBeGreaterThan(0);
  expect(result.findings.stored).toBeGreaterThanOrEqual(result.acknowledged);
  return result;
}

test('faults under load lose nothing, duplicate nothing, and leave everything consistent', async () => {
  expect((await run(3)).rounds).toHaveLength(3);
});

test("under load sets aside each damaged entry once, and no client's event", async () => {
  expect((await run(2, 'damaged entries')).rounds).toHaveLength(2);
});
