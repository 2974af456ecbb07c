import { createHmac, randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { WEBHOOK_EVENTS } from '../../src/domain/notifications/webhook.ts';
import { PACKAGE_ROOT } from '../../src/package-root.ts';

// Runs the code on the page for receivers, which must distinguish Laurel's deliveries from forged ones.
const page = await readFile(join(PACKAGE_ROOT, 'docs/webhooks.md'), 'utf8');
type Check = (secret: string, body: string, headers: Record<string, string>) => unknown;
let folder: string;
let checks: Record<'verified' | 'isValid' | 'isBodyValid', Check>;

beforeAll(async () => {
  // Within the project, so that packages resolve.
  folder = await mkdtemp(join(PACKAGE_ROOT, 'node_modules', '.laurel-test-docs-'));
  const blocks = [...page.matchAll(/^```js\n([^]*?)^```/gm)].map(([, code]) => code!);
  const modules = await Promise.all(
    blocks.map(async (code, index) => {
      const file = join(folder, `${index}.mjs`);
      await writeFile(file, code);
      return (await import(/* @vite-ignore */ file)) as object;
    }),
  );
  checks = Object.assign({}, ...modules) as typeof checks;
});
afterAll(() => rm(folder, { recursive: true }));

const secretOf = (): string => `whsec_${randomBytes(32).toString('base64')}`;
const hmac = (key: string | Buffer, text: string): string => createHmac('sha256', key).update(text).digest('base64');

/** A delivery of Laurel's, signed with one secret and the previous one. */
function delivery({ secrets, body, atMs = Date.now() }: { secrets: string[]; body: string; atMs?: number }) {
  const timestamp = String(Math.floor(atMs / 1_000));
  const id = '0190a5f2-7c3e-8b1a-9d3e-2f6b8c1d4e5f';
  const standard = (secret: string): string =>
    `v1,${hmac(Buffer.from(secret.slice(6), 'base64'), `${id}.${timestamp}.${body}`)}`;
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': secrets.map(standard).join(' '),
    'x-laurel-signature': hmac(secrets[0]!, body),
    ...(secrets[1] !== undefined && { 'x-laurel-signature-previous': hmac(secrets[1], body) }),
  };
}

/** Whether a check accepts a delivery: one throws, the others return it. */
function takes(check: Check, ...given: Parameters<Check>): boolean {
  try {
    return Boolean(check(...given));
  } catch {
    return false;
  }
}

test.each(['verified', 'isValid', 'isBodyValid'] as const)('%s accepts only what Laurel signed', (name) => {
  const check = checks[name];
  const [current, previous, other] = [secretOf(), secretOf(), secretOf()];
  const body = '{"type":"streak.lost","user":{"name":"Zoë"}}';
  const headers = delivery({ secrets: [current, previous], body });
  expect([current, previous, other].map((secret) => takes(check, secret, body, headers))).toEqual([true, true, false]);
  expect(takes(check, current, `${body} `, headers)).toBe(false);
  const old = delivery({ secrets: [current], body, atMs: Date.now() - 600_000 });
  // The simple signature does not cover the time.
  expect(takes(check, current, body, old)).toBe(name === 'isBodyValid');
});

test('the page has every type', () => {
  expect(WEBHOOK_EVENTS.filter((type) => !page.includes(`| \`${type}\` `))).toEqual([]);
});
