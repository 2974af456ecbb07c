import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startLaurel } from '../laurel.ts';
import { STUDY_APP } from '../study-app.ts';
import { runAdminCli, runCli } from './run-cli.ts';
import { opened } from '../stack/opened.ts';

let folder: string;
const laurel = opened(() => startLaurel({ configuration: STUDY_APP, workers: true }));
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'laurel-send-'));
});
afterEach(() => rm(folder, { recursive: true }));

const send = (...words: string[]) => runAdminCli(laurel, ['send', ...words]);
const total = async (user: string): Promise<number | undefined> =>
  (await laurel.app.get(`/v1/users/${user}/metrics/flips`)).body.current;
const flip = (user: string, value = 1, more: object = {}) =>
  JSON.stringify({ key: 'flips', user: { id: user }, value, ...more });
async function fileOf(name: string, lines: readonly string[]): Promise<string> {
  const file = join(folder, name);
  await writeFile(file, `${lines.join('\n')}\n`);
  return file;
}

test('one event', async () => {
  const sent = await send('--metric', 'flips', '--user', 'one', '--value', '2.5', '--attribute', 'deck=verbs');
  expect(sent).toMatchObject({ code: 0, out: '1 event: 1 processed.\n' });
  expect(await total('one')).toBe(2.5);
  expect(await send('--metric', 'flips', '--user', 'one')).toMatchObject({ code: 2, out: '' });
  expect(await send('--user', 'one', '--value', '1')).toMatchObject({
    code: 2,
    err: expect.stringContaining('need --metric'),
  });
  const unknown = await send('--metric', 'flps', '--user', 'one', '--value', '1');
  expect(unknown).toMatchObject({ code: 1, out: expect.stringContaining("no metric with the key 'flps'") });
});

test('a file of more than one batch: reports bad lines, and the same command again counts nothing twice', async () => {
  const good = Array.from({ length: 2_300 }, (_, n) => flip(`many${n % 3}`));
  const bad = [flip('many0', 1, { key: 'nope' }), 'no JSON', '{"key":"flips","user":{"id":"many0"}}'];
  const file = await fileOf('events.jsonl', [...good.slice(0, 1_500), ...bad, ...good.slice(1_500)]);
  const first = JSON.parse((await send(file, '--json')).out);
  expect(first).toMatchObject({ events: 2_303, processed: 2_300, replayed: 0, refused: 3 });
  expect(first.refusals.map(({ lines }: { lines: number[] }) => lines)).toEqual([[1_502], [1_501], [1_503]]);
  expect(await total('many0')).toBe(767);
  await writeFile(file, `${flip('many1')}\n`, { flag: 'a' });
  const again = await send(file);
  expect(again.code).toBe(1);
  expect(again.out).toContain('2304 events: 1 processed, 2300 replayed, 3 refused.\n');
  expect(again.out).toMatch(/^The line is not a JSON object +1 +1502$/m);
  expect(await total('many0')).toBe(767);
});

test('standard input with given idempotency keys; a different event with a used key is a conflict', async () => {
  const variables = { ADMIN_URL: laurel.adminUrl, ADMIN_API_KEY: laurel.adminKey };
  const run = async (lines: string[]): Promise<string> =>
    (await runCli(['send', '--name', 'piped'], variables, lines.join('\n'))).out;
  expect(await run([flip('pipe', 1, { idempotencyKey: 'own' }), flip('pipe', 4)])).toBe('2 events: 2 processed.\n');
  expect(await run([flip('pipe', 2, { idempotencyKey: 'own' }), flip('pipe', 4)])).toBe(
    '2 events: 2 replayed, 1 conflict.\n',
  );
  expect(await total('pipe')).toBe(5);
});
