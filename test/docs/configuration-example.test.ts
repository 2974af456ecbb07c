import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { PACKAGE_ROOT } from '../../src/package-root.ts';
import { startLaurel } from '../laurel.ts';

test('accepts the whole example of docs/configuration.md; applying it twice changes nothing', async () => {
  const text = readFileSync(join(PACKAGE_ROOT, 'docs/configuration.md'), 'utf8');
  const example: unknown = JSON.parse(/^```json\n([^]*?)^```/m.exec(text)![1]!);
  const laurel = await startLaurel();
  try {
    const first = await laurel.admin.put('/v1/configuration', example);
    expect(first).toMatchObject({ status: 200 });
    expect(first.body.changes.length).toBeGreaterThan(10);
    const again = await laurel.admin.put('/v1/configuration', example);
    expect(again.body.changes).toEqual([]);
  } finally {
    await laurel.close();
  }
});
