import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, test } from 'vitest';
import type { AnswerRule } from '../../../src/domain/notifications/http-provider.ts';
import type { Email } from '../../../src/engine/messages/email-sender.ts';
import { type HttpChannel, createHttpSender, type HttpSender } from '../../../src/engine/messages/http-sender.ts';
import type { ProviderHttpOptions } from '../../../src/engine/messages/provider-http.ts';

const EMAIL: Email = {
  id: '5c0b7f3e-91d4-8a6e-b2f7-4d1c6a9e8b05',
  to: 'ada@example.com',
  subject: 'Say "hi"',
  text: 'a\nb',
  html: '<p title="x">{{to}}</p>',
  unsubscribeUrl: 'https://laurel.example/unsubscribe/x',
};

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

interface Received {
  headers: IncomingMessage['headers'];
  body: unknown;
}

type Answer = (response: ServerResponse, request: IncomingMessage) => void;

/** A provider with given answers, and the requests that it got in full. */
async function provider(answer: Answer): Promise<{ url: string; received: Received[] }> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      received.push({ headers: request.headers, body: JSON.parse(body) });
      answer(response, request);
    });
  });
  await new Promise<void>((listening) => void server.listen(0, '127.0.0.1', listening));
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/send?stream=a`, received };
}

function senderTo(
  url: string,
  changes: Partial<HttpChannel> = {},
  options: Partial<ProviderHttpOptions> = {},
): HttpSender {
  const channel: HttpChannel = {
    url,
    headers: { 'X-Stream': 'engagement' },
    secretHeaders: { Authorization: 'Bearer s3cret' },
    body: { to: '{{to}}', subject: '{{subject}}', html: '{{html}}', text: '{{text}}' },
    answers: [],
    senderAddress: 'hello@example.org',
    senderName: 'Study "App"',
    replyTo: null,
    ...changes,
  };
  const sender = createHttpSender(channel, { allowPrivate: true, ...options });
  closing.push(() => sender.close());
  return sender;
}

const status =
  (code: number, body: unknown = {}, headers: Record<string, string> = {}): Answer =>
  (response) =>
    void response.writeHead(code, headers).end(typeof body === 'string' ? body : JSON.stringify(body));

test('an e-mail is posted as the template says, with values as JSON texts', async () => {
  const { url, received } = await provider(status(202));
  const body = {
    personalizations: [{ to: [{ email: '{{to}}' }] }],
    from: { full: '{{from}}', email: '{{fromAddress}}', name: '{{fromName}}' },
    reply_to: '{{replyTo}}',
    subject: '{{subject}}',
    content: [
      { type: 'text/plain', value: '{{text}}' },
      { type: 'text/html', value: '{{html}}' },
    ],
    headers: [
      { name: 'Message-ID', value: '{{messageId}}' },
      { name: 'List-Unsubscribe', value: '{{listUnsubscribe}}' },
      { name: 'List-Unsubscribe-Post', value: '{{listUnsubscribePost}}' },
    ],
    track: false,
    limit: null,
    metadata: { id: '{{id}}' },
  };
  const sender = senderTo(url, { body });
  expect(await sender.send(EMAIL)).toEqual({ outcome: 'sent', reason: null, concernsServer: false });
  expect(received[0]!.headers).toMatchObject({
    authorization: 'Bearer s3cret',
    'x-stream': 'engagement',
    'content-type': 'application/json',
  });
  expect(received[0]!.body).toEqual({
    personalizations: [{ to: [{ email: 'ada@example.com' }] }],
    from: { full: '"Study \\"App\\"" <hello@example.org>', email: 'hello@example.org', name: 'Study "App"' },
    subject: 'Say "hi"',
    content: [
      { type: 'text/plain', value: 'a\nb' },
      // A value is not a template.
      { type: 'text/html', value: '<p title="x">{{to}}</p>' },
    ],
    headers: [
      { name: 'Message-ID', value: `<${EMAIL.id}@example.org>` },
      { name: 'List-Unsubscribe', value: '<https://laurel.example/unsubscribe/x>' },
      { name: 'List-Unsubscribe-Post', value: 'List-Unsubscribe=One-Click' },
    ],
    track: false,
    limit: null,
    metadata: { id: EMAIL.id },
  });
  await sender.send({ ...EMAIL, unsubscribeUrl: null });
  expect((received[1]!.body as { headers: unknown[] }).headers).toHaveLength(1);
});

describe('an answer', () => {
  const RULES: AnswerRule[] = [
    { statuses: [422], field: '/error/code', values: ['INVALID_RECIPIENT', '406'], outcome: 'bad_address' },
    { statuses: [200], field: '/ok', values: ['false'], outcome: 'refused' },
    { statuses: [409], field: '/error/code', values: ['throttled'], outcome: 'later' },
    { statuses: [502], outcome: 'later' },
  ];
  test.each([
    [200, {}, 'sent', false],
    [204, '', 'sent', false],
    [200, { ok: false }, 'refused', false],
    [400, {}, 'refused', false],
    [422, { error: { code: 'other' } }, 'refused', false],
    [422, { error: { code: 'invalid_recipient' } }, 'bad_address', false],
    [422, { error: { code: 406 } }, 'bad_address', false],
    [422, '<html>', 'refused', false],
    [409, { error: { code: 'throttled' } }, 'later', false],
    [401, {}, 'later', true],
    [404, {}, 'later', true],
    [429, {}, 'later', true],
    [302, {}, 'later', true],
    [500, {}, 'later', true],
    [503, {}, 'later', true],
    // A gateway's server may have taken it.
    [504, {}, 'unknown', true],
    [502, {}, 'later', true],
  ])('%i %j means %s', async (code, body, outcome, concernsServer) => {
    const { url } = await provider(status(code, code === 204 ? '' : body, { Location: 'http://127.0.0.1:1/' }));
    expect(await senderTo(url, { answers: RULES }).send(EMAIL)).toMatchObject({ outcome, concernsServer });
  });

  test('says for how long to wait, and is quoted', async () => {
    const { url } = await provider(status(429, { error: 'slow\n down' }, { 'Retry-After': '90' }));
    expect(await senderTo(url).send(EMAIL)).toEqual({
      outcome: 'later',
      reason: 'answered 429: {"error":"slow\\n down"}',
      concernsServer: true,
      retryAfterMs: 90_000,
    });
  });
});

describe('an attempt that breaks', () => {
  test('before the request is not sent: no connection, no name, or an address that is not public', async () => {
    const gone = await provider(status(200));
    await closing.splice(0).at(-1)!();
    expect(await senderTo(gone.url).send(EMAIL)).toMatchObject({ outcome: 'later', concernsServer: true });
    expect(await senderTo('http://nobody.invalid/').send(EMAIL)).toMatchObject({ outcome: 'later' });
    const { url, received } = await provider(status(200));
    expect(await senderTo(url, {}, { allowPrivate: false }).send(EMAIL)).toMatchObject({
      outcome: 'later',
      reason: expect.stringContaining('not public'),
    });
    const resolve = () => Promise.resolve(['127.0.0.1']);
    const named = url.replace('127.0.0.1', 'api.example.com');
    expect(await senderTo(named, {}, { allowPrivate: false, resolve }).send(EMAIL)).toMatchObject({ outcome: 'later' });
    expect(received).toEqual([]);
  });

  test.each<[string, Answer]>([
    ['the connection ends', (response) => void response.destroy()],
    ['nothing comes', () => undefined],
    ['only interim answers come', (response) => void Array.from({ length: 20 }, () => response.writeProcessing())],
  ])('after the request, because %s, has an unknown result, and is not repeated', async (_, answer) => {
    const { url, received } = await provider(answer);
    const result = await senderTo(url, {}, { attemptMs: 3_000 }).send(EMAIL);
    expect(result).toMatchObject({ outcome: 'unknown', concernsServer: true });
    expect(received).toHaveLength(1);
  });

  test('after the status has its meaning', async () => {
    const { url } = await provider((response) => {
      response.writeHead(200, { 'Content-Length': '100' }).write('{"id"');
      setTimeout(() => response.destroy(), 50);
    });
    expect(await senderTo(url).send(EMAIL)).toMatchObject({ outcome: 'sent' });
  });

  test('because the process ends has an unknown result', async () => {
    const { url, received } = await provider(() => undefined);
    const sender = senderTo(url);
    const sending = sender.send(EMAIL);
    await expect.poll(() => received.length).toBe(1);
    sender.cutOff();
    expect(await sending).toMatchObject({ outcome: 'unknown', reason: 'the process ended' });
  });
});

test('a connection that the provider closed while it was idle is replaced', async () => {
  let closed: Promise<unknown> = Promise.resolve();
  const { url, received } = await provider((response, { socket }) => {
    closed = once(socket, 'close');
    response.writeHead(200).end('{}');
    setTimeout(() => socket.destroy(), 30);
  });
  const sender = senderTo(url);
  for (let at = 0; at < 3; at += 1) {
    expect(await sender.send(EMAIL)).toMatchObject({ outcome: 'sent' });
    await closed;
    // The sender reads the end meanwhile, at the latest after the timer, before the immediate.
    await new Promise((passed) => void setTimeout(passed, 100));
    await new Promise((passed) => void setImmediate(passed));
  }
  expect(received).toHaveLength(3);
});
