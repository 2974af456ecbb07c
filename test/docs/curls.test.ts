import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { beforeAll, expect, test } from 'vitest';
import { DEMO } from '../../src/catalog/demo.ts';
import { startLaurel } from '../laurel.ts';
import { allDocuments } from '../../ops/docs/documents.mjs';
import { blocksOf } from './documents.ts';
import { opened } from '../stack/opened.ts';

const DAY_MS = 86_400_000;

// Sends the commands of the pages, in their order, to a first start with its demo. Every command must succeed.

let environment: Record<string, string>;

const laurel = opened(async () => {
  const template = { subject: 'Keep it', html: '<a href="{{unsubscribeUrl}}">No more</a>', text: '{{unsubscribeUrl}}' };
  return startLaurel({
    // docs/messages.md applies a template, then shows it.
    configuration: { ...DEMO, messages: { templates: [{ kind: 'streak_reminder', ...template }] } },
    workers: true,
    testClock: true,
    publicUrl: 'https://laurel.example.com',
    secretsKey: randomBytes(32),
  });
});
beforeAll(async () => {
  const { body } = await laurel.admin.post('/v1/application-api-keys', [{ userId: 'ada' }]);
  environment = { LAUREL_KEY: laurel.adminKey, APPLICATION_KEY: body.created[0].key };
});

/** The commands of a block: each from its `curl` to the next. */
const curlsIn = (block: string): string[] => block.split(/^(?= *curl )/m).filter((part) => /^ *curl /.test(part));

/** Replaces placeholders for the reader's own values and for dates near the reader's. */
async function filledIn(command: string): Promise<string> {
  const metrics = await laurel.admin.get('/v1/metrics');
  const inDays = (days: number): string => new Date(Date.now() + days * DAY_MS).toISOString();
  return command
    .replace('"id": "…"', `"id": "${metrics.body[0].id}"`)
    .replace(/"occurredAt": "[^"]*"/, `"occurredAt": "${inDays(-3)}"`)
    .replace(/"now":"[^"]*"(?=\})/, `"now":"${inDays(8)}"`);
}

/** The words that a shell would pass to curl. */
function wordsOf(command: string): string[] {
  const shown = `"$NODE" -e 'console.log(JSON.stringify(process.argv.slice(1)))' -- "$@"`;
  const env = { ...environment, NODE: process.execPath };
  return JSON.parse(execFileSync('sh', ['-euc', `curl() { ${shown}; }\n${command}`], { env, encoding: 'utf8' }));
}

/** Sends what curl would. Throws for an unsupported option. */
async function send(words: string[]): Promise<Response> {
  const headers = new Headers();
  let method: string | undefined;
  let body: string | undefined;
  let url: string | undefined;
  for (let at = 0; at < words.length; at++) {
    const word = words[at]!;
    if (word === '-X') method = words[++at]!;
    else if (word === '-d') body = words[++at]!;
    else if (word === '-H') {
      const [name, value] = words[++at]!.split(': ');
      headers.set(name!, value!);
    } else if (word.startsWith('-')) throw new Error(`curl ${word} is not known to this test.`);
    else
      url = word
        .replace(/^(?:http:\/\/)?localhost:8080/, laurel.appUrl)
        .replace(/^(?:http:\/\/)?localhost:8081/, laurel.adminUrl);
  }
  method ??= body === undefined ? 'GET' : 'POST';
  return fetch(url!, { method, headers, ...(body !== undefined && { body }) });
}

const commands = allDocuments()
  // The tutorial's commands depend on each other: tutorial.test.ts.
  .filter(({ path }) => !path.startsWith('docs/decisions') && path !== 'docs/tutorial.md')
  // README.md first: a later page reverses its event.
  .toSorted((a, b) => (a.path < b.path ? -1 : 1))
  .flatMap((document) =>
    blocksOf(document)
      .flatMap(curlsIn)
      .map((command) => [document.path, command] as const),
  );

test('finds commands', () => expect(commands.length).toBeGreaterThan(5));

test.each(commands)('%s: %s', async (_, command) => {
  const answer = await send(wordsOf(await filledIn(command)));
  const body = await answer.text();
  const said = /# (\d{3}) /.exec(command)?.[1];
  expect({ status: answer.status, body }).toEqual({
    status: said === undefined ? expect.toSatisfy((status: number) => status >= 200 && status < 300) : Number(said),
    body,
  });
  const eventId = /"eventId":"([^"]+)"/.exec(body)?.[1];
  if (eventId !== undefined) environment['EVENT_ID'] = eventId;
});
