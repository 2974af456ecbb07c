import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { DEMO } from '../../src/catalog/demo.ts';
import { PACKAGE_ROOT } from '../../src/package-root.ts';
import { startLaurel } from '../laurel.ts';

const run = promisify(execFile);

test('the example of docs/testing.md passes, as a reader would run it', async () => {
  const laurel = await startLaurel({ configuration: DEMO, workers: true, testClock: true });
  onTestFinished(() => laurel.close());
  const folder = await mkdtemp(join(tmpdir(), 'laurel-testing-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const page = await readFile(join(PACKAGE_ROOT, 'docs/testing.md'), 'utf8');
  const [, example] = /^```js\n([^]*?)^```/m.exec(page)!;
  const file = join(folder, 'streak.test.mjs');
  await writeFile(file, example!);
  const env = { ...process.env, LAUREL_KEY: laurel.adminKey, API_URL: laurel.appUrl, ADMIN_URL: laurel.adminUrl };
  const { stdout } = await run(process.execPath, ['--test', '--test-reporter', 'tap', file], { env });
  expect(stdout).toMatch(/^# pass 1$/m);
});
