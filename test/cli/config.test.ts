import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Configuration } from '../../src/domain/configuration.ts';
import { freePort } from '../../src/local/free-ports.ts';
import { startLaurel, type TestLaurel } from '../laurel.ts';
import { STUDY_APP } from '../study-app.ts';
import { runAdminCli, runCli, type Ended } from './run-cli.ts';

// Runs `npx laurel` in its own process, against a Laurel over HTTP.
let laurel: TestLaurel;
let folder: string;
let file: string;

beforeAll(async () => {
  laurel = await startLaurel({ configuration: STUDY_APP });
  folder = await mkdtemp(join(tmpdir(), 'laurel-test-cli-'));
  file = join(folder, 'laurel.json');
});
beforeEach(async () => {
  await laurel.admin.put('/v1/configuration?demo=keep', STUDY_APP);
});
afterAll(async () => {
  await laurel.close();
  await rm(folder, { recursive: true });
});

type Variables = Record<string, string | undefined>;

/** Runs `laurel config <words>` with Laurel's address in the environment. */
const config = (words: string[], variables: Variables = {}): Promise<Ended> => run(['config', ...words], variables);

const run = (words: string[], variables?: Variables): Promise<Ended> => runAdminCli(laurel, words, variables);

const pulled = async (): Promise<Required<Configuration>> => {
  await config(['pull', file]);
  return JSON.parse(await readFile(file, 'utf8')) as Required<Configuration>;
};
const write = (document: unknown): Promise<void> => writeFile(file, JSON.stringify(document));

test('pull always writes the same document; pushing it changes nothing', async () => {
  expect(await config(['pull', file])).toEqual({
    code: 0,
    out: expect.stringMatching(/^Wrote .*: .*metrics \d+, achievements \d+.*\.\n$/),
    err: '',
  });
  const text = await readFile(file, 'utf8');
  expect(text).toBe(`${JSON.stringify((await laurel.admin.get('/v1/configuration')).body, null, 2)}\n`);
  expect(await config(['pull'])).toEqual({ code: 0, out: text, err: '' });
  expect(await readdir(folder)).toEqual(['laurel.json']);
  expect(await config(['diff', file])).toEqual({ code: 0, out: 'No differences.\n', err: '' });
  expect(await config(['push', file])).toEqual({ code: 0, out: 'No differences.\n', err: '' });
});

test('`-` is standard output and standard input, so that documents can go through a pipe', async () => {
  const variables = { ADMIN_URL: laurel.adminUrl, ADMIN_API_KEY: laurel.adminKey };
  const piped = (words: string[], input: string): Promise<Ended> => runCli(['config', ...words], variables, input);
  const { out: text } = await config(['pull', '-']);
  expect(text).toBe((await config(['pull'])).out);
  const named = text.replace('"Flashcards flipped"', '"Cards"');
  expect(await piped(['diff', '-'], named)).toMatchObject({ code: 1, out: expect.stringContaining('→ "Cards"') });
  expect(await piped(['push', '-'], named)).toMatchObject({ code: 0, err: '' });
  expect((await config(['pull'])).out).toBe(named);
  expect(await piped(['push', '-'], '{\n')).toEqual({
    code: 2,
    out: '',
    err: expect.stringMatching(/^Standard input:2 is not valid JSON: /),
  });
});

test('diff prints what would be created, changed (with both values) and archived, and changes nothing; push applies it', async () => {
  const document = await pulled();
  const [flips, minutes] = document.metrics;
  const [system] = document.pointsSystems;
  await write({
    ...document,
    metrics: [{ ...flips, name: 'Cards', units: 'cards' }, minutes, { key: 'pages', name: 'Pages' }],
    pointsSystems: [{ ...system, maxPoints: 500, levels: [] }],
    achievements: document.achievements.map((one) => (one.key === 'ten' ? { ...one, metricKey: 'minutes' } : one)),
    streaks: { ...document.streaks, frequency: 'weekly' },
  });
  const lines = [
    '~ metric flips',
    '    name: "Flashcards flipped" → "Cards"',
    '    units: "" → "cards"',
    '+ metric pages',
    '~ achievement ten',
    '    metricKey: "flips" → "minutes"',
    '~ points system xp',
    '    maxPoints: (none) → 500',
    '- level novice of points system xp',
    '~ streak settings',
    '    frequency: "daily" → "weekly"',
    '1 created, 4 changed, 1 archived',
    '',
  ];
  expect(await config(['diff', file])).toEqual({ code: 1, out: lines.join('\n'), err: '' });
  expect((await laurel.admin.get('/v1/configuration')).body).toEqual(document);

  const asked = await config(['push', file]);
  expect(asked).toMatchObject({ code: 2, err: 'Nothing was changed: this archives 1, which takes --yes.\n' });
  expect((await laurel.admin.get('/v1/configuration')).body).toEqual(document);

  const pushed = await config(['push', file, '--yes']);
  expect(pushed).toMatchObject({ code: 0, err: '' });
  expect(pushed.out).toMatch(new RegExp(`1 archived\nDone: version \\d+\\.\n$`));
  expect(await config(['diff', file])).toMatchObject({ code: 0 });
});

test('a file may name its JSON Schema for editors', async () => {
  await write({ $schema: './docs/configuration.schema.json', ...(await pulled()) });
  expect(await config(['diff', file])).toMatchObject({ code: 0, err: '' });
});

test('push asks no question if nothing would be archived', async () => {
  await write({ metrics: [...STUDY_APP.metrics!, { key: 'pages', name: 'Pages' }] });
  expect(await config(['push', file])).toMatchObject({ code: 0, err: '' });
  expect((await laurel.admin.get('/v1/configuration')).body.metrics).toHaveLength(3);
});

test('--url, --key and --tenant may be at any position; commands that do not use them refuse them', async () => {
  const { adminUrl, adminKey } = laurel;
  const nowhere = { ADMIN_URL: 'http://127.0.0.1:1', ADMIN_API_KEY: undefined };
  const at = ['--url', adminUrl, '--key', adminKey];
  for (const words of [
    [...at, 'config', 'pull'],
    ['config', ...at, 'pull'],
    ['config', 'pull', ...at],
    ['--url', adminUrl, 'config', 'pull', '--key', adminKey],
  ])
    expect(await run(words, nowhere)).toMatchObject({ code: 0, err: '', out: expect.stringContaining('"metrics"') });
  for (const words of [
    ['--url', adminUrl, 'verify'],
    ['rebuild', '--url', adminUrl],
  ])
    expect((await run(words)).err).toContain('takes no --url: `laurel');
});

describe('a demo', () => {
  const mine = { metrics: STUDY_APP.metrics, achievements: [], leaderboards: [] };
  beforeEach(async () => {
    await laurel.pool.query('UPDATE catalog_resources SET demo = true WHERE deleted IS NULL');
    await write(mine);
  });

  test('is not mixed with a file: push reports the demo and accepts --remove-demo', async () => {
    expect((await laurel.admin.get('/v1/organisation')).body.demo).toBe(true);
    const before = (await laurel.admin.get('/v1/configuration')).body;
    expect(await config(['diff', file])).toMatchObject({
      code: 1,
      err: expect.stringContaining('The demo is configured here, and the file does not name '),
    });
    expect(await config(['push', file, '--yes'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('Nothing was changed. The demo is configured here'),
    });
    expect((await laurel.admin.get('/v1/configuration')).body).toEqual(before);
    // Only the demo is archived, so no other confirmation is needed.
    expect(await config(['push', file, '--remove-demo'])).toMatchObject({ code: 0, err: '' });
    const after = (await laurel.admin.get('/v1/configuration')).body;
    expect([after.metrics, after.pointsSystems]).toEqual([before.metrics, []]);
    expect((await laurel.admin.get('/v1/organisation')).body.demo).toBe(false);
  });

  test("--keep-demo makes the demo the tenant's own configuration", async () => {
    const { pointsSystems } = (await laurel.admin.get('/v1/configuration')).body;
    await write({ metrics: STUDY_APP.metrics });
    expect(await config(['push', file, '--keep-demo'])).toMatchObject({ code: 0, err: '' });
    expect((await laurel.admin.get('/v1/configuration')).body.pointsSystems).toEqual(pointsSystems);
    expect(await config(['push', file])).toEqual({ code: 0, out: 'No differences.\n', err: '' });
    expect(await config(['push', file, '--keep-demo', '--remove-demo'])).toMatchObject({ code: 2 });
  });
});

describe('errors end with exit code 2 and one sentence', () => {
  test.each<[string, string, string]>([
    ['no JSON', '{\n  "metrics": [\n    {"key": "a",}\n  ]\n}', ':3 is not valid JSON: '],
    ['an unfinished file', '{\n  "metrics": [\n', ':3 is not valid JSON: '],
    ['no object', '[]', ' must hold an object'],
  ])('%s', async (_name, text, message) => {
    await writeFile(file, text);
    for (const command of ['diff', 'push']) {
      const { code, out, err } = await config([command, file]);
      expect([code, out]).toEqual([2, '']);
      expect(err).toContain(file + message);
      expect(err.trim().split('\n')).toHaveLength(1);
    }
  });

  test('a missing file', async () => {
    const missing = join(folder, 'missing.json');
    expect(await config(['diff', missing])).toEqual({
      code: 2,
      out: '',
      err: `${missing} cannot be read: there is no such file.\n`,
    });
  });

  test('a field of the wrong type, and violated rules, each on its line', async () => {
    await write({ metrics: [{ key: 'x', name: 1 }] });
    expect(await config(['push', file])).toEqual({
      code: 2,
      out: '',
      err: 'Refused (400):\n  metrics[0].name must be a string\n',
    });
    await write({
      metrics: [
        { key: 'x', name: 1, colour: 'red' },
        { nam: 'Y', kye: 'y' },
      ],
    });
    expect(await config(['diff', file])).toEqual({
      code: 2,
      out: '',
      err: `Refused (400):
  metrics[0].colour is not a known field
  metrics[1].nam is not a known field (did you mean name?)
  metrics[1].kye is not a known field
  metrics[0].name must be a string
  metrics[1].name is required
  metrics[1].key is required
`,
    });
    await write({
      metrics: [{ key: 'minutes', name: 'Minutes' }],
      leaderboards: [{ key: 'b', name: ' ', rankBy: 'metric' }],
    });
    const { code, err } = await config(['diff', file]);
    expect(code).toBe(2);
    expect(err.split('\n').slice(0, 3)).toEqual([
      'Refused (422):',
      "  achievements[0].metricKey: unknown metric 'flips': the document leaves it out, but achievement 'ten' refers to it",
      "  pointsSystems[0].triggers[1].metricKey: unknown metric 'flips': the document leaves it out, but metric trigger of points system 'xp' refers to it",
    ]);
    expect(err).toContain('\n  leaderboards[0].name: must not be empty\n');
  });

  test("a missing key, a wrong one, a user's key", async () => {
    const { body } = await laurel.admin.post('/v1/application-api-keys', [{ userId: 'ada' }]);
    for (const [key, message] of [
      [undefined, 'An admin key is required: set LAUREL_KEY or --key.\n'],
      ['a.b', '--key or LAUREL_KEY must be an active admin key.\n'],
      [body.created[0].key, 'It takes an admin key.\n'],
    ] as const) {
      const { code, err } = await config(['pull'], { ADMIN_API_KEY: key });
      expect([code, err]).toEqual([2, expect.stringContaining(message)]);
    }
  });

  test('LAUREL_KEY is the key; without it ADMIN_API_KEY, its name before', async () => {
    const withBoth = { LAUREL_KEY: laurel.adminKey, ADMIN_API_KEY: 'a.b' };
    expect(await config(['pull'], withBoth)).toMatchObject({ code: 0 });
    expect((await config(['pull'], { ...withBoth, LAUREL_KEY: 'a.b' })).code).toBe(2);
    expect(await config(['pull'], { LAUREL_KEY: undefined })).toMatchObject({ code: 0 });
  });

  test('no server, a server that is not Laurel, no address', async () => {
    const url = `http://127.0.0.1:${await freePort()}`;
    expect(await config(['pull', '--url', url])).toEqual({
      code: 2,
      out: '',
      err: `Laurel does not answer at ${url} (ECONNREFUSED). Is it running? --url says where.\n`,
    });
    expect((await config(['pull'], { ADMIN_URL: laurel.appUrl })).err).toContain('404');
    expect((await config(['pull', '--url', 'localhost:8081'])).err).toContain('--url must be an address like');
    expect((await config(['pull', '--url', 'http://me:secret@localhost:1'])).err).toMatch(
      /^--url must not hold a user name or password: [^@]*$/,
    );
  });

  test('the address of the application port: the error says so', async () => {
    const { code, err } = await config(['pull'], { ADMIN_URL: laurel.appUrl });
    expect([code, err]).toEqual([2, expect.stringContaining('This is the application port; admin operations are on')]);
  });

  test('an unknown command or option', async () => {
    expect(await config(['pusch'])).toMatchObject({ code: 2, out: '' });
    expect(await config(['push'])).toMatchObject({ code: 2, out: '' });
    expect(await config(['--help'])).toMatchObject({ code: 0, err: '' });
  });
});

test('clock says that there is no test clock', async () => {
  expect(await run(['clock', 'show'])).toEqual({
    code: 2,
    out: '',
    err: 'This Laurel has no test clock: start it with TEST_CLOCK=1.\n',
  });
});

// Last: the configuration of the only tenant is suspended afterwards.
test('versions lists who changed what; an earlier one is compared, pulled and restored, and archiving is asked about', async () => {
  const before = (await laurel.admin.get('/v1/configuration')).body;
  const [{ version }] = (await laurel.admin.get('/v1/configuration/versions')).body;
  const metrics = [...before.metrics, { key: 'laps', name: 'Laps' }];
  const changed = (await laurel.admin.put('/v1/configuration', { metrics, streaks: { frequency: 'monthly' } })).body;
  expect(changed.version).toBe(version + 1);

  const listed = await config(['versions', '--limit', '1']);
  expect(listed).toMatchObject({ code: 0, err: '' });
  expect(listed.out).toMatch(/^VERSION +AT +WHO +CHANGES\n/);
  expect(listed.out.split('\n')[1]).toMatch(
    new RegExp(
      `^${changed.version} +\\S+Z +${laurel.adminKey.split('.')[0]} +create metric laps, update streak settings$`,
    ),
  );

  const lines = [
    '- metric laps',
    '~ streak settings',
    `    frequency: "monthly" → "${before.streaks.frequency}"`,
    '1 changed, 1 archived',
    '',
  ].join('\n');
  const of = ['--of-version', `${version}`];
  expect(await config(['diff', ...of])).toEqual({ code: 1, out: lines, err: '' });
  for (const words of [['diff'], ['diff', file, ...of]])
    expect(await config(words)).toMatchObject({ code: 2, err: 'Name either a file or --of-version.\n' });
  expect(await config(['pull', ...of])).toMatchObject({ code: 0, out: `${JSON.stringify(before, null, 2)}\n` });

  expect(await config(['restore', `${version}`])).toEqual({
    code: 2,
    out: lines,
    err: 'Nothing was changed: this archives 1, which takes --yes.\n',
  });
  expect(await config(['restore', `${version}`, '--yes'])).toEqual({
    code: 0,
    out: `${lines}Done: version ${changed.version + 1}.\n`,
    err: '',
  });
  expect((await laurel.admin.get('/v1/configuration')).body).toEqual(before);
  expect(await config(['restore', `${version}`])).toMatchObject({ code: 0, out: 'No differences.\n' });
  expect(await config(['restore', '9999'])).toMatchObject({ code: 2, err: expect.stringContaining('no version 9999') });
  expect((await laurel.admin.get('/v1/configuration/versions/latest')).status).toBe(404);
});

test('--tenant selects the tenant', async () => {
  await laurel.admin.patch('/v1/organisation', { multiTenancy: true });
  await laurel.admin.post('/v1/tenants', [{ customerId: 'a', name: 'A' }]);
  expect((await config(['pull'])).err).toBe('Refused (422):\n  The Tenant-ID header is required\n');
  await write({ metrics: [{ key: 'mine', name: 'Mine' }] });
  expect(await config(['push', file, '--tenant', 'a'])).toMatchObject({ code: 0 });
  expect((await laurel.admin.get('/v1/metrics', { tenantId: 'a' })).body).toMatchObject([{ key: 'mine' }]);
});
