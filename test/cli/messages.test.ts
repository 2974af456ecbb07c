import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startLaurel, type TestLaurel } from '../laurel.ts';
import { type Ended, runAdminCli } from './run-cli.ts';

const template = (greeting: string) => ({
  kind: 'reactivation',
  subject: `${greeting} {{user.name|you}}`,
  html: `<p>${greeting}</p><a href="{{unsubscribeUrl}}">x</a>`,
  text: `${greeting}: {{unsubscribeUrl}}`,
});

let laurel: TestLaurel;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'laurel-messages-'));
  laurel = await startLaurel({ configuration: { messages: { templates: [template('Hello') as never] } } });
  await laurel.app.put('/v1/users/ada', { name: 'Ada' });
});
afterAll(async () => {
  await laurel.close();
  await rm(folder, { recursive: true });
});

const cli = (...words: string[]): Promise<Ended> => runAdminCli(laurel, ['messages', ...words]);

test('preview: the template in force, as text, HTML or JSON', async () => {
  const link = 'https://example.org/unsubscribe';
  expect(await cli('preview', 'ada', 'reactivation')).toEqual({
    code: 0,
    out: `Subject: Hello Ada\n\nHello: ${link}\n`,
    err: '',
  });
  expect((await cli('preview', 'ada', 'reactivation', '--html')).out).toBe(`<p>Hello</p><a href="${link}">x</a>\n`);
  expect(JSON.parse((await cli('preview', 'ada', 'reactivation', '--json')).out)).toMatchObject({ locale: null });
  expect(await cli('preview', 'bob', 'reactivation')).toMatchObject({ code: 2, err: expect.stringContaining("'bob'") });
  expect(await cli('preview', 'ada', 'party')).toMatchObject({ code: 2, err: expect.stringContaining('kind') });
});

test('preview: the template of a document', async () => {
  const file = join(folder, 'laurel.json');
  const german = { ...template('Hallo'), locale: 'pt-BR' };
  await writeFile(file, JSON.stringify({ messages: { templates: [template('Hi'), german] } }));
  const subject = async (...more: string[]): Promise<string> => {
    const { out, err } = await cli('preview', 'ada', 'reactivation', '--file', file, ...more);
    return out.split('\n')[0]! || err;
  };
  expect(await subject()).toBe('Subject: Hi Ada');
  expect(await subject('--locale', 'pt_br')).toBe('Subject: Hallo Ada');
  expect(await subject('--locale', 'fr')).toContain('no template of the kind reactivation for fr');
  expect(await cli('preview', 'ada', 'reactivation', '--locale', 'fr')).toMatchObject({
    code: 2,
    err: expect.stringContaining('--file'),
  });
  await writeFile(file, JSON.stringify({ messages: { templates: [{ ...template('Hi'), html: '<script>' }] } }));
  expect(await subject()).toContain('template.html: must contain {{unsubscribeUrl}}');
});
